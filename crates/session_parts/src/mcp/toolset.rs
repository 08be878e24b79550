//! The MCP tools of one thread of the session, as of its last step. Rebuilt only after a change of a server, a rule,
//! or the loaded tools.

use super::adapter::McpToolAdapter;
use super::announce::AnnouncedServers;
use super::deferred_tool::DeferredTool;
use super::resources::{ListResources, ReadResource};
use super::search::ToolSearch;
use super::{SessionServers, ToolDeferral, TypedServerPrompt};
use mcp::{McpHost, McpStatus, RemoteTool, ServerView};
use model::Fragment;
use permission::Policy;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::Arc;
use sys::sync::{Mutex, MutexGuard};
use tools::builtin::BuiltinTool;
use tools::{Tool, ToolRegistry};
use wire::mcp::ToolPermission;

/// Which tools a thread may have at all.
pub type ToolFilter = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Shared by the session and its ToolSearch.
pub struct SharedToolset {
    pub servers: Arc<SessionServers>,
    /// The session's servers, then those of the agent alone.
    pub hosts: Vec<McpHost>,
    filter: ToolFilter,
    /// Tools that the definition names: they are not deferred.
    named: ToolFilter,
    state: Mutex<ToolsetState>,
}

#[derive(Default)]
pub struct ToolsetState {
    pub policy: Option<Arc<Policy>>,
    /// The tools that ToolSearch loaded, in order. Nothing is removed, because requests refer to them.
    pub loaded: Vec<LoadedTool>,
    pub is_deferring: bool,
    /// The tools for resources are sent, and stay: a change would cost the whole prompt again.
    offers_resources: bool,
    /// Tools of ours that are deferred in this session.
    pub seldom_used: Vec<Arc<dyn Tool>>,
}

/// A tool that the model loaded, as it was defined then.
#[derive(Clone)]
pub struct LoadedTool {
    pub name: String,
    pub definition: LoadedDefinition,
    /// Sent in full, because the results that refer to it were compacted.
    pub is_pinned: bool,
}

#[derive(Clone, Deserialize, Serialize)]
pub struct LoadedDefinition {
    pub name: String,
    pub description: String,
    pub input_schema: Box<RawValue>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub defer_loading: bool,
}

/// A tool and the server that runs it.
#[derive(Clone)]
pub struct AvailableTool {
    pub host: McpHost,
    pub tool: Arc<RemoteTool>,
    always_load: bool,
    always_asks: bool,
    servers: Arc<SessionServers>,
}

impl SharedToolset {
    pub fn state(&self) -> MutexGuard<'_, ToolsetState> {
        self.state.lock()
    }

    /// Every tool this thread may use, by server, in the server's order.
    pub fn tools(&self) -> Vec<AvailableTool> {
        let policy = self.state().policy.clone();
        let may_use = |name: &str| (self.filter)(name) && !policy.as_ref().is_some_and(|policy| policy.removes(name));
        let mut taken = BTreeSet::new();
        let mut found = Vec::new();
        for host in &self.hosts {
            for view in host.views() {
                for tool in view.tools.iter().filter(|tool| may_use(&tool.exposed)) {
                    let ruling = ruling(&view, &tool.name);
                    if ruling == Some(ToolPermission::Deny) || !taken.insert(tool.exposed.clone()) {
                        continue;
                    }
                    let named = (self.named)(&tool.exposed);
                    found.push(AvailableTool {
                        host: host.clone(),
                        tool: Arc::clone(tool),
                        always_load: view.config.always_load || tool.meta.always_load || named,
                        always_asks: ruling == Some(ToolPermission::Ask),
                        servers: Arc::clone(&self.servers),
                    });
                }
            }
        }
        found
    }

    /// The tools that the model must load first.
    pub fn deferred(&self) -> Vec<DeferredTool> {
        let of_servers = self.tools().into_iter().filter(|found| !found.always_load).map(DeferredTool::OfServer);
        self.seldom_used().into_iter().map(DeferredTool::OfOurs).chain(of_servers).collect()
    }

    /// The tools of ours that the model must load first.
    pub fn seldom_used(&self) -> Vec<Arc<dyn Tool>> {
        let state = self.state();
        let may_use = |name: &str| !state.policy.as_ref().is_some_and(|policy| policy.removes(name));
        state.seldom_used.iter().filter(|tool| may_use(&tool.spec().name)).cloned().collect()
    }

    /// All servers of this thread, including those not started yet.
    pub fn views(&self) -> Vec<ServerView> {
        self.servers.views().into_iter().chain(self.hosts.iter().skip(1).flat_map(McpHost::views)).collect()
    }

    /// Whether servers are connecting whose tools will be deferred: the model is informed before they are connected.
    fn expects_deferred(&self) -> bool {
        // Any tool of a server: those that a definition names one by one are not deferred.
        let may_use = |view: &ServerView| (self.filter)(&format!("{}*", super::server_rule_name(&view.name)));
        let is_expected = |view: &ServerView| view.status == McpStatus::Pending && may_use(view);
        self.servers.deferral.is_certain() && self.views().iter().any(is_expected)
    }

    /// Whether resources of this server may be read: a rule that denies the whole server denies them too.
    pub fn may_read(&self, server: &str) -> bool {
        !self.state().policy.as_ref().is_some_and(|policy| policy.removes(&super::server_rule_name(server)))
    }
}

