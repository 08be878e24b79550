//! Messages sent while a turn runs, and stopping a turn: the real binary in a pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
/// Runs until the test writes the file `go`.
const WAITS_FOR_GO: &str = "until test -e go; do sleep 0.02; done; echo went";
const ESCAPE: &str = "\x1b";
const UP: &str = "\x1b[A";

fn start(sandbox: &Sandbox, args: &[&str]) -> TestTerminal {
    let terminal = sandbox.gimlet(args).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal
}

/// Waits until the turn is over or was stopped.
fn wait_idle(terminal: &TestTerminal) {
    terminal.wait_until("rest", |screen| !screen.contains("esc to interrupt") && !screen.contains("Stopping…"));
}

fn leave(mut terminal: TestTerminal) {
    terminal.send("\x03");
    terminal.wait_for("again to exit");
    terminal.send("\x03");
    assert_eq!(terminal.finish().0, 0);
}

/// The queue operations in the transcript.
fn operations(sandbox: &Sandbox) -> Vec<(String, String)> {
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let lines = sandbox.transcript();
    let operations = lines.iter().filter(|line| line["type"] == "queue-operation");
    operations
        .map(|line| {
            assert!(line["timestamp"].is_string() && line["sessionId"].is_string(), "{line}");
            (text(line, "operation"), text(line, "content"))
        })
        .collect()
}

fn pair(operation: &str, content: &str) -> (String, String) {
    (operation.to_owned(), content.to_owned())
}

#[test]
fn a_message_sent_meanwhile_joins_the_turn_after_its_calls() {
    // [TST-199] [TST-160] [TST-166]
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": WAITS_FOR_GO})),
        ScriptedReply::text("Both done."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &["--allowedTools", "Bash"]);
    terminal.send("the first\r");
    terminal.wait_for("Running a command");
    terminal.send("and the second\r");
    terminal.wait_for("to take back");
    sandbox.write("go", "");
    let screen = terminal.wait_for("  Both done.");
    let order = ["▌ the first", "     went", "▌ and the second", "  Both done."].map(|part| screen.find(part));
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{screen}");
    wait_idle(&terminal);
    assert!(!terminal.screen().contains("to take back"));
    leave(terminal);
    assert_eq!(server.requests().len(), 2, "one turn, two requests");
    let messages = server.request(1).messages().to_vec();
    let last = messages.last().unwrap().to_string();
    assert!(last.contains("and the second"), "{last}");
    let lines = sandbox.transcript();
    let joined = lines.iter().find(|line| line["attachment"]["type"] == "queued_command").unwrap();
    assert_eq!(joined["attachment"]["prompt"], "and the second");
    assert_eq!(joined["attachment"]["commandMode"], "prompt");
    let told = operations(&sandbox);
    assert_eq!(told[2..], [pair("enqueue", "and the second"), pair("remove", "and the second")]);
    // After resuming, the conversation is the same.
    server.push(ScriptedReply::text("Still both."));
    sandbox.gimlet(&["-c", "-p", "third"]).run().expect_clean();
    assert_eq!(server.request(2).messages()[..messages.len() - 1], messages[..messages.len() - 1]);
    assert!(server.request(2).all_text().contains("and the second"));
}

