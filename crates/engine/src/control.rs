//! The host's side of the session: the only place commands are handled. It owns the queue of prompts, the turn's
//! cancellation and the questions the host has yet to answer, and borrows nothing of the phases it runs beside.

use crate::agents::Agents;
use crate::ask::{Question, Reply, withdrawal};
use crate::command::{Command, Event, Prompt};
use crate::grants::{Bypass, wanted_mode};
use crate::host::Host;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use wire::control::{ControlResponse, ResponseBody};
use wire::mode::PermissionMode;

pub(crate) struct Control {
    commands: mpsc::Receiver<Command>,
    questions: mpsc::Receiver<Question>,
    /// Questions the host has not answered yet.
    open: BTreeMap<String, oneshot::Sender<Reply>>,
    modes: ModeChoice,
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

/// How a host changes the mode.
pub(crate) struct ModeChoice {
    pub chosen: watch::Sender<Option<PermissionMode>>,
    pub bypass: Bypass,
}

/// What comes in.
pub(crate) struct Lanes {
    pub commands: mpsc::Receiver<Command>,
    pub questions: mpsc::Receiver<Question>,
}

impl Control {
    pub(crate) fn new(lanes: Lanes, host: Host, modes: ModeChoice) -> Self {
        Self {
            commands: lanes.commands,
            questions: lanes.questions,
            open: BTreeMap::new(),
            modes,
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

    /// By the host, or by a refusal that ends the turn.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted || self.turn.is_cancelled() || self.scope.is_cancelled()
    }

    /// The process must end now: no result, no further request.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.shutdown
    }

    pub(crate) fn backlog(&self) -> usize {
        self.queue.iter().filter(|p| p.query).count()
    }

    /// Prompts that come before all others, in order.
    pub(crate) fn put_first(&mut self, texts: Vec<String>) {
        for text in texts.into_iter().rev() {
            if let Ok(content) = wire::raw::to_raw(&text) {
                self.queue.push_front(Prompt { content, uuid: None, query: true });
            }
        }
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
                Some(question) = self.questions.recv() => self.pose(question).await,
            }
        }
    }

    async fn pose(&mut self, question: Question) {
        let question = match question {
            Question::Posed(posed) => posed,
            Question::Withdrawn(id) => {
                if self.open.remove(&id).is_some() {
                    self.host.event(Event::Control(withdrawal(&id))).await;
                }
                return;
            }
        };
        // A receiver that is gone no longer waits: nothing is lost by not reaching it.
        if question.cancel.is_cancelled() {
            question.reply.send(Reply::Withdrawn).ok();
        } else if self.closed {
            question.reply.send(Reply::closed()).ok();
        } else {
            self.open.insert(question.id, question.reply);
            self.host.event(Event::Control(question.line)).await;
        }
    }

    /// An answer nobody waits for is late, doubled or made up.
    fn settle(&mut self, response: &RawValue) {
        let Some((id, reply)) = Reply::read(response) else { return };
        if let Some(waiting) = self.open.remove(&id) {
            waiting.send(reply).ok();
        } else {
            tracing::debug!(id, "an answer to no open question was ignored");
        }
    }

    fn close(&mut self) {
        self.closed = true;
        for (_, waiting) in std::mem::take(&mut self.open) {
            waiting.send(Reply::closed()).ok();
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
                // Agents ask while the main thread is idle, too.
                Some(question) = self.questions.recv() => self.pose(question).await,
                event = &mut other => return Wake::Event(event),
            }
        }
    }

    async fn handle(&mut self, command: Option<Command>) {
        match command {
            None => {
                self.close();
                self.hung_up = true;
            }
            Some(Command::Close) => self.close(),
            Some(Command::Submit(prompt)) => self.queue.push_back(prompt),
            Some(Command::Interrupt) => self.interrupt().await,
            Some(Command::Shutdown) => {
                self.shutdown = true;
                self.close();
                self.interrupt().await;
            }
            Some(Command::Answer(response)) => self.settle(&response),
            Some(Command::Control { request_id, request }) => {
                let line = self.stop_task(&request_id, request.get());
                let line = line.unwrap_or_else(|| self.answer(&request_id, request.get()));
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

    /// Open questions are withdrawn, so that the host takes its dialogs away.
    async fn interrupt(&mut self) {
        self.interrupted = true;
        self.turn.cancel();
        for (id, waiting) in std::mem::take(&mut self.open) {
            self.host.event(Event::Control(withdrawal(&id))).await;
            waiting.send(Reply::Withdrawn).ok();
        }
    }

    /// Every request is answered, the unknown ones with the error form.
    fn answer(&self, request_id: &str, request: &str) -> String {
        let request = serde_json::from_str::<Requested>(request).unwrap_or_default();
        let response = match (request.subtype.as_str(), request.mode) {
            ("set_permission_mode", Some(mode)) => match wanted_mode(&mode, self.modes.bypass) {
                Ok(mode) => {
                    self.modes.chosen.send_replace(Some(mode));
                    ControlResponse::success(request_id, serde_json::json!({"mode": mode.as_str()}))
                }
                Err(why) => ControlResponse::refused(request_id, why),
            },
            (subtype, _) => ControlResponse::unsupported(request_id, subtype),
        };
        wire::raw::to_line(&response).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct StopTask {
    subtype: String,
    task_id: String,
}

/// The fields of the requests that are understood.
#[derive(Default, Deserialize)]
struct Requested {
    #[serde(default)]
    subtype: String,
    #[serde(default)]
    mode: Option<String>,
}
