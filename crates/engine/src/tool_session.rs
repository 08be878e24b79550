//! The tools of a session without a model: the caller decides which tool runs, and calls are guarded like those of a
//! model (rules, hooks, sandbox, snapshots, masking). Nobody can be asked, so calls that need a question are refused.

use crate::calls;
use crate::open;
use crate::session::LiveSession;
use serde_json::value::RawValue;
use session_parts::command::{Event, EventReceiver, event_channel};
use session_parts::options::StartRequest;
use session_parts::start_error::StartError;
use session_parts::tool_use::ToolUse;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::ToolSpec;
use wire::sdk::SdkMessage;

/// The result of a call.
#[derive(Debug)]
pub struct ToolCallResult {
    /// The `tool_result` block.
    pub block: Arc<RawValue>,
    /// Its structured form.
    pub structured: Option<Box<RawValue>>,
}

pub struct ToolSession {
    session: LiveSession,
    events: EventReceiver,
    // Keeps the command channel open.
    _commands: mpsc::Sender<crate::Command>,
    count: u64,
}

impl ToolSession {
    /// Opens the session that `boot` describes. Must be called inside the runtime. Also returns notices for the
    /// person who started it.
    pub fn open(boot: StartRequest) -> Result<(Self, Vec<String>), StartError> {
        let (commands, receiver) = mpsc::channel(1);
        let (out, events) = event_channel();
        let (session, notices) = open::open_idle(boot, receiver, out)?;
        Ok((Self { session, events, _commands: commands, count: 0 }, notices))
    }

    /// The specification of a tool; `None` when the session does not have it.
    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.session.io.tooling.registry.find(name).map(|tool| tool.spec())
    }

    /// Runs one tool to its end. `None` only when its result could not be recorded.
    pub async fn call(
        &mut self,
        name: &str,
        input: Box<RawValue>,
        cancel: &CancellationToken,
    ) -> Option<ToolCallResult> {
        self.count += 1;
        let used = ToolUse::new(format!("call_{}", self.count), name, input);
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
            tokio::pin!(listen);
            tokio::select! {
                biased;
                report = run => report,
                // The session owns the sending side, so `listen` never ends.
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

    /// Closes the session: ends background tasks and runs SessionEnd hooks.
    pub async fn close(self) {
        let Self { mut session, mut events, .. } = self;
        let drain = async { while events.recv().await.is_some() {} };
        // `drain` never ends, because the session owns the sending side.
        tokio::select! { () = session.close() => {}, () = drain => {} }
    }
}
