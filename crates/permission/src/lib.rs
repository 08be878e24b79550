//! Given rules, mode and a requested access, decide allow, deny or ask, and say why. No I/O: paths come in resolved.

pub mod access;

pub use access::Access;
