//! The few git facts we need, read from files: no child process.

use std::path::{Path, PathBuf};

/// The directory that holds `.git`, walking up from `dir`.
pub fn root(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|d| d.join(".git").exists()).map(Path::to_path_buf)
}

/// The main checkout of a linked worktree. A `.git` file alone proves nothing, since whoever made the folder wrote it: the
/// main repository must list this very worktree.
pub fn main_checkout(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if !std::fs::symlink_metadata(&dot_git).ok()?.is_file() {
        return None;
    }
    let entry = std::fs::canonicalize(git_dir(root)?).ok()?;
    let listed = std::fs::read_to_string(entry.join("gitdir")).ok()?;
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
    let head = std::fs::read_to_string(git_dir.join("HEAD")).unwrap_or_default();
    match head.trim().strip_prefix("ref: refs/heads/") {
        Some(branch) => branch.to_owned(),
        None if head.trim().is_empty() => String::new(),
        None => "HEAD".to_owned(),
    }
}

/// Where refs and objects lie: the git directory itself, or that of a linked worktree's main checkout.
pub fn common_dir(git_dir: &Path) -> PathBuf {
    let named = std::fs::read_to_string(git_dir.join("commondir")).ok();
    named.map_or_else(|| git_dir.to_path_buf(), |text| git_dir.join(text.trim()))
}

/// `.git` itself, or where a worktree's `.git` file points.
pub fn git_dir(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let text = std::fs::read_to_string(&dot_git).ok()?;
    Some(root.join(text.trim().strip_prefix("gitdir: ")?))
}

#[cfg(test)]
mod tests {
    use super::*;

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
