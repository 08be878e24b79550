//! Chats of Gemini CLI: lines that add or replace messages, or one object with all of them; and its checkpoints, which
//! hold the contents of the last request.

use super::conversation::{ImportEvent, ImportedConversation};
use super::json::{image_block, list, text, text_block};
use super::{ImportReport, ImportSource};
use serde_json::Value;
use std::collections::BTreeMap;

const CONTEXT: &str = "instructions of the program";

/// A chat as lines: a head, messages, `$set` (also of all messages) and `$rewindTo`.
pub(super) fn read_lines(lines: &str) -> ImportedConversation {
    let mut read = ImportedConversation::new(ImportSource::Gemini);
    let mut messages: Vec<Value> = Vec::new();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            read.report.leave_out("line that is not whole");
            continue;
        };
        if let Some(id) = text(&value, &["$rewindTo"]) {
            let kept = messages.iter().position(|message| text(message, &["id"]) == Some(id)).unwrap_or(0);
            messages.truncate(kept);
        } else if let Some(set) = value.get("$set") {
            head(&mut read, set);
            if let Some(all) = set.get("messages").and_then(Value::as_array) {
                merge(&mut messages, all);
            }
        } else if text(&value, &["id"]).is_some() && text(&value, &["type"]).is_some() {
            put(&mut messages, value);
        } else {
            head(&mut read, &value);
        }
    }
    take_messages(&mut read, &messages);
    read
}

/// A chat in one object, or a checkpoint.
pub(super) fn read_json(value: &Value) -> ImportedConversation {
    let mut read = ImportedConversation::new(ImportSource::Gemini);
    head(&mut read, value);
    match checkpoint(value) {
        Some(contents) => {
            let mut names = CallNames::default();
            for content in contents {
                let parts = list(content, "parts");
                let role = text(content, &["role"]).unwrap_or("user");
                take_parts(&mut read, None, (role, parts), &mut names);
            }
        }
        None => take_messages(&mut read, list(value, "messages")),
    }
    read
}

/// The contents of a checkpoint: a list, or the list in an object.
pub(super) fn checkpoint(value: &Value) -> Option<&[Value]> {
    let is_content = |value: &Value| value.get("parts").is_some_and(Value::is_array);
    let lists = [Some(value), value.get("clientHistory"), value.get("history")];
    let found = lists.into_iter().flatten().filter_map(Value::as_array).find(|items| items.iter().any(is_content));
    found.map(Vec::as_slice)
}

fn head(read: &mut ImportedConversation, head: &Value) {
    read.source_id = read.source_id.take().or_else(|| text(head, &["sessionId"]).map(str::to_owned));
    read.title = text(head, &["summary"]).map(str::to_owned).or(read.title.take());
}

fn put(messages: &mut Vec<Value>, message: Value) {
    let id = text(&message, &["id"]);
    match messages.iter().position(|known| text(known, &["id"]) == id) {
        Some(at) => messages[at] = message,
        None => messages.push(message),
    }
}

/// A resumed chat writes all messages again, in the form of a request. What is already known keeps its fuller form.
fn merge(messages: &mut Vec<Value>, all: &[Value]) {
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    for message in messages.drain(..) {
        known.insert(text(&message, &["id"]).unwrap_or_default().to_owned(), message);
    }
    messages.extend(all.iter().map(|message| {
        let before = text(message, &["id"]).and_then(|id| known.remove(id));
        before.filter(|before| !list(before, "toolCalls").is_empty()).unwrap_or_else(|| message.clone())
    }));
}

fn take_messages(read: &mut ImportedConversation, messages: &[Value]) {
    let mut names = CallNames::default();
    for message in messages {
        let at = text(message, &["timestamp"]);
        match text(message, &["type"]).unwrap_or_default() {
            "user" => take_content(read, at, ("user", message), &mut names),
            "gemini" => {
                read.model = text(message, &["model"]).map(str::to_owned).or(read.model.take());
                for _ in list(message, "thoughts") {
                    read.report.leave_out("reasoning");
                }
                let calls = list(message, "toolCalls");
                if calls.is_empty() {
                    take_content(read, at, ("model", message), &mut names);
                } else {
                    // The calls also stand in the content of a chat that was resumed.
                    take_content(read, at, ("model", &without_calls(message)), &mut names);
                }
                for call in calls {
                    take_call(read, at, call);
                }
            }
            // Messages of the program to the person.
            _ => read.report.leave_out("message of the program"),
        }
    }
}

fn without_calls(message: &Value) -> Value {
    let mut plain = message.clone();
    if let Some(Value::Array(parts)) = plain.get_mut("content") {
        parts.retain(|part| part.get("functionCall").is_none());
    }
    plain
}

fn take_content(
    read: &mut ImportedConversation,
    at: Option<&str>,
    (role, message): (&str, &Value),
    names: &mut CallNames,
) {
    match message.get("content") {
        Some(Value::Array(parts)) => take_parts(read, at, (role, parts), names),
        Some(one @ (Value::String(_) | Value::Object(_))) => {
            take_parts(read, at, (role, std::slice::from_ref(one)), names);
        }
        _ => {}
    }
}

