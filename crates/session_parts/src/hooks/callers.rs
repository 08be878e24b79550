//! Runs handlers that are not processes: HTTP, a prompt to the small model, agents that inspect before they judge,
//! functions of the host, and MCP tools. A handler that cannot run is reported and blocks nothing.

use super::HostHooks;
use super::mcp_tool::{self, ServerTools};
use crate::side_requests::SideClient;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use hooks::http::{HttpHookLimits, MAX_BODY};
use hooks::{HandlerJob, HandlerKind, HandlerResult, HandlerRunner, HttpHandler as HttpHook, ModelHandler};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::SystemTime;
use sys::Env;
use sys::sync::Mutex;
use tokio::sync::OnceCell;
use tools::SideRequest;
use tools::contract::SidePurpose;

const MAX_ANSWER_TOKENS: u32 = 1024;

pub struct HookCallers {
    env: Env,
    side: Arc<SideClient>,
    client: OnceLock<http::Http>,
    limits: Mutex<HttpHookLimits>,
    config_changes: Mutex<BTreeMap<SettingsFileStamp, Arc<OnceCell<bool>>>>,
    pub host: Arc<HostHooks>,
    /// Set once, when there are servers.
    servers: OnceLock<Arc<dyn ServerTools>>,
}

/// Path, modification time and size of a settings file; `None` when it does not exist.
pub(super) type SettingsFileStamp = (PathBuf, Option<(SystemTime, u64)>);

impl HookCallers {
    pub fn new(env: Env, side: Arc<SideClient>, limits: HttpHookLimits, host: Arc<HostHooks>) -> Self {
        let (client, limits) = (OnceLock::new(), Mutex::new(limits));
        Self { env, side, client, limits, config_changes: Mutex::default(), host, servers: OnceLock::new() }
    }

    /// Lets handlers call the tools of these servers.
    #[must_use]
    pub fn with_servers(self, servers: Arc<dyn ServerTools>) -> Self {
        self.servers.set(servers).ok();
        self
    }

    pub(super) fn set_limits(&self, limits: HttpHookLimits) {
        *self.limits.lock() = limits;
    }

    /// The cell with the decision about a changed file: hooks are asked once, whichever thread of the session notices
    /// the change first.
    pub fn change_verdict(&self, path: &Path) -> Arc<OnceCell<bool>> {
        let stamp = std::fs::metadata(path).ok().and_then(|meta| Some((meta.modified().ok()?, meta.len())));
        let mut all = self.config_changes.lock();
        // Drop decisions about earlier states of the file.
        all.retain(|(known, at), _| known != path || *at == stamp);
        Arc::clone(all.entry((path.to_path_buf(), stamp)).or_default())
    }

    async fn http(&self, hook: &HttpHook, job: &HandlerJob) -> HandlerResult {
        let (admitted, mut headers) = {
            let limits = self.limits.lock();
            let origin = &job.entry.origin;
            (limits.admits(&hook.url, origin), limits.headers(hook, origin, &self.env))
        };
        if !admitted {
            return failed("the address is not in allowedHttpHookUrls");
        }
        headers.push(("content-type".into(), "application/json".into()));
        let request = http::HttpRequest {
            method: http::HttpMethod::Post,
            url: hook.url.clone(),
            headers,
            body: vec![Bytes::copy_from_slice(job.payload.as_bytes())],
            timeout: job.timeout,
        };
        let client = self.client.get_or_init(|| http::Http::new(self.env.clone()));
        let response = match client.send(request).await {
            Ok(response) => response,
            Err(http::HttpError::Timeout(after)) => return HandlerResult::TimedOut { after },
            Err(error) => return failed(error.to_string()),
        };
        let status = response.status();
        let body = match response.bytes(MAX_BODY).await {
            Ok((_, true)) => return failed("the answer is too large"),
            Ok((body, false)) => String::from_utf8_lossy(&body).into_owned(),
            Err(error) => return failed(error.to_string()),
        };
        if (200..300).contains(&status) {
            return HandlerResult::Replied { body };
        }
        let first: String = body.lines().next().unwrap_or_default().chars().take(200).collect();
        failed(format!("HTTP status {status}: {first}"))
    }

    async fn prompt(&self, ask: &ModelHandler, job: &HandlerJob) -> HandlerResult {
        let request = SideRequest {
            purpose: SidePurpose::Small,
            prompt: hooks::prompt::fill(&ask.prompt, &job.payload),
            system: Some(hooks::prompt::SYSTEM.to_owned()),
            server_tools: Vec::new(),
            max_tokens: MAX_ANSWER_TOKENS,
            timeout: job.timeout,
        };
        let named = ask.model.as_deref().map(|name| model::ModelCatalog::default().resolve(name, &self.env));
        match self.side.ask_model(named, request).await {
            Ok(reply) => HandlerResult::Judged { text: reply.text },
            Err(why) => failed(why),
        }
    }
}

fn failed(why: impl Into<String>) -> HandlerResult {
    HandlerResult::Failed { why: why.into() }
}

/// Starts an agent that inspects the matter and judges it.
pub trait HookJudge: Send + Sync {
    /// The answer of the agent to `task`, or why there is none. `model` is `None` for the agent's own.
    fn judge(self: Arc<Self>, task: String, model: Option<String>) -> BoxFuture<'static, Result<String, String>>;
}

/// Runs handlers for one session: the main thread or an agent.
pub(super) struct HookCaller {
    pub(super) shared: Arc<HookCallers>,
    /// Judges for handlers of the kind `agent`; it outlives them.
    pub(super) judge: Weak<dyn HookJudge>,
}

impl HookCaller {
    async fn agent(&self, ask: &ModelHandler, job: &HandlerJob) -> HandlerResult {
        let Some(judge) = self.judge.upgrade() else { return failed("the session is ending") };
        let task = hooks::prompt::fill(&ask.prompt, &job.payload);
        match judge.judge(task, ask.model.clone()).await {
            Ok(text) => HandlerResult::Judged { text },
            Err(why) => failed(why),
        }
    }
}

impl HandlerRunner for HookCaller {
    fn run(&self, job: HandlerJob) -> BoxFuture<'_, HandlerResult> {
        Box::pin(async move {
            let entry = Arc::clone(&job.entry);
            match &entry.handler.kind {
                HandlerKind::Http(hook) => self.shared.http(hook, &job).await,
                HandlerKind::Prompt(ask) => self.shared.prompt(ask, &job).await,
                HandlerKind::Agent(ask) => self.agent(ask, &job).await,
                HandlerKind::Callback { id } => self.shared.host.run(id, &job).await,
                HandlerKind::McpTool(tool) => mcp_tool::run(self.shared.servers.get().map(|s| &**s), tool, &job).await,
                HandlerKind::Command(_) => failed("commands are run elsewhere"),
            }
        })
    }
}

/// Runs handlers before there is a session; handlers that need one fail.
pub fn runner_without_session(callers: HookCallers) -> Arc<dyn hooks::HandlerRunner> {
    Arc::new(HookCaller { shared: Arc::new(callers), judge: Weak::<NoJudge>::new() })
}

/// The judge before there is a session.
struct NoJudge;

impl HookJudge for NoJudge {
    fn judge(self: Arc<Self>, _: String, _: Option<String>) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(async { Err("there is no session yet".to_owned()) })
    }
}
