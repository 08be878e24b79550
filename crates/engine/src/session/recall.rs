//! When the model may ask for what a compaction dropped, and where that is.

use super::{LiveSession, SessionIo};
use crate::recall_tool::RecallTool;
use session_parts::context::ModelContext;
use session_parts::mcp::LateTool;
use session_parts::recall::RecallPlace;
use std::sync::Arc;

/// What a session knows about the tool for dropped texts when it is built.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecallAccess {
    /// Neither options nor definitions take the tool away.
    pub is_wanted: bool,
    /// Of a fork: where the dropped part of the conversation is that it began with.
    pub inherited: Option<RecallPlace>,
}

impl SessionIo {
    /// Whether the tool is offered once there is something to recall.
    pub(crate) fn may_recall(&self) -> bool {
        self.tooling.recall.is_wanted && !self.rules.policy().removes(RecallTool::NAME)
    }

    /// `None` while the conversation holds everything that was said, and when it is not saved.
    pub(crate) fn recall_place(&self, context: &ModelContext) -> Option<RecallPlace> {
        if !self.may_recall() {
            return None;
        }
        let Some(summary) = context.history().summary_line() else { return self.tooling.recall.inherited.clone() };
        Some(RecallPlace {
            transcript: self.output.transcript.file()?.to_path_buf(),
            summary: summary.to_owned(),
            is_agent: self.output.host.agent_id().is_some(),
        })
    }
}

impl LiveSession {
    /// Offers the tool from the first compaction on.
    pub(crate) fn offer_recall(&mut self) {
        let is_offered = self.io.recall_place(&self.context).is_some();
        let goes_on = self.context.history().has_answers();
        let tool = LateTool { name: RecallTool::NAME, make: &|| Arc::new(RecallTool), goes_on };
        self.io.knowledge.mcp.offer_late(&tool, is_offered);
    }
}
