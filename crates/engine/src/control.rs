//! The host's side of the session: the only place where commands are handled. It owns the prompt queue, the
//! cancellation of the turn and the requests that take a while, and borrows nothing from the phases that run beside
//! it. Every request of the host is answered exactly once, also while a turn runs or a question is open. Replies
//! never wait for the event stream.

pub(crate) mod changes;
mod dispatch;
mod files;
mod flag_settings;
pub(crate) mod handles;
mod initialize;
mod inspect;
mod jobs;
mod queue;
mod rewind;
mod status_line;
mod suggest;
pub(crate) mod view;

use changes::SessionChanges;
pub(crate) use dispatch::CAPABILITIES;
use handles::SessionHandles;
use jobs::RequestJobs;
use queue::PromptQueue;
pub(crate) use queue::QueueOperation;
use session_parts::command::RequestRefusal;
use session_parts::command::{Command, Event, Prompt, PromptPriority};
use session_parts::grants::BypassAvailability;
use session_parts::questions::HostQuestions;
use std::future::Future;
use std::sync::Arc;
use store::Transcript;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tools::ToolRegistry;
use tools::state::ToolState;
use view::ControlView;
use wire::control::{ControlResponse, HostReply};
use wire::mode::PermissionMode;

pub(crate) struct SessionControl {
    commands: mpsc::Receiver<Command>,
    /// The connection to the host; `None` for agents.
    host: Option<HostConnection>,
    modes: ModeChoice,
    queue: PromptQueue,
    jobs: RequestJobs,
    /// The state that requests are answered from; the session keeps it up to date.
    pub view: ControlView,
    changes: SessionChanges,
    /// A title the host set that has not been announced on the stream yet.
    title: Option<String>,
    /// Cancelled when the parent of this session wants it to end.
    scope: CancellationToken,
    turn: CancellationToken,
    /// A turn has started and has not ended.
    running: bool,
    interrupted: bool,
    /// An interrupt arrived before the turn of the first prompt started.
    interrupts_first_turn: bool,
    /// No more prompts will arrive; interrupts still may.
    closed: bool,
    /// The command channel has ended.
    is_channel_closed: bool,
    shutdown: bool,
}

/// Why an idle session wakes up.
pub(crate) enum WakeReason<E> {
    Prompt(Prompt),
    Event(E),
    /// The host requested changes.
    Changes,
    Closed,
}

/// The host's choice of the permission mode.
pub(crate) struct ModeChoice {
    pub chosen: watch::Sender<Option<PermissionMode>>,
    pub bypass: BypassAvailability,
}

