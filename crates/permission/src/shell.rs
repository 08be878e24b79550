//! The shell judge. Two readings of one command: `plain` understands everything or nothing and is the only one that
//! can lead to an allow; `suspects` finds at least every program that might start and serves deny and ask.

pub(crate) mod pattern;
