//! Going back in the terminal: the list of prompts, the choice, and what is there afterwards.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

fn bash(command: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({"command": command}))
}

fn text(said: &str) -> ScriptedReply {
    ScriptedReply::text(said)
}

fn start(sandbox: &Sandbox, (columns, rows): (u16, u16)) -> TestTerminal {
    let terminal = sandbox.gimlet(&["--allowedTools", "Bash,Write,Edit,Read"]).terminal(columns, rows);
    terminal.wait_for("$0.00");
    terminal
}

/// A prompt, until its turn has ended with this answer.
fn say(terminal: &mut TestTerminal, prompt: &str, answer: &str) {
    terminal.send(&format!("{prompt}\r"));
    terminal.wait_for(answer);
    terminal.wait_gone("esc to interrupt");
}

/// Opens the list with a key or a command.
fn open(terminal: &mut TestTerminal, keys: &str) -> String {
    terminal.send(keys);
    terminal.wait_for("enter to choose")
}

/// Two prompts: the first makes a file, the second changes it and removes a folder outside of git.
fn two_prompts() -> (ModelServer, Sandbox) {
    let server = ModelServer::script([
        bash("echo one > a.txt"),
        text("Made it."),
        bash("echo two > a.txt && rm -rf folder"),
        text("Changed it."),
        text("On another way."),
        text("Taken up again."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("folder/deep/f.txt", "precious\n");
    (server, sandbox)
}

/// [LNG-7] [LNG-9] [TST-190] Esc Esc opens the list; files and conversation go back, the prompt returns, the next one is a
/// branch; the branch that was left is in the list, and going on there brings the later files back.
#[test]
fn files_and_conversation_go_back_and_forward() {
    let (server, sandbox) = two_prompts();
    let mut terminal = start(&sandbox, (90, 30));
    say(&mut terminal, "make a file", "Made it.");
    say(&mut terminal, "change the file", "Changed it.");
    assert!(!sandbox.project().join("folder").exists());
    terminal.send("\x1b");
    terminal.wait_for("Press esc again to go back to an earlier prompt");
    let screen = open(&mut terminal, "\x1b");
    assert!(screen.contains("❯ change the file") && screen.contains("! ") && screen.contains("2 prompts"), "{screen}");
    terminal.send("\r");
    let screen = terminal.wait_for("6. Never mind");
    assert!(screen.contains("Back to before: change the file") && screen.contains("a.txt"), "{screen}");
    terminal.send("1");
    let screen = terminal.wait_for("❯ change the file");
    assert!(screen.contains("Back to before: change the file") && screen.contains("gimlet undo --to"), "{screen}");
    assert_eq!((sandbox.read("a.txt"), sandbox.read("folder/deep/f.txt")), ("one\n".into(), "precious\n".into()));
    terminal.send("\x15");
    terminal.wait_gone("❯ change the file");
    say(&mut terminal, "do something else", "On another way.");
    let sent = server.last_request().all_text();
    assert!(sent.contains("make a file") && !sent.contains("change the file"), "{sent}");

    let screen = open(&mut terminal, "/rewind\r");
    assert!(screen.contains("⑂ change the file") && screen.contains("other branch"), "{screen}");
    terminal.send("\x1b[B\r");
    terminal.wait_for("Other branch: change the file");
    terminal.send("\r");
    terminal.wait_for("On with the branch: change the file");
    terminal.wait_for("1. Code and conversation");
    terminal.send("1");
    terminal.wait_gone("1. Code and conversation");
    terminal.wait_for("gimlet undo --to");
    testkit::wait_until("the later files", || sandbox.read("a.txt") == "two\n");
    assert!(!sandbox.project().join("folder").exists());
    say(&mut terminal, "go on", "Taken up again.");
    let sent = server.last_request().all_text();
    assert!(sent.contains("change the file") && !sent.contains("do something else"), "{sent}");
    // No line was lost.
    let all = sandbox.transcript().iter().map(Value::to_string).collect::<String>();
    for prompt in ["make a file", "change the file", "do something else", "go on"] {
        assert!(all.contains(prompt), "{prompt}");
    }
}

/// [LNG-6] [LNG-16] The difference is there before the choice; a file that was changed by hand stays unless the person chooses to overwrite
/// it; only the files go back.
#[test]
fn work_of_others_stays_or_is_overwritten() {
    let server = ModelServer::script([bash("echo two > a.txt; echo two > b.txt; echo two > c.txt"), text("Done.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    for name in ["a.txt", "b.txt", "c.txt"] {
        sandbox.write(name, "one\n");
    }
    let mut terminal = start(&sandbox, (90, 30));
    say(&mut terminal, "change all", "Done.");
    sandbox.write("b.txt", "by hand\n");
    sandbox.write("c.txt", "by hand\n");
    open(&mut terminal, "/undo\r");
    terminal.wait_for("❯ change all");
    terminal.send("\r");
    let screen = terminal.wait_for("Changed by somebody else since: b.txt, c.txt");
    assert!(screen.contains("1 file would change: +1 −1"), "{screen}");
    terminal.send("d");
    let screen = terminal.wait_for("overwriting these would change");
    assert!(screen.contains("- two") && screen.contains("+ one") && screen.contains("- by hand"), "{screen}");
    terminal.send("\x1b");
    terminal.wait_for("3. Code");
    terminal.send("3");
    terminal.wait_for("2 files stay as they are");
    terminal.send("\x1b[B\r");
    terminal.wait_for("1 stay, 1 overwritten");
    terminal.send("1");
    let screen = terminal.wait_for("Kept, because somebody else changed it since: c.txt");
    assert!(screen.contains("files only") && screen.contains("2 files restored"), "{screen}");
    assert_eq!([sandbox.read("a.txt"), sandbox.read("b.txt"), sandbox.read("c.txt")], ["one\n", "one\n", "by hand\n"]);
}

/// [LNG-9] After `/clear` a row of the list leads back to the conversation before.
#[test]
fn the_conversation_before_clear_is_in_the_list() {
    let server = ModelServer::script([text("First answer."), text("Second answer."), text("Third answer.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (90, 30));
    say(&mut terminal, "first words", "First answer.");
    terminal.send("/clear\r");
    terminal.wait_for("New session.");
    terminal.wait_gone("esc to interrupt");
    say(&mut terminal, "second words", "Second answer.");
    let screen = open(&mut terminal, "/rewind\r");
    assert!(screen.contains("(previous session)") && screen.contains("❯ second words"), "{screen}");
    terminal.send("\x1b[A\r");
    terminal.wait_for("Session in");
    terminal.wait_for("First answer.");
    say(&mut terminal, "third words", "Third answer.");
    let sent = server.last_request().all_text();
    assert!(sent.contains("first words") && !sent.contains("second words"), "{sent}");
}

/// [LNG-9] The list of a conversation without a prompt says so; in 40 columns, without colours and for a screen reader all of it can
/// be used.
#[test]
fn the_list_works_everywhere() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (80, 24));
    terminal.send("/checkpoint\r");
    terminal.wait_for("Nothing to go back to yet");
    terminal.send("\x1b");
    terminal.wait_gone("Nothing to go back to yet");

    for is_read_out in [false, true] {
        let (_server, mut sandbox) = two_prompts();
        sandbox.set("NO_COLOR", "1");
        if is_read_out {
            sandbox.set("CLAUDE_AX_SCREEN_READER", "1");
            sandbox.set("CLAUDE_AX_STARTUP_QUIET_MS", "0");
        }
        let args = ["--allowedTools", "Bash"];
        let mut terminal = sandbox.gimlet(&args).terminal(40, 24);
        terminal.wait_for(if is_read_out { "? for shortcuts" } else { "$0.00" });
        terminal.send("make a file\r");
        terminal.wait_for("Made it.");
        testkit::wait_until("the end of the turn", || !terminal.screen().contains("esc to interrupt"));
        terminal.send("/rewind\r");
        terminal.wait_for("make a file");
        terminal.wait_for("1 file");
        terminal.send("\r");
        terminal.wait_for("Never mind");
        terminal.send("1");
        terminal.wait_for("Back to before: make a file");
        testkit::wait_until("the file is gone", || !sandbox.project().join("a.txt").exists());
    }
}
