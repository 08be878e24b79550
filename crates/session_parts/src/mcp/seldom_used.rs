//! Tools of ours that most sessions never call. Where the API loads tools on demand they are deferred like those of
//! servers. This is decided when a session starts. A conversation that goes on keeps what it was told, so that its
//! requests keep their bytes.

use super::restore::RestoredServers;
use super::search::ToolSearch;
use super::toolset::McpToolset;
use super::{TOOL_SEARCH, ToolDeferral};
use permission::Policy;
use std::collections::BTreeSet;
use std::path::Path;
use tools::ToolSpec;
use tools::facts::ToolDemand;

/// How many names of the directory are looked at for notebooks.
const NAMES_READ: usize = 2_000;

/// What the decision depends on.
pub struct SeldomUsedChoice<'a> {
    pub policy: &'a Policy,
    /// Whether the user asked for the tool by its name.
    pub is_named: &'a dyn Fn(&str) -> bool,
    pub cwd: &'a Path,
    /// What a conversation that goes on was told; `None` for a new one.
    pub told: Option<&'a RestoredServers>,
}

impl McpToolset {
    /// Decides which tools of ours are deferred.
    #[must_use]
    pub fn defer_seldom_used(mut self, choice: &SeldomUsedChoice<'_>) -> Self {
        let loads_on_demand = matches!(self.servers().deferral, ToolDeferral::Native { over: 0 });
        if loads_on_demand && !choice.policy.removes(TOOL_SEARCH.0) {
            let names = choice.names(self.base().specs());
            self.set_seldom_used(names);
        }
        self
    }
}

impl SeldomUsedChoice<'_> {
    fn names<'s>(&self, offered: impl Iterator<Item = &'s ToolSpec>) -> BTreeSet<String> {
        let is_seldom = |spec: &&ToolSpec| spec.facts.demand != ToolDemand::Common && !(self.is_named)(&spec.name);
        let deferrable = offered.filter(is_seldom);
        let chosen: Vec<&ToolSpec> = match self.told {
            Some(told) => deferrable.filter(|spec| told.names(&spec.name)).collect(),
            None => self.worth_deferring(deferrable),
        };
        chosen.into_iter().map(|spec| spec.name.to_string()).collect()
    }

    /// What a new session defers: nothing when that would cost more than it saves.
    fn worth_deferring<'s>(&self, deferrable: impl Iterator<Item = &'s ToolSpec>) -> Vec<&'s ToolSpec> {
        let is_unneeded = |spec: &&ToolSpec| spec.facts.demand == ToolDemand::Seldom || !has_notebooks(self.cwd);
        let unneeded: Vec<&ToolSpec> = deferrable.filter(is_unneeded).collect();
        let saved: usize = unneeded.iter().map(|spec| size(spec)).sum();
        if saved > size(&ToolSearch::own_spec()) { unneeded } else { Vec::new() }
    }
}

fn size(spec: &ToolSpec) -> usize {
    spec.name.len() + spec.description.len() + spec.schema.len()
}

/// Whether the directory itself shows notebooks: a walk through the project would delay the start.
fn has_notebooks(dir: &Path) -> bool {
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten().take(NAMES_READ).map(|entry| entry.file_name());
    names.into_iter().any(|name| name == "notebooks" || name.to_string_lossy().ends_with(".ipynb"))
}
