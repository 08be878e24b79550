//! Tests the client with a server on loopback, and the stream parser with mutated bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

#[path = "../server/mod.rs"]
mod server;

mod client;
mod smoke;
