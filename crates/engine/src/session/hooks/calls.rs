//! Hooks around tool calls. Each decision is about one call: a denial settles it, allow and ask are passed on to the
//! permission decision, and a rewritten input is parsed and checked like any other.

use crate::session::SessionIo;
use futures_util::future::join_all;
use hooks::{HookPermission, HookVerdict, MergedAnswer, RequestDecision};
use permission::{Access, PermissionQuery, Policy, SessionDirectories};
use serde_json::Value;
use serde_json::value::RawValue;
use session_parts::hooks::{HookScope, HookText, HookTextKind, ToolScope};
use session_parts::tool_use::ToolUse;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tools::ToolOutcome;
use tools::facts::{ReplacedOutput, ToolFacts};
use wire::block::MessageContent;
use wire::hooks::{
    BatchCall, BatchPlace, HookEventName, PermissionRequest, PostToolBatch, PostToolUse, PostToolUseFailure, PreToolUse,
};
use wire::sdk::SystemBody;

/// Maximum characters of the error text a hook receives.
const ERROR_LIMIT: usize = 10_000;

/// The decision of hooks about a call, before permission is decided.
#[derive(Debug, Default)]
pub(crate) struct HookRuling {
    pub kind: Option<RulingKind>,
    pub input: Option<Box<RawValue>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RulingKind {
    Allow,
    Ask(String),
    Deny(String),
    /// Leave the decision to a later run.
    Defer,
}

/// A call for which PreToolUse hooks run.
pub(crate) struct UndecidedCall<'a> {
    pub used: &'a ToolUse,
    pub accesses: Vec<Access>,
    pub cancel: &'a CancellationToken,
}

/// One call of a finished batch.
pub(crate) struct FinishedCall<'a> {
    pub used: &'a ToolUse,
    pub result: &'a RawValue,
}

/// A call as hooks and filters see it.
struct CallView {
    name: String,
    raw: Box<RawValue>,
    value: Value,
    accesses: Vec<Access>,
}

impl SessionIo {
    /// PreToolUse, for calls that may run together.
    pub(crate) async fn before_calls(&mut self, calls: Vec<UndecidedCall<'_>>) -> Vec<HookRuling> {
        self.refresh_host_hooks();
        let fired = {
            let io = &*self;
            join_all(calls.iter().map(|call| io.run_before(call))).await
        };
        let mut rulings = Vec::new();
        for (call, merged) in calls.iter().zip(fired) {
            let merged = self.apply_hook_results(merged, Some(&call.used.id)).await;
            rulings.push(self.rule_on_call(call.used, merged).await);
        }
        rulings
    }

    async fn run_before(&self, call: &UndecidedCall<'_>) -> MergedAnswer {
        let used = call.used;
        let seen = self.call_view(used, &used.input, call.accesses.clone());
        let event = PreToolUse {
            tool_name: seen.name.clone(),
            tool_input: seen.raw.clone(),
            tool_use_id: used.id.clone(),
            batch: (used.batch.0 > 1).then_some(BatchPlace { size: used.batch.0, index: used.batch.1 }),
        };
        self.run_for(&event, used, &seen, call.cancel).await
    }

    async fn rule_on_call(&mut self, used: &ToolUse, merged: MergedAnswer) -> HookRuling {
        let mut word = merged.verdict.as_ref().map(ruling_kind);
        if word == Some(RulingKind::Defer) {
            if used.batch.0 == 1 && self.hooks.agent().is_none() {
                return HookRuling { kind: word, input: None };
            }
            let content =
                "A hook deferred a call that is not the only one of its message, or is an agent's: such a call \
                           cannot be taken up later, so it is decided now."
                    .to_owned();
            self.output.host.system(SystemBody::Informational { content, level: "warning" }).await;
            word = None;
        }
        self.queue_contexts(&merged, HookEventName::PreToolUse, &used.id);
        let input = merged.updated_input.as_ref().and_then(|input| wire::raw::to_raw(input).ok());
        if let Some(input) = &input {
            self.hooks.rewritten.insert(used.id.clone(), input.clone());
        }
        HookRuling { kind: word, input }
    }

