//! What is sent to the model about servers beside the conversation: names of tools it can load, instructions, and
//! servers that are unavailable. Each is sent once and later only as changes, so that earlier requests keep their
//! bytes.

use super::restore;
use super::toolset::SharedToolset;
use crate::messages::Attachment;
use crate::prompts;
use mcp::{McpStatus, ServerView};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Total bytes of tool names to list; the others are only counted, since they can be searched.
const NAMES_LIMIT: usize = 6_000;

/// The attachment that names servers which did not connect in time.
const LATE_KIND: &str = "x_mcp_connecting";

/// What has been sent to the model.
#[derive(Clone, Default)]
pub struct AnnouncedServers {
    names: BTreeSet<String>,
    /// By server name.
    instructions: BTreeMap<String, String>,
    states: BTreeMap<String, &'static str>,
    /// The instructions that an earlier process sent.
    earlier: String,
}

impl AnnouncedServers {
    /// Continues from what the conversation already contains.
    pub fn restore(&mut self, names: BTreeSet<String>, instructions: String) {
        self.names = names;
        self.earlier = instructions;
    }

    /// Whether the model was told that this tool is deferred.
    pub(super) fn names_tool(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// What changed since the last call.
    pub fn take_due(&mut self, common: &SharedToolset) -> Vec<Attachment> {
        let is_deferring = common.state().is_deferring;
        let names = if is_deferring { self.names(common) } else { self.late(common) };
        names.into_iter().chain(self.instructions(common)).collect()
    }

    /// Servers that did not connect in time, for sessions that do not list deferred tools.
    fn late(&mut self, common: &SharedToolset) -> Option<Attachment> {
        let views = common.views();
        let is_late = |view: &&ServerView| view.status == McpStatus::Pending && common.servers.is_late(&view.name);
        let fresh = |view: &&ServerView| self.states.get(&view.name) != Some(&view.status.as_str());
        let names: Vec<String> = views.iter().filter(is_late).filter(fresh).map(|view| view.name.clone()).collect();
        if names.is_empty() {
            return None;
        }
        let lines: Vec<String> = names
            .iter()
            .map(|name| {
                format!("MCP server {name} is still connecting. Its tools are not there yet; they come by themselves.")
            })
            .collect();
        self.states.extend(names.into_iter().map(|name| (name, McpStatus::Pending.as_str())));
        Attachment::note(LATE_KIND, prompts::reminder(&lines.join("\n")))
    }

    pub fn names(&mut self, common: &SharedToolset) -> Option<Attachment> {
        let mut now: BTreeSet<String> = common.deferred().iter().map(|found| found.name().to_owned()).collect();
        now.extend(self.still_connecting(common));
        let states = self.states(common);
        let added: Vec<&String> = now.difference(&self.names).collect();
        let removed: Vec<&String> = self.names.difference(&now).collect();
        if added.is_empty() && removed.is_empty() && states.is_empty() {
            return None;
        }
        let mut lines = Vec::new();
        if !added.is_empty() {
            lines.push(
                "These tools are deferred: load them with ToolSearch before you call them (\"select:<name>\", or \
                 keywords)."
                    .to_owned(),
            );
            lines.extend(grouped(&added));
        }
        if !removed.is_empty() {
            lines.push("These tools are gone:".to_owned());
            lines.extend(grouped(&removed));
        }
        lines.extend(states);
        let line = json!({
            "type": restore::NAMES_KIND, "addedNames": added, "addedLines": lines, "removedNames": removed, "x_ours": true,
        });
        let text = prompts::reminder(&lines.join("\n"));
        self.names = now;
        Some(Attachment { line: wire::raw::to_raw(&line).ok()?, text })
    }

    /// The names that were sent of tools whose server is connecting: after a start they are not gone.
    fn still_connecting(&self, common: &SharedToolset) -> Vec<String> {
        let views = common.views();
        let pending = views.iter().filter(|view| view.status == McpStatus::Pending);
        let prefixes: Vec<String> = pending.map(|view| super::server_rule_name(&view.name)).collect();
        let is_of_one = |name: &&String| prefixes.iter().any(|prefix| name.starts_with(prefix));
        self.names.iter().filter(is_of_one).cloned().collect()
    }

    /// Changed states of servers whose tools the model cannot find.
    fn states(&mut self, common: &SharedToolset) -> Vec<String> {
        let mut lines = Vec::new();
        for view in common.views() {
            let word = view.status.as_str();
            if self.states.insert(view.name.clone(), word) == Some(word) {
                continue;
            }
            match &view.status {
                McpStatus::Pending if common.servers.is_late(&view.name) => {
                    lines.push(format!("MCP server {} is still connecting; its tools come by themselves.", view.name));
                }
                McpStatus::Pending => {
                    lines.push(format!("MCP server {} is still connecting; ToolSearch waits for it.", view.name));
                }
                McpStatus::Failed(why) => {
                    let why: String = why.lines().next().unwrap_or_default().chars().take(200).collect();
                    lines.push(format!("MCP server {} could not be connected: {why}", view.name));
                }
                McpStatus::NeedsAuth => {
                    lines.push(format!("MCP server {} needs the user to sign in; its tools are not there.", view.name));
                }
                McpStatus::Connected | McpStatus::Disabled => {}
            }
        }
        lines
    }

    fn instructions(&mut self, common: &SharedToolset) -> Option<Attachment> {
        let mut parts = Vec::new();
        for view in common.views() {
            let Some(text) = view.instructions.filter(|_| view.status == McpStatus::Connected) else { continue };
            if self.instructions.get(&view.name) == Some(&text) {
                continue;
            }
            let part = format!("## {}\n{text}", view.name);
            if !self.earlier.contains(&part) {
                parts.push(part);
            }
            self.instructions.insert(view.name, text);
        }
        if parts.is_empty() {
            return None;
        }
        let text = format!(
            "# MCP server instructions\nThese servers say how their tools and resources are to be used:\n\n{}",
            parts.join("\n\n")
        );
        Attachment::note(restore::INSTRUCTIONS_KIND, prompts::reminder(&text))
    }
}

/// `mcp__server__: a, b, c`, one line per server; tools of ours stand first, without a server.
fn grouped(names: &[&String]) -> Vec<String> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in names {
        let (server, tool) = split(name);
        groups.entry(server).or_default().push(tool);
    }
    let share = NAMES_LIMIT / groups.len().max(1);
    groups.into_iter().map(|(server, tools)| line(server, &tools, share)).collect()
}

