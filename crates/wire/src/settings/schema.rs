//! The JSON schema of a settings file, generated from the key tables.

use super::shape::{KeyScope, KeyShape, SettingKey};
use super::{HOOK_EVENTS, Settings};
use serde_json::{Map, Value, json};

/// A draft 2020-12 schema. It allows unknown keys, as reading a settings file does.
pub fn schema() -> Value {
    let mut root = object(Settings::KEYS);
    if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("$schema".into(), json!({"type": "string"}));
        properties.insert("hooks".into(), hooks());
    }
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".into(), "gimlet settings".into());
    if let Value::Object(root) = root {
        schema.extend(root);
    }
    Value::Object(schema)
}

fn object(keys: &[SettingKey]) -> Value {
    let properties: Map<String, Value> = keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    json!({"type": "object", "properties": properties})
}

fn property(key: &SettingKey) -> Value {
    let mut value = shape(&key.shape);
    if key.takes_single_word() {
        value = json!({"anyOf": [value, {"type": "string"}]});
    }
    if let Some(value) = value.as_object_mut() {
        let doc = format!("{}{}", key.doc.trim(), scope(key.scope));
        value.insert("description".into(), doc.into());
        if key.deprecated {
            value.insert("deprecated".into(), true.into());
        }
    }
    value
}

fn scope(scope: KeyScope) -> &'static str {
    match scope {
        KeyScope::Any => "",
        KeyScope::UserLocalManaged => " Not read from shared project settings.",
        KeyScope::UserManaged => " Read from user and managed settings only.",
        KeyScope::Managed => " Read from managed settings only.",
    }
}

fn shape(of: &KeyShape) -> Value {
    match of {
        KeyShape::Bool => json!({"type": "boolean"}),
        KeyShape::Text => json!({"type": "string"}),
        KeyShape::TextOrOff => json!({"anyOf": [{"type": "string"}, {"const": false}]}),
        KeyShape::OneOf(choices) => json!({"enum": choices}),
        KeyShape::Integer { min, max } => {
            let mut value = json!({"type": "integer", "minimum": min});
            if let Some(map) = value.as_object_mut().filter(|_| *max < i64::from(u32::MAX)) {
                map.insert("maximum".into(), (*max).into());
            }
            value
        }
        KeyShape::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
        KeyShape::List(item) => json!({"type": "array", "items": shape(item)}),
        KeyShape::Map(item) => json!({"type": "object", "additionalProperties": shape(item)}),
        KeyShape::Object(keys) => object(keys),
        KeyShape::Any => json!({}),
    }
}

fn hooks() -> Value {
    let hook = json!({"type": "object", "properties": {
        "type": {"type": "string"}, "command": {"type": "string"}, "prompt": {"type": "string"},
        "url": {"type": "string"}, "timeout": {"type": "number"}, "async": {"type": "boolean"},
    }, "required": ["type"]});
    let matcher = json!({"type": "object", "properties": {
        "matcher": {"type": "string"}, "hooks": {"type": "array", "items": hook},
    }, "required": ["hooks"]});
    let events: Map<String, Value> =
        HOOK_EVENTS.iter().map(|event| ((*event).to_owned(), json!({"type": "array", "items": matcher}))).collect();
    let doc = "Commands that run at certain moments: event to matchers.";
    json!({"type": "object", "properties": events, "description": doc})
}
