//! A child process that exchanges lines of JSON. `sys::process` starts it, so its whole process tree ends with this
//! value or with the process. A ring buffer keeps the first and the last bytes of its stderr; lines on stdout that
//! are not messages are skipped, whatever their length.

use super::{MAX_MESSAGE, SendError};
use crate::last_words::LastWords;
use crate::owner::McpOwner;
use crate::settings::McpSettings;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;
use sys::process::{ChildInput, ChildOutput, ChildProcess, SpawnSpec, TerminalAccess};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use wire::mcp::StdioConfig as Command;

/// Most messages that wait for a server that does not read.
const QUEUE: usize = 64;
/// Time to wait after closing its input, and after SIGTERM.
const EOF_GRACE: Duration = Duration::from_millis(400);
const TERM_GRACE: Duration = Duration::from_millis(600);
/// Time to wait for the exit status after the server's output has ended.
const EXIT_WAIT: Duration = Duration::from_millis(500);

pub(crate) struct StdioTransport {
    child: ChildProcess,
    reader: BufReader<pipe::Receiver>,
    /// The line being read; kept here because reading may be cancelled in the middle.
    line: Vec<u8>,
    is_too_long: bool,
    is_ended: bool,
    sender: mpsc::Sender<Vec<u8>>,
    last_words: Arc<LastWords>,
    _pipes: JoinSet<()>,
}

/// Starts the server.
pub(crate) fn open(
    command: &Command,
    settings: &McpSettings,
    owner: &Arc<dyn McpOwner>,
) -> Result<(StdioTransport, Arc<LastWords>), String> {
    let mut child = sys::process::spawn_in(spawn(command, settings), TerminalAccess::None)
        .map_err(|error| format!("cannot start `{}`: {error}", command.command))?;
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(format!("cannot reach the pipes of `{}`", command.command));
    };
    let last_words = Arc::new(LastWords::new(Arc::clone(owner)));
    let (sender, outgoing) = mpsc::channel(QUEUE);
    let mut pipes = JoinSet::new();
    pipes.spawn(write(stdin, outgoing));
    pipes.spawn(listen(stderr, Arc::clone(&last_words)));
    let stdio = StdioTransport {
        child,
        reader: BufReader::with_capacity(64 * 1024, stdout),
        line: Vec::new(),
        is_too_long: false,
        is_ended: false,
        sender,
        last_words: Arc::clone(&last_words),
        _pipes: pipes,
    };
    Ok((stdio, last_words))
}

fn spawn(command: &Command, settings: &McpSettings) -> SpawnSpec {
    let own = [
        ("CLAUDECODE", OsString::from("1")),
        ("CLAUDE_PROJECT_DIR", settings.cwd.clone().into_os_string()),
        ("CLAUDE_CODE_SESSION_ID", OsString::from(&settings.session_id)),
    ];
    let env = settings.child_env.with(own).with(&command.env);
    let (program, args) = match settings.env.non_empty("CLAUDE_CODE_SHELL_PREFIX") {
        Some(prefix) => (OsString::from(prefix), vec![OsString::from(shell_line(command))]),
        None => (OsString::from(&command.command), command.args.iter().map(OsString::from).collect()),
    };
    SpawnSpec {
        program,
        args,
        env: env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        cwd: settings.cwd.clone(),
        stdin: ChildInput::Pipe,
        output: ChildOutput::Split,
    }
}

/// A shell command line that gives the same words.
fn shell_line(command: &Command) -> String {
    let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    std::iter::once(&command.command).chain(&command.args).map(quoted).collect::<Vec<_>>().join(" ")
}

async fn write(mut stdin: tokio::process::ChildStdin, mut outgoing: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = outgoing.recv().await {
        if let Err(error) = stdin.write_all(&line).await {
            tracing::debug!(%error, "an MCP server does not read any more");
            return;
        }
    }
}

async fn listen(mut stderr: pipe::Receiver, last_words: Arc<LastWords>) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        last_words.stderr.lock().push(&buffer[..count]);
    }
}

impl StdioTransport {
    /// The next line within the length limit; `None` at the end. Cancel-safe.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let available = match self.reader.fill_buf().await {
                Ok([]) | Err(_) => return None,
                Ok(available) => available,
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = &available[..end.unwrap_or(available.len())];
            if self.line.len() + taken.len() > MAX_MESSAGE {
                self.is_too_long = true;
                self.line = Vec::new();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(taken);
            }
            let used = taken.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                if !std::mem::take(&mut self.is_too_long) {
                    return Some(line);
                }
                tracing::warn!("an MCP server sent a line of more than {MAX_MESSAGE} bytes; it is skipped");
            }
        }
    }

    async fn record_exit(&mut self) {
        if let Ok(Ok(exit)) = tokio::time::timeout(EXIT_WAIT, self.child.wait()).await {
            *self.last_words.exit.lock() = Some(exit);
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = SendError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        let line = serde_json::to_vec(&item).map(|mut line| {
            line.push(b'\n');
            line
        });
        let sender = self.sender.clone();
        async move { sender.send(line?).await.map_err(|_| SendError::Closed) }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while !self.is_ended {
            let Some(line) = self.next_line().await else {
                self.is_ended = true;
                self.record_exit().await;
                break;
            };
            // Most lines that are not messages do not even begin with a brace.
            if line.trim_ascii_start().first() != Some(&b'{') {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "a line of an MCP server is no message; it is skipped"),
            }
        }
        None
    }

    async fn close(&mut self) -> Result<(), SendError> {
        // Without a sender the writer ends and closes the server's input.
        self.sender = mpsc::channel(1).0;
        if tokio::time::timeout(EOF_GRACE, self.child.wait()).await.is_err() {
            self.child.stop(TERM_GRACE).await.ok();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words_behind_a_prefix() {
        let command = Command { command: "my server".into(), args: vec!["it's".into()], ..Command::default() };
        assert_eq!(shell_line(&command), r"'my server' 'it'\''s'");
    }
}
