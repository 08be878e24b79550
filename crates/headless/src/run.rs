//! One headless run, from prompt to exit code.

use crate::input::{BadLine, ReaderChannels, read_commands};
use crate::printer::{EventPrinter, RunOutcome};
use crate::prompt;
use crate::startup;
use crate::stdio::{print_to_stderr, reader_gone};
use crate::turns::TurnCounter;
use engine::{Command, CommandSender, Prompt, SessionChoice, StartRequest};
use std::sync::Arc;
use std::time::Duration;
use sys::signal::{Signal, Signals};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How long a session may take to shut down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1_700);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// The final answer only.
    Text,
    /// The result as one object.
    Json,
    /// Every message, as one array.
    JsonArray,
    /// One line per message, written at once.
    StreamJson,
}

#[derive(Debug)]
pub enum RunInput {
    /// One turn: the argument, joined with the piped input.
    Text { argument: Option<String> },
    /// Frames until the end of stdin; `first` is submitted before them.
    StreamJson { first: Option<String> },
}

#[derive(Debug)]
pub struct HeadlessJob {
    pub boot: StartRequest,
    pub input: RunInput,
    pub output: OutputFormat,
    /// `--verbose`: warnings of the result are also printed.
    pub verbose: bool,
    /// Added to the error message when there is no prompt: which option may have taken it as a value.
    pub missing_prompt_hint: Option<String>,
}

/// Runs `job` and returns the exit code. Must be called inside the runtime.
pub async fn run(job: HeadlessJob) -> u8 {
    let first = match first_prompt(&job) {
        Ok(first) => first,
        Err(message) => {
            print_to_stderr(&message);
            return 1;
        }
    };
    let session_id = announced_id(&job.boot.options.conversation.choice);
    let (commands, events) = match engine::open(job.boot).await {
        Ok(session) => session,
        Err(error) => {
            startup::report(job.output, &session_id, &error.to_string(), error.failure.protocol_reason());
            if matches!(job.input, RunInput::StreamJson { .. }) {
                startup::wait_for_host_line().await;
            }
            return 1;
        }
    };
    let turns = Arc::new(TurnCounter::default());
    let (reply_sender, replies) = mpsc::channel(16);
    let started = Signals::listen().and_then(|signals| {
        Ok((
            signals,
            EventPrinter::new(
                (job.output, job.verbose),
                Arc::clone(&turns),
                commands.clone(),
                replies,
                session_id.clone(),
            )?,
        ))
    });
    let (signals, printer) = match started {
        Ok(started) => started,
        Err(error) => {
            startup::report(
                job.output,
                &session_id,
                &format!("Error: could not set up stdout or signals: {error}"),
                None,
            );
            return 1;
        }
    };
    let printing = tokio::spawn(printer.run(events));
    if let Some(text) = first {
        turns.submit();
        submit(&commands, &text).await;
    }
    let (failed_sender, failed) = oneshot::channel();
    match job.input {
        RunInput::Text { .. } => {
            commands.send(Command::Close).await.ok();
            drop(reply_sender);
        }
        RunInput::StreamJson { .. } => {
            let side = ReaderChannels { turns: Arc::clone(&turns), replies: reply_sender, failed: failed_sender };
            let commands = commands.clone();
            std::thread::spawn(move || read_commands(std::io::stdin().lock(), &commands, side));
        }
    }
    let is_stream = job.output == OutputFormat::StreamJson;
    let is_one_turn = matches!(job.input, RunInput::Text { .. });
    RunWatcher { commands, turns, signals, interrupted: false, is_stream, is_one_turn }
        .until_done(printing, failed)
        .await
}

