//! Settings that change while a session runs. Noticed by stat before calls run: what refuses applies to the next call, what
//! grants anything waits, because the session itself may have written it.

use crate::cage::Confinement;
use config::{Loaded, Project, Selection};
use permission::{Place, Policy};
use std::path::PathBuf;
use std::sync::Arc;
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
    /// `None` when there is no sandbox.
    pub confinement: Option<Arc<Confinement>>,
}

impl Watch {
    pub(crate) fn policy(&self, mode: PermissionMode) -> Policy {
        let rules = self.rules();
        let (policy, warnings) = Policy::new(mode, &rules, self.place.clone(), &sys::real::path);
        for warning in warnings {
            tracing::warn!(?warning, "a permission rule cannot work as written");
        }
        policy
    }

    /// All rules in force.
    pub(crate) fn rules(&self) -> Vec<RuleText> {
        self.loaded.rules.iter().chain(&self.given).cloned().collect()
    }

    /// The new policy, when a settings file changed. A few stat calls otherwise.
    pub(crate) fn refresh(&mut self, mode: PermissionMode) -> Option<Policy> {
        let changed = Project::refresh(&self.loaded, &self.cwd, &self.env, &self.selection)?;
        match changed {
            Ok(loaded) => {
                for waiting in &loaded.pending {
                    tracing::warn!("settings changed while the session runs; {waiting} applies from the next session");
                }
                self.confinement = self.confinement.as_ref().map(|known| Arc::new(known.tightened(&loaded)));
                self.loaded = loaded;
                Some(self.policy(mode))
            }
            Err(error) => {
                tracing::warn!(%error, "settings changed and cannot be read; the old ones stay in force");
                None
            }
        }
    }
}
