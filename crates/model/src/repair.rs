//! stub
use crate::fragment::Turn;

/// What the request is made for.
#[derive(Clone, Copy, Debug)]
pub struct Needs<'a> {
    /// The model that will read the history.
    pub model: &'a str,
    /// `Drop` after the server refused thinking in this conversation.
    pub thinking: KeepThinking,
    pub limits: Limits,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepThinking {
    #[default]
    Keep,
    Drop,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest base64 text of one image.
    pub image: usize,
    /// Largest body.
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { image: 5 * 1024 * 1024, body: 32 * 1024 * 1024 }
    }
}

/// A history the API will take.
#[derive(Clone, Debug, Default)]
pub struct Repaired {
    pub turns: Vec<Turn>,
    /// What was done, for the debug log.
    pub notes: Vec<String>,
    /// The conversation is too large even without media: its size in bytes.
    pub oversize: Option<usize>,
}

pub fn repair(turns: &[Turn], _needs: &Needs<'_>) -> Repaired {
    Repaired { turns: turns.to_vec(), ..Repaired::default() }
}
