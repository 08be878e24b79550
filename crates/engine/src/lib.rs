//! The session: turn loop, context, calls and control. Frontends talk to it only through `Command` and `Event`.

mod agents;
mod apply_changes;
mod call_ids;
mod calls;
mod command;
mod commands;
mod compact;
mod compaction_policy;
mod context;
mod control;
mod decide;
mod deferred;
pub mod export;
pub mod facts;
mod grants;
mod history;
pub mod hooks;
mod host;
mod housekeeping;
mod ledger;
mod mcp;
mod mid_turn;
mod mirror;
mod models;
mod names;
mod notes;
mod open;
pub mod options;
mod permission_prompt;
pub mod picture;
mod plan;
pub mod preflight;
pub mod prompt_history;
mod prompts;
mod provider;
pub mod query;
mod questions;
mod reads;
mod result;
mod resume;
pub mod sandbox;
pub mod screens;
mod session;
mod settings_watch;
mod side_question;
mod side_requests;
mod skills;
mod step;
mod structured;
mod tasks;
pub mod tool_session;
mod transcript_writer;
mod turn;
mod worktree;

pub use command::{
    Command, CommandSender, Event, EventReceiver, Prompt, PromptPriority, ScreenEvent, ShellOutputUse, TurnJoin,
};
pub use open::{awaits_call, open};
pub use options::{
    ForkTarget, SessionChoice, SessionOptions, SettingSource, StartError, StartRequest, ThinkingOption, WorktreeChoice,
};
/// Text as a person must see it, for frontends that ask questions.
pub use permission::escape_invisible;
pub use provider::NOT_LOGGED_IN;
/// The diff of two texts, for frontends that draw it.
pub use tools::compare;