/// Splits after the second separator, where the tool's name begins. A tool of ours has no server.
fn split(name: &str) -> (&str, &str) {
    let Some(rest) = name.strip_prefix("mcp__") else { return ("", name) };
    let at = rest.find("__").map_or(name.len(), |at| name.len() - rest.len() + at + 2);
    name.split_at(at)
}

fn line(server: &str, tools: &[&str], share: usize) -> String {
    let mut line = if server.is_empty() { String::new() } else { format!("{server}: ") };
    for (index, tool) in tools.iter().enumerate() {
        if line.len() + tool.len() > share && index > 0 {
            return format!("{line} … and {} more, which keywords find", tools.len() - index);
        }
        if index > 0 {
            line.push_str(", ");
        }
        line.push_str(tool);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_names_take_little_room() {
        let names: Vec<String> = (0..1000).map(|n| format!("mcp__big__tool_with_a_long_name_{n}")).collect();
        let lines = grouped(&names.iter().collect::<Vec<_>>());
        let size: usize = lines.iter().map(String::len).sum();
        assert!(size < NAMES_LIMIT + 100 && lines[0].contains("more, which keywords find"), "{size}");
        let few = ["mcp__a__x", "SendMessage", "mcp__a__y__z", "NotebookEdit", "mcp__b-c__q"].map(str::to_owned);
        let lines = grouped(&few.iter().collect::<Vec<_>>());
        assert_eq!(lines, ["SendMessage, NotebookEdit", "mcp__a__: x, y__z", "mcp__b-c__: q"]);
    }
}
