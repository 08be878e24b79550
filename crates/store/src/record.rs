//! What a transcript records about some of its lines, read in one pass: their numbers, and what calls changed. Lines are
//! recognised by their bytes, and only those that matter are parsed.

use crate::error::StoreError;
use crate::head::LineHead;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use wire::entry::CheckpointChange;

/// In bytes. Longer lines are skipped.
const LINE_LIMIT: usize = 64 << 20;
const UUID_KEY: &[u8] = b"\"uuid\":\"";
const CHANGE: &[u8] = b"{\"type\":\"x-checkpoint-change\"";

/// The result of an edit.
#[derive(Clone, Debug)]
pub struct RecordedEdit {
    pub uuid: String,
    /// `toolUseResult`
    pub structured: Box<RawValue>,
}

/// What is recorded about the lines that were asked for.
#[derive(Debug, Default)]
pub struct LineRecord {
    /// The number of each line, counted from 1.
    pub numbers: HashMap<String, u64>,
    /// In the order of the file.
    pub edits: Vec<RecordedEdit>,
    /// What calls changed for the prompts among the lines, also calls of agents.
    pub changes: Vec<CheckpointChange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultLine {
    tool_use_result: Box<RawValue>,
}

/// Reads what `path` records about the lines with these uuids.
pub fn read(path: &Path, wanted: &BTreeSet<String>) -> Result<LineRecord, StoreError> {
    let fail = |e| StoreError::read(path, e);
    let mut file = BufReader::with_capacity(256 << 10, File::open(path).map_err(fail)?);
    let (mut record, mut line, mut number) = (LineRecord::default(), Vec::new(), 0);
    loop {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(fail)? == 0 {
            return Ok(record);
        }
        number += 1;
        if line.len() <= LINE_LIMIT {
            record.add(&line, number, wanted);
        }
    }
}

impl LineRecord {
    fn add(&mut self, line: &[u8], number: u64, wanted: &BTreeSet<String>) {
        if line.starts_with(CHANGE) {
            let change = serde_json::from_slice::<CheckpointChange>(line).ok();
            self.changes.extend(change.filter(|change| wanted.contains(&change.message_id)));
            return;
        }
        if !uuids(line).any(|uuid| wanted.contains(uuid)) {
            return;
        }
        // The uuid of another line may stand inside of a message.
        let Some(head) = LineHead::read(line) else { return };
        let Some(uuid) = head.uuid.as_str().filter(|uuid| wanted.contains(*uuid)) else { return };
        if self.numbers.contains_key(uuid) {
            return;
        }
        self.numbers.insert(uuid.to_owned(), number);
        if memchr::memmem::find(line, b"\"structuredPatch\"").is_some()
            && let Ok(ResultLine { tool_use_result }) = serde_json::from_slice(line)
        {
            self.edits.push(RecordedEdit { uuid: uuid.to_owned(), structured: tool_use_result });
        }
    }
}

/// All values in the line that stand where its uuid could.
fn uuids(line: &[u8]) -> impl Iterator<Item = &str> {
    memchr::memmem::find_iter(line, UUID_KEY).filter_map(|at| {
        let value = &line[at + UUID_KEY.len()..];
        let end = memchr::memchr(b'"', value)?;
        std::str::from_utf8(&value[..end]).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_edits_found() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("t.jsonl");
        let lines = [
            r#"{"type":"mode"}"#,
            r#"{"type":"user","message":{"content":[{"input":{"uuid":"b"}}]},"uuid":"a"}"#,
            r#"{"type":"x-checkpoint-change","messageId":"a","path":"/p","added":2}"#,
            r#"{"type":"x-checkpoint-change","messageId":"other","path":"/q"}"#,
            "torn {",
            r#"{"type":"user","message":{},"uuid":"b","toolUseResult":{"filePath":"/p","structuredPatch":[]}}"#,
            r#"{"type":"user","message":{},"uuid":"c","toolUseResult":{"filePath":"/p","structuredPatch":[]}}"#,
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        let wanted = BTreeSet::from(["a".to_owned(), "b".to_owned(), "z".to_owned()]);
        let record = read(&path, &wanted).unwrap();
        assert_eq!(record.numbers, HashMap::from([("a".to_owned(), 2), ("b".to_owned(), 6)]));
        let edits: Vec<&str> = record.edits.iter().map(|edit| edit.uuid.as_str()).collect();
        assert_eq!(edits, ["b"]);
        assert_eq!(record.changes.iter().map(|change| change.added).collect::<Vec<_>>(), [2]);
    }
}
