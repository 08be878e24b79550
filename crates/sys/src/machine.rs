//! Facts about this machine, this user and other processes. Each is read when needed and costs no more than a system
//! call or a small read.

use crate::procfs;
use std::os::fd::BorrowedFd;
use std::sync::LazyLock;

/// `linux`, `darwin`, …: the platform names of the reference.
pub fn platform() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

/// Kernel name and release, `Linux 6.8.0-45-generic`.
pub fn os_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        // SAFETY: all-zero is a valid utsname (arrays of characters); uname fills it with terminated strings.
        let names = unsafe {
            let mut names: libc::utsname = std::mem::zeroed();
            if libc::uname(&raw mut names) != 0 {
                return platform().to_owned();
            }
            names
        };
        format!("{} {}", text(&names.sysname), text(&names.release))
    });
    &VERSION
}

fn text(field: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = field.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Identifies the namespace of our pids: `linux:<machine id>:pid:[<namespace>]`. `None` on other systems than Linux.
pub fn pid_domain() -> Option<String> {
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().find_map(|path| std::fs::read_to_string(path).ok());
    Some(format!("{}:{}:{}", platform(), id.unwrap_or_default().trim(), namespace.display()))
}

pub fn pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// The start time of `pid` in clock ticks since boot, as text. Together with the pid it identifies a process uniquely.
pub fn proc_start(pid: i32) -> Option<String> {
    procfs::stat(pid).map(|stat| stat.start)
}

/// True when `pid` runs; false for a zombie.
pub fn is_alive(pid: i32) -> bool {
    if pid < 1 {
        return false;
    }
    // SAFETY: signal 0 only asks whether the process exists.
    let exists =
        unsafe { libc::kill(pid, 0) } == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM);
    exists && procfs::stat(pid).is_none_or(|stat| stat.is_live())
}

pub fn uid() -> u32 {
    // SAFETY: getuid cannot fail and has no memory effects.
    unsafe { libc::getuid() }
}

/// True when the effective user is root.
pub fn is_root() -> bool {
    // SAFETY: geteuid cannot fail and has no memory effects.
    unsafe { libc::geteuid() == 0 }
}

/// True when descriptor `fd` is a terminal.
pub fn is_tty(fd: i32) -> bool {
    use std::io::IsTerminal;
    if fd < 0 {
        return false;
    }
    // SAFETY: the descriptor is only asked about during this call; a closed one answers "no".
    unsafe { BorrowedFd::borrow_raw(fd) }.is_terminal()
}

/// The home directory in the password database, for environments without `HOME`.
pub fn passwd_home() -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut buffer = vec![0; 16 * 1024];
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers are valid for the call and `buffer.len()` is the buffer's true size.
    let status = unsafe {
        libc::getpwuid_r(uid(), entry.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len(), std::ptr::addr_of_mut!(found))
    };
    if status != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so `found` points to `entry`, which it initialised; `buffer` outlives this function's
    // use.
    let dir = unsafe { (*found).pw_dir };
    if dir.is_null() {
        return None;
    }
    // SAFETY: `pw_dir` is a NUL-terminated string inside `buffer`.
    let bytes = unsafe { std::ffi::CStr::from_ptr(dir) }.to_bytes();
    (!bytes.is_empty()).then(|| std::path::PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn we_know_ourselves() {
        assert!(is_alive(pid()));
        assert!(!is_alive(0));
        assert!(!is_alive(-1));
        assert!(!is_alive(i32::MAX));
        let start = proc_start(pid()).unwrap();
        assert!(start.parse::<u64>().unwrap() > 0);
        assert!(proc_start(i32::MAX).is_none());
        assert_eq!(platform(), "linux");
        assert!(os_version().starts_with("Linux "), "{}", os_version());
        assert!(pid_domain().unwrap().starts_with("linux:"));
        assert!(pid_domain().unwrap().ends_with(']'));
        assert!(!is_tty(-1));
    }
}
