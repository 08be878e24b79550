//! A manifest: one line about the snapshot, then one line per path. The first line is all a list needs to read. Paths are
//! text in which `%` and bytes that are not UTF-8 are escaped, so that every name survives.

use super::SnapshotCause;
use super::newer::PathAfterChange;
use crate::error::StoreError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Problems named in a header; the rest is only counted.
pub(super) const NAMED_SKIPS: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// A shell command.
    Command,
    /// A file tool.
    Edit,
    /// A restore.
    Undo,
    /// Files were taken back to an earlier prompt of a conversation. As a change it can be undone like any other.
    Rewind,
}

/// How far the change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotStage {
    /// Everything that may change is saved.
    Saved,
    /// The change is over; the manifest names only what it changed.
    Settled,
    /// A restore is under way.
    Applying,
}

/// What a snapshot is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotHeader {
    pub v: u32,
    pub id: String,
    /// Milliseconds since the epoch.
    pub at: u64,
    pub kind: ChangeKind,
    pub stage: SnapshotStage,
    pub session: String,
    #[serde(serialize_with = "path_out", deserialize_with = "path_in")]
    pub cwd: PathBuf,
    pub what: String,
    /// The uuid of the prompt whose turn made the change; `None` outside of a conversation with checkpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The snapshots a restore took back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<String>,
    pub files: u64,
    pub bytes: u64,
    /// Why saving stopped early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedPath>,
    #[serde(default)]
    pub skipped_count: u64,
}

/// A path that is not in the snapshot although it may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedPath {
    #[serde(serialize_with = "path_out", deserialize_with = "path_in")]
    pub path: PathBuf,
    pub why: String,
}

/// One path, as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// Absolute, its folder free of links.
    #[serde(rename = "p", serialize_with = "path_out", deserialize_with = "path_in")]
    pub path: PathBuf,
    #[serde(flatten)]
    pub state: PathState,
    /// How the change left it; unknown while the change is not over.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub left: Option<PathAfterChange>,
    /// What a rewind under way brings the path to.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub target: Option<PathState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "s", rename_all = "lowercase")]
pub enum PathState {
    Absent,
    File {
        blob: String,
        size: u64,
        mode: u32,
        modified: i64,
        uid: u32,
        gid: u32,
    },
    Link {
        #[serde(serialize_with = "path_out", deserialize_with = "path_in")]
        to: PathBuf,
    },
    Folder {
        mode: u32,
        modified: i64,
    },
}

#[derive(Clone, Debug)]
pub struct SnapshotManifest {
    pub header: SnapshotHeader,
    pub entries: Vec<ManifestEntry>,
}

impl SnapshotHeader {
    pub(super) fn new(about: SnapshotCause, at: u64) -> Self {
        // Sorts by time as text until the year 2059.
        let id = format!("{}{}", base36(at), sys::id::base36(3));
        Self {
            v: 1,
            id,
            at,
            kind: about.kind,
            stage: SnapshotStage::Saved,
            session: about.session,
            cwd: about.cwd,
            what: about.description,
            prompt: about.prompt,
            undoes: Vec::new(),
            files: 0,
            bytes: 0,
            cut: None,
            skipped: Vec::new(),
            skipped_count: 0,
        }
    }

    /// Whether everything that may change was saved.
    pub fn is_complete(&self) -> bool {
        self.cut.is_none() && self.skipped_count == 0
    }

    pub(super) fn skip(&mut self, path: &Path, why: impl Into<String>) {
        self.skipped_count += 1;
        if self.skipped.len() < NAMED_SKIPS {
            self.skipped.push(SkippedPath { path: path.to_path_buf(), why: why.into() });
        }
    }
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 {
        digits.push(char::from_digit(u32::try_from(number % 36).unwrap_or(0), 36).unwrap_or('0'));
        number /= 36;
    }
    digits.into_iter().rev().collect()
}

impl SnapshotManifest {
    /// What a rewind brings its paths to; empty for other changes.
    pub(super) fn targets(&self) -> BTreeMap<PathBuf, PathState> {
        self.entries.iter().filter_map(|entry| Some((entry.path.clone(), entry.target.clone()?))).collect()
    }

    /// The restore is through: notes how it left each path.
    pub(super) fn settle(&mut self) {
        self.header.stage = SnapshotStage::Settled;
        for entry in &mut self.entries {
            entry.target = None;
            entry.left = PathAfterChange::now(&entry.path);
        }
    }

    /// Replaces the manifest's file in one step.
    pub(super) fn write(&self, path: &Path) -> Result<(), StoreError> {
        let mut text = wire::raw::to_line(&self.header).map_err(|e| StoreError::write(path, e.into()))?;
        for entry in &self.entries {
            text.push('\n');
            text.push_str(&wire::raw::to_line(entry).map_err(|e| StoreError::write(path, e.into()))?);
        }
        text.push('\n');
        sys::fs::atomic_write(path, text.as_bytes(), 0o600).map_err(|e| StoreError::write(path, e))
    }
}

pub(super) fn read_header(path: &Path) -> Option<SnapshotHeader> {
    let mut line = String::new();
    BufReader::new(std::fs::File::open(path).ok()?).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok().filter(|header: &SnapshotHeader| header.v == 1)
}

pub(super) fn read(path: &Path) -> Result<SnapshotManifest, StoreError> {
    let text = std::fs::read_to_string(path).map_err(|e| StoreError::read(path, e))?;
    let mut lines = text.lines();
    let damaged = |e: serde_json::Error| StoreError::read(path, e.into());
    let header = serde_json::from_str(lines.next().unwrap_or_default()).map_err(damaged)?;
    let entries = lines.map(serde_json::from_str).collect::<Result<_, _>>().map_err(damaged)?;
    Ok(SnapshotManifest { header, entries })
}

fn path_out<S: Serializer>(path: &Path, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&escape(path))
}

fn path_in<'de, D: Deserializer<'de>>(input: D) -> Result<PathBuf, D::Error> {
    Ok(unescape(&String::deserialize(input)?))
}

fn escape(path: &Path) -> String {
    let mut out = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        out.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            write!(out, "%{byte:02x}").ok();
        }
    }
    out
}

fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        if let Some(byte) = code.filter(|_| bytes[at] == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn every_name_survives() {
        for name in [&b"/a/plain"[..], b"/100%", b"/%25", b"/\xff\xfe/x", "/ü\n".as_bytes(), b"/%zz"] {
            let path = Path::new(OsStr::from_bytes(name));
            assert_eq!(unescape(&escape(path)), path, "{name:?}");
        }
    }
}
