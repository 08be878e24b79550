//! Kills the process at random moments while MCP servers, hooks and shells run: whatever they started, and however it
//! tries to survive, no process of the tree is alive two seconds later.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]
#![cfg(target_os = "linux")]

use crate::common::death::{Random, assert_nobody_left, having, seed};
use crate::common::mcp::{FIXTURE, server};
use crate::common::{EXE, host};
use serde_json::json;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

const ROUNDS: usize = 42;
const WORKERS: usize = 3;
const MARKER: &str = "ORPHAN_TEST";
/// The number of requests before the last call, which never ends.
const REQUESTS: u64 = 6;

#[derive(Clone, Copy, Debug)]
enum Death {
    Kill,
    Terminate,
    /// The host is gone: every pipe to it is closed.
    Closed,
}

const DEATHS: [Death; 3] = [Death::Kill, Death::Terminate, Death::Closed];

#[derive(Debug)]
struct Strike {
    death: Death,
    /// Kill after this many requests, and then this time.
    requests: usize,
    delay: Duration,
}

fn strike(round: usize, random: &mut Random) -> Strike {
    let requests = random.below(REQUESTS + 1);
    // Before the first request servers are being started, which takes longer than a call.
    let longest = if requests == 0 { 600_000 } else { 60_000 };
    Strike {
        death: DEATHS[round % DEATHS.len()],
        requests: usize::try_from(requests).unwrap(),
        delay: Duration::from_micros(random.below(longest)),
    }
}

/// Servers started in common ways, with different behaviour.
fn servers() -> String {
    let shell = json!({"command": "sh", "args": ["-c", format!("python3 '{FIXTURE}' leave; true")]});
    json!({"mcpServers": {"plain": server(&[]), "shell": shell, "stubborn": server(&["stubborn"]),
        "leaving": server(&["stubborn", "leave"])}})
    .to_string()
}

/// The next call, by how many the conversation already has.
fn reply(request: &CapturedRequest) -> ScriptedReply {
    let quiet = ">/dev/null 2>&1 </dev/null &";
    let bash = |command: String| ScriptedBlock::tool("Bash", &json!({"command": command}));
    let call = match request.tool_uses().len() {
        0 => {
            ScriptedBlock::tool("Bash", &json!({"command": "setsid sleep 600 & sleep 600", "run_in_background": true}))
        }
        1 => ScriptedBlock::tool("mcp__plain__echo", &json!({"text": "x"})),
        2 => bash(format!("nohup sleep 600 {quiet} true")),
        3 => ScriptedBlock::tool("mcp__shell__add", &json!({"a": 1, "b": 2})),
        4 => bash(format!("(setsid sh -c 'sleep 600 {quiet}' {quiet}) ; sleep 0.02")),
        _ => return ScriptedReply::tool("mcp__leaving__sleep", json!({"seconds": 600})),
    };
    ScriptedReply::message(vec![call])
}

struct Scene {
    server: ModelServer,
    sandbox: Sandbox,
    marker: String,
}

impl Scene {
    fn new(number: usize) -> Self {
        let server = ModelServer::with_handler(reply);
        let mut sandbox = Sandbox::with_server(EXE, &server);
        let marker = format!("{}-{number}", std::process::id());
        sandbox.set(MARKER, &marker);
        let hook = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
        let daemon = "setsid sh -c 'sleep 600 & sleep 600' >/dev/null 2>&1 </dev/null & exit 0";
        let hooks =
            json!({"SessionStart": hook(daemon), "PreToolUse": hook(daemon), "PostToolUse": hook("sleep 0.03")});
        sandbox.write_config("settings.json", json!({"hooks": hooks}).to_string());
        Self { server, sandbox, marker }
    }

    fn start(&self) -> Child {
        let config = servers();
        let flags = ["--mcp-config", &config, "--allowedTools", "Bash", "mcp__plain", "mcp__shell", "mcp__leaving"];
        let mut child = host(&self.sandbox, &flags).command().spawn().unwrap();
        let prompt = json!({"type": "user", "message": {"role": "user", "content": "go"},
            "parent_tool_use_id": null, "session_id": ""});
        writeln!(child.stdin.as_mut().unwrap(), "{prompt}").unwrap();
        child
    }

    fn alive(&self) -> Vec<i32> {
        having(MARKER, &self.marker)
    }
}

fn die(child: &mut Child, death: Death) {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    match death {
        Death::Kill => kill_process(pid, Signal::KILL).unwrap(),
        Death::Terminate => kill_process(pid, Signal::TERM).unwrap(),
        Death::Closed => drop((child.stdin.take(), child.stdout.take(), child.stderr.take())),
    }
}

/// Waits for the process itself.
fn wait(child: &mut Child) {
    testkit::wait_until("it goes on without anybody", || child.try_wait().unwrap().is_some());
}

/// How a round went.
#[derive(Debug)]
struct Round {
    number: usize,
    /// The number of processes at the moment of the kill.
    before: usize,
    /// From the kill until the process itself was gone, and until no process was left.
    ended: Duration,
    gone: Duration,
}

fn one_round(number: usize, strike: &Strike) -> Round {
    let scene = Scene::new(number);
    let mut child = scene.start();
    scene.server.wait_for_requests(strike.requests);
    testkit::let_pass(strike.delay);
    let before = scene.alive().len();
    let struck = Instant::now();
    die(&mut child, strike.death);
    wait(&mut child);
    let ended = struck.elapsed();
    assert_nobody_left(|| scene.alive());
    Round { number, before, ended, gone: struck.elapsed() }
}

// [TST-221]
#[test]
fn nobody_outlives_us_whenever_and_however_we_die() {
    let seed = seed();
    let mut random = Random(seed);
    let strikes: Vec<Strike> = (0..ROUNDS).map(|round| strike(round, &mut random)).collect();
    let (next, rounds, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(strike) = strikes.get(number) else { break };
                    match catch_unwind(AssertUnwindSafe(|| one_round(number, strike))) {
                        Ok(round) => rounds.lock().unwrap().push(round),
                        Err(_) => failures.lock().unwrap().push(format!("{strike:?}")),
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "GIMLET_TEST_SEED={seed}: {failures:#?}");
    let mut rounds = rounds.into_inner().unwrap();
    rounds.sort_by_key(|round| round.gone);
    let crowded = rounds.iter().filter(|round| round.before >= 8).count();
    println!("{crowded} of {ROUNDS} rounds with 8 processes or more; the slowest:");
    for round in rounds.iter().rev().take(5) {
        let Round { number, before, ended, gone } = round;
        println!(
            "{before} processes, {ended:?} until we ended, {gone:?} until nobody was left: {:?}",
            strikes[*number]
        );
    }
    assert!(crowded >= ROUNDS / 3, "the moments were not spread: {rounds:#?}");
}
