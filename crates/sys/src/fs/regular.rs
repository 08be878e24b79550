//! Reads of paths that somebody else chose. A path may name a FIFO, a device or a file of any size: nothing here waits
//! for a writer, opens a device, or holds more than the limit the caller states.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The beginning of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitedRead {
    pub bytes: Vec<u8>,
    /// Whether the file went on after `bytes`.
    pub more: bool,
}

/// Opens a regular file for reading. Directories give `IsADirectory`, everything else `InvalidInput`.
pub fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    // Opening some devices has effects of its own, so the kind is asked first and, against a swap, once more afterwards.
    check_regular(path, &std::fs::metadata(path)?)?;
    // Without O_NONBLOCK opening a FIFO that nobody writes to would hang.
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

/// At most `limit` bytes of a regular file.
pub fn read_limited(path: &Path, limit: usize) -> io::Result<LimitedRead> {
    let (file, metadata) = open_regular(path)?;
    read_up_to(file, limit, metadata.len())
}

/// All bytes of a regular file; `FileTooLarge` when it has more than `limit`.
pub fn read_whole(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let (file, metadata) = open_regular(path)?;
    if metadata.len() > limit as u64 {
        return Err(too_large(path, limit));
    }
    let read = read_up_to(file, limit, metadata.len())?;
    if read.more { Err(too_large(path, limit)) } else { Ok(read.bytes) }
}

/// The same for text in UTF-8; other bytes give `InvalidData`.
pub fn read_text(path: &Path, limit: usize) -> io::Result<String> {
    let bytes = read_whole(path, limit)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

fn too_large(path: &Path, limit: usize) -> io::Error {
    let message = format!("{} is larger than {limit} bytes", path.display());
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

fn read_up_to(file: File, limit: usize, hint: u64) -> io::Result<LimitedRead> {
    let capacity = usize::try_from(hint).unwrap_or(limit).min(limit);
    let mut bytes = Vec::with_capacity(capacity.saturating_add(1));
    // One byte more than allowed shows whether there is more; sizes reported for files in /proc are zero.
    file.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    let more = bytes.len() > limit;
    bytes.truncate(limit);
    Ok(LimitedRead { bytes, more })
}

/// Files that a walk with ignore rules reads in every directory.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];
const IGNORE_BYTES: u64 = 16 << 20;

/// An ignore file of `dir` that must not be read: no regular file, or of a size that no such file has.
pub fn unreadable_ignore_file(dir: &Path) -> Option<PathBuf> {
    let here = IGNORE_FILES.iter().map(|name| dir.join(name)).find(|file| is_unreadable(file));
    here.or_else(|| {
        let git = crate::git::git_dir(dir)?;
        let common = git.join("commondir");
        if is_unreadable(&common) {
            return Some(common);
        }
        Some(crate::git::common_dir(&git).join("info/exclude")).filter(|file| is_unreadable(file))
    })
}

fn is_unreadable(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|meta| !meta.is_dir() && (!meta.is_file() || meta.len() > IGNORE_BYTES))
}
