//! Many turns in one interactive session: texts, reads, edits, commands, compactions, resizes, the transcript opened
//! and closed. At the end the process must hold no more resources than after the first hundred turns.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
/// The number of turns after which the first measurement is taken.
const FIRST: usize = 100;
/// How long idle threads and connections may take to end.
const REST: Duration = Duration::from_secs(30);

/// The allowed difference: connections kept for the next request come and go.
const CONNECTIONS: usize = 2;

/// The resources that a process holds.
#[derive(Clone, Debug)]
struct Held {
    kilobytes: usize,
    files: Vec<String>,
    threads: usize,
    children: usize,
}

impl Held {
    fn by(pid: u32) -> Self {
        let of = |name: &str| std::fs::read_dir(format!("/proc/{pid}/{name}")).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let children = of("task").map(|task| {
            let path = task.unwrap().path().join("children");
            std::fs::read_to_string(path).unwrap_or_default().split_whitespace().count()
        });
        Self {
            kilobytes: memory.trim().trim_end_matches(" kB").parse().unwrap(),
            files: of("fd").map(|file| target(&file.unwrap().path())).collect(),
            threads: of("task").count(),
            children: children.sum(),
        }
    }

    fn is_within(&self, first: &Self) -> bool {
        self.files.len() <= first.files.len() + CONNECTIONS
            && self.threads <= first.threads
            && self.children <= first.children
    }
}

/// What an open file is, for the report of a failure.
fn target(path: &Path) -> String {
    std::fs::read_link(path).map_or_else(|_| "closed".into(), |target| target.display().to_string())
}

/// A kilobyte of an answer, different in each turn.
fn answer(turn: usize) -> String {
    let mut text = format!("## answer {turn}\n\n");
    for n in 0..6 {
        writeln!(text, "- item {n} of turn {turn}: some **words** about `src/part_{n}.rs` that fill a line and a half")
            .unwrap();
    }
    write!(text, "\n```rust\nfn turn_{turn}() -> usize {{\n    {turn} // the number\n}}\n```\n\nend of answer {turn}.")
        .unwrap();
    text
}

fn reply(turn: usize, request: &CapturedRequest) -> ScriptedReply {
    if request.last_user_text().contains("hand-over text only") {
        return ScriptedReply::text("SUMMARY: there were many turns.");
    }
    let answers = request.messages().last().is_some_and(|last| last["content"].to_string().contains("tool_result"));
    if answers {
        return ScriptedReply::text(answer(turn));
    }
    match turn % 10 {
        1 | 6 => ScriptedReply::tool("Read", json!({"file_path": "data.txt"})),
        3 => ScriptedReply::tool("Bash", json!({"command": format!("echo turn {turn}; seq 200")})),
        8 => ScriptedReply::tool(
            "Write",
            json!({"file_path": format!("out/{}.txt", turn % 30), "content": answer(turn)}),
        ),
        _ => ScriptedReply::text(answer(turn)),
    }
}

fn take_turn(terminal: &mut TestTerminal, turn: usize) {
    terminal.send(&format!("this is turn {turn}\r"));
    let end = format!("end of answer {turn}.");
    terminal.wait_until(&end, |screen| screen.contains(&end) && !screen.contains("esc to interrupt"));
    match turn % 40 {
        15 => terminal.resize(100, 30),
        35 => terminal.resize(80, 24),
        25 => {
            terminal.send("\x0f");
            terminal.wait_for("transcript · end");
            terminal.send("q");
            terminal.wait_for("accept edits on");
        }
        _ => {}
    }
}

/// Runs this many turns; returns the resources held after the first hundred and at the end.
fn soak(turns: usize) -> (Held, Held) {
    let current = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&current);
    let server = ModelServer::with_handler(move |request| reply(asked.load(Ordering::SeqCst), request));
    let mut sandbox = Sandbox::with_server(EXE, &server);
    // Small enough for the history to be summarised many times, the first time before the first look.
    sandbox.set("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "40000");
    sandbox.write("data.txt", "some line of a file\n".repeat(100));
    let args =
        ["--model", "small-model", "--permission-mode", "acceptEdits", "--allowedTools", "Bash(echo:*),Bash(seq:*)"];
    let mut terminal = sandbox.gimlet(&args).terminal(80, 24);
    terminal.wait_for("accept edits on");
    let mut first = None;
    for turn in 1..=turns {
        current.store(turn, Ordering::SeqCst);
        take_turn(&mut terminal, turn);
        server.forget();
        if turn == FIRST {
            first = Some(Held::by(terminal.pid()));
        }
    }
    let first = first.unwrap();
    let deadline = Instant::now() + REST;
    let mut last = Held::by(terminal.pid());
    while !last.is_within(&first) && Instant::now() < deadline {
        // Nothing signals the end of an idle thread.
        testkit::let_pass(Duration::from_millis(100));
        last = Held::by(terminal.pid());
    }
    (first, last)
}

fn assert_steady((first, last): &(Held, Held)) {
    assert!(last.is_within(first), "more is held: {first:?}, then {last:?}");
    assert!(last.kilobytes * 2 <= first.kilobytes * 3, "memory has grown: {first:?}, then {last:?}");
}

/// How many turns: 300 unless `GIMLET_SAMPLES` says otherwise (the long form takes 2,000).
fn turns() -> usize {
    #[expect(clippy::disallowed_methods, reason = "how long the test runs is the caller's choice")]
    let given = std::env::var("GIMLET_SAMPLES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(300)
}

// [TST-229]
#[test]
fn many_turns_hold_no_more_than_a_hundred() {
    let held = soak(turns());
    eprintln!("after {FIRST} turns {:?}, at the end {:?}", held.0, held.1);
    assert_steady(&held);
}
