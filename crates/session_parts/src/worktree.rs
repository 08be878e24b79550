//! Git worktrees for agents and sessions: created in the repository's `.claude/worktrees` or by the user's hooks,
//! locked while in use, removed only when they contain no work or on request. A worktree is never reached through a
//! link, and when one cannot be created, nothing starts in its place.

pub mod active;
mod git;
mod guard;
mod hooks;
mod launch;
mod locks;
mod name;
mod sweep;
pub mod unsaved_work;

pub use active::{ActiveWorktree, WorktreeMove};
pub use git::{GitRunner, PowerlessGit, RemoteAccess};
pub use guard::WorktreeGuard;
pub use hooks::WorktreeHooks;
pub use launch::{WorktreeReturn, enter, planned_path, recorded, reenter};
pub use name::WorktreeName;
pub use sweep::sweep;

use futures_util::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::Env;
use wire::settings::WorktreeSettings as Settings;

/// Maximum number of files to copy.
const MAX_COPIED: usize = 10_000;
/// Where worktrees are, below the main checkout.
const WORKTREES: &str = ".claude/worktrees";
const IGNORE_FILE: &str = ".gitignore";

#[derive(Debug)]
pub struct Worktree {
    pub path: PathBuf,
    /// `None` for one that hooks created outside of git.
    pub branch: Option<String>,
    pub name: String,
    pub maker: WorktreeMaker,
    /// It did not exist before.
    pub is_new: bool,
    /// What it started from, as text and as a commit; the commit is empty when unknown.
    base: String,
    commit: String,
    main: PathBuf,
    /// The checkout it was created from, which may differ from the main one.
    origin: PathBuf,
    env: Env,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeMaker {
    Git,
    Hooks,
}

/// Who will work in it.
#[derive(Clone, Copy, Debug)]
pub enum WorktreeHolder<'a> {
    Agent(&'a str),
    Session(&'a str),
}

impl WorktreeHolder<'_> {
    fn text(self) -> String {
        match self {
            Self::Agent(id) => format!("agent {id}"),
            Self::Session(id) => format!("session {id}"),
        }
    }
}

/// The parameters of a new worktree.
pub struct WorktreeRequest<'a> {
    /// Where the requester works now.
    pub project: &'a Path,
    pub name: WorktreeName,
    pub holder: WorktreeHolder<'a>,
    pub settings: &'a Settings,
    pub remote: RemoteAccess,
    pub env: &'a Env,
    pub hooks: Option<&'a WorktreeHooks>,
}

/// A worktree that was kept because it contains changes.
#[derive(Clone, Debug)]
pub struct KeptWorktree {
    pub path: PathBuf,
    pub branch: Option<String>,
}