/// Numbers calls that have no id, so that the n-th result of a tool belongs to its n-th call.
#[derive(Default)]
struct CallNames {
    calls: BTreeMap<String, usize>,
    results: BTreeMap<String, usize>,
}

impl CallNames {
    fn id(counts: &mut BTreeMap<String, usize>, part: &Value) -> String {
        let name = text(part, &["name"]).unwrap_or("call");
        let number = counts.entry(name.to_owned()).or_default();
        *number += 1;
        text(part, &["id"]).map_or_else(|| format!("{name}-{number}"), str::to_owned)
    }
}

fn take_parts(
    read: &mut ImportedConversation,
    at: Option<&str>,
    (role, parts): (&str, &[Value]),
    names: &mut CallNames,
) {
    let mut prompt = Vec::new();
    for part in parts {
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            read.report.leave_out("reasoning");
        } else if let Some(call) = part.get("functionCall") {
            let id = CallNames::id(&mut names.calls, call);
            let tool = text(call, &["name"]).unwrap_or("call").to_owned();
            let input = call.get("args").cloned().unwrap_or_default();
            read.push(at, ImportEvent::Call { id, tool, input });
        } else if let Some(response) = part.get("functionResponse") {
            let id = CallNames::id(&mut names.results, response);
            let (content, is_error) = output(response, &mut read.report);
            read.push(at, ImportEvent::Result { id, content, is_error });
        } else if let Some(said) = part.as_str().or_else(|| text(part, &["text"])) {
            match role {
                "user" if is_context(said) => read.report.leave_out(CONTEXT),
                "user" => prompt.extend(text_block(said)),
                _ => read.answer(at, said),
            }
        } else if let Some(data) = part.get("inlineData") {
            match image(data) {
                Some(image) => prompt.push(image),
                None => read.report.leave_out("file in a prompt"),
            }
        }
    }
    note_directory(read, parts);
    read.prompt(at, prompt);
}

fn image(data: &Value) -> Option<Value> {
    image_block(text(data, &["mimeType"])?, text(data, &["data"])?)
}

fn is_context(said: &str) -> bool {
    let said = said.trim();
    let is_in = |tag: &str| said.starts_with(&format!("<{tag}>")) && said.ends_with(&format!("</{tag}>"));
    is_in("session_context")
        || is_in("environment_context")
        || said.starts_with("This is the Gemini CLI. We are setting up")
}

/// The directory stands only in what the program tells its model.
fn note_directory(read: &mut ImportedConversation, parts: &[Value]) {
    if read.cwd.is_some() {
        return;
    }
    let said = parts.iter().filter_map(|part| part.as_str().or_else(|| text(part, &["text"])));
    for said in said.filter(|said| is_context(said)) {
        let listed = said.split_once("Workspace Directories:**\n").map(|(_, rest)| rest);
        let first = listed.and_then(|rest| rest.lines().next()).and_then(|line| line.trim().strip_prefix("- "));
        read.cwd = first.map(str::to_owned);
    }
}

fn take_call(read: &mut ImportedConversation, at: Option<&str>, call: &Value) {
    let id = text(call, &["id"]).unwrap_or("call").to_owned();
    let tool = text(call, &["name"]).unwrap_or("call").to_owned();
    let input = call.get("args").cloned().unwrap_or_default();
    read.push(at, ImportEvent::Call { id: id.clone(), tool, input });
    let failed = matches!(text(call, &["status"]), Some("error" | "cancelled"));
    let mut content = Vec::new();
    let mut is_error = failed;
    for part in list(call, "result") {
        if let Some(response) = part.get("functionResponse") {
            let (blocks, wrong) = output(response, &mut read.report);
            content.extend(blocks);
            is_error |= wrong;
        } else {
            content.extend(part.as_str().or_else(|| text(part, &["text"])).and_then(text_block));
        }
    }
    if content.is_empty() && !failed && text(call, &["status"]) != Some("success") {
        return;
    }
    let at = text(call, &["timestamp"]).or(at);
    read.push(at, ImportEvent::Result { id, content, is_error });
}

/// What a tool answered, and whether that is an error.
fn output(response: &Value, report: &mut ImportReport) -> (Vec<Value>, bool) {
    let said = response.get("response").unwrap_or(&Value::Null);
    let mut blocks = Vec::new();
    for part in list(response, "parts") {
        match part.get("inlineData").and_then(image) {
            Some(image) => blocks.push(image),
            None => report.leave_out("file in a result"),
        }
    }
    if let Some(error) = text(said, &["error"]) {
        blocks.extend(text_block(error));
        return (blocks, true);
    }
    match text(said, &["output", "content"]) {
        Some(output) => blocks.extend(text_block(output)),
        None if said.is_null() => {}
        None => blocks.extend(text_block(&said.to_string())),
    }
    (blocks, false)
}
