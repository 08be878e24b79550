//! The system prompt of a session: the built-in text or the user's own, the environment, and what is appended.

use super::Opening;
use crate::prompts::{self, Environment};
use model::Fragment;

pub(super) fn system(opening: &Opening) -> Vec<Fragment> {
    let options = &opening.options;
    let mut parts: Vec<String> = match &options.system_prompt {
        Some(own) => vec![own.clone()],
        None => vec![base(opening), environment(opening)],
    };
    parts.extend(options.append_system_prompt.clone());
    parts.iter().filter(|text| !text.trim().is_empty()).map(|text| Fragment::text(text)).collect()
}

/// The prompt of the agent the session runs as, or the built-in one.
fn base(opening: &Opening) -> String {
    let of_agent = opening.agent.as_ref().and_then(|agent| {
        agent.prompt.read().inspect_err(|error| tracing::warn!(error, "the agent's prompt cannot be read")).ok()
    });
    of_agent.unwrap_or_else(|| prompts::SYSTEM.trim_end().to_owned())
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
