//! Requests of the host, one row each.

use super::wishes::Wishes;
use super::{Control, Front};
use crate::command::Event;
use crate::grants::wanted_mode;
use crate::side_question;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wire::control::{Change, ControlResponse, HostRequest, Interrupt, RenameSession};
use wire::entry::{Entry, MetaEntry};
use wire::sdk::{Message, System, SystemBody};

/// What `system/init` and the reply to `initialize` promise.
pub(crate) const CAPABILITIES: [&str; 2] = ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"];

/// Why a request cannot be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub error: String,
    /// For programs.
    pub code: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), code: None }
    }
}

/// What becomes of a request.
pub(super) enum Said {
    Now(Value),
    /// A finished line.
    Line(String),
    Later(BoxFuture<'static, Result<Value, Refusal>>),
    Refused(Refusal),
    /// Answered by the session.
    Noted,
}

impl Said {
    pub(super) fn refused(error: impl Into<String>) -> Self {
        Self::Refused(Refusal::new(error))
    }

    /// Work that reads files, off the runtime.
    pub(super) fn later(work: impl FnOnce() -> Result<Value, Refusal> + Send + 'static) -> Self {
        Self::Later(Box::pin(async move {
            match tokio::task::spawn_blocking(work).await {
                Ok(said) => said,
                Err(error) => Err(Refusal::new(format!("The request failed: {error}"))),
            }
        }))
    }
}

impl Control {
    pub(super) async fn serve(&mut self, request_id: String, request: &RawValue) {
        let request = match HostRequest::read(request.get()) {
            Ok(request) => request,
            Err(error) => return self.send(refused(&request_id, Refusal::new(error.to_string()))).await,
        };
        if let HostRequest::Interrupt(asked) = request {
            return self.interrupt_for(&request_id, asked).await;
        }
        let before = self.queue.backlog();
        let said = self.dispatch(&request_id, request);
        self.tell_dropped(before).await;
        match said {
            Said::Now(response) => {
                self.send(success(&request_id, response)).await;
                self.tell_title().await;
            }
            Said::Line(line) => self.send(line).await,
            Said::Refused(refusal) => self.send(refused(&request_id, refusal)).await,
            Said::Later(work) => self.start_reply(request_id, work),
            Said::Noted => {}
        }
    }

    /// A title that the host has just given, for whoever reads the stream.
    async fn tell_title(&mut self) {
        let (Some(title), Some(front)) = (self.title.take(), &self.front) else { return };
        let body = SystemBody::SessionTitleChanged { title };
        let session_id = front.reach.session_id.clone();
        let message = Message::System(System { kind: "system", body, session_id, uuid: sys::id::uuid() });
        self.tell(Event::Message(message)).await;
    }

    async fn tell_dropped(&self, before: usize) {
        let dropped = before - self.queue.backlog();
        if dropped > 0 {
            self.tell(Event::Dropped(dropped)).await;
        }
    }

    /// The receipt goes out before anything of the turn's end.
    async fn interrupt_for(&mut self, request_id: &str, asked: Interrupt) {
        let before = self.queue.backlog();
        let cancelled = (asked.cancel_queued == Some(true)).then(|| self.queue.clear());
        self.tell_dropped(before).await;
        let mut response = json!({"still_queued": self.queue.ids()});
        if let Some(cancelled) = cancelled {
            response["cancelled"] = json!(cancelled);
        }
        self.send(success(request_id, response)).await;
        self.interrupt();
    }

