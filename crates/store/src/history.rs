//! `history.jsonl`: prompts typed by a person, shared by all processes. Appended in single writes, read newest first.

use crate::error::StoreError;
use crate::layout::Layout;

/// One prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub display: String,
    /// `pastedContents`, raw JSON.
    pub pasted: String,
    pub timestamp: u64,
    pub project: String,
    pub session_id: String,
}

/// Records a prompt, unless it repeats the newest one of the same project.
pub fn append(_layout: &Layout, _prompt: &Prompt) -> Result<(), StoreError> {
    Ok(())
}

/// Newest first; reads only as far as it is asked.
pub fn newest(_layout: &Layout) -> impl Iterator<Item = Prompt> {
    std::iter::empty()
}
