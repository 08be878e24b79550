//! The system prompt of a session: the built-in text or the user's own, the environment, and what is appended.

use super::Opening;
use crate::prompts::{self, Environment};
use config::styles::{Guidance, Style};
use model::Fragment;

pub(super) fn system(opening: &Opening, style: Option<&Style>) -> Vec<Fragment> {
    let options = &opening.options;
    let own = opening.system_blocks.clone().or_else(|| options.system_prompt.clone().map(|own| vec![own]));
    let mut parts: Vec<String> = match own {
        Some(own) => own,
        None => vec![base(opening, style).trim_end().to_owned(), environment(opening)],
    };
    parts.extend(style.map(|style| prompts::output_style(&style.name, &style.text)));
    parts.extend(options.append_system_prompt.clone());
    parts.iter().filter(|text| !text.trim().is_empty()).map(|text| Fragment::text(text)).collect()
}

/// The prompt of the agent the session runs as. Otherwise our own; a style of the user's stands in for our guidance unless it
/// keeps it.
fn base(opening: &Opening, style: Option<&Style>) -> String {
    let of_agent = opening.agent.as_ref().and_then(|agent| {
        agent.prompt.read().inspect_err(|error| tracing::warn!(error, "the agent's prompt cannot be read")).ok()
    });
    of_agent.unwrap_or_else(|| match style.map(|style| style.guidance) {
        Some(Guidance::Dropped) => prompts::without_guidance(),
        Some(Guidance::Kept) | None => prompts::SYSTEM.to_owned(),
    })
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