fn ruling(view: &ServerView, tool: &str) -> Option<ToolPermission> {
    view.config.tools.iter().find(|policy| policy.name == tool)?.permission
}

/// The MCP tools of one thread.
pub struct McpToolset {
    pub shared: Arc<SharedToolset>,
    /// Tools that are not from a server.
    base: Arc<ToolRegistry>,
    /// The tools of ours have changed since they were last offered.
    has_new_base: bool,
    version: Option<ToolsetVersion>,
    pub announced: AnnouncedServers,
    /// A server prompt that the user typed.
    pub typed_prompt: Option<TypedServerPrompt>,
    /// How many of the loaded tools are recorded in the transcript.
    pub recorded: usize,
    /// Tools that results of a resumed conversation refer to.
    pub referenced: BTreeSet<String>,
    is_agent: bool,
    /// Names of the tools of ours that are deferred: decided once, so that requests keep their bytes.
    seldom_used: BTreeSet<String>,
    /// What the session of a fork sent: its requests begin with the same definitions.
    inherited: Vec<Fragment>,
}

/// The inputs the last registry was built from.
#[derive(PartialEq, Eq)]
struct ToolsetVersion {
    versions: Vec<u64>,
    policy: usize,
    loaded: usize,
    pinned: usize,
}

/// The tools of a step.
pub struct ToolOffer {
    pub registry: Arc<ToolRegistry>,
    pub fragments: Vec<Fragment>,
    /// The request contains tools that the API loads by reference.
    pub uses_references: bool,
}

impl McpToolset {
    pub fn new(servers: Arc<SessionServers>, base: Arc<ToolRegistry>, filter: ToolFilter) -> Self {
        let hosts = vec![servers.host.clone()];
        Self::with_hosts(servers, hosts, base, (filter, Box::new(|_| false)))
    }

    /// For an agent: with its own servers and the tools that its definition names.
    pub fn for_agent(
        servers: Arc<SessionServers>,
        own: Option<McpHost>,
        base: Arc<ToolRegistry>,
        filters: (ToolFilter, ToolFilter),
    ) -> Self {
        let hosts = std::iter::once(servers.host.clone()).chain(own).collect();
        Self { is_agent: true, ..Self::with_hosts(servers, hosts, base, filters) }
    }

    fn with_hosts(
        servers: Arc<SessionServers>,
        hosts: Vec<McpHost>,
        base: Arc<ToolRegistry>,
        (filter, named): (ToolFilter, ToolFilter),
    ) -> Self {
        let common = SharedToolset { servers, hosts, filter, named, state: Mutex::default() };
        Self {
            shared: Arc::new(common),
            base,
            has_new_base: false,
            version: None,
            announced: AnnouncedServers::default(),
            typed_prompt: None,
            recorded: 0,
            referenced: BTreeSet::new(),
            is_agent: false,
            seldom_used: BTreeSet::new(),
            inherited: Vec::new(),
        }
    }

    /// Replaces the tools that are not from servers.
    pub fn set_base(&mut self, base: Arc<ToolRegistry>) {
        self.base = base;
        self.version = None;
        self.find_seldom_used();
    }

    /// Changes the tools of ours in the course of the conversation.
    pub(super) fn change_base(&mut self, base: ToolRegistry, seldom_used: BTreeSet<String>) {
        self.base = Arc::new(base);
        self.has_new_base = true;
        self.set_seldom_used(seldom_used);
    }

