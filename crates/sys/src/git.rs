//! The git facts we need, read from files: no child process.

mod config;
mod index;
pub mod neutral;

use crate::fs::read_text;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A repository made by others may hold anything under these names.
const CONFIG_BYTES: usize = 4 << 20;
/// Largest file that names another place or a branch.
pub const LINK_BYTES: usize = 64 << 10;

/// The directory that holds `.git`, walking up from `dir`.
pub fn root(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|d| d.join(".git").exists()).map(Path::to_path_buf)
}

/// Whether git, run in `dir`, would use the repository of `top` and no other: neither a nested repository nor a bare one
/// lies on the way up.
pub fn shares_repository(dir: &Path, top: &Path) -> bool {
    let nested = |dir: &Path| {
        dir.join(".git").exists()
            || (dir.join("HEAD").exists() && dir.join("objects").exists() && dir.join("refs").exists())
    };
    dir.starts_with(top) && !dir.ancestors().take_while(|part| *part != top).any(nested)
}

/// The files below `dir` that the index of its repository lists, relative to `dir`; some of them may have left the index.
/// `None` when the index cannot be read.
pub fn tracked_files(dir: &Path) -> Option<Vec<PathBuf>> {
    let dir = dir.canonicalize().ok()?;
    let top = root(&dir)?;
    let inner = dir.strip_prefix(&top).ok()?;
    let files = index::files(&git_dir(&top)?)?;
    Some(files.iter().filter_map(|file| file.strip_prefix(inner).ok()).map(Path::to_path_buf).collect())
}

/// Where the repository of `dir` pushes to: the lines of each remote, by name, and under the empty name those that can
/// redirect any of them.
pub fn remotes(dir: &Path) -> BTreeMap<String, String> {
    let Some(config) = root(dir).and_then(|root| git_dir(&root)).map(|dir| common_dir(&dir).join("config")) else {
        return BTreeMap::new();
    };
    let text = read_text(&config, CONFIG_BYTES).unwrap_or_default();
    let mut found = BTreeMap::new();
    let mut section: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.split(']').next().unwrap_or_default();
            let (kind, name) = header.split_once(' ').unwrap_or((header, ""));
            section = match kind.to_ascii_lowercase().as_str() {
                "remote" => Some(name.trim().trim_matches('"').to_owned()),
                "url" | "branch" | "include" | "includeif" | "push" => Some(String::new()),
                _ => None,
            };
        }
        if let Some(section) = &section {
            let lines: &mut String = found.entry(section.clone()).or_default();
            lines.push_str(line);
            lines.push('\n');
        }
    }
    found
}

/// The main checkout of a linked worktree. A `.git` file alone proves nothing, since whoever made the folder wrote it: the
/// main repository must list this very worktree.
pub fn main_checkout(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if !std::fs::symlink_metadata(&dot_git).ok()?.is_file() {
        return None;
    }
    let entry = std::fs::canonicalize(git_dir(root)?).ok()?;
    let listed = read_text(&entry.join("gitdir"), LINK_BYTES).ok()?;
    if std::fs::canonicalize(entry.join(listed.trim())).ok()? != std::fs::canonicalize(&dot_git).ok()? {
        return None;
    }
    let worktrees = entry.parent().filter(|dir| dir.file_name().is_some_and(|name| name == "worktrees"))?;
    let main = worktrees.parent().filter(|dir| dir.file_name().is_some_and(|name| name == ".git"))?;
    main.parent().map(Path::to_path_buf)
}

/// Current branch; `HEAD` when detached, empty outside a repository.
pub fn branch(dir: &Path) -> String {
    let Some(root) = root(dir) else { return String::new() };
    let Some(git_dir) = git_dir(&root) else { return String::new() };
    let head = read_text(&git_dir.join("HEAD"), LINK_BYTES).unwrap_or_default();
    match head.trim().strip_prefix("ref: refs/heads/") {
        Some(branch) => branch.to_owned(),
        None if head.trim().is_empty() => String::new(),
        None => "HEAD".to_owned(),
    }
}

