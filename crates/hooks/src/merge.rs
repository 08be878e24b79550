//! Merges the answers of all handlers of an event into one decision. Answers are merged in configuration order, so that
//! the result does not depend on which handler finished first: the strictest permission wins, contexts are collected,
//! rewrites of different fields are combined.

use crate::answer::{HookAnswer, HookPermission, RequestDecision};
use crate::catalogue::HookEntry;
use crate::declaration::HandlerFailure;
use crate::fire::{DetachedHandler, HookOutcome, HookReport};
use serde_json::{Map, Value};
use std::sync::Arc;
use wire::hooks::HookEventName;

/// The merged result of an event.
#[derive(Default)]
pub struct MergedAnswer {
    pub reports: Vec<HookReport>,
    pub blocks: Vec<HookBlock>,
    /// The reason of the first `continue: false`; `None` without one.
    pub stop: Option<String>,
    /// Messages shown to the user.
    pub messages: Vec<HookContext>,
    pub contexts: Vec<HookContext>,
    pub verdict: Option<HookVerdict>,
    pub updated_input: Option<Value>,
    pub request: Option<RequestDecision>,
    pub updated_output: Option<Value>,
    pub retry: bool,
    pub initial_user_messages: Vec<String>,
    pub session_title: Option<String>,
    pub watch_paths: Option<Vec<String>>,
    pub reload_skills: bool,
    pub suppress_original_prompt: bool,
    pub worktree_path: Option<String>,
    pub action: Option<(String, Option<Value>)>,
    /// Text that is shown instead of a message.
    pub display: Option<String>,
    /// Sequences for the terminal of an interactive session.
    pub sequences: Vec<String>,
    pub problems: Vec<HookProblem>,
    /// Handlers that the turn does not wait for.
    pub detached: Vec<DetachedHandler>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookBlock {
    pub hook: String,
    /// The handler's command, address or prompt.
    pub description: String,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookContext {
    pub hook: String,
    pub text: String,
}

/// The strictest decision of the PreToolUse handlers about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookVerdict {
    pub permission: HookPermission,
    pub reason: Option<String>,
    pub hook: String,
    pub description: String,
    /// The source of the decision: `[settings]`, `[plugin:name]`.
    pub tag: String,
}

/// A handler that gave no usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookProblem {
    pub hook: String,
    pub description: String,
    pub source: String,
    pub text: String,
}

impl std::fmt::Display for HookProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} hook error: {} ({}; {})", self.hook, self.text, self.description, self.source)
    }
}

impl MergedAnswer {
    /// True when no handler ran and no problem was found.
    pub fn is_empty(&self) -> bool {
        self.reports.is_empty() && self.detached.is_empty() && self.problems.is_empty()
    }

    /// All reasons to block, one per line; `None` when nothing blocks.
    pub fn blocked(&self) -> Option<String> {
        let reasons: Vec<&str> = self.blocks.iter().map(|block| block.message.as_str()).collect();
        (!reasons.is_empty()).then(|| reasons.join("\n"))
    }

    /// The decision in one word, for display.
    pub fn decision(&self) -> &'static str {
        match (&self.stop, &self.verdict, &self.request, self.blocks.is_empty()) {
            (Some(_), ..) => "stop",
            (None, Some(verdict), ..) => verdict.permission.as_str(),
            (None, None, Some(RequestDecision::Allow { .. }), _) => "allow",
            (None, None, Some(RequestDecision::Deny { .. }), _) => "deny",
            (None, None, None, false) => "block",
            (None, None, None, true) => "none",
        }
    }
}

/// Merges answers one by one.
pub(crate) struct AnswerMerger<'a> {
    pub(crate) event: HookEventName,
    pub(crate) original: Option<&'a Value>,
    pub(crate) merged: MergedAnswer,
    pub(crate) rewrites: Vec<(String, Value)>,
}

