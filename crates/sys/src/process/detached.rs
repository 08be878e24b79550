//! Starts a program of the user's desktop that is independent of us: it lives on when this process ends.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Starts `program` in its own group, without our streams and markers. The child gets exactly `env`.
#[expect(clippy::disallowed_methods, reason = "processes are started in this crate")]
pub fn detached(program: &Path, args: &[OsString], env: Vec<(OsString, OsString)>) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env).current_dir("/").process_group(0);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    // Waits only so that no zombie remains while this process runs.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// Like `detached`, for a program that takes `input` and may continue in the background, as clipboard programs do.
/// Returns `Ok` when the program exited with success within `time`.
#[expect(clippy::disallowed_methods, reason = "processes are started in this crate")]
pub fn hand_over(
    program: &Path,
    args: &[&str],
    env: Vec<(OsString, OsString)>,
    input: &[u8],
    time: Duration,
) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env).current_dir("/").process_group(0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input));
    let deadline = Instant::now() + time;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return written,
            Some(status) => return Err(io::Error::other(format!("{} failed ({status})", program.display()))),
            None if Instant::now() >= deadline => {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::other(format!("{} did not finish within {time:?}", program.display())));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
