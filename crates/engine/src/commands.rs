//! Commands that arrive as prompts and are carried out here, not by the model. What exists stands in `table`; this module finds
//! the row, runs it as a turn of its own, and records and tells what it said.

mod cd;
mod changes;
mod clear;
mod compact;
pub(crate) mod context_usage;
mod mcp;
mod near;
mod places;
mod shell;
mod show;
mod switch;
pub(crate) mod table;

pub(crate) use near::hint;

use crate::command::Prompt;
use crate::decide::EndReason;
use crate::hooks::Moment;
use crate::prompts;
use crate::result;
use crate::scribe::{PromptSource, UserLine};
use crate::session::{Io, Session, plain_text, text_message};
use crate::turn::{self, Opener, Turn};
pub(crate) use changes::session_name;
use config::skills::{Skill, Skills};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::HashSet;
use store::StoreError;
use store::registry::Status as LiveStatus;
use table::{Action, ROWS, Row};
use wire::control::SlashCommand;
use wire::sdk::{Assistant, LocalCommandRun, Message};

/// A prompt that is a command of ours.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub row: &'static Row,
    pub arguments: String,
}

/// What a command came to.
pub(crate) struct Said {
    text: String,
    is_error: bool,
    /// Whether the model is to know.
    audience: Audience,
    /// The structured twin of `/context`.
    usage: Option<Box<RawValue>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    User,
    Model,
    /// Not even the transcript keeps it.
    Moment,
}

impl Said {
    /// For the user alone: the model never reads it.
    fn shown(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, audience: Audience::User, usage: None }
    }

    /// Something changed that the model works with.
    fn told(text: impl Into<String>) -> Self {
        Self { audience: Audience::Model, ..Self::shown(text) }
    }

    fn refused(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::shown(text) }
    }
}

/// The command a prompt is, if it is one of ours and no skill goes before it.
pub(crate) fn typed(text: &str, io: &Io) -> Option<Typed> {
    let typed = parse(text)?;
    if !io.facts.has_commands {
        return None;
    }
    let name = text.trim()[1..].split(char::is_whitespace).next().unwrap_or_default();
    let skill = typed.row.gives_way() && io.lore.skills().find(name).is_some_and(Skill::is_typed);
    (!skill).then_some(typed)
}

fn parse(text: &str) -> Option<Typed> {
    let text = text.trim();
    let (name, arguments) =
        text.strip_prefix('/')?.split_once(char::is_whitespace).unwrap_or((text.get(1..).unwrap_or_default(), ""));
    Some(Typed { row: table::find(name)?, arguments: arguments.trim().to_owned() })
}

/// The text a prompt of ours stands for, with what was typed behind it.
pub(crate) fn expansion(text: &str, io: &Io) -> Option<(&'static str, String, String)> {
    let Typed { row, arguments } = typed(text, io)?;
    let Action::Expand(prompt) = row.action else { return None };
    let filled = prompt.replace("$ARGUMENTS", &arguments).replace(" \n", "\n");
    Some((row.name, arguments, filled.trim().to_owned()))
}

/// A command that may be offered.
enum Listed<'a> {
    Own(&'static Row),
    Skill(&'a Skill),
}

/// Our commands, then skills and custom commands; a skill stands in place of one of ours that gives way.
fn listed<'a>(io: &Io, skills: &'a Skills) -> Vec<Listed<'a>> {
    let typed: Vec<&Skill> = skills.all.iter().filter(|skill| skill.is_typed()).collect();
    let replaced = |name: &str| typed.iter().any(|skill| skill.name == name);
    let is_own = |row: &&Row| row.is_listed() && !(row.gives_way() && replaced(row.name));
    let own: Vec<&'static Row> = ROWS.iter().filter(|row| io.facts.has_commands && is_own(row)).collect();
    let own_names: HashSet<&str> = own.iter().map(|row| row.name).collect();
    let skills = typed.into_iter().filter(|skill| !own_names.contains(skill.name.as_str()));
    own.iter().map(|row| Listed::Own(row)).chain(skills.map(Listed::Skill)).collect()
}

/// Everything a host may offer.
pub(crate) fn listing(io: &Io) -> Vec<SlashCommand> {
    let shown = |command: &Listed<'_>| match command {
        Listed::Own(row) => of_row(row),
        Listed::Skill(skill) => of_skill(skill),
    };
    listed(io, &io.lore.skills()).iter().map(shown).collect()
}

