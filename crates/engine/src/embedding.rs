//! Sessions inside another program. A [`Session`] opens with [`Session::builder`], asks the program's own functions
//! when a call needs permission or the model has a question, and answers prompts one after the other.
//!
//! ```no_run
//! # async fn run() -> Result<(), engine::SessionError> {
//! let mut session = engine::Session::builder()
//!     .directory("path/to/project")
//!     .on_permission(|call| async move { call.allow() })
//!     .open()
//!     .await?;
//! let answer = session.prompt("Which tests fail, and why?").await?;
//! assert!(!answer.is_error);
//! # Ok(())
//! # }
//! ```
//!
//! A program that needs every message, request and event uses [`open`](fn@crate::open) and its two channels instead.

mod person;

pub use person::{PermissionCall, QuestionChoice, QuestionForm, QuestionItem};

use crate::tool_facts;
use crate::{Command, CommandSender, Event, EventReceiver, Prompt, SessionOptions, StartError, StartRequest};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use tools::ToolClass;
use wire::control::{HostQuestion, HostReply, PermissionVerdict};
use wire::sdk::{SdkMessage, TurnResult};

/// Decides about a call.
type PermissionHandler = Arc<dyn Fn(PermissionCall) -> BoxFuture<'static, PermissionVerdict> + Send + Sync>;
/// Answers the questions of the model; `None` declines.
type QuestionHandler = Arc<dyn Fn(QuestionForm) -> BoxFuture<'static, Option<Vec<String>>> + Send + Sync>;
type MessageHandler = Box<dyn FnMut(&SdkMessage) + Send>;
type NoticeHandler = Box<dyn FnMut(&str) + Send>;

/// Why a session cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The session cannot start with these options, in this directory.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The current directory cannot be read.
    #[error("the current directory cannot be used: {0}")]
    Directory(#[source] std::io::Error),
    /// The session ended before it answered; the text says why, if it said so.
    #[error("the session ended before it answered{}", .0.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    Ended(Option<String>),
}

/// What a new session is made of. Everything has a default: the current directory, the environment of the process,
/// the settings on disk, and no calls that need permission.
#[derive(Default)]
pub struct SessionBuilder {
    env: Option<sys::Env>,
    directory: Option<PathBuf>,
    options: SessionOptions,
    handlers: Handlers,
}

#[derive(Default)]
struct Handlers {
    permission: Option<PermissionHandler>,
    question: Option<QuestionHandler>,
    message: Option<MessageHandler>,
    notice: Option<NoticeHandler>,
}

impl SessionBuilder {
    /// The directory the session works in.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// The environment instead of that of the process.
    #[must_use]
    pub fn env(mut self, env: sys::Env) -> Self {
        self.env = Some(env);
        self
    }

