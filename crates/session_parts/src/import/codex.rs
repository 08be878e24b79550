//! Rollouts of Codex CLI: one line per item, in an envelope with time and kind; the first versions wrote the items
//! without one. What the program tells its model about itself is left out.

use super::ImportSource;
use super::conversation::{ImportEvent, ImportedConversation};
use super::json::{image_of_url, list, text, text_block};
use serde_json::{Value, json};

/// What is counted as left out when the program spoke to its model.
const CONTEXT: &str = "instructions of the program";

pub(super) fn read(lines: &str) -> ImportedConversation {
    let mut read = ImportedConversation::new(ImportSource::Codex);
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => take_line(&mut read, &value),
            Err(_) => read.report.leave_out("line that is not whole"),
        }
    }
    read
}

fn take_line(read: &mut ImportedConversation, line: &Value) {
    let at = text(line, &["timestamp"]);
    let Some(payload) = line.get("payload") else {
        return match text(line, &["type"]) {
            None if line.get("id").is_some() => head(read, line),
            None => {}
            Some(_) => item(read, at, line),
        };
    };
    match text(line, &["type"]).unwrap_or_default() {
        "session_meta" => head(read, payload),
        "turn_context" => {
            read.model = text(payload, &["model"]).map(str::to_owned).or(read.model.take());
            read.cwd = read.cwd.take().or_else(|| text(payload, &["cwd"]).map(str::to_owned));
        }
        "response_item" => item(read, at, payload),
        "compacted" => compacted(read, at, payload),
        "event_msg" if text(payload, &["type"]) == Some("thread_rolled_back") => {
            let count = payload.get("num_turns").and_then(Value::as_u64).unwrap_or(1);
            read.drop_turns(usize::try_from(count).unwrap_or(usize::MAX));
        }
        // Other events repeat the items for the screen, or are notes of the program.
        _ => {}
    }
}

/// The head of the file. A continued session repeats it; the first one counts.
fn head(read: &mut ImportedConversation, head: &Value) {
    if read.source_id.is_some() {
        return;
    }
    read.source_id = text(head, &["id"]).map(str::to_owned);
    read.cwd = text(head, &["cwd"]).map(str::to_owned);
    read.source_version = text(head, &["cli_version"]).map(str::to_owned);
}

fn item(read: &mut ImportedConversation, at: Option<&str>, item: &Value) {
    let kind = text(item, &["type"]).unwrap_or_default();
    match kind {
        "message" => message(read, at, item),
        "function_call" | "custom_tool_call" | "local_shell_call" => call(read, at, item),
        "function_call_output" | "custom_tool_call_output" => result(read, at, item),
        "web_search_call" => {
            let query = item.get("action").and_then(|action| text(action, &["query", "url"])).unwrap_or("?");
            read.report.keep_as_text("web_search");
            read.answer(at, &format!("[web_search]\n{query}"));
        }
        "reasoning" => read.report.leave_out("reasoning"),
        "compaction" | "compaction_summary" | "context_compaction" => {
            read.report.leave_out("summary that only its provider can read");
        }
        "ghost_snapshot" | "additional_tools" | "" => {}
        other => read.report.leave_out(other),
    }
}

fn message(read: &mut ImportedConversation, at: Option<&str>, message: &Value) {
    match text(message, &["role"]) {
        Some("assistant") => {
            for block in list(message, "content") {
                read.answer(at, text(block, &["text"]).unwrap_or_default());
            }
        }
        Some("user") => {
            let mut blocks = Vec::new();
            for block in list(message, "content") {
                match prompt_block(block) {
                    PromptPart::Block(block) => blocks.push(block),
                    PromptPart::Context => {
                        note_directory(read, block);
                        read.report.leave_out(CONTEXT);
                    }
                    PromptPart::Image => read.report.leave_out("image"),
                    PromptPart::Nothing => {}
                }
            }
            read.prompt(at, blocks);
        }
        _ => read.report.leave_out(CONTEXT),
    }
}

enum PromptPart {
    Block(Value),
    /// Written by the program, not by a person.
    Context,
    /// An image that cannot be sent.
    Image,
    Nothing,
}

fn prompt_block(block: &Value) -> PromptPart {
    if let Some(url) = text(block, &["image_url"]) {
        return image_of_url(url).map_or(PromptPart::Image, PromptPart::Block);
    }
    let said = text(block, &["text"]).unwrap_or_default();
    if is_context(said) {
        return PromptPart::Context;
    }
    text_block(said).map_or(PromptPart::Nothing, PromptPart::Block)
}

