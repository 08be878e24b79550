//! What comes out, in each format, for turns that succeed and turns that fail.

#![expect(clippy::unwrap_used, reason = "a panic is the report")]

use serde_json::{Value, json};
use testkit::{FinishedRun, ModelServer, ReplyGate, Sandbox, ScriptedReply, stream_lines};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");
const STREAM: [&str; 3] = ["--output-format", "stream-json", "--verbose"];

fn run(server: &ModelServer, args: &[&str]) -> FinishedRun {
    Sandbox::with_server(GIMLET, server).gimlet(args).run()
}

fn kinds(lines: &[Value]) -> Vec<String> {
    let name = |l: &Value| match l["subtype"].as_str() {
        Some(subtype) => format!("{}/{subtype}", l["type"].as_str().unwrap()),
        None => l["type"].as_str().unwrap().to_owned(),
    };
    lines.iter().map(name).collect()
}

#[test]
fn text_is_the_answer_and_nothing_else() {
    // [CLI-2] [CLI-64] [SDK-31]
    let server = ModelServer::script([ScriptedReply::text("Hello there.")]);
    let run = run(&server, &["-p", "hi"]).expect_clean();
    assert_eq!(run.stdout, "Hello there.\n");
    assert_eq!(server.request(0).last_user_text(), "hi");
}

#[test]
fn json_is_one_result_and_an_array_when_verbose() {
    // [CLI-7] [SDK-38]
    let server = ModelServer::with_handler(|_| ScriptedReply::text("yes"));
    let one = run(&server, &["-p", "hi", "--output-format", "json"]).expect_clean();
    assert_eq!(one.stdout.lines().count(), 1);
    assert_eq!((&one.json()["type"], &one.json()["result"]), (&json!("result"), &json!("yes")));
    let all = run(&server, &["-p", "hi", "--output-format", "json", "--verbose"]).expect_clean();
    let all = all.json();
    assert_eq!(kinds(all.as_array().unwrap()), ["system/init", "assistant", "result/success"]);
}

#[test]
fn stream_json_lines_come_in_order_and_end_with_the_result() {
    // [CLI-8] [SDK-32] [CLI-61]
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "notes.txt"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write("notes.txt", "remember\n");
    let run = sandbox.gimlet(&[&["-p", "hi"], &STREAM[..]].concat()).run().expect_clean();
    assert!(run.stdout.ends_with('\n'));
    let lines = run.lines();
    assert_eq!(kinds(&lines), ["system/init", "assistant", "user", "assistant", "result/success"]);
    let session = &lines[0]["session_id"];
    assert!(lines.iter().all(|l| &l["session_id"] == session));
    assert_eq!(lines[0]["claude_code_version"], wire::version::COMPAT); // [SDK-2]
    assert!(lines[2]["message"]["content"][0]["content"].as_str().unwrap().contains("remember"));
}

