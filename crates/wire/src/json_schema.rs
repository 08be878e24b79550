//! JSON Schema: whether a value fits a schema, and where it does not. Drafts 4 to 2020-12; without `$schema` the newest.
//! References are followed within the document only. `format` and `content…` are annotations. What would change the
//! meaning of a schema and is not understood (a reference elsewhere, another dialect) is refused when the schema is
//! compiled, never ignored.

mod check;
mod compile;
mod evaluated;
mod number;
mod resolve;

use serde_json::Value;
use std::fmt;

/// A schema that was read once and can be asked often.
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

/// One way in which a value does not fit.
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

    /// The first faults of a value, at most `most`; none when it fits.
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

/// A name as a step of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
