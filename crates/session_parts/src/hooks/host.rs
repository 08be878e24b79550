//! Hooks that the host runs: what it registered with `initialize`, and the requests to it. Registering again replaces
//! the earlier hooks in all threads of the session; handlers that still wait for the old ones receive an error that says to try again.

use crate::questions::{HostQuestions, QuestionFailure};
use hooks::{HandlerJob, HandlerResult, HookLayer, HookOrigin};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use sys::sync::Mutex;
use tokio_util::sync::CancellationToken;
use wire::control::{CallbackFailure, HookCallback, HookMatcher, HostQuestion};
use wire::hooks::HookEventName;

/// Matchers by event name, as the host sent them.
pub(super) type HostMatchers = BTreeMap<String, Vec<HookMatcher>>;

/// Shared by the main thread and its agents.
#[derive(Debug)]
pub struct HostHooks {
    /// Sends `hook_callback` requests to the host.
    questions: HostQuestions,
    declared: Mutex<Arc<HostMatchers>>,
}

impl HostHooks {
    pub fn new(questions: HostQuestions, declared: HostMatchers) -> Self {
        Self { questions, declared: Mutex::new(Arc::new(declared)) }
    }

    /// The hooks that are registered now.
    pub fn declared(&self) -> Arc<HostMatchers> {
        Arc::clone(&self.declared.lock())
    }

    pub fn replace(&self, declared: HostMatchers) {
        *self.declared.lock() = Arc::new(declared);
    }

    /// The registered hooks as a layer of declarations; `None` when there are none.
    pub fn layer(&self) -> Option<HookLayer> {
        let declared = self.declared();
        let known = declared.iter().filter(|(event, _)| HookEventName::parse(event).is_some());
        let groups = |groups: &Vec<HookMatcher>| Value::Array(groups.iter().map(group).collect());
        let hooks: Map<String, Value> = known.map(|(event, all)| (event.clone(), groups(all))).collect();
        (!hooks.is_empty()).then_some(HookLayer { origin: HookOrigin::Host, hooks })
    }

    /// Asks the host to run one of its functions. Dropping the future withdraws the request.
    pub async fn run(&self, callback_id: &str, job: &HandlerJob) -> HandlerResult {
        let Ok(input) = RawValue::from_string(job.payload.to_string()) else {
            return HandlerResult::Failed { why: "the event could not be written".into() };
        };
        let tool_use_id = job.tool_use_id.as_deref().map(str::to_owned);
        let question =
            HostQuestion::HookCallback(HookCallback { callback_id: callback_id.to_owned(), input, tool_use_id });
        let before = self.declared();
        match self.questions.ask(question, CancellationToken::new()).await {
            Ok(output) => HandlerResult::Replied { body: output.get().to_owned() },
            Err(QuestionFailure::Withdrawn) => HandlerResult::Cancelled,
            // The host has already gone when the session ends.
            Err(QuestionFailure::Closed) if job.entry.event == HookEventName::SessionEnd => HandlerResult::Cancelled,
            Err(_) if !Arc::ptr_eq(&before, &self.declared()) => HandlerResult::Superseded,
            Err(why) => HandlerResult::Failed { why: why.to_string() },
        }
    }
}

fn group(matcher: &HookMatcher) -> Value {
    let on_failure = matcher.on_failure.map(|what| match what {
        CallbackFailure::Continue => "continue",
        CallbackFailure::Block => "block",
    });
    json!({
        "matcher": matcher.matcher,
        "hookCallbackIds": matcher.hook_callback_ids,
        "timeout": matcher.timeout.filter(|seconds| *seconds > 0.0),
        "onFailure": on_failure,
    })
}
