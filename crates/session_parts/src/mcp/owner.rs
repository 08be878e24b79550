//! What MCP servers get from the session: its directories, its host, and authentication headers.

use super::vault::McpTokenVault;
use crate::hooks::HookTrigger;
use crate::host::HostSender;
use crate::questions::{HostQuestions, QuestionKind};
use futures_util::future::BoxFuture;
use http::Http;
use mcp::auth::{HelperPlace, Keyring};
use mcp::{ElicitAction, Elicitation, ElicitationAnswer, HeaderOccasion, Headers, McpOwner};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use sys::Env;
use sys::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tools::masking::Masking;
use wire::control::{ElicitationQuestion, HostQuestion, McpMessageQuestion};
use wire::hooks::{Elicitation as ElicitationEvent, ElicitationResult};
use wire::mcp::{RemoteConfig, ServerConfig};
use wire::sdk::SystemBody;

pub struct McpSessionOwner {
    /// `None` once the session has ended, so that a lingering connection does not keep the event stream open.
    host: Mutex<Option<HostAccess>>,
    roots: Mutex<Vec<PathBuf>>,
    /// Hooks that may answer an elicitation in place of a person.
    hook_trigger: Mutex<Option<HookTrigger>>,
    credentials: ServerCredentials,
    /// Hides the credentials of servers in results; set once.
    masking: OnceLock<Arc<Masking>>,
}

/// The connection to the host.
#[derive(Clone)]
struct HostAccess {
    host: HostSender,
    /// `None` when the host cannot answer questions.
    questions: Option<HostQuestions>,
}

/// Authentication headers of remote servers in addition to the configured ones.
pub struct ServerCredentials {
    keyring: Keyring,
    /// The directory in which the header helper of each server runs.
    places: BTreeMap<String, HelperPlace>,
    /// The directory for servers that no file declares.
    cwd: PathBuf,
}

impl ServerCredentials {
    /// `base_env` is the environment of the process, which locates stored sign-ins.
    pub fn new(env: &Env, base_env: &Env, cwd: PathBuf, places: BTreeMap<String, HelperPlace>) -> Self {
        let keyring = Keyring::new(Http::new(env.clone()), env.clone(), Arc::new(McpTokenVault::new(base_env.clone())));
        Self { keyring, places, cwd }
    }
}

impl McpSessionOwner {
    pub fn new(
        host: HostSender,
        questions: Option<HostQuestions>,
        roots: Vec<PathBuf>,
        credentials: ServerCredentials,
    ) -> Self {
        let host = Mutex::new(Some(HostAccess { host, questions }));
        Self { host, roots: Mutex::new(roots), hook_trigger: Mutex::default(), credentials, masking: OnceLock::new() }
    }

    /// Masks the credentials of servers declared from now on.
    pub fn mask_with(&self, masking: Arc<Masking>) {
        self.masking.set(masking).ok();
    }

    fn host_access(&self) -> Option<HostAccess> {
        self.host.lock().clone()
    }

    fn questions(&self) -> Option<HostQuestions> {
        self.host_access().and_then(|reach| reach.questions)
    }

    /// Whether a server waits for an answer of the host.
    pub(super) fn is_asking(&self) -> bool {
        self.questions().is_some_and(|questions| !questions.pending(QuestionKind::Elicitation).is_empty())
    }

    /// Ends the access to the host when the session is over.
    pub fn retire(&self) {
        self.set_hook_trigger(None);
        *self.host.lock() = None;
    }

    /// Sets the current hooks, before calls run.
    pub fn set_hook_trigger(&self, trigger: Option<HookTrigger>) {
        *self.hook_trigger.lock() = trigger;
    }

