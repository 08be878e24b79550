//! The MCP servers of a session: what was declared, what the host serves itself. Nothing is started here.

use super::Opening;
use crate::agents::covers;
use crate::desk::Desk;
use crate::host::Host;
use crate::mcp::{Credentials, Deferral, Filter, Parts, Servers, SessionOwner, Watched, patience};
use crate::options::{Options, StartError};
use crate::reload::Watch;
use ::mcp::auth::HelperPlace;
use ::mcp::{Declared, Manifest, Settings, Standing};
use config::mcp::{Audience, Request};
use config::{Loaded, Selection};
use std::path::Path;
use std::sync::Arc;
use sys::Env;
use wire::control::Initialize;
use wire::mcp::{Scope, ServerConfig};

/// Reads every declaration. What the command line asks for and cannot have ends the start.
pub(super) fn declared(
    options: &Options,
    (cwd, env): (&Path, &Env),
    loaded: &Loaded,
    selection: &Selection,
) -> Result<config::mcp::Servers, StartError> {
    let request = Request {
        cwd,
        env,
        loaded,
        selection,
        flags: &options.mcp_config,
        strict: options.strict_mcp_config,
        audience: if options.approves_servers { Audience::Person } else { Audience::Headless },
    };
    config::mcp::effective(&request).map_err(|error| StartError::new(format!("Error: {error}")))
}

impl Opening {
    pub(super) fn servers(&mut self, host: &Host, desk: &Desk, watch: &Watch) -> Arc<Servers> {
        let child_env = self.env.without(config::environment::SECRET_VARIABLES.iter().copied());
        let mut settings = Settings::from_env(&self.env, child_env, self.cwd.clone());
        settings.session_id.clone_from(&self.conversation.session_id);
        settings.version = env!("CARGO_PKG_VERSION").into();
        let mut roots = vec![self.cwd.clone()];
        roots.extend(watch.additional());
        // Without a second line of input nobody can answer.
        let answering = self.options.multi_turn.then(|| desk.clone());
        let mut declared: Vec<_> = self.declared.servers.iter().filter_map(standing).collect();
        declared.extend(hosted(&self.asked));
        let watched = if self.options.tell_history { Watched::ByPerson } else { Watched::ByProgram };
        let servers = Servers::new(Parts {
            settings,
            owner: Arc::new(SessionOwner::new(host.clone(), answering, roots, self.credentials_of_servers())),
            policy: config::mcp::Policy::of(&self.loaded, &self.base_env),
            deferral: Deferral::choose(&self.env, self.served()),
            declared,
            errors: std::mem::take(&mut self.declared.errors),
            watched,
            patience: patience(&self.env, watched),
        });
        for (name, manifest) in self.asked.sdk_mcp_server_manifests.clone().unwrap_or_default() {
            if let Some(manifest) = Manifest::read(manifest.get()) {
                servers.host.set_manifest(&name, manifest);
            }
        }
        Arc::new(servers)
    }

    fn credentials_of_servers(&self) -> Credentials {
        let place = |server: &config::mcp::Server| {
            let foreign = matches!(server.scope, Scope::Project | Scope::Plugin);
            (server.name.clone(), HelperPlace { cwd: server.root.clone(), foreign })
        };
        let places = self.declared.servers.iter().map(place).collect();
        Credentials::new(&self.env, &self.base_env, self.cwd.clone(), places)
    }

    /// Which tools of servers the main thread may have: what the definition leaves that it runs as.
    pub(super) fn server_filter(&self) -> Filter {
        let Some(agent) = self.agent.clone() else { return Box::new(|_| true) };
        Box::new(move |name| {
            let any = |list: &[String]| list.iter().any(|entry| covers(entry, name));
            agent.tools.as_deref().is_none_or(any) && !any(&agent.disallowed_tools)
        })
    }
}

/// What waits for approval, or is forbidden, is not there at all.
fn standing(server: &config::mcp::Server) -> Option<(Declared, Standing)> {
    use config::mcp::Standing as Declaredly;
    let standing = match &server.standing {
        Declaredly::Approved => Standing::Enabled,
        Declaredly::Disabled => Standing::Disabled,
        Declaredly::Pending | Declaredly::Rejected | Declaredly::Forbidden(_) => return None,
    };
    let declared = Declared { name: server.name.clone(), scope: server.scope, config: server.config.clone() };
    Some((declared, standing))
}

/// Servers that the host said it serves.
fn hosted(asked: &Initialize) -> Vec<(Declared, Standing)> {
    let names = asked.sdk_mcp_servers.iter().flatten();
    let declared = |name: &String| {
        let given = asked.sdk_mcp_server_configs.as_ref().and_then(|configs| configs.get(name));
        let mut fields: serde_json::Map<String, serde_json::Value> =
            given.and_then(|config| serde_json::from_str(config.get()).ok()).unwrap_or_default();
        fields.insert("type".into(), "sdk".into());
        fields.insert("name".into(), name.as_str().into());
        let config = ServerConfig::parse(name, &fields.into()).unwrap_or_else(|_| ServerConfig::sdk(name.as_str()));
        (Declared { name: name.clone(), scope: Scope::Host, config }, Standing::Enabled)
    };
    names.map(declared).collect()
}
