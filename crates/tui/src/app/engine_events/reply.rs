//! The answer of the model: its text as it streams, its thinking, and whole messages.

use super::api_event::{ApiDelta, ApiEvent};
use crate::app::App;
use crate::app::record::RecordItem;
use crate::app::record::build::{RecordChange, of_assistant};
use crate::app::reply::ReplyPart;
use crate::app::spinner::TurnWait;
use crate::app::transcript::{RecordOrigin, stamp};
use crate::screen_reader::SpeakerLabel;
use terminal::theme::ThemeToken;
use wire::sdk::{AssistantMessage, SdkMessage, StreamEvent};

/// Said below text that was printed before the connection broke.
const BEGINS_AGAIN: &str = "The answer broke off and begins again.";

impl App {
    pub(super) fn stream(&mut self, event: &StreamEvent) {
        if event.parent_tool_use_id.is_some() {
            return;
        }
        let Ok(event) = serde_json::from_str::<ApiEvent<'_>>(event.event.get()) else { return };
        if event.kind == "message_start" && self.activity.reply.restart() {
            self.note(BEGINS_AGAIN, ThemeToken::Inactive);
        }
        let now = self.now;
        let Some(turn) = &mut self.activity.turn else { return };
        match &*event.kind {
            "message_start" => {
                turn.tokens += std::mem::take(&mut turn.tokens_now);
                let usage = event.message.map(|message| message.usage).unwrap_or_default();
                self.session.context_used =
                    usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
            }
            "content_block_start" => {
                turn.has_output = true;
                match event.content_block.as_ref().map(|block| &*block.kind) {
                    Some("thinking" | "redacted_thinking") => {
                        turn.thinking_since = Some(now);
                        turn.wait_for(TurnWait::Thinking);
                    }
                    Some(_) | None => turn.wait_for(TurnWait::Writing),
                }
            }
            "content_block_delta" => self.delta(event.delta),
            "content_block_stop" => {
                if let Some(since) = turn.thinking_since.take() {
                    turn.thinking_time += now.saturating_sub(since);
                }
            }
            "message_delta" => {
                if let Some(usage) = event.usage {
                    turn.tokens_now = usage.output_tokens;
                }
            }
            _ => {}
        }
    }

    fn delta(&mut self, delta: Option<ApiDelta<'_>>) {
        let (Some(delta), Some(turn)) = (delta, &mut self.activity.turn) else { return };
        let size =
            [&delta.text, &delta.thinking, &delta.partial_json].into_iter().flatten().map(|t| t.len()).sum::<usize>();
        // An estimate until the provider reports the count.
        turn.tokens_now += wire::tokens::of_bytes(size);
        if let Some(text) = delta.text {
            turn.wait_for(TurnWait::Writing);
            self.activity.reply.push(&text);
            let look = look!(self);
            // In the focus view only the last text is printed, and this may not be it.
            let closed = if self.has_focus_view() { None } else { self.activity.reply.take_closed(&look) };
            if let Some(part) = closed {
                self.reply_part(part);
            }
        }
    }

    pub(super) fn reply_part(&mut self, part: ReplyPart) {
        match part {
            ReplyPart::Begins(lines) => {
                self.print_held_calls();
                self.print_labelled(SpeakerLabel::Claude, lines);
            }
            ReplyPart::Continues(lines) if self.has_screen_reader() => self.print_labelled(SpeakerLabel::None, lines),
            ReplyPart::Continues(lines) => self.continue_block(lines),
        }
    }

    pub(super) fn assistant(&mut self, message: Box<AssistantMessage>) {
        let (changes, model) = of_assistant(&message, &self.session);
        if let Some(agent) = &message.parent_tool_use_id {
            for change in &changes {
                if let RecordChange::Begin(call) = change {
                    self.agents.record_action(agent, format!("{} {}", call.tool, call.label.argument).trim());
                }
            }
            return self.transcript.absorb(&SdkMessage::Assistant(message), &self.session);
        }
        let origin = RecordOrigin { stamp: stamp(&message.timestamp, &model), agent: None };
        let begun_ms = sys::clock::parse_iso(&message.timestamp);
        for change in changes {
            match change {
                RecordChange::Add(RecordItem::Reply(text)) => self.finish_reply(text, origin.clone()),
                RecordChange::Add(item) => self.record_item(item, origin.clone()),
                RecordChange::Begin(call) => self.begin_call(*call, origin.clone(), begun_ms),
                RecordChange::End(result) => self.finish_call(result),
                RecordChange::Interrupt => {}
            }
        }
    }

    /// Prints what is left of a reply whose text streamed.
    fn finish_reply(&mut self, text: String, origin: RecordOrigin) {
        let look = look!(self);
        let shown = self.activity.replacement_text.take();
        if self.has_focus_view() {
            self.digest_answer(shown.unwrap_or_else(|| text.clone()));
        } else if let Some(part) = self.activity.reply.finish(shown.as_deref().unwrap_or(&text), &look) {
            self.reply_part(part);
        }
        self.transcript.add_from(RecordItem::Reply(text), origin, None);
    }
}
