//! What fills the context window, by our own estimate: no request to the model is made for it.

use serde::Serialize;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Estimated tokens by category, after the last step.
#[derive(Clone, Debug, Default)]
pub struct ContextUsage {
    pub model: String,
    /// The window of the model.
    pub window: u64,
    /// The size at which the conversation is compacted automatically; `None` when it is not.
    pub compact_at: Option<u64>,
    pub system: u64,
    pub tools: u64,
    /// Everything in the conversation, including memory files and skills.
    pub messages: u64,
    pub memory: Vec<(PathBuf, &'static str, u64)>,
    pub agents: Vec<(String, &'static str, u64)>,
    pub skills: Vec<(String, &'static str, u64)>,
    pub mcp_tools: Vec<ServerToolUsage>,
}

/// An MCP tool and its estimated tokens.
#[derive(Clone, Debug)]
pub struct ServerToolUsage {
    pub name: String,
    pub server: String,
    pub tokens: u64,
    /// Its schema is part of every request; otherwise the model must search for it first and it counts nothing.
    pub is_loaded: bool,
}

#[derive(Serialize)]
struct UsageCategory {
    id: &'static str,
    name: &'static str,
    tokens: u64,
    color: &'static str,
    kind: &'static str,
}

const GRID_CELLS: usize = 100;
const GRID_COLUMNS: usize = 10;

impl ContextUsage {
    /// Estimated tokens of the next request.
    pub fn total(&self) -> u64 {
        self.system + self.tools + self.messages + self.server_tokens()
    }

    /// Counts MCP tools separately from the other tools.
    pub fn take_server_tools(&mut self, tools: Vec<ServerToolUsage>) {
        self.mcp_tools = tools;
        self.tools = self.tools.saturating_sub(self.server_tokens());
    }

    fn server_tokens(&self) -> u64 {
        self.mcp_tools.iter().filter(|tool| tool.is_loaded).map(|tool| tool.tokens).sum()
    }

    pub fn percentage(&self) -> u64 {
        if self.window == 0 { 0 } else { (self.total() * 100).div_ceil(self.window).min(100) }
    }

    fn categories(&self) -> Vec<UsageCategory> {
        let memory: u64 = self.memory.iter().map(|(_, _, tokens)| tokens).sum();
        let skills: u64 = self.skills.iter().map(|(_, _, tokens)| tokens).sum();
        let mcp = self.server_tokens();
        let buffer = self.compact_at.map_or(0, |at| self.window.saturating_sub(at));
        let used = |id, name, tokens, color| UsageCategory { id, name, tokens, color, kind: "used" };
        let mut all = vec![
            used("system_prompt", "System prompt", self.system, "promptBorder"),
            used("system_tools", "System tools", self.tools, "inactive"),
        ];
        if mcp > 0 {
            all.push(used("mcp_tools", "MCP tools", mcp, "cyan"));
        }
        if memory > 0 {
            all.push(used("memory_files", "Memory files", memory, "claude"));
        }
        if skills > 0 {
            all.push(used("skills", "Skills", skills, "warning"));
        }
        let rest = self.messages.saturating_sub(memory + skills);
        all.push(used("messages", "Messages", rest, "purple"));
        if buffer > 0 {
            let name = "Autocompact buffer";
            all.push(UsageCategory {
                id: "autocompact_buffer",
                name,
                tokens: buffer,
                color: "inactive",
                kind: "buffer",
            });
        }
        let free = self.window.saturating_sub(self.total() + buffer);
        all.push(UsageCategory { id: "free_space", name: "Free space", tokens: free, color: "inactive", kind: "free" });
        all
    }

    /// The reply to `get_context_usage`.
    pub fn reply(&self) -> Value {
        let categories = self.categories();
        json!({
            "categories": categories,
            "totalTokens": self.total(),
            "maxTokens": self.window,
            "rawMaxTokens": self.window,
            "percentage": self.percentage(),
            "gridRows": self.grid(&categories),
            "model": self.model,
            "memoryFiles": rows(&self.memory, |(path, kind, tokens)| json!({"path": path, "type": kind, "tokens": tokens})),
            "mcpTools": rows(&self.mcp_tools, |tool| json!({
                "name": tool.name, "serverName": tool.server, "tokens": tool.tokens, "isLoaded": tool.is_loaded,
            })),
            "agents": rows(&self.agents, |(name, source, tokens)| json!({"agentType": name, "source": source, "tokens": tokens})),
            "slashCommands": {"totalCommands": 0, "includedCommands": 0, "tokens": 0},
            "skills": {
                "totalSkills": self.skills.len(), "includedSkills": self.skills.len(),
                "tokens": self.skills.iter().map(|(_, _, tokens)| tokens).sum::<u64>(),
                "skillFrontmatter": rows(&self.skills, |(name, source, tokens)| json!({"name": name, "source": source, "tokens": tokens})),
            },
            "autoCompactThreshold": self.compact_at,
            "isAutoCompactEnabled": self.compact_at.is_some(),
            "apiUsage": null,
        })
    }

    /// A hundred cells, filled in the order of the categories.
    fn grid(&self, categories: &[UsageCategory]) -> Vec<Vec<Value>> {
        let mut cells = Vec::with_capacity(GRID_CELLS);
        let window = self.window.max(1);
        for category in categories {
            let share = category.tokens as f64 / window as f64;
            let count = (share * GRID_CELLS as f64).round() as usize;
            let count = if category.tokens > 0 { count.max(1) } else { 0 };
            for _ in 0..count.min(GRID_CELLS - cells.len()) {
                cells.push(json!({
                    "color": category.color, "isFilled": category.kind == "used", "categoryName": category.name,
                    "tokens": category.tokens, "percentage": (share * 100.0).round() as u64, "squareFullness": 1,
                }));
            }
        }
        cells.chunks(GRID_COLUMNS).map(<[Value]>::to_vec).collect()
    }
}

fn rows<T>(all: &[T], show: impl Fn(&T) -> Value) -> Vec<Value> {
    all.iter().map(show).collect()
}
