//! The session: turn loop, context, calls and control. Frontends talk to it only through `Command` and `Event`.

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
pub mod query;
mod result;
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

pub use embedding::{
    PermissionCall, QuestionChoice, QuestionForm, QuestionItem, Session, SessionBuilder, SessionError,
};
pub use open::{awaits_call, open};
/// Text as a person must see it, for frontends that ask questions.
pub use permission::escape_invisible;
pub use session_parts::command::{
    Command, CommandSender, Event, EventReceiver, Prompt, PromptPriority, ScreenEvent, ShellOutputUse, TurnJoin,
};
pub use session_parts::options::{
    ForkTarget, SessionChoice, SessionOptions, SettingSource, StartRequest, ThinkingOption, WorktreeChoice,
};
pub use session_parts::provider::NOT_LOGGED_IN;
pub use session_parts::start_error::{StartError, StartFailure};
/// Parts that hosts use without a session.
pub use session_parts::{export, facts, hooks, options, picture, preflight, prompt_history, sandbox};
pub use tool_facts::tool_facts;
pub use tools::ask_user_question::NAME as QUESTION_TOOL;
/// The diff of two texts, for frontends that draw it.
pub use tools::compare;
/// What the kinds of tools are called.
pub use tools::facts::{FileContact, ToolClass, ToolFacts};
/// What hosts answer and receive.
pub use wire::control::PermissionVerdict;
pub use wire::sdk::{SdkMessage, TurnResult};
