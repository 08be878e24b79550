//! Permission questions to the host: one `can_use_tool` request for each call that needs permission; only that call
//! waits. Each question gets exactly one reply: the host's, a withdrawal when the turn is interrupted, or a refusal
//! when nobody can answer. There is no timeout, and an unreadable answer is a refusal.

use crate::questions::{HostAnswer, HostQuestions, QuestionFailure};
use permission::{Access, DecisionReason, FileAccess, FilePlace, PathFacts, PermissionRefusal, RuleSuggestion};
use serde_json::value::RawValue;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;
use wire::control::{CanUseTool, CommandPart, HostQuestion, MatchedRule, PermissionAnswer, PermissionUpdate};

/// Who is asked when a call needs permission.
#[derive(Clone, Debug)]
pub enum PermissionChannel {
    /// Nobody: a question is a refusal.
    Nobody,
    /// The host.
    Host(HostQuestions),
    /// An MCP tool, by its full name (`--permission-prompt-tool`).
    Tool(String),
}

#[derive(Debug)]
pub enum PermissionReply {
    Allow {
        input: Option<Box<RawValue>>,
        updates: Vec<PermissionUpdate>,
    },
    Deny {
        message: String,
        then: AfterDenial,
    },
    /// The turn was interrupted while the question was open.
    Withdrawn,
}

/// What follows a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterDenial {
    GoOn,
    EndTurn,
}

impl PermissionReply {
    pub fn denied_on_close() -> Self {
        Self::Deny { message: "Permission was not given: the input stream was closed.".into(), then: AfterDenial::GoOn }
    }

    fn from_answer(answered: HostAnswer) -> Self {
        match answered {
            Ok(verdict) => Self::parse(&verdict),
            Err(QuestionFailure::Withdrawn) => Self::Withdrawn,
            Err(QuestionFailure::Closed) => Self::denied_on_close(),
            Err(QuestionFailure::Refused(why)) => {
                Self::Deny { message: format!("Permission was not given: {why}"), then: AfterDenial::GoOn }
            }
        }
    }

    /// Reads `{"behavior": …}`.
    pub fn parse(verdict: &RawValue) -> Self {
        let Ok(answer) = serde_json::from_str::<PermissionAnswer<'_>>(verdict.get()) else { return Self::unreadable() };
        match answer.behavior.as_str() {
            "allow" => Self::Allow {
                input: answer.updated_input.filter(|input| input.get() != "null").map(RawValue::to_owned),
                updates: answer
                    .updated_permissions
                    .iter()
                    .flatten()
                    .filter_map(|update| parse_update(update))
                    .collect(),
            },
            "deny" => {
                let said = answer.message.filter(|message| !message.trim().is_empty());
                let message = said.unwrap_or_else(|| "Permission was refused by the user.".into());
                let then = if answer.interrupt == Some(true) { AfterDenial::EndTurn } else { AfterDenial::GoOn };
                Self::Deny { message, then }
            }
            _ => Self::unreadable(),
        }
    }

    fn unreadable() -> Self {
        Self::Deny {
            message: "Permission was not given: the answer could not be read.".into(),
            then: AfterDenial::GoOn,
        }
    }
}

/// An update that cannot be read grants nothing.
fn parse_update(update: &RawValue) -> Option<PermissionUpdate> {
    serde_json::from_str(update.get())
        .inspect_err(|error| tracing::warn!(%error, "a permission update of the host is ignored"))
        .ok()
}

/// What is sent to the host about the call.
pub struct PermissionQuestion<'a> {
    pub tool: &'a str,
    pub tool_use_id: &'a str,
    pub input: &'a RawValue,
    pub accesses: &'a [Access],
    pub refusal: &'a PermissionRefusal,
    pub facts: &'a PathFacts,
    pub suggestions: &'a [RuleSuggestion],
    pub parts: Vec<CommandPart>,
    /// The agent that asks; `None` for the main thread.
    pub agent_id: Option<&'a str>,
}

/// Sends the question; the future ends with the reply or when the call is cancelled.
pub fn ask_host(
    questions: &HostQuestions,
    matter: &PermissionQuestion<'_>,
    cancel: CancellationToken,
) -> impl Future<Output = PermissionReply> + Send + use<> + 'static {
    let answered = questions.ask(HostQuestion::CanUseTool(Box::new(matter.request())), cancel);
    async move { PermissionReply::from_answer(answered.await) }
}

