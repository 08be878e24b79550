use super::*;
use crate::command::{EventReceiver, event_channel};

fn desk() -> (HostQuestions, EventReceiver) {
    let (out, events) = event_channel();
    (HostQuestions::new(HostSender::new(out.stream, "s".into()), Some(StateFrames::Open)), events)
}

fn permission() -> HostQuestion {
    HostQuestion::read(r#"{"subtype":"can_use_tool","tool_name":"Bash","input":{}}"#).unwrap()
}

fn callback() -> HostQuestion {
    HostQuestion::read(r#"{"subtype":"hook_callback","callback_id":"c","input":{}}"#).unwrap()
}

fn yes(id: &str) -> HostReply {
    HostReply::success(id, &serde_json::json!({"behavior": "allow"}))
}

async fn next_state(events: &mut EventReceiver) -> serde_json::Value {
    match events.recv().await.unwrap() {
        Event::Message(message) => {
            serde_json::from_str::<serde_json::Value>(&message.to_line().unwrap()).unwrap()["state"].clone()
        }
        other => panic!("{other:?}"),
    }
}

async fn next_question(events: &mut EventReceiver) -> (String, HostQuestion) {
    match events.recv().await.unwrap() {
        Event::Ask { id, question } => (id, question),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_reaches_the_one_who_asked_and_only_once() {
    // [SDK-157]
    let (desk, mut events) = desk();
    let asking = tokio::spawn(desk.ask(permission(), CancellationToken::new()));
    assert_eq!(next_state(&mut events).await, "requires_action");
    let (id, question) = next_question(&mut events).await;
    assert_eq!(question.subtype(), "can_use_tool");
    let pending = desk.pending(QuestionKind::Permission);
    assert_eq!((pending.len(), &pending[0]["request_id"]), (1, &serde_json::json!(id)));
    desk.answer(yes(&id));
    desk.answer(yes(&id));
    assert_eq!(asking.await.unwrap().unwrap().get(), r#"{"behavior":"allow"}"#);
    assert_eq!(next_state(&mut events).await, "running");
    assert!(events.try_recv().is_none());
}

#[tokio::test]
async fn cancelling_withdraws_and_a_late_answer_is_nothing() {
    // [SDK-105]
    let (desk, mut events) = desk();
    let cancel = CancellationToken::new();
    let asking = tokio::spawn(desk.ask(callback(), cancel.clone()));
    let (asked, _) = next_question(&mut events).await;
    cancel.cancel();
    assert_eq!(asking.await.unwrap().unwrap_err(), QuestionFailure::Withdrawn);
    assert!(matches!(events.recv().await, Some(Event::AskWithdrawn { id }) if id == asked));
    desk.answer(yes(&asked));
}

#[tokio::test]
async fn a_dropped_question_is_withdrawn_too() {
    let (desk, mut events) = desk();
    let asking = tokio::spawn(desk.ask(callback(), CancellationToken::new()));
    next_question(&mut events).await;
    asking.abort();
    assert!(matches!(events.recv().await, Some(Event::AskWithdrawn { .. })));
}

#[tokio::test]
async fn the_end_of_input_answers_everything() {
    let (desk, mut events) = desk();
    let asking = tokio::spawn(desk.ask(callback(), CancellationToken::new()));
    next_question(&mut events).await;
    desk.close();
    assert_eq!(asking.await.unwrap().unwrap_err(), QuestionFailure::Closed);
    let late = desk.ask(callback(), CancellationToken::new()).await;
    assert_eq!(late.unwrap_err(), QuestionFailure::Closed);
    assert!(events.try_recv().is_none(), "nothing is asked or withdrawn after the end");
}
