//! Hooks as the session runs them: builds the payload, reports every run to the host, reports a broken hook once,
//! keeps texts for the model until they can be added to the conversation, and owns hooks that run in the background.
//! One method per event; an event without handlers costs one lookup.

mod callers;
mod calls;
mod commands;
mod host;
mod inherit;
mod layers;
mod listener;
mod mcp_tool;
mod runs;
mod session;
mod tasks;
mod watch;
mod worktrees;

pub(crate) use calls::{FinishedCall, HookRuling, RulingKind, UndecidedCall};
pub(crate) use commands::ExpansionPayload;
pub(crate) use host::HostHooks;
pub(crate) use inherit::{AgentHookParams, InheritedHooks};
pub use layers::{HookRestriction, catalogue};
pub(crate) use layers::{OwnHooks, gated_command, with_own};
pub(crate) use mcp_tool::{ConnectWait, ServerToolCall, ServerTools};
pub(crate) use session::{PromptVerdict, SettingsCheckTime, StopState, StopVerdict};

use crate::agents::AgentSpawner;
use crate::command::{Event, ScreenEvent};
use crate::host::HostSender;
use crate::session::SessionIo;
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
use wire::hooks::{HookBase, HookEffort, HookEvent, HookEventName, MessageDisplay, Notification};
use wire::sdk::SystemBody;

/// Maximum characters of a hook's text that is sent to the model in full.
const CONTEXT_LIMIT: usize = 10_000;
const PREVIEW_CHARS: usize = 2_000;
/// How long observers may take after the end of the session.
const OBSERVERS_GRACE: Duration = Duration::from_millis(1500);
/// How long a text waits for the hooks that may replace its display.
const DISPLAY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a question stays open before notification hooks run.
const NOTIFICATION_DELAY: Duration = Duration::from_secs(6);
/// Characters shown of a broken hook's output.
const SHOWN_OUTPUT: usize = 2_000;

/// Runs handlers concurrently with a turn, or before there is a session.
#[derive(Clone)]
pub(crate) struct HookTrigger {
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) base: HookBase,
    pub(crate) cwd: PathBuf,
    pub(crate) progress: Arc<dyn HookProgress>,
}

