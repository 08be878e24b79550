//! Moves a session to another directory. Its file and its folder go to that directory's project, under the same id. Two
//! directories never list the session at once: the appended `relocated` line decides, and what remains to be done after
//! that line is done when the session is next resumed. Lines that other processes append meanwhile are kept.

use crate::backward::ReadAt;
use crate::error::StoreError;
use crate::layout::{self, StoreLayout};
use crate::list;
use crate::transcript::kind_of;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wire::entry::MetaEntry;

/// A session to move, and its old and new directory.
#[derive(Clone, Copy, Debug)]
pub struct SessionMove<'a> {
    pub transcript: &'a Path,
    pub from: &'a Path,
    pub to: &'a Path,
}

/// Moves a session. Returns the new path of its transcript, where the file need not exist yet. This process must not
/// have the transcript open. Blocking.
pub fn relocate(layout: &StoreLayout, moving: SessionMove<'_>) -> Result<PathBuf, StoreError> {
    let old = moving.transcript;
    let name = old.file_name().unwrap_or_default();
    let dir = layout.project_dir(moving.to);
    let new = dir.join(name);
    if new == old {
        // Two directories may share a project name; the line tells them apart.
        return if old.exists() { list::add(old, move_entry(old, moving)).map(|()| new) } else { Ok(new) };
    }
    layout::create_private(&dir).map_err(|e| StoreError::write(&dir, e))?;
    if !old.exists() {
        move_folder(old, &new);
        return Ok(new);
    }
    let linked = link(old, &new)?;
    list::add(old, move_entry(old, moving))?;
    // From here on the session belongs to the new directory, even if the rest fails.
    remove_old_name(old, &new, linked).map_err(|e| StoreError::write(&new, e))?;
    move_folder(old, &new);
    Ok(new)
}

fn move_entry(transcript: &Path, moving: SessionMove<'_>) -> MetaEntry {
    MetaEntry::Relocated {
        cwd: layout::resolve_directory(moving.to),
        from: layout::resolve_directory(moving.from),
        timestamp: sys::clock::now_iso(),
        session_id: transcript.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LinkResult {
    /// The file has both names.
    Yes,
    /// The file system has no hard links: the file is renamed afterwards.
    No,
}

/// Never replaces another file.
fn link(old: &Path, new: &Path) -> Result<LinkResult, StoreError> {
    match std::fs::hard_link(old, new) {
        Ok(()) => Ok(LinkResult::Yes),
        // An earlier move stopped after this step.
        Err(_) if is_same(old, new) => Ok(LinkResult::Yes),
        Err(error) if new.exists() => Err(StoreError::write(new, error)),
        Err(_) => Ok(LinkResult::No),
    }
}

fn remove_old_name(old: &Path, new: &Path, linked: LinkResult) -> io::Result<()> {
    match linked {
        LinkResult::Yes => std::fs::remove_file(old),
        LinkResult::No => std::fs::rename(old, new),
    }
}

/// Moves the folder of the session: agents, large outputs. After a failure it stays in the old place.
fn move_folder(old: &Path, new: &Path) {
    let (from, to) = (old.with_extension(""), new.with_extension(""));
    if !from.is_dir() || to.exists() {
        return;
    }
    if let Err(error) = std::fs::rename(&from, &to) {
        tracing::warn!(%error, from = %from.display(), "the files of a session could not be moved");
    }
}

fn is_same(a: &Path, b: &Path) -> bool {
    let inode = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    inode(a).is_some_and(|of_a| Some(of_a) == inode(b))
}

/// Removes paths that lead to the same file as an earlier one.
pub(crate) fn distinct(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !kept.iter().any(|known| is_same(known, &path)) {
            kept.push(path);
        }
    }
    kept
}

/// Finishes an interrupted move before the session in `path` is resumed; returns the path of its transcript. A session
/// that was never moved, or was copied by hand, is left alone. Blocking.
pub fn finish_move(layout: &StoreLayout, path: &Path) -> PathBuf {
    let Some(info) = list::read(path) else { return path.to_path_buf() };
    let (Some(cwd), Some(name)) = (&info.cwd, path.file_name()) else { return path.to_path_buf() };
    let home = layout.project_dir(Path::new(cwd)).join(name);
    if let Some(from) = &info.moved_from {
        let old = layout.project_dir(Path::new(from)).join(name);
        return finish(&old, &home, path);
    }
    // The move stopped before the line was written: the second name is removed.
    if home != path && is_same(&home, path) {
        std::fs::remove_file(path).ok();
        return home;
    }
    path.to_path_buf()
}

fn finish(old: &Path, home: &Path, path: &Path) -> PathBuf {
    if old == home || (path != old && path != home) {
        return path.to_path_buf();
    }
    let done = match (old.exists(), home.exists()) {
        (true, true) if is_same(old, home) => std::fs::remove_file(old),
        (true, false) => std::fs::rename(old, home),
        (false, true) => Ok(()),
        (true, true) | (false, false) => return path.to_path_buf(),
    };
    if let Err(error) = done {
        tracing::warn!(%error, "the move of a session could not be finished");
        return path.to_path_buf();
    }
    move_folder(old, home);
    home.to_path_buf()
}

/// The newest line of each kind of metadata that must stay near the end of a file, for a file that was just closed.
pub fn sticky_lines(transcript: &Path) -> Vec<String> {
    const TAIL: u64 = 64 << 10;
    let read = || -> io::Result<Vec<u8>> {
        let file = File::open(transcript)?;
        let length = file.metadata()?.len();
        let size = length.min(TAIL);
        let mut tail = vec![0; size as usize];
        file.read_at(&mut tail, length - size)?;
        Ok(tail)
    };
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in read().unwrap_or_default().split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let Some(kind) = kind_of(line) else { continue };
        found.retain(|(known, _)| *known != kind);
        found.push((kind, line.to_owned()));
    }
    found.into_iter().map(|(_, line)| line).collect()
}

#[cfg(test)]
#[path = "relocate_tests.rs"]
mod tests;
