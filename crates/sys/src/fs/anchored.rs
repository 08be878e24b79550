//! Open directories, in which files are named one component at a time. Nothing here follows a symbolic link, neither at
//! the name itself nor in the path to it. For writes into trees that others may be changing.

use rustix::fs::{self as rfs, AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// The metadata of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    pub kind: FileKind,
    /// Permission bits only.
    pub mode: u32,
    pub size: u64,
    /// Nanoseconds since the epoch.
    pub modified: i64,
    pub changed: i64,
    pub inode: u64,
    pub device: u64,
    pub links: u64,
    pub owner: (u32, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Folder,
    Link,
    /// A device, FIFO or socket.
    Special,
}

/// An open directory.
#[derive(Debug)]
pub struct OpenFolder {
    fd: OwnedFd,
}

impl OpenFolder {
    /// Opens an absolute path from the root down. A link anywhere on the way fails with `NotADirectory`.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut folder = Self { fd: rfs::openat(CWD, "/", folder_flags(), Mode::empty())? };
        for part in path.components() {
            match part {
                Component::RootDir | Component::CurDir => {}
                Component::Normal(name) => folder = folder.enter(name)?,
                Component::ParentDir | Component::Prefix(_) => return Err(not_plain(path)),
            }
        }
        Ok(folder)
    }

    /// Opens the folder that contains `path`; also returns the last component.
    pub fn open_parent(path: &Path) -> io::Result<(Self, &OsStr)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(not_plain(path)) };
        Ok((Self::open(parent)?, name))
    }

    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        match rfs::openat(&self.fd, name, folder_flags(), Mode::empty()) {
            Ok(fd) => Ok(Self { fd }),
            // Some systems report `ELOOP` for a link that may not be followed.
            Err(rustix::io::Errno::LOOP) => Err(io::Error::from(io::ErrorKind::NotADirectory)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns `None` when the name does not exist.
    pub fn stat(&self, name: &OsStr) -> io::Result<Option<FileFacts>> {
        match rfs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(seen(&stat))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The metadata of the folder itself.
    pub fn own_facts(&self) -> io::Result<FileFacts> {
        Ok(seen(&rfs::fstat(&self.fd)?))
    }

    /// Names in the folder, unsorted, without `.` and `..`.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rfs::Dir::read_from(&self.fd)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    pub fn link_target(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = rfs::readlinkat(&self.fd, name, Vec::new())?;
        Ok(PathBuf::from(OsStr::from_bytes(target.to_bytes())))
    }

    /// Opens a file for reading; refuses links and does not block on a FIFO.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rfs::openat(&self.fd, name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(file)
    }

    /// Creates a file that must not exist, readable by this user only.
    pub fn create_new(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rfs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    pub fn make_folder(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(rfs::mkdirat(&self.fd, name, bits(mode))?)
    }

    pub fn make_link(&self, name: &OsStr, target: &Path) -> io::Result<()> {
        Ok(rfs::symlinkat(target, &self.fd, name)?)
    }

    /// Renames within the folder; replaces an existing `to`.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rfs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Removes an entry that is not a folder.
    pub fn unlink(&self, name: &OsStr) -> io::Result<()> {
        Ok(rfs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rfs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Sets the times of the file or link itself.
    pub fn set_modified(&self, name: &OsStr, nanoseconds: i64) -> io::Result<()> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rfs::utimensat(&self.fd, name, &both(nanoseconds), flags)?)
    }

    /// Sets the permission bits and the time of the folder itself.
    pub fn set_attributes(&self, mode: u32, modified: i64) -> io::Result<()> {
        rfs::fchmod(&self.fd, bits(mode))?;
        Ok(rfs::futimens(&self.fd, &both(modified))?)
    }
}

/// Makes `to` share the blocks of `from` until one of them is written. Fails where the file system has no support.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn reflink(from: &File, to: &File) -> io::Result<()> {
    Ok(rfs::ioctl_ficlone(to.as_fd(), from.as_fd())?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn reflink(_from: &File, _to: &File) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Sets permission bits, owner and time of an open file. A failure to change the owner is ignored.
pub fn dress(file: &File, mode: u32, owner: (u32, u32), modified: i64) -> io::Result<()> {
    let now = rfs::fstat(file)?;
    if (now.st_uid, now.st_gid) != owner {
        let (uid, gid) = (rfs::Uid::from_raw(owner.0), rfs::Gid::from_raw(owner.1));
        rfs::fchown(file, Some(uid), Some(gid)).ok();
    }
    // Set after the owner, because changing the owner clears set-id bits.
    rfs::fchmod(file, bits(mode))?;
    Ok(rfs::futimens(file, &both(modified))?)
}

#[allow(clippy::unnecessary_cast, reason = "the type differs between systems")]
fn bits(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as rfs::RawMode)
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn not_plain(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not a plain absolute path", path.display()))
}

fn both(nanoseconds: i64) -> Timestamps {
    let time = Timespec { tv_sec: nanoseconds.div_euclid(NANOS), tv_nsec: nanoseconds.rem_euclid(NANOS) };
    Timestamps { last_access: time, last_modification: time }
}

const NANOS: i64 = 1_000_000_000;

#[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the field types differ between systems")]
fn seen(stat: &rfs::Stat) -> FileFacts {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Link,
        _ => FileKind::Special,
    };
    let nanos = |seconds: i64, rest: i64| seconds.saturating_mul(NANOS).saturating_add(rest);
    FileFacts {
        kind,
        mode: u32::from(stat.st_mode) & 0o7777,
        size: stat.st_size as u64,
        modified: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        inode: stat.st_ino as u64,
        device: stat.st_dev as u64,
        links: stat.st_nlink as u64,
        owner: (stat.st_uid, stat.st_gid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_never_followed() {
        let temp = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(temp.path()).unwrap();
        std::fs::create_dir(dir.join("real")).unwrap();
        std::fs::write(dir.join("real/file"), "x").unwrap();
        symlink("real", dir.join("link")).unwrap();
        symlink("real/file", dir.join("name")).unwrap();
        assert!(OpenFolder::open(&dir.join("link")).is_err());
        assert!(OpenFolder::open_parent(&dir.join("link/file")).is_err());
        let folder = OpenFolder::open(&dir).unwrap();
        assert!(folder.read("name".as_ref()).is_err());
        assert_eq!(folder.stat("name".as_ref()).unwrap().unwrap().kind, FileKind::Link);
        assert_eq!(folder.link_target("name".as_ref()).unwrap(), Path::new("real/file"));
        assert!(folder.create_new("name".as_ref()).is_err());
        assert_eq!(folder.stat("gone".as_ref()).unwrap(), None);
    }
}
