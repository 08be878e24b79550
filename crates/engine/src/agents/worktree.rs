//! A checkout of its own for an agent: made next to the repository's other worktrees, removed when nothing changed in it,
//! kept and named when something did. It is never shared, never reached through a link, and when it cannot be made the
//! agent does not start.

mod fence;

pub(crate) use fence::Fence;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use sys::Env;
use sys::process::{self, Input, Output, RunOptions, Spawn};

const PATIENCE: Duration = Duration::from_secs(30);
/// More than this is no list of files to copy.
const MAX_COPIED: usize = 10_000;

#[derive(Debug)]
pub(super) struct Worktree {
    pub(super) path: PathBuf,
    pub(super) branch: String,
    /// What it started from, in words and as a commit.
    base: String,
    commit: String,
    main: PathBuf,
    env: Env,
}

/// A worktree that was left because something changed in it.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) path: PathBuf,
    pub(super) branch: String,
}

impl Worktree {
    /// `base_ref` is the setting `worktree.baseRef`.
    pub(super) async fn create(project: &Path, id: &str, base_ref: Option<&str>, env: &Env) -> Result<Self, String> {
        let root = sys::git::root(project).ok_or_else(|| {
            format!("isolation: worktree needs a git repository, and {} is in none.", project.display())
        })?;
        let main = sys::git::main_checkout(&root).unwrap_or_else(|| root.clone());
        let path = main.join(".claude/worktrees").join(format!("agent-{id}"));
        refuse_links(&main, &path)?;
        let git = Git { dir: &root, env };
        let base = base(&git, base_ref).await;
        let commit = git.run(&["rev-parse", "--verify", &format!("{base}^{{commit}}")]).await?;
        let branch = format!("worktree-agent-{id}");
        let shown = path.display().to_string();
        git.run(&["worktree", "add", "-b", &branch, "--", &shown, &commit]).await?;
        let worktree = Self { path, branch, base, commit, main, env: env.clone() };
        let reason = format!("gimlet agent {id}, process {}", std::process::id());
        git.run(&["worktree", "lock", "--reason", &reason, "--", &shown]).await?;
        worktree.copy_included(&root).await;
        Ok(worktree)
    }

    /// Takes up the worktree of an agent that goes on.
    pub(super) fn reopen(path: PathBuf, branch: String, commit: String, env: &Env) -> Option<Self> {
        let main = sys::git::main_checkout(&path)?;
        Some(Self { base: commit.clone(), path, branch, commit, main, env: env.clone() })
    }

    pub(super) fn fence(&self) -> Arc<Fence> {
        Arc::new(Fence::new(&self.main, &self.path))
    }

    pub(super) fn describe(&self) -> String {
        format!(
            "\n- You work in a git worktree of your own on branch {}, made from {} ({}). The main checkout at {} is not \
             yours: do not touch it.",
            self.branch,
            self.base,
            self.commit.get(..12).unwrap_or(&self.commit),
            self.main.display()
        )
    }

    pub(super) fn commit(&self) -> &str {
        &self.commit
    }

    /// Removes it when it holds nothing new; otherwise says where it is.
    pub(super) async fn settle(&self) -> Option<Kept> {
        let kept = || Some(Kept { path: self.path.clone(), branch: self.branch.clone() });
        let inside = Git { dir: &self.path, env: &self.env };
        let outside = Git { dir: &self.main, env: &self.env };
        let shown = self.path.display().to_string();
        outside.run(&["worktree", "unlock", "--", &shown]).await.ok();
        let dirty = inside.run(&["status", "--porcelain", "--ignored=no"]).await;
        let range = format!("{}..HEAD", self.commit);
        let ahead = inside.run(&["rev-list", "--count", &range]).await;
        let unchanged = dirty.is_ok_and(|text| text.is_empty()) && ahead.is_ok_and(|text| text == "0");
        if !unchanged {
            return kept();
        }
        match outside.run(&["worktree", "remove", "--force", "--", &shown]).await {
            Ok(_) => {
                outside.run(&["branch", "-D", "--", &self.branch]).await.ok();
                None
            }
            Err(error) => {
                tracing::warn!(error, worktree = shown, "a worktree could not be removed");
                kept()
            }
        }
    }

