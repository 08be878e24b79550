//! Children: gimlet starts every process here, in its own group and with a marker in its environment. Dropping the
//! handle kills the process and its descendants, including those that left the group.
//!
//! Waiting for a child means waiting for its exit plus a short drain of its pipes: descendants may hold a pipe open for
//! ever. Use [`drain`] (or [`run`] for the simple case); never read a child's pipe to its end without it.

mod detached;
mod once;
mod output;
pub(crate) mod registry;
mod shell;
pub(crate) mod tree;

pub use crate::keeper::KeeperConfig;
pub use detached::{detached, hand_over};
pub use once::BoundedCommand;
pub use output::{DRAIN_TIMEOUT, DescendantPolicy, DrainEnd, ProcessOutcome, RunOptions, drain, run};

use self::registry::{CHILD_VARIABLE, RUN_VARIABLE};
use self::tree::{LeaderState, ProcessTree};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::net::unix::pipe;

/// What to start. The child gets exactly `env`; nothing is inherited.
#[derive(Debug)]
pub struct SpawnSpec {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    pub stdin: ChildInput,
    pub output: ChildOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildInput {
    Null,
    Pipe,
    /// Our standard input, with the terminal: the child then stays in our process group.
    Inherit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildOutput {
    /// stdout and stderr through one pipe, in the order they arrive; read it from `ChildProcess::stdout`.
    Merged,
    /// Two pipes.
    Split,
    Null,
    /// Our own stdout and stderr.
    Inherit,
}

/// Whether a child can access our terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminalAccess {
    #[default]
    Shared,
    /// The child has no controlling terminal: it gets its own session, unless this process has no terminal either.
    None,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitOutcome {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// The name of a signal; `None` for one without a common name.
pub fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

/// A running child. Dropping it kills its whole tree, synchronously.
#[derive(Debug)]
pub struct ChildProcess {
    inner: tokio::process::Child,
    tree: ProcessTree,
    pub stdin: Option<tokio::process::ChildStdin>,
    pub stdout: Option<pipe::Receiver>,
    pub stderr: Option<pipe::Receiver>,
    /// Descendants may outlive the handle.
    released: bool,
}

/// Sets the program of the keeper. The binary calls this once before the first spawn; without it there is no keeper.
pub fn configure(config: KeeperConfig) {
    registry::lock().configure(config);
}

/// True when processes that our children left behind still run.
pub fn has_strays() -> bool {
    !tree::strays().is_empty()
}

/// A path that starts this same executable.
pub fn own_binary() -> Option<PathBuf> {
    crate::keeper::own_binary()
}

/// Kills everything this process started, synchronously: for exits that cannot wait until every handle is dropped.
pub fn kill_all() {
    tree::kill_everything();
}

/// Starts `spec`. Must be called inside the runtime.
pub fn spawn(spec: SpawnSpec) -> io::Result<ChildProcess> {
    start(spec, TerminalAccess::Shared, ChildPreparation::Nothing)
}

/// Like [`spawn`], with or without our terminal.
pub fn spawn_in(spec: SpawnSpec, terminal: TerminalAccess) -> io::Result<ChildProcess> {
    start(spec, terminal, ChildPreparation::Nothing)
}

/// What to do in the child between fork and exec.
pub(crate) enum ChildPreparation {
    Nothing,
    /// These descriptors stay open in the child and are closed in this process.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only the Linux sandbox hands descriptors on"))]
    Inherit(Vec<OwnedFd>),
    /// This descriptor becomes [`REPORT_FD`].
    Report(OwnedFd),
    /// The function must neither allocate nor lock.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only the Linux sandbox restricts this way"))]
    Restrict(Box<dyn FnMut() -> io::Result<()> + Send + Sync>),
}

/// The descriptor number of the report pipe in a child started by [`spawn_reporting`].
pub const REPORT_FD: i32 = 198;

/// What a child writes to [`REPORT_FD`]. Reading never blocks: descendants may hold the other end for ever.
#[derive(Debug)]
pub struct ChildReport(std::fs::File);

impl ChildReport {
    /// Reads what is available now, at most `limit` bytes.
    pub fn take(self, limit: usize) -> Vec<u8> {
        use std::io::Read;
        let (mut file, mut found, mut chunk) = (self.0, Vec::new(), [0; 4096]);
        while found.len() < limit {
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => found.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Nothing more is available.
                Err(_) => break,
            }
        }
        found.truncate(limit);
        found
    }
}

/// Like [`spawn`], with a pipe through which the child can send a few bytes beside its output.
pub fn spawn_reporting(spec: SpawnSpec) -> io::Result<(ChildProcess, ChildReport)> {
    let (reader, writer) = io::pipe()?;
    let reader = OwnedFd::from(reader);
    let flags = rustix::fs::fcntl_getfl(&reader)?;
    rustix::fs::fcntl_setfl(&reader, flags | rustix::fs::OFlags::NONBLOCK)?;
    let child = start(spec, TerminalAccess::Shared, ChildPreparation::Report(writer.into()))?;
    Ok((child, ChildReport(reader.into())))
}

pub(crate) fn spawn_prepared(spec: SpawnSpec, prepare: ChildPreparation) -> io::Result<ChildProcess> {
    start(spec, TerminalAccess::Shared, prepare)
}

fn start(spec: SpawnSpec, terminal: TerminalAccess, prepare: ChildPreparation) -> io::Result<ChildProcess> {
    let outer = [RUN_VARIABLE, CHILD_VARIABLE].map(|name| outer_marker(&spec.env, name));
    let is_ours = spec.stdin == ChildInput::Inherit;
    let shell = shell::located(&spec);
    let is_shell = shell.is_some();
    let (mut command, pipes) = command(spec, shell)?;
    match terminal {
        TerminalAccess::Shared if is_ours => {}
        TerminalAccess::Shared => drop(command.process_group(0)),
        // A process that copies itself to call `setsid` copies its memory map too; where nobody has a terminal this is not needed.
        TerminalAccess::None if is_shell && !shell::have_terminal() => drop(command.process_group(0)),
        TerminalAccess::None => own_session(&mut command),
    }
    apply(&mut command, prepare);
    let mut registry = registry::lock();
    registry.prepare();
    let marker = registry.next_marker();
    let [outer_run, outer_child] = outer;
    command.env(RUN_VARIABLE, chain(outer_run, registry.run()));
    command.env(CHILD_VARIABLE, chain(outer_child, &marker));
    let mut inner = command.spawn()?;
    let leader = inner.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    registry.insert(leader);
    drop(registry);
    let stdin = inner.stdin.take();
    let tree = ProcessTree { leader, marker };
    Ok(ChildProcess { inner, tree, stdin, stdout: pipes.stdout, stderr: pipes.stderr, released: false })
}

fn apply(command: &mut tokio::process::Command, prepare: ChildPreparation) {
    let work: Box<dyn FnMut() -> io::Result<()> + Send + Sync> = match prepare {
        ChildPreparation::Nothing => return,
        ChildPreparation::Inherit(fds) => Box::new(move || fds.iter().try_for_each(keep_open)),
        ChildPreparation::Report(fd) => Box::new(move || duplicate(&fd)),
        ChildPreparation::Restrict(work) => work,
    };
    // SAFETY: the work only makes system calls on values that were ready before the fork; it allocates and locks
    // nothing.
    unsafe {
        command.pre_exec(work);
    }
}

fn duplicate(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: dup2 on a descriptor we own, with integer arguments only; the copy stays open across exec.
    let done = unsafe { libc::dup2(fd.as_raw_fd(), REPORT_FD) };
    if done == REPORT_FD { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn keep_open(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: fcntl on a descriptor we own, with integer arguments only.
    let done = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[derive(Default)]
struct ChildPipes {
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
}

#[expect(clippy::disallowed_methods, reason = "this is the one place children are spawned")]
fn command(spec: SpawnSpec, shell: Option<PathBuf>) -> io::Result<(tokio::process::Command, ChildPipes)> {
    let mut command = match shell {
        Some(shell) => {
            let mut command = tokio::process::Command::new(shell);
            command.arg0(&spec.program);
            command
        }
        None => tokio::process::Command::new(&spec.program),
    };
    command.args(&spec.args).env_clear().envs(spec.env).current_dir(&spec.cwd);
    command.stdin(match spec.stdin {
        ChildInput::Null => Stdio::null(),
        ChildInput::Pipe => Stdio::piped(),
        ChildInput::Inherit => Stdio::inherit(),
    });
    let mut pipes = ChildPipes::default();
    match spec.output {
        ChildOutput::Merged => {
            let (reader, writer) = io::pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer);
            pipes.stdout = Some(receiver(reader)?);
        }
        ChildOutput::Split => {
            let (reader, writer) = io::pipe()?;
            command.stdout(writer);
            pipes.stdout = Some(receiver(reader)?);
            let (reader, writer) = io::pipe()?;
            command.stderr(writer);
            pipes.stderr = Some(receiver(reader)?);
        }
        ChildOutput::Null => {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        ChildOutput::Inherit => {
            command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
        }
    }
    Ok((command, pipes))
}

/// A new session includes a new group. A group leader could not start a session, so this replaces the new group.
fn own_session(command: &mut tokio::process::Command) {
    let begin = || {
        // SAFETY: setsid has no memory effects and is async-signal-safe.
        if unsafe { libc::setsid() } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: the closure makes one async-signal-safe call and allocates nothing.
    unsafe {
        command.pre_exec(begin);
    }
}

fn receiver(reader: io::PipeReader) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(reader.into())
}

fn outer_marker(env: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    let (_, value) = env.iter().rev().find(|(key, _)| key == OsStr::new(name))?;
    // Gimlet is never nested that deeply; such a long value is not ours.
    (!value.is_empty() && value.len() < 1024).then(|| value.clone())
}

/// Appends our marker to those of an outer gimlet, so that the outer one still recognises our children.
fn chain(outer: Option<OsString>, own: &str) -> OsString {
    let Some(mut value) = outer else { return own.into() };
    value.push(":");
    value.push(own);
    value
}

impl ChildProcess {
    /// The pid of the child, which is also its group.
    pub fn pid(&self) -> i32 {
        self.tree.leader
    }

    /// Waits for the direct child only; its descendants may live on and hold pipes.
    pub async fn wait(&mut self) -> io::Result<ExitOutcome> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.inner.wait().await?;
        Ok(ExitOutcome { code: status.code(), signal: status.signal() })
    }

    /// Sends SIGTERM to the whole tree, waits up to `grace`, then sends SIGKILL. Returns how the child ended.
    pub async fn stop(&mut self, grace: Duration) -> io::Result<ExitOutcome> {
        let deadline = tokio::time::Instant::now() + grace;
        let mut asked = BTreeSet::new();
        let mut pause = Duration::from_millis(1);
        let mut empty_looks = 0;
        while empty_looks < 2 {
            empty_looks = if self.tree.terminate(self.leader(), &mut asked) { 0 } else { empty_looks + 1 };
            let pause_end = (tokio::time::Instant::now() + pause).min(deadline);
            // The exit of the child itself is noticed at once, that of its descendants at the next check.
            if self.leader() == LeaderState::Reaped || tokio::time::timeout_at(pause_end, self.wait()).await.is_err() {
                tokio::time::sleep_until(pause_end).await;
            }
            if tokio::time::Instant::now() >= deadline {
                break;
            }
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        self.kill_tree();
        match tokio::time::timeout(Duration::from_secs(2), self.wait()).await {
            Ok(exit) => exit,
            // Stuck in the kernel; it cannot run any more code.
            Err(_) => Ok(ExitOutcome { code: None, signal: Some(libc::SIGKILL) }),
        }
    }

    /// Sends SIGKILL to the group and all descendants until none is left. Synchronous and bounded in time.
    pub fn kill_tree(&mut self) {
        self.tree.kill(self.leader());
    }

    /// Lets descendants outlive this handle; they still end with the session.
    pub fn release(&mut self) {
        self.released = true;
    }

    fn leader(&self) -> LeaderState {
        if self.inner.id().is_some() { LeaderState::Unreaped } else { LeaderState::Reaped }
    }

    /// Collects the exit status of a child that was just killed, so that no zombie remains.
    fn reap(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_millis(100);
        loop {
            match self.inner.try_wait() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_micros(200)),
                Ok(None) => return false,
                Ok(Some(_)) | Err(_) => return true,
            }
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.released {
            // The runtime reaps the child if it still runs; the keeper still knows its group.
            if self.leader() == LeaderState::Reaped {
                registry::lock().forget_leader(self.tree.leader);
            }
            return;
        }
        self.kill_tree();
        if self.reap() {
            registry::lock().remove(self.tree.leader);
        }
    }
}

#[cfg(test)]
#[path = "process/process_tests.rs"]
mod tests;
