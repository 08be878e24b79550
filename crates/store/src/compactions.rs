//! The compactions behind a conversation, newest first. Each has the conversation as it was before, found through the
//! parents of its lines, so that a branch sees only its own past. Nothing is written.

use crate::error::StoreError;
use crate::head::{CompactFields, SessionFields};
use crate::resume::{LoadOptions, LoadedConversation, LoadedEntry, load, load_before};
use memchr::memchr_iter;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

/// A compaction and what it compacted.
#[derive(Debug)]
pub struct CompactionRecord {
    /// The line that marks it.
    pub boundary: LoadedEntry,
    /// `compactMetadata`, raw JSON.
    pub metadata: Option<Box<str>>,
    /// The text that stands for the conversation; `None` when it is not in the file.
    pub summary: Option<LoadedEntry>,
    /// Uuids of the messages that stayed.
    pub kept: HashSet<Box<str>>,
    /// The conversation that was compacted. A copied session has it in the file it was copied from (`before.path`).
    pub before: LoadedConversation,
}

impl CompactionRecord {
    /// The entries that did not stay, in conversation order.
    pub fn dropped(&self) -> impl Iterator<Item = &LoadedEntry> {
        self.before.entries.iter().filter(|entry| !self.kept.contains(&entry.uuid))
    }
}

/// Passes the compactions behind the conversation that `options` chooses to `tell`, newest first.
pub fn walk(
    path: &Path,
    options: &LoadOptions,
    tell: &mut dyn FnMut(&CompactionRecord) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut after = load(path, options)?;
    loop {
        let Some(mark) = after.boundary.take() else { return Ok(()) };
        let Some(at) = after.entries.iter().position(|entry| entry.uuid == mark.uuid) else { return Ok(()) };
        let summary = after.entries.iter().find(|entry| entry.is_compact_summary).cloned();
        let boundary = after.entries.swap_remove(at);
        let sidechain = options.sidechain;
        let parent = mark.logical_parent.as_deref().map(str::to_owned);
        let earlier = LoadOptions { at: parent, sidechain, ..LoadOptions::default() };
        let before = match before_copy(&after, &boundary, sidechain) {
            Some(before) => before,
            None => match load_before(&after.path, boundary.offset(), &earlier) {
                Ok(before) => before,
                // It is not in the file any more.
                Err(StoreError::UnknownEntry { .. } | StoreError::Empty { .. }) => {
                    let mut nothing = LoadedConversation::default();
                    nothing.path.clone_from(&after.path);
                    nothing
                }
                Err(error) => return Err(error),
            },
        };
        let kept = kept(mark.metadata.as_deref(), &before.entries);
        let record = CompactionRecord { boundary, metadata: mark.metadata, summary, kept, before };
        if tell(&record).is_break() {
            return Ok(());
        }
        after = record.before;
    }
}

/// What a copied session's boundary compacted: it stayed in the file it was copied from.
fn before_copy(after: &LoadedConversation, boundary: &LoadedEntry, sidechain: bool) -> Option<LoadedConversation> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CopySource {
        session_id: String,
        message_uuid: String,
    }
    let raw = after.raw_line(boundary).ok()?;
    let fields: SessionFields<'_> = serde_json::from_str(&raw).ok()?;
    let CopySource { session_id, message_uuid } = serde_json::from_str(fields.forked_from?.get()).ok()?;
    let source = after.path.with_file_name(format!("{session_id}.jsonl"));
    if source == after.path || !sys::id::is_uuid(&session_id) {
        return None;
    }
    let whole = load(&source, &LoadOptions { at: Some(message_uuid), sidechain, ..LoadOptions::default() }).ok()?;
    let mark = whole.boundary.as_ref()?;
    let line = whole.entries.iter().find(|entry| entry.uuid == mark.uuid)?;
    let at = mark.logical_parent.as_deref().map(str::to_owned);
    load_before(&source, line.offset(), &LoadOptions { at, sidechain, ..LoadOptions::default() }).ok()
}

/// The uuids that the metadata of a boundary lists as kept, or the segment of `before` that it names.
fn kept(metadata: Option<&str>, before: &[LoadedEntry]) -> HashSet<Box<str>> {
    let fields: CompactFields<'_> = metadata.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if let Some(list) = fields.messages.filter(|list| !list.uuids.is_empty()) {
        return list.uuids.into_iter().map(Into::into).collect();
    }
    let Some(segment) = fields.segment else { return HashSet::new() };
    let place = |uuid: &str| before.iter().position(|entry| *entry.uuid == *uuid);
    let (Some(head), Some(tail)) = (place(&segment.head_uuid), place(&segment.tail_uuid)) else {
        return HashSet::new();
    };
    before.get(head..=tail).unwrap_or_default().iter().map(|entry| entry.uuid.clone()).collect()
}

