//! The client against a server on loopback, and the stream parser on mutated bytes.

#[path = "../server/mod.rs"]
mod server;

mod client;
mod smoke;
