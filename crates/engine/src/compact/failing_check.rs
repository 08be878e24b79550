//! The last command that failed and has not succeeded since. It is quoted beside the hand-over, so that the work goes
//! on from the words of the failure and not from a summary of them.

use crate::tool_facts::tool_facts;
use model::Message;
use serde::Deserialize;
use std::collections::HashMap;
use std::fmt::Write;
use tools::ToolClass;
use tools::foreign_text::defused;
use wire::block::{BlockHead, MessageContent};

const MAX_LINES: usize = 20;
const MAX_CHARS: usize = 300;
/// How results of commands that failed begin.
const FAILED: &str = "Exit code ";

#[derive(Deserialize)]
struct CommandInput {
    command: String,
}

#[derive(Deserialize)]
struct CommandResult {
    tool_use_id: String,
    content: Option<MessageContent>,
    #[serde(default)]
    is_error: bool,
}

/// A quotation of the last such command in these messages; empty when there is none.
pub(super) fn quoted(messages: &[Message]) -> String {
    let mut text = String::new();
    let Some((command, output)) = find(messages) else { return text };
    write!(
        text,
        "\n\nThe last command that failed and has not succeeded since: `{}`\nThe end of what it said:\n",
        shortened(&command)
    )
    .ok();
    let lines: Vec<&str> = output.trim_end().lines().collect();
    for line in &lines[lines.len().saturating_sub(MAX_LINES)..] {
        write!(text, "\n    {}", shortened(line)).ok();
    }
    defused(text)
}

fn find(messages: &[Message]) -> Option<(String, String)> {
    let mut commands: HashMap<String, String> = HashMap::new();
    let mut failing: Option<(String, String)> = None;
    for block in messages.iter().flat_map(|message| &message.blocks) {
        match BlockHead::read(block.raw()) {
            Some(BlockHead::ToolUse { id, name, input }) if tool_facts(&name).class == ToolClass::Shell => {
                if let Ok(CommandInput { command }) = serde_json::from_str(input.get()) {
                    commands.insert(id.into_owned(), command);
                }
            }
            Some(BlockHead::ToolResult { .. }) => {
                let Ok(result) = serde_json::from_str::<CommandResult>(block.get()) else { continue };
                let Some(command) = commands.remove(&result.tool_use_id) else { continue };
                let output = result.content.map(|content| content.text().into_owned()).unwrap_or_default();
                if result.is_error && output.starts_with(FAILED) {
                    failing = Some((command, output));
                } else if failing.as_ref().is_some_and(|(failed, _)| !result.is_error && *failed == command) {
                    failing = None;
                }
            }
            _ => {}
        }
    }
    failing
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
