//! Fires an event: finds the handlers, runs all of them at the same time, waits for all of them, merges their answers.
//! An interrupt drops the handlers that still run, which kills them.

use crate::answer::{self, HandlerResult};
use crate::catalogue::{HookCatalogue, HookEntry};
use crate::command::{self, HandlerEnvironment, HandlerStart};
use crate::declaration::{HandlerDetachment, HandlerKind, HookOrigin};
use crate::merge::{AnswerMerger, HookProblem, MergedAnswer};
use futures_util::future::{BoxFuture, join_all};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::sync::Mutex;
use tokio_util::sync::CancellationToken;
use wire::hooks::{HookBase, HookEvent, HookEventName};

/// Default time limits of handlers that ask a model or the host.
const PROMPT_LIMIT: Duration = Duration::from_secs(30);
const MINUTE: Duration = Duration::from_mins(1);

/// Runs the handlers this crate does not run itself: HTTP, prompt, agent, MCP tool and host handlers.
pub trait HandlerRunner: Send + Sync {
    /// Must end soon after it is dropped; the caller enforces the time limit.
    fn run(&self, job: HandlerJob) -> BoxFuture<'_, HandlerResult>;
}

/// One run of a handler that is not a command.
#[derive(Clone, Debug)]
pub struct HandlerJob {
    pub entry: Arc<HookEntry>,
    pub payload: Arc<str>,
    pub tool_use_id: Option<String>,
    pub timeout: Duration,
}

/// Receives the start and end of every run.
pub trait HookProgress: Send + Sync {
    fn send_progress(&self, news: HookLifecycle) -> BoxFuture<'_, ()>;
}

#[derive(Clone, Debug)]
pub enum HookLifecycle {
    Started { id: String, name: String, event: HookEventName, status_message: Option<String> },
    Finished(HookReport),
}

/// Discards all progress messages.
pub struct SilentProgress;

impl HookProgress for SilentProgress {
    fn send_progress(&self, _: HookLifecycle) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOutcome {
    Success,
    Error,
    Cancelled,
}

impl HookOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One finished run.
#[derive(Clone, Debug)]
pub struct HookReport {
    pub id: String,
    /// `PreToolUse:Bash`
    pub name: String,
    pub event: HookEventName,
    /// The handler's command, address or prompt.
    pub description: String,
    pub stdout: String,
    pub stderr: String,
    pub exit_code: Option<i32>,
    pub outcome: HookOutcome,
    pub duration_ms: u64,
    /// True when the handler has a status message that is shown while it runs.
    pub had_status: bool,
}

/// The circumstances of one event.
pub struct HookOccasion<'a> {
    pub base: &'a HookBase,
    pub cwd: &'a Path,
    /// `CLAUDE_ENV_FILE`, for events that have one.
    pub env_file: Option<&'a Path>,
    pub tool_use_id: Option<&'a str>,
    /// The call's input before any rewrite.
    pub tool_input: Option<&'a Value>,
    /// Tests whether the call matches the rule of an `if`.
    pub condition: &'a (dyn Fn(&str) -> bool + Sync),
    /// A time limit for every handler, in addition to the handler's limit. `None`: no additional limit.
    pub limit: Option<Duration>,
    pub cancel: &'a CancellationToken,
    pub progress: &'a dyn HookProgress,
}

/// A handler that runs while the session continues. The owner must poll `done`; dropping it kills the process.
pub struct DetachedHandler {
    pub id: String,
    pub name: String,
    pub event: HookEventName,
    pub done: BoxFuture<'static, AsyncDone>,
}

/// The result of a detached handler.
#[derive(Debug)]
pub struct AsyncDone {
    pub report: HookReport,
    /// Texts for the model's next request.
    pub texts: Vec<String>,
    /// Text for the model that starts a request at once; `None` does not wake it.
    pub wake: Option<String>,
}

/// The current hooks of a session.
pub struct Hooks {
    catalogue: Arc<HookCatalogue>,
    around: Arc<HandlerEnvironment>,
    runner: Arc<dyn HandlerRunner>,
    /// The gimlet binary, for patterns that need a process.
    program: PathBuf,
    spent: SpentHandlers,
}