    /// Whether this process has offered tools for the conversation.
    pub(super) fn has_offered(&self) -> bool {
        self.version.is_some()
    }

    /// The tools that are not from servers, deferred or not.
    pub(super) fn base(&self) -> &ToolRegistry {
        &self.base
    }

    /// Defers these tools of ours from now on.
    pub(super) fn set_seldom_used(&mut self, names: BTreeSet<String>) {
        self.seldom_used = names;
        self.find_seldom_used();
    }

    pub(super) fn seldom_used(&self) -> &BTreeSet<String> {
        &self.seldom_used
    }

    fn find_seldom_used(&self) {
        let mut state = self.shared.state();
        state.seldom_used = self.seldom_used.iter().filter_map(|name| self.base.find(name).cloned()).collect();
        state.is_deferring |= !state.seldom_used.is_empty();
    }

    /// Makes the requests begin with the definitions that the session of a fork sent.
    pub(super) fn inherit(&mut self, sent: &[Fragment]) {
        self.inherited = sent.to_vec();
    }

    /// Begins a new conversation, which was told nothing.
    pub fn begin_conversation(&mut self) {
        let mut state = self.shared.state();
        state.loaded.clear();
        state.offers_resources = false;
        drop(state);
        self.recorded = 0;
        self.announced = AnnouncedServers::default();
        self.referenced.clear();
        self.version = None;
    }

    pub fn servers(&self) -> &Arc<SessionServers> {
        &self.shared.servers
    }

    /// Shuts down the servers of this thread: an agent's own, or all for the main thread.
    pub async fn close(&self) {
        if !self.is_agent {
            // Breaks the reference cycle between hooks and servers.
            self.shared.servers.owner.set_hook_trigger(None);
        }
        // An agent does not shut down the session's servers.
        for host in self.shared.hosts.iter().skip(usize::from(self.is_agent)) {
            host.shutdown().await;
        }
        if !self.is_agent {
            self.shared.servers.owner.retire();
        }
    }

    /// Keeps loaded tools after a compaction and announces servers again.
    pub fn reset_after_compaction(&mut self) {
        for loaded in &mut self.shared.state().loaded {
            loaded.is_pinned = true;
        }
        self.recorded = 0;
        self.announced = AnnouncedServers::default();
    }

    /// The current tools; `None` when they are the same as in the last step.
    pub fn offer(&mut self, policy: &Arc<Policy>, window: u64) -> Option<ToolOffer> {
        let versions = self.shared.hosts.iter().map(McpHost::version).collect();
        let seen = {
            let mut state = self.shared.state();
            state.policy = Some(Arc::clone(policy));
            let policy = Arc::as_ptr(policy) as usize;
            ToolsetVersion {
                versions,
                policy,
                loaded: state.loaded.len(),
                pinned: state.loaded.iter().filter(|loaded| loaded.is_pinned).count(),
            }
        };
        let has_new_base = std::mem::take(&mut self.has_new_base);
        if self.version.as_ref() == Some(&seen) && !has_new_base {
            return None;
        }
        let is_first = self.version.replace(seen).is_none();
        let tools = self.shared.tools();
        let has_resources = || self.shared.views().iter().any(|view| view.has_resources);
        let is_plain = {
            let state = self.shared.state();
            tools.is_empty() && state.loaded.is_empty() && !state.is_deferring
        };
        if is_first && is_plain && !has_new_base && !self.shared.expects_deferred() && !has_resources() {
            return None;
        }
        Some(self.build(&tools, policy, window))
    }

