//! The keeper: a small process that outlives this one by milliseconds. It holds the read end of a pipe whose write end
//! only this process has. When the pipe closes, however this process ended, the keeper kills every process that carries
//! our run marker, every member of a registered group, and their descendants, until none is left.
//!
//! It cannot find a process that left its group, lost its parent and cleared its environment before this process ended.

use crate::process::{registry, tree};
use crate::procfs;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The hidden first argument with which the program runs as keeper.
pub const ARGUMENT: &str = "__keeper";

const HEADER: &str = "keeper-1";
/// After this time a sweep gives up on the remaining processes: they are stuck in the kernel.
const SWEEP_LIMIT: Duration = Duration::from_secs(10);

/// Which program runs as keeper.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeeperConfig {
    /// No keeper: this executable does not support [`ARGUMENT`], as in tests.
    #[default]
    Off,
    /// This executable, even if its file was replaced meanwhile.
    OwnBinary,
    Program(PathBuf),
}

/// The handle to a running keeper.
#[derive(Debug)]
pub(crate) struct Keeper {
    child: std::process::Child,
    pipe: io::PipeWriter,
}

impl Keeper {
    /// Starts a keeper without waiting until it runs: it reads later what is written to the pipe meanwhile. `None` when
    /// it is off or cannot be started; children are then still ended by their handles.
    pub(crate) fn start(config: &KeeperConfig, run: &str) -> Option<Self> {
        let program = match config {
            KeeperConfig::Off => return None,
            KeeperConfig::OwnBinary => own_binary()?,
            KeeperConfig::Program(path) => path.clone(),
        };
        match Self::launch(&program, run) {
            Ok(keeper) => Some(keeper),
            Err(error) => {
                tracing::warn!(%error, program = %program.display(), "keeper not started");
                None
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the keeper must outlive the runtime")]
    fn launch(program: &std::path::Path, run: &str) -> io::Result<Self> {
        let (reader, mut pipe) = io::pipe()?;
        writeln!(pipe, "{HEADER} {run} {}", tree::own_session())?;
        set_nonblocking(&pipe)?;
        let mut command = std::process::Command::new(program);
        // Another process name: `pkill -9` with our name must not end it, so that it can clean up.
        command.arg0("keeper").arg(ARGUMENT).env_clear().current_dir("/");
        command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null());
        let child = with_signals_blocked(|| command.spawn())?;
        Ok(Self { child, pipe })
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(0)
    }

    pub(crate) fn is_gone(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn guard(&mut self, group: i32) {
        self.send_group('+', group);
    }

    pub(crate) fn unguard(&mut self, group: i32) {
        self.send_group('-', group);
    }

    fn send_group(&mut self, sign: char, group: i32) {
        // Shorter than PIPE_BUF, so written whole or not at all. A keeper that misses it still has the run marker.
        self.pipe.write_all(format!("{sign}{group}\n").as_bytes()).ok();
    }
}

#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "other systems may not know their own path")]
pub(crate) fn own_binary() -> Option<PathBuf> {
    Some(PathBuf::from("/proc/self/exe"))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn own_binary() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

fn set_nonblocking(pipe: &io::PipeWriter) -> io::Result<()> {
    let fd = pipe.as_raw_fd();
    // SAFETY: fcntl on a descriptor we own, with integer arguments only.
    let result = unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Blocks signals during `action`. The keeper inherits the mask, so Ctrl-C cannot end it before it has left our group.
fn with_signals_blocked<T>(action: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are initialised by sigemptyset/pthread_sigmask before use and live through the calls.
    unsafe {
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut blocked);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGTSTP] {
            libc::sigaddset(&raw mut blocked, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, &raw mut before);
        let result = action();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}

/// Runs the keeper process: `main` calls this when the first argument is [`ARGUMENT`], with the arguments after it.
pub fn run(_args: impl IntoIterator<Item = OsString>) -> ExitCode {
    detach();
    let mut lines = io::stdin().lock();
    let Some(mut ward) = KeptProcesses::read(&mut lines) else { return ExitCode::from(2) };
    ward.follow(&mut lines);
    ward.sweep();
    ExitCode::SUCCESS
}

/// Leaves the terminal and the group, and closes every inherited descriptor except standard input.
fn detach() {
    // SAFETY: none of these touches memory of ours; descriptors above 2 belong to nobody in this fresh process.
    unsafe {
        libc::setsid();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGTSTP] {
            libc::signal(signal, libc::SIG_IGN);
        }
        #[cfg(target_os = "linux")]
        {
            libc::prctl(libc::PR_SET_NAME, c"keeper".as_ptr());
            libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
        }
        #[cfg(not(target_os = "linux"))]
        for fd in 3..256 {
            libc::close(fd);
        }
    }
}

/// The processes that the keeper ends.
#[derive(Debug, PartialEq, Eq)]
struct KeptProcesses {
    run: String,
    session: i32,
    groups: BTreeSet<i32>,
}

impl KeptProcesses {
    /// Refuses input that did not come from [`Keeper::launch`]: an empty marker would match unrelated processes.
    fn read(input: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        input.read_line(&mut line).ok()?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [HEADER, run, session] = words[..] else { return None };
        let is_marker = run.len() == 32 && run.bytes().all(|byte| byte.is_ascii_hexdigit());
        let session = session.parse().ok()?;
        is_marker.then(|| Self { run: run.to_owned(), session, groups: BTreeSet::new() })
    }

    /// Updates the list of groups until the pipe closes.
    fn follow(&mut self, input: &mut impl BufRead) {
        let mut line = String::new();
        while input.read_line(&mut line).is_ok_and(|length| length > 0) {
            self.record_line(line.trim_end());
            line.clear();
        }
    }

    fn record_line(&mut self, line: &str) {
        if let Some(Ok(group)) = line.strip_prefix('+').map(str::parse) {
            self.groups.insert(group);
        } else if let Some(Ok(group)) = line.strip_prefix('-').map(str::parse) {
            self.groups.remove(&group);
        }
    }

    /// Kills until two searches in a row find nothing: a process in the middle of an `exec` shows no environment.
    fn sweep(&self) {
        let deadline = Instant::now() + SWEEP_LIMIT;
        let mut quiet = 0;
        while quiet < 2 && Instant::now() < deadline {
            let found = tree::with_descendants(self.find());
            quiet = if found.is_empty() { quiet + 1 } else { 0 };
            for pid in found {
                tree::send(pid, libc::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[cfg(target_os = "linux")]
    fn find(&self) -> Vec<i32> {
        let own = std::process::id();
        let is_ours = |pid: &i32| {
            *pid > 1
                && u32::try_from(*pid) != Ok(own)
                && (procfs::has_marker(*pid, registry::RUN_VARIABLE, &self.run) || self.is_in_group(*pid))
        };
        procfs::pids().into_iter().filter(is_ours).collect()
    }

    /// The number of a group may have been reused by other processes; they are not in our session.
    fn is_in_group(&self, pid: i32) -> bool {
        !self.groups.is_empty()
            && procfs::stat(pid)
                .is_some_and(|stat| stat.is_live() && stat.session == self.session && self.groups.contains(&stat.group))
    }

    #[cfg(not(target_os = "linux"))]
    fn find(&self) -> Vec<i32> {
        for group in &self.groups {
            tree::send_group(*group, libc::SIGKILL);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_ward_needs_a_whole_marker() {
        let read = |text: &str| KeptProcesses::read(&mut text.as_bytes());
        assert!(read("").is_none());
        assert!(read("keeper-1  5\n").is_none());
        assert!(read("keeper-1 short 5\n").is_none());
        assert!(read(&format!("other {RUN} 5\n")).is_none());
        let ward = read(&format!("keeper-1 {RUN} 5\n")).unwrap();
        assert_eq!(ward, KeptProcesses { run: RUN.into(), session: 5, groups: BTreeSet::new() });
    }

    #[test]
    fn groups_come_and_go() {
        let mut ward = KeptProcesses { run: RUN.into(), session: 5, groups: BTreeSet::new() };
        ward.follow(&mut "+12\n+13\nnonsense\n-12\n".as_bytes());
        assert_eq!(ward.groups, BTreeSet::from([13]));
    }
}
