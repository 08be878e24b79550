//! The tool contract, the registry and the built-in tools. A tool never asks for permission and never writes to the
//! transcript: it declares what it would access, runs, and returns an outcome.

pub mod ask_user_question;
pub mod bash;
pub mod builtin;
pub mod compare;
pub mod contract;
pub mod edit;
pub mod facts;
mod file_change;
mod file_work;
pub mod foreground;
pub mod foreign_text;
pub mod glob;
pub mod grep;
pub mod input;
pub mod masked_calls;
pub mod masking;
mod missing_file;
pub mod multi_edit;
pub mod normal_form;
mod notebook;
pub mod notebook_edit;
pub mod patch;
pub mod plan_mode;
pub mod read;
pub mod read_state;
pub mod registry;
pub mod sandbox;
mod search_counter;
mod seen_difference;
mod session_facts;
pub mod shell;
mod shell_program;
mod shell_snapshot;
pub mod spill;
pub mod state;
mod syntax;
pub mod task_folder;
pub mod task_list;
pub mod task_output;
pub mod task_stop;
pub mod tasks;
pub mod text_file;
pub mod todo_items;
pub mod todo_write;
mod walk;
mod web_cache;
pub mod web_fetch;
pub mod web_search;
pub mod write;

pub use contract::{
    CallConcurrency, CallContext, InputError, MayRead, ModelText, NormalisedInput, PathDiscovery, SideModel, SideReply,
    SideRequest, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace,
};
pub use facts::{ToolClass, ToolFacts};
pub use input::ToolInput;
pub use registry::ToolRegistry;
