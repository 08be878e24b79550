//! Kills the real binary at random moments: the transcript stays readable and resumable, no effect is without its line,
//! no call is answered twice, and no process of the tree is left.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the report of a test")]
#![cfg(target_os = "linux")]

use crate::common::EXE;
use crate::common::death::{Random, assert_nobody_left, having, is_live, seed};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use testkit::{CapturedRequest, FinishedRun, ModelServer, RunningGimlet, Sandbox, ScriptedBlock, ScriptedReply};

const ROUNDS: usize = 100;
const WORKERS: usize = 4;
const CALLS: usize = 30;
/// Calls that begin a new response; the others belong to the response of the call before them.
const BEGIN: [usize; 18] = [0, 1, 2, 4, 5, 6, 7, 8, 11, 13, 14, 15, 18, 20, 21, 24, 26, 28];
const RESUMED: &str = "go on";
const MARKER: &str = "KILL_TEST";

/// Call `n` of the plan. `mark` is unique to this call and is what its effect leaves on disk.
fn call(n: usize, mark: &str, long: &str) -> ScriptedBlock {
    let bash = |command: String| ScriptedBlock::tool("Bash", &json!({"command": command}));
    let quiet = ">/dev/null 2>&1 </dev/null &";
    match n % 10 {
        0 => bash(format!("echo {mark} >> marks")),
        1 => ScriptedBlock::tool("Write", &json!({"file_path": format!("w{n}.txt"), "content": mark})),
        2 => ScriptedBlock::tool("Read", &json!({"file_path": "notes.txt"})),
        3 => ScriptedBlock::tool(
            "Edit",
            &json!({"file_path": "notes.txt", "old_string": format!("slot {n}."), "new_string": mark}),
        ),
        4 => bash(format!("setsid sleep {long} {quiet} echo {mark} >> marks")),
        5 => bash(format!("nohup sleep {long} {quiet} echo {mark} >> marks")),
        6 => bash(format!("(setsid sh -c 'sleep {long} {quiet}' {quiet}) ; echo {mark} >> marks")),
        7 => ScriptedBlock::tool(
            "Bash",
            &json!({"command": format!("echo {mark} >> marks; sleep {long}"), "run_in_background": true}),
        ),
        8 => bash(format!("echo {mark} >> marks; sleep 0.01")),
        _ => ScriptedBlock::tool("Glob", &json!({"pattern": "*.txt"})),
    }
}

/// The next calls of the plan, by how many the conversation already has.
fn plan(request: &CapturedRequest, nonce: usize) -> ScriptedReply {
    let done = request.tool_uses().len();
    if done >= CALLS {
        return ScriptedReply::text("All done.");
    }
    // Background commands of a resumed run are short, so that nobody must wait for them.
    let long = if request.all_text().contains(RESUMED) { "0.01" } else { "60" };
    let end = BEGIN.iter().copied().find(|b| *b > done).unwrap_or(CALLS);
    let blocks = (done..end).map(|n| call(n, &format!("mark-{n}-{nonce}."), long));
    ScriptedReply::message(std::iter::once(ScriptedBlock::text(format!("Calls from {done}."))).chain(blocks).collect())
}

struct Scene {
    server: ModelServer,
    sandbox: Sandbox,
    session: String,
    marker: String,
}

impl Scene {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut nonce = 0;
        let server = ModelServer::with_handler(move |request| {
            nonce += 1;
            plan(request, nonce)
        });
        let mut sandbox = Sandbox::with_server(EXE, &server);
        let marker = format!("{}-{number}", std::process::id());
        sandbox.set(MARKER, &marker);
        let slots: Vec<String> = (0..CALLS).map(|n| format!("slot {n}.\n")).collect();
        sandbox.write("notes.txt", slots.concat());
        let session = format!("5f2f1c1e-0000-4000-8000-{number:012x}");
        Self { server, sandbox, session, marker }
    }

    fn start(&self, prompt: &str, which: [&str; 2]) -> RunningGimlet {
        let common = ["--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"];
        let mut args = vec!["-p", prompt, "--allowedTools", "Bash"];
        args.extend(common);
        args.extend(which);
        self.sandbox.gimlet(&args).spawn()
    }

    fn first(&self) -> RunningGimlet {
        self.start("work", ["--session-id", &self.session])
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        self.sandbox.transcript_paths().first().map(|path| std::fs::read(path).unwrap())
    }

    /// Marks that calls left on disk, each with how often.
    fn effects(&self) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        for file in std::fs::read_dir(self.sandbox.project()).unwrap() {
            let path = file.unwrap().path();
            // The temporary file of an atomic write: not an effect, and it may be renamed during this scan.
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap_or_default();
            for mark in text.split_whitespace().filter(|word| word.starts_with("mark-")) {
                *found.entry(mark.to_owned()).or_default() += 1;
            }
        }
        found
    }
}