/// The `once` handlers that have succeeded in this session.
#[derive(Clone, Debug, Default)]
pub struct SpentHandlers(Arc<Mutex<BTreeSet<String>>>);

impl SpentHandlers {
    fn add(&self, entry: &HookEntry) {
        self.0.lock().insert(entry.key());
    }

    fn has(&self, entry: &HookEntry) -> bool {
        is_once(entry) && self.0.lock().contains(&entry.key())
    }
}

/// True for `once` handlers; only skills can declare them.
fn is_once(entry: &HookEntry) -> bool {
    entry.handler.once && matches!(entry.origin, HookOrigin::Skill { .. })
}

impl Hooks {
    pub fn new(
        catalogue: HookCatalogue,
        around: HandlerEnvironment,
        runner: Arc<dyn HandlerRunner>,
        program: PathBuf,
    ) -> Self {
        let catalogue = Arc::new(catalogue);
        Self { catalogue, around: Arc::new(around), runner, program, spent: SpentHandlers::default() }
    }

    /// Takes over the record of `once` handlers from before the declarations were read again.
    #[must_use]
    pub fn with_spent(self, spent: &SpentHandlers) -> Self {
        Self { spent: spent.clone(), ..self }
    }

    /// The same hooks with another runner.
    #[must_use]
    pub fn run_by(&self, runner: Arc<dyn HandlerRunner>) -> Self {
        Self {
            catalogue: Arc::clone(&self.catalogue),
            around: Arc::clone(&self.around),
            runner,
            program: self.program.clone(),
            spent: self.spent.clone(),
        }
    }

    pub fn catalogue(&self) -> &HookCatalogue {
        &self.catalogue
    }

    /// True when the event has handlers. This check is the only cost of an event without handlers.
    pub fn has_handlers(&self, event: HookEventName) -> bool {
        !self.catalogue.of(event).is_empty()
    }

    pub async fn fire<E: HookEvent>(&self, event: &E, at: &HookOccasion<'_>) -> MergedAnswer {
        if !self.has_handlers(E::EVENT) {
            return MergedAnswer::default();
        }
        let payload = match wire::hooks::payload(at.base, event) {
            Ok(payload) => payload,
            Err(error) => {
                tracing::error!(%error, event = E::EVENT.as_str(), "a hook payload could not be written");
                return MergedAnswer::default();
            }
        };
        self.fire_raw(E::EVENT, event.subject(), &payload, at).await
    }

