//! Builds the template for a session's agents, and finds the definition that the main thread runs as.

use super::SessionAssembly;
use super::conversation::ConversationChoice;
use crate::agent_runs::{AgentTool, SendMessage};
use crate::agents::AgentTemplate;
use crate::worktree_tools::{EnterWorktree, ExitWorktree};
use config::agents::{AgentDefinition, AgentDefinitions};
use config::roots::DefinitionRoots;
use config::{MemoryFile, MemoryScope, ProjectConfig, SettingsSelection};
use model::RequestIdentity;
use serde::Deserialize;
use session_parts::host::ForwardMode;
use session_parts::host::HostSender;
use session_parts::ledger::Ledger;
use session_parts::options::SessionOptions;
use session_parts::project_facts::ProjectFacts;
use session_parts::settings_watch::SettingsWatch;
use session_parts::skills::SkillsTemplate;
use session_parts::start_error::{StartError, StartFailure};
use std::path::Path;
use std::sync::Arc;
use sys::Env;
use tools::ToolRegistry;
use tools::state::ToolState;

/// Where agents and skills are declared; `None` with `--bare` or `--safe-mode`.
pub(super) fn roots(
    options: &SessionOptions,
    cwd: &Path,
    env: &Env,
    selection: &SettingsSelection,
    loaded: &ProjectConfig,
) -> Option<DefinitionRoots> {
    if options.configuration.bare || options.configuration.safe_mode {
        return None;
    }
    let added: Vec<_> = options.permissions.directories.iter().map(|dir| cwd.join(dir)).collect();
    Some(DefinitionRoots::find(cwd, env, selection, loaded, &added))
}

/// The definition of the main thread, and a notice when it no longer exists.
#[derive(Default)]
pub(super) struct MainAgent {
    pub(super) definition: Option<AgentDefinition>,
    pub(super) notice: Option<String>,
}

/// From `--agent`, the agent of the resumed conversation or the setting, in this order.
pub(super) fn main(
    options: &SessionOptions,
    loaded: &ProjectConfig,
    conversation: &ConversationChoice,
    roots: Option<&DefinitionRoots>,
) -> Result<MainAgent, StartError> {
    let recorded = conversation.loaded.as_ref().and_then(|l| l.sticky.iter().rev().find_map(|line| setting(line)));
    let named = options.agents.main.clone().or(recorded).or_else(|| loaded.settings.agent.clone());
    let Some(name) = named.filter(|name| !name.is_empty()) else { return Ok(MainAgent::default()) };
    let declared = match roots {
        Some(roots) => AgentDefinitions::load(roots, &options.agents.definitions),
        None => AgentDefinitions::load(&DefinitionRoots::default(), &options.agents.definitions),
    };
    if let Some(definition) = declared.find(&name) {
        return Ok(MainAgent { definition: Some(definition.clone()), notice: None });
    }
    let names: Vec<&str> = declared.all.iter().map(|agent| agent.name.as_str()).collect();
    let known =
        if names.is_empty() { "none is declared".to_owned() } else { format!("there are {}", names.join(", ")) };
    if options.agents.main.is_some() {
        return Err(StartError::of(StartFailure::Configuration, format!("there is no agent \"{name}\"; {known}")));
    }
    let notice = format!("Warning: agent \"{name}\" no longer exists ({known}); continuing without it");
    Ok(MainAgent { definition: None, notice: Some(notice) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentSettingLine {
    #[serde(rename = "type")]
    kind: String,
    agent_setting: String,
}

fn setting(line: &str) -> Option<String> {
    let setting: AgentSettingLine = serde_json::from_str(line).ok()?;
    (setting.kind == "agent-setting").then_some(setting.agent_setting)
}

/// Parts that agents share with the main thread.
pub(super) struct AgentTemplateParts<'a> {
    pub(super) host: &'a HostSender,
    pub(super) identity: &'a Arc<RequestIdentity>,
    pub(super) state: &'a Arc<ToolState>,
    pub(super) ledger: &'a Ledger,
    pub(super) files: &'a [MemoryFile],
    pub(super) skills: SkillsTemplate,
    pub(super) watch: &'a SettingsWatch,
    pub(super) servers: &'a Arc<session_parts::mcp::SessionServers>,
    pub(super) project_facts: Option<&'a Arc<ProjectFacts>>,
}

pub(super) fn template(
    assembly: &SessionAssembly,
    registry: &ToolRegistry,
    shared: AgentTemplateParts<'_>,
) -> AgentTemplate {
    let options = &assembly.options;
    let moving = [EnterWorktree::NAME, ExitWorktree::NAME].into_iter().filter(|_| assembly.has_worktrees);
    let own = [AgentTool::NAME, SendMessage::NAME].into_iter().chain(moving).map(str::to_owned);
    let forward = options.agents.forward_text || assembly.env.is_on("CLAUDE_CODE_FORWARD_SUBAGENT_TEXT");
    AgentTemplate {
        env: assembly.env.clone(),
        host: shared.host.clone(),
        catalog: Arc::clone(&assembly.catalog),
        identity: Arc::clone(shared.identity),
        small_model: assembly.small_model(),
        tail: assembly.tail(),
        persist: assembly.persist(),
        session_dir: assembly.session_dir(),
        state: Arc::clone(shared.state),
        directories: assembly.workspace(shared.watch),
        ledger: shared.ledger.for_agent(),
        request: assembly.request_settings(Arc::clone(shared.identity)),
        fallbacks: assembly.fallback_chain(),
        compaction: assembly.compaction_settings(),
        served: assembly.served(),
        transcript: assembly.transcript_path(),
        skills: shared.skills,
        roots: assembly.roots.clone(),
        memory: shared.files.iter().filter(|file| file.scope != MemoryScope::Auto).cloned().collect(),
        tools: registry.names().map(str::to_owned).chain(own).collect(),
        servers: Arc::clone(shared.servers),
        concurrency: assembly.concurrency(),
        forward: if forward { ForwardMode::Text } else { ForwardMode::Calls },
        append_prompt: options.prompt.append_for_agents.clone(),
        sandbox: assembly.sandbox.as_ref().and_then(|sandbox| sandbox.describe()),
        project_facts: shared.project_facts.cloned(),
        facts: assembly.init_facts(),
        mirror: assembly.mirror.clone(),
    }
}
