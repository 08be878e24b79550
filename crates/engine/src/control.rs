//! The host's side of the session: the only place commands are handled. It owns the queue of prompts, the turn's
//! cancellation and the requests that take a while, and borrows nothing of the phases it runs beside. Every request of the
//! host is answered exactly once, also while a turn runs or a question is open; nothing here waits for the host's stream.

pub(crate) mod changes;
pub(crate) mod context_usage;
mod dispatch;
mod files;
mod flag_settings;
pub(crate) mod handles;
mod initialize;
mod inspect;
mod jobs;
pub(crate) mod mcp;
mod queue;
mod status_line;
mod suggest;
pub(crate) mod view;

use crate::command::{Command, Event, Prompt, PromptPriority};
use crate::grants::BypassAvailability;
use crate::questions::HostQuestions;
use changes::SessionChanges;
pub(crate) use dispatch::{CAPABILITIES, RequestRefusal};
use handles::SessionHandles;
use jobs::RequestJobs;
use queue::PromptQueue;
pub(crate) use queue::QueueOperation;
use serde_json::value::RawValue;
use std::future::Future;
use std::sync::Arc;
use store::Transcript;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tools::ToolRegistry;
use tools::state::ToolState;
use view::SessionView;
use wire::mode::PermissionMode;

pub(crate) struct SessionControl {
    commands: mpsc::Receiver<Command>,
    /// The host's; `None` for agents.
    host: Option<HostConnection>,
    modes: ModeChoice,
    queue: PromptQueue,
    jobs: RequestJobs,
    /// What requests are answered from; the session keeps it up to date.
    pub view: SessionView,
    changes: SessionChanges,
    /// A title the host gave and has not heard of.
    title: Option<String>,
    /// Cancelled when whoever started this session wants it to end.
    scope: CancellationToken,
    turn: CancellationToken,
    /// A turn has begun and is not over.
    running: bool,
    interrupted: bool,
    /// An interrupt came before the first prompt's turn could begin.
    interrupts_first_turn: bool,
    /// No more prompts will come; interrupts still may.
    closed: bool,
    /// The command channel itself has ended.
    is_channel_closed: bool,
    shutdown: bool,
}

/// Why an idle session moves.
pub(crate) enum WakeReason<E> {
    Prompt(Prompt),
    Event(E),
    /// The host wants something changed.
    Wishes,
    Closed,
}

/// How a host changes the mode.
pub(crate) struct ModeChoice {
    pub chosen: watch::Sender<Option<PermissionMode>>,
    pub bypass: BypassAvailability,
}

/// The ways to the host and what its requests are about.
pub(crate) struct HostConnection {
    pub replies: mpsc::Sender<Event>,
    pub questions: HostQuestions,
    pub handles: SessionHandles,
}

impl SessionControl {
    pub(crate) fn new(commands: mpsc::Receiver<Command>, front: Option<HostConnection>, modes: ModeChoice) -> Self {
        Self {
            commands,
            host: front,
            modes,
            queue: PromptQueue::default(),
            jobs: RequestJobs::default(),
            view: SessionView::default(),
            changes: SessionChanges::default(),
            title: None,
            scope: CancellationToken::new(),
            turn: CancellationToken::new(),
            running: false,
            interrupted: false,
            interrupts_first_turn: false,
            closed: false,
            is_channel_closed: false,
            shutdown: false,
        }
    }

    /// Ends with `scope`, as a session inside another does.
    pub(crate) fn within(self, scope: CancellationToken) -> Self {
        Self { scope, ..self }
    }

    /// Requests are about another conversation from now on.
    pub(crate) fn begin_session(&mut self, id: &str, state: &Arc<ToolState>, transcript: &Transcript) {
        let Some(front) = &mut self.host else { return };
        id.clone_into(&mut front.handles.session_id);
        front.handles.state = Arc::clone(state);
        front.handles.transcript = transcript.clone();
    }

    /// Answers the request when `work` is done.
    pub(crate) fn start_reply(
        &mut self,
        request_id: String,
        work: impl Future<Output = Result<serde_json::Value, RequestRefusal>> + Send + 'static,
    ) {
        let id = request_id.clone();
        self.jobs.start(request_id, async move { dispatch::line(&id, work.await) });
    }

