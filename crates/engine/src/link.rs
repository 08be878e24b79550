//! The connection to the provider: credentials are looked for when the first request needs them, and forgotten when
//! the provider refuses them.

use config::credentials::{Credential, Kind};
use http::Http;
use model::{Auth, Client, Endpoint, Secret, Transport};
use std::path::PathBuf;
use sys::Env;

/// No request can be made. The text tells the user how to get going.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error(
        "Not logged in · Please run /login. No credentials were found: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN), \
         or point ANTHROPIC_BASE_URL at an endpoint of your own, or name an apiKeyHelper in your settings. To see gimlet \
         work without a key, run: gimlet demo"
    )]
    NoCredential,
    #[error("{0}")]
    Helper(String),
}

pub(crate) struct Link {
    http: Http,
    env: Env,
    cwd: PathBuf,
    transport: Transport,
    credential: Option<Credential>,
    client: Option<Client>,
}

impl Link {
    pub(crate) fn new(env: Env, cwd: PathBuf, transport: Transport, credential: Option<Credential>) -> Self {
        Self { http: Http::new(env.clone()), env, cwd, transport, credential, client: None }
    }

    /// A client with a credential; made once.
    pub(crate) async fn client(&mut self) -> Result<Client, LinkError> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let endpoint = Endpoint::from_env(&self.env, self.auth().await?);
        let client = Client::new(self.http.clone(), endpoint, self.transport.clone(), &self.env);
        self.client = Some(client.clone());
        Ok(client)
    }

    /// After a refusal: only a helper can make another key. `false` when asking again is useless.
    pub(crate) fn forget_key(&mut self) -> bool {
        let renewable = matches!(self.credential.as_ref().map(|c| &c.kind), Some(Kind::Helper { .. }));
        if renewable {
            self.client = None;
        }
        renewable
    }

    async fn auth(&self) -> Result<Auth, LinkError> {
        let Some(credential) = &self.credential else {
            // A cassette needs no key.
            return if self.transport.is_replay() { Ok(Auth::None) } else { Err(LinkError::NoCredential) };
        };
        Ok(match &credential.kind {
            Kind::ApiKey(key) => Auth::ApiKey(Secret::new(key.clone())),
            Kind::Bearer(token) => Auth::Bearer(Secret::new(token.clone())),
            Kind::Helper { command } => {
                let key = config::credentials::run_helper(command, &self.env, &self.cwd)
                    .await
                    .map_err(|e| LinkError::Helper(e.to_string()))?;
                Auth::Both(Secret::new(key))
            }
        })
    }
}
