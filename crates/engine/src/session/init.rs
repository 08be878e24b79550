//! The message that opens a turn for the host: `system/init`.

use crate::session::SessionIo;
use session_parts::context::ModelContext;
use wire::sdk::{InitMessage, MemoryPaths};

/// There is no fast mode.
pub(crate) const FAST_MODE: &str = "off";

pub(crate) fn init(context: &ModelContext, io: &SessionIo) -> InitMessage {
    let skills = io.knowledge.skills.names();
    let mut slash_commands = io.commands().names();
    slash_commands.extend(io.knowledge.mcp.prompt_names());
    InitMessage {
        kind: "system",
        subtype: "init",
        cwd: io.output.facts.cwd.clone(),
        session_id: io.output.host.session_id.clone(),
        tools: tools(io),
        mcp_servers: io.knowledge.mcp.servers().init_rows(),
        mcp_server_errors: io.knowledge.mcp.servers().errors.clone(),
        model: context.model().to_owned(),
        permission_mode: io.rules.mode().as_str(),
        slash_commands,
        terminal_slash_commands: io.commands().terminal_names(),
        api_key_source: io.output.facts.api_key_source,
        claude_code_version: wire::version::COMPAT,
        output_style: io.output.facts.output_style.clone(),
        agents: io.tooling.spawner.agents.all().iter().map(|agent| agent.name.clone()).collect(),
        skills,
        plugins: Vec::new(),
        betas: io.output.facts.betas.clone(),
        capabilities: crate::control::CAPABILITIES.to_vec(),
        uuid: sys::id::uuid(),
        memory_paths: memory_paths(io),
        original_cwd: io.rules.watch.cwd.display().to_string(),
        additional_directories: io.rules.watch.additional().iter().map(|dir| dir.display().to_string()).collect(),
        fast_mode_state: FAST_MODE,
    }
}

/// The notes folder of this session; `None` when notes are switched off.
fn memory_paths(io: &SessionIo) -> Option<MemoryPaths> {
    io.rules.watch.notes_dir().map(|dir| MemoryPaths { auto: dir.display().to_string() })
}

/// The offered tools, and those that can be loaded.
fn tools(io: &SessionIo) -> Vec<String> {
    let registry = &io.tooling.registry;
    let seldom_used = io.knowledge.mcp.shared.seldom_used();
    let is_loadable = |name: &str| name.starts_with("mcp__") || seldom_used.iter().any(|tool| tool.spec().name == name);
    let deferred = registry.names().filter(|name| !registry.is_offered(name) && is_loadable(name));
    let offered = registry.specs().map(|spec| &*spec.name);
    offered.chain(deferred).map(|name| wire::names::listed(name).to_owned()).collect()
}
