//! Settings that change while a session runs. Changes are found by stat before calls run: new denials apply to the
//! next call, new grants do not take effect, because the session itself may have written them.

use crate::sandbox::SessionSandbox;
use config::memory::InstructionMemory;
use config::{ChangeAuthor, ConfigLoader, MemoryScope, ProjectConfig, SettingsSelection};
use permission::{Policy, SessionDirectories};
use std::path::PathBuf;
use std::sync::Arc;
use sys::Env;
use wire::mode::PermissionMode;
use wire::settings::RuleText;

/// Whether the command line restricts hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookRestriction {
    No,
    /// `--safe-mode`: only managed hooks.
    Safe,
    /// `--bare`: no hooks.
    Bare,
}

impl From<(bool, bool)> for HookRestriction {
    /// From the flags `--bare` and `--safe-mode`.
    fn from((bare, safe): (bool, bool)) -> Self {
        match (bare, safe) {
            (true, _) => Self::Bare,
            (false, true) => Self::Safe,
            (false, false) => Self::No,
        }
    }
}

/// Which instruction files are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionScope {
    All,
    /// For agents: only the main thread has the notes of earlier sessions.
    WithoutNotes,
    /// For agents whose definition omits them.
    None,
}

#[derive(Clone)]
pub struct SettingsWatch {
    pub cwd: PathBuf,
    /// The environment of the process, without the variables of the settings.
    pub env: Env,
    pub selection: SettingsSelection,
    pub loaded: ProjectConfig,
    /// Rules of the command line.
    pub flag_rules: Vec<RuleText>,
    /// Rules the host granted while the session runs, saved or not.
    pub granted_rules: Vec<RuleText>,
    /// `--add-dir`: a change of settings does not remove them.
    pub flag_directories: Vec<PathBuf>,
    pub granted_directories: Vec<PathBuf>,
    /// Without the additional directories.
    pub place: SessionDirectories,
    /// Notices for the user about changes.
    pub notices: Vec<String>,
    /// The default folder for notes.
    pub notes: PathBuf,
    pub instructions: InstructionScope,
    /// `None` when there is no sandbox.
    pub sandbox: Option<Arc<SessionSandbox>>,
    /// How the command line restricts hooks.
    pub reduced: HookRestriction,
}

impl SettingsWatch {
    pub fn policy(&self, mode: PermissionMode) -> Policy {
        let mut place = self.place.clone();
        place.roots.extend(self.additional());
        let (policy, warnings) = Policy::new(mode, &self.rules(), place, &sys::real_path::path);
        for warning in warnings {
            tracing::warn!(?warning, "a permission rule cannot work as written");
        }
        policy
    }

    /// All active rules.
    pub fn rules(&self) -> Vec<RuleText> {
        self.loaded.rules.iter().chain(&self.flag_rules).chain(&self.granted_rules).cloned().collect()
    }

    /// The instruction files as they are on disk now.
    pub fn memory(&self) -> InstructionMemory {
        if self.instructions == InstructionScope::None {
            return InstructionMemory::default();
        }
        let mut memory = config::memory::load(&config::memory::MemoryQuery {
            cwd: &self.cwd,
            env: &self.loaded.env,
            selection: &self.selection,
            loaded: &self.loaded,
            added: &self.flag_directories,
            notes: Some(&self.notes),
        });
        if self.instructions == InstructionScope::WithoutNotes {
            memory.files.retain(|file| file.scope != MemoryScope::Auto);
        }
        for left_out in &memory.skipped {
            tracing::warn!(file = %left_out.path.display(), reason = left_out.reason, "instructions left out");
        }
        for finding in &memory.findings {
            tracing::warn!("{finding}");
        }
        memory
    }

    /// The folder for notes to later sessions; `None` when notes are switched off.
    pub fn notes_dir(&self) -> Option<PathBuf> {
        config::memory::auto_directory(&self.loaded.env, &self.loaded, Some(&self.notes))
    }

    /// The directories in addition to the starting one.
    pub fn additional(&self) -> Vec<PathBuf> {
        let mut all = self.flag_directories.clone();
        for dir in self.loaded.additional_directories.iter().chain(&self.granted_directories) {
            if !all.contains(dir) {
                all.push(dir.clone());
            }
        }
        all
    }

    /// Moves to another checkout; the settings stay.
    pub fn move_to(&mut self, cwd: &std::path::Path) {
        self.place.cwd = cwd.to_path_buf();
        if let Some(first) = self.place.roots.first_mut() {
            *first = cwd.to_path_buf();
        }
        self.sandbox = self.sandbox.as_ref().map(|known| Arc::new(known.for_checkout(&self.loaded, cwd)));
    }

    /// Removes rules of files and granted rules.
    pub fn remove_rules(&mut self, gone: impl Fn(&RuleText) -> bool) {
        self.loaded.rules.retain(|rule| !gone(rule));
        self.granted_rules.retain(|rule| !gone(rule));
    }

    /// The changed settings; `None` when no file has changed, which costs a few stat calls.
    pub fn changed(&mut self, author: ChangeAuthor) -> Option<ProjectConfig> {
        let place = (self.cwd.as_path(), &self.env, &self.selection);
        match ConfigLoader::refresh_by(&self.loaded, place, author)? {
            Ok(loaded) => Some(loaded),
            Err(error) => {
                self.notices
                    .push(format!("Warning: settings changed and cannot be read; the old ones remain in use: {error}"));
                None
            }
        }
    }

    /// Applies new settings as far as allowed; adds a notice about what is not applied.
    pub fn apply(&mut self, loaded: ProjectConfig) {
        let known = &self.loaded.pending;
        // What the host granted is already active and was saved to the file.
        let granted = |waiting: &String| {
            self.granted_rules.iter().any(|rule| *waiting == format!("allow rule {}", rule.text))
                || self
                    .granted_directories
                    .iter()
                    .any(|dir| *waiting == format!("additional directory {}", dir.display()))
        };
        let new: Vec<&str> =
            loaded.pending.iter().filter(|w| !known.contains(w) && !granted(w)).map(String::as_str).collect();
        if !new.is_empty() {
            self.notices.push(format!(
                "Warning: settings changed while the session runs. Not used in this session: {}. `gimlet config explain` \
                 shows what changed; remove it there if you did not want it.",
                new.join(", ")
            ));
        }
        self.sandbox = self.sandbox.as_ref().map(|known| Arc::new(known.tightened(&loaded)));
        self.loaded = loaded;
    }

    /// Takes the notices that were not shown yet.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }
}
