//! The Agent Client Protocol (version 1): an editor drives gimlet over stdin and stdout. The same engine serves it as
//! every other host, one engine session per protocol session, all in this process. Guarantees: stdout carries protocol
//! lines only; every request gets exactly one answer; a prompt ends with `cancelled`, never an error, once it was
//! cancelled. Refuses: the editor's files and terminals as a way around the permission engine; gimlet reads, writes and
//! runs by itself, and shows what it does.

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
