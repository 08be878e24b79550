//! Helpers of the file tools: inspecting a path without opening it, the errors for what is found there, and running
//! on blocking threads. A panic in a decoder or a file system that hangs ends the call, not the session.

use crate::contract::{CallContext, ToolOutcome};
use serde::Serialize;
use serde_json::value::RawValue;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Largest file, in bytes, that tools load into memory; larger files are refused.
pub(crate) const MAX_LOADED_BYTES: u64 = 1 << 30;

/// What exists at a path. Symlinks are followed.
#[derive(Debug)]
pub(crate) enum PathKind {
    Nothing,
    File(Metadata),
    Directory,
    /// A device, FIFO or socket: opening it may block or have effects.
    Special(&'static str),
}

/// Inspects the path without opening it.
pub(crate) fn inspect(path: &Path) -> io::Result<PathKind> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PathKind::Nothing),
        Err(error) => return Err(error),
    };
    let kind = meta.file_type();
    Ok(if kind.is_file() {
        PathKind::File(meta)
    } else if kind.is_dir() {
        PathKind::Directory
    } else if kind.is_fifo() {
        PathKind::Special("FIFO")
    } else if kind.is_socket() {
        PathKind::Special("socket")
    } else {
        PathKind::Special("device")
    })
}

pub(crate) fn special_file_error(path: &Path, kind: &str) -> ToolOutcome {
    ToolOutcome::invalid(format!("{} is a {kind}, not a file. It was not opened.", path.display()))
}

pub(crate) fn denied_error(path: &Path) -> ToolOutcome {
    ToolOutcome::invalid(format!("{} is covered by a rule that denies reading it.", path.display()))
}

/// The path leads to another place than when the change was allowed, because a link was put in between.
pub(crate) fn moved_error(path: &Path) -> ToolOutcome {
    ToolOutcome::invalid(format!(
        "{} leads elsewhere since the change was allowed. Nothing was written.",
        path.display()
    ))
}

pub(crate) fn io_error(doing: &str, path: &Path, error: &io::Error) -> ToolOutcome {
    ToolOutcome::failed(format!("Cannot {doing} {}: {error}", path.display()))
}

/// How many letters must be changed, added, left out or swapped with their neighbour to make `b` of `a`.
pub(crate) fn changed_letters(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let first: Vec<usize> = (0..=b.len()).collect();
    let (mut before, mut above) = (first.clone(), first);
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            let swap = if is_swap { before[j - 2] + 1 } else { change };
            row.push(change.min(swap).min(above[j] + 1).min(row[j - 1] + 1));
        }
        (before, above) = (above, row);
    }
    above[b.len()]
}

/// Whether the extension is that of a notebook.
pub(crate) fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("ipynb"))
}

/// In Perforce mode a file without write permission was not opened for edit.
pub(crate) fn perforce_refusal(path: &Path, meta: &Metadata, cx: &CallContext) -> Option<ToolOutcome> {
    let refused = meta.permissions().readonly() && cx.state.facts.env.is_on("CLAUDE_CODE_PERFORCE_MODE");
    let path = path.display();
    refused.then(|| ToolOutcome::invalid(format!("{path} is read-only. Run `p4 edit {path}` first, then try again.")))
}

/// Largest text, in bytes, that the structured result repeats.
const ORIGINAL_LIMIT: usize = 1 << 20;

/// `originalFile`: the text before the change, unless it is very large.
pub(crate) fn original_file(text: &str) -> Option<&str> {
    (text.len() <= ORIGINAL_LIMIT).then_some(text)
}

pub(crate) fn structured<T: Serialize>(value: &T) -> Option<Box<RawValue>> {
    wire::raw::to_raw(value).ok()
}

/// Runs work that changes files to its end, because after a cancellation the model would not know what happened.
pub(crate) async fn run_uncancelled(work: impl FnOnce() -> ToolOutcome + Send + 'static) -> ToolOutcome {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| panicked_outcome(&error))
}

/// Runs work that only reads; a cancelled call does not wait for a file system that hangs.
pub(crate) async fn run_until_cancelled<T: Send + 'static>(
    cx: &CallContext,
    work: impl FnOnce() -> Result<T, ToolOutcome> + Send + 'static,
) -> Result<T, ToolOutcome> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(ToolOutcome::failed("The call was cancelled before it ended.")),
        done = tokio::task::spawn_blocking(work) => done.unwrap_or_else(|error| Err(panicked_outcome(&error))),
    }
}

fn panicked_outcome(error: &tokio::task::JoinError) -> ToolOutcome {
    tracing::error!(%error, "file tool panicked");
    ToolOutcome::failed("The file could not be processed because of an internal error.")
}
