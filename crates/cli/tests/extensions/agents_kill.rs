//! Kills the process while agents work: after resuming, every finished agent is reported exactly once, however often
//! the conversation is resumed; no other agent is; no process is left, not even daemons of hooks.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]
#![cfg(target_os = "linux")]

use crate::common::death::{Random, assert_nobody_left, having};
use crate::common::{EXE, print};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

const ROUNDS: usize = 100;
const WORKERS: usize = 4;
const AGENTS: usize = 6;
const CALLS: usize = 3;
/// The number of requests of every complete run.
const REQUESTS: u64 = 2 + (AGENTS * (CALLS + 1)) as u64;

fn is_agent(request: &CapturedRequest) -> bool {
    request.header("x-claude-code-agent-id").is_some()
}

fn reply(request: &CapturedRequest) -> ScriptedReply {
    if !is_agent(request) {
        if !request.tool_uses().is_empty() || request.all_text().contains("go on") {
            return ScriptedReply::text("noted");
        }
        let call = |n: usize| {
            let input = json!({"description": format!("job {n}"), "prompt": format!("job {n}."), "run_in_background": n.is_multiple_of(2)});
            ScriptedBlock::tool("Agent", &input)
        };
        return ScriptedReply::message((0..AGENTS).map(call).collect());
    }
    let job = request.messages()[0].to_string().split("job ").nth(1).unwrap().split('.').next().unwrap().to_owned();
    if request.tool_uses().len() == CALLS {
        return ScriptedReply::text(format!("report-{job}-end"));
    }
    ScriptedReply::message(vec![ScriptedBlock::tool("Glob", &json!({"pattern": "*"}))])
}

struct Scene {
    server: ModelServer,
    sandbox: Sandbox,
    session: String,
}

impl Scene {
    fn new(number: usize) -> Self {
        let server = ModelServer::with_handler(reply);
        let sandbox = Sandbox::with_server(EXE, &server);
        // A hook of every agent starts a process that tries to survive.
        let daemon = "setsid sh -c 'sleep 600 & sleep 600' >/dev/null 2>&1 </dev/null & exit 0";
        let hook = json!([{"hooks": [{"type": "command", "command": daemon}]}]);
        sandbox.write_config("settings.json", json!({"hooks": {"SubagentStart": hook}}).to_string());
        Self { server, sandbox, session: format!("5f2f1c1e-0000-4000-8000-{number:012x}") }
    }

    fn subagents(&self) -> Option<PathBuf> {
        Some(self.sandbox.transcript_paths().first()?.with_extension("").join("subagents"))
    }

    /// Jobs whose agent had written its whole report.
    fn finished(&self) -> Vec<String> {
        let Some(dir) = self.subagents() else { return Vec::new() };
        let files = std::fs::read_dir(dir).into_iter().flatten().map(|f| f.unwrap().path());
        let mut jobs: Vec<String> =
            files.filter(|p| p.extension().is_some_and(|e| e == "jsonl")).filter_map(|p| report(&p)).collect();
        jobs.sort();
        jobs
    }

    /// How often each report occurs in the last request to the model.
    fn heard(&self) -> Vec<(String, usize)> {
        let main = self.server.requests().into_iter().rfind(|r| !is_agent(r)).unwrap();
        let text = main.json["messages"].to_string();
        (0..AGENTS).map(|n| format!("report-{n}-end")).map(|job| (job.clone(), text.matches(&job).count())).collect()
    }

    /// Asserts that two seconds after the kill no process started in this home is left.
    fn assert_all_gone(&self) {
        assert_nobody_left(|| having("HOME", &self.sandbox.home().display().to_string()));
    }

    fn resume(&self) {
        drop(print(&self.sandbox, "go on", &["--resume", &self.session]).run().expect_clean());
    }
}

/// The report at the end of a transcript, if it ends in one.
fn report(path: &std::path::Path) -> Option<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let last: Value = text.lines().rev().find_map(|line| serde_json::from_str(line).ok())?;
    let said = last["message"]["content"][0]["text"].as_str()?;
    (last["message"]["stop_reason"] == "end_turn" && said.starts_with("report-")).then(|| said.to_owned())
}

fn round(number: usize, random: &mut Random) -> usize {
    let scene = Scene::new(number);
    let run = print(&scene.sandbox, "work", &["--session-id", &scene.session]).spawn();
    // Somewhere in the run, and a little after the request that marks the place.
    scene.server.wait_for_requests(usize::try_from(random.below(REQUESTS)).unwrap());
    testkit::let_pass(Duration::from_micros(random.below(5000)));
    run.kill();
    drop(run.finish());
    scene.assert_all_gone();
    let begun = scene
        .sandbox
        .transcript_paths()
        .first()
        .is_some_and(|p| std::fs::read_to_string(p).unwrap().contains("\"type\":\"user\""));
    if !begun {
        return 0;
    }
    let finished = scene.finished();
    for time in ["once", "again"] {
        scene.resume();
        for (job, count) in scene.heard() {
            let expected = usize::from(finished.contains(&job));
            assert_eq!(count, expected, "{job}, resumed {time}, finished: {finished:?}");
        }
    }
    finished.len()
}

#[test]
fn finished_agents_are_heard_of_once_after_a_kill() {
    let measured = Scene::new(0);
    drop(print(&measured.sandbox, "work", &["--session-id", &measured.session]).run().expect_clean());
    assert_eq!(measured.finished().len(), AGENTS);
    let seed = 0x5eed_0000 + u64::from(std::process::id());
    let (next, met) = (AtomicUsize::new(1), Mutex::new(0));
    std::thread::scope(|scope| {
        for worker in 0..WORKERS as u64 {
            let (next, met) = (&next, &met);
            scope.spawn(move || {
                let mut random = Random(seed + worker * 7919);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number > ROUNDS {
                        break;
                    }
                    let found = round(number, &mut random);
                    *met.lock().unwrap() += found;
                }
            });
        }
    });
    let met = *met.lock().unwrap();
    assert!(met > ROUNDS / 4, "seed {seed}: only {met} agents had finished; the moments are badly spread");
}
