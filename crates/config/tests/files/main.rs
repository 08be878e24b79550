//! Real and mutated configuration files.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod corpus;
mod schema;
mod settings_corpus;
mod smoke;
mod writers;
