//! The way out to the host. A slow host slows its own stream; nothing is dropped.

use crate::command::Event;
use tokio::sync::mpsc;
use wire::sdk::{Message, System, SystemBody};

/// Sends messages that carry the session's id. Once the host is gone, sends do nothing.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    events: mpsc::Sender<Event>,
    pub session_id: String,
}

impl Host {
    pub(crate) fn new(events: mpsc::Sender<Event>, session_id: String) -> Self {
        Self { events, session_id }
    }

    pub(crate) async fn send(&self, message: Message) {
        self.event(Event::Message(message)).await;
    }

    pub(crate) async fn event(&self, event: Event) {
        if self.events.send(event).await.is_err() {
            tracing::debug!("the host is gone; its event was dropped");
        }
    }

    pub(crate) async fn system(&self, body: SystemBody) {
        let message = System { kind: "system", body, session_id: self.session_id.clone(), uuid: sys::id::uuid() };
        self.send(Message::System(message)).await;
    }

    /// A line for the person at the terminal, beside the protocol.
    pub(crate) async fn notice(&self, text: impl Into<String>) {
        self.event(Event::Notice(text.into())).await;
    }
}
