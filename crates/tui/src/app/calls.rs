//! Running calls, and finished reads, searches and MCP calls that are held back to be printed as one group. Finished
//! calls are printed in the order in which they were requested.

use super::agents::AgentRowContent;
use super::spinner::elapsed;
use super::tools::{self, CallGroup, CallLabel, CallOutcome, CallState};
use serde_json::Value;
use std::time::Duration;
use terminal::style::{StyledLine, lines_of};
use terminal::theme::{Theme, ThemeToken};

#[derive(Debug)]
pub struct OpenCall {
    pub id: String,
    pub tool: String,
    pub input: Value,
    pub label: CallLabel,
    pub since: Duration,
    /// The answer of the user, when that is why the call did not run.
    pub refusal_text: Option<String>,
}

impl OpenCall {
    /// The lines of the finished call with its result.
    pub fn lines(&self, outcome: &CallOutcome, theme: &Theme, columns: usize) -> Vec<StyledLine> {
        let mood = if outcome.is_error { CallState::Failed } else { CallState::Done };
        let mut lines = tools::title(&self.label, mood, theme);
        lines.extend(match &self.refusal_text {
            Some(said) if outcome.is_error => tools::with_corner(lines_of(said, theme.fg(ThemeToken::Inactive)), theme),
            Some(_) | None => tools::result(&self.tool, &self.input, outcome, theme, columns),
        });
        lines
    }

    /// The lines of a call that was cut off by the end of the turn.
    pub fn interrupted_lines(&self, theme: &Theme) -> Vec<StyledLine> {
        let mut lines = tools::title(&self.label, CallState::Failed, theme);
        lines.extend(tools::with_corner(
            vec![StyledLine::styled(tools::INTERRUPTED, theme.fg(ThemeToken::Error))],
            theme,
        ));
        lines
    }
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
    /// The label of each call and the summary of its result.
    names: Vec<(String, Option<String>)>,
    /// The lines of the first call, printed when it stays the only one.
    single_lines: Vec<StyledLine>,
}

