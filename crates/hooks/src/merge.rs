//! One decision from all handlers of an event. Answers are joined in configuration order, so that the result does not
//! depend on who finished first: the strictest permission wins, contexts add up, rewrites of different fields combine.

use crate::answer::{Answer, Permission, RequestDecision};
use crate::catalogue::Entry;
use crate::declare::OnFailure;
use crate::fire::{Detached, Outcome, Report};
use serde_json::{Map, Value};
use std::sync::Arc;
use wire::hooks::EventName;

/// What an event came to.
#[derive(Default)]
pub struct Merged {
    pub reports: Vec<Report>,
    pub blocks: Vec<Block>,
    /// The first `continue: false`, with its reason.
    pub stop: Option<String>,
    /// For the user.
    pub messages: Vec<Context>,
    pub contexts: Vec<Context>,
    pub verdict: Option<Verdict>,
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
    /// Shown in the place of a message.
    pub display: Option<String>,
    /// For the terminal of an interactive session.
    pub sequences: Vec<String>,
    pub problems: Vec<Problem>,
    /// Handlers the turn does not wait for.
    pub detached: Vec<Detached>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub hook: String,
    /// The handler's command, address or prompt.
    pub what: String,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    pub hook: String,
    pub text: String,
}

/// What PreToolUse handlers say about a call, the strictest of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub permission: Permission,
    pub reason: Option<String>,
    pub hook: String,
    pub what: String,
    /// `[settings]`, `[plugin:name]`: who says so.
    pub tag: String,
}

/// A handler that gave no usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub hook: String,
    pub what: String,
    pub source: String,
    pub text: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} hook error: {} ({}; {})", self.hook, self.text, self.what, self.source)
    }
}

impl Merged {
    /// Nothing ran and nothing was found wrong.
    pub fn is_empty(&self) -> bool {
        self.reports.is_empty() && self.detached.is_empty() && self.problems.is_empty()
    }

    /// All reasons to block, or `None`.
    pub fn blocked(&self) -> Option<String> {
        let reasons: Vec<&str> = self.blocks.iter().map(|block| block.message.as_str()).collect();
        (!reasons.is_empty()).then(|| reasons.join("\n"))
    }

    /// The decision in one word, for people.
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

/// Joins answers one by one.
pub(crate) struct Joining<'a> {
    pub(crate) event: EventName,
    pub(crate) original: Option<&'a Value>,
    pub(crate) merged: Merged,
    pub(crate) rewrites: Vec<(String, Value)>,
}

impl Joining<'_> {
    pub(crate) fn add(&mut self, entry: &Arc<Entry>, report: Report, answer: Answer) {
        let hook = report.name.clone();
        let what = entry.handler.kind.text();
        let source = entry.origin.label();
        for remark in &answer.remarks {
            tracing::debug!(hook, what, remark, "hook output");
        }
        let mut block = answer.block;
        if let Some(text) = answer.problem {
            if closes(entry, self.event, &report) {
                block = block.or_else(|| Some(format!("it gave no answer: {text}")));
            }
            self.merged.problems.push(Problem { hook: hook.clone(), what: what.clone(), source, text });
        }
        let mut permission = answer.permission;
        if let (EventName::PreToolUse | EventName::PreModelSwitch, Some(message)) = (self.event, &block) {
            permission = Some((Permission::Deny, Some(message.clone())));
        }
        if let Some((permission, reason)) = permission {
            self.verdict(Verdict {
                permission,
                reason,
                hook: hook.clone(),
                what: what.clone(),
                tag: entry.origin.tag(),
            });
        }
        if let Some(message) = block {
            self.merged.blocks.push(Block { hook: hook.clone(), what, message });
        }
        self.merged.stop = self.merged.stop.take().or(answer.stop);
        self.merged.messages.extend(answer.message.map(|text| Context { hook: hook.clone(), text }));
        self.merged.sequences.extend(answer.sequence);
        self.merged.display = answer.display.or(self.merged.display.take());
        if let Some(text) = answer.context {
            self.merged.contexts.push(Context { hook: hook.clone(), text });
        }
        if let Some(input) = answer.updated_input {
            self.rewrites.push((hook, input));
        }
        self.rest(Rest {
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

    fn verdict(&mut self, new: Verdict) {
        match &mut self.merged.verdict {
            Some(old) if old.permission > new.permission => {}
            Some(old) if old.permission == new.permission => {
                let both = [old.reason.take(), new.reason].into_iter().flatten().collect::<Vec<_>>();
                old.reason = (!both.is_empty()).then(|| both.join("\n"));
            }
            _ => self.merged.verdict = Some(new),
        }
    }

    fn rest(&mut self, rest: Rest) {
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

    pub(crate) fn finish(mut self) -> Merged {
        self.merged.updated_input = self.rewritten();
        self.merged
    }

    /// Every rewrite is the whole input, made from the same original: their differences are applied one after the other.
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

/// Whether a handler that gave no answer blocks. Who is about to stop is never kept from it.
fn closes(entry: &Entry, event: EventName, report: &Report) -> bool {
    let stopping =
        matches!(event, EventName::Stop | EventName::SubagentStop | EventName::TaskCompleted | EventName::TeammateIdle);
    let guarded = matches!(event, EventName::PreToolUse | EventName::UserPromptSubmit | EventName::UserPromptExpansion);
    match entry.handler.on_failure {
        OnFailure::Continue => false,
        OnFailure::Block => !stopping,
        OnFailure::Unsaid => guarded && report.outcome == Outcome::Cancelled,
    }
}

struct Rest {
    request: Option<RequestDecision>,
    updated_output: Option<Value>,
    session_title: Option<String>,
    watch_paths: Option<Vec<String>>,
    worktree_path: Option<String>,
    action: Option<(String, Option<Value>)>,
    initial: Option<String>,
}
