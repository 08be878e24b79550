//! The interactive interface in a pseudo-terminal and in tmux.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

#[path = "../common/mod.rs"]
mod common;

mod agents;
mod around;
mod asking;
mod btw;
mod cd;
mod compactions;
mod cost;
mod dialogs;
mod images;
mod keys;
mod live_rows;
mod looks;
mod mcp;
mod picker;
mod pictures;
mod promises;
mod prompt;
mod queue;
mod reading;
mod record;
mod rewind;
mod screens;
mod session;
mod small_windows;
mod tmux;
mod views;
