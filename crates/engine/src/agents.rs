//! Subagents: sessions inside the session.

pub(crate) mod voice;
