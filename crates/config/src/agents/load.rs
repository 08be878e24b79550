//! Loads agents from directories.

use super::{
    AgentDefinition, AgentDefinitions, AgentIsolation, AgentMemory, AgentPrompt, MODES, McpReference, SkippedAgent,
    mode, servers,
};
use crate::frontmatter::{FileFinding, FrontMatter};
use crate::roots::{CustomizationKind, DefinitionRoot, DefinitionRoots, DefinitionScope};
use crate::scan::{self, ScanResult};
use crate::stamp::PathStamps;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FIELDS: &[&str] = &[
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "permissionMode",
    "maxTurns",
    "skills",
    "mcpServers",
    "hooks",
    "memory",
    "background",
    "effort",
    "isolation",
    "color",
    "initialPrompt",
    "omitClaudeMd",
];

/// The colours that an agent or a session can be told apart by.
pub const COLORS: &[&str] = &["red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"];

pub(super) fn load(roots: &DefinitionRoots, given: &[AgentDefinition]) -> AgentDefinitions {
    let mut places: Vec<&DefinitionRoot> = roots.open_to(CustomizationKind::Agents).collect();
    // Unlike for skills, project definitions win over those of the user.
    sys::compact_sort::sort_by_key(&mut places, |root| rank(root.scope));
    let mut agents = AgentDefinitions::default();
    let mut files: Vec<(PathBuf, &DefinitionRoot)> = Vec::new();
    for root in places {
        files.extend(tree(root, &mut agents.stamps).into_iter().map(|path| (path, root)));
    }
    let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
    let heads = scan::read_heads(&paths);
    let mut pending = Some(given);
    for ((path, root), head) in files.into_iter().zip(heads) {
        // Agents of the administrator come before those of the command line.
        if root.scope != DefinitionScope::Managed
            && let Some(given) = pending.take()
        {
            for agent in given {
                agents.add_unless_taken(agent.clone());
            }
        }
        agents.add(&path, root, head);
    }
    for agent in pending.into_iter().flatten() {
        agents.add_unless_taken(agent.clone());
    }
    agents
}

fn rank(scope: DefinitionScope) -> u8 {
    match scope {
        DefinitionScope::Managed => 0,
        DefinitionScope::CommandLine => 1,
        DefinitionScope::Project | DefinitionScope::Nested => 2,
        DefinitionScope::Added => 3,
        DefinitionScope::User => 4,
    }
}

fn tree(root: &DefinitionRoot, stamps: &mut PathStamps) -> Vec<PathBuf> {
    let top = root.dir.join("agents");
    let tree = scan::markdown_tree(&top);
    if tree.dirs.is_empty() {
        stamps.add(top);
    }
    for dir in tree.dirs {
        stamps.add(dir);
    }
    tree.files.into_iter().map(|(path, _)| path).collect()
}

impl AgentDefinitions {
    fn add(&mut self, path: &Path, root: &DefinitionRoot, head: ScanResult) {
        let head = match head {
            None => return self.stamps.add(path.to_path_buf()),
            Some(Err(reason)) => {
                self.stamps.add(path.to_path_buf());
                return self.skip(path, 1, format!("it {reason}"));
            }
            Some(Ok(head)) => head,
        };
        self.stamps.add_seen(path.to_path_buf(), head.stamp);
        let mut read = head.read;
        match definition(path, root, &mut read) {
            Ok(agent) => self.add_unless_taken(agent),
            Err((line, reason)) => self.skip(path, line, reason),
        }
        self.findings.extend(read.defects.into_iter().map(|d| FileFinding::new(path, d.line, d.message)));
    }

    fn skip(&mut self, path: &Path, line: usize, reason: String) {
        self.skipped.push(SkippedAgent { path: path.to_path_buf(), line, reason });
    }

    /// The first agent of a name wins. A second one with the same scope is reported; one with another scope is normal.
    fn add_unless_taken(&mut self, agent: AgentDefinition) {
        let Some(first) = self.find(&agent.name) else { return self.all.push(Arc::new(agent)) };
        let Some(path) = &agent.path else { return };
        if first.scope == agent.scope {
            let by = first.path.as_deref().map_or_else(String::new, |by| format!(" by {}", by.display()));
            let reason = format!("an agent named `{}` is already declared{by}", agent.name);
            self.skipped.push(SkippedAgent { path: path.clone(), line: 1, reason });
        }
    }
}

fn definition(path: &Path, root: &DefinitionRoot, read: &mut FrontMatter) -> Result<AgentDefinition, (usize, String)> {
    if !read.present {
        return Err((1, "it has no front matter, so it names no agent".into()));
    }
    let Some(name) = read.text("name") else { return Err((1, "`name` is missing".into())) };
    let line = read.get("name").map_or(1, |field| field.line);
    if name.starts_with('-') || name.contains(':') {
        return Err((line, format!("`name` is `{name}`: it must not begin with `-` or hold `:`")));
    }
    let Some(description) = read.text("description") else { return Err((line, "`description` is missing".into())) };
    read.report_misspelled(FIELDS);
    let mut agent = AgentDefinition {
        tools: read.rules("tools"),
        disallowed_tools: read.rules("disallowedTools").unwrap_or_default(),
        model: read.text("model").filter(|model| model != "inherit"),
        permission_mode: read.choice("permissionMode", MODES).and_then(mode),
        max_turns: read.number("maxTurns").filter(|turns| *turns > 0),
        skills: read.names("skills").unwrap_or_default(),
        mcp_servers: read.json("mcpServers", |v| servers(v).is_some()).as_ref().and_then(servers).unwrap_or_default(),
        hooks: read.json("hooks", Value::is_object),
        memory: match read.choice("memory", &["user", "project", "local"]) {
            Some("user") => Some(AgentMemory::User),
            Some("project") => Some(AgentMemory::Project),
            Some("local") => Some(AgentMemory::Local),
            _ => None,
        },
        background: read.flag("background").unwrap_or(false),
        effort: effort(read),
        isolation: match read.choice("isolation", &["worktree", "none"]) {
            Some("worktree") => AgentIsolation::Worktree,
            _ => AgentIsolation::None,
        },
        color: read.choice("color", COLORS),
        initial_prompt: read.text("initialPrompt"),
        omit_claude_md: read.flag("omitClaudeMd").unwrap_or(false),
        path: Some(path.to_path_buf()),
        ..AgentDefinition::new(name, description, AgentPrompt::File(path.to_path_buf()), root.scope)
    };
    if !root.agent_code {
        remove_untrusted_parts(&mut agent, read);
    }
    Ok(agent)
}

/// A level, or a number from the SDK.
fn effort(read: &mut FrontMatter) -> Option<String> {
    let text = read.text("effort")?;
    if text.parse::<u32>().is_ok() {
        return Some(text);
    }
    read.choice("effort", crate::skills::EFFORTS).map(str::to_owned)
}

/// Removes what an untrusted folder may not declare.
fn remove_untrusted_parts(agent: &mut AgentDefinition, read: &mut FrontMatter) {
    if agent.hooks.take().is_some() {
        read.refuse("hooks", "waits until the folder is trusted");
    }
    let before = agent.mcp_servers.len();
    agent.mcp_servers.retain(|server| matches!(server, McpReference::Named(_)));
    if agent.mcp_servers.len() < before {
        read.refuse("mcpServers", "declares servers, which wait until the folder is trusted");
    }
}
