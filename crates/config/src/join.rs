//! Merges two layers into one, by the merge rule of each key. Joining is associative: merging from the top or from the
//! bottom gives the same settings.

use serde_json::{Map, Value};
use wire::settings::{KeyShape, MergeRule, SettingKey};

/// Adds the values of a lower layer to those of the higher layers.
pub fn join(keys: &[SettingKey], high: &mut Map<String, Value>, low: &Map<String, Value>) {
    for (name, value) in low {
        let Some(key) = keys.iter().find(|key| key.name == name) else { continue };
        match high.get_mut(name) {
            Some(above) => join_value(&key.shape, key.merge, above, value),
            None => drop(high.insert(name.clone(), value.clone())),
        }
    }
}

fn join_value(shape: &KeyShape, merge: MergeRule, high: &mut Value, low: &Value) {
    match (merge, high, low) {
        (MergeRule::Append, Value::Array(high), Value::Array(low)) => append_unique(high, low),
        (MergeRule::Deep, Value::Object(high), Value::Object(low)) => join_objects(shape, high, low),
        (MergeRule::PerEntry, Value::Object(high), Value::Object(low)) => {
            for (name, value) in low {
                high.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        (MergeRule::Sticky(value), high, low) if *low == Value::Bool(value) => *high = Value::Bool(value),
        (MergeRule::Lowest, high, low) if low.as_f64() < high.as_f64() => high.clone_from(low),
        (
            MergeRule::Replace
            | MergeRule::Append
            | MergeRule::Deep
            | MergeRule::PerEntry
            | MergeRule::Sticky(_)
            | MergeRule::Lowest,
            _,
            _,
        ) => {}
    }
}

fn join_objects(shape: &KeyShape, high: &mut Map<String, Value>, low: &Map<String, Value>) {
    let item = match shape {
        KeyShape::Object(keys) => return join(keys, high, low),
        KeyShape::Map(item) => item,
        KeyShape::Bool
        | KeyShape::Text
        | KeyShape::TextOrOff
        | KeyShape::OneOf(_)
        | KeyShape::Integer { .. }
        | KeyShape::Number { .. }
        | KeyShape::List(_)
        | KeyShape::Any => return,
    };
    for (name, value) in low {
        match (high.get_mut(name), item) {
            (Some(Value::Array(above)), KeyShape::List(_)) => {
                if let Value::Array(below) = value {
                    append_unique(above, below);
                }
            }
            (Some(_), _) => {}
            (None, _) => drop(high.insert(name.clone(), value.clone())),
        }
    }
}

fn append_unique(high: &mut Vec<Value>, low: &[Value]) {
    for value in low {
        if !high.contains(value) {
            high.push(value.clone());
        }
    }
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
