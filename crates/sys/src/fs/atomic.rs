//! Replaces a file in one step. Guarantees: a reader sees the old bytes or the new ones; a failure leaves the old
//! bytes; mode and owner are kept; a symbolic link stays a link and its target gets the bytes. Where the directory
//! forbids that but the file is writable (a bind mount, a read-only directory), the file is overwritten in place,
//! verified, and restored on failure. Hard links are separated on purpose: writing through them would change files
//! nobody named.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Whether the bytes must be on the disk, not only in the kernel, before the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Of no use once this process has ended: the disk need not see it.
    Process,
    /// Survives the end of this process.
    Kernel,
    /// Survives a power cut: file and directory are synced.
    Disk,
}

/// Replaces `path` in one step: readers see the old bytes or the new ones, never a mixture. `mode` is for a new file;
/// an existing file keeps its mode.
pub fn atomic_write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    atomic_write_with(path, bytes, mode, Durability::Kernel)
}

/// [`atomic_write`] with a choice of durability.
pub fn atomic_write_with(path: &Path, bytes: &[u8], mode: u32, durability: Durability) -> io::Result<()> {
    let target = resolve_links(path)?;
    let existing = match std::fs::metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(metadata) = &existing {
        refuse_special(&target, metadata)?;
    }
    match (replace(&target, bytes, mode, existing.as_ref(), durability), existing) {
        (Err(ReplaceError::Directory(_)), Some(metadata)) => overwrite(&target, bytes, &metadata, durability),
        (Err(ReplaceError::Directory(error) | ReplaceError::Failed(error)), _) => Err(error),
        (Ok(()), _) => Ok(()),
    }
}

/// Follows symbolic links one by one, because the last one may point to a file that does not exist yet.
fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    let mut current = path.to_path_buf();
    for _ in 0..40 {
        match std::fs::read_link(&current) {
            Ok(target) => current = parent(&current).join(target),
            Err(_) => return Ok(current),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn refuse_special(path: &Path, metadata: &Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !metadata.is_file() {
        let message = format!("{} is not a regular file", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}

enum ReplaceError {
    /// The directory does not allow a new file with the right owner; the file itself may be writable.
    Directory(io::Error),
    Failed(io::Error),
}

impl From<io::Error> for ReplaceError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM | libc::EROFS | libc::EBUSY | libc::EXDEV | libc::ETXTBSY) => {
                Self::Directory(error)
            }
            _ => Self::Failed(error),
        }
    }
}

fn replace(
    target: &Path,
    bytes: &[u8],
    mode: u32,
    existing: Option<&Metadata>,
    durability: Durability,
) -> Result<(), ReplaceError> {
    let (mut file, temp) = temp_beside(target, mode)?;
    let result = fill(&mut file, bytes, existing, durability)
        .and_then(|()| Ok(put_in_place(&temp, target, existing.is_some(), durability)?))
        .and_then(|()| Ok(sync_directory(target, durability)?));
    if result.is_err() {
        std::fs::remove_file(&temp).ok();
    }
    result
}

/// Gives the temporary file its name. A rename over an existing file makes some file systems (ext4) start to write the new
/// one to the disk, for the case of a power cut. Exchanging the two does not.
fn put_in_place(temp: &Path, target: &Path, exists: bool, durability: Durability) -> io::Result<()> {
    if exists && durability == Durability::Process && exchange(temp, target).is_ok() {
        return std::fs::remove_file(temp);
    }
    std::fs::rename(temp, target)
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn fill(
    file: &mut File,
    bytes: &[u8],
    existing: Option<&Metadata>,
    durability: Durability,
) -> Result<(), ReplaceError> {
    if let Some(kept) = existing {
        keep_owner(file, kept)?;
        // Set after the owner, because changing the owner clears set-id bits.
        file.set_permissions(std::fs::Permissions::from_mode(kept.mode() & 0o7777))?;
    }
    file.write_all(bytes)?;
    if durability == Durability::Disk {
        file.sync_all()?;
    }
    Ok(())
}

fn keep_owner(file: &File, kept: &Metadata) -> Result<(), ReplaceError> {
    let now = file.metadata()?;
    if (now.uid(), now.gid()) == (kept.uid(), kept.gid()) {
        return Ok(());
    }
    let uid = if now.uid() == kept.uid() { u32::MAX } else { kept.uid() };
    // SAFETY: fchown on a descriptor we own; the maximum value means "leave as it is".
    if unsafe { libc::fchown(file.as_raw_fd(), uid, kept.gid()) } == 0 {
        return Ok(());
    }
    Err(ReplaceError::Directory(io::Error::last_os_error()))
}

fn sync_directory(target: &Path, durability: Durability) -> io::Result<()> {
    match durability {
        Durability::Process | Durability::Kernel => Ok(()),
        // Some file systems cannot sync a directory; the file itself is synced by then.
        Durability::Disk => File::open(parent(target))?.sync_all().or(Ok(())),
    }
}

fn temp_beside(target: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    let Some(name) = target.file_name() else {
        let message = format!("{} does not name a file", target.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    };
    let name: String = name.to_string_lossy().chars().take(40).collect();
    loop {
        let temp = parent(target).join(format!(".{name}.{}.tmp", crate::id::base36(8)));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&temp) {
            Ok(file) => return Ok((file, temp)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Overwrites the old bytes without emptying the file first, verifies them, and restores the old ones on failure.
fn overwrite(target: &Path, bytes: &[u8], expected: &Metadata, durability: Durability) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(target)?;
    let found = file.metadata()?;
    if (found.dev(), found.ino()) != (expected.dev(), expected.ino()) {
        return Err(io::Error::other(format!("{} changed while it was being written", target.display())));
    }
    let mut old = Vec::new();
    file.read_to_end(&mut old)?;
    if let Err(error) = write_from_start(&mut file, bytes).and_then(|()| verify(&mut file, bytes)) {
        write_from_start(&mut file, &old).ok();
        return Err(error);
    }
    if durability == Durability::Disk {
        file.sync_all()?;
    }
    Ok(())
}

fn write_from_start(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

fn verify(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.rewind()?;
    let mut written = Vec::with_capacity(bytes.len());
    file.read_to_end(&mut written)?;
    if written == bytes { Ok(()) } else { Err(io::Error::other("the file does not hold what was written to it")) }
}
