//! The policy from outside: the security cases, everyday commands, random wrappers and properties.

mod everyday;
mod held;
mod properties;
mod security_cases;
mod smoke;
mod wrappers;
