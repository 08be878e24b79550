//! Headless mode: text, JSON and stream-json on stdin and stdout.
//!
//! Guarantees: stdout carries only the chosen format, in whole lines; a slow reader slows the session but never
//! delays its commands or signals; stderr is written only for failures, warnings and notices. This crate decides
//! nothing about the conversation: it turns bytes into `Command`s and `Event`s into bytes.

mod input;
mod printer;
#[cfg(any(test, fuzzing))]
pub mod probe;
mod prompt;
mod run;
mod shrink;
mod startup;
mod stdio;
mod turns;

pub use prompt::PromptError;
pub use run::{HeadlessJob, OutputFormat, RunInput, run};
pub use startup::report as report_startup_failure;
pub use stdio::{is_writable, print_to_stderr};
