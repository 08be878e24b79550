//! What the messages of a session mean for its record. The same for messages that arrive while a turn runs, for those of
//! a resumed conversation, and for those read from its file.

use super::RecordItem;
use super::call::{CallPhase, CallRecord};
use super::told::{ToldPart, told_parts};
use crate::app::engine_events::api_event::{EventBlock, EventBody, EventContent, result_text};
use crate::app::footer::model_name;
use crate::app::session::SessionDisplay;
use crate::app::tools::{self, CallOutcome};
use std::time::Duration;
use terminal::text;
use terminal::theme::ThemeToken;
use wire::sdk::{AssistantMessage, UserMessage};

/// The value that says that a person refused a call.
const REFUSED_BY_PERSON: &str = "user-rejected";

/// One change of the record.
#[derive(Debug)]
pub enum RecordChange {
    Add(RecordItem),
    /// A call begins; its item is added at once.
    Begin(Box<CallRecord>),
    End(CallResult),
    /// The turn was interrupted.
    Interrupt,
}

/// The result of a call.
#[derive(Debug)]
pub struct CallResult {
    pub call: String,
    pub outcome: CallOutcome,
    /// A person refused the call.
    pub is_refused: bool,
    /// When it was recorded, in milliseconds; `None` when the time does not say how long the call ran.
    pub at_ms: Option<u64>,
}

/// The time of a message as it is shown.
pub fn clock_time(timestamp: &str) -> &str {
    timestamp.get(11..16).unwrap_or_default()
}

/// The changes of a message of the model, and the name of its model.
pub fn of_assistant(message: &AssistantMessage, session: &SessionDisplay) -> (Vec<RecordChange>, String) {
    let Ok(EventBody { content: EventContent::Blocks(blocks), model }) = serde_json::from_str(message.message.get())
    else {
        return (Vec::new(), String::new());
    };
    let took = message.thinking_duration_ms.map(Duration::from_millis);
    let is_of_command = message.local_command_run.is_some() && message.context_usage.is_none();
    let mut changes = Vec::new();
    for block in blocks {
        match block.kind.as_str() {
            "text" if message.is_api_error_message => {
                changes.push(RecordChange::Add(RecordItem::Note { text: block.text, token: ThemeToken::Error }));
            }
            // The output of `/context` is Markdown and is drawn like a reply.
            "text" if is_of_command => {
                changes.push(RecordChange::Add(RecordItem::Output { text: block.text, is_failure: false }));
            }
            "text" => changes.push(RecordChange::Add(RecordItem::Reply(block.text))),
            "thinking" | "redacted_thinking" if took.is_some() || !block.thinking.trim().is_empty() => {
                let text = block.thinking.trim().to_owned();
                changes.push(RecordChange::Add(RecordItem::Thinking { text, took }));
            }
            "tool_use" => changes.push(RecordChange::Begin(Box::new(opened(block, session)))),
            _ => {}
        }
    }
    let model = if model.is_empty() { model } else { text::clean(&model_name(session, &model)).replace('\n', " ") };
    (changes, model)
}

fn opened(block: EventBlock, session: &SessionDisplay) -> CallRecord {
    CallRecord {
        label: tools::label(&block.name, &block.input, session),
        id: block.id,
        tool: block.name,
        input: block.input,
        phase: CallPhase::Open,
        took: None,
        is_refused: false,
        refusal_text: None,
    }
}

/// The changes of a user message: results of calls and what a person did. `is_past` for a message of an earlier run, or
/// of an agent: a prompt of this run was recorded when it was sent.
pub fn of_user(message: &UserMessage, is_past: bool) -> Vec<RecordChange> {
    let Ok(EventBody { content, .. }) = serde_json::from_str(message.message.get()) else { return Vec::new() };
    let blocks = match content {
        EventContent::Text(text) => return of_words(&text, is_past),
        EventContent::Blocks(blocks) => blocks,
    };
    let mut changes = Vec::new();
    for block in blocks {
        match block.kind.as_str() {
            "tool_result" => changes.push(RecordChange::End(result_of(&block, message))),
            "text" => changes.extend(of_words(&block.text, is_past)),
            _ => {}
        }
    }
    changes
}

fn result_of(block: &EventBlock, message: &UserMessage) -> CallResult {
    let detail = message.tool_use_result.as_ref();
    let detail = detail.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let meta = message.tool_result_meta.first();
    let is_refused = meta.and_then(|meta| meta.non_execution_kind) == Some(REFUSED_BY_PERSON);
    // A call that a person was asked about waited for the answer.
    let was_asked = meta.and_then(|meta| meta.permission_decision).is_some_and(|by| by.source.starts_with("user"));
    let at_ms = sys::clock::parse_iso(&message.timestamp).filter(|_| !was_asked);
    let (text, is_error) = (result_text(&block.content), block.is_error);
    CallResult { call: block.tool_use_id.clone(), outcome: CallOutcome { text, is_error, detail }, is_refused, at_ms }
}

/// The items of the output of a command that ran locally; recorded ones have tags around it.
pub fn local_output_items(content: &str) -> Vec<RecordItem> {
    if !content.trim_start().starts_with('<') {
        return vec![RecordItem::Output { text: content.to_owned(), is_failure: false }];
    }
    let item = |part| match part {
        ToldPart::Output { text, is_failure, .. } => Some(RecordItem::Output { text, is_failure }),
        ToldPart::Words(text) => Some(RecordItem::Output { text, is_failure: false }),
        ToldPart::SlashCommand(text) => Some(RecordItem::Prompt(text)),
        ToldPart::Shell(_) | ToldPart::Notice(_) | ToldPart::Interruption => None,
    };
    told_parts(content).into_iter().filter_map(item).collect()
}

fn of_words(text: &str, is_past: bool) -> Vec<RecordChange> {
    let change = |part| match part {
        ToldPart::Interruption => Some(RecordChange::Interrupt),
        ToldPart::Words(text) | ToldPart::SlashCommand(text) if is_past => {
            Some(RecordChange::Add(RecordItem::Prompt(text)))
        }
        ToldPart::Shell(command) if is_past => Some(RecordChange::Add(RecordItem::Shell(command))),
        ToldPart::Notice(text) if is_past => {
            Some(RecordChange::Add(RecordItem::Note { text, token: ThemeToken::Inactive }))
        }
        // A shell command shows its output by itself while it is live.
        ToldPart::Output { text, is_failure, is_of_shell } if is_past || !is_of_shell => {
            Some(RecordChange::Add(RecordItem::Output { text, is_failure }))
        }
        ToldPart::Words(_)
        | ToldPart::SlashCommand(_)
        | ToldPart::Shell(_)
        | ToldPart::Notice(_)
        | ToldPart::Output { .. } => None,
    };
    told_parts(text).into_iter().filter_map(change).collect()
}
