//! The tools of a session without its model: somebody else decides what is called, and everything that guards a call of a
//! model guards it here (rules, hooks, sandbox, snapshots, masking). Nobody can be asked, so what would ask is refused.

use crate::calls::{self, ToolUse};
use crate::command::{Event, EventReceiver, event_channel};
use crate::open;
use crate::options::{StartError, StartRequest};
use crate::session::Session;
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::ToolSpec;
use wire::sdk::SdkMessage;

/// What a call came to.
#[derive(Debug)]
pub struct ToolCallResult {
    /// The `tool_result` block.
    pub block: Arc<RawValue>,
    /// Its structured twin.
    pub structured: Option<Box<RawValue>>,
}

pub struct ToolSession {
    session: Session,
    events: EventReceiver,
    // Keeps the session from believing that its host has gone.
    _commands: mpsc::Sender<crate::Command>,
    count: u64,
}

impl ToolSession {
    /// Opens the session `boot` describes. Must be called inside the runtime. The lines are for the person who started it.
    pub fn open(boot: StartRequest) -> Result<(Self, Vec<String>), StartError> {
        let (commands, receiver) = mpsc::channel(1);
        let (out, events) = event_channel();
        let (session, notices) = open::open_idle(boot, receiver, out)?;
        Ok((Self { session, events, _commands: commands, count: 0 }, notices))
    }

    /// The facts of a tool, when the session has it.
    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.session.io.registry.find(name).map(|tool| tool.spec())
    }

    /// Runs one tool to its end. `None` only when its result could not be written down.
    pub async fn call(
        &mut self,
        name: &str,
        input: Box<RawValue>,
        cancel: &CancellationToken,
    ) -> Option<ToolCallResult> {
        self.count += 1;
        let used = ToolUse {
            id: format!("call_{}", self.count),
            name: name.to_owned(),
            input,
            assistant_uuid: String::new(),
            malformed: None,
            unreadable_before: 0,
            batch: (1, 0),
        };
        let mut structured = None;
        let events = &mut self.events;
        let listen = async {
            while let Some(event) = events.recv().await {
                if let Event::Message(SdkMessage::User(user)) = event {
                    structured = user.tool_use_result;
                }
            }
        };
        let report = {
            let run = calls::run(vec![used], &mut self.session.io, cancel);
            tokio::pin!(run, listen);
            tokio::select! {
                biased;
                report = &mut run => report,
                // The session holds the sending side, so listening does not end.
                () = &mut listen => return None,
            }
        };
        while let Some(event) = self.events.try_recv() {
            if let Event::Message(SdkMessage::User(user)) = event {
                structured = user.tool_use_result;
            }
        }
        let block = report.ok()?.results.into_iter().next()?;
        Some(ToolCallResult { block, structured })
    }

    /// Puts the session away: background work ends, hooks of its end run.
    pub async fn close(self) {
        let Self { mut session, mut events, .. } = self;
        let drain = async { while events.recv().await.is_some() {} };
        // Listening alone would never end: the session holds the sending side.
        tokio::select! { () = session.close() => {}, () = drain => {} }
    }
}
