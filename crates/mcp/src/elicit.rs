//! Elicitation: a server asks the person to fill in a small form or to visit an address.

use serde_json::{Map, Value};

/// The request. `schema` is set for a form, `url` and `id` for an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicitation {
    pub server: String,
    pub message: String,
    pub schema: Option<Value>,
    pub url: Option<String>,
    pub id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElicitAction {
    Accept,
    Decline,
    Cancel,
}

impl ElicitAction {
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "accept" => Some(Self::Accept),
            "decline" => Some(Self::Decline),
            "cancel" => Some(Self::Cancel),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }
}

/// The person's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationAnswer {
    pub action: ElicitAction,
    pub content: Option<Value>,
}

impl ElicitationAnswer {
    pub const DECLINED: Self = Self { action: ElicitAction::Decline, content: None };
}

/// The content of an accepted form, with the schema's defaults for missing fields.
pub(crate) fn with_defaults(content: Option<Value>, schema: Option<&Value>) -> Option<Value> {
    let schema = schema?;
    let mut filled = match content {
        Some(Value::Object(given)) => given,
        None | Some(_) => Map::new(),
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let Some(default) = property.get("default") {
            filled.entry(name.clone()).or_insert_with(|| default.clone());
        }
    }
    Some(Value::Object(filled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_fill_only_what_is_missing() {
        let schema = json!({"properties": {"a": {"default": 1}, "b": {"default": "x"}, "c": {}}});
        assert_eq!(with_defaults(Some(json!({"a": 5})), Some(&schema)), Some(json!({"a": 5, "b": "x"})));
        assert_eq!(with_defaults(None, Some(&schema)), Some(json!({"a": 1, "b": "x"})));
        assert_eq!(with_defaults(Some(json!({"a": 5})), None), None);
    }
}
