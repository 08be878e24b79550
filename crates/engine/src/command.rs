//! The one way in and the one way out.

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use wire::sdk::Message;

/// From a host to the session.
#[derive(Debug)]
pub enum Command {
    /// Start a turn, or queue one while a turn runs.
    Submit(Prompt),
    /// End the running turn; keeps what was produced.
    Interrupt,
    /// A `control_request` line: its id and its `request` object. Always answered by one `Event::Control`.
    Control { request_id: String, request: Box<RawValue> },
    /// The `response` object of a `control_response` line: the host answers a question of the session. Answers to unknown
    /// or settled questions are ignored.
    Answer(Box<RawValue>),
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
}

/// From the session to the host.
#[derive(Debug)]
pub enum Event {
    Message(Message),
    /// A finished control line: an answer to the host, a question to it, or the withdrawal of one.
    Control(String),
    /// A warning for the person who started us; headless prints it on stderr.
    Notice(String),
    /// The session as a whole failed, although its turns did not.
    Fault(String),
}

pub type Commands = mpsc::Sender<Command>;
pub type Events = mpsc::Receiver<Event>;

pub(crate) const COMMAND_QUEUE: usize = 64;
pub(crate) const EVENT_QUEUE: usize = 256;
