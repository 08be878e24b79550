//! What a session's agents are made from, and the definition the main thread itself may run as.

use super::Opening;
use super::conversation::Conversation;
use crate::agents::Kit;
use crate::agents::voice::Forward;
use crate::host::Host;
use crate::ledger::Ledger;
use crate::lore::Teaching;
use crate::options::{Options, StartError};
use crate::reload::Watch;
use config::agents::{Agents, Definition};
use config::roots::Roots;
use config::{Loaded, MemoryFile, MemoryScope, Selection};
use model::Identity;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use sys::Env;
use tools::Registry;
use tools::state::ToolState;

/// Where agents and skills are declared.
pub(super) fn roots(options: &Options, cwd: &Path, env: &Env, selection: &Selection, loaded: &Loaded) -> Option<Roots> {
    if options.bare || options.safe_mode {
        return None;
    }
    let added: Vec<_> = options.add_dirs.iter().map(|dir| cwd.join(dir)).collect();
    Some(Roots::find(cwd, env, selection, loaded, &added))
}

/// The main thread's definition, or what to say when it is gone.
#[derive(Default)]
pub(super) struct Main {
    pub(super) definition: Option<Definition>,
    pub(super) notice: Option<String>,
}

/// `--agent`, the agent of the resumed conversation, the setting.
pub(super) fn main(
    options: &Options,
    loaded: &Loaded,
    conversation: &Conversation,
    roots: Option<&Roots>,
) -> Result<Main, StartError> {
    let recorded = conversation.loaded.as_ref().and_then(|l| l.sticky.iter().rev().find_map(|line| setting(line)));
    let named = options.agent.clone().or(recorded).or_else(|| loaded.settings.agent.clone());
    let Some(name) = named.filter(|name| !name.is_empty()) else { return Ok(Main::default()) };
    let declared = match roots {
        Some(roots) => Agents::load(roots, &options.agents),
        None => Agents::load(&Roots::default(), &options.agents),
    };
    if let Some(definition) = declared.find(&name) {
        return Ok(Main { definition: Some(definition.clone()), notice: None });
    }
    let names: Vec<&str> = declared.all.iter().map(|agent| agent.name.as_str()).collect();
    let known =
        if names.is_empty() { "none is declared".to_owned() } else { format!("there are {}", names.join(", ")) };
    if options.agent.is_some() {
        return Err(StartError::new(format!("Error: there is no agent \"{name}\"; {known}")));
    }
    let notice = format!("Warning: agent \"{name}\" is gone ({known}); the session goes on without it");
    Ok(Main { definition: None, notice: Some(notice) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Setting {
    #[serde(rename = "type")]
    kind: String,
    agent_setting: String,
}

fn setting(line: &str) -> Option<String> {
    let setting: Setting = serde_json::from_str(line).ok()?;
    (setting.kind == "agent-setting").then_some(setting.agent_setting)
}

/// Parts that the main thread has as well.
pub(super) struct Shared<'a> {
    pub(super) host: &'a Host,
    pub(super) identity: &'a Arc<Identity>,
    pub(super) state: &'a Arc<ToolState>,
    pub(super) ledger: &'a Ledger,
    pub(super) files: &'a [MemoryFile],
    pub(super) teaching: Teaching,
    pub(super) watch: &'a Watch,
    pub(super) servers: &'a Arc<crate::mcp::Servers>,
}

pub(super) fn kit(opening: &Opening, registry: &Registry, shared: Shared<'_>) -> Kit {
    let options = &opening.options;
    let moving = ["EnterWorktree", "ExitWorktree"].into_iter().filter(|_| opening.has_worktrees);
    let own = ["Agent", "SendMessage"].into_iter().chain(moving).map(str::to_owned);
    let forward = options.forward_subagent_text || opening.env.is_on("CLAUDE_CODE_FORWARD_SUBAGENT_TEXT");
    Kit {
        env: opening.env.clone(),
        host: shared.host.clone(),
        catalog: Arc::clone(&opening.catalog),
        identity: Arc::clone(shared.identity),
        small_model: opening.small_model(),
        tail: opening.tail(),
        persist: opening.persist(),
        session_dir: opening.session_dir(),
        state: Arc::clone(shared.state),
        directories: opening.workspace(shared.watch),
        ledger: shared.ledger.for_agent(),
        request: opening.request_settings(Arc::clone(shared.identity)),
        fallbacks: opening.fallback_chain(),
        wishes: opening.wishes(),
        served: opening.served(),
        transcript: opening.transcript_path(),
        teaching: shared.teaching,
        roots: opening.roots.clone(),
        memory: shared.files.iter().filter(|file| file.scope != MemoryScope::Auto).cloned().collect(),
        tools: registry.names().map(str::to_owned).chain(own).collect(),
        servers: Arc::clone(shared.servers),
        concurrency: opening.concurrency(),
        forward: if forward { Forward::Text } else { Forward::Calls },
        append_prompt: options.append_subagent_prompt.clone(),
        max_budget_usd: options.max_budget_usd,
        facts: opening.init_facts(),
        mirror: opening.mirror.clone(),
    }
}
