//! Questions to the host, of every kind. Each ends in exactly one way: the host's answer, its error, a withdrawal
//! when the asker is cancelled, or the end of input. There is no timeout. The question is sent on the event stream,
//! after the messages it is about; a host that does not read delays only the asker. Late, repeated and unknown
//! answers are ignored.

use crate::command::Event;
use crate::host::HostSender;
use crate::host::StateFrames;
use futures_util::future::BoxFuture;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::live_sessions::LiveRecord;
use sys::sync::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use wire::control::{HostQuestion, HostReply, codec};
use wire::sdk::SystemBody;

/// The kind of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// `can_use_tool`
    Permission,
    /// `elicitation`
    Elicitation,
    /// `request_user_dialog`
    Dialog,
    /// `hook_callback`, `mcp_message`: a program answers, no person has to act.
    Program,
}

impl QuestionKind {
    pub fn of(question: &HostQuestion) -> Self {
        match question {
            HostQuestion::CanUseTool(_) => Self::Permission,
            HostQuestion::Elicitation(_) => Self::Elicitation,
            HostQuestion::HookCallback(_) | HostQuestion::McpMessage(_) | HostQuestion::Unknown(_) => Self::Program,
        }
    }

    /// What a person has to answer, as other processes see it.
    fn person_action(self) -> Option<&'static str> {
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
pub enum QuestionFailure {
    /// The input has ended.
    #[error("Stream closed")]
    Closed,
    /// The asker was cancelled.
    #[error("the question was withdrawn")]
    Withdrawn,
    /// The host returned an error.
    #[error("{0}")]
    Refused(String),
}

/// The `response.response` of the host, or why there is none.
pub type HostAnswer = Result<Box<RawValue>, QuestionFailure>;

/// Shared by all parts of a session that ask the host.
#[derive(Clone)]
pub struct HostQuestions(Arc<HostQuestionsInner>);

struct HostQuestionsInner {
    host: HostSender,
    /// Whether the host receives state messages; `None` for no.
    frames: Option<StateFrames>,
    /// Where other processes see that a person has to act.
    live: Option<Arc<LiveRecord>>,
    open: Mutex<QuestionTable>,
}

#[derive(Default)]
struct QuestionTable {
    waiting: BTreeMap<String, PendingQuestion>,
    closed: bool,
    /// The host was notified that a person has to act.
    is_action_reported: bool,
}

struct PendingQuestion {
    question: HostQuestion,
    reply: oneshot::Sender<HostAnswer>,
}

impl PendingQuestion {
    fn kind(&self) -> QuestionKind {
        QuestionKind::of(&self.question)
    }
}

impl std::fmt::Debug for HostQuestions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostQuestions").field("open", &self.lock().waiting.len()).finish_non_exhaustive()
    }
}

impl HostQuestions {
    /// `host` is the main thread's.
    pub fn new(host: HostSender, frames: Option<StateFrames>) -> Self {
        Self(Arc::new(HostQuestionsInner { host, frames, live: None, open: Mutex::default() }))
    }

