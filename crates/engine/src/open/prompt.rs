//! The system prompt of a session: the built-in text or the user's own, the environment, and what is appended.

use super::Opening;
use crate::prompts::{self, Environment};
use config::styles::{Guidance, Style};
use model::Fragment;

pub(super) fn system(opening: &Opening, style: Option<&Style>) -> Vec<Fragment> {
    let options = &opening.options;
    let mut parts: Vec<String> = match &options.system_prompt {
        Some(own) => vec![own.clone()],
        None => vec![base(style).trim_end().to_owned(), environment(opening)],
    };
    parts.extend(style.map(|style| prompts::output_style(&style.name, &style.text)));
    parts.extend(options.append_system_prompt.clone());
    parts.iter().filter(|text| !text.trim().is_empty()).map(|text| Fragment::text(text)).collect()
}

/// A style of the user's own stands in for our guidance unless it keeps it.
fn base(style: Option<&Style>) -> String {
    match style.map(|style| style.guidance) {
        Some(Guidance::Dropped) => prompts::without_guidance(),
        Some(Guidance::Kept) | None => prompts::SYSTEM.to_owned(),
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
