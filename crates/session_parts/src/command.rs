//! The two channels between a host and its session: commands in, events out.

use serde_json::value::RawValue;
use std::path::PathBuf;
use tokio::sync::mpsc;
use wire::control::{ControlResponse, HostQuestion, HostReply, HostRequest};
use wire::sdk::SdkMessage;

/// A message from a host to the session.
#[derive(Debug)]
pub enum Command {
    /// Starts a turn, or queues one while a turn runs.
    Submit(Prompt),
    /// Ends the running turn and keeps what it produced.
    Interrupt,
    /// A request of the host. Always answered by one `Event::Response` with the same id, unless the host withdraws it. When
    /// `initialize` is the first command, the session is built as it says.
    Request { id: String, request: HostRequest },
    /// The host answers a question of the session. Answers to unknown or answered questions are ignored.
    Reply(HostReply),
    /// The host no longer wants an answer to its request.
    Withdraw { id: String },
    /// No more input: finish queued turns, then close. Dropping the sender means the same.
    Close,
    /// Stop at once (SIGTERM, SIGHUP, host gone): kill calls, flush, no result.
    Shutdown,
}

/// A prompt as submitted.
#[derive(Debug)]
pub struct Prompt {
    /// JSON string or block array, in the form the host sent it.
    pub content: Box<RawValue>,
    /// Chosen by the host; generated when `None`.
    pub uuid: Option<String>,
    /// When false, the prompt is only appended to the transcript and sent together with the next querying prompt.
    pub query: bool,
    pub priority: PromptPriority,
    /// Sent as it is: no slash commands, no file mentions.
    pub verbatim: bool,
    /// The host states that a person wrote it.
    pub by_human: bool,
    /// The content is a shell command, not a prompt. Only a host whose person typed it may set this: no permission is
    /// asked for.
    pub shell: Option<ShellOutputUse>,
    /// When set, the prompt may join the running turn after its current calls.
    pub mid_turn: Option<TurnJoin>,
}

/// What a prompt that joins a turn carries besides its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnJoin {
    /// The numbers of its images as shown to the person.
    pub image_paste_ids: Vec<u64>,
}

/// What happens with the output of a shell command that a person typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellOutputUse {
    /// It is sent to the model, which answers.
    Answered,
    /// It is sent with the next prompt.
    Recorded,
}

impl Prompt {
    /// A prompt with default settings.
    pub fn new(content: Box<RawValue>) -> Self {
        Self {
            content,
            uuid: None,
            query: true,
            priority: PromptPriority::Next,
            verbatim: false,
            by_human: false,
            shell: None,
            mid_turn: None,
        }
    }
}

/// The position of a prompt in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromptPriority {
    /// Before all others; the running turn ends for it.
    Now,
    #[default]
    Next,
    /// Behind all others.
    Later,
}

/// A message from the session to the host.
#[derive(Debug)]
pub enum Event {
    Message(SdkMessage),
    /// A question to the host. It waits for a `Command::Reply` with the same id.
    Ask {
        id: String,
        question: HostQuestion,
    },
    /// The session no longer waits for an answer to this question.
    AskWithdrawn {
        id: String,
    },
    /// The answer to a request of the host.
    Response(ControlResponse),
    /// A finished line that repeats what was written to the transcript.
    Mirror(String),
    /// This many prompts were withdrawn before their turn: they get no result.
    Dropped(usize),
    /// A warning for the person who started the program; headless prints it on stderr.
    Notice(String),
    /// Only for hosts with a screen; others ignore most of these.
    Aside(ScreenEvent),
    /// The session as a whole failed, although its turns did not.
    Fault(String),
    /// The session cannot start as the host requested; no other event follows.
    Refused(crate::start_error::StartError),
}

/// The id in `ScreenEvent::CallOutput` of the shell command that the person typed.
pub const OWN_COMMAND: &str = "shell";

/// What a host with a screen shows at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenEvent {
    /// A hook is running; `text` is its status message.
    Doing {
        id: String,
        text: String,
    },
    Done {
        id: String,
    },
    /// A call begins to run; before, it waited for others or for an answer.
    CallStarted {
        id: String,
    },
    /// The end of what a running command has printed so far, as it was printed.
    CallOutput {
        id: String,
        output: String,
    },
    /// The text shown in place of the next text of the model.
    Display(String),
    /// An escape sequence for the terminal, not validated yet.
    Sequence(String),
    /// Why the session is waiting; headless prints it when stderr is a terminal.
    Waiting(String),
    /// The session works in this worktree.
    Worktree(PathBuf),
    /// An MCP server cannot be used; headless prints it where the output does not carry the state of servers.
    ServerFailed(String),
}

pub type CommandSender = mpsc::Sender<Command>;

/// Receives the events of a session. Replies to control requests have a separate channel and overtake other events,
/// so that a host that reads slowly does not wait for them behind its stream.
#[derive(Debug)]
pub struct EventReceiver {
    replies: mpsc::Receiver<Event>,
    stream: mpsc::Receiver<Event>,
}

impl EventReceiver {
    /// The next event; `None` when the session has ended and all events were received.
    pub async fn recv(&mut self) -> Option<Event> {
        tokio::select! {
            biased;
            Some(event) = self.replies.recv() => Some(event),
            event = self.stream.recv() => event.or_else(|| self.replies.try_recv().ok()),
        }
    }

    /// The next event if one is available now.
    pub fn try_recv(&mut self) -> Option<Event> {
        self.replies.try_recv().or_else(|_| self.stream.try_recv()).ok()
    }

    /// Whether the session has ended; events may still be queued here.
    pub fn is_closed(&self) -> bool {
        self.stream.is_closed()
    }
}

/// The session's senders of the two channels.
#[derive(Clone, Debug)]
pub struct EventSenders {
    pub replies: mpsc::Sender<Event>,
    pub stream: mpsc::Sender<Event>,
}

pub fn event_channel() -> (EventSenders, EventReceiver) {
    let (reply_sender, replies) = mpsc::channel(REPLY_QUEUE);
    let (stream_sender, stream) = mpsc::channel(EVENT_QUEUE);
    (EventSenders { replies: reply_sender, stream: stream_sender }, EventReceiver { replies, stream })
}

pub const COMMAND_QUEUE: usize = 64;
const EVENT_QUEUE: usize = 256;
/// Large enough for all requests a host has open at once.
const REPLY_QUEUE: usize = 1024;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRefusal {
    pub error: String,
    /// A machine-readable code; `None` for most refusals.
    pub code: Option<&'static str>,
}

impl RequestRefusal {
    pub fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), code: None }
    }
}
