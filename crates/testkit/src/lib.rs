//! Support for all tests of gimlet: a scripted model server with real HTTP and SSE on loopback, and a sandbox
//! (temporary home, configuration and project) to run the binary in.
//!
//! The interface for tests is synchronous and panics on misuse, which makes the test fail. Nothing connects to other
//! hosts than 127.0.0.1, touches the real home or changes the environment of the test process.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "test support: a panic is the report")]

mod captured;
pub mod clumsy;
mod gate;
mod http;
mod message;
mod picture;
mod reply;
mod sandbox;
mod serve;
mod server;
mod terminal;
mod wait;

pub use captured::CapturedRequest;
pub use gate::ReplyGate;
pub use message::{ScriptedBlock, ScriptedEvent, ScriptedMessage};
pub use picture::{PictureTheme, ScreenPicture, first_difference};
pub use reply::ScriptedReply;
pub use sandbox::{FinishedRun, GimletRun, RunningGimlet, Sandbox, stream_lines};
pub use server::ModelServer;
pub use terminal::TestTerminal;
pub use wait::{let_pass, until, wait_for, wait_until};