    /// PermissionRequest: the answer of a hook in place of the person; `None` when no hook answers.
    pub(crate) async fn answer_by_hook(
        &mut self,
        used: &ToolUse,
        input: &RawValue,
        accesses: Vec<Access>,
        suggestions: &[permission::RuleSuggestion],
        cancel: &CancellationToken,
    ) -> Option<RequestDecision> {
        if !self.hooks.listens(HookEventName::PermissionRequest) {
            return None;
        }
        let seen = self.call_view(used, input, accesses);
        let updates: Vec<_> = suggestions.iter().map(permission::RuleSuggestion::to_json).collect();
        let event = PermissionRequest {
            tool_name: seen.name.clone(),
            tool_input: seen.raw.clone(),
            permission_suggestions: (!updates.is_empty()).then(|| wire::raw::to_raw(&updates).ok()).flatten(),
        };
        self.fire_for(&event, used, &seen, cancel).await.request
    }

    /// PostToolUse or PostToolUseFailure, for a call that ran. May change the result for the model.
    pub(crate) async fn after_call(
        &mut self,
        used: &ToolUse,
        outcome: &mut ToolOutcome,
        took_ms: u64,
        cancel: &CancellationToken,
    ) {
        let event = if outcome.is_error { HookEventName::PostToolUseFailure } else { HookEventName::PostToolUse };
        let rewritten = self.hooks.rewritten.remove(&used.id);
        if !self.hooks.listens(event) || (outcome.is_error && cancel.is_cancelled()) {
            return;
        }
        let input = rewritten.as_deref().unwrap_or(&used.input);
        let accesses = self.tooling.registry.find(&used.name).and_then(|tool| tool.parse(input).ok());
        let accesses = accesses.map(|call| call.access(&self.workspace())).unwrap_or_default();
        let seen = self.call_view(used, input, accesses);
        let merged = if outcome.is_error {
            let event = PostToolUseFailure {
                tool_name: seen.name.clone(),
                tool_input: seen.raw.clone(),
                tool_use_id: used.id.clone(),
                error: shorten(&outcome.content.text()),
                is_interrupt: false,
                duration_ms: took_ms,
            };
            self.fire_for(&event, used, &seen, cancel).await
        } else {
            let text = || wire::raw::to_raw(&*outcome.content.text()).unwrap_or_else(|_| RawValue::NULL.to_owned());
            let event = PostToolUse {
                tool_name: seen.name.clone(),
                tool_input: seen.raw.clone(),
                tool_response: outcome.structured.clone().unwrap_or_else(text),
                tool_use_id: used.id.clone(),
                duration_ms: took_ms,
            };
            self.fire_for(&event, used, &seen, cancel).await
        };
        self.queue_contexts(&merged, event, &used.id);
        self.queue_blocks(&merged, event, Some(&used.id));
        if let Some(output) = merged.updated_output {
            let facts = self.tooling.facts(&used.name);
            replace_output((&used.name, facts), &output, outcome);
        }
    }

