//! Whether the work of a turn was checked: which command ran after the last change of a file, and how it ended.

use session_parts::tool_use::ToolUse;
use tools::{ToolClass, ToolOutcome};
use wire::sdk::ReportedChecks;

/// Longest shown command, in characters.
const MAX_COMMAND_CHARS: usize = 200;

/// The changes of a turn, and the command that ran after the last of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnChecks {
    has_edits: bool,
    run: Option<CheckRun>,
}

#[derive(Clone, Debug)]
struct CheckRun {
    command: String,
    succeeded: bool,
}

impl TurnChecks {
    /// Records a call that ran.
    pub(crate) fn note(&mut self, used: &ToolUse, class: ToolClass, outcome: &ToolOutcome) {
        match class {
            ToolClass::Edit if !outcome.is_error => *self = Self { has_edits: true, run: None },
            ToolClass::Shell if self.has_edits => {
                let command = session_parts::sandbox::bash_input(used.input.get()).map(|(command, _)| command);
                let command: String = command.unwrap_or_default().chars().take(MAX_COMMAND_CHARS).collect();
                self.run = Some(CheckRun { command, succeeded: !outcome.is_error });
            }
            _ => {}
        }
    }

    /// Files were changed and nothing was run since.
    pub(crate) fn lacks_run(&self) -> bool {
        self.has_edits && self.run.is_none()
    }

    /// For a hand-over and the report of an agent, as a sentence; `None` when no file was changed.
    pub(crate) fn describe(&self) -> Option<String> {
        self.has_edits.then(|| match &self.run {
            None => "Nothing was run after the last change of a file.".to_owned(),
            Some(CheckRun { command, succeeded: true }) => {
                format!("After the last change of a file this ran and succeeded: {command}")
            }
            Some(CheckRun { command, succeeded: false }) => {
                format!("After the last change of a file this ran and failed: {command}")
            }
        })
    }

    /// For the result of the turn; `None` when no file was changed.
    pub(crate) fn report(&self) -> Option<ReportedChecks> {
        self.has_edits.then(|| ReportedChecks {
            ran_after_last_edit: self.run.is_some(),
            command: self.run.as_ref().map(|run| run.command.clone()),
            succeeded: self.run.as_ref().map(|run| run.succeeded),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn used(input: &str) -> ToolUse {
        ToolUse::new("t", "Bash", RawValue::from_string(input.to_owned()).unwrap())
    }

    /// [MX-33] Only a command after the last change counts.
    #[test]
    fn a_later_change_makes_an_earlier_check_void() {
        let (good, bad) = (ToolOutcome::text("", None), ToolOutcome::failed("no"));
        let run = used(r#"{"command": "make test"}"#);
        let mut checks = TurnChecks::default();
        checks.note(&run, ToolClass::Shell, &good);
        assert_eq!(checks.describe(), None);
        checks.note(&used("{}"), ToolClass::Edit, &good);
        assert!(checks.lacks_run());
        checks.note(&run, ToolClass::Shell, &bad);
        assert!(checks.describe().unwrap().ends_with("failed: make test"));
        checks.note(&used("{}"), ToolClass::Edit, &bad);
        assert!(!checks.lacks_run(), "a refused edit changes nothing");
        checks.note(&used("{}"), ToolClass::Edit, &good);
        assert!(checks.lacks_run() && checks.describe().unwrap().starts_with("Nothing was run"));
    }
}
