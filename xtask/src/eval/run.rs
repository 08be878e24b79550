//! One run of one task: a fresh place, the binary as a user starts it, a model, the hidden check.

use super::measure::Measures;
use super::place::Place;
use super::task::Task;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use testkit::clumsy::{Clumsiness, ClumsyModel, SlipEvent};
use testkit::{CapturedRequest, ModelServer};

/// Who answers.
#[derive(Clone, Debug)]
pub(super) enum Backend {
    Clumsy(Clumsiness),
    /// An endpoint with a key, and where its traffic is recorded.
    Live {
        url: Option<String>,
        key: String,
        model: Option<String>,
        record: Option<PathBuf>,
    },
    /// Cassettes below this folder.
    Replay(PathBuf),
}

/// What a run came to.
pub(super) struct Finished {
    pub(super) task: String,
    pub(super) passed: bool,
    /// What the check said, or why there was no check.
    pub(super) said: String,
    /// The part of the check's steps that passed, where it has steps.
    pub(super) partial: Option<(u64, u64)>,
    pub(super) wrong: Vec<String>,
    pub(super) given_up: Vec<String>,
    pub(super) slips: Vec<SlipEvent>,
    pub(super) measures: Measures,
    /// Replay: the first difference to the recorded conversation.
    pub(super) changed: Option<String>,
}

/// The streams and the figures of the processes of one run.
#[derive(Default)]
struct Processes {
    lines: Vec<Value>,
    wall: Duration,
    peak_kb: u64,
    errors: String,
    /// A process did not end in its time and was killed.
    is_late: bool,
}

pub(super) fn run(task: &Task, binary: &Path, backend: &Backend) -> Result<Finished> {
    let place = Place::prepare(task)?;
    match backend {
        Backend::Clumsy(clumsiness) => with_clumsy(task, binary, *clumsiness, &place),
        Backend::Live { .. } | Backend::Replay(_) => {
            let ran = processes(task, binary, &place, &Connection::Outside(backend), |_| {})?;
            let changed = matches!(backend, Backend::Replay(_)).then(|| difference(&ran)).flatten();
            let measures = Measures::of(&ran.lines, &[], ran.wall, ran.peak_kb);
            let finished = Finished { changed, ..checked(task, &place, &ran, &[], measures)? };
            Ok(finished)
        }
    }
}

