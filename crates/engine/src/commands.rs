//! Slash commands that this crate carries out itself instead of sending them to the model. The module `table` lists
//! them; this module finds the row, runs it as a turn, and records and shows the reply.

mod budget;
mod cd;
mod changes;
mod clear;
pub(crate) mod colour;
mod compact;
mod compactions;
pub(crate) mod context_usage;
mod directories;
mod mcp;
mod release_notes;
mod shell;
mod show;
mod switch;

use crate::command_table::{CommandAction, TypedCommand};
use crate::decide::EndReason;
use crate::result;
use crate::session::LiveSession;
use crate::session::hooks::SettingsCheckTime;
use crate::turn;
use crate::turn_state::{TurnOpener, TurnState};
use serde_json::json;
use serde_json::value::RawValue;
use session_parts::command::Prompt;
use session_parts::messages::{plain_text, text_message};
use session_parts::prompts;
use session_parts::transcript_writer::{PromptSource, UserLine};
use store::StoreError;
use store::live_sessions::LiveStatus;
use wire::sdk::{AssistantMessage, LocalCommandRun, SdkMessage};

/// The name of the command in the result of a turn whose prompt was an unknown command.
pub const UNKNOWN_COMMAND: &str = "unknown";

/// The reply of a command.
pub(crate) struct CommandReply {
    text: String,
    is_error: bool,
    /// Who receives the reply.
    audience: ReplyAudience,
    /// The structured form of the reply of `/context`.
    usage: Option<Box<RawValue>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyAudience {
    User,
    Model,
    /// Only shown: not recorded in the transcript.
    Moment,
}

impl CommandReply {
    /// For the user only: never sent to the model.
    fn for_user(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, audience: ReplyAudience::User, usage: None }
    }

    /// For the model too, because something it works with has changed.
    fn for_model(text: impl Into<String>) -> Self {
        Self { audience: ReplyAudience::Model, ..Self::for_user(text) }
    }

    fn refused(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::for_user(text) }
    }
}

/// Runs a prompt as a command, or starts a turn with it.
pub(crate) async fn accept(session: &mut LiveSession, prompt: Prompt) {
    if let Some(then) = prompt.shell {
        return shell::run(session, prompt, then).await;
    }
    let typed = if prompt.verbatim { None } else { session.io.commands().find_typed(&plain_text(&prompt.content)) };
    let Some(typed) = typed else {
        if let Some(answer) = unknown_at_screen(session, &prompt).await {
            return answer_unknown(session, &prompt, answer).await;
        }
        Box::pin(turn::run(session, TurnOpener::Prompt(prompt))).await;
        return;
    };
    match typed.row.action {
        CommandAction::Compact if compactions::is_local(&typed.arguments) => run_local(session, typed, prompt).await,
        CommandAction::Compact => compact::run(session, Some(typed.arguments).filter(|a| !a.is_empty()), prompt).await,
        CommandAction::Expand(_) => {
            Box::pin(turn::run(session, TurnOpener::Prompt(prompt))).await;
        }
        CommandAction::Cd => Box::pin(cd::run(session, typed, prompt)).await,
        CommandAction::Clear => clear::run(session, typed, prompt).await,
        CommandAction::Plan => Box::pin(changes::plan(session, typed, prompt)).await,
        _ => run_local(session, typed, prompt).await,
    }
}

/// What is shown to a person at a screen who typed an unknown command.
async fn unknown_at_screen(session: &mut LiveSession, prompt: &Prompt) -> Option<String> {
    if !session.io.output.flags.has_screen || prompt.verbatim {
        return None;
    }
    let text = plain_text(&prompt.content);
    session.io.knowledge.skills.refresh().await;
    let is_skill =
        session_parts::skills::slash::parse_skills(&session.io.knowledge.skills.skills(), &prompt.content).is_some();
    if is_skill || session.io.knowledge.mcp.keep_typed(&text).is_some() {
        return None;
    }
    session.io.commands().unknown_answer(&text)
}