/// The transcript on disk: parsed lines, and the lines that do not parse.
fn lines(bytes: &[u8]) -> (Vec<Value>, Vec<Vec<u8>>) {
    let mut good = Vec::new();
    let mut torn = Vec::new();
    for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(value) => good.push(value),
            Err(_) => torn.push(line.to_vec()),
        }
    }
    (good, torn)
}

fn blocks<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let contents = lines.iter().filter_map(|l| l["message"]["content"].as_array());
    contents.flatten().filter(|b| b["type"] == kind).collect()
}

fn ids(blocks: &[impl std::borrow::Borrow<Value>], key: &str) -> Vec<String> {
    blocks.iter().map(|b| b.borrow()[key].as_str().unwrap().to_owned()).collect()
}

fn assert_unique(ids: &[String], what: &str) {
    let set: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(set.len(), ids.len(), "{what} twice: {ids:?}");
}

/// Every effect has its `tool_use` line and happened once; at most the last line is torn.
fn check_after_death(scene: &Scene, bytes: &[u8]) -> Vec<Value> {
    let (good, torn) = lines(bytes);
    let last_whole = bytes.ends_with(b"\n");
    assert!(torn.is_empty() || (torn.len() == 1 && !last_whole), "{} broken lines", torn.len());
    let asked: String = blocks(&good, "tool_use").iter().map(|b| b["input"].to_string()).collect();
    for (mark, times) in scene.effects() {
        assert!(asked.contains(&mark), "the effect {mark} has no tool_use line");
        assert_eq!(times, 1, "{mark} happened more than once");
    }
    assert_unique(&ids(&blocks(&good, "tool_result"), "tool_use_id"), "a call was answered");
    good
}

/// Each call is answered exactly once, in the message after it.
fn check_request(request: &CapturedRequest) {
    let messages = request.messages();
    let of = |message: &Value, kind: &str, key: &str| -> Vec<String> {
        let content = message["content"].as_array().cloned().unwrap_or_default();
        ids(&content.into_iter().filter(|b| b["type"] == kind).collect::<Vec<_>>(), key)
    };
    for (at, message) in messages.iter().enumerate() {
        let calls = of(message, "tool_use", "id");
        if !calls.is_empty() {
            assert_eq!(of(&messages[at + 1], "tool_result", "tool_use_id"), calls, "message {at}");
        }
    }
    assert_eq!(request.tool_uses().len(), request.tool_results().len());
    assert_unique(&ids(&request.tool_uses(), "id"), "a call was sent");
}

/// The session resumes with everything that was on disk, and finishes.
fn check_resume(scene: &Scene, before: &[u8], good: &[Value]) {
    let asked_before = scene.server.requests().len();
    let run = scene.start(RESUMED, ["--resume", &scene.session]).finish().expect_clean();
    assert_eq!(run.result()["result"], "All done.");
    let requests = scene.server.requests().split_off(asked_before);
    requests.iter().for_each(check_request);
    let sent: BTreeSet<String> = ids(&requests[0].tool_uses(), "id").into_iter().collect();
    for id in ids(&blocks(good, "tool_use"), "id") {
        assert!(sent.contains(&id), "the call {id} was lost");
    }
    for result in blocks(good, "tool_result") {
        let found = requests[0].tool_results().into_iter().find(|r| r["tool_use_id"] == result["tool_use_id"]);
        assert_eq!(found.expect("a result was lost")["content"], result["content"]);
    }
    let after = scene.bytes().unwrap();
    assert!(after.starts_with(before), "what was written has changed");
    let (all, torn) = lines(&after);
    assert_eq!(torn.len(), usize::from(!before.ends_with(b"\n")), "only the line that was torn may be broken");
    assert_unique(&ids(&blocks(&all, "tool_result"), "tool_use_id"), "a call was answered");
    assert!(scene.effects().values().all(|times| *times == 1), "{:?}", scene.effects());
    check_chain(&all);
}