/// The branch that `branch` follows, as `origin/main`; `None` when the repository's configuration names none.
pub fn upstream(dir: &Path, branch: &str) -> Option<String> {
    let config = common_dir(&git_dir(&root(dir)?)?).join("config");
    let entries = config::parse(&read_text(&config, CONFIG_BYTES).ok()?).ok()?;
    let value = |name: &str| {
        let named = entries.iter().rev().find(|entry| {
            entry.section == "branch" && entry.subsection.as_deref() == Some(branch) && entry.name == name
        });
        named.and_then(|entry| entry.value.as_deref())
    };
    let (remote, merge) = (value("remote")?, value("merge")?);
    let merged = merge.strip_prefix("refs/heads/").unwrap_or(merge);
    Some(if remote == "." { merged.to_owned() } else { format!("{remote}/{merged}") })
}

/// Where refs and objects lie: the git directory itself, or that of a linked worktree's main checkout.
pub fn common_dir(git_dir: &Path) -> PathBuf {
    let named = read_text(&git_dir.join("commondir"), LINK_BYTES).ok();
    named.map_or_else(|| git_dir.to_path_buf(), |text| git_dir.join(text.trim_end_matches(['\n', '\r'])))
}

/// `.git` itself, or where a worktree's `.git` file points.
pub fn git_dir(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let text = read_text(&dot_git, LINK_BYTES).ok()?;
    // Git takes blanks for a part of the name.
    Some(root.join(text.trim_end_matches(['\n', '\r']).strip_prefix("gitdir: ")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_repositories_and_new_remotes_are_seen() {
        // SC-B21 SC-G06
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        for inner in [".git", "src/deep", "nested/.git", "bare/objects", "bare/refs"] {
            std::fs::create_dir_all(top.join(inner)).unwrap();
        }
        std::fs::write(top.join("bare/HEAD"), "").unwrap();
        for (inner, shared) in
            [("", true), ("src/deep", true), ("nested", false), ("bare", false), ("bare/refs", false)]
        {
            assert_eq!(shares_repository(&top.join(inner), top), shared, "{inner}");
        }
        assert!(!shares_repository(Path::new("/"), top));
        std::fs::write(top.join(".git/config"), "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = a\n").unwrap();
        let before = remotes(&top.join("src"));
        assert_eq!(before.keys().collect::<Vec<_>>(), ["origin"]);
        std::fs::write(top.join(".git/config"), "[remote \"origin\"]\n\turl = b\n[remote \"evil\"]\nurl = c\n")
            .unwrap();
        let after = remotes(top);
        assert!(after.contains_key("evil") && after["origin"] != before["origin"]);
    }

    #[test]
    fn branches_are_read_from_files() {
        let dir = tempfile::tempdir().unwrap();
        let (repo, inner) = (dir.path().join("repo"), dir.path().join("repo/a/b"));
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!((root(&inner), branch(&inner)), (None, String::new()));
        std::fs::create_dir_all(repo.join(".git/worktrees/w")).unwrap();
        std::fs::write(repo.join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        assert_eq!((root(&inner), branch(&inner)), (Some(repo.clone()), "feature/x".to_owned()));
        std::fs::write(repo.join(".git/HEAD"), "0123456789abcdef0123456789abcdef01234567\n").unwrap();
        assert_eq!(branch(&inner), "HEAD");

        let tree = dir.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        std::fs::write(tree.join(".git"), "gitdir: ../repo/.git/worktrees/w\n").unwrap();
        std::fs::write(repo.join(".git/worktrees/w/HEAD"), "ref: refs/heads/w\n").unwrap();
        assert_eq!(branch(&tree), "w");

        // SC-D09: a pointer the main repository does not confirm is not believed.
        assert_eq!(main_checkout(&tree), None);
        assert_eq!(main_checkout(&repo), None);
        std::fs::write(repo.join(".git/worktrees/w/gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        assert_eq!(main_checkout(&tree), Some(repo.canonicalize().unwrap()));
    }
}
