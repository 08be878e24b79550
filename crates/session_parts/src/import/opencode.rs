//! Exports of opencode (`opencode export`): one object with the session and its messages, each made of parts.

use super::ImportSource;
use super::conversation::{ImportEvent, ImportedConversation};
use super::json::{image_of_url, list, number, text, text_block};
use serde_json::Value;

pub(super) fn read(export: &Value) -> ImportedConversation {
    let mut read = ImportedConversation::new(ImportSource::Opencode);
    let info = &export["info"];
    read.source_id = text(info, &["id"]).map(str::to_owned);
    read.cwd = text(info, &["directory"]).map(str::to_owned);
    read.source_version = text(info, &["version"]).map(str::to_owned);
    read.title = text(info, &["title"]).filter(|title| !title.starts_with("New session - ")).map(str::to_owned);
    // What was taken back with /undo is still in the export.
    let undone = info.get("revert").and_then(|revert| text(revert, &["messageID"]));
    for message in list(export, "messages") {
        let head = &message["info"];
        if undone.is_some() && text(head, &["id"]) == undone {
            read.report.leave_out("message that was taken back");
            break;
        }
        take_message(&mut read, head, list(message, "parts"));
    }
    read
}

fn take_message(read: &mut ImportedConversation, head: &Value, parts: &[Value]) {
    let at = head.get("time").and_then(|time| number(time, &["created"])).map(sys::clock::iso);
    let at = at.as_deref();
    let is_summary = head.get("summary").and_then(Value::as_bool) == Some(true);
    match text(head, &["role"]) {
        Some("user") => {
            let mut blocks = Vec::new();
            for part in parts {
                blocks.extend(prompt_part(read, part));
            }
            read.prompt(at, blocks);
        }
        Some("assistant") if is_summary => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| text(part, &["text"])).collect();
            read.push(at, ImportEvent::Summary(texts.join("\n")));
        }
        Some("assistant") => {
            read.model = text(head, &["modelID"]).map(str::to_owned).or(read.model.take());
            for part in parts {
                answer_part(read, at, part);
            }
        }
        _ => read.report.leave_out("message of an unknown role"),
    }
}

fn prompt_part(read: &mut ImportedConversation, part: &Value) -> Option<Value> {
    let is_set = |key: &str| part.get(key).and_then(Value::as_bool) == Some(true);
    match text(part, &["type"]).unwrap_or_default() {
        "text" if is_set("ignored") => None,
        "text" => text_block(text(part, &["text"])?),
        "file" => {
            let image = text(part, &["url"]).and_then(image_of_url);
            if image.is_none() {
                // The text of a file stands in a part of its own.
                read.report.leave_out("file in a prompt");
            }
            image
        }
        "compaction" | "step-start" | "step-finish" | "snapshot" | "agent" => None,
        other => {
            read.report.leave_out(other);
            None
        }
    }
}

fn answer_part(read: &mut ImportedConversation, at: Option<&str>, part: &Value) {
    match text(part, &["type"]).unwrap_or_default() {
        "text" => read.answer(at, text(part, &["text"]).unwrap_or_default()),
        "tool" => call(read, at, part),
        "reasoning" => read.report.leave_out("reasoning"),
        "step-start" | "step-finish" | "snapshot" | "patch" | "retry" | "compaction" => {}
        other => read.report.leave_out(other),
    }
}

fn call(read: &mut ImportedConversation, at: Option<&str>, part: &Value) {
    let id = text(part, &["callID"]).unwrap_or("call").to_owned();
    let tool = text(part, &["tool"]).unwrap_or("call").to_owned();
    let state = &part["state"];
    let input = state.get("input").cloned().unwrap_or_default();
    read.push(at, ImportEvent::Call { id: id.clone(), tool, input });
    let is_error = match text(state, &["status"]) {
        Some("completed") => false,
        Some("error") => true,
        _ => return,
    };
    let said = text(state, if is_error { &["error"] } else { &["output"] }).unwrap_or_default();
    let mut content: Vec<Value> = text_block(said).into_iter().collect();
    for attached in list(state, "attachments") {
        match text(attached, &["url"]).and_then(image_of_url) {
            Some(image) => content.push(image),
            None => read.report.leave_out("file in a result"),
        }
    }
    let end = state.get("time").and_then(|time| number(time, &["end"])).map(sys::clock::iso);
    read.push(end.as_deref().or(at), ImportEvent::Result { id, content, is_error });
}
