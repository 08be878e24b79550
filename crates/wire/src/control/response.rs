//! Answers: of the session to requests of its host, and of the host to questions of the session.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The session's answer to a request of the host: the `response` object of a `control_response`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum ControlResponse {
    Success {
        request_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<Value>,
        /// Beside the answer to `initialize`: open questions of the session, whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pending_permission_requests: Option<Vec<Value>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pending_user_dialog_requests: Option<Vec<Value>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pending_elicitation_requests: Option<Vec<Value>>,
    },
    Error {
        request_id: String,
        error: String,
        /// For programs. `None`: there is no code for this error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_code: Option<String>,
    },
}

/// The code of a request whose name is not known.
const UNSUPPORTED: &str = "unsupported_request";

impl ControlResponse {
    pub fn success(request_id: &str, response: Value) -> Self {
        Self::Success {
            request_id: request_id.to_owned(),
            response: Some(response),
            pending_permission_requests: None,
            pending_user_dialog_requests: None,
            pending_elicitation_requests: None,
        }
    }

    /// A request that cannot be met as it is.
    pub fn refused(request_id: &str, error: impl Into<String>, code: Option<&str>) -> Self {
        Self::Error { request_id: request_id.to_owned(), error: error.into(), error_code: code.map(str::to_owned) }
    }

    pub fn unsupported(request_id: &str, subtype: &str) -> Self {
        Self::refused(request_id, format!("Unsupported control request subtype: {subtype}"), Some(UNSUPPORTED))
    }

    pub fn request_id(&self) -> &str {
        match self {
            Self::Success { request_id, .. } | Self::Error { request_id, .. } => request_id,
        }
    }

    /// The session does not know this kind of request.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Error { error_code: Some(code), .. } if code == UNSUPPORTED)
    }

    /// The body of a success, or the text of the error.
    pub fn into_result(self) -> Result<Value, String> {
        match self {
            Self::Success { response, .. } => Ok(response.unwrap_or_default()),
            Self::Error { error, .. } => Err(error),
        }
    }
}

/// The host's answer to a question of the session.
#[derive(Clone, Debug)]
pub struct HostReply {
    pub request_id: String,
    /// The `response` of a success, or the host's error text.
    pub outcome: Result<Box<RawValue>, String>,
}

/// Replies are equal when they are written alike.
impl PartialEq for HostReply {
    fn eq(&self, other: &Self) -> bool {
        let text = |reply: &Self| reply.outcome.as_ref().map(|body| body.get().to_owned()).map_err(Clone::clone);
        self.request_id == other.request_id && text(self) == text(other)
    }
}

impl HostReply {
    pub fn success(request_id: impl Into<String>, response: &impl Serialize) -> Self {
        let outcome = crate::raw::to_raw(response).map_err(|error| error.to_string());
        Self { request_id: request_id.into(), outcome }
    }

    pub fn error(request_id: impl Into<String>, error: impl Into<String>) -> Self {
        Self { request_id: request_id.into(), outcome: Err(error.into()) }
    }

    /// Reads the `response` object of a `control_response` line. Some hosts write the id beside it (`beside`), with or
    /// without an envelope inside. `None`: it names no question.
    pub fn read(response: &RawValue, beside: Option<String>) -> Option<Self> {
        #[derive(Deserialize)]
        struct AnswerFields<'a> {
            #[serde(default)]
            request_id: Option<String>,
            #[serde(default)]
            subtype: Option<String>,
            #[serde(borrow, default)]
            response: Option<&'a RawValue>,
            #[serde(default)]
            error: Option<String>,
        }
        let fields = serde_json::from_str::<AnswerFields<'_>>(response.get());
        let Ok(fields) = fields else {
            // No envelope at all: the whole object is the answer.
            return beside.map(|request_id| Self { request_id, outcome: Ok(response.to_owned()) });
        };
        let is_envelope = matches!(fields.subtype.as_deref(), Some("success" | "error"));
        match (fields.request_id, beside) {
            (None, None) => None,
            (None, Some(request_id)) if !is_envelope => Some(Self { request_id, outcome: Ok(response.to_owned()) }),
            (Some(request_id), _) | (None, Some(request_id)) => {
                let outcome = if fields.subtype.as_deref() == Some("success") {
                    Ok(fields.response.map_or_else(empty_object, ToOwned::to_owned))
                } else {
                    Err(fields.error.unwrap_or_else(|| "the host reported an error".into()))
                };
                Some(Self { request_id, outcome })
            }
        }
    }
}

fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".into()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// A host's answer to `can_use_tool`, as hosts in this process write it. `PermissionAnswer` reads what any host wrote.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionVerdict {
    behavior: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_permissions: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupt: Option<bool>,
}

impl PermissionVerdict {
    /// The call runs with this input.
    pub fn allow(input: Value) -> Self {
        Self {
            behavior: "allow",
            updated_input: Some(input),
            updated_permissions: None,
            message: None,
            interrupt: None,
        }
    }

    /// Applies changes to rules, mode or directories as well (`PermissionUpdate` objects).
    #[must_use]
    pub fn with_updates(self, updates: Vec<Value>) -> Self {
        Self { updated_permissions: Some(updates), ..self }
    }

    /// The call does not run; the model reads `message`.
    pub fn deny(message: impl Into<String>) -> Self {
        Self {
            behavior: "deny",
            updated_input: None,
            updated_permissions: None,
            message: Some(message.into()),
            interrupt: None,
        }
    }

    /// Whether the turn ends with the refusal.
    #[must_use]
    pub fn interrupting(self, interrupt: bool) -> Self {
        Self { interrupt: Some(interrupt), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(response: &str, beside: Option<&str>) -> Option<(String, Result<String, String>)> {
        let raw = RawValue::from_string(response.to_owned()).unwrap();
        let reply = HostReply::read(&raw, beside.map(str::to_owned))?;
        Some((reply.request_id, reply.outcome.map(|body| body.get().to_owned())))
    }

    // [F-B11]
    #[test]
    fn the_id_may_be_inside_or_beside() {
        let said = |id: &str, outcome: Result<&str, &str>| {
            Some((id.to_owned(), outcome.map(str::to_owned).map_err(str::to_owned)))
        };
        let inside = r#"{"subtype":"success","request_id":"a","response":{"x":1}}"#;
        assert_eq!(read(inside, None), said("a", Ok(r#"{"x":1}"#)));
        assert_eq!(read(inside, Some("b")), said("a", Ok(r#"{"x":1}"#)));
        assert_eq!(read(r#"{"subtype":"success","response":{"x":1}}"#, Some("b")), said("b", Ok(r#"{"x":1}"#)));
        assert_eq!(read(r#"{"behavior":"allow"}"#, Some("b")), said("b", Ok(r#"{"behavior":"allow"}"#)));
        assert_eq!(read(r#"{"subtype":"success","request_id":"a"}"#, None), said("a", Ok("{}")));
        assert_eq!(read(r#"{"subtype":"error","request_id":"a","error":"no"}"#, None), said("a", Err("no")));
        assert_eq!(read(r#"{"behavior":"allow"}"#, None), None);
    }
}
