//! Lines of a transcript as the messages that a host with a screen would have received: with the structured results of
//! calls, the outputs of commands, and without what was written for the model only.

use serde::Deserialize;
use serde_json::value::RawValue;
use session_parts::prompts;
use std::borrow::Cow;
use std::collections::HashSet;
use wire::sdk::{PastMessage, ReportedDecision, SdkMessage, SystemBody, SystemMessage, ToolResultMeta};

/// What a host is told about a compaction.
const COMPACTED: &str = "The conversation was compacted.";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RecordedLine<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uuid: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    attachment: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_result: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_denial_kind: Option<Cow<'a, str>>,
    permission_decision: Option<RecordedSource>,
    thinking_duration_ms: Option<u64>,
    is_meta: bool,
    is_sidechain: bool,
    is_compact_summary: bool,
    is_api_error_message: bool,
    uuids: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RecordedSource {
    source: String,
}

/// The messages of these lines, in their order. Prompts that were taken back are left out.
pub(crate) fn of_lines(lines: &[String], session_id: &str) -> Vec<SdkMessage> {
    let mut retracted: HashSet<String> = HashSet::new();
    let mut messages = Vec::new();
    for line in lines.iter().rev() {
        let Ok(read) = serde_json::from_str::<RecordedLine<'_>>(line) else { continue };
        if read.kind == "x-retracted" {
            retracted.extend(read.uuids);
        } else if !retracted.contains(&*read.uuid) {
            messages.extend(message(&read, session_id));
        }
    }
    messages.reverse();
    messages
}

/// The message of one line; `None` for a line that a person does not see.
pub(crate) fn of_line(line: &str, session_id: &str) -> Option<SdkMessage> {
    message(&serde_json::from_str(line).ok()?, session_id)
}

fn message(line: &RecordedLine<'_>, session_id: &str) -> Option<SdkMessage> {
    if line.is_sidechain {
        return None;
    }
    let remark = |body| {
        let frame =
            SystemMessage { kind: "system", body, session_id: session_id.to_owned(), uuid: line.uuid.to_string() };
        Some(SdkMessage::System(frame))
    };
    match &*line.kind {
        "user" if line.is_compact_summary => {
            remark(SystemBody::Informational { content: COMPACTED.into(), level: "info" })
        }
        "user" if line.is_meta && !is_notice(line.message?) => None,
        "user" => Some(past(line, line.message?.to_owned(), session_id).user()),
        "assistant" => Some(past(line, line.message?.to_owned(), session_id).assistant()),
        "system" if line.subtype.as_deref() == Some("local_command") => {
            let content = serde_json::from_str::<String>(line.content?.get()).ok()?;
            remark(SystemBody::LocalCommandOutput { content })
        }
        "attachment" => Some(past(line, queued_prompt(line.attachment?)?, session_id).user()),
        _ => None,
    }
}

fn past(line: &RecordedLine<'_>, message: Box<RawValue>, session_id: &str) -> PastMessage {
    let base = PastMessage::new(message, session_id.to_owned(), line.uuid.to_string(), line.timestamp.to_string());
    PastMessage {
        tool_use_result: line.tool_use_result.map(ToOwned::to_owned),
        tool_result_meta: result_meta(line).into_iter().collect(),
        thinking_duration_ms: line.thinking_duration_ms,
        is_api_error_message: line.is_api_error_message,
        ..base
    }
}

/// What is known of the decision about a call, as far as a screen shows it: whether a person was asked, and refused.
fn result_meta(line: &RecordedLine<'_>) -> Option<ToolResultMeta> {
    let by_person = line.permission_decision.as_ref().is_some_and(|by| by.source.starts_with("user"));
    let is_refused = line.tool_denial_kind.as_deref() == Some("user-rejected");
    let decision = if is_refused { "reject" } else { "accept" };
    let source = if is_refused { "user_reject" } else { "user_temporary" };
    by_person.then(|| ToolResultMeta {
        id: String::new(),
        permission_decision: Some(ReportedDecision { decision, source, reason_type: None }),
        non_execution_kind: is_refused.then_some("user-rejected"),
    })
}

/// A notice about a background task has a part for people.
fn is_notice(message: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let content = serde_json::from_str::<Content<'_>>(message.get());
    content.is_ok_and(|said| prompts::is_task_notice(&session_parts::messages::plain_text(said.content)))
}

/// A prompt that was typed while a turn ran.
fn queued_prompt(attachment: &RawValue) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Queued<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
        #[serde(borrow, default)]
        prompt: Option<&'a RawValue>,
    }
    let queued = serde_json::from_str::<Queued<'_>>(attachment.get()).ok()?;
    (queued.kind == "queued_command").then(|| queued.prompt.map(session_parts::messages::user_message)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(lines: &[&str]) -> Vec<String> {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let kind = |message: &SdkMessage| match message {
            SdkMessage::User(said) => {
                format!("user {} {:?}", said.uuid, said.tool_use_result.as_ref().map(|r| r.get()))
            }
            SdkMessage::Assistant(said) => format!("assistant {} {:?}", said.uuid, said.thinking_duration_ms),
            SdkMessage::System(_) => "system".to_owned(),
            other => format!("{other:?}"),
        };
        of_lines(&lines, "s").iter().map(kind).collect()
    }

    #[test]
    fn a_person_sees_what_was_done_and_nothing_that_was_written_for_the_model() {
        let shown = kinds(&[
            r#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hello"}}"#,
            r#"{"type":"user","uuid":"u2","isMeta":true,"message":{"role":"user","content":"a reminder"}}"#,
            r#"{"type":"user","uuid":"u3","isMeta":true,"message":{"role":"user","content":"<task-notification>\n<summary>done</summary>"}}"#,
            r#"{"type":"assistant","uuid":"a1","thinkingDurationMs":4000,"message":{"role":"assistant","content":[]}}"#,
            r#"{"type":"user","uuid":"u4","toolUseResult":{"stdout":"x"},"message":{"role":"user","content":[]}}"#,
            r#"{"type":"user","uuid":"u5","isSidechain":true,"message":{"role":"user","content":"of an agent"}}"#,
            r#"{"type":"system","subtype":"local_command","uuid":"s1","content":"<local-command-stdout>ok</local-command-stdout>"}"#,
            r#"{"type":"system","subtype":"turn_duration","uuid":"s2","durationMs":5}"#,
            r#"{"type":"attachment","uuid":"q1","attachment":{"type":"queued_command","prompt":"and this"}}"#,
            r#"{"type":"attachment","uuid":"q2","attachment":{"type":"skill_listing","content":"- x"}}"#,
            r#"{"type":"user","uuid":"u6","message":{"role":"user","content":"taken back"}}"#,
            r#"{"type":"x-retracted","uuids":["u6"]}"#,
            "torn {",
        ]);
        let expected = [
            "user u1 None",
            "user u3 None",
            "assistant a1 Some(4000)",
            "user u4 Some(\"{\\\"stdout\\\":\\\"x\\\"}\")",
            "system",
            "user q1 None",
        ];
        assert_eq!(shown, expected);
    }
}