fn with_clumsy(task: &Task, binary: &Path, clumsiness: Clumsiness, place: &Place) -> Result<Finished> {
    let (folder, env) = (place.project(), place.env());
    let outside = move |command: &str| {
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", command]).env_clear().envs(env.iter().cloned()).current_dir(&folder).stdin(Stdio::null());
        if let Err(error) = shell.status() {
            eprintln!("{command}: {error}");
        }
    };
    // Another sequence for each task, so that tasks do not slip alike.
    let seed =
        task.name.bytes().fold(clumsiness.seed, |seed, byte| seed.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    let model = ClumsyModel::new(&task.oracle, Clumsiness { seed, ..clumsiness }, Box::new(outside));
    let answering = model.clone();
    let server = ModelServer::with_handler(move |request| answering.reply(request));
    let ran = processes(task, binary, place, &Connection::Server(server.url()), |turn| model.begin_turn(turn))?;
    model.finish();
    let requests = server.requests();
    let measures = Measures::of(&ran.lines, &requests, ran.wall, ran.peak_kb);
    let mut finished = checked(task, place, &ran, &requests, measures)?;
    finished.wrong = place.wrong_changes(task, &model.done())?;
    finished.slips = model.slips();
    finished.given_up = model.given_up();
    Ok(finished)
}

enum Connection<'a> {
    Server(&'a str),
    Outside(&'a Backend),
}

/// Runs the binary once for each prompt.
fn processes(
    task: &Task,
    binary: &Path,
    place: &Place,
    to: &Connection<'_>,
    begin: impl Fn(usize),
) -> Result<Processes> {
    let mut all = Processes::default();
    for (at, prompt) in task.prompts.iter().enumerate() {
        if let Some(before) = task.before.get(at).filter(|text| !text.is_empty()) {
            place.shell(&place.project(), &["bash", "-c", before])?;
        }
        begin(at + 1);
        let out = place.root().join(format!("out-{at}.jsonl"));
        let err = place.root().join(format!("err-{at}.txt"));
        let mut command = place.command(&place.project(), &[&binary.to_string_lossy()]);
        command.args(["-p", prompt, "--output-format", "stream-json", "--verbose", "--permission-mode", &task.mode]);
        if !task.allow.is_empty() {
            command.arg("--allowedTools").args(&task.allow);
        }
        let root = place.root().display().to_string();
        command.args(task.args.iter().map(|arg| arg.replace("@ROOT@", &root)));
        if at > 0 {
            command.arg("--continue");
        }
        command.env("CLAUDE_CONFIG_DIR", place.root().join("home/.claude")).envs(task.env.iter().cloned());
        connect(&mut command, to, task, at)?;
        command.stdout(File::create(&out)?).stderr(File::create(&err)?);
        let began = Instant::now();
        let child = command.spawn().with_context(|| format!("{} does not start", binary.display()))?;
        let (peak_kb, is_late) = wait(child, task.limit)?;
        all.peak_kb = all.peak_kb.max(peak_kb);
        all.is_late |= is_late;
        all.wall += began.elapsed();
        let text = std::fs::read_to_string(&out).unwrap_or_default();
        all.lines.extend(text.lines().filter_map(|line| serde_json::from_str(line).ok()));
        all.errors.push_str(&std::fs::read_to_string(&err).unwrap_or_default());
    }
    Ok(all)
}

fn connect(command: &mut std::process::Command, to: &Connection<'_>, task: &Task, turn: usize) -> Result<()> {
    let cassette = |folder: &Path| folder.join(format!("{}-{}.jsonl", task.name, turn + 1));
    match to {
        Connection::Server(url) => {
            command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "eval-key");
        }
        Connection::Outside(Backend::Live { url, key, model, record }) => {
            let value = std::env::var(key).with_context(|| format!("the variable {key} holds no key"))?;
            command.env("ANTHROPIC_API_KEY", value);
            if let Some(url) = url {
                command.env("ANTHROPIC_BASE_URL", url);
            }
            if let Some(model) = model {
                command.args(["--model", model]);
            }
            if let Some(folder) = record {
                std::fs::create_dir_all(folder)?;
                command.arg("--record").arg(cassette(folder));
            }
        }
        Connection::Outside(Backend::Replay(folder)) => {
            command.env("ANTHROPIC_API_KEY", "eval-key").arg("--replay").arg(cassette(folder));
        }
        Connection::Outside(Backend::Clumsy(_)) => {}
    }
    Ok(())
}

/// Waits for the end; returns the most memory the process used, and whether it was over its limit and killed.
fn wait(mut child: Child, limit: Duration) -> Result<(u64, bool)> {
    const STEP: Duration = Duration::from_millis(4);
    let deadline = Instant::now() + limit;
    let mut peak = 0;
    loop {
        peak = peak.max(peak_memory(child.id()));
        if child.try_wait()?.is_some() {
            return Ok((peak, false));
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Ok((peak, true));
        }
        std::thread::sleep(STEP);
    }
}

/// Most resident memory of a process so far, in KB; 0 where the system does not tell.
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Runs the hidden check.
fn checked(
    task: &Task,
    place: &Place,
    ran: &Processes,
    requests: &[CapturedRequest],
    measures: Measures,
) -> Result<Finished> {
    let root = place.root();
    let answers = ran.lines.iter().filter(|line| line["type"] == "result").filter_map(|line| line["result"].as_str());
    let answers: Vec<&str> = answers.collect();
    std::fs::write(root.join("answer.txt"), answers.last().copied().unwrap_or_default())?;
    let bodies: Vec<String> = requests.iter().map(|request| request.json.to_string()).collect();
    std::fs::write(root.join("requests.jsonl"), bodies.join("\n"))?;
    let stream: Vec<String> = ran.lines.iter().map(Value::to_string).collect();
    std::fs::write(root.join("stream.jsonl"), stream.join("\n"))?;
    std::fs::write(root.join("measures.json"), measures.json().to_string())?;
    let script = task.folder.join("check").display().to_string();
    let mut command = place.command(&root.join("check"), &["bash", &script]);
    command.envs([
        ("WORKSPACE", root.join("project")),
        ("ANSWER", root.join("answer.txt")),
        ("REQUESTS", root.join("requests.jsonl")),
        ("STREAM", root.join("stream.jsonl")),
        ("MEASURES", root.join("measures.json")),
        ("TASK", task.folder.clone()),
    ]);
    let output = command.output().context("the check does not start")?;
    let mut said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned();
    let passed = output.status.success() && !answers.is_empty() && !ran.is_late;
    if ran.is_late {
        said = format!("the run did not end within {} s and was killed; {said}", task.limit.as_secs());
    }
    if !passed && answers.is_empty() {
        said.push_str(" (the run gave no result) ");
        said.push_str(&ran.errors.chars().take(300).collect::<String>());
    }
    Ok(Finished {
        task: task.name.clone(),
        passed,
        partial: said.lines().find_map(partial),
        said,
        wrong: Vec::new(),
        given_up: Vec::new(),
        slips: Vec::new(),
        measures,
        changed: None,
    })
}

/// A line `x/y`.
fn partial(line: &str) -> Option<(u64, u64)> {
    let (done, all) = line.trim().split_once('/')?;
    Some((done.parse().ok()?, all.parse().ok()?))
}

/// The first difference that a replayed run reports.
fn difference(ran: &Processes) -> Option<String> {
    let failed = ran.lines.iter().filter(|line| line["type"] == "result" && line["is_error"] == true);
    let texts = failed.filter_map(|line| line["result"].as_str().map(str::to_owned));
    let mut all: Vec<String> = texts.chain([ran.errors.clone()]).collect();
    all.retain(|text| text.contains("exchange"));
    all.into_iter().next()
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
