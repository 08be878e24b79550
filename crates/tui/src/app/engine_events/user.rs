//! Messages of the user: results of calls, prompts of a resumed conversation, and texts that were sent with them.

use super::api_event::{EventBody, EventContent, result_text};
use crate::app::App;
use crate::app::spinner::TurnWait;
use crate::app::tools::CallOutcome;
use crate::app::transcript::TranscriptItemKind;
use terminal::theme::ThemeToken;
use wire::sdk::UserMessage;

/// How many lines of a long prompt of a resumed conversation are shown.
const EARLIER_ROWS: usize = 8;

impl App {
    pub(super) fn user(&mut self, message: &UserMessage) {
        if message.is_replay && self.receive_delivered(&message.uuid) {
            return;
        }
        let Ok(EventBody { content, .. }) = serde_json::from_str(message.message.get()) else { return };
        if let Some(call) = &message.parent_tool_use_id {
            match content {
                EventContent::Text(text) => {
                    self.transcript.add_stamped(TranscriptItemKind::Prompt, &text, String::new(), Some(call));
                }
                EventContent::Blocks(blocks) => self.record_agent_message(call, &blocks),
            }
            return;
        }
        if message.is_replay {
            self.record_resumed(&message.session_id);
        }
        let blocks = match content {
            EventContent::Text(text) if message.is_replay => return self.earlier_prompt(&text),
            EventContent::Text(text) => return self.show_injected(&text),
            EventContent::Blocks(blocks) => blocks,
        };
        for block in blocks {
            match block.kind.as_str() {
                "tool_result" => {
                    let detail = message.tool_use_result.as_ref();
                    let detail = detail.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                    let outcome = CallOutcome { text: result_text(&block.content), is_error: block.is_error, detail };
                    self.finish_call(&block.tool_use_id, &outcome);
                }
                "text" if message.is_replay => self.earlier_prompt(&block.text),
                "text" => self.show_injected(&block.text),
                _ => {}
            }
        }
    }

    /// Prints a prompt of a resumed conversation. Texts that begin with a tag come from programs and are skipped.
    fn earlier_prompt(&mut self, text: &str) {
        if text.starts_with("[Request interrupted") || text.starts_with('<') {
            return;
        }
        self.print_held_calls();
        let lines = text.lines().count();
        if lines <= EARLIER_ROWS + 1 {
            return self.print_prompt(text);
        }
        // A long text is probably a paste, so only its beginning is shown.
        let first: Vec<&str> = text.lines().take(EARLIER_ROWS).collect();
        self.print_prompt_as(text, &format!("{}\n… +{} lines", first.join("\n"), lines - EARLIER_ROWS));
    }

    /// Prints a text that the engine inserted into the conversation.
    fn show_injected(&mut self, text: &str) {
        if text.starts_with("[Request interrupted") {
            // A refusal ends the turn as well; the row of the call already shows it.
            let by_key = self.activity.turn.as_ref().is_none_or(|turn| turn.waits == TurnWait::Interrupting);
            let question =
                if by_key { "Interrupted. What should be done instead?" } else { "What should be done instead?" };
            self.note(question, ThemeToken::Inactive);
        } else if let Some(output) = text_between(text, "<local-command-stdout>", "</local-command-stdout>") {
            self.note(output, ThemeToken::Text);
        } else if let Some(output) = text_between(text, "<local-command-stderr>", "</local-command-stderr>") {
            self.note(output, ThemeToken::Error);
        } else {
            self.transcript.note(text);
        }
    }
}

fn text_between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.trim().strip_prefix(start)?.strip_suffix(end)
}
