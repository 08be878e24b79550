//! What servers get from the session: its directories, its host, the headers it can make.

use super::vault::Tokens;
use crate::desk::{Desk, Matter};
use crate::hooks::Bell;
use crate::host::Host;
use futures_util::future::BoxFuture;
use http::Http;
use mcp::auth::{HelperPlace, Keyring};
use mcp::{Action, Elicitation, Elicited, Headers, Occasion, Owner};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use sys::Env;
use tokio_util::sync::CancellationToken;
use tools::masking::Masking;
use wire::hooks::{Elicitation as ElicitationEvent, ElicitationResult};
use wire::mcp::{Remote, ServerConfig};
use wire::sdk::SystemBody;

pub(crate) struct SessionOwner {
    /// `None` once the session has ended: a connection that lingers must not keep the host waiting for more.
    host: Mutex<Option<Reach>>,
    roots: Mutex<Vec<PathBuf>>,
    /// Hooks that may answer in place of a person.
    bell: Mutex<Option<Bell>>,
    credentials: Credentials,
    /// Hides the credentials of servers in results; set once the session has it.
    masking: OnceLock<Arc<Masking>>,
}

/// The ways to the host.
#[derive(Clone)]
struct Reach {
    host: Host,
    /// Its desk, when it can answer.
    desk: Option<Desk>,
}

/// Headers of remote servers beside the configured ones.
pub(crate) struct Credentials {
    keyring: Keyring,
    /// Where the helper of each server runs.
    places: BTreeMap<String, HelperPlace>,
    /// For a server that nobody declared in a file.
    cwd: PathBuf,
}

impl Credentials {
    /// `base_env` is that of the process, where sign-ins are kept.
    pub(crate) fn new(env: &Env, base_env: &Env, cwd: PathBuf, places: BTreeMap<String, HelperPlace>) -> Self {
        let keyring = Keyring::new(Http::new(env.clone()), env.clone(), Arc::new(Tokens::new(base_env.clone())));
        Self { keyring, places, cwd }
    }
}

impl SessionOwner {
    pub(crate) fn new(host: Host, desk: Option<Desk>, roots: Vec<PathBuf>, credentials: Credentials) -> Self {
        let host = Mutex::new(Some(Reach { host, desk }));
        Self { host, roots: Mutex::new(roots), bell: Mutex::default(), credentials, masking: OnceLock::new() }
    }

    /// From now on credentials of declared servers are hidden.
    pub(crate) fn hide_in(&self, masking: Arc<Masking>) {
        self.masking.set(masking).ok();
    }

    fn reach(&self) -> Option<Reach> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn desk(&self) -> Option<Desk> {
        self.reach().and_then(|reach| reach.desk)
    }

    /// A server waits for an answer of the host.
    pub(super) fn is_asking(&self) -> bool {
        self.desk().is_some_and(|desk| !desk.pending(Matter::Elicitation).is_empty())
    }

    /// The session is over: nothing more reaches the host from here.
    pub(crate) fn retire(&self) {
        self.set_bell(None);
        *self.host.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Before calls run: the hooks as they are now.
    pub(crate) fn set_bell(&self, bell: Option<Bell>) {
        *self.bell.lock().unwrap_or_else(PoisonError::into_inner) = bell;
    }

    /// Hooks first, then the host, then hooks that have the last word.
    async fn ask(&self, asked: Elicitation) -> Elicited {
        let bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(bell) = bell else { return self.ask_host(asked).await };
        let (server, id, mode) = (asked.server.clone(), asked.id.clone(), mode(&asked));
        let event = ElicitationEvent {
            mcp_server_name: server.clone(),
            message: asked.message.clone(),
            mode: Some(mode.to_owned()),
            url: asked.url.clone(),
            elicitation_id: id.clone(),
            requested_schema: asked.schema.as_ref().and_then(|schema| wire::raw::to_raw(schema).ok()),
        };
        let answered = match ruled(bell.ring(&event).await) {
            Some(ruled) => ruled,
            None => self.ask_host(asked).await,
        };
        let event = ElicitationResult {
            mcp_server_name: server,
            action: answered.action.as_str().to_owned(),
            mode: Some(mode.to_owned()),
            elicitation_id: id,
            content: answered.content.as_ref().and_then(|content| wire::raw::to_raw(content).ok()),
        };
        ruled(bell.ring(&event).await).unwrap_or(answered)
    }

    /// Whether the directories are others than before.
    pub(crate) fn set_roots(&self, roots: Vec<PathBuf>) -> bool {
        let mut known = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = *known != roots;
        *known = roots;
        changed
    }

    async fn ask_host(&self, asked: Elicitation) -> Elicited {
        let Some(desk) = self.desk() else { return Elicited::DECLINED };
        let mode = mode(&asked);
        let mut request = json!({
            "subtype": "elicitation", "mcp_server_name": asked.server, "message": asked.message, "mode": mode,
        });
        for (key, value) in [
            ("url", asked.url.map(Value::String)),
            ("elicitation_id", asked.id.map(Value::String)),
            ("requested_schema", asked.schema),
        ] {
            if let Some(value) = value {
                request[key] = value;
            }
        }
        // Dropped with the server's request, which takes the question back.
        match desk.ask(Matter::Elicitation, request, CancellationToken::new()).await {
            Ok(answer) => read(&answer),
            Err(_) => Elicited::DECLINED,
        }
    }
}

fn mode(asked: &Elicitation) -> &'static str {
    if asked.url.is_some() { "url" } else { "form" }
}