impl Worktree {
    /// Creates a worktree, or opens the one that was created under this chosen name before. The future has a box
    /// without a type: each crate that awaits it would contain a copy of all its code otherwise.
    pub fn create(request: WorktreeRequest<'_>) -> BoxFuture<'_, Result<Self, String>> {
        Box::pin(Self::create_or_open(request))
    }

    async fn create_or_open(request: WorktreeRequest<'_>) -> Result<Self, String> {
        let root = sys::git::root(request.project);
        if let Some(hooks) = request.hooks
            && let Some(made) = hooks.create(&request.name.text, root.as_deref().unwrap_or(request.project)).await
        {
            return Self::by_hooks(&request, made?, root).await;
        }
        let root = root.ok_or_else(|| {
            format!("A worktree needs a git repository, and {} is in none.", request.project.display())
        })?;
        let main = sys::git::main_checkout(&root).unwrap_or_else(|| root.clone());
        let path = main.join(WORKTREES).join(&request.name.text);
        refuse_links(&main, &path)?;
        locks::release_dead(&main);
        let worktree = if std::fs::symlink_metadata(&path).is_ok() {
            Self::open_existing(&request, path, main, root).await?
        } else {
            Self::add(&request, path, main, root).await?
        };
        worktree.lock(request.holder)?;
        Ok(worktree)
    }

    async fn add(request: &WorktreeRequest<'_>, path: PathBuf, main: PathBuf, root: PathBuf) -> Result<Self, String> {
        let git = GitRunner { dir: &root, env: request.env };
        let (base, commit) = request.start(git).await?;
        let branch = format!("worktree-{}", request.name.text);
        let shown = path.display().to_string();
        let sparse = &request.settings.sparse_paths;
        let mut add = vec!["worktree", "add"];
        if !sparse.is_empty() {
            add.push("--no-checkout");
        }
        add.extend(["-b", &branch, "--", &shown, &commit]);
        keep_out_of_status(&main);
        if let Err(error) = git.run(&add).await {
            remove_empty_folders(&main);
            return Err(error);
        }
        let worktree = Self {
            path,
            branch: Some(branch),
            name: request.name.text.clone(),
            maker: WorktreeMaker::Git,
            is_new: true,
            base,
            commit,
            main,
            origin: root,
            env: request.env.clone(),
        };
        if !sparse.is_empty() {
            worktree.check_out_sparsely(sparse).await?;
        }
        worktree.copy_included().await;
        worktree.link_shared(&request.settings.symlink_directories);
        Ok(worktree)
    }

    /// Opens the worktree with a name that was chosen before; it must belong to this repository.
    async fn open_existing(
        request: &WorktreeRequest<'_>,
        path: PathBuf,
        main: PathBuf,
        root: PathBuf,
    ) -> Result<Self, String> {
        let refused = |why: &str| format!("Refusing to use {} as an isolation worktree: {why}.", path.display());
        if !request.name.chosen {
            return Err(refused("something is there already"));
        }
        verify(&path, &main).map_err(|why| refused(&why))?;
        let at_origin = GitRunner { dir: &root, env: request.env };
        let base = git::base(at_origin, request.settings.base_ref.as_deref(), request.remote).await;
        let target = at_origin.commit_of(&base).await?;
        let inside = GitRunner { dir: &path, env: request.env };
        let commit = inside.run(&["merge-base", "HEAD", &target]).await.unwrap_or_else(|_| target.clone());
        let branch = sys::git::branch(&path);
        let worktree = Self {
            branch: Some(branch).filter(|branch| !matches!(branch.as_str(), "" | "HEAD")),
            name: request.name.text.clone(),
            maker: WorktreeMaker::Git,
            is_new: false,
            base,
            commit,
            main,
            origin: root,
            env: request.env.clone(),
            path,
        };
        if worktree.base != "HEAD" && request.name.request.is_none() {
            worktree.fast_forward(&target).await;
        }
        Ok(worktree)
    }

    /// Moves a worktree without work on its own branch forward to where a new one would start. Fast-forward only.
    async fn fast_forward(&self, target: &str) {
        let own = format!("worktree-{}", self.name);
        if self.branch.as_deref() != Some(&own)
            || !self.unsaved_work().await.is_ok_and(unsaved_work::UnsavedWork::is_none)
        {
            return;
        }
        let inside = GitRunner { dir: &self.path, env: &self.env };
        if let Err(error) = inside.run(&["merge", "--ff-only", "--quiet", target]).await {
            tracing::debug!(error, "the worktree stays where it is");
        }
    }

    async fn by_hooks(request: &WorktreeRequest<'_>, path: PathBuf, root: Option<PathBuf>) -> Result<Self, String> {
        let root = root.unwrap_or_else(|| request.project.to_path_buf());
        let main = sys::git::main_checkout(&root).unwrap_or_else(|| root.clone());
        // The isolated folder must not share the git metadata of the checkout.
        let real = sys::real_path::path(&path);
        if sys::git::root(&real).is_some_and(|found| found == sys::real_path::path(&root))
            && !real.join(".git").exists()
        {
            let inside = real.starts_with(sys::real_path::path(&root));
            if inside && sys::git::shares_repository(&real, &sys::real_path::path(&root)) {
                return Err(format!(
                    "Refusing to use {} as an isolation worktree: git there would change the main checkout.",
                    path.display()
                ));
            }
        }
        let git = GitRunner { dir: &path, env: request.env };
        let commit = git.commit_of("HEAD").await.unwrap_or_default();
        let branch = sys::git::branch(&path);
        let worktree = Self {
            branch: Some(branch).filter(|branch| !matches!(branch.as_str(), "" | "HEAD")),
            name: request.name.text.clone(),
            maker: WorktreeMaker::Hooks,
            is_new: false,
            base: "the WorktreeCreate hook".into(),
            commit,
            main,
            origin: root,
            env: request.env.clone(),
            path,
        };
        worktree.lock(request.holder)?;
        Ok(worktree)
    }

    /// Opens an existing worktree: of an agent that continues or of a resumed session.
    pub fn reopen(path: PathBuf, branch: Option<String>, commit: String, env: &Env) -> Option<Self> {
        let main = sys::git::main_checkout(&path)?;
        let name = path.file_name()?.to_string_lossy().into_owned();
        let (base, origin) = (commit.clone(), main.clone());
        Some(Self {
            path,
            branch,
            name,
            maker: WorktreeMaker::Git,
            is_new: false,
            base,
            commit,
            main,
            origin,
            env: env.clone(),
        })
    }

    /// A worktree that hooks created without git.
    fn outside_git(path: PathBuf, origin: &str, env: &Env) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (base, main) = ("the WorktreeCreate hook".into(), PathBuf::from(origin));
        let (maker, origin) = (WorktreeMaker::Hooks, main.clone());
        Self {
            path,
            branch: None,
            name,
            maker,
            is_new: false,
            base,
            commit: String::new(),
            main,
            origin,
            env: env.clone(),
        }
    }

