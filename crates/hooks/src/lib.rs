//! Hooks: what the user wants run at certain moments of a session. This crate reads declarations, finds the handlers that
//! match an event, runs command handlers itself and the others through a [`Runner`], and turns what they say into one
//! decision. It never touches permissions, the network or the session.
//!
//! Guarantees: every matching handler runs to its end (or its time limit) before the decision is made; the decision does
//! not depend on who finished first; a handler that hangs, floods its output or forks a daemon cannot hold up the session;
//! without hooks an event costs one look at an empty list.

pub mod answer;
mod catalogue;
mod command;
mod declare;
mod fire;
pub mod http;
mod matcher;
mod merge;
pub mod pattern;
pub mod prompt;

pub use answer::{Answer, Permission, Ran, RequestDecision};
pub use catalogue::{Catalogue, Declared, Entry, Layer, Switches};
pub use command::Surroundings;
pub use declare::{Ask, Command, Detachment, Handler, Http, Kind, McpTool, OnFailure, Origin, Shell};
pub use fire::{
    AsyncDone, Detached, Hooks, Job, Lifecycle, Occasion, Outcome, Progress, Report, Runner, Silent, Spent,
};
pub use merge::{Block, Context, Merged, Problem, Verdict};
