//! What must not happen: permissions, the sandbox, secrets, trust, undo, hostile folders and repositories.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

#[path = "../common/mod.rs"]
mod common;

mod findings_git;
mod findings_paths;
mod findings_secrets;
mod findings_shared;
mod findings_trust;
mod permissions;
mod rewind;
mod rewind_requests;
mod sandbox;
mod secrets;
mod trust;
mod undo;
