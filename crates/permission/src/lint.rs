//! What is wrong with a set of rules: those that can never match, that another rule takes over, and that allow more
//! than they seem to. Says nothing about rules that work as they look.

use crate::policy::{Place, Policy};
use crate::rule::{Rule, Target, parts};
use crate::shell::pattern::CommandPattern;
use crate::shell::wrapper::{base_name, may_run_others};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::{Behaviour, RuleText, Source};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Ignored, or written so that nothing fits it.
    NeverMatches,
    /// Another rule always answers first.
    Shadowed,
    /// Allows more than it seems to.
    Wide,
    /// Works, but probably not as meant.
    Suspicious,
}

impl Problem {
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
pub struct Finding {
    pub rule: String,
    pub behaviour: Behaviour,
    pub source: Source,
    pub problem: Problem,
    pub message: String,
}

pub fn lint(rules: &[RuleText], place: &Place, resolve: &dyn Fn(&Path) -> PathBuf) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut kept: Vec<Rule> = Vec::new();
    for text in rules {
        let (policy, warnings) =
            Policy::new(PermissionMode::Default, std::slice::from_ref(text), place.clone(), resolve);
        let report = |problem, message: String| Finding {
            rule: text.text.clone(),
            behaviour: text.behaviour,
            source: text.source,
            problem,
            message,
        };
        let compiled = policy.into_rules().into_iter().next();
        let ignored = compiled.is_none();
        let problem = if ignored { Problem::NeverMatches } else { Problem::Suspicious };
        found.extend(warnings.into_iter().map(|warning| report(problem, warning.problem)));
        let Some(rule) = compiled else { continue };
        let own = never(&rule).map(|message| (Problem::NeverMatches, message));
        found.extend(own.or_else(|| wide(&rule).map(|message| (Problem::Wide, message))).map(|(p, m)| report(p, m)));
        kept.push(rule);
    }
    found.extend(kept.iter().enumerate().filter_map(|(at, rule)| shadow(at, rule, &kept)));
    found
}

fn never(rule: &Rule) -> Option<String> {
    let Target::Command(pattern) = &rule.target else { return None };
    let (_, spec) = parts(&rule.text).ok()?;
    let spec = spec?;
    if let Some((head, _)) = spec.split_once(":*").filter(|(_, tail)| !tail.is_empty()) {
        return Some(format!("`:*` counts only at the very end; write {head} * instead"));
    }
    let joined = ["&&", "||", ";", "|"].iter().find(|operator| spec.contains(**operator));
    if let Some(operator) = joined.filter(|_| !pattern.is_exact() && rule.behaviour == Behaviour::Allow) {
        return Some(format!("the parts around {operator} are judged one by one; write one rule for each"));
    }
    let program = base_name(spec.split([' ', '*', ':']).next().unwrap_or(""));
    let exact_only = matches!(program, "watch" | "setsid" | "ionice" | "flock");
    (exact_only && !pattern.is_exact() && rule.behaviour == Behaviour::Allow)
        .then(|| format!("{program} runs other programs; only a rule with the exact command approves it"))
}

#[rustfmt::skip]
const RUN_ANYTHING: &[&str] = &[
    "python", "python3", "node", "ruby", "perl", "php", "npx", "bunx", "uvx", "docker", "podman", "make", "deno", "awk", "gawk",
    "direnv", "mise", "devbox", "kubectl", "osascript", "vim", "vi", "pwsh",
];

fn wide(rule: &Rule) -> Option<String> {
    if rule.behaviour != Behaviour::Allow {
        return None;
    }
    match &rule.target {
        Target::Tool(name) if name == "Bash" => Some("every shell command runs without a question".into()),
        Target::Tool(name) if matches!(name.as_str(), "Edit" | "Write") => {
            Some("files anywhere may be changed without a question".into())
        }
        Target::Command(CommandPattern::Prefix(text)) => {
            let program = base_name(text.split(' ').next().unwrap_or(""));
            let bare = !text.contains(' ');
            (bare && (RUN_ANYTHING.contains(&program) || may_run_others(program)))
                .then(|| format!("{program} can run any other program, so this allows everything"))
        }
        Target::Command(CommandPattern::Wild(text)) => Some(wide_pattern(text)),
        Target::Edit(_) | Target::Read(_) => {
            let (_, spec) = parts(&rule.text).ok()?;
            let everywhere = matches!(spec?, "//**" | "//" | "//*" | "~/**" | "~" | "~/");
            everywhere.then(|| "it covers a whole file system or home directory".into())
        }
        Target::Domain(domain) if domain == "*" => Some("every host may be reached".into()),
        Target::Tool(_)
        | Target::Command(_)
        | Target::Domain(_)
        | Target::Agent(_)
        | Target::Skill { .. }
        | Target::Parameter(_)
        | Target::Unjudged(_) => None,
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

fn shadow(at: usize, rule: &Rule, all: &[Rule]) -> Option<Finding> {
    let rank = |behaviour: Behaviour| match behaviour {
        Behaviour::Deny => 2,
        Behaviour::Ask => 1,
        Behaviour::Allow => 0,
    };
    let stronger = |(index, other): &(usize, &Rule)| {
        let earlier = rank(other.behaviour) > rank(rule.behaviour)
            || (other.behaviour == rule.behaviour && (*index < at || !covers(rule, other)));
        *index != at && earlier && covers(other, rule)
    };
    let (_, by) = all.iter().enumerate().find(stronger)?;
    let verb = match by.behaviour {
        Behaviour::Deny => "denied",
        Behaviour::Ask => "asked about",
        Behaviour::Allow => "allowed",
    };
    Some(Finding {
        rule: rule.text.clone(),
        behaviour: rule.behaviour,
        source: rule.source,
        problem: Problem::Shadowed,
        message: format!("what it matches is already {verb} by {} ({})", by.text, by.source.as_str()),
    })
}

/// Whether `outer` matches at least everything `inner` does. Says no when it is not certain.
fn covers(outer: &Rule, inner: &Rule) -> bool {
    match (&outer.target, &inner.target) {
        (Target::Tool(_), Target::Tool(tool)) => outer.covers_tool(tool),
        (Target::Tool(_), Target::Command(_)) => outer.covers_tool("Bash"),
        (Target::Tool(_), Target::Domain(_)) => outer.covers_tool("WebFetch"),
        (Target::Tool(_), Target::Agent(_)) => outer.covers_tool("Agent"),
        (Target::Tool(_), Target::Skill { .. }) => outer.covers_tool("Skill"),
        (Target::Command(outer), Target::Command(inner)) => match inner {
            CommandPattern::Exact(text) | CommandPattern::Prefix(text) => {
                outer.matches(text) && !narrower(outer, inner)
            }
            CommandPattern::Wild(_) => outer == inner,
        },
        (Target::Domain(outer), Target::Domain(inner)) => crate::domain::matches(outer, inner),
        (Target::Read(_), Target::Read(_)) | (Target::Edit(_), Target::Edit(_)) => {
            outer.text == inner.text && outer.source == inner.source
        }
        (Target::Agent(outer), Target::Agent(inner)) => outer == inner,
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
