//! A second terminal emulator: the same program in tmux, resized while a reply streams, read back as logical lines; and
//! the same bytes, read by tmux and by the emulator of the other tests.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]
#![expect(clippy::disallowed_methods, reason = "tests start programs from outside, as a user does")]

use std::process::Command;
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

/// A separate tmux server; dropping this ends it.
pub(crate) struct Tmux {
    socket: String,
}

impl Tmux {
    /// `None` where there is no tmux.
    pub(crate) fn start(sandbox: &Sandbox, columns: u16, rows: u16) -> Option<Self> {
        Self::showing(sandbox, columns, rows, EXE)
    }

    /// The same with another program.
    fn showing(sandbox: &Sandbox, columns: u16, rows: u16, program: &str) -> Option<Self> {
        let socket = sandbox.root().join("tmux.sock").to_string_lossy().into_owned();
        let run = sandbox.gimlet::<&str>(&[]).command();
        let mut command = Command::new("tmux");
        command.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(["-u", "-S", &socket, "-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &rows.to_string(), "-c"]).arg(sandbox.project()).arg(program);
        command.status().ok().filter(std::process::ExitStatus::success)?;
        let tmux = Self { socket };
        tmux.run(&["set-option", "-g", "window-size", "manual"]);
        tmux.run(&["set-option", "-g", "history-limit", "5000"]);
        Some(tmux)
    }

    fn run(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").args(["-u", "-S", &self.socket]).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.run(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Scrollback and screen, wrapped lines joined.
    pub(crate) fn lines(&self) -> String {
        self.run(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    pub(crate) fn wait_for(&self, text: &str) -> String {
        // tmux has no way to wait for a text.
        testkit::wait_for(|| {
            let lines = self.lines();
            if lines.contains(text) { Ok(lines) } else { Err(format!("expected {text:?}:\n{lines}")) }
        })
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

/// Text in several scripts, with widths that all emulators agree on.
const PROSE: &str = "plain words, \u{65e5}\u{672c}\u{8a9e} in between, \u{5e9}\u{5dc}\u{5d5}\u{5dd} from the right, \
    \u{645}\u{631}\u{62d}\u{628}\u{627} as well, caf\u{65}\u{301} and \u{1f642}";

/// A reply with many kinds of content.
fn rich_reply() -> String {
    let lines: Vec<String> = (0..4).map(|n| format!("{n}. {PROSE} and {PROSE}")).collect();
    format!(
        "## A heading\n\n{PROSE}\n\n{}\n\n| a | \u{65e5}\u{672c} | c |\n|---|---|---|\n| 1 | \u{8a9e} | 3 |\n\n\
         ```rust\nfn main() {{ println!(\"\u{65e5}\"); }}\n```\n\nThe end.",
        lines.join("\n")
    )
}

/// `None` where there is no tmux.
fn same_screen(columns: u16, rows: u16) -> Option<()> {
    let server = ModelServer::script([ScriptedReply::text(rich_reply())]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(columns, rows);
    terminal.wait_for("· Opus");
    terminal.send("show me\r");
    terminal.wait_for("The end.");
    terminal.send("\u{65e5}\u{672c} and a prompt");
    terminal.wait_until("the prompt", |screen| screen.contains("and a prompt") && !screen.contains("esc to interrupt"));
    let trimmed = |text: &str| text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    let (bytes, wanted) = terminal.written();
    let wanted = wanted.join("\n");
    sandbox.write("bytes", bytes);
    let tmux = Tmux::showing(&sandbox, columns, rows, "stty raw -echo; cat bytes; sleep 600")?;
    testkit::wait_for(|| {
        let shown = tmux.run(&["capture-pane", "-p"]);
        let same = trimmed(&shown) == trimmed(&wanted);
        same.then_some(()).ok_or_else(|| format!("one shows:\n{wanted}\n\ntmux shows:\n{shown}"))
    });
    Some(())
}

#[test]
fn the_same_bytes_give_the_same_screen_at_any_width() {
    for (columns, rows) in [(40, 24), (80, 24), (200, 50), (400, 60)] {
        if same_screen(columns, rows).is_none() {
            eprintln!("NOT RUN: there is no tmux");
        }
    }
}

#[test]
fn every_line_stands_once_after_resizes_while_text_streams() {
    // [TST-228] [TST-247]
    let paragraph = |n: usize| {
        let words =
            ["with some words ", "\u{65e5}\u{672c}\u{8a9e} as well ", "\u{5e9}\u{5dc}\u{5d5}\u{5dd} too "][n % 3];
        format!("paragraph {n:02} begins {} and ends\n\n", words.repeat(n % 7))
    };
    let pieces: Vec<String> = (0..24).map(paragraph).collect();
    let gate = ReplyGate::new();
    let block = ScriptedBlock::TextPieces(pieces.clone());
    let server = ModelServer::script([ScriptedReply::message(vec![block]).gate(&gate)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let Some(tmux) = Tmux::start(&sandbox, 80, 24) else {
        eprintln!("NOT RUN: there is no tmux");
        return;
    };
    tmux.wait_for("? for shortcuts");
    tmux.keys(&["tell me", "Enter"]);
    tmux.wait_for("esc to interrupt");
    gate.open_for(2);
    for (index, (columns, rows)) in
        [(60, 20), (100, 30), (40, 12), (400, 24), (50, 15), (120, 24)].into_iter().enumerate()
    {
        gate.open_for(4);
        tmux.wait_for(&format!("paragraph {:02} begins", index * 4 + 2));
        tmux.resize(columns, rows);
        // tmux reports the new size late; output in between may leave a row behind.
        tmux.wait_for(&format!("\n{}\n", "─".repeat(usize::from(columns) - 2)));
    }
    gate.open_all();
    tmux.wait_for("paragraph 23 begins");
    let lines = tmux.wait_for("? for shortcuts");
    // Each paragraph keeps the width at which it was written.
    let without_breaks = |text: &str| text.split_whitespace().collect::<String>();
    let (shown, mut at) = (without_breaks(&lines), 0);
    for piece in pieces.iter().map(|piece| without_breaks(piece)) {
        assert_eq!(shown.matches(&piece).count(), 1, "{piece} in {lines}");
        let found = shown.find(&piece).unwrap();
        assert!(found >= at, "{piece} in {lines}");
        at = found;
    }
}

#[test]
fn a_window_that_becomes_narrow_keeps_no_copy_of_the_prompt() {
    // [TST-247]
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", r#"{"respondToBashCommands": false}"#);
    let Some(tmux) = Tmux::start(&sandbox, 138, 11) else {
        eprintln!("NOT RUN: there is no tmux");
        return;
    };
    tmux.wait_for("? for shortcuts");
    // Rows of a screen that is not full are moved into the scrollback, where nobody can change them.
    tmux.keys(&["!seq 20", "Enter"]);
    tmux.wait_for("▌ ! seq 20");
    tmux.wait_for("? for shortcuts");
    for (columns, rows) in [(40, 21), (120, 12), (44, 18)] {
        tmux.resize(columns, rows);
        let lines = tmux.wait_for(&format!("\n{}\n❯\n", "─".repeat(usize::from(columns) - 2)));
        assert_eq!(lines.matches("  ask before edits").count(), 1, "{lines}");
        assert_eq!(lines.matches("\n❯\n").count(), 1, "{lines}");
    }
}
