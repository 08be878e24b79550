//! What a request shows to a model.

use crate::captured::CapturedRequest;
use serde_json::Value;
use std::collections::HashMap;

/// The result of one call.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownResult {
    pub(super) text: String,
    pub(super) is_error: bool,
}

pub(super) struct RequestView {
    /// Name and schema of each offered tool.
    pub(super) tools: Vec<(String, Value)>,
    pub(super) results: HashMap<String, ShownResult>,
    /// Text of the first user message.
    pub(super) first_text: String,
    /// Text blocks of the last user message, results excluded.
    pub(super) last_text: String,
    /// Every text of the conversation.
    pub(super) all_text: String,
    /// The working directory the request names.
    pub(super) directory: Option<String>,
}

impl RequestView {
    pub(super) fn of(request: &CapturedRequest) -> Self {
        let tools = request.json["tools"].as_array().into_iter().flatten();
        let tools = tools.filter_map(|tool| Some((tool["name"].as_str()?.to_owned(), tool["input_schema"].clone())));
        let users: Vec<&Value> = request.messages().iter().filter(|m| m["role"] == "user").collect();
        let results = request.tool_results().into_iter().filter_map(|result| {
            let shown = ShownResult { text: texts(&result["content"]), is_error: result["is_error"] == true };
            Some((result["tool_use_id"].as_str()?.to_owned(), shown))
        });
        let first_text = users.first().map(|m| texts(&m["content"])).unwrap_or_default();
        let system = request.system_text();
        Self {
            tools: tools.collect(),
            results: results.collect(),
            last_text: users.last().map(|m| texts(&m["content"])).unwrap_or_default(),
            all_text: request.all_text(),
            directory: directory(&system).or_else(|| directory(&first_text)),
            first_text,
        }
    }

    pub(super) fn schema(&self, tool: &str) -> Option<&Value> {
        self.tools.iter().find(|(name, _)| name == tool).map(|(_, schema)| schema)
    }

    /// Whether the last message wants the conversation in short form.
    pub(super) fn asks_for_summary(&self) -> bool {
        let text = self.last_text.to_lowercase();
        let tail = &text[text.floor_char_boundary(text.len().saturating_sub(4_000))..];
        ["hand-over", "handover", "summar"].iter().any(|word| tail.contains(word))
            && tail.contains("conversation")
            && !tail.contains("it stands for")
    }

    /// The path as a careful model sends it: absolute when the request names the directory.
    pub(super) fn path(&self, relative: &str) -> String {
        match &self.directory {
            Some(directory) if !relative.starts_with('/') => format!("{directory}/{relative}"),
            _ => relative.to_owned(),
        }
    }
}

/// The first absolute path on a line that speaks of a directory.
fn directory(text: &str) -> Option<String> {
    let mut lines = text.lines().filter(|line| line.to_lowercase().contains("working director"));
    let path = lines.find_map(|line| line.find(" /").map(|at| &line[at + 1..]))?;
    Some(path.split([' ', ',', ';']).next()?.trim_end_matches('/').to_owned())
}

fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|b| b["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::directory;

    #[test]
    fn the_directory_stands_on_a_line_with_a_path() {
        let text = "Paths may be relative to the working directory.\n- Working directory: /w/project, more\n";
        assert_eq!(directory(text).as_deref(), Some("/w/project"));
        assert_eq!(directory("The working directory is the best."), None);
    }
}