    fn build(&self, tools: &[AvailableTool], policy: &Policy, window: u64) -> ToolOffer {
        let deferral = self.shared.servers.deferral;
        let size: usize = tools
            .iter()
            .filter(|found| !found.always_load)
            .map(|found| found.tool.schema.len() + found.tool.description.len() + found.tool.exposed.len())
            .sum();
        let expects = self.shared.expects_deferred();
        let ours = self.shared.seldom_used();
        let mut state = self.shared.state();
        if !state.is_deferring && !policy.removes(super::TOOL_SEARCH.0) {
            let goes_on = deferral != ToolDeferral::Off && !state.loaded.is_empty();
            state.is_deferring = goes_on || expects || deferral.applies(model::estimate::text(size), window);
        }
        let native = state.is_deferring && matches!(deferral, ToolDeferral::Native { .. });
        // Servers that connect later may have resources.
        state.offers_resources |= self.has_readable(policy) || (state.is_deferring && expects);
        let mut rows = self.helpers((state.is_deferring, state.offers_resources), policy);
        let is_loaded = |name: &str| state.loaded.iter().any(|loaded| loaded.name == name);
        let in_full = |found: &&AvailableTool| !state.is_deferring || found.always_load;
        rows.extend(tools.iter().filter(in_full).map(|found| found.row(true)));
        let loaded_row = |loaded: &LoadedTool| {
            let offered = !native || loaded.is_pinned;
            let of_server = || tools.iter().find(|found| found.tool.exposed == loaded.name);
            let own = ours.iter().find(|tool| tool.spec().name == loaded.name);
            own.map(|tool| own_row(tool, offered)).or_else(|| of_server().map(|found| found.row(offered)))
        };
        rows.extend(state.loaded.iter().filter_map(loaded_row));
        let rest = tools.iter().filter(|found| !in_full(found) && !is_loaded(&found.tool.exposed));
        rows.extend(rest.map(|found| found.row(false)));
        rows.extend(ours.iter().filter(|tool| !is_loaded(&tool.spec().name)).map(|tool| own_row(tool, false)));
        let registry = self.base.only(|name| !self.seldom_used.contains(name)).with(rows);
        let mut fragments: Vec<Fragment> = registry.tool_fragments().into_iter().map(Fragment::new).collect();
        if native {
            let by_reference = |loaded: &&LoadedTool| !loaded.is_pinned && !registry.is_offered(&loaded.name);
            fragments.extend(state.loaded.iter().filter(by_reference).filter_map(|loaded| {
                let definition = LoadedDefinition { defer_loading: true, ..loaded.definition.clone() };
                wire::raw::to_raw(&definition).ok().map(Fragment::new)
            }));
        }
        let fragments = after_inherited(&self.inherited, fragments);
        ToolOffer { registry: Arc::new(registry), fragments, uses_references: native }
    }

    /// Whether there are resources that may be read.
    fn has_readable(&self, policy: &Policy) -> bool {
        let readable = |view: &ServerView| view.has_resources && !policy.removes(&super::server_rule_name(&view.name));
        self.shared.views().iter().any(readable)
    }

    /// The tools of ours that exist because there are servers.
    fn helpers(&self, (is_deferring, offers_resources): (bool, bool), policy: &Policy) -> Vec<BuiltinTool> {
        let mut helpers: Vec<Arc<dyn Tool>> = Vec::new();
        if is_deferring {
            helpers.push(Arc::new(ToolSearch::new(Arc::clone(&self.shared))));
        }
        if offers_resources {
            helpers.push(Arc::new(ListResources::new(Arc::clone(&self.shared))));
            helpers.push(Arc::new(ReadResource::new(Arc::clone(&self.shared))));
        }
        let is_loader = |name: &str| name == super::TOOL_SEARCH.0;
        let fits_agent = |name: &str| !self.is_agent || is_loader(name) || (self.shared.filter)(name);
        helpers.retain(|tool| !policy.removes(&tool.spec().name) && fits_agent(&tool.spec().name));
        helpers.into_iter().map(|tool| BuiltinTool { tool, is_offered: true }).collect()
    }
}

impl AvailableTool {
    fn row(&self, offered: bool) -> BuiltinTool {
        let tool = McpToolAdapter::new(&self.servers, (&self.host, &self.tool), self.always_asks);
        BuiltinTool { tool: Arc::new(tool), is_offered: offered }
    }
}

fn own_row(tool: &Arc<dyn Tool>, offered: bool) -> BuiltinTool {
    BuiltinTool { tool: Arc::clone(tool), is_offered: offered }
}

/// What the session of a fork sent, then the definitions that are not among it.
fn after_inherited(inherited: &[Fragment], fragments: Vec<Fragment>) -> Vec<Fragment> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let name = |fragment: &Fragment| serde_json::from_str(fragment.raw().get()).map(|Named { name }| name).ok();
    let sent: BTreeSet<Option<String>> = inherited.iter().map(name).collect();
    let further = fragments.into_iter().filter(|fragment| !sent.contains(&name(fragment)));
    inherited.iter().cloned().chain(further).collect()
}
