//! A tool call that the model is about to send.

use serde_json::{Map, Value, json};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCall {
    pub tool: String,
    pub input: Map<String, Value>,
    /// The JSON of the input breaks off in the middle.
    pub cut: bool,
}

impl PlannedCall {
    pub(super) fn new(tool: &str, input: &Value) -> Self {
        Self { tool: tool.to_owned(), input: input.as_object().cloned().unwrap_or_default(), cut: false }
    }

    pub(super) fn read(path: &str) -> Self {
        Self::new("Read", &json!({"file_path": path}))
    }

    pub(super) fn glob(pattern: &str) -> Self {
        Self::new("Glob", &json!({"pattern": pattern}))
    }

    pub(super) fn bash(command: &str) -> Self {
        Self::new("Bash", &json!({"command": command}))
    }

    pub(super) fn text(&self, field: &str) -> &str {
        self.input.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.input.insert(field.to_owned(), value.into());
    }

    /// The name of the field that holds a path.
    pub(super) fn path_field(&self) -> Option<&'static str> {
        ["file_path", "notebook_path", "path"].into_iter().find(|field| self.input.contains_key(*field))
    }

    /// The input as the model streams it.
    pub(super) fn wire_input(&self) -> String {
        let text = Value::Object(self.input.clone()).to_string();
        if !self.cut {
            return text;
        }
        let middle = text.floor_char_boundary(text.len() * 2 / 3);
        text[..middle].to_owned()
    }

    /// For reports: tool and input on one line.
    pub(super) fn shown(&self) -> String {
        format!("{} {}", self.tool, self.wire_input())
    }
}
