//! The host's side of the session: the only place commands are handled. It owns the queue of prompts and the turn's
//! cancellation, and borrows nothing of the phases it runs beside.

use crate::command::{Command, Event, Prompt};
use crate::host::Host;
use serde::Deserialize;
use std::collections::VecDeque;
use std::future::Future;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use wire::control::ControlResponse;

pub(crate) struct Control {
    commands: mpsc::Receiver<Command>,
    queue: VecDeque<Prompt>,
    host: Host,
    /// Cancelled when whoever started this session wants it to end.
    scope: CancellationToken,
    turn: CancellationToken,
    interrupted: bool,
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
    Closed,
}

impl Control {
    pub(crate) fn new(commands: mpsc::Receiver<Command>, host: Host) -> Self {
        Self {
            commands,
            queue: VecDeque::new(),
            host,
            scope: CancellationToken::new(),
            turn: CancellationToken::new(),
            interrupted: false,
            closed: false,
            hung_up: false,
            shutdown: false,
        }
    }

    /// Ends with `scope`, as a session inside another does.
    pub(crate) fn within(self, scope: CancellationToken) -> Self {
        Self { scope, ..self }
    }

    pub(crate) fn scope(&self) -> &CancellationToken {
        &self.scope
    }

    /// The next prompt that waits, without waiting for one.
    pub(crate) fn next_queued(&mut self) -> Option<Prompt> {
        self.queue.pop_front()
    }

    /// A fresh token for a new turn; an interrupt that came between turns is forgotten.
    pub(crate) fn begin_turn(&mut self) -> CancellationToken {
        self.interrupted = false;
        self.turn = self.scope.child_token();
        self.turn.clone()
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted || self.scope.is_cancelled()
    }

    /// The process must end now: no result, no further request.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.shutdown
    }

    pub(crate) fn backlog(&self) -> usize {
        self.queue.iter().filter(|p| p.query).count()
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
            }
        }
    }

    /// Waits for the next prompt, the end of input, or something else that wakes the session up (`other`, which is
    /// listened to only while more input may come).
    pub(crate) async fn next_wake<E>(&mut self, other: impl Future<Output = E>) -> Wake<E> {
        tokio::pin!(other);
        loop {
            if self.shutdown {
                return Wake::Closed;
            }
            if let Some(prompt) = self.queue.pop_front() {
                return Wake::Prompt(prompt);
            }
            if self.closed {
                return Wake::Closed;
            }
            tokio::select! {
                biased;
                command = self.commands.recv() => self.handle(command).await,
                event = &mut other => return Wake::Event(event),
            }
        }
    }

    async fn handle(&mut self, command: Option<Command>) {
        match command {
            None => {
                self.closed = true;
                self.hung_up = true;
            }
            Some(Command::Close) => self.closed = true,
            Some(Command::Submit(prompt)) => self.queue.push_back(prompt),
            Some(Command::Interrupt) => self.interrupt(),
            Some(Command::Shutdown) => {
                self.shutdown = true;
                self.closed = true;
                self.interrupt();
            }
            Some(Command::Control { request_id, request }) => {
                let line = answer(&request_id, request.get());
                self.host.event(Event::Control(line)).await;
            }
        }
    }

    fn interrupt(&mut self) {
        self.interrupted = true;
        self.turn.cancel();
    }
}

#[derive(Deserialize)]
struct Subtype {
    #[serde(default)]
    subtype: String,
}

/// Every request is answered, the unknown ones with the error form.
fn answer(request_id: &str, request: &str) -> String {
    let subtype = serde_json::from_str::<Subtype>(request).map(|s| s.subtype).unwrap_or_default();
    wire::raw::to_line(&ControlResponse::unsupported(request_id, &subtype)).unwrap_or_default()
}
