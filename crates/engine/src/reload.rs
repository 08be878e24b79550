//! Settings that change while a session runs. Noticed by stat before calls run: what refuses applies to the next call, what
//! grants anything waits, because the session itself may have written it.

use config::{Author, Loaded, Project, Selection};
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
    /// Rules the host granted while the session runs, saved or not.
    pub granted: Vec<RuleText>,
    /// `--add-dir`: no change of settings takes them away.
    pub given_directories: Vec<PathBuf>,
    pub granted_directories: Vec<PathBuf>,
    /// Without the additional directories.
    pub place: Place,
    /// What the command line leaves of hooks.
    pub reduced: crate::hooks::Reduced,
}

impl Watch {
    pub(crate) fn policy(&self, mode: PermissionMode) -> Policy {
        let rules: Vec<RuleText> = self.loaded.rules.iter().chain(&self.given).chain(&self.granted).cloned().collect();
        let mut place = self.place.clone();
        place.roots.extend(self.additional());
        let (policy, warnings) = Policy::new(mode, &rules, place, &sys::real::path);
        for warning in warnings {
            tracing::warn!(?warning, "a permission rule cannot work as written");
        }
        policy
    }

    /// The directories besides the starting one.
    pub(crate) fn additional(&self) -> Vec<PathBuf> {
        let mut all = self.given_directories.clone();
        for dir in self.loaded.additional_directories.iter().chain(&self.granted_directories) {
            if !all.contains(dir) {
                all.push(dir.clone());
            }
        }
        all
    }

    /// Takes rules of files and grants out of force.
    pub(crate) fn forget(&mut self, gone: impl Fn(&RuleText) -> bool) {
        self.loaded.rules.retain(|rule| !gone(rule));
        self.granted.retain(|rule| !gone(rule));
    }

    /// What the settings files say now, when one of them changed. A few stat calls otherwise.
    pub(crate) fn changed(&self, author: Author) -> Option<Loaded> {
        let place = (self.cwd.as_path(), &self.env, &self.selection);
        Project::refresh_by(&self.loaded, place, author)?
            .inspect_err(
                |error| tracing::warn!(%error, "settings changed and cannot be read; the old ones stay in force"),
            )
            .ok()
    }
}
