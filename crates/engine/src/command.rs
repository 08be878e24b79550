//! The one way in and the one way out.

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use wire::control::{ControlResponse, HostQuestion, HostReply, HostRequest};
use wire::sdk::SdkMessage;

/// From a host to the session.
#[derive(Debug)]
pub enum Command {
    /// Start a turn, or queue one while a turn runs.
    Submit(Prompt),
    /// End the running turn; keeps what was produced.
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

/// One prompt as submitted.
#[derive(Debug)]
pub struct Prompt {
    /// JSON string or block array, in the form the host sent it.
    pub content: Box<RawValue>,
    /// Chosen by the host, else generated.
    pub uuid: Option<String>,
    /// Only append to the transcript; the next querying prompt carries it.
    pub query: bool,
    pub priority: PromptPriority,
    /// Delivered as it is: no commands, no file mentions.
    pub verbatim: bool,
    /// The host says that a person wrote it.
    pub by_human: bool,
    /// A command to run, not a prompt. Only a host whose person typed it may say so: nobody is asked.
    pub shell: Option<ShellOutputUse>,
    /// It may be told to the model in the middle of the running turn, after the calls under way.
    pub mid_turn: Option<TurnJoin>,
}

/// What a message that joins a turn carries besides its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnJoin {
    /// The numbers of its images, as the person saw them.
    pub image_paste_ids: Vec<u64>,
}

/// What becomes of the output of a command that a person typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellOutputUse {
    /// The model answers to it.
    Answered,
    /// It goes along with the next prompt.
    Recorded,
}

impl Prompt {
    /// A prompt like any other.
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

/// A prompt's place among those that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromptPriority {
    /// Before all others; the running turn ends for it.
    Now,
    #[default]
    Next,
    /// Behind all others.
    Later,
}

/// From the session to the host.
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
    /// So many prompts were taken back before their turn: no result comes for them.
    Dropped(usize),
    /// A warning for the person who started us; headless prints it on stderr.
    Notice(String),
    /// Only for hosts with a screen; the others ignore most of it.
    Aside(ScreenEvent),
    /// The session as a whole failed, although its turns did not.
    Fault(String),
    /// The session cannot start the way the host wants it; nothing else follows.
    Refused(crate::options::StartError),
}

/// What hooks want a person to see at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenEvent {
    /// A hook runs, in its own words.
    Doing {
        id: String,
        text: String,
    },
    Done {
        id: String,
    },
    /// The next text of the model is shown like this.
    Display(String),
    /// A sequence for the terminal, not checked yet.
    Sequence(String),
    /// Why nothing happens for a while; headless prints it where stderr is a terminal.
    Waiting(String),
}

pub type CommandSender = mpsc::Sender<Command>;

/// What the session says. Answers to control requests have a lane of their own and overtake the rest, so that a host that
/// reads slowly does not wait for them behind its stream.
#[derive(Debug)]
pub struct EventReceiver {
    replies: mpsc::Receiver<Event>,
    stream: mpsc::Receiver<Event>,
}

impl EventReceiver {
    /// The next event; `None` once the session is over and everything was taken.
    pub async fn recv(&mut self) -> Option<Event> {
        tokio::select! {
            biased;
            Some(event) = self.replies.recv() => Some(event),
            event = self.stream.recv() => event.or_else(|| self.replies.try_recv().ok()),
        }
    }

    /// What is there now.
    pub fn try_recv(&mut self) -> Option<Event> {
        self.replies.try_recv().or_else(|_| self.stream.try_recv()).ok()
    }

    /// The session is over; what it said may still be here.
    pub fn is_closed(&self) -> bool {
        self.stream.is_closed()
    }
}

/// The session's ends of the two lanes.
#[derive(Clone, Debug)]
pub(crate) struct EventSenders {
    pub replies: mpsc::Sender<Event>,
    pub stream: mpsc::Sender<Event>,
}

pub(crate) fn event_channel() -> (EventSenders, EventReceiver) {
    let (reply_sender, replies) = mpsc::channel(REPLY_QUEUE);
    let (stream_sender, stream) = mpsc::channel(EVENT_QUEUE);
    (EventSenders { replies: reply_sender, stream: stream_sender }, EventReceiver { replies, stream })
}

pub(crate) const COMMAND_QUEUE: usize = 64;
const EVENT_QUEUE: usize = 256;
/// More requests than a host has open at once.
const REPLY_QUEUE: usize = 1024;
