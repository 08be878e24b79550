//! What a stored conversation contains about servers: tools that were loaded, and names and instructions that were
//! sent. A resumed session continues with them, so that its requests start with the same bytes.
//!
//! The transcript contains tool definitions as they were sent, so a server that has changed or is not connected yet
//! does not alter earlier parts of the conversation.

use super::deferred_tool::DeferredTool;
use super::toolset::{LoadedDefinition, LoadedTool, McpToolset};
use crate::context::ModelContext;
use crate::history::references;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// An attachment that only this program reads.
const LOADED_KIND: &str = "x_loaded_tools";
pub(super) const INSTRUCTIONS_KIND: &str = "x_mcp_instructions";
pub(super) const NAMES_KIND: &str = "deferred_tools_delta";

#[derive(Default)]
pub struct RestoredServers {
    pub(super) loaded: Vec<LoadedTool>,
    /// Names of deferred tools that were sent to the model.
    pub(super) names: BTreeSet<String>,
    /// All server instructions that were sent to the model.
    pub(super) instructions: String,
    /// Tools that results refer to.
    referenced: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolNamesDelta {
    #[serde(default)]
    added_names: Vec<String>,
    #[serde(default)]
    added_lines: Vec<String>,
    #[serde(default)]
    removed_names: Vec<String>,
    /// Lines written by other programs are about their own tools.
    #[serde(default, rename = "x_ours")]
    is_ours: bool,
}

#[derive(Deserialize)]
struct LoadedTools {
    tools: Vec<LoadedDefinition>,
    #[serde(default)]
    pinned: bool,
}

#[derive(Deserialize)]
struct McpInstructions {
    content: String,
}

impl RestoredServers {
    /// Reads an attachment about servers. Returns the text that was sent to the model when only this line contains
    /// it.
    pub fn read_attachment(&mut self, kind: &str, body: &RawValue) -> Option<String> {
        match kind {
            NAMES_KIND => {
                let told: ToolNamesDelta =
                    serde_json::from_str(body.get()).ok().filter(|told: &ToolNamesDelta| told.is_ours)?;
                self.names.retain(|name| !told.removed_names.contains(name));
                self.names.extend(told.added_names);
                Some(crate::prompts::reminder(&told.added_lines.join("\n")))
            }
            INSTRUCTIONS_KIND => {
                let told: McpInstructions = serde_json::from_str(body.get()).ok()?;
                self.instructions.push_str(&told.content);
                None
            }
            LOADED_KIND => {
                let LoadedTools { tools, pinned } = serde_json::from_str(body.get()).ok()?;
                for definition in tools {
                    self.loaded.retain(|known| known.name != definition.name);
                    self.loaded.push(LoadedTool { name: definition.name.clone(), definition, is_pinned: pinned });
                }
                None
            }
            _ => None,
        }
    }

    /// Whether the model was told that this tool is deferred, or has loaded it.
    pub(super) fn names(&self, tool: &str) -> bool {
        self.names.contains(tool) || self.loaded.iter().any(|loaded| loaded.name == tool)
    }

    /// Whether the model was told nothing of deferred tools.
    pub fn is_silent(&self) -> bool {
        self.names.is_empty() && self.loaded.is_empty()
    }

    /// Records which tools a result refers to.
    pub fn record_result(&mut self, message: &str) {
        self.referenced.extend(references(message));
    }
}

impl McpToolset {
    /// Continues from a stored conversation. The first request waits for the servers of its tools.
    #[must_use]
    pub fn continue_from(mut self, remembered: RestoredServers) -> Self {
        self.take_up(remembered);
        self
    }

    /// The conversation goes on from an earlier point, which contains this about servers.
    pub fn go_back(&mut self, remembered: RestoredServers) {
        self.begin_conversation();
        self.take_up(remembered);
    }

