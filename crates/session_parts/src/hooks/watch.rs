//! What hooks may watch (the shell's directory and named files), and the files through which they set variables for
//! later commands. Changes are found by stat, so that it works on every file system: between steps, and several times
//! a second while a hook names files. Nothing runs otherwise.

use super::HookReporter;
use hooks::{HookOccasion, Hooks};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use sys::sync::{Mutex, MutexGuard};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use wire::hooks::{FileChanged, HookBase, HookEventName};

/// How often named files are checked while the session does something else.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// The `CLAUDE_ENV_FILE` files of hooks. Commands source one small script that sources the others.
#[derive(Clone, Debug)]
pub struct EnvFiles {
    dir: PathBuf,
}

impl EnvFiles {
    /// `None` when the files cannot be created: hooks then get no such file.
    pub fn create(config_home: &Path, session_id: &str, users_own: Option<&str>) -> Option<Self> {
        let dir = config_home.join("session-env").join(session_id);
        let files = Self { dir };
        let mut script = String::new();
        let sourced = users_own.map(PathBuf::from).into_iter().chain([files.session(), files.directory()]);
        for file in sourced {
            let quoted = format!("'{}'", file.display().to_string().replace('\'', r"'\''"));
            writeln!(script, "[ -r {quoted} ] && . {quoted}").ok();
        }
        // A missing last file must not make the command fail.
        script.push_str("true\n");
        std::fs::create_dir_all(&files.dir)
            .and_then(|()| sys::fs::atomic_write(&files.entry(), script.as_bytes(), 0o600))
            .inspect_err(|error| tracing::warn!(%error, "hooks have no CLAUDE_ENV_FILE"))
            .ok()?;
        Some(files)
    }

    /// The script that commands source.
    pub fn entry(&self) -> PathBuf {
        self.dir.join("env.sh")
    }

    fn session(&self) -> PathBuf {
        self.dir.join("session.sh")
    }

    fn directory(&self) -> PathBuf {
        self.dir.join("directory.sh")
    }

    /// The file that a hook of `event` writes to, created so that the hook can append to it.
    pub fn of(&self, event: HookEventName) -> Option<PathBuf> {
        let path = match event {
            HookEventName::SessionStart | HookEventName::Setup => self.session(),
            HookEventName::CwdChanged | HookEventName::FileChanged => self.directory(),
            _ => return None,
        };
        let mut options = std::fs::OpenOptions::new();
        options.create(true).append(true).open(&path).ok()?;
        Some(path)
    }

    /// Drops the variables that were set for the last directory.
    pub fn forget_directory(&self) {
        std::fs::remove_file(self.directory()).ok();
    }

    pub fn remove(&self) {
        std::fs::remove_dir_all(&self.dir).ok();
    }
}

pub struct HookWatcher {
    pub cwd: PathBuf,
    pub files: Arc<Mutex<WatchedFiles>>,
    /// `watchPaths` of hooks.
    pub dynamic: Vec<PathBuf>,
    pub is_set_up: bool,
    /// Checks files while the session does something else; ends with the session.
    pub file_watcher: JoinSet<()>,
}

/// Shared by the session and its `FileWatcher`: a change is reported by one of them.
#[derive(Default)]
pub struct WatchedFiles {
    pub stamps: BTreeMap<PathBuf, Option<(SystemTime, u64)>>,
    /// `watchPaths` that a hook of the `FileWatcher` returned.
    pub requested_paths: Option<Vec<String>>,
}

impl HookWatcher {
    pub fn new(cwd: PathBuf) -> Self {
        Self { cwd, files: Arc::default(), dynamic: Vec::new(), is_set_up: false, file_watcher: JoinSet::new() }
    }

    pub fn files(&self) -> MutexGuard<'_, WatchedFiles> {
        lock(&self.files)
    }

    /// Hooks have changed: they may name other files.
    pub fn reset(&mut self) {
        self.is_set_up = false;
    }

    /// Starts to watch new files and drops those that no hook names any more.
    pub fn watch(&mut self, named: Vec<PathBuf>) {
        let wanted: Vec<PathBuf> = named.into_iter().chain(self.dynamic.iter().cloned()).collect();
        let mut files = lock(&self.files);
        files.stamps.retain(|path, _| wanted.contains(path));
        for path in wanted {
            let stamp = stamp(&path);
            files.stamps.entry(path).or_insert(stamp);
        }
        self.is_set_up = true;
    }
}

fn lock(files: &Mutex<WatchedFiles>) -> MutexGuard<'_, WatchedFiles> {
    files.lock()
}

impl WatchedFiles {
    pub fn changes(&mut self) -> Vec<(PathBuf, &'static str)> {
        let mut found = Vec::new();
        for (path, before) in &mut self.stamps {
            let now = stamp(path);
            let event = match (&before, &now) {
                (None, Some(_)) => "add",
                (Some(_), None) => "unlink",
                (Some(old), Some(new)) if old != new => "change",
                (None, None) | (Some(_), Some(_)) => continue,
            };
            *before = now;
            found.push((path.clone(), event));
        }
        found
    }
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

pub fn file_changed(path: &Path, event: &str) -> FileChanged {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    FileChanged { name, file_path: path.display().to_string(), event: event.to_owned() }
}

/// Checks the named files while the session waits for a call, a person or the model.
pub struct FileWatcher {
    pub files: Arc<Mutex<WatchedFiles>>,
    pub hooks: Arc<Hooks>,
    pub base: HookBase,
    pub cwd: PathBuf,
    pub env_file: Option<PathBuf>,
    pub reporter: HookReporter,
}

impl FileWatcher {
    pub async fn run(self) {
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let changes = lock(&self.files).changes();
            for (path, event) in changes {
                self.fire(&file_changed(&path, event)).await;
            }
        }
    }

    async fn fire(&self, event: &FileChanged) {
        let occasion = HookOccasion {
            base: &self.base,
            cwd: &self.cwd,
            env_file: self.env_file.as_deref(),
            tool_use_id: None,
            tool_input: None,
            condition: &|_| true,
            limit: None,
            cancel: &CancellationToken::new(),
            progress: &self.reporter,
        };
        let merged = self.hooks.fire(event, &occasion).await;
        for problem in &merged.problems {
            tracing::warn!(%problem, "a hook failed");
        }
        if merged.watch_paths.is_some() {
            lock(&self.files).requested_paths = merged.watch_paths;
        }
    }
}
