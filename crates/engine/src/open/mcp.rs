//! The MCP servers of a session: those that are declared and those that the host serves. Nothing is started here.

use super::{SessionAssembly, toolbox};
use ::mcp::auth::HelperPlace;
use ::mcp::{McpManifest, McpServerSpec, McpSettings, ServerSwitch, ServerView};
use config::mcp::{McpAudience, McpQuery};
use config::{ProjectConfig, SettingsSelection};
use permission::Policy;
use session_parts::host::HostSender;
use session_parts::mcp::agents::covers;
use session_parts::mcp::{
    McpSessionOwner, McpToolset, RestoredServers, SeldomUsedChoice, ServerCredentials, SessionAudience, SessionServers,
    SessionServersParts, ToolDeferral, ToolFilter, background_after,
};
use session_parts::options::SessionOptions;
use session_parts::questions::HostQuestions;
use session_parts::resume::RestoredConversation;
use session_parts::settings_watch::SettingsWatch;
use session_parts::start_error::{StartError, StartFailure};
use std::path::Path;
use std::sync::Arc;
use sys::Env;
use tools::ToolRegistry;
use wire::control::InitializeRequest;
use wire::mcp::{McpScope, ServerConfig};

/// Reads every declaration. Fails when a server of the command line cannot be used.
pub(super) fn declared(
    options: &SessionOptions,
    (cwd, env): (&Path, &Env),
    loaded: &ProjectConfig,
    selection: &SettingsSelection,
) -> Result<config::mcp::DeclaredMcpServers, StartError> {
    let request = McpQuery {
        cwd,
        env,
        loaded,
        selection,
        flags: &options.servers.declared,
        strict: options.servers.is_strict,
        audience: if options.servers.needs_approval { McpAudience::Person } else { McpAudience::Headless },
    };
    config::mcp::effective(&request).map_err(|error| StartError::of(StartFailure::Configuration, error))
}

impl SessionAssembly {
    pub(super) fn servers(
        &mut self,
        host: &HostSender,
        questions: &HostQuestions,
        watch: &SettingsWatch,
    ) -> Arc<SessionServers> {
        let child_env = self.env.without(config::environment::SECRET_VARIABLES.iter().copied());
        let mut settings = McpSettings::from_env(&self.env, child_env, self.cwd.clone());
        settings.session_id.clone_from(&self.conversation.session_id);
        settings.version = env!("CARGO_PKG_VERSION").into();
        let mut roots = vec![self.cwd.clone()];
        roots.extend(watch.additional());
        // Without stream-json input nobody can answer.
        let answering = self.options.host.multi_turn.then(|| questions.clone());
        let mut declared: Vec<_> = self.declared_servers.servers.iter().filter_map(known_server).collect();
        declared.extend(hosted(&self.initialize));
        let watched =
            if self.options.host.replay_history { SessionAudience::ByPerson } else { SessionAudience::ByProgram };
        let servers = SessionServers::new(SessionServersParts {
            settings,
            owner: Arc::new(McpSessionOwner::new(host.clone(), answering, roots, self.credentials_of_servers())),
            policy: config::mcp::McpPolicy::of(&self.loaded, &self.base_env),
            deferral: ToolDeferral::choose(&self.env, self.served()),
            declared,
            unapproved: self.declared_servers.servers.iter().filter_map(unapproved).collect(),
            errors: std::mem::take(&mut self.declared_servers.errors),
            audience: watched,
            background_after: background_after(&self.env, watched),
        });
        for (name, manifest) in self.initialize.sdk_mcp_server_manifests.clone().unwrap_or_default() {
            if let Some(manifest) = McpManifest::read(manifest.get()) {
                servers.host.set_manifest(&name, manifest);
            }
        }
        Arc::new(servers)
    }

    fn credentials_of_servers(&self) -> ServerCredentials {
        let place = |server: &config::mcp::DeclaredMcpServer| {
            let foreign = matches!(server.scope, McpScope::Project | McpScope::Plugin);
            (server.name.clone(), HelperPlace { cwd: server.root.clone(), is_from_repository: foreign })
        };
        let places = self.declared_servers.servers.iter().map(place).collect();
        ServerCredentials::new(&self.env, &self.base_env, self.cwd.clone(), places)
    }