    fn dispatch(&mut self, request_id: &str, request: HostRequest) -> Said {
        let Some(front) = &self.front else { return Said::Refused(Refusal::new("There is no host here")) };
        match request {
            HostRequest::Initialize(asked) => match self.greet_again(request_id, *asked) {
                Ok(line) => Said::Line(line),
                Err(refusal) => Said::Refused(refusal),
            },
            HostRequest::SetPermissionMode(asked) => self.set_mode(&asked.mode),
            HostRequest::SetModel(asked) => self.set_model(asked.model),
            HostRequest::SetMaxThinkingTokens(asked) => {
                self.wishes.thinking_tokens = asked.max_thinking_tokens;
                self.wishes.thinking_display = asked.thinking_display;
                Said::Now(json!({}))
            }
            HostRequest::ApplyFlagSettings(asked) => self.apply_flag_settings(&asked.settings),
            HostRequest::UpdateSettings(asked) => Self::update_settings(front, &asked),
            HostRequest::GetSettings => self.settings(front),
            HostRequest::Mcp(asked) => Said::Later(front.reach.mcp.handle(asked, self.board.policy.clone())),
            HostRequest::RewindFiles(asked) => Said::Now(json!({
                "canRewind": false,
                "error": format!("There is no checkpoint for message {}: this build keeps none", asked.user_message_id),
            })),
            HostRequest::GetContextUsage(_) => Said::Now(self.board.usage.reply()),
            HostRequest::GetUsage => self.usage(front),
            HostRequest::GetSessionCost => Self::cost(front),
            HostRequest::ListModels => {
                let models = self.models();
                Said::Later(Box::pin(async move { Ok(json!({"models": models.await})) }))
            }
            HostRequest::GetBinaryVersion => Said::Now(json!({"version": wire::version::COMPAT})),
            HostRequest::StopTask(asked) => {
                // One that is not running is stopped already.
                front.reach.agents.stop_for_user(&asked.task_id);
                Said::Now(json!({}))
            }
            HostRequest::BackgroundTasks(asked) => {
                if !tools::tasks::may_background(&front.reach.env) {
                    return Said::refused("Background tasks are switched off");
                }
                let moved = front.reach.state.tasks.foreground.release(asked.tool_use_id.as_deref());
                Said::Now(json!({ "backgrounded": moved }))
            }
            HostRequest::GetTaskOutput(asked) => Self::task_output(front, &asked.task_id),
            HostRequest::CancelAsyncMessage(asked) => match asked.message_uuid {
                Some(uuid) => Said::Now(json!({"cancelled": self.queue.remove(&uuid)})),
                None if asked.all => Said::Now(json!({"cancelled": true, "message_uuids": self.queue.clear()})),
                None => Said::refused("cancel_async_message needs a message_uuid"),
            },
            HostRequest::ReadFile(asked) => self.read_file(front, asked),
            HostRequest::SeedReadState(asked) => Self::seed_read(front, asked),
            HostRequest::ReloadPlugins(asked) => self.reload_plugins(front, asked.refuse_if_busy == Some(true)),
            HostRequest::ReloadSkills => Self::reload_skills(front),
            HostRequest::ReloadOutputStyles => Self::reload_styles(front),
            HostRequest::RenameSession(asked) => {
                let title = asked.title.clone();
                let said = rename(front, asked);
                if matches!(said, Said::Now(_)) {
                    self.board.name = Some(title.clone());
                    self.title = Some(title);
                }
                said
            }
            HostRequest::StatusLine(asked) => self.status_line(front, &asked),
            HostRequest::AgentStatusLine(asked) => self.agent_status_line(front, &asked),
            HostRequest::Notify(asked) => self.wish(|wishes| wishes.notice = Some(asked)),
            HostRequest::RenewCredentials => {
                let bare = front.reach.reduced == crate::hooks::Reduced::Bare;
                let options = config::credentials::CredentialOptions { bare, now_ms: sys::clock::now_ms() };
                self.wish(|wishes| wishes.credentials = Some(options))
            }
            HostRequest::SideQuestion(asked) => {
                let question = asked.question.trim();
                match side_question::beside_turn(&front.reach.side, question).filter(|_| self.running) {
                    _ if question.is_empty() => Said::refused("A question must not be empty"),
                    Some(asked) => Said::Later(Box::pin(asked.reply())),
                    None => {
                        self.wishes.questions.push((request_id.to_owned(), question.to_owned()));
                        Said::Noted
                    }
                }
            }
            HostRequest::RetractPrompt => self.wish(|wishes| wishes.retract = true),
            HostRequest::ListPermissionRules => self.rules(front),
            HostRequest::UpdatePermissions(asked) => {
                // In force for the next call, in agents too; saved between two phases.
                let mut seen = usize::MAX;
                front.reach.agents.grant(&asked.updates, &mut seen);
                self.wishes.updates.extend(asked.updates);
                Said::Now(json!({}))
            }
            HostRequest::GetHooksListing => self.hooks_listing(front),
            HostRequest::SetColor | HostRequest::SetHasSubscribers => Said::Now(json!({})),
            HostRequest::FileSuggestions(asked) => self.suggest_files(front, asked.query),
            HostRequest::RegisterRepoRoot(asked) => self.register_root(&asked.directory),
            HostRequest::Interrupt(_) => Said::Line(unsupported(request_id, "interrupt")),
            HostRequest::Unknown(subtype) => Said::Line(unsupported(request_id, &subtype)),
        }
    }
}

impl Control {
    /// Carried out between two phases.
    fn wish(&mut self, change: impl FnOnce(&mut Wishes)) -> Said {
        change(&mut self.wishes);
        Said::Now(json!({}))
    }

