//! Handles the control requests of the host, one match arm each.

use super::changes::SessionChanges;
use super::{HostConnection, SessionControl};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use session_parts::command::{Command, Event, Prompt, RequestRefusal};
use session_parts::grants::wanted_mode;
use session_parts::side_question;
use wire::control::{AgentMessage, ControlResponse, FieldChange, HostRequest, InterruptRequest, RenameSession};
use wire::entry::{MetaEntry, TranscriptEntry};
use wire::sdk::{SdkMessage, SystemBody, SystemMessage};

/// The capabilities announced by `system/init` and the reply to `initialize`.
pub(crate) const CAPABILITIES: [&str; 2] = ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"];

/// How a request is answered.
pub(super) enum RequestOutcome {
    Now(Value),
    /// A finished answer.
    Response(ControlResponse),
    Later(BoxFuture<'static, Result<Value, RequestRefusal>>),
    Refused(RequestRefusal),
    /// The session will answer it.
    Noted,
}

impl RequestOutcome {
    pub(super) fn refused(error: impl Into<String>) -> Self {
        Self::Refused(RequestRefusal::new(error))
    }

    /// Runs work that reads files on a blocking thread.
    pub(super) fn later(work: impl FnOnce() -> Result<Value, RequestRefusal> + Send + 'static) -> Self {
        Self::Later(Box::pin(async move {
            match tokio::task::spawn_blocking(work).await {
                Ok(said) => said,
                Err(error) => Err(RequestRefusal::new(format!("The request failed: {error}"))),
            }
        }))
    }
}

impl SessionControl {
    pub(super) async fn serve(&mut self, request_id: String, request: HostRequest) {
        if let HostRequest::Interrupt(asked) = request {
            return self.interrupt_for(&request_id, asked).await;
        }
        let before = self.queue.backlog();
        let said = self.dispatch(&request_id, request);
        self.send_dropped(before).await;
        match said {
            RequestOutcome::Now(response) => {
                self.send(ControlResponse::success(&request_id, response)).await;
                self.send_title().await;
            }
            RequestOutcome::Response(response) => self.send(response).await,
            RequestOutcome::Refused(refusal) => self.send(refused(&request_id, refusal)).await,
            RequestOutcome::Later(work) => self.start_reply(request_id, work),
            RequestOutcome::Noted => {}
        }
    }

    /// Gives an agent that runs a message of the person.
    fn message_agent(front: &HostConnection, asked: AgentMessage) -> RequestOutcome {
        let ended = || RequestRefusal::new("The agent has ended; its message was not sent");
        let Some(channel) = front.handles.agents.channel(&asked.task_id) else {
            return RequestOutcome::Refused(ended());
        };
        RequestOutcome::Later(Box::pin(async move {
            let content = wire::raw::to_raw(&asked.message).map_err(|error| RequestRefusal::new(error.to_string()))?;
            let sent = channel.send(Command::Submit(Prompt::new(content))).await;
            sent.map(|()| json!({})).map_err(|_| ended())
        }))
    }

    /// Announces a title that the host has just set on the event stream.
    async fn send_title(&mut self) {
        let (Some(title), Some(front)) = (self.title.take(), &self.host) else { return };
        let body = SystemBody::SessionTitleChanged { title };
        let session_id = front.handles.session_id.clone();
        let message = SdkMessage::System(SystemMessage { kind: "system", body, session_id, uuid: sys::id::uuid() });
        self.send_event(Event::Message(message)).await;
    }

    async fn send_dropped(&self, before: usize) {
        let dropped = before - self.queue.backlog();
        if dropped > 0 {
            self.send_event(Event::Dropped(dropped)).await;
        }
    }

    /// Sends the receipt before any message about the end of the turn.
    async fn interrupt_for(&mut self, request_id: &str, asked: InterruptRequest) {
        let before = self.queue.backlog();
        let cancelled = (asked.cancel_queued == Some(true)).then(|| self.queue.clear());
        self.send_dropped(before).await;
        let mut response = json!({"still_queued": self.queue.ids()});
        if let Some(cancelled) = cancelled {
            response["cancelled"] = json!(cancelled);
        }
        self.send(ControlResponse::success(request_id, response)).await;
        self.interrupt();
    }

