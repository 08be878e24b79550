//! Questions to the host, of every kind. Each ends in exactly one way: the host's answer, its error, a withdrawal when
//! whoever asked is cancelled, or the end of input. There is no timeout here. The line goes out on the host's stream, behind
//! what it is about; a host that does not read holds up the one who asks and nobody else. Late, doubled and made-up answers
//! are ignored.

use crate::command::Event;
use crate::host::Host;
use crate::session::StateFrames;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::registry::LiveRecord;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use wire::control::{Answer, ControlCancel, ControlRequest};
use wire::sdk::SystemBody;

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matter {
    /// `can_use_tool`
    Permission,
    /// `elicitation`
    Elicitation,
    /// `request_user_dialog`
    Dialog,
    /// `hook_callback`, `mcp_message`: a program answers, nobody has to act.
    Program,
}

impl Matter {
    /// What a person has to answer, as other processes are told.
    fn of_person(self) -> Option<&'static str> {
        match self {
            Self::Permission => Some("permission"),
            Self::Elicitation => Some("elicitation"),
            Self::Dialog => Some("dialog"),
            Self::Program => None,
        }
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unanswered {
    /// No more input comes.
    #[error("Stream closed")]
    Closed,
    /// Whoever asked was cancelled.
    #[error("the question was withdrawn")]
    Withdrawn,
    /// What the host said instead.
    #[error("{0}")]
    Refused(String),
}

/// The `response.response` of the host, or why there is none.
pub(crate) type Answered = Result<Box<RawValue>, Unanswered>;

/// Shared by everybody in a session who asks the host.
#[derive(Clone)]
pub(crate) struct Desk(Arc<Inner>);

struct Inner {
    host: Host,
    /// Whether the host wants to know that somebody has to act.
    frames: Option<StateFrames>,
    /// Where other processes see that somebody has to act.
    live: Option<Arc<LiveRecord>>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    waiting: BTreeMap<String, Waiting>,
    closed: bool,
    /// The host was told that somebody has to act.
    told: bool,
}

struct Waiting {
    matter: Matter,
    /// As it was sent.
    line: String,
    reply: oneshot::Sender<Answered>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("open", &self.lock().waiting.len()).finish_non_exhaustive()
    }
}

impl Desk {
    /// `host` is the main thread's.
    pub(crate) fn new(host: Host, frames: Option<StateFrames>) -> Self {
        Self(Arc::new(Inner { host, frames, live: None, open: Mutex::default() }))
    }