    /// Like `fire`, with a payload that is already serialised.
    pub async fn fire_raw(
        &self,
        event: HookEventName,
        subject: Option<&str>,
        payload: &str,
        at: &HookOccasion<'_>,
    ) -> MergedAnswer {
        let mut merged = MergedAnswer::default();
        let chosen = self.choose(event, subject, at, &mut merged.problems).await;
        if chosen.is_empty() {
            return merged;
        }
        let payload: Arc<str> = payload.into();
        let name = subject.map_or_else(|| event.as_str().to_owned(), |subject| format!("{}:{subject}", event.as_str()));
        let (detached, awaited): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|entry| is_detached(entry));
        for entry in detached {
            merged.detached.push(self.detach(&entry, &name, &payload, at).await);
        }
        let runs = awaited.iter().map(|entry| self.run(entry, &name, &payload, at));
        let done = join_all(runs).await;
        let mut joining = AnswerMerger { event, original: at.tool_input, merged, rewrites: Vec::new() };
        for (entry, (report, answer)) in awaited.iter().zip(done) {
            if is_once(entry) && report.outcome == HookOutcome::Success {
                self.spent.add(entry);
            }
            joining.add(entry, report, answer);
        }
        joining.finish()
    }

    async fn choose(
        &self,
        event: HookEventName,
        subject: Option<&str>,
        at: &HookOccasion<'_>,
        problems: &mut Vec<HookProblem>,
    ) -> Vec<Arc<HookEntry>> {
        let mut chosen: Vec<Arc<HookEntry>> = Vec::new();
        for entry in self.catalogue.of(event) {
            if self.spent.has(entry)
                || is_called_already(entry, &chosen)
                || !self.matches(entry, subject, problems).await
            {
                continue;
            }
            if entry.handler.condition.as_deref().is_some_and(|rule| !(at.condition)(rule)) {
                continue;
            }
            chosen.push(Arc::clone(entry));
        }
        tracing::debug!(event = event.as_str(), subject, matched = chosen.len(), "hooks");
        chosen
    }

    async fn matches(&self, entry: &HookEntry, subject: Option<&str>, problems: &mut Vec<HookProblem>) -> bool {
        let pattern = match entry.matcher.matches(subject) {
            Ok(answer) => return answer,
            Err(pattern) => pattern,
        };
        match pattern.ask(subject.unwrap_or_default(), &self.program).await {
            Ok(answer) => answer,
            Err(why) => {
                problems.push(HookProblem {
                    hook: entry.event.as_str().to_owned(),
                    description: entry.handler.kind.text(),
                    source: entry.origin.label(),
                    text: format!("matcher {:?} {why}", pattern.text()),
                });
                false
            }
        }
    }

    async fn run(
        &self,
        entry: &Arc<HookEntry>,
        name: &str,
        payload: &Arc<str>,
        at: &HookOccasion<'_>,
    ) -> (HookReport, answer::HookAnswer) {
        let id = sys::id::uuid();
        at.progress.send_progress(started(&id, name, entry)).await;
        let since = Instant::now();
        let limit = limit(entry);
        let limit = at.limit.map_or(limit, |most| most.min(limit));
        let ran = tokio::select! {
            biased;
            () = at.cancel.cancelled() => HandlerResult::Cancelled,
            ran = self.execute(entry, payload, at, limit) => ran,
        };
        let answer = answer::read(entry.event, &entry.handler.kind, &ran);
        let report = report(id, name, entry, &ran, &answer, since);
        tracing::debug!(
            hook = name,
            what = report.description,
            code = report.exit_code,
            outcome = report.outcome.as_str(),
            stdout = report.stdout,
            stderr = report.stderr,
            ms = report.duration_ms,
            "hook ended"
        );
        at.progress.send_progress(HookLifecycle::Finished(report.clone())).await;
        (report, answer)
    }

    async fn execute(
        &self,
        entry: &Arc<HookEntry>,
        payload: &Arc<str>,
        at: &HookOccasion<'_>,
        limit: Duration,
    ) -> HandlerResult {
        if let HandlerKind::Command(command) = &entry.handler.kind {
            let env_file = at.env_file.filter(|_| entry.event.facts().env_file);
            let origin = &entry.origin;
            let start = HandlerStart { command, origin, payload, cwd: at.cwd, env_file, timeout: Some(limit) };
            return command::run(start, &self.around).await;
        }
        let job = HandlerJob {
            entry: Arc::clone(entry),
            payload: Arc::clone(payload),
            tool_use_id: at.tool_use_id.map(str::to_owned),
            timeout: limit,
        };
        match tokio::time::timeout(limit, self.runner.run(job)).await {
            Ok(ran) => ran,
            Err(_) => HandlerResult::TimedOut { after: limit },
        }
    }

    async fn detach(
        &self,
        entry: &Arc<HookEntry>,
        name: &str,
        payload: &Arc<str>,
        at: &HookOccasion<'_>,
    ) -> DetachedHandler {
        let id = sys::id::uuid();
        at.progress.send_progress(started(&id, name, entry)).await;
        let (around, entry, payload) = (Arc::clone(&self.around), Arc::clone(entry), Arc::clone(payload));
        let (cwd, env_file) = (at.cwd.to_path_buf(), at.env_file.map(Path::to_path_buf));
        let (name, event) = (name.to_owned(), entry.event);
        let done = detached(id.clone(), name.clone(), entry, async move |entry: &HookEntry| {
            let HandlerKind::Command(command) = &entry.handler.kind else { return HandlerResult::Cancelled };
            let timeout = (command.detachment == HandlerDetachment::Rewakes).then(|| limit(entry));
            let env_file = env_file.as_deref().filter(|_| entry.event.facts().env_file);
            let start =
                HandlerStart { command, origin: &entry.origin, payload: &payload, cwd: &cwd, env_file, timeout };
            command::run(start, &around).await
        });
        DetachedHandler { id, name, event, done: Box::pin(done) }
    }
}

