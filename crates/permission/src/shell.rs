//! The shell judge. One command is read three ways (`reading`): by a real grammar, which alone can lead to an allow; by
//! a second parser; and by a generous scanner that finds at least every program that might start. Deny, ask and the
//! safety checks see the union, and what the readings do not agree on is asked about.

mod archives;
mod braces;
mod constant;
pub(crate) mod docker;
mod expansion;
pub(crate) mod files;
pub(crate) mod find;
pub(crate) mod flags;
pub(crate) mod flow;
pub(crate) mod git;
pub(crate) mod globals;
pub(crate) mod grammar;
mod late_binding;
mod listing;
pub(crate) mod name_pattern;
pub(crate) mod outputs;
pub(crate) mod pattern;
pub(crate) mod readers;
pub(crate) mod reading;
pub(crate) mod readonly;
pub(crate) mod relaxed;
pub(crate) mod removal;
pub(crate) mod removal_targets;
pub(crate) mod runners;
pub(crate) mod script;
pub(crate) mod script_languages;
pub(crate) mod second_opinion;
pub(crate) mod suspects;
mod variables;
pub(crate) mod wrapper;
mod written;
pub(crate) mod zsh;

/// Whether the values of all variables among the words of a command may be seen by everybody.
pub(crate) fn shows_no_secret(unit: &script::SimpleCommand) -> bool {
    unit.words.iter().flat_map(|word| &word.variables).all(|variable| variables::is_printable(&variable.name))
}
