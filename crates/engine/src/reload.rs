//! Settings that change while a session runs. Noticed by stat before calls run: what refuses applies to the next call, what
//! grants anything waits, because the session itself may have written it.

use config::memory::Memory;
use config::{Loaded, Project, Selection};
use permission::{Place, Policy};
use std::path::PathBuf;
use sys::Env;
use wire::mode::PermissionMode;
use wire::settings::RuleText;

pub(crate) struct Watch {
    pub cwd: PathBuf,
    /// As the process got it, without the settings' own variables.
    pub env: Env,
    pub selection: Selection,
    pub loaded: Loaded,
    /// Rules of the command line.
    pub given: Vec<RuleText>,
    pub place: Place,
    /// What the user has to be told about changes.
    pub notices: Vec<String>,
    /// Directories of `--add-dir`.
    pub added: Vec<PathBuf>,
    /// Where the session keeps notes of its own.
    pub notes: PathBuf,
}

impl Watch {
    pub(crate) fn policy(&self, mode: PermissionMode) -> Policy {
        let rules: Vec<RuleText> = self.loaded.rules.iter().chain(&self.given).cloned().collect();
        let (policy, warnings) = Policy::new(mode, &rules, self.place.clone(), &sys::real::path);
        for warning in warnings {
            tracing::warn!(?warning, "a permission rule cannot work as written");
        }
        policy
    }

    /// Instruction files as they are on disk now.
    pub(crate) fn memory(&self) -> Memory {
        let memory = config::memory::load(&config::memory::Query {
            cwd: &self.cwd,
            env: &self.loaded.env,
            selection: &self.selection,
            loaded: &self.loaded,
            added: &self.added,
            notes: Some(&self.notes),
        });
        for left_out in &memory.skipped {
            tracing::warn!(file = %left_out.path.display(), reason = left_out.reason, "instructions left out");
        }
        for finding in &memory.findings {
            tracing::warn!("{finding}");
        }
        memory
    }

    /// The new policy, when a settings file changed. A few stat calls otherwise.
    pub(crate) fn refresh(&mut self, mode: PermissionMode) -> Option<Policy> {
        let changed = Project::refresh(&self.loaded, &self.cwd, &self.env, &self.selection)?;
        match changed {
            Ok(loaded) => {
                let told = &self.loaded.pending;
                let new: Vec<&str> =
                    loaded.pending.iter().filter(|waiting| !told.contains(waiting)).map(String::as_str).collect();
                if !new.is_empty() {
                    self.notices.push(format!(
                        "Warning: settings changed while the session runs. Not in force until you start another session: \
                         {}. `gimlet config explain` shows what changed; remove it there if you did not want it.",
                        new.join(", ")
                    ));
                }
                self.loaded = loaded;
                Some(self.policy(mode))
            }
            Err(error) => {
                self.notices
                    .push(format!("Warning: settings changed and cannot be read; the old ones stay in force: {error}"));
                None
            }
        }
    }

    /// What the user was not told yet.
    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }
}
