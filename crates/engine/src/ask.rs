//! Questions to the host. One `can_use_tool` request for each call that needs leave; the call waits, nothing else does. A
//! question ends in exactly one reply: the host's, a withdrawal when the turn is interrupted, or a refusal when nobody is
//! left to answer. There is no timeout, and an answer that cannot be read is a refusal.

use crate::desk::{self, Answered, Desk, Unanswered};
use permission::{Access, Facts, Reason, Refusal, Suggestion};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use wire::control::{CanUseTool, CommandPart, MatchedRule, PermissionAnswer, PermissionUpdate};

/// Who is asked when a call needs leave.
#[derive(Clone, Debug)]
pub(crate) enum Asker {
    /// Nobody: a question is a refusal.
    Nobody,
    /// The host on the other end of the protocol.
    Host(Desk),
    /// A tool of an MCP server, by its full name (`--permission-prompt-tool`).
    Tool(String),
}

#[derive(Debug)]
pub(crate) enum Reply {
    Allow {
        input: Option<Box<RawValue>>,
        updates: Vec<PermissionUpdate>,
    },
    Deny {
        message: String,
        then: Then,
    },
    /// The turn was interrupted while the question was open.
    Withdrawn,
}

/// What follows a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    GoOn,
    EndTurn,
}

impl Reply {
    pub(crate) fn closed() -> Self {
        Self::Deny { message: "Permission was not given: the input stream was closed.".into(), then: Then::GoOn }
    }

    fn of(answered: Answered) -> Self {
        match answered {
            Ok(verdict) => Self::verdict(&verdict),
            Err(Unanswered::Withdrawn) => Self::Withdrawn,
            Err(Unanswered::Closed) => Self::closed(),
            Err(Unanswered::Refused(why)) => {
                Self::Deny { message: format!("Permission was not given: {why}"), then: Then::GoOn }
            }
        }
    }

    /// Reads `{"behavior": …}`.
    pub(crate) fn verdict(verdict: &RawValue) -> Self {
        let Ok(answer) = serde_json::from_str::<PermissionAnswer<'_>>(verdict.get()) else { return Self::unreadable() };
        match answer.behavior.as_str() {
            "allow" => Self::Allow {
                input: answer.updated_input.filter(|input| input.get() != "null").map(RawValue::to_owned),
                updates: answer.updated_permissions.iter().flatten().filter_map(|update| read_update(update)).collect(),
            },
            "deny" => {
                let said = answer.message.filter(|message| !message.trim().is_empty());
                let message = said.unwrap_or_else(|| "Permission was refused by the user.".into());
                let then = if answer.interrupt == Some(true) { Then::EndTurn } else { Then::GoOn };
                Self::Deny { message, then }
            }
            _ => Self::unreadable(),
        }
    }

    fn unreadable() -> Self {
        Self::Deny { message: "Permission was not given: the answer could not be read.".into(), then: Then::GoOn }
    }
}

/// An update that cannot be read grants nothing.
fn read_update(update: &RawValue) -> Option<PermissionUpdate> {
    serde_json::from_str(update.get())
        .inspect_err(|error| tracing::warn!(%error, "a permission update of the host is ignored"))
        .ok()
}

/// What the host is told about the call.
pub(crate) struct Matter<'a> {
    pub tool: &'a str,
    pub tool_use_id: &'a str,
    pub input: &'a RawValue,
    pub accesses: &'a [Access],
    pub refusal: &'a Refusal,
    pub facts: &'a Facts,
    pub suggestions: &'a [Suggestion],
    pub parts: Vec<CommandPart>,
    /// The agent that asks.
    pub agent_id: Option<&'a str>,
}

/// Poses the question; the future ends with its reply, or when the call is cancelled.
pub(crate) fn pose(
    desk: &Desk,
    matter: &Matter<'_>,
    cancel: CancellationToken,
) -> impl Future<Output = Reply> + Send + use<> + 'static {
    let answered = desk.ask(desk::Matter::Permission, matter.request(), cancel);
    async move { Reply::of(answered.await) }
}

