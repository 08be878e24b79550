use super::*;
use crate::declaration::ModelHandler;
use HookEventName::{PostToolUse, PreToolUse, SessionStart, Stop, UserPromptSubmit};
use serde_json::json;

fn exit(event: HookEventName, code: i32, stdout: &str, stderr: &str) -> HookAnswer {
    let ran = HandlerResult::Exited { code: Some(code), stdout: stdout.into(), stderr: stderr.into(), cut: false };
    let kind = HandlerKind::Callback { id: String::new() };
    read(event, &kind, &ran)
}

#[expect(clippy::unnecessary_wraps, reason = "compared with what an answer holds")]
fn deny(reason: &str) -> Option<(HookPermission, Option<String>)> {
    Some((HookPermission::Deny, Some(reason.into())))
}

// [EXT-54]
#[test]
fn text_is_context_only_where_the_event_says_so() {
    for event in [UserPromptSubmit, SessionStart, HookEventName::UserPromptExpansion] {
        assert_eq!(exit(event, 0, " be kind \n", "").context.as_deref(), Some("be kind"));
    }
    assert_eq!(exit(PreToolUse, 0, "be kind", "noise"), HookAnswer::default());
}

// [EXT-55] [EXT-56] [EXT-57] [EXT-58]
#[test]
fn exit_two_blocks_and_other_codes_do_not() {
    assert_eq!(exit(PreToolUse, 2, "", " no rm \n").block.as_deref(), Some("no rm"));
    let one = exit(PreToolUse, 1, "", "\nfirst\nsecond");
    assert_eq!(one.problem.as_deref(), Some("Failed with non-blocking status code: first"));
    assert_eq!((one.block, one.permission), (None, None));
    assert!(exit(PreToolUse, 127, "", "sh: nope: not found").problem.is_some());
    let output = json!({"hookSpecificOutput":
        {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "r"}});
    assert_eq!(exit(PreToolUse, 1, &output.to_string(), "x").permission, deny("r"));
    let allow = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}});
    let both = exit(PreToolUse, 2, &allow.to_string(), "no");
    assert_eq!((both.block.as_deref(), both.permission), (Some("no"), None));
}

// [EXT-59] [EXT-60] [EXT-61]
#[test]
fn json_is_told_from_text() {
    assert_eq!(exit(UserPromptSubmit, 0, "note {\"decision\":\"block\"}", "").block, None);
    assert_eq!(exit(UserPromptSubmit, 0, "{\"a\":1", "").context.as_deref(), Some("{\"a\":1"));
    let broken = exit(UserPromptSubmit, 0, "{\"a\":}", "");
    assert!(broken.problem.is_some() && broken.context.is_none());
    for text in ["[1]", "\"x\""] {
        assert_eq!(exit(UserPromptSubmit, 0, text, "").context.as_deref(), Some(text));
    }
    assert!(exit(UserPromptSubmit, 0, "{\"a\":1}\n{\"b\":2}", "").context.is_some());
    assert!(exit(UserPromptSubmit, 0, "{\"a\":1}\n{\"decision\":\"block\"}", "").problem.is_some());
}

// [EXT-62]
#[test]
fn a_wrong_schema_is_a_problem_unless_it_exits_with_two() {
    let wrong = json!({"continue": "no"}).to_string();
    assert_eq!(exit(Stop, 0, &wrong, "").problem.as_deref(), Some("continue must be true or false"));
    assert!(exit(Stop, 1, &wrong, "").problem.is_some());
    assert_eq!(exit(Stop, 2, &wrong, "go on").block.as_deref(), Some("go on"));
}

// [EXT-63] [EXT-64] [EXT-65]
#[test]
fn common_fields_are_read() {
    let output = json!({"continue": false, "stopReason": "enough", "systemMessage": "hello", "suppressOutput": true})
        .to_string();
    let answer = exit(PostToolUse, 0, &output, "");
    assert_eq!((answer.stop.as_deref(), answer.message.as_deref()), (Some("enough"), Some("hello")));
    let discarded = exit(HookEventName::Notification, 0, &output, "");
    assert_eq!((discarded.stop, discarded.message), (None, None));
    assert_eq!(exit(HookEventName::SessionEnd, 0, &output, ""), HookAnswer::default());
}

