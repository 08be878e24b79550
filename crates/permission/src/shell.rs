//! The shell judge. Two readings of one command: `plain` understands everything or nothing and is the only one that
//! can lead to an allow; `suspects` finds at least every program that might start and serves deny, ask and the safety
//! checks.

pub(crate) mod files;
mod git;
pub(crate) mod pattern;
pub(crate) mod plain;
pub(crate) mod readonly;
pub(crate) mod removal;
pub(crate) mod suspects;
pub(crate) mod wrapper;