impl<'a> Matter<'a> {
    fn request(&self) -> CanUseTool<'a> {
        let reason = &self.refusal.reason;
        CanUseTool {
            subtype: "can_use_tool",
            tool_name: self.tool,
            display_name: self.tool,
            input: self.input,
            description: self.description(),
            permission_suggestions: self.suggestions.iter().map(Suggestion::to_json).collect(),
            blocked_path: self.blocked_path(),
            decision_reason: Some(permission::visible(&reason.describe())),
            decision_reason_type: Some(reason.kind()),
            matched_ask_rule: matched_rule(reason),
            tool_use_id: self.tool_use_id,
            requires_user_interaction: matches!(reason, Reason::Interaction),
            command_parts: self.parts.clone(),
            agent_id: self.agent_id,
        }
    }

    /// What really happens, spelled out: a command with its hidden characters, a file where its links lead.
    fn description(&self) -> Option<String> {
        let texts: Vec<String> = self.accesses.iter().filter_map(|access| self.describe(access)).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    fn describe(&self, access: &Access) -> Option<String> {
        match access {
            Access::Run(command) => Some(permission::visible(command)),
            Access::ReadPath(path) | Access::WritePath(path) => {
                let shown = permission::visible(&path.to_string_lossy());
                let real = self.facts.real_location(path).filter(|real| *real != path.as_path());
                Some(match real {
                    Some(real) => format!("{shown}, which is {}", permission::visible(&real.to_string_lossy())),
                    None => shown,
                })
            }
            Access::Reach { host } => Some(permission::visible(host)),
            Access::Use | Access::Harmless | Access::Interact => None,
        }
    }

    /// The path that stood in the way, where it really is.
    fn blocked_path(&self) -> Option<String> {
        let path = self.refusal.path.as_deref()?;
        let outside = self.suggestions.iter().any(|suggestion| match suggestion {
            Suggestion::AddDirectories { .. } => true,
            Suggestion::AddRules { .. } | Suggestion::SetMode { .. } => false,
        });
        let in_the_way = match self.refusal.reason {
            Reason::WorkingDirectory | Reason::SafetyCheck(_) => true,
            Reason::Rule { .. }
            | Reason::Mode(_)
            | Reason::ReadOnlyCommand
            | Reason::Harmless
            | Reason::NotUnderstood(_)
            | Reason::Reads(_)
            | Reason::Sandboxed
            | Reason::SandboxOverride
            | Reason::Hook(_)
            | Reason::Interaction
            | Reason::NoRule => outside,
        };
        let real = self.facts.real_location(path).unwrap_or(path);
        in_the_way.then(|| real.to_string_lossy().into_owned())
    }
}

fn matched_rule(reason: &Reason) -> Option<MatchedRule> {
    let Reason::Rule { text, source } = reason else { return None };
    let (tool, content) = permission::rule::parts(text).ok()?;
    Some(MatchedRule { source: source.as_str(), tool_name: tool.into(), rule_content: content.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Reply {
        Reply::of(Ok(RawValue::from_string(json.to_owned()).unwrap()))
    }

    #[test]
    fn whatever_is_not_a_clear_yes_is_a_no() {
        // [SDK-103]
        for answer in ["{}", r#"{"behavior":"ALLOW"}"#, r#""allow""#, "null"] {
            let reply = read(answer);
            assert!(matches!(reply, Reply::Deny { then: Then::GoOn, .. }), "{answer}: {reply:?}");
        }
        let refused = Reply::of(Err(Unanswered::Refused("no host".into())));
        assert!(matches!(refused, Reply::Deny { message, .. } if message.contains("no host")));
    }

    #[test]
    fn a_yes_carries_input_and_updates() {
        // [SDK-99] [SDK-101]
        let reply = read(
            r#"{"behavior":"allow","updatedInput":{"a": 1},"updatedPermissions":[
               {"type":"addRules","rules":[{"toolName":"Bash","ruleContent":null}],"behavior":"allow"},
               {"type":"addRules","destination":"nowhere"}, 7]}"#,
        );
        let Reply::Allow { input, updates } = reply else { panic!("{reply:?}") };
        assert_eq!(input.unwrap().get(), r#"{"a": 1}"#);
        assert_eq!(updates.len(), 1);
        assert_eq!(updates[0].rules.as_ref().unwrap()[0].text(), "Bash");
    }
}
