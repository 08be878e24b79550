//! A question of the session itself to the person at the screen, with a few answers to choose from. It is asked like a
//! question of the model, so that every interface that shows those shows this one.

use super::LiveSession;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use session_parts::permission_prompt::PermissionChannel;
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;
use tools::ask_user_question;
use wire::control::{CanUseTool, HostQuestion};

/// A question and its answers: label and explanation.
pub(super) struct ChoiceQuestion<'a> {
    pub header: &'a str,
    pub question: String,
    pub answers: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChoiceAnswer {
    behavior: String,
    updated_input: Option<AnsweredInput>,
}

#[derive(Deserialize)]
struct AnsweredInput {
    #[serde(default)]
    answers: BTreeMap<String, String>,
}

impl LiveSession {
    /// Whether a person sits at a screen of this session.
    pub(crate) fn has_person(&self) -> bool {
        self.io.output.flags.has_screen && matches!(self.io.rules.permission_channel, PermissionChannel::Host(_))
    }

    /// The index of the chosen answer; `None` when nobody could be asked or nothing was chosen.
    pub(super) async fn choose(&mut self, asked: &ChoiceQuestion<'_>, cancel: &CancellationToken) -> Option<usize> {
        let PermissionChannel::Host(questions) = &self.io.rules.permission_channel else { return None };
        let options = asked.answers.iter().map(|(label, about)| json!({"label": label, "description": about}));
        let input = json!({"questions": [{
            "question": asked.question, "header": asked.header, "multiSelect": false,
            "options": options.collect::<Vec<_>>(),
        }]});
        let question = CanUseTool {
            tool_name: ask_user_question::NAME.to_owned(),
            display_name: ask_user_question::NAME.to_owned(),
            input: wire::raw::to_raw(&input).ok()?,
            description: None,
            permission_suggestions: Vec::new(),
            blocked_path: None,
            decision_reason: None,
            decision_reason_type: None,
            matched_ask_rule: None,
            tool_use_id: format!("gimlet_{}", sys::id::uuid()),
            requires_user_interaction: true,
            command_parts: Vec::new(),
            agent_id: None,
        };
        let waiting = questions.ask(HostQuestion::CanUseTool(Box::new(question)), cancel.clone());
        let answered = self.control.during(waiting).await?.ok()?;
        let chosen = chosen_label(&answered, &asked.question)?;
        asked.answers.iter().position(|(label, _)| *label == chosen)
    }
}

fn chosen_label(answered: &RawValue, question: &str) -> Option<String> {
    let answer: ChoiceAnswer = serde_json::from_str(answered.get()).ok()?;
    let mut answers = answer.updated_input.filter(|_| answer.behavior == "allow")?.answers;
    answers.remove(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_counts() {
        let chosen = |text: &str| chosen_label(&RawValue::from_string(text.to_owned()).unwrap(), "Go on?");
        let answered = r#"{"behavior":"allow","updatedInput":{"questions":[],"answers":{"Go on?":"Yes"}}}"#;
        assert_eq!(chosen(answered).as_deref(), Some("Yes"));
        for other in [
            r#"{"behavior":"deny","message":"no"}"#,
            r#"{"behavior":"allow"}"#,
            r#"{"behavior":"allow","updatedInput":{"answers":{"Other?":"Yes"}}}"#,
            r#"{"behavior":"deny","updatedInput":{"answers":{"Go on?":"Yes"}}}"#,
        ] {
            assert_eq!(chosen(other), None, "{other}");
        }
    }
}
