//! What is wrong with a set of rules: those that can never match, that another rule takes over, and that allow more
//! than they seem to. Says nothing about rules that work as they look.

use crate::policy::{Policy, SessionDirectories};
use crate::rule::{PermissionRule, RuleTarget, split_rule};
use crate::shell::pattern::CommandPattern;
use crate::shell::wrapper::{base_name, may_run_others};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleProblem {
    /// Ignored, or written so that nothing fits it.
    NeverMatches,
    /// Another rule always answers first.
    Shadowed,
    /// Allows more than it seems to.
    Wide,
    /// Works, but probably not as meant.
    Suspicious,
}

impl RuleProblem {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NeverMatches => "never-matches",
            Self::Shadowed => "shadowed",
            Self::Wide => "wide",
            Self::Suspicious => "suspicious",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFinding {
    pub rule: String,
    pub behaviour: RuleBehaviour,
    pub source: SettingsSource,
    pub problem: RuleProblem,
    pub message: String,
}

pub fn lint(rules: &[RuleText], place: &SessionDirectories, resolve: &dyn Fn(&Path) -> PathBuf) -> Vec<RuleFinding> {
    let mut found = Vec::new();
    let mut kept: Vec<PermissionRule> = Vec::new();
    for text in rules {
        let (policy, warnings) =
            Policy::new(PermissionMode::Default, std::slice::from_ref(text), place.clone(), resolve);
        let report = |problem, message: String| RuleFinding {
            rule: text.text.clone(),
            behaviour: text.behaviour,
            source: text.source,
            problem,
            message,
        };
        let compiled = policy.into_rules().into_iter().next();
        let ignored = compiled.is_none();
        let problem = if ignored { RuleProblem::NeverMatches } else { RuleProblem::Suspicious };
        found.extend(warnings.into_iter().map(|warning| report(problem, warning.problem)));
        let Some(rule) = compiled else { continue };
        let own = never_matches_reason(&rule).map(|message| (RuleProblem::NeverMatches, message));
        found.extend(
            own.or_else(|| too_wide_reason(&rule).map(|message| (RuleProblem::Wide, message)))
                .map(|(p, m)| report(p, m)),
        );
        kept.push(rule);
    }
    found.extend(kept.iter().enumerate().filter_map(|(at, rule)| find_shadowing_rule(at, rule, &kept)));
    found
}

fn never_matches_reason(rule: &PermissionRule) -> Option<String> {
    let RuleTarget::Command(pattern) = &rule.target else { return None };
    let (_, spec) = split_rule(&rule.text).ok()?;
    let spec = spec?;
    if let Some((head, _)) = spec.split_once(":*").filter(|(_, tail)| !tail.is_empty()) {
        return Some(format!("`:*` counts only at the very end; write {head} * instead"));
    }
    let joined = ["&&", "||", ";", "|"].iter().find(|operator| spec.contains(**operator));
    if let Some(operator) = joined.filter(|_| !pattern.is_exact() && rule.behaviour == RuleBehaviour::Allow) {
        return Some(format!("the parts around {operator} are judged one by one; write one rule for each"));
    }
    let program = base_name(spec.split([' ', '*', ':']).next().unwrap_or(""));
    let exact_only = matches!(program, "watch" | "setsid" | "ionice" | "flock");
    (exact_only && !pattern.is_exact() && rule.behaviour == RuleBehaviour::Allow)
        .then(|| format!("{program} runs other programs; only a rule with the exact command approves it"))
}

#[rustfmt::skip]
const RUN_ANYTHING: &[&str] = &[
    "python", "python3", "node", "ruby", "perl", "php", "npx", "bunx", "uvx", "docker", "podman", "make", "deno", "awk", "gawk",
    "direnv", "mise", "devbox", "kubectl", "osascript", "vim", "vi", "pwsh",
];

fn too_wide_reason(rule: &PermissionRule) -> Option<String> {
    if rule.behaviour != RuleBehaviour::Allow {
        return None;
    }
    match &rule.target {
        RuleTarget::Tool(name) if name == "Bash" => Some("every shell command runs without a question".into()),
        RuleTarget::Tool(name) if matches!(name.as_str(), "Edit" | "Write") => {
            Some("files anywhere may be changed without a question".into())
        }
        RuleTarget::Command(CommandPattern::Prefix(text)) => {
            let program = base_name(text.split(' ').next().unwrap_or(""));
            let bare = !text.contains(' ');
            (bare && (RUN_ANYTHING.contains(&program) || may_run_others(program)))
                .then(|| format!("{program} can run any other program, so this allows everything"))
        }
        RuleTarget::Command(CommandPattern::Wild(text)) => Some(wide_pattern(text)),
        RuleTarget::Edit(_) | RuleTarget::Read(_) => {
            let (_, spec) = split_rule(&rule.text).ok()?;
            let everywhere = matches!(spec?, "//**" | "//" | "//*" | "~/**" | "~" | "~/");
            everywhere.then(|| "it covers a whole file system or home directory".into())
        }
        RuleTarget::Domain(domain) if domain == "*" => Some("every host may be reached".into()),
        RuleTarget::Tool(_)
        | RuleTarget::Command(_)
        | RuleTarget::Domain(_)
        | RuleTarget::Agent(_)
        | RuleTarget::Skill { .. }
        | RuleTarget::Parameter(_)
        | RuleTarget::Unjudged(_) => None,
    }
}

fn wide_pattern(text: &str) -> String {
    match text.strip_suffix('*') {
        Some(head) if !head.contains('*') && !head.ends_with(' ') => {
            format!("without a blank before the star it also allows other programs that begin with {head}")
        }
        _ => "a star in the middle stands for any words, options included".into(),
    }
}

fn find_shadowing_rule(at: usize, rule: &PermissionRule, all: &[PermissionRule]) -> Option<RuleFinding> {
    let rank = |behaviour: RuleBehaviour| match behaviour {
        RuleBehaviour::Deny => 2,
        RuleBehaviour::Ask => 1,
        RuleBehaviour::Allow => 0,
    };
    let stronger = |(index, other): &(usize, &PermissionRule)| {
        let earlier = rank(other.behaviour) > rank(rule.behaviour)
            || (other.behaviour == rule.behaviour && (*index < at || !covers(rule, other)));
        *index != at && earlier && covers(other, rule)
    };
    let (_, by) = all.iter().enumerate().find(stronger)?;
    let verb = match by.behaviour {
        RuleBehaviour::Deny => "denied",
        RuleBehaviour::Ask => "asked about",
        RuleBehaviour::Allow => "allowed",
    };
    Some(RuleFinding {
        rule: rule.text.clone(),
        behaviour: rule.behaviour,
        source: rule.source,
        problem: RuleProblem::Shadowed,
        message: format!("what it matches is already {verb} by {} ({})", by.text, by.source.as_str()),
    })
}

/// Whether `outer` matches at least everything `inner` does. Says no when it is not certain.
fn covers(outer: &PermissionRule, inner: &PermissionRule) -> bool {
    match (&outer.target, &inner.target) {
        (RuleTarget::Tool(_), RuleTarget::Tool(tool)) => outer.covers_tool(tool),
        (RuleTarget::Tool(_), RuleTarget::Command(_)) => outer.covers_tool("Bash"),
        (RuleTarget::Tool(_), RuleTarget::Domain(_)) => outer.covers_tool("WebFetch"),
        (RuleTarget::Tool(_), RuleTarget::Agent(_)) => outer.covers_tool("Agent"),
        (RuleTarget::Tool(_), RuleTarget::Skill { .. }) => outer.covers_tool("Skill"),
        (RuleTarget::Command(outer), RuleTarget::Command(inner)) => match inner {
            CommandPattern::Exact(text) | CommandPattern::Prefix(text) => {
                outer.matches(text) && !narrower(outer, inner)
            }
            CommandPattern::Wild(_) => outer == inner,
        },
        (RuleTarget::Domain(outer), RuleTarget::Domain(inner)) => crate::domain::matches(outer, inner),
        (RuleTarget::Read(_), RuleTarget::Read(_)) | (RuleTarget::Edit(_), RuleTarget::Edit(_)) => {
            outer.text == inner.text && outer.source == inner.source
        }
        (RuleTarget::Agent(outer), RuleTarget::Agent(inner)) => outer == inner,
        _ => false,
    }
}

/// An exact pattern covers no prefix.
fn narrower(outer: &CommandPattern, inner: &CommandPattern) -> bool {
    outer.is_exact() && !inner.is_exact()
}

#[cfg(test)]
#[path = "lint_tests.rs"]
mod tests;
