//! Hooks as the session fires them: builds the payload, tells the host about every run, reports a broken hook once, keeps
//! what the model is to read until it can stand beside the conversation, and owns the hooks that run beside it. One method
//! per moment; an event nobody listens to costs one look.

mod callers;
mod calls;
mod commands;
mod declared;
mod host;
mod listener;
mod mcp_tool;
mod runs;
mod seed;
mod session;
mod tasks;
mod watch;
mod worktrees;

pub(crate) use calls::{Batched, Before, Ruling, Word};
pub(crate) use commands::Expansion;
pub(crate) use declared::{Own, helper, with_own};
pub use declared::{Reduced, catalogue};
pub(crate) use host::HostHooks;
pub(crate) use mcp_tool::{Patience, ServerTools, ToolCall};
pub(crate) use seed::{Fresh, Seed};
pub(crate) use session::{Moment, PromptSays, StopSays, StopState};

use crate::agents::Spawner;
use crate::command::{Aside, Event};
use crate::host::Host;
use crate::reload::Watch;
use crate::session::Io;
use callers::{Caller, Callers};
use hooks::{AsyncDone, Detached, Hooks, Merged, Occasion, Progress, Report, Spent, Surroundings};
use listener::Listener;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use wire::hooks::{Base, Effort, EventName, HookEvent, MessageDisplay, Notification};
use wire::sdk::SystemBody;

/// Longest text of a hook that goes to the model whole.
const CONTEXT_LIMIT: usize = 10_000;
const PREVIEW: usize = 2_000;
/// How long observers may take after the end of the session.
const OBSERVERS_GRACE: Duration = Duration::from_millis(1500);
/// How long a text waits for the hooks that may have it shown otherwise.
const DISPLAY_PATIENCE: Duration = Duration::from_secs(10);
/// How long a question stays open before somebody is notified.
const QUESTION_PATIENCE: Duration = Duration::from_secs(6);
/// Shown of a broken hook's output.
const SHOWN_OUTPUT: usize = 2_000;

/// Fires events beside the turn, or before there is one.
#[derive(Clone)]
pub(crate) struct Bell {
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) base: Base,
    pub(crate) cwd: PathBuf,
    pub(crate) progress: Arc<dyn Progress>,
}

