//! One session of the client: sends commands to the engine and turns its events into updates. Every prompt ends in
//! exactly one outcome, also when the session ends before it.

use crate::convert;
use crate::peer::AcpPeer;
use crate::permission::AcpPermissionRequest;
use crate::protocol::{
    AvailableCommand, CommandInput, ContentBlock, PromptResponse, ProtocolError, SessionConfigOption,
    SessionConfigValue, SessionUpdate, StopReason, client_method,
};
use crate::question_form;
use crate::updates::{ReplayMode, UpdateBuilder};
use engine::{Command, CommandSender, Event, EventReceiver, Prompt};
use engine::{ToolClass, tool_facts};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use sys::sync::Mutex;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;
use wire::control::{
    HostQuestion, HostReply, HostRequest, InterruptRequest, PermissionVerdict, SetModel, SetPermissionMode,
};
use wire::sdk::{SdkMessage, TurnResult};

/// The id of the configuration option that selects the model.
pub(crate) const MODEL: &str = "model";

pub(crate) struct AcpSession {
    pub(crate) id: String,
    cwd: PathBuf,
    commands: CommandSender,
    peer: Arc<AcpPeer>,
    pending: Mutex<OpenRequests>,
    has_ended: watch::Sender<bool>,
}

/// Requests that are still open, and the models on offer.
#[derive(Default)]
struct OpenRequests {
    /// In the order they were submitted.
    prompts: Vec<(String, oneshot::Sender<Result<PromptResponse, ProtocolError>>)>,
    controls: HashMap<String, oneshot::Sender<Result<Value, String>>>,
    questions: HashMap<String, AbortHandle>,
    models: Vec<AcpModel>,
    model: String,
}

#[derive(Clone, Debug, Deserialize)]
struct AcpModel {
    value: String,
    #[serde(rename = "displayName", default)]
    name: String,
    #[serde(default)]
    description: String,
}

#[derive(Debug, Deserialize)]
struct CommandHead {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(rename = "argumentHint", default)]
    hint: String,
}

/// The engine's answer to `initialize`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InitializeAnswer {
    commands: Vec<CommandHead>,
    models: Vec<AcpModel>,
}

impl AcpSession {
    /// Takes over an open engine session and starts to read its events.
    pub(crate) fn start(
        id: String,
        (cwd, draws_terminals): (PathBuf, bool),
        (commands, events): (CommandSender, EventReceiver),
        peer: Arc<AcpPeer>,
    ) -> Arc<Self> {
        let session = Arc::new(Self {
            id,
            cwd: cwd.clone(),
            commands,
            peer,
            pending: Mutex::default(),
            has_ended: watch::Sender::new(false),
        });
        let story = UpdateBuilder::new(cwd, ReplayMode::Live, draws_terminals);
        tokio::spawn(Arc::clone(&session).listen(events, story));
        session
    }

