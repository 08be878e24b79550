//! A change of one key of a settings file.

use serde_json::Value;

/// What happens to the value of the key.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingsEdit {
    Set(Value),
    /// Appends values to a list unless it contains them.
    Add(Vec<Value>),
    /// Removes values from a list.
    Take(Vec<Value>),
    Remove,
}
