//! The parts a session is made of, without its loop: the types that frontends send and receive, the connection to the
//! host, the transcript writer, the context that is sent to the model, hooks, skills, MCP tools, the sandbox, worktrees,
//! and the questions before a session starts. The crate `engine` drives them.

pub mod call_ids;
pub mod checkpoints;
pub mod command;
pub mod compaction_policy;
pub mod context;
pub mod export;
pub mod facts;
pub mod grants;
pub mod history;
pub mod hooks;
pub mod host;
pub mod ledger;
pub mod mcp;
pub mod messages;
pub mod mirror;
pub mod models;
mod names;
pub mod options;
pub mod permission_prompt;
pub mod picture;
pub mod plan;
pub mod preflight;
pub mod project_facts;
pub mod prompt_history;
pub mod prompt_recipe;
pub mod prompts;
pub mod provider;
pub mod published_rules;
pub mod questions;
pub mod reads;
pub mod resume;
pub mod rewind;
pub mod sandbox;
pub mod settings_watch;
pub mod side_question;
pub mod side_requests;
pub mod skills;
pub mod start_error;
pub mod structured;
pub mod tasks;
pub mod tool_use;
pub mod transcript_writer;
pub mod worktree;
