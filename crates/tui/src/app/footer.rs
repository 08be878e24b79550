//! The line below the prompt: mode, model and effort on the left, context, cost and tasks on the right. When the window
//! is narrow, parts fall away from the middle outwards.

use super::session::SessionDisplay;
use super::tools::counted;
use terminal::editor::vim::VimMode;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::{Theme, ThemeToken};
use wire::mode::PermissionMode;

/// From this share of the context on, in percent, it is shown as a warning.
const CONTEXT_WARNING: u64 = 80;
/// From here on a bar stands beside it, where there is room.
const CONTEXT_BAR: u64 = 60;
const BAR_CELLS: usize = 10;
/// The margin on both sides.
const MARGIN: usize = 2;
const LEAST_GAP: usize = 3;

#[derive(Debug)]
pub struct Footer<'a> {
    /// Shown instead of the left side.
    pub hint: Option<&'a str>,
    /// The colour of the mode.
    pub border: ThemeToken,
    pub mode: PermissionMode,
    pub vim: Option<VimMode>,
    pub model: Option<String>,
    pub effort: Option<&'a str>,
    /// Names the key for help.
    pub offers_help: bool,
    /// In percent.
    pub context_used: Option<u64>,
    pub cost_usd: Option<f64>,
    pub background_tasks: usize,
}

/// A part of the line. While the parts do not fit, the one with the highest rank falls away.
struct FooterPart {
    text: StyledLine,
    rank: u8,
    is_right: bool,
}

impl Footer<'_> {
    pub fn line(&self, theme: &Theme, columns: usize) -> StyledLine {
        let room = columns.saturating_sub(2 * MARGIN);
        let with_bar = Some(self.parts(theme, true)).filter(|parts| width(parts) <= room);
        let mut parts = with_bar.unwrap_or_else(|| self.parts(theme, false));
        while width(&parts) > room && parts.len() > 1 {
            let last = parts.iter().map(|part| part.rank).max();
            parts.retain(|part| Some(part.rank) != last);
        }
        let faint = theme.fg(ThemeToken::Inactive);
        let (left, right) = (joined(&parts, false, faint), joined(&parts, true, faint));
        let mut line = StyledLine::plain(" ".repeat(MARGIN));
        let gap = room.saturating_sub(left.width() + right.width());
        line.append(left);
        if !right.is_empty() {
            line.push(" ".repeat(gap), TextStyle::PLAIN);
            line.append(right);
        }
        line.truncated(columns)
    }

    fn parts(&self, theme: &Theme, with_bar: bool) -> Vec<FooterPart> {
        let faint = theme.fg(ThemeToken::Inactive);
        let left = |text: StyledLine, rank| FooterPart { text, rank, is_right: false };
        let right =
            |text: String, style, rank| FooterPart { text: StyledLine::styled(text, style), rank, is_right: true };
        let mut parts = Vec::new();
        if let Some(hint) = self.hint {
            parts.push(left(StyledLine::styled(hint.to_owned(), theme.fg(ThemeToken::Warning)), 0));
        } else {
            let vim = self.vim.map(|vim| StyledLine::styled(format!("-- {} --", vim.name()), faint));
            parts.extend(vim.map(|text| left(text, 1)));
            let tone = if self.mode == PermissionMode::Default { faint } else { theme.fg(self.border) };
            parts.push(left(StyledLine::styled(mode_text(self.mode), tone), 0));
            parts.extend(self.model.as_ref().map(|model| left(StyledLine::styled(model.clone(), faint), 4)));
            parts.extend(self.effort.map(|effort| left(StyledLine::styled(effort.to_owned(), faint), 7)));
            if self.offers_help {
                parts.push(left(StyledLine::styled("? for shortcuts", faint), 6));
            }
        }
        if let Some(used) = self.context_used {
            let tone = if used >= CONTEXT_WARNING { theme.fg(ThemeToken::Warning) } else { faint };
            let mut part = right(format!("context {used} %"), tone, if used >= CONTEXT_WARNING { 2 } else { 5 });
            if with_bar && used >= CONTEXT_BAR {
                part.text.push(format!(" {}", bar(used)), tone);
            }
            parts.push(part);
        }
        if let Some(cost) = self.cost_usd {
            parts.push(right(format!("${cost:.2}"), faint, 3));
        }
        if self.background_tasks > 0 {
            parts.push(right(counted(self.background_tasks, "background task"), faint, 1));
        }
        parts
    }
}

/// How full it is, in cells.
fn bar(percent: u64) -> String {
    let full = ((percent as usize * BAR_CELLS + 50) / 100).min(BAR_CELLS);
    "▰".repeat(full) + &"▱".repeat(BAR_CELLS - full)
}

/// The columns that both sides need.
fn width(parts: &[FooterPart]) -> usize {
    let side = |is_right| {
        let widths: Vec<usize> =
            parts.iter().filter(|part| part.is_right == is_right).map(|part| part.text.width()).collect();
        widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1)
    };
    let (left, right) = (side(false), side(true));
    left + right + if left > 0 && right > 0 { LEAST_GAP } else { 0 }
}

fn joined(parts: &[FooterPart], is_right: bool, faint: TextStyle) -> StyledLine {
    let mut line = StyledLine::new();
    for part in parts.iter().filter(|part| part.is_right == is_right) {
        if !line.is_empty() {
            line.push(" · ", faint);
        }
        line.append(part.text.clone());
    }
    line
}

