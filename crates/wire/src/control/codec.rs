//! Control lines of the session: what goes out as text, and the same read again by a program at the other end.

use super::{ControlResponse, HostQuestion};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A control line that the session sends.
#[derive(Clone, Debug)]
pub enum SessionControlLine {
    Question {
        id: String,
        question: HostQuestion,
    },
    /// The session no longer waits for an answer to this question.
    Withdrawal {
        id: String,
    },
    Response(ControlResponse),
}

#[derive(Serialize)]
struct QuestionLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    request_id: &'a str,
    request: &'a HostQuestion,
}

#[derive(Serialize)]
struct WithdrawalLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    request_id: &'a str,
}

#[derive(Serialize)]
struct ResponseLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    response: &'a ControlResponse,
}

pub fn question_line(id: &str, question: &HostQuestion) -> Result<String, serde_json::Error> {
    crate::raw::to_line(&QuestionLine { kind: "control_request", request_id: id, request: question })
}

pub fn withdrawal_line(id: &str) -> Result<String, serde_json::Error> {
    crate::raw::to_line(&WithdrawalLine { kind: "control_cancel_request", request_id: id })
}

pub fn response_line(response: &ControlResponse) -> Result<String, serde_json::Error> {
    crate::raw::to_line(&ResponseLine { kind: "control_response", response })
}

impl SessionControlLine {
    /// `None` for lines of other types and for lines that cannot be read.
    pub fn read(line: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct LineFields<'a> {
            #[serde(rename = "type", default)]
            kind: String,
            #[serde(default)]
            request_id: Option<String>,
            #[serde(borrow, default)]
            request: Option<&'a RawValue>,
            #[serde(default)]
            response: Option<ControlResponse>,
        }
        let fields: LineFields<'_> = serde_json::from_str(line).ok()?;
        Some(match fields.kind.as_str() {
            "control_request" => {
                Self::Question { id: fields.request_id?, question: HostQuestion::read(fields.request?.get())? }
            }
            "control_cancel_request" => Self::Withdrawal { id: fields.request_id? },
            "control_response" => Self::Response(fields.response?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn lines_are_read_as_they_were_written() {
        let question = json!({"type": "control_request", "request_id": "q",
            "request": {"subtype": "hook_callback", "callback_id": "c", "input": {}}});
        let withdrawal = json!({"type": "control_cancel_request", "request_id": "q"});
        let success = json!({"type": "control_response",
            "response": {"subtype": "success", "request_id": "r", "response": {"a": [1]}}});
        let error = json!({"type": "control_response",
            "response": {"subtype": "error", "request_id": "r", "error": "no", "error_code": "busy"}});
        for line in [question, withdrawal, success, error] {
            let written = match SessionControlLine::read(&line.to_string()).unwrap() {
                SessionControlLine::Question { id, question } => question_line(&id, &question),
                SessionControlLine::Withdrawal { id } => withdrawal_line(&id),
                SessionControlLine::Response(response) => response_line(&response),
            };
            assert_eq!(serde_json::from_str::<Value>(&written.unwrap()).unwrap(), line);
        }
        assert!(SessionControlLine::read(r#"{"type":"assistant"}"#).is_none());
    }
}