impl PermissionQuestion<'_> {
    fn request(&self) -> CanUseTool {
        let reason = &self.refusal.reason;
        CanUseTool {
            tool_name: self.tool.to_owned(),
            display_name: self.tool.to_owned(),
            input: self.input.to_owned(),
            description: self.description(),
            permission_suggestions: self.suggestions.iter().map(RuleSuggestion::to_json).collect(),
            blocked_path: self.blocked_path(),
            decision_reason: self.reason_in_words().map(|words| permission::escape_invisible(&words)),
            decision_reason_type: Some(reason.kind().into()),
            matched_ask_rule: matched_rule(reason),
            tool_use_id: self.tool_use_id.to_owned(),
            requires_user_interaction: matches!(reason, DecisionReason::Interaction),
            command_parts: self.parts.clone(),
            agent_id: self.agent_id.map(str::to_owned),
        }
    }

    /// Why the call is asked about, where there is more to say than that no rule allows it.
    fn reason_in_words(&self) -> Option<String> {
        match &self.refusal.reason {
            DecisionReason::NoRule => None,
            DecisionReason::WorkingDirectory => {
                let path = PathBuf::from(self.blocked_path()?);
                Some(permission::describe_file(FileAccess::Reads, Some(&path), FilePlace::Outside))
            }
            reason => Some(reason.describe()),
        }
    }

    /// What the call does: a command with its hidden characters escaped, a file with the target of its links.
    fn description(&self) -> Option<String> {
        let texts: Vec<String> = self.accesses.iter().filter_map(|access| self.describe(access)).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    fn describe(&self, access: &Access) -> Option<String> {
        match access {
            Access::Run(command) => Some(permission::escape_invisible(command)),
            Access::ReadPath(path) | Access::WritePath(path) => {
                let shown = permission::escape_invisible(&path.to_string_lossy());
                let real = self.facts.real_location(path).filter(|real| *real != path.as_path());
                Some(match real {
                    Some(real) => {
                        format!("{shown}, which is {}", permission::escape_invisible(&real.to_string_lossy()))
                    }
                    None => shown,
                })
            }
            Access::Reach { host } => Some(permission::escape_invisible(host)),
            Access::Use | Access::Harmless | Access::Interact => None,
        }
    }

    /// The path that caused the question, resolved.
    fn blocked_path(&self) -> Option<String> {
        let path = self.refusal.path.as_deref()?;
        let in_the_way = matches!(
            self.refusal.reason,
            DecisionReason::WorkingDirectory
                | DecisionReason::SafetyCheck(_)
                | DecisionReason::OpensFile { place: FilePlace::Outside, .. }
        );
        let real = self.facts.real_location(path).unwrap_or(path);
        in_the_way.then(|| real.to_string_lossy().into_owned())
    }
}

fn matched_rule(reason: &DecisionReason) -> Option<MatchedRule> {
    let DecisionReason::Rule { text, source } = reason else { return None };
    let (tool, content) = permission::rule::split_rule(text).ok()?;
    Some(MatchedRule {
        source: source.as_str().into(),
        tool_name: tool.into(),
        rule_content: content.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> PermissionReply {
        PermissionReply::from_answer(Ok(RawValue::from_string(json.to_owned()).unwrap()))
    }

    #[test]
    fn whatever_is_not_a_clear_yes_is_a_no() {
        // [SDK-103]
        for answer in ["{}", r#"{"behavior":"ALLOW"}"#, r#""allow""#, "null"] {
            let reply = read(answer);
            assert!(matches!(reply, PermissionReply::Deny { then: AfterDenial::GoOn, .. }), "{answer}: {reply:?}");
        }
        let refused = PermissionReply::from_answer(Err(QuestionFailure::Refused("no host".into())));
        assert!(matches!(refused, PermissionReply::Deny { message, .. } if message.contains("no host")));
    }

    #[test]
    fn a_yes_carries_input_and_updates() {
        // [SDK-99] [SDK-101]
        let reply = read(
            r#"{"behavior":"allow","updatedInput":{"a": 1},"updatedPermissions":[
               {"type":"addRules","rules":[{"toolName":"Bash","ruleContent":null}],"behavior":"allow"},
               {"type":"addRules","destination":"nowhere"}, 7]}"#,
        );
        let PermissionReply::Allow { input, updates } = reply else { panic!("{reply:?}") };
        assert_eq!(input.unwrap().get(), r#"{"a": 1}"#);
        assert_eq!(updates.len(), 1);
        assert_eq!(updates[0].rules.as_ref().unwrap()[0].text(), "Bash");
    }
}
