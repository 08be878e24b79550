//! File rules with Landlock, for machines without user namespaces. Landlock can only grant: a part of a granted
//! directory cannot be denied again. So denied paths outside writable places are left out by granting their neighbours,
//! and those inside writable places stay open (`SandboxBackend::leaves_open` names them). `/proc` and `/sys` are never
//! granted for writing, even where files are not confined: only their neighbours are.

use super::plan::{self, MountState};
use super::{FileConfinement, KERNEL_PATHS, RuleEffect, SandboxProfile, SandboxRule};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// The right to create character and block devices, which is never granted.
const MAKE_DEVICES: u64 = (1 << 6) | (1 << 11);
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
const READING: u64 = EXECUTE | READ_FILE | READ_DIR;
/// The rights that are checked for an unconfined command. Landlock forbids moves between directories unless granted.
const CHANGING: u64 = WRITE_FILE | TRUNCATE | REFER;

/// Restricts abstract sockets and signals to processes inside the sandbox.
const SCOPES: u64 = 0b11;

/// Devices that every program may use.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"];

#[repr(C)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    access: u64,
    parent: i32,
}

/// The Landlock version of this kernel; `None` when Landlock is off.
pub(crate) fn version() -> Option<u32> {
    let (query, version_flag): (libc::c_long, libc::c_long) = (0, 1);
    // SAFETY: asking for the version takes no memory.
    let found = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<RulesetAttributes>(), query, version_flag)
    };
    u32::try_from(found).ok().filter(|version| *version > 0)
}

/// Builds a rule set that is ready to be applied.
pub(crate) fn ruleset(profile: &SandboxProfile, abi: u32) -> io::Result<OwnedFd> {
    let (handled, grants) = match &profile.files {
        FileConfinement::Confined(rules) => (handled(abi), grants(rules, &profile.own_data)),
        FileConfinement::Free => (handled(abi) & CHANGING, writable(Path::new("/"), &[], CHANGING)),
    };
    let attributes = RulesetAttributes { files: handled, network: 0, scoped: if abi >= 6 { SCOPES } else { 0 } };
    let size: libc::c_long = match abi {
        ..4 => 8,
        4 | 5 => 16,
        6.. => 24,
    };
    let flags: libc::c_long = 0;
    // SAFETY: the kernel reads `size` bytes of `attributes`, which has at least as many.
    let fd = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size, flags) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: a fresh descriptor that nobody else owns.
    let set = unsafe { OwnedFd::from_raw_fd(fd) };
    for (path, access) in grants {
        if let Err(error) = grant(&set, &path, access & handled) {
            tracing::debug!(%error, path = %path.display(), "not granted in the sandbox");
        }
    }
    Ok(set)
}

fn handled(abi: u32) -> u64 {
    let mut all = (1 << 13) - 1;
    if abi >= 2 {
        all |= REFER;
    }
    if abi >= 3 {
        all |= TRUNCATE;
    }
    if abi >= 5 {
        all |= IOCTL_DEV;
    }
    all
}

fn grants(rules: &[SandboxRule], own_data: &[PathBuf]) -> Vec<(PathBuf, u64)> {
    // Listing names is allowed everywhere: this right cannot be denied for a part of a directory either.
    let mut out = vec![(PathBuf::from("/"), READ_DIR)];
    let hidden: Vec<&Path> = rules
        .iter()
        .filter(|rule| rule.effect == RuleEffect::DenyRead && !in_writable(rules, &rule.path))
        .map(|rule| rule.path.as_path())
        .collect();
    open_around(Path::new("/"), &hidden, READING, &mut out);
    let open = |rule: &&SandboxRule| plan::state(rules, &rule.path) != MountState::Hidden;
    for rule in rules.iter().filter(|rule| rule.effect == RuleEffect::AllowRead).filter(open) {
        out.push((rule.path.clone(), READING));
    }
    let written = rules.iter().filter(|rule| rule.effect == RuleEffect::AllowWrite);
    for rule in written.filter(|rule| plan::state(rules, &rule.path) == MountState::Writable) {
        out.extend(writable(&rule.path, own_data, !MAKE_DEVICES));
    }
    out.extend(DEVICES.iter().map(|path| (PathBuf::from(path), READING | WRITE_FILE | TRUNCATE | IOCTL_DEV)));
    out.push((PathBuf::from("/dev/shm"), !MAKE_DEVICES));
    out
}