impl AnswerMerger<'_> {
    pub(crate) fn add(&mut self, entry: &Arc<HookEntry>, report: HookReport, answer: HookAnswer) {
        let hook = report.name.clone();
        let what = entry.handler.kind.text();
        let source = entry.origin.label();
        for remark in &answer.remarks {
            tracing::debug!(hook, what, remark, "hook output");
        }
        let mut block = answer.block;
        if let Some(text) = answer.problem {
            if blocks_on_failure(entry, self.event, &report) {
                block = block.or_else(|| Some(format!("it gave no answer: {text}")));
            }
            self.merged.problems.push(HookProblem { hook: hook.clone(), description: what.clone(), source, text });
        }
        let mut permission = answer.permission;
        if let (HookEventName::PreToolUse | HookEventName::PreModelSwitch, Some(message)) = (self.event, &block) {
            permission = Some((HookPermission::Deny, Some(message.clone())));
        }
        if let Some((permission, reason)) = permission {
            self.verdict(HookVerdict {
                permission,
                reason,
                hook: hook.clone(),
                description: what.clone(),
                tag: entry.origin.tag(),
            });
        }
        if let Some(message) = block {
            self.merged.blocks.push(HookBlock { hook: hook.clone(), description: what, message });
        }
        self.merged.stop = self.merged.stop.take().or(answer.stop);
        self.merged.messages.extend(answer.message.map(|text| HookContext { hook: hook.clone(), text }));
        self.merged.sequences.extend(answer.sequence);
        self.merged.display = answer.display.or(self.merged.display.take());
        if let Some(text) = answer.context {
            self.merged.contexts.push(HookContext { hook: hook.clone(), text });
        }
        if let Some(input) = answer.updated_input {
            self.rewrites.push((hook, input));
        }
        self.add_remaining(RemainingFields {
            request: answer.request,
            updated_output: answer.updated_output,
            session_title: answer.session_title,
            watch_paths: answer.watch_paths,
            worktree_path: answer.worktree_path,
            action: answer.action,
            initial: answer.initial_user_message,
        });
        self.merged.retry |= answer.retry;
        self.merged.reload_skills |= answer.reload_skills;
        self.merged.suppress_original_prompt |= answer.suppress_original_prompt;
        self.merged.reports.push(report);
    }

    fn verdict(&mut self, new: HookVerdict) {
        match &mut self.merged.verdict {
            Some(old) if old.permission > new.permission => {}
            Some(old) if old.permission == new.permission => {
                let both = [old.reason.take(), new.reason].into_iter().flatten().collect::<Vec<_>>();
                old.reason = (!both.is_empty()).then(|| both.join("\n"));
            }
            _ => self.merged.verdict = Some(new),
        }
    }

    fn add_remaining(&mut self, rest: RemainingFields) {
        let merged = &mut self.merged;
        merged.request = match (merged.request.take(), rest.request) {
            (Some(deny @ RequestDecision::Deny { .. }), _) | (_, Some(deny @ RequestDecision::Deny { .. })) => {
                Some(deny)
            }
            (old, new) => new.or(old),
        };
        merged.updated_output = rest.updated_output.or(merged.updated_output.take());
        merged.session_title = rest.session_title.or(merged.session_title.take());
        if let Some(paths) = rest.watch_paths {
            merged.watch_paths.get_or_insert_default().extend(paths);
        }
        merged.worktree_path = merged.worktree_path.take().or(rest.worktree_path);
        merged.action = merged.action.take().or(rest.action);
        merged.initial_user_messages.extend(rest.initial);
    }

    pub(crate) fn finish(mut self) -> MergedAnswer {
        self.merged.updated_input = self.rewritten();
        self.merged
    }

    /// Merges the rewrites of the input. Each rewrite is a complete input made from the same original, so their
    /// differences to it are applied in order.
    fn rewritten(&mut self) -> Option<Value> {
        let rewrites = std::mem::take(&mut self.rewrites);
        let Some(Value::Object(original)) = self.original else { return rewrites.into_iter().last().map(|(_, v)| v) };
        if rewrites.is_empty() {
            return None;
        }
        let mut input = original.clone();
        let mut changed: Map<String, Value> = Map::new();
        for (hook, rewrite) in rewrites {
            let Value::Object(rewrite) = rewrite else { continue };
            let gone: Vec<&String> = original.keys().filter(|key| !rewrite.contains_key(*key)).collect();
            for key in gone {
                input.remove(key);
            }
            for (key, value) in rewrite {
                if original.get(&key) == Some(&value) {
                    continue;
                }
                if changed.get(&key).is_some_and(|before| *before != value) {
                    tracing::warn!(hook, key, "two hooks rewrite the same field; the later one in the settings counts");
                }
                changed.insert(key.clone(), value.clone());
                input.insert(key, value);
            }
        }
        Some(Value::Object(input))
    }
}

/// Whether a handler that gave no answer blocks. It never prevents an agent from stopping.
fn blocks_on_failure(entry: &HookEntry, event: HookEventName, report: &HookReport) -> bool {
    let stopping = matches!(
        event,
        HookEventName::Stop | HookEventName::SubagentStop | HookEventName::TaskCompleted | HookEventName::TeammateIdle
    );
    let guarded = matches!(
        event,
        HookEventName::PreToolUse | HookEventName::UserPromptSubmit | HookEventName::UserPromptExpansion
    );
    match entry.handler.on_failure {
        HandlerFailure::Continue => false,
        HandlerFailure::Block => !stopping,
        HandlerFailure::Unsaid => guarded && report.outcome == HookOutcome::Cancelled,
    }
}

struct RemainingFields {
    request: Option<RequestDecision>,
    updated_output: Option<Value>,
    session_title: Option<String>,
    watch_paths: Option<Vec<String>>,
    worktree_path: Option<String>,
    action: Option<(String, Option<Value>)>,
    initial: Option<String>,
}
