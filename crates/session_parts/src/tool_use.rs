//! One call that the model asked for.

use serde_json::value::RawValue;

/// One `tool_use` block that needs a result.
#[derive(Debug)]
pub struct ToolUse {
    pub id: String,
    pub name: String,
    /// The input as hooks, rules and the tool take it; the transcript has it as it was sent.
    pub input: Box<RawValue>,
    /// How the input was understood, when it did not fit as it was sent; the tool says it in its result.
    pub input_note: Option<String>,
    /// As `input_note`, about names of tool and fields; it is added to the result.
    pub form_note: Option<String>,
    /// The uuid of the transcript line with the block.
    pub assistant_uuid: String,
    /// The input as received, when it was not valid JSON.
    pub malformed: Option<String>,
    /// How many consecutive answers before this one had only calls with unreadable input.
    pub unreadable_before: u32,
    /// The number of calls in its message and the index of this one.
    pub batch: (usize, usize),
}

impl ToolUse {
    /// A call that was understood as it was sent, alone in its message, on no transcript line yet.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Box<RawValue>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            input,
            input_note: None,
            form_note: None,
            assistant_uuid: String::new(),
            malformed: None,
            unreadable_before: 0,
            batch: (1, 0),
        }
    }
}
