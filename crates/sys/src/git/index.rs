//! Git's index, versions 2 to 4, as a list of entries. What cannot be read gives no answer, never a wrong one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MAX_INDEX: usize = 256 << 20;
/// Two hashes: SHA-1 names of 20 bytes, SHA-256 names of 32.
const NAME_SIZES: [usize; 2] = [20, 32];
const KIND: u32 = 0o170_000;
const SUBMODULE: u32 = 0o160_000;
/// An entry of a sparse index that represents everything below a folder.
const FOLDER: u32 = 0o040_000;

/// Paths of the submodules that the index in `git_dir` lists, also when it is split. `None` when it cannot be read, or
/// when git would read another file.
pub(crate) fn submodules(git_dir: &Path) -> Option<Vec<PathBuf>> {
    let links = entries(git_dir)?.into_iter().filter(|(mode, _)| mode & KIND == SUBMODULE);
    Some(links.map(|(_, path)| PathBuf::from(OsStr::from_bytes(&path))).collect())
}

/// Paths of all files that the index in `git_dir` lists, and perhaps of some it no longer does. `None` when it cannot be
/// read, or when it lists folders in the place of files.
pub(crate) fn files(git_dir: &Path) -> Option<Vec<PathBuf>> {
    let entries = entries(git_dir)?;
    let has_folders = entries.iter().any(|(mode, _)| mode & KIND == FOLDER);
    (!has_folders).then(|| entries.iter().map(|(_, path)| PathBuf::from(OsStr::from_bytes(path))).collect())
}

/// Mode and path of everything in the index, also when it is split.
fn entries(git_dir: &Path) -> Option<Vec<(u32, Vec<u8>)>> {
    let mut files = vec![git_dir.join("index")];
    let folder = std::fs::read_dir(git_dir).into_iter().flatten().filter_map(Result::ok);
    files.extend(
        folder.filter(|entry| entry.file_name().as_bytes().starts_with(b"sharedindex.")).map(|entry| entry.path()),
    );
    let mut found = Vec::new();
    for file in files {
        if !crate::real_path::is_same_for_every_process(&file) {
            return None;
        }
        let bytes = match std::fs::metadata(&file) {
            Ok(meta) if meta.is_file() => crate::fs::read_limited(&file, MAX_INDEX).ok()?,
            Ok(_) => return None,
            Err(_) => continue,
        };
        let entries = NAME_SIZES.iter().find_map(|size| read(&bytes.bytes, *size))?;
        found.extend(entries.into_iter().filter(|(_, path)| !path.is_empty()));
    }
    Some(found)
}

/// Mode and path of all entries, when `hash` is the size of the names in this index.
fn read(bytes: &[u8], hash: usize) -> Option<Vec<(u32, Vec<u8>)>> {
    if bytes.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(bytes, 4)?, number(bytes, 8)?);
    let mut entries = Vec::new();
    let (mut at, mut last) = (12, Vec::new());
    for _ in 0..count {
        let (mode, path, next) = entry(bytes, at, hash, version, &last)?;
        // Names of another size put other bytes in the place of the mode.
        if !matches!(mode & KIND, 0o100_000 | 0o120_000 | FOLDER | SUBMODULE) {
            return None;
        }
        last.clone_from(&path);
        entries.push((mode, path));
        at = next;
    }
    (bytes.len() >= at + hash).then_some(entries)
}

fn entry(bytes: &[u8], at: usize, hash: usize, version: u32, last: &[u8]) -> Option<(u32, Vec<u8>, usize)> {
    let flags_at = at + 40 + hash;
    let extended = u16::from_be_bytes(bytes.get(flags_at..flags_at + 2)?.try_into().ok()?) & 0x4000 != 0;
    let name_at = flags_at + if extended { 4 } else { 2 };
    let mode = number(bytes, at + 24)?;
    match version {
        2 | 3 => {
            let length = bytes.get(name_at..)?.iter().position(|byte| *byte == 0)?;
            let path = bytes.get(name_at..name_at + length)?.to_vec();
            // Padded with one to eight NULs to a multiple of eight.
            Some((mode, path, at + ((name_at + length - at) / 8 + 1) * 8))
        }
        4 => {
            let (strip, start) = varint(bytes, name_at)?;
            let length = bytes.get(start..)?.iter().position(|byte| *byte == 0)?;
            let mut path = last.get(..last.len().checked_sub(strip)?)?.to_vec();
            path.extend_from_slice(bytes.get(start..start + length)?);
            Some((mode, path, start + length + 1))
        }
        _ => None,
    }
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
