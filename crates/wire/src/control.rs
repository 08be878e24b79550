//! The control envelope. Requests a build does not know are answered with the error form, never ignored.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One line from the host, read far enough to route it.
#[derive(Debug, Deserialize)]
pub struct Inbound<'a> {
    #[serde(rename = "type", default)]
    pub kind: String,
    #[serde(default)]
    pub request_id: Option<String>,
    #[serde(borrow, default)]
    pub request: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub message: Option<&'a RawValue>,
    #[serde(default)]
    pub uuid: Option<String>,
    #[serde(default, rename = "shouldQuery")]
    pub should_query: Option<bool>,
}

#[derive(Debug, Serialize)]
pub struct ControlResponse<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub response: ResponseBody<'a>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum ResponseBody<'a> {
    Success {
        request_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        response: Option<serde_json::Value>,
    },
    Error {
        request_id: &'a str,
        error: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_code: Option<&'static str>,
    },
}

impl<'a> ControlResponse<'a> {
    pub fn unsupported(request_id: &'a str, subtype: &str) -> Self {
        Self {
            kind: "control_response",
            response: ResponseBody::Error {
                request_id,
                error: format!("Unsupported control request: {subtype}"),
                error_code: Some("unsupported_request"),
            },
        }
    }
}
