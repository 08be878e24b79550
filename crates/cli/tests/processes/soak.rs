//! Many turns in one interactive session: texts, reads, edits, commands, compactions, resizes, a server that ends and is
//! connected again, the transcript opened and closed. At the end the process must hold no more than after the first two
//! hundred turns, take no longer for a turn, and have written a transcript in proportion to what was said.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::mcp;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
/// The number of turns after which the first measurement is taken.
const FIRST: usize = 200;
/// From this many turns on times are compared: fewer say little on a busy machine.
const LONG: usize = 1_000;
/// How much more memory may be used at the end than after the first turns.
const MEMORY_FACTOR: f64 = 1.3;
/// How much longer a turn may take at the end.
const TIME_FACTOR: f64 = 1.1;
/// Turns between two ends of the server.
const CRASH_EVERY: usize = 100;
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
    /// Files in the folder for temporary files.
    temporary: usize,
    transcript_bytes: u64,
}

impl Held {
    fn by(pid: u32, sandbox: &Sandbox) -> Self {
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
            temporary: count_files(&sandbox.root().join("tmp")),
            transcript_bytes: sandbox.transcript_paths().iter().map(|path| path.metadata().unwrap().len()).sum(),
        }
    }

    fn is_within(&self, first: &Self) -> bool {
        self.files.len() <= first.files.len() + CONNECTIONS
            && self.threads <= first.threads
            && self.children <= first.children
            && self.temporary <= first.temporary
    }
}

fn count_files(dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let count = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => count_files(&entry.path()),
        _ => 1,
    };
    entries.flatten().map(count).sum()
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
        _ if turn % CRASH_EVERY == 42 => ScriptedReply::tool("mcp__fix__crash", json!({})),
        5 => ScriptedReply::tool("mcp__fix__echo", json!({"text": format!("turn {turn}")})),
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
    if turn % CRASH_EVERY == 42 {
        terminal.send("/mcp reconnect fix\r");
        terminal.wait_until("the server again", |screen| screen.contains("fix: reconnected."));
    }
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

/// What was measured in a run.
struct SoakReport {
    first: Held,
    /// After half of the turns.
    half: Held,
    last: Held,
    /// How long each turn took.
    times: Vec<Duration>,
    compactions: usize,
}

impl SoakReport {
    /// How long a turn takes at the end, compared with the first ones.
    fn time_ratio(&self) -> f64 {
        let part = self.times.len() / 5;
        let (early, late) = (&self.times[..part], &self.times[self.times.len() - part..]);
        median(late).as_secs_f64() / median(early).as_secs_f64()
    }

    fn memory_ratio(&self) -> f64 {
        self.last.kilobytes as f64 / self.first.kilobytes as f64
    }

    /// What the second half added to the transcript, compared with the first half, turn by turn.
    fn transcript_ratio(&self) -> f64 {
        let turns = self.times.len();
        let (first, second) = ((turns / 2 - FIRST) as f64, (turns - turns / 2) as f64);
        let early = (self.half.transcript_bytes - self.first.transcript_bytes) as f64 / first;
        (self.last.transcript_bytes - self.half.transcript_bytes) as f64 / second / early
    }
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// Runs this many turns and measures.
fn soak(turns: usize) -> SoakReport {
    let current = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&current);
    let compactions = Arc::new(AtomicUsize::new(0));
    let summaries = Arc::clone(&compactions);
    let server = ModelServer::with_handler(move |request| {
        summaries.fetch_add(usize::from(request.last_user_text().contains("hand-over text only")), Ordering::SeqCst);
        reply(asked.load(Ordering::SeqCst), request)
    });
    let mut sandbox = Sandbox::with_server(EXE, &server);
    // Small enough for the history to be summarised many times, the first time before the first look.
    sandbox.set("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "40000");
    sandbox.write("data.txt", "some line of a file\n".repeat(100));
    let servers = mcp::config(&[]);
    let args = [
        "--model",
        "small-model",
        "--permission-mode",
        "acceptEdits",
        "--allowedTools",
        "Bash(echo:*),Bash(seq:*),mcp__fix",
        "--mcp-config",
        &servers,
    ];
    let mut terminal = sandbox.gimlet(&args).terminal(80, 24);
    terminal.wait_for("accept edits on");
    let (mut first, mut half, mut times) = (None, None, Vec::new());
    for turn in 1..=turns {
        current.store(turn, Ordering::SeqCst);
        let started = Instant::now();
        take_turn(&mut terminal, turn);
        times.push(started.elapsed());
        server.forget();
        if turn == FIRST {
            first = Some(Held::by(terminal.pid(), &sandbox));
        }
        if turn == turns / 2 {
            half = Some(Held::by(terminal.pid(), &sandbox));
        }
    }
    let (first, half) = (first.unwrap(), half.unwrap());
    let deadline = Instant::now() + REST;
    let mut last = Held::by(terminal.pid(), &sandbox);
    while !last.is_within(&first) && Instant::now() < deadline {
        // Nothing signals the end of an idle thread.
        testkit::let_pass(Duration::from_millis(100));
        last = Held::by(terminal.pid(), &sandbox);
    }
    SoakReport { first, half, last, times, compactions: compactions.load(Ordering::SeqCst) }
}

fn assert_steady(report: &SoakReport) {
    let SoakReport { first, last, times, compactions, .. } = report;
    assert!(last.is_within(first), "more is held: {first:?}, then {last:?}");
    assert!(report.memory_ratio() <= MEMORY_FACTOR, "memory has grown: {first:?}, then {last:?}");
    assert!(compactions * 250 >= times.len(), "only {compactions} compactions in {} turns", times.len());
    let transcript = report.transcript_ratio();
    assert!((0.8..1.25).contains(&transcript), "the transcript is not in proportion: {transcript:.2}");
    if times.len() >= LONG {
        let time = report.time_ratio();
        assert!(time <= TIME_FACTOR, "a turn takes {time:.2} times as long as at first");
    }
}

/// How many turns: 450 unless `GIMLET_SAMPLES` says otherwise (the long form takes 10,000).
fn turns() -> usize {
    #[expect(clippy::disallowed_methods, reason = "how long the test runs is the caller's choice")]
    let given = std::env::var("GIMLET_SAMPLES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(450)
}

// [TST-229] [LNG-38]
#[test]
fn many_turns_hold_no_more_than_two_hundred() {
    let report = soak(turns());
    eprintln!(
        "{} turns, {} compactions: memory {:.2} times, time of a turn {:.2} times, transcript {:.2} times per turn; after \
         {FIRST} turns {:?}, at the end {:?}",
        report.times.len(),
        report.compactions,
        report.memory_ratio(),
        report.time_ratio(),
        report.transcript_ratio(),
        report.first,
        report.last
    );
    assert_steady(&report);
}
