//! The engine of gimlet: it drives a session, which is one conversation with a model that uses tools. The turn loop, the
//! calls, the commands and the agents are here; the parts that a session is made of are in the crate `session_parts`.
//!
//! # A session in another program
//!
//! [`Session::builder`] opens a session with functions of the program that decide about calls and answer questions.
//! Everything has a default: the current directory, the environment of the process, the settings on disk, and no call
//! that needs permission.
//!
//! ```no_run
//! use engine::PermissionVerdict;
//!
//! # async fn run() -> Result<(), engine::SessionError> {
//! let mut session = engine::Session::builder()
//!     .directory("path/to/project")
//!     .options(|options| {
//!         options.model.name = Some("opus".into());
//!         options.permissions.allowed = vec!["Bash(cargo test *)".into()];
//!         options.limits.max_budget_usd = Some(0.5);
//!     })
//!     .on_permission(|call| async move {
//!         if call.tool == "Edit" { call.allow() } else { call.deny("Only edits are allowed here.") }
//!     })
//!     .on_message(|message| println!("{message:?}"))
//!     .open()
//!     .await?;
//! let result = session.prompt("Make the tests pass.").await?;
//! println!("{}", result.result.unwrap_or_default());
//! session.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! [`SessionOptions`] has a group for each subject: model, system prompt, tools, MCP servers, permissions, configuration,
//! conversation, limits. They are what the command line sets. A session that cannot start says why in a [`StartError`].
//! `crates/engine/examples/one_prompt.rs` is a complete program.
//!
//! # A frontend of its own
//!
//! Below the builder are two channels: [`open()`] takes a [`StartRequest`] and returns a sender of [`Command`]s and a
//! receiver of [`Event`]s, which are the protocol of the published SDKs, typed. The frontends of gimlet (`headless`, `acp`,
//! `tui`) use nothing else.
//!
//! - A prompt is [`Command::Submit`]; what happens meanwhile arrives as [`Event::Message`], and every turn ends with a
//!   [`SdkMessage::Result`].
//! - [`Event::Ask`] is a question for the person (permission, a form); [`Command::Reply`] answers it.
//! - [`Command::Request`] asks the session for something (another model, its status); [`Event::Response`] answers it.
//! - Dropping the sender, or [`Command::Close`], ends the session after its queued turns.
//!
//! [`tool_facts()`] says what kind of tool a name belongs to, so that a frontend needs no list of names. [`preflight`] names
//! what has to be asked before a session may be opened at a terminal; [`query`] and [`screens`] read conversations and
//! settings without a session.

mod agent_runs;
mod agents;
mod apply_changes;
mod calls;
mod command_table;
mod commands;
mod compact;
mod control;
mod decide;
mod deferred;
mod embedding;
mod open;
mod past_messages;
pub mod query;
mod recall_tool;
mod repeats;
pub mod repository;
mod result;
mod rewind;
pub mod screens;
mod serve;
mod session;
mod skill_tool;
mod step;
mod tool_facts;
pub mod tool_session;
mod turn;
mod turn_state;
mod typed_skills;
mod view;
mod worktree_tools;

pub use command_table::is_command;
pub use commands::UNKNOWN_COMMAND;
/// The names of the colours that a session can have.
pub use config::agents::COLORS as SESSION_COLOURS;
pub use embedding::{
    PermissionCall, QuestionChoice, QuestionForm, QuestionItem, Session, SessionBuilder, SessionError,
};
pub use open::{awaits_call, open};
/// Text as a person must see it, for frontends that ask questions.
pub use permission::escape_invisible;
pub use session_parts::command::{
    Command, CommandSender, Event, EventReceiver, OWN_COMMAND, Prompt, PromptPriority, ScreenEvent, ShellOutputUse,
    TurnJoin,
};
/// How a session works, in groups.
pub use session_parts::options::{
    AgentOptions, CassetteOptions, ConfigurationOptions, ConversationOptions, ForkTarget, HostOptions, LimitOptions,
    ModelOptions, PermissionOptions, PromptOptions, ServerOptions, SessionChoice, SessionOptions, SettingSource,
    StartRequest, ThinkingOption, ToolOptions, WorktreeChoice,
};
pub use session_parts::provider::NOT_LOGGED_IN;
/// Parts that hosts use without a session.
pub use session_parts::rewind as rewinding;
pub use session_parts::start_error::{StartError, StartFailure};
pub use session_parts::worktree::planned_path as planned_worktree;
pub use session_parts::{
    compaction_report, export, facts, hooks, import, options, picture, preflight, prompt_history, sandbox,
    stored_context, usage_report,
};
/// The environment of a session, which may be another than that of the process.
pub use sys::Env;
pub use tool_facts::tool_facts;
/// The tool with which the model asks the person.
pub use tools::ask_user_question::NAME as QUESTION_TOOL;
/// The diff of two texts, for frontends that draw it.
pub use tools::compare;
/// What the kinds of tools are called.
pub use tools::facts::{FileContact, ToolClass, ToolFacts};
/// What hosts ask, answer and receive.
pub use wire::control::{ControlResponse, HostQuestion, HostReply, HostRequest, PermissionVerdict};
pub use wire::mode::PermissionMode;
pub use wire::sdk::{SdkMessage, TurnResult};
