//! A tool of ours that a conversation gets in its course. Where tools are deferred it is named like the others, which
//! leaves what was sent unchanged; elsewhere it is sent in full from then on, behind the tools of ours. A conversation
//! that goes on in another process keeps what was chosen.

use super::toolset::McpToolset;
use std::sync::Arc;
use tools::Tool;
use tools::builtin::BuiltinTool;

pub struct LateTool<'a> {
    pub name: &'static str,
    pub make: &'a dyn Fn() -> Arc<dyn Tool>,
    /// Requests of the conversation may have been sent with the tool in full.
    pub goes_on: bool,
}

impl McpToolset {
    /// Adds the tool, or takes it away again.
    pub fn offer_late(&mut self, late: &LateTool<'_>, is_offered: bool) {
        let is_there = self.base().find(late.name).is_some();
        if is_there == is_offered {
            return;
        }
        let mut seldom_used = self.seldom_used().clone();
        if !is_offered {
            seldom_used.remove(late.name);
            let rest = self.base().only(|name| name != late.name);
            return self.change_base(rest, seldom_used);
        }
        let is_running = self.has_offered();
        let is_deferred = self.has_told(late.name) || (self.is_deferring() && (is_running || !late.goes_on));
        if is_deferred {
            seldom_used.insert(late.name.to_owned());
        }
        let more = self.base().with(vec![BuiltinTool { tool: (late.make)(), is_offered: true }]);
        self.change_base(more, seldom_used);
    }

    /// Whether the model was told that this tool is deferred, or has loaded it.
    fn has_told(&self, tool: &str) -> bool {
        self.announced.names_tool(tool) || self.shared.state().loaded.iter().any(|loaded| loaded.name == tool)
    }

    fn is_deferring(&self) -> bool {
        self.shared.state().is_deferring
    }
}
