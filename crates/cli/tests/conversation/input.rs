//! What goes in: piped text, stream-json frames, and everything a pipe can do wrong.

use serde_json::{Value, json};
use testkit::{GimletRun, ModelServer, ReplyGate, Sandbox, ScriptedReply};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");
const SDK: [&str; 5] = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

#[expect(clippy::needless_pass_by_value, reason = "reads as json!(..) at the call site")]
fn user(content: Value) -> String {
    format!("{}\n", json!({"type": "user", "message": {"role": "user", "content": content}, "session_id": ""}))
}

fn sdk(sandbox: &Sandbox, stdin: impl Into<Vec<u8>>) -> GimletRun {
    sandbox.gimlet(&SDK).stdin(stdin)
}

fn answering(text: &'static str) -> ModelServer {
    ModelServer::with_handler(move |_| ScriptedReply::text(text))
}

#[test]
fn piped_text_joins_the_prompt() {
    // [CLI-3]
    let server = answering("ok");
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.gimlet(&["-p", "summarise"]).stdin("the text\n").run().expect_clean();
    let sent = server.request(0).last_user_text();
    assert!(sent.contains("summarise") && sent.contains("the text"), "{sent}");
    sandbox.gimlet(&["-p"]).stdin("only piped").run().expect_clean();
    assert!(server.request(1).last_user_text().contains("only piped"));
    sandbox.gimlet::<&str>(&[]).stdin("no flag at all").run().expect_clean();
    assert!(server.request(2).last_user_text().contains("no flag at all"), "a pipe on both sides is headless");
    sandbox.gimlet(&["-p", "--", "--starts with dashes"]).run().expect_clean();
    assert!(server.request(3).last_user_text().contains("--starts with dashes"));
}

#[test]
fn a_silent_inherited_pipe_is_not_waited_for() {
    let server = answering("ok");
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let run = sandbox.gimlet(&["-p", "hi"]).stdin_open().run().expect_code(0);
    assert!(run.stdout == "ok\n" && run.stderr.starts_with("Warning: nothing came through stdin"), "{run:?}");
}

#[test]
fn each_user_line_is_a_turn_with_its_own_init_and_result() {
    // [SDK-3] [SDK-48] [SDK-67] [SDK-184] [CLI-10]
    let server = answering("ok");
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let lines = [user(json!("one")), user(json!([{"type": "text", "text": "two"}]))].concat();
    let run = sdk(&sandbox, lines).run().expect_clean();
    let kinds: Vec<Value> = run.lines().iter().map(|l| l["type"].clone()).collect();
    assert_eq!(kinds, ["system", "assistant", "result", "system", "assistant", "result"]);
    assert_eq!((server.request(0).last_user_text(), server.request(1).last_user_text()), ("one".into(), "two".into()));
    assert_eq!(server.request(1).messages().iter().filter(|m| m["role"] == "assistant").count(), 1);
}

#[test]
fn user_content_is_stored_in_the_form_it_came() {
    // [SDK-57] [SDK-60]
    let server = answering("ok");
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let uuid = "7d0c0a4e-0000-4000-8000-000000000005";
    let mut frame: Value = serde_json::from_str(&user(json!("as text"))).unwrap();
    frame["uuid"] = json!(uuid);
    let lines = format!("{frame}\n{}", user(json!([{"type": "text", "text": "as blocks"}])));
    sdk(&sandbox, lines).run().expect_clean();
    let prompts: Vec<Value> = sandbox.transcript().into_iter().filter(|l| l["type"] == "user").collect();
    assert_eq!((&prompts[0]["message"]["content"], &prompts[0]["uuid"]), (&json!("as text"), &json!(uuid)));
    assert_eq!(prompts[1]["message"]["content"], json!([{"type": "text", "text": "as blocks"}]));
}

#[test]
fn blank_lines_crlf_and_foreign_frames_are_tolerated() {
    // [SDK-65] [SDK-59]
    let server = answering("ok");
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let noise = "\r\n   \n{\"type\":\"keep_alive\"}\r\n{\"subtype\":\"interrupt\"}\n{\"type\":\"novel\",\"uuid\":3}\n";
    let lines = format!("{noise}{}{}", user(json!(" \n ")), user(json!("real")).replace('\n', "\r\n"));
    let run = sdk(&sandbox, lines).run().expect_clean();
    assert_eq!(server.requests().len(), 1);
    assert_eq!(run.result()["is_error"], false);
}

