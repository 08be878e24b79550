//! The prompt in a pseudo-terminal: files and commands by a few letters, earlier prompts, commands that nobody knows, and
//! the history file.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::Value;
use testkit::{ModelServer, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const TAB: &str = "\t";
const ENTER: &str = "\r";
const CTRL_R: &str = "\x12";
const CTRL_U: &str = "\x15";

fn start(sandbox: &Sandbox) -> TestTerminal {
    let terminal = sandbox.gimlet::<&str>(&[]).terminal(90, 30);
    terminal.wait_until("a prompt", |screen| screen.contains("? for shortcuts") || screen.contains("ask before edits"));
    terminal
}

fn wait_idle(terminal: &TestTerminal) {
    terminal.wait_gone("esc to interrupt");
}

/// [TST-237] Three letters, one key to take the file, one to send; a path outside the project is completed too.
#[test]
fn a_file_is_attached_by_three_letters_and_two_keys() {
    let server = ModelServer::script([ScriptedReply::text("Seen.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    std::fs::create_dir_all(sandbox.project().join("src")).unwrap();
    std::fs::write(sandbox.project().join("src/cart.rs"), "fn total() {}\n").unwrap();
    std::fs::write(sandbox.home().join("notes-of-home.txt"), "").unwrap();
    let mut terminal = start(&sandbox);
    terminal.send("read @car");
    terminal.wait_for("❯ src/cart.rs");
    terminal.send(ENTER);
    terminal.wait_for("read @src/cart.rs");
    assert!(server.requests().is_empty(), "Enter took the file");
    terminal.send(ENTER);
    terminal.wait_for("Seen.");
    let sent = server.request(0).json["messages"].to_string();
    assert!(sent.contains("fn total() {}"), "{sent}");
    wait_idle(&terminal);
    terminal.send("and @~/notes-of");
    terminal.wait_for("❯ ~/notes-of-home.txt");
    terminal.send(TAB);
    terminal.wait_for("and @~/notes-of-home.txt");
}

/// A word that is complete is sent at once, and a name that stands in no list is not taken for another one.
#[test]
fn whole_words_are_sent_as_they_are() {
    let server = ModelServer::script([ScriptedReply::text("Seen.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    std::fs::write(sandbox.project().join("cart.rs"), "").unwrap();
    sandbox.write(".claude/commands/background-check.md", "check");
    let mut terminal = start(&sandbox);
    terminal.send("/background");
    terminal.wait_for("/background-check");
    terminal.send(ENTER);
    terminal.wait_for("/background: A session cannot keep running");
    wait_idle(&terminal);
    terminal.send("read @cart.rs");
    terminal.wait_for("❯ cart.rs");
    terminal.send(ENTER);
    terminal.wait_for("Seen.");
}

/// [F-B4] Several words after an unknown name: one key sends them as text. The history has the id of the session.
#[test]
fn an_unknown_command_of_several_words_is_sent_as_text_with_one_key() {
    let server = ModelServer::script([ScriptedReply::text("As text.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox);
    terminal.send("/verfy that it works\r");
    terminal.wait_for("Unknown command: /verfy. Did you mean /verify?");
    terminal.wait_for("press enter to send it to the model as text");
    assert!(server.requests().is_empty());
    terminal.send(ENTER);
    terminal.wait_for("As text.");
    assert!(server.request(0).all_text().contains("/verfy that it works"));
    wait_idle(&terminal);
    terminal.send("/exit\r");
    terminal.finish();
    let history = std::fs::read_to_string(sandbox.config_dir().join("history.jsonl")).unwrap();
    let ids: Vec<Value> =
        history.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["sessionId"].clone()).collect();
    assert!(!ids.is_empty() && ids.iter().all(|id| id.as_str().is_some_and(|id| id.len() == 36)), "{history}");
}

/// [TST-239] The list of earlier prompts: Enter takes one, a second Enter sends it.
#[test]
fn earlier_prompts_are_listed_taken_and_sent() {
    let server = ModelServer::script(["One.", "Two.", "Three."].map(ScriptedReply::text));
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox);
    for (prompt, answer) in [("first of all\r", "One."), ("then the second\r", "Two.")] {
        terminal.send(prompt);
        terminal.wait_for(answer);
        wait_idle(&terminal);
    }
    terminal.send(CTRL_R);
    terminal.wait_for("❯ then the second");
    terminal.wait_for("this project · 2 found");
    terminal.send("first");
    terminal.wait_for("this project · 1 found");
    terminal.send(ENTER);
    terminal.wait_gone("search prompts:");
    assert_eq!(server.requests().len(), 2, "Enter took it");
    terminal.send(ENTER);
    terminal.wait_for("Three.");
    assert!(server.request(2).all_text().contains("first of all"));
}

/// `/clear` leaves an empty screen; what was on it is in the scrollback.
#[test]
fn clear_empties_the_screen() {
    let server = ModelServer::script([ScriptedReply::text("An answer to forget.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox);
    terminal.send("ask\r");
    terminal.wait_for("An answer to forget.");
    wait_idle(&terminal);
    terminal.send("/clear\r");
    terminal.wait_for("New session.");
    let screen = terminal.wait_gone("An answer to forget.");
    assert!(screen.trim_start().starts_with("New session."), "{screen}");
}

/// Arguments: the hint of the command, then what can stand there.
#[test]
fn arguments_are_hinted_and_completed() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    std::fs::create_dir_all(sandbox.project().join("packages/app")).unwrap();
    let mut terminal = start(&sandbox);
    terminal.send("/theme ");
    terminal.wait_for("/theme [name] · Choose the colours");
    terminal.wait_for("❯ auto");
    terminal.send("dalt");
    terminal.wait_for("❯ light-daltonized");
    terminal.send(CTRL_U);
    terminal.wait_gone("daltonized");
    terminal.send("/add-dir pack");
    terminal.wait_for("❯ packages/");
    terminal.send(TAB);
    terminal.wait_for("❯ packages/app/");
    assert!(server.requests().is_empty());
}

/// [CLI-213] Commands that show something ask the model nothing, those that are prompts expand, and an answer about a
/// command that is not there names what was typed.
#[test]
fn commands_answer_expand_or_say_what_to_do_instead() {
    let server = ModelServer::script([ScriptedReply::text("Simpler.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let said = |prompt: &str| sandbox.gimlet(&["-p", prompt]).run().expect_code(0).stdout;
    for (prompt, answer) in [
        ("/sandbox", "The sandbox is off"),
        ("/release-notes", "Unreleased"),
        ("/bg", "/bg: A session cannot keep running"),
        ("/proactive 5m", "/proactive: There is no timer"),
        ("/goal", "docs/hooks.md"),
        ("/branch", "/branch needs the terminal interface"),
    ] {
        let said = said(prompt);
        assert!(said.contains(answer), "{prompt}: {said}");
    }
    assert!(server.requests().is_empty());
    assert!(said("/simplify src/cart.rs").contains("Simpler."));
    let sent = server.request(0).all_text();
    assert!(sent.contains("What to look at: src/cart.rs") && !sent.contains("$ARGUMENTS"), "{sent}");
}

/// `/export` asks where, and the one key that is needed writes it.
#[test]
fn export_asks_where() {
    let server = ModelServer::script([ScriptedReply::text("Worth keeping.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox);
    terminal.send("ask\r");
    terminal.wait_for("Worth keeping.");
    wait_idle(&terminal);
    terminal.send("/export\r");
    terminal.wait_for("conversation.md");
    terminal.answer(ENTER);
    terminal.wait_for("Exported to");
    assert!(sandbox.read("conversation.md").contains("Worth keeping."));
}

/// `/branch` goes on in a copy: the conversation it was made from gets nothing more.
#[test]
fn a_branch_leaves_its_conversation_as_it_is() {
    let server = ModelServer::script(["In the first.", "In the copy."].map(ScriptedReply::text));
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox);
    terminal.send("begin\r");
    terminal.wait_for("In the first.");
    wait_idle(&terminal);
    terminal.send("/branch\r");
    terminal.wait_for("This is a copy now");
    terminal.wait_for("Session in ");
    terminal.send("go on\r");
    terminal.wait_for("In the copy.");
    wait_idle(&terminal);
    let texts: Vec<String> =
        sandbox.transcript_paths().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert_eq!(texts.len(), 2);
    assert_eq!(texts.iter().filter(|text| text.contains("In the first.")).count(), 2, "the copy has what was said");
    assert_eq!(texts.iter().filter(|text| text.contains("In the copy.")).count(), 1);
}
