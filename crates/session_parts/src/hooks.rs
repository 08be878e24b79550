//! Hooks as the session runs them: builds the payload, reports every run to the host, reports a broken hook once,
//! keeps texts for the model until they can be added to the conversation, and owns hooks that run in the background.
//! One method per event; an event without handlers costs one lookup.

mod callers;
mod host;
mod inherit;
mod layers;
pub mod listener;
mod mcp_tool;
pub mod runs;
pub mod watch;

pub use crate::settings_watch::HookRestriction;
pub use host::HostHooks;
pub use inherit::{AgentHookParams, InheritedHooks};
pub use layers::catalogue;
pub use layers::{OwnHooks, gated_command, with_own};
pub use mcp_tool::{ConnectWait, ServerToolCall, ServerTools};

use crate::host::HostSender;
use crate::settings_watch::SettingsWatch;
use callers::HookCaller;
use hooks::{
    AsyncDone, DetachedHandler, HandlerEnvironment, HookOccasion, HookProgress, HookReport, Hooks, MergedAnswer,
    SpentHandlers,
};
use listener::HookReporter;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use wire::hooks::{HookBase, HookEvent, HookEventName};
use wire::sdk::SystemBody;

/// Maximum characters of a hook's text that is sent to the model in full.
pub const CONTEXT_LIMIT: usize = 10_000;
/// How long observers may take after the end of the session.
const OBSERVERS_GRACE: Duration = Duration::from_millis(1500);
/// Characters shown of a broken hook's output.
const SHOWN_OUTPUT: usize = 2_000;

/// Runs handlers concurrently with a turn, or before there is a session.
#[derive(Clone)]
pub struct HookTrigger {
    pub hooks: Arc<Hooks>,
    pub base: HookBase,
    pub cwd: PathBuf,
    pub progress: Arc<dyn HookProgress>,
}

impl HookTrigger {
    pub async fn fire<E: HookEvent>(&self, event: &E) -> MergedAnswer {
        let occasion = HookOccasion {
            base: &self.base,
            cwd: &self.cwd,
            env_file: None,
            tool_use_id: None,
            tool_input: None,
            condition: &|_| true,
            limit: None,
            cancel: &CancellationToken::new(),
            progress: &*self.progress,
        };
        Box::pin(self.hooks.fire(event, &occasion)).await
    }
}

/// The hooks of one session.
pub struct SessionHooks {
    pub current: Arc<Hooks>,
    pub callers: Arc<HookCallers>,
    handler_env: HandlerEnvironment,
    pub reporter: HookReporter,
    /// Problems already reported to the user.
    reported_problems: BTreeSet<String>,
    running: JoinSet<AsyncDone>,
    /// Name and event of each background run by its task, to report a cancelled one.
    detached: BTreeMap<tokio::task::Id, (String, String, HookEventName)>,
    pub observers: JoinSet<()>,
    /// The reason of a handler that returned `continue: false`.
    pub stop: Option<String>,
    /// Texts for the model, added after the results of the batch.
    pub batch_texts: Vec<HookText>,
    /// `attachment` objects of runs that are not in the transcript yet.
    pub runs: Vec<Box<RawValue>>,
    /// Texts of background hooks that have ended, for the next request.
    pub late_texts: Vec<HookText>,
    /// Texts of background hooks that also wake an idle session.
    wake_texts: VecDeque<HookText>,
    /// Inputs that hooks rewrote, by call id.
    pub rewritten: BTreeMap<String, Box<RawValue>>,
    pub watcher: watch::HookWatcher,
    pub agent: Option<HookAgent>,
    pub own_hooks: OwnHooks,
    spent_handlers: SpentHandlers,
    judge: Weak<dyn HookJudge>,
    /// The host's hooks that are active.
    pub host_matchers: Arc<host::HostMatchers>,
    /// How many background tasks had ended at the last check of the settings.
    pub ended_tasks: usize,
    pub env_files: Option<watch::EnvFiles>,
}

/// The parameters of `SessionHooks::new`.
pub struct SessionHooksParts {
    pub catalogue: hooks::HookCatalogue,
    pub handler_env: HandlerEnvironment,
    pub callers: HookCallers,
    pub host: HostSender,
    /// `--include-hook-events`
    pub all_events: bool,
    pub env_files: Option<watch::EnvFiles>,
    pub cwd: PathBuf,
    pub own_hooks: OwnHooks,
    pub judge: Weak<dyn HookJudge>,
}

pub use callers::runner_without_session;
pub use callers::{HookCallers, HookJudge};
pub use watch::EnvFiles;

/// The subagent that runs these hooks, for their payload.
#[derive(Clone, Debug)]
pub struct HookAgent {
    pub id: String,
    pub kind: String,
    /// The transcript of the main session.
    pub transcript: PathBuf,
}

