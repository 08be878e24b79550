//! Saves what a call is about to destroy and completes the snapshot when the call has ended. For a call that destroys
//! nothing only its accesses are checked. A failure to save never stops a call, but the user is warned.

mod checkpoint;
mod git;
mod index;
mod places;

use crate::session::SessionIo;
use checkpoint::CheckpointNote;
use permission::Access;
use permission::destruction::{LossExtent, PossibleLosses};
use session_parts::host::HostSender;
use session_parts::tool_use::ToolUse;
use std::time::Duration;
use store::snapshots::{ChangeKind, PendingSnapshot, SnapshotCause, SnapshotDraft, SnapshotHeader, SnapshotLimits};
use store::{Snapshots, StoreError};
use sys::Env;
use tools::{CallContext, ToolCall, ToolOutcome};

/// Days a snapshot is kept when `cleanupPeriodDays` is not set.
const SNAPSHOT_DAYS: u64 = 30;
/// Maximum size of all snapshots together, in bytes.
const STORE_BYTES: u64 = 8 << 30;
/// Maximum length of a command in lists and notices, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// What was saved for a call, and what its checkpoint is told about it.
pub(super) struct UndoGuard {
    /// `None` when there was nothing to save, or saving is off.
    snapshot: Option<PendingSnapshot>,
    note: Option<CheckpointNote>,
    /// The command starts a process that may outlive it.
    may_outlive: bool,
    /// Set for a change of files: what is shown to the user once the change was made.
    warning: Option<UndoWarning>,
}

/// A tool that changes files either makes its change or fails without one, so its warning waits for the end.
struct UndoWarning {
    text: Option<String>,
    host: HostSender,
}

/// Saves what `call` may destroy; pass the result to `run`. `None` when nothing was saved.
pub(super) async fn capture(
    used: &ToolUse,
    call: &dyn ToolCall,
    cx: &CallContext,
    io: &SessionIo,
) -> Option<UndoGuard> {
    let settings = &io.rules.watch.loaded.settings;
    let prompt = io.output.checkpoints.prompt();
    let is_off = settings.snapshots_enabled == Some(false);
    if is_off && prompt.is_none() {
        return None;
    }
    let accesses = call.access(&cx.workspace);
    let losses = PossibleLosses::from_accesses(&accesses, &cx.workspace.cwd, cx.workspace.home.as_deref());
    let mut note = CheckpointNote::begin(used, &accesses, &losses, io);
    if is_off || losses.is_empty() {
        if let Some(note) = note.as_mut().filter(|_| is_off) {
            note.without_snapshot().await;
        }
        let note = note.filter(CheckpointNote::is_needed);
        return note.map(|note| UndoGuard { snapshot: None, note: Some(note), may_outlive: false, warning: None });
    }
    let mut limits = SnapshotLimits::default();
    if let Some(megabytes) = settings.snapshot_limit_megabytes {
        limits.bytes = u64::from(megabytes) << 20;
    }
    let about = describe(used, &accesses, io);
    let (what, is_edit) = (about.description.clone(), about.kind == ChangeKind::Edit);
    let (grave, unnamed, uncovered) = (losses.is_irreversible, losses.unnamed.clone(), losses.uncovered.clone());
    let days = settings.cleanup_period_days.map_or(SNAPSHOT_DAYS, u64::from);
    let snapshots = Snapshots::at(&io.tooling.state.facts.config_home);
    let begin = {
        let snapshots = snapshots.clone();
        move || snapshots.begin(about, limits)
    };
    let mut saved = save(begin, losses, io.env.clone()).await;
    if let Some(kept) = note.as_mut() {
        saved = kept.keep_before(saved).await;
    }
    tokio::task::spawn_blocking(move || snapshots.prune_daily(Duration::from_hours(24 * days), STORE_BYTES));
    match saved {
        Ok(kept) => {
            let mut text = notice(kept.as_ref(), &what, grave, (&unnamed, &uncovered));
            let warning =
                (is_edit && kept.is_some()).then(|| UndoWarning { text: text.take(), host: io.output.host.clone() });
            if let Some(text) = text {
                io.output.host.notice(text).await;
            }
            let goes_on = accesses.iter().any(|access| matches!(access, Access::Run(text) if has_background(text)));
            (kept.is_some() || note.is_some()).then(|| UndoGuard {
                snapshot: kept,
                note,
                may_outlive: goes_on,
                warning,
            })
        }
        // The user has already been warned that this session saves nothing.
        Err(error) if io.output.transcript.unsaved().is_some() => {
            tracing::debug!(%error, what, "nothing was saved");
            None
        }
        Err(error) => {
            io.output.host.notice(format!("Warning: nothing was saved before `{what}`: {error}")).await;
            None
        }
    }
}

/// Runs the call, then completes its snapshot.
pub(super) async fn run(call: Box<dyn ToolCall>, cx: CallContext, guard: Option<UndoGuard>) -> ToolOutcome {
    let outcome = tools::masked_calls::run(call, cx).await;
    let Some(UndoGuard { snapshot, note, may_outlive, warning }) = guard else { return outcome };
    // A background process may still change files, so its snapshot is not completed.
    let in_background = outcome.structured.as_ref().is_some_and(|raw| raw.get().contains("\"backgroundTaskId\""));
    let header = match snapshot {
        Some(kept) if may_outlive || in_background => Some(kept.header().clone()),
        Some(kept) => settle(kept, warning, outcome.is_error).await,
        None => None,
    };
    if let Some(note) = note {
        note.finish(header.as_ref(), &outcome).await;
    }
    outcome
}

