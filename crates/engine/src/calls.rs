//! Runs the calls of one response. Every call gets exactly one result. Shared calls run together, exclusive calls run
//! alone and in the model's order. Results are recorded and sent in call order.

mod advice;
mod finalize;
mod inspect;
pub(crate) mod interact;
mod prepare;
mod undo_capture;

use crate::session::SessionIo;
use crate::session::hooks::FinishedCall;
use futures_util::future::BoxFuture;
use prepare::{CallDraft, CallVerdict, PendingCall, PreparedCall};
use serde_json::value::RawValue;
use session_parts::command::ScreenEvent;
use session_parts::permission_prompt::PermissionReply;
pub(crate) use session_parts::tool_use::ToolUse;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::StoreError;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tools::facts::SiblingFailure;
use tools::{CallConcurrency, CallContext, ToolCall, ToolClass, ToolOutcome};
use wire::hooks::HookEventName;
use wire::sdk::{SdkMessage, ToolProgress};

/// Interval of progress messages for running calls.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// How often a screen is shown what running commands have printed.
pub(crate) const OUTPUT_INTERVAL: Duration = Duration::from_millis(250);

/// The results of a batch of calls.
#[derive(Debug, Default)]
pub(crate) struct BatchReport {
    /// `tool_result` blocks in call order, for the history.
    pub results: Vec<Arc<RawValue>>,
    /// The uuids of their transcript lines.
    pub lines: Vec<String>,
    /// Calls that the person refused: their results are the person's words.
    pub refused: Vec<String>,
    pub all_malformed: bool,
    /// A StructuredOutput call did not match its schema.
    pub output_rejected: bool,
    /// The only call, when a hook deferred it to a later run: it has no result.
    pub deferred: Option<ToolUse>,
}

/// Runs `uses` to their ends. Fails only when the transcript cannot be written. The future has a box without a type: the
/// other crates that await it would contain a copy of all its code otherwise.
pub(crate) fn run<'a>(
    uses: Vec<ToolUse>,
    io: &'a mut SessionIo,
    turn: &'a CancellationToken,
) -> BoxFuture<'a, Result<BatchReport, StoreError>> {
    Box::pin(run_batch(uses, io, turn))
}

async fn run_batch(
    mut uses: Vec<ToolUse>,
    io: &mut SessionIo,
    turn: &CancellationToken,
) -> Result<BatchReport, StoreError> {
    let size = uses.len();
    for (index, used) in uses.iter_mut().enumerate() {
        used.batch = (size, index);
        prepare::take_normal_form(used, io);
        if let Some(input) = interact::complete_input(&used.name, &used.input, interact::InputAuthor::Model, io) {
            used.input = input;
        }
    }
    let mut batch = CallBatch::new(uses, io, turn);
    let mut report =
        BatchReport { all_malformed: batch.uses.iter().all(|u| u.malformed.is_some()), ..BatchReport::default() };
    let mut progress = tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
    let mut outputs = tokio::time::interval(OUTPUT_INTERVAL);
    outputs.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        // Deliver finished calls first: their hooks run before the next call that changes something.
        batch.deliver_ready(io, &mut report).await?;
        batch.start_ready(io).await;
        batch.deliver_ready(io, &mut report).await?;
        if batch.is_deferred {
            report.deferred = batch.uses.pop();
            return Ok(report);
        }
        if batch.running.is_empty() && batch.waiting.is_empty() {
            let done = |(used, result)| FinishedCall { used, result };
            let all: Vec<FinishedCall<'_>> =
                batch.uses.iter().zip(report.results.iter().map(|result| &**result)).map(done).collect();
            io.after_batch(&all, turn).await;
            return Ok(report);
        }
        tokio::select! {
            Some(done) = batch.running.join_next_with_id() => batch.finish_task(done, io).await,
            _ = progress.tick() => batch.send_progress(io).await,
            _ = outputs.tick(), if io.output.flags.has_screen => batch.send_outputs(io).await,
        }
    }
}

/// Answers `uses` without running them.
pub(crate) async fn refuse(uses: Vec<ToolUse>, io: &mut SessionIo, why: &str) -> Result<BatchReport, StoreError> {
    let mut report = BatchReport::default();
    for used in &uses {
        finalize::deliver(used, ToolOutcome::failed(why), None, io, &mut report).await?;
    }
    Ok(report)
}

/// A call context for running tools outside of the model's calls.
pub(crate) async fn context_for(io: &SessionIo, id: &str, cancel: CancellationToken) -> std::io::Result<CallContext> {
    let used = ToolUse::new(id, "", RawValue::NULL.to_owned());
    let sandbox = prepare::session_sandbox(io).await?;
    Ok(CallContext { sandbox, ..prepare::call_cx(&used, permission::PathFacts::default(), io, cancel) })
}

/// A call that was parsed but not started.
struct WaitingCall {
    index: usize,
    parsed: Result<Box<dyn ToolCall>, ToolOutcome>,
}

