//! Programs that control gimlet: the control protocol, questions to the host, ACP, the engine as a library; and the
//! command line itself.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

#[path = "../common/mod.rs"]
mod common;

mod acp;
mod asks;
mod control;
mod control_requests;
mod credentials;
mod demo;
mod docs;
mod earlier;
mod findings_settings;
mod findings_told;
mod launch;
mod library;
mod purge;
mod settings;
mod update;
mod usage;
mod visitor;
