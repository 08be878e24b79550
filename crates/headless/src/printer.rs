//! Turns events into output. stream-json is written at once; text and JSON are written when the session is over,
//! because both print exactly one answer.

use crate::run::OutputFormat;
use crate::shrink;
use crate::startup;
use crate::stdio::{SAFE_WRITE_BYTES, StdoutWriter, print_to_stderr};
use crate::turns::TurnCounter;
use engine::{Command, CommandSender, Event, EventReceiver, ScreenEvent};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::mpsc;
use wire::block::BlockHead;
use wire::control::codec;
use wire::sdk::{AssistantMessage, SdkMessage, SystemBody, TurnResult};

/// Bytes after which a batch of lines is written. A batch and one more line of usual size still fit into
/// `SAFE_WRITE_BYTES`.
const BATCH: usize = 3072;
/// Shorter retry delays are not reported on stderr.
const MIN_REPORTED_WAIT_MS: u64 = 1_000;
/// Rounds without a new event after which a batch is written. A chunk passes two tasks, the connection and the
/// session, before it arrives here as an event.
const GATHER_ROUNDS: u32 = 3;

/// How the session ended, as needed for the exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunOutcome {
    pub(crate) results: u64,
    pub(crate) last_is_error: bool,
    /// Something outside a turn failed.
    pub(crate) fault: bool,
    /// The reader of stdout has closed it or has stopped reading.
    pub(crate) reader_gone: bool,
}

pub(crate) struct EventPrinter {
    pub(crate) output: OutputFormat,
    verbose: bool,
    pub(crate) turns: Arc<TurnCounter>,
    pub(crate) commands: CommandSender,
    pub(crate) replies: mpsc::Receiver<String>,
    /// The session id used to report a refused start.
    session_id: String,
    stdout: StdoutWriter,
    outcome: RunOutcome,
    /// Every line, for `OutputFormat::JsonArray`.
    lines: Vec<String>,
    last: Option<Box<TurnResult>>,
    partial: PartialReply,
}

impl EventPrinter {
    pub(crate) fn new(
        (output, verbose): (OutputFormat, bool),
        turns: Arc<TurnCounter>,
        commands: CommandSender,
        replies: mpsc::Receiver<String>,
        session_id: String,
    ) -> std::io::Result<Self> {
        let stdout = StdoutWriter::open()?;
        let (ended, lines, last, partial) = (RunOutcome::default(), Vec::new(), None, PartialReply::default());
        Ok(Self { output, verbose, turns, commands, replies, session_id, stdout, outcome: ended, lines, last, partial })
    }

