//! A client that connects only to addresses its owner allows. The check is part of name resolution, so a name that
//! resolves differently the second time (DNS rebinding) gains nothing. Literal addresses never reach the resolver: the
//! caller checks those. Behind a proxy, the proxy resolves names, and its address must not be checked.

use crate::Http;
use crate::client::HttpClients;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::IpAddr;
use std::sync::Arc;
use sys::Env;

type AddressFilter = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;

const PROXY_VARS: [&str; 6] = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];

/// True when a proxy variable is set, so that requests may go through a proxy.
pub fn is_proxied(env: &Env) -> bool {
    PROXY_VARS.iter().any(|name| env.non_empty(name).is_some())
}

impl Http {
    /// A separate client that resolves names only to addresses that pass `allow`. Behind a proxy there is no check.
    pub fn guarded(env: Env, allow: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Self {
        if is_proxied(&env) {
            return Self::new(env);
        }
        Self { clients: Arc::new(HttpClients::guarded(env, GuardedResolver(Arc::new(allow)))) }
    }
}

/// Resolves names to allowed addresses only.
#[derive(Clone)]
pub(crate) struct GuardedResolver(AddressFilter);

impl std::fmt::Debug for GuardedResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guarded")
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow = Arc::clone(&self.0);
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if let Some(refused) = found.iter().find(|addr| !allow(addr.ip())) {
                return Err(format!("{} resolves to {}, which is not allowed", name.as_str(), refused.ip()).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HttpError, HttpMethod, HttpRequest};
    use std::time::Duration;

    #[tokio::test]
    async fn refused_names_are_not_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let http = Http::guarded(Env::default(), |ip| !ip.is_loopback());
        let request = HttpRequest {
            method: HttpMethod::Get,
            url: format!("http://localhost:{port}/"),
            headers: Vec::new(),
            body: Vec::new(),
            timeout: Duration::from_secs(5),
        };
        let error = http.send(request).await.unwrap_err();
        assert!(matches!(error, HttpError::Connect(_)), "{error:?}");
    }
}