    /// Asks the Elicitation hooks, then the host; ElicitationResult hooks may then change the answer.
    async fn ask(&self, asked: Elicitation) -> ElicitationAnswer {
        let trigger = self.hook_trigger.lock().clone();
        let Some(trigger) = trigger else { return self.ask_host(asked).await };
        let (server, id, mode) = (asked.server.clone(), asked.id.clone(), mode(&asked));
        let event = ElicitationEvent {
            mcp_server_name: server.clone(),
            message: asked.message.clone(),
            mode: Some(mode.to_owned()),
            url: asked.url.clone(),
            elicitation_id: id.clone(),
            requested_schema: asked.schema.as_ref().and_then(|schema| wire::raw::to_raw(schema).ok()),
        };
        let answered = match hook_answer(trigger.fire(&event).await) {
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
        hook_answer(trigger.fire(&event).await).unwrap_or(answered)
    }

    /// Sets the directories; returns whether they changed.
    pub fn set_roots(&self, roots: Vec<PathBuf>) -> bool {
        let mut known = self.roots.lock();
        let changed = *known != roots;
        *known = roots;
        changed
    }

    async fn ask_host(&self, asked: Elicitation) -> ElicitationAnswer {
        let Some(questions) = self.questions() else { return ElicitationAnswer::DECLINED };
        let mode = mode(&asked);
        let question = HostQuestion::Elicitation(ElicitationQuestion {
            mcp_server_name: asked.server,
            message: asked.message,
            mode: mode.into(),
            url: asked.url,
            elicitation_id: asked.id,
            requested_schema: asked.schema,
        });
        // Dropped with the server's request, which withdraws the question.
        match questions.ask(question, CancellationToken::new()).await {
            Ok(answer) => read(&answer),
            Err(_) => ElicitationAnswer::DECLINED,
        }
    }
}

fn mode(asked: &Elicitation) -> &'static str {
    if asked.url.is_some() { "url" } else { "form" }
}

/// The hooks' answer; `None` when they did not decide.
fn hook_answer(merged: hooks::MergedAnswer) -> Option<ElicitationAnswer> {
    let (action, content) = merged.action?;
    ElicitAction::parse(&action).map(|action| ElicitationAnswer { action, content })
}

fn read(answer: &RawValue) -> ElicitationAnswer {
    let Ok(mut answer) = serde_json::from_str::<Value>(answer.get()) else { return ElicitationAnswer::DECLINED };
    match answer.get("action").and_then(Value::as_str).and_then(ElicitAction::parse) {
        Some(action) => ElicitationAnswer { action, content: answer.get_mut("content").map(Value::take) },
        None => ElicitationAnswer::DECLINED,
    }
}

impl McpOwner for McpSessionOwner {
    fn declared(&self, config: &ServerConfig) {
        if let Some(masking) = self.masking.get() {
            masking.learn_all(permission::mask::of_server(config));
        }
    }

    fn hide(&self, text: &str) -> String {
        let mask = self.masking.get().map(|masking| masking.mask());
        // Before the session sets its mask, only known credential formats are masked.
        mask.unwrap_or_else(|| permission::Mask::of([], &[])).text(text).into_owned()
    }

    fn roots(&self) -> Vec<PathBuf> {
        self.roots.lock().clone()
    }

    fn elicit(&self, request: Elicitation) -> BoxFuture<'_, ElicitationAnswer> {
        Box::pin(self.ask(request))
    }

    fn elicitation_completed(&self, server: &str, id: &str) -> BoxFuture<'_, ()> {
        let body =
            SystemBody::ElicitationComplete { mcp_server_name: server.to_owned(), elicitation_id: id.to_owned() };
        let reach = self.host_access();
        Box::pin(async move {
            if let Some(reach) = reach {
                reach.host.system(body).await;
            }
        })
    }

    fn forward(&self, server: &str, message: Box<RawValue>) -> BoxFuture<'_, Result<Box<RawValue>, String>> {
        let Some(questions) = self.questions() else {
            return Box::pin(std::future::ready(Err("there is no host to serve it".to_owned())));
        };
        let question = HostQuestion::McpMessage(McpMessageQuestion { server_name: server.to_owned(), message });
        let asked = questions.ask(question, CancellationToken::new());
        Box::pin(async move {
            #[derive(serde::Deserialize)]
            struct McpMessageAnswer {
                mcp_response: Box<RawValue>,
            }
            let answer = asked.await.map_err(|error| error.to_string())?;
            serde_json::from_str::<McpMessageAnswer>(answer.get())
                .map(|answer| answer.mcp_response)
                .map_err(|_| "the host's answer holds no mcp_response".to_owned())
        })
    }

    fn headers(
        &self,
        server: &str,
        remote: &RemoteConfig,
        occasion: HeaderOccasion,
    ) -> BoxFuture<'_, Result<Option<Headers>, String>> {
        let ServerCredentials { keyring, places, cwd } = &self.credentials;
        let (server, remote) = (server.to_owned(), remote.clone());
        Box::pin(async move {
            let nowhere = HelperPlace { cwd: cwd.clone(), is_from_repository: false };
            let place = places.get(&server).unwrap_or(&nowhere);
            keyring.headers(&server, &remote, place, &occasion).await
        })
    }
}
