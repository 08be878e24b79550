//! The answer of the model: its text as it streams, its thinking, and whole messages.

use super::api_event::{ApiDelta, ApiEvent, EventBody, EventContent};
use crate::app::reply::ReplyPart;
use crate::app::spinner::TurnWait;
use crate::app::transcript::TranscriptItemKind;
use crate::app::{App, tools};
use crate::screen_reader::SpeakerLabel;
use terminal::style::StyledLine;
use terminal::theme::ThemeToken;
use wire::sdk::{AssistantMessage, StreamEvent};

impl App {
    pub(super) fn stream(&mut self, event: &StreamEvent) {
        if event.parent_tool_use_id.is_some() {
            return;
        }
        let Ok(event) = serde_json::from_str::<ApiEvent<'_>>(event.event.get()) else { return };
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
            if let Some(part) = self.activity.reply.take_closed(&look) {
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

    pub(super) fn assistant(&mut self, message: &AssistantMessage) {
        let Ok(EventBody { content: EventContent::Blocks(blocks), model }) =
            serde_json::from_str(message.message.get())
        else {
            return;
        };
        if let Some(call) = &message.parent_tool_use_id {
            return self.record_agent_message(call, &blocks);
        }
        let time = message.timestamp.get(11..19).unwrap_or_default();
        let stamp = format!("{time} · {model}");
        for block in blocks {
            match block.kind.as_str() {
                "text" if message.is_api_error_message => self.note(&block.text, ThemeToken::Error),
                // The output of `/context` is Markdown and is rendered like a reply.
                "text" if message.local_command_run.is_some() && message.context_usage.is_none() => {
                    self.local_output(&block.text);
                }
                "text" => {
                    self.transcript.add_stamped(TranscriptItemKind::Reply, &block.text, stamp.clone(), None);
                    let shown = self.activity.replacement_text.take().unwrap_or(block.text);
                    let look = look!(self);
                    if let Some(part) = self.activity.reply.finish(&shown, &look) {
                        self.reply_part(part);
                    }
                }
                "thinking" | "redacted_thinking" => self.thought(&block.thinking, message.thinking_duration_ms),
                "tool_use" => self.call(block),
                _ => {}
            }
        }
    }

    /// Prints one line for a thinking block. The transcript view has the full text, when the provider sent one.
    fn thought(&mut self, text: &str, took_ms: Option<u64>) {
        let text = text.trim();
        let first = text.lines().next().unwrap_or_default();
        let took = took_ms.map(|ms| format!("Thought for {} s", ms.div_ceil(1_000).max(1)));
        if self.has_screen_reader() {
            let words = if first.is_empty() { took.unwrap_or_default() } else { terminal::text::clean(first) };
            if !words.is_empty() {
                self.print_labelled(SpeakerLabel::Thinking, vec![StyledLine::plain(words)]);
            }
        } else if let Some(took) = took {
            let more = if first.is_empty() { "" } else { " · ctrl+o" };
            let style = self.preferences.theme.fg(ThemeToken::Inactive);
            self.print_held_calls();
            self.print_labelled(SpeakerLabel::Thinking, vec![StyledLine::styled(format!("∴ {took}{more}"), style)]);
        }
        if !text.is_empty() {
            self.transcript.add(TranscriptItemKind::Thinking, text);
        }
    }

    /// Prints the output of a command that ran locally.
    pub(super) fn local_output(&mut self, content: &str) {
        // It may have changed the model, the effort or the session's name; the engine says so after the command.
        self.interface_settings.are_outdated = true;
        self.transcript.add(TranscriptItemKind::Result, content);
        let content = terminal::text::clean(content);
        let lines = terminal::style::lines_of(content.trim_end(), terminal::style::TextStyle::PLAIN);
        let lines = tools::with_corner(lines, &self.preferences.theme);
        if self.has_screen_reader() {
            self.print_labelled(SpeakerLabel::Tool, lines);
        } else {
            self.continue_block(lines);
        }
    }
}
