//! Runs the hooks for a changed directory and changed files.

use crate::session::SessionIo;
use session_parts::hooks::HookScope;
use session_parts::hooks::watch::{FileWatcher, file_changed};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use wire::hooks::{CwdChanged, HookEventName};

impl SessionIo {
    pub(crate) fn set_watch_paths(&mut self, paths: Option<Vec<String>>) {
        if let Some(paths) = paths {
            self.hooks.watcher.dynamic =
                paths.into_iter().map(PathBuf::from).filter(|path| path.is_absolute()).collect();
            self.hooks.watcher.is_set_up = false;
        }
    }

    /// Checks whether the shell's directory or a watched file changed, and runs the hooks for it.
    pub(crate) async fn check_watched(&mut self, cancel: &CancellationToken) {
        // Agents work with the same files; the main thread reports changes.
        if self.hooks.agent().is_some() {
            return;
        }
        if self.hooks.listens(HookEventName::CwdChanged) {
            self.check_cwd(cancel).await;
        }
        if self.hooks.listens(HookEventName::FileChanged) {
            self.check_files(cancel).await;
        } else {
            self.hooks.watcher.file_watcher = JoinSet::new();
        }
    }

    /// Reports that the session moved here from `old`.
    pub(crate) async fn report_move(&mut self, old: PathBuf, cancel: &CancellationToken) {
        self.hooks.watcher.cwd = old;
        self.check_watched(cancel).await;
        // Hooks that are added later see only later moves.
        self.hooks.watcher.cwd = self.workspace().cwd;
    }

    /// Starts the background check of watched files.
    fn start_file_watcher(&mut self) {
        self.hooks.watcher.file_watcher = JoinSet::new();
        if self.hooks.watcher.files().stamps.is_empty() {
            return;
        }
        let watcher = FileWatcher {
            files: Arc::clone(&self.hooks.watcher.files),
            hooks: Arc::clone(&self.hooks.current),
            base: self.hook_base(HookEventName::FileChanged),
            cwd: self.workspace().cwd,
            env_file: self.hooks.env_files.as_ref().and_then(|files| files.of(HookEventName::FileChanged)),
            reporter: self.hooks.reporter.clone(),
        };
        self.hooks.watcher.file_watcher.spawn(watcher.run());
    }

    async fn check_cwd(&mut self, cancel: &CancellationToken) {
        let now = self.workspace().cwd;
        let old = std::mem::replace(&mut self.hooks.watcher.cwd, now.clone());
        if old == now {
            return;
        }
        if let Some(files) = &self.hooks.env_files {
            files.forget_directory();
        }
        self.hooks.watcher.is_set_up = false;
        let event = CwdChanged { old_cwd: old.display().to_string(), new_cwd: now.display().to_string() };
        let merged = self.fire(&event, HookScope::new(cancel)).await;
        self.set_watch_paths(merged.watch_paths);
    }

    async fn check_files(&mut self, cancel: &CancellationToken) {
        let requested = self.hooks.watcher.files().requested_paths.take();
        self.set_watch_paths(requested);
        if !self.hooks.watcher.is_set_up {
            let cwd = self.workspace().cwd;
            let entries = self.hooks.current.catalogue().of(HookEventName::FileChanged);
            let names = entries.iter().filter_map(|entry| entry.matcher_text.as_deref());
            let named = names.flat_map(|text| text.split('|')).filter(|name| !name.is_empty());
            let named = named.map(|name| cwd.join(name)).collect();
            self.hooks.watcher.watch(named);
            self.start_file_watcher();
        }
        let changes = self.hooks.watcher.files().changes();
        for (path, event) in changes {
            let merged = self.fire(&file_changed(&path, event), HookScope::new(cancel)).await;
            self.set_watch_paths(merged.watch_paths);
        }
    }
}
