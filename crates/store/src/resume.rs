//! Loading a conversation: backwards from the end, heads only, along parent links to the root or the last compaction,
//! and no further. Lines that cannot be read are stepped over, never fatal. Nothing is written.

use crate::error::StoreError;
use std::path::{Path, PathBuf};
use wire::entry::{MessageHead, Replacement};

#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `--resume-session-at`: the last entry to keep.
    pub at: Option<String>,
    /// `--resume-drops-turn`: everything that `at` drops must belong to the turn of this prompt.
    pub drops_turn: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    User,
    Assistant,
    System,
    Attachment,
}

/// One entry of the live conversation.
#[derive(Clone, Debug)]
pub struct LoadedEntry {
    pub kind: EntryKind,
    pub uuid: Box<str>,
    /// As written in the file; the order of `Loaded::entries` is the truth.
    pub parent: Option<Box<str>>,
    pub timestamp: Option<Box<str>>,
    /// `message` of user and assistant entries, `attachment` of attachments: valid JSON, byte for byte.
    pub body: Option<Box<str>>,
    pub message_id: Option<Box<str>>,
    pub model: Option<Box<str>>,
    pub prompt_id: Option<Box<str>>,
    /// System entries.
    pub subtype: Option<Box<str>>,
    pub is_meta: bool,
    pub is_compact_summary: bool,
    pub is_api_error: bool,
    /// A user entry that answers tool calls.
    pub is_tool_result: bool,
    pub(crate) span: Span,
}

/// Where a line lies in its file, without its newline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) len: usize,
}

impl LoadedEntry {
    pub fn message(&self) -> Option<MessageHead<'_>> {
        match self.kind {
            EntryKind::User | EntryKind::Assistant => serde_json::from_str(self.body.as_deref()?).ok(),
            EntryKind::System | EntryKind::Attachment => None,
        }
    }
}

/// The compaction the conversation starts from.
#[derive(Clone, Debug)]
pub struct Boundary {
    pub uuid: Box<str>,
    pub logical_parent: Option<Box<str>>,
    /// `compactMetadata`, raw JSON.
    pub metadata: Option<Box<str>>,
}

/// What a resumed session continues from.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub session_id: String,
    pub path: PathBuf,
    /// In conversation order.
    pub entries: Vec<LoadedEntry>,
    /// The parent of the next entry.
    pub leaf_uuid: Option<Box<str>>,
    pub replacements: Vec<Replacement>,
    pub custom_title: Option<String>,
    pub ai_title: Option<String>,
    pub last_prompt: Option<String>,
    pub permission_mode: Option<String>,
    /// Of the last assistant entry that a model wrote.
    pub model: Option<String>,
    /// Where the session was started.
    pub cwd: Option<String>,
    pub entrypoint: Option<String>,
    pub boundary: Option<Boundary>,
    /// Metadata lines to hand to `Transcript::remember`.
    pub sticky: Vec<Box<str>>,
    pub skipped_lines: usize,
    /// How much of the file was looked at.
    pub bytes_read: u64,
}

impl Loaded {
    /// The whole line of an entry, read again from the file.
    pub fn raw_line(&self, _entry: &LoadedEntry) -> Result<String, StoreError> {
        Err(StoreError::Empty { path: self.path.clone() })
    }
}

/// Loads the conversation in `path`. An existing file without any message is `StoreError::Empty`.
pub fn load(path: &Path, _options: &LoadOptions) -> Result<Loaded, StoreError> {
    Err(StoreError::Empty { path: path.to_path_buf() })
}

/// The same for a transcript in memory.
pub fn load_bytes(_bytes: &[u8], _options: &LoadOptions) -> Result<Loaded, StoreError> {
    Err(StoreError::Empty { path: PathBuf::new() })
}