    /// Runs until the session closes the event channel.
    pub(crate) async fn run(mut self, mut events: EventReceiver) -> RunOutcome {
        loop {
            let mut batch = String::with_capacity(self.batch_room());
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.handle_event(event, &mut batch),
                    None => break,
                },
                Some(reply) = self.replies.recv() => push_line(&mut batch, &reply),
            }
            self.gather(&mut events, &mut batch).await;
            self.write(batch, &events).await;
        }
        let mut last = String::new();
        while let Ok(reply) = self.replies.try_recv() {
            push_line(&mut last, &reply);
        }
        last.push_str(&self.answer());
        self.write(last, &events).await;
        self.outcome
    }

    /// Room for the next batch. Only stream-json fills batches.
    fn batch_room(&self) -> usize {
        if self.output == OutputFormat::StreamJson { SAFE_WRITE_BYTES } else { 0 }
    }

    /// Collects further events as long as the session produces them without a pause. One write then carries many
    /// events of a fast stream, and events of a slow stream are written without delay.
    async fn gather(&mut self, events: &mut EventReceiver, batch: &mut String) {
        let mut idle = if batch.is_empty() { GATHER_ROUNDS } else { 0 };
        while idle < GATHER_ROUNDS && batch.len() < BATCH {
            yield_to_ready_tasks().await;
            let before = batch.len();
            while batch.len() < BATCH
                && let Some(event) = events.try_recv()
            {
                self.handle_event(event, batch);
            }
            idle = if batch.len() == before { idle + 1 } else { 0 };
        }
    }

    fn handle_event(&mut self, event: Event, batch: &mut String) {
        let message = match event {
            Event::Ask { id, question } => return self.print_control(codec::question_line(&id, &question), batch),
            Event::AskWithdrawn { id } => return self.print_control(codec::withdrawal_line(&id), batch),
            Event::Response(response) => return self.print_control(codec::response_line(&response), batch),
            Event::Mirror(line) => return self.print_control(Ok(line), batch),
            Event::Aside(ScreenEvent::Waiting(text)) => {
                self.turns.wait();
                if std::io::stderr().is_terminal() {
                    print_to_stderr(&text);
                }
                return;
            }
            Event::Aside(ScreenEvent::ServerFailed(text)) => {
                if self.output == OutputFormat::Text {
                    print_to_stderr(&text);
                }
                return;
            }
            Event::Aside(_) => return,
            Event::Dropped(prompts) => {
                self.turns.withdraw(prompts);
                return;
            }
            Event::Notice(text) => {
                print_to_stderr(&text);
                return;
            }
            Event::Fault(text) => {
                print_to_stderr(&text);
                self.outcome.fault = true;
                return;
            }
            Event::Refused(error) => {
                self.outcome.fault = true;
                return self.refuse(&error, batch);
            }
            Event::Message(message) => message,
        };
        self.track_message(&message);
        match self.output {
            OutputFormat::StreamJson => {
                if let Some(line) = render(&message) {
                    push_line(batch, &shrink::fit(line));
                }
            }
            OutputFormat::JsonArray => self.lines.extend(render(&message)),
            OutputFormat::Text | OutputFormat::Json => {}
        }
        if let SdkMessage::Result(result) = message {
            self.last = Some(result);
        }
    }

    /// Lines beside the messages exist only in stream-json.
    fn print_control(&self, line: Result<String, serde_json::Error>, batch: &mut String) {
        match line {
            Ok(line) if self.output == OutputFormat::StreamJson => push_line(batch, &line),
            Ok(_) => {}
            Err(error) => tracing::error!(%error, "a control line could not be written"),
        }
    }

    /// As a session that could not be opened at all.
    fn refuse(&self, error: &engine::StartError, batch: &mut String) {
        let message = error.to_string();
        print_to_stderr(&message);
        if self.output == OutputFormat::StreamJson
            && let Some(line) = startup::line(&self.session_id, &message, error.failure.protocol_reason())
        {
            push_line(batch, &line);
        }
    }

    fn track_message(&mut self, message: &SdkMessage) {
        match message {
            SdkMessage::Init(_) => self.turns.open(),
            SdkMessage::Assistant(assistant) => self.partial.add_message(assistant),
            // A tool result starts a new message; the marker of an interrupt does not.
            SdkMessage::User(user) if user.tool_use_result.is_some() => self.partial.clear(),
            SdkMessage::Result(result) => {
                if self.verbose && self.output == OutputFormat::Text {
                    result.x_warnings.iter().for_each(|warning| print_to_stderr(warning));
                }
                self.turns.finish();
                self.outcome.results += 1;
                self.outcome.last_is_error = result.is_error;
            }
            SdkMessage::System(system) => {
                if let SystemBody::BackgroundTasksChanged { tasks } = &system.body {
                    self.turns.set_background(!tasks.is_empty());
                }
                self.report_retry(&system.body);
            }
            SdkMessage::User(_)
            | SdkMessage::StreamEvent(_)
            | SdkMessage::ToolProgress(_)
            | SdkMessage::RateLimit(_)
            | SdkMessage::Reset(_) => {}
        }
    }

    /// Prints the reason for a retry to a person who waits at a terminal. Hosts get the retry on the stream.
    fn report_retry(&self, body: &SystemBody) {
        let SystemBody::ApiRetry { attempt, max_retries, retry_delay_ms, reason, .. } = body else { return };
        let seconds = retry_delay_ms.div_ceil(1_000);
        if self.output == OutputFormat::StreamJson
            || *retry_delay_ms < MIN_REPORTED_WAIT_MS
            || !std::io::stderr().is_terminal()
        {
            return;
        }
        print_to_stderr(&format!(
            "Waiting {seconds} s for the API ({reason}), then retry {attempt} of {max_retries}. Ctrl+C stops."
        ));
    }

    /// The text that the text and JSON formats print at the end.
    fn answer(&mut self) -> String {
        let Some(mut result) = self.last.take() else { return String::new() };
        // There is no earlier result in these formats.
        result.model_usage_since_last_result = None;
        let interrupted = is_interrupted(&result);
        let mut out = String::new();
        match self.output {
            OutputFormat::StreamJson => {}
            OutputFormat::Json => push_line(&mut out, &render(&SdkMessage::Result(result)).unwrap_or_default()),
            OutputFormat::JsonArray => push_line(&mut out, &format!("[{}]", self.lines.join(","))),
            OutputFormat::Text => {
                push_line(&mut out, &text_of(&result, &self.partial));
                if let Some(errors) = result.errors.filter(|_| !self.partial.text.trim().is_empty() && interrupted) {
                    print_to_stderr(&format!("{}.", errors.join(". ").trim_end_matches('.')));
                }
            }
        }
        out
    }

    async fn write(&mut self, batch: String, events: &EventReceiver) {
        if batch.is_empty() || self.outcome.reader_gone || self.turns.is_muted() {
            return;
        }
        if let Err(error) = self.stdout.write(batch.into_bytes(), || events.is_closed()).await {
            self.outcome.reader_gone = true;
            // A reader that closed the pipe is no error; a file that cannot be written is.
            if error.kind() != std::io::ErrorKind::BrokenPipe {
                print_to_stderr(&format!("Error: the output could not be written to stdout: {error}"));
            }
            // Nobody reads any more, so the session stops. The command queue may be full, so a separate task sends
            // the command.
            let commands = self.commands.clone();
            tokio::spawn(async move { commands.send(Command::Shutdown).await.ok() });
        }
    }
}

