//! ToolSearch: finds deferred tools and loads their schemas. It waits for servers that are still connecting, so that
//! an early search does not miss a tool.

use super::ToolDeferral;
use super::deferred_tool::DeferredTool;
use super::toolset::{LoadedTool, SharedToolset};
use futures_util::future::BoxFuture;
use mcp::McpStatus;
use permission::Access;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;
use tools::facts::{AgentUse, ToolClass, ToolFacts};
use tools::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use wire::block::{ContentBlock, MessageContent};

const DEFAULT_RESULTS: usize = 5;
const MAX_RESULTS: usize = 50;

/// Name and facts of the tool that finds deferred tools.
pub const TOOL_SEARCH: (&str, ToolFacts) =
    ("ToolSearch", ToolFacts { agents: AgentUse::Always, ..ToolFacts::of(ToolClass::ToolSearch) });

pub(super) struct ToolSearch {
    spec: ToolSpec,
    common: Arc<SharedToolset>,
}

impl ToolSearch {
    pub(super) fn new(common: Arc<SharedToolset>) -> Self {
        Self { spec: Self::own_spec(), common }
    }

    pub(super) fn own_spec() -> ToolSpec {
        let (name, facts) = TOOL_SEARCH;
        ToolSpec::of(name, include_str!("tool_search.md"), include_str!("tool_search.schema.json"), facts)
    }
}

#[derive(Deserialize)]
struct ToolSearchInput {
    query: String,
    #[serde(default)]
    max_results: Option<serde_json::Value>,
}

impl Tool for ToolSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input: ToolSearchInput =
            serde_json::from_str(input.get()).map_err(|error| InputError(format!("ToolSearch: query: {error}")))?;
        let asked = input.max_results.as_ref().and_then(|n| n.as_u64().or_else(|| n.as_str()?.trim().parse().ok()));
        let most = asked.map_or(DEFAULT_RESULTS, |n| (n as usize).clamp(1, MAX_RESULTS));
        Ok(Box::new(ToolSearchCall { common: Arc::clone(&self.common), query: input.query, max_results: most }))
    }
}

struct ToolSearchCall {
    common: Arc<SharedToolset>,
    query: String,
    max_results: usize,
}

impl ToolCall for ToolSearchCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            self.common.servers.begin_rest();
            let settled = async {
                for host in &self.common.hosts {
                    host.wait_until_connected(host.connect_limit(), |view| !self.common.servers.is_late(&view.name))
                        .await;
                }
            };
            tokio::select! {
                () = settled => {}
                () = cx.cancel.cancelled() => return ToolOutcome::failed("The search was interrupted by the user."),
            }
            self.answer()
        })
    }
}

impl ToolSearchCall {
    fn answer(&self) -> ToolOutcome {
        let all = self.common.deferred();
        let found = match self.query.trim().strip_prefix("select:") {
            Some(names) => select(&all, names),
            None => rank(&all, &self.query, self.max_results),
        };
        if found.is_empty() {
            return ToolOutcome::text(self.no_match_message(all.len()), self.structured_result(&[], all.len()));
        }
        let definitions = self.load(&found);
        let names: Vec<&str> = found.iter().map(DeferredTool::name).collect();
        let structured = self.structured_result(&names, all.len());
        let content = match self.common.servers.deferral {
            ToolDeferral::Native { .. } => {
                let reference = |name: &&str| ContentBlock::ToolReference { tool_name: (*name).to_owned() };
                MessageContent::Blocks(names.iter().map(reference).collect())
            }
            ToolDeferral::Emulated { .. } | ToolDeferral::Off => MessageContent::Text(format!(
                "These tools are loaded and can be called from now on:\n{}",
                definitions.join("\n")
            )),
        };
        ToolOutcome { content, is_error: false, structured, mcp_meta: None, effects: Vec::new() }
    }

    /// Records the tools as loaded and returns their definitions as text.
    fn load(&self, found: &[DeferredTool]) -> Vec<String> {
        let mut state = self.common.state();
        let mut texts = Vec::new();
        for found in found {
            let Some(definition) = found.definition() else { continue };
            texts.extend(wire::raw::to_line(&definition));
            if !state.loaded.iter().any(|loaded| loaded.name == found.name()) {
                state.loaded.push(LoadedTool { name: found.name().to_owned(), definition, is_pinned: false });
            }
        }
        texts
    }

    fn no_match_message(&self, total: usize) -> String {
        let mut lines = vec![format!("No deferred tool fits \"{}\"; {total} can be searched.", self.query.trim())];
        lines.extend(self.common.views().into_iter().filter_map(|view| match &view.status {
            McpStatus::Failed(why) => Some(format!("MCP server {} failed: {why}", view.name)),
            McpStatus::NeedsAuth => Some(format!("MCP server {} needs authentication.", view.name)),
            McpStatus::Pending => Some(format!("MCP server {} is still connecting.", view.name)),
            McpStatus::Connected | McpStatus::Disabled => None,
        }));
        lines.join("\n")
    }

    fn structured_result(&self, names: &[&str], total: usize) -> Option<Box<RawValue>> {
        wire::raw::to_raw(&json!({"matches": names, "query": self.query, "total_deferred_tools": total})).ok()
    }
}

fn select(all: &[DeferredTool], names: &str) -> Vec<DeferredTool> {
    let wanted = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let find = |name: &str| all.iter().find(|found| found.is_named(name)).cloned();
    wanted.filter_map(find).collect()
}

/// The best matches. A word with `+` is required.
fn rank(all: &[DeferredTool], query: &str, most: usize) -> Vec<DeferredTool> {
    let words: Vec<(bool, String)> = query
        .split_whitespace()
        .map(|word| match word.strip_prefix('+') {
            Some(word) => (true, word.to_lowercase()),
            None => (false, word.to_lowercase()),
        })
        .filter(|(_, word)| !word.is_empty())
        .collect();
    let mut scored: Vec<(u32, &DeferredTool)> =
        all.iter().filter_map(|found| Some((score(found, &words)?, found))).collect();
    sys::compact_sort::sort_by(&mut scored, |a, b| b.0.cmp(&a.0).then_with(|| a.1.name().cmp(b.1.name())));
    scored.into_iter().take(most).map(|(_, found)| found.clone()).collect()
}

/// `None` when no word matches or a required one is missing.
fn score(found: &DeferredTool, words: &[(bool, String)]) -> Option<u32> {
    let name = found.name().to_lowercase();
    let parts: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let hint = found.search_hint().to_lowercase();
    let description = found.description().to_lowercase();
    let mut total = 0;
    for (is_required, word) in words {
        let points = if parts.contains(&word.as_str()) {
            10
        } else if name.contains(word) {
            6
        } else if hint.contains(word) {
            4
        } else if description.contains(word) {
            2
        } else {
            0
        };
        if *is_required && points == 0 {
            return None;
        }
        total += points;
    }
    (total > 0).then_some(total)
}