impl Bell {
    pub(crate) async fn ring<E: HookEvent>(&self, event: &E) -> Merged {
        let occasion = Occasion {
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
pub(crate) struct Hooking {
    pub current: Arc<Hooks>,
    callers: Arc<Callers>,
    around: Surroundings,
    listener: Listener,
    /// Problems the user already heard of.
    told: BTreeSet<String>,
    running: JoinSet<AsyncDone>,
    /// By task: what a cancelled run is reported as.
    detached: BTreeMap<tokio::task::Id, (String, String, EventName)>,
    observers: JoinSet<()>,
    /// A handler said `continue: false`.
    pub stop: Option<String>,
    /// What the model is to read once the results of the batch stand.
    pub beside: Vec<Beside>,
    /// `attachment` objects of runs that are not in the transcript yet.
    pub runs: Vec<Box<RawValue>>,
    /// Texts of hooks that ended beside the session.
    later: Vec<Beside>,
    /// The same, for an idle session too.
    woken: VecDeque<Beside>,
    /// Inputs a hook rewrote, by call.
    rewritten: BTreeMap<String, Box<RawValue>>,
    watched: watch::Watched,
    agent: Option<Agent>,
    own: Own,
    spent: Spent,
    spawner: Weak<Spawner>,
    /// What of the host is in force.
    of_host: Arc<host::Declared>,
    /// How many background tasks had ended when settings were last looked at.
    ended_tasks: usize,
    pub env_files: Option<watch::EnvFiles>,
}

/// What `Hooking` is made of.
pub(crate) struct Parts {
    pub catalogue: hooks::Catalogue,
    pub around: Surroundings,
    pub callers: Callers,
    pub host: Host,
    /// `--include-hook-events`
    pub all_events: bool,
    pub env_files: Option<watch::EnvFiles>,
    pub cwd: PathBuf,
    pub own: Own,
    pub spawner: Weak<Spawner>,
}

pub(crate) use callers::Callers as HookCallers;
pub(crate) use watch::EnvFiles;
pub(crate) use worktrees::runner_before;

/// A subagent, as its hooks are told of it.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub id: String,
    pub kind: String,
    /// The file of the main session.
    pub transcript: PathBuf,
}

/// A text of a hook for the model, and its transcript line.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    pub kind: BesideKind,
    pub hook: String,
    pub event: EventName,
    pub tool_use_id: Option<String>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BesideKind {
    Context,
    /// A reason to object to what was done.
    Feedback,
}

impl Beside {
    /// The `attachment` object: a resumed request has the same bytes.
    pub(crate) fn attachment(&self) -> Option<Box<RawValue>> {
        let kind = match self.kind {
            BesideKind::Context => "hook_additional_context",
            BesideKind::Feedback => "hook_blocking_error",
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
            BesideKind::Context => crate::prompts::hook_context(&self.hook, &self.text),
            BesideKind::Feedback => crate::prompts::hook_feedback(&self.hook, &self.text),
        }
    }
}

/// A notification that is not due yet.
pub(crate) struct Pending(AbortHandle);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What an event is about, besides its payload.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
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

impl<'a> Scope<'a> {
    pub(crate) fn new(cancel: &'a CancellationToken) -> Self {
        Self { cancel, tool: None, limit: None }
    }
}

impl Hooking {
    /// The definition the main thread runs as.
    pub(crate) fn runs_as(&self) -> Option<String> {
        self.own.runs_as.clone()
    }

    /// Declarations besides those of the settings: of the definition the session runs as, and of invoked skills.
    pub(crate) fn own_layers(&self) -> Vec<::hooks::Layer> {
        self.own.layers.clone()
    }

    pub(crate) fn new(parts: Parts) -> Self {
        let callers = Arc::new(parts.callers);
        let spent = Spent::default();
        let of_host = callers.host.declared();
        let runner = Caller { shared: Arc::clone(&callers), spawner: Weak::clone(&parts.spawner) };
        Self {
            current: assemble(parts.catalogue, &parts.around, runner, &spent),
            callers,
            around: parts.around,
            listener: Listener { host: parts.host, all: parts.all_events },
            told: BTreeSet::new(),
            running: JoinSet::new(),
            detached: BTreeMap::new(),
            observers: JoinSet::new(),
            stop: None,
            beside: Vec::new(),
            runs: Vec::new(),
            later: Vec::new(),
            woken: VecDeque::new(),
            rewritten: BTreeMap::new(),
            watched: watch::Watched::new(parts.cwd),
            agent: None,
            own: parts.own,
            of_host,
            spent,
            spawner: parts.spawner,
            ended_tasks: 0,
            env_files: parts.env_files,
        }
    }

    /// Another conversation begins: what was kept for the old one is not told any more.
    pub(crate) fn begin_session(&mut self, id: &str) {
        for (name, value) in &mut self.around.env {
            if name == "CLAUDE_CODE_SESSION_ID" {
                *value = id.into();
            }
        }
        self.current = assemble(self.current.catalogue().clone(), &self.around, self.runner(), &self.spent);
        self.beside.clear();
        self.runs.clear();
        self.later.clear();
        self.woken.clear();
        self.rewritten.clear();
        self.stop = None;
    }

    /// What the hooks of an agent are made from.
    pub(crate) fn seed(&self) -> Seed {
        Seed {
            current: Arc::clone(&self.current),
            callers: Arc::clone(&self.callers),
            around: self.around.clone(),
            listener: self.listener.clone(),
            told: self.told.clone(),
            env_files: self.env_files.clone(),
            own: self.own.clone(),
            of_host: Arc::clone(&self.of_host),
            spent: self.spent.clone(),
        }
    }

    pub(crate) fn listens(&self, event: EventName) -> bool {
        self.current.listens(event)
    }

    /// Which definition the session runs as, whether an agent or the main thread.
    pub(crate) fn speaks_as(&self) -> Option<String> {
        self.agent.as_ref().map(|agent| agent.kind.clone()).or_else(|| self.own.runs_as.clone())
    }

    /// The agent whose hooks these are.
    pub(crate) fn agent(&self) -> Option<&Agent> {
        self.agent.as_ref()
    }

    /// Other declarations are in force.
    pub(crate) fn renew(&mut self, watch: &Watch) {
        self.watched.forget();
        self.of_host = self.callers.host.declared();
        self.own.host = self.callers.host.layer();
        let (catalogue, limits) = declared::with_own(&watch.loaded, watch.reduced, &self.own);
        self.callers.set_limits(limits);
        self.current = assemble(catalogue, &self.around, self.runner(), &self.spent);
    }

    fn runner(&self) -> Caller {
        Caller { shared: Arc::clone(&self.callers), spawner: Weak::clone(&self.spawner) }
    }

    /// Hooks that stand beside the settings from now on: those of a skill that was invoked.
    pub(crate) fn add(&mut self, layer: hooks::Layer, watch: &Watch) {
        if self.own.add(layer) {
            self.renew(watch);
        }
    }

    /// These are the hooks of an agent that hooks asked. No model is asked about its work.
    pub(crate) fn leave_out_models(&mut self, watch: &Watch) {
        self.own.is_judge = true;
        self.renew(watch);
    }

    /// Whether agents may be started to judge something.
    pub(crate) fn ask_agents(&self) -> bool {
        self.current.catalogue().iter().any(|entry| matches!(entry.handler.kind, hooks::Kind::Agent(_)))
    }

    fn adopt(&mut self, detached: Vec<Detached>) {
        for one in detached {
            let task = self.running.spawn(one.done).id();
            self.detached.insert(task, (one.id, one.name, one.event));
        }
    }

    /// Ends what runs beside the session; each is reported as cancelled.
    pub(crate) async fn end(&mut self) {
        let seen = async { while self.observers.join_next().await.is_some() {} };
        if tokio::time::timeout(OBSERVERS_GRACE, seen).await.is_err() {
            self.observers.shutdown().await;
        }
        self.running.shutdown().await;
        for (id, name, event) in std::mem::take(&mut self.detached).into_values() {
            self.listener.finished(&id, &name, event, None).await;
        }
    }

    fn take_done(&mut self, task: tokio::task::Id, done: AsyncDone) -> Report {
        self.detached.remove(&task);
        let AsyncDone { report, texts, wake } = done;
        let beside = |text: String| Beside {
            kind: BesideKind::Context,
            hook: report.name.clone(),
            event: report.event,
            tool_use_id: None,
            text,
        };
        self.later.extend(texts.into_iter().map(beside));
        self.woken.extend(wake.map(|text| Beside { kind: BesideKind::Feedback, ..beside(text) }));
        report
    }

    /// Waits for a hook beside the session that wants the model's attention. Never ends without one.
    pub(crate) async fn next_wake(&mut self) -> Beside {
        loop {
            if let Some(wake) = self.woken.pop_front() {
                return wake;
            }
            let Some(ended) = self.running.join_next_with_id().await else { return std::future::pending().await };
            let Ok((task, done)) = ended else { continue };
            let report = self.take_done(task, done);
            self.listener.report(&report).await;
        }
    }

    /// What hooks beside the session left for the model since the last request.
    pub(crate) async fn take_later(&mut self) -> Vec<Beside> {
        while let Some(ended) = self.running.try_join_next_with_id() {
            let Ok((task, done)) = ended else { continue };
            let report = self.take_done(task, done);
            self.listener.report(&report).await;
        }
        let mut all = std::mem::take(&mut self.later);
        all.extend(self.woken.drain(..));
        all
    }
}

fn assemble(catalogue: hooks::Catalogue, around: &Surroundings, runner: Caller, spent: &Spent) -> Arc<Hooks> {
    let program = sys::process::own_binary().unwrap_or_default();
    Arc::new(Hooks::new(catalogue, around.clone(), Arc::new(runner), program).remembering(spent))
}

impl Io {
    /// Fires an event and settles what is the same for all of them: messages, broken hooks, hooks that run on.
    pub(crate) async fn fire<E: HookEvent>(&mut self, event: &E, scope: Scope<'_>) -> Merged {
        self.renew_host_hooks();
        if !self.hooks.listens(E::EVENT) {
            return Merged::default();
        }
        let merged = self.raise(event, scope).await;
        self.settle_hooks(merged, scope.tool.map(|tool| tool.id)).await
    }

    /// What the host registered counts from the next event on.
    pub(crate) fn renew_host_hooks(&mut self) {
        if !Arc::ptr_eq(&self.hooks.of_host, &self.hooks.callers.host.declared()) {
            self.hooks.renew(&self.watch);
        }
    }

    /// Fires an event; what it came to is still to be settled.
    async fn raise<E: HookEvent>(&self, event: &E, scope: Scope<'_>) -> Merged {
        if !self.hooks.listens(E::EVENT) {
            return Merged::default();
        }
        let base = self.hook_base(E::EVENT);
        let cwd = self.workspace().cwd;
        let hooks = Arc::clone(&self.hooks.current);
        let env_file = self.hooks.env_files.as_ref().and_then(|files| files.of(E::EVENT));
        let nothing = |_: &str| true;
        let occasion = Occasion {
            base: &base,
            cwd: &cwd,
            env_file: env_file.as_deref(),
            tool_use_id: scope.tool.map(|tool| tool.id),
            tool_input: scope.tool.map(|tool| tool.input),
            condition: scope.tool.map_or(&nothing, |tool| tool.condition),
            limit: scope.limit,
            cancel: scope.cancel,
            progress: &self.hooks.listener,
        };
        Box::pin(hooks.fire(event, &occasion)).await
    }

    /// As an observer: nobody waits for it and nothing comes of it.
    pub(crate) fn observe<E: HookEvent + Send + 'static>(&mut self, event: E) {
        self.observe_after(Duration::ZERO, event);
    }

    /// Notification, when a question stays open for some seconds. Dropping the guard takes it back.
    pub(crate) fn notify_of_question(&mut self, tool: &str) -> Option<Pending> {
        if self.env.is_on("CLAUDE_CODE_DISABLE_PERMISSION_PROMPT_NOTIFY_HOOKS") {
            return None;
        }
        let event = Notification {
            message: format!("gimlet needs your permission to use {tool}"),
            title: None,
            notification_type: "permission_prompt".into(),
        };
        self.observe_after(QUESTION_PATIENCE, event).map(Pending)
    }

    /// What is shown in the place of a text, when a hook wants that. One that fails changes nothing.
    pub(crate) async fn displayed(&self, message_id: &str, text: &str, token: &CancellationToken) -> Option<String> {
        if !self.watches_display() {
            return None;
        }
        let event = MessageDisplay {
            turn_id: self.scribe.prompt_id().unwrap_or_default().to_owned(),
            message_id: message_id.to_owned(),
            index: 0,
            r#final: true,
            delta: text.to_owned(),
        };
        let scope = Scope { limit: Some(DISPLAY_PATIENCE), ..Scope::new(token) };
        self.raise(&event, scope).await.display
    }

    pub(crate) fn watches_display(&self) -> bool {
        self.host.agent_id().is_none() && self.hooks.listens(EventName::MessageDisplay)
    }

    /// Notification, because the host has told its person something.
    pub(crate) fn notify(&mut self, notice: wire::control::Notify) {
        let wire::control::Notify { notification_type, message } = notice;
        self.observe(Notification { message, title: None, notification_type });
    }

    fn observe_after<E: HookEvent + Send + 'static>(&mut self, delay: Duration, event: E) -> Option<AbortHandle> {
        if !self.hooks.listens(E::EVENT) {
            return None;
        }
        let base = self.hook_base(E::EVENT);
        let cwd = self.workspace().cwd;
        let hooks = Arc::clone(&self.hooks.current);
        let listener = self.hooks.listener.clone();
        let observing = async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let occasion = Occasion {
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
                listener.host.event(Event::Aside(Aside::Sequence(sequence))).await;
            }
            for problem in merged.problems {
                tracing::warn!(%problem, "a hook failed");
            }
        };
        Some(self.hooks.observers.spawn(observing))
    }

    /// For elicitations, which come while calls run: the hooks as they are now, when one listens.
    pub(crate) fn bell(&self) -> Option<Bell> {
        let listens = |event| self.hooks.listens(event);
        (listens(EventName::Elicitation) || listens(EventName::ElicitationResult)).then(|| Bell {
            hooks: Arc::clone(&self.hooks.current),
            base: self.hook_base(EventName::Elicitation),
            cwd: self.workspace().cwd,
            progress: Arc::new(self.hooks.listener.clone()),
        })
    }

    async fn settle_hooks(&mut self, mut merged: Merged, tool_use_id: Option<&str>) -> Merged {
        self.hooks.adopt(std::mem::take(&mut merged.detached));
        self.hooks.runs.extend(runs::lines(&merged, tool_use_id));
        for message in std::mem::take(&mut merged.messages) {
            let content = bounded(&message.text, &self.state.facts.session_dir);
            self.host.system(SystemBody::Informational { content, level: "warning" }).await;
        }
        for sequence in std::mem::take(&mut merged.sequences) {
            self.host.event(Event::Aside(Aside::Sequence(sequence))).await;
        }
        for problem in &merged.problems {
            let output = merged.reports.iter().find(|r| r.what == problem.what && r.name == problem.hook);
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

    fn hook_base(&self, event: EventName) -> Base {
        let quiet = matches!(
            event,
            EventName::SessionStart | EventName::SessionEnd | EventName::Setup | EventName::SubagentStart
        );
        let with_effort = event.is_tool_event()
            || matches!(event, EventName::Stop | EventName::SubagentStop | EventName::PostToolBatch);
        let agent = self.hooks.agent.as_ref();
        let transcript = agent.map_or_else(|| self.scribe.transcript().path(), |agent| &agent.transcript);
        let level = self.state.facts.effort.clone().filter(|_| with_effort);
        Base {
            session_id: self.host.session_id.clone(),
            transcript_path: transcript.display().to_string(),
            cwd: self.workspace().cwd.display().to_string(),
            prompt_id: self.scribe.prompt_id().map(str::to_owned),
            permission_mode: (!quiet).then(|| self.mode.as_str()),
            effort: level.map(|level| Effort { level }),
            agent_id: agent.map(|agent| agent.id.clone()),
            agent_type: agent.map(|agent| agent.kind.clone()).or_else(|| self.hooks.own.runs_as.clone()),
        }
    }
}

impl Hooking {
    /// Once per hook and failure: a hook that breaks at every call must not bury the conversation.
    async fn report_problem(&mut self, problem: &hooks::Problem, report: Option<&Report>) {
        let text = problem.to_string();
        tracing::warn!(text, "a hook failed");
        if !self.told.insert(format!("{}\0{}", problem.what, problem.hook)) {
            return;
        }
        let output = report.map(|r| format!("{}\n{}", r.stderr.trim(), r.stdout.trim()).trim().to_owned());
        let output = output.filter(|output| output.contains('\n'));
        let shown =
            output.map(|o| format!("\n{}", o.chars().take(SHOWN_OUTPUT).collect::<String>())).unwrap_or_default();
        let content = format!("{text}{shown}");
        self.listener.host.system(SystemBody::Informational { content: content.clone(), level: "warning" }).await;
        self.listener.host.notice(format!("Warning: {content}")).await;
    }
}

/// A text within its limit; what is too long goes to a file, and the model gets its beginning and the path.
fn bounded(text: &str, session_dir: &std::path::Path) -> String {
    if text.chars().count() <= CONTEXT_LIMIT {
        return text.to_owned();
    }
    let preview: String = text.chars().take(PREVIEW).collect();
    let dir = session_dir.join("hook-outputs");
    let path = dir.join(format!("{}.txt", sys::id::uuid()));
    let saved = std::fs::create_dir_all(&dir).and_then(|()| sys::fs::atomic_write(&path, text.as_bytes(), 0o600));
    match saved {
        Ok(()) => format!("{preview}\n… [The whole text is in {}]", path.display()),
        Err(error) => format!("{preview}\n… [The rest was cut: it could not be saved ({error})]"),
    }
}
