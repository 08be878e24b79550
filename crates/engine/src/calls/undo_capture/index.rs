//! Reads git's index to find tracked files that may differ from it, by times and sizes, so that no filter of the
//! repository runs. An index that cannot be read gives an empty result, never a wrong one.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const MAX_INDEX: usize = 256 << 20;
/// Sizes of object names in bytes: 20 for SHA-1, 32 for SHA-256.
const NAME_SIZES: [usize; 2] = [20, 32];

struct GitIndexEntry {
    modified: (u32, u32),
    mode: u32,
    size: u32,
    skipped: bool,
    path: Vec<u8>,
}

/// Paths, relative to `root`, of tracked files that are missing or look changed.
pub(super) fn changed(index: &Path, root: &Path) -> Vec<OsString> {
    let Ok(bytes) = sys::fs::read_limited(index, MAX_INDEX) else { return Vec::new() };
    let written = std::fs::metadata(index).map_or((0, 0), |meta| time(&meta));
    let entries = NAME_SIZES.iter().find_map(|size| read(&bytes.bytes, *size)).unwrap_or_default();
    let differs = |entry: &GitIndexEntry| {
        let path = root.join(OsStr::from_bytes(&entry.path));
        let Ok(meta) = std::fs::symlink_metadata(path) else { return !entry.skipped };
        // A file as new as the index may have changed after git last checked it.
        let racy = entry.modified >= written;
        racy || time(&meta) != entry.modified || meta.size() as u32 != entry.size || kind(&meta) != entry.mode
    };
    let files = entries.into_iter().filter(|entry| entry.mode & 0o170_000 != 0o160_000);
    files.filter(differs).map(|entry| OsString::from_vec(entry.path)).collect()
}

fn time(meta: &std::fs::Metadata) -> (u32, u32) {
    (meta.mtime() as u32, meta.mtime_nsec() as u32)
}

fn kind(meta: &std::fs::Metadata) -> u32 {
    match (meta.is_symlink(), meta.mode() & 0o100 != 0) {
        (true, _) => 0o120_000,
        (false, true) => 0o100_755,
        (false, false) => 0o100_644,
    }
}

/// All entries; `None` when `hash` is not the size of the object names in this index.
fn read(bytes: &[u8], hash: usize) -> Option<Vec<GitIndexEntry>> {
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(bytes, 4)?, number(bytes, 8)?);
    let mut entries = Vec::new();
    let (mut at, mut last) = (12, Vec::new());
    for _ in 0..count {
        let (entry, next) = entry(bytes, at, hash, version, &last)?;
        last.clone_from(&entry.path);
        // The stages of a conflict share a path.
        entries.push(entry);
        at = next;
    }
    // Extensions and a checksum follow; at least the checksum must fit.
    (bytes.len() >= at + hash && plausible(&entries)).then_some(entries)
}

fn plausible(entries: &[GitIndexEntry]) -> bool {
    entries.iter().all(|entry| !entry.path.is_empty() && !entry.path.contains(&0) && entry.mode & 0o170_000 != 0)
}

fn entry(bytes: &[u8], at: usize, hash: usize, version: u32, last: &[u8]) -> Option<(GitIndexEntry, usize)> {
    let flags_at = at + 40 + hash;
    let flags = u16::from_be_bytes(bytes.get(flags_at..flags_at + 2)?.try_into().ok()?);
    let extended = flags & 0x4000 != 0;
    let more = if extended { u16::from_be_bytes(bytes.get(flags_at + 2..flags_at + 4)?.try_into().ok()?) } else { 0 };
    let name_at = flags_at + if extended { 4 } else { 2 };
    let (path, next) = match version {
        2 | 3 => {
            let length = bytes.get(name_at..)?.iter().position(|byte| *byte == 0)?;
            let path = bytes.get(name_at..name_at + length)?.to_vec();
            // Padded with one to eight NULs to a multiple of eight.
            (path, at + ((name_at + length - at) / 8 + 1) * 8)
        }
        4 => {
            let (strip, start) = varint(bytes, name_at)?;
            let length = bytes.get(start..)?.iter().position(|byte| *byte == 0)?;
            let mut path = last.get(..last.len().checked_sub(strip)?)?.to_vec();
            path.extend_from_slice(bytes.get(start..start + length)?);
            (path, start + length + 1)
        }
        _ => return None,
    };
    let entry = GitIndexEntry {
        modified: (number(bytes, at + 8)?, number(bytes, at + 12)?),
        mode: number(bytes, at + 24)?,
        size: number(bytes, at + 36)?,
        skipped: more & 0x4000 != 0,
        path,
    };
    Some((entry, next))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The variable-length number of git's offset encoding.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}
