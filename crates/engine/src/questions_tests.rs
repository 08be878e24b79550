use super::*;
use crate::command::{EventReceiver, event_channel};

fn desk() -> (HostQuestions, EventReceiver) {
    let (out, events) = event_channel();
    (HostQuestions::new(HostSender::new(out.stream, "s".into()), Some(StateFrames::Open)), events)
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

async fn next_line(events: &mut EventReceiver) -> serde_json::Value {
    let line = match events.recv().await.unwrap() {
        Event::Control(line) => line,
        Event::Message(message) => message.to_line().unwrap(),
        other => panic!("{other:?}"),
    };
    serde_json::from_str(&line).unwrap()
}

#[tokio::test]
async fn an_answer_reaches_the_one_who_asked_and_only_once() {
    // [SDK-157]
    let (desk, mut events) = desk();
    let asking = tokio::spawn(desk.ask(
        QuestionKind::Permission,
        serde_json::json!({"subtype": "can_use_tool"}),
        CancellationToken::new(),
    ));
    assert_eq!(next_line(&mut events).await["state"], "requires_action");
    let question = next_line(&mut events).await;
    assert_eq!(question["request"]["subtype"], "can_use_tool");
    assert_eq!(desk.pending(QuestionKind::Permission).len(), 1);
    let id = question["request_id"].as_str().unwrap();
    let answer = raw(&format!(r#"{{"subtype":"success","request_id":"{id}","response":{{"behavior":"allow"}}}}"#));
    desk.answer(&answer);
    desk.answer(&answer);
    assert_eq!(asking.await.unwrap().unwrap().get(), r#"{"behavior":"allow"}"#);
    assert_eq!(next_line(&mut events).await["state"], "running");
    assert!(events.try_recv().is_none());
}

#[tokio::test]
async fn cancelling_withdraws_and_a_late_answer_is_nothing() {
    // [SDK-105]
    let (desk, mut events) = desk();
    let cancel = CancellationToken::new();
    let asking =
        tokio::spawn(desk.ask(QuestionKind::Program, serde_json::json!({"subtype": "hook_callback"}), cancel.clone()));
    let question = next_line(&mut events).await;
    cancel.cancel();
    assert_eq!(asking.await.unwrap().unwrap_err(), QuestionFailure::Withdrawn);
    let withdrawn = next_line(&mut events).await;
    assert_eq!(
        (&withdrawn["type"], &withdrawn["request_id"]),
        (&serde_json::json!("control_cancel_request"), &question["request_id"])
    );
    desk.answer(&raw(&format!(r#"{{"subtype":"success","request_id":{},"response":{{}}}}"#, question["request_id"])));
}

#[tokio::test]
async fn a_dropped_question_is_withdrawn_too() {
    let (desk, mut events) = desk();
    let asking = tokio::spawn(desk.ask(QuestionKind::Program, serde_json::json!({}), CancellationToken::new()));
    next_line(&mut events).await;
    asking.abort();
    assert_eq!(next_line(&mut events).await["type"], "control_cancel_request");
}

#[tokio::test]
async fn the_end_of_input_answers_everything() {
    let (desk, mut events) = desk();
    let asking = tokio::spawn(desk.ask(QuestionKind::Program, serde_json::json!({}), CancellationToken::new()));
    next_line(&mut events).await;
    desk.close();
    assert_eq!(asking.await.unwrap().unwrap_err(), QuestionFailure::Closed);
    let late = desk.ask(QuestionKind::Program, serde_json::json!({}), CancellationToken::new()).await;
    assert_eq!(late.unwrap_err(), QuestionFailure::Closed);
    assert!(events.try_recv().is_none(), "nothing is asked or withdrawn after the end");
}