/// Lets every ready task run first. Unlike `yield_now` it does not poll the I/O driver, which would cost more than
/// the write it saves.
async fn yield_to_ready_tasks() {
    let mut stepped = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut stepped, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

fn render(message: &SdkMessage) -> Option<String> {
    match message.to_line() {
        Ok(line) => Some(line),
        Err(error) => {
            tracing::error!(%error, "a message could not be serialised");
            None
        }
    }
}

/// The final answer in text format.
fn text_of(result: &TurnResult, partial: &PartialReply) -> String {
    if let Some(value) = &result.structured_output {
        return value.get().to_owned();
    }
    let reason = match (&result.result, &result.errors) {
        (Some(text), _) if !result.is_error => return text.clone(),
        (Some(text), _) => match text.strip_prefix(engine::NOT_LOGGED_IN) {
            Some(way_out) => format!("Error: {way_out}"),
            None => text.clone(),
        },
        (None, Some(errors)) if !errors.is_empty() => format!("Error: {}", errors.join("\n")),
        (None, _) => format!("Error: the turn ended early ({})", result.subtype),
    };
    // Servers wrote parts of it.
    let reason = reason.split('\n').map(engine::escape_invisible).collect::<Vec<_>>().join("\n");
    let interrupted = is_interrupted(result);
    match partial.text.trim() {
        "" => reason,
        text if interrupted => text.to_owned(),
        text => format!("{text}\n{reason}"),
    }
}

fn is_interrupted(result: &TurnResult) -> bool {
    result.terminal_reason.is_some_and(|reason| reason.starts_with("aborted"))
}

/// Text of the message under way: what is still worth printing when its turn dies. A new message replaces it.
#[derive(Debug, Default)]
struct PartialReply {
    id: String,
    text: String,
}

impl PartialReply {
    fn add_message(&mut self, assistant: &AssistantMessage) {
        let is_answer = !assistant.is_api_error_message && assistant.error.is_none();
        // What a command said is the result itself.
        let is_command = assistant.local_command_source.is_some();
        if !is_answer || is_command || assistant.parent_tool_use_id.is_some() {
            return;
        }
        let fields: MessageFields<'_> = serde_json::from_str(assistant.message.get()).unwrap_or_default();
        let id = fields.get("id").and_then(|id| serde_json::from_str(id.get()).ok()).unwrap_or_default();
        if self.id != id {
            self.id = id;
            self.text.clear();
        }
        for text in texts(&fields) {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(&text);
        }
    }

    fn clear(&mut self) {
        self.text.clear();
    }
}

type MessageFields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

fn texts(message: &MessageFields<'_>) -> Vec<String> {
    let content = message.get("content");
    let blocks: Vec<&RawValue> = content.and_then(|c| serde_json::from_str(c.get()).ok()).unwrap_or_default();
    let text = |b: &&RawValue| match BlockHead::read(b) {
        Some(BlockHead::Text(text)) => Some(text.into_owned()),
        Some(_) | None => None,
    };
    blocks.iter().filter_map(text).collect()
}
