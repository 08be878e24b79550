//! Children: every process gimlet starts is started here, in a group of its own, and dies with its handle.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::net::unix::pipe;

/// What to start. The environment is complete: nothing is inherited.
#[derive(Debug)]
pub struct Spawn {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    pub stdin: Input,
    pub output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Null,
    Pipe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// stdout and stderr through one pipe, in arrival order; read it from `Child::stdout`.
    Merged,
    /// Two pipes.
    Split,
    Null,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// A running child. Dropping it kills its whole group, synchronously.
#[derive(Debug)]
pub struct Child {
    inner: tokio::process::Child,
    group: i32,
    pub stdin: Option<tokio::process::ChildStdin>,
    pub stdout: Option<pipe::Receiver>,
    pub stderr: Option<pipe::Receiver>,
    /// Set once the child is gone and nothing needs killing.
    released: bool,
}

/// Starts `spec`. Must be called inside the runtime.
#[expect(clippy::disallowed_methods, reason = "this is the one place children are spawned")]
pub fn spawn(spec: Spawn) -> io::Result<Child> {
    let mut command = tokio::process::Command::new(&spec.program);
    command.args(&spec.args).env_clear().envs(spec.env).current_dir(&spec.cwd).process_group(0);
    command.stdin(match spec.stdin {
        Input::Null => Stdio::null(),
        Input::Pipe => Stdio::piped(),
    });
    let (stdout, stderr) = match spec.output {
        Output::Merged => {
            let (receiver, sender) = std::io::pipe()?;
            command.stdout(sender.try_clone()?).stderr(sender);
            (Some(receiver), None)
        }
        Output::Split => {
            let (out, out_sender) = std::io::pipe()?;
            let (err, err_sender) = std::io::pipe()?;
            command.stdout(out_sender).stderr(err_sender);
            (Some(out), Some(err))
        }
        Output::Null => {
            command.stdout(Stdio::null()).stderr(Stdio::null());
            (None, None)
        }
    };
    let mut inner = command.spawn()?;
    drop(command);
    let group = inner.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    Ok(Child {
        stdin: inner.stdin.take(),
        inner,
        group,
        stdout: stdout.map(receiver).transpose()?,
        stderr: stderr.map(receiver).transpose()?,
        released: false,
    })
}

fn receiver(reader: std::io::PipeReader) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(reader.into())
}

impl Child {
    /// The child's pid, which is also its group.
    pub fn pid(&self) -> i32 {
        self.group
    }

    /// Waits for the direct child only; grandchildren may live on and hold pipes.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.inner.wait().await?;
        Ok(Exit { code: status.code(), signal: status.signal() })
    }

    /// SIGTERM to the group, up to `grace`, then SIGKILL. Returns how the child ended.
    pub async fn stop(&mut self, grace: Duration) -> io::Result<Exit> {
        self.signal(libc::SIGTERM);
        if let Ok(exit) = tokio::time::timeout(grace, self.wait()).await {
            self.signal(libc::SIGKILL);
            return exit;
        }
        self.signal(libc::SIGKILL);
        self.wait().await
    }

    /// Lets descendants live on after the handle is gone (the session's end still takes them).
    pub fn release(&mut self) {
        self.released = true;
    }

    fn signal(&self, signal: i32) {
        if self.group > 1 {
            // SAFETY: kill has no memory effects; the group is ours and larger than 1.
            unsafe {
                libc::kill(-self.group, signal);
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.released {
            self.signal(libc::SIGKILL);
        }
    }
}