/// Parents exist and stand before their children.
fn check_chain(lines: &[Value]) {
    let mut seen = BTreeSet::new();
    for line in lines.iter().filter(|l| l["uuid"].is_string()) {
        if let Some(parent) = line["parentUuid"].as_str() {
            assert!(seen.contains(parent), "{parent} is not there");
        }
        assert!(seen.insert(line["uuid"].as_str().unwrap()), "a uuid stands twice");
    }
}

fn keepers_of(pid: u32) -> Vec<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let is_keeper =
        |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("__keeper"));
    text.split_whitespace().filter_map(|word| word.parse().ok()).filter(is_keeper).collect()
}

/// Checks that within two seconds no process is left.
fn check_nobody_left(marker: &str, keepers: &[i32]) {
    assert_nobody_left(|| {
        let keepers = keepers.iter().copied().filter(|pid| is_live(*pid));
        having(MARKER, marker).into_iter().chain(keepers).collect()
    });
}

fn wait_for_file(path: &Path) {
    testkit::wait_until(&path.display().to_string(), || path.exists());
}

/// When to kill.
#[derive(Debug)]
enum Moment {
    After(Duration),
    /// After this many lines of output, and then this time.
    Line(u64, Duration),
}

#[derive(Default)]
struct Tally {
    resumed: usize,
    torn: usize,
    unborn: usize,
    dangling: usize,
}

fn one_round(moment: &Moment, tally: &Mutex<Tally>) {
    let scene = Scene::new();
    let mut run = scene.first();
    match moment {
        Moment::After(delay) => testkit::let_pass(*delay),
        Moment::Line(count, delay) => {
            for _ in 0..*count {
                run.next_line();
            }
            testkit::let_pass(*delay);
        }
    }
    let keepers = keepers_of(run.pid());
    run.kill();
    let died = run.finish();
    assert!(died.stderr.is_empty(), "{}", died.stderr);
    check_nobody_left(&scene.marker, &keepers);
    let bytes = scene.bytes().unwrap_or_default();
    let good = check_after_death(&scene, &bytes);
    let mut tally = tally.lock().unwrap();
    if !good.iter().any(|l| l["type"] == "user") {
        // Killed before the prompt was recorded: there is nothing to resume, and nothing may have happened.
        assert!(scene.effects().is_empty());
        tally.unborn += 1;
        return;
    }
    tally.resumed += 1;
    tally.torn += usize::from(!bytes.ends_with(b"\n"));
    tally.dangling += usize::from(blocks(&good, "tool_use").len() > blocks(&good, "tool_result").len());
    drop(tally);
    check_resume(&scene, &bytes, &good);
    check_nobody_left(&scene.marker, &[]);
}

/// How long the plan takes, and how many lines it prints, when it is not interrupted.
fn measure() -> (Duration, u64) {
    let scene = Scene::new();
    let began = Instant::now();
    let mut run = scene.first();
    let mut count = 0;
    loop {
        count += 1;
        let line: Value = serde_json::from_str(&run.next_line().expect("a result")).unwrap();
        if line["type"] == "result" {
            assert_eq!(line["result"], "All done.", "{line}");
            break;
        }
    }
    let took = began.elapsed();
    run.kill();
    run.finish();
    // [SDK-179] Nothing is lost that was written before the result was sent.
    let bytes = scene.bytes().unwrap();
    let good = check_after_death(&scene, &bytes);
    assert!(bytes.ends_with(b"\n"));
    assert_eq!(blocks(&good, "tool_use").len(), CALLS);
    assert_eq!(blocks(&good, "tool_result").len(), CALLS);
    let failed: Vec<&Value> = blocks(&good, "tool_result").into_iter().filter(|b| b["is_error"] == true).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(scene.effects().len(), CALLS - 6, "every call with an effect left its mark");
    assert_eq!(good.iter().rfind(|l| l["type"] == "assistant").unwrap()["message"]["content"][0]["text"], "All done.");
    check_nobody_left(&scene.marker, &[]);
    (took, count)
}

