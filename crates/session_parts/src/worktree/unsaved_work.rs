//! What would be lost with a worktree: uncommitted changes, and commits that no other branch, tag or remote contains.
//! Work that is discarded on purpose is first saved under a reference.

use super::Worktree;
use super::git::GitRunner;
use std::fmt;
use std::time::Duration;
use wire::counting::counted;

const CAPTURE_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnsavedWork {
    pub files: usize,
    pub commits: usize,
}

impl UnsavedWork {
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for UnsavedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (files, commits) = (counted(self.files, "uncommitted file"), counted(self.commits, "commit"));
        write!(f, "{files}, {commits} found nowhere else")
    }
}

impl Worktree {
    /// An error means that it is unknown; treat it as containing work.
    pub async fn unsaved_work(&self) -> Result<UnsavedWork, String> {
        let git = GitRunner { dir: &self.path, env: &self.env };
        let status = git.run(&["status", "--porcelain", "--untracked-files=all", "--ignored=no"]).await?;
        let mut range = vec!["rev-list".to_owned(), "--count".into(), "HEAD".into()];
        // The branch may contain commits that are no longer checked out.
        if let Some(branch) = &self.branch
            && git.commit_of(&format!("refs/heads/{branch}")).await.is_ok()
        {
            range.push(format!("refs/heads/{branch}"));
        }
        range.push("--not".to_owned());
        range.extend(Some(self.commit.clone()).filter(|commit| !commit.is_empty()));
        range.extend(self.branch.iter().map(|branch| format!("--exclude={branch}")));
        range.extend(["--branches", "--remotes", "--tags"].map(str::to_owned));
        let range: Vec<&str> = range.iter().map(String::as_str).collect();
        let commits = git.run(&range).await?.parse().map_err(|_| "git did not count the commits".to_owned())?;
        Ok(UnsavedWork { files: status.lines().count(), commits })
    }

    /// Saves everything that is not ignored in a commit outside all branches; returns its reference.
    pub async fn save_to_reference(&self) -> Result<String, String> {
        let git = GitRunner { dir: &self.path, env: &self.env };
        let Some(git_dir) = sys::git::git_dir(&self.path) else { return Err("it is no checkout of git".into()) };
        let index = git_dir.join("gimlet-index");
        let shown = index.display().to_string();
        let identity = [
            ("GIT_INDEX_FILE", shown.as_str()),
            ("GIT_AUTHOR_NAME", "gimlet"),
            ("GIT_AUTHOR_EMAIL", "gimlet@localhost"),
            ("GIT_COMMITTER_NAME", "gimlet"),
            ("GIT_COMMITTER_EMAIL", "gimlet@localhost"),
        ];
        let kept = async {
            git.run_with(&["read-tree", "HEAD"], &identity, CAPTURE_TIMEOUT).await?;
            git.run_with(&["add", "--all", "--", "."], &identity, CAPTURE_TIMEOUT).await?;
            let tree = git.run_with(&["write-tree"], &identity, CAPTURE_TIMEOUT).await?;
            let message = format!("Discarded with the worktree {}", self.name);
            let commit = ["commit-tree", &tree, "-p", "HEAD", "-m", &message];
            let commit = git.run_with(&commit, &identity, CAPTURE_TIMEOUT).await?;
            let reference = format!("refs/gimlet/discarded/{}-{}", self.name, sys::clock::now_ms());
            git.run(&["update-ref", &reference, &commit]).await?;
            Ok(reference)
        };
        let kept = kept.await;
        std::fs::remove_file(&index).ok();
        kept
    }
}