/// The model hears nothing of it, and nothing is recorded.
async fn answer_unknown(session: &mut LiveSession, prompt: &Prompt, answer: String) {
    let mut turn = begin(session, UNKNOWN_COMMAND, prompt).await;
    session.announce().await;
    let (session_id, uuid) = (session.io.output.host.session_id.clone(), sys::id::uuid());
    let typed = plain_text(&prompt.content).trim().to_owned();
    let (command, args) = typed.trim_start_matches('/').split_once(char::is_whitespace).unwrap_or((&typed[1..], ""));
    let frame = AssistantMessage {
        local_command_run: Some(LocalCommandRun { command: command.to_owned(), args: args.trim().to_owned() }),
        local_command_source: Some(typed.clone()),
        ..AssistantMessage::new(result::command_message(&answer), session_id, uuid, sys::clock::now_iso())
    };
    session.io.output.host.send(SdkMessage::Assistant(Box::new(frame))).await;
    turn.text = answer;
    turn.command_failed = true;
    result::conclude(session, turn, EndReason::Completed).await;
}

/// A turn that asks the model nothing.
async fn run_local(session: &mut LiveSession, typed: TypedCommand, prompt: Prompt) {
    let turn = begin(session, typed.row.name, &prompt).await;
    let token = turn.token.clone();
    session.check_changes(SettingsCheckTime::Quiet, &token).await;
    session.io.knowledge.skills.refresh().await;
    // No reply when the process is being stopped.
    let Some(said) = perform(session, &typed, &turn).await else { return };
    if said.audience != ReplyAudience::Moment
        && let Err(error) = session.begin().and_then(|()| session.record_queued(&prompt))
    {
        tracing::warn!(%error, "a command could not be recorded");
    }
    finish_local(session, &typed, turn, said).await;
}

/// Records and shows the reply and ends the turn.
async fn finish_local(session: &mut LiveSession, typed: &TypedCommand, mut turn: TurnState, said: CommandReply) {
    session.announce().await;
    session.send_title().await;
    turn.text.clone_from(&said.text);
    turn.command_failed = said.is_error;
    let recorded = match said.audience {
        ReplyAudience::Model => record(session, typed, &said.text).await,
        ReplyAudience::User => record_for_people(session, typed, &said),
        ReplyAudience::Moment => Ok(()),
    };
    if let Err(error) = recorded {
        tracing::warn!(%error, "a command could not be recorded");
    }
    show_reply(session, typed, said).await;
    let reason = if session.control.is_interrupted() { EndReason::AbortedStreaming } else { EndReason::Completed };
    result::conclude(session, turn, reason).await;
}

async fn begin(session: &mut LiveSession, name: &'static str, prompt: &Prompt) -> TurnState {
    let mut turn = TurnState::new(session, prompt.uuid.clone());
    turn.local_command = Some(name);
    session.io.output.ledger.start_turn();
    session.set_state("running", LiveStatus::Busy).await;
    session.io.apply_chosen_mode().await;
    session.apply_changes().await;
    turn
}

async fn perform(session: &mut LiveSession, typed: &TypedCommand, turn: &TurnState) -> Option<CommandReply> {
    let arguments = typed.arguments.as_str();
    let said = match typed.row.action {
        CommandAction::AddDir => directories::add_dir(session, arguments).await,
        CommandAction::Agents => show::agents(&session.io),
        CommandAction::Autocompact => switch::autocompact(session, arguments),
        CommandAction::Btw => ask_aside(session, arguments, turn).await?,
        CommandAction::Budget => budget::run(session, arguments).await,
        CommandAction::Compact => compactions::run(session, arguments).await,
        CommandAction::Context => {
            session.wait_for_servers(&turn.token).await?;
            let (text, usage) = context_usage::report(session, arguments);
            CommandReply { usage, ..CommandReply::for_user(text) }
        }
        CommandAction::Colour => colour::run(session, arguments),
        CommandAction::Effort => switch::effort(session, arguments),
        CommandAction::Export => changes::export(session, arguments).await,
        CommandAction::Help => show::help(&session.io),
        CommandAction::Hooks => show::hooks(&session.io),
        CommandAction::Mcp => return mcp::run(session, arguments, &turn.token).await,
        CommandAction::Memory => show::memory(session),
        CommandAction::Model => return switch::model(session, arguments, &turn.token).await,
        CommandAction::Permissions => changes::permissions(session, arguments).await,
        CommandAction::Recap => ask_aside(session, show::RECAP_QUESTION, turn).await?,
        CommandAction::ReleaseNotes => release_notes::run(),
        CommandAction::Rename => changes::rename(session, arguments),
        CommandAction::Sandbox => show::sandbox_state(&session.io),
        CommandAction::Skills => show::skills(&session.io),
        CommandAction::Status => show::status(session),
        CommandAction::Tasks => show::tasks(&session.io),
        CommandAction::Todos => show::todos(&session.io),
        CommandAction::Usage => show::usage(session).await,
        CommandAction::Terminal => {
            CommandReply::for_user(format!("/{} needs the terminal interface and is not available here.", typed.name))
        }
        CommandAction::Elsewhere(why) => CommandReply::for_user(format!("/{}: {why}", typed.name)),
        // `accept` handles these: they run turns themselves.
        CommandAction::Cd | CommandAction::Clear | CommandAction::Plan | CommandAction::Expand(_) => {
            CommandReply::for_user("")
        }
    };
    Some(said)
}

