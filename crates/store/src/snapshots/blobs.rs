//! File contents by hash. A blob is complete or absent; the same content is stored once. Blocks are shared with the
//! original where the file system can, so that saving costs no space.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{File, FileTimes, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use sys::fs::anchored;

const CHUNK: usize = 256 * 1024;

pub(super) struct BlobStore {
    root: PathBuf,
}

/// Why a file is not in the store.
#[derive(Debug)]
pub(super) enum NotSaved {
    /// The time is up.
    Late,
    Failed(io::Error),
}

impl From<io::Error> for NotSaved {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl BlobStore {
    pub(super) fn at(root: &Path) -> Self {
        Self { root: root.join("blobs") }
    }

    /// Stores what `file` holds from its beginning; returns its name and size.
    pub(super) fn put(&self, file: &mut File, deadline: Instant) -> Result<(String, u64), NotSaved> {
        let temp = self.root.join(format!("new-{}", sys::id::base36(12)));
        let stored = fill(&temp, file, deadline).and_then(|(hash, size)| {
            self.rename_into_place(&temp, &hash)?;
            Ok((hash, size))
        });
        if stored.is_err() {
            std::fs::remove_file(&temp).ok();
        }
        stored
    }

    /// Gives the temporary file its name, unless the content is there already.
    fn rename_into_place(&self, temp: &Path, hash: &str) -> io::Result<()> {
        let path = self.path(hash);
        if path.exists() {
            // A fresh time keeps it from being pruned before the manifest that needs it is written.
            touch(&path)?;
            return std::fs::remove_file(temp);
        }
        if let Some(dir) = path.parent() {
            crate::layout::create_private(dir)?;
        }
        std::fs::rename(temp, &path)
    }

    /// Copies a blob into `into`; fails when it is not what its name says.
    pub(super) fn copy_to(&self, hash: &str, into: &mut File) -> io::Result<()> {
        let mut blob = File::open(self.path(hash))?;
        let far = Instant::now() + std::time::Duration::from_hours(24);
        let copied = if anchored::reflink(&blob, into).is_ok() {
            copy_hashing(&mut blob, &mut io::sink(), far)
        } else {
            copy_hashing(&mut blob, into, far)
        };
        match copied {
            Ok((found, _)) if found == hash => Ok(()),
            Ok(_) | Err(NotSaved::Late) => Err(io::Error::other("the saved copy is damaged")),
            Err(NotSaved::Failed(error)) => Err(error),
        }
    }

    pub(super) fn path(&self, hash: &str) -> PathBuf {
        let (first, rest) = hash.split_at_checked(2).unwrap_or(("", hash));
        self.root.join(first).join(rest)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

/// The hash of a file's content.
pub(super) fn hash_of(file: &mut File) -> io::Result<String> {
    let far = Instant::now() + std::time::Duration::from_hours(24);
    match copy_hashing(file, &mut io::sink(), far) {
        Ok((hash, _)) => Ok(hash),
        Err(NotSaved::Failed(error)) => Err(error),
        Err(NotSaved::Late) => Err(io::Error::from(io::ErrorKind::TimedOut)),
    }
}

fn fill(temp: &Path, file: &mut File, deadline: Instant) -> Result<(String, u64), NotSaved> {
    let mut copy = private().read(true).open(temp)?;
    file.rewind()?;
    if anchored::reflink(file, &copy).is_ok() {
        return copy_hashing(&mut copy, &mut io::sink(), deadline);
    }
    copy_hashing(file, &mut copy, deadline)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

fn touch(path: &Path) -> io::Result<()> {
    let now = std::time::UNIX_EPOCH + std::time::Duration::from_millis(sys::clock::now_ms());
    File::open(path)?.set_times(FileTimes::new().set_modified(now))
}

/// Reads to the end, writes along, hashes.
fn copy_hashing(from: &mut impl Read, to: &mut impl Write, deadline: Instant) -> Result<(String, u64), NotSaved> {
    let (mut hasher, mut size, mut chunk) = (Sha256::new(), 0, vec![0; CHUNK]);
    loop {
        let length = match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        hasher.update(&chunk[..length]);
        to.write_all(&chunk[..length])?;
        size += length as u64;
        if Instant::now() > deadline {
            return Err(NotSaved::Late);
        }
    }
    let mut hash = String::with_capacity(64);
    for byte in hasher.finalize() {
        write!(hash, "{byte:02x}").ok();
    }
    Ok((hash, size))
}
