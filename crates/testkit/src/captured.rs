//! A request as the server received it, with getters for the parts that tests check.

use serde_json::Value;
use std::time::Instant;

#[derive(Clone, Debug)]
pub struct CapturedRequest {
    pub method: String,
    /// Path without the query.
    pub path: String,
    pub query: Option<String>,
    /// Header names are in lower case, in order of arrival.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// `Null` when the body is not JSON.
    pub json: Value,
    pub received_at: Instant,
}

impl CapturedRequest {
    /// First value of a header; the case of `name` does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        let name = name.to_ascii_lowercase();
        self.headers.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
    }

    pub fn model(&self) -> &str {
        self.json["model"].as_str().unwrap_or_default()
    }

    pub fn is_streaming(&self) -> bool {
        self.json["stream"] == true
    }

    pub fn messages(&self) -> &[Value] {
        self.json["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// All system text, blocks joined by a blank line.
    pub fn system_text(&self) -> String {
        text_of(&self.json["system"], "\n\n")
    }

    /// Text of the last message of role `user`, blocks joined by newlines; tool results and reminders excluded.
    pub fn last_user_text(&self) -> String {
        let last = self.messages().iter().rev().find(|m| m["role"] == "user");
        let Some(content) = last.map(|m| &m["content"]) else { return String::new() };
        let Some(blocks) = content.as_array() else { return text_of(content, "\n") };
        let is_reminder = |b: &&Value| b["text"].as_str().is_some_and(|t| t.starts_with("<system-reminder>"));
        text_of(&blocks.iter().filter(|b| !is_reminder(b)).cloned().collect(), "\n")
    }

    /// Text of all messages in order, of every role.
    pub fn all_text(&self) -> String {
        self.messages().iter().map(|m| text_of(&m["content"], "\n")).collect::<Vec<_>>().join("\n")
    }

    /// Every `tool_result` block of the conversation, in order.
    pub fn tool_results(&self) -> Vec<Value> {
        self.blocks_of_kind("tool_result")
    }

    /// Every `tool_use` block of the conversation, in order.
    pub fn tool_uses(&self) -> Vec<Value> {
        self.blocks_of_kind("tool_use")
    }

    /// Text of the result of call `id`; panics when there is none.
    pub fn tool_result_text(&self, id: &str) -> String {
        let results = self.tool_results();
        let found = results.iter().find(|r| r["tool_use_id"] == id);
        let found = found.unwrap_or_else(|| panic!("no tool_result for {id} in {results:#?}"));
        text_of(&found["content"], "\n")
    }

    /// Names of the offered tools, in order.
    pub fn tool_names(&self) -> Vec<String> {
        let tools = self.json["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools.iter().filter_map(|t| t["name"].as_str().map(str::to_owned)).collect()
    }

    fn blocks_of_kind(&self, kind: &str) -> Vec<Value> {
        let contents = self.messages().iter().filter_map(|m| m["content"].as_array());
        contents.flatten().filter(|b| b["type"] == kind).cloned().collect()
    }
}

fn text_of(content: &Value, separator: &str) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter(|b| b["type"] == "text").filter_map(|b| b["text"].as_str());
            texts.collect::<Vec<_>>().join(separator)
        }
        _ => String::new(),
    }
}
