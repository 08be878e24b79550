//! Finding files and commands by a few letters of their names.

pub mod folder;
pub mod fuzzy;
pub mod index;
