//! Who we run as, and which other processes are alive.

use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The real user id.
pub fn uid() -> u32 {
    // SAFETY: getuid takes nothing, cannot fail and touches no memory.
    unsafe { libc::getuid() }
}

/// The home directory of the password database, for environments without `HOME`.
pub fn passwd_home() -> Option<PathBuf> {
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut buffer = vec![0; 16 * 1024];
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers are valid for the call and `buffer.len()` is the buffer's true size.
    let status = unsafe {
        libc::getpwuid_r(uid(), entry.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len(), std::ptr::addr_of_mut!(found))
    };
    if status != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so `found` points to `entry`, which it initialised; `buffer` outlives this function's use.
    let dir = unsafe { (*found).pw_dir };
    if dir.is_null() {
        return None;
    }
    // SAFETY: `pw_dir` is a NUL-terminated string inside `buffer`.
    let bytes = unsafe { CStr::from_ptr(dir) }.to_bytes();
    (!bytes.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(bytes)))
}

/// Whether a process with this id exists (it may belong to someone else).
pub fn is_alive(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    if pid <= 0 {
        return false;
    }
    // SAFETY: signal 0 only checks for existence.
    let status = unsafe { libc::kill(pid, 0) };
    status == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// When a process started, as an opaque text that differs between two processes with the same id: clock ticks since
/// boot on Linux, unknown elsewhere.
pub fn process_start(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the command in brackets and may hold spaces and brackets itself.
    stat[stat.rfind(')')? + 1..].split_ascii_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_itself() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(0));
        assert!(!is_alive(u32::MAX));
        if cfg!(target_os = "linux") {
            assert!(process_start(std::process::id()).unwrap().parse::<u64>().is_ok());
        }
    }
}
