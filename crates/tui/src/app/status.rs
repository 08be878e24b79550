//! The status line of the user: when its command is run and what it printed last. A change schedules a request after a
//! short delay, so that a burst of changes causes one request; a new request cancels the pending one. Without a
//! configured command nothing is requested, except at the end of a turn, when one may have been configured.

use crate::status_line;
use serde_json::Value;
use std::time::Duration;
use terminal::editor::vim::VimMode;
use terminal::style::{StyledLine, TextStyle};
use wire::mode::PermissionMode;

const DEBOUNCE: Duration = Duration::from_millis(300);

/// What the status line depends on besides the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusInputs {
    pub mode: PermissionMode,
    pub vim: Option<VimMode>,
}

#[derive(Debug, Default)]
pub struct StatusLineState {
    pub(super) is_configured: bool,
    rows: Vec<StyledLine>,
    padding: usize,
    refresh: Option<Duration>,
    pub(super) hides_vim: bool,
    /// When it is requested next; `None` when nothing is scheduled.
    due: Option<Duration>,
    request_id: Option<String>,
}

impl StatusLineState {
    pub fn next_change(&self) -> Option<Duration> {
        self.due
    }

    /// Schedules a request after a change, if a command is configured.
    pub fn schedule_if_configured(&mut self, now: Duration) {
        if self.is_configured {
            self.due = Some(now + DEBOUNCE);
        }
    }

    /// Schedules a request without delay, because a command is configured.
    pub fn schedule_now(&mut self, now: Duration) {
        self.due = Some(now);
    }

    /// Schedules a request even without a known command, because the settings may have changed.
    pub fn schedule_always(&mut self, now: Duration) {
        self.due = Some(now + DEBOUNCE);
    }

    /// The rows, cut to the width of the window.
    pub fn rows(&self, columns: usize) -> Vec<StyledLine> {
        let row = |line: &StyledLine| {
            let mut row = StyledLine::styled(" ".repeat(self.padding), TextStyle::PLAIN);
            row.append(line.clone());
            row.truncated(columns)
        };
        self.rows.iter().map(row).collect()
    }

    /// Whether the request is due; it is then no longer scheduled.
    pub fn take_due(&mut self, now: Duration) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }

    /// Takes the id of the pending request.
    pub fn take_request(&mut self) -> Option<String> {
        self.request_id.take()
    }

    pub fn record_request(&mut self, id: String) {
        self.request_id = Some(id);
    }

    /// Applies the output of the command; `false` when `request_id` is another request.
    pub fn receive(&mut self, request_id: &str, body: &Value, now: Duration) -> bool {
        if self.request_id.take_if(|asked| asked == request_id).is_none() {
            return false;
        }
        let number = |name: &str| body.get(name).and_then(Value::as_u64);
        let flag = |name: &str| body.get(name).and_then(Value::as_bool) == Some(true);
        self.is_configured = flag("configured");
        self.rows = body.get("output").and_then(Value::as_str).map(status_line::rows).unwrap_or_default();
        self.padding = number("padding").map_or(0, |columns| columns.min(40) as usize);
        self.hides_vim = self.is_configured && flag("hideVimModeIndicator");
        self.refresh = number("refreshIntervalMs").map(Duration::from_millis);
        if let (Some(interval), None) = (self.refresh, self.due) {
            self.due = Some(now + interval);
        }
        true
    }
}
