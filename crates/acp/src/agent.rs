//! The methods of the protocol. Requests are served concurrently; prompts and cancellations of a session are
//! handled in the order they are read.

use crate::convert;
use crate::peer::{AcpLine, AcpPeer, read_lines};
use crate::protocol::{
    AvailableCommand, InitializeRequest, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, McpServer,
    NewSessionRequest, PromptRequest, ProtocolError, ResumeSessionRequest, SessionInfo, SessionModeState,
    SessionOpened, SessionTarget, SetSessionConfigOptionRequest, SetSessionModeRequest, initialize_response, method,
};
use crate::session::{AcpSession, MODEL};
use crate::updates::{ReplayMode, UpdateBuilder};
use engine::QUESTION_TOOL;
use engine::{SessionChoice, StartRequest, query};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::signal::Signals;
use sys::sync::Mutex;
use wire::mode::PermissionMode;

/// How long sessions may take to shut down when the agent exits.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1_700);
/// Sessions per page of a listing.
const PAGE_SIZE: usize = 100;

/// Serves a client on stdin and stdout until it disconnects; returns the exit code. `boot` is the start request of
/// every session, to which the client adds its parameters. Must be called inside the runtime.
pub async fn serve(boot: StartRequest) -> u8 {
    let Ok(mut signals) = Signals::listen() else { return 1 };
    let (peer, writer) = AcpPeer::start();
    let agent = Arc::new(AcpAgent {
        boot,
        peer: Arc::new(peer),
        sessions: Mutex::default(),
        draws_terminals: AtomicBool::new(false),
        shows_forms: AtomicBool::new(false),
    });
    let mut lines = read_lines();
    let code = loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => agent.handle_line(&line).await,
                None => break 0,
            },
            caught = signals.next() => break caught.exit_code(),
            () = agent.peer.client_gone() => break 0,
        }
    };
    agent.shut_down().await;
    drop(agent);
    // Lines that are still queued are written, because a client that closed its output may still read.
    let drained = tokio::task::spawn_blocking(move || writer.join());
    tokio::time::timeout(SHUTDOWN_TIMEOUT, drained).await.ok();
    code
}

struct AcpAgent {
    boot: StartRequest,
    peer: Arc<AcpPeer>,
    sessions: Mutex<HashMap<String, Arc<AcpSession>>>,
    /// The client can display terminals (`terminal_output`).
    draws_terminals: AtomicBool,
    /// The client can display forms.
    shows_forms: AtomicBool,
}

/// What a client asks for when it creates, loads or resumes a session.
struct AcpSessionRequest<'a> {
    cwd: &'a Path,
    directories: &'a [PathBuf],
    servers: &'a [McpServer],
    choice: SessionChoice,
}

/// An open session with the data for the answer to the client.
struct ReadySession {
    session: Arc<AcpSession>,
    modes: SessionModeState,
    commands: Vec<AvailableCommand>,
}

