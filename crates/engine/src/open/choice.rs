//! Chooses the model, its request settings and the permission mode of a session: from flags, environment, the resumed
//! conversation, the agent and settings, in that order, within what settings allow.

use super::SessionAssembly;
use super::conversation::ConversationChoice;
use crate::control::handles::SessionHandles;
use config::agents::AgentDefinition;
use config::{Credential, ProjectConfig};
use model::catalog::{ModelCatalog, ServingParty};
use model::request::ThinkingChoice;
use model::{EffortLevel, RequestIdentity};
use session_parts::compaction_policy::CompactionSettings;
use session_parts::context::{CacheLifeChoice, MainModel, RequestSettings};
use session_parts::models::AllowedModels;
use session_parts::options::{BYPASS_ROOT, SessionOptions, ThinkingOption, is_sandboxed};
use session_parts::start_error::{StartError, StartFailure};
use std::sync::Arc;
use sys::Env;
use wire::mode::PermissionMode;
use wire::settings::SettingsSource;

/// The entry point of a session with a person at a terminal.
const TERMINAL_ENTRYPOINT: &str = "cli";

impl SessionAssembly {
    /// The effort level when nobody chose one.
    pub(super) fn default_effort(&self) -> Option<String> {
        let facts = self.catalog.lookup(&self.model.id);
        let usual = (self.options.host.entrypoint == TERMINAL_ENTRYPOINT).then_some(EffortLevel::Medium);
        usual.and_then(|level| facts.clamp_effort(level)).or(facts.default_effort).map(|e| e.name().to_owned())
    }

    pub(super) fn request_settings(&self, identity: Arc<RequestIdentity>) -> RequestSettings {
        let of_agent = self.agent.as_ref().and_then(|agent| agent.effort.clone());
        let effort = self.options.model.effort.clone().or(of_agent);
        let effort = effort.or_else(|| self.loaded.settings.effort_level.clone());
        RequestSettings {
            env: self.env.clone(),
            default_effort: effort.clone(),
            usual_effort: (self.options.host.entrypoint == TERMINAL_ENTRYPOINT).then_some(EffortLevel::Medium),
            effort,
            thinking: self.thinking(),
            default_thinking: self.thinking(),
            thinking_display: self.options.model.thinking_display.clone().or_else(|| {
                let shown = self.loaded.settings.show_thinking_summaries == Some(true);
                shown.then(|| "summarized".to_owned())
            }),
            task_budget: self.options.model.task_budget,
            betas: self.options.model.betas.clone(),
            identity,
            user_id: None,
            included_hour: self.credential.as_ref().is_ok_and(Credential::is_subscription),
            cache_life: self.loaded.settings.cache_ttl.as_deref().and_then(CacheLifeChoice::parse),
        }
    }

    /// From the flag, else from `alwaysThinkingEnabled`.
    fn thinking(&self) -> ThinkingChoice {
        match self.options.model.thinking {
            ThinkingOption::Auto if self.loaded.settings.always_thinking_enabled == Some(false) => {
                ThinkingChoice::Disabled
            }
            chosen => thinking(chosen),
        }
    }

    pub(super) fn fallback_chain(&self) -> Vec<String> {
        let named = if self.options.model.fallbacks.is_empty() {
            self.loaded.settings.fallback_model.clone().unwrap_or_default()
        } else {
            self.options.model.fallbacks.clone()
        };
        self.fallbacks(named)
    }

    /// At most three distinct allowed models, without the main model.
    fn fallbacks(&self, named: Vec<String>) -> Vec<String> {
        let mut chain: Vec<String> = Vec::new();
        for name in named {
            let id = self.catalog.resolve(&name, &self.env);
            let permitted =
                AllowedModels::of(&self.loaded.settings, &self.catalog).is_none_or(|list| list.permits(&id));
            if permitted && id != self.model.id && !chain.contains(&id) && chain.len() < 3 {
                chain.push(id);
            }
        }
        chain
    }

    pub(super) fn served(&self) -> ServingParty {
        match self.env.non_empty("ANTHROPIC_BASE_URL") {
            Some(url) if !model::is_first_party(url) => ServingParty::Gateway,
            Some(_) | None => ServingParty::FirstParty,
        }
    }

    pub(super) fn small_model(&self) -> String {
        let named = self.env.non_empty("ANTHROPIC_SMALL_FAST_MODEL");
        named.map_or_else(|| self.catalog.resolve("haiku", &self.env), str::to_owned)
    }

    pub(super) fn compaction_settings(&self) -> CompactionSettings {
        CompactionSettings {
            enabled: self.loaded.settings.auto_compact_enabled,
            setting: self.loaded.settings.auto_compact_window,
            flag: self.options.model.compact_window,
        }
    }
}

fn thinking(choice: ThinkingOption) -> ThinkingChoice {
    match choice {
        ThinkingOption::Auto => ThinkingChoice::Auto,
        ThinkingOption::Adaptive => ThinkingChoice::Adaptive,
        ThinkingOption::Disabled => ThinkingChoice::Disabled,
        ThinkingOption::Budget(tokens) => ThinkingChoice::Budget(tokens),
    }
}