    /// Shows open questions in the live record.
    #[must_use]
    pub fn shown_in(self, live: Option<Arc<LiveRecord>>) -> Self {
        let HostQuestionsInner { host, frames, .. } = &*self.0;
        Self(Arc::new(HostQuestionsInner { host: host.clone(), frames: *frames, live, open: Mutex::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, QuestionTable> {
        self.0.open.lock()
    }

    /// Asks the host. Dropping the future withdraws the question, as cancelling does.
    pub fn ask(&self, question: HostQuestion, cancel: CancellationToken) -> BoxFuture<'static, HostAnswer> {
        Box::pin(self.clone().wait(sys::id::uuid(), question, cancel))
    }

    async fn wait(self, id: String, question: HostQuestion, cancel: CancellationToken) -> HostAnswer {
        if cancel.is_cancelled() {
            return Err(QuestionFailure::Withdrawn);
        }
        let mut ticket = self.register(id.clone(), &question)?;
        self.send_state().await;
        let sent = tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            () = self.0.host.event(Event::Ask { id, question }) => true,
        };
        ticket.sent = sent;
        let answered = tokio::select! {
            biased;
            answered = &mut ticket.reply => answered.unwrap_or(Err(QuestionFailure::Closed)),
            () = cancel.cancelled() => Err(QuestionFailure::Withdrawn),
        };
        if let Some(withdrawal) = ticket.withdraw() {
            self.0.host.event(withdrawal).await;
        }
        self.send_state().await;
        answered
    }

    fn register(&self, id: String, question: &HostQuestion) -> Result<QuestionTicket, QuestionFailure> {
        let (sender, reply) = oneshot::channel();
        let mut open = self.lock();
        if open.closed {
            return Err(QuestionFailure::Closed);
        }
        open.waiting.insert(id.clone(), PendingQuestion { question: question.clone(), reply: sender });
        Ok(QuestionTicket { questions: self.clone(), id, reply, sent: false })
    }

    /// Sends `requires_action` while a person has to act, `running` afterwards.
    async fn send_state(&self) {
        let asked = {
            let mut open = self.lock();
            let asked = open.waiting.values().find_map(|waiting| waiting.kind().person_action());
            if std::mem::replace(&mut open.is_action_reported, asked.is_some()) == asked.is_some() {
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

    pub fn answer(&self, reply: HostReply) {
        let said = reply.outcome.map_err(QuestionFailure::Refused);
        let waiting = self.lock().waiting.remove(&reply.request_id);
        let Some(waiting) = waiting else {
            return tracing::debug!(id = reply.request_id, "an answer to no open question was ignored");
        };
        // The asker may be gone.
        waiting.reply.send(said).ok();
    }

    /// Ends all open questions because the input has ended; refuses later ones.
    pub fn close(&self) {
        let waiting = {
            let mut open = self.lock();
            open.closed = true;
            std::mem::take(&mut open.waiting)
        };
        for (_, waiting) in waiting {
            waiting.reply.send(Err(QuestionFailure::Closed)).ok();
        }
    }

    /// The open questions of a kind as whole lines, for a host that connects again.
    pub fn pending(&self, kind: QuestionKind) -> Vec<Value> {
        let open = self.lock();
        let of_kind = open.waiting.iter().filter(|(_, waiting)| waiting.kind() == kind);
        let lines = of_kind.filter_map(|(id, waiting)| codec::question_line(id, &waiting.question).ok());
        lines.filter_map(|line| serde_json::from_str(&line).ok()).collect()
    }

    /// Fails the questions that only the old host could answer, because another host has connected.
    pub fn fail_programs(&self, why: &str) {
        let gone: Vec<PendingQuestion> = {
            let mut open = self.lock();
            let ids: Vec<String> = open
                .waiting
                .iter()
                .filter(|(_, waiting)| waiting.kind() == QuestionKind::Program)
                .map(|(id, _)| id.clone())
                .collect();
            ids.iter().filter_map(|id| open.waiting.remove(id)).collect()
        };
        for waiting in gone {
            waiting.reply.send(Err(QuestionFailure::Refused(why.to_owned()))).ok();
        }
    }
}

/// An open question; withdrawn when it is dropped without an answer.
struct QuestionTicket {
    questions: HostQuestions,
    id: String,
    reply: oneshot::Receiver<HostAnswer>,
    sent: bool,
}

impl QuestionTicket {
    /// The withdrawal, when the question is still open and the host knows of it.
    fn withdraw(&mut self) -> Option<Event> {
        let open = self.questions.lock().waiting.remove(&self.id).is_some();
        (open && self.sent).then(|| Event::AskWithdrawn { id: self.id.clone() })
    }
}

impl Drop for QuestionTicket {
    fn drop(&mut self) {
        // Without room the host merely keeps a question nobody needs answered.
        if let Some(withdrawal) = self.withdraw() {
            self.questions.0.host.try_event(withdrawal);
        }
    }
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
