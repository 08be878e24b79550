//! Side questions: they use the conversation as context, have no tools, and are not recorded.
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common::{EXE, host, session_of, stream};
use serde_json::{Value, json};
use testkit::{CapturedRequest, ModelServer, ReplyGate, RunningGimlet, Sandbox, ScriptedReply};

fn say(run: &mut RunningGimlet, text: &str) -> Value {
    run.send_user(text);
    run.wait_for("result")
}

/// The bytes of a request up to its moving cache marker.
fn prefix(request: &CapturedRequest) -> Vec<u8> {
    let marker = br#","cache_control":{"type":"ephemeral"}"#;
    let moving = request.body.windows(marker.len()).rposition(|w| w == marker).unwrap();
    request.body[..moving].to_vec()
}

#[test]
fn a_question_on_the_side_leaves_no_trace() {
    let server = ModelServer::script([
        ScriptedReply::text("one").tokens(100, 10),
        ScriptedReply::text("It is **blue**.").tokens(1_000, 10),
        ScriptedReply::text("two").tokens(100, 10),
        ScriptedReply::text("three"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "Be brief.\n");
    let mut run = host(&sandbox, &[]).spawn();
    let first = say(&mut run, "begin");
    let before = sandbox.transcript();
    let aside = say(&mut run, "/btw which colour was it?");
    assert_eq!((&aside["result"], &aside["local_command"]), (&json!("It is **blue**."), &json!("btw")));
    let messages = |lines: Vec<Value>| lines.into_iter().filter(|l| l["uuid"].is_string()).collect::<Vec<_>>();
    assert_eq!(messages(sandbox.transcript()), messages(before), "nothing is recorded");
    assert!(aside["total_cost_usd"].as_f64() > first["total_cost_usd"].as_f64(), "but it is paid for");
    let refused = say(&mut run, "/btw");
    assert_eq!(refused["is_error"], true);
    say(&mut run, "go on");
    let (asked, next) = (server.request(1), server.request(2));
    // The same bytes as the next request of the conversation, including tools, up to the prompt.
    assert!(asked.body.starts_with(&prefix(&server.request(0))));
    assert!(next.body.starts_with(&prefix(&server.request(0))));
    assert_eq!(asked.json["tools"], next.json["tools"]);
    assert!(asked.last_user_text().contains("which colour was it?") && asked.all_text().contains("begin"));
    assert!(!next.all_text().contains("colour") && !next.all_text().contains("blue"));
    run.close_stdin();
    run.finish();
    // In a run without a conversation.
    let alone = sandbox.gimlet(&["-p", "/btw anything?"]).run().expect_clean();
    assert_eq!(alone.stdout, "three\n");
}

#[test]
fn a_host_may_ask_while_a_turn_runs() {
    let gate = ReplyGate::new();
    let server = ModelServer::script([
        ScriptedReply::tool("Glob", json!({"pattern": "*"})),
        ScriptedReply::text("done").gate(&gate),
        ScriptedReply::text("on the side"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &[]).spawn();
    run.send_user("begin");
    server.wait_for_requests(2);
    let ask = |id: &str, question: &str| json!({"type": "control_request", "request_id": id, "request": {"subtype": "x_side_question", "question": question}});
    run.send_json(&ask("q1", "what are you doing?"));
    let answer = run.wait_for("control_response");
    assert_eq!(answer["response"]["response"], json!({"answer": "on the side"}), "{answer}");
    let asked = server.request(2);
    assert!(asked.body.starts_with(&prefix(&server.request(1))));
    assert_eq!(asked.tool_results().len(), 1);
    run.send_json(&ask("q2", "  "));
    assert_eq!(run.wait_for("control_response")["response"]["subtype"], "error");
    gate.open_all();
    assert_eq!(run.wait_for("result")["result"], "done");
}

#[test]
fn the_terminal_shows_answers_in_a_screen_of_their_own() {
    // [TST-255]
    let gate = ReplyGate::new();
    let server = ModelServer::script([
        ScriptedReply::text("Working on it.").gate(&gate),
        ScriptedReply::text("The first *answer*."),
        ScriptedReply::text("The second answer."),
        ScriptedReply::text("Forked."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal.send("a long task\r");
    server.wait_for_requests(1);
    terminal.send("/btw which colour?\r");
    let screen = terminal.wait_for("The first answer.");
    assert!(screen.contains("On the side") && screen.contains("> which colour?"), "{screen}");
    terminal.send("\x1b");
    terminal.wait_gone("On the side");
    gate.open_all();
    terminal.wait_for("  Working on it.");
    terminal.wait_gone("esc to interrupt");
    terminal.send("/btw and which shape?\r");
    let screen = terminal.wait_for("The second answer.");
    assert!(screen.contains("On the side (2 of 2)") && screen.matches("The second").count() == 1, "{screen}");
    terminal.send("\x1b[D");
    terminal.wait_for("On the side (1 of 2)");
    terminal.send("x");
    let screen = terminal.wait_gone("which colour?");
    assert!(screen.contains("> and which shape?"), "{screen}");
    let paths = sandbox.transcript_paths();
    assert_eq!(paths.len(), 1);
    let text = std::fs::read_to_string(&paths[0]).unwrap();
    assert!(!text.contains("answer") && !text.contains("shape"), "{text}");
    // The question becomes the next prompt of a fork.
    terminal.send("f");
    terminal.wait_for("  Forked.");
    let told = server.request(3).all_text();
    assert!(told.contains("a long task") && told.contains("and which shape?"), "{told}");
    assert_eq!(sandbox.transcript_paths().len(), 2);
    assert_eq!(std::fs::read_to_string(&paths[0]).unwrap(), text, "what was copied stays as it was");
}

#[test]
fn a_session_that_was_resumed_is_asked_as_well() {
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("aside")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let id = session_of(&stream(&sandbox, "begin", &[]));
    let run = sandbox.gimlet(&["-p", "/btw what did I say?", "--resume", &id]).run().expect_clean();
    assert_eq!(run.stdout, "aside\n");
    assert!(server.request(1).body.starts_with(&prefix(&server.request(0))));
}
