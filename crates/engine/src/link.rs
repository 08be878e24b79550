//! The connection to the provider: credentials are looked for when the first request needs them, and forgotten when
//! the provider refuses them.

use config::credentials::CredentialOptions;
use config::{Credential, Loaded, NoCredential};
use http::Http;
use model::{Auth, Client, Endpoint, Secret, Timeouts, Transport};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::Env;
use tools::state::ToolState;

const HELPER_LIFE: Duration = Duration::from_mins(5);

/// No request can be made. The text tells the user how to get going.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("Not logged in · Please run /login. {0}")]
    NoCredential(NoCredential),
    #[error("{0}")]
    Helper(String),
}

#[derive(Clone)]
pub(crate) struct Link {
    http: Http,
    env: Env,
    cwd: PathBuf,
    transport: Transport,
    credential: Result<Credential, NoCredential>,
    client: Option<Client>,
    /// When the key of `client` was made.
    made_at: Instant,
    /// Learns the key that is used, so that no tool shows it.
    state: Arc<ToolState>,
}

impl Link {
    pub(crate) fn new(
        env: Env,
        cwd: PathBuf,
        transport: Transport,
        credential: Result<Credential, NoCredential>,
        state: Arc<ToolState>,
    ) -> Self {
        Self {
            http: Http::new(env.clone()),
            env,
            cwd,
            transport,
            credential,
            client: None,
            made_at: Instant::now(),
            state,
        }
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// A client with a credential; made once.
    pub(crate) async fn client(&mut self) -> Result<Client, LinkError> {
        if let Some(client) = self.client.as_ref().filter(|_| !self.is_stale()) {
            return Ok(client.clone());
        }
        self.made_at = Instant::now();
        let endpoint = Endpoint::from_env(&self.env, self.auth().await?);
        let timeouts = Timeouts::from_env(&self.env, &endpoint);
        let client = Client::new(self.http.clone(), endpoint, timeouts, self.transport.clone());
        self.client = Some(client.clone());
        Ok(client)
    }

    /// Looks for a credential anew, for the next request.
    pub(crate) fn renew(&mut self, loaded: &Loaded, options: CredentialOptions) {
        self.credential = config::credentials::resolve(&self.env, loaded, options);
        self.client = None;
    }

    /// The key of a helper is asked for again after a while; it may be short-lived.
    fn is_stale(&self) -> bool {
        let renewable = matches!(self.credential, Ok(Credential::Helper { .. }));
        let life = self.env.number("CLAUDE_CODE_API_KEY_HELPER_TTL_MS").map_or(HELPER_LIFE, Duration::from_millis);
        renewable && self.made_at.elapsed() >= life
    }

    /// What to say when a replayed conversation ended before its cassette did.
    pub(crate) fn unplayed(&self) -> Option<String> {
        match &self.transport {
            Transport::Replay(player) => player.unplayed(),
            Transport::Record(_) | Transport::Network => None,
        }
    }

    /// After a refusal: only a helper can make another key. `false` when asking again is useless.
    pub(crate) fn forget_key(&mut self) -> bool {
        let renewable = matches!(self.credential, Ok(Credential::Helper { .. }));
        if renewable {
            self.client = None;
        }
        renewable
    }

    async fn auth(&self) -> Result<Auth, LinkError> {
        let credential = match &self.credential {
            Ok(credential) => credential,
            // A cassette needs no key.
            Err(_) if matches!(self.transport, Transport::Replay(_)) => return Ok(Auth::None),
            Err(missing) => return Err(LinkError::NoCredential(missing.clone())),
        };
        let learn = |name, key| self.state.masking.learn(name, key);
        Ok(match credential {
            Credential::ApiKey(key) => Auth::ApiKey(Secret::new(key.reveal())),
            Credential::StoredKey(key) => {
                learn("stored API key", key.reveal());
                Auth::ApiKey(Secret::new(key.reveal()))
            }
            Credential::AuthToken(token)
            | Credential::OauthToken(token)
            | Credential::Login { access_token: token, .. } => Auth::Bearer(Secret::new(token.reveal())),
            Credential::Helper { command, .. } => {
                let key = config::run_helper(command, &self.env, &self.cwd)
                    .await
                    .map_err(|e| LinkError::Helper(e.to_string()))?;
                learn("key of apiKeyHelper", &key);
                Auth::Both(Secret::new(&key))
            }
        })
    }
}
