//! `/cd`: the conversation goes on in another directory. Its file moves to that directory's project; settings, trust,
//! instructions, skills, servers and rules are those of the new place from the next request on. Everything that could refuse is
//! asked before anything changes.

use super::places::destination;
use super::{Said, Typed, begin, local_end};
use crate::command::Prompt;
use crate::hooks::Moment;
use crate::session::Session;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use store::relocate::{self, Moving};
use store::{Layout, Persist};
use tokio_util::sync::CancellationToken;

pub(super) async fn run(session: &mut Session, typed: Typed, prompt: Prompt) {
    let turn = begin(session, typed.row.name, &prompt).await;
    let token = turn.token.clone();
    session.look(Moment::Quiet, &token).await;
    let said = match Box::pin(go(session, &typed.arguments, &token)).await {
        Ok(said) => said,
        Err(why) => Said::refused(why),
    };
    local_end(session, &typed, turn, said).await;
}

async fn go(session: &mut Session, path: &str, token: &CancellationToken) -> Result<Said, String> {
    let dir = destination(&session.io, path)?;
    let old = session.io.watch.cwd.clone();
    if dir == old {
        session.io.state.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&dir);
        return Ok(Said::told(format!("The session works in {} already; the shell stands there now.", dir.display())));
    }
    objection(session)?;
    let elsewhere = session
        .as_in(&dir)
        .map_err(|error| format!("The session stays where it is: {} cannot be worked in. {error}", dir.display()))?;
    // The mark of a session that was put away must not move along.
    if let Some(mark) = session.start.unarchive.take() {
        std::fs::remove_file(mark).ok();
    }
    let kept = session.io.scribe.file().map(|file| file.with_extension(""));
    let moved = move_files(session, (&old, &dir), &elsewhere.transcript).await?;
    let (notices, trusted) = (elsewhere.notices.clone(), elsewhere.trusted);
    Box::pin(session.go_on_as(elsewhere, &moved)).await;
    session.io.scribe.mirror_all().await;
    for notice in notices {
        session.io.host.notice(notice).await;
    }
    session.io.tell_move(old, token).await;
    Ok(Said::told(words(&dir, trusted, kept.as_deref(), session)))
}

/// What ties the session to its place for now.
fn objection(session: &Session) -> Result<(), String> {
    if session.io.stay.is_some() {
        return Err("The session works in a worktree. It has to leave it (ExitWorktree) before it can move.".into());
    }
    if session.is_recorded() {
        return Err("A session that is recorded or replayed cannot move.".into());
    }
    // Commands go on wherever the session is; agents and servers belong to their directory.
    match session.io.state.tasks.running().iter().find(|task| task.kind != "local_bash") {
        None => Ok(()),
        Some(task) if task.is_agent() => {
            Err("Agents still work in this directory. Wait for them or stop them (/tasks), then move.".into())
        }
        Some(_) => Err("A call of a server still runs. Wait for it or stop it (/tasks), then move.".into()),
    }
}

/// The file goes first: when it cannot, nothing has changed. Metadata of the file that must stay near its end.
async fn move_files(session: &mut Session, (from, to): (&Path, &Path), expected: &Path) -> Result<Vec<String>, String> {
    if session.io.scribe.persists() == Persist::No {
        return Ok(Vec::new());
    }
    let transcript = session.io.scribe.transcript();
    transcript.close().await.map_err(|error| format!("The session stays where it is: {error}"))?;
    let layout = Layout::new(&session.io.watch.env);
    let (file, expected) = (transcript.path().to_path_buf(), expected.to_path_buf());
    let places: (PathBuf, PathBuf) = (from.to_path_buf(), to.to_path_buf());
    let worked = tokio::task::spawn_blocking(move || {
        let new = relocate::relocate(&layout, Moving { transcript: &file, from: &places.0, to: &places.1 })?;
        debug_assert_eq!(new, expected);
        Ok::<_, store::StoreError>(relocate::remembered(&new))
    });
    match worked.await {
        Ok(Ok(metadata)) => Ok(metadata),
        Ok(Err(error)) => Err(format!("The session stays where it is: {error}")),
        Err(error) => Err(format!("The session stays where it is: {error}")),
    }
}

/// What the person and the model are told.
fn words(dir: &Path, trusted: bool, kept: Option<&Path>, session: &Session) -> String {
    let mut text = format!(
        "The session works in {} now: relative paths and commands start there, and its settings, instructions and rules count.",
        dir.display()
    );
    let now = session.io.scribe.file().map(|file| file.with_extension(""));
    if let (Some(before), Some(now)) = (kept, now.filter(|now| now.is_dir())) {
        write!(text, " What was saved below {} lies below {} now.", before.display(), now.display()).ok();
    }
    if !trusted {
        text.push_str(" This folder is not trusted, so nothing that it declares to run is run (`gimlet trust`).");
    }
    text
}