    /// Locks it while this process works in it.
    pub fn lock(&self, holder: WorktreeHolder<'_>) -> Result<(), String> {
        locks::take(&self.path, &holder.text())
            .map_err(|error| format!("The worktree {} cannot be locked: {error}", self.path.display()))
    }

    pub fn unlock(&self) {
        locks::release(&self.path);
    }

    pub fn guard(&self) -> Arc<WorktreeGuard> {
        Arc::new(WorktreeGuard::new(&[&self.main, &self.origin], &self.path))
    }

    pub fn describe(&self) -> String {
        let branch = self.branch.as_ref().map(|branch| format!(" on branch {branch}")).unwrap_or_default();
        format!(
            "\n- You work in a git worktree of your own{branch}, made from {} ({}). The main checkout at {} is not \
             yours: do not touch it.",
            self.base,
            self.short_commit(),
            self.main.display()
        )
    }

    /// For example `origin/HEAD (1234abcd)`.
    pub fn started_from(&self) -> String {
        format!("{} ({})", self.base, self.short_commit())
    }

    fn short_commit(&self) -> &str {
        self.commit.get(..12).unwrap_or(&self.commit)
    }

    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Removes the worktree when it contains nothing new; otherwise returns it.
    pub async fn remove_if_unchanged(&self, hooks: Option<&WorktreeHooks>) -> Option<KeptWorktree> {
        let kept = || Some(KeptWorktree { path: self.path.clone(), branch: self.branch.clone() });
        self.unlock();
        match self.unsaved_work().await {
            Ok(work) if work.is_none() => {}
            Ok(_) | Err(_) => return kept(),
        }
        match self.remove(hooks).await {
            Ok(()) => None,
            Err(error) => {
                tracing::warn!(error, worktree = %self.path.display(), "a worktree could not be removed");
                kept()
            }
        }
    }

    /// Removes the worktree with everything in it. Fails when it is locked by somebody else.
    pub async fn remove(&self, hooks: Option<&WorktreeHooks>) -> Result<(), String> {
        self.unlock();
        if locks::state(&self.path) != locks::LockState::None {
            return Err(format!("{} is locked", self.path.display()));
        }
        if let Some(hooks) = hooks
            && let Some(removed) = hooks.remove(&self.path).await
        {
            removed?;
        }
        let git = GitRunner { dir: &self.main, env: &self.env };
        let shown = self.path.display().to_string();
        if self.path.exists() {
            if self.maker == WorktreeMaker::Hooks
                && hooks.is_some_and(|hooks| hooks.0.hooks.has_handlers(wire::hooks::HookEventName::WorktreeRemove))
            {
                return Ok(());
            }
            git.run(&["worktree", "remove", "--force", "--", &shown]).await?;
        }
        let own = format!("worktree-{}", self.name);
        if self.maker == WorktreeMaker::Git && self.branch.as_deref() == Some(&own) {
            git.run(&["branch", "-D", "--", &own]).await.ok();
        }
        remove_empty_folders(&self.main);
        Ok(())
    }