    fn pending(&self) -> sys::sync::MutexGuard<'_, OpenRequests> {
        self.pending.lock()
    }

    /// Asks the engine for its commands and models. The caller announces the commands once the client knows the
    /// session.
    pub(crate) async fn initialize_engine(&self) -> Vec<AvailableCommand> {
        let reply = self.control(HostRequest::Initialize(Box::default())).await.unwrap_or_default();
        let welcome: InitializeAnswer = serde_json::from_value(reply).unwrap_or_default();
        let mut open = self.pending();
        open.model = welcome.models.first().map(|model| model.value.clone()).unwrap_or_default();
        open.models = welcome.models;
        welcome.commands.into_iter().map(command).collect()
    }

    pub(crate) async fn announce(&self, commands: Vec<AvailableCommand>) {
        self.update(SessionUpdate::AvailableCommandsUpdate { available_commands: commands }).await;
    }

    pub(crate) fn config_options(&self) -> Vec<SessionConfigOption> {
        let open = self.pending();
        if open.models.is_empty() {
            return Vec::new();
        }
        let choice = |model: &AcpModel| {
            let name = if model.name.is_empty() { &model.value } else { &model.name };
            let (value, description) = (model.value.clone(), model.description.clone());
            SessionConfigValue { value, name: name.clone(), description }
        };
        vec![SessionConfigOption {
            id: MODEL,
            name: "Model",
            category: "model",
            kind: "select",
            current_value: open.model.clone(),
            options: open.models.iter().map(choice).collect(),
        }]
    }

    pub(crate) async fn set_model(&self, model: &str) -> Result<Vec<SessionConfigOption>, ProtocolError> {
        self.control_or_error(HostRequest::SetModel(SetModel { model: Some(model.to_owned()) })).await?;
        model.clone_into(&mut self.pending().model);
        Ok(self.config_options())
    }

    pub(crate) async fn set_mode(&self, mode: &str) -> Result<(), ProtocolError> {
        self.control_or_error(HostRequest::SetPermissionMode(SetPermissionMode { mode: mode.to_owned() })).await
    }

    async fn control_or_error(&self, request: HostRequest) -> Result<(), ProtocolError> {
        let outcome = self.control(request).await;
        outcome.map(|_| ()).map_err(|why| ProtocolError::invalid_params().data(Value::from(why)))
    }

    /// Submits a prompt; the receiver gets its outcome.
    pub(crate) async fn submit(
        &self,
        blocks: &[ContentBlock],
    ) -> oneshot::Receiver<Result<PromptResponse, ProtocolError>> {
        let (sender, receiver) = oneshot::channel();
        let uuid = sys::id::uuid();
        self.pending().prompts.push((uuid.clone(), sender));
        let Ok(content) = wire::raw::to_raw(&convert::prompt(blocks)) else { return receiver };
        let prompt = Prompt { uuid: Some(uuid.clone()), by_human: true, ..Prompt::new(content) };
        if self.commands.send(Command::Submit(prompt)).await.is_err() {
            self.end(&uuid, Err(ended()));
        }
        receiver
    }

    /// Interrupts the running turn and drops the queued prompts. They end as cancelled once the engine has listed them.
    pub(crate) async fn cancel(self: &Arc<Self>) {
        let reply = self.ask(HostRequest::Interrupt(InterruptRequest { cancel_queued: Some(true) })).await;
        let session = Arc::clone(self);
        tokio::spawn(async move { session.drop_queued(reply).await });
    }

    async fn drop_queued(&self, reply: oneshot::Receiver<Result<Value, String>>) {
        let reply = reply.await.ok().and_then(Result::ok).unwrap_or_default();
        let dropped = reply.get("cancelled").and_then(Value::as_array).cloned().unwrap_or_default();
        for uuid in dropped.iter().filter_map(Value::as_str) {
            self.end(uuid, Ok(PromptResponse { stop_reason: StopReason::Cancelled }));
        }
    }

    /// Ends the session and stops what runs; files that were written stay.
    pub(crate) async fn close(&self) {
        self.commands.send(Command::Shutdown).await.ok();
    }

    /// Resolves when the engine has closed the session.
    pub(crate) async fn ended(&self) {
        self.has_ended.subscribe().wait_for(|over| *over).await.ok();
    }

    async fn control(&self, request: HostRequest) -> Result<Value, String> {
        self.ask(request).await.await.unwrap_or_else(|_| Err("the session has ended".into()))
    }

    /// Sends a control request; a session that has ended answers nothing.
    async fn ask(&self, request: HostRequest) -> oneshot::Receiver<Result<Value, String>> {
        let (sender, receiver) = oneshot::channel();
        let id = sys::id::uuid();
        self.pending().controls.insert(id.clone(), sender);
        if self.commands.send(Command::Request { id: id.clone(), request }).await.is_err() {
            self.pending().controls.remove(&id);
        }
        receiver
    }

    async fn listen(self: Arc<Self>, mut events: EventReceiver, mut story: UpdateBuilder) {
        while let Some(event) = events.recv().await {
            match event {
                Event::Message(message) => {
                    for update in story.updates_for(&message) {
                        self.update(update).await;
                    }
                    if let SdkMessage::Result(result) = &message {
                        self.turn_ended(result);
                    }
                }
                Event::Ask { id, question } => self.question(id, question),
                Event::AskWithdrawn { id } => {
                    if let Some(asking) = self.pending().questions.remove(&id) {
                        asking.abort();
                    }
                }
                Event::Response(response) => {
                    let waiting = self.pending().controls.remove(response.request_id());
                    if let Some(waiting) = waiting {
                        waiting.send(response.into_result()).ok();
                    }
                }
                Event::Notice(text) => tracing::info!(session = %self.id, "{text}"),
                Event::Fault(text) => tracing::error!(session = %self.id, "{text}"),
                Event::Refused(why) => tracing::error!(session = %self.id, "{why}"),
                Event::Mirror(_) | Event::Dropped(_) | Event::Aside(_) => {}
            }
        }
        let left = std::mem::take(&mut *self.pending());
        for (_, prompt) in left.prompts {
            prompt.send(Err(ended())).ok();
        }
        self.has_ended.send_replace(true);
    }

    pub(crate) async fn update(&self, update: SessionUpdate) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Notification<'a> {
            session_id: &'a str,
            update: SessionUpdate,
        }
        self.peer.notify(client_method::SESSION_UPDATE, &Notification { session_id: &self.id, update }).await;
    }

    fn turn_ended(&self, result: &TurnResult) {
        // Nobody waits for a turn without a prompt (`origin` is set, such as for an ended task). A turn that failed
        // before its prompt was recorded does not name the prompt; it is the oldest one.
        let oldest =
            || self.pending().prompts.first().map(|(uuid, _)| uuid.clone()).filter(|_| result.origin.is_none());
        if let Some(uuid) = result.user_message_uuid.clone().or_else(oldest) {
            self.end(&uuid, outcome(result));
        }
    }

    fn end(&self, uuid: &str, outcome: Result<PromptResponse, ProtocolError>) {
        let mut open = self.pending();
        if let Some(at) = open.prompts.iter().position(|(prompt, _)| prompt == uuid) {
            open.prompts.remove(at).1.send(outcome).ok();
        }
    }

    /// Puts the engine's question to the editor; the call waits, nothing else does.
    fn question(self: &Arc<Self>, id: String, question: HostQuestion) {
        let (session, request_id) = (Arc::clone(self), id.clone());
        let asking = tokio::spawn(async move {
            let reply = match question {
                HostQuestion::CanUseTool(asked) => {
                    let verdict = session.ask_editor(&AcpPermissionRequest::from(*asked)).await;
                    HostReply::success(id.clone(), &verdict)
                }
                HostQuestion::Elicitation(_)
                | HostQuestion::HookCallback(_)
                | HostQuestion::McpMessage(_)
                | HostQuestion::Unknown(_) => HostReply::error(id.clone(), "The editor cannot answer this."),
            };
            session.pending().questions.remove(&id);
            session.commands.send(Command::Reply(reply)).await.ok();
        });
        self.pending().questions.insert(request_id, asking.abort_handle());
    }
}

