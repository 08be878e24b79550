//! The system prompt of a session: the built-in text or the user's own, the environment, and what is appended.

use super::Opening;
use super::recipe::Recipe;
use crate::prompts::{self, Environment};
use config::styles::Style;
use std::sync::Arc;
use tools::Registry;

pub(super) fn recipe(opening: &Opening, style: Option<Style>, tools: Arc<Registry>) -> Recipe {
    let options = &opening.options;
    Recipe {
        own: opening.system_blocks.clone().or_else(|| options.system_prompt.clone().map(|own| vec![own])),
        environment: environment(opening),
        style,
        append: options.append_system_prompt.clone(),
        tools,
    }
}

fn environment(opening: &Opening) -> String {
    let additional: Vec<String> = opening.additional().iter().map(|d| d.display().to_string()).collect();
    let shell = opening.env.non_empty("SHELL").unwrap_or("bash");
    let branch = sys::git::branch(&opening.cwd);
    prompts::environment(&Environment {
        cwd: &opening.cwd.display().to_string(),
        additional: &additional,
        branch: Some(branch.as_str()).filter(|b| !b.is_empty()),
        platform: std::env::consts::OS,
        os: sys::machine::os_version(),
        shell: shell.rsplit('/').next().unwrap_or(shell),
        model: &opening.model,
    })
}
