//! The prompt of a text run: the argument, the piped input, or both. Input is never read from a terminal. With an
//! argument, the wait for a silent pipe is limited.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::time::Duration;

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
    let piped = match read_piped(stdin, argument_has_text.then_some(FIRST_BYTE_TIMEOUT)) {
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

/// Reads to the end on a separate thread. `patience` limits the wait for the first byte only; `None` means no limit.
fn read_piped(mut source: impl Read + Send + 'static, patience: Option<Duration>) -> io::Result<PipedInput> {
    let (sender, chunks) = mpsc::sync_channel::<io::Result<Vec<u8>>>(4);
    std::thread::spawn(move || {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            let read = source.read(&mut chunk).map(|count| chunk[..count].to_vec());
            let ended = !matches!(&read, Ok(bytes) if !bytes.is_empty());
            if sender.send(read).is_err() || ended {
                return;
            }
        }
    });
    let mut next = match patience {
        Some(limit) => match chunks.recv_timeout(limit) {
            Ok(first) => Ok(first),
            Err(mpsc::RecvTimeoutError::Timeout) => return Ok(PipedInput::Silent),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(mpsc::RecvError),
        },
        None => chunks.recv(),
    };
    let mut bytes = Vec::new();
    while let Ok(chunk) = next {
        let chunk = chunk?;
        if chunk.is_empty() {
            break;
        }
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LIMIT {
            return Ok(PipedInput::TooLarge);
        }
        next = chunks.recv();
    }
    Ok(PipedInput::Text(String::from_utf8_lossy(&bytes).into_owned()))
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
        assert_eq!(text(read_piped(io::repeat(b'x').take(LIMIT as u64), None).unwrap()), Some(LIMIT));
        assert!(matches!(read_piped(io::repeat(b'x'), None).unwrap(), PipedInput::TooLarge)); // [CLI-4]
    }

    #[test]
    fn a_silent_pipe_is_given_up_only_with_patience() {
        let (reader, writer) = io::pipe().unwrap();
        assert!(matches!(read_piped(reader, Some(Duration::from_millis(5))).unwrap(), PipedInput::Silent));
        drop(writer);
    }
}
