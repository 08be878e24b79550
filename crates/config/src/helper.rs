//! Runs the user's `apiKeyHelper`. It must print one token of printable characters; anything else is an error.

use std::path::Path;
use std::time::Duration;
use sys::Env;
use sys::process::{self, ChildInput, ChildOutput, SpawnSpec};
use tokio::io::AsyncReadExt;

/// In bytes: the longest key a helper may print.
const MAX_KEY: usize = 16_384;
const MAX_STDERR: u64 = 4096;
const TIMEOUT: Duration = Duration::from_mins(1);

/// Why the helper returned no key. The message begins with the text that users and tools expect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelperError {
    #[error("Your apiKeyHelper script is failing: it could not be started ({0})")]
    Start(String),
    #[error("Your apiKeyHelper script is failing: exit code {code}{}", stderr_suffix(.stderr))]
    Exit { code: i32, stderr: String },
    #[error("Your apiKeyHelper script is failing: it did not finish within {0} s")]
    Timeout(u64),
    #[error("Your apiKeyHelper script is failing: it printed nothing on standard output")]
    Empty,
    #[error("Your apiKeyHelper script is failing: it must print one line of printable ASCII, at most 16384 characters")]
    Malformed,
}

fn stderr_suffix(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}

/// Runs `command` with `/bin/sh` in `cwd` and returns the key it prints.
pub async fn run_helper(command: &str, env: &Env, cwd: &Path) -> Result<String, HelperError> {
    tokio::time::timeout(TIMEOUT, run(command, env, cwd)).await.unwrap_or(Err(HelperError::Timeout(TIMEOUT.as_secs())))
}

async fn run(command: &str, env: &Env, cwd: &Path) -> Result<String, HelperError> {
    let start = |error: std::io::Error| HelperError::Start(error.to_string());
    let mut child = process::spawn(SpawnSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        env: env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        cwd: cwd.to_path_buf(),
        stdin: ChildInput::Null,
        output: ChildOutput::Split,
    })
    .map_err(start)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (key, complaint) = tokio::join!(read_bounded(stdout, MAX_KEY as u64 + 2), read_bounded(stderr, MAX_STDERR));
    let exit = child.wait().await.map_err(start)?;
    if exit.code != Some(0) {
        let code = exit.code.unwrap_or_else(|| 128 + exit.signal.unwrap_or(0));
        return Err(HelperError::Exit { code, stderr: String::from_utf8_lossy(&complaint).trim().to_owned() });
    }
    check_key(&key)
}

async fn read_bounded(stream: Option<tokio::net::unix::pipe::Receiver>, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some(stream) = stream else { return bytes };
    let mut head = stream.take(limit);
    // After a read error the bytes read so far are used.
    head.read_to_end(&mut bytes).await.ok();
    tokio::io::copy(head.get_mut(), &mut tokio::io::sink()).await.ok();
    bytes
}

fn check_key(output: &[u8]) -> Result<String, HelperError> {
    let text = str::from_utf8(output).map_err(|_| HelperError::Malformed)?.trim();
    if text.is_empty() {
        return Err(HelperError::Empty);
    }
    let printable = text.bytes().all(|b| b.is_ascii_graphic());
    if !printable || text.len() > MAX_KEY {
        return Err(HelperError::Malformed);
    }
    Ok(text.to_owned())
}

#[cfg(test)]
#[path = "helper_tests.rs"]
mod tests;
