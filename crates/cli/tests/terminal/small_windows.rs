//! Questions in windows that are small or become small: the real binary in a pseudo-terminal and in tmux.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use super::tmux::Tmux;
use serde_json::json;
use std::time::Duration;
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const QUESTION: &str = "❯ 1. Yes";
/// Keys that come earlier are taken for text that was on its way.
const READING_TIME: Duration = Duration::from_millis(400);

/// A session in which the model wants to change a line in the middle of a file.
fn edit() -> (ModelServer, Sandbox) {
    let change = json!({"file_path": "cart_total.txt", "old_string": "line 42\n", "new_string": "changed 42\n"});
    let words = |n: usize| format!("said {n:02} {}\n\n", "with some words ".repeat(n % 9));
    let said = ScriptedBlock::TextPieces((10..40).map(words).collect());
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "cart_total.txt"})),
        ScriptedReply::message(vec![said, ScriptedBlock::tool("Edit", &change)]),
        ScriptedReply::text("Changed."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines: Vec<String> = (1..90).map(|n| format!("line {n}")).collect();
    sandbox.write("cart_total.txt", lines.join("\n") + "\n");
    (server, sandbox)
}

#[test]
fn a_change_can_be_judged_and_refused_in_a_window_of_any_size() {
    // [TST-240] [TST-247]
    for (columns, rows) in [(20, 5), (20, 16), (40, 10), (80, 24)] {
        let (server, sandbox) = edit();
        let mut terminal = sandbox.gimlet(&["change it"]).terminal(columns, rows);
        let screen = terminal.wait_until("the question", |screen| {
            ["cart_total.txt", "42 - line 42", QUESTION, "esc to cancel"].iter().all(|part| screen.contains(part))
        });
        assert!(!screen.contains("1 - line"), "{screen}");
        terminal.answer("1");
        server.wait_for_requests(3);
        assert!(sandbox.read("cart_total.txt").contains("changed 42"));
    }
}

/// Answers a question after the window had each of the sizes, and returns the scrollback and the screen; `None` where there is
/// no tmux.
fn after_sizes(sandbox: &Sandbox, question: &str, sizes: &[(u16, u16)], end: &str) -> Option<String> {
    let tmux = Tmux::start(sandbox, 110, 30)?;
    tmux.wait_for("? for shortcuts");
    tmux.keys(&["do it", "Enter"]);
    tmux.wait_for(question);
    for (columns, rows) in sizes {
        tmux.resize(*columns, *rows);
        // The frame of this size is there: all but the last row of the screen is used in a small window, and the rule is as
        // long as the window is wide in others.
        let rule = "─".repeat(usize::from(*columns));
        tmux.wait_for(if *rows > 8 { &rule } else { "esc to cancel" });
        tmux.wait_for(QUESTION);
    }
    tmux.resize(110, 30);
    tmux.wait_for(question);
    // A person reads it first.
    testkit::let_pass(READING_TIME);
    tmux.keys(&["1"]);
    tmux.wait_for(end);
    Some(tmux.wait_for("? for shortcuts"))
}

#[test]
fn a_tall_question_leaves_nothing_behind_in_a_window_that_becomes_small() {
    // [TST-247]
    let ways =
        [&[(20, 5)][..], &[(110, 12)], &[(55, 30), (40, 10)], &[(20, 16)], &[(20, 5), (20, 16), (40, 10), (110, 12)]];
    for sizes in ways {
        let (_server, sandbox) = edit();
        let question = "Do you want to edit cart_total.txt?";
        let Some(lines) = after_sizes(&sandbox, question, sizes, "  Changed.") else {
            eprintln!("NOT RUN: there is no tmux");
            return;
        };
        for part in ["Do you want to edit", QUESTION, "esc to cancel"] {
            assert!(!lines.contains(part), "{sizes:?}: {part:?} in\n{lines}");
        }
        for n in 10..40 {
            assert_eq!(lines.matches(&format!("  said {n:02}")).count(), 1, "{sizes:?}: {n} in\n{lines}");
        }
        // The change stands once, where it was made.
        assert_eq!(lines.matches("42 - line 42").count(), 1, "{sizes:?}:\n{lines}");
        let rules = lines.lines().filter(|line| line.starts_with("───")).count();
        assert_eq!(rules, 2, "{sizes:?}: the two of the prompt in\n{lines}");
        assert_eq!(lines.matches("▌ do it").count(), 1, "{sizes:?}:\n{lines}");
        assert_eq!(lines.matches("  Changed.").count(), 1, "{sizes:?}:\n{lines}");
    }
}

#[test]
fn a_short_question_leaves_nothing_behind_in_a_window_that_becomes_small() {
    // [TST-247]
    for sizes in [&[(20, 5)][..], &[(110, 12)], &[(55, 30)], &[(55, 15)]] {
        let server = ModelServer::script([
            ScriptedReply::tool("Bash", json!({"command": "touch made.txt"})),
            ScriptedReply::text("Made."),
        ]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let question = "Do you want to run this command?";
        let Some(lines) = after_sizes(&sandbox, question, sizes, "  Made.") else {
            eprintln!("NOT RUN: there is no tmux");
            return;
        };
        for part in ["Do you want to run", QUESTION, "esc to cancel"] {
            assert!(!lines.contains(part), "{sizes:?}: {part:?} in\n{lines}");
        }
        let rules = lines.lines().filter(|line| line.starts_with("───")).count();
        assert_eq!(rules, 2, "{sizes:?}: the two of the prompt in\n{lines}");
        assert_eq!(lines.matches("▌ do it").count(), 1, "{sizes:?}:\n{lines}");
    }
}
