//! Collects the inputs of the system prompt.

use super::SessionAssembly;
use config::roots::DefinitionRoots;
use session_parts::prompt_recipe::{PromptRecipe, prompt_of};

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
            branch: sys::git::branch(&self.cwd),
            shell: shell.rsplit('/').next().unwrap_or(shell).to_owned(),
            roots,
            origin: self.origin(),
        }
    }
}