/// The numbers, counted from 1, of the lines that begin at `offsets`, which must rise.
pub fn line_numbers(path: &Path, offsets: &[u64]) -> Result<Vec<u64>, StoreError> {
    let count = || -> io::Result<Vec<u64>> {
        let mut file = BufReader::with_capacity(256 << 10, File::open(path)?);
        let (mut at, mut number) = (0, 1);
        let mut numbers = Vec::with_capacity(offsets.len());
        for offset in offsets {
            let mut between = file.by_ref().take(offset.saturating_sub(at));
            loop {
                let block = between.fill_buf()?;
                let length = block.len();
                if length == 0 {
                    break;
                }
                number += memchr_iter(b'\n', block).count() as u64;
                between.consume(length);
            }
            at = *offset;
            numbers.push(number);
        }
        Ok(numbers)
    };
    count().map_err(|e| StoreError::read(path, e))
}

/// The offset at which a line begins, counted from 1; the end of the file for a line that it does not have.
pub fn line_start(path: &Path, number: u64) -> Result<u64, StoreError> {
    let find = || -> io::Result<u64> {
        let mut file = BufReader::with_capacity(256 << 10, File::open(path)?);
        let (mut at, mut left) = (0, number.saturating_sub(1));
        while left > 0 {
            let block = file.fill_buf()?;
            let length = block.len();
            if length == 0 {
                break;
            }
            let wanted = usize::try_from(left - 1).unwrap_or(usize::MAX);
            let used = if let Some(newline) = memchr_iter(b'\n', block).nth(wanted) {
                left = 0;
                newline + 1
            } else {
                left -= memchr_iter(b'\n', block).count() as u64;
                length
            };
            at += used as u64;
            file.consume(used);
        }
        Ok(at)
    };
    find().map_err(|e| StoreError::read(path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 9] = [
        r#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"first"},"uuid":"u1"}"#,
        r#"{"parentUuid":"u1","isSidechain":false,"type":"user","message":{"role":"user","content":"left"},"uuid":"l1"}"#,
        r#"{"parentUuid":"u1","isSidechain":false,"type":"user","message":{"role":"user","content":"kept"},"uuid":"u2"}"#,
        r#"{"parentUuid":null,"logicalParentUuid":"u2","isSidechain":false,"type":"system","subtype":"compact_boundary","compactMetadata":{"preservedMessages":{"anchorUuid":"s1","uuids":["u2"]}},"uuid":"b1"}"#,
        r#"{"parentUuid":"b1","isSidechain":false,"type":"user","isCompactSummary":true,"message":{"role":"user","content":"one"},"uuid":"s1"}"#,
        r#"{"parentUuid":"u2","isSidechain":false,"type":"user","message":{"role":"user","content":"second"},"uuid":"u3"}"#,
        r#"{"parentUuid":null,"logicalParentUuid":"u3","isSidechain":false,"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"manual"},"uuid":"b2"}"#,
        r#"{"parentUuid":"b2","isSidechain":false,"type":"user","isCompactSummary":true,"message":{"role":"user","content":"two"},"uuid":"s2"}"#,
        r#"{"parentUuid":"s2","isSidechain":false,"type":"user","message":{"role":"user","content":"third"},"uuid":"u4"}"#,
    ];

    /// [LNG-19] Each compaction has what it dropped, of its own branch.
    #[test]
    fn each_compaction_knows_what_it_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, LINES.join("\n") + "\n").unwrap();
        let mut seen = Vec::new();
        walk(&path, &LoadOptions::default(), &mut |record| {
            let dropped: Vec<&str> = record.dropped().map(|entry| &*entry.uuid).collect();
            seen.push(format!("{}: {}", record.boundary.uuid, dropped.join(" ")));
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(seen, ["b2: b1 s1 u2 u3", "b1: u1"]);
    }

    #[test]
    fn lines_have_numbers_and_places() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, "a\nbb\n\nccc").unwrap();
        assert_eq!(line_numbers(&path, &[0, 0, 2, 5, 6]).unwrap(), [1, 1, 2, 3, 4]);
        for (number, offset) in [(1, 0), (2, 2), (3, 5), (4, 6), (9, 9)] {
            assert_eq!(line_start(&path, number).unwrap(), offset, "{number}");
        }
    }
}