    fn dispatch(&mut self, request_id: &str, request: HostRequest) -> RequestOutcome {
        let Some(front) = &self.host else {
            return RequestOutcome::Refused(RequestRefusal::new("There is no host here"));
        };
        match request {
            HostRequest::Initialize(asked) => match self.reinitialize(request_id, *asked) {
                Ok(response) => RequestOutcome::Response(response),
                Err(refusal) => RequestOutcome::Refused(refusal),
            },
            HostRequest::SetPermissionMode(asked) => self.set_mode(&asked.mode),
            HostRequest::SetModel(asked) => self.set_model(asked.model),
            HostRequest::SetMaxThinkingTokens(asked) => {
                self.changes.thinking_tokens = asked.max_thinking_tokens;
                self.changes.thinking_display = asked.thinking_display;
                RequestOutcome::Now(json!({}))
            }
            HostRequest::ApplyFlagSettings(asked) => self.apply_flag_settings(&asked.settings),
            HostRequest::UpdateSettings(asked) => Self::update_settings(front, &asked),
            HostRequest::GetSettings => self.settings(front),
            HostRequest::Mcp(asked) => {
                RequestOutcome::Later(front.handles.mcp.handle(asked, self.view.rules.read().policy.clone()))
            }
            HostRequest::RewindFiles(asked) => self.rewind_files(front, asked),
            HostRequest::RewindList => self.rewind_list(front),
            HostRequest::Rewind(asked) => self.rewind(request_id, asked),
            HostRequest::CompactPart(_) => {
                RequestOutcome::Response(ControlResponse::unsupported(request_id, "x_compact_part"))
            }
            HostRequest::GetContextUsage(_) => RequestOutcome::Now(self.view.usage.reply()),
            HostRequest::GetUsage => self.usage(front),
            HostRequest::GetSessionCost => Self::cost(front),
            HostRequest::ListModels => {
                let models = self.listed_models();
                RequestOutcome::Later(Box::pin(async move { Ok(json!({"models": models.await})) }))
            }
            HostRequest::GetBinaryVersion => RequestOutcome::Now(json!({"version": wire::version::COMPAT})),
            HostRequest::StopTask(asked) => {
                // A task that does not run is already stopped.
                front.handles.agents.stop_for_user(&asked.task_id);
                RequestOutcome::Now(json!({}))
            }
            HostRequest::MessageAgent(asked) => Self::message_agent(front, asked),
            HostRequest::BackgroundTasks(asked) => {
                if !tools::tasks::may_background(&front.handles.env) {
                    return RequestOutcome::refused("Background tasks are disabled");
                }
                let moved = front.handles.state.tasks.foreground.release(asked.tool_use_id.as_deref());
                RequestOutcome::Now(json!({ "backgrounded": moved }))
            }
            HostRequest::GetTaskOutput(asked) => Self::task_output(front, &asked.task_id),
            HostRequest::CancelAsyncMessage(asked) => match asked.message_uuid {
                Some(uuid) => RequestOutcome::Now(json!({"cancelled": self.queue.remove(&uuid)})),
                None if asked.all => {
                    RequestOutcome::Now(json!({"cancelled": true, "message_uuids": self.queue.clear()}))
                }
                None => RequestOutcome::refused("cancel_async_message needs a message_uuid"),
            },
            HostRequest::ReadFile(asked) => self.read_file(front, asked),
            HostRequest::SeedReadState(asked) => Self::seed_read(front, asked),
            HostRequest::ReloadPlugins(asked) => self.reload_plugins(front, asked.refuse_if_busy == Some(true)),
            HostRequest::ReloadSkills => Self::reload_skills(front),
            HostRequest::ReloadOutputStyles => Self::reload_styles(front),
            HostRequest::RenameSession(asked) => {
                let title = asked.title.clone();
                let said = rename(front, asked);
                if matches!(said, RequestOutcome::Now(_)) {
                    self.view.name = Some(title.clone());
                    self.title = Some(title);
                }
                said
            }
            HostRequest::StatusLine(asked) => self.status_line(front, &asked),
            HostRequest::AgentStatusLine(asked) => self.agent_status_line(front, &asked),
            HostRequest::Notify(asked) => self.change_later(|wishes| wishes.notice = Some(asked)),
            HostRequest::RenewCredentials => {
                let bare = front.handles.reduced == session_parts::hooks::HookRestriction::Bare;
                let options = config::credentials::CredentialOptions { bare, now_ms: sys::clock::now_ms() };
                self.change_later(|wishes| wishes.credentials = Some(options))
            }
            HostRequest::SideQuestion(asked) => self.answer_beside_turn(request_id, asked.question.trim()),
            HostRequest::RetractPrompt => self.change_later(|wishes| wishes.retract = true),
            HostRequest::ListPermissionRules => self.rules(front),
            HostRequest::UpdatePermissions(asked) => {
                // Applies to the next call, also in agents; saved between two phases.
                let mut seen = usize::MAX;
                front.handles.agents.grant(&asked.updates, &mut seen);
                self.changes.updates.extend(asked.updates);
                RequestOutcome::Now(json!({}))
            }
            HostRequest::GetHooksListing => self.hooks_listing(front),
            HostRequest::SetColor | HostRequest::SetHasSubscribers => RequestOutcome::Now(json!({})),
            HostRequest::FileSuggestions(asked) => self.suggest_files(front, asked.query),
            HostRequest::RegisterRepoRoot(asked) => self.register_root(&asked.directory),
            HostRequest::Interrupt(_) => {
                RequestOutcome::Response(ControlResponse::unsupported(request_id, "interrupt"))
            }
            HostRequest::Unknown(subtype) => {
                RequestOutcome::Response(ControlResponse::unsupported(request_id, &subtype))
            }
            HostRequest::Unreadable(error) => RequestOutcome::refused(error.to_string()),
        }
    }
}

impl SessionControl {
    /// Records a change that the session applies between two phases.
    fn change_later(&mut self, change: impl FnOnce(&mut SessionChanges)) -> RequestOutcome {
        change(&mut self.changes);
        RequestOutcome::Now(json!({}))
    }

