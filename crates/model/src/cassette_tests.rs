use super::*;
use crate::client::AuthSecret;
use crate::error::{ErrorKind, ModelError};
use crate::event::ModelEvent;
use crate::fragment::{Fragment, Message};
use crate::{ResponseAssembly, sse};

const SSE: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"m\",\"usage\":{\"input_tokens\":1}}}\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"in /home/a\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"nn/proj/src and sk-ant-abc123456789\"}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\ndata: {\"type\":\"message_stop\"}\n\n";

fn places(cwd: &str) -> PathPlaceholders {
    vec![(cwd.into(), "<<cwd>>".into()), (format!("{cwd}/deep"), "<<deep>>".into())]
}

fn headers() -> Vec<(String, String)> {
    [("content-type", "text/event-stream"), ("set-cookie", "secret"), ("request-id", "req_1")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .to_vec()
}

/// Records one exchange per given conversation; returns the text of the file.
fn record(conversations: &[&[Message]]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.jsonl");
    let recorder = CassetteRecorder::create(&path, places("/home/ann/proj"))
        .unwrap()
        .with_secrets(vec![AuthSecret::new("hunter2!")]);
    for turns in conversations {
        let mut tap =
            recorder.begin(CallKind::Messages, turns, &[AuthSecret::new("key-12345678")]).with_answer(200, &headers());
        for chunk in SSE.as_bytes().chunks(7) {
            tap.bytes(chunk);
        }
        tap.end();
    }
    std::fs::read_to_string(&path).unwrap()
}

fn fold(answer: &ReplayedResponse) -> (ResponseAssembly, Vec<String>) {
    let (mut parser, mut frames) = (sse::SseParser::default(), Vec::new());
    for chunk in &answer.chunks {
        parser.push(chunk, &mut frames).unwrap();
    }
    let mut assembly = ResponseAssembly::default();
    let blocks = frames
        .iter()
        .filter_map(|f| assembly.push(&ModelEvent::parse(&f.event, &f.data).unwrap()))
        .map(|closed| closed.block.get().to_owned())
        .collect();
    (assembly, blocks)
}

fn diverges(player: &CassettePlayer, turns: &[Message]) -> String {
    let error: ModelError = player.answer(CallKind::Messages, turns).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cassette);
    assert!(!error.is_retryable());
    error.message
}

fn result(id: &str, text: &str) -> Message {
    let content = serde_json::to_string(text).unwrap();
    let json = format!(r#"{{"tool_use_id":"{id}","type":"tool_result","content":{content}}}"#);
    Message::user(vec![Fragment::new(RawValue::from_string(json).unwrap())])
}

fn call(id: &str, input: &str) -> Message {
    let json = format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{input}}}"#);
    Message::assistant("m", vec![Fragment::new(RawValue::from_string(json).unwrap())])
}

