//! Removes old worktrees that agents left without work. Worktrees of users and sessions, and locked ones, are never
//! touched.

use super::{Worktree, locks};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use sys::Env;

/// Removes worktrees older than `age` in the repository of `project`; returns how many.
pub async fn sweep(project: &Path, age: Duration, env: &Env) -> usize {
    let Some(root) = sys::git::root(project) else { return 0 };
    let main = sys::git::main_checkout(&root).unwrap_or(root);
    if super::refuse_links(&main, &main.join(".claude/worktrees/agent")).is_err() {
        return 0;
    }
    locks::release_dead(&main);
    let mut removed = 0;
    for path in stale(&main, age) {
        let branch = Some(sys::git::branch(&path)).filter(|branch| branch.starts_with("worktree-agent-"));
        // Its start commit is unknown, so every commit that exists nowhere else counts as work.
        let Some(worktree) = Worktree::reopen(path.clone(), branch, String::new(), env) else { continue };
        if worktree.remove_if_unchanged(None).await.is_none() {
            tracing::info!(worktree = %path.display(), "an old worktree without work was removed");
            removed += 1;
        }
    }
    removed
}

fn stale(main: &Path, age: Duration) -> Vec<PathBuf> {
    let now = Duration::from_millis(sys::clock::now_ms());
    let Ok(entries) = std::fs::read_dir(main.join(".claude/worktrees")) else { return Vec::new() };
    let is_old = |path: &Path| {
        let changed = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_dir)?.modified().ok()?;
        Some(now.saturating_sub(changed.duration_since(UNIX_EPOCH).ok()?) > age)
    };
    let found = entries.flatten().filter(|entry| is_agents(&entry.file_name().to_string_lossy()));
    found.map(|entry| entry.path()).filter(|path| is_old(path) == Some(true)).collect()
}

/// `agent-` and an agent's id: users do not choose such names.
fn is_agents(name: &str) -> bool {
    name.strip_prefix("agent-a").is_some_and(|id| id.len() == 16 && id.bytes().all(|b| b.is_ascii_hexdigit()))
}