    /// During a turn the question is sent at once, with the conversation of the turn's last request; otherwise the session
    /// sends it.
    fn answer_beside_turn(&mut self, request_id: &str, question: &str) -> RequestOutcome {
        let Some(front) = &self.host else { return RequestOutcome::refused("There is no host here") };
        match side_question::during_turn(&front.handles.side, question).filter(|_| self.running) {
            _ if question.is_empty() => RequestOutcome::refused("A question must not be empty"),
            Some(asked) => RequestOutcome::Later(Box::pin(asked.reply())),
            None => {
                self.changes.questions.push((request_id.to_owned(), question.to_owned()));
                RequestOutcome::Noted
            }
        }
    }

    fn set_mode(&mut self, wanted: &str) -> RequestOutcome {
        match wanted_mode(wanted, self.modes.bypass) {
            Ok(mode) => {
                self.modes.chosen.send_replace(Some(mode));
                self.changes.mode = true;
                RequestOutcome::Now(json!({"mode": mode.as_str()}))
            }
            Err(why) => RequestOutcome::Refused(RequestRefusal::new(why)),
        }
    }

    fn set_model(&mut self, named: Option<String>) -> RequestOutcome {
        let named = named.filter(|name| name != "default");
        if let (Some(name), Some(front)) = (&named, &self.host)
            && !front.handles.permits_model(name)
        {
            return RequestOutcome::refused(format!("The model {name} is not among availableModels"));
        }
        let handles = self.host.as_ref().map(|front| &front.handles);
        let model = handles.map(|handles| match &named {
            Some(name) => handles.catalog.resolve(name, &handles.env),
            None => handles.default_model.clone(),
        });
        self.changes.model = named.map_or(FieldChange::Reset, FieldChange::Set);
        RequestOutcome::Now(json!({ "model": model }))
    }
}

fn rename(front: &HostConnection, asked: RenameSession) -> RequestOutcome {
    let session_id = front.handles.session_id.clone();
    if asked.session_id.is_some_and(|id| id != session_id) {
        return RequestOutcome::refused("That is not the session that runs here");
    }
    if asked.title.trim().is_empty() {
        return RequestOutcome::refused("A title must not be empty");
    }
    let agent = MetaEntry::AgentName { agent_name: asked.title.clone(), session_id: session_id.clone() };
    let title = MetaEntry::CustomTitle { custom_title: asked.title, session_id };
    let lines: Result<Vec<String>, _> =
        [title, agent].into_iter().map(|entry| TranscriptEntry::Meta(entry).to_line()).collect();
    let lines = match lines {
        Ok(lines) => lines,
        Err(error) => return RequestOutcome::refused(error.to_string()),
    };
    match front.handles.transcript.append(lines) {
        Ok(()) => RequestOutcome::Now(json!({})),
        Err(error) => RequestOutcome::refused(error.to_string()),
    }
}

/// The answer to a request.
pub(super) fn response(request_id: &str, said: Result<Value, RequestRefusal>) -> ControlResponse {
    match said {
        Ok(body) => ControlResponse::success(request_id, body),
        Err(refusal) => refused(request_id, refusal),
    }
}

fn refused(request_id: &str, refusal: RequestRefusal) -> ControlResponse {
    ControlResponse::refused(request_id, refusal.error, refusal.code)
}
