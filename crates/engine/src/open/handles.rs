//! Builds the handles that the host's requests act on.

use super::SessionAssembly;
use crate::control::handles::SessionHandles;
use crate::session::SessionIo;
use config::Credential;
use session_parts::hooks::{HookRestriction, HostHooks};
use session_parts::mcp::ServerControl;
use session_parts::models::OfferedModels;
use std::sync::Arc;
use tools::ToolRegistry;
use wire::control::Account;

impl SessionAssembly {
    pub(super) fn session_handles(
        &self,
        io: &SessionIo,
        host_hooks: Arc<HostHooks>,
        tools: Arc<ToolRegistry>,
    ) -> SessionHandles {
        let key_source = self.credential.as_ref().map_or("none", |credential| credential.api_key_source());
        SessionHandles {
            accepts_requests: self.options.host.multi_turn,
            session_id: self.conversation.session_id.clone(),
            cwd: self.cwd.clone(),
            base_env: self.base_env.clone(),
            env: self.env.clone(),
            selection: self.selection.clone(),
            roots: self.roots.clone(),
            catalog: Arc::clone(&self.catalog),
            settings: Arc::clone(&self.loaded.settings),
            skill_overrides: self.loaded.settings.skill_overrides.clone(),
            reduced: HookRestriction::from((self.options.configuration.bare, self.options.configuration.safe_mode)),
            ledger: io.output.ledger.for_agent(),
            since: std::time::Instant::now(),
            default_model: self.model.id.clone(),
            account: Account {
                token_source: match &self.credential {
                    Ok(Credential::AuthToken(_)) => Some("ANTHROPIC_AUTH_TOKEN".into()),
                    Ok(Credential::OauthToken(_)) => Some("CLAUDE_CODE_OAUTH_TOKEN".into()),
                    Ok(Credential::Login { .. }) => Some("stored login".into()),
                    Ok(
                        Credential::ApiKey(_)
                        | Credential::StoredKey(_)
                        | Credential::OlderKey { .. }
                        | Credential::Helper { .. },
                    )
                    | Err(_) => None,
                },
                api_key_source: (key_source != "none").then(|| key_source.to_owned()),
                // Also with another base URL: the protocol is that of the first party.
                api_provider: "firstParty",
            },
            agents: Arc::clone(&io.tooling.spawner.agents),
            state: Arc::clone(&io.tooling.state),
            transcript: io.output.transcript.transcript().clone(),
            mcp: Arc::new(ServerControl(Arc::clone(io.knowledge.mcp.servers()))),
            side: Arc::clone(&io.provider.side),
            offered: OfferedModels::new(&io.provider.connection, &self.env, &self.catalog, &self.loaded.settings),
            host_hooks,
            tools,
        }
    }
}
