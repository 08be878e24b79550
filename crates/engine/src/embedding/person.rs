//! The questions that a program answers for a person: permission for a call, and questions of the model.

use super::QuestionHandler;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value};
use wire::control::{CanUseTool, PermissionVerdict};

/// A call that needs permission.
#[derive(Clone, Debug)]
pub struct PermissionCall {
    pub tool: String,
    pub input: Value,
    /// What the model says the call does; `None` when it says nothing.
    pub description: Option<String>,
    /// Why rules and mode leave it open; `None` when there is no reason beyond that.
    pub reason: Option<String>,
    pub tool_use_id: String,
}

impl PermissionCall {
    pub(super) fn new(asked: CanUseTool) -> Self {
        Self {
            input: serde_json::from_str(asked.input.get()).unwrap_or_default(),
            tool: asked.tool_name,
            description: asked.description,
            reason: asked.decision_reason,
            tool_use_id: asked.tool_use_id,
        }
    }

    /// The call runs as the model wrote it.
    pub fn allow(self) -> PermissionVerdict {
        PermissionVerdict::allow(self.input)
    }

    /// The call does not run; the model reads `message`.
    pub fn deny(self, message: impl Into<String>) -> PermissionVerdict {
        PermissionVerdict::deny(message)
    }
}

/// Questions that the model asks together.
#[derive(Clone, Debug, Deserialize)]
pub struct QuestionForm {
    pub questions: Vec<QuestionItem>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct QuestionItem {
    pub question: String,
    #[serde(default)]
    pub header: String,
    #[serde(default)]
    pub options: Vec<QuestionChoice>,
    /// Several options may be chosen; the answer lists them, separated by commas.
    #[serde(default, rename = "multiSelect")]
    pub multi_select: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct QuestionChoice {
    pub label: String,
    #[serde(default)]
    pub description: String,
}

/// The verdict that carries the answers of the program.
pub(super) fn answered(call: PermissionCall, answer: QuestionHandler) -> BoxFuture<'static, PermissionVerdict> {
    Box::pin(async move {
        let Ok(form) = serde_json::from_value::<QuestionForm>(call.input.clone()) else {
            return PermissionVerdict::deny("The questions cannot be read.");
        };
        let names: Vec<String> = form.questions.iter().map(|item| item.question.clone()).collect();
        let Some(answers) = answer(form).await else {
            return PermissionVerdict::deny("The questions were declined.");
        };
        let answers: Map<String, Value> = names.into_iter().zip(answers.into_iter().map(Value::from)).collect();
        let mut input = call.input;
        input["answers"] = Value::Object(answers);
        PermissionVerdict::allow(input)
    })
}
