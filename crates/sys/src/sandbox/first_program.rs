//! The first program inside a sandbox: opens the proxy's port, sends the listening socket out, and executes the
//! command. It is a hidden subcommand of the binary and reads only its arguments.

use super::{PROXY_PORT, listener_socket};
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

/// The hidden first argument: `__cage <descriptor> <program> <argument>…`.
pub const ARGUMENT: &str = "__cage";

pub fn run(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let fd = args.next().and_then(|word| word.to_str()?.parse::<i32>().ok()).filter(|fd| *fd > 2);
    let (Some(fd), Some(program)) = (fd, args.next()) else { return ExitCode::from(125) };
    // SAFETY: whoever started us passed this descriptor for us alone.
    let door = unsafe { OwnedFd::from_raw_fd(fd) };
    if let Err(error) = open_port(&door) {
        complain(&format!("the sandbox has no network: {error}"));
    }
    drop(door);
    let error = become_program(&program, args);
    complain(&format!("{}: {error}", program.display()));
    ExitCode::from(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}

fn open_port(door: &OwnedFd) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
    listener_socket::send_listener(door.as_fd(), &listener)
}

#[expect(clippy::disallowed_methods, reason = "nothing is spawned: this process becomes the command")]
fn become_program(program: &OsString, args: impl Iterator<Item = OsString>) -> io::Error {
    std::process::Command::new(program).args(args).exec()
}

fn complain(text: &str) {
    io::stderr().write_all(format!("gimlet: {text}\n").as_bytes()).ok();
}
