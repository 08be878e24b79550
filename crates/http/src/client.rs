//! The clients behind `Http`: one for plain HTTP, which does no certificate work because the first request waits for
//! it, and ones for TLS, built off the main thread. Each is built once, when first needed.

use crate::HttpError;
use crate::dial::DialLayer;
use crate::guard::GuardedResolver;
use crate::proxy::ProxyConfig;
use crate::tls;
use reqwest::{Client, Url};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sys::Env;
use sys::sync::RwLock;
use tokio::sync::OnceCell;

#[derive(Debug)]
pub(crate) struct HttpClients {
    env: Env,
    proxies: OnceLock<Result<Arc<ProxyConfig>, String>>,
    plain: OnceLock<PooledClient>,
    secure: OnceCell<PooledClient>,
    /// Like `secure`, for connections that will be upgraded.
    upgrading: OnceCell<PooledClient>,
    guard: Option<GuardedResolver>,
}

/// A client with its connection pool, and the parts a replacement is built from.
#[derive(Debug)]
struct PooledClient {
    parts: ClientParts,
    client: RwLock<Client>,
}

#[derive(Clone, Debug)]
struct ClientParts {
    tls: rustls::ClientConfig,
    proxies: Arc<ProxyConfig>,
    guard: Option<GuardedResolver>,
}

impl PooledClient {
    fn new(parts: ClientParts) -> Result<Self, HttpError> {
        let client = build(&parts)?;
        Ok(Self { parts, client: RwLock::new(client) })
    }

    fn client(&self) -> Client {
        self.client.read().clone()
    }

    /// Replaces the client: later requests open new connections; running requests continue.
    fn renew(&self) -> Result<(), HttpError> {
        let fresh = build(&self.parts)?;
        *self.client.write() = fresh;
        Ok(())
    }
}

impl HttpClients {
    pub(crate) fn new(env: Env) -> Self {
        Self {
            env,
            proxies: OnceLock::new(),
            plain: OnceLock::new(),
            secure: OnceCell::new(),
            upgrading: OnceCell::new(),
            guard: None,
        }
    }

    /// Like `new`, with a custom name resolver.
    pub(crate) fn guarded(env: Env, guard: GuardedResolver) -> Self {
        Self { guard: Some(guard), ..Self::new(env) }
    }

    pub(crate) fn check(&self) -> Result<(), HttpError> {
        self.proxies().map(drop)
    }

    pub(crate) async fn client_for(&self, url: &Url) -> Result<Client, HttpError> {
        self.pooled(url).await.map(PooledClient::client)
    }

    /// Drops all idle connections that requests to `url` would use.
    pub(crate) async fn renew(&self, url: &Url) -> Result<(), HttpError> {
        self.pooled(url).await?.renew()
    }

    /// Whether no proxy is configured.
    pub(crate) fn is_direct(&self) -> bool {
        self.proxies().is_ok_and(|proxies| proxies.is_empty())
    }

    /// The proxy for requests to `url`, without its credentials; `None` when the connection is direct.
    pub(crate) fn proxy_of(&self, url: &Url) -> Option<String> {
        self.proxies().ok()?.proxy_for(url).map(crate::display_url)
    }

    async fn pooled(&self, url: &Url) -> Result<&PooledClient, HttpError> {
        let proxies = self.proxies()?;
        let needs_tls = |url: &Url| url.scheme() == "https";
        if needs_tls(url) || proxies.proxy_for(url).is_some_and(needs_tls) {
            return self.secure.get_or_try_init(|| self.with_tls(proxies, &[b"h2", b"http/1.1"])).await;
        }
        if let Some(pooled) = self.plain.get() {
            return Ok(pooled);
        }
        let (proxies, guard) = (Arc::clone(proxies), self.guard.clone());
        let pooled = PooledClient::new(ClientParts { tls: tls::none()?, proxies, guard })?;
        Ok(self.plain.get_or_init(|| pooled))
    }

    /// The client for upgrades: restricted to HTTP/1.1, because only HTTP/1.1 can be upgraded. Plain HTTP is always
    /// HTTP/1.1.
    pub(crate) async fn upgrading(&self, url: &Url) -> Result<Client, HttpError> {
        if url.scheme() != "https" {
            return self.client_for(url).await;
        }
        let proxies = self.proxies()?;
        self.upgrading.get_or_try_init(|| self.with_tls(proxies, &[b"http/1.1"])).await.map(PooledClient::client)
    }

    async fn with_tls(
        &self,
        proxies: &Arc<ProxyConfig>,
        protocols: &'static [&'static [u8]],
    ) -> Result<PooledClient, HttpError> {
        let (env, proxies, guard) = (self.env.clone(), Arc::clone(proxies), self.guard.clone());
        let make = move || PooledClient::new(ClientParts { tls: tls::from_env(&env, protocols)?, proxies, guard });
        let built = tokio::task::spawn_blocking(make).await;
        built.unwrap_or_else(|error| Err(HttpError::Invalid(format!("TLS cannot be set up: {error}"))))
    }

    fn proxies(&self) -> Result<&Arc<ProxyConfig>, HttpError> {
        let read = || {
            ProxyConfig::from_env(&self.env).map(Arc::new).map_err(|error| match error {
                HttpError::Invalid(message) => message,
                other => other.to_string(),
            })
        };
        self.proxies.get_or_init(read).as_ref().map_err(|message| HttpError::Invalid(message.clone()))
    }
}

fn build(parts: &ClientParts) -> Result<Client, HttpError> {
    let builder = match &parts.guard {
        Some(guard) => Client::builder().dns_resolver(guard.clone()),
        None => Client::builder(),
    };
    let proxies = Arc::clone(&parts.proxies);
    // Disables the library's reading of the environment before our proxies are added.
    let builder = builder.no_proxy();
    let builder = if proxies.is_empty() {
        builder
    } else {
        builder.proxy(reqwest::Proxy::custom(move |url| proxies.proxy_for(url).cloned()))
    };
    builder
        .tls_backend_preconfigured(parts.tls.clone())
        .connector_layer(DialLayer)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(Duration::from_secs(30))
        .tcp_keepalive(Duration::from_mins(1))
        // Detects a dead peer while a stream is silent for minutes.
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(20))
        .http2_adaptive_window(true)
        .build()
        .map_err(|error| HttpError::Invalid(format!("the HTTP client cannot be built: {error}")))
}
