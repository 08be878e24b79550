//! The state of the repository: the branch is read from its files, the rest is asked of git.

use super::{ProjectFactsQuery, harmless};
use crate::worktree::PowerlessGit;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

const GIT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_CHANGES: usize = 10;

/// The branch and what it follows, as a line; empty outside a repository.
pub(super) fn branch(cwd: &Path) -> String {
    let branch = sys::git::branch(cwd);
    match branch.as_str() {
        "" => "\n- Git: no repository".to_owned(),
        "HEAD" => "\n- Git: no branch is checked out".to_owned(),
        name => {
            let upstream = sys::git::upstream(cwd, name);
            let upstream = upstream.map_or_else(String::new, |upstream| format!(", follows {}", harmless(&upstream)));
            format!("\n- Git branch: {}{upstream}", harmless(name))
        }
    }
}

/// Changed files and the last commits; empty when git cannot be asked.
pub(super) async fn repository(query: &ProjectFactsQuery) -> String {
    let (dir, env) = (query.cwd.clone(), query.env.clone());
    let opened = tokio::task::spawn_blocking(move || {
        sys::git::root(&dir)?;
        PowerlessGit::new(&dir, &env)
            .inspect_err(|obstacle| tracing::debug!(%obstacle, "git is not asked about the project"))
            .ok()
    });
    let Ok(Some(git)) = opened.await else { return String::new() };
    let status = ["status", "--porcelain", "-z", "--no-renames", "--no-ahead-behind", "--ignore-submodules=all"];
    let log = ["-c", "log.showSignature=false", "log", "-3", "--no-show-signature", "--no-color", "--format=%s"];
    let (status, log) = tokio::join!(git.run(&status, GIT_TIMEOUT), git.run(&log, GIT_TIMEOUT));
    let mut text = String::new();
    if let Ok(status) = status {
        text.push_str(&changes(&status, query));
    }
    let subjects: Vec<String> = log.unwrap_or_default().lines().map(harmless).collect();
    if !subjects.is_empty() {
        write!(text, "\n- Last commits: {}", subjects.join(" | ")).ok();
    }
    text.trim_start_matches('\n').to_owned()
}

fn changes(status: &str, query: &ProjectFactsQuery) -> String {
    let top = sys::git::root(&query.cwd).unwrap_or_else(|| query.cwd.clone());
    let is_shown = |line: &&str| {
        let path = top.join(line.get(3..).unwrap_or_default());
        !query.policy.hides(&path, &sys::real_path::path(&path))
    };
    let lines: Vec<&str> = status.split('\0').filter(|line| !line.is_empty()).filter(is_shown).collect();
    if lines.is_empty() {
        return "\n- Git status: clean".to_owned();
    }
    let mut text = format!("\n- Git status, {} changed:", lines.len());
    for line in lines.iter().take(MAX_CHANGES) {
        write!(text, "\n  {}", harmless(line)).ok();
    }
    if lines.len() > MAX_CHANGES {
        write!(text, "\n  and {} more", lines.len() - MAX_CHANGES).ok();
    }
    text
}
