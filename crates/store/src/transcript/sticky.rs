//! Metadata that readers search only near the end of the file: titles, tag, last prompt, modes. Keeps the latest line
//! of each kind, also when another process wrote it, and decides when copies must be written.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// In bytes. Readers see the last 64 KiB; copies are written well before a line leaves that range.
const COPY_AFTER: u64 = 48 << 10;
/// In bytes. A line closer to the end than this needs no copy at exit.
const NEAR_BYTES: u64 = 16 << 10;
const KINDS: [&str; 12] = [
    "custom-title",
    "ai-title",
    "tag",
    "agent-name",
    "agent-color",
    "agent-setting",
    "mode",
    "permission-mode",
    "pr-link",
    "last-prompt",
    "worktree-state",
    "relocated",
];

#[derive(Default)]
pub(super) struct StickyMetadata {
    items: Vec<StickyLine>,
}

struct StickyLine {
    kind: &'static str,
    line: String,
    /// Bytes between the line and the end of the file.
    behind: u64,
    /// Messages were written after the line.
    outrun: bool,
}

/// Metadata lines start with their type; tree lines start with their parent.
pub(super) fn is_metadata(line: &str) -> bool {
    line.starts_with("{\"type\":\"")
}

pub(crate) fn kind_of(line: &str) -> Option<&'static str> {
    let rest = line.strip_prefix("{\"type\":\"")?;
    let name = &rest[..rest.find('"')?];
    KINDS.into_iter().find(|k| *k == name)
}

impl StickyMetadata {
    /// Adds a line of the resumed file whose distance from the end is unknown.
    pub(super) fn remember(&mut self, line: String) {
        self.set(line, NEAR_BYTES + 1);
    }

    /// Takes lines that were just added at the end of the file, by this or another process.
    pub(super) fn lines_added(&mut self, lines: &[u8]) {
        let mut start = 0;
        while start < lines.len() {
            let end = memchr::memchr(b'\n', &lines[start..]).map_or(lines.len(), |at| start + at + 1);
            let line = &lines[start..end];
            start = end;
            self.advance(line.len() as u64);
            let Ok(text) = std::str::from_utf8(line) else { continue };
            let text = text.trim_end();
            if !is_metadata(text) {
                self.items.iter_mut().for_each(|i| i.outrun = true);
            } else if kind_of(text).is_some() && serde_json::from_str::<IgnoredAny>(text).is_ok() {
                self.set(text.to_owned(), 0);
            }
        }
    }

    fn advance(&mut self, bytes: u64) {
        self.items.iter_mut().for_each(|i| i.behind += bytes);
    }

    fn set(&mut self, line: String, behind: u64) {
        let Some(kind) = kind_of(&line) else { return };
        let item = StickyLine { kind, line, behind, outrun: false };
        match self.items.iter_mut().find(|i| i.kind == kind) {
            Some(old) => *old = item,
            None => self.items.push(item),
        }
    }

    pub(super) fn is_due(&self) -> bool {
        self.items.iter().any(|i| i.behind > COPY_AFTER)
    }

    /// True when a line should be copied before the file is closed.
    pub(super) fn is_far(&self) -> bool {
        self.items.iter().any(|i| i.behind > NEAR_BYTES)
    }

    /// Copies of every line that is not near the end.
    pub(super) fn copies(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for item in self.items.iter().filter(|i| i.behind > NEAR_BYTES) {
            let Some(line) = item.copy() else { continue };
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
        out
    }
}

impl StickyLine {
    /// A copy of the line; `None` when it cannot be built. Leaves out a leaf that newer messages have replaced: a
    /// reader would resume there.
    fn copy(&self) -> Option<String> {
        if self.kind != "last-prompt" || !self.outrun {
            return Some(self.line.clone());
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct LastPrompt {
            last_prompt: Option<String>,
            session_id: Option<String>,
        }
        let old: LastPrompt = serde_json::from_str(&self.line).ok()?;
        let entry = wire::entry::MetaEntry::LastPrompt {
            last_prompt: Some(old.last_prompt?),
            leaf_uuid: None,
            session_id: old.session_id?,
        };
        wire::entry::TranscriptEntry::Meta(entry).to_line().ok()
    }
}
