//! Calls: their rows while they run and their results.

use super::api_event::{EventBlock, result_text};
use crate::app::agents::AgentEnd;
use crate::app::calls::OpenCall;
use crate::app::spinner::TurnWait;
use crate::app::tools::{self, CallOutcome};
use crate::app::transcript::TranscriptItemKind;
use crate::app::{App, todos};
use crate::screen_reader::SpeakerLabel;
use serde_json::Value;

impl App {
    /// Adds the messages of an agent to the transcript view only.
    pub(super) fn record_agent_message(&mut self, call: &str, blocks: &[EventBlock]) {
        for block in blocks {
            if block.kind == "tool_use" {
                let label = tools::label(&block.name, &block.input, &self.session);
                self.agents.record_action(call, format!("{} {}", block.name, label.argument).trim());
            }
            let (kind, text) = match block.kind.as_str() {
                "text" => (TranscriptItemKind::Reply, block.text.clone()),
                "thinking" => (TranscriptItemKind::Thinking, block.thinking.clone()),
                "tool_use" => (TranscriptItemKind::Call, format!("{} {}", block.name, block.input)),
                "tool_result" if block.is_error => (TranscriptItemKind::Failure, result_text(&block.content)),
                "tool_result" => (TranscriptItemKind::Result, result_text(&block.content)),
                _ => continue,
            };
            if !text.trim().is_empty() {
                self.transcript.add_stamped(kind, &text, String::new(), Some(call));
            }
        }
    }

    pub(super) fn call(&mut self, block: EventBlock) {
        let label = tools::label(&block.name, &block.input, &self.session);
        self.transcript.add(TranscriptItemKind::Call, &format!("{} {}", block.name, block.input));
        if !self.activity.calls.joins(&block.name) {
            self.print_held_calls();
        }
        if let Some(turn) = &mut self.activity.turn {
            turn.wait_for(TurnWait::Tool(block.name.clone()));
        }
        self.activity.calls.open(OpenCall {
            id: block.id,
            tool: block.name,
            input: block.input,
            label,
            since: self.now,
            refusal_text: None,
        });
    }

    /// Prints the calls that were held back to be grouped.
    pub(in crate::app) fn print_held_calls(&mut self) {
        let lines = self.activity.calls.take_held(&self.preferences.theme);
        self.print_labelled(SpeakerLabel::Tool, lines);
    }

    pub(super) fn finish_call(&mut self, id: &str, outcome: &CallOutcome) {
        let Some(call) = self.activity.calls.close(id) else { return };
        // An agent that continues in the background keeps its row.
        if outcome.detail.get("status").and_then(Value::as_str) != Some("async_launched") {
            self.end_agent(id, if outcome.is_error { AgentEnd::Failed } else { AgentEnd::Done });
        }
        self.ring_bell_after(self.now.saturating_sub(call.since));
        let kind = if outcome.is_error { TranscriptItemKind::Failure } else { TranscriptItemKind::Result };
        self.transcript.add(kind, &outcome.text);
        if let Some(turn) = self.activity.turn.as_mut().filter(|turn| turn.waits != TurnWait::Interrupting) {
            turn.wait_for(
                self.activity.calls.running().map_or(TurnWait::Model, |tool| TurnWait::Tool(tool.to_owned())),
            );
        }
        let (theme, columns) = (&self.preferences.theme, self.size.columns);
        let lines = || call.lines(outcome, theme, columns);
        if self.activity.calls.hold(&call, outcome, lines) {
            return;
        }
        // The result is shown in the todo list.
        if !outcome.is_error && todos::apply_task_call(&mut self.todos, &call.tool, &call.input, outcome) {
            return;
        }
        let lines = lines();
        self.print_held_calls();
        self.print_labelled(if outcome.is_error { SpeakerLabel::ToolError } else { SpeakerLabel::Tool }, lines);
    }

    /// Prints the calls that the end of the turn cut off.
    pub(super) fn end_open_calls(&mut self) {
        self.print_held_calls();
        for call in self.activity.calls.abandon() {
            let lines = call.interrupted_lines(&self.preferences.theme);
            self.print_labelled(SpeakerLabel::ToolError, lines);
        }
    }
}
