//! The line that shows what a running turn does, and for how long.

use super::tools;
use std::time::Duration;
use terminal::editor::Submission;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::{Theme, ThemeToken};

/// How often the glyph changes.
pub const STEP: Duration = Duration::from_millis(120);
/// Columns of the current activity, so that the rest of the line fits beside it.
const ACTIVE_WIDTH: usize = 40;
/// The line mentions a silence longer than this.
const STALL: Duration = Duration::from_secs(20);
const GLYPHS: [&str; 6] = ["·", "✢", "✳", "✶", "✳", "✢"];

/// What a turn waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnWait {
    Model,
    Thinking,
    Writing,
    /// A call of this tool that runs.
    Tool(String),
    /// Calls that have not begun to run.
    NextCall,
    /// A shell command of the person.
    OwnCommand,
    Permission,
    Retry {
        until: Duration,
        attempt: u32,
        of: u32,
        reason: String,
    },
    Compacting,
    Interrupting,
}

#[derive(Clone, Debug)]
pub struct RunningTurn {
    pub started: Duration,
    /// Output tokens of finished requests; `tokens_now` counts those of the current request.
    pub tokens: u64,
    pub tokens_now: u64,
    pub thinking_time: Duration,
    pub thinking_since: Option<Duration>,
    pub waits: TurnWait,
    /// When the last event of the engine arrived.
    pub last_event_at: Duration,
    /// The prompt that started the turn; restored when the turn is interrupted before any output.
    pub prompt: Option<Submission>,
    /// The model has begun to answer.
    pub has_output: bool,
}

impl RunningTurn {
    /// Sets what the turn waits for. Late events do not undo an interrupt.
    pub fn wait_for(&mut self, waits: TurnWait) {
        if self.waits != TurnWait::Interrupting {
            self.waits = waits;
        }
    }

    pub fn new(now: Duration) -> Self {
        Self {
            started: now,
            tokens: 0,
            tokens_now: 0,
            thinking_time: Duration::ZERO,
            thinking_since: None,
            waits: TurnWait::Model,
            last_event_at: now,
            prompt: None,
            has_output: false,
        }
    }

    fn verb(&self, now: Duration, active: Option<&str>) -> String {
        match &self.waits {
            TurnWait::Retry { until, attempt, of, .. } => {
                let seconds = until.saturating_sub(now).as_secs() + 1;
                return format!("Retrying in {seconds} s · attempt {attempt} of {of}");
            }
            TurnWait::Interrupting => return "Stopping…".into(),
            TurnWait::Permission => return "Waiting for your answer".into(),
            TurnWait::Compacting => return "Compacting the conversation…".into(),
            TurnWait::Model
            | TurnWait::Thinking
            | TurnWait::Writing
            | TurnWait::Tool(_)
            | TurnWait::NextCall
            | TurnWait::OwnCommand => {}
        }
        if let Some(active) = active {
            return format!("{}…", terminal::text::truncate(active, ACTIVE_WIDTH));
        }
        match &self.waits {
            TurnWait::Thinking => "Thinking…".into(),
            TurnWait::Writing => "Writing…".into(),
            TurnWait::Tool(name) => format!("{}…", tools::activity(name)),
            TurnWait::NextCall => "Working…".into(),
            TurnWait::OwnCommand => "Running your command…".into(),
            TurnWait::Model if now.saturating_sub(self.last_event_at) > STALL => "Still waiting for the model…".into(),
            TurnWait::Model => "Waiting for the model…".into(),
            TurnWait::Retry { .. } | TurnWait::Interrupting | TurnWait::Permission | TurnWait::Compacting => {
                String::new()
            }
        }
    }

    /// Why the turn waits for another attempt.
    pub fn reason(&self, theme: &Theme) -> Option<StyledLine> {
        match &self.waits {
            TurnWait::Retry { reason, .. } => Some(faint(format!("  {}", terminal::text::clean(reason)), theme)),
            _ => None,
        }
    }

    /// The line. `active` is the current activity from a hook, the todo list or the user's verbs.
    pub fn line(&self, now: Duration, active: Option<&str>, theme: &Theme) -> StyledLine {
        let glyph = GLYPHS[(now.as_millis() / STEP.as_millis()) as usize % GLYPHS.len()];
        let tone = match self.waits {
            TurnWait::Retry { .. } => ThemeToken::Warning,
            TurnWait::Model
            | TurnWait::Thinking
            | TurnWait::Writing
            | TurnWait::Tool(_)
            | TurnWait::NextCall
            | TurnWait::OwnCommand
            | TurnWait::Permission
            | TurnWait::Compacting
            | TurnWait::Interrupting => ThemeToken::Accent,
        };
        let mut line = StyledLine::styled(format!("{glyph} "), theme.fg(tone));
        line.push(self.verb(now, active), theme.fg(tone));
        let mut facts = vec![elapsed(now.saturating_sub(self.started))];
        // Programs that watch the screen recognise a running turn by these words, so they are placed where nothing cuts
        // them off. A permission question has a different text.
        if !matches!(self.waits, TurnWait::Permission) {
            facts.push("esc to interrupt".into());
        }
        let tokens = self.tokens + self.tokens_now;
        if tokens > 0 {
            facts.push(format!("↓ {} tokens", short_count(tokens)));
        }
        let thought =
            self.thinking_time + self.thinking_since.map_or(Duration::ZERO, |since| now.saturating_sub(since));
        if thought >= Duration::from_secs(1) {
            facts.push(format!("thought for {}", elapsed(thought)));
        }
        line.push(format!(" ({})", facts.join(" · ")), theme.fg(ThemeToken::Inactive));
        line
    }
}

pub fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

pub fn short_count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{:.1}k", n as f64 / 1_000.0),
        _ => format!("{:.1}m", n as f64 / 1_000_000.0),
    }
}

/// A dimmed line, as used for hints.
pub fn faint(text: impl Into<String>, theme: &Theme) -> StyledLine {
    StyledLine::styled(text, TextStyle::PLAIN.with(theme.fg(ThemeToken::Inactive)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(turn: &RunningTurn, seconds: u64, active: Option<&str>) -> String {
        turn.line(Duration::from_secs(seconds), active, &Theme::default()).text()
    }

    #[test]
    fn the_line_says_what_it_waits_for() {
        // [TST-112]
        let mut turn = RunningTurn::new(Duration::ZERO);
        assert!(shown(&turn, 5, None).ends_with("Waiting for the model… (5 s · esc to interrupt)"));
        assert!(shown(&turn, 25, None).contains("Still waiting"));
        turn.waits = TurnWait::Retry {
            until: Duration::from_secs(9),
            attempt: 2,
            of: 10,
            reason: "the connection was refused".into(),
        };
        let reason = turn.reason(&Theme::default()).map(|line| line.text());
        assert_eq!(reason.as_deref(), Some("  the connection was refused"));
        assert!(shown(&turn, 5, Some("Building")).contains("Retrying in 5 s · attempt 2 of 10"));
        turn.waits = TurnWait::Tool("Bash".into());
        turn.tokens = 1_234;
        assert!(shown(&turn, 65, None).ends_with("Running a command… (1 min 5 s · esc to interrupt · ↓ 1.2k tokens)"));
        assert!(shown(&turn, 65, Some("Building")).contains("Building… ("));
        turn.waits = TurnWait::Permission;
        assert!(shown(&turn, 65, Some("Building")).contains("Waiting for your answer"));
    }
}
