//! How much of a turn is printed (`/focus`, `viewMode`), and the colour of a session (`/color`): the real binary in a
//! pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use testkit::{ModelServer, PictureTheme, Sandbox, ScriptedBlock, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const TRANSCRIPT: &str = "\x0f";
/// Pink in the dark theme.
const PINK: &str = "#f58cbe";

fn start(sandbox: &Sandbox, args: &[&str]) -> TestTerminal {
    let terminal = sandbox.gimlet(args).env("COLORTERM", "truecolor").terminal(100, 40);
    terminal.wait_for("? for shortcuts");
    terminal
}

fn idle(terminal: &TestTerminal, answer: &str) -> String {
    terminal.wait_for(answer);
    terminal.wait_gone("esc to interrupt")
}

fn leave(mut terminal: TestTerminal) {
    terminal.send("/exit\r");
    terminal.finish();
}

/// A turn that reads, edits, says something, runs a command that fails, and answers.
fn busy_turn() -> Vec<ScriptedReply> {
    let change = json!({"file_path": "a.txt", "old_string": "one\n", "new_string": "two\nthree\n"});
    let between = ScriptedBlock::text("Something in between.");
    vec![
        ScriptedReply::tool("Read", json!({"file_path": "a.txt"})),
        ScriptedReply::tool("Edit", change),
        ScriptedReply::message(vec![between, ScriptedBlock::tool("Bash", &json!({"command": "echo out; exit 3"}))]),
        ScriptedReply::text("The **final** answer."),
    ]
}

#[test]
fn the_focus_view_leaves_prompts_one_line_of_calls_and_the_answer() {
    let server = ModelServer::script(busy_turn().into_iter().chain(busy_turn()));
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("a.txt", "one\n");
    let mut terminal = start(&sandbox, &["--allowedTools", "Bash", "Edit", "Read"]);
    terminal.send("/focus\r");
    terminal.wait_for("Focus view is on");
    terminal.send("go\r");
    let screen = idle(&terminal, "The final answer.");
    assert!(screen.contains("  ✕ 3 calls · Read 1, Edit 1, Run 1 · +2 −1 · 1 failed · ctrl+o"), "{screen}");
    assert!(screen.contains("▌ go") && screen.contains("  ✻ "), "{screen}");
    for hidden in ["a.txt", "in between", "     out", "exit 3"] {
        assert!(!screen.contains(hidden), "{hidden}: {screen}");
    }
    terminal.send(TRANSCRIPT);
    let whole = terminal.wait_for("transcript · end");
    assert!(whole.contains("Something in between.") && whole.contains("◆ Edit    a.txt · +2 −1"), "{whole}");
    terminal.send("q");
    terminal.wait_gone("transcript ·");
    leave(terminal);
    // It holds for later sessions, also for what a resumed one prints again.
    let mut terminal = start(&sandbox, &["-c", "--allowedTools", "Bash", "Edit", "Read"]);
    let screen = terminal.wait_for("The final answer.");
    assert!(screen.contains("✕ 3 calls ·") && !screen.contains("Edit    a.txt"), "{screen}");
    terminal.send("/focus\r");
    terminal.wait_for("Calls are shown as they run");
    sandbox.write("a.txt", "one\n");
    terminal.send("again\r");
    let screen = idle(&terminal, "✕ Run");
    assert!(screen.contains("Something in between.") && screen.contains("◆ Edit    a.txt"), "{screen}");
}

