//! Auto memory: notes of earlier sessions of this project. All worktrees and folders of a repository use one directory,
//! for reading and writing.

use super::{LoadReason, MemoryFile, MemoryScope};
use crate::project::ProjectConfig;
use std::path::{Path, PathBuf};
use sys::Env;

/// How much of the index is sent to the model at the start.
pub const MAX_LINES: usize = 200;
pub const MAX_BYTES: usize = 25 * 1024;

/// The directory of the notes; `None` when they are switched off. `usual` is used when no setting names one.
pub fn auto_directory(env: &Env, loaded: &ProjectConfig, usual: Option<&Path>) -> Option<PathBuf> {
    let off = match env.flag("CLAUDE_CODE_DISABLE_AUTO_MEMORY") {
        Some(disabled) => disabled,
        None => loaded.settings.auto_memory_enabled == Some(false),
    };
    if off {
        return None;
    }
    let named = loaded.settings.auto_memory_directory.as_deref().and_then(|dir| match dir.strip_prefix("~/") {
        Some(rest) => env.home().map(|home| home.join(rest)),
        None => Some(PathBuf::from(dir)).filter(|dir| dir.is_absolute()),
    });
    named.or_else(|| usual.map(Path::to_path_buf))
}

/// Reads the beginning of `MEMORY.md`. `None` when it is missing or blank.
pub(super) fn index(dir: &Path) -> Option<MemoryFile> {
    let path = dir.join("MEMORY.md");
    let read = sys::fs::read_limited(&path, MAX_BYTES).ok()?;
    let whole = !read.more;
    let text = String::from_utf8_lossy(&read.bytes).into_owned();
    if text.trim().is_empty() {
        return None;
    }
    let end = text.split_inclusive('\n').take(MAX_LINES).map(str::len).sum();
    let mut kept = text[..end].to_owned();
    if !whole || end < text.len() {
        kept.push_str(
            "\n[Only the first 200 lines or 25 KB of this file are shown. Read the rest of it, or shorten it.]\n",
        );
    }
    Some(MemoryFile {
        path,
        scope: MemoryScope::Auto,
        text: kept,
        imported_by: None,
        reason: LoadReason::SessionStart,
        globs: Vec::new(),
        trigger: None,
        lines: vec![(0, 1)],
        is_agents_md: false,
    })
}
