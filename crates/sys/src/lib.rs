//! All contact with the operating system: environment snapshot, clock, ids, files, children, signals. The only crate
//! that may use `unsafe`, and it depends on no other crate of ours.

pub mod clock;
pub mod env;
pub mod fs;
pub mod git;
pub mod id;
pub mod launch;
pub mod process;

pub use env::Env;
