//! What every test of gimlet stands on: a scripted model server that speaks real HTTP and SSE on loopback, and a sandbox
//! (temporary home, configuration and project) to run the binary in.
//!
//! Everything here is synchronous on the test's side and panics on misuse: a panic is the test's report. Nothing leaves
//! 127.0.0.1, nothing touches the real home, nothing mutates the environment of the test process.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "test support: a panic is the report")]

mod captured;
mod gate;
mod http;
mod message;
mod picture;
mod reply;
mod sandbox;
mod serve;
mod server;
mod terminal;

pub use captured::CapturedRequest;
pub use gate::ReplyGate;
pub use message::{ScriptedBlock, ScriptedEvent, ScriptedMessage};
pub use reply::ScriptedReply;
pub use sandbox::{FinishedRun, GimletRun, RunningGimlet, Sandbox, stream_lines};
pub use server::ModelServer;
pub use terminal::TestTerminal;
