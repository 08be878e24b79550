//! EnterPlanMode and ExitPlanMode. The mode itself is the engine's; these word what the model reads, and keep the plan's
//! file the same as what was approved.

use crate::contract::{Call, CallCx, InputError, Outcome, Sharing, Spec, Tool, Workspace};
use crate::input::Input;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;
use std::fmt::Write;
use std::path::Path;

/// A longer file is no plan.
const MAX_PLAN: usize = 4 << 20;

static ENTER: Spec =
    Spec::of("EnterPlanMode", include_str!("plan_mode/enter.md"), include_str!("plan_mode/enter.schema.json"));
static EXIT: Spec =
    Spec::of("ExitPlanMode", include_str!("plan_mode/exit.md"), include_str!("plan_mode/exit.schema.json"));

pub struct EnterPlanMode;
pub struct ExitPlanMode;

impl Tool for EnterPlanMode {
    fn spec(&self) -> &Spec {
        &ENTER
    }

    fn parse(&self, _: &RawValue) -> Result<Box<dyn Call>, InputError> {
        Ok(Box::new(Enter))
    }
}

impl Tool for ExitPlanMode {
    fn spec(&self) -> &Spec {
        &EXIT
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of("ExitPlanMode", input)?;
        Ok(Box::new(Exit { plan: input.opt_string("plan")?.filter(|plan| !plan.trim().is_empty()) }))
    }
}

struct Enter;

impl Call for Enter {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn sharing(&self) -> Sharing {
        Sharing::Exclusive
    }

    fn run(self: Box<Self>, _: CallCx) -> BoxFuture<'static, Outcome> {
        #[derive(Serialize)]
        struct Output {
            message: &'static str,
        }
        let message =
            "Plan mode is on. Look around and design; nothing may be changed until the user has approved a plan.";
        async move { Outcome::text(message, wire::raw::to_raw(&Output { message }).ok()) }.boxed()
    }
}

/// The plan as it was approved, perhaps with changes of the user.
struct Exit {
    plan: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    plan: Option<&'a str>,
    is_agent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_path: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    plan_was_edited: bool,
}

impl Call for Exit {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Interact]
    }

    fn sharing(&self) -> Sharing {
        Sharing::Exclusive
    }

    fn run(self: Box<Self>, cx: CallCx) -> BoxFuture<'static, Outcome> {
        async move {
            let file = cx.state.facts.plan_file.clone();
            let is_agent = cx.state.facts.agent_id.is_some();
            let work = tokio::task::spawn_blocking(move || self.settle(file.as_deref(), is_agent));
            work.await.unwrap_or_else(|error| Outcome::failed(format!("The plan could not be kept: {error}")))
        }
        .boxed()
    }
}

impl Exit {
    /// What was approved is what stands in the file.
    fn settle(&self, file: Option<&Path>, is_agent: bool) -> Outcome {
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
        let output = Output {
            plan: self.plan.as_deref(),
            is_agent,
            file_path: file.map(|file| file.display().to_string()),
            plan_was_edited: edited && before.is_some(),
        };
        Outcome::text(self.text(file, edited), wire::raw::to_raw(&output).ok())
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
