//! Lets the person at the terminal read and change a summary before it is used: after `/compact edit`, and for every
//! automatic compaction with `autoCompactReview`.

use crate::session::SessionIo;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use session_parts::compaction_policy::CompactionTrigger;
use session_parts::permission_prompt::PermissionChannel;
use tokio_util::sync::CancellationToken;
use wire::control::{CanUseTool, HostQuestion, SUMMARY_REVIEW};

pub(super) enum SummaryReview {
    Use(String),
    Declined,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewAnswer {
    behavior: String,
    updated_input: Option<ReviewedInput>,
}

#[derive(Deserialize)]
struct ReviewedInput {
    summary: String,
}

/// The summary as the person leaves it. Nobody is asked without a terminal.
pub(super) async fn review(
    summary: String,
    trigger: &CompactionTrigger,
    io: &mut SessionIo,
    token: &CancellationToken,
) -> SummaryReview {
    let is_typed = std::mem::take(&mut io.knowledge.reviews_next_summary);
    let by_setting = io.rules.watch.loaded.settings.auto_compact_review == Some(true);
    let is_wanted = if trigger.is_automatic() { by_setting } else { is_typed };
    let PermissionChannel::Host(questions) = &io.rules.permission_channel else { return SummaryReview::Use(summary) };
    if !is_wanted || !io.output.flags.has_screen || io.output.host.agent_id().is_some() {
        return SummaryReview::Use(summary);
    }
    let Ok(input) = wire::raw::to_raw(&json!({"summary": summary, "openEditor": is_typed})) else {
        return SummaryReview::Use(summary);
    };
    let question = CanUseTool {
        tool_name: SUMMARY_REVIEW.to_owned(),
        display_name: "Summary".to_owned(),
        input,
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
    match questions.ask(HostQuestion::CanUseTool(Box::new(question)), token.clone()).await {
        Ok(answered) => read(&answered, summary),
        Err(_) => SummaryReview::Declined,
    }
}

fn read(answered: &RawValue, summary: String) -> SummaryReview {
    let Ok(answer) = serde_json::from_str::<ReviewAnswer>(answered.get()) else { return SummaryReview::Declined };
    if answer.behavior != "allow" {
        return SummaryReview::Declined;
    }
    let changed = answer.updated_input.map(|input| input.summary).filter(|text| !text.trim().is_empty());
    SummaryReview::Use(changed.unwrap_or(summary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_changes_the_summary() {
        let used = |text: &str| match read(&RawValue::from_string(text.to_owned()).unwrap(), "mine".to_owned()) {
            SummaryReview::Use(text) => Some(text),
            SummaryReview::Declined => None,
        };
        assert_eq!(used(r#"{"behavior":"allow","updatedInput":{"summary":"yours"}}"#).as_deref(), Some("yours"));
        assert_eq!(used(r#"{"behavior":"allow","updatedInput":{"summary":"  "}}"#).as_deref(), Some("mine"));
        assert_eq!(used(r#"{"behavior":"allow"}"#).as_deref(), Some("mine"));
        assert_eq!(used(r#"{"behavior":"deny","message":"no"}"#), None);
        assert_eq!(used("3"), None);
    }
}
