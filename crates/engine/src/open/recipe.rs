//! How the main thread's prompt and tools are made, kept so that a host may have them made again for another agent.

use super::toolbox;
use crate::prompts;
use config::agents::Definition;
use config::styles::{Guidance, Style};
use model::Fragment;
use permission::Policy;
use std::sync::Arc;
use tools::Registry;

/// What does not depend on the agent.
pub(crate) struct Recipe {
    /// The user's own prompt, which no agent's replaces.
    pub(super) own: Option<Vec<String>>,
    pub(super) environment: String,
    pub(super) style: Option<Style>,
    pub(super) append: Option<String>,
    /// Every tool the session could offer.
    pub(super) tools: Arc<Registry>,
}

/// One agent's.
pub(crate) struct Shape {
    pub system: Vec<Fragment>,
    pub registry: Registry,
}

impl Recipe {
    pub(crate) fn shape(&self, agent: Option<&Definition>, policy: &Policy) -> Shape {
        let registry = self.tools.only(|name| toolbox::of_agent(agent, name) && !policy.removes(name));
        Shape { system: self.system(agent), registry }
    }

    pub(super) fn system(&self, agent: Option<&Definition>) -> Vec<Fragment> {
        let mut parts: Vec<String> = match &self.own {
            Some(own) => own.clone(),
            None => vec![self.base(agent).trim_end().to_owned(), self.environment.clone()],
        };
        parts.extend(self.style.as_ref().map(|style| prompts::output_style(&style.name, &style.text)));
        parts.extend(self.append.clone());
        parts.iter().filter(|text| !text.trim().is_empty()).map(|text| Fragment::text(text)).collect()
    }

    /// The prompt of the agent the session runs as. Otherwise our own; a style of the user's stands in for our guidance
    /// unless it keeps it.
    fn base(&self, agent: Option<&Definition>) -> String {
        let of_agent = agent.and_then(|agent| {
            agent.prompt.read().inspect_err(|error| tracing::warn!(error, "the agent's prompt cannot be read")).ok()
        });
        of_agent.unwrap_or_else(|| match self.style.as_ref().map(|style| style.guidance) {
            Some(Guidance::Dropped) => prompts::without_guidance(),
            Some(Guidance::Kept) | None => prompts::SYSTEM.to_owned(),
        })
    }
}
