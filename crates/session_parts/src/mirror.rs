//! `--session-mirror`: repeats the transcript lines to the host, so that it can store them elsewhere. Only written
//! lines are sent, in order, and before the result of their turn.

use crate::command::Event;
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::LineObserver;
use store::agents::Sidecar;
use tokio::sync::mpsc;

/// Maximum size of a frame in bytes; hosts accept lines of up to a million characters.
const FRAME_BYTES: usize = 400_000;

#[derive(Serialize)]
struct MirrorFrame<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "filePath")]
    file_path: &'a str,
    entries: &'a [&'a RawValue],
}

/// Sends to the host from the writer's thread. A host that does not read blocks the writer, and so its own turn.
pub fn tap(events: mpsc::Sender<Event>) -> LineObserver {
    Arc::new(move |path, bytes| {
        for line in frames(path, bytes) {
            events.blocking_send(Event::Mirror(line)).ok();
        }
    })
}

/// The frames for `bytes`, which are whole lines of the file at `path`.
pub fn frames(path: &Path, bytes: &[u8]) -> Vec<String> {
    let path = path.to_string_lossy();
    let text = String::from_utf8_lossy(bytes);
    let mut frames = Vec::new();
    let mut entries: Vec<&RawValue> = Vec::new();
    let mut size = 0;
    let mut close = |entries: &mut Vec<&RawValue>| {
        let frame = MirrorFrame { kind: "transcript_mirror", file_path: &path, entries };
        frames.extend(wire::raw::to_line(&frame).ok());
        entries.clear();
    };
    for line in text.lines() {
        let Ok(entry) = serde_json::from_str::<&RawValue>(line) else { continue };
        if size + line.len() > FRAME_BYTES && !entries.is_empty() {
            close(&mut entries);
            size = 0;
        }
        size += line.len();
        entries.push(entry);
    }
    if !entries.is_empty() {
        close(&mut entries);
    }
    frames
}

/// Sends the sidecar of an agent's transcript as an entry that is in no file.
pub async fn mirror_sidecar(tap: LineObserver, transcript: PathBuf, sidecar: &Sidecar) {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(sidecar) else { return };
    let mut entry = serde_json::Map::new();
    entry.insert("type".into(), "agent_metadata".into());
    entry.extend(fields);
    let line = format!("{}\n", serde_json::Value::Object(entry));
    mirror_bytes(tap, transcript, line.into_bytes()).await;
}

/// Sends a file that was not written line by line: the history of a fork.
pub fn mirror_file(tap: &LineObserver, path: &Path) {
    match std::fs::read(path) {
        Ok(bytes) => tap(path, &bytes),
        Err(error) => tracing::warn!(%error, "the history of a fork could not be mirrored"),
    }
}

/// An observer may wait for the host, so it runs on a blocking thread.
async fn mirror_bytes(tap: LineObserver, path: PathBuf, bytes: Vec<u8>) {
    let mirrored = tokio::task::spawn_blocking(move || tap(&path, &bytes)).await;
    if let Err(error) = mirrored {
        tracing::warn!(%error, "an agent's sidecar could not be mirrored");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_told_as_they_stand_in_frames_of_a_bounded_size() {
        let long = format!(r#"{{"n":"{}"}}"#, "x".repeat(FRAME_BYTES / 2));
        let text = format!("{long}\n{{\"b\": 2}}\n{long}\n");
        let frames = frames(Path::new("/p/a.jsonl"), text.as_bytes());
        assert_eq!(frames.len(), 2);
        assert!(frames[0].starts_with(r#"{"type":"transcript_mirror","filePath":"/p/a.jsonl","entries":[{"n":"#));
        assert!(frames[0].ends_with(r#",{"b": 2}]}"#) && frames[1].len() < FRAME_BYTES);
    }
}