#[test]
fn replays_on_another_machine() {
    let asked = [
        Message::user_text("<system-reminder>today is 2026-01-02</system-reminder>"),
        Message::user_text("fix /home/ann/proj/src/a.rs"),
        call("toolu_01A", r#"{"command":"cargo test --manifest-path /home/ann/proj/Cargo.toml"}"#),
        result(
            "toolu_01A",
            "ran at 2026-01-02T10:11:12.123Z in 1.25s, port 127.0.0.1:4312, commit 1f3a9bc, id 123e4567-e89b-42d3-a456-426614174000",
        ),
    ];
    let text = record(&[&asked]);
    assert!(!text.contains("/home/ann"), "{text}");
    assert!(!text.contains("set-cookie"));
    let player = CassettePlayer::from_text(&text, places("/tmp/elsewhere/x")).unwrap();
    let now = [
        Message::user_text("<system-reminder>another wording, 2027</system-reminder>"),
        Message::user_text("fix /tmp/elsewhere/x/src/a.rs"),
        call("toolu_99Z", r#"{"command":"cargo test --manifest-path /tmp/elsewhere/x/Cargo.toml"}"#),
        result(
            "toolu_99Z",
            "ran at 2027-03-04T01:02:03.5Z in 310ms, port 127.0.0.1:999, commit abcdef0, id 9f3e4567-e89b-42d3-a456-426614174abc",
        ),
    ];
    assert_eq!(player.remaining(), 1);
    let answer = player.answer(CallKind::Messages, &now).unwrap();
    assert_eq!((answer.status, answer.cut), (200, false));
    assert!(answer.headers.iter().any(|(k, v)| k == "request-id" && v == "req_1"));
    let (assembly, blocks) = fold(&answer);
    assert_eq!(
        blocks[0],
        r#"{"type":"text","text":"in /tmp/elsewhere/x/src and sk-ant-abc123456789"}"#
            .replace("sk-ant-abc123456789", "<secret>")
    );
    assert_eq!(assembly.stop_reason.as_deref(), Some("end_turn"));
    assert_eq!(player.remaining(), 0);
}

#[test]
fn long_pieces_are_stored_whole_and_replayed_in_parts() {
    let text = record(&[&[Message::user_text("x")]]);
    assert_eq!(text.lines().nth(1).unwrap().matches("content_block_delta").count(), 1);
    let player =
        CassettePlayer::from_text(&text, vec![("/".repeat(2) + &"long".repeat(60), "<<cwd>>".into())]).unwrap();
    let answer = player.answer(CallKind::Messages, &[Message::user_text("x")]).unwrap();
    let deltas = answer.chunks.iter().filter(|c| c.starts_with(b"event: content_block_delta")).count();
    assert!(deltas > 3, "{deltas}");
    assert!(fold(&answer).1[0].contains(&"long".repeat(60)));
}

#[test]
fn divergence_names_the_exchange_and_shows_both_sides() {
    let start = [Message::user_text("fix it")];
    let later = [Message::user_text("fix it"), call("t", r#"{"command":"ls"}"#), result("t", "3 passed")];
    let text = record(&[&start, &later]);
    let play = || CassettePlayer::from_text(&text, places("/p/q")).unwrap();

    let message = diverges(&play(), &[Message::user_text("break it")]);
    assert!(message.contains("exchange 1") && message.contains("message 1 (user)"), "{message}");
    assert!(message.contains("recorded: fix it") && message.contains("now:      break it"), "{message}");

    let player = play();
    player.answer(CallKind::Messages, &start).unwrap();
    let failed = [later[0].clone(), later[1].clone(), result("t", "2 failed")];
    let message = diverges(&player, &failed);
    assert!(message.contains("exchange 2") && message.contains("message 3"), "{message}");
    assert!(message.contains("3 passed") && message.contains("2 failed"), "{message}");
    // After the first difference, all later requests report it, not its consequences.
    assert_eq!(diverges(&player, &later), message);
    assert_eq!(player.unplayed(), None);

    let player = play();
    assert!(player.unplayed().unwrap().contains("exchange 1: it ended here, but 2 more were recorded"));
    player.answer(CallKind::Messages, &start).unwrap();
    player.answer(CallKind::Messages, &later).unwrap();
    assert_eq!(player.unplayed(), None);
    assert!(diverges(&player, &later).contains("exchange 3: the cassette ends here"));

    assert!(diverges(&play(), &later).contains("1 messages were recorded, 3 were sent"));
    let message = play().answer(CallKind::CountTokens, &start).unwrap_err().message;
    assert!(message.contains("a messages request was recorded, a count_tokens request was made"), "{message}");
}

#[test]
fn history_is_stored_once() {
    let start = vec![Message::user_text(&"long text ".repeat(100))];
    let mut later = start.clone();
    later.extend([call("t", "{}"), result("t", "ok")]);
    let text = record(&[&start, &later]);
    assert_eq!(text.matches(&"long text ".repeat(90)).count(), 1);
    let second: serde_json::Value = serde_json::from_str(text.lines().nth(2).unwrap()).unwrap();
    assert_eq!(second["kept"], 1);
    assert_eq!(second["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn secrets_stay_out() {
    let text = record(&[&[Message::user_text("my key-12345678, hunter2! and sk-ant-zzzzzzzzzzzz")]]);
    for secret in ["key-12345678", "hunter2!", "sk-ant-zzzz", "sk-ant-abc"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn exchanges_are_written_in_the_order_of_the_requests() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.jsonl");
    let recorder = CassetteRecorder::create(&path, Vec::new()).unwrap();
    let tap = |name: &str| recorder.begin(CallKind::Messages, &[Message::user_text(name)], &[]);
    let first = tap("first");
    drop(tap("refused"));
    let mut third = tap("third").with_answer(500, &[]);
    third.bytes(b"<html>");
    third.end();
    drop(third);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
    drop(first.with_answer(200, &[]));
    let text = std::fs::read_to_string(&path).unwrap();
    let player = CassettePlayer::from_text(&text, Vec::new()).unwrap();
    let cut = player.answer(CallKind::Messages, &[Message::user_text("first")]).unwrap();
    assert!(cut.cut);
    let failed = player.answer(CallKind::Messages, &[Message::user_text("third")]).unwrap();
    assert_eq!((failed.status, failed.chunks.concat()), (500, b"<html>".to_vec()));
}

#[test]
fn files_that_are_no_cassettes() {
    for (text, part) in [
        ("", "not a cassette"),
        ("{}", "not a cassette"),
        ("{\"cassette\":9}", "format 9"),
        ("{\"cassette\":1}\n{", "line 2"),
    ] {
        let error = CassettePlayer::from_text(text, Vec::new()).unwrap_err();
        assert!(error.message.contains(part), "{text}: {}", error.message);
    }
    assert!(
        CassettePlayer::open(std::path::Path::new("/nonexistent/c.jsonl"), Vec::new())
            .unwrap_err()
            .message
            .contains("/nonexistent")
    );
}

#[test]
fn a_path_is_not_part_of_a_longer_name() {
    let normal = normalise::TextNormaliser::new(places("/home/ann/proj"));
    assert_eq!(
        normal.hide("/home/ann/project /home/ann/proj. -I/home/ann/proj/x"),
        "/home/ann/project <<cwd>>. -I<<cwd>>/x"
    );
}

#[test]
fn random_names_in_answers_are_this_runs() {
    let started = |id: &str| {
        [Message::user_text("go"), call("t", "{}"), result("t", &format!("output goes to /t/tasks/{id}.output"))]
    };
    let text = record(&[&started("b0000aaaa")]);
    assert!(!text.contains("b0000aaaa") && text.contains("<<name-1>>"), "{text}");
    let player = CassettePlayer::from_text(&text, Vec::new()).unwrap();
    player.answer(CallKind::Messages, &started("b1111bbbb")).unwrap();
}

#[test]
fn normalising_twice_changes_nothing() {
    let normal = normalise::TextNormaliser::new(places("/home/ann/proj"));
    let text = "/home/ann/proj/deep/x Jan 2 2026 10:00:00 took 3 seconds [::1]:80 0xdeadbeef deadbeef1 defaced 1234567 toolu_abc";
    let once = normal.text(text);
    assert_eq!(once, "<<deep>>/x <date> <time> took <duration> [::1]:<port> <address> <sha> defaced 1234567 <id>");
    assert_eq!(normal.text(&once), once);
}
