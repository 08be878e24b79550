//! Finds the transcript a user means: by id, title or path, or the newest one of a directory. Paths with similar names
//! share a project directory, so the recorded `cwd` decides which sessions belong to a directory.

use crate::backward::BackwardLines;
use crate::error::StoreError;
use crate::head::LineHead;
use crate::layout::{self, StoreLayout};
use crate::list::{self, SessionInfo};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Which sessions `--continue` considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatestScope {
    /// Leaves out sessions of programs and of `/loop`.
    Interactive,
    /// Leaves out only background sessions.
    Headless,
}

/// `--resume <target>`: a session id, a `.jsonl` path or a title.
pub fn target(layout: &StoreLayout, cwd: &Path, target: &str) -> Result<PathBuf, StoreError> {
    if Path::new(target).extension().is_some_and(|e| e == "jsonl") {
        return by_path(cwd, target);
    }
    if sys::id::is_uuid(target) {
        return by_id(layout, cwd, target);
    }
    match by_title(layout, cwd, target) {
        Err(StoreError::NotFound { .. }) => by_prefix(layout, cwd, target),
        found => found,
    }
}

/// The only session of this repository whose id begins with `beginning`.
fn by_prefix(layout: &StoreLayout, cwd: &Path, beginning: &str) -> Result<PathBuf, StoreError> {
    let is_beginning = beginning.len() >= 4 && beginning.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let rows = near_dirs(layout, cwd).into_iter().filter(|_| is_beginning).flat_map(|dir| list::rows(&dir));
    let mut found: Vec<PathBuf> = rows.map(|row| row.path).filter(|path| stem(path).starts_with(beginning)).collect();
    found.sort();
    found.dedup();
    if found.len() > 1 {
        return Err(StoreError::Ambiguous { title: beginning.to_owned(), ids: found.iter().map(stem).collect() });
    }
    found.pop().filter(|path| is_filled(path)).ok_or_else(|| StoreError::NotFound { id: beginning.to_owned() })
}

/// Looks in this project, then in the repository's other worktrees, then in all projects: there exactly one file with
/// messages must match.
pub fn by_id(layout: &StoreLayout, cwd: &Path, id: &str) -> Result<PathBuf, StoreError> {
    let not_found = || StoreError::NotFound { id: id.to_owned() };
    if !sys::id::is_uuid(id) {
        return Err(not_found());
    }
    let name = format!("{id}.jsonl");
    let near = near_dirs(layout, cwd).into_iter().map(|dir| dir.join(&name)).find(|p| is_filled(p));
    if let Some(path) = near {
        return Ok(path);
    }
    let dirs = std::fs::read_dir(layout.projects()).map_err(|_| not_found())?;
    let far = dirs.flatten().map(|d| d.path().join(&name)).filter(|p| is_filled(p) && last_message_at(p).is_some());
    // A session that is being moved has two file names for a moment.
    let mut far = crate::relocate::distinct(far.collect());
    match far.len() {
        1 => far.pop().ok_or_else(not_found),
        _ => Err(not_found()),
    }
}

/// Matches the exact custom or generated title, in this repository.
pub fn by_title(layout: &StoreLayout, cwd: &Path, title: &str) -> Result<PathBuf, StoreError> {
    let places = near_places(cwd);
    let mut found: Vec<PathBuf> = Vec::new();
    for row in near_dirs(layout, cwd).iter().flat_map(|dir| list::rows(dir)) {
        let Some(info) = row.info() else { continue };
        let titled = info.titles.iter().flatten().any(|t| t == title);
        if titled && places.iter().any(|place| was_started_in(&info, place)) && !found.contains(&row.path) {
            found.push(row.path);
        }
    }
    if found.len() > 1 {
        let id = |p: &PathBuf| p.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        return Err(StoreError::Ambiguous { title: title.to_owned(), ids: found.iter().map(id).collect() });
    }
    found.pop().ok_or_else(|| StoreError::NotFound { id: title.to_owned() })
}

pub fn by_path(cwd: &Path, path: &str) -> Result<PathBuf, StoreError> {
    let path = cwd.join(path);
    if is_filled(&path) { Ok(path) } else { Err(StoreError::NotFound { id: path.display().to_string() }) }
}

/// The conversation of this directory with the newest message.
pub fn latest(layout: &StoreLayout, cwd: &Path, scope: LatestScope) -> Option<PathBuf> {
    let place = layout::resolve_directory(cwd);
    let mut best: Option<(u64, PathBuf)> = None;
    for row in list::project(layout, cwd) {
        // A message is never newer than its file, and files are sorted newest first.
        if best.as_ref().is_some_and(|(time, _)| *time >= row.modified_at) {
            break;
        }
        let Some(info) = row.info() else { continue };
        if !was_started_in(&info, &place) || !is_in_scope(&info, scope) {
            continue;
        }
        let Some(time) = last_message_at(&row.path) else { continue };
        if best.as_ref().is_none_or(|(newest, _)| time > *newest) {
            best = Some((time, row.path));
        }
    }
    best.map(|(_, path)| path)
}