struct ActiveCall {
    index: usize,
    since: Instant,
    sharing: CallConcurrency,
    task: tokio::task::Id,
    stage: CallStage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallStage {
    /// The host was asked. The call keeps its slot: later calls wait as if it ran.
    Asking,
    Running,
}

/// The result of a task of the batch.
enum CallTaskResult {
    Answered(Box<PendingCall>, PermissionReply),
    Ended(ToolOutcome),
}

struct CallBatch {
    uses: Vec<ToolUse>,
    outcomes: Vec<Option<ToolOutcome>>,
    judged: Vec<Option<CallVerdict>>,
    /// How long each call ran; `None` for a call that did not run.
    took: Vec<Option<Duration>>,
    delivered: usize,
    waiting: VecDeque<WaitingCall>,
    running: JoinSet<CallTaskResult>,
    active: Vec<ActiveCall>,
    limit: usize,
    turn: CancellationToken,
    /// The id of a failed command; calls after it that may change something are not run.
    cancelled_by: Option<String>,
    is_deferred: bool,
}

impl CallBatch {
    fn new(uses: Vec<ToolUse>, io: &SessionIo, turn: &CancellationToken) -> Self {
        let waiting = uses
            .iter()
            .enumerate()
            .map(|(index, used)| WaitingCall { index, parsed: prepare::parse(used, io) })
            .collect();
        Self {
            outcomes: uses.iter().map(|_| None).collect(),
            judged: vec![None; uses.len()],
            took: vec![None; uses.len()],
            delivered: 0,
            waiting,
            running: JoinSet::new(),
            active: Vec::new(),
            limit: io.tooling.concurrency,
            turn: turn.clone(),
            cancelled_by: None,
            is_deferred: false,
            uses,
        }
    }

    /// Starts calls from the front while the gate admits them. The hooks of calls that may run together run together;
    /// then each call is decided in turn.
    async fn start_ready(&mut self, io: &mut SessionIo) {
        loop {
            let group = self.next_group();
            if group.is_empty() {
                return;
            }
            let mut drafts = Vec::new();
            for WaitingCall { index, parsed } in group {
                match self.draft(index, parsed, io).await {
                    Ok(draft) => drafts.push((index, draft)),
                    Err(outcome) => self.outcomes[index] = Some(outcome),
                }
            }
            let asked: Vec<_> = drafts.iter().map(|(index, draft)| (&self.uses[*index], draft)).collect();
            let rulings = prepare::ask_hooks(&asked, io).await;
            for ((index, draft), ruling) in drafts.into_iter().zip(rulings) {
                let prepared = prepare::decide(&self.uses[index], draft, ruling, io).await;
                self.launch(index, prepared, io).await;
            }
        }
    }

    /// Removes and returns the calls at the front that may start now.
    fn next_group(&mut self) -> Vec<WaitingCall> {
        let mut group = Vec::new();
        while let Some(front) = self.waiting.front() {
            let sharing = front.parsed.as_ref().map(|call| call.concurrency()).ok();
            if !self.admits(sharing, group.len()) {
                break;
            }
            group.extend(self.waiting.pop_front());
            if sharing == Some(CallConcurrency::Exclusive) {
                break;
            }
        }
        group
    }

    async fn launch(&mut self, index: usize, prepared: PreparedCall, io: &SessionIo) {
        let (sharing, stage, task) = match prepared {
            PreparedCall::Settled(outcome) => {
                self.outcomes[index] = Some(outcome);
                return;
            }
            PreparedCall::Refused(outcome, judged) => {
                self.judged[index] = Some(judged);
                self.outcomes[index] = Some(outcome);
                return;
            }
            PreparedCall::Deferred => {
                self.is_deferred = true;
                return;
            }
            PreparedCall::Ready(call, cx, judged) => {
                self.judged[index] = Some(judged);
                if io.output.flags.has_screen {
                    let id = self.uses[index].id.clone();
                    io.output.host.aside(ScreenEvent::CallStarted { id }).await;
                }
                let guard = undo_capture::capture(&self.uses[index], &*call, &cx, io).await;
                let (sharing, run) = (call.concurrency(), undo_capture::run(call, cx, guard));
                (sharing, CallStage::Running, self.running.spawn(async move { CallTaskResult::Ended(run.await) }).id())
            }
            PreparedCall::Asking(pending, reply) => {
                let sharing = pending.sharing();
                let task = self.running.spawn(async move { CallTaskResult::Answered(pending, reply.await) }).id();
                (sharing, CallStage::Asking, task)
            }
        };
        self.active.push(ActiveCall { index, since: Instant::now(), sharing, task, stage });
    }

    /// Whether another call may start. `sharing` is `None` for a call that failed to parse: it needs no slot but
    /// waits for exclusive calls. `begun` is the number of calls that start together with it.
    fn admits(&self, sharing: Option<CallConcurrency>, begun: usize) -> bool {
        if self.active.iter().any(|r| r.sharing == CallConcurrency::Exclusive) {
            return false;
        }
        match sharing {
            None => true,
            Some(CallConcurrency::Shared) => self.active.len() + begun < self.limit,
            Some(CallConcurrency::Exclusive) => self.active.is_empty() && begun == 0,
        }
    }