impl AcpAgent {
    async fn handle_line(self: &Arc<Self>, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        if text.trim().is_empty() {
            return;
        }
        let Ok(line) = serde_json::from_str::<AcpLine<'_>>(&text) else {
            let nobody = RawValue::NULL;
            return self.peer.answer::<Value>(nobody, Err(ProtocolError::parse_error())).await;
        };
        match (&line.method, line.id) {
            (None, _) => self.peer.deliver_reply(&line),
            (Some(method), None) => self.handle_notification(method, line.params).await,
            (Some(method), Some(id)) => self.handle_request(method, id, line.params).await,
        }
    }

    async fn handle_notification(self: &Arc<Self>, method: &str, params: Option<&RawValue>) {
        if method != method::SESSION_CANCEL {
            return tracing::debug!(method, "a notification was ignored");
        }
        let Ok(cancel) = read::<SessionTarget>(params) else { return };
        if let Ok(session) = self.session(&cancel.session_id) {
            session.cancel().await;
        }
    }

    async fn handle_request(self: &Arc<Self>, method: &str, id: &RawValue, params: Option<&RawValue>) {
        if method == method::SESSION_PROMPT {
            return self.prompt(id, params).await;
        }
        let (agent, id, method) = (Arc::clone(self), id.to_owned(), method.to_owned());
        let params = params.map(RawValue::to_owned);
        tokio::spawn(async move { agent.serve_request(&method, &id, params.as_deref()).await });
    }

    async fn serve_request(&self, method: &str, id: &RawValue, params: Option<&RawValue>) {
        match method {
            method::INITIALIZE => self.reply(id, read(params).map(|request| self.initialize(&request))).await,
            method::AUTHENTICATE => self.reply(id, Ok(nothing())).await,
            method::SESSION_NEW => self.new_session(id, params).await,
            method::SESSION_LOAD => self.load_session(id, params).await,
            method::SESSION_RESUME => self.resume_session(id, params).await,
            method::SESSION_LIST => self.reply(id, self.list(params).await).await,
            method::SESSION_CLOSE => self.reply(id, self.close(params).await).await,
            method::SESSION_SET_MODE => self.reply(id, self.set_mode(params).await).await,
            method::SESSION_SET_CONFIG_OPTION => self.reply(id, self.set_option(params).await).await,
            other => {
                let unknown = ProtocolError::method_not_found().data(Value::from(other));
                self.reply::<Value>(id, Err(unknown)).await;
            }
        }
    }

    async fn reply<R: Serialize>(&self, id: &RawValue, outcome: Result<R, ProtocolError>) {
        self.peer.answer(id, outcome).await;
    }

    fn initialize(&self, request: &InitializeRequest) -> Value {
        let capabilities = request.client_capabilities.as_ref();
        let meta = capabilities.and_then(|known| known.meta.as_ref());
        let draws = meta.and_then(|meta| meta.get("terminal_output")).and_then(Value::as_bool).unwrap_or(false);
        self.draws_terminals.store(draws, Ordering::Relaxed);
        let forms = capabilities.and_then(|known| known.elicitation.as_ref()).is_some_and(|kinds| kinds.form.is_some());
        self.shows_forms.store(forms, Ordering::Relaxed);
        initialize_response(wire::version::OWN)
    }

    async fn new_session(&self, id: &RawValue, params: Option<&RawValue>) {
        let ready = match read::<NewSessionRequest>(params) {
            Ok(request) => {
                let wanted = AcpSessionRequest {
                    cwd: &request.cwd,
                    directories: &request.additional_directories,
                    servers: &request.mcp_servers,
                    choice: SessionChoice::New { id: Some(sys::id::uuid()) },
                };
                self.open(wanted).await
            }
            Err(error) => Err(error),
        };
        match ready {
            Ok(ReadySession { session, modes, commands }) => {
                let (session_id, config_options) = (Some(session.id.clone()), session.config_options());
                self.reply(id, Ok(SessionOpened { session_id, modes, config_options })).await;
                session.announce(commands).await;
            }
            Err(error) => self.reply::<Value>(id, Err(error)).await,
        }
    }

    async fn load_session(&self, id: &RawValue, params: Option<&RawValue>) {
        let loaded = match read::<LoadSessionRequest>(params) {
            Ok(request) => self.load(&request).await,
            Err(error) => Err(error),
        };
        match loaded {
            Ok(ReadySession { session, modes, commands }) => {
                let config_options = session.config_options();
                self.reply(id, Ok(SessionOpened { session_id: None, modes, config_options })).await;
                session.announce(commands).await;
            }
            Err(error) => self.reply::<Value>(id, Err(error)).await,
        }
    }

    /// Resumes a session and sends the whole conversation before the request is answered.
    async fn load(&self, request: &LoadSessionRequest) -> Result<ReadySession, ProtocolError> {
        let target = request.session_id.clone();
        let past = query::conversation(&self.boot.env, &request.cwd, &target)
            .map_err(|error| ProtocolError::session_not_found(&target).data(error.to_string()))?;
        let ready = self
            .open(AcpSessionRequest {
                cwd: &request.cwd,
                directories: &request.additional_directories,
                servers: &request.mcp_servers,
                choice: SessionChoice::Resume { target, fork: None },
            })
            .await?;
        let mut story =
            UpdateBuilder::new(request.cwd.clone(), ReplayMode::Again, self.draws_terminals.load(Ordering::Relaxed));
        for message in &past {
            for update in story.updates_for(message) {
                ready.session.update(update).await;
            }
        }
        Ok(ready)
    }

    async fn resume_session(&self, id: &RawValue, params: Option<&RawValue>) {
        let resumed = match read::<ResumeSessionRequest>(params) {
            Ok(request) => {
                let wanted = AcpSessionRequest {
                    cwd: &request.cwd,
                    directories: &request.additional_directories,
                    servers: &request.mcp_servers,
                    choice: SessionChoice::Resume { target: request.session_id.clone(), fork: None },
                };
                self.open(wanted).await
            }
            Err(error) => Err(error),
        };
        match resumed {
            Ok(ReadySession { session, modes, commands }) => {
                let config_options = session.config_options();
                self.reply(id, Ok(SessionOpened { session_id: None, modes, config_options })).await;
                session.announce(commands).await;
            }
            Err(error) => self.reply::<Value>(id, Err(error)).await,
        }
    }

    async fn open(&self, wanted: AcpSessionRequest<'_>) -> Result<ReadySession, ProtocolError> {
        if !wanted.cwd.is_absolute() {
            return Err(ProtocolError::invalid_params().data(Value::from("cwd must be an absolute path")));
        }
        let id = match &wanted.choice {
            SessionChoice::New { id } => id.clone().unwrap_or_default(),
            SessionChoice::Resume { target, .. } => target.clone(),
            SessionChoice::Continue { .. } => String::new(),
        };
        if self.session(&id).is_ok() {
            return Err(ProtocolError::invalid_params().data(Value::from("This session is open already.")));
        }
        let boot = self.boot_for(&wanted);
        let modes = convert::modes(
            boot.options.permissions.mode.map_or("default", PermissionMode::as_str),
            boot.options.permissions.allow_bypass,
        );
        let opened = engine::open(boot).await;
        let pair = opened.map_err(|error| ProtocolError::invalid_params().data(Value::from(error.to_string())))?;
        let place = (wanted.cwd.to_owned(), self.draws_terminals.load(Ordering::Relaxed));
        let session = AcpSession::start(id.clone(), place, pair, Arc::clone(&self.peer));
        self.sessions.lock().insert(id, Arc::clone(&session));
        let commands = session.initialize_engine().await;
        Ok(ReadySession { session, modes, commands })
    }

    fn boot_for(&self, wanted: &AcpSessionRequest<'_>) -> StartRequest {
        let mut boot = self.boot.clone();
        wanted.cwd.clone_into(&mut boot.cwd);
        boot.options.conversation.choice = wanted.choice.clone();
        boot.options.permissions.directories.extend_from_slice(wanted.directories);
        boot.options.servers.declared.extend(convert::mcp_config(wanted.servers));
        boot.options.permissions.prompt_tool = Some("stdio".into());
        boot.options.host.partial_messages = true;
        boot.options.host.multi_turn = true;
        if !self.shows_forms.load(Ordering::Relaxed) {
            boot.options.permissions.denied.push(QUESTION_TOOL.into());
        }
        boot
    }

    async fn list(&self, params: Option<&RawValue>) -> Result<ListSessionsResponse, ProtocolError> {
        let request: ListSessionsRequest = read(params)?;
        let skip: usize = request.cursor.as_deref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let (env, cwd) = (self.boot.env.clone(), request.cwd.clone());
        let listing = tokio::task::spawn_blocking(move || query::sessions(&env, cwd.as_deref(), skip, PAGE_SIZE + 1));
        let mut rows =
            listing.await.map_err(|error| ProtocolError::internal_error().data(Value::from(error.to_string())))?;
        let more = rows.len() > PAGE_SIZE;
        rows.truncate(PAGE_SIZE);
        let info = |row: query::SessionListItem| SessionInfo {
            session_id: row.id,
            cwd: row.cwd,
            title: row.title,
            updated_at: row.updated_at,
        };
        let next_cursor = more.then(|| (skip + PAGE_SIZE).to_string());
        Ok(ListSessionsResponse { sessions: rows.into_iter().map(info).collect(), next_cursor })
    }

    async fn close(&self, params: Option<&RawValue>) -> Result<Value, ProtocolError> {
        let request: SessionTarget = read(params)?;
        let session = self.session(&request.session_id)?;
        self.sessions.lock().remove(&session.id);
        session.cancel().await;
        session.close().await;
        Ok(nothing())
    }

    async fn set_mode(&self, params: Option<&RawValue>) -> Result<Value, ProtocolError> {
        let request: SetSessionModeRequest = read(params)?;
        self.session(&request.session_id)?.set_mode(&request.mode_id).await?;
        Ok(nothing())
    }

    async fn set_option(&self, params: Option<&RawValue>) -> Result<Value, ProtocolError> {
        let request: SetSessionConfigOptionRequest = read(params)?;
        let session = self.session(&request.session_id)?;
        let Some(value) = request.value.as_str() else {
            return Err(ProtocolError::invalid_params().data(Value::from("This option takes one of its values.")));
        };
        if request.config_id != MODEL {
            return Err(ProtocolError::invalid_params().data(Value::from("There is no such option.")));
        }
        session.set_model(value).await.map(|options| json!({"configOptions": options}))
    }

    /// Submits the prompt in order; a separate task waits for its end and answers the request.
    async fn prompt(self: &Arc<Self>, id: &RawValue, params: Option<&RawValue>) {
        let session =
            read::<PromptRequest>(params).and_then(|request| Ok((self.session(&request.session_id)?, request.prompt)));
        let (session, blocks) = match session {
            Ok(found) => found,
            Err(error) => return self.reply::<Value>(id, Err(error)).await,
        };
        let outcome = session.submit(&blocks).await;
        let (peer, id) = (Arc::clone(&self.peer), id.to_owned());
        tokio::spawn(async move {
            let outcome = outcome.await.unwrap_or_else(|_| Err(ProtocolError::internal_error()));
            peer.answer(&id, outcome).await;
        });
    }

    fn session(&self, id: &str) -> Result<Arc<AcpSession>, ProtocolError> {
        let sessions = self.sessions.lock();
        sessions.get(id).cloned().ok_or_else(|| ProtocolError::session_not_found(id))
    }

    async fn shut_down(&self) {
        self.peer.drop_pending();
        let sessions: Vec<Arc<AcpSession>> = self.sessions.lock().drain().map(|(_, session)| session).collect();
        let closing = async {
            for session in &sessions {
                session.close().await;
            }
            for session in sessions {
                session.ended().await;
            }
        };
        tokio::time::timeout(SHUTDOWN_TIMEOUT, closing).await.ok();
    }
}

/// The empty result of a method without a return value.
fn nothing() -> Value {
    json!({})
}

/// Reads parameters; missing parameters are read as an empty object.
fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, ProtocolError> {
    let text = params.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| ProtocolError::invalid_params().data(Value::from(error.to_string())))
}
