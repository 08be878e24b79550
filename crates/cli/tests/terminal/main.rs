//! The interactive interface in a pseudo-terminal and in tmux.

#[path = "../common/mod.rs"]
mod common;

mod agents;
mod around;
mod btw;
mod cd;
mod dialogs;
mod images;
mod mcp;
mod picker;
mod pictures;
mod queue;
mod session;
mod tmux;
mod views;
