//! Reads files at paths that others chose. A path may name a FIFO, a device or a file of any size: nothing here waits
//! for a writer, opens a device, or reads more than the caller's limit.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The beginning of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitedRead {
    pub bytes: Vec<u8>,
    /// True when the file has more than `bytes`.
    pub more: bool,
}

/// Opens a regular file for reading. Directories give `IsADirectory`, everything else `InvalidInput`.
pub fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    // Opening a device may have effects, so the kind is checked before, and again afterwards in case the path changed.
    check_regular(path, &std::fs::metadata(path)?)?;
    // Without O_NONBLOCK opening a FIFO without a writer would block.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    check_regular(path, &metadata)?;
    Ok((file, metadata))
}

fn check_regular(path: &Path, metadata: &Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !metadata.is_file() {
        let message = format!("{} is not a regular file", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}

/// Reads at most `limit` bytes of a regular file.
pub fn read_limited(path: &Path, limit: usize) -> io::Result<LimitedRead> {
    let (file, metadata) = open_regular(path)?;
    read_up_to(file, limit, metadata.len())
}

/// Reads all bytes of a regular file; `FileTooLarge` when it has more than `limit`.
pub fn read_whole(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let (file, metadata) = open_regular(path)?;
    if metadata.len() > limit as u64 {
        return Err(too_large(path, limit));
    }
    let read = read_up_to(file, limit, metadata.len())?;
    if read.more { Err(too_large(path, limit)) } else { Ok(read.bytes) }
}

/// Like [`read_whole`] for UTF-8 text; other bytes give `InvalidData`.
pub fn read_text(path: &Path, limit: usize) -> io::Result<String> {
    as_text(read_whole(path, limit)?)
}

/// Like [`read_text`] for a file that the user named on the command line: it may be a pipe (`<(…)`) or a device.
pub fn read_named_text(path: &Path, limit: usize) -> io::Result<String> {
    let read = read_up_to(File::open(path)?, limit, 0)?;
    if read.more { Err(too_large(path, limit)) } else { as_text(read.bytes) }
}

fn as_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

fn too_large(path: &Path, limit: usize) -> io::Error {
    let message = match limit >> 20 {
        0 => format!("{} is larger than {limit} bytes", path.display()),
        mib => format!("{} is larger than {mib} MiB", path.display()),
    };
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

fn read_up_to(file: File, limit: usize, hint: u64) -> io::Result<LimitedRead> {
    let capacity = usize::try_from(hint).unwrap_or(limit).min(limit);
    let mut bytes = Vec::with_capacity(capacity.saturating_add(1));
    // One extra byte shows whether the file has more; files in /proc report a size of zero.
    file.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    let more = bytes.len() > limit;
    bytes.truncate(limit);
    Ok(LimitedRead { bytes, more })
}

/// Files that a directory walk with ignore rules reads in every directory.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];
const IGNORE_BYTES: u64 = 16 << 20;

/// An ignore file of `dir` that must not be read: not a regular file, or larger than any real one. Also `.git`, where it
/// is a file: the walk reads where the repository is.
pub fn unreadable_ignore_file(dir: &Path) -> Option<PathBuf> {
    let here = IGNORE_FILES.iter().map(|name| dir.join(name)).find(|file| is_unreadable(file));
    // The walk opens it only where it is a regular file.
    let link = Some(dir.join(".git")).filter(|file| std::fs::metadata(file).is_ok_and(|meta| is_too_large(&meta)));
    here.or(link).or_else(|| {
        let git = crate::git::git_dir(dir)?;
        let common = git.join("commondir");
        if is_unreadable(&common) {
            return Some(common);
        }
        Some(crate::git::common_dir(&git).join("info/exclude")).filter(|file| is_unreadable(file))
    })
}

fn is_unreadable(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|meta| is_too_large(&meta) || !(meta.is_dir() || meta.is_file()))
}

fn is_too_large(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.len() > IGNORE_BYTES
}
