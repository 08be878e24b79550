//! The host's side of the session: the only place commands are handled. It owns the queue of prompts, the turn's
//! cancellation and the requests that take a while, and borrows nothing of the phases it runs beside. Every request of the
//! host is answered exactly once, also while a turn runs or a question is open; nothing here waits for the host's stream.

pub(crate) mod board;
pub(crate) mod context_usage;
mod dispatch;
mod files;
mod greeting;
mod inspect;
mod jobs;
mod layer;
pub(crate) mod mcp;
mod queue;
pub(crate) mod reach;
mod status_line;
mod suggest;
pub(crate) mod wishes;

use crate::command::{Command, Event, Priority, Prompt};
use crate::desk::Desk;
use crate::grants::Bypass;
use board::Board;
pub(crate) use dispatch::{CAPABILITIES, Refusal};
use jobs::Jobs;
pub(crate) use queue::Operation;
use queue::Queue;
use reach::Reach;
use serde_json::value::RawValue;
use std::future::Future;
use std::sync::Arc;
use store::Transcript;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tools::Registry;
use tools::state::ToolState;
use wire::mode::PermissionMode;
use wishes::Wishes;

pub(crate) struct Control {
    commands: mpsc::Receiver<Command>,
    /// The host's; `None` for agents.
    front: Option<Front>,
    modes: ModeChoice,
    queue: Queue,
    jobs: Jobs,
    /// What requests are answered from; the session keeps it up to date.
    pub board: Board,
    wishes: Wishes,
    /// A title the host gave and has not heard of.
    title: Option<String>,
    /// Cancelled when whoever started this session wants it to end.
    scope: CancellationToken,
    turn: CancellationToken,
    /// A turn has begun and is not over.
    running: bool,
    interrupted: bool,
    /// An interrupt came before the first prompt's turn could begin.
    latched: bool,
    /// No more prompts will come; interrupts still may.
    closed: bool,
    /// The command channel itself has ended.
    hung_up: bool,
    shutdown: bool,
}

/// Why an idle session moves.
pub(crate) enum Wake<E> {
    Prompt(Prompt),
    Event(E),
    /// The host wants something changed.
    Wishes,
    Closed,
}

/// How a host changes the mode.
pub(crate) struct ModeChoice {
    pub chosen: watch::Sender<Option<PermissionMode>>,
    pub bypass: Bypass,
}

/// The ways to the host and what its requests are about.
pub(crate) struct Front {
    pub replies: mpsc::Sender<Event>,
    pub desk: Desk,
    pub reach: Reach,
}

impl Control {
    pub(crate) fn new(commands: mpsc::Receiver<Command>, front: Option<Front>, modes: ModeChoice) -> Self {
        Self {
            commands,
            front,
            modes,
            queue: Queue::default(),
            jobs: Jobs::default(),
            board: Board::default(),
            wishes: Wishes::default(),
            title: None,
            scope: CancellationToken::new(),
            turn: CancellationToken::new(),
            running: false,
            interrupted: false,
            latched: false,
            closed: false,
            hung_up: false,
            shutdown: false,
        }
    }

    /// Ends with `scope`, as a session inside another does.
    pub(crate) fn within(self, scope: CancellationToken) -> Self {
        Self { scope, ..self }
    }

    /// Requests are about another conversation from now on.
    pub(crate) fn begin_session(&mut self, id: &str, state: &Arc<ToolState>, transcript: &Transcript) {
        let Some(front) = &mut self.front else { return };
        id.clone_into(&mut front.reach.session_id);
        front.reach.state = Arc::clone(state);
        front.reach.transcript = transcript.clone();
    }

    /// Answers the request when `work` is done.
    pub(crate) fn start_reply(
        &mut self,
        request_id: String,
        work: impl Future<Output = Result<serde_json::Value, Refusal>> + Send + 'static,
    ) {
        let id = request_id.clone();
        self.jobs.start(request_id, async move { dispatch::line(&id, work.await) });
    }

    /// The lane that overtakes the stream.
    pub(crate) fn replies(&self) -> Option<mpsc::Sender<Event>> {
        self.front.as_ref().map(|front| front.replies.clone())
    }

