//! `gimlet demo`: a coding task whose model is a recording, and whose loop, tools, permissions and transcript are real.
//! With `--tui` it opens the interface, where a person answers its question and may look around.
//!
//! Guarantees: needs no key, no network and no configuration; writes only below one fresh temporary folder; says that
//! the model is recorded; succeeds only if the sample project's own test passes afterwards.

mod stage;
mod words;

use engine::{Command, Event, Prompt};
use serde_json::value::RawValue;
use stage::DemoStage;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::time::Duration;
use sys::Env;
use sys::process::KeeperConfig;
use tui::SessionPrinter;
use wire::sdk::{SdkMessage, TurnResult};
use words::DemoWords;

const PROMPT: &str = include_str!("../demo/prompt.txt");
/// Far more than the few commands need; a demo must never hang.
const DEMO_TIMEOUT: Duration = Duration::from_mins(1);
/// The width when standard output is no terminal.
const COLUMNS: usize = 92;

const USAGE: &str = "Usage: gimlet demo [--tui]

Replays a recorded coding task in a temporary folder: the model is recorded, everything
else is real. Needs no key, no network and no configuration.

  --tui   open the interface itself with the recorded model, and answer its question";

/// Runs the demo; the exit code says whether the sample project was fixed.
pub(crate) fn run(rest: &[OsString], env: &Env) -> u8 {
    let words: Vec<String> = rest.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let played = match words[..] {
        [] => perform(env),
        ["--tui"] => open_interface(env),
        ["--help" | "-h"] => {
            print(&format!("{USAGE}\n"));
            return 0;
        }
        _ => {
            headless::print_to_stderr(&format!("error: unknown option '{}'\n{USAGE}", words.join(" ")));
            return 1;
        }
    };
    match played {
        Ok(code) => code,
        Err(reason) => {
            headless::print_to_stderr(&format!("Error: the demo failed: {reason}"));
            1
        }
    }
}

fn perform(env: &Env) -> Result<u8, String> {
    let stage = DemoStage::build(env)?;
    let is_terminal = std::io::stdout().is_terminal();
    let words = DemoWords { colours: is_terminal && env.non_empty("NO_COLOR").is_none() };
    let mut show = SessionPrinter::new(&stage.project(), columns(), is_terminal.then_some(env));
    print(&words.opening(&stage));
    print(&show.prompt(PROMPT.trim()));
    let runtime = runtime()?;
    let played = runtime.block_on(async {
        let late = |_| format!("it did not finish within {} s", DEMO_TIMEOUT.as_secs());
        tokio::time::timeout(DEMO_TIMEOUT, run_turn(&stage, &mut show)).await.map_err(late)?
    });
    let checked = played.and_then(|()| runtime.block_on(stage.check()));
    sys::process::kill_all();
    runtime.shutdown_background();
    match checked {
        Ok(()) => {
            print(&words.closing(&stage));
            Ok(0)
        }
        Err(reason) => Err(format!("{reason}\n  The folder is kept: {}", stage.folder().display())),
    }
}

/// Opens the interface with the recorded model and sends its prompt.
fn open_interface(env: &Env) -> Result<u8, String> {
    if !std::io::stdout().is_terminal() {
        return Err("--tui needs a terminal; without it, run `gimlet demo`".into());
    }
    let stage = DemoStage::build(env)?;
    let boot = stage.interactive_boot(env);
    let preferences = crate::preferences::read(&boot.env, false);
    let start = tui::TuiStart {
        boot,
        prompt: Some(PROMPT.trim().to_owned()),
        preferences: preferences.preferences,
        follows_background: preferences.follows_background,
        files: preferences.files,
        warnings: vec![DemoWords::NOTICE.to_owned()],
        doctor: crate::doctor::report,
    };
    let runtime = runtime()?;
    let code = runtime.block_on(Box::pin(tui::run(start)));
    let checked = runtime.block_on(stage.check());
    sys::process::kill_all();
    runtime.shutdown_background();
    let words = DemoWords { colours: env.non_empty("NO_COLOR").is_none() };
    match checked {
        Ok(()) => print(&words.closing(&stage)),
        // The person may have said no, or left early.
        Err(_) => print(&words.left_early(&stage)),
    }
    Ok(code)
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build();
    sys::process::configure(KeeperConfig::OwnBinary);
    runtime.map_err(|e| format!("the runtime did not start: {e}"))
}

fn columns() -> usize {
    let tty = sys::tty::Tty::open().ok();
    tty.and_then(|tty| tty.size()).map_or(COLUMNS, |(columns, _)| columns)
}

/// One turn through the engine, shown as the interface shows it.
async fn run_turn(stage: &DemoStage, show: &mut SessionPrinter) -> Result<(), String> {
    let (commands, mut events) = engine::open(stage.boot()).await.map_err(|e| e.to_string())?;
    let content: Box<RawValue> = wire::raw::to_raw(PROMPT.trim()).map_err(|e| e.to_string())?;
    commands.send(Command::Submit(Prompt::new(content))).await.ok();
    commands.send(Command::Close).await.ok();
    let mut outcome = Err("the session ended without a result".to_owned());
    while let Some(event) = events.recv().await {
        match &event {
            Event::Message(SdkMessage::Assistant(said)) if said.is_api_error_message => continue,
            Event::Message(SdkMessage::Result(result)) => outcome = verdict(result),
            Event::Fault(text) => {
                outcome = Err(text.clone());
                continue;
            }
            Event::Refused(error) => {
                outcome = Err(error.to_string());
                continue;
            }
            Event::Notice(text) => {
                headless::print_to_stderr(text);
                continue;
            }
            Event::Message(_)
            | Event::Ask { .. }
            | Event::AskWithdrawn { .. }
            | Event::Response(_)
            | Event::Mirror(_)
            | Event::Dropped(_)
            | Event::Aside(_) => {}
        }
        // An error is told at the end.
        if outcome.is_ok() || !matches!(event, Event::Message(SdkMessage::Result(_))) {
            print(&show.event(event));
        }
    }
    outcome
}

fn verdict(result: &TurnResult) -> Result<(), String> {
    if !result.permission_denials.is_empty() {
        let names: Vec<&str> = result.permission_denials.iter().map(|d| d.tool_name.as_str()).collect();
        return Err(format!("permission was denied for {}", names.join(", ")));
    }
    if !result.is_error {
        return Ok(());
    }
    let told = result.errors.as_ref().filter(|e| !e.is_empty()).map(|e| e.join("\n"));
    Err(told.or_else(|| result.result.clone()).unwrap_or_else(|| result.subtype.to_owned()))
}

/// A reader that has gone does not change what the demo proves.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).ok();
}
