//! The interface as a person sees it: the real binary in a pseudo-terminal, keys in, screens out.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

fn start(sandbox: &Sandbox, args: &[&str]) -> TestTerminal {
    let terminal = sandbox.gimlet(args).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal
}

/// Ctrl+C twice on an empty prompt.
fn leave(mut terminal: TestTerminal) -> Vec<u8> {
    terminal.send("\x03");
    terminal.wait_for("again to exit");
    terminal.send("\x03");
    let (code, bytes) = terminal.finish();
    assert_eq!(code, 0, "{}", String::from_utf8_lossy(&bytes));
    bytes
}

/// Asserts that every terminal mode that was switched on was switched off later.
fn assert_restored(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for (on, off) in [
        ("\x1b[?2004h", "\x1b[?2004l"),
        ("\x1b[>1u", "\x1b[<u"),
        ("\x1b[?25l", "\x1b[?25h"),
        ("\x1b[?2026h", "\x1b[?2026l"),
    ] {
        let (last_on, last_off) = (text.rfind(on), text.rfind(off));
        assert!(last_on.is_some() && last_off > last_on, "{on:?} at {last_on:?}, {off:?} at {last_off:?}");
    }
}

#[test]
fn a_question_is_answered_and_the_terminal_left_as_it_was() {
    // [TST-231]
    let server = ModelServer::script([ScriptedReply::text("It is **forty-two**.\n\n- one\n- two")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("what is it?\r");
    let screen = terminal.wait_for("- two");
    assert!(screen.contains("▌ what is it?") && screen.contains("  It is forty-two."), "{screen}");
    terminal.wait_gone("esc to interrupt");
    let bytes = leave(terminal);
    assert_restored(&bytes);
    assert!(String::from_utf8_lossy(&bytes).contains("Continue with: gimlet --resume "));
    assert_eq!(server.request(0).messages()[0]["role"], "user");
}

#[test]
fn a_prompt_argument_is_sent_at_once() {
    let server = ModelServer::script([ScriptedReply::text("Hello there.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let terminal = sandbox.gimlet(&["say hello"]).terminal(80, 24);
    let screen = terminal.wait_for("  Hello there.");
    assert!(screen.contains("▌ say hello"));
}

#[test]
fn a_command_is_asked_for_and_shown_with_its_output() {
    // [TST-240]
    let server = ModelServer::script([
        ScriptedReply::tool(
            "Bash",
            json!({"command": "touch made.txt && echo done-$((40+2))", "description": "Make it"}),
        ),
        ScriptedReply::text("Made."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("make it\r");
    let screen = terminal.wait_for("1. Yes");
    assert!(screen.contains("touch made.txt && echo done-$((40+2))"), "{screen}");
    terminal.answer("1");
    let screen = terminal.wait_for("  Made.");
    assert!(screen.contains("     done-42"), "{screen}");
    assert!(sandbox.project().join("made.txt").exists());
}

#[test]
fn a_question_of_the_model_is_answered() {
    // [TST-241]
    let question = json!({"question": "Which database?", "header": "Database", "multiSelect": false,
                          "options": [{"label": "SQLite", "description": "a file"}, {"label": "Postgres", "description": "a server"}]});
    let server = ModelServer::script([
        ScriptedReply::tool("AskUserQuestion", json!({"questions": [question]})),
        ScriptedReply::text("Postgres it is."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("choose\r");
    let screen = terminal.wait_for("3. Something else");
    assert!(screen.contains("Which database?") && screen.contains("a server"), "{screen}");
    terminal.answer("2");
    terminal.wait_for("  Postgres it is.");
    let told = server.request(1).tool_results()[0]["content"].to_string();
    assert!(told.contains("Postgres"), "{told}");
}

#[test]
fn a_refused_command_does_not_run_and_ends_the_turn() {
    // [TST-240]
    let server = ModelServer::script([ScriptedReply::tool("Bash", json!({"command": "touch made.txt"}))]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("make it\r");
    terminal.wait_for("1. Yes");
    terminal.answer("\x1b");
    terminal.wait_gone("1. Yes");
    terminal.wait_gone("esc to interrupt");
    assert!(!sandbox.project().join("made.txt").exists());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_command_after_an_exclamation_mark_runs_and_is_told() {
    // [TST-238]
    let server = ModelServer::script([ScriptedReply::text("I see it."), ScriptedReply::text("Both.")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("MY_API_KEY", "sk-ant-api03-very-secret-value-0123456789");
    let mut terminal = start(&sandbox, &[]);
    terminal.send("!echo out-$((40+2)); echo $MY_API_KEY\r");
    let screen = terminal.wait_for("  I see it.");
    assert!(screen.contains("▌ ! echo") && screen.contains("     out-42"), "{screen}");
    let told = server.request(0).all_text();
    assert!(told.contains("<bash-stdout>out-42") && told.contains("<bash-input>echo out-$((40+2))"), "{told}");
    assert!(!told.contains("very-secret-value") && !screen.contains("very-secret-value"));
    sandbox.write_config("settings.json", r#"{"respondToBashCommands": false}"#);
    let mut quiet = start(&sandbox, &[]);
    quiet.send("!echo quiet-$((1+1))\r");
    quiet.wait_for("     quiet-2");
    quiet.wait_gone("esc to interrupt");
    assert_eq!(server.requests().len(), 1);
    quiet.send("and now?\r");
    quiet.wait_for("  Both.");
    assert!(server.request(1).all_text().contains("<bash-stdout>quiet-2"));
}

#[test]
fn escape_stops_a_reply_and_keeps_what_there_is() {
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("First part of a long answer.").gate(&gate)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("go\r");
    // The start of the message and of its block, a ping and the text arrive; the end never does.
    gate.open_for(4);
    terminal.wait_for("First");
    terminal.send("\x1b");
    let screen = terminal.wait_for("Interrupted");
    assert!(screen.contains("First"), "{screen}");
    terminal.wait_gone("esc to interrupt");
    gate.open_all();
    leave(terminal);
}

#[test]
fn escape_stops_a_reply_that_never_pauses() {
    let pieces: Vec<String> = (0..20_000).map(|n| format!("word{n} ")).collect();
    let reply = ScriptedReply::message(vec![ScriptedBlock::TextPieces(pieces)]).split_every(200);
    let reply = reply.pause(std::time::Duration::from_millis(5));
    let server = ModelServer::script([reply]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("go\r");
    terminal.wait_for("Writing");
    terminal.send("\x1b");
    terminal.wait_for("Interrupted");
    server.wait_for_aborts(1);
}

#[test]
fn without_credentials_a_key_can_be_entered_unseen() {
    // [TST-173]
    let server = ModelServer::script([ScriptedReply::text("Welcome.")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.unset("ANTHROPIC_API_KEY");
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("1. Enter an API key");
    terminal.send("1");
    terminal.wait_for("API key:");
    terminal.send("sk-typed-key\r");
    let screen = terminal.wait_for("Key saved");
    assert!(!screen.contains("sk-typed-key"), "{screen}");
    terminal.wait_gone("Enter an API key");
    terminal.send("hello\r");
    terminal.wait_for("  Welcome.");
    assert_eq!(server.request(0).header("x-api-key"), Some("sk-typed-key"));
    terminal.wait_gone("esc to interrupt");
    terminal.send("/exit\r");
    terminal.finish();
    let history = std::fs::read_to_string(sandbox.config_dir().join("history.jsonl")).unwrap();
    assert!(history.contains("hello") && !history.contains("sk-typed-key"), "{history}");
}

#[test]
fn a_message_typed_meanwhile_is_sent_next() {
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("One.").gate(&gate), ScriptedReply::text("Two.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("first\r");
    terminal.wait_for("esc to interrupt");
    terminal.send("second\r");
    terminal.wait_for("> second");
    gate.open_all();
    let screen = terminal.wait_for("  Two.");
    let order: Vec<usize> =
        ["▌ first", "  One.", "▌ second", "  Two."].iter().map(|t| screen.find(t).unwrap()).collect();
    assert!(order.is_sorted(), "{screen}");
}

#[test]
fn a_long_paste_is_folded_and_sent_whole() {
    // [TST-235]
    let server = ModelServer::script([ScriptedReply::text("Read.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    let text = (0..5_000).map(|n| format!("line {n}\r")).collect::<Vec<_>>().concat();
    terminal.send(&format!("\x1b[200~{text}\x1b[201~"));
    terminal.wait_for("[Pasted text #1 +5000 lines]");
    terminal.send("\r");
    terminal.wait_for("  Read.");
    let sent = server.request(0).all_text();
    assert!(sent.contains("line 0\nline 1\n") && sent.contains("line 4999"), "not whole");
}

#[test]
fn signals_put_the_terminal_back() {
    // [TST-231]
    for (hangs_up, code) in [(false, 143), (true, 129)] {
        let sandbox = Sandbox::new(EXE);
        let terminal = start(&sandbox, &[]);
        if hangs_up {
            terminal.hang_up();
        } else {
            terminal.terminate();
        }
        let (exit, bytes) = terminal.finish();
        assert_eq!(exit, code);
        assert_restored(&bytes);
    }
}

#[test]
fn any_size_is_survived_and_the_prompt_stays_usable() {
    // [TST-247]
    let server = ModelServer::script([ScriptedReply::text("Still here.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    for (columns, rows) in [(20, 5), (200, 50), (40, 10), (1, 1), (80, 24)] {
        terminal.resize(columns, rows);
    }
    terminal.send("ok\r");
    terminal.wait_for("  Still here.");
}

#[test]
fn modes_cycle_and_the_footer_says_which() {
    // [TST-232]
    let sandbox = Sandbox::new(EXE);
    let mut terminal = start(&sandbox, &[]);
    for text in ["accept edits on", "plan mode on", "? for shortcuts"] {
        terminal.send("\x1b[Z");
        terminal.wait_for(text);
    }
    leave(terminal);
}

#[test]
fn help_history_and_transcript_open_and_close() {
    // [TST-232] [TST-239] [TST-244]
    let server = ModelServer::script([ScriptedReply::text("Answer one.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("?");
    terminal.wait_for("next permission mode");
    terminal.send("\x1b");
    terminal.wait_gone("next permission mode");
    terminal.send("ask something\r");
    terminal.wait_for("  Answer one.");
    terminal.wait_gone("esc to interrupt");
    terminal.send("\x0f");
    terminal.wait_for("transcript · end");
    terminal.send("q");
    terminal.wait_gone("transcript · end");
    terminal.send("\x12");
    terminal.wait_for("search prompts:");
    terminal.send("someth");
    terminal.send("\t");
    let screen = terminal.wait_gone("search prompts:");
    assert!(screen.contains("▌ ask something") && screen.contains("❯ ask something"), "{screen}");
}

/// How often all threads of the process went to sleep.
fn sleeps(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let count = |path: std::path::PathBuf| -> u64 {
        let status = std::fs::read_to_string(path.join("status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    tasks.map(|task| count(task.unwrap().path())).sum()
}

#[test]
fn nothing_wakes_up_while_nothing_happens() {
    // [TST-226]
    let server = ModelServer::script([ScriptedReply::text("Done.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("go\r");
    terminal.wait_for("  Done.");
    terminal.wait_gone("esc to interrupt");
    // First the threads and connections of the turn become idle; then two seconds must pass without a single wake-up.
    let rests = (0..12).any(|_| {
        let before = sleeps(terminal.pid());
        testkit::let_pass(std::time::Duration::from_secs(2));
        sleeps(terminal.pid()) == before
    });
    assert!(rests, "it never came to rest");
}

#[test]
fn a_continued_conversation_is_shown_again() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "echo earlier-$((1+1))"})),
        ScriptedReply::text("First answer."),
        ScriptedReply::text("Second answer."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let asked = sandbox.gimlet(&["-p", "first question", "--allowedTools", "Bash"]);
    asked.env("CLAUDE_CODE_ENTRYPOINT", "cli").run().expect_clean();
    let mut terminal = sandbox.gimlet(&["-c", "second question"]).terminal(80, 24);
    let screen = terminal.wait_for("  Second answer.");
    let parts = [
        "▌ first question",
        "Run     echo",
        "     earlier-2",
        "  First answer.",
        "▌ second question",
        "  Second answer.",
    ];
    let order: Vec<Option<usize>> = parts.iter().map(|part| screen.find(part)).collect();
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{screen}");
    terminal.send("\x04");
    terminal.wait_for("again to exit");
    terminal.send("\x04");
    assert_eq!(terminal.finish().0, 0);
}

#[test]
fn files_complete_and_titles_follow() {
    // [TST-237] [TST-252]
    let sandbox = Sandbox::new(EXE);
    sandbox.write("src/wonderful.rs", "x");
    let mut terminal = start(&sandbox, &[]);
    terminal.send("see @wonder");
    terminal.wait_for("❯ src/wonderful.rs");
    terminal.send("\t");
    terminal.wait_for("❯ see @src/wonderful.rs");
    let bytes = terminal.bytes();
    let title = b"\x1b]2;gimlet \xc2\xb7 project\x07";
    assert_eq!(bytes.windows(title.len()).filter(|window| window == title).count(), 1);
}