/// The prompt to submit before frames are read. The error is a message ready to print.
fn first_prompt(job: &HeadlessJob) -> Result<Option<String>, String> {
    if job.boot.options.configuration.init_only {
        return Ok(None);
    }
    match &job.input {
        RunInput::StreamJson { first } => Ok(first.clone().filter(|f| !f.trim().is_empty())),
        RunInput::Text { argument } => match prompt::gather(argument.as_deref(), print_to_stderr) {
            Ok(text) => Ok(Some(text)),
            // A tool call that an earlier run left pending needs no prompt.
            Err(prompt::PromptError::Missing) if engine::awaits_call(&job.boot) => Ok(Some(String::new())),
            Err(error) => Err(match &job.missing_prompt_hint {
                Some(hint) if error == prompt::PromptError::Missing => format!("{error}. {hint}"),
                Some(_) | None => error.to_string(),
            }),
        },
    }
}

async fn submit(commands: &CommandSender, text: &str) {
    if let Ok(content) = wire::raw::to_raw(text) {
        commands.send(Command::Submit(Prompt::new(content))).await.ok();
    }
}

/// The session id used to report a failure: the id the host asked for, or a new one.
fn announced_id(choice: &SessionChoice) -> String {
    let asked = match choice {
        SessionChoice::New { id } => id.clone(),
        SessionChoice::Continue { fork } => fork.as_ref().and_then(|f| f.id.clone()),
        SessionChoice::Resume { target, fork } => fork.as_ref().map_or_else(|| Some(target.clone()), |f| f.id.clone()),
    };
    asked.filter(|id| sys::id::is_uuid(id)).unwrap_or_else(sys::id::uuid)
}

/// Waits for the end of the session, a signal, a bad input line or the end of the stdout reader.
struct RunWatcher {
    commands: CommandSender,
    turns: Arc<TurnCounter>,
    signals: Signals,
    interrupted: bool,
    /// Output is stream-json; the run stops when nobody reads stdout any more.
    is_stream: bool,
    /// The session is never idle: it works on the one prompt, waits for what that left behind, or puts itself away.
    is_one_turn: bool,
}

impl RunWatcher {
    async fn until_done(mut self, mut printing: JoinHandle<RunOutcome>, mut failed: oneshot::Receiver<BadLine>) -> u8 {
        let mut input_open = true;
        let mut gone = std::pin::pin!(reader_gone());
        loop {
            tokio::select! {
                ended = &mut printing => return self.exit_code(ended.unwrap_or_default()),
                caught = self.signals.next() => {
                    let can_interrupt = self.is_one_turn || self.turns.is_interruptible();
                    if caught == Signal::Interrupt && !self.interrupted && can_interrupt {
                        self.interrupted = true;
                        self.commands.send(Command::Interrupt).await.ok();
                        continue;
                    }
                    if caught == Signal::Interrupt && !self.interrupted && self.turns.has_only_background() {
                        // The session stops what runs in the background and says so in a last result.
                        self.interrupted = true;
                        self.commands.send(Command::Close).await.ok();
                        self.commands.send(Command::Interrupt).await.ok();
                        continue;
                    }
                    return self.stop(printing, caught.exit_code()).await;
                }
                () = &mut gone, if self.is_stream => return self.stop(printing, 1).await,
                bad = &mut failed, if input_open => {
                    input_open = false;
                    if let Ok(bad) = bad {
                        print_to_stderr(&bad.to_string());
                        return self.stop(printing, 1).await;
                    }
                }
            }
        }
    }

    /// Stops all output to stdout and gives the session `SHUTDOWN_TIMEOUT` to flush and kill its children.
    async fn stop(self, printing: JoinHandle<RunOutcome>, code: u8) -> u8 {
        self.turns.mute();
        let closing = async {
            self.commands.send(Command::Shutdown).await.ok();
            printing.await.ok();
        };
        tokio::time::timeout(SHUTDOWN_TIMEOUT, closing).await.ok();
        code
    }

    fn exit_code(&self, ended: RunOutcome) -> u8 {
        let failed = ended.reader_gone || ended.last_is_error || ended.fault;
        // A session that was given a prompt and closed without a result has failed.
        u8::from(failed || self.turns.is_busy())
    }
}
