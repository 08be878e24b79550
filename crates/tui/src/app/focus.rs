//! How much of a turn is printed. The focus view leaves prompts and final answers, and one line for all calls of a turn;
//! the record keeps everything, so Ctrl+O shows it.

use super::App;
use super::engine_events::record_look;
use super::panel::PanelJob;
use super::record::RecordItem;
use super::record::call::{CallRecord, CallState};
use super::spinner::TurnWait;
use super::tools::{CallDetail, CallEnd, RecordLimits, counted};
use crate::diff;
use crate::screen_reader::SpeakerLabel;
use serde_json::Value;
use std::fmt::Write;
use std::time::Duration;
use terminal::keys::bindings::KeyAction;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::{Theme, ThemeToken};

const SWITCH_HINT: Duration = Duration::from_secs(6);
pub(super) const SETTING: &str = "viewMode";

/// `viewMode`: how much of the conversation is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViewMode {
    #[default]
    Default,
    /// Calls with their whole output.
    Verbose,
    /// Calls of a turn in one line.
    Focus,
}

impl ViewMode {
    /// What the settings say; `viewMode` comes before `verbose`.
    pub fn of_settings(settings: &Value) -> Self {
        let named = settings.get(SETTING).and_then(Value::as_str).and_then(Self::parse);
        let is_verbose = settings.get("verbose").and_then(Value::as_bool) == Some(true);
        named.unwrap_or(if is_verbose { Self::Verbose } else { Self::Default })
    }

    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::Default),
            "verbose" => Some(Self::Verbose),
            "focus" => Some(Self::Focus),
            _ => None,
        }
    }

    pub fn limits(self) -> RecordLimits {
        match self {
            Self::Verbose => RecordLimits::NONE,
            Self::Default | Self::Focus => RecordLimits::STREAM,
        }
    }
}

/// The calls of one kind.
#[derive(Debug)]
struct CallCount {
    verb: String,
    calls: usize,
}

/// What a turn did, for its line in the focus view.
#[derive(Debug, Default)]
pub struct TurnDigest {
    counts: Vec<CallCount>,
    failed: usize,
    added: usize,
    removed: usize,
    /// The latest text of the model: its answer, unless calls follow.
    answer: Option<String>,
}

impl TurnDigest {
    fn count(&mut self, call: &CallRecord) {
        let tale = call.tale();
        self.failed += usize::from(tale.end == CallEnd::Failed);
        if let (CallEnd::Done, CallDetail::Change { hunks, .. }) = (tale.end, &tale.detail) {
            let (added, removed) = diff::counts(hunks);
            (self.added, self.removed) = (self.added + added, self.removed + removed);
        }
        match self.counts.iter_mut().find(|count| count.verb == call.label.name) {
            Some(count) => count.calls += 1,
            None => self.counts.push(CallCount { verb: call.label.name.clone(), calls: 1 }),
        }
    }

    fn calls(&self) -> usize {
        self.counts.iter().map(|count| count.calls).sum()
    }

    /// The line about the calls, with `more` at its end.
    fn line(&self, state: CallState, more: &[String], theme: &Theme) -> StyledLine {
        let verbs: Vec<String> = self.counts.iter().map(|count| format!("{} {}", count.verb, count.calls)).collect();
        let mut text = format!(" · {}", verbs.join(", "));
        if self.added + self.removed > 0 {
            write!(text, " · +{} −{}", self.added, self.removed).ok();
        }
        if self.failed > 0 {
            write!(text, " · {} failed", self.failed).ok();
        }
        for part in more {
            write!(text, " · {part}").ok();
        }
        let text = terminal::text::clean(&text).replace('\n', " ");
        StyledLine::plain("  ")
            .and_line(state.glyph(theme))
            .and(format!(" {}", counted(self.calls(), "call")), TextStyle::PLAIN.bold())
            .and(text, theme.fg(ThemeToken::Inactive))
    }
}

impl App {
    pub(super) fn has_focus_view(&self) -> bool {
        self.preferences.view == ViewMode::Focus
    }