#[test]
fn no_input_is_no_turn_and_no_error() {
    let server = ModelServer::start();
    let run = sdk(&Sandbox::with_server(GIMLET, &server), "").run().expect_clean();
    assert_eq!(run.stdout, "", "nothing is said before the first prompt");
}

#[test]
fn a_broken_line_ends_the_run_without_quoting_it() {
    let server = ModelServer::start();
    let run = sdk(&Sandbox::with_server(GIMLET, &server), "{\"secret\": oops\n").run().expect_code(1);
    assert_eq!((run.stdout.as_str(), run.stderr.lines().count()), ("", 1));
    assert!(run.stderr.contains("15 bytes") && !run.stderr.contains("secret"), "{}", run.stderr);
}

#[test]
fn a_16_megabyte_line_is_accepted() {
    // [SDK-34]
    let server = answering("ok");
    let line = user(json!(format!("count these: {}", "y".repeat(16 << 20))));
    let run = sdk(&Sandbox::with_server(GIMLET, &server), line).run();
    assert_eq!(run.result()["type"], "result");
    assert_eq!(run.stderr, "");
}

#[test]
fn a_prompt_argument_is_the_first_frame() {
    let server = answering("ok");
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let args = [&SDK[..], &["--print", "--session-id", "5f2f1c1e-0000-4000-8000-0000000000aa", "first"]].concat(); // [SDK-4]
    let run = sandbox.gimlet(&args).stdin(user(json!("second"))).run().expect_clean();
    assert_eq!(
        (server.request(0).last_user_text(), server.request(1).last_user_text()),
        ("first".into(), "second".into())
    );
    assert!(run.lines().iter().all(|l| l["session_id"] == "5f2f1c1e-0000-4000-8000-0000000000aa"));
}

#[test]
fn unknown_control_requests_get_the_error_envelope() {
    let server = answering("ok");
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let lines = concat!(
        r#"{"type":"control_request","request_id":"r1","request":{"subtype":"juggle"}}"#,
        "\n",
        r#"{"type":"control_request","request_id":"r2"}"#,
        "\n"
    );
    let run = sdk(&sandbox, lines).run().expect_clean();
    let answers = run.lines();
    let answer = |id| answers.iter().find(|l| l["response"]["request_id"] == id).unwrap()["response"].clone();
    assert_eq!(
        (&answer("r1")["subtype"], &answer("r1")["error_code"]),
        (&json!("error"), &json!("unsupported_request"))
    );
    assert_eq!(answer("r2")["subtype"], "error");
}

#[test]
fn the_process_stays_until_end_of_input_and_leaves_soon_after() {
    // [SDK-185] [SDK-187]
    let gate = ReplyGate::new();
    let server = ModelServer::script([
        ScriptedReply::text("one").gate(&gate),
        ScriptedReply::error(403, "permission_error", "no"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = sandbox.gimlet(&SDK).stdin_open().spawn();
    running.send_user("one");
    server.wait_for_requests(1);
    gate.open_all();
    assert_eq!(running.wait_for("result")["is_error"], false);
    running.send_user("two");
    assert_eq!(running.wait_for("result")["is_error"], true);
    running.close_stdin();
    running.finish().expect_code(1);
}

// [TST-61] Commands have no input: what the host sends is not theirs.
#[test]
fn a_command_does_not_read_what_the_host_sends() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "cat; read x || echo \"nothing [$x]\""})),
        ScriptedReply::text("one"),
        ScriptedReply::text("two"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = sandbox.gimlet(&[&SDK[..], &["--allowedTools", "Bash"]].concat()).stdin_open().spawn();
    running.send_user("first");
    assert_eq!(running.wait_for("result")["result"], "one");
    assert_eq!(server.request(1).tool_results()[0]["content"], "nothing []");
    running.send_user("second");
    assert_eq!(running.wait_for("result")["result"], "two");
    running.close_stdin();
    running.finish().expect_code(0);
}

#[test]
fn replayed_prompts_carry_their_mark() {
    // [CLI-41] [SDK-7]
    let server = answering("ok");
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let args = [&SDK[..], &["--replay-user-messages", ""]].concat();
    let run = sandbox.gimlet(&args).stdin(user(json!("again"))).run().expect_clean();
    let echo = run.lines().into_iter().find(|l| l["type"] == "user").unwrap();
    assert_eq!((&echo["isReplay"], &echo["message"]["content"]), (&json!(true), &json!("again")));
}
