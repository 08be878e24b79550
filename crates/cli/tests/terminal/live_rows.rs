//! What is on the screen while something runs and what a turn leaves there: the real binary in a pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use super::common::git;
use serde_json::json;
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
/// A command that ends when the file is there.
const WAIT: &str = "until test -e go; do sleep 0.02; done";

fn start(sandbox: &Sandbox, args: &[&str]) -> TestTerminal {
    let terminal = sandbox.gimlet(args).terminal(80, 30);
    terminal.wait_for("? for shortcuts");
    terminal
}

fn leave(mut terminal: TestTerminal) {
    terminal.wait_gone("esc to interrupt");
    terminal.send("\x04\x04");
    terminal.finish();
}

#[test]
fn a_command_of_the_person_shows_its_last_lines_while_it_runs() {
    let server = ModelServer::script([ScriptedReply::text("Seen.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send(&format!("!seq 9; printf '10 %%\\r20 %%'; {WAIT}; echo; echo end-$((40+2))\r"));
    let screen = terminal.wait_for("     20 %");
    assert!(screen.contains("     9\n     20 %") && !screen.contains("     6\n"), "{screen}");
    assert!(screen.contains("Running your command…"), "{screen}");
    terminal.wait_for("     ctrl+b to background");
    sandbox.write("go", "");
    let screen = terminal.wait_for("     end-42");
    assert!(screen.contains("     1\n     2\n"), "the whole output is printed: {screen}");
    let screen = terminal.wait_for("  Seen.");
    assert!(!screen.contains("to background"), "{screen}");
    leave(terminal);
}

#[test]
fn a_call_runs_only_when_it_does_and_is_named_as_its_line_names_it() {
    // [TST-112]
    let commands = [format!("{WAIT}; touch made"), "touch second".to_owned()];
    let blocks = commands.map(|command| ScriptedBlock::tool("Bash", &json!({"command": command})));
    let server = ModelServer::script([ScriptedReply::message(blocks.to_vec()), ScriptedReply::text("Both done.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("go\r");
    let screen = terminal.wait_for("Do you want to run this command?");
    assert!(screen.contains("◇ Run     until") && screen.contains("· Run     touch second"), "{screen}");
    assert!(!screen.contains("Running"), "{screen}");
    terminal.answer("1");
    let screen = terminal.wait_for("Running a command…");
    assert!(screen.contains("◌ Run     until") || screen.contains("○ Run     until"), "{screen}");
    assert!(screen.contains("· Run     touch second"), "{screen}");
    // It breathes.
    terminal.wait_for("◌ Run     until");
    terminal.wait_for("○ Run     until");
    sandbox.write("go", "");
    terminal.wait_for("Do you want to run this command?");
    terminal.answer("1");
    terminal.wait_for("  Both done.");
    leave(terminal);
}

#[test]
fn nothing_breathes_where_motion_is_not_wanted() {
    let server =
        ModelServer::script([ScriptedReply::tool("Bash", json!({"command": WAIT})), ScriptedReply::text("Done.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", r#"{"prefersReducedMotion": true}"#);
    let mut terminal = start(&sandbox, &["--allowedTools", "Bash"]);
    terminal.send("go\r");
    // Two seconds have passed since it began.
    terminal.wait_for("ctrl+b to background");
    let bytes = String::from_utf8(terminal.bytes()).unwrap();
    assert!(bytes.contains('◌') && !bytes.contains('○'));
    sandbox.write("go", "");
    terminal.wait_for("  Done.");
    leave(terminal);
}

#[test]
fn a_command_of_many_lines_is_one_line_with_the_rest_in_the_question_and_in_the_transcript() {
    let command = format!("cat > made.txt <<'EOF'\n{}EOF", "a line of it\n".repeat(14));
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": command})),
        ScriptedReply::text("Written."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("go\r");
    let screen = terminal.wait_for("1. Yes");
    assert!(screen.contains("◇ Run     cat > made.txt <<'EOF' … +15 lines"), "{screen}");
    assert!(screen.contains("    a line of it"), "the question shows it: {screen}");
    terminal.answer("1");
    terminal.wait_for("  Written.");
    let screen = terminal.wait_gone("esc to interrupt");
    assert!(screen.contains("◆ Run     cat > made.txt <<'EOF' … +15 lines"), "{screen}");
    terminal.send("\x0f");
    let screen = terminal.wait_for("            a line of it");
    assert!(!screen.contains("+15 lines"), "{screen}");
    terminal.send("q");
    terminal.wait_for("? for shortcuts");
    leave(terminal);
}

#[test]
fn a_turn_that_the_end_of_a_background_command_opens_has_its_line_too() {
    let gate = ReplyGate::new();
    let background = json!({"command": WAIT, "run_in_background": true});
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", background),
        ScriptedReply::text("It runs."),
        ScriptedReply::message(vec![ScriptedBlock::TextPieces(vec!["It has ".into(), "ended.".into()])]).gate(&gate),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &["--allowedTools", "Bash"]);
    terminal.send("go\r");
    terminal.wait_for("  It runs.");
    terminal.wait_until("the end of the turn", |screen| screen.matches('✻').count() == 1);
    sandbox.write("go", "");
    gate.open_for(1);
    terminal.wait_for("esc to interrupt");
    gate.open_all();
    terminal.wait_for("  It has ended.");
    terminal.wait_until("the line of the second turn", |screen| screen.matches('✻').count() == 2);
    leave(terminal);
}

#[test]
fn a_refused_plan_stays_in_the_stream() {
    // [TST-241]
    let server = ModelServer::script([
        ScriptedReply::tool("ExitPlanMode", json!({"plan": "# Rounding\n\n1. round at the end"})),
        ScriptedReply::text("Another one, then."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = sandbox.gimlet(&["--permission-mode", "plan"]).terminal(80, 30);
    terminal.wait_for("plan mode on");
    terminal.send("plan it\r");
    terminal.wait_for("3. No, keep planning");
    terminal.answer("3");
    terminal.wait_for("what to change:");
    terminal.send("shorter\r");
    let screen = terminal.wait_for("  Another one, then.");
    assert!(screen.contains("✕ Plan") && screen.contains("     1. round at the end"), "{screen}");
    leave(terminal);
    let screen = sandbox.gimlet(&["-c"]).terminal(80, 30).wait_for("  Another one, then.");
    assert!(screen.contains("     1. round at the end"), "{screen}");
}

#[test]
fn a_conversation_that_goes_on_says_how_full_it_is_and_on_which_branch() {
    let server = ModelServer::script([ScriptedReply::text("An answer.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    git(&sandbox, "init -q -b trunk");
    git(&sandbox, "commit -q --allow-empty -m x");
    let long = format!("tell me\n{}", "word word word word\n".repeat(5_000));
    sandbox.gimlet(&["-p", &long]).env("CLAUDE_CODE_ENTRYPOINT", "cli").run().expect_clean();
    let mut terminal = sandbox.gimlet(&["-c", "--model", "claude-sonnet-4-5"]).terminal(100, 30);
    let is_told = |screen: &str| screen.contains("context ") && !screen.contains("context 0 %");
    terminal.wait_for("  An answer.");
    terminal.wait_until("how much is used", is_told);
    terminal.send("/branch\r");
    terminal
        .wait_until("the copy", |screen| screen.contains("Session in") && screen.matches("An answer.").count() == 2);
    terminal.wait_until("how much the copy uses", is_told);
    leave(terminal);
    let screen = sandbox.gimlet(&["-c"]).terminal(100, 30).wait_for("  An answer.");
    let order = [" · trunk", "▌ tell me", "  An answer."].map(|part| screen.find(part));
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{screen}");
}

#[test]
fn compacting_is_told_once() {
    let server = ModelServer::script([
        ScriptedReply::text("An answer."),
        ScriptedReply::text("<summary>They asked, and it was answered.</summary>"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    terminal.send("a question\r");
    terminal.wait_for("  An answer.");
    terminal.wait_gone("esc to interrupt");
    terminal.send("/compact\r");
    terminal.wait_for("Compacted.");
    let screen = terminal.wait_gone("esc to interrupt");
    assert_eq!(screen.matches("ompacted").count(), 1, "{screen}");
    leave(terminal);
}