impl CallTracker {
    pub fn open(&mut self, call: OpenCall) {
        self.open.push(call);
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut OpenCall> {
        self.open.iter_mut().find(|call| call.id == id)
    }

    pub fn get(&self, id: &str) -> Option<&OpenCall> {
        self.open.iter().find(|call| call.id == id)
    }

    /// The tool of the call that has run longest.
    pub fn running(&self) -> Option<&str> {
        self.open.first().map(|call| call.tool.as_str())
    }

    pub fn close(&mut self, id: &str) -> Option<OpenCall> {
        let at = self.open.iter().position(|call| call.id == id)?;
        Some(self.open.remove(at))
    }

    /// Holds a finished call back until the next one is known; `false` when it must be printed separately. `alone`
    /// makes its lines for the case that it stays the only one.
    pub fn hold(&mut self, call: &OpenCall, outcome: &CallOutcome, alone: impl FnOnce() -> Vec<StyledLine>) -> bool {
        let Some(group) = tools::group(&call.tool).filter(|_| !outcome.is_error) else { return false };
        let name = match &group {
            CallGroup::Read | CallGroup::Search => call.label.argument.clone(),
            CallGroup::Server(_) => call.label.full_name(),
        };
        let name = (name, tools::summary(&call.tool, outcome));
        match &mut self.held {
            Some(held) if held.group == group => {
                held.names.push(name);
                true
            }
            None => {
                self.held = Some(HeldCalls { group, names: vec![name], single_lines: alone() });
                true
            }
            Some(_) => false,
        }
    }

    /// Whether a call of this tool can join the held group. True when nothing is held.
    pub fn joins(&self, tool: &str) -> bool {
        self.held.as_ref().is_none_or(|held| tools::group(tool).as_ref() == Some(&held.group))
    }

    /// Takes the held calls as lines to print.
    pub fn take_held(&mut self, theme: &Theme) -> Vec<StyledLine> {
        self.held.take().map_or_else(Vec::new, |held| held.lines(theme))
    }

    /// Takes all calls that are still open when the turn has ended.
    pub fn abandon(&mut self) -> Vec<OpenCall> {
        std::mem::take(&mut self.open)
    }

    /// The live rows. A call that waits for permission shows no running time; the row of an agent shows its state.
    pub fn rows(
        &self,
        now: Duration,
        theme: &Theme,
        waits: impl Fn(&str) -> bool,
        agent: impl Fn(&str) -> Option<AgentRowContent>,
    ) -> Vec<StyledLine> {
        let faint = theme.fg(ThemeToken::Inactive);
        let mut lines = self.held.as_ref().map_or_else(Vec::new, |held| held.lines(theme));
        for call in &self.open {
            lines.extend(tools::title(&call.label, CallState::Running, theme));
            let time = now.saturating_sub(call.since);
            let state = match agent(&call.id) {
                Some(AgentRowContent::Shown(line)) => Some(line.over(faint)),
                Some(AgentRowContent::Hidden) => None,
                None if waits(&call.id) || time < Duration::from_secs(2) => None,
                None => Some(StyledLine::styled(format!("Running… {}", elapsed(time)), faint)),
            };
            lines.extend(tools::with_corner(state.into_iter().collect(), theme));
        }
        lines
    }
}

impl HeldCalls {
    fn lines(&self, theme: &Theme) -> Vec<StyledLine> {
        let count = self.names.len();
        if count == 1 {
            return self.single_lines.clone();
        }
        let name = match &self.group {
            CallGroup::Read => format!("Read {count} files"),
            CallGroup::Search => format!("Searched {count} times"),
            CallGroup::Server(server) => format!("Called {server} {count} times"),
        };
        let mut lines = tools::title(&CallLabel { name, argument: String::new() }, CallState::Done, theme);
        let faint = theme.fg(ThemeToken::Inactive);
        let row = |(name, summary): &(String, Option<String>)| {
            let name = terminal::text::clean(name).replace('\n', " ");
            let summary = summary.as_ref().map_or_else(String::new, |summary| format!(" · {summary}"));
            StyledLine::styled(format!("{name}{summary}"), faint)
        };
        lines.extend(tools::with_corner(self.names.iter().map(row).collect(), theme));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::SessionDisplay;
    use serde_json::json;

    fn finish(calls: &mut CallTracker, tool: &str, input: Value) -> bool {
        let label = tools::label(tool, &input, &SessionDisplay::default());
        let call =
            OpenCall { id: "c".into(), tool: tool.into(), input, label, since: Duration::ZERO, refusal_text: None };
        let outcome = CallOutcome { text: "ok".into(), is_error: false, detail: Value::Null };
        calls.hold(&call, &outcome, || vec![StyledLine::plain("by itself")])
    }

    fn texts(lines: &[StyledLine]) -> Vec<String> {
        lines.iter().map(StyledLine::text).collect()
    }

    #[test]
    fn calls_of_one_server_become_one_line_and_one_alone_stays_whole() {
        let (mut calls, theme) = (CallTracker::default(), Theme::default());
        assert!(finish(&mut calls, "mcp__slack__send", json!({"to": "a"})));
        assert_eq!(texts(&calls.take_held(&theme)), ["by itself"]);
        for name in ["send", "list", "send"] {
            assert!(calls.joins(&format!("mcp__slack__{name}")));
            assert!(finish(&mut calls, &format!("mcp__slack__{name}"), json!({"to": "a"})));
        }
        assert!(!calls.joins("mcp__other__x") && !calls.joins("Read"));
        assert!(!finish(&mut calls, "Read", json!({"file_path": "a"})), "another kind is not mixed in");
        let lines = texts(&calls.take_held(&theme));
        assert_eq!(lines[0], "● Called slack 3 times");
        assert!(lines[1].contains("send") && lines[2].contains("list"), "{lines:?}");
    }

    #[test]
    fn a_command_is_never_held() {
        assert!(!finish(&mut CallTracker::default(), "Bash", json!({"command": "ls"})));
    }
}
