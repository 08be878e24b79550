//! The same decision, taken apart: what every part of a shell command was judged as, and by which rule.

use super::command::Grants;
use super::{Access, Decision, Facts, Policy, Reason, Request, because};
use crate::shell::reading::Reading;
use wire::settings::Behaviour;

/// How many parts of a command that is not understood are listed.
const MAX_PARTS: usize = 50;

#[derive(Clone, Debug)]
pub struct Explanation {
    pub decision: Decision,
    /// The simple commands of a shell command; empty for everything else.
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub text: String,
    /// `allow`, `ask` or `deny`.
    pub decision: &'static str,
    pub reason: Reason,
}

impl Policy {
    /// Decides, and says how each part of a command was judged.
    pub fn explain(&self, request: &Request<'_>, facts: &Facts) -> Explanation {
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
        Explanation { decision: self.decide(request, facts), parts }
    }

    fn parts(&self, command: &str, facts: &Facts) -> Vec<Part> {
        let reading = Reading::of(command);
        let judged: Vec<(String, Option<Reason>, Reason)> = match &reading.strict {
            Ok(units) => {
                let judged = self.judge(units, facts, Grants::RulesAndMode);
                let otherwise = |key: Option<String>| key.map_or(Reason::NoRule, Reason::RepositoryConfiguration);
                judged.into_iter().map(|part| (part.text, part.grant, otherwise(part.obstacle))).collect()
            }
            Err(why) => {
                let mut texts: Vec<_> = reading.suspects.iter().map(|suspect| suspect.words.join(" ")).collect();
                let mut seen = std::collections::BTreeSet::new();
                texts.retain(|text| !text.is_empty() && seen.insert(text.clone()));
                texts.truncate(MAX_PARTS);
                texts.into_iter().map(|text| (text, None, Reason::NotUnderstood(why))).collect()
            }
        };
        judged.into_iter().map(|(text, grant, otherwise)| self.part(text, grant, otherwise, facts)).collect()
    }

    fn part(&self, text: String, grant: Option<Reason>, otherwise: Reason, facts: &Facts) -> Part {
        let reading = Reading::of(&text);
        let rule = |behaviour| self.command_rule(behaviour, &reading, facts).map(because);
        let (decision, reason) = if let Some(reason) = rule(Behaviour::Deny) {
            ("deny", reason)
        } else if let Some(reason) = rule(Behaviour::Ask) {
            ("ask", reason)
        } else if let Some(reason) = grant {
            ("allow", reason)
        } else {
            ("ask", otherwise)
        };
        Part { text, decision, reason }
    }
}
