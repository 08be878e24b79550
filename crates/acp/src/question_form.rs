//! AskUserQuestion as a form in the editor: one field per question, with the choices the model offered. A form that
//! is declined denies the call.

use crate::protocol::{
    ElicitationAction, ElicitationAnswer, ElicitationField, ElicitationRequest, ElicitationSchema, FieldChoice,
    FieldItems,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use wire::control::PermissionVerdict;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AcpQuestion {
    question: String,
    #[serde(default)]
    header: String,
    #[serde(default)]
    options: Vec<AcpQuestionOption>,
    #[serde(default)]
    multi_select: bool,
}

#[derive(Debug, Deserialize)]
struct AcpQuestionOption {
    label: String,
    #[serde(default)]
    description: String,
}

fn questions(input: &Value) -> Vec<AcpQuestion> {
    input.get("questions").and_then(|list| Vec::deserialize(list).ok()).unwrap_or_default()
}

pub(crate) fn request(input: &Value, session_id: &str, tool_use_id: &str) -> ElicitationRequest {
    let asked = questions(input);
    let message = match asked.as_slice() {
        [only] => only.question.clone(),
        _ => "gimlet has some questions".to_owned(),
    };
    let properties = asked.into_iter().enumerate().map(|(at, asked)| (name(at), field(asked))).collect();
    ElicitationRequest {
        mode: "form",
        session_id: session_id.to_owned(),
        tool_call_id: tool_use_id.to_owned(),
        requested_schema: ElicitationSchema { kind: "object", properties },
        message,
    }
}

fn field(asked: AcpQuestion) -> ElicitationField {
    let choice = |AcpQuestionOption { label, description }: AcpQuestionOption| {
        let description = Some(description).filter(|text| !text.is_empty());
        FieldChoice { value: label.clone(), title: label, description }
    };
    let choices: Vec<FieldChoice> = asked.options.into_iter().map(choice).collect();
    let (title, description) = (Some(asked.header).filter(|header| !header.is_empty()), asked.question);
    if asked.multi_select {
        return ElicitationField::Array { title, description, items: FieldItems { any_of: choices } };
    }
    ElicitationField::String { title, description, one_of: choices }
}

/// Field names are numbers, because a question is not a valid name.
fn name(at: usize) -> String {
    format!("question{}", at + 1)
}

/// The `response` of the engine's question.
pub(crate) fn verdict(input: &Value, outcome: Result<ElicitationAnswer, String>) -> PermissionVerdict {
    let content = match outcome {
        Ok(answer) if answer.action == ElicitationAction::Accept => answer.content.unwrap_or_default(),
        Ok(_) => return PermissionVerdict::deny("The user did not answer."),
        Err(why) => return PermissionVerdict::deny(format!("The editor could not ask: {why}")),
    };
    let answer = |(at, asked): (usize, AcpQuestion)| Some((asked.question, text(content.get(&name(at))?)?.into()));
    let answers: Map<String, Value> = questions(input).into_iter().enumerate().filter_map(answer).collect();
    let mut updated = input.clone();
    updated["answers"] = Value::Object(answers);
    PermissionVerdict::allow(updated)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(many) => many.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|many| many.join(", ")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn input() -> Value {
        json!({"questions": [
            {"question": "Which one?", "header": "One", "multiSelect": false,
             "options": [{"label": "A", "description": "first"}, {"label": "B", "description": ""}]},
            {"question": "Which ones?", "header": "Many", "multiSelect": true,
             "options": [{"label": "C", "description": ""}, {"label": "D", "description": ""}]},
        ]})
    }

    #[test]
    fn each_question_is_a_field() {
        let sent = serde_json::to_value(request(&input(), "s", "t")).unwrap();
        let fields = &sent["requestedSchema"]["properties"];
        assert_eq!(fields["question1"]["oneOf"][0]["const"], "A", "{sent}");
        assert_eq!(fields["question2"]["type"], "array");
        assert_eq!((&sent["mode"], &sent["sessionId"]), (&json!("form"), &json!("s")));
    }

    #[test]
    fn answers_are_keyed_by_the_question() {
        let said = json!({"action": "accept", "content": {"question1": "B", "question2": ["C", "D"]}});
        let told = json!(verdict(&input(), Ok(serde_json::from_value(said).unwrap())));
        assert_eq!(told["updatedInput"]["answers"], json!({"Which one?": "B", "Which ones?": "C, D"}));
        let declined = serde_json::from_value(json!({"action": "decline"})).unwrap();
        assert_eq!(json!(verdict(&input(), Ok(declined)))["behavior"], "deny");
        assert_eq!(json!(verdict(&input(), Err("no".into())))["behavior"], "deny");
    }
}
