//! Sends events to the host. A slow host slows down its own stream; no event is dropped. Messages of agents are
//! forwarded here, marked with the agent.

use crate::agents::output::AgentOutput;
use crate::command::{Event, ScreenEvent};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use sys::sync::Mutex;
use tokio::sync::mpsc;
use wire::sdk::{SdkMessage, SystemBody, SystemMessage};

/// Longer waits are explained.
const SILENT_WAIT: Duration = Duration::from_secs(3);

/// Sends messages that carry the session's id. Once the host is gone, sends do nothing.
#[derive(Clone, Debug)]
pub(crate) struct HostSender {
    events: mpsc::Sender<Event>,
    pub session_id: String,
    /// The current session id, shared by all clones.
    current: Arc<Mutex<String>>,
    agent_output: Option<Arc<AgentOutput>>,
}

impl HostSender {
    pub(crate) fn new(events: mpsc::Sender<Event>, session_id: String) -> Self {
        let current = Arc::new(Mutex::new(session_id.clone()));
        Self { events, session_id, current, agent_output: None }
    }

    /// Sends for the new conversation `id` from now on, in all clones.
    pub(crate) fn begin_session(&mut self, id: &str) {
        id.clone_into(&mut self.session_id);
        id.clone_into(&mut self.current.lock());
    }

    /// A sender for the messages of an agent.
    pub(crate) fn for_agent(&self, voice: Arc<AgentOutput>) -> Self {
        Self { agent_output: Some(voice), ..self.clone() }
    }

    /// The agent whose messages are sent; `None` for the main thread.
    pub(crate) fn agent_id(&self) -> Option<&str> {
        self.agent_output.as_ref().map(|voice| voice.agent_id())
    }

    /// Adds the final usage of a response to the agent's progress.
    pub(crate) fn count(&self, usage: &wire::usage::Usage) {
        if let Some(voice) = &self.agent_output {
            voice.add_usage(usage);
        }
    }

    pub(crate) async fn send(&self, message: SdkMessage) {
        let Some(voice) = &self.agent_output else { return self.event(Event::Message(message)).await };
        let carried = voice.forward(message);
        if let Some(progress) = carried.progress {
            self.event(Event::Message(self.frame(progress))).await;
        }
        if let Some(message) = carried.message {
            self.event(Event::Message(message)).await;
        }
    }

    pub(crate) async fn event(&self, event: Event) {
        if self.events.send(event).await.is_err() {
            tracing::debug!("the host is gone; its event was dropped");
        }
    }

    /// Runs `work`. When it takes long, a person at a terminal is told what is waited for.
    pub(crate) async fn explain_wait<F: Future>(&self, text: impl FnOnce() -> String, work: F) -> F::Output {
        tokio::pin!(work);
        tokio::select! {
            biased;
            output = &mut work => return output,
            () = tokio::time::sleep(SILENT_WAIT) => {}
        }
        self.event(Event::Aside(ScreenEvent::Waiting(text()))).await;
        work.await
    }

    pub(crate) async fn aside(&self, what: ScreenEvent) {
        self.event(Event::Aside(what)).await;
    }

    /// For threads outside the runtime.
    pub(crate) fn stream(&self) -> mpsc::Sender<Event> {
        self.events.clone()
    }

    /// Does not wait: an event that does not fit into the queue is dropped.
    pub(crate) fn try_event(&self, event: Event) {
        self.events.try_send(event).ok();
    }

    pub(crate) async fn system(&self, body: SystemBody) {
        self.send(self.frame(body)).await;
    }

    fn frame(&self, body: SystemBody) -> SdkMessage {
        let session_id = self.current.lock().clone();
        SdkMessage::System(SystemMessage { kind: "system", body, session_id, uuid: sys::id::uuid() })
    }

    /// Sends a line for the person at the terminal, outside the protocol.
    pub(crate) async fn notice(&self, text: impl Into<String>) {
        self.event(Event::Notice(text.into())).await;
    }
}
