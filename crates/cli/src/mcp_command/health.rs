//! Checks whether servers answer. Connects to those that may be used, all at once, and closes them again.

use super::login::helper_place;
use super::vault;
use config::environment::SECRET_VARIABLES;
use config::mcp::{DeclaredMcpServer, McpApproval};
use futures_util::future::BoxFuture;
use http::Http;
use mcp::auth::{HelperPlace, Keyring};
use mcp::{
    Elicitation, ElicitationAnswer, HeaderOccasion, Headers, McpHost, McpOwner, McpServerSpec, McpSettings, McpStatus,
};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use sys::Env;
use wire::mcp::RemoteConfig;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerHealth {
    Connected,
    /// The server answers, but its tools or other lists could not be read.
    ListFailed(String),
    NeedsAuth,
    Failed(String),
    /// The server may not be used and was not checked.
    Unchecked,
}

pub(super) async fn check(servers: &[&DeclaredMcpServer], cwd: &Path, (env, base): (&Env, &Env)) -> Vec<ServerHealth> {
    let usable = |server: &&&DeclaredMcpServer| server.approval == McpApproval::Approved;
    let places = servers.iter().map(|server| (server.name.clone(), helper_place(server))).collect();
    let http = Http::new(env.clone());
    let keyring = Keyring::new(http, env.clone(), Arc::new(vault::StoredTokens::new(base.clone())));
    let known: Vec<permission::KnownSecret> =
        servers.iter().flat_map(|server| permission::mask::of_server(&server.config)).collect();
    let variables = env.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let mask = permission::Mask::of(variables, &known);
    let owner = Arc::new(HealthCheckOwner { cwd: cwd.to_path_buf(), keyring, places, mask });
    let child_env = env.without(SECRET_VARIABLES.iter().copied());
    let settings = McpSettings {
        version: wire::version::COMPAT.to_owned(),
        ..McpSettings::from_env(env, child_env, cwd.to_path_buf())
    };
    let host = McpHost::new(settings, owner);
    for server in servers.iter().filter(usable) {
        let declared = McpServerSpec { name: server.name.clone(), scope: server.scope, config: server.config.clone() };
        host.add(declared, mcp::ServerSwitch::Enabled);
    }
    let limit = host.connect_limit() + Duration::from_secs(1);
    host.wait_until_connected(limit, |_| true).await;
    let found = servers.iter().map(|server| health(&host, server, limit)).collect();
    host.shutdown().await;
    found
}

fn health(host: &McpHost, server: &DeclaredMcpServer, limit: Duration) -> ServerHealth {
    let Some(view) = host.view(&server.name).filter(|_| server.approval == McpApproval::Approved) else {
        return ServerHealth::Unchecked;
    };
    match (view.status, view.problem) {
        (McpStatus::Connected, None) => ServerHealth::Connected,
        (McpStatus::Connected, Some(why)) => ServerHealth::ListFailed(why),
        (McpStatus::NeedsAuth, _) => ServerHealth::NeedsAuth,
        (McpStatus::Failed(why), _) => ServerHealth::Failed(why),
        (McpStatus::Pending, _) => ServerHealth::Failed(format!("no answer within {} s", limit.as_secs())),
        (McpStatus::Disabled, _) => ServerHealth::Unchecked,
    }
}

/// The owner of servers during the check.
struct HealthCheckOwner {
    cwd: PathBuf,
    keyring: Keyring,
    places: BTreeMap<String, HelperPlace>,
    mask: permission::Mask,
}

impl McpOwner for HealthCheckOwner {
    fn hide(&self, text: &str) -> String {
        self.mask.text(text).into_owned()
    }

    fn roots(&self) -> Vec<PathBuf> {
        vec![self.cwd.clone()]
    }

    fn elicit(&self, _: Elicitation) -> BoxFuture<'_, ElicitationAnswer> {
        Box::pin(async { ElicitationAnswer::DECLINED })
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
        remote: &RemoteConfig,
        occasion: HeaderOccasion,
    ) -> BoxFuture<'_, Result<Option<Headers>, String>> {
        let (server, remote) = (server.to_owned(), remote.clone());
        Box::pin(async move {
            let nowhere = HelperPlace { cwd: self.cwd.clone(), is_from_repository: true };
            let place = self.places.get(&server).unwrap_or(&nowhere);
            self.keyring.headers(&server, &remote, place, &occasion).await
        })
    }
}
