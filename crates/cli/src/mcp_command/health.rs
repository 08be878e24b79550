//! Whether servers answer. Connects to those that may be used, all at once, and ends them again.

use super::login::helper_place;
use super::vault;
use config::environment::SECRET_VARIABLES;
use config::mcp::{Server, Standing};
use futures_util::future::BoxFuture;
use http::Http;
use mcp::auth::{HelperPlace, Keyring};
use mcp::{Declared, Elicitation, Elicited, Headers, Host, Occasion, Owner, Settings, Status};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use sys::Env;
use wire::mcp::Remote;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Connected,
    /// It answers, but what it offers could not be read.
    ListFailed(String),
    NeedsAuth,
    Failed(String),
    /// It may not be used, so nobody tried.
    Unchecked,
}

pub(super) async fn check(servers: &[&Server], cwd: &Path, (env, base): (&Env, &Env)) -> Vec<Health> {
    let usable = |server: &&&Server| server.standing == Standing::Approved;
    let places = servers.iter().map(|server| (server.name.clone(), helper_place(server))).collect();
    let http = Http::new(env.clone());
    let keyring = Keyring::new(http, env.clone(), Arc::new(vault::Tokens::new(base.clone())));
    let known: Vec<permission::Known> =
        servers.iter().flat_map(|server| permission::mask::of_server(&server.config)).collect();
    let variables = env.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let mask = permission::Mask::of(variables, &known);
    let owner = Arc::new(Visitor { cwd: cwd.to_path_buf(), keyring, places, mask });
    let child_env = env.without(SECRET_VARIABLES.iter().copied());
    let settings =
        Settings { version: wire::version::COMPAT.to_owned(), ..Settings::from_env(env, child_env, cwd.to_path_buf()) };
    let host = Host::new(settings, owner);
    for server in servers.iter().filter(usable) {
        let declared = Declared { name: server.name.clone(), scope: server.scope, config: server.config.clone() };
        host.add(declared, mcp::Standing::Enabled);
    }
    let limit = host.connect_limit() + Duration::from_secs(1);
    host.settle(limit, |_| true).await;
    let found = servers.iter().map(|server| health(&host, server, limit)).collect();
    host.shutdown().await;
    found
}

fn health(host: &Host, server: &Server, limit: Duration) -> Health {
    let Some(view) = host.view(&server.name).filter(|_| server.standing == Standing::Approved) else {
        return Health::Unchecked;
    };
    match (view.status, view.problem) {
        (Status::Connected, None) => Health::Connected,
        (Status::Connected, Some(why)) => Health::ListFailed(why),
        (Status::NeedsAuth, _) => Health::NeedsAuth,
        (Status::Failed(why), _) => Health::Failed(why),
        (Status::Pending, _) => Health::Failed(format!("no answer within {} s", limit.as_secs())),
        (Status::Disabled, _) => Health::Unchecked,
    }
}

/// Somebody who only looks.
struct Visitor {
    cwd: PathBuf,
    keyring: Keyring,
    places: BTreeMap<String, HelperPlace>,
    mask: permission::Mask,
}

impl Owner for Visitor {
    fn hide(&self, text: &str) -> String {
        self.mask.text(text).into_owned()
    }

    fn roots(&self) -> Vec<PathBuf> {
        vec![self.cwd.clone()]
    }

    fn elicit(&self, _: Elicitation) -> BoxFuture<'_, Elicited> {
        Box::pin(async { Elicited::DECLINED })
    }

    fn elicitation_completed(&self, _: &str, _: &str) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn forward(&self, server: &str, _: Box<RawValue>) -> BoxFuture<'_, Result<Box<RawValue>, String>> {
        let why = format!("server {server:?} lives inside a host program");
        Box::pin(async { Err(why) })
    }

    fn headers(
        &self,
        server: &str,
        remote: &Remote,
        occasion: Occasion,
    ) -> BoxFuture<'_, Result<Option<Headers>, String>> {
        let (server, remote) = (server.to_owned(), remote.clone());
        Box::pin(async move {
            let nowhere = HelperPlace { cwd: self.cwd.clone(), foreign: true };
            let place = self.places.get(&server).unwrap_or(&nowhere);
            self.keyring.headers(&server, &remote, place, &occasion).await
        })
    }
}