    /// The lane that overtakes the stream.
    pub(crate) fn replies(&self) -> Option<mpsc::Sender<Event>> {
        self.host.as_ref().map(|front| front.replies.clone())
    }

    /// Requests are about the parts that `other` was made for from now on.
    pub(crate) fn take_host_from(&mut self, other: Self) {
        let since = self.host.as_ref().map(|front| front.handles.since);
        self.host = other.host;
        self.modes.bypass = other.modes.bypass;
        if let (Some(front), Some(since)) = (&mut self.host, since) {
            front.handles.since = since;
        }
        if self.closed {
            self.close();
        }
    }

    pub(crate) fn scope(&self) -> &CancellationToken {
        &self.scope
    }

    /// The next prompt that waits, without waiting for one.
    pub(crate) async fn next_queued(&mut self) -> Option<Prompt> {
        while let Ok(command) = self.commands.try_recv() {
            self.handle(Some(command)).await;
        }
        self.queue.pop()
    }

    /// Takes no more commands; those sent before still count.
    pub(crate) fn close_commands(&mut self) {
        self.commands.close();
    }

    /// A fresh token for a new turn; an interrupt that came between turns is forgotten, unless it was meant for this one.
    pub(crate) fn begin_turn(&mut self) -> CancellationToken {
        self.interrupted = std::mem::take(&mut self.interrupts_first_turn);
        self.running = true;
        self.turn = self.scope.child_token();
        if self.interrupted {
            self.turn.cancel();
        }
        self.turn.clone()
    }

    /// A wait between two turns begins: an interrupt from now on ends it.
    pub(crate) fn begin_wait(&mut self) {
        self.interrupted = false;
        self.turn = self.scope.child_token();
    }

    /// The hooks of the start are done. An interrupt of theirs was meant for the prompt that waits behind them.
    pub(crate) fn end_start(&mut self) {
        self.running = false;
        self.interrupts_first_turn = self.interrupted && self.queue.backlog() > 0;
    }

    /// The run ends when the turn that runs now is interrupted: no more prompts come, and none waits.
    pub(crate) fn is_last_turn(&self) -> bool {
        self.closed && self.queue.backlog() == 0
    }

    /// The turn's result is told.
    pub(crate) fn end_turn(&mut self) {
        self.running = false;
    }

