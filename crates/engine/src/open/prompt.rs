//! Collects the inputs of the system prompt.

use super::SessionAssembly;
use config::roots::DefinitionRoots;
use permission::Policy;
use session_parts::project_facts::{ProjectFacts, ProjectFactsQuery};
use session_parts::prompt_recipe::{PromptRecipe, prompt_of};
use std::sync::Arc;

impl SessionAssembly {
    pub(super) fn prompt_recipe(&self, roots: DefinitionRoots) -> PromptRecipe {
        let options = &self.options;
        let shell = self.env.non_empty("SHELL").unwrap_or("bash");
        PromptRecipe {
            user_blocks: self.system_blocks.clone().or_else(|| options.prompt.system.clone().map(|own| vec![own])),
            agent: self.agent.as_ref().and_then(prompt_of),
            append: options.prompt.append.clone(),
            cwd: self.cwd.display().to_string(),
            additional: self.additional().iter().map(|d| d.display().to_string()).collect(),
            sandbox: self.sandbox.as_ref().and_then(|sandbox| sandbox.describe()),
            attendance: self.attendance(),
            shell: shell.rsplit('/').next().unwrap_or(shell).to_owned(),
            roots,
            origin: self.origin(),
        }
    }

    /// Facts about the project; `None` when settings or flags leave them out. A recorded run has none, because it must
    /// not depend on this machine; one with a system prompt of its own is told what that says.
    pub(super) fn project_facts(&self, policy: &Arc<Policy>) -> Option<Arc<ProjectFacts>> {
        let (options, settings) = (&self.options, &self.loaded.settings);
        let is_recorded = options.cassette.record.is_some() || options.cassette.replay.is_some();
        let has_own_prompt = self.system_blocks.is_some() || options.prompt.system.is_some();
        let is_off = settings.project_facts == Some(false);
        if is_off || is_recorded || has_own_prompt || options.configuration.bare {
            return None;
        }
        Some(ProjectFacts::new(ProjectFactsQuery {
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            tells_git: settings.include_git_instructions != Some(false),
            policy: Arc::clone(policy),
        }))
    }
}
