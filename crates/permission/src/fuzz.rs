//! Entry points for fuzzing: any text, no panic, no hang, and the promises that hold for every input.

use crate::access::Access;
use crate::path::{is_inside, normalise};
use crate::policy::{PathFacts, PermissionQuery, Policy, SessionDirectories};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

fn policy(behaviour: RuleBehaviour, rules: &[&str]) -> Policy {
    let rules: Vec<_> = rules
        .iter()
        .map(|text| RuleText { behaviour, source: SettingsSource::User, text: (*text).to_owned(), root: "/w".into() })
        .collect();
    let place = SessionDirectories {
        cwd: "/w".into(),
        home: Some("/home/u".into()),
        roots: vec!["/w".into()],
        ..SessionDirectories::default()
    };
    Policy::new(PermissionMode::Default, &rules, place, &Path::to_path_buf).0
}

/// A list of rules, split, compiled and asked. Returns whether anything was kept.
pub fn rules(text: &str) -> bool {
    let list = crate::rule::split_list(text);
    let borrowed: Vec<_> = list.iter().map(String::as_str).collect();
    for behaviour in [RuleBehaviour::Allow, RuleBehaviour::Ask, RuleBehaviour::Deny] {
        let policy = policy(behaviour, &borrowed);
        shell(&policy, "ls -la src");
    }
    !list.is_empty()
}

/// A command, judged. Returns `allow`, `ask` or `deny`.
pub fn command(text: &str) -> &'static str {
    shell(&policy(RuleBehaviour::Allow, &["Bash(git log:*)"]), text)
}

fn shell(policy: &Policy, command: &str) -> &'static str {
    let accesses = [Access::Run(command.to_owned())];
    let request = PermissionQuery::new("Bash", &accesses);
    let facts = PathFacts::gather("/w".into(), policy.needs(&request, Path::new("/w")), normalise);
    policy.decide(&request, &facts).as_str()
}

/// A denied command on a line of its own before any text is never allowed.
pub fn denied_behind(text: &str) {
    let policy = policy(RuleBehaviour::Deny, &["Bash(evil:*)"]);
    let decision = shell(&policy, &format!("evil x\n{text}"));
    assert_eq!(decision, "deny", "{text:?}");
}

/// Whether a path may be read in a session without rules.
pub fn path_without_rules(path: &str) -> bool {
    let policy = policy(RuleBehaviour::Allow, &[]);
    let path = normalise(&PathBuf::from("/w").join(path));
    let accesses = [Access::ReadPath(path.clone())];
    let request = PermissionQuery::new("Read", &accesses);
    let facts = PathFacts::gather("/w".into(), policy.needs(&request, Path::new("/w")), Path::to_path_buf);
    policy.decide(&request, &facts).is_allow() && !is_inside(&path, &[PathBuf::from("/w")])
}

/// A path rule and a path. Returns whether a read is allowed; what is outside needs a rule.
pub fn path(rule: &str, path: &str) -> bool {
    let policy = policy(RuleBehaviour::Allow, &[&format!("Read({rule})")]);
    let path = normalise(&PathBuf::from("/w").join(path));
    let accesses = [Access::ReadPath(path.clone())];
    let request = PermissionQuery::new("Read", &accesses);
    let facts = PathFacts::gather("/w".into(), policy.needs(&request, Path::new("/w")), Path::to_path_buf);
    let allowed = policy.decide(&request, &facts).is_allow();
    let by_rule = policy.has_rules() || is_inside(&path, &[PathBuf::from("/w")]);
    assert!(!allowed || by_rule, "allowed without a rule: {}", path.display());
    allowed
}
