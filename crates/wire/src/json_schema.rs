//! JSON Schema validation: whether a value matches a schema, and where it does not. Supports drafts 4 to 2020-12; a
//! schema without `$schema` is read as the newest. References are followed within the document only. `format` and
//! `content…` are annotations. A construct that would change the meaning of a schema and is not supported (a reference
//! to another document, another dialect) is an error when the schema is compiled, never ignored.

mod check;
mod compile;
mod evaluated;
mod number;
mod resolve;

use serde_json::Value;
use std::fmt;

/// A compiled schema that can check many values.
#[derive(Debug)]
pub struct Schema {
    nodes: Vec<compile::SchemaNode>,
    root: compile::NodeId,
}

/// Why a document is not a usable schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// JSON pointer into the schema; empty for the whole.
    pub at: String,
    pub why: String,
}

/// One reason why a value does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFault {
    /// JSON pointer into the value; empty for the whole.
    pub at: String,
    pub why: String,
}

impl Schema {
    pub fn compile(document: &Value) -> Result<Self, SchemaError> {
        compile::compile(document)
    }

    pub fn is_valid(&self, value: &Value) -> bool {
        check::is_valid(self, value)
    }

    /// The first faults of a value, at most `most`; empty when the value matches.
    pub fn faults(&self, value: &Value, most: usize) -> Vec<SchemaFault> {
        check::faults(self, value, most)
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at {})", self.why, shown(&self.at))
    }
}

impl std::error::Error for SchemaError {}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", shown(&self.at), self.why)
    }
}

fn shown(pointer: &str) -> &str {
    if pointer.is_empty() { "/" } else { pointer }
}

/// Escapes a name for use in a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