    /// Requests are about the parts that `other` was made for from now on.
    pub(crate) fn take_front(&mut self, other: Self) {
        let since = self.front.as_ref().map(|front| front.reach.since);
        self.front = other.front;
        self.modes.bypass = other.modes.bypass;
        if let (Some(front), Some(since)) = (&mut self.front, since) {
            front.reach.since = since;
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
    pub(crate) fn hang_up(&mut self) {
        self.commands.close();
    }

    /// A fresh token for a new turn; an interrupt that came between turns is forgotten, unless it was meant for this one.
    pub(crate) fn begin_turn(&mut self) -> CancellationToken {
        self.interrupted = std::mem::take(&mut self.latched);
        self.running = true;
        self.turn = self.scope.child_token();
        if self.interrupted {
            self.turn.cancel();
        }
        self.turn.clone()
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
    pub(crate) fn put_first(&mut self, texts: Vec<String>) {
        for text in texts.into_iter().rev() {
            if let Ok(content) = wire::raw::to_raw(&text) {
                self.queue.push_front(Prompt::new(content));
            }
        }
    }

    /// What the host wants changed since the last look.
    pub(crate) fn take_wishes(&mut self) -> Wishes {
        std::mem::take(&mut self.wishes)
    }

    /// Somebody may ask how the session stands.
    pub(crate) fn serves_host(&self) -> bool {
        self.front.as_ref().is_some_and(|front| front.reach.asks)
    }

    /// Every tool the session began with; agents have none here.
    pub(crate) fn tools(&self) -> Option<Arc<Registry>> {
        self.front.as_ref().map(|front| Arc::clone(&front.reach.tools))
    }

    /// An interrupt leaves background agents alone: the host stops them one by one.
    pub(crate) fn spares_agents(&self) -> bool {
        self.board.spares_agents
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
                command = self.commands.recv(), if !self.hung_up => self.handle(command).await,
                Some(line) = self.jobs.next() => self.send(line).await,
            }
        }
    }

    fn close(&mut self) {
        self.closed = true;
        if let Some(front) = &self.front {
            front.desk.close();
        }
    }

    /// The models the endpoint offers, where a host may ask for them.
    pub(crate) fn offered_models(&self) -> Option<crate::models::Offered> {
        self.front.as_ref().filter(|front| front.reach.asks).map(|front| front.reach.offered.clone())
    }

    /// Waits for the next prompt, the end of input, or something else that wakes the session up (`other`, which is
    /// listened to only while more input may come).
    pub(crate) async fn next_wake<E>(&mut self, other: impl Future<Output = E>) -> Wake<E> {
        tokio::pin!(other);
        loop {
            if self.shutdown {
                return Wake::Closed;
            }
            if !self.wishes.is_empty() {
                return Wake::Wishes;
            }
            if let Some(prompt) = self.queue.pop() {
                return Wake::Prompt(prompt);
            }
            if self.closed && self.jobs.is_empty() {
                return Wake::Closed;
            }
            tokio::select! {
                biased;
                command = self.commands.recv(), if !self.hung_up => self.handle(command).await,
                Some(line) = self.jobs.next() => self.send(line).await,
                event = &mut other, if !self.closed => return Wake::Event(event),
            }
        }
    }

    pub(crate) async fn handle(&mut self, command: Option<Command>) {
        match command {
            None => {
                self.close();
                self.hung_up = true;
            }
            Some(Command::Close) => self.close(),
            Some(Command::Submit(prompt)) => self.submit(prompt),
            Some(Command::Interrupt) => self.interrupt(),
            Some(Command::Shutdown) => {
                self.shutdown = true;
                self.close();
                self.interrupt();
            }
            Some(Command::Answer(response)) => self.settle(&response),
            Some(Command::Withdraw { request_id }) => self.jobs.abort(&request_id),
            Some(Command::Control { request_id, request }) => self.serve(request_id, &request).await,
        }
    }

    fn submit(&mut self, prompt: Prompt) {
        if prompt.priority == Priority::Now && self.running {
            self.interrupt_turn();
        }
        if self.running { self.queue.push_noted(prompt) } else { self.queue.push(prompt) }
    }

    /// What was said meanwhile and may be told to the model now.
    pub(crate) async fn take_joining(&mut self) -> Vec<Prompt> {
        while let Ok(command) = self.commands.try_recv() {
            self.handle(Some(command)).await;
        }
        if self.is_interrupted() { Vec::new() } else { self.queue.take_joining() }
    }

    /// What happened to the queue and is not recorded yet.
    pub(crate) fn take_queue_operations(&mut self) -> Vec<Operation> {
        self.queue.take_operations()
    }

    /// Whether the transcript already knows that this prompt came.
    pub(crate) fn was_noted(&mut self, prompt: &Prompt) -> bool {
        self.queue.forget_noted(prompt.uuid.as_deref())
    }

    fn settle(&self, response: &RawValue) {
        if let Some(front) = &self.front {
            front.desk.settle(response);
        }
    }

    /// Ends the turn, and the agents in the background unless the host stops them by itself.
    fn interrupt(&mut self) {
        if !self.running && self.queue.backlog() > 0 {
            self.latched = true;
        }
        self.interrupt_turn();
        if !self.running
            && !self.board.spares_agents
            && let Some(front) = &self.front
        {
            front.reach.agents.cancel_all_for_user();
        }
    }

    fn interrupt_turn(&mut self) {
        self.interrupted = true;
        self.turn.cancel();
    }

    pub(crate) async fn send(&self, line: String) {
        self.tell(Event::Control(line)).await;
    }

    /// Overtakes the stream.
    async fn tell(&self, event: Event) {
        if let Some(front) = &self.front
            && front.replies.send(event).await.is_err()
        {
            tracing::debug!("the host is gone; its answer was dropped");
        }
    }
}