// [TST-141] [TST-154] [TST-57]
#[test]
fn death_at_any_moment_leaves_a_session_that_goes_on() {
    let seed = seed();
    let (took, lines) = measure();
    let mut random = Random(seed);
    let micros = u64::try_from(took.as_micros()).unwrap();
    let moments: Vec<Moment> = (0..ROUNDS)
        .map(|round| match round % 2 {
            0 => Moment::After(Duration::from_micros(random.below(micros * 3 / 2))),
            _ => Moment::Line(random.below(lines), Duration::from_micros(random.below(micros / lines))),
        })
        .collect();
    let next = AtomicUsize::new(0);
    let tally = Mutex::new(Tally::default());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(moment) = moments.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if catch_unwind(AssertUnwindSafe(|| one_round(moment, &tally))).is_err() {
                        failures.lock().unwrap().push(format!("{moment:?}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "GIMLET_TEST_SEED={seed}, a run took {took:?}: {failures:#?}");
    let Tally { resumed, torn, unborn, dangling } = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!(
        "run {took:?}, {lines} lines; {resumed} resumed ({dangling} with open calls, {torn} torn), {unborn} unborn"
    );
    assert!(
        resumed >= ROUNDS / 2 && dangling >= 5,
        "the moments were not spread: {resumed} resumed, {dangling} in calls"
    );
}

// [SDK-179] [TST-146] The same for a plain turn: its answer and its prompt are kept.
#[test]
fn death_right_after_the_result_loses_nothing() {
    for _ in 0..5 {
        let server = ModelServer::script([ScriptedReply::text("The answer."), ScriptedReply::text("Still here.")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut run = sandbox.gimlet(&["-p", "ask", "--output-format", "stream-json", "--verbose"]).spawn();
        let id = run.wait_for("result")["session_id"].as_str().unwrap().to_owned();
        run.kill();
        run.finish();
        let kinds: Vec<Value> = sandbox.transcript().iter().map(|l| l["type"].clone()).collect();
        assert_eq!(kinds.last().unwrap(), "cost-state", "{kinds:?}");
        assert_eq!(sandbox.gimlet(&["-p", "again", "--resume", &id]).run().code(), 0);
        assert!(server.request(1).all_text().contains("The answer."));
    }
}

/// Signals a run whose command has a grandchild in a session of its own; returns how it ended. `code` is the exit code
/// that belongs to the signal.
fn signalled(code: i32) -> (FinishedRun, Sandbox) {
    let command = "setsid sleep 600 >/dev/null 2>&1 & nohup sleep 600 >/dev/null 2>&1 & touch started; sleep 600";
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": command})),
        ScriptedReply::text("Went on."),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    let marker = format!("{}-{:p}", std::process::id(), &raw const server);
    sandbox.set(MARKER, &marker);
    let args = ["-p", "go", "--allowedTools", "Bash", "--output-format", "stream-json", "--verbose"];
    let run = sandbox.gimlet(&args).spawn();
    wait_for_file(&sandbox.project().join("started"));
    let keepers = keepers_of(run.pid());
    match code {
        143 => run.terminate(),
        _ => run.hang_up(),
    }
    let ended = run.finish();
    check_nobody_left(&marker, &keepers);
    let id = sandbox.transcript()[0]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.gimlet(&["-p", "more", "--resume", &id]).run().code(), 0);
    check_request(&server.request(1));
    assert_eq!(server.request(1).tool_uses().len(), 1);
    (ended, sandbox)
}

// [CLI-51] [SDK-188]
#[test]
fn a_signal_during_a_command_ends_everything_without_a_result() {
    for code in [143, 129] {
        let (ended, sandbox) = signalled(code);
        let ended = ended.expect_code(code);
        assert_eq!(ended.stderr, "");
        let kinds: Vec<String> = ended.lines().iter().map(|l| l["type"].as_str().unwrap().to_owned()).collect();
        assert!(kinds.contains(&"assistant".to_owned()) && !kinds.contains(&"result".to_owned()), "{kinds:?}");
        let registry = std::fs::read_dir(sandbox.config_dir().join("sessions")).into_iter().flatten().count();
        assert_eq!(registry, 0, "the record of the live session is gone");
    }
}