#[test]
fn partial_messages_are_streamed_when_asked_for() {
    // [CLI-40] [SDK-35]
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("hello").gate(&gate)]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = sandbox.gimlet(&[&["-p", "hi", "--include-partial-messages"], &STREAM[..]].concat()).spawn();
    gate.open_for(4); // message_start, ping, content_block_start, the only delta
    let mut seen = Vec::new();
    while !seen.contains(&"content_block_delta".to_owned()) {
        seen.push(running.wait_for("stream_event")["event"]["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen, ["message_start", "content_block_start", "content_block_delta"], "each line as its event arrives");
    gate.open_all();
    let lines = running.finish().expect_clean().lines();
    let order: Vec<&str> = lines.iter().map(|l| l["event"]["type"].as_str().or(l["type"].as_str()).unwrap()).collect();
    let at = |name| order.iter().position(|k| *k == name).unwrap();
    assert!(at("assistant") < at("content_block_stop"), "{order:?}");
    let plain = ModelServer::script([ScriptedReply::text("hello")]);
    assert!(!run(&plain, &[&["-p", "hi"], &STREAM[..]].concat()).stdout.contains("stream_event"));
}

#[test]
fn an_api_error_is_the_answer_and_exit_1() {
    // [CLI-63]
    let server = ModelServer::with_handler(|_| ScriptedReply::error(403, "permission_error", "no entry"));
    let text = run(&server, &["-p", "hi"]).expect_code(1);
    assert_eq!(text.stderr, "");
    assert!(text.stdout.contains("no entry"), "{}", text.stdout);
    let stream = run(&server, &[&["-p", "hi"], &STREAM[..]].concat()).expect_code(1);
    let result = stream.result();
    assert_eq!(
        (&result["subtype"], &result["is_error"], &result["api_error_status"]),
        (&json!("success"), &json!(true), &json!(403))
    );
}

#[test]
fn without_a_key_the_answer_says_how_to_get_one() {
    let server = ModelServer::start();
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let run = sandbox.gimlet(&["-p", "hi"]).env_remove("ANTHROPIC_API_KEY").run().expect_code(1);
    assert!(run.stdout.contains("ANTHROPIC_API_KEY") && run.stdout.contains("gimlet demo"), "{run:?}");
    assert_eq!(server.requests().len(), 0);
}

// [F-C9]
#[test]
fn nobody_is_sent_to_a_sign_in_that_is_not_offered() {
    let server = ModelServer::with_handler(|_| ScriptedReply::error(401, "authentication_error", "invalid x-api-key"));
    let mut sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.set("CLAUDE_CODE_MAX_RETRIES", "0");
    let plain = |variable: &str| {
        let run = sandbox.gimlet(&["-p", "hi"]).env_remove("ANTHROPIC_API_KEY");
        if variable.is_empty() { run } else { run.env(variable, "k") }.run().expect_code(1).stdout
    };
    let missing = plain("");
    assert!(missing.starts_with("Error: No API key was found. Set ANTHROPIC_API_KEY"), "{missing}");
    let expired = r#"{"claudeAiOauth": {"accessToken": "l", "expiresAt": 100, "scopes": ["user:inference"]}}"#;
    sandbox.write_config(".credentials.json", expired);
    let expired = plain("");
    assert!(expired.contains("The stored login has expired") && expired.contains("gimlet auth login"), "{expired}");
    for variable in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] {
        let refused = plain(variable);
        assert!(refused.contains(&format!("in {variable} was not accepted")), "{refused}");
        assert!(refused.contains("gimlet auth login") && !refused.contains("/login"), "{refused}");
    }
    for text in
        [missing, expired, sandbox.gimlet(&["auth", "status", "--text"]).env_remove("ANTHROPIC_API_KEY").run().stdout]
    {
        assert!(!text.contains("/login"), "{text}");
    }
}

#[test]
fn limits_end_the_run_with_their_own_error() {
    // [CLI-20]
    let server = ModelServer::with_handler(|_| ScriptedReply::tool("Glob", json!({"pattern": "*"})));
    let text = run(&server, &["-p", "hi", "--max-turns", "1"]).expect_code(1);
    assert_eq!((text.stdout.as_str(), text.stderr.as_str()), ("Error: Reached maximum number of turns (1)\n", ""));
    let stream = run(&server, &[&["-p", "hi", "--max-turns", "1"], &STREAM[..]].concat()).expect_code(1);
    assert_eq!(stream.result()["subtype"], "error_max_turns");
}

#[test]
fn text_that_was_produced_before_a_failure_is_printed() {
    let server = ModelServer::with_handler(|request| {
        if request.is_streaming() {
            return ScriptedReply::text("The answer begins").cut_after_events(5);
        }
        ScriptedReply::error(400, "invalid_request_error", "no more")
    });
    let run = run(&server, &["-p", "hi"]).expect_code(1);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(matches!(lines[..], ["The answer begins", reason] if reason.starts_with("API Error")), "{run:?}");
}

#[test]
fn a_schema_makes_the_text_json() {
    // [CLI-25] [CLI-26]
    let server = ModelServer::with_handler(|_| ScriptedReply::tool("StructuredOutput", json!({"n": 3})));
    let schema = r#"{"type":"object","properties":{"n":{"type":"number","format":"odd"}},"required":["n"]}"#;
    let text = run(&server, &["-p", "count", "--json-schema", schema]).expect_clean();
    assert_eq!(text.stdout, "{\"n\":3}\n");
    let object = run(&server, &["-p", "count", "--json-schema", schema, "--output-format", "json"]).expect_clean();
    assert_eq!(object.json()["structured_output"], json!({"n": 3}));
}

#[test]
fn no_line_is_longer_than_clients_can_take() {
    // [SDK-33] [SDK-37]
    let long = format!("{}\u{2028}", "line of text\n".repeat(110_000));
    let server = ModelServer::script([ScriptedReply::text(long.clone())]);
    let stream = run(&server, &[&["-p", "hi"], &STREAM[..]].concat()).expect_clean();
    let longest = stream.stdout.lines().map(|line| line.chars().count()).max().unwrap();
    assert!((500_000..=1_000_000).contains(&longest), "{longest}");
    assert!(!stream.stdout.contains('\u{2028}'));
    let server = ModelServer::script([ScriptedReply::text(long.clone())]);
    let text = run(&server, &["-p", "hi"]).expect_clean();
    assert_eq!(text.stdout.trim_end(), long.trim_end(), "text output is whole");
}

#[test]
fn a_slow_reader_gets_the_last_line_whole() {
    // [CLI-53]
    use std::io::Read;
    let answer = "x".repeat(900_000);
    let server = ModelServer::script([ScriptedReply::text(answer.clone())]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let run = sandbox.gimlet(&[&["-p", "hi"], &STREAM[..]].concat());
    let mut child = run.command().spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    server.wait_for_requests(1);
    let (mut text, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    while let Ok(count @ 1..) = stdout.read(&mut chunk) {
        text.extend_from_slice(&chunk[..count]);
        testkit::let_pass(std::time::Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    let lines = stream_lines(&String::from_utf8(text).unwrap());
    assert_eq!(lines.last().unwrap()["result"].as_str().unwrap().len(), answer.len());
}

#[test]
fn a_full_stderr_does_not_stop_the_run() {
    // [SDK-36]
    let server = ModelServer::script([ScriptedReply::text("fine")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut command = sandbox.gimlet(&["-p", "hi", "--debug-to-stderr", "--model", "no-such-model"]).command();
    let (reader, mut writer) = std::io::pipe().unwrap();
    fill(&mut writer);
    let output = command.stderr(writer).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "fine\n");
    drop(reader);
}

/// Writes until the pipe takes no more.
fn fill(writer: &mut std::io::PipeWriter) {
    use std::io::Write;
    let page = [b' '; 4096];
    for _ in 0..16 {
        writer.write_all(&page).unwrap();
    }
}