    /// By the host, or by a refusal that ends the turn.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted || self.turn.is_cancelled() || self.scope.is_cancelled()
    }

    /// The process must end now: no result, no further request.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.shutdown
    }

    pub(crate) fn backlog(&self) -> usize {
        self.queue.backlog()
    }

    /// Prompts that come before all others, in order.
    pub(crate) fn queue_first(&mut self, texts: Vec<String>) {
        for text in texts.into_iter().rev() {
            if let Ok(content) = wire::raw::to_raw(&text) {
                self.queue.push_front(Prompt::new(content));
            }
        }
    }

    /// What the host wants changed since the last look.
    pub(crate) fn take_changes(&mut self) -> SessionChanges {
        std::mem::take(&mut self.changes)
    }

    /// Somebody may ask how the session stands.
    pub(crate) fn accepts_requests(&self) -> bool {
        self.host.as_ref().is_some_and(|front| front.handles.accepts_requests)
    }

    /// Every tool the session began with; agents have none here.
    pub(crate) fn tools(&self) -> Option<Arc<ToolRegistry>> {
        self.host.as_ref().map(|front| Arc::clone(&front.handles.tools))
    }

    /// An interrupt leaves background agents alone: the host stops them one by one.
    pub(crate) fn keeps_agents_on_interrupt(&self) -> bool {
        self.view.keeps_agents_on_interrupt
    }

    /// Runs one phase of a turn while commands go on being served. `None` when the process must stop: the phase is
    /// dropped where it stands, which kills what it started.
    pub(crate) async fn during<F: Future>(&mut self, phase: F) -> Option<F::Output> {
        tokio::pin!(phase);
        loop {
            if self.shutdown {
                return None;
            }
            tokio::select! {
                biased;
                output = &mut phase => return Some(output),
                command = self.commands.recv(), if !self.is_channel_closed => self.handle(command).await,
                Some(line) = self.jobs.next() => self.send(line).await,
            }
        }
    }

    /// The same for a wait that an interrupt of the turn ends too: then, as when the process must stop, there is no output.
    pub(crate) async fn until_interrupted<F: Future>(&mut self, wait: F) -> Option<F::Output> {
        let turn = self.turn.clone();
        let wait = async {
            tokio::select! {
                biased;
                () = turn.cancelled() => None,
                output = wait => Some(output),
            }
        };
        self.during(wait).await.flatten()
    }

    fn close(&mut self) {
        self.closed = true;
        if let Some(front) = &self.host {
            front.questions.close();
        }
    }

    /// The models the endpoint offers, where a host may ask for them.
    pub(crate) fn offered_models(&self) -> Option<crate::models::OfferedModels> {
        self.host.as_ref().filter(|front| front.handles.accepts_requests).map(|front| front.handles.offered.clone())
    }

    /// Waits for the next prompt, the end of input, or something else that wakes the session up (`other`, which is
    /// listened to only while more input may come).
    pub(crate) async fn next_wake<E>(&mut self, other: impl Future<Output = E>) -> WakeReason<E> {
        tokio::pin!(other);
        loop {
            if self.shutdown {
                return WakeReason::Closed;
            }
            if !self.changes.is_empty() {
                return WakeReason::Wishes;
            }
            if let Some(prompt) = self.queue.pop() {
                return WakeReason::Prompt(prompt);
            }
            if self.closed && self.jobs.is_empty() {
                return WakeReason::Closed;
            }
            tokio::select! {
                biased;
                command = self.commands.recv(), if !self.is_channel_closed => self.handle(command).await,
                Some(line) = self.jobs.next() => self.send(line).await,
                event = &mut other, if !self.closed => return WakeReason::Event(event),
            }
        }
    }

    pub(crate) async fn handle(&mut self, command: Option<Command>) {
        match command {
            None => {
                self.close();
                self.is_channel_closed = true;
            }
            Some(Command::Close) => self.close(),
            Some(Command::Submit(prompt)) => self.submit(prompt),
            Some(Command::Interrupt) => self.interrupt(),
            Some(Command::Shutdown) => {
                self.shutdown = true;
                self.close();
                self.interrupt();
            }
            Some(Command::Answer(response)) => self.answer_question(&response),
            Some(Command::Withdraw { request_id }) => self.jobs.abort(&request_id),
            Some(Command::Control { request_id, request }) => self.serve(request_id, &request).await,
        }
    }

    fn submit(&mut self, prompt: Prompt) {
        if prompt.priority == PromptPriority::Now && self.running {
            self.interrupt_turn();
        }
        if self.running { self.queue.push_recorded(prompt) } else { self.queue.push(prompt) }
    }

    /// What was said meanwhile and may be told to the model now.
    pub(crate) async fn take_joining(&mut self) -> Vec<Prompt> {
        while let Ok(command) = self.commands.try_recv() {
            self.handle(Some(command)).await;
        }
        if self.is_interrupted() { Vec::new() } else { self.queue.take_joining() }
    }

    /// What happened to the queue and is not recorded yet.
    pub(crate) fn take_queue_operations(&mut self) -> Vec<QueueOperation> {
        self.queue.take_operations()
    }

    /// Whether the transcript already knows that this prompt came.
    pub(crate) fn is_queue_recorded(&mut self, prompt: &Prompt) -> bool {
        self.queue.take_recorded(prompt.uuid.as_deref())
    }

    fn answer_question(&self, response: &RawValue) {
        if let Some(front) = &self.host {
            front.questions.answer(response);
        }
    }

    /// Ends the turn, and the agents in the background unless the host stops them by itself.
    fn interrupt(&mut self) {
        if !self.running && self.queue.backlog() > 0 {
            self.interrupts_first_turn = true;
        }
        self.interrupt_turn();
        if !self.running
            && !self.view.keeps_agents_on_interrupt
            && let Some(front) = &self.host
        {
            front.handles.agents.cancel_all_for_user();
        }
    }

    fn interrupt_turn(&mut self) {
        self.interrupted = true;
        self.turn.cancel();
    }

    pub(crate) async fn send(&self, line: String) {
        self.send_event(Event::Control(line)).await;
    }

    /// Overtakes the stream.
    async fn send_event(&self, event: Event) {
        if let Some(front) = &self.host
            && front.replies.send(event).await.is_err()
        {
            tracing::debug!("the host is gone; its answer was dropped");
        }
    }
}