    /// `.worktreeinclude`: files that match it and are ignored by git.
    async fn copy_included(&self, root: &Path) {
        let list = root.join(".worktreeinclude");
        if !list.is_file() {
            return;
        }
        let git = Git { dir: root, env: &self.env };
        let others = ["ls-files", "-z", "--others", "--ignored"];
        let exclude = format!("--exclude-from={}", list.display());
        let (Ok(matching), Ok(ignored)) = (
            git.run(&[others[0], others[1], others[2], others[3], &exclude]).await,
            git.run(&[others[0], others[1], others[2], others[3], "--exclude-standard"]).await,
        ) else {
            return;
        };
        let ignored: std::collections::BTreeSet<&str> = ignored.split('\0').collect();
        for file in matching.split('\0').filter(|f| !f.is_empty() && ignored.contains(f)).take(MAX_COPIED) {
            if let Err(error) = copy(&root.join(file), &self.path.join(file)) {
                tracing::warn!(%error, file, "a file of .worktreeinclude could not be copied");
            }
        }
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    // A link would lead out of the worktree.
    if !std::fs::symlink_metadata(from)?.is_file() {
        return Ok(());
    }
    if let Some(dir) = to.parent() {
        std::fs::create_dir_all(dir)?;
    }
    std::fs::copy(from, to).map(drop)
}

/// A repository may hold links where worktrees go; following one would write elsewhere.
fn refuse_links(main: &Path, path: &Path) -> Result<(), String> {
    let refused = |why: &str| Err(format!("Refusing to use {} as an isolation worktree: {why}.", path.display()));
    for part in [main.join(".claude"), main.join(".claude/worktrees")] {
        if std::fs::symlink_metadata(&part).is_ok_and(|meta| !meta.is_dir()) {
            return refused(&format!("{} is a link or a file, not a folder", part.display()));
        }
    }
    if std::fs::symlink_metadata(path).is_ok() {
        return refused("something is there already");
    }
    Ok(())
}

/// `head`: what is checked out now. Otherwise the remote's default branch, when one is known.
async fn base(git: &Git<'_>, base_ref: Option<&str>) -> String {
    let remote = "origin/HEAD";
    let known = base_ref != Some("head") && git.run(&["rev-parse", "--verify", "--quiet", remote]).await.is_ok();
    if known { remote.into() } else { "HEAD".into() }
}

/// Runs git without anything the repository could make it run.
struct Git<'a> {
    dir: &'a Path,
    env: &'a Env,
}

impl Git<'_> {
    /// What it printed, without the last newline; an error is what it complained.
    async fn run(&self, args: &[&str]) -> Result<String, String> {
        let quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never"];
        let redirects = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"];
        let env = self.env.without(redirects).with([("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")]);
        let spec = Spawn {
            program: "git".into(),
            args: quiet.iter().chain(args).map(Into::into).collect(),
            env: env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            cwd: self.dir.to_path_buf(),
            stdin: Input::Null,
            output: Output::Split,
        };
        let failed = |why: String| Err(format!("git {} failed in {}: {why}", args[0], self.dir.display()));
        let options = RunOptions { timeout: PATIENCE, keep: 4 << 20, ..RunOptions::default() };
        let done = match process::run(spec, options).await {
            Ok(done) => done,
            Err(error) => return failed(error.to_string()),
        };
        if done.exit.code == Some(0) {
            return Ok(String::from_utf8_lossy(&done.stdout.to_bytes()).trim_end_matches('\n').to_owned());
        }
        failed(String::from_utf8_lossy(&done.stderr.to_bytes()).trim().to_owned())
    }
}
