//! Whether the user vouched for a folder. Keyed on the real repository root: pointers that a repository supplies about
//! itself (worktree and common directories) are not followed.

use crate::state::GlobalState;
use std::path::{Path, PathBuf};
use sys::Env;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trust {
    pub(crate) trusted: bool,
    /// The folder the answer is recorded under.
    pub(crate) key: PathBuf,
    /// The repository root, when there is one.
    pub(crate) repository: Option<PathBuf>,
}

impl Trust {
    pub(crate) fn of(cwd: &Path, env: &Env, state: &GlobalState) -> Self {
        let repository = sys::git::root(cwd);
        let key = repository.clone().unwrap_or_else(|| cwd.to_path_buf());
        let trusted = match &repository {
            // A clone inside a trusted folder is not trusted by that.
            Some(root) => vouched(root, env, state),
            None => cwd.ancestors().any(|dir| vouched(dir, env, state)),
        };
        Self { trusted, key, repository }
    }
}

/// Trust in the home directory lasts for a session only, so a stored answer for it does not count.
fn vouched(dir: &Path, env: &Env, state: &GlobalState) -> bool {
    let home = env.home();
    let real = std::fs::canonicalize(dir).ok();
    let spellings = [Some(dir.to_path_buf()), real];
    spellings.iter().flatten().any(|dir| dir.parent().is_some() && Some(dir) != home.as_ref() && state.trusts(dir))
}
