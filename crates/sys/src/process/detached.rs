//! A program of the user's desktop, started on the user's behalf and then none of our business: it lives on when we end.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts `program` in a group of its own, without our streams and without our mark. The environment is complete.
#[expect(clippy::disallowed_methods, reason = "processes are started in this crate")]
pub fn detached(program: &Path, args: &[OsString], env: Vec<(OsString, OsString)>) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env).current_dir("/").process_group(0);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    // Only so that no zombie stays while we are still here.
    std::thread::spawn(move || child.wait());
    Ok(())
}
