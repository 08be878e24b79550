//! The built-in tools through their registry.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

#[path = "../common/mod.rs"]
mod common;

mod edit_forms;
mod files_edit;
mod files_media;
mod files_notebook;
mod files_read;
mod search_glob;
mod search_grep;
mod search_lists;
mod search_rg;
mod search_web;
mod shell_bash;
mod shell_tasks;
mod smoke;
