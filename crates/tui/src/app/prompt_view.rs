//! Draws the prompt from what it shows. These functions know nothing of the application.

use std::ops::Range;
use terminal::editor::Editor;
use terminal::editor::layout::EditorLayout;
use terminal::style::{StyledLine, TextStyle};
use terminal::surface::TerminalSize;
use terminal::text;
use terminal::theme::{Theme, ThemeToken};
use wire::mode::PermissionMode;

/// The minimum for the number of prompt rows that can be shown.
const PROMPT_ROWS: usize = 3;

/// How many rows the prompt may have.
pub fn prompt_limit(size: TerminalSize) -> usize {
    (size.rows / 2).max(PROMPT_ROWS)
}

/// Columns that stay free right of a line across the screen. A terminal that is dragged narrower would wrap a line that fills
/// its row, and push the rows above out of the screen.
const RULE_MARGIN: usize = 2;

/// A line across the screen.
pub fn rule(columns: usize, style: TextStyle) -> StyledLine {
    StyledLine::styled("─".repeat(columns.saturating_sub(RULE_MARGIN)), style)
}

/// A line across the screen with a name near its right end.
pub fn named_rule(theme: &Theme, columns: usize, style: TextStyle, name: Option<&str>) -> StyledLine {
    const AFTER: usize = 2;
    let columns = columns.saturating_sub(RULE_MARGIN);
    let room = columns.saturating_sub(AFTER + 2 + 4);
    let Some(name) = name.filter(|name| !name.is_empty() && room > 0) else {
        return StyledLine::styled("─".repeat(columns), style);
    };
    let name = text::truncate(name, room);
    let before = columns.saturating_sub(text::width(&name) + 2 + AFTER);
    let mut line = StyledLine::styled("─".repeat(before), style);
    line.push(format!(" {name} "), theme.fg(ThemeToken::Inactive));
    line.push("─".repeat(AFTER), style);
    line
}

/// The lines around the prompt: in the colour of the session, where a shell command or bypassed permissions have none of
/// their own.
pub fn border_style(theme: &Theme, token: ThemeToken, colour: Option<&str>) -> TextStyle {
    let chosen = colour.and_then(|name| theme.named(name));
    match token {
        ThemeToken::BashBorder | ThemeToken::Warning => theme.fg(token),
        _ => chosen.map_or_else(|| theme.fg(token), |colour| TextStyle::fg(Some(colour))),
    }
}

/// The colour of the lines around the prompt.
pub fn border_token(text: &str, mode: PermissionMode) -> ThemeToken {
    if text.starts_with('!') {
        return ThemeToken::BashBorder;
    }
    match mode {
        PermissionMode::Default | PermissionMode::DontAsk => ThemeToken::PromptBorder,
        PermissionMode::AcceptEdits | PermissionMode::Auto => ThemeToken::AutoAccept,
        PermissionMode::Plan => ThemeToken::PlanMode,
        PermissionMode::BypassPermissions => ThemeToken::Warning,
    }
}

/// The columns that the text of the prompt can use.
pub fn editor_columns(columns: usize) -> usize {
    columns.saturating_sub(2).max(1)
}

/// The columns of the prompt's own character.
const PROMPT_MARK: usize = 2;

/// The visible rows of the prompt, and the position of the caret in them. `files` are the places in the text that name
/// what is sent with it.
pub fn prompt_rows(
    editor: &Editor,
    files: &[Range<usize>],
    size: TerminalSize,
    theme: &Theme,
) -> (Vec<StyledLine>, (usize, usize)) {
    let text = editor.text();
    let is_shell = text.starts_with('!');
    let layout = EditorLayout::new(text, editor_columns(size.columns));
    let (row, column) = layout.position(text, editor.cursor());
    let mut marked: Vec<Range<usize>> = editor.chips.find(text).into_iter().map(|(chip, _)| chip).collect();
    marked.extend_from_slice(files);
    sys::compact_sort::sort_by_key(&mut marked, |part| part.start);
    let limit = prompt_limit(size);
    let start = row.saturating_sub(limit - 1).min(layout.rows.len().saturating_sub(limit));
    let end = (start + limit).min(layout.rows.len());
    let mut lines = Vec::with_capacity(end - start);
    for (index, range) in layout.rows[start..end].iter().enumerate() {
        let is_first = start + index == 0;
        let mut line = match (is_first, is_shell) {
            (true, true) => StyledLine::styled("! ", theme.fg(ThemeToken::BashBorder).bold()),
            (true, false) => StyledLine::styled("❯ ", theme.fg(ThemeToken::Accent)),
            (false, _) => StyledLine::plain("  "),
        };
        // The exclamation mark is the prompt's own character then.
        let range = range.start + usize::from(is_first && is_shell)..range.end;
        push_prompt_text(&mut line, text, &marked, range, theme.fg(ThemeToken::Suggestion));
        lines.push(line);
    }
    let moved = usize::from(is_shell && row == 0);
    (lines, (row - start, PROMPT_MARK + column - if column > 0 { moved } else { moved * PROMPT_MARK }))
}

/// Adds a part of the prompt with the marked parts in `chip_style`.
fn push_prompt_text(
    line: &mut StyledLine,
    text: &str,
    marked: &[Range<usize>],
    range: Range<usize>,
    chip_style: TextStyle,
) {
    let mut at = range.start;
    for chip in marked {
        let (from, to) = (chip.start.max(at), chip.end.min(range.end));
        if from < to {
            line.push(&text[at..from], TextStyle::PLAIN);
            line.push(&text[from..to], chip_style);
            at = to;
        }
    }
    line.push(&text[at..range.end], TextStyle::PLAIN);
}

#[cfg(test)]
mod tests {
    use super::*;
    use terminal::theme::BaseTheme;

    #[test]
    fn every_colour_of_a_session_is_one_of_each_theme_and_warnings_keep_theirs() {
        for base in BaseTheme::ALL {
            let theme = Theme::new(base);
            for name in engine::SESSION_COLOURS {
                let style = border_style(&theme, ThemeToken::PromptBorder, Some(name));
                assert_ne!(style, theme.fg(ThemeToken::PromptBorder), "{name} in {base:?}");
                assert_eq!(style, border_style(&theme, ThemeToken::AutoAccept, Some(name)), "{name} in {base:?}");
            }
            for token in [ThemeToken::BashBorder, ThemeToken::Warning] {
                assert_eq!(border_style(&theme, token, Some("pink")), theme.fg(token));
            }
            assert_eq!(border_style(&theme, ThemeToken::PlanMode, Some("mauve")), theme.fg(ThemeToken::PlanMode));
        }
    }
}
