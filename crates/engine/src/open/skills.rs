//! The skills a session starts with: where they are declared and their limits.

use super::SessionAssembly;
use config::roots::DefinitionRoots;
use session_parts::skills::{self, SkillsTemplate};
use std::path::PathBuf;

impl SessionAssembly {
    pub(super) fn roots(&self) -> DefinitionRoots {
        let added: Vec<PathBuf> = self.options.permissions.directories.iter().map(|d| self.cwd.join(d)).collect();
        DefinitionRoots::find(&self.cwd, &self.env, &self.selection, &self.loaded, &added)
    }

    /// Whether there may be skills at all.
    pub(super) fn has_skills(&self) -> bool {
        let nothing_given = self.options.configuration.bare && self.options.permissions.directories.is_empty();
        !(self.options.configuration.disable_slash_commands || self.options.configuration.safe_mode || nothing_given)
    }

    /// The template of skills for the main thread and every agent.
    pub(super) fn skills_template(
        &self,
        roots: DefinitionRoots,
        lazy: config::nested_memory::LazyMemory,
    ) -> SkillsTemplate {
        let settings = &self.loaded.settings;
        let window = self.catalog.lookup(&self.model.id).context_window;
        SkillsTemplate(skills::SessionSkillsParts {
            facts: skills::SkillFacts {
                env: self.env.clone(),
                session_id: self.conversation.session_id.clone(),
                project: self.cwd.clone(),
                budget: skills::budget(&self.env, settings, window),
                shell_disabled: settings.disable_skill_shell_execution == Some(true),
                managed_rules_only: self.loaded.managed_rules_only,
                rules_on_write: settings.rules_on_write != Some(false),
            },
            roots: self.has_skills().then_some(roots),
            overrides: settings.skill_overrides.clone(),
            only: self.initialize.skills.clone(),
            lazy,
            sent_lines: Vec::new(),
        })
    }
}
