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

/// Names the current directory, and the files the model may have meant.
pub(crate) fn missing_text(path: &Path, cx: &CallContext) -> String {
    let paths = |names: Vec<String>| names.iter().map(|name| path.with_file_name(name).display().to_string()).collect();
    let near: Vec<String> = paths(near_names(path));
    let hint = if near.is_empty() { String::new() } else { format!(" Did you mean {}?", near.join(" or ")) };
    let cwd = cx.workspace.cwd.display();
    format!("File does not exist: {}. The current directory is {cwd}.{hint}", path.display())
}

/// Most directory entries that are searched for similar names.
const MAX_SEARCHED_ENTRIES: usize = 5_000;
/// Most equally similar names that are told.
const MAX_NEAR_NAMES: usize = 3;

/// The files beside `path` whose names are most similar to its own.
fn near_names(path: &Path) -> Vec<String> {
    let Some(wanted) = path.file_name().and_then(|name| name.to_str()).map(str::to_lowercase) else {
        return Vec::new();
    };
    let entries = path.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
    let names = entries.take(MAX_SEARCHED_ENTRIES).flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut near: Vec<(usize, String)> =
        names.filter_map(|name| Some((distance(&wanted, &name.to_lowercase())?, name))).collect();
    near.sort_unstable();
    let least = near.first().map(|(changed, _)| *changed);
    near.into_iter().filter(|(changed, _)| Some(*changed) == least).map(|(_, name)| name).take(MAX_NEAR_NAMES).collect()
}

/// The distance of two lower-case names; `None` unless they have the same stem or few changed letters.
fn distance(a: &str, b: &str) -> Option<usize> {
    let stem = |name: &str| name.rsplit_once('.').map_or(name.to_owned(), |(stem, _)| stem.to_owned());
    let changed = changed_letters(a, b);
    let allowed = if a.chars().count() < 5 { 1 } else { 2 };
    if changed <= allowed {
        return Some(changed);
    }
    (stem(a) == stem(b) && !stem(a).is_empty()).then_some(allowed + 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_letters_of_names_are_counted() {
        assert_eq!(distance("main.rs", "main.rs"), Some(0));
        assert_eq!(distance("mian.rs", "main.rs"), Some(1));
        assert_eq!(distance("part7_.py", "part_7.py"), Some(1), "neighbours swapped");
        assert_eq!(distance("part7_.py", "part_1.py"), Some(2));
        assert_eq!(distance("config.json", "config.toml"), Some(3));
        assert_eq!(distance("a.rs", "b.rs"), Some(1));
        assert_eq!(distance("ab.c", "xy.c"), None);
        assert_eq!(distance("readme", "license"), None);
    }
}
