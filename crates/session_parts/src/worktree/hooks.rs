//! WorktreeCreate and WorktreeRemove hooks: a WorktreeCreate hook creates worktrees instead of git. Its result is
//! checked: it must be an existing folder that is not reached through a link.

use crate::hooks::HookTrigger;
use ::hooks::HookReport;
use std::path::{Path, PathBuf};
use wire::hooks::{HookEventName, WorktreeCreate, WorktreeRemove};

/// The session's hooks, for worktrees.
#[derive(Clone)]
pub struct WorktreeHooks(pub HookTrigger);

impl WorktreeHooks {
    pub fn makes_worktrees(&self) -> bool {
        self.0.hooks.has_handlers(HookEventName::WorktreeCreate)
    }

    /// The folder that hooks created for `name`; `None` when no hook creates worktrees.
    pub(super) async fn create(&self, name: &str, root: &Path) -> Option<Result<PathBuf, String>> {
        if !self.makes_worktrees() {
            return None;
        }
        let merged = self.0.fire(&WorktreeCreate { name: name.to_owned() }).await;
        let printed: Vec<PathBuf> =
            merged.reports.iter().filter(|r| r.exit_code == Some(0)).filter_map(printed_path).collect();
        if printed.len() > 1 {
            tracing::warn!("several WorktreeCreate hooks answered; the first one in the settings counts");
        }
        let replied = merged.worktree_path.map(PathBuf::from);
        let failure = merged.reports.iter().find(|r| r.exit_code != Some(0)).map(complaint);
        let Some(path) = replied.or_else(|| printed.into_iter().next()) else {
            let why = failure.or_else(|| merged.problems.first().map(ToString::to_string));
            let why = why.unwrap_or_else(|| "it printed no path".into());
            return Some(Err(format!("The WorktreeCreate hook made no worktree: {why}.")));
        };
        Some(self.checked(&path, root))
    }

    fn checked(&self, path: &Path, root: &Path) -> Result<PathBuf, String> {
        let refused = |why: &str| Err(format!("Refusing to use {} as an isolation worktree: {why}.", path.display()));
        let text = path.as_os_str().to_string_lossy();
        let dotted = text.split('/').any(|part| matches!(part, "." | ".."));
        if path.is_absolute() && dotted {
            return refused("the path has . or .. in it");
        }
        let path = permission::normalise(&self.0.cwd.join(path));
        if let Ok(inner) = path.strip_prefix(root)
            && let Some(link) = link_on_the_way(root, inner)
        {
            return refused(&format!("{} is a link", link.display()));
        }
        if !std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
            return refused("it is no folder");
        }
        if sys::real_path::path(&path) == sys::real_path::path(root) {
            return refused("it is the checkout itself");
        }
        Ok(path)
    }

    /// Whether hooks removed it; `None` when there are none.
    pub async fn remove(&self, path: &Path) -> Option<Result<(), String>> {
        if !self.0.hooks.has_handlers(HookEventName::WorktreeRemove) {
            return None;
        }
        let merged = self.0.fire(&WorktreeRemove { worktree_path: path.display().to_string() }).await;
        let failure = merged.reports.iter().find(|r| r.exit_code.is_some_and(|code| code != 0)).map(complaint);
        match failure.or_else(|| merged.problems.first().map(ToString::to_string)) {
            Some(why) if path.exists() => Some(Err(format!("The WorktreeRemove hook failed: {why}"))),
            Some(_) | None => Some(Ok(())),
        }
    }
}

fn complaint(report: &HookReport) -> String {
    let text = report.stderr.lines().chain(report.stdout.lines()).find(|line| !line.trim().is_empty());
    let code = report.exit_code.map_or_else(|| "no exit code".into(), |code| format!("exit code {code}"));
    text.map_or_else(
        || format!("`{}` ended with {code}", report.description),
        |text| format!("{} ({code})", text.trim()),
    )
}

/// The path in the last non-empty line of the output, without colours.
fn printed_path(report: &HookReport) -> Option<PathBuf> {
    let plain = without_colours(&report.stdout);
    let line = plain.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    (!line.starts_with('{')).then(|| PathBuf::from(line))
}

fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if chars.next() == Some('[') {
            chars.by_ref().find(|c| ('\u{40}'..='\u{7e}').contains(c));
        }
    }
    plain
}

fn link_on_the_way(root: &Path, inner: &Path) -> Option<PathBuf> {
    let mut at = root.to_path_buf();
    inner.components().find_map(|part| {
        at.push(part);
        std::fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_symlink()).then(|| at.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_no_part_of_a_path() {
        assert_eq!(without_colours("\u{1b}[1;32m/a/b\u{1b}[0m\n"), "/a/b\n");
        assert_eq!(without_colours("plain\u{1b}["), "plain");
    }
}