/// A text of a hook for the model.
#[derive(Clone, Debug)]
pub struct HookText {
    pub kind: HookTextKind,
    pub hook: String,
    pub event: HookEventName,
    pub tool_use_id: Option<String>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookTextKind {
    Context,
    /// An objection to what was done.
    Feedback,
}

impl HookText {
    /// The `attachment` object, from which a resumed request gets the same bytes.
    pub fn attachment(&self) -> Option<Box<RawValue>> {
        let kind = match self.kind {
            HookTextKind::Context => "hook_additional_context",
            HookTextKind::Feedback => "hook_blocking_error",
        };
        let line = serde_json::json!({
            "type": kind,
            "content": [self.text],
            "hookName": self.hook,
            "toolUseID": self.tool_use_id.as_deref().unwrap_or(&self.hook),
            "hookEvent": self.event.as_str(),
        });
        wire::raw::to_raw(&line).ok()
    }

    pub fn reminder(&self) -> String {
        match self.kind {
            HookTextKind::Context => crate::prompts::hook_context(&self.hook, &self.text),
            HookTextKind::Feedback => crate::prompts::hook_feedback(&self.hook, &self.text),
        }
    }
}

/// A typed command that expands to a prompt.
pub struct ExpansionPayload<'a> {
    pub name: &'a str,
    pub arguments: &'a str,
    pub source: &'static str,
    pub prompt: &'a str,
}

/// A notification that is not due yet; dropping it cancels it.
pub struct PendingNotification(pub AbortHandle);

impl Drop for PendingNotification {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Parameters of an event besides its payload.
#[derive(Clone, Copy)]
pub struct HookScope<'a> {
    pub cancel: &'a CancellationToken,
    pub tool: Option<ToolScope<'a>>,
    pub limit: Option<Duration>,
}

#[derive(Clone, Copy)]
pub struct ToolScope<'a> {
    pub id: &'a str,
    pub input: &'a Value,
    pub condition: &'a (dyn Fn(&str) -> bool + Sync),
}

impl<'a> HookScope<'a> {
    pub fn new(cancel: &'a CancellationToken) -> Self {
        Self { cancel, tool: None, limit: None }
    }
}

impl SessionHooks {
    /// The agent definition the main thread runs as; `None` for the default.
    pub fn runs_as(&self) -> Option<String> {
        self.own_hooks.runs_as.clone()
    }

    /// Hooks besides those of the settings: of the definition the session runs as, and of invoked skills.
    pub fn own_layers(&self) -> Vec<::hooks::HookLayer> {
        self.own_hooks.layers.clone()
    }

    pub fn new(parts: SessionHooksParts) -> Self {
        let callers = Arc::new(parts.callers);
        let spent = SpentHandlers::default();
        let of_host = callers.host.declared();
        let runner = HookCaller { shared: Arc::clone(&callers), judge: Weak::clone(&parts.judge) };
        Self {
            current: assemble(parts.catalogue, &parts.handler_env, runner, &spent),
            callers,
            handler_env: parts.handler_env,
            reporter: HookReporter { host: parts.host, all: parts.all_events },
            reported_problems: BTreeSet::new(),
            running: JoinSet::new(),
            detached: BTreeMap::new(),
            observers: JoinSet::new(),
            stop: None,
            batch_texts: Vec::new(),
            runs: Vec::new(),
            late_texts: Vec::new(),
            wake_texts: VecDeque::new(),
            rewritten: BTreeMap::new(),
            watcher: watch::HookWatcher::new(parts.cwd),
            agent: None,
            own_hooks: parts.own_hooks,
            host_matchers: of_host,
            spent_handlers: spent,
            judge: parts.judge,
            ended_tasks: 0,
            env_files: parts.env_files,
        }
    }

    /// Drops what was kept for the old conversation and continues as session `id`.
    pub fn begin_session(&mut self, id: &str) {
        for (name, value) in &mut self.handler_env.env {
            if name == "CLAUDE_CODE_SESSION_ID" {
                *value = id.into();
            }
        }
        self.current =
            assemble(self.current.catalogue().clone(), &self.handler_env, self.runner(), &self.spent_handlers);
        self.batch_texts.clear();
        self.runs.clear();
        self.late_texts.clear();
        self.wake_texts.clear();
        self.rewritten.clear();
        self.stop = None;
    }

    /// The parts from which the hooks of an agent are built.
    pub fn inherit(&self) -> InheritedHooks {
        InheritedHooks {
            current: Arc::clone(&self.current),
            callers: Arc::clone(&self.callers),
            handler_env: self.handler_env.clone(),
            reporter: self.reporter.clone(),
            reported_problems: self.reported_problems.clone(),
            env_files: self.env_files.clone(),
            own_hooks: self.own_hooks.clone(),
            host_matchers: Arc::clone(&self.host_matchers),
            spent_handlers: self.spent_handlers.clone(),
        }
    }

    pub fn listens(&self, event: HookEventName) -> bool {
        self.current.has_handlers(event)
    }

    /// The definition that this session, agent or main thread, runs as; `None` for the default.
    pub fn speaks_as(&self) -> Option<String> {
        self.agent.as_ref().map(|agent| agent.kind.clone()).or_else(|| self.own_hooks.runs_as.clone())
    }