    /// `/focus`: switches the focus view, also for later sessions. It holds at once: what the engine says about the
    /// settings may be older.
    pub(super) fn toggle_focus(&mut self) {
        let view = if self.has_focus_view() { ViewMode::Default } else { ViewMode::Focus };
        let value = (view == ViewMode::Focus).then(|| "focus".into());
        self.preferences.follows_view_setting = false;
        self.set_view(view);
        self.start_panel_job(PanelJob::Change { file: "userSettings", key: SETTING.into(), value });
    }

    /// Prints from now on as `view` wants it.
    pub(super) fn set_view(&mut self, view: ViewMode) {
        if view == self.preferences.view {
            return;
        }
        self.print_held_calls();
        self.print_digest();
        self.preferences.view = view;
        self.hint(
            match view {
                ViewMode::Focus => "Focus view is on: ctrl+o shows what is left out",
                ViewMode::Verbose => "Calls are shown with their whole output",
                ViewMode::Default => "Calls are shown as they run",
            },
            SWITCH_HINT,
        );
    }

    /// Keeps an item of the focus view for the end of the turn; gives back what is printed at once.
    pub(super) fn digest_item<'a>(&mut self, item: &'a RecordItem) -> Option<&'a RecordItem> {
        if !self.has_focus_view() {
            return Some(item);
        }
        match item {
            RecordItem::Call(call) => self.digest.count(call),
            RecordItem::Thinking { .. } => {}
            RecordItem::Prompt(_) | RecordItem::Shell(_) => {
                self.print_digest();
                return Some(item);
            }
            _ => return Some(item),
        }
        None
    }

    /// A text of the model has ended; only the last one of the turn is its answer.
    pub(super) fn digest_answer(&mut self, text: String) {
        self.activity.reply.restart();
        self.digest.answer = Some(text);
    }

    /// A call begins: the text before it was not the answer.
    pub(super) fn digest_begins_call(&mut self) {
        self.digest.answer = None;
    }

    /// Prints what is left of the turn in the focus view: the line about its calls, and its answer.
    pub(super) fn print_digest(&mut self) {
        let TurnDigest { answer, .. } = &mut self.digest;
        let answer = answer.take();
        let digest = std::mem::take(&mut self.digest);
        if digest.calls() > 0 {
            let key = self.preferences.bindings.keys_of(KeyAction::ToggleTranscript);
            let state = if digest.failed > 0 { CallState::Failed } else { CallState::Done };
            let line = digest.line(state, key.as_slice(), &self.preferences.theme);
            let line = if self.has_screen_reader() { line } else { line.truncated(self.size.columns) };
            self.print_labelled(SpeakerLabel::Tool, vec![line]);
        }
        if let Some(answer) = answer {
            let lines = RecordItem::Reply(answer).lines(&record_look!(self));
            self.print_labelled(SpeakerLabel::Claude, lines);
        }
    }

    /// The row of the focus view while calls run: how many there were, and what runs now.
    pub(super) fn digest_rows(&self) -> Vec<StyledLine> {
        let running = self.activity.calls.running_label();
        let now: Vec<String> =
            running.map(|label| format!("{} {}", label.name, label.argument).trim().to_owned()).into_iter().collect();
        if self.digest.calls() == 0 && now.is_empty() {
            return Vec::new();
        }
        let theme = &self.preferences.theme;
        let state = match (now.is_empty(), self.activity.calls.turn_wait()) {
            (true, _) => CallState::Done,
            (false, TurnWait::Tool(_)) => CallState::Running(self.running_frame()),
            (false, _) => CallState::Waiting,
        };
        let line = if self.digest.calls() == 0 {
            let label = running.map(|label| label.name.clone()).unwrap_or_default();
            StyledLine::plain("  ").and_line(state.glyph(theme)).and(format!(" {label}"), TextStyle::PLAIN.bold()).and(
                format!(" {}", running.map(|label| label.argument.as_str()).unwrap_or_default()),
                theme.fg(ThemeToken::Inactive),
            )
        } else {
            self.digest.line(state, &now, theme)
        };
        vec![line.truncated(self.size.columns)]
    }
}
