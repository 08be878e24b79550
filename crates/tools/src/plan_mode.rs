//! EnterPlanMode and ExitPlanMode. The engine owns the mode; these tools format what the model reads and keep the
//! plan file equal to the approved plan.

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::facts::{AgentUse, ToolClass, ToolFacts};
use crate::input::ToolInput;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;
use std::fmt::Write;
use std::path::Path;

/// Largest plan file, in bytes.
const MAX_PLAN: usize = 4 << 20;

const ENTER_FACTS: ToolFacts = ToolFacts { agents: AgentUse::Never, ..ToolFacts::of(ToolClass::PlanEntry) };
const EXIT_FACTS: ToolFacts = ToolFacts { agents: AgentUse::InPlanMode, ..ToolFacts::of(ToolClass::PlanExit) };

static ENTER: ToolSpec = ToolSpec::of(
    "EnterPlanMode",
    include_str!("plan_mode/enter.md"),
    include_str!("plan_mode/enter.schema.json"),
    ENTER_FACTS,
);
static EXIT: ToolSpec = ToolSpec::of(
    "ExitPlanMode",
    include_str!("plan_mode/exit.md"),
    include_str!("plan_mode/exit.schema.json"),
    EXIT_FACTS,
);

pub struct EnterPlanModeTool;
pub struct ExitPlanModeTool;

impl Tool for EnterPlanModeTool {
    fn spec(&self) -> &ToolSpec {
        &ENTER
    }

    fn parse(&self, _: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        Ok(Box::new(EnterPlanModeCall))
    }
}

impl Tool for ExitPlanModeTool {
    fn spec(&self) -> &ToolSpec {
        &EXIT
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("ExitPlanMode", input)?;
        Ok(Box::new(ExitPlanModeCall { plan: input.opt_string("plan")?.filter(|plan| !plan.trim().is_empty()) }))
    }
}

struct EnterPlanModeCall;

impl ToolCall for EnterPlanModeCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Exclusive
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, ToolOutcome> {
        #[derive(Serialize)]
        struct ExitPlanModeOutput {
            message: &'static str,
        }
        let message =
            "Plan mode is on. Look around and design; nothing may be changed until the user has approved a plan.";
        async move { ToolOutcome::text(message, wire::raw::to_raw(&ExitPlanModeOutput { message }).ok()) }.boxed()
    }
}

/// The plan as approved, possibly with changes of the user.
struct ExitPlanModeCall {
    plan: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EnterPlanModeOutput<'a> {
    plan: Option<&'a str>,
    is_agent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_path: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    plan_was_edited: bool,
}

impl ToolCall for ExitPlanModeCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Interact]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Exclusive
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        async move {
            let file = cx.state.facts.plan_file.clone();
            let is_agent = cx.state.facts.agent_id.is_some();
            let work = tokio::task::spawn_blocking(move || self.save_plan(file.as_deref(), is_agent));
            work.await.unwrap_or_else(|error| ToolOutcome::failed(format!("The plan could not be kept: {error}")))
        }
        .boxed()
    }
}

impl ExitPlanModeCall {
    /// Writes the approved plan to the file when they differ.
    fn save_plan(&self, file: Option<&Path>, is_agent: bool) -> ToolOutcome {
        let before = file.and_then(|file| sys::fs::read_text(file, MAX_PLAN).ok());
        let edited =
            self.plan.is_some() && before.as_deref().map(str::trim_end) != self.plan.as_deref().map(str::trim_end);
        if let (true, Some(file), Some(plan)) = (edited, file, &self.plan) {
            let kept = file.parent().map_or(Ok(()), std::fs::create_dir_all);
            let kept = kept.and_then(|()| sys::fs::atomic_write(file, plan.as_bytes(), 0o600));
            if let Err(error) = kept {
                tracing::warn!(%error, file = %file.display(), "the approved plan could not be saved");
            }
        }
        let output = EnterPlanModeOutput {
            plan: self.plan.as_deref(),
            is_agent,
            file_path: file.map(|file| file.display().to_string()),
            plan_was_edited: edited && before.is_some(),
        };
        ToolOutcome::text(self.text(file, edited), wire::raw::to_raw(&output).ok())
    }

    fn text(&self, file: Option<&Path>, edited: bool) -> String {
        let mut text = String::from("User has approved your plan. Plan mode is over: carry it out now, step by step.");
        if let Some(file) = file {
            write!(text, "\n\nThe plan is kept in {}.", file.display()).ok();
        }
        if let (true, Some(plan)) = (edited, &self.plan) {
            write!(text, "\n\n## Approved Plan:\n{}", plan.trim_end()).ok();
        }
        text
    }
}
