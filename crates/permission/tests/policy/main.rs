//! The policy from outside: the security cases, everyday commands, random wrappers and properties.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod everyday;
mod held;
mod offered;
mod parts;
mod properties;
mod security_cases;
mod smoke;
mod surroundings;
mod wrappers;
