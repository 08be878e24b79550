//! A shell command that a person typed at their terminal. It runs without a permission question: the person could run
//! it anywhere. Its output is masked like that of any command, shown, and sent to the model.

use super::begin;
use crate::calls;
use crate::decide::EndReason;
use crate::result;
use crate::session::{LiveSession, SessionIo};
use crate::turn;
use crate::turn_state::TurnOpener;
use serde::Deserialize;
use serde_json::json;
use session_parts::command::{OWN_COMMAND, Prompt, ScreenEvent, ShellOutputUse};
use session_parts::messages::plain_text;
use store::live_sessions::LiveStatus;
use tokio_util::sync::CancellationToken;
use tools::{ToolClass, ToolOutcome};
use wire::sdk::SystemBody;

pub(super) async fn run(session: &mut LiveSession, prompt: Prompt, then: ShellOutputUse) {
    let command = plain_text(&prompt.content);
    let token = session.control.begin_turn();
    if let Some(live) = &session.io.output.live_record {
        live.set_status(LiveStatus::Shell);
    }
    // When the process must stop, the future is dropped, which kills the command.
    let Some(outcome) = execute(session, &command, &token).await else { return };
    let output = moved_output(&outcome).unwrap_or_else(|| outcome.content.text().into_owned());
    session.io.output.host.system(SystemBody::LocalCommandOutput { content: output.clone() }).await;
    let (stdout, stderr) = if outcome.is_error { (String::new(), output) } else { (output, String::new()) };
    let said = format!(
        "<bash-input>{command}</bash-input>\n<bash-stdout>{stdout}</bash-stdout><bash-stderr>{stderr}</bash-stderr>"
    );
    let Ok(content) = wire::raw::to_raw(&said) else { return };
    let prompt = Prompt { content, verbatim: true, shell: None, ..prompt };
    // After an interrupt the user does not want an answer.
    if then == ShellOutputUse::Answered && !session.control.is_interrupted() {
        Box::pin(turn::run(session, TurnOpener::Prompt(prompt))).await;
        return;
    }
    if let Err(error) = session.record_prompt(&prompt) {
        tracing::warn!(%error, "a command could not be recorded");
    }
    let turn = begin(session, "bash", &prompt).await;
    session.announce().await;
    result::conclude(session, turn, EndReason::Completed).await;
}

/// What is shown of a command that the person moved to the background; `None` for one that ended. The text of the call
/// speaks to the model.
fn moved_output(outcome: &ToolOutcome) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct MovedCommand {
        #[serde(default)]
        stdout: String,
        background_task_id: String,
    }
    let moved: MovedCommand = serde_json::from_str(outcome.structured.as_deref()?.get()).ok()?;
    let note = format!("Moved to the background as task {}.", moved.background_task_id);
    Some(if moved.stdout.is_empty() { note } else { format!("{}\n{note}", moved.stdout.trim_end()) })
}

async fn execute(session: &mut LiveSession, command: &str, token: &CancellationToken) -> Option<ToolOutcome> {
    let cx = match calls::context_for(&session.io, OWN_COMMAND, token.child_token()).await {
        Ok(cx) => cx,
        Err(error) => return Some(ToolOutcome::failed(format!("The command could not be set up: {error}"))),
    };
    let Ok(input) = wire::raw::to_raw(&json!({ "command": command })) else { return None };
    let call = match session.io.tooling.registry.of_class(ToolClass::Shell).map(|tool| tool.parse(&input)) {
        Some(Ok(call)) => call,
        Some(Err(error)) => return Some(ToolOutcome::failed(error.to_string())),
        None => return Some(ToolOutcome::failed("There is no shell in this session.")),
    };
    let io = &session.io;
    let run = Box::pin(async {
        let mut run = std::pin::pin!(tools::masked_calls::run(call, cx));
        let mut outputs = tokio::time::interval(calls::OUTPUT_INTERVAL);
        loop {
            tokio::select! {
                biased;
                outcome = &mut run => return outcome,
                _ = outputs.tick(), if io.output.flags.has_screen => send_output(io).await,
            }
        }
    });
    session.control.during(run).await
}

/// Shows what the command has printed since it was last shown.
async fn send_output(io: &SessionIo) {
    if let Some(output) = io.tooling.state.tasks.foreground.take_output(OWN_COMMAND) {
        io.output.host.aside(ScreenEvent::CallOutput { id: OWN_COMMAND.to_owned(), output }).await;
    }
}