impl HookTrigger {
    pub(crate) async fn fire<E: HookEvent>(&self, event: &E) -> MergedAnswer {
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
pub(crate) struct SessionHooks {
    pub current: Arc<Hooks>,
    callers: Arc<HookCallers>,
    handler_env: HandlerEnvironment,
    reporter: HookReporter,
    /// Problems already reported to the user.
    reported_problems: BTreeSet<String>,
    running: JoinSet<AsyncDone>,
    /// Name and event of each background run by its task, to report a cancelled one.
    detached: BTreeMap<tokio::task::Id, (String, String, HookEventName)>,
    observers: JoinSet<()>,
    /// The reason of a handler that returned `continue: false`.
    pub stop: Option<String>,
    /// Texts for the model, added after the results of the batch.
    pub batch_texts: Vec<HookText>,
    /// `attachment` objects of runs that are not in the transcript yet.
    pub runs: Vec<Box<RawValue>>,
    /// Texts of background hooks that have ended, for the next request.
    late_texts: Vec<HookText>,
    /// Texts of background hooks that also wake an idle session.
    wake_texts: VecDeque<HookText>,
    /// Inputs that hooks rewrote, by call id.
    rewritten: BTreeMap<String, Box<RawValue>>,
    watcher: watch::HookWatcher,
    agent: Option<HookAgent>,
    own_hooks: OwnHooks,
    spent_handlers: SpentHandlers,
    spawner: Weak<AgentSpawner>,
    /// The host's hooks that are active.
    host_matchers: Arc<host::HostMatchers>,
    /// How many background tasks had ended at the last check of the settings.
    ended_tasks: usize,
    pub env_files: Option<watch::EnvFiles>,
}

/// The parameters of `SessionHooks::new`.
pub(crate) struct SessionHooksParts {
    pub catalogue: hooks::HookCatalogue,
    pub handler_env: HandlerEnvironment,
    pub callers: HookCallers,
    pub host: HostSender,
    /// `--include-hook-events`
    pub all_events: bool,
    pub env_files: Option<watch::EnvFiles>,
    pub cwd: PathBuf,
    pub own_hooks: OwnHooks,
    pub spawner: Weak<AgentSpawner>,
}

pub(crate) use callers::HookCallers;
pub(crate) use watch::EnvFiles;
pub(crate) use worktrees::runner_without_session;

/// The subagent that runs these hooks, for their payload.
#[derive(Clone, Debug)]
pub(crate) struct HookAgent {
    pub id: String,
    pub kind: String,
    /// The transcript of the main session.
    pub transcript: PathBuf,
}

/// A text of a hook for the model.
#[derive(Clone, Debug)]
pub(crate) struct HookText {
    pub kind: HookTextKind,
    pub hook: String,
    pub event: HookEventName,
    pub tool_use_id: Option<String>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookTextKind {
    Context,
    /// An objection to what was done.
    Feedback,
}

impl HookText {
    /// The `attachment` object, from which a resumed request gets the same bytes.
    pub(crate) fn attachment(&self) -> Option<Box<RawValue>> {
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

    pub(crate) fn reminder(&self) -> String {
        match self.kind {
            HookTextKind::Context => crate::prompts::hook_context(&self.hook, &self.text),
            HookTextKind::Feedback => crate::prompts::hook_feedback(&self.hook, &self.text),
        }
    }
}

/// A notification that is not due yet; dropping it cancels it.
pub(crate) struct PendingNotification(AbortHandle);

impl Drop for PendingNotification {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Parameters of an event besides its payload.
#[derive(Clone, Copy)]
pub(crate) struct HookScope<'a> {
    pub cancel: &'a CancellationToken,
    pub tool: Option<ToolScope<'a>>,
    pub limit: Option<Duration>,
}

#[derive(Clone, Copy)]
pub(crate) struct ToolScope<'a> {
    pub id: &'a str,
    pub input: &'a Value,
    pub condition: &'a (dyn Fn(&str) -> bool + Sync),
}

impl<'a> HookScope<'a> {
    pub(crate) fn new(cancel: &'a CancellationToken) -> Self {
        Self { cancel, tool: None, limit: None }
    }
}

impl SessionHooks {
    /// The agent definition the main thread runs as; `None` for the default.
    pub(crate) fn runs_as(&self) -> Option<String> {
        self.own_hooks.runs_as.clone()
    }

    /// Hooks besides those of the settings: of the definition the session runs as, and of invoked skills.
    pub(crate) fn own_layers(&self) -> Vec<::hooks::HookLayer> {
        self.own_hooks.layers.clone()
    }

    pub(crate) fn new(parts: SessionHooksParts) -> Self {
        let callers = Arc::new(parts.callers);
        let spent = SpentHandlers::default();
        let of_host = callers.host.declared();
        let runner = HookCaller { shared: Arc::clone(&callers), spawner: Weak::clone(&parts.spawner) };
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
            spawner: parts.spawner,
            ended_tasks: 0,
            env_files: parts.env_files,
        }
    }

    /// Drops what was kept for the old conversation and continues as session `id`.
    pub(crate) fn begin_session(&mut self, id: &str) {
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
    pub(crate) fn inherit(&self) -> InheritedHooks {
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

    pub(crate) fn listens(&self, event: HookEventName) -> bool {
        self.current.has_handlers(event)
    }

    /// The definition that this session, agent or main thread, runs as; `None` for the default.
    pub(crate) fn speaks_as(&self) -> Option<String> {
        self.agent.as_ref().map(|agent| agent.kind.clone()).or_else(|| self.own_hooks.runs_as.clone())
    }

    /// The agent whose hooks these are; `None` for the main thread.
    pub(crate) fn agent(&self) -> Option<&HookAgent> {
        self.agent.as_ref()
    }

    /// Rebuilds the handlers after declarations changed.
    pub(crate) fn rebuild(&mut self, watch: &SettingsWatch) {
        self.watcher.reset();
        self.host_matchers = self.callers.host.declared();
        self.own_hooks.host = self.callers.host.layer();
        let (catalogue, limits) = layers::with_own(&watch.loaded, watch.reduced, &self.own_hooks);
        self.callers.set_limits(limits);
        self.current = assemble(catalogue, &self.handler_env, self.runner(), &self.spent_handlers);
    }

    fn runner(&self) -> HookCaller {
        HookCaller { shared: Arc::clone(&self.callers), spawner: Weak::clone(&self.spawner) }
    }

    /// Adds the hooks of an invoked skill.
    pub(crate) fn add(&mut self, layer: hooks::HookLayer, watch: &SettingsWatch) {
        if self.own_hooks.add(layer) {
            self.rebuild(watch);
        }
    }

    /// Leaves out handlers that ask models: these are the hooks of an agent that a hook started.
    pub(crate) fn disable_model_handlers(&mut self, watch: &SettingsWatch) {
        self.own_hooks.is_judge = true;
        self.rebuild(watch);
    }

    /// Whether a handler may start an agent.
    pub(crate) fn has_agent_handlers(&self) -> bool {
        self.current.catalogue().iter().any(|entry| matches!(entry.handler.kind, hooks::HandlerKind::Agent(_)))
    }

    fn track_detached(&mut self, detached: Vec<DetachedHandler>) {
        for one in detached {
            let task = self.running.spawn(one.done).id();
            self.detached.insert(task, (one.id, one.name, one.event));
        }
    }

    /// Ends background hooks; each is reported as cancelled.
    pub(crate) async fn end(&mut self) {
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
    pub(crate) async fn next_wake(&mut self) -> HookText {
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
    pub(crate) async fn take_late_texts(&mut self) -> Vec<HookText> {
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
    around: &HandlerEnvironment,
    runner: HookCaller,
    spent: &SpentHandlers,
) -> Arc<Hooks> {
    let program = sys::process::own_binary().unwrap_or_default();
    Arc::new(Hooks::new(catalogue, around.clone(), Arc::new(runner), program).with_spent(spent))
}

impl SessionIo {
    /// Runs the handlers of an event and applies what all events have in common: messages, broken hooks, background
    /// hooks.
    pub(crate) async fn fire<E: HookEvent>(&mut self, event: &E, scope: HookScope<'_>) -> MergedAnswer {
        self.refresh_host_hooks();
        if !self.hooks.listens(E::EVENT) {
            return MergedAnswer::default();
        }
        let merged = self.run_event(event, scope).await;
        self.apply_hook_results(merged, scope.tool.map(|tool| tool.id)).await
    }

    /// Applies the hooks that the host registered meanwhile.
    pub(crate) fn refresh_host_hooks(&mut self) {
        if !Arc::ptr_eq(&self.hooks.host_matchers, &self.hooks.callers.host.declared()) {
            self.hooks.rebuild(&self.watch);
        }
    }

    /// Runs the handlers of an event; the caller applies the result.
    async fn run_event<E: HookEvent>(&self, event: &E, scope: HookScope<'_>) -> MergedAnswer {
        if !self.hooks.listens(E::EVENT) {
            return MergedAnswer::default();
        }
        let base = self.hook_base(E::EVENT);
        let cwd = self.workspace().cwd;
        let hooks = Arc::clone(&self.hooks.current);
        let env_file = self.hooks.env_files.as_ref().and_then(|files| files.of(E::EVENT));
        let nothing = |_: &str| true;
        let occasion = HookOccasion {
            base: &base,
            cwd: &cwd,
            env_file: env_file.as_deref(),
            tool_use_id: scope.tool.map(|tool| tool.id),
            tool_input: scope.tool.map(|tool| tool.input),
            condition: scope.tool.map_or(&nothing, |tool| tool.condition),
            limit: scope.limit,
            cancel: scope.cancel,
            progress: &self.hooks.reporter,
        };
        Box::pin(hooks.fire(event, &occasion)).await
    }

    /// Runs the handlers of an event in the background; the result is ignored.
    pub(crate) fn observe<E: HookEvent + Send + 'static>(&mut self, event: E) {
        self.observe_after(Duration::ZERO, event);
    }

    /// Runs notification hooks when a question stays open for `NOTIFICATION_DELAY`. Dropping the guard cancels it.
    pub(crate) fn notify_of_question(&mut self, tool: &str) -> Option<PendingNotification> {
        if self.env.is_on("CLAUDE_CODE_DISABLE_PERMISSION_PROMPT_NOTIFY_HOOKS") {
            return None;
        }
        let event = Notification {
            message: format!("gimlet needs your permission to use {tool}"),
            title: None,
            notification_type: "permission_prompt".into(),
        };
        self.observe_after(NOTIFICATION_DELAY, event).map(PendingNotification)
    }

    /// The text to show instead of `text`; `None` when no hook replaces it or one fails.
    pub(crate) async fn replace_display(
        &self,
        message_id: &str,
        text: &str,
        token: &CancellationToken,
    ) -> Option<String> {
        if !self.watches_display() {
            return None;
        }
        let event = MessageDisplay {
            turn_id: self.transcript.prompt_id().unwrap_or_default().to_owned(),
            message_id: message_id.to_owned(),
            index: 0,
            r#final: true,
            delta: text.to_owned(),
        };
        let scope = HookScope { limit: Some(DISPLAY_TIMEOUT), ..HookScope::new(token) };
        self.run_event(&event, scope).await.display
    }

    pub(crate) fn watches_display(&self) -> bool {
        self.host.agent_id().is_none() && self.hooks.listens(HookEventName::MessageDisplay)
    }

    /// Runs notification hooks because the host has notified its user.
    pub(crate) fn notify(&mut self, notice: wire::control::NotifyRequest) {
        let wire::control::NotifyRequest { notification_type, message } = notice;
        self.observe(Notification { message, title: None, notification_type });
    }

    fn observe_after<E: HookEvent + Send + 'static>(&mut self, delay: Duration, event: E) -> Option<AbortHandle> {
        if !self.hooks.listens(E::EVENT) {
            return None;
        }
        let base = self.hook_base(E::EVENT);
        let cwd = self.workspace().cwd;
        let hooks = Arc::clone(&self.hooks.current);
        let listener = self.hooks.reporter.clone();
        let observing = async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let occasion = HookOccasion {
                base: &base,
                cwd: &cwd,
                env_file: None,
                tool_use_id: None,
                tool_input: None,
                condition: &|_| true,
                limit: None,
                cancel: &CancellationToken::new(),
                progress: &listener,
            };
            let merged = hooks.fire(&event, &occasion).await;
            for sequence in merged.sequences {
                listener.host.event(Event::Aside(ScreenEvent::Sequence(sequence))).await;
            }
            for problem in merged.problems {
                tracing::warn!(%problem, "a hook failed");
            }
        };
        Some(self.hooks.observers.spawn(observing))
    }

    /// For elicitations, which arrive while calls run: the current hooks; `None` when none handles elicitations.
    pub(crate) fn hook_trigger(&self) -> Option<HookTrigger> {
        let listens = |event| self.hooks.listens(event);
        (listens(HookEventName::Elicitation) || listens(HookEventName::ElicitationResult)).then(|| HookTrigger {
            hooks: Arc::clone(&self.hooks.current),
            base: self.hook_base(HookEventName::Elicitation),
            cwd: self.workspace().cwd,
            progress: Arc::new(self.hooks.reporter.clone()),
        })
    }

    async fn apply_hook_results(&mut self, mut merged: MergedAnswer, tool_use_id: Option<&str>) -> MergedAnswer {
        self.hooks.track_detached(std::mem::take(&mut merged.detached));
        self.hooks.runs.extend(runs::lines(&merged, tool_use_id));
        for message in std::mem::take(&mut merged.messages) {
            let content = bounded(&message.text, &self.state.facts.session_dir);
            self.host.system(SystemBody::Informational { content, level: "warning" }).await;
        }
        for sequence in std::mem::take(&mut merged.sequences) {
            self.host.event(Event::Aside(ScreenEvent::Sequence(sequence))).await;
        }
        for problem in &merged.problems {
            let output = merged.reports.iter().find(|r| r.description == problem.description && r.name == problem.hook);
            self.hooks.report_problem(problem, output).await;
        }
        for context in &mut merged.contexts {
            context.text = bounded(&context.text, &self.state.facts.session_dir);
        }
        if let Some(reason) = merged.stop.clone() {
            self.hooks.stop.get_or_insert(reason);
        }
        merged
    }

    fn hook_base(&self, event: HookEventName) -> HookBase {
        let quiet = matches!(
            event,
            HookEventName::SessionStart
                | HookEventName::SessionEnd
                | HookEventName::Setup
                | HookEventName::SubagentStart
        );
        let with_effort = event.is_tool_event()
            || matches!(event, HookEventName::Stop | HookEventName::SubagentStop | HookEventName::PostToolBatch);
        let agent = self.hooks.agent.as_ref();
        let transcript = agent.map_or_else(|| self.transcript.transcript().path(), |agent| &agent.transcript);
        let level = self.state.facts.effort.clone().filter(|_| with_effort);
        HookBase {
            session_id: self.host.session_id.clone(),
            transcript_path: transcript.display().to_string(),
            cwd: self.workspace().cwd.display().to_string(),
            prompt_id: self.transcript.prompt_id().map(str::to_owned),
            permission_mode: (!quiet).then(|| self.mode.as_str()),
            effort: level.map(|level| HookEffort { level }),
            agent_id: agent.map(|agent| agent.id.clone()),
            agent_type: agent.map(|agent| agent.kind.clone()).or_else(|| self.hooks.own_hooks.runs_as.clone()),
        }
    }
}

impl SessionHooks {
    /// Reports each hook and failure once: a hook that fails at every call must not fill the conversation.
    async fn report_problem(&mut self, problem: &hooks::HookProblem, report: Option<&HookReport>) {
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

/// The text within its limit; a longer one is saved to a file, and the result is its beginning and the path.
fn bounded(text: &str, session_dir: &std::path::Path) -> String {
    if text.chars().count() <= CONTEXT_LIMIT {
        return text.to_owned();
    }
    let preview: String = text.chars().take(PREVIEW_CHARS).collect();
    let dir = session_dir.join("hook-outputs");
    let path = dir.join(format!("{}.txt", sys::id::uuid()));
    let saved = std::fs::create_dir_all(&dir).and_then(|()| sys::fs::atomic_write(&path, text.as_bytes(), 0o600));
    match saved {
        Ok(()) => format!("{preview}\n… [The whole text is in {}]", path.display()),
        Err(error) => format!("{preview}\n… [The rest was cut: it could not be saved ({error})]"),
    }
}
