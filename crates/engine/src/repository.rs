//! The repository of a directory, as a screen shows it. Git is called so that nothing the repository configures runs.

use session_parts::worktree::PowerlessGit;
use std::path::Path;
use std::time::Duration;
use sys::Env;

const GIT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryState {
    /// Empty outside a repository.
    pub branch: String,
    /// How many files differ from the last commit; `None` when git cannot be asked.
    pub changed: Option<usize>,
}

/// Reads the branch and asks git for the files that changed.
pub async fn state(cwd: &Path, env: &Env) -> RepositoryState {
    let (dir, own_env) = (cwd.to_path_buf(), env.clone());
    let opened = tokio::task::spawn_blocking(move || {
        let branch = sys::git::branch(&dir);
        let git = (!branch.is_empty()).then(|| PowerlessGit::new(&dir, &own_env).ok()).flatten();
        (branch, git)
    });
    let Ok((branch, git)) = opened.await else { return RepositoryState::default() };
    let Some(git) = git else { return RepositoryState { branch, changed: None } };
    let status = ["status", "--porcelain", "-z", "--no-renames", "--no-ahead-behind", "--ignore-submodules=all"];
    let changed = git.run(&status, GIT_TIMEOUT).await.ok();
    let count = |text: String| text.split('\0').filter(|line| !line.is_empty()).count();
    RepositoryState { branch, changed: changed.map(count) }
}