    /// The agent whose hooks these are; `None` for the main thread.
    pub fn agent(&self) -> Option<&HookAgent> {
        self.agent.as_ref()
    }

    /// Rebuilds the handlers after declarations changed.
    pub fn rebuild(&mut self, watch: &SettingsWatch) {
        self.watcher.reset();
        self.host_matchers = self.callers.host.declared();
        self.own_hooks.host = self.callers.host.layer();
        let (catalogue, limits) = layers::with_own(&watch.loaded, watch.reduced, &self.own_hooks);
        self.callers.set_limits(limits);
        self.current = assemble(catalogue, &self.handler_env, self.runner(), &self.spent_handlers);
    }

    fn runner(&self) -> HookCaller {
        HookCaller { shared: Arc::clone(&self.callers), judge: Weak::clone(&self.judge) }
    }

    /// Adds the hooks of an invoked skill.
    pub fn add(&mut self, layer: hooks::HookLayer, watch: &SettingsWatch) {
        if self.own_hooks.add(layer) {
            self.rebuild(watch);
        }
    }

    /// Leaves out handlers that ask models: these are the hooks of an agent that a hook started.
    pub fn disable_model_handlers(&mut self, watch: &SettingsWatch) {
        self.own_hooks.is_judge = true;
        self.rebuild(watch);
    }

    /// Whether a handler may start an agent.
    pub fn has_agent_handlers(&self) -> bool {
        self.current.catalogue().iter().any(|entry| matches!(entry.handler.kind, hooks::HandlerKind::Agent(_)))
    }

    pub fn track_detached(&mut self, detached: Vec<DetachedHandler>) {
        for one in detached {
            let task = self.running.spawn(one.done).id();
            self.detached.insert(task, (one.id, one.name, one.event));
        }
    }

    /// Ends background hooks; each is reported as cancelled.
    pub async fn end(&mut self) {
        let seen = async { while self.observers.join_next().await.is_some() {} };
        if tokio::time::timeout(OBSERVERS_GRACE, seen).await.is_err() {
            self.observers.shutdown().await;
        }
        self.running.shutdown().await;
        for (id, name, event) in std::mem::take(&mut self.detached).into_values() {
            self.reporter.finished(&id, &name, event, None).await;
        }
    }

    fn take_done(&mut self, task: tokio::task::Id, done: AsyncDone) -> HookReport {
        self.detached.remove(&task);
        let AsyncDone { report, texts, wake } = done;
        let beside = |text: String| HookText {
            kind: HookTextKind::Context,
            hook: report.name.clone(),
            event: report.event,
            tool_use_id: None,
            text,
        };
        self.late_texts.extend(texts.into_iter().map(beside));
        self.wake_texts.extend(wake.map(|text| HookText { kind: HookTextKind::Feedback, ..beside(text) }));
        report
    }

    /// Waits for a background hook that wakes the model. Never returns without one.
    pub async fn next_wake(&mut self) -> HookText {
        loop {
            if let Some(wake) = self.wake_texts.pop_front() {
                return wake;
            }
            let Some(ended) = self.running.join_next_with_id().await else { return std::future::pending().await };
            let Ok((task, done)) = ended else { continue };
            let report = self.take_done(task, done);
            self.reporter.report(&report).await;
        }
    }

    /// Texts that background hooks left for the model since the last request.
    pub async fn take_late_texts(&mut self) -> Vec<HookText> {
        while let Some(ended) = self.running.try_join_next_with_id() {
            let Ok((task, done)) = ended else { continue };
            let report = self.take_done(task, done);
            self.reporter.report(&report).await;
        }
        let mut all = std::mem::take(&mut self.late_texts);
        all.extend(self.wake_texts.drain(..));
        all
    }
}

fn assemble(
    catalogue: hooks::HookCatalogue,
    environment: &HandlerEnvironment,
    runner: HookCaller,
    spent: &SpentHandlers,
) -> Arc<Hooks> {
    let program = sys::process::own_binary().unwrap_or_default();
    Arc::new(Hooks::new(catalogue, environment.clone(), Arc::new(runner), program).with_spent(spent))
}

impl SessionHooks {
    /// Reports each hook and failure once: a hook that fails at every call must not fill the conversation.
    pub async fn report_problem(&mut self, problem: &hooks::HookProblem, report: Option<&HookReport>) {
        let text = problem.to_string();
        tracing::warn!(text, "a hook failed");
        if !self.reported_problems.insert(format!("{}\0{}", problem.description, problem.hook)) {
            return;
        }
        let output = report.map(|r| format!("{}\n{}", r.stderr.trim(), r.stdout.trim()).trim().to_owned());
        let output = output.filter(|output| output.contains('\n'));
        let shown =
            output.map(|o| format!("\n{}", o.chars().take(SHOWN_OUTPUT).collect::<String>())).unwrap_or_default();
        let content = format!("{text}{shown}");
        self.reporter.host.system(SystemBody::Informational { content: content.clone(), level: "warning" }).await;
        self.reporter.host.notice(format!("Warning: {content}")).await;
    }
}