    /// The tools of the main thread that may be deferred: those of servers, and those of ours that are seldom used.
    pub(super) fn toolset(
        &self,
        (servers, registry, policy): (Arc<SessionServers>, &Arc<ToolRegistry>, &Policy),
        restored: Option<&RestoredConversation>,
        remembered: RestoredServers,
    ) -> McpToolset {
        let has_boundary = self.conversation.loaded.as_ref().is_some_and(|loaded| loaded.boundary.is_some());
        // After a compaction everything is told again with the next request.
        let is_open = has_boundary && remembered.is_silent();
        let goes_on = restored.is_some_and(|restored| !restored.history.is_empty()) && !is_open;
        let choice = SeldomUsedChoice {
            policy,
            is_named: &|name| toolbox::is_named(self, name),
            cwd: &self.cwd,
            told: goes_on.then_some(&remembered),
        };
        let toolset = McpToolset::new(servers, Arc::clone(registry), self.server_filter()).defer_seldom_used(&choice);
        toolset.continue_from(remembered)
    }

    /// Which MCP tools the main thread may have, according to its definition.
    fn server_filter(&self) -> ToolFilter {
        let Some(agent) = self.agent.clone() else { return Box::new(|_| true) };
        Box::new(move |name| {
            let any = |list: &[String]| list.iter().any(|entry| covers(entry, name));
            agent.tools.as_deref().is_none_or(any) && !any(&agent.disallowed_tools)
        })
    }
}

/// The row of a server that is not approved or is forbidden; `None` for all others.
fn unapproved(server: &config::mcp::DeclaredMcpServer) -> Option<ServerView> {
    use config::mcp::McpApproval as Declaredly;
    let advice = match &server.approval {
        Declaredly::Pending => "not approved; the next start of gimlet in this folder asks again".to_owned(),
        Declaredly::Rejected => {
            "rejected; after `gimlet mcp reset-project-choices` the next start of gimlet asks again".to_owned()
        }
        Declaredly::Forbidden(why) => format!("forbidden: {why}"),
        Declaredly::Approved | Declaredly::Disabled => return None,
    };
    let declared = McpServerSpec { name: server.name.clone(), scope: server.scope, config: server.config.clone() };
    Some(ServerView { problem: Some(advice), ..ServerView::of(&declared, ServerSwitch::Disabled) })
}

/// `None` for servers that are not approved or are forbidden.
fn known_server(server: &config::mcp::DeclaredMcpServer) -> Option<(McpServerSpec, ServerSwitch)> {
    use config::mcp::McpApproval as Declaredly;
    let switch = match &server.approval {
        Declaredly::Approved => ServerSwitch::Enabled,
        Declaredly::Disabled => ServerSwitch::Disabled,
        Declaredly::Pending | Declaredly::Rejected | Declaredly::Forbidden(_) => return None,
    };
    let declared = McpServerSpec { name: server.name.clone(), scope: server.scope, config: server.config.clone() };
    Some((declared, switch))
}

/// The servers that the host serves.
fn hosted(asked: &InitializeRequest) -> Vec<(McpServerSpec, ServerSwitch)> {
    let names = asked.sdk_mcp_servers.iter().flatten();
    let declared = |name: &String| {
        let given = asked.sdk_mcp_server_configs.as_ref().and_then(|configs| configs.get(name));
        let mut fields: serde_json::Map<String, serde_json::Value> =
            given.and_then(|config| serde_json::from_str(config.get()).ok()).unwrap_or_default();
        fields.insert("type".into(), "sdk".into());
        fields.insert("name".into(), name.as_str().into());
        let config = ServerConfig::parse(name, &fields.into()).unwrap_or_else(|_| ServerConfig::sdk(name.as_str()));
        (McpServerSpec { name: name.clone(), scope: McpScope::Host, config }, ServerSwitch::Enabled)
    };
    names.map(declared).collect()
}
