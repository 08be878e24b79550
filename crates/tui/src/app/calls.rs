//! Running calls, and finished calls of one kind that are held back to be printed as one line. Finished calls are printed
//! in the order in which they were requested.

use super::agents::AgentRowContent;
use super::record::RecordLook;
use super::record::call::{BODY, CallRecord, CallState, title};
use super::tools::{self, CallGroup, CallLabel, counted};
use crate::ansi;
use engine::{ToolClass, tool_facts};
use std::time::Duration;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::ThemeToken;

/// A call that runs this long can be moved to the background by a key that is named.
const BACKGROUND_HINT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct OpenCall {
    pub record: CallRecord,
    /// When it began to run; `None` while it waits for other calls or for an answer.
    pub since: Option<Duration>,
    /// The end of the output of its command.
    pub output: String,
    /// The agent that it started has ended; its result follows.
    pub has_ended: bool,
}

impl OpenCall {
    pub fn new(record: CallRecord) -> Self {
        Self { record, since: None, output: String::new(), has_ended: false }
    }

    fn may_move(&self) -> bool {
        let class = tool_facts(&self.record.tool).class;
        let runs_there = self.record.input.get("run_in_background").and_then(serde_json::Value::as_bool) == Some(true);
        matches!(class, ToolClass::Shell | ToolClass::Agent | ToolClass::Mcp) && !runs_there
    }

    fn lines(&self, place: &CallRowsPlace<'_>, is_asked: bool, agent: Option<AgentRowContent>) -> Vec<StyledLine> {
        let look = &place.look;
        let faint = look.theme.fg(ThemeToken::Inactive);
        let state = match (is_asked, self.has_ended) {
            (true, _) => CallState::Asked,
            (false, true) => CallState::Done,
            (false, false) => CallState::Running,
        };
        let time = self.since.map(|since| place.now.saturating_sub(since)).filter(|_| state == CallState::Running);
        let mut facts: Vec<String> =
            time.filter(|time| *time >= tools::LEAST_TIME).map(whole_seconds).into_iter().collect();
        let moves = time.is_some_and(|time| time >= BACKGROUND_HINT) && self.may_move();
        facts.extend(place.background_key.filter(|_| moves).map(|key| format!("{key} to background")));
        let mut lines = title(&self.record.label, state, &facts, look);
        let below = match agent {
            Some(AgentRowContent::Shown(line)) => Some(line),
            Some(AgentRowContent::Hidden) => None,
            None => self.last_output(),
        };
        let below = below.filter(|_| state == CallState::Running).map(|line| line.over(faint).indented(BODY));
        lines.extend(below.map(|line| line.truncated(look.columns)));
        lines
    }

    /// The last line of the output that is not blank.
    fn last_output(&self) -> Option<StyledLine> {
        let lines = ansi::output_lines(&self.output);
        let last = lines.iter().rev().map(StyledLine::text).find(|text| !text.trim().is_empty())?;
        Some(StyledLine::styled(last.trim_end(), TextStyle::PLAIN))
    }
}

/// A running time: whole seconds, so that it does not flicker.
fn whole_seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        _ => tools::duration_words(time),
    }
}

/// What the rows of calls depend on besides the calls.
pub struct CallRowsPlace<'a> {
    pub look: RecordLook<'a>,
    pub now: Duration,
    /// The key that moves a call to the background.
    pub background_key: Option<&'a str>,
}

#[derive(Debug, Default)]
pub struct CallTracker {
    open: Vec<OpenCall>,
    held: Option<HeldCalls>,
}

/// Consecutive finished calls of one group.
#[derive(Debug)]
struct HeldCalls {
    group: CallGroup,
    calls: Vec<CallRecord>,
}

impl CallTracker {
    pub fn open(&mut self, call: OpenCall) {
        self.open.push(call);
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut OpenCall> {
        self.open.iter_mut().find(|call| call.record.id == id)
    }

    pub fn get(&self, id: &str) -> Option<&OpenCall> {
        self.open.iter().find(|call| call.record.id == id)
    }

    /// The tool of the call that has run longest.
    pub fn running(&self) -> Option<&str> {
        self.open.first().map(|call| call.record.tool.as_str())
    }

    /// How that call is labelled.
    pub fn running_label(&self) -> Option<&CallLabel> {
        self.open.first().map(|call| &call.record.label)
    }

    pub fn close(&mut self, id: &str) -> Option<OpenCall> {
        let at = self.open.iter().position(|call| call.record.id == id)?;
        Some(self.open.remove(at))
    }

    /// Holds a finished call back until the next one is known; gives it back when it must be printed by itself.
    pub fn hold(&mut self, call: CallRecord) -> Option<CallRecord> {
        let Some(group) = tools::group(&call.tool).filter(|_| !call.has_failed()) else { return Some(call) };
        match &mut self.held {
            Some(held) if held.group == group => {
                held.calls.push(call);
                None
            }
            None => {
                self.held = Some(HeldCalls { group, calls: vec![call] });
                None
            }
            Some(_) => Some(call),
        }
    }

    /// Whether a call of this tool can join the held group. True when nothing is held.
    pub fn joins(&self, tool: &str) -> bool {
        self.held.as_ref().is_none_or(|held| tools::group(tool).as_ref() == Some(&held.group))
    }

    /// Takes the held calls as lines to print.
    pub fn take_held(&mut self, look: &RecordLook<'_>) -> Vec<StyledLine> {
        self.held.take().map_or_else(Vec::new, |held| held.lines(look))
    }

    /// Takes all calls that are still open when the turn has ended.
    pub fn abandon(&mut self) -> Vec<OpenCall> {
        std::mem::take(&mut self.open)
    }

    /// The live rows. A call that waits shows no time; the row of an agent shows its state.
    pub fn rows(
        &self,
        place: &CallRowsPlace<'_>,
        waits: impl Fn(&str) -> bool,
        agent: impl Fn(&str) -> Option<AgentRowContent>,
    ) -> Vec<StyledLine> {
        let mut lines = self.held.as_ref().map_or_else(Vec::new, |held| held.lines(&place.look));
        for call in &self.open {
            let id = call.record.id.as_str();
            lines.extend(call.lines(place, waits(id), agent(id)));
        }
        lines
    }
}

impl HeldCalls {
    fn lines(&self, look: &RecordLook<'_>) -> Vec<StyledLine> {
        if let [only] = &self.calls[..] {
            return only.lines(look);
        }
        let count = self.calls.len();
        let (name, sum) = match &self.group {
            CallGroup::Read => (tools::READ_VERB, counted(count, "file")),
            CallGroup::Search(verb) => (*verb, counted(count, "time")),
            CallGroup::Server(server) => (server.as_str(), counted(count, "call")),
        };
        let names: Vec<String> =
            self.calls.iter().map(|call| tools::short_name(&call.tool, &call.input, &call.label)).collect();
        let names = terminal::text::clean(&names.join(", ")).replace('\n', " ");
        let label = CallLabel { name: name.to_owned(), argument: sum };
        let lines = title(&label, CallState::Done, &[names], look);
        // One line says it: all names are in the transcript view.
        let whole = lines.len() == 1;
        let Some(first) = lines.into_iter().next() else { return Vec::new() };
        vec![if whole { first } else { first.and(" …", look.theme.fg(ThemeToken::Inactive)).truncated(look.columns) }]
    }
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
