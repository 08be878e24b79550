//! `/cd`: continues the conversation in another directory. The transcript moves to the project of that directory;
//! settings, trust, instructions, skills, servers and rules of the new directory apply from the next request on.
//! Every check that could refuse runs before anything changes.

use super::directories::destination;
use super::{CommandReply, TypedCommand, begin, finish_local};
use crate::session::LiveSession;
use crate::session::hooks::SettingsCheckTime;
use session_parts::command::Prompt;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use store::relocate::{self, SessionMove};
use store::{Persistence, StoreLayout};
use tokio_util::sync::CancellationToken;

pub(super) async fn run(session: &mut LiveSession, typed: TypedCommand, prompt: Prompt) {
    let turn = begin(session, typed.row.name, &prompt).await;
    let token = turn.token.clone();
    session.check_changes(SettingsCheckTime::Quiet, &token).await;
    let said = match Box::pin(change_directory(session, &typed.arguments, &token)).await {
        Ok(said) => said,
        Err(why) => CommandReply::refused(why),
    };
    finish_local(session, &typed, turn, said).await;
}

async fn change_directory(
    session: &mut LiveSession,
    path: &str,
    token: &CancellationToken,
) -> Result<CommandReply, String> {
    let dir = destination(&session.io, path)?;
    let old = session.io.rules.watch.cwd.clone();
    if dir == old {
        session.io.tooling.state.cwd.lock().clone_from(&dir);
        return Ok(CommandReply::for_model(format!(
            "The session works in {} already; the shell stands there now.",
            dir.display()
        )));
    }
    objection(session)?;
    let elsewhere = session
        .build_relocated(&dir)
        .map_err(|error| format!("The session stays where it is: {} cannot be worked in. {error}", dir.display()))?;
    // The mark of an archived session must not move along.
    if let Some(mark) = session.start.unarchive.take() {
        std::fs::remove_file(mark).ok();
    }
    let kept = session.io.output.transcript.file().map(|file| file.with_extension(""));
    let moved = move_files(session, (&old, &dir), &elsewhere.transcript).await?;
    let (notices, trusted) = (elsewhere.notices.clone(), elsewhere.trusted);
    Box::pin(session.relocate(elsewhere, &moved)).await;
    session.io.output.transcript.mirror_all().await;
    for notice in notices {
        session.io.output.host.notice(notice).await;
    }
    session.io.report_move(old, token).await;
    Ok(CommandReply::for_model(describe_move(&dir, trusted, kept.as_deref(), session)))
}

/// Why the session cannot leave its directory now.
fn objection(session: &LiveSession) -> Result<(), String> {
    if session.io.tooling.active_worktree.is_some() {
        return Err("The session works in a worktree. It has to leave it (ExitWorktree) before it can move.".into());
    }
    if session.uses_cassette() {
        return Err("A session that is recorded or replayed cannot move.".into());
    }
    // Shell commands may go on running after a move; agents and servers belong to the directory.
    match session.io.tooling.state.tasks.running().iter().find(|task| task.kind != "local_bash") {
        None => Ok(()),
        Some(task) if task.is_agent() => {
            Err("Agents still work in this directory. Wait for them or stop them (/tasks), then move.".into())
        }
        Some(_) => Err("A call of a server still runs. Wait for it or stop it (/tasks), then move.".into()),
    }
}

/// Moves the transcript and the session's files. Nothing has changed when this fails. Returns the metadata lines that
/// must stay near the end of the transcript.
async fn move_files(
    session: &mut LiveSession,
    (from, to): (&Path, &Path),
    expected: &Path,
) -> Result<Vec<String>, String> {
    if session.io.output.transcript.persists() == Persistence::No {
        return Ok(Vec::new());
    }
    let transcript = session.io.output.transcript.transcript();
    transcript.close().await.map_err(|error| format!("The session stays where it is: {error}"))?;
    let layout = StoreLayout::new(&session.io.rules.watch.env);
    let (file, expected) = (transcript.path().to_path_buf(), expected.to_path_buf());
    let places: (PathBuf, PathBuf) = (from.to_path_buf(), to.to_path_buf());
    let worked = tokio::task::spawn_blocking(move || {
        let new = relocate::relocate(&layout, SessionMove { transcript: &file, from: &places.0, to: &places.1 })?;
        debug_assert_eq!(new, expected);
        Ok::<_, store::StoreError>(relocate::sticky_lines(&new))
    });
    match worked.await {
        Ok(Ok(metadata)) => Ok(metadata),
        Ok(Err(error)) => Err(format!("The session stays where it is: {error}")),
        Err(error) => Err(format!("The session stays where it is: {error}")),
    }
}

/// The reply for the person and the model.
fn describe_move(dir: &Path, trusted: bool, kept: Option<&Path>, session: &LiveSession) -> String {
    let mut text = format!(
        "The session works in {} now: relative paths and commands start there, and its settings, instructions and rules count.",
        dir.display()
    );
    let now = session.io.output.transcript.file().map(|file| file.with_extension(""));
    if let (Some(before), Some(now)) = (kept, now.filter(|now| now.is_dir())) {
        write!(text, " What was saved below {} lies below {} now.", before.display(), now.display()).ok();
    }
    if !trusted {
        text.push_str(" This folder is not trusted, so nothing that it declares to run is run (`gimlet trust`).");
    }
    text
}
