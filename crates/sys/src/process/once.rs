//! Runs a small program to its end, with limits on time and output, while the caller waits. For commands of the system
//! and of the administrator; programs of the user go through `spawn`.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What to run. The child gets exactly `env`; nothing is inherited.
#[derive(Debug)]
pub struct BoundedCommand<'a> {
    pub program: &'a Path,
    pub args: &'a [&'a str],
    /// Sent to standard input, where it is not visible in process lists.
    pub input: &'a [u8],
    pub env: Vec<(OsString, OsString)>,
    pub time: Duration,
    /// The largest output in bytes; more is an error.
    pub bytes: u64,
}

impl BoundedCommand<'_> {
    /// Returns the standard output. Any exit code but 0 is an error with the reason.
    #[expect(clippy::disallowed_methods, reason = "processes are started in this crate")]
    pub fn run(&self) -> io::Result<Vec<u8>> {
        let mut command = Command::new(self.program);
        command.args(self.args).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = start(&mut command)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input may still succeed.
            stdin.write_all(self.input).ok();
        }
        let output = reader(child.stdout.take(), self.bytes + 1);
        let complaint = reader(child.stderr.take(), 4096);
        let status = wait(&mut child, self.time);
        let (output, complaint) = (joined(output), joined(complaint));
        let name = self.program.display();
        let Some(status) = status? else {
            return Err(io::Error::other(format!("{name} did not finish within {:?}", self.time)));
        };
        // Checked first: a program with too much output may also have failed.
        if output.len() as u64 > self.bytes {
            return Err(io::Error::other(format!("{name} printed more than {} bytes", self.bytes)));
        }
        if !status.success() {
            let why = String::from_utf8_lossy(&complaint);
            return Err(io::Error::other(format!("{name} failed ({status}): {}", why.trim())));
        }
        Ok(output)
    }
}

/// Tries again while the program file is busy: a child forked by another thread may hold it open for writing.
fn start(command: &mut Command) -> io::Result<Child> {
    for _ in 0..20 {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(5));
            }
            started => return started,
        }
    }
    command.spawn()
}

type ReaderThread = std::thread::JoinHandle<Vec<u8>>;

fn reader(stream: Option<impl Read + Send + 'static>, limit: u64) -> Option<ReaderThread> {
    let stream = stream?;
    Some(std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut head = stream.take(limit);
        // After a read error the bytes read so far are used.
        head.read_to_end(&mut bytes).ok();
        io::copy(head.get_mut(), &mut io::sink()).ok();
        bytes
    }))
}

fn joined(reading: Option<ReaderThread>) -> Vec<u8> {
    reading.and_then(|reading| reading.join().ok()).unwrap_or_default()
}

/// Returns `None` after a timeout; the child was killed then.
fn wait(child: &mut Child, time: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    let deadline = Instant::now() + time;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: &[u8], time: Duration) -> io::Result<Vec<u8>> {
        let args = ["-c", script];
        BoundedCommand { program: Path::new("/bin/sh"), args: &args, input, env: Vec::new(), time, bytes: 1000 }.run()
    }

    #[test]
    fn the_answer_or_the_reason() {
        let minute = Duration::from_mins(1);
        assert_eq!(sh("cat; echo end", b"in ", minute).unwrap(), b"in end\n");
        let error = |script, time| sh(script, b"", time).unwrap_err().to_string();
        assert!(error("echo why >&2; exit 3", minute).contains("why"));
        assert!(error("exec sleep 1000", Duration::from_millis(50)).contains("did not finish"));
        assert!(
            error("while :; do echo yyyyyyyyyyyyyyy; i=$((i+1)); [ $i -gt 100 ] && exit 0; done", minute)
                .contains("printed more")
        );
    }
}
