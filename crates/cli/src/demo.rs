//! `gimlet demo`: a coding task whose model is a recording, and whose loop, tools, permissions and transcript are real.
//!
//! Guarantees: needs no key, no network and no configuration; writes only below one fresh temporary folder; says that
//! the model is recorded; succeeds only if the sample project's own test passes afterwards.

mod printer;
mod stage;

use engine::{Command, Event, Prompt};
use printer::DemoPrinter;
use serde_json::value::RawValue;
use stage::DemoStage;
use std::io::{IsTerminal, Write};
use std::time::Duration;
use sys::Env;
use sys::process::KeeperConfig;
use wire::sdk::{SdkMessage, TurnResult};

const PROMPT: &str = include_str!("../demo/prompt.txt");
/// Far more than the few commands need; a demo must never hang.
const DEMO_TIMEOUT: Duration = Duration::from_mins(1);

/// Runs the demo; the exit code says whether the sample project was fixed.
pub(crate) fn run(env: &Env) -> u8 {
    match perform(env) {
        Ok(()) => 0,
        Err(reason) => {
            headless::print_to_stderr(&format!("Error: the demo failed: {reason}"));
            1
        }
    }
}

fn perform(env: &Env) -> Result<(), String> {
    let stage = DemoStage::build(env)?;
    let colours = std::io::stdout().is_terminal() && env.non_empty("NO_COLOR").is_none();
    let mut show = DemoPrinter::new(colours, stage.project());
    print(&show.opening(&stage, PROMPT.trim()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(4).build();
    let runtime = runtime.map_err(|e| format!("the runtime did not start: {e}"))?;
    sys::process::configure(KeeperConfig::OwnBinary);
    let played = runtime.block_on(async {
        let late = |_| format!("it was not over after {} s", DEMO_TIMEOUT.as_secs());
        tokio::time::timeout(DEMO_TIMEOUT, run_turn(&stage, &mut show)).await.map_err(late)?
    });
    let checked = played.and_then(|()| runtime.block_on(stage.check()));
    sys::process::kill_all();
    runtime.shutdown_background();
    match checked {
        Ok(()) => {
            print(&show.closing(&stage));
            Ok(())
        }
        Err(reason) => Err(format!("{reason}\n  The folder is kept: {}", stage.folder().display())),
    }
}

/// One turn through the engine, shown step by step.
async fn run_turn(stage: &DemoStage, show: &mut DemoPrinter) -> Result<(), String> {
    let (commands, mut events) = engine::open(stage.boot()).await.map_err(|e| e.to_string())?;
    let content: Box<RawValue> = wire::raw::to_raw(PROMPT.trim()).map_err(|e| e.to_string())?;
    commands.send(Command::Submit(Prompt::new(content))).await.ok();
    commands.send(Command::Close).await.ok();
    let mut outcome = Err("the session ended without a result".to_owned());
    while let Some(event) = events.recv().await {
        match event {
            Event::Message(SdkMessage::Assistant(said)) if !said.is_api_error_message => {
                print(&show.show_message(&said.message));
            }
            Event::Message(SdkMessage::User(user)) => print(&show.show_result(&user.message)),
            Event::Message(SdkMessage::Result(result)) => outcome = verdict(&result),
            Event::Fault(text) => outcome = Err(text),
            Event::Notice(text) => headless::print_to_stderr(&text),
            Event::Refused(error) => outcome = Err(error.to_string()),
            Event::Message(_)
            | Event::Ask { .. }
            | Event::AskWithdrawn { .. }
            | Event::Response(_)
            | Event::Mirror(_)
            | Event::Dropped(_)
            | Event::Aside(_) => {}
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
