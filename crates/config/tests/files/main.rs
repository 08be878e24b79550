//! Real and mutated configuration files.

mod corpus;
mod effects;
mod schema;
mod settings_corpus;
mod smoke;
mod writers;
