//! All access to the operating system: environment snapshot, clock, ids, files, children, signals. The only crate of
//! ours that may use `unsafe`; it depends on no other crate of ours.

pub mod clock;
pub mod compact_sort;
pub mod env;
pub mod fs;
pub mod git;
pub mod hangup;
pub mod id;
pub mod keeper;
pub mod launch;
pub mod machine;
pub mod process;
mod procfs;
pub mod real_path;
pub mod ring;
pub mod sandbox;
pub mod signal;
pub mod sync;
pub mod terminal;
pub mod tty;

pub use env::Env;
pub use machine::{is_alive, is_root, is_tty, passwd_home, pid, proc_start, uid};
pub use ring::RingBuffer;
