//! Instruction files (`CLAUDE.md`): found from broad to specific, imports expanded, sizes bounded.

use crate::project::{Loaded, Selection};
use std::path::{Path, PathBuf};
use sys::Env;

/// One instruction file, or a file it imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFile {
    pub path: PathBuf,
    pub scope: MemoryScope,
    pub text: String,
    /// The file that imported this one.
    pub imported_by: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryScope {
    Managed,
    User,
    Project,
    Local,
}

/// All instruction files that hold for `cwd`, in the order they are told to the model.
pub fn discover(_cwd: &Path, _env: &Env, _selection: &Selection, _loaded: &Loaded) -> Vec<MemoryFile> {
    Vec::new()
}