/// Grants `access` to `path` and everything below it, except the file systems of the kernel and `closed`. Directories
/// above a closed path are not granted themselves: no new entries can be made in them.
fn writable(path: &Path, closed: &[PathBuf], access: u64) -> Vec<(PathBuf, u64)> {
    let closed: Vec<&Path> = KERNEL_PATHS.iter().map(Path::new).chain(closed.iter().map(PathBuf::as_path)).collect();
    if closed.iter().any(|closed| path.starts_with(closed)) {
        return Vec::new();
    }
    let mut out = Vec::new();
    open_around(path, &closed, access, &mut out);
    out
}

fn in_writable(rules: &[SandboxRule], path: &Path) -> bool {
    rules.iter().any(|rule| rule.effect == RuleEffect::AllowWrite && path.starts_with(&rule.path) && path != rule.path)
}

/// Grants `access` to everything in `path` except the hidden paths.
fn open_around(path: &Path, hidden: &[&Path], access: u64, out: &mut Vec<(PathBuf, u64)>) {
    if hidden.contains(&path) {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
        out.push((path.to_path_buf(), access));
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for entry in entries.filter_map(Result::ok) {
        // The target of a link is granted where it lies.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            open_around(&entry.path(), hidden, access, out);
        }
    }
}

fn grant(set: &OwnedFd, path: &Path, access: u64) -> io::Result<()> {
    let place: File = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open(path)?;
    let access = if place.metadata()?.is_dir() { access } else { access & OF_FILES };
    let rule = PathBeneath { access, parent: place.as_raw_fd() };
    let (kind, flags): (libc::c_long, libc::c_long) = (1, 0);
    // SAFETY: `rule` is laid out as the kernel expects and outlives the call; both descriptors are open.
    let added = unsafe { libc::syscall(libc::SYS_landlock_add_rule, set.as_raw_fd(), kind, &raw const rule, flags) };
    if added == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

/// Drops every capability: root with capabilities could access other processes despite Landlock. Allocates nothing.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    const VERSION: u32 = 0x2008_0522;
    let unused: libc::c_ulong = 0;
    let header = CapabilityHeader { version: VERSION, pid: 0 };
    // Effective, permitted and inheritable, 64 bits each as two 32-bit words.
    let none = [0_u32; 6];
    // SAFETY: prctl takes integers only; capset reads `header` and `none`, laid out as the kernel expects. The bounding
    // set can only be emptied by those who have capabilities, so failures there mean that there is nothing to give up.
    let dropped = unsafe {
        for capability in 0..64 {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, unused, unused, unused);
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, unused, unused, unused);
        libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr())
    };
    if dropped == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Applies the set to this thread and everything it starts. Allocates nothing: it runs between fork and exec.
pub(crate) fn apply(set: &OwnedFd) -> io::Result<()> {
    let (on, unused): (libc::c_ulong, libc::c_ulong) = (1, 0);
    let flags: libc::c_long = 0;
    // SAFETY: neither call touches memory of ours; the descriptor is open.
    let applied = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, unused, unused, unused) == 0
            && libc::syscall(libc::SYS_landlock_restrict_self, set.as_raw_fd(), flags) == 0
    };
    if applied { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_hidden_places_are_granted() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["a", "b/secret", "b/other"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let hidden = root.join("b/secret");
        let mut out = Vec::new();
        open_around(&root, &[&hidden], READING, &mut out);
        let mut names: Vec<_> = out.iter().map(|(path, _)| path.strip_prefix(&root).unwrap().to_owned()).collect();
        names.sort();
        assert_eq!(names, [Path::new("a"), Path::new("b/other")]);
    }
}
