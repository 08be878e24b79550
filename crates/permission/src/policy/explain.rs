//! The same decision, taken apart: what every part of a shell command was judged as, and by which rule.

use super::command::{GrantScope, UnitVerdict};
use super::{Access, DecisionReason, PathFacts, PermissionDecision, PermissionQuery, Policy, rule_reason};
use crate::shell::reading::CommandReading;
use crate::shell::script::{self, SimpleCommand};
use wire::deceptive::escape_invisible;
use wire::settings::RuleBehaviour;

/// How many parts of a command that is not understood are listed.
const MAX_PARTS: usize = 50;

#[derive(Clone, Debug)]
pub struct DecisionExplanation {
    pub decision: PermissionDecision,
    /// The simple commands of a shell command; empty for everything else.
    pub parts: Vec<ExplainedPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedPart {
    /// With invisible and reordering characters spelled out.
    pub text: String,
    /// `allow`, `ask` or `deny`.
    pub decision: &'static str,
    pub reason: DecisionReason,
}

impl Policy {
    /// Decides, and says how each part of a command was judged.
    pub fn explain(&self, request: &PermissionQuery<'_>, facts: &PathFacts) -> DecisionExplanation {
        let commands = request.accesses.iter().filter_map(|access| match access {
            Access::Run(command) => Some(command),
            Access::ReadPath(_)
            | Access::WritePath(_)
            | Access::Reach { .. }
            | Access::Use
            | Access::Harmless
            | Access::Interact => None,
        });
        let parts = commands.flat_map(|command| self.parts(command, facts)).collect();
        DecisionExplanation { decision: self.decide(request, facts), parts }
    }

    fn parts(&self, command: &str, facts: &PathFacts) -> Vec<ExplainedPart> {
        let reading = CommandReading::of(command);
        let mut parts: Vec<ExplainedPart> = match &reading.strict {
            Ok(units) => {
                let judged = self.judge_units(units, facts, GrantScope::RulesAndMode);
                judged.into_iter().map(|part| self.understood_part(part, facts)).collect()
            }
            Err(why) => self.parts_of_unclear(&reading, why, facts),
        };
        merge_same(&mut parts);
        parts
    }

    fn understood_part(&self, part: UnitVerdict, facts: &PathFacts) -> ExplainedPart {
        let text = if part.written.is_empty() { part.text.clone() } else { part.written.clone() };
        let judged = CommandReading::of(&part.text);
        let grant = part.grant.clone();
        self.part(&text, &judged, grant.ok_or_else(|| part.missing_reason()), facts)
    }

    /// The parts of a command that is not understood as a whole: each is looked at by itself, until one changes what the
    /// rest may mean.
    fn parts_of_unclear(&self, reading: &CommandReading, why: &'static str, facts: &PathFacts) -> Vec<ExplainedPart> {
        let is_understood = self.only_reads(reading, facts);
        let mut is_unclear = reading.defines_function;
        let mut parts = Vec::new();
        for text in reading.written.iter().take(MAX_PARTS) {
            let alone = CommandReading::of(text);
            let reason = match &alone.strict {
                _ if is_understood => Ok(DecisionReason::ReadOnlyCommand),
                _ if is_unclear => Err(DecisionReason::NotUnderstood(why)),
                Ok(units) => self.reason_for_all(units, facts),
                Err(_) if self.only_reads(&alone, facts) => Ok(DecisionReason::ReadOnlyCommand),
                Err(why) => Err(DecisionReason::NotUnderstood(why)),
            };
            is_unclear |= changes_shell(text);
            parts.push(self.part(text, &alone, reason, facts));
        }
        // Each is harmless by itself: then it is the whole that is not clear.
        if !is_understood && parts.iter().all(|part| part.decision == "allow") {
            for part in &mut parts {
                (part.decision, part.reason) = ("ask", DecisionReason::NotUnderstood(why));
            }
        }
        parts
    }

    /// What grants all of these, or why the first that nothing grants is asked about.
    fn reason_for_all(&self, units: &[SimpleCommand], facts: &PathFacts) -> Result<DecisionReason, DecisionReason> {
        let mut granted = DecisionReason::ReadOnlyCommand;
        for part in self.judge_units(units, facts, GrantScope::RulesAndMode) {
            match part.grant.clone() {
                None => return Err(part.missing_reason()),
                Some(DecisionReason::ReadOnlyCommand) => {}
                Some(reason) => granted = reason,
            }
        }
        Ok(granted)
    }

    fn part(
        &self,
        text: &str,
        reading: &CommandReading,
        grant: Result<DecisionReason, DecisionReason>,
        facts: &PathFacts,
    ) -> ExplainedPart {
        let rule = |behaviour| self.command_rule(behaviour, reading, facts).map(rule_reason);
        let (decision, reason) = if let Some(reason) = rule(RuleBehaviour::Deny) {
            ("deny", reason)
        } else if let Some(reason) = rule(RuleBehaviour::Ask) {
            ("ask", reason)
        } else {
            match grant {
                Ok(reason) => ("allow", reason),
                Err(reason) => ("ask", reason),
            }
        };
        ExplainedPart { text: escape_invisible(text), decision, reason }
    }
}

/// Each part once, with the strictest decision about it.
fn merge_same(parts: &mut Vec<ExplainedPart>) {
    let rank = |part: &ExplainedPart| ["allow", "ask", "deny"].iter().position(|known| *known == part.decision);
    let mut merged: Vec<ExplainedPart> = Vec::new();
    for part in parts.drain(..).filter(|part| !part.text.is_empty()) {
        match merged.iter_mut().find(|known| known.text == part.text) {
            Some(known) if rank(known) < rank(&part) => *known = part,
            Some(_) => {}
            None => merged.push(part),
        }
    }
    *parts = merged;
}

/// Whether what follows a part may mean something else because of it.
fn changes_shell(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.contains(['=', '$', '`']) || script::changes_shell(first)
}
