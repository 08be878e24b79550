//! A session that moves to another directory. Its file and its folder go to that directory's project, under the same id. At no
//! moment do two directories list it, and none loses it: the one line that says where it works decides, and whatever is left
//! to do after that line is done when the session is next taken up. Lines that other processes append meanwhile arrive.

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

/// Where a session goes, from where.
#[derive(Clone, Copy, Debug)]
pub struct SessionMove<'a> {
    pub transcript: &'a Path,
    pub from: &'a Path,
    pub to: &'a Path,
}

/// Moves a session; returns where its transcript lies, or will lie when nothing was said yet. Nobody of this process may have
/// it open. Blocking.
pub fn relocate(layout: &StoreLayout, moving: SessionMove<'_>) -> Result<PathBuf, StoreError> {
    let old = moving.transcript;
    let name = old.file_name().unwrap_or_default();
    let dir = layout.project_dir(moving.to);
    let new = dir.join(name);
    if new == old {
        // Names of directories may fall together on disk; the line tells them apart.
        return if old.exists() { list::add(old, move_entry(old, moving)).map(|()| new) } else { Ok(new) };
    }
    layout::create_private(&dir).map_err(|e| StoreError::write(&dir, e))?;
    if !old.exists() {
        move_folder(old, &new);
        return Ok(new);
    }
    let linked = link(old, &new)?;
    list::add(old, move_entry(old, moving))?;
    // From here on it belongs to the new place, whatever happens.
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
    /// This file system has no such thing: it is renamed afterwards.
    No,
}

/// Never over another file.
fn link(old: &Path, new: &Path) -> Result<LinkResult, StoreError> {
    match std::fs::hard_link(old, new) {
        Ok(()) => Ok(LinkResult::Yes),
        // An earlier move stopped here.
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

/// What belongs to the session: agents, spilled output. A failure leaves it where it can still be moved from.
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

/// Of files that hold the same session, each once.
pub(crate) fn distinct(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !kept.iter().any(|known| is_same(known, &path)) {
            kept.push(path);
        }
    }
    kept
}

/// Finishes a move that was cut short, before the session in `path` is taken up; returns where its transcript lies. What was
/// never moved, or was copied by hand, stays where it is. Blocking.
pub fn finish_move(layout: &StoreLayout, path: &Path) -> PathBuf {
    let Some(info) = list::read(path) else { return path.to_path_buf() };
    let (Some(cwd), Some(name)) = (&info.cwd, path.file_name()) else { return path.to_path_buf() };
    let home = layout.project_dir(Path::new(cwd)).join(name);
    if let Some(from) = &info.moved_from {
        let old = layout.project_dir(Path::new(from)).join(name);
        return finish(&old, &home, path);
    }
    // The line was not written any more: the second name counts for nothing.
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

/// Metadata that must stay near the end of a file that was just closed, the newest line of each kind.
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
