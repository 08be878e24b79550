//! The two clients behind the surface: one for plain HTTP, which is on the way to the first request and therefore does no
//! certificate work at all, and one for TLS, built off the main thread. Each is built once, when first needed.

use crate::HttpError;
use crate::guard::Guarded;
use crate::proxy::Proxies;
use crate::tls;
use reqwest::{Client, Url};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sys::Env;
use tokio::sync::OnceCell;

#[derive(Debug)]
pub(crate) struct Clients {
    env: Env,
    proxies: OnceLock<Result<Arc<Proxies>, String>>,
    plain: OnceLock<Client>,
    secure: OnceCell<Client>,
    /// As `secure`, for connections that are to be upgraded.
    upgrading: OnceCell<Client>,
    guard: Option<Guarded>,
}

impl Clients {
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

    /// The same, with name resolution of its own.
    pub(crate) fn guarded(env: Env, guard: Guarded) -> Self {
        Self { guard: Some(guard), ..Self::new(env) }
    }

    pub(crate) fn check(&self) -> Result<(), HttpError> {
        self.proxies().map(drop)
    }

    pub(crate) async fn client_for(&self, url: &Url) -> Result<&Client, HttpError> {
        let proxies = self.proxies()?;
        let needs_tls = |url: &Url| url.scheme() == "https";
        if needs_tls(url) || proxies.proxy_for(url).is_some_and(needs_tls) {
            return self
                .secure
                .get_or_try_init(|| {
                    secure(self.env.clone(), Arc::clone(proxies), self.guard.clone(), &[b"h2", b"http/1.1"])
                })
                .await;
        }
        if let Some(client) = self.plain.get() {
            return Ok(client);
        }
        let client = build(tls::none()?, Arc::clone(proxies), self.guard.clone())?;
        Ok(self.plain.get_or_init(|| client))
    }

    /// Only HTTP/1.1 can be upgraded; plain HTTP is nothing else.
    pub(crate) async fn upgrading(&self, url: &Url) -> Result<&Client, HttpError> {
        if url.scheme() != "https" {
            return self.client_for(url).await;
        }
        let proxies = self.proxies()?;
        let make = || secure(self.env.clone(), Arc::clone(proxies), self.guard.clone(), &[b"http/1.1"]);
        self.upgrading.get_or_try_init(make).await
    }

    fn proxies(&self) -> Result<&Arc<Proxies>, HttpError> {
        let read = || {
            Proxies::from_env(&self.env).map(Arc::new).map_err(|error| match error {
                HttpError::Invalid(message) => message,
                other => other.to_string(),
            })
        };
        self.proxies.get_or_init(read).as_ref().map_err(|message| HttpError::Invalid(message.clone()))
    }
}

async fn secure(
    env: Env,
    proxies: Arc<Proxies>,
    guard: Option<Guarded>,
    protocols: &'static [&'static [u8]],
) -> Result<Client, HttpError> {
    let built = tokio::task::spawn_blocking(move || build(tls::from_env(&env, protocols)?, proxies, guard)).await;
    built.unwrap_or_else(|error| Err(HttpError::Invalid(format!("TLS cannot be set up: {error}"))))
}

fn build(tls: rustls::ClientConfig, proxies: Arc<Proxies>, guard: Option<Guarded>) -> Result<Client, HttpError> {
    let builder = match guard {
        Some(guard) => Client::builder().dns_resolver(guard),
        None => Client::builder(),
    };
    builder
        .tls_backend_preconfigured(tls)
        // Switches off the library's own look at the environment before ours is added.
        .no_proxy()
        .proxy(reqwest::Proxy::custom(move |url| proxies.proxy_for(url).cloned()))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(Duration::from_secs(30))
        .tcp_keepalive(Duration::from_mins(1))
        // Notices a dead peer under a stream that is silent for minutes.
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(20))
        .http2_adaptive_window(true)
        .build()
        .map_err(|error| HttpError::Invalid(format!("the HTTP client cannot be built: {error}")))
}
