//! Checkpoints of a conversation: the state of files at each prompt. They are lines of the transcript, in the form that
//! other programs read and write, with copies of files in a folder of the session; snapshots of the same session know
//! more (modes, whole folders, what commands did) and decide where both know a path.
//!
//! This module reads what a transcript says about them and plans and makes a rewind. `copies` keeps the folder.

mod copies;
mod log;
mod rewind;

pub use copies::{CopyFolder, CopySource, FoundVersion, MAX_COPY_BYTES, TrackedFile, key_of, latest_files, path_of};
pub use log::{BranchEnd, CheckpointLog, PromptPoint};
pub use rewind::{OverwriteChoice, RewindError, RewindPart, RewindPlan, RewindRequest, RewindTarget, UncoveredEffect};

#[cfg(test)]
#[path = "checkpoints/checkpoints_tests.rs"]
mod tests;