/// What hooks decided, if they did.
fn ruled(merged: hooks::Merged) -> Option<Elicited> {
    let (action, content) = merged.action?;
    Action::parse(&action).map(|action| Elicited { action, content })
}

fn read(answer: &RawValue) -> Elicited {
    let Ok(mut answer) = serde_json::from_str::<Value>(answer.get()) else { return Elicited::DECLINED };
    match answer.get("action").and_then(Value::as_str).and_then(Action::parse) {
        Some(action) => Elicited { action, content: answer.get_mut("content").map(Value::take) },
        None => Elicited::DECLINED,
    }
}

impl Owner for SessionOwner {
    fn declared(&self, config: &ServerConfig) {
        if let Some(masking) = self.masking.get() {
            masking.learn_all(permission::mask::of_server(config));
        }
    }

    fn hide(&self, text: &str) -> String {
        let mask = self.masking.get().map(|masking| masking.mask());
        // Before the session has its own mask, formats are known.
        mask.unwrap_or_else(|| permission::Mask::of([], &[])).text(text).into_owned()
    }

    fn roots(&self) -> Vec<PathBuf> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn elicit(&self, request: Elicitation) -> BoxFuture<'_, Elicited> {
        Box::pin(self.ask(request))
    }

    fn elicitation_completed(&self, server: &str, id: &str) -> BoxFuture<'_, ()> {
        let body =
            SystemBody::ElicitationComplete { mcp_server_name: server.to_owned(), elicitation_id: id.to_owned() };
        let reach = self.reach();
        Box::pin(async move {
            if let Some(reach) = reach {
                reach.host.system(body).await;
            }
        })
    }

    fn forward(&self, server: &str, message: Box<RawValue>) -> BoxFuture<'_, Result<Box<RawValue>, String>> {
        let Some(desk) = self.desk() else {
            return Box::pin(std::future::ready(Err("there is no host to serve it".to_owned())));
        };
        #[derive(serde::Serialize)]
        struct Message<'a> {
            subtype: &'static str,
            server_name: &'a str,
            message: Box<RawValue>,
        }
        let request = Message { subtype: "mcp_message", server_name: server, message };
        let asked = desk.ask(Matter::Program, request, CancellationToken::new());
        Box::pin(async move {
            #[derive(serde::Deserialize)]
            struct Answer {
                mcp_response: Box<RawValue>,
            }
            let answer = asked.await.map_err(|error| error.to_string())?;
            serde_json::from_str::<Answer>(answer.get())
                .map(|answer| answer.mcp_response)
                .map_err(|_| "the host's answer holds no mcp_response".to_owned())
        })
    }

    fn headers(
        &self,
        server: &str,
        remote: &Remote,
        occasion: Occasion,
    ) -> BoxFuture<'_, Result<Option<Headers>, String>> {
        let Credentials { keyring, places, cwd } = &self.credentials;
        let (server, remote) = (server.to_owned(), remote.clone());
        Box::pin(async move {
            let nowhere = HelperPlace { cwd: cwd.clone(), foreign: false };
            let place = places.get(&server).unwrap_or(&nowhere);
            keyring.headers(&server, &remote, place, &occasion).await
        })
    }
}