// [EXT-68]
#[test]
fn context_counts_only_in_its_place() {
    let answer = exit(PostToolUse, 0, &json!({"additionalContext": "x"}).to_string(), "");
    assert_eq!(answer.context, None);
    assert!(answer.remarks[0].contains("belongs into hookSpecificOutput"));
    let wrong = json!({"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "x"}}).to_string();
    let answer = exit(PostToolUse, 0, &wrong, "");
    assert!(answer.problem.unwrap().contains("hookEventName"));
    let right = json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "x"}}).to_string();
    assert_eq!(exit(PostToolUse, 0, &right, "").context.as_deref(), Some("x"));
}

// [EXT-79]
#[test]
fn the_older_decisions_still_work() {
    let approve = json!({"decision": "approve", "reason": "fine"}).to_string();
    assert_eq!(exit(PreToolUse, 0, &approve, "").permission, Some((HookPermission::Allow, Some("fine".into()))));
    let block = json!({"decision": "block", "reason": "no"}).to_string();
    assert_eq!(exit(PreToolUse, 0, &block, "").permission, deny("no"));
    assert_eq!(exit(PostToolUse, 0, &block, "").block.as_deref(), Some("no"));
    assert_eq!(exit(HookEventName::PermissionRequest, 0, &block, "").block, None);
}

// [EXT-80]
#[test]
fn a_permission_question_is_answered_by_its_own_field_only() {
    let event = HookEventName::PermissionRequest;
    let say = |decision: Value| {
        let output = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
        exit(event, 0, &output.to_string(), "").request
    };
    let deny = RequestDecision::Deny { message: Some("no".into()), interrupt: true };
    assert_eq!(say(json!({"behavior": "deny", "message": "no", "interrupt": true})), Some(deny));
    let allow = RequestDecision::Allow { updated_input: Some(json!({"a": 1})), updated_permissions: Vec::new() };
    assert_eq!(say(json!({"behavior": "allow", "updatedInput": {"a": 1}})), Some(allow));
    assert_eq!(
        exit(event, 2, "", "no"),
        HookAnswer { remarks: exit(event, 2, "", "no").remarks, ..HookAnswer::default() }
    );
}

// [EXT-40]
#[test]
fn http_answers_never_block_by_themselves() {
    let kind = HandlerKind::Callback { id: String::new() };
    let say = |body: &str| read(PreToolUse, &kind, &HandlerResult::Replied { body: body.into() });
    assert_eq!(say("  "), HookAnswer::default());
    assert!(say("fine").problem.is_some());
    assert_eq!(say(r#"{"decision":"block","reason":"no"}"#).permission, deny("no"));
    assert!(read(PreToolUse, &kind, &HandlerResult::Failed { why: "status 500".into() }).problem.is_some());
}

// [EXT-42] [EXT-43] [EXT-44]
#[test]
fn judgements_become_decisions() {
    let ask = |continue_on_block| ModelHandler { prompt: "p".into(), model: None, continue_on_block };
    let say = |event, kind: &HandlerKind, text: &str| read(event, kind, &HandlerResult::Judged { text: text.into() });
    let no = r#"Sure: {"ok": false, "reason": "tests fail"}"#;
    assert_eq!(say(Stop, &HandlerKind::Prompt(ask(false)), no).block.as_deref(), Some("tests fail"));
    let impossible = r#"{"ok": false, "reason": "x", "impossible": true}"#;
    assert_eq!(say(Stop, &HandlerKind::Prompt(ask(false)), impossible).block, None);
    let strict = say(PreToolUse, &HandlerKind::Prompt(ask(false)), no);
    assert_eq!((strict.permission, strict.stop.as_deref()), (deny("tests fail"), Some("tests fail")));
    assert_eq!(say(PreToolUse, &HandlerKind::Prompt(ask(true)), no).stop, None);
    assert_eq!(say(PreToolUse, &HandlerKind::Agent(ask(false)), no).stop, None);
    assert!(say(Stop, &HandlerKind::Prompt(ask(false)), "yes").problem.is_some());
    assert_eq!(say(Stop, &HandlerKind::Prompt(ask(false)), r#"{"ok":true}"#), HookAnswer::default());
}

// [EXT-46]
#[test]
fn time_limits_are_documented_defaults() {
    assert_eq!([PreToolUse, UserPromptSubmit, HookEventName::MessageDisplay].map(|e| e.facts().timeout), [600, 30, 10]);
}

#[test]
fn output_that_was_cut_is_not_read_as_json() {
    let kind = HandlerKind::Callback { id: String::new() };
    let ran = HandlerResult::Exited {
        code: Some(0),
        stdout: "{\"decision\":\"block\"}".into(),
        stderr: String::new(),
        cut: true,
    };
    assert!(read(PreToolUse, &kind, &ran).problem.unwrap().contains("too large"));
}
