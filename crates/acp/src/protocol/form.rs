//! Forms: `elicitation/create`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ElicitationRequest {
    pub(crate) mode: &'static str,
    pub(crate) session_id: String,
    pub(crate) tool_call_id: String,
    pub(crate) requested_schema: ElicitationSchema,
    pub(crate) message: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct ElicitationSchema {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) properties: BTreeMap<String, ElicitationField>,
}

/// A field with a single choice is a string; one with several choices is an array.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ElicitationField {
    String {
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        description: String,
        #[serde(rename = "oneOf")]
        one_of: Vec<FieldChoice>,
    },
    Array {
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        description: String,
        items: FieldItems,
    },
}

#[derive(Debug, Serialize)]
pub(crate) struct FieldItems {
    #[serde(rename = "anyOf")]
    pub(crate) any_of: Vec<FieldChoice>,
}

#[derive(Debug, Serialize)]
pub(crate) struct FieldChoice {
    #[serde(rename = "const")]
    pub(crate) value: String,
    pub(crate) title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ElicitationAnswer {
    pub(crate) action: ElicitationAction,
    /// The values by field name.
    #[serde(default)]
    pub(crate) content: Option<BTreeMap<String, Value>>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ElicitationAction {
    Accept,
    /// Declined, cancelled, or an action of a later version.
    #[serde(other)]
    Other,
}