impl AcpSession {
    /// Asks the editor and returns the engine's answer.
    async fn ask_editor(&self, question: &AcpPermissionRequest) -> PermissionVerdict {
        if tool_facts(&question.tool_name).class == ToolClass::Question {
            let request = question_form::request(&question.input, &self.id, &question.tool_use_id);
            let outcome = self.peer.request(client_method::ELICITATION_CREATE, &request).await;
            return question_form::verdict(&question.input, outcome);
        }
        let request = question.request(&self.id, &self.cwd);
        question.verdict(self.peer.request(client_method::SESSION_REQUEST_PERMISSION, &request).await)
    }
}

fn command(head: CommandHead) -> AvailableCommand {
    let input = (!head.hint.is_empty()).then_some(CommandInput { hint: head.hint });
    AvailableCommand { name: head.name, description: head.description, input }
}

fn ended() -> ProtocolError {
    ProtocolError::internal_error().data(Value::from("The session has ended."))
}

fn outcome(result: &TurnResult) -> Result<PromptResponse, ProtocolError> {
    let reason = result.terminal_reason.unwrap_or_default();
    if reason.starts_with("aborted") {
        return Ok(PromptResponse { stop_reason: StopReason::Cancelled });
    }
    let stop = match (result.subtype, result.stop_reason.as_deref()) {
        ("error_max_turns", _) => StopReason::MaxTurnRequests,
        (_, Some("refusal")) => StopReason::Refusal,
        (_, Some("max_tokens")) => StopReason::MaxTokens,
        _ if result.is_error => return Err(failure(result)),
        _ => StopReason::EndTurn,
    };
    Ok(PromptResponse { stop_reason: stop })
}

/// A missing or refused credential becomes `auth_required`, so that the client can offer to sign in.
fn failure(result: &TurnResult) -> ProtocolError {
    let told = result.result.clone().or_else(|| result.errors.as_ref().map(|errors| errors.join("\n")));
    let text = told.unwrap_or_else(|| result.subtype.to_owned());
    if result.api_error_status == Some(401) || text.contains("/login") {
        return ProtocolError::auth_required().data(Value::from(text));
    }
    ProtocolError::internal_error().data(Value::from(text))
}