    async fn check_out_sparsely(&self, paths: &[String]) -> Result<(), String> {
        let git = GitRunner { dir: &self.path, env: &self.env };
        let mut set = vec!["sparse-checkout", "set", "--cone", "--"];
        set.extend(paths.iter().map(String::as_str));
        git.run(&set).await?;
        git.run(&["checkout", "--quiet"]).await.map(drop)
    }

    /// Copies the files that match `.worktreeinclude` and are ignored by git.
    async fn copy_included(&self) {
        let root = &self.origin;
        let list = root.join(".worktreeinclude");
        if !list.is_file() {
            return;
        }
        let git = GitRunner { dir: root, env: &self.env };
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

    /// Links folders that the settings share with the checkout, such as installed packages.
    fn link_shared(&self, folders: &[String]) {
        for folder in folders {
            let plain = Path::new(folder).components().all(|part| matches!(part, std::path::Component::Normal(_)));
            let (from, to) = (self.origin.join(folder), self.path.join(folder));
            if !plain || !from.is_dir() || std::fs::symlink_metadata(&to).is_ok() {
                continue;
            }
            let parent = to.parent().map_or(Ok(()), std::fs::create_dir_all);
            if let Err(error) = parent.and_then(|()| std::os::unix::fs::symlink(&from, &to)) {
                tracing::warn!(%error, folder, "a folder of worktree.symlinkDirectories could not be linked");
            }
        }
    }
}

impl WorktreeRequest<'_> {
    /// What it starts from, as text and as a commit.
    async fn start(&self, git: GitRunner<'_>) -> Result<(String, String), String> {
        if let Some(number) = self.name.request {
            return Ok((format!("request #{number}"), git::fetch_request(git, number).await?));
        }
        let base = git::base(git, self.settings.base_ref.as_deref(), self.remote).await;
        let commit = git
            .commit_of(&base)
            .await
            .map_err(|_| format!("A worktree needs a commit to start from, and {} has none yet.", git.dir.display()))?;
        Ok((base, commit))
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    // Links are not copied: they would lead out of the worktree.
    if !std::fs::symlink_metadata(from)?.is_file() {
        return Ok(());
    }
    if let Some(dir) = to.parent() {
        std::fs::create_dir_all(dir)?;
    }
    std::fs::copy(from, to).map(drop)
}

/// Writes an ignore file beside the worktrees, so that `git status` of the main checkout does not list them. It ignores
/// itself too.
fn keep_out_of_status(main: &Path) {
    let folder = main.join(WORKTREES);
    let file = folder.join(IGNORE_FILE);
    if std::fs::symlink_metadata(&file).is_ok() {
        return;
    }
    if let Err(error) = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, "*\n")) {
        tracing::debug!(%error, "git status will list the worktrees");
    }
}

/// Removes the folder of the worktrees when it holds nothing but its ignore file, and the one above when it is empty.
fn remove_empty_folders(main: &Path) {
    let folder = main.join(WORKTREES);
    let Ok(entries) = std::fs::read_dir(&folder) else { return };
    if entries.flatten().any(|entry| entry.file_name() != IGNORE_FILE) {
        return;
    }
    std::fs::remove_file(folder.join(IGNORE_FILE)).ok();
    if std::fs::remove_dir(&folder).is_ok() {
        std::fs::remove_dir(main.join(".claude")).ok();
    }
}

/// A repository may contain links where worktrees are created; following one would write elsewhere.
fn refuse_links(main: &Path, path: &Path) -> Result<(), String> {
    for part in [main.join(".claude"), main.join(WORKTREES), path.to_path_buf()] {
        if std::fs::symlink_metadata(&part).is_ok_and(|meta| !meta.is_dir()) {
            return Err(format!(
                "Refusing to use {} as an isolation worktree: {} is a link or a file, not a folder.",
                path.display(),
                part.display()
            ));
        }
    }
    Ok(())
}

/// Checks that `path` is a worktree of the repository whose main checkout is `main`.
pub fn verify(path: &Path, main: &Path) -> Result<(), String> {
    if !std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        return Err("it is no folder".into());
    }
    match sys::git::main_checkout(path) {
        Some(found) if found == sys::real_path::path(main) => Ok(()),
        Some(found) => Err(format!("it belongs to the repository at {}", found.display())),
        None => Err("the repository does not list it as a worktree".into()),
    }
}