/// Completes a snapshot, and shows the warning about a change of files that was made.
async fn settle(kept: PendingSnapshot, warning: Option<UndoWarning>, is_error: bool) -> Option<SnapshotHeader> {
    let failed = warning.is_some() && is_error;
    let settle = move || if failed { kept.abandon() } else { kept.complete() };
    match tokio::task::spawn_blocking(settle).await {
        Ok(Ok(header)) => {
            if let Some(UndoWarning { text: Some(text), host }) = warning.filter(|_| header.is_some()) {
                host.notice(text).await;
            }
            return header;
        }
        Ok(Err(error)) => tracing::warn!(%error, "a snapshot could not be settled"),
        Err(error) => tracing::error!(%error, "settling a snapshot failed"),
    }
    None
}

/// Whether the command contains an `&` that is not part of `&&`, `>&`, `&>`, `<&` or `|&`.
fn has_background(command: &str) -> bool {
    let command = command.as_bytes();
    command.iter().enumerate().any(|(at, byte)| {
        let before = at.checked_sub(1).and_then(|at| command.get(at));
        let joined =
            matches!(before, Some(b'&' | b'>' | b'<' | b'|')) || matches!(command.get(at + 1), Some(b'&' | b'>'));
        *byte == b'&' && !joined
    })
}

fn describe(used: &ToolUse, accesses: &[Access], io: &SessionIo) -> SnapshotCause {
    let tool = wire::names::canonical(&used.name);
    let (kind, text) = match accesses.first() {
        Some(Access::Run(command)) => (ChangeKind::Command, permission::escape_invisible(command).replace('\n', " ")),
        Some(Access::WritePath(path)) => (ChangeKind::Edit, format!("{tool} {}", path.display())),
        Some(Access::ReadPath(_) | Access::Reach { .. } | Access::Use | Access::Harmless | Access::Interact) | None => {
            (ChangeKind::Edit, tool.to_owned())
        }
    };
    let mut what: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    if what.len() < text.len() {
        what.push('…');
    }
    SnapshotCause {
        kind,
        session: io.output.host.session_id.clone(),
        cwd: io.tooling.directories.project.clone(),
        description: what,
        prompt: io.output.checkpoints.prompt(),
    }
}

async fn save(
    begin: impl FnOnce() -> SnapshotDraft + Send + 'static,
    losses: PossibleLosses,
    env: Env,
) -> Result<Option<PendingSnapshot>, StoreError> {
    let mut archives = Vec::new();
    for loss in &losses.files {
        if let LossExtent::Unpacked(archive) = &loss.extent {
            archives.push((loss.path.clone(), places::archive_names(archive, &env).await));
        }
    }
    let mut repositories = Vec::new();
    for loss in &losses.git {
        repositories.extend(git::places(loss, &env).await);
    }
    let work = tokio::task::spawn_blocking(move || {
        // The time limit of the snapshot starts here.
        let mut draft = begin();
        for (folder, names) in archives {
            places::capture_unpacked(&mut draft, &folder, &names);
        }
        for loss in &losses.files {
            places::capture_loss(&mut draft, loss);
        }
        for (path, reach) in repositories {
            draft.save(&path, reach);
        }
        draft.commit()
    });
    work.await.unwrap_or_else(|error| {
        tracing::error!(%error, "saving panicked");
        Ok(None)
    })
}

/// The message for the user: that work which may be lost for good was saved, or that something was not.
fn notice(
    kept: Option<&PendingSnapshot>,
    what: &str,
    grave: bool,
    (unnamed, uncovered): (&[String], &[String]),
) -> Option<String> {
    let header = kept.map(PendingSnapshot::header);
    if let Some(header) = header.filter(|header| !header.is_complete()) {
        let skipped = header.skipped.first().map(|skip| format!("{}: {}", skip.path.display(), skip.why));
        let why = header.cut.clone().or(skipped).unwrap_or_default();
        if header.files == 0 {
            return Some(format!("Warning: nothing was saved before `{what}`, so it cannot be undone: {why}."));
        }
        return Some(format!(
            "Warning: only a part was saved before `{what}`: {why}. `gimlet undo --to {}` brings back that part.",
            header.id
        ));
    }
    if !uncovered.is_empty() {
        let programs = uncovered.join(", ");
        let rest = header.map_or_else(String::new, |header| {
            format!(" What could be named was saved: `gimlet undo --to {}` brings it back.", header.id)
        });
        return Some(format!("Warning: undo does not cover what {programs} may destroy in `{what}`.{rest}"));
    }
    if grave && !unnamed.is_empty() {
        let programs = unnamed.join(", ");
        return Some(format!(
            "Warning: not everything could be saved before `{what}`: what {programs} changes is not known."
        ));
    }
    header
        .filter(|_| grave)
        .map(|header| format!("Saved before `{what}`: `gimlet undo --to {}` brings it back.", header.id))
}
