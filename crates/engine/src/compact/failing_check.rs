//! The commands that failed and have not succeeded since. The last one is quoted after a compaction, so that the work goes
//! on from the words of the failure and not from a summary of them.

use crate::tool_facts::tool_facts;
use model::Message;
use serde::Deserialize;
use session_parts::carried::FailedCommand;
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

/// Those that failed before, as they were carried on, and in these messages; the last failure comes last.
pub(super) fn still_failing(before: &[FailedCommand], messages: &[Message]) -> Vec<FailedCommand> {
    let mut commands: HashMap<String, String> = HashMap::new();
    let mut failing = before.to_vec();
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
                let command = shortened(&command);
                let has_failed = result.is_error && output.starts_with(FAILED);
                if has_failed || !result.is_error {
                    failing.retain(|failed| failed.command != command);
                }
                if has_failed {
                    failing.push(FailedCommand { command, output: end_of(&output) });
                }
            }
            _ => {}
        }
    }
    failing
}

fn end_of(output: &str) -> String {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let end: Vec<String> = lines[lines.len().saturating_sub(MAX_LINES)..].iter().map(|line| shortened(line)).collect();
    end.join("\n")
}

/// The commands as a text, the last with the end of what it said; empty when there are none.
pub(super) fn quoted(failed: &[FailedCommand]) -> String {
    let mut text = String::new();
    let Some((last, others)) = failed.split_last() else { return text };
    if !others.is_empty() {
        text.push_str("Commands that failed and have not succeeded since:\n");
        for other in others {
            writeln!(text, "- `{}`", other.command).ok();
        }
    }
    let command = &last.command;
    write!(text, "The last command that failed and has not succeeded since: `{command}`\nThe end of what it said:\n")
        .ok();
    for line in last.output.lines() {
        write!(text, "\n    {line}").ok();
    }
    defused(text)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Fragment;
    use serde_json::json;
    use serde_json::value::RawValue;

    fn run(command: &str, failed: bool) -> [Message; 2] {
        let block = |value: &serde_json::Value| Fragment::new(RawValue::from_string(value.to_string()).unwrap());
        let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": command}});
        let said = if failed { "Exit code 1\nit broke" } else { "ok" };
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": said, "is_error": failed});
        [Message::assistant("m", vec![block(&call)]), Message::user(vec![block(&result)])]
    }

    // [LNG-18] A failure is remembered over compactions until the command succeeds.
    #[test]
    fn failures_are_remembered_until_they_are_mended() {
        let names = |failed: &[FailedCommand]| failed.iter().map(|one| one.command.clone()).collect::<Vec<_>>();
        let first = still_failing(&[], &[run("make a", true), run("make b", true), run("make a", true)].concat());
        assert_eq!(names(&first), ["make b", "make a"]);
        let text = quoted(&first);
        assert!(text.contains("- `make b`") && text.contains("not succeeded since: `make a`"), "{text}");
        assert!(text.contains("    it broke"), "{text}");
        let later = still_failing(&first, &run("make a", false));
        assert_eq!(names(&later), ["make b"]);
        assert_eq!(quoted(&still_failing(&later, &run("make b", false))), "");
    }
}
