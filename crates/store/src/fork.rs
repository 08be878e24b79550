//! Copies a conversation under a new id. The source is only read. Copied lines keep every byte except their session id,
//! an added `forkedFrom`, and a parent that was not copied. Unknown lines are kept; lines about the environment of the
//! old session are left out.

use crate::error::StoreError;
use crate::head::{LineHead, SessionFields};
use crate::resume::LoadedConversation;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes the kept history of `source` to `dest`, which must not exist. Call it just before the first new message is
/// written: a fork without a message should leave no file.
pub fn fork(source: &LoadedConversation, new_id: &str, dest: &Path) -> Result<(), StoreError> {
    let input = File::open(&source.path).map_err(|e| StoreError::read(&source.path, e))?;
    if let Some(dir) = dest.parent() {
        crate::layout::create_private(dir).map_err(|e| StoreError::write(dest, e))?;
    }
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(dest);
    let mut output = BufWriter::new(created.map_err(|e| StoreError::write(dest, e))?);
    let mut copy = ForkCopy::new(source, new_id);
    if let Err(error) = copy.run(input, &mut output).and_then(|()| output.flush()) {
        std::fs::remove_file(dest).ok();
        return Err(StoreError::write(dest, error));
    }
    Ok(())
}

struct ForkCopy<'s> {
    source: &'s LoadedConversation,
    new_id: &'s str,
    /// Maps the offset of a kept line to its position in the conversation.
    entries: HashMap<u64, usize>,
    places: HashMap<&'s str, usize>,
    first: u64,
    last: u64,
    /// The kinds of metadata that were already copied.
    copied: Vec<&'static str>,
}

impl<'s> ForkCopy<'s> {
    fn new(source: &'s LoadedConversation, new_id: &'s str) -> Self {
        let spans = || source.entries.iter().map(|e| e.span.offset);
        Self {
            source,
            new_id,
            entries: spans().enumerate().map(|(place, offset)| (offset, place)).collect(),
            places: source.entries.iter().enumerate().map(|(place, e)| (&*e.uuid, place)).collect(),
            // Lines before a compaction are no longer part of the conversation.
            first: if source.boundary.is_some() { spans().min().unwrap_or(0) } else { 0 },
            last: if source.truncated { spans().max().unwrap_or(0) } else { u64::MAX },
            copied: Vec::new(),
        }
    }

    fn run(&mut self, mut input: File, output: &mut impl Write) -> io::Result<()> {
        input.seek(SeekFrom::Start(self.first))?;
        let mut reader = BufReader::with_capacity(256 << 10, input.take(self.source.len - self.first));
        let mut line = Vec::new();
        let mut offset = self.first;
        while reader.read_until(b'\n', &mut line)? > 0 {
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            if let Some(copy) = self.line(offset, text) {
                output.write_all(copy.as_bytes())?;
                output.write_all(b"\n")?;
            }
            offset += line.len() as u64;
            line.clear();
        }
        for old in &self.source.sticky {
            let known = crate::transcript::kind_of(old).is_some_and(|k| {
                !matches!(k, "last-prompt" | "worktree-state" | "relocated") && !self.copied.contains(&k)
            });
            if let Some(copy) = known.then(|| self.rewrite_line(old, None, None)).flatten() {
                output.write_all(copy.as_bytes())?;
                output.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    fn line(&mut self, offset: u64, line: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(line).ok()?;
        if let Some(&place) = self.entries.get(&offset) {
            return self.entry(text, place);
        }
        let head = LineHead::read(line)?;
        let kind = head.kind.as_str().unwrap_or_default();
        // A retraction is recorded after the entry it takes back, so it may lie after the cut.
        let is_late = offset > self.last && kind != "x-retracted";
        if head.is_node() || is_left_behind(kind) || is_late {
            return None;
        }
        if kind == "last-prompt" && !head.leaf_uuid.as_str().is_some_and(|leaf| self.places.contains_key(leaf)) {
            return None;
        }
        self.copied.extend(crate::transcript::kind_of(text));
        self.rewrite_line(text, None, None)
    }

    fn entry(&self, line: &str, place: usize) -> Option<String> {
        let entry = &self.source.entries[place];
        let lost = entry.parent.as_deref().is_some_and(|p| !self.places.contains_key(p));
        let above = place.checked_sub(1).map(|p| &*self.source.entries[p].uuid);
        let parent = lost.then(|| serde_json::to_string(&above).ok()).flatten();
        self.rewrite_line(line, Some(&entry.uuid), parent)
    }

    /// Returns the line with its session id replaced, and its parent and origin where given.
    fn rewrite_line(&self, line: &str, forked: Option<&str>, parent: Option<String>) -> Option<String> {
        let values: SessionFields<'_> = serde_json::from_str(line).ok()?;
        let id = serde_json::to_string(self.new_id).ok()?;
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        for old in [values.session_id, values.other_session_id].into_iter().flatten() {
            edits.push((range(line, old), id.clone()));
        }
        if let (Some(old), Some(parent)) = (values.parent, parent) {
            edits.push((range(line, old), parent));
        }
        if let Some(uuid) = forked {
            let session = serde_json::to_string(&self.source.session_id).ok()?;
            let origin = format!(r#"{{"sessionId":{session},"messageUuid":{}}}"#, serde_json::to_string(uuid).ok()?);
            let end = line.rfind('}')?;
            edits.push(match values.forked_from {
                Some(old) => (range(line, old), origin),
                None => (end..end, format!(r#","forkedFrom":{origin}"#)),
            });
        }
        sys::compact_sort::sort_by_key(&mut edits, |(at, _)| at.start);
        let mut out = String::with_capacity(line.len() + 128);
        let mut done = 0;
        for (at, text) in edits {
            out.push_str(&line[done..at.start]);
            out.push_str(&text);
            done = at.end;
        }
        out.push_str(&line[done..]);
        Some(out)
    }
}

fn range(line: &str, value: &RawValue) -> Range<usize> {
    let start = (value.get().as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    start..start + value.get().len()
}

/// Lines about the environment of the old session: its worktree, connections, queue, checkpoints and requests.
fn is_left_behind(kind: &str) -> bool {
    matches!(
        kind,
        "worktree-state"
            | "bridge-session"
            | "isolation-latch"
            | "queue-operation"
            | "relocated"
            | "file-history-snapshot"
            | "file-history-delta"
            | "x-checkpoint-change"
            | "x-rewound"
    ) || kind.starts_with("artifact-")
        || kind.starts_with("api-request")
}

#[cfg(test)]
#[path = "fork_tests.rs"]
mod tests;
