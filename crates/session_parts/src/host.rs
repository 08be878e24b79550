//! Sends events to the host. A slow host slows down its own stream; no event is dropped. Messages of agents are
//! forwarded here, marked with the agent.

mod agent_output;

pub use agent_output::{AgentOutput, ForwardMode};

use crate::command::{Event, ScreenEvent};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use sys::sync::Mutex;
use tokio::sync::mpsc;
use wire::sdk::{SdkMessage, SystemBody, SystemMessage};

/// Longer waits are explained.
const SILENT_WAIT: Duration = Duration::from_secs(3);

/// Which messages the host wants.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostFlags {
    pub partial_messages: bool,
    pub replay_user_messages: bool,
    /// It shows the conversation to a person: text that display hooks may replace is not streamed.
    pub has_screen: bool,
    /// It wants to know about cache misses.
    pub cache_events: bool,
    /// Checkpoints are kept unless settings say otherwise.
    pub keeps_checkpoints: bool,
    /// The run ends with the result of this turn: background tasks are stopped.
    pub ends_after_turn: bool,
    pub session_state: Option<StateFrames>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateFrames {
    /// For any reader.
    Open,
    /// Marked as meant for the SDK only.
    SdkOnly,
}

/// The parts of `system/init` that do not change.
#[derive(Clone, Debug)]
pub struct InitFacts {
    /// Slash commands are not switched off.
    pub has_commands: bool,
    pub cwd: String,
    pub api_key_source: &'static str,
    pub output_style: String,
    /// The available output styles.
    pub output_styles: Vec<String>,
    pub betas: Vec<String>,
    /// Maps tool names that the model may use to the tools that are meant.
    pub tool_aliases: std::collections::BTreeMap<String, String>,
}

/// Sends messages that carry the session's id. Once the host is gone, sends do nothing.
#[derive(Clone, Debug)]
pub struct HostSender {
    events: mpsc::Sender<Event>,
    pub session_id: String,
    /// The current session id, shared by all clones.
    current: Arc<Mutex<String>>,
    agent_output: Option<Arc<AgentOutput>>,
}

impl HostSender {
    pub fn new(events: mpsc::Sender<Event>, session_id: String) -> Self {
        let current = Arc::new(Mutex::new(session_id.clone()));
        Self { events, session_id, current, agent_output: None }
    }

    /// Sends for the new conversation `id` from now on, in all clones.
    pub fn begin_session(&mut self, id: &str) {
        id.clone_into(&mut self.session_id);
        id.clone_into(&mut self.current.lock());
    }

    /// A sender for the messages of an agent.
    #[must_use]
    pub fn for_agent(&self, agent_output: Arc<AgentOutput>) -> Self {
        Self { agent_output: Some(agent_output), ..self.clone() }
    }

    /// The agent whose messages are sent; `None` for the main thread.
    pub fn agent_id(&self) -> Option<&str> {
        self.agent_output.as_ref().map(|agent_output| agent_output.agent_id())
    }

    /// Adds the final usage of a response to the agent's progress.
    pub fn count(&self, usage: &wire::usage::Usage) {
        if let Some(agent_output) = &self.agent_output {
            agent_output.add_usage(usage);
        }
    }

    pub async fn send(&self, message: SdkMessage) {
        let Some(agent_output) = &self.agent_output else { return self.event(Event::Message(message)).await };
        let forwarded = agent_output.forward(message);
        if let Some(progress) = forwarded.progress {
            self.event(Event::Message(self.frame(progress))).await;
        }
        if let Some(message) = forwarded.message {
            self.event(Event::Message(message)).await;
        }
    }

    pub async fn event(&self, event: Event) {
        if self.events.send(event).await.is_err() {
            tracing::debug!("the host is gone; its event was dropped");
        }
    }

    /// Runs `work`. When it takes long, a person at a terminal is shown what is waited for.
    pub async fn explain_wait<F: Future>(&self, text: impl FnOnce() -> String, work: F) -> F::Output {
        tokio::pin!(work);
        tokio::select! {
            biased;
            output = &mut work => return output,
            () = tokio::time::sleep(SILENT_WAIT) => {}
        }
        self.event(Event::Aside(ScreenEvent::Waiting(text()))).await;
        work.await
    }

    pub async fn aside(&self, what: ScreenEvent) {
        self.event(Event::Aside(what)).await;
    }

    /// For threads outside the runtime.
    pub fn stream(&self) -> mpsc::Sender<Event> {
        self.events.clone()
    }

    /// Does not wait: an event that does not fit into the queue is dropped.
    pub fn try_event(&self, event: Event) {
        self.events.try_send(event).ok();
    }

    pub async fn system(&self, body: SystemBody) {
        self.send(self.frame(body)).await;
    }

    fn frame(&self, body: SystemBody) -> SdkMessage {
        let session_id = self.current.lock().clone();
        SdkMessage::System(SystemMessage { kind: "system", body, session_id, uuid: sys::id::uuid() })
    }

    /// Sends a line for the person at the terminal, outside the protocol.
    pub async fn notice(&self, text: impl Into<String>) {
        self.event(Event::Notice(text.into())).await;
    }
}