    fn take_up(&mut self, remembered: RestoredServers) {
        let RestoredServers { mut loaded, mut names, instructions, referenced } = remembered;
        // Tools of ours that an earlier process deferred and this one does not are sent in full.
        let is_deferred = |name: &str| !self.base().is_offered(name) || self.seldom_used().contains(name);
        loaded.retain(|loaded| is_deferred(&loaded.name));
        names.retain(|name| is_deferred(name));
        self.announced.restore(names, instructions);
        self.shared
            .servers
            .require_tools(loaded.iter().map(|loaded| loaded.name.clone()).chain(referenced.iter().cloned()));
        self.recorded = loaded.len();
        self.shared.state().loaded = loaded;
        self.referenced = referenced;
    }

    /// The tools loaded since the last call, as a transcript line.
    pub fn unrecorded(&mut self) -> Option<Box<RawValue>> {
        let state = self.shared.state();
        let fresh = state.loaded.get(self.recorded..).filter(|fresh| !fresh.is_empty())?;
        let tools: Vec<&LoadedDefinition> = fresh.iter().map(|loaded| &loaded.definition).collect();
        let line = json!({"type": LOADED_KIND, "tools": tools, "pinned": fresh.iter().any(|loaded| loaded.is_pinned)});
        let line = wire::raw::to_raw(&line).ok();
        self.recorded = state.loaded.len();
        line
    }

    /// Before the first request of a resumed conversation: makes sure that every reference names a tool that is sent,
    /// or turns it into text.
    pub fn resolve_references(&mut self, context: &mut ModelContext, is_native: bool) {
        if self.referenced.is_empty() {
            return;
        }
        let referenced = std::mem::take(&mut self.referenced);
        if is_native {
            let live = self.shared.deferred();
            let mut state = self.shared.state();
            for name in &referenced {
                let known = state.loaded.iter().any(|loaded| loaded.name == *name);
                let found = live.iter().find(|found| found.name() == name).filter(|_| !known);
                if let Some(definition) = found.and_then(DeferredTool::definition) {
                    state.loaded.push(LoadedTool { name: name.clone(), definition, is_pinned: false });
                }
            }
        }
        let state = self.shared.state();
        let is_sent = |name: &str| is_native && state.loaded.iter().any(|loaded| loaded.name == name);
        if !referenced.iter().all(|name| is_sent(name)) {
            context.rewrite_references(is_sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(value: &serde_json::Value) -> Box<RawValue> {
        wire::raw::to_raw(value).unwrap()
    }

    // [TST-219]
    #[test]
    fn what_was_told_and_loaded_is_read_back() {
        let mut remembered = RestoredServers::default();
        let names = json!({"type": NAMES_KIND, "addedNames": ["mcp__a__x", "mcp__a__y"], "addedLines": ["one", "two"],
            "removedNames": [], "x_ours": true});
        assert_eq!(remembered.read_attachment(NAMES_KIND, &raw(&names)).unwrap(), crate::prompts::reminder("one\ntwo"));
        let fewer = json!({"addedNames": [], "addedLines": ["gone"], "removedNames": ["mcp__a__y"], "x_ours": true});
        remembered.read_attachment(NAMES_KIND, &raw(&fewer));
        assert_eq!(remembered.names, BTreeSet::from(["mcp__a__x".to_owned()]));
        let foreign = json!({"addedNames": ["WebFetch"], "addedLines": ["WebFetch"]});
        assert_eq!(remembered.read_attachment(NAMES_KIND, &raw(&foreign)), None);
        let tool = json!({"name": "mcp__a__x", "description": "d", "input_schema": {"type": "object"}});
        remembered.read_attachment(LOADED_KIND, &raw(&json!({"tools": [tool]})));
        remembered.read_attachment(LOADED_KIND, &raw(&json!({"tools": [tool], "pinned": true})));
        assert_eq!(remembered.loaded.len(), 1);
        assert!(remembered.loaded[0].is_pinned);
        assert_eq!(raw(&json!([remembered.loaded[0].definition])).get(), raw(&json!([tool])).get());
    }

    #[test]
    fn references_are_found_wherever_they_stand() {
        let reference = json!({"type": "tool_reference", "tool_name": "mcp__a__x"});
        let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": [reference]}]);
        assert_eq!(references(&result.to_string()), ["mcp__a__x"]);
        assert!(references(r#"[{"type":"text","text":"\"tool_reference\""}]"#).is_empty());
    }
}
