//! Calls: their rows while they run and their results.

use crate::app::agents::AgentEnd;
use crate::app::calls::OpenCall;
use crate::app::record::RecordItem;
use crate::app::record::build::CallResult;
use crate::app::record::call::{CallPhase, CallRecord};
use crate::app::spinner::TurnWait;
use crate::app::transcript::RecordOrigin;
use crate::app::{App, todos};
use serde_json::Value;

impl App {
    /// A call begins; `begun_ms` is the time of its message.
    pub(super) fn begin_call(&mut self, call: CallRecord, origin: RecordOrigin, begun_ms: Option<u64>) {
        self.digest_begins_call();
        if !self.activity.calls.joins(&call.tool) {
            self.print_held_calls();
        }
        if let Some(turn) = &mut self.activity.turn {
            turn.wait_for(TurnWait::Tool(call.tool.clone()));
        }
        self.transcript.add_from(RecordItem::Call(Box::new(call.clone())), origin, begun_ms);
        self.activity.calls.open(OpenCall::new(call));
    }

    /// The call has begun to run.
    pub(super) fn start_call(&mut self, id: &str) {
        let now = self.now;
        if let Some(call) = self.activity.calls.get_mut(id) {
            call.since = Some(now);
        }
    }

    /// The output of a running command so far: its end.
    pub(super) fn show_output(&mut self, id: &str, output: String) {
        if let Some(call) = self.activity.calls.get_mut(id) {
            call.output = output;
        }
    }

    /// Prints the calls that were held back to be grouped.
    pub(in crate::app) fn print_held_calls(&mut self) {
        let look = record_look!(self);
        let lines = self.activity.calls.take_held(&look);
        self.print_activity(crate::screen_reader::SpeakerLabel::Tool, lines);
    }

    pub(super) fn finish_call(&mut self, result: CallResult) {
        let by_times = self.transcript.time_of_call(&result);
        let Some(OpenCall { mut record, since, .. }) = self.activity.calls.close(&result.call) else { return };
        let CallResult { call: id, outcome, is_refused, .. } = result;
        record.is_refused = is_refused;
        // An agent that continues in the background keeps its row.
        if outcome.detail.get("status").and_then(Value::as_str) != Some("async_launched") {
            self.end_agent(&id, if outcome.is_error { AgentEnd::Failed } else { AgentEnd::Done });
        }
        record.took = since.map(|since| self.now.saturating_sub(since)).or(by_times);
        self.ring_bell_after(record.took.unwrap_or_default());
        if let Some(turn) = self.activity.turn.as_mut().filter(|turn| turn.waits != TurnWait::Interrupting) {
            turn.wait_for(
                self.activity.calls.running().map_or(TurnWait::Model, |tool| TurnWait::Tool(tool.to_owned())),
            );
        }
        // The result is shown in the todo list.
        let is_listed =
            !outcome.is_error && todos::apply_task_call(&mut self.todos, &record.tool, &record.input, &outcome);
        record.phase = CallPhase::Ended(outcome);
        self.transcript.update_call(&id, |call| call.clone_from(&record));
        if is_listed {
            return;
        }
        let record = if self.has_focus_view() { Some(record) } else { self.activity.calls.hold(record) };
        if let Some(record) = record {
            self.print_held_calls();
            self.print_item(&RecordItem::Call(Box::new(record)));
        }
    }

    /// Prints the calls that the end of the turn cut off.
    pub(super) fn end_open_calls(&mut self, phase: &CallPhase) {
        self.print_held_calls();
        for OpenCall { mut record, .. } in self.activity.calls.abandon() {
            record.phase = phase.clone();
            self.print_item(&RecordItem::Call(Box::new(record)));
        }
        let ids: Vec<&str> = self.session.background.iter().map(|task| task.id.as_str()).collect();
        let running = self.agents.calls_of(&ids);
        self.transcript.end_open_calls(phase, |agent| !agent.is_some_and(|call| running.contains(call)));
    }
}
