//! Draws the prompt and the footer from what they show. These functions know nothing of the application.

use super::spinner::faint;
use terminal::editor::Editor;
use terminal::editor::layout::EditorLayout;
use terminal::editor::vim::VimMode;
use terminal::style::{StyledLine, TextStyle};
use terminal::surface::TerminalSize;
use terminal::text;
use terminal::theme::{Theme, ThemeToken};
use wire::mode::PermissionMode;

/// The minimum for the number of prompt rows that can be shown.
const PROMPT_ROWS: usize = 3;
/// Less context than this, in percent, is shown.
const CONTEXT_SHOWN_BELOW: u64 = 60;
/// Costs from half a cent on are shown.
const LEAST_COST: f64 = 0.005;

/// How many rows the prompt may have.
pub fn prompt_limit(size: TerminalSize) -> usize {
    (size.rows / 2).max(PROMPT_ROWS)
}

/// A line across the screen.
pub fn rule(theme: &Theme, columns: usize, token: ThemeToken) -> StyledLine {
    StyledLine::styled("─".repeat(columns), theme.fg(token))
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
        PermissionMode::BypassPermissions => ThemeToken::Error,
    }
}

/// The columns that the text of the prompt can use.
pub fn editor_columns(columns: usize) -> usize {
    columns.saturating_sub(2).max(1)
}

/// The visible rows of the prompt, and the position of the caret in them.
pub fn prompt_rows(editor: &Editor, size: TerminalSize, theme: &Theme) -> (Vec<StyledLine>, (usize, usize)) {
    let text = editor.text();
    let layout = EditorLayout::new(text, editor_columns(size.columns));
    let (row, column) = layout.position(text, editor.cursor());
    let limit = prompt_limit(size);
    let start = row.saturating_sub(limit - 1).min(layout.rows.len().saturating_sub(limit));
    let end = (start + limit).min(layout.rows.len());
    let mut lines = Vec::with_capacity(end - start);
    for (index, range) in layout.rows[start..end].iter().enumerate() {
        let mark = if start + index == 0 { "> " } else { "  " };
        let mut line = StyledLine::styled(mark, theme.fg(ThemeToken::Inactive));
        push_prompt_text(&mut line, editor, range.clone(), theme.fg(ThemeToken::Suggestion));
        lines.push(line);
    }
    (lines, (row - start, column))
}

/// Adds a part of the prompt with its chips in `chip_style`.
fn push_prompt_text(line: &mut StyledLine, editor: &Editor, range: std::ops::Range<usize>, chip_style: TextStyle) {
    let text = editor.text();
    let mut at = range.start;
    for (chip, _) in &editor.chips.find(text) {
        let (from, to) = (chip.start.max(at), chip.end.min(range.end));
        if from < to {
            line.push(&text[at..from], TextStyle::PLAIN);
            line.push(&text[from..to], chip_style);
            at = to;
        }
    }
    line.push(&text[at..range.end], TextStyle::PLAIN);
}

/// What the footer shows. Left: a hint or the mode; right: the number of background tasks, context and cost.
#[derive(Debug)]
pub struct Footer<'a> {
    pub hint: Option<&'a str>,
    pub border: ThemeToken,
    pub mode: PermissionMode,
    /// The keys that change the mode.
    pub mode_keys: String,
    /// Where nothing else is shown, the key for help is named.
    pub offers_help: bool,
    pub vim: Option<VimMode>,
    pub background_tasks: usize,
    /// In percent.
    pub context_left: Option<u64>,
    pub cost_usd: Option<f64>,
}

impl Footer<'_> {
    pub fn line(&self, theme: &Theme, columns: usize) -> StyledLine {
        let (left, right) = (self.left(theme), self.right());
        let gap = columns.saturating_sub(2 + left.width() + text::width(&right) + 1);
        let mut line = StyledLine::plain("  ");
        line.append(left);
        if gap > 0 && !right.is_empty() {
            line.push(" ".repeat(gap), TextStyle::PLAIN);
            line.push(right, theme.fg(ThemeToken::Inactive));
        }
        line
    }

    fn left(&self, theme: &Theme) -> StyledLine {
        if let Some(hint) = self.hint {
            return StyledLine::styled(hint.to_owned(), theme.fg(ThemeToken::Warning));
        }
        let mode = match mode_text(self.mode) {
            Some(text) => StyledLine::styled(text, theme.fg(self.border))
                .and(format!(" ({} to cycle)", self.mode_keys), theme.fg(ThemeToken::Inactive)),
            None if self.offers_help => faint("? for shortcuts", theme),
            None => StyledLine::new(),
        };
        match self.vim {
            Some(vim) => {
                let mut line = faint(format!("-- {} -- ", vim.name()), theme);
                line.append(mode);
                line
            }
            None => mode,
        }
    }

    fn right(&self) -> String {
        let mut facts = Vec::new();
        match self.background_tasks {
            0 => {}
            1 => facts.push("1 background task".to_owned()),
            n => facts.push(format!("{n} background tasks")),
        }
        if let Some(left) = self.context_left.filter(|left| *left < CONTEXT_SHOWN_BELOW) {
            facts.push(format!("{left}% context left"));
        }
        if let Some(cost) = self.cost_usd.filter(|cost| *cost >= LEAST_COST) {
            facts.push(format!("${cost:.2}"));
        }
        facts.join(" · ")
    }
}

/// The text for a mode in the footer; `None` for the default mode.
fn mode_text(mode: PermissionMode) -> Option<&'static str> {
    match mode {
        PermissionMode::Default => None,
        PermissionMode::AcceptEdits => Some("⏵⏵ accept edits on"),
        PermissionMode::Plan => Some("⏸ plan mode on"),
        PermissionMode::Auto => Some("⏵⏵ auto mode on"),
        PermissionMode::DontAsk => Some("⏵⏵ don't ask on"),
        PermissionMode::BypassPermissions => Some("⏵⏵ bypass permissions on"),
    }
}