    /// Other processes see in `live` that a question is open.
    pub(crate) fn shown_in(self, live: Option<Arc<LiveRecord>>) -> Self {
        let Inner { host, frames, .. } = &*self.0;
        Self(Arc::new(Inner { host: host.clone(), frames: *frames, live, open: Mutex::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks; `request` is the object with its `subtype`. Dropping the future withdraws the question, as cancelling does.
    pub(crate) fn ask(
        &self,
        matter: Matter,
        request: impl Serialize,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Answered> {
        let id = sys::id::uuid();
        let line = wire::raw::to_line(&ControlRequest::new(&id, request)).map_err(|error| error.to_string());
        let desk = self.clone();
        Box::pin(async move {
            let line = line.map_err(Unanswered::Refused)?;
            desk.wait(id, line, matter, cancel).await
        })
    }

    async fn wait(self, id: String, line: String, matter: Matter, cancel: CancellationToken) -> Answered {
        if cancel.is_cancelled() {
            return Err(Unanswered::Withdrawn);
        }
        let mut ticket = self.register(id, &line, matter)?;
        self.tell_state().await;
        let sent = tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            () = self.0.host.event(Event::Control(line)) => true,
        };
        ticket.sent = sent;
        let answered = tokio::select! {
            biased;
            answered = &mut ticket.reply => answered.unwrap_or(Err(Unanswered::Closed)),
            () = cancel.cancelled() => Err(Unanswered::Withdrawn),
        };
        if let Some(withdrawal) = ticket.settle() {
            self.0.host.event(Event::Control(withdrawal)).await;
        }
        self.tell_state().await;
        answered
    }

    fn register(&self, id: String, line: &str, matter: Matter) -> Result<Ticket, Unanswered> {
        let (sender, reply) = oneshot::channel();
        let mut open = self.lock();
        if open.closed {
            return Err(Unanswered::Closed);
        }
        open.waiting.insert(id.clone(), Waiting { matter, line: line.to_owned(), reply: sender });
        Ok(Ticket { desk: self.clone(), id, reply, sent: false })
    }

    /// `requires_action` while a person has to act, `running` afterwards.
    async fn tell_state(&self) {
        let asked = {
            let mut open = self.lock();
            let asked = open.waiting.values().find_map(|waiting| waiting.matter.of_person());
            if std::mem::replace(&mut open.told, asked.is_some()) == asked.is_some() {
                return;
            }
            asked
        };
        if let Some(live) = &self.0.live {
            live.set_waiting(asked);
        }
        let Some(frames) = self.0.frames else { return };
        let state = if asked.is_some() { "requires_action" } else { "running" };
        let sdk_host_only = frames == StateFrames::SdkOnly;
        self.0.host.system(SystemBody::SessionStateChanged { state, sdk_host_only }).await;
    }

    /// The `response` object of a `control_response`.
    pub(crate) fn settle(&self, response: &RawValue) {
        let Ok(answer) = serde_json::from_str::<Answer<'_>>(response.get()) else { return };
        let said = match (answer.subtype.as_str(), answer.response) {
            ("success", Some(response)) => Ok(response.to_owned()),
            ("success", None) => Ok(empty()),
            (_, _) => Err(Unanswered::Refused(answer.error.unwrap_or_else(|| "the host reported an error".into()))),
        };
        let waiting = self.lock().waiting.remove(&answer.request_id);
        let Some(waiting) = waiting else {
            return tracing::debug!(id = answer.request_id, "an answer to no open question was ignored");
        };
        // Whoever no longer waits loses nothing.
        waiting.reply.send(said).ok();
    }

    /// No more input: nothing that waits will be answered, and nothing more is asked.
    pub(crate) fn close(&self) {
        let waiting = {
            let mut open = self.lock();
            open.closed = true;
            std::mem::take(&mut open.waiting)
        };
        for (_, waiting) in waiting {
            waiting.reply.send(Err(Unanswered::Closed)).ok();
        }
    }

    /// The questions of a kind that wait, whole, for a host that comes back.
    pub(crate) fn pending(&self, matter: Matter) -> Vec<Box<RawValue>> {
        let open = self.lock();
        let of_kind = open.waiting.values().filter(|waiting| waiting.matter == matter);
        of_kind.filter_map(|waiting| RawValue::from_string(waiting.line.clone()).ok()).collect()
    }

    /// A host took the place of the one that was asked: what only the old one knew is not answered any more.
    pub(crate) fn forget_programs(&self, why: &str) {
        let gone: Vec<Waiting> = {
            let mut open = self.lock();
            let ids: Vec<String> = open
                .waiting
                .iter()
                .filter(|(_, waiting)| waiting.matter == Matter::Program)
                .map(|(id, _)| id.clone())
                .collect();
            ids.iter().filter_map(|id| open.waiting.remove(id)).collect()
        };
        for waiting in gone {
            waiting.reply.send(Err(Unanswered::Refused(why.to_owned()))).ok();
        }
    }
}

/// An open question; withdrawn when it goes away unanswered.
struct Ticket {
    desk: Desk,
    id: String,
    reply: oneshot::Receiver<Answered>,
    sent: bool,
}

impl Ticket {
    /// The line that takes the question back, when it is still open and the host knows of it.
    fn settle(&mut self) -> Option<String> {
        let open = self.desk.lock().waiting.remove(&self.id).is_some();
        (open && self.sent).then(|| withdrawal(&self.id))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Without room the host merely keeps a question nobody needs answered.
        if let Some(line) = self.settle() {
            self.desk.0.host.try_event(Event::Control(line));
        }
    }
}

fn withdrawal(id: &str) -> String {
    wire::raw::to_line(&ControlCancel::new(id)).unwrap_or_default()
}

/// `{}`
fn empty() -> Box<RawValue> {
    RawValue::from_string("{}".into()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
