//! The Agent Client Protocol (version 1): an editor drives gimlet over stdin and stdout. Each protocol session is
//! one engine session in this process. Guarantees: stdout carries protocol lines only; every request gets exactly
//! one answer; a cancelled prompt ends with `cancelled`, never with an error. The file and terminal methods of the
//! editor are not used, because they would bypass the permission engine: gimlet reads, writes and runs by itself
//! and shows what it does.

mod agent;
mod call_display;
mod convert;
mod peer;
mod permission;
mod protocol;
mod question_form;
mod session;
mod updates;

pub use agent::serve;
