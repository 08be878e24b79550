//! Recall: finds what a compaction dropped. The tool comes with the first compaction of a conversation; it reads only
//! the transcript of its own conversation.

use crate::tool_facts;
use crate::view::SessionView;
use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::json;
use serde_json::value::RawValue;
use session_parts::recall::{RecallKind, RecallQuery, recall};
use tools::contract::ToolSpec;
use tools::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolInput, ToolOutcome, Workspace};

static SPEC: ToolSpec = ToolSpec::of(
    RecallTool::NAME,
    include_str!("recall_tool/recall.md"),
    include_str!("recall_tool/recall.schema.json"),
    tool_facts::RECALL.1,
);

pub(crate) struct RecallTool;

impl RecallTool {
    pub(crate) const NAME: &'static str = tool_facts::RECALL.0;
}

impl Tool for RecallTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of(Self::NAME, input)?;
        let around = input.opt_number("around")?.filter(|line| *line > 0);
        let words = match around {
            Some(_) => input.opt_string("query")?.unwrap_or_default(),
            None => input.string("query")?,
        };
        let kind = input.opt_choice("kind", &RecallKind::NAMES)?.and_then(RecallKind::parse);
        Ok(Box::new(RecallCall(RecallQuery { words, kind, around })))
    }
}

struct RecallCall(RecallQuery);

impl ToolCall for RecallCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            let place = match SessionView::of(&cx) {
                Ok(view) => view.recall.clone(),
                Err(why) => return ToolOutcome::failed(why),
            };
            let Some(place) = place else {
                return ToolOutcome::failed("Nothing of this conversation was summarised: all of it is above.");
            };
            let query = self.0;
            let searched = tokio::task::spawn_blocking(move || recall(&place, &query));
            match searched.await {
                Ok(Ok(answer)) => {
                    let structured = wire::raw::to_raw(&json!({"matches": answer.found})).ok();
                    ToolOutcome::text(answer.text, structured)
                }
                Ok(Err(error)) => ToolOutcome::failed(format!("The transcript could not be searched: {error}")),
                Err(error) => ToolOutcome::failed(format!("The search failed: {error}")),
            }
        })
    }
}
