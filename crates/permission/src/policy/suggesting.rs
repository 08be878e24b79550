//! Suggestions from the same reading the decision came from.

use super::command::GrantScope;
use super::{Access, DecisionReason, PathFacts, PermissionDecision, PermissionQuery, Policy};
use crate::path::normalise;
use crate::sensitive;
use crate::shell::pattern::CommandPattern;
use crate::shell::reading::CommandReading;
use crate::shell::script::{SimpleCommand, join_raw};
use crate::shell::{git, wrapper};
use crate::suggest::{RuleSuggestion, SuggestionDestination, looks_secret, prefix};
use std::path::Path;
use wire::mode::PermissionMode;

/// More rules than this are not offered for one command.
const MAX_RULES: usize = 5;

impl Policy {
    /// What to save so that this call is not asked about again; empty when nothing narrow would do.
    pub fn suggest(&self, request: &PermissionQuery<'_>, facts: &PathFacts) -> Vec<RuleSuggestion> {
        // What a rule, a safety check or a gap in understanding asks about, no allow rule answers.
        let PermissionDecision::Ask(refusal) = self.decide(request, facts) else { return Vec::new() };
        if !matches!(refusal.reason, DecisionReason::NoRule | DecisionReason::WorkingDirectory) {
            return Vec::new();
        }
        let accesses = if request.accesses.is_empty() { &[Access::Use] } else { request.accesses };
        accesses.iter().flat_map(|access| self.suggest_access(request.tool, access, facts)).collect()
    }

    fn suggest_access(&self, tool: &str, access: &Access, facts: &PathFacts) -> Vec<RuleSuggestion> {
        let save = |content: Option<String>| {
            let rules = vec![(tool.to_owned(), content)];
            vec![RuleSuggestion::AddRules { rules, destination: SuggestionDestination::LocalSettings }]
        };
        match access {
            Access::Run(command) => self.suggest_command(tool, command, facts),
            Access::Reach { host } => save(Some(format!("domain:{host}"))),
            Access::Use => save(None),
            Access::ReadPath(path) => {
                let secret = facts.resolve_path(path).any(sensitive::is_secret);
                let rule = path.parent().filter(|dir| !secret && dir.parent().is_some()).and_then(read_rule);
                rule.into_iter().collect()
            }
            Access::WritePath(path) => self.suggest_edits(path, facts),
            Access::Harmless | Access::Interact => Vec::new(),
        }
    }

    fn suggest_edits(&self, path: &Path, facts: &PathFacts) -> Vec<RuleSuggestion> {
        let accept =
            RuleSuggestion::SetMode { mode: PermissionMode::AcceptEdits, destination: SuggestionDestination::Session };
        if self.may_change(facts.resolve_path(path)) {
            return vec![accept];
        }
        let real = facts.real(path).unwrap_or(path);
        let Some(dir) = real.parent().filter(|dir| dir.components().count() > 2) else { return Vec::new() };
        let directories = vec![dir.to_string_lossy().into_owned()];
        vec![RuleSuggestion::AddDirectories { directories, destination: SuggestionDestination::Session }, accept]
    }

    fn suggest_command(&self, tool: &str, command: &str, facts: &PathFacts) -> Vec<RuleSuggestion> {
        let reading = CommandReading::of(command);
        let Ok(units) = &reading.strict else { return Vec::new() };
        let mut rules: Vec<(String, Option<String>)> = Vec::new();
        let mut reads = Vec::new();
        for (unit, judged) in units.iter().zip(self.judge_units(units, facts, GrantScope::RulesAndMode)) {
            if judged.grant.is_some() {
                continue;
            }
            if let Some(dir) = cd_target(unit) {
                reads.extend(read_rule(&normalise(&facts.cwd.join(dir))));
                continue;
            }
            let Some(content) = rule_for(unit) else { return Vec::new() };
            let rule = (tool.to_owned(), Some(content));
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        if rules.len() > MAX_RULES {
            return Vec::new();
        }
        let save = RuleSuggestion::AddRules { rules, destination: SuggestionDestination::LocalSettings };
        let is_empty = matches!(&save, RuleSuggestion::AddRules { rules, .. } if rules.is_empty());
        (!is_empty).then_some(save).into_iter().chain(reads).collect()
    }
}

/// The target of a `cd` that is not read-only by itself.
fn cd_target(unit: &SimpleCommand) -> Option<&str> {
    match unit.words.as_slice() {
        [cd, dir] if cd.raw == "cd" && !dir.glob && !dir.tilde && !dir.text.starts_with('-') => Some(&dir.text),
        _ => None,
    }
}

/// The specifier that would allow this part, checked against it.
fn rule_for(unit: &SimpleCommand) -> Option<String> {
    let inert = unit.assignments.iter().all(|assignment| wrapper::is_inert(assignment));
    let moves = matches!(unit.words.first()?.text.as_str(), "cd" | "pushd" | "popd");
    if !inert || moves || unit.redirects.iter().any(|redirect| redirect.writes) {
        return None;
    }
    let inner = wrapper::strip_wrappers(&unit.words);
    let text = join_raw(inner);
    let exact_only = wrapper::needs_exact_rule(&unit.words) || wrapper::needs_exact_rule(inner);
    let content = if exact_only || git::loses_work(inner).is_some() {
        // A star in it would be a pattern.
        unit.text()
    } else {
        let words: Vec<_> = inner.iter().map(|word| word.raw.as_str()).collect();
        format!("{} *", prefix(&words)?)
    };
    let storable = !content.contains(['\n', '(', ')']) && !looks_secret(&content);
    let pattern = CommandPattern::parse(&content);
    let exact = exact_only == pattern.is_exact() || !exact_only;
    (storable && exact && (pattern.matches(&text) || pattern.matches(&unit.text()))).then_some(content)
}

/// Reading below `dir`, for this session.
fn read_rule(dir: &Path) -> Option<RuleSuggestion> {
    let dir = dir.to_str().filter(|dir| dir.len() > 1)?;
    let mut escaped = String::from("/");
    for c in dir.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    let rules = vec![("Read".to_owned(), Some(format!("{escaped}/**")))];
    Some(RuleSuggestion::AddRules { rules, destination: SuggestionDestination::Session })
}
