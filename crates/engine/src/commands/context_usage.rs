//! `/context`: what fills the context window, from the same numbers as `get_context_usage`.

use crate::session::{LiveSession, SessionIo};
use model::estimate;
use serde::Serialize;
use serde_json::value::RawValue;
use session_parts::context::usage::UsageCategory;
use std::fmt::Write;
use wire::counting::{counted, thousands};

/// How the context window is used now.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ContextReport {
    pub model: String,
    pub total_tokens: u64,
    pub raw_max_tokens: u64,
    pub percentage: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub over_limit: bool,
    pub categories: Vec<UsageCategory>,
    pub mcp_tools: Vec<ToolTokens>,
    pub memory_files: Vec<MemoryFileTokens>,
    pub agents: Vec<AgentTokens>,
    pub skills: Vec<SkillTokens>,
    /// The token count at which the conversation is compacted automatically; `None` when it is not.
    #[serde(skip)]
    pub compacts_at: Option<u64>,
    #[serde(rename = "x_turns_left", skip_serializing_if = "Option::is_none")]
    pub turns_left: Option<u64>,
    #[serde(skip)]
    pub system_tools: Vec<ToolTokens>,
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

/// The same numbers as in the reply to `get_context_usage`.
pub(crate) fn measure(session: &mut LiveSession) -> ContextReport {
    let usage = session.context_usage();
    let scaled = |tokens: u64| (tokens as f64 * usage.factor).round() as u64;
    let io = &session.io;
    let tool = |spec: &tools::ToolSpec| ToolTokens {
        name: spec.name.to_string(),
        tokens: scaled(estimate::text(spec.name.len() + spec.description.len() + spec.schema.len())),
    };
    let own = io.tooling.registry.specs().filter(|spec| !spec.name.starts_with("mcp__"));
    let system_tools: Vec<ToolTokens> = own.map(tool).collect();
    let memory_files = session.context.memory_files();
    let memory_files = memory_files.map(|file| MemoryFileTokens {
        path: file.path.display().to_string(),
        kind: file.scope.hook_name(),
        tokens: scaled(estimate::text(file.text.len())),
    });
    let skill =
        |row: &(String, &'static str, u64)| SkillTokens { name: row.0.clone(), source: row.1, tokens: scaled(row.2) };
    let loaded = usage.mcp_tools.iter().filter(|tool| tool.is_loaded);
    ContextReport {
        model: usage.model.clone(),
        total_tokens: usage.total,
        raw_max_tokens: usage.window,
        percentage: (usage.total * 100).checked_div(usage.window).unwrap_or(0),
        over_limit: usage.total > usage.window,
        categories: usage.categories(),
        mcp_tools: loaded.map(|tool| ToolTokens { name: tool.name.clone(), tokens: scaled(tool.tokens) }).collect(),
        memory_files: memory_files.collect(),
        agents: agents(io),
        skills: usage.skills.iter().map(skill).collect(),
        compacts_at: usage.compact_at,
        turns_left: usage.turns_left(),
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
    let measured = measure(session);
    let structured = wire::raw::to_raw(&measured).ok();
    (as_markdown(&measured, arguments), structured)
}

fn as_markdown(measured: &ContextReport, arguments: &str) -> String {
    let mut text = format!(
        "## Context usage\n\n**{}**: {} of {} tokens ({}%)\n\n| Category | Tokens | Share | From | Smaller with |\n|---|---:|---:|---|---|",
        measured.model,
        thousands(measured.total_tokens),
        thousands(measured.raw_max_tokens),
        measured.percentage,
    );
    for row in &measured.categories {
        let share = (row.tokens * 1000).checked_div(measured.raw_max_tokens).unwrap_or(0);
        let UsageCategory { name, tokens, from, smaller, .. } = row;
        let from = from.replace('|', "\\|");
        write!(text, "\n| {name} | {} | {}.{}% | {from} | {smaller} |", thousands(*tokens), share / 10, share % 10)
            .ok();
    }
    if let Some(at) = measured.compacts_at {
        let left = measured.turns_left.map(|turns| format!(", in about {} at this pace", counted(turns, "turn")));
        let left = left.unwrap_or_default();
        write!(text, "\n\nThe conversation is compacted automatically at about {} tokens{left}.", thousands(at)).ok();
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
