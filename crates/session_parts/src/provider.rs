//! The connection to the provider. Credentials are loaded when the first request needs them, and dropped when the
//! provider refuses them.

use crate::budgets::BudgetGate;
use crate::provider_limits::ProviderLimits;
use config::credentials::CredentialOptions;
use config::{Credential, NoCredential, ProjectConfig};
use http::Http;
use model::{AuthSecret, Endpoint, ModelClient, ModelTimeouts, ModelTransport, RequestAuth};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::Env;
use tools::state::ToolState;

const HELPER_KEY_LIFETIME: Duration = Duration::from_mins(5);

/// Start of the message when there is no credential. Hosts look for this phrase; plain output omits it, because a
/// person without a terminal cannot use the command.
pub const NOT_LOGGED_IN: &str = "Not logged in · Please run /login. ";

/// Why no request can be made. The text tells the user what to do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProviderConnectionError {
    #[error("{NOT_LOGGED_IN}{0}")]
    NoCredential(NoCredential),
    #[error("{0}")]
    Helper(String),
}

#[derive(Clone)]
pub struct ProviderConnection {
    http: Http,
    env: Env,
    cwd: PathBuf,
    transport: ModelTransport,
    /// Asked before every paid request.
    gate: BudgetGate,
    /// Shared with agents.
    limits: Arc<ProviderLimits>,
    credential: Result<Credential, NoCredential>,
    client: Option<ModelClient>,
    /// When the key of `client` was obtained.
    made_at: Instant,
    /// Masks the key in the output of tools.
    state: Arc<ToolState>,
}

impl ProviderConnection {
    pub fn new(
        env: Env,
        cwd: PathBuf,
        (transport, gate): (ModelTransport, BudgetGate),
        credential: Result<Credential, NoCredential>,
        state: Arc<ToolState>,
    ) -> Self {
        Self {
            http: Http::new(env.clone()),
            env,
            cwd,
            transport,
            gate,
            limits: Arc::default(),
            credential,
            client: None,
            made_at: Instant::now(),
            state,
        }
    }

    /// The limits of the provider.
    pub fn limits(&self) -> &Arc<ProviderLimits> {
        &self.limits
    }

    pub fn transport(&self) -> &ModelTransport {
        &self.transport
    }

    /// A client with a credential; cached.
    pub async fn client(&mut self) -> Result<ModelClient, ProviderConnectionError> {
        if let Some(client) = self.client.as_ref().filter(|_| !self.is_stale()) {
            return Ok(client.clone());
        }
        let endpoint = Endpoint::from_env(&self.env, self.auth().await?);
        self.made_at = Instant::now();
        let timeouts = ModelTimeouts::from_env(&self.env, &endpoint);
        let client = ModelClient::new(self.http.clone(), endpoint, timeouts, self.transport.clone())
            .guarded(Arc::new(self.gate.clone()));
        self.client = Some(client.clone());
        Ok(client)
    }

    /// Loads the credential again for the next request.
    pub fn renew(&mut self, loaded: &ProjectConfig, options: CredentialOptions) {
        self.credential = config::credentials::resolve(&self.env, loaded, options);
        self.client = None;
    }

    /// A key of the helper may be short-lived, so it is requested again after a while.
    fn is_stale(&self) -> bool {
        let lifetime =
            self.env.number("CLAUDE_CODE_API_KEY_HELPER_TTL_MS").map_or(HELPER_KEY_LIFETIME, Duration::from_millis);
        self.has_helper() && self.made_at.elapsed() >= lifetime
    }

    /// A notice when a replayed conversation ended before its cassette.
    pub fn unplayed_notice(&self) -> Option<String> {
        match &self.transport {
            ModelTransport::Replay(player) => player.unplayed(),
            ModelTransport::Record(_) | ModelTransport::Network => None,
        }
    }

    /// Drops a refused key. `false` when there is no helper that could make another one.
    pub fn forget_key(&mut self) -> bool {
        let renewable = self.has_helper();
        if renewable {
            self.client = None;
        }
        renewable
    }

    /// Whether keys come from the user's `apiKeyHelper`.
    pub fn has_helper(&self) -> bool {
        matches!(self.credential, Ok(Credential::Helper { .. }))
    }

    /// The variable that the credential was read from.
    pub fn credential_variable(&self) -> Option<&'static str> {
        match &self.credential {
            Ok(Credential::ApiKey(_)) => Some("ANTHROPIC_API_KEY"),
            Ok(Credential::AuthToken(_)) => Some("ANTHROPIC_AUTH_TOKEN"),
            Ok(Credential::OauthToken(_)) => Some("CLAUDE_CODE_OAUTH_TOKEN"),
            Ok(
                Credential::Login { .. }
                | Credential::StoredKey(_)
                | Credential::OlderKey { .. }
                | Credential::Helper { .. },
            )
            | Err(_) => None,
        }
    }

    /// What the refused credential is, and how to get another.
    pub fn refused_advice(&self) -> &'static str {
        match &self.credential {
            Ok(Credential::ApiKey(_)) => "The key in ANTHROPIC_API_KEY was not accepted",
            Ok(Credential::AuthToken(_)) => "The token in ANTHROPIC_AUTH_TOKEN was not accepted",
            Ok(Credential::OauthToken(_)) => "The token in CLAUDE_CODE_OAUTH_TOKEN was not accepted",
            Ok(Credential::Login { .. }) => {
                "The stored login was not accepted, and gimlet cannot renew it; sign in again with the program that \
                 stored it"
            }
            Ok(Credential::StoredKey(_)) => "The stored API key was not accepted",
            Ok(Credential::OlderKey { .. }) => "The key that an older program left was not accepted",
            Ok(Credential::Helper { .. }) => "The keys that your apiKeyHelper printed were not accepted",
            Err(_) => "The request was not accepted without a key",
        }
    }

    /// The URL requests are sent to, for display.
    pub fn base_url(&self) -> &str {
        config::credentials::base_url(&self.env).unwrap_or(model::client::FIRST_PARTY)
    }

    async fn auth(&self) -> Result<RequestAuth, ProviderConnectionError> {
        let credential = match &self.credential {
            Ok(credential) => credential,
            // A replayed cassette needs no key.
            Err(_) if matches!(self.transport, ModelTransport::Replay(_)) => return Ok(RequestAuth::None),
            Err(missing) => return Err(ProviderConnectionError::NoCredential(missing.clone())),
        };
        let learn = |name, key| self.state.masking.learn(name, key);
        Ok(match credential {
            Credential::ApiKey(key) => RequestAuth::ApiKey(AuthSecret::new(key.reveal())),
            Credential::StoredKey(key) | Credential::OlderKey { key, .. } => {
                learn("stored API key", key.reveal());
                RequestAuth::ApiKey(AuthSecret::new(key.reveal()))
            }
            Credential::AuthToken(token) => RequestAuth::Bearer(AuthSecret::new(token.reveal())),
            Credential::OauthToken(token) | Credential::Login { access_token: token, .. } => {
                RequestAuth::Oauth(AuthSecret::new(token.reveal()))
            }
            Credential::Helper { command, .. } => {
                let key = config::run_helper(command, &self.env, &self.cwd)
                    .await
                    // The helper's error may contain secrets it was given.
                    .map_err(|e| {
                        ProviderConnectionError::Helper(self.state.masking.mask().text(&e.to_string()).into_owned())
                    })?;
                learn("key of apiKeyHelper", &key);
                RequestAuth::Both(AuthSecret::new(&key))
            }
        })
    }
}