/// The first rollouts name their directory only in what the program tells its model.
fn note_directory(read: &mut ImportedConversation, block: &Value) {
    let said = text(block, &["text"]).unwrap_or_default();
    let named = said.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>"));
    read.cwd = read.cwd.take().or_else(|| named.map(|(cwd, _)| cwd.trim().to_owned()));
}

/// Text in one tag, and instruction files: the program adds them to the conversation as if the user had written them.
fn is_context(said: &str) -> bool {
    let said = said.trim();
    let tag = said.strip_prefix('<').and_then(|rest| rest.split(['>', ' ', '\n']).next()).unwrap_or_default();
    let is_tagged = tag.contains('_') && said.ends_with(&format!("</{tag}>"));
    is_tagged || said.starts_with("# AGENTS.md instructions") || said.starts_with("<INSTRUCTIONS>")
}

fn call(read: &mut ImportedConversation, at: Option<&str>, item: &Value) {
    let id = text(item, &["call_id", "id"]).unwrap_or("call").to_owned();
    let name = text(item, &["name"]).unwrap_or("local_shell");
    let tool = match text(item, &["namespace"]) {
        Some(server) if server.starts_with("mcp__") => format!("{}__{name}", server.trim_end_matches('_')),
        Some(_) | None => name.to_owned(),
    };
    let input = match item.get("action") {
        Some(action) => action.clone(),
        None => match (text(item, &["arguments"]), text(item, &["input"])) {
            // The arguments are JSON in a text.
            (Some(json), _) => serde_json::from_str(json).unwrap_or_else(|_| json!({"input": json})),
            (None, Some(input)) => json!({"input": input}),
            (None, None) => json!({}),
        },
    };
    read.push(at, ImportEvent::Call { id, tool, input });
}

fn result(read: &mut ImportedConversation, at: Option<&str>, item: &Value) {
    let Some(id) = text(item, &["call_id"]) else { return };
    let output = item.get("output").unwrap_or(&Value::Null);
    let mut content = Vec::new();
    for part in parts(output) {
        match text(part, &["image_url"]).map(image_of_url) {
            Some(Some(image)) => content.push(image),
            Some(None) => read.report.leave_out("image"),
            None => content.extend(text(part, &["text"]).and_then(text_block)),
        }
    }
    let said = output.as_str().or_else(|| text(output, &["content"]));
    let (said, is_error) = said.map_or((None, false), |said| unwrapped(said, output));
    content.extend(said.as_deref().and_then(text_block));
    read.push(at, ImportEvent::Result { id: id.to_owned(), content, is_error });
}

fn parts(output: &Value) -> &[Value] {
    output.as_array().map_or_else(|| list(output, "content"), Vec::as_slice)
}

/// The output without the JSON around it, and whether the call failed.
fn unwrapped(said: &str, output: &Value) -> (Option<String>, bool) {
    if let Ok(Value::Object(members)) = serde_json::from_str(said)
        && let Some(inner) = members.get("output").and_then(Value::as_str)
    {
        let code = members.get("metadata").and_then(|facts| facts.get("exit_code")).and_then(Value::as_i64);
        return (Some(inner.to_owned()), code.is_some_and(|code| code != 0));
    }
    let code = exit_code(said).filter(|code| *code != 0);
    let failed = output.get("success").and_then(Value::as_bool) == Some(false) || code.is_some();
    let output = without_head(said);
    (Some(code.map_or_else(|| output.to_owned(), |code| format!("Exit code {code}\n{output}"))), failed)
}

/// The code in the lines that stand before the output of a command.
fn exit_code(said: &str) -> Option<i64> {
    let mut before = said.lines().take_while(|line| *line != "Output:");
    before.find_map(|line| {
        line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "))?.trim().parse().ok()
    })
}

/// The output of a command without the lines before it, which tell time and exit code.
fn without_head(said: &str) -> &str {
    const KNOWN: [&str; 6] = [
        "Chunk ID: ",
        "Wall time: ",
        "Process exited with code ",
        "Exit code: ",
        "Original token count: ",
        "Total output lines: ",
    ];
    let mut rest = said;
    while let Some((head, output)) = rest.split_once("Output:\n") {
        if head.is_empty() || !head.lines().all(|line| KNOWN.iter().any(|known| line.starts_with(known))) {
            break;
        }
        rest = output;
    }
    rest
}

/// The history before this line was replaced by a summary, where it can be read.
fn compacted(read: &mut ImportedConversation, at: Option<&str>, item: &Value) {
    match text(item, &["message"]).filter(|text| !text.trim().is_empty()) {
        Some(summary) => read.push(at, ImportEvent::Summary(summary.to_owned())),
        None => read.report.leave_out("summary that only its provider can read"),
    }
}