#[test]
fn a_verbose_view_shows_whole_outputs() {
    let command = |n: usize| ScriptedReply::tool("Bash", json!({"command": format!("seq {n}")}));
    let settings = [json!({"viewMode": "verbose"}), json!({"verbose": true}), json!({"viewMode": "default"})];
    for (settings, flag) in settings.into_iter().zip([None, None, Some("--verbose")]) {
        let server = ModelServer::script([command(12), ScriptedReply::text("Counted.")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write_config("settings.json", settings.to_string());
        let flags: Vec<&str> = ["--allowedTools", "Bash"].into_iter().chain(flag).collect();
        let mut terminal = start(&sandbox, &flags);
        terminal.send("go\r");
        let screen = idle(&terminal, "Counted.");
        assert!(screen.contains("     12\n") && !screen.contains("more lines"), "{settings}: {screen}");
    }
}

/// Whether something on the screen is pink.
fn is_pink(terminal: &TestTerminal) -> bool {
    terminal.picture(PictureTheme::Dark).svg("", "").contains(PINK)
}

#[test]
fn the_colour_of_a_session_is_kept_with_it() {
    let server = ModelServer::script(["Hello.", "In the copy."].map(ScriptedReply::text));
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, &[]);
    assert!(!is_pink(&terminal));
    terminal.send("hi\r");
    idle(&terminal, "Hello.");
    terminal.send("/rename the cart\r");
    idle(&terminal, "Session renamed");
    terminal.send("/color mauve\r");
    idle(&terminal, "\"mauve\" is not a colour. Choose one of red, blue");
    terminal.send("/color pin");
    terminal.wait_for("❯ pink");
    terminal.send("k\r");
    idle(&terminal, "Colour of this session: pink.");
    testkit::wait_until("the colour", || is_pink(&terminal));
    leave(terminal);
    let mut terminal = start(&sandbox, &["-c"]);
    let screen = terminal.wait_for("─ the cart ──");
    assert!(is_pink(&terminal), "{screen}");
    // A shell command keeps its own colour.
    terminal.send("!x");
    terminal.wait_until("the shell", |screen| screen.contains("\n! x"));
    assert!(!is_pink(&terminal));
    terminal.send("\x15\x7f");
    testkit::wait_until("the colour again", || is_pink(&terminal));
    terminal.send("/clear\r");
    terminal.wait_for("New session.");
    testkit::wait_until("a new session without it", || !is_pink(&terminal));
    let screen = terminal.wait_gone("─ the cart ──");
    assert!(!screen.contains("the cart"), "{screen}");
}

/// At 40 columns the keys that end a view are named, whatever else falls away.
#[test]
fn narrow_views_name_the_key_that_closes_them_and_keep_the_margin() {
    let server = ModelServer::script([ScriptedReply::text("Short.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = sandbox.gimlet::<&str>(&[]).env("NO_COLOR", "1").terminal(40, 40);
    terminal.wait_for(" ask before edits");
    terminal.send("hi\r");
    idle(&terminal, "  Short.");
    let last = |screen: &str| screen.trim_end().lines().last().unwrap_or_default().to_owned();
    terminal.send(TRANSCRIPT);
    let screen = terminal.wait_for("transcript · end");
    assert_eq!(last(&screen), "  transcript · end · q to close");
    terminal.send("q");
    terminal.wait_gone("transcript · end");
    terminal.send("\x12");
    let screen = terminal.wait_for("  search prompts: ");
    assert!(screen.contains("\n  ❯ hi\n"), "{screen}");
    assert_eq!(last(&screen), "  enter take · ctrl+c back");
    terminal.send("\x03");
    terminal.wait_gone("search prompts");
    terminal.send("/mcp\r");
    terminal.wait_for("MCP servers");
    let screen = terminal.wait_for("esc to close");
    assert!(last(&screen).starts_with("  ") && last(&screen).ends_with("esc to close"), "{screen}");
    terminal.send("\x1b");
    terminal.wait_gone("esc to close");
    terminal.send("?");
    let screen = terminal.wait_for("ctrl+l");
    let below = screen.split("ask before edits").next().unwrap_or_default().rsplit("──\n").next().unwrap();
    assert!(below.lines().filter(|row| !row.is_empty()).all(|row| row.starts_with("  ")), "{screen}");
}

#[test]
fn a_session_is_resumed_by_its_title_or_the_beginning_of_its_id() {
    let replies = [("fix the parser", "The tokenizer was wrong."), ("write the docs", "They are written.")];
    let server = ModelServer::script(replies.map(|(_, reply)| ScriptedReply::text(reply)));
    let sandbox = Sandbox::with_server(EXE, &server);
    for (prompt, _) in replies {
        sandbox.gimlet(&["-p", prompt]).env("CLAUDE_CODE_ENTRYPOINT", "cli").run().expect_clean();
    }
    let mut terminal = start(&sandbox, &[]);
    terminal.send("/resume ");
    let screen = terminal.wait_for("fix the parser");
    assert!(screen.contains("write the docs") && screen.contains("/resume [words] · Switch to another"), "{screen}");
    terminal.send("pars");
    terminal.wait_gone("write the docs");
    terminal.send("\t\r");
    terminal.wait_for("The tokenizer was wrong.");
    assert!(!terminal.screen().contains("Resume a session"));
    let other = sandbox
        .transcript_paths()
        .into_iter()
        .find(|path| std::fs::read_to_string(path).unwrap().contains("write the docs"));
    let id = other.unwrap().file_stem().unwrap().to_str().unwrap().to_owned();
    terminal.send(&format!("/resume {}", &id[..8]));
    terminal.wait_for("❯ write the docs");
    terminal.send("\r");
    terminal.wait_for("They are written.");
}
