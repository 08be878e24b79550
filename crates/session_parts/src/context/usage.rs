//! What fills the context window. The total is what the provider reported for the last response, plus our estimate of
//! what was added since, scaled by how far our estimate of the rest was off. The rows add up to the total; no request is
//! made for any of it.

use crate::history::MessageShares;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// The parts of the next request, by our own estimate, and its size as it is calibrated by the last response.
#[derive(Clone, Debug, Default)]
pub struct ContextUsage {
    pub model: String,
    /// The window of the model.
    pub window: u64,
    /// The size at which the conversation is compacted automatically; `None` when it is not.
    pub compact_at: Option<u64>,
    /// Tokens of the next request.
    pub total: u64,
    /// How many tokens the provider counts for each of ours.
    pub factor: f64,
    pub system: u64,
    /// Of all tools, those of servers included.
    pub tools: u64,
    pub memory: Vec<(PathBuf, &'static str, u64)>,
    pub agents: Vec<(String, &'static str, u64)>,
    pub skills: Vec<(String, &'static str, u64)>,
    pub mcp_tools: Vec<ServerToolUsage>,
    pub shares: MessageShares,
    /// Prompts that are in the conversation as they were typed.
    pub prompts: usize,
    /// The usage of the last response, as the provider reported it.
    pub reported: Option<Value>,
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

/// A row of the report.
#[derive(Clone, Debug, Serialize)]
pub struct UsageCategory {
    pub id: &'static str,
    pub name: &'static str,
    pub tokens: u64,
    pub color: &'static str,
    /// `used`, `free`, `buffer`, or `deferred` for what is not part of the total.
    pub kind: &'static str,
    /// What put it there.
    #[serde(rename = "x_from", skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// What would make it smaller.
    #[serde(rename = "x_smaller", skip_serializing_if = "str::is_empty")]
    pub smaller: &'static str,
}

const GRID_CELLS: usize = 100;
const GRID_COLUMNS: usize = 10;
/// How many names a row lists.
const NAMED: usize = 4;

impl ContextUsage {
    /// Tokens of the next request.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds what the next request will have that is not in the conversation yet.
    pub fn add_unsent(&mut self, tokens: u64) {
        self.total += self.scaled(tokens);
    }

    fn scaled(&self, tokens: u64) -> u64 {
        (tokens as f64 * self.factor).round() as u64
    }

    fn sum(rows: &[(impl Sized, &'static str, u64)]) -> u64 {
        rows.iter().map(|(_, _, tokens)| tokens).sum()
    }

    pub fn percentage(&self) -> u64 {
        if self.window == 0 { 0 } else { (self.total() * 100).div_ceil(self.window).min(100) }
    }

    /// How many turns like those so far fit before the conversation is compacted; `None` when there were too few to say.
    pub fn turns_left(&self) -> Option<u64> {
        const ENOUGH: usize = 3;
        let at = self.compact_at.filter(|_| self.prompts >= ENOUGH)?;
        let [system, tools, mcp, memory, skills] = self.fixed_parts();
        let said = self.total - (system + tools + mcp + memory + skills);
        at.saturating_sub(self.total).checked_div(said / self.prompts as u64)
    }

    /// System prompt, tools of ours, tools of servers, memory files and skills, in tokens of the provider; together
    /// never more than the total.
    fn fixed_parts(&self) -> [u64; 5] {
        let loaded = self.mcp_tools.iter().filter(|tool| tool.is_loaded).map(|tool| tool.tokens).sum::<u64>();
        let own = [
            self.system,
            self.tools.saturating_sub(loaded),
            loaded.min(self.tools),
            Self::sum(&self.memory),
            Self::sum(&self.skills),
        ];
        let scaled = own.map(|tokens| self.scaled(tokens));
        let all: u64 = scaled.iter().sum();
        if all <= self.total {
            return scaled;
        }
        let share = |tokens: u64| u64::try_from(u128::from(tokens) * u128::from(self.total) / u128::from(all));
        scaled.map(|tokens| share(tokens).unwrap_or(tokens))
    }

    /// The rows. Those of kind `used` add up to the total; with `free` and `buffer` they fill the window.
    pub fn categories(&self) -> Vec<UsageCategory> {
        let [system, tools, mcp, memory, skills] = self.fixed_parts();
        let messages = self.total - (system + tools + mcp + memory + skills);
        let row = |id, name, tokens, color, kind, from, smaller| UsageCategory {
            id,
            name,
            tokens,
            color,
            kind,
            from,
            smaller,
        };
        let mut all = vec![
            row(
                "system_prompt",
                "System prompt",
                system,
                "promptBorder",
                "used",
                "instructions of gimlet, output style, --append-system-prompt".to_owned(),
                "--system-prompt, or another output style",
            ),
            row(
                "system_tools",
                "System tools",
                tools,
                "inactive",
                "used",
                "tools of gimlet, with the agents they name".to_owned(),
                "--tools, or deny rules for tools you never need",
            ),
        ];
        if mcp > 0 {
            let from = named(self.mcp_tools.iter().filter(|tool| tool.is_loaded).map(|tool| tool.server.clone()));
            let smaller = "/mcp switches servers off; ENABLE_TOOL_SEARCH=true loads tools when they are needed";
            all.push(row("mcp_tools", "MCP tools", mcp, "cyan", "used", from, smaller));
        }
        if memory > 0 {
            let from = named(self.memory.iter().map(|(path, ..)| path.display().to_string()));
            let smaller = "shorten them, or move parts into rules for single folders";
            all.push(row("memory_files", "Memory files", memory, "claude", "used", from, smaller));
        }
        if skills > 0 {
            let from = named(self.skills.iter().map(|(name, ..)| name.clone()));
            let smaller = "shorter descriptions, or skills that only you start";
            all.push(row("skills", "Skills", skills, "warning", "used", from, smaller));
        }
        let smaller = "/compact, or /rewind to before what is not needed";
        all.push(row("messages", "Messages", messages, "purple", "used", self.shares.described(), smaller));
        let left = self.window.saturating_sub(self.total);
        let buffer = self.compact_at.map_or(0, |at| self.window.saturating_sub(at)).min(left);
        if buffer > 0 {
            let from = "kept free for answers; the conversation is summarised before".to_owned();
            all.push(row(
                "autocompact_buffer",
                "Autocompact buffer",
                buffer,
                "inactive",
                "buffer",
                from,
                "/autocompact",
            ));
        }
        all.push(row("free_space", "Free space", left - buffer, "inactive", "free", String::new(), ""));
        let waiting = || self.mcp_tools.iter().filter(|tool| !tool.is_loaded);
        let deferred: u64 = waiting().map(|tool| tool.tokens).sum();
        if deferred > 0 {
            let from = named(waiting().map(|tool| tool.server.clone()));
            let id = "mcp_tools_deferred";
            all.push(row(id, "MCP tools (deferred)", self.scaled(deferred), "inactive", "deferred", from, ""));
        }
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
            "memoryFiles": rows(&self.memory, |(path, kind, tokens)| json!({"path": path, "type": kind, "tokens": self.scaled(*tokens)})),
            "mcpTools": rows(&self.mcp_tools, |tool| json!({
                "name": tool.name, "serverName": tool.server, "tokens": self.scaled(tool.tokens), "isLoaded": tool.is_loaded,
            })),
            "agents": rows(&self.agents, |(name, source, tokens)| json!({"agentType": name, "source": source, "tokens": self.scaled(*tokens)})),
            "slashCommands": {"totalCommands": 0, "includedCommands": 0, "tokens": 0},
            "skills": {
                "totalSkills": self.skills.len(), "includedSkills": self.skills.len(),
                "tokens": self.scaled(Self::sum(&self.skills)),
                "skillFrontmatter": rows(&self.skills, |(name, source, tokens)| json!({"name": name, "source": source, "tokens": self.scaled(*tokens)})),
            },
            "autoCompactThreshold": self.compact_at,
            "isAutoCompactEnabled": self.compact_at.is_some(),
            "apiUsage": self.reported,
            "x_turnsLeft": self.turns_left(),
        })
    }

    /// A hundred cells, filled in the order of the categories.
    fn grid(&self, categories: &[UsageCategory]) -> Vec<Vec<Value>> {
        let mut cells = Vec::with_capacity(GRID_CELLS);
        let window = self.window.max(1);
        for category in categories.iter().filter(|category| category.kind != "deferred") {
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

/// The first names, each once, and how many more there are.
fn named(names: impl Iterator<Item = String>) -> String {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    let rest = known.len().saturating_sub(NAMED);
    known.truncate(NAMED);
    let mut text = known.join(", ");
    if rest > 0 {
        write!(text, " and {rest} more").ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(total: u64) -> ContextUsage {
        ContextUsage {
            window: 1_000,
            compact_at: Some(900),
            total,
            factor: 2.0,
            shares: MessageShares { results: 5, ..MessageShares::default() },
            system: 50,
            tools: 120,
            memory: vec![("a.md".into(), "User", 40)],
            skills: vec![("s".into(), "user", 10)],
            mcp_tools: vec![
                ServerToolUsage { name: "t".into(), server: "one".into(), tokens: 20, is_loaded: true },
                ServerToolUsage { name: "u".into(), server: "two".into(), tokens: 500, is_loaded: false },
            ],
            ..ContextUsage::default()
        }
    }

    fn tokens(rows: &[UsageCategory], kind: &str) -> u64 {
        rows.iter().filter(|row| row.kind == kind).map(|row| row.tokens).sum()
    }

    /// [LNG-25] Whatever was reported: rows add up to the total, and with free space and buffer to the window.
    #[test]
    fn rows_sum_to_the_header() {
        for total in [0, 100, 439, 440, 700, 899, 950, 1_000, 2_000] {
            let rows = usage(total).categories();
            assert_eq!(tokens(&rows, "used"), total, "{total}");
            let rest = tokens(&rows, "free") + tokens(&rows, "buffer");
            assert_eq!(total.min(1_000) + rest, 1_000, "{total}");
            assert_eq!(tokens(&rows, "deferred"), 1_000);
        }
        let rows = usage(700).categories();
        let of = |id: &str| rows.iter().find(|row| row.id == id).unwrap();
        assert_eq!((of("system_prompt").tokens, of("system_tools").tokens, of("mcp_tools").tokens), (100, 200, 40));
        assert_eq!((of("messages").tokens, of("mcp_tools").from.as_str()), (260, "one"));
        assert!(
            rows.iter().filter(|row| row.kind == "used").all(|row| !row.from.is_empty() && !row.smaller.is_empty())
        );
    }

    #[test]
    fn the_pace_so_far_says_how_many_turns_are_left() {
        let said = |prompts, total| ContextUsage { prompts, ..usage(total) }.turns_left();
        assert_eq!((said(2, 700), said(4, 700), said(4, 900)), (None, Some(3), Some(0)));
        assert_eq!(ContextUsage { compact_at: None, prompts: 9, ..usage(700) }.turns_left(), None);
    }

    #[test]
    fn names_are_listed_once() {
        let names = |list: &[&str]| named(list.iter().map(|name| (*name).to_owned()));
        assert_eq!(names(&["a", "b", "a"]), "a, b");
        assert_eq!(names(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d and 2 more");
    }
}