/// The names of everything a host may offer.
pub(crate) fn names(io: &Io) -> Vec<String> {
    let name = |command: &Listed<'_>| match command {
        Listed::Own(row) => row.name.to_owned(),
        Listed::Skill(skill) => skill.name.clone(),
    };
    listed(io, &io.lore.skills()).iter().map(name).collect()
}

/// The names of those that only a person at a terminal can use.
pub(crate) fn terminal_names(io: &Io) -> Vec<String> {
    if !io.facts.has_commands {
        return Vec::new();
    }
    let only = table::ROWS.iter().filter(|row| row.action == table::Action::Terminal);
    only.map(|row| row.name.to_owned()).collect()
}

fn of_row(row: &Row) -> SlashCommand {
    SlashCommand {
        name: row.name.to_owned(),
        description: row.help.to_owned(),
        argument_hint: row.hint.to_owned(),
        aliases: row.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        builtin: true,
    }
}

/// A skill as hosts list it.
pub(crate) fn of_skill(skill: &Skill) -> SlashCommand {
    SlashCommand {
        name: skill.name.clone(),
        description: show::described(skill),
        argument_hint: skill.argument_hint.clone().unwrap_or_default(),
        aliases: skill.aliases.clone(),
        builtin: false,
    }
}

/// Carries a prompt out as a command, or opens a turn with it.
pub(crate) async fn accept(session: &mut Session, prompt: Prompt) {
    if let Some(then) = prompt.shell {
        return shell::run(session, prompt, then).await;
    }
    let typed = if prompt.verbatim { None } else { typed(&plain_text(&prompt.content), &session.io) };
    let Some(typed) = typed else {
        Box::pin(turn::run(session, Opener::Prompt(prompt))).await;
        return;
    };
    match typed.row.action {
        Action::Compact => compact::run(session, Some(typed.arguments).filter(|a| !a.is_empty()), prompt).await,
        Action::Expand(_) => {
            Box::pin(turn::run(session, Opener::Prompt(prompt))).await;
        }
        Action::Cd => Box::pin(cd::run(session, typed, prompt)).await,
        Action::Clear => clear::run(session, typed, prompt).await,
        Action::Plan => Box::pin(changes::plan(session, typed, prompt)).await,
        _ => local(session, typed, prompt).await,
    }
}

/// A turn that asks the model nothing.
async fn local(session: &mut Session, typed: Typed, prompt: Prompt) {
    let turn = begin(session, typed.row.name, &prompt).await;
    let token = turn.token.clone();
    session.look(Moment::Quiet, &token).await;
    session.io.lore.refresh().await;
    // Nothing is said when the process is being stopped.
    let Some(said) = perform(session, &typed, &turn).await else { return };
    if said.audience != Audience::Moment
        && let Err(error) = session.begin().and_then(|()| session.record_queueing(&prompt))
    {
        tracing::warn!(%error, "a command could not be recorded");
    }
    local_end(session, &typed, turn, said).await;
}

/// Records and tells what was said; the turn is over.
async fn local_end(session: &mut Session, typed: &Typed, mut turn: Turn, said: Said) {
    session.announce().await;
    session.tell_title().await;
    turn.text.clone_from(&said.text);
    turn.command_failed = said.is_error;
    let recorded = match said.audience {
        Audience::Model => record(session, typed, &said.text).await,
        Audience::User => note(session, typed, &said),
        Audience::Moment => Ok(()),
    };
    if let Err(error) = recorded {
        tracing::warn!(%error, "a command could not be recorded");
    }
    say(session, typed, said).await;
    let reason = if session.control.is_interrupted() { EndReason::AbortedStreaming } else { EndReason::Completed };
    result::conclude(session, turn, reason).await;
}

async fn begin(session: &mut Session, name: &'static str, prompt: &Prompt) -> Turn {
    let mut turn = Turn::new(session, prompt.uuid.clone());
    turn.local_command = Some(name);
    session.io.ledger.start_turn();
    session.set_state("running", LiveStatus::Busy).await;
    session.io.adopt_mode().await;
    session.adopt_wishes().await;
    turn
}

