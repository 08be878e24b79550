//! Output for screen readers: labels in place of glyphs, no boxes, no meaning in colours. Pure functions from lines to
//! lines; `app` decides what is printed and when.

use std::time::Duration;
use sys::Env;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;

/// What switched the mode on; shown in the first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenReaderSource {
    Flag,
    Env,
    Settings,
}

impl ScreenReaderSource {
    /// The flag takes precedence, then the environment, which may also switch the mode off, then the settings.
    pub fn decide(flag: bool, env: &Env, setting: Option<bool>) -> Option<Self> {
        if flag {
            return Some(Self::Flag);
        }
        match env.flag("CLAUDE_AX_SCREEN_READER") {
            Some(true) => Some(Self::Env),
            Some(false) => None,
            None => (setting == Some(true)).then_some(Self::Settings),
        }
    }

    pub fn announcement(self) -> String {
        let name = match self {
            Self::Flag => "flag",
            Self::Env => "env",
            Self::Settings => "settings",
        };
        format!("[Screen Reader Mode: on via {name}]")
    }
}

/// Pauses without output, so that the screen reader can finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenReaderPauses {
    /// From the start.
    pub start: Duration,
    /// Before each change.
    pub change: Duration,
}

impl ScreenReaderPauses {
    pub fn of(env: &Env) -> Self {
        let ms = |name: &str, default| Duration::from_millis(env.number(name).unwrap_or(default));
        Self { start: ms("CLAUDE_AX_STARTUP_QUIET_MS", 3_000), change: ms("CLAUDE_AX_PREPARK_MS", 50) }
    }
}

/// Who or what produced a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeakerLabel {
    You,
    Claude,
    Thinking,
    Tool,
    ToolError,
    Error,
    Warning,
    Permission,
    Cost,
    None,
}

impl SpeakerLabel {
    pub fn text(self) -> &'static str {
        match self {
            Self::You => "you:",
            Self::Claude => "claude:",
            Self::Thinking => "thinking:",
            Self::Tool => "tool:",
            Self::ToolError => "tool error:",
            Self::Error => "error:",
            Self::Warning => "warning:",
            Self::Permission => "Permission Required:",
            Self::Cost => "Cost:",
            Self::None => "",
        }
    }
}

/// Glyphs that only matter visually.
const MARKS: [&str; 20] =
    ["●", "⎿", "∴", "❯", "∗", "> ", "☐", "☒", "✻", "✔", "✘", "▌", "◆", "◇", "◌", "✕", "⑂", "◧", "☑", "⋮"];

/// The lines as they are read out: without glyphs and rules, the first one with its label.
pub fn labelled_lines(label: SpeakerLabel, lines: &[StyledLine]) -> Vec<StyledLine> {
    let mut texts: Vec<String> = lines.iter().map(plain).filter(|line| !line.trim().is_empty()).collect();
    if let Some(first) = texts.first_mut().filter(|_| label != SpeakerLabel::None) {
        *first = format!("{} {}", label.text(), first.trim_start());
    }
    texts.into_iter().map(|line| StyledLine::styled(line, TextStyle::PLAIN)).collect()
}

/// A line without its leading glyph; empty when the line is only a rule.
pub fn plain(line: &StyledLine) -> String {
    let text = line.text();
    let trimmed = text.trim_start();
    if trimmed.chars().all(|c| matches!(c, '─' | '━' | '│' | ' ')) {
        return String::new();
    }
    match MARKS.iter().find_map(|mark| trimmed.strip_prefix(mark)) {
        Some(rest) => rest.trim_start().to_owned(),
        None if is_numbered(trimmed) => trimmed.trim_end().to_owned(),
        None => text.trim_end().replace(" │ ", ", "),
    }
}

/// Whether the text is a numbered answer such as `2. No`.
fn is_numbered(text: &str) -> bool {
    text.split_once(". ").is_some_and(|(number, _)| number.len() <= 2 && number.parse::<u8>().is_ok())
}

/// The part removed from a text; `None` when it was not only shortened.
pub fn deleted<'a>(before: &'a str, after: &str) -> Option<&'a str> {
    if after.len() >= before.len() {
        return None;
    }
    let head: usize =
        before.char_indices().zip(after.chars()).take_while(|((_, b), a)| b == a).map(|((_, b), _)| b.len_utf8()).sum();
    let gone = before.len() - after.len();
    let end = head + gone;
    (before.is_char_boundary(end) && before[end..] == after[head..]).then(|| &before[head..end])
}

/// The announcement for a deleted text.
pub fn announce_deleted(gone: &str) -> String {
    let gone = text::clean(gone);
    match gone.as_str() {
        " " => "deleted space".into(),
        "\n" => "deleted line break".into(),
        text => format!("deleted {}", text.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_rules_vanish_and_labels_stand_first() {
        // [TST-249]
        let said = |label, lines: &[&str]| -> Vec<String> {
            let lines: Vec<StyledLine> = lines.iter().map(|line| StyledLine::plain(*line)).collect();
            labelled_lines(label, &lines).iter().map(StyledLine::text).collect()
        };
        assert_eq!(said(SpeakerLabel::Claude, &["● Hello.", "", "  code"]), ["claude: Hello.", "  code"]);
        assert_eq!(said(SpeakerLabel::You, &["> do it", "  and that"]), ["you: do it", "  and that"]);
        assert_eq!(said(SpeakerLabel::Tool, &["● Bash(ls)", "  ⎿ a.txt"]), ["tool: Bash(ls)", "a.txt"]);
        assert_eq!(said(SpeakerLabel::None, &["────────", "❯ 1. Yes", "  2. No"]), ["1. Yes", "2. No"]);
        assert!(said(SpeakerLabel::Error, &["", "──"]).is_empty());
    }

    #[test]
    fn the_flag_counts_most_and_the_environment_may_say_no() {
        // [TST-249]
        let env = |value: &str| Env::default().with([("CLAUDE_AX_SCREEN_READER", value)]);
        assert_eq!(ScreenReaderSource::decide(true, &env("0"), None), Some(ScreenReaderSource::Flag));
        assert_eq!(ScreenReaderSource::decide(false, &env("1"), None), Some(ScreenReaderSource::Env));
        assert_eq!(ScreenReaderSource::decide(false, &env("0"), Some(true)), None);
        assert_eq!(ScreenReaderSource::decide(false, &Env::default(), Some(true)), Some(ScreenReaderSource::Settings));
        assert_eq!(ScreenReaderSource::decide(false, &Env::default(), None), None);
        let pauses = ScreenReaderPauses::of(&Env::default());
        assert_eq!((pauses.start.as_millis(), pauses.change.as_millis()), (3_000, 50));
    }

    #[test]
    fn what_was_deleted_is_known() {
        // [TST-249]
        assert_eq!(deleted("hello world", "hello "), Some("world"));
        assert_eq!(deleted("hello", "helo"), Some("l"));
        assert_eq!(deleted("aé b", "a b"), Some("é"));
        assert_eq!(deleted("abc", "xy"), None);
        assert_eq!(deleted("a", "ab"), None);
        assert_eq!(announce_deleted("world "), "deleted world");
        assert_eq!(announce_deleted(" "), "deleted space");
    }
}
