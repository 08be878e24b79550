//! One conversation through `-p`: turns, calls, output, input, transcripts, resuming, compaction, model traffic.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

#[path = "../common/mod.rs"]
mod common;

mod calls;
mod cassette;
mod compaction;
mod compaction_clear;
mod compaction_part;
mod compaction_words;
mod compactions;
mod cost;
mod findings_client;
mod findings_engine;
mod findings_keys;
mod findings_models;
mod import;
mod input;
mod mentions;
mod messages;
mod model_experience;
mod mx_agents;
mod mx_file_tools;
mod mx_session;
mod network_faults;
mod notes;
mod output;
mod recall;
mod resume;
mod retention;
mod sessions;
mod store;
mod turns;
mod weeks;