    /// PostToolBatch. It may end the turn.
    pub(crate) async fn after_batch(&mut self, calls: &[FinishedCall<'_>], cancel: &CancellationToken) {
        if !self.hooks.listens(HookEventName::PostToolBatch) || calls.is_empty() {
            return;
        }
        let tool_calls = calls.iter().map(|call| BatchCall {
            tool_name: wire::names::canonical(&call.used.name).to_owned(),
            tool_input: call.used.input.clone(),
            tool_use_id: call.used.id.clone(),
            tool_response: content_of(call.result),
        });
        let event = PostToolBatch { tool_calls: tool_calls.collect() };
        let merged = self.fire(&event, HookScope::new(cancel)).await;
        self.queue_contexts(&merged, HookEventName::PostToolBatch, "");
        if let Some(reason) = merged.blocked() {
            self.queue_blocks(&merged, HookEventName::PostToolBatch, None);
            self.hooks.stop.get_or_insert(reason);
        }
    }

    async fn fire_for<E: wire::hooks::HookEvent>(
        &mut self,
        event: &E,
        used: &ToolUse,
        seen: &CallView,
        cancel: &CancellationToken,
    ) -> MergedAnswer {
        self.refresh_host_hooks();
        let merged = self.run_for(event, used, seen, cancel).await;
        self.apply_hook_results(merged, Some(&used.id)).await
    }

    async fn run_for<E: wire::hooks::HookEvent>(
        &self,
        event: &E,
        used: &ToolUse,
        seen: &CallView,
        cancel: &CancellationToken,
    ) -> MergedAnswer {
        let (policy, workspace) = (Arc::clone(self.rules.policy()), self.workspace());
        let place = SessionDirectories {
            cwd: workspace.project.clone(),
            home: workspace.home.clone(),
            roots: std::iter::once(workspace.project.clone()).chain(workspace.additional.clone()).collect(),
            ..SessionDirectories::default()
        };
        let condition = |rule: &str| {
            let request = PermissionQuery::new(&seen.name, &seen.accesses).with_input(seen.raw.get());
            let facts = session_parts::facts::gather(&policy, &request, &workspace.cwd);
            Policy::concerns(rule, &request, &facts, (&place, &sys::real_path::path))
        };
        let tool = ToolScope { id: &used.id, input: &seen.value, condition: &condition };
        self.run_event(event, HookScope { cancel, tool: Some(tool), limit: None }).await
    }

    /// Makes paths absolute.
    fn call_view(&self, used: &ToolUse, input: &RawValue, accesses: Vec<Access>) -> CallView {
        let mut value: Value = serde_json::from_str(input.get()).unwrap_or_default();
        let mut raw = input.to_owned();
        for key in ["file_path", "notebook_path"] {
            let Some(Value::String(path)) = value.get_mut(key) else { continue };
            let absolute = self.workspace().absolute(path).display().to_string();
            if *path != absolute {
                *path = absolute;
                raw = wire::raw::to_raw(&value).unwrap_or(raw);
            }
        }
        CallView { name: wire::names::canonical(&used.name).to_owned(), raw, value, accesses }
    }

    fn queue_contexts(&mut self, merged: &MergedAnswer, event: HookEventName, tool_use_id: &str) {
        let id = Some(tool_use_id.to_owned()).filter(|id| !id.is_empty());
        self.hooks.batch_texts.extend(merged.contexts.iter().map(|context| HookText {
            kind: HookTextKind::Context,
            hook: context.hook.clone(),
            event,
            tool_use_id: id.clone(),
            text: context.text.clone(),
        }));
    }

    fn queue_blocks(&mut self, merged: &MergedAnswer, event: HookEventName, tool_use_id: Option<&str>) {
        self.hooks.batch_texts.extend(merged.blocks.iter().map(|block| HookText {
            kind: HookTextKind::Feedback,
            hook: block.hook.clone(),
            event,
            tool_use_id: tool_use_id.map(str::to_owned),
            text: block.message.clone(),
        }));
    }
}

fn ruling_kind(verdict: &HookVerdict) -> RulingKind {
    let reason = verdict.reason.clone().unwrap_or_else(|| "no reason given".into());
    match verdict.permission {
        HookPermission::Deny => RulingKind::Deny(format!("{} hook denied this call: {reason}", verdict.hook)),
        HookPermission::Defer => RulingKind::Defer,
        HookPermission::Ask => RulingKind::Ask(format!("{} {reason}", verdict.tag)),
        HookPermission::Allow => RulingKind::Allow,
    }
}

/// The beginning and the end of a long error.
fn shorten(text: &str) -> String {
    let count = text.chars().count();
    if count <= ERROR_LIMIT {
        return text.to_owned();
    }
    let half = ERROR_LIMIT / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n… [{} characters left out] …\n{tail}", count - 2 * half)
}

fn content_of(result: &RawValue) -> Option<Box<RawValue>> {
    #[derive(serde::Deserialize)]
    struct ResultBlock<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    serde_json::from_str::<ResultBlock<'_>>(result.get()).ok()?.content.map(RawValue::to_owned)
}

/// Ignores output that does not have the shape of the tool's output.
fn replace_output((tool, facts): (&str, ToolFacts), output: &Value, outcome: &mut ToolOutcome) {
    let text = match (facts.replaced_output, output) {
        (ReplacedOutput::Streams, Value::Object(fields)) => {
            let part = |name: &str| fields.get(name).map_or(Some(""), Value::as_str);
            let (Some(stdout), Some(stderr)) = (fields.get("stdout").and_then(Value::as_str), part("stderr")) else {
                tracing::warn!(tool, "a hook's updatedToolOutput does not look like output of the tool; it is ignored");
                return;
            };
            [stdout, stderr].iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join("\n")
        }
        (ReplacedOutput::Anything, Value::String(text)) => text.clone(),
        (ReplacedOutput::Anything, other) => other.to_string(),
        (ReplacedOutput::Streams | ReplacedOutput::Nothing, _) => {
            tracing::warn!(tool, "a hook's updatedToolOutput for this tool is ignored");
            return;
        }
    };
    outcome.content = MessageContent::Text(text);
    outcome.structured = wire::raw::to_raw(output).ok();
}
