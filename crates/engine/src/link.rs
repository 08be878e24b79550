//! The connection to the provider: credentials are looked for when the first request needs them, and forgotten when
//! the provider refuses them.

use config::{Credential, NoCredential};
use http::Http;
use model::{Auth, Client, Endpoint, Secret, Timeouts, Transport};
use std::path::PathBuf;
use sys::Env;

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
}

impl Link {
    pub(crate) fn new(
        env: Env,
        cwd: PathBuf,
        transport: Transport,
        credential: Result<Credential, NoCredential>,
    ) -> Self {
        Self { http: Http::new(env.clone()), env, cwd, transport, credential, client: None }
    }

    /// A client with a credential; made once.
    pub(crate) async fn client(&mut self) -> Result<Client, LinkError> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let endpoint = Endpoint::from_env(&self.env, self.auth().await?);
        let timeouts = Timeouts::from_env(&self.env, &endpoint);
        let client = Client::new(self.http.clone(), endpoint, timeouts, self.transport.clone());
        self.client = Some(client.clone());
        Ok(client)
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
        Ok(match credential {
            Credential::ApiKey(key) | Credential::StoredKey(key) => Auth::ApiKey(Secret::new(key.reveal())),
            Credential::AuthToken(token)
            | Credential::OauthToken(token)
            | Credential::Login { access_token: token, .. } => Auth::Bearer(Secret::new(token.reveal())),
            Credential::Helper { command, .. } => {
                let key = config::run_helper(command, &self.env, &self.cwd)
                    .await
                    .map_err(|e| LinkError::Helper(e.to_string()))?;
                Auth::Both(Secret::new(&key))
            }
        })
    }
}
