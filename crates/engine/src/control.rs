//! The host's side of the session: the only place commands are handled. It owns the queue of prompts and the turn's
//! cancellation, and borrows nothing of the phases it runs beside.

use crate::agents::Agents;
use crate::command::{Command, Event, Prompt};
use crate::host::Host;
use serde::Deserialize;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use wire::control::{ControlResponse, ResponseBody};

pub(crate) struct Control {
    commands: mpsc::Receiver<Command>,
    queue: VecDeque<Prompt>,
    host: Host,
    /// Ends tasks at the host's wish; agents have no host.
    agents: Option<Arc<Agents>>,
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
            agents: None,
            scope: CancellationToken::new(),
            turn: CancellationToken::new(),
            interrupted: false,
            closed: false,
            hung_up: false,
            shutdown: false,
        }
    }

    /// Lets the host stop tasks.
    pub(crate) fn over(self, agents: Arc<Agents>) -> Self {
        Self { agents: Some(agents), ..self }
    }

    /// Ends with `scope`, as a session inside another does.
    pub(crate) fn within(self, scope: CancellationToken) -> Self {
        Self { scope, ..self }
    }

    pub(crate) fn scope(&self) -> &CancellationToken {
        &self.scope
    }

    /// The next prompt that waits, without waiting for one.
    pub(crate) async fn next_queued(&mut self) -> Option<Prompt> {
        while let Ok(command) = self.commands.try_recv() {
            self.handle(Some(command)).await;
        }
        self.queue.pop_front()
    }

    /// Takes no more commands; those sent before still count.
    pub(crate) fn hang_up(&mut self) {
        self.commands.close();
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
                let line = self.stop_task(&request_id, request.get());
                let line = line.unwrap_or_else(|| answer(&request_id, request.get()));
                self.host.event(Event::Control(line)).await;
            }
        }
    }

    /// `None` when the request is another one.
    fn stop_task(&self, request_id: &str, request: &str) -> Option<String> {
        let asked = serde_json::from_str::<StopTask>(request).ok().filter(|asked| asked.subtype == "stop_task")?;
        let stopped = self.agents.as_ref().is_some_and(|agents| agents.stop_for_user(&asked.task_id));
        let response = if stopped {
            ResponseBody::Success { request_id, response: Some(serde_json::json!({})) }
        } else {
            let error = format!("No task with the id {} is running", asked.task_id);
            ResponseBody::Error { request_id, error, error_code: None }
        };
        wire::raw::to_line(&ControlResponse { kind: "control_response", response }).ok()
    }

    fn interrupt(&mut self) {
        self.interrupted = true;
        self.turn.cancel();
    }
}

#[derive(Deserialize)]
struct StopTask {
    subtype: String,
    task_id: String,
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
