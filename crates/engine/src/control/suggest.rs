//! Path suggestions while somebody types, and repositories that a host registers.

use super::dispatch::RequestOutcome;
use super::{HostConnection, SessionControl};
use ignore::WalkBuilder;
use permission::Policy;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// More suggestions than these are not useful.
const MAX_SUGGESTIONS: usize = 20;
/// Maximum number of entries searched: the answer must arrive while somebody types.
const MAX_ENTRIES: usize = 100_000;

impl SessionControl {
    pub(super) fn suggest_files(&self, front: &HostConnection, query: String) -> RequestOutcome {
        let (root, policy) = (front.handles.cwd.clone(), self.view.rules.read().policy.clone());
        RequestOutcome::later(move || Ok(json!({"suggestions": suggestions(&root, &query, policy.as_deref())})))
    }

    /// Accepts only directories below the session's directories, so that a request cannot extend access.
    pub(super) fn register_root(&mut self, directory: &str) -> RequestOutcome {
        let Some(front) = &self.host else { return RequestOutcome::refused("There is no host here") };
        let wanted = sys::real_path::path(&front.handles.cwd.join(directory));
        if !wanted.is_dir() {
            return RequestOutcome::refused(format!("{} is not a directory", wanted.display()));
        }
        let added = self.view.rules.read().directories.clone();
        let mut roots = std::iter::once(&front.handles.cwd).chain(&added);
        let is_below = |root: &PathBuf| {
            let root = sys::real_path::path(root);
            wanted != root && wanted.starts_with(root)
        };
        if !roots.any(is_below) {
            return RequestOutcome::refused(format!("{} is not below a directory of this session", wanted.display()));
        }
        self.changes.repositories.push(wanted);
        RequestOutcome::Now(json!({}))
    }
}

/// The best matching paths; ignored files and files that rules hide are left out.
fn suggestions(root: &Path, query: &str, policy: Option<&Policy>) -> Vec<Value> {
    let query = query.trim_start_matches("./").to_lowercase();
    if root.ancestors().any(|dir| sys::fs::unreadable_ignore_file(dir).is_some()) {
        return Vec::new();
    }
    let mut found: Vec<(u8, usize, String, bool)> = Vec::new();
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git" && sys::fs::unreadable_ignore_file(entry.path()).is_none())
        .build();
    for entry in walk.take(MAX_ENTRIES).flatten().filter(|entry| entry.depth() > 0) {
        let Some(path) = entry.path().strip_prefix(root).ok().and_then(Path::to_str) else { continue };
        let Some(rank) = rank(path, &query) else { continue };
        if policy.is_some_and(|policy| policy.hides(entry.path(), entry.path())) {
            continue;
        }
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        found.push((rank, path.len(), path.to_owned(), is_directory));
    }
    found.sort();
    found.truncate(MAX_SUGGESTIONS);
    let row = |(_, _, path, is_directory)| json!({"path": path, "isDirectory": is_directory});
    found.into_iter().map(row).collect()
}

/// Lower is better; `None` when the path does not match.
fn rank(path: &str, query: &str) -> Option<u8> {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    if path.starts_with(query) {
        return Some(0);
    }
    if name.starts_with(query) {
        return Some(1);
    }
    if name.contains(query) {
        return Some(2);
    }
    path.contains(query).then_some(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_before_paths_and_ignored_files_are_left_out() {
        let temp = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("src/main.rs", ""),
            ("main/other.txt", ""),
            ("src/domain.rs", ""),
            ("out/main.o", ""),
            (".gitignore", "out\n"),
        ] {
            let path = temp.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = suggestions(temp.path(), "Main", None);
        let paths: Vec<&str> = found.iter().map(|row| row["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["main", "main/other.txt", "src/main.rs", "src/domain.rs"]);
        assert_eq!(found[0]["isDirectory"], true);
    }
}