async fn perform(session: &mut Session, typed: &Typed, turn: &Turn) -> Option<Said> {
    let arguments = typed.arguments.as_str();
    let said = match typed.row.action {
        Action::AddDir => places::add_dir(session, arguments).await,
        Action::Agents => show::agents(&session.io),
        Action::Autocompact => switch::autocompact(session, arguments),
        Action::Btw => {
            let answered = session.typed_side_question(arguments, &turn.token).await?;
            Said { audience: Audience::Moment, ..answered.map_or_else(Said::refused, Said::shown) }
        }
        Action::Context => {
            session.settle_servers(&turn.token).await?;
            let (text, usage) = context_usage::told(session, arguments);
            Said { usage, ..Said::shown(text) }
        }
        Action::Effort => switch::effort(session, arguments),
        Action::Export => changes::export(session, arguments).await,
        Action::Help => show::help(&session.io),
        Action::Hooks => show::hooks(&session.io),
        Action::Mcp => return mcp::run(session, arguments, &turn.token).await,
        Action::Memory => show::memory(session),
        Action::Model => return switch::model(session, arguments, &turn.token).await,
        Action::Permissions => changes::permissions(session, arguments).await,
        Action::Rename => changes::rename(session, arguments),
        Action::Skills => show::skills(&session.io),
        Action::Status => show::status(session),
        Action::Tasks => show::tasks(&session.io),
        Action::Todos => show::todos(&session.io),
        Action::Usage => show::usage(session),
        Action::Terminal => {
            Said::shown(format!("/{} needs the terminal interface and is not available here.", typed.row.name))
        }
        Action::Elsewhere(why) => Said::shown(format!("/{}: {why}", typed.row.name)),
        // They have turns of their own.
        Action::Cd | Action::Clear | Action::Compact | Action::Plan | Action::Expand(_) => Said::shown(""),
    };
    Some(said)
}

/// The command and what it said, in the conversation: as readers of transcripts know them.
async fn record(session: &mut Session, typed: &Typed, output: &str) -> Result<(), StoreError> {
    session.begin()?;
    session.inject(prompts::COMMAND_CAVEAT, PromptSource::Meta).await?;
    session.inject(&prompts::command(typed.row.name, &typed.arguments), PromptSource::Local).await?;
    session.inject(&stdout(output), PromptSource::Local).await
}

fn stdout(output: &str) -> String {
    format!("<local-command-stdout>{output}</local-command-stdout>")
}

/// The same, for people and programs that read the transcript: the model never sees it, also when the conversation is
/// resumed (`resume::local_commands`).
fn note(session: &mut Session, typed: &Typed, said: &Said) -> Result<(), StoreError> {
    session.begin()?;
    let command = prompts::command(typed.row.name, &typed.arguments);
    for (text, source) in [(prompts::COMMAND_CAVEAT, PromptSource::Meta), (command.as_str(), PromptSource::Local)] {
        let line =
            UserLine { message: text_message(text), uuid: None, mode: session.io.mode, source: &source, origin: "" };
        session.io.scribe.user(line)?;
    }
    let mut fields = serde_json::Map::new();
    fields.insert("content".into(), stdout(&said.text).into());
    fields.insert("level".into(), "info".into());
    fields.insert("isMeta".into(), false.into());
    fields.insert("commandRun".into(), json!({"command": typed.row.name, "args": typed.arguments}));
    if let Some(usage) = said.usage.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok()) {
        fields.insert("contextUsage".into(), usage);
    }
    session.io.scribe.system("local_command", fields)
}

/// What a command said, in the place of an answer.
async fn say(session: &Session, typed: &Typed, said: Said) {
    let (session_id, uuid) = (session.io.host.session_id.clone(), sys::id::uuid());
    let run = LocalCommandRun { command: typed.row.name.to_owned(), args: typed.arguments.clone() };
    let source = format!("/{} {}", typed.row.name, typed.arguments);
    let frame = Assistant {
        local_command_run: Some(run),
        local_command_source: Some(source.trim_end().to_owned()),
        context_usage: said.usage,
        ..Assistant::new(result::command_message(&said.text), session_id, uuid, sys::clock::now_iso())
    };
    session.io.host.send(Message::Assistant(Box::new(frame))).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_are_commands() {
        // [SDK-66]
        let parsed = |text: &str| parse(text).map(|typed| (typed.row.name, typed.arguments));
        assert_eq!(parsed("/compact"), Some(("compact", String::new())));
        assert_eq!(parsed("  /compact keep the API  "), Some(("compact", "keep the API".into())));
        assert_eq!(parsed("/reset x"), Some(("clear", "x".into())));
        for other in ["/compactor", "compact", "/", "", "/unknown x", "see /compact", "/usr/bin"] {
            assert_eq!(parsed(other), None, "{other:?}");
        }
    }
}
