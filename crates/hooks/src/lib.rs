//! Hooks: handlers that the user wants to run at certain events of a session. This crate reads declarations, finds the
//! handlers that match an event, runs command handlers itself and the others through a [`HandlerRunner`], and merges
//! their answers into one decision. It never accesses permissions, the network or the session.
//!
//! Guarantees: every matching handler runs to its end (or its time limit) before the decision is made; the decision
//! does not depend on which handler finished first; a handler that hangs, floods its output or forks a daemon cannot
//! block the session; without hooks an event costs one lookup in an empty list.

pub mod answer;
mod catalogue;
mod command;
mod declaration;
mod fire;
pub mod http;
mod matcher;
mod merge;
pub mod pattern;
pub mod prompt;

pub use answer::{HandlerResult, HookAnswer, HookPermission, RequestDecision};
pub use catalogue::{DeclaredLayer, HookCatalogue, HookEntry, HookLayer, HookLocator, HookSwitches};
pub use command::HandlerEnvironment;
pub use declaration::{
    CommandHandler, HandlerDetachment, HandlerFailure, HandlerKind, HookHandler, HookOrigin, HookShell, HttpHandler,
    McpToolHandler, ModelHandler,
};
pub use fire::{
    AsyncDone, DetachedHandler, HandlerJob, HandlerRunner, HookLifecycle, HookOccasion, HookOutcome, HookProgress,
    HookReport, Hooks, SilentProgress, SpentHandlers,
};
pub use merge::{HookBlock, HookContext, HookProblem, HookVerdict, MergedAnswer};
