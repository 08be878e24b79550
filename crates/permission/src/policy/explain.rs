//! The same decision, taken apart: what every part of a shell command was judged as, and by which rule.

use super::command::GrantScope;
use super::{Access, DecisionReason, PathFacts, PermissionDecision, PermissionQuery, Policy, rule_reason};
use crate::shell::reading::CommandReading;
use crate::shell::second_opinion;
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
        let judged: Vec<(String, Option<DecisionReason>, DecisionReason)> = match &reading.strict {
            Ok(units) => {
                let judged = self.judge_units(units, facts, GrantScope::RulesAndMode);
                let otherwise =
                    |key: Option<String>| key.map_or(DecisionReason::NoRule, DecisionReason::RepositoryConfiguration);
                judged.into_iter().map(|part| (part.text, part.grant, otherwise(part.obstacle))).collect()
            }
            Err(_) if self.only_reads(&reading, facts) => {
                let units = reading.units().iter();
                units.map(|unit| (unit.text(), Some(DecisionReason::ReadOnlyCommand), DecisionReason::NoRule)).collect()
            }
            Err(why) => {
                let mut texts: Vec<_> = reading.suspects.iter().map(|suspect| suspect.words.join(" ")).collect();
                let mut seen = std::collections::BTreeSet::new();
                // The second parser gets other characters in the place of those that are not ASCII.
                texts.retain(|text| !text.is_empty() && seen.insert(second_opinion::ascii(text)));
                texts.truncate(MAX_PARTS);
                texts.into_iter().map(|text| (text, None, DecisionReason::NotUnderstood(why))).collect()
            }
        };
        judged.into_iter().map(|(text, grant, otherwise)| self.part(&text, grant, otherwise, facts)).collect()
    }

    fn part(
        &self,
        text: &str,
        grant: Option<DecisionReason>,
        otherwise: DecisionReason,
        facts: &PathFacts,
    ) -> ExplainedPart {
        let reading = CommandReading::of(text);
        let rule = |behaviour| self.command_rule(behaviour, &reading, facts).map(rule_reason);
        let (decision, reason) = if let Some(reason) = rule(RuleBehaviour::Deny) {
            ("deny", reason)
        } else if let Some(reason) = rule(RuleBehaviour::Ask) {
            ("ask", reason)
        } else if let Some(reason) = grant {
            ("allow", reason)
        } else {
            ("ask", otherwise)
        };
        ExplainedPart { text: escape_invisible(text), decision, reason }
    }
}
