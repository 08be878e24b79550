//! The inputs of the system prompt, kept for another conversation of the same session.

use crate::options::SessionOptions;
use crate::prompts::{self, PersonAttendance, PromptEnvironment};
use config::ProjectConfig;
use config::agents::AgentDefinition;
use config::roots::DefinitionRoots;
use config::styles::{Guidance, OutputStyle};
use model::Fragment;
use sys::Env;
use wire::control::InitializeRequest;

/// The output style without a setting.
pub const DEFAULT_STYLE: &str = "default";

/// What the session was built from, besides files.
pub struct SessionOrigin {
    pub options: SessionOptions,
    pub env: Env,
    pub initialize: InitializeRequest,
    pub system_blocks: Option<Vec<String>>,
}

/// The inputs of the system prompt.
pub struct PromptRecipe {
    /// The user's system prompt, which replaces the built-in one.
    pub user_blocks: Option<Vec<String>>,
    /// The prompt of the agent the session runs as.
    pub agent: Option<String>,
    pub append: Option<String>,
    pub cwd: String,
    pub additional: Vec<String>,
    /// What the sandbox of commands allows; `None` without one.
    pub sandbox: Option<String>,
    pub attendance: PersonAttendance,
    pub shell: String,
    pub roots: DefinitionRoots,
    pub origin: SessionOrigin,
}

impl PromptRecipe {
    /// Sets the agent the session runs as; `None` for the default.
    pub fn set_agent(&mut self, agent: Option<&AgentDefinition>) {
        self.agent = agent.and_then(prompt_of);
    }

    /// The system prompt with the output style that is configured now.
    pub fn system(&self, loaded: &ProjectConfig, model: &str) -> Vec<Fragment> {
        let style = self.style(loaded);
        let style = style.as_ref();
        let mut parts: Vec<String> = match &self.user_blocks {
            Some(own) => own.clone(),
            None => vec![self.base(style).trim_end().to_owned(), self.environment(model)],
        };
        parts.extend(prompts::preferences(&loaded.settings));
        parts.extend(style.map(|style| prompts::output_style(&style.name, &style.text)));
        parts.extend(self.append.clone());
        parts.iter().filter(|text| !text.trim().is_empty()).map(|text| Fragment::text(text)).collect()
    }

    fn style(&self, loaded: &ProjectConfig) -> Option<OutputStyle> {
        let name = loaded.settings.output_style.as_deref()?;
        let found = config::styles::find(&self.roots, name);
        if found.is_none() && !name.eq_ignore_ascii_case(DEFAULT_STYLE) {
            tracing::warn!(name, "no such output style");
        }
        found
    }

    /// The agent's prompt or else the built-in one, without its guidance if the output style drops it.
    fn base(&self, style: Option<&OutputStyle>) -> String {
        self.agent.clone().unwrap_or_else(|| match style.map(|style| style.guidance) {
            Some(Guidance::Dropped) => prompts::without_guidance(),
            Some(Guidance::Kept) | None => prompts::SYSTEM.to_owned(),
        })
    }

    fn environment(&self, model: &str) -> String {
        prompts::environment(&PromptEnvironment {
            cwd: &self.cwd,
            additional: &self.additional,
            platform: std::env::consts::OS,
            os: sys::machine::os_version(),
            shell: &self.shell,
            model,
            sandbox: self.sandbox.as_deref(),
            attendance: Some(self.attendance),
        })
    }
}

/// The name of the output style, as sent in `system/init`.
pub fn style_name(loaded: &ProjectConfig) -> String {
    loaded.settings.output_style.clone().unwrap_or_else(|| DEFAULT_STYLE.into())
}

pub fn prompt_of(agent: &AgentDefinition) -> Option<String> {
    agent.prompt.read().inspect_err(|error| tracing::warn!(error, "the agent's prompt cannot be read")).ok()
}