/// The channels to the host and the parts of the session its requests act on.
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
            view: ControlView::default(),
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

    /// Makes the session end with `scope`, the token of its parent.
    pub(crate) fn within(self, scope: CancellationToken) -> Self {
        Self { scope, ..self }
    }

    /// Points requests at the new conversation `id`.
    pub(crate) fn begin_session(&mut self, id: &str, state: &Arc<ToolState>, transcript: &Transcript) {
        (self.view.name, self.view.colour) = (None, None);
        let Some(front) = &mut self.host else { return };
        id.clone_into(&mut front.handles.session_id);
        front.handles.state = Arc::clone(state);
        front.handles.transcript = transcript.clone();
    }

    /// Sends the reply to the request when `work` is done.
    pub(crate) fn start_reply(
        &mut self,
        request_id: String,
        work: impl Future<Output = Result<serde_json::Value, RequestRefusal>> + Send + 'static,
    ) {
        let id = request_id.clone();
        self.jobs.start(request_id, async move { dispatch::response(&id, work.await) });
    }

    /// The channel that overtakes the event stream; `None` for agents.
    pub(crate) fn replies(&self) -> Option<mpsc::Sender<Event>> {
        self.host.as_ref().map(|front| front.replies.clone())
    }

    /// Takes the host connection of `other`, which was built for the new directory; keeps the start time.
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

    /// The next queued prompt, without waiting for one.
    pub(crate) async fn next_queued(&mut self) -> Option<Prompt> {
        while let Ok(command) = self.commands.try_recv() {
            self.handle(Some(command)).await;
        }
        self.queue.pop()
    }

    /// Accepts no more commands; those already sent are still handled.
    pub(crate) fn close_commands(&mut self) {
        self.commands.close();
    }

    /// A new token for a new turn. Forgets an interrupt that arrived between turns, unless it was meant for this
    /// turn.
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

    /// The turn's result was sent.
    pub(crate) fn end_turn(&mut self) {
        self.running = false;
    }

    /// True after an interrupt by the host or a refusal that ends the turn.
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

    /// Queues these prompts before all others, in order.
    pub(crate) fn queue_first(&mut self, texts: Vec<String>) {
        for text in texts.into_iter().rev() {
            if let Ok(content) = wire::raw::to_raw(&text) {
                self.queue.push_front(Prompt::new(content));
            }
        }
    }

    /// Takes the changes the host requested since the last call.
    pub(crate) fn take_changes(&mut self) -> SessionChanges {
        std::mem::take(&mut self.changes)
    }

    /// True when the host uses stream-json input and may send control requests.
    pub(crate) fn accepts_requests(&self) -> bool {
        self.host.as_ref().is_some_and(|front| front.handles.accepts_requests)
    }

    /// Every tool the session started with; `None` for agents.
    pub(crate) fn tools(&self) -> Option<Arc<ToolRegistry>> {
        self.host.as_ref().map(|front| Arc::clone(&front.handles.tools))
    }

    /// Whether an interrupt leaves background agents running, because the host stops them one by one.
    pub(crate) fn keeps_agents_on_interrupt(&self) -> bool {
        self.view.keeps_agents_on_interrupt
    }

    /// Runs one phase of a turn while commands are handled. `None` when the process must stop: the phase is dropped,
    /// which kills what it started.
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
                Some(response) = self.jobs.next() => self.send(response).await,
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

    /// The models the endpoint offers; `None` when the host cannot ask for them.
    pub(crate) fn offered_models(&self) -> Option<session_parts::models::OfferedModels> {
        self.host.as_ref().filter(|front| front.handles.accepts_requests).map(|front| front.handles.offered.clone())
    }

    /// Waits for the next prompt, requested changes, the end of input, or `other`, which is polled only while more
    /// input may come.
    pub(crate) async fn next_wake<E>(&mut self, other: impl Future<Output = E>) -> WakeReason<E> {
        tokio::pin!(other);
        loop {
            if self.shutdown {
                return WakeReason::Closed;
            }
            if !self.changes.is_empty() {
                return WakeReason::Changes;
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
                Some(response) = self.jobs.next() => self.send(response).await,
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
            Some(Command::Reply(reply)) => self.answer_question(reply),
            Some(Command::Withdraw { id }) => self.jobs.abort(&id),
            Some(Command::Request { id, request }) => self.serve(id, request).await,
        }
    }

    fn submit(&mut self, prompt: Prompt) {
        if prompt.priority == PromptPriority::Now && self.running {
            self.interrupt_turn();
        }
        if self.running { self.queue.push_recorded(prompt) } else { self.queue.push(prompt) }
    }

    /// Takes the prompts that may join the running turn now.
    pub(crate) async fn take_joining(&mut self) -> Vec<Prompt> {
        while let Ok(command) = self.commands.try_recv() {
            self.handle(Some(command)).await;
        }
        if self.is_interrupted() { Vec::new() } else { self.queue.take_joining() }
    }

    /// Queue operations that are not recorded in the transcript yet.
    pub(crate) fn take_queue_operations(&mut self) -> Vec<QueueOperation> {
        self.queue.take_operations()
    }

    /// Whether the transcript already records that this prompt was queued.
    pub(crate) fn is_queue_recorded(&mut self, prompt: &Prompt) -> bool {
        self.queue.take_recorded(prompt.uuid.as_deref())
    }

    fn answer_question(&self, reply: HostReply) {
        if let Some(front) = &self.host {
            front.questions.answer(reply);
        }
    }

    /// Ends the turn. When no turn runs, also stops background agents, unless the host stops them itself.
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

    pub(crate) async fn send(&self, response: ControlResponse) {
        self.send_event(Event::Response(response)).await;
    }

    /// Sends on the channel that overtakes the event stream.
    async fn send_event(&self, event: Event) {
        if let Some(front) = &self.host
            && front.replies.send(event).await.is_err()
        {
            tracing::debug!("the host is gone; its answer was dropped");
        }
    }
}