#[test]
fn what_waits_can_be_taken_back_and_changed() {
    // [TST-199] [TST-160]
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("One.").gate(&gate), ScriptedReply::text("Two.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("first\r");
    terminal.wait_for("esc to interrupt");
    terminal.send("second\r");
    terminal.wait_for("to take back");
    terminal.send("third\r");
    terminal.wait_for("> third");
    terminal.send("draft");
    terminal.wait_for("❯ draft");
    terminal.send("\x01");
    terminal.send(UP);
    let screen = terminal.wait_gone("to take back");
    assert!(screen.contains("❯ second\n  third\n  draft"), "{screen}");
    gate.open_all();
    terminal.wait_for("  One.");
    wait_idle(&terminal);
    assert_eq!(server.requests().len(), 1);
    terminal.send("\r");
    terminal.wait_for("  Two.");
    assert!(server.request(1).all_text().contains("second\nthird\ndraft"));
    wait_idle(&terminal);
    leave(terminal);
    assert!(operations(&sandbox).contains(&pair("popAll", "second\nthird")), "{:?}", operations(&sandbox));
}

#[test]
fn escape_sends_what_waits_at_once() {
    // [TST-199] [TST-201]
    let server = ModelServer::script([ScriptedReply::hang(), ScriptedReply::text("Now this.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("first\r");
    server.wait_for_requests(1);
    terminal.send("better this\r");
    terminal.wait_for("to take back");
    terminal.send(ESCAPE);
    let screen = terminal.wait_for("  Now this.");
    assert!(screen.contains("▌ better this"), "{screen}");
    wait_idle(&terminal);
    leave(terminal);
    let told = operations(&sandbox);
    assert_eq!(told[2..], [pair("enqueue", "better this"), pair("dequeue", "")]);
}

#[test]
fn commands_wait_for_the_end_of_the_turn() {
    // [TST-199]
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("One.").gate(&gate)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", r#"{"respondToBashCommands": false}"#);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("first\r");
    terminal.wait_for("esc to interrupt");
    terminal.send("!echo own-$((40+2))\r");
    terminal.wait_for("> !echo");
    assert!(!terminal.screen().contains("own-42"));
    gate.open_all();
    let screen = terminal.wait_for("own-42");
    assert!(screen.find("  One.") < screen.find("     own-42"), "{screen}");
    wait_idle(&terminal);
    leave(terminal);
}

#[test]
fn escape_stops_a_command_that_runs() {
    // [TST-201]
    let server = ModelServer::script([ScriptedReply::tool("Bash", json!({"command": "echo $$ > pid; sleep 600"}))]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &["--allowedTools", "Bash"]);
    terminal.send("run it\r");
    terminal.wait_for("Running a command");
    terminal.send(ESCAPE);
    terminal.wait_for("· interrupted");
    wait_idle(&terminal);
    leave(terminal);
    let lines = sandbox.transcript();
    let results = lines.iter().filter(|line| line.to_string().contains("\"tool_result\"")).count();
    assert_eq!(results, 1, "every call is answered");
    assert!(lines.iter().any(|line| line.to_string().contains("[Request interrupted by user for tool use]")));
}

#[test]
fn escape_stops_compaction() {
    // [TST-201]
    let server = ModelServer::script([ScriptedReply::text("An answer."), ScriptedReply::hang()]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("a question\r");
    terminal.wait_for("  An answer.");
    wait_idle(&terminal);
    terminal.send("/compact\r");
    server.wait_for_requests(2);
    terminal.send(ESCAPE);
    terminal.wait_for("interrupted");
    wait_idle(&terminal);
    server.wait_for_aborts(1);
    leave(terminal);
    assert!(!sandbox.transcript().iter().any(|line| line["subtype"] == "compact_boundary"));
}

#[test]
fn escape_right_after_enter_is_not_lost_and_gives_the_prompt_back() {
    // [TST-201]
    let server = ModelServer::script([ScriptedReply::hang(), ScriptedReply::hang()]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("a hasty prompt\r");
    terminal.send(ESCAPE);
    terminal.wait_until("the prompt comes back", |screen| {
        // Once when it came back before the session was ready for it, else twice.
        !screen.contains("esc to interrupt")
            && !screen.contains("Stopping…")
            && !screen.contains("to take back")
            && screen.contains("❯ a hasty prompt")
    });
    terminal.send(" thought over\r");
    terminal.wait_for("▌ a hasty prompt thought over");
    terminal.wait_for("esc to interrupt");
    terminal.send(ESCAPE);
    wait_idle(&terminal);
}

/// All texts of the user and for the user in a request.
fn told(server: &ModelServer, request: usize) -> String {
    server.request(request).messages().iter().map(Value::to_string).collect()
}

#[test]
fn a_prompt_that_came_back_is_forgotten_live_and_when_resumed() {
    // [TST-201]
    let server =
        ModelServer::script([ScriptedReply::text("First."), ScriptedReply::hang(), ScriptedReply::text("Second.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("one\r");
    terminal.wait_for("  First.");
    wait_idle(&terminal);
    terminal.send("a rash wish\r");
    server.wait_for_requests(2);
    terminal.send(ESCAPE);
    terminal.wait_until("the prompt comes back", |screen| {
        screen.contains("❯ a rash wish") && screen.contains("▌ a rash wish")
    });
    wait_idle(&terminal);
    terminal.send("\x15something better\r");
    terminal.wait_for("  Second.");
    wait_idle(&terminal);
    leave(terminal);
    let live = told(&server, 2);
    assert!(live.contains("something better") && live.contains("First."), "{live}");
    assert!(!live.contains("a rash wish") && !live.contains("Request interrupted"), "{live}");
    // The transcript records what happened.
    let lines: String = sandbox.transcript().iter().map(Value::to_string).collect();
    assert!(lines.contains("a rash wish") && lines.contains("[Request interrupted by user]"), "{lines}");
    for args in [["-c", "-p", "three"].as_slice(), &["-c", "--fork-session", "-p", "four"]] {
        server.push(ScriptedReply::text("Third."));
        sandbox.gimlet(args).run().expect_clean();
        let resumed = told(&server, server.requests().len() - 1);
        assert!(resumed.contains("something better") && resumed.contains("Second."), "{resumed}");
        assert!(!resumed.contains("a rash wish") && !resumed.contains("Request interrupted"), "{resumed}");
    }
    let (before, after) = (server.request(2).messages().to_vec(), server.request(3).messages().to_vec());
    assert_eq!(before[..before.len() - 1], after[..before.len() - 1], "the same prefix");
}

#[test]
fn a_conversation_left_after_an_interrupt_does_not_know_the_prompt_either() {
    // [TST-201]
    let server = ModelServer::script([ScriptedReply::hang()]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("a rash wish\r");
    server.wait_for_requests(1);
    terminal.send(ESCAPE);
    terminal.wait_until("the prompt comes back", |screen| {
        screen.contains("❯ a rash wish") && screen.contains("▌ a rash wish")
    });
    terminal.send("\x03");
    terminal.wait_gone("\n❯ a rash wish\n─");
    leave(terminal);
    let id = sandbox.transcript()[0]["sessionId"].as_str().unwrap().to_owned();
    server.push(ScriptedReply::text("Fresh."));
    sandbox.gimlet(&["-r", &id, "-p", "calmly"]).run().expect_clean();
    let resumed = told(&server, 1);
    assert!(resumed.contains("calmly") && !resumed.contains("a rash wish"), "{resumed}");
    assert!(!resumed.contains("Request interrupted"), "{resumed}");
}

/// [LNG-17] What was typed while a turn ran is carried through compactions, as prompts are.
#[test]
fn words_typed_meanwhile_survive_compactions() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": WAITS_FOR_GO})),
        ScriptedReply::text("Both done."),
        ScriptedReply::text("SUMMARY"),
        ScriptedReply::text("More."),
        ScriptedReply::text("SUMMARY"),
        ScriptedReply::text("The end."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = sandbox.gimlet(&["--allowedTools", "Bash"]).terminal(100, 60);
    terminal.wait_for("? for shortcuts");
    terminal.send("the first\r");
    terminal.wait_for("Running a command");
    terminal.send("and in tabs please\r");
    terminal.wait_for("to take back");
    sandbox.write("go", "");
    terminal.wait_for("  Both done.");
    wait_idle(&terminal);
    let mut send = |typed: &str, seen: &str, count: usize| {
        terminal.send(typed);
        terminal.wait_for(typed);
        terminal.send("\r");
        terminal.wait_until(seen, |screen| screen.matches(seen).count() == count);
        wait_idle(&terminal);
    };
    send("/compact", "continues from the summary", 1);
    send("go on", "  More.", 1);
    let text = server.request(3).all_text();
    assert!(text.contains("word for word:\n\nthe first\n\nThen, while you worked:\n\nand in tabs please"), "{text}");
    send("/compact", "continues from the summary", 2);
    send("finish", "  The end.", 1);
    leave(terminal);
    let text = server.request(5).all_text();
    assert!(text.contains("[1] the first\n\n[2, while you worked] and in tabs please"), "{text}");
}
