//! The parts of a repository that a git command may destroy. Git is only asked for what it reads from its own files,
//! with every option disabled by which a repository could start a program; changed files are found by reading the
//! index.

use super::{index, places};
use permission::destruction::{GitLoss, GitWork};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::snapshots::SaveExtent;
use sys::Env;
use sys::git::neutral::powerless_env;

const GIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of commits considered per command.
const MAX_COMMITS: usize = 8;

/// Small files and folders with the state of the repository.
#[rustfmt::skip]
const WORKTREE_FILES: &[&str] = &[
    "HEAD", "index", "ORIG_HEAD", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "SQUASH_MSG", "CHERRY_PICK_HEAD",
    "REVERT_HEAD", "REBASE_HEAD", "logs", "refs",
];
const COMMON_FILES: &[&str] = &["packed-refs", "config", "refs", "logs", "reftable"];

struct CapturedRepository {
    root: PathBuf,
    git_dir: PathBuf,
}

/// Everything to save; empty outside a repository.
pub(super) async fn places(loss: &GitLoss, env: &Env) -> Vec<(PathBuf, SaveExtent)> {
    let Some(root) = sys::git::root(&loss.dir) else { return Vec::new() };
    let Some(git_dir) = sys::git::git_dir(&root) else { return Vec::new() };
    let repository = CapturedRepository { root, git_dir };
    let mut found = repository.state();
    match &loss.work {
        // Covers the removal of a linked worktree.
        GitWork::None => found.push((repository.git_dir.join("worktrees"), SaveExtent::Below)),
        GitWork::Tracked { commits } => found.extend(repository.tracked(commits, env).await),
        GitWork::Untracked { ignored } => found.extend(repository.untracked(*ignored, env).await),
    }
    found
}

impl CapturedRepository {
    fn state(&self) -> Vec<(PathBuf, SaveExtent)> {
        let common = sys::git::common_dir(&self.git_dir);
        let own = WORKTREE_FILES.iter().map(|name| self.git_dir.join(name));
        let shared = COMMON_FILES.iter().map(|name| common.join(name));
        own.chain(shared).map(|path| (path, SaveExtent::Below)).collect()
    }

    /// Tracked files that differ from the index, and files in which the index differs from one of the commits.
    async fn tracked(&self, commits: &[String], env: &Env) -> Vec<(PathBuf, SaveExtent)> {
        let mut names: BTreeSet<OsString> = BTreeSet::new();
        let (root, file) = (self.root.clone(), self.git_dir.join("index"));
        let changed = tokio::task::spawn_blocking(move || index::changed(&file, &root)).await;
        names.extend(changed.unwrap_or_default());
        let named = commits.iter().map(String::as_str).filter(|commit| !commit.starts_with('-')).take(MAX_COMMITS);
        for commit in ["HEAD"].into_iter().chain(named) {
            let tree = format!("{commit}^{{tree}}");
            let args = ["diff-index", "--cached", "--no-renames", "--no-ext-diff", "--name-only", "-z", &tree, "--"];
            match self.ask(&args, env).await {
                Some(differing) => names.extend(split(&differing)),
                // Before the first commit, every file in the index may be lost.
                None if commit == "HEAD" => {
                    names.extend(split(&self.ask(&["ls-files", "-z"], env).await.unwrap_or_default()));
                }
                None => {}
            }
        }
        names.iter().map(|name| (self.root.join(name), SaveExtent::Itself)).collect()
    }

    async fn untracked(&self, ignored: bool, env: &Env) -> Vec<(PathBuf, SaveExtent)> {
        let mut args = vec!["ls-files", "--others", "--directory", "-z"];
        if !ignored {
            args.push("--exclude-standard");
        }
        let names = split(&self.ask(&args, env).await.unwrap_or_default());
        names.iter().map(|name| (self.root.join(name), SaveExtent::Below)).collect()
    }

    async fn ask(&self, args: &[&str], env: &Env) -> Option<Vec<u8>> {
        let mut all: Vec<OsString> = Vec::new();
        for option in [
            "core.fsmonitor=false",
            "core.untrackedCache=false",
            "core.hooksPath=/dev/null",
            "core.pager=cat",
            "protocol.allow=never",
            "safe.bareRepository=explicit",
        ] {
            all.extend(["-c".into(), option.into()]);
        }
        all.extend([option("--git-dir=", &self.git_dir), option("--work-tree=", &self.root)]);
        all.extend(args.iter().map(OsString::from));
        // These git commands start no other program: where a key cannot be overridden, the options above suffice.
        let env = powerless_env(&self.root, env).unwrap_or_else(|_| env.clone());
        places::output("git".into(), all, self.root.clone(), &env, GIT_TIMEOUT).await
    }
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

fn split(names: &[u8]) -> Vec<OsString> {
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| OsStr::from_bytes(name.strip_suffix(b"/").unwrap_or(name)).to_owned()).collect()
}