fn is_in_scope(info: &SessionInfo, scope: LatestScope) -> bool {
    if info.kind.as_deref() == Some("bg") {
        return false;
    }
    match scope {
        LatestScope::Headless => true,
        LatestScope::Interactive => {
            let program = info.entrypoint.as_deref().is_some_and(|e| e.starts_with("sdk"));
            let looped = info.first_prompt.as_deref().is_some_and(|p| p == "/loop" || p.starts_with("/loop "));
            !program && !looped
        }
    }
}

/// Whether a new session may take this id in this project.
pub fn id_is_free(layout: &StoreLayout, cwd: &Path, id: &str) -> bool {
    let name = format!("{id}.jsonl");
    !layout.readable_dirs(cwd).iter().any(|dir| is_filled(&dir.join(&name)))
}

/// True for a file that is not empty.
fn is_filled(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.len() > 0)
}

/// A file without a recorded directory counts as started in `place`.
fn was_started_in(info: &SessionInfo, place: &str) -> bool {
    let Some(cwd) = info.cwd.as_deref() else { return true };
    layout::nfc(cwd) == place || layout::resolve_directory(Path::new(cwd)) == place
}

/// The time of the last message in milliseconds since the epoch. `None` when there is no message with a time.
fn last_message_at(path: &Path) -> Option<u64> {
    let file = File::open(path).ok()?;
    let mut lines = BackwardLines::new(&file, file.metadata().ok()?.len());
    while let Ok(Some((_, line))) = lines.next_line() {
        let Some(head) = LineHead::read(line).filter(LineHead::is_message) else { continue };
        if let Some(time) = head.timestamp.as_str().and_then(sys::clock::parse_iso) {
            return Some(time);
        }
    }
    None
}

/// The project directories to look in, and the directories whose sessions belong to the result.
#[derive(Clone, Debug)]
pub struct NearbySessions {
    dirs: Vec<PathBuf>,
    places: Vec<String>,
}

impl NearbySessions {
    /// Covers only the directory itself.
    pub fn in_directory(layout: &StoreLayout, cwd: &Path) -> Self {
        Self { dirs: layout.readable_dirs(cwd), places: vec![layout::resolve_directory(cwd)] }
    }

    /// Covers the same subdirectory in all worktrees of the repository, and the roots of the worktrees.
    pub fn worktrees(layout: &StoreLayout, cwd: &Path) -> Self {
        Self { dirs: near_dirs(layout, cwd), places: near_places(cwd) }
    }

    /// The transcripts, newest file first, without their content.
    pub fn rows(&self) -> Vec<list::TranscriptRow> {
        list::newest_first(self.dirs.iter().flat_map(|dir| list::rows(dir)).collect())
    }

    /// True when the session was started in one of the directories, not just in one with a similar name.
    pub fn contains(&self, info: &SessionInfo) -> bool {
        self.places.iter().any(|place| was_started_in(info, place))
    }
}

/// The project directories of this directory and of the same subdirectory in the repository's other worktrees.
fn near_dirs(layout: &StoreLayout, cwd: &Path) -> Vec<PathBuf> {
    let mut dirs = layout.readable_dirs(cwd);
    for place in near_places(cwd).iter().skip(1) {
        dirs.extend(layout.readable_dirs(Path::new(place)));
    }
    dirs.dedup();
    dirs
}

fn near_places(cwd: &Path) -> Vec<String> {
    let here = layout::resolve_directory(cwd);
    let mut places = vec![here.clone()];
    let Some(root) = sys::git::root(Path::new(&here)) else { return places };
    let below = Path::new(&here).strip_prefix(&root).map(Path::to_path_buf).unwrap_or_default();
    for tree in worktrees(&root) {
        for place in [tree.join(&below), tree] {
            let place = layout::resolve_directory(&place);
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

/// Finds the worktrees of the repository by reading its files, without a child process.
fn worktrees(root: &Path) -> Vec<PathBuf> {
    let Some(common) = common_dir(root) else { return Vec::new() };
    let mut trees: Vec<PathBuf> = common.parent().map(Path::to_path_buf).into_iter().collect();
    let Ok(linked) = std::fs::read_dir(common.join("worktrees")) else { return trees };
    for entry in linked.flatten() {
        let Ok(text) = sys::fs::read_text(&entry.path().join("gitdir"), sys::git::LINK_BYTES) else { continue };
        trees.extend(entry.path().join(text.trim()).parent().map(Path::to_path_buf));
    }
    trees.sort();
    trees
}

fn common_dir(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let text = sys::fs::read_text(&dot_git, sys::git::LINK_BYTES).ok()?;
    let own = root.join(text.trim().strip_prefix("gitdir:")?.trim());
    let common = sys::fs::read_text(&own.join("commondir"), sys::git::LINK_BYTES).ok()?;
    std::fs::canonicalize(own.join(common.trim())).ok()
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