    /// An alias or the id of a model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.options.model.name = Some(model.into());
        self
    }

    /// Changes any option of the command line.
    #[must_use]
    pub fn options(mut self, change: impl FnOnce(&mut SessionOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Decides about calls that rules and mode leave open. Without it they are refused.
    #[must_use]
    pub fn on_permission<F>(mut self, decide: impl Fn(PermissionCall) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = PermissionVerdict> + Send + 'static,
    {
        self.handlers.permission = Some(Arc::new(move |call| Box::pin(decide(call))));
        self
    }

    /// Answers questions of the model, one answer for each question of the form. `None` declines. Without it the
    /// model cannot ask.
    #[must_use]
    pub fn on_question<F>(mut self, answer: impl Fn(QuestionForm) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<Vec<String>>> + Send + 'static,
    {
        self.handlers.question = Some(Arc::new(move |form| Box::pin(answer(form))));
        self
    }

    /// Sees every message of the protocol, in order.
    #[must_use]
    pub fn on_message(mut self, see: impl FnMut(&SdkMessage) + Send + 'static) -> Self {
        self.handlers.message = Some(Box::new(see));
        self
    }

    /// Receives warnings for the person who started the program.
    #[must_use]
    pub fn on_notice(mut self, show: impl FnMut(&str) + Send + 'static) -> Self {
        self.handlers.notice = Some(Box::new(show));
        self
    }

    /// Opens the session. Must be called inside a tokio runtime.
    pub async fn open(self) -> Result<Session, SessionError> {
        let Self { env, directory, mut options, handlers } = self;
        let env = env.unwrap_or_else(sys::Env::snapshot);
        let cwd = match directory {
            Some(directory) => directory,
            None => sys::launch::cwd(&env).map_err(SessionError::Directory)?,
        };
        options.host.multi_turn = true;
        if handlers.permission.is_some() || handlers.question.is_some() {
            options.permissions.prompt_tool.get_or_insert_with(|| "stdio".to_owned());
        }
        if handlers.question.is_none() {
            options.permissions.denied.push(tools::ask_user_question::NAME.to_owned());
        }
        let (commands, events) = crate::open(StartRequest { env, cwd, options }).await?;
        Ok(Session { commands, events, handlers, replies: FuturesUnordered::new(), fault: None })
    }
}

/// A running session. Dropping it ends the session.
pub struct Session {
    commands: CommandSender,
    events: EventReceiver,
    handlers: Handlers,
    /// Questions whose answers are being made.
    replies: FuturesUnordered<BoxFuture<'static, HostReply>>,
    /// Why the session failed as a whole.
    fault: Option<String>,
}

impl Session {
    /// Options for a new session.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    /// Runs one turn and returns its result. Messages on the way go to `on_message`. When the returned future is
    /// dropped, the turn goes on; [`Self::interrupt`] ends it.
    pub async fn prompt(&mut self, text: &str) -> Result<TurnResult, SessionError> {
        let content = wire::raw::to_raw(text).map_err(|error| SessionError::Ended(Some(error.to_string())))?;
        self.send(Command::Submit(Prompt::new(content))).await?;
        self.result().await
    }

    /// The result of the turn that runs now.
    pub async fn result(&mut self) -> Result<TurnResult, SessionError> {
        while let Some(message) = self.next_message().await {
            if let SdkMessage::Result(result) = message {
                return Ok(*result);
            }
        }
        Err(SessionError::Ended(self.fault.take()))
    }

    /// Ends the running turn and keeps what it produced. Its result still arrives.
    pub async fn interrupt(&mut self) -> Result<(), SessionError> {
        self.send(Command::Interrupt).await
    }

    /// Ends the session and waits until its files are written.
    pub async fn close(mut self) {
        self.commands.send(Command::Close).await.ok();
        while self.next_message().await.is_some() {}
    }

    async fn send(&mut self, command: Command) -> Result<(), SessionError> {
        self.commands.send(command).await.map_err(|_| SessionError::Ended(self.fault.take()))
    }

    /// The next message; answers questions meanwhile. `None` when the session has ended.
    async fn next_message(&mut self) -> Option<SdkMessage> {
        loop {
            let event = tokio::select! {
                Some(reply) = self.replies.next() => {
                    self.commands.send(Command::Reply(reply)).await.ok();
                    continue;
                }
                event = self.events.recv() => event?,
            };
            match event {
                Event::Message(message) => {
                    if let Some(see) = &mut self.handlers.message {
                        see(&message);
                    }
                    return Some(message);
                }
                Event::Ask { id, question } => self.answer(id, question),
                Event::Notice(text) => {
                    if let Some(show) = &mut self.handlers.notice {
                        show(&text);
                    }
                }
                Event::Fault(text) => self.fault = Some(text),
                Event::Refused(error) => self.fault = Some(error.to_string()),
                Event::AskWithdrawn { .. }
                | Event::Response(_)
                | Event::Mirror(_)
                | Event::Dropped(_)
                | Event::Aside(_) => {}
            }
        }
    }

    /// Starts to answer a question of the session.
    fn answer(&mut self, id: String, question: HostQuestion) {
        let HostQuestion::CanUseTool(asked) = question else {
            let refused = HostReply::error(id, "This program answers no such questions.");
            return self.replies.push(Box::pin(async { refused }));
        };
        let call = PermissionCall::new(*asked);
        let verdict: BoxFuture<'static, PermissionVerdict> = match (&self.handlers.question, &self.handlers.permission)
        {
            (Some(answer), _) if tool_facts(&call.tool).class == ToolClass::Question => {
                person::answered(call, Arc::clone(answer))
            }
            (_, Some(decide)) => decide(call),
            (_, None) => Box::pin(async { PermissionVerdict::deny("Nobody can be asked for permission here.") }),
        };
        self.replies.push(Box::pin(async move { HostReply::success(id, &verdict.await) }));
    }
}