    async fn draft(
        &mut self,
        index: usize,
        parsed: Result<Box<dyn ToolCall>, ToolOutcome>,
        io: &mut SessionIo,
    ) -> Result<CallDraft, ToolOutcome> {
        if self.turn.is_cancelled() {
            return Err(ToolOutcome::failed("Not run: the user interrupted the turn."));
        }
        let changes = !matches!(&parsed, Ok(call) if call.concurrency() == CallConcurrency::Shared);
        if let Some(sibling) = self.cancelled_by.as_ref().filter(|_| changes) {
            let text = format!("Not run: the command before it in the same message failed ({sibling}).");
            return Err(ToolOutcome::failed(text));
        }
        let used = &mut self.uses[index];
        let call = inspect::normalise(used, parsed?, io, self.turn.child_token()).await?;
        prepare::draft(used, call, io, self.turn.child_token()).await
    }

    async fn finish_task(&mut self, done: Result<(tokio::task::Id, CallTaskResult), JoinError>, io: &mut SessionIo) {
        let (task, step) = match done {
            Ok(done) => done,
            Err(error) => {
                let why = if error.is_panic() { "an internal error" } else { "cancellation" };
                let outcome = ToolOutcome::failed(format!("The tool stopped because of {why}. The session goes on."));
                (error.id(), CallTaskResult::Ended(outcome))
            }
        };
        let Some(at) = self.active.iter().position(|r| r.task == task) else { return };
        let ActiveCall { index, stage, since, .. } = self.active.swap_remove(at);
        if stage == CallStage::Running {
            self.took[index] = Some(since.elapsed());
        }
        match step {
            CallTaskResult::Ended(outcome) => self.end(index, outcome, io),
            CallTaskResult::Answered(pending, reply) => {
                let prepared = prepare::apply_reply(&self.uses[index], *pending, reply, io, &self.turn).await;
                self.launch(index, prepared, io).await;
            }
        }
    }

    fn end(&mut self, index: usize, outcome: ToolOutcome, io: &SessionIo) {
        let facts = io.tooling.facts(&self.uses[index].name);
        if outcome.is_error && facts.sibling_failure == SiblingFailure::CancelsLater {
            self.cancelled_by = Some(self.uses[index].id.clone());
        }
        self.outcomes[index] = Some(outcome);
    }

    async fn deliver_ready(&mut self, io: &mut SessionIo, report: &mut BatchReport) -> Result<(), StoreError> {
        while let Some(mut outcome) = self.outcomes.get_mut(self.delivered).and_then(Option::take) {
            if let Some(took) = self.took[self.delivered] {
                io.after_list_change(&self.uses[self.delivered], &mut outcome, &self.turn).await;
                crate::session::notes::check(&self.uses[self.delivered], &mut outcome, io);
                let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                io.output.ledger.tool_ms += took_ms;
                io.note_call(&self.uses[self.delivered], &outcome);
                io.after_call(&self.uses[self.delivered], &mut outcome, took_ms, &self.turn).await;
                io.apply_effects(std::mem::take(&mut outcome.effects))?;
            }
            let judged = self.judged[self.delivered].take();
            finalize::deliver(&self.uses[self.delivered], outcome, judged, io, report).await?;
            self.delivered += 1;
        }
        Ok(())
    }

    /// Sends what running commands of this batch have printed since it was last sent.
    async fn send_outputs(&self, io: &SessionIo) {
        for active in self.active.iter().filter(|active| active.stage == CallStage::Running) {
            let id = &self.uses[active.index].id;
            if let Some(output) = io.tooling.state.tasks.foreground.take_output(id) {
                io.output.host.aside(ScreenEvent::CallOutput { id: id.clone(), output }).await;
            }
        }
    }

    async fn send_progress(&self, io: &SessionIo) {
        for call in self.active.iter().filter(|active| active.stage == CallStage::Running) {
            let used = &self.uses[call.index];
            let message = ToolProgress {
                kind: "tool_progress",
                tool_use_id: used.id.clone(),
                tool_name: used.name.clone(),
                parent_tool_use_id: None,
                elapsed_time_seconds: call.since.elapsed().as_secs(),
                session_id: io.output.host.session_id.clone(),
                uuid: sys::id::uuid(),
            };
            io.output.host.send(SdkMessage::ToolProgress(message)).await;
        }
    }
}

impl SessionIo {
    /// Records what a call that ran means for later reminders.
    fn note_call(&mut self, used: &ToolUse, outcome: &ToolOutcome) {
        let facts = self.tooling.facts(&used.name);
        let class = facts.class;
        let edited = facts.file.filter(|_| class == ToolClass::Edit).and_then(|file| file.path_in(&used.input));
        let edited = edited.map(|path| self.workspace().absolute(&path));
        let knowledge = &mut self.knowledge;
        knowledge.checks.note(used, class, outcome);
        knowledge.lists.count(1, class == ToolClass::TaskList);
        knowledge.causes.command |= class == ToolClass::Shell;
        knowledge.causes.edited.extend(edited);
        let event = if outcome.is_error { HookEventName::PostToolUseFailure } else { HookEventName::PostToolUse };
        knowledge.causes.hook |= class == ToolClass::Edit && self.hooks.listens(event);
    }
}
