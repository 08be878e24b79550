//! Commands that change the session itself (its name, rules or mode), and `/export`.

use super::{CommandReply, TypedCommand, begin, finish_local, show};
use crate::session::LiveSession;
use crate::turn;
use crate::turn_state::TurnOpener;
use model::Role;
use session_parts::command::Prompt;
use session_parts::export::{self, ExportFormat, ExportHeading};
use session_parts::messages::session_name;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use wire::block::BlockHead;
use wire::control::{PermissionUpdate, UpdatedRule};
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, SettingsSource};

pub(super) fn rename(session: &mut LiveSession, wanted: &str) -> CommandReply {
    let name = session_name(wanted);
    if name.is_empty() {
        return CommandReply::refused("Usage: /rename <name>");
    }
    match set_name(session, &name) {
        Ok(()) => CommandReply::for_user(format!("Session renamed to \"{name}\".")),
        Err(error) => CommandReply::refused(format!("The name could not be saved: {error}")),
    }
}

pub(super) fn set_name(session: &mut LiveSession, name: &str) -> Result<(), store::StoreError> {
    session.begin()?;
    let session_id = session.io.output.host.session_id.clone();
    session.io.output.transcript.name(name.to_owned(), session_id)?;
    session.start.unsent_title = Some(name.to_owned());
    session.control.view.name = Some(name.to_owned());
    if let Some(live) = &session.io.output.live_record {
        live.set_name(Some(name.to_owned()));
    }
    Ok(())
}

pub(super) async fn permissions(session: &mut LiveSession, arguments: &str) -> CommandReply {
    let (verb, rule) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    let rule = rule.trim();
    let behaviours = match verb {
        "" => return CommandReply::for_user(show::permissions(&session.io)),
        "allow" => vec![RuleBehaviour::Allow],
        "ask" => vec![RuleBehaviour::Ask],
        "deny" => vec![RuleBehaviour::Deny],
        "remove" => vec![RuleBehaviour::Allow, RuleBehaviour::Ask, RuleBehaviour::Deny],
        _ => return CommandReply::refused("Usage: /permissions [allow|ask|deny|remove <rule>]"),
    };
    let (tool_name, rule_content) = match permission::rule::split_rule(rule) {
        Ok((tool, content)) => (tool.to_owned(), content.map(str::to_owned)),
        Err(why) => return CommandReply::refused(format!("\"{rule}\" is not a rule: {why}")),
    };
    let kind = if verb == "remove" { "removeRules" } else { "addRules" };
    let update = |behaviour| PermissionUpdate {
        kind: kind.into(),
        rules: Some(vec![UpdatedRule { tool_name: tool_name.clone(), rule_content: rule_content.clone() }]),
        behavior: Some(behaviour),
        mode: None,
        directories: None,
        destination: Some(SettingsSource::Session),
    };
    session.io.grant(behaviours.into_iter().map(update).collect()).await;
    let holds = session.io.rules.watch.granted_rules.iter().any(|known| known.text == rule);
    match (verb, holds) {
        ("remove", false) => CommandReply::for_user(format!("Removed {rule} from this session.")),
        ("remove", true) | (_, false) => {
            CommandReply::refused(format!("{rule} was not changed: only the administrator's rules apply here."))
        }
        (_, true) => CommandReply::for_user(format!("Added {rule} ({verb}) for this session.")),
    }
}

/// `/plan`: switches to plan mode; with a description, also starts a turn with it.
pub(super) async fn plan(session: &mut LiveSession, typed: TypedCommand, prompt: Prompt) {
    session.io.apply_chosen_mode().await;
    session.io.set_mode(PermissionMode::Plan).await;
    if !typed.arguments.is_empty()
        && let Ok(content) = wire::raw::to_raw(&typed.arguments)
    {
        Box::pin(turn::run(session, TurnOpener::Prompt(Prompt { content, ..prompt }))).await;
        return;
    }
    let turn = begin(session, typed.row.name, &prompt).await;
    let said = CommandReply::for_user("Plan mode is on: nothing is changed until you approve a plan.");
    finish_local(session, &typed, turn, said).await;
}

/// Returns the conversation as text, or writes it to a file whose extension selects the format.
pub(super) async fn export(session: &LiveSession, file: &str) -> CommandReply {
    if file.is_empty() {
        return CommandReply::for_user(as_text(session));
    }
    let path = session.io.workspace().absolute(file);
    let path = if path.extension().is_none() { path.with_extension("txt") } else { path };
    let written = match ExportFormat::of_file(&path) {
        ExportFormat::Text => write_new(&path, |out| out.write_all(as_text(session).as_bytes())),
        format => match recorded(session).await {
            Ok((transcript, heading)) => write_new(&path, |out| {
                export::write(&transcript, &heading, format, out)
                    .map_err(|error| std::io::Error::other(error.to_string()))
            }),
            Err(why) => return CommandReply::refused(why),
        },
    };
    match written {
        Ok(()) => CommandReply::for_user(format!("Exported to {}.", path.display())),
        Err(error) => CommandReply::refused(format!("{} could not be written: {error}", path.display())),
    }
}

/// The path of the transcript, flushed, and the heading of the export.
async fn recorded(session: &LiveSession) -> Result<(PathBuf, ExportHeading), String> {
    const NO_TRANSCRIPT: &str = "This session has no transcript yet; only text can be exported.";
    let transcript = session.io.output.transcript.file().ok_or(NO_TRANSCRIPT)?.to_path_buf();
    session.io.output.transcript.transcript().flush().await.map_err(|error| error.to_string())?;
    if !transcript.exists() {
        return Err(NO_TRANSCRIPT.into());
    }
    let heading = ExportHeading {
        session_id: session.io.output.host.session_id.clone(),
        title: store::list::title_of(&transcript),
        cwd: Some(session.io.workspace().cwd.display().to_string()),
    };
    Ok((transcript, heading))
}

/// Fails when the file exists.
fn write_new(path: &Path, write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> std::io::Result<()> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut file = std::io::BufWriter::new(file);
    write(&mut file)?;
    std::io::Write::flush(&mut file)
}

/// The prompts, answers and calls of the conversation, without reminders.
fn as_text(session: &LiveSession) -> String {
    let mut text = String::new();
    for turn in session.context.history().turns() {
        for block in &turn.blocks {
            match (BlockHead::read(block.raw()), &turn.role) {
                (Some(BlockHead::Text(said)), Role::User) if !said.starts_with('<') => {
                    write!(text, "> {}\n\n", said.trim_end().replace('\n', "\n> ")).ok();
                }
                (Some(BlockHead::Text(said)), Role::Assistant) => {
                    write!(text, "{}\n\n", said.trim_end()).ok();
                }
                (Some(BlockHead::ToolUse { name, input, .. }), _) => {
                    let input: String = input.get().chars().take(200).collect();
                    write!(text, "* {name} {input}\n\n").ok();
                }
                _ => {}
            }
        }
    }
    if text.is_empty() { "Nothing has been said yet.".into() } else { text.trim_end().to_owned() + "\n" }
}

#[cfg(test)]
mod tests {
    use super::session_name;

    #[test]
    fn names_are_one_clean_line() {
        // [CLI-215]
        assert_eq!(session_name("  fix\tthe\u{7}\nparser "), "fix the parser");
        assert_eq!(session_name(&"é".repeat(300)).chars().count(), 200);
        assert_eq!(session_name("\n\u{1b}"), "");
    }
}