/// The answer to a question beside the conversation; `None` when the process is being stopped.
async fn ask_aside(session: &mut LiveSession, question: &str, turn: &TurnState) -> Option<CommandReply> {
    let answered = session.typed_side_question(question, &turn.token).await?;
    let reply = answered.map_or_else(CommandReply::refused, CommandReply::for_user);
    Some(CommandReply { audience: ReplyAudience::Moment, ..reply })
}

/// Records the command and its output in the conversation, in the format that readers of transcripts expect.
async fn record(session: &mut LiveSession, typed: &TypedCommand, output: &str) -> Result<(), StoreError> {
    session.begin()?;
    session.inject(prompts::COMMAND_CAVEAT, PromptSource::Meta).await?;
    session.inject(&prompts::command(typed.row.name, &typed.arguments), PromptSource::Local).await?;
    session.inject(&stdout(output), PromptSource::Local).await
}

fn stdout(output: &str) -> String {
    format!("<local-command-stdout>{output}</local-command-stdout>")
}

/// Records the command and its output for readers of the transcript only: the model never receives them, not even
/// when the conversation is resumed.
fn record_for_people(session: &mut LiveSession, typed: &TypedCommand, said: &CommandReply) -> Result<(), StoreError> {
    session.begin()?;
    let command = prompts::command(typed.row.name, &typed.arguments);
    for (text, source) in [(prompts::COMMAND_CAVEAT, PromptSource::Meta), (command.as_str(), PromptSource::Local)] {
        let line = UserLine {
            message: text_message(text),
            uuid: None,
            mode: session.io.rules.mode(),
            source: &source,
            origin: "",
        };
        session.io.output.transcript.user(line)?;
    }
    let mut fields = serde_json::Map::new();
    fields.insert("content".into(), stdout(&said.text).into());
    fields.insert("level".into(), "info".into());
    fields.insert("isMeta".into(), false.into());
    fields.insert("commandRun".into(), json!({"command": typed.row.name, "args": typed.arguments}));
    if let Some(usage) = said.usage.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok()) {
        fields.insert("contextUsage".into(), usage);
    }
    session.io.output.transcript.system("local_command", fields)
}

/// Shows the reply to the host as an assistant message.
async fn show_reply(session: &LiveSession, typed: &TypedCommand, said: CommandReply) {
    let (session_id, uuid) = (session.io.output.host.session_id.clone(), sys::id::uuid());
    let run = LocalCommandRun { command: typed.row.name.to_owned(), args: typed.arguments.clone() };
    let source = format!("/{} {}", typed.row.name, typed.arguments);
    let frame = AssistantMessage {
        local_command_run: Some(run),
        local_command_source: Some(source.trim_end().to_owned()),
        context_usage: said.usage,
        ..AssistantMessage::new(result::command_message(&said.text), session_id, uuid, sys::clock::now_iso())
    };
    session.io.output.host.send(SdkMessage::Assistant(Box::new(frame))).await;
}
