//! Tool names, and the older names that still occur in rules, models and stored transcripts.

/// Old name → current name. Add new aliases here only.
const ALIASES: &[(&str, &str)] = &[
    ("Task", "Agent"),
    ("KillShell", "TaskStop"),
    ("KillBash", "TaskStop"),
    ("BashOutput", "TaskOutput"),
    ("BashOutputTool", "TaskOutput"),
    ("AgentOutputTool", "TaskOutput"),
    ("ListPeers", "ListAgents"),
    ("Brief", "SendUserMessage"),
    ("ListMcpResources", "ListMcpResourcesTool"),
    ("ReadMcpResource", "ReadMcpResourceTool"),
    ("ReadMcpResourceDir", "ReadMcpResourceDirTool"),
];

/// The current name of a tool, given its current or an older name.
pub fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// Server name and tool name of an MCP tool; `None` for other tools.
pub fn mcp_parts(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

/// The name `system/init` lists a tool under: the subagent tool keeps its old name there.
pub fn listed(name: &str) -> &str {
    if name == "Agent" { "Task" } else { name }
}
