//! What a sandbox changes about decisions, and what it does not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use permission::{Access, CommandConfinement, DecisionReason, PathFacts, PermissionQuery, Policy, SessionDirectories};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

fn decide(
    mode: PermissionMode,
    rules: &[(RuleBehaviour, &str)],
    command: &str,
    held: CommandConfinement,
) -> (String, DecisionReason) {
    let rule = |(behaviour, text): &(RuleBehaviour, &str)| RuleText {
        behaviour: *behaviour,
        source: SettingsSource::User,
        text: (*text).to_owned(),
        root: "/w".into(),
    };
    let rules: Vec<RuleText> = rules.iter().map(rule).collect();
    let place = SessionDirectories {
        cwd: "/w".into(),
        home: Some("/h".into()),
        roots: vec!["/w".into()],
        ..SessionDirectories::default()
    };
    let same = |path: &Path| path.to_path_buf();
    let (policy, _) = Policy::new(mode, &rules, place, &same);
    let accesses = [Access::Run(command.to_owned())];
    let request = PermissionQuery::new("Bash", &accesses).with_confinement(held);
    let cwd = PathBuf::from("/w");
    let facts = PathFacts::gather(cwd.clone(), policy.needs(&request, &cwd), same);
    let decision = policy.decide(&request, &facts);
    (decision.as_str().to_owned(), decision.reason().clone())
}

/// Mode, rules, command, confinement, decision.
type Case = (PermissionMode, &'static [(RuleBehaviour, &'static str)], &'static str, CommandConfinement, &'static str);

#[test]
fn the_sandbox_stands_in_for_a_question_and_for_nothing_else() {
    // [CLI-200] SC-F07
    use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
    use RuleBehaviour::{Ask, Deny};
    let cases: &[Case] = &[
        (Default, &[], "make all", CommandConfinement::Not, "ask"),
        (Default, &[], "make all", CommandConfinement::Sandboxed, "allow"),
        (Default, &[], "eval \"$x\"", CommandConfinement::Sandboxed, "allow"),
        (DontAsk, &[], "make all", CommandConfinement::Sandboxed, "allow"),
        (Default, &[(Ask, "Bash")], "make all", CommandConfinement::Sandboxed, "allow"),
        (Default, &[(Ask, "Bash(*)")], "make all", CommandConfinement::Sandboxed, "allow"),
        (Default, &[(Ask, "Bash(make *)")], "make all", CommandConfinement::Sandboxed, "ask"),
        (Default, &[(Deny, "Bash(make *)")], "make all", CommandConfinement::Sandboxed, "deny"),
        (Default, &[(Deny, "Bash")], "make all", CommandConfinement::Sandboxed, "deny"),
        (Default, &[], "rm -rf /", CommandConfinement::Sandboxed, "ask"),
        (Default, &[], "rm -rf ~", CommandConfinement::Sandboxed, "ask"),
        (Plan, &[], "make all", CommandConfinement::Sandboxed, "deny"),
        (Plan, &[(Ask, "Bash")], "ls", CommandConfinement::Sandboxed, "ask"),
        (Default, &[(RuleBehaviour::Allow, "Bash(make *)")], "make all", CommandConfinement::Escaping, "ask"),
        (AcceptEdits, &[], "touch x", CommandConfinement::Escaping, "ask"),
        (DontAsk, &[(RuleBehaviour::Allow, "Bash")], "make all", CommandConfinement::Escaping, "deny"),
        (BypassPermissions, &[], "make all", CommandConfinement::Escaping, "allow"),
    ];
    for (mode, rules, command, held, expected) in cases {
        let (decided, reason) = decide(*mode, rules, command, *held);
        assert_eq!(decided, *expected, "{mode:?} {rules:?} {command} {held:?}: {reason:?}");
    }
    assert_eq!(decide(Default, &[], "make", CommandConfinement::Escaping).1.kind(), "sandboxOverride");
}
