//! `/context`: what fills the context window. The numbers are estimates made without a request; total, rows and free
//! space are consistent.

use crate::session::{LiveSession, SessionIo};
use model::estimate;
use serde::Serialize;
use serde_json::value::RawValue;
use session_parts::context::ModelContext;
use std::fmt::Write;
use wire::counting::thousands;

/// How the context window is used now.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ContextReport {
    pub model: String,
    pub total_tokens: u64,
    pub raw_max_tokens: u64,
    pub percentage: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub over_limit: bool,
    pub categories: Vec<ContextReportCategory>,
    pub mcp_tools: Vec<ToolTokens>,
    pub memory_files: Vec<MemoryFileTokens>,
    pub agents: Vec<AgentTokens>,
    pub skills: Vec<SkillTokens>,
    /// The token count at which the conversation is compacted automatically; `None` when it is not.
    #[serde(skip)]
    pub compacts_at: Option<u64>,
    #[serde(skip)]
    pub system_tools: Vec<ToolTokens>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ContextReportCategory {
    pub name: &'static str,
    pub tokens: u64,
    /// `used`, `free` or `buffer`.
    pub kind: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ToolTokens {
    pub name: String,
    pub tokens: u64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct AgentTokens {
    pub agent_type: String,
    pub source: &'static str,
    pub tokens: u64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct SkillTokens {
    pub name: String,
    pub source: &'static str,
    pub tokens: u64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct MemoryFileTokens {
    pub path: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub tokens: u64,
}

pub(crate) fn measure(context: &mut ModelContext, io: &SessionIo) -> ContextReport {
    let tool = |spec: &tools::ToolSpec| ToolTokens {
        name: spec.name.to_string(),
        tokens: estimate::text(spec.name.len() + spec.description.len() + spec.schema.len()),
    };
    let (mcp_tools, system_tools): (Vec<ToolTokens>, Vec<ToolTokens>) =
        io.tooling.registry.specs().map(tool).partition(|part| part.name.starts_with("mcp__"));
    let memory_files: Vec<MemoryFileTokens> = context
        .memory_files()
        .map(|file| MemoryFileTokens {
            path: file.path.display().to_string(),
            kind: file.scope.hook_name(),
            tokens: estimate::text(file.text.len()),
        })
        .collect();
    let declared = io.knowledge.skills.skills();
    let source = |name: &str| declared.find(name).map_or("bundled", |skill| skill.scope.name());
    let skills: Vec<SkillTokens> = io
        .knowledge
        .skills
        .listed_lines()
        .into_iter()
        .map(|(name, line)| SkillTokens { source: source(&name), name, tokens: estimate::text(line.len()) })
        .collect();
    let agents = agents(io);
    let used = |parts: &[ToolTokens]| parts.iter().map(|part| part.tokens).sum::<u64>();
    let memory: u64 = memory_files.iter().map(|file| file.tokens).sum();
    // Before the first prompt this includes what the first request will add.
    let total = context.tokens() + context.unsent_tokens() + io.knowledge.skills.unsent_tokens();
    let (system, tools, mcp) = (context.system_tokens(), used(&system_tools), used(&mcp_tools));
    let skill_tokens: u64 = skills.iter().map(|skill| skill.tokens).sum();
    let beside = system + tools + mcp + memory + skill_tokens;
    let (window, limit) = context.window();
    let buffer = limit.map_or(0, |limit| window.saturating_sub(limit));
    let free = window.saturating_sub(total).saturating_sub(buffer);
    let category = |name, tokens, kind| ContextReportCategory { name, tokens, kind };
    let categories = vec![
        category("System prompt", system.min(total), "used"),
        category("System tools", tools.min(total.saturating_sub(system)), "used"),
        category("MCP tools", mcp, "used"),
        category("Memory files", memory, "used"),
        category("Skills", skill_tokens, "used"),
        category("Messages", total.saturating_sub(beside), "used"),
        category("Free space", free, "free"),
        category("Autocompact buffer", buffer, "buffer"),
    ];
    ContextReport {
        model: context.model().to_owned(),
        total_tokens: total,
        raw_max_tokens: window,
        percentage: (total * 100).checked_div(window).unwrap_or(0),
        over_limit: total > window,
        categories: categories.into_iter().filter(|row| row.tokens > 0 || row.kind != "used").collect(),
        mcp_tools,
        memory_files,
        agents,
        skills,
        compacts_at: limit,
        system_tools,
    }
}

/// The declared agent types, without the built-in ones.
fn agents(io: &SessionIo) -> Vec<AgentTokens> {
    let part = |agent: &std::sync::Arc<config::agents::AgentDefinition>| AgentTokens {
        tokens: estimate::text(agent.name.len() + agent.description.len()),
        source: agent.scope.name(),
        agent_type: agent.name.clone(),
    };
    io.tooling.spawner.agents.declared_types().iter().map(part).collect()
}

/// The report as Markdown and as JSON. Neither is ever sent to the model.
pub(super) fn report(session: &mut LiveSession, arguments: &str) -> (String, Option<Box<RawValue>>) {
    let measured = measure(&mut session.context, &session.io);
    let structured = wire::raw::to_raw(&measured).ok();
    (as_markdown(&measured, arguments), structured)
}

fn as_markdown(measured: &ContextReport, arguments: &str) -> String {
    let mut text = format!(
        "## Context usage\n\n**{}**: {} of {} tokens ({}%)\n\n| Category | Tokens | Share |\n|---|---:|---:|",
        measured.model,
        thousands(measured.total_tokens),
        thousands(measured.raw_max_tokens),
        measured.percentage,
    );
    for row in &measured.categories {
        let share = (row.tokens * 1000).checked_div(measured.raw_max_tokens).unwrap_or(0);
        write!(text, "\n| {} | {} | {}.{}% |", row.name, thousands(row.tokens), share / 10, share % 10).ok();
    }
    if let Some(at) = measured.compacts_at {
        write!(text, "\n\nThe conversation is compacted automatically at about {} tokens.", thousands(at)).ok();
    }
    let files = measured.memory_files.iter().map(|file| (file.path.clone(), file.tokens));
    section(&mut text, "Memory files", files);
    section(&mut text, "MCP tools", measured.mcp_tools.iter().map(|p| (p.name.clone(), p.tokens)));
    section(&mut text, "Agents", measured.agents.iter().map(|p| (p.agent_type.clone(), p.tokens)));
    section(&mut text, "Skills", measured.skills.iter().map(|p| (p.name.clone(), p.tokens)));
    if arguments == "all" {
        section(&mut text, "System tools", measured.system_tools.iter().map(|p| (p.name.clone(), p.tokens)));
    }
    text
}

fn section(text: &mut String, title: &str, rows: impl Iterator<Item = (String, u64)>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    write!(text, "\n\n### {title}\n").ok();
    for (name, tokens) in rows {
        write!(text, "\n- {name}: {}", thousands(tokens)).ok();
    }
}