impl SessionHandles {
    /// Whether settings allow this model.
    pub(crate) fn permits_model(&self, name: &str) -> bool {
        let id = self.catalog.resolve(name, &self.env);
        AllowedModels::of(&self.settings, &self.catalog).is_none_or(|allowed| allowed.permits(&id))
    }
}

/// The mode a session starts in. Plan and bypass modes are not restored by resuming.
pub(super) fn mode(
    options: &SessionOptions,
    loaded: &ProjectConfig,
    conversation: &ConversationChoice,
    agent: Option<&AgentDefinition>,
    env: &Env,
) -> Result<PermissionMode, StartError> {
    let resumed = conversation
        .loaded
        .as_ref()
        .and_then(|l| PermissionMode::parse(l.permission_mode.as_deref()?))
        .filter(|m| !matches!(m, PermissionMode::Plan | PermissionMode::BypassPermissions));
    let of_agent = agent.and_then(|agent| agent.permission_mode).filter(|m| *m != PermissionMode::BypassPermissions);
    let mode = options.permissions.mode.or(resumed).or(of_agent).or(loaded.default_mode).unwrap_or_default();
    if mode != PermissionMode::BypassPermissions {
        return Ok(mode);
    }
    if loaded.bypass_disabled {
        return Err(StartError::of(
            StartFailure::BypassDisabled,
            "bypassPermissions mode is disabled by settings (permissions.disableBypassPermissionsMode)",
        ));
    }
    if sys::is_root() && !is_sandboxed(env) {
        return Err(StartError::new(StartFailure::BypassAsRoot, BYPASS_ROOT));
    }
    Ok(mode)
}

/// The main model: managed settings, `--model`, `ANTHROPIC_MODEL`, the resumed conversation, the agent, settings,
/// `ANTHROPIC_DEFAULT_MODEL`, the default, in this order. `availableModels` or the retirement of an id may replace
/// it; the second value is a notice about that.
pub(super) fn main_model(
    options: &SessionOptions,
    loaded: &ProjectConfig,
    conversation: &ConversationChoice,
    agent: Option<&AgentDefinition>,
    (catalog, env): (&ModelCatalog, &Env),
) -> (MainModel, Option<String>) {
    let configured = loaded.settings.model.as_deref();
    let managed = configured.filter(|_| loaded.provenance.get("model") == Some(&SettingsSource::Managed));
    let resumed = conversation.loaded.as_ref().and_then(|l| l.model.as_deref());
    let name = managed
        .or(options.model.name.as_deref())
        .or_else(|| env.non_empty("ANTHROPIC_MODEL"))
        .or(resumed)
        .or(agent.and_then(|agent| agent.model.as_deref()))
        .or(configured)
        .or_else(|| env.non_empty("ANTHROPIC_DEFAULT_MODEL"))
        .unwrap_or("default");
    let model = MainModel::named(name, catalog, env);
    let replaced = catalog.successor(name, env).map(|_| {
        format!(
            "Note: the model {name} is retired; {} is used. CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP=1 keeps the id as it is.",
            model.id
        )
    });
    match AllowedModels::of(&loaded.settings, catalog) {
        Some(allowed) => {
            let plan_id = model.plan_id.filter(|id| allowed.permits(id));
            let (id, notice) = allowed.resolve(name, model.id, &catalog.resolve("default", env));
            (MainModel { id, plan_id }, notice.or(replaced))
        }
        None => (model, replaced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::{ConfigLoader, SettingsSelection};
    use session_parts::options::ModelOptions;

    // [F-B6]
    #[test]
    fn the_administrators_model_beats_flag_and_environment() {
        let temp = tempfile::tempdir().unwrap();
        let managed = temp.path().join("managed");
        std::fs::create_dir(&managed).unwrap();
        let selection = SettingsSelection { managed_dir: Some(managed.clone()), ..SettingsSelection::default() };
        let home = temp.path().display().to_string();
        let env = Env::default().with([("HOME", home.as_str()), ("ANTHROPIC_MODEL", "haiku")]);
        let model = ModelOptions { name: Some("sonnet".into()), ..ModelOptions::default() };
        let options = SessionOptions { model, ..SessionOptions::default() };
        let conversation = ConversationChoice { session_id: "s".into(), path: None, loaded: None, is_fork: false };
        let chosen = |settings: &str| {
            std::fs::write(managed.join("managed-settings.json"), settings).unwrap();
            let loaded = ConfigLoader::open(temp.path(), &env, &selection).unwrap();
            main_model(&options, &loaded, &conversation, None, (&ModelCatalog::default(), &env)).0.id
        };
        assert_eq!(chosen("{}"), "claude-sonnet-5-5");
        assert_eq!(chosen(r#"{"model": "opus"}"#), "claude-opus-5-5");
        assert_eq!(chosen(r#"{"model": "opus", "availableModels": ["haiku"]}"#), "claude-opus-5-5", "the default");
    }
}