fn mode_text(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default => "ask before edits",
        PermissionMode::AcceptEdits => "⏵⏵ accept edits on",
        PermissionMode::Plan => "⏸ plan mode on",
        PermissionMode::Auto => "⏵⏵ auto mode on",
        PermissionMode::DontAsk => "⏵⏵ don't ask on",
        PermissionMode::BypassPermissions => "⏵⏵ bypass permissions on",
    }
}

/// The name of a model for people.
pub fn model_name(session: &SessionDisplay, id: &str) -> String {
    session.model_names.get(id).cloned().unwrap_or_else(|| readable_id(id))
}

/// `claude-opus-5-5-20270101` is shown as `Opus 5.5`; ids of another form are shown as they are.
fn readable_id(id: &str) -> String {
    let parts: Vec<&str> = id.split('-').collect();
    let is_number = |part: &&&str| part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let [first, name, rest @ ..] = &parts[..] else { return id.to_owned() };
    let numbers: Vec<&str> = rest.iter().take_while(is_number).copied().collect();
    if *first != "claude" || numbers.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return id.to_owned();
    }
    let mut letters = name.chars();
    let upper = letters.next().map(|c| c.to_ascii_uppercase()).into_iter();
    format!("{} {}", upper.chain(letters).collect::<String>(), numbers.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer() -> Footer<'static> {
        Footer {
            hint: None,
            border: ThemeToken::PromptBorder,
            mode: PermissionMode::Default,
            vim: None,
            model: Some("Opus 5.5".into()),
            effort: Some("medium"),
            offers_help: true,
            context_used: Some(12),
            cost_usd: Some(0.031),
            background_tasks: 2,
        }
    }

    fn shown(footer: &Footer<'_>, columns: usize) -> String {
        let line = footer.line(&Theme::default(), columns).text();
        assert!(terminal::text::width(&line) <= columns, "{line:?}");
        line
    }

    /// Both sides of the line.
    fn sides(footer: &Footer<'_>, columns: usize) -> (String, String) {
        let line = shown(footer, columns);
        let (left, right) = line.trim().split_once("   ").unwrap_or((line.trim(), ""));
        assert!(right.is_empty() || terminal::text::width(&line) == columns - 2, "{line:?} reaches the right margin");
        (left.to_owned(), right.trim().to_owned())
    }

    #[test]
    fn parts_fall_away_from_the_middle_outwards() {
        for (columns, left, right) in [
            (
                120,
                "ask before edits · Opus 5.5 · medium · ? for shortcuts",
                "context 12 % · $0.03 · 2 background tasks",
            ),
            (100, "ask before edits · Opus 5.5 · ? for shortcuts", "context 12 % · $0.03 · 2 background tasks"),
            (80, "ask before edits · Opus 5.5", "context 12 % · $0.03 · 2 background tasks"),
            (64, "ask before edits · Opus 5.5", "$0.03 · 2 background tasks"),
            (50, "ask before edits", "$0.03 · 2 background tasks"),
            (44, "ask before edits", "2 background tasks"),
            (24, "ask before edits", ""),
            (10, "ask bef…", ""),
        ] {
            assert_eq!(sides(&footer(), columns), (left.to_owned(), right.to_owned()), "{columns}");
        }
    }

    #[test]
    fn a_nearly_full_context_stays_longer_than_cost_and_model() {
        let full = Footer { context_used: Some(92), background_tasks: 0, ..footer() };
        assert_eq!(sides(&full, 36), ("ask before edits".to_owned(), "context 92 %".to_owned()));
        assert_eq!(
            full.line(&Theme::default(), 80).spans.iter().find(|span| span.text == "context 92 %").unwrap().style,
            Theme::default().fg(ThemeToken::Warning)
        );
    }

    #[test]
    fn a_filling_context_has_a_bar_where_it_fits() {
        let filling = |used| Footer { context_used: Some(used), background_tasks: 0, ..footer() };
        assert!(shown(&filling(59), 100).ends_with("context 59 % · $0.03"));
        assert!(shown(&filling(60), 100).ends_with("context 60 % ▰▰▰▰▰▰▱▱▱▱ · $0.03"));
        assert!(shown(&filling(100), 100).ends_with("context 100 % ▰▰▰▰▰▰▰▰▰▰ · $0.03"));
        assert!(shown(&filling(72), 60).ends_with("context 72 % · $0.03"), "the bar goes first");
    }

    #[test]
    fn a_hint_takes_the_left_side() {
        let hint = Footer { hint: Some("Press again to exit"), background_tasks: 0, ..footer() };
        assert!(
            shown(&hint, 80).starts_with("  Press again to exit  ")
                && shown(&hint, 80).ends_with("context 12 % · $0.03")
        );
    }

    #[test]
    fn ids_of_models_become_names() {
        assert_eq!(readable_id("claude-opus-5-5-20270101"), "Opus 5.5");
        assert_eq!(readable_id("claude-sonnet-4-20250514"), "Sonnet 4");
        assert_eq!(readable_id("qwen3-coder:30b"), "qwen3-coder:30b");
        assert_eq!(readable_id("claude"), "claude");
    }
}
