//! What a session is taught from the start: where skills may be, the output style.

use super::Opening;
use crate::lore::{self, Teaching};
use config::roots::Roots;
use std::path::PathBuf;

impl Opening {
    pub(super) fn roots(&self) -> Roots {
        let added: Vec<PathBuf> = self.options.add_dirs.iter().map(|d| self.cwd.join(d)).collect();
        Roots::find(&self.cwd, &self.env, &self.selection, &self.loaded, &added)
    }

    /// Whether there may be skills at all.
    pub(super) fn has_skills(&self) -> bool {
        let nothing_given = self.options.bare && self.options.add_dirs.is_empty();
        !(self.options.disable_slash_commands || self.options.safe_mode || nothing_given)
    }

    /// What the main thread and every agent are taught from.
    pub(super) fn teaching(&self, roots: Roots, lazy: config::nested::Lazy) -> Teaching {
        let settings = &self.loaded.settings;
        let window = self.catalog.lookup(&self.model.id).context_window;
        Teaching(lore::Parts {
            fixed: lore::Fixed {
                env: self.env.clone(),
                session_id: self.conversation.session_id.clone(),
                project: self.cwd.clone(),
                budget: lore::budget(&self.env, settings, window),
                shell_disabled: settings.disable_skill_shell_execution == Some(true),
                managed_rules_only: self.loaded.managed_rules_only,
                rules_on_write: settings.rules_on_write != Some(false),
            },
            roots: self.has_skills().then_some(roots),
            overrides: settings.skill_overrides.clone(),
            only: self.asked.skills.clone(),
            lazy,
            told: Vec::new(),
        })
    }
}