    fn set_mode(&mut self, wanted: &str) -> Said {
        match wanted_mode(wanted, self.modes.bypass) {
            Ok(mode) => {
                self.modes.chosen.send_replace(Some(mode));
                self.wishes.mode = true;
                Said::Now(json!({"mode": mode.as_str()}))
            }
            Err(why) => Said::Refused(Refusal::new(why)),
        }
    }

    fn set_model(&mut self, named: Option<String>) -> Said {
        let named = named.filter(|name| name != "default");
        if let (Some(name), Some(front)) = (&named, &self.front)
            && !front.reach.permits_model(name)
        {
            return Said::refused(format!("The model {name} is not among availableModels"));
        }
        let reach = self.front.as_ref().map(|front| &front.reach);
        let model = reach.map(|reach| match &named {
            Some(name) => reach.catalog.resolve(name, &reach.env),
            None => reach.default_model.clone(),
        });
        self.wishes.model = named.map_or(Change::Reset, Change::Set);
        Said::Now(json!({ "model": model }))
    }
}

fn rename(front: &Front, asked: RenameSession) -> Said {
    let session_id = front.reach.session_id.clone();
    if asked.session_id.is_some_and(|id| id != session_id) {
        return Said::refused("That is not the session that runs here");
    }
    if asked.title.trim().is_empty() {
        return Said::refused("A title must not be empty");
    }
    let agent = MetaEntry::AgentName { agent_name: asked.title.clone(), session_id: session_id.clone() };
    let title = MetaEntry::CustomTitle { custom_title: asked.title, session_id };
    let lines: Result<Vec<String>, _> = [title, agent].into_iter().map(|entry| Entry::Meta(entry).to_line()).collect();
    let lines = match lines {
        Ok(lines) => lines,
        Err(error) => return Said::refused(error.to_string()),
    };
    match front.reach.transcript.append(lines) {
        Ok(()) => Said::Now(json!({})),
        Err(error) => Said::refused(error.to_string()),
    }
}

/// The line that answers a request.
pub(super) fn line(request_id: &str, said: Result<Value, Refusal>) -> String {
    match said {
        Ok(response) => success(request_id, response),
        Err(refusal) => refused(request_id, refusal),
    }
}

pub(super) fn success(request_id: &str, response: Value) -> String {
    wire::raw::to_line(&ControlResponse::success(request_id, response)).unwrap_or_default()
}

fn refused(request_id: &str, refusal: Refusal) -> String {
    let response = match refusal.code {
        Some(code) => ControlResponse::refused_as(request_id, refusal.error, code),
        None => ControlResponse::refused(request_id, refusal.error),
    };
    wire::raw::to_line(&response).unwrap_or_default()
}

fn unsupported(request_id: &str, subtype: &str) -> String {
    wire::raw::to_line(&ControlResponse::unsupported(request_id, subtype)).unwrap_or_default()
}
