//! The prompt of a text run: the argument, the piped input, or both. Input is never read from a terminal. With an
//! argument, the wait for a silent pipe is limited.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Longest piped input, in bytes; longer input is refused.
pub(crate) const LIMIT: usize = 10 * 1024 * 1024;
/// With a prompt argument, how long to wait for the first byte on stdin.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug, PartialEq, Eq)]
pub enum PromptError {
    TooLarge,
    OnlyWhitespace,
    Missing,
}

impl std::fmt::Display for PromptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooLarge => {
                "Error: Input piped through stdin is larger than 10 MB. Save it to a file and name the file in the prompt"
            }
            Self::OnlyWhitespace => {
                "Error: Input contained only whitespace. Provide a prompt with text through stdin or as a prompt \
                 argument when using --print"
            }
            Self::Missing => {
                "Error: Input must be provided either through stdin or as a prompt argument when using --print"
            }
        })
    }
}

/// Returns the whole prompt. Warnings go through `warn`.
pub(crate) fn gather(argument: Option<&str>, mut warn: impl FnMut(&str)) -> Result<String, PromptError> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return join(argument, "");
    }
    let argument_has_text = argument.is_some_and(|a| !a.trim().is_empty());
    let piped = match read_piped(&mut stdin.lock(), argument_has_text.then_some(FIRST_BYTE_TIMEOUT)) {
        Ok(PipedInput::Text(text)) => text,
        Ok(PipedInput::TooLarge) => return Err(PromptError::TooLarge),
        Ok(PipedInput::Silent) => {
            warn(
                "Warning: nothing came through stdin within 3 seconds; going on with the prompt argument alone. \
                  Add < /dev/null to skip the wait",
            );
            String::new()
        }
        Err(error) => {
            warn(&format!("Warning: stdin could not be read ({error}); going on with the prompt argument alone"));
            String::new()
        }
    };
    join(argument, &piped)
}

enum PipedInput {
    Text(String),
    TooLarge,
    /// No byte arrived within the time limit.
    Silent,
}

/// Reads to the end. `patience` limits the wait for the first byte only; `None` means no limit.
fn read_piped(source: &mut (impl Read + AsFd), patience: Option<Duration>) -> io::Result<PipedInput> {
    match patience {
        Some(limit) if !has_input_within(source.as_fd(), limit)? => Ok(PipedInput::Silent),
        Some(_) | None => read_limited(source),
    }
}

fn read_limited(source: &mut impl Read) -> io::Result<PipedInput> {
    let mut bytes = Vec::new();
    let count = source.take(LIMIT as u64 + 1).read_to_end(&mut bytes)?;
    if count > LIMIT {
        return Ok(PipedInput::TooLarge);
    }
    Ok(PipedInput::Text(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Waits until a read would not block: there is a byte, the end, or an error.
fn has_input_within(fd: BorrowedFd<'_>, limit: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: i64::from(rest.subsec_nanos()) };
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn join(argument: Option<&str>, piped: &str) -> Result<String, PromptError> {
    let argument = argument.unwrap_or_default();
    match (argument.trim().is_empty(), piped.trim().is_empty()) {
        (false, false) => Ok(format!("{argument}\n{piped}")),
        (false, true) => Ok(argument.to_owned()),
        (true, false) => Ok(piped.to_owned()),
        (true, true) if argument.is_empty() && piped.is_empty() => Err(PromptError::Missing),
        (true, true) => Err(PromptError::OnlyWhitespace),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_and_pipe_are_joined() {
        assert_eq!(join(Some("q"), "text\n").unwrap(), "q\ntext\n"); // [CLI-3]
        assert_eq!(join(Some("q"), " \n").unwrap(), "q");
        assert_eq!(join(None, "text").unwrap(), "text");
        assert_eq!(join(Some("  "), ""), Err(PromptError::OnlyWhitespace)); // [CLI-5]
        assert_eq!(join(None, "\n"), Err(PromptError::OnlyWhitespace));
        assert_eq!(join(None, ""), Err(PromptError::Missing)); // [CLI-6]
    }

    #[test]
    fn a_pipe_is_read_whole_up_to_the_limit() {
        let text = |piped| match piped {
            PipedInput::Text(text) => Some(text.len()),
            PipedInput::TooLarge | PipedInput::Silent => None,
        };
        assert_eq!(text(read_limited(&mut io::repeat(b'x').take(LIMIT as u64)).unwrap()), Some(LIMIT));
        assert!(matches!(read_limited(&mut io::repeat(b'x')).unwrap(), PipedInput::TooLarge)); // [CLI-4]
    }

    #[test]
    fn a_silent_pipe_is_given_up_only_with_patience() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        assert!(matches!(read_piped(&mut reader, Some(Duration::from_millis(5))).unwrap(), PipedInput::Silent));
        io::Write::write_all(&mut writer, b"late").unwrap();
        drop(writer);
        let text = read_piped(&mut reader, Some(Duration::from_mins(1))).unwrap();
        assert!(matches!(text, PipedInput::Text(text) if text == "late"));
    }
}