async fn detached(
    id: String,
    name: String,
    entry: Arc<HookEntry>,
    run: impl AsyncFnOnce(&HookEntry) -> HandlerResult,
) -> AsyncDone {
    let since = Instant::now();
    let ran = run(&entry).await;
    let answer = answer::read(entry.event, &entry.handler.kind, &ran);
    let report = report(id, &name, &entry, &ran, &answer, since);
    let wake = match (&entry.handler.kind, &ran) {
        (HandlerKind::Command(command), HandlerResult::Exited { code: Some(2), stdout, stderr, .. })
            if command.detachment == HandlerDetachment::Rewakes =>
        {
            let said = if stderr.trim().is_empty() { stdout.trim() } else { stderr.trim() };
            Some(command.rewake_message.clone().map_or_else(|| said.to_owned(), |own| format!("{own}\n{said}")))
        }
        _ => None,
    };
    let texts = [answer.context, answer.message].into_iter().flatten().collect();
    AsyncDone { report, texts, wake }
}

/// A callback that a host lists in several groups runs once.
fn is_called_already(entry: &HookEntry, chosen: &[Arc<HookEntry>]) -> bool {
    matches!(entry.handler.kind, HandlerKind::Callback { .. })
        && chosen.iter().any(|other| other.handler.kind == entry.handler.kind)
}

fn is_detached(entry: &HookEntry) -> bool {
    matches!(&entry.handler.kind, HandlerKind::Command(command) if command.detachment != HandlerDetachment::Awaited)
}

fn limit(entry: &HookEntry) -> Duration {
    let default = match entry.handler.kind {
        HandlerKind::Prompt(_) => PROMPT_LIMIT,
        HandlerKind::Agent(_) | HandlerKind::Callback { .. } => MINUTE,
        HandlerKind::Command(_) | HandlerKind::Http(_) | HandlerKind::McpTool(_) => {
            Duration::from_secs(entry.event.facts().timeout.into())
        }
    };
    entry.handler.timeout.unwrap_or(default)
}

fn started(id: &str, name: &str, entry: &HookEntry) -> HookLifecycle {
    HookLifecycle::Started {
        id: id.to_owned(),
        name: name.to_owned(),
        event: entry.event,
        status_message: entry.handler.status_message.clone(),
    }
}

fn report(
    id: String,
    name: &str,
    entry: &HookEntry,
    ran: &HandlerResult,
    answer: &answer::HookAnswer,
    since: Instant,
) -> HookReport {
    let (stdout, stderr, exit_code) = match ran {
        HandlerResult::Exited { code, stdout, stderr, .. } => (stdout.clone(), stderr.clone(), *code),
        HandlerResult::Replied { body } | HandlerResult::Judged { text: body } => (body.clone(), String::new(), None),
        HandlerResult::Failed { why } => (String::new(), why.clone(), None),
        HandlerResult::TimedOut { .. } | HandlerResult::Cancelled | HandlerResult::Superseded => {
            (String::new(), String::new(), None)
        }
    };
    let outcome = match ran {
        HandlerResult::TimedOut { .. } | HandlerResult::Cancelled | HandlerResult::Superseded => HookOutcome::Cancelled,
        _ if answer.problem.is_some() || exit_code == Some(2) => HookOutcome::Error,
        HandlerResult::Exited { .. }
        | HandlerResult::Replied { .. }
        | HandlerResult::Judged { .. }
        | HandlerResult::Failed { .. } => HookOutcome::Success,
    };
    HookReport {
        id,
        name: name.to_owned(),
        event: entry.event,
        description: entry.handler.kind.text(),
        stdout,
        stderr,
        exit_code,
        outcome,
        duration_ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
        had_status: entry.handler.status_message.is_some(),
    }
}

#[cfg(test)]
#[path = "fire_tests.rs"]
mod tests;
