//! What a turn leaves on the screen: the lines of calls, their progress and results, and how a conversation looks when it
//! is resumed or opened in the transcript view.

use serde_json::json;
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const TRANSCRIPT: &str = "\x0f";
/// Waits for a file, so that a test decides when a command ends.
const WAIT: &str = "while [ ! -e go ]; do sleep 0.05; done";

fn start(sandbox: &Sandbox, args: &[&str]) -> TestTerminal {
    let terminal = sandbox.gimlet(args).terminal(100, 50);
    terminal.wait_for("? for shortcuts");
    terminal
}

fn leave(mut terminal: TestTerminal) {
    terminal.wait_gone("esc to interrupt");
    terminal.send("\x04");
    terminal.wait_for("again to exit");
    terminal.send("\x04");
    assert_eq!(terminal.finish().0, 0);
}

/// The rows of the record, from the prompt to the last reply.
fn record_of(screen: &str) -> Vec<String> {
    let rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let first = rows.iter().position(|row| row.ends_with("do it all")).unwrap_or_else(|| panic!("{screen}"));
    let last = rows.iter().rposition(|row| row.ends_with("All of it is done.")).unwrap_or_else(|| panic!("{screen}"));
    rows[first..=last].iter().map(|row| (*row).to_owned()).collect()
}

#[test]
fn a_resumed_conversation_looks_as_it_did() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let (one, two) = (sandbox.write("a.txt", "one\n"), sandbox.write("b.txt", "two\n"));
    let new = sandbox.project().join("new.txt");
    let replies = [
        ScriptedReply::message(vec![
            ScriptedBlock::tool("Read", &json!({"file_path": one})),
            ScriptedBlock::tool("Read", &json!({"file_path": two})),
        ]),
        ScriptedReply::tool("Bash", json!({"command": "printf '\\033[32mgreen\\033[0m\\n'; seq 20"})),
        ScriptedReply::tool("Bash", json!({"command": "seq 30; echo 'error: it broke' >&2; exit 3"})),
        ScriptedReply::tool("Write", json!({"file_path": new, "content": "one\ntwo\n"})),
        ScriptedReply::text("- a point\n- another\n\nAll of it is done."),
    ];
    for reply in replies {
        server.push(reply);
    }
    let mut terminal = start(&sandbox, &["--allowedTools", "Bash,Read,Write"]);
    terminal.send("do it all\r");
    terminal.wait_for("All of it is done.");
    let live = record_of(&terminal.wait_gone("esc to interrupt"));
    let shown = live.join("\n");
    for part in [
        "◆ Run     printf",
        "     green",
        "… 18 more lines · ctrl+o",
        "✕ Run     seq 30",
        "· exit 3",
        "error: it broke",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    leave(terminal);
    let mut terminal = sandbox.gimlet(&["-c"]).terminal(100, 50);
    let resumed = record_of(&terminal.wait_for("All of it is done."));
    assert_eq!(live, resumed);
    terminal.wait_for("? for shortcuts");
    terminal.send(TRANSCRIPT);
    let whole = terminal.wait_for("transcript · end");
    assert!(whole.contains(" · Opus 5.5") && whole.contains("     20") && whole.contains("     30"), "{whole}");
    terminal.send("d");
    let changes = terminal.wait_for("file changes");
    assert!(changes.contains("Write   new.txt") && !changes.contains("seq 30"), "{changes}");
    terminal.send("r");
    let raw = terminal.wait_for("\"name\": \"Write\"");
    assert!(raw.contains("one entry as JSON"), "{raw}");
}

#[test]
fn a_running_command_shows_its_last_line_and_says_that_it_was_moved() {
    let server = ModelServer::with_handler(|request| {
        if request.tool_results().is_empty() {
            ScriptedReply::tool("Bash", json!({"command": "sh work.sh"}))
        } else {
            ScriptedReply::text("It goes on.")
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("work.sh", format!("printf '10 %%\\r20 %%'\n{WAIT}\necho done\n"));
    let mut terminal = start(&sandbox, &["--allowedTools", "Bash"]);
    terminal.send("go\r");
    let screen = terminal.wait_for("ctrl+b to background");
    assert!(screen.contains("     20 %") && !screen.contains("10 %\n"), "{screen}");
    terminal.send("\x02");
    terminal.wait_for("· moved to the background");
    terminal.wait_for("It goes on.");
    sandbox.write("go", "");
    terminal.wait_for("completed (exit code 0)");
}

/// A command of the person that is moved is reported in words for people, and the model gets the same.
#[test]
fn a_command_of_the_person_can_be_moved_too() {
    let server = ModelServer::script([ScriptedReply::text("Noted.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send(&format!("!touch begun; {WAIT}\r"));
    testkit::wait_until("the command", || sandbox.project().join("begun").exists());
    terminal.send("\x02");
    terminal.wait_for("Moved to the background as task");
    let screen = terminal.wait_for("Noted.");
    assert!(!screen.contains("you will be told") && !screen.contains(".output"), "{screen}");
    assert!(server.request(0).json["messages"].to_string().contains("Moved to the background as task"));
    sandbox.write("go", "");
}

#[test]
fn a_turn_that_was_cut_off_says_so_when_it_is_resumed() {
    let command = format!("echo begun; {WAIT}");
    let server = ModelServer::script([ScriptedReply::tool("Bash", json!({"command": command}))]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &["--allowedTools", "Bash"]);
    terminal.send("begin\r");
    terminal.wait_for("     begun");
    // Kills it.
    drop(terminal);
    sandbox.write("go", "");
    let terminal = sandbox.gimlet(&["-c"]).terminal(100, 50);
    let screen = terminal.wait_for("The last turn was cut off");
    assert!(screen.contains("✕ Run     echo begun") && screen.contains("· cut off"), "{screen}");
}
