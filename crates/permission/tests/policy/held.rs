//! What a sandbox changes about decisions, and what it does not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use permission::{Access, Facts, Held, Place, Policy, Reason, Request};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::{Behaviour, RuleText, Source};

fn decide(mode: PermissionMode, rules: &[(Behaviour, &str)], command: &str, held: Held) -> (String, Reason) {
    let rule = |(behaviour, text): &(Behaviour, &str)| RuleText {
        behaviour: *behaviour,
        source: Source::User,
        text: (*text).to_owned(),
        root: "/w".into(),
    };
    let rules: Vec<RuleText> = rules.iter().map(rule).collect();
    let place = Place { cwd: "/w".into(), home: Some("/h".into()), roots: vec!["/w".into()], ..Place::default() };
    let same = |path: &Path| path.to_path_buf();
    let (policy, _) = Policy::new(mode, &rules, place, &same);
    let accesses = [Access::Run(command.to_owned())];
    let request = Request::new("Bash", &accesses).held(held);
    let cwd = PathBuf::from("/w");
    let facts = Facts::gather(cwd.clone(), policy.needs(&request, &cwd), same);
    let decision = policy.decide(&request, &facts);
    (decision.as_str().to_owned(), decision.reason().clone())
}

/// Mode, rules, command, confinement, decision.
type Case = (PermissionMode, &'static [(Behaviour, &'static str)], &'static str, Held, &'static str);

#[test]
fn the_sandbox_stands_in_for_a_question_and_for_nothing_else() {
    // [CLI-200] SC-F07
    use Behaviour::{Ask, Deny};
    use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
    let cases: &[Case] = &[
        (Default, &[], "make all", Held::Not, "ask"),
        (Default, &[], "make all", Held::Sandboxed, "allow"),
        (Default, &[], "eval \"$x\"", Held::Sandboxed, "allow"),
        (DontAsk, &[], "make all", Held::Sandboxed, "allow"),
        (Default, &[(Ask, "Bash")], "make all", Held::Sandboxed, "allow"),
        (Default, &[(Ask, "Bash(*)")], "make all", Held::Sandboxed, "allow"),
        (Default, &[(Ask, "Bash(make *)")], "make all", Held::Sandboxed, "ask"),
        (Default, &[(Deny, "Bash(make *)")], "make all", Held::Sandboxed, "deny"),
        (Default, &[(Deny, "Bash")], "make all", Held::Sandboxed, "deny"),
        (Default, &[], "rm -rf /", Held::Sandboxed, "ask"),
        (Default, &[], "rm -rf ~", Held::Sandboxed, "ask"),
        (Plan, &[], "make all", Held::Sandboxed, "deny"),
        (Plan, &[(Ask, "Bash")], "ls", Held::Sandboxed, "ask"),
        (Default, &[(Behaviour::Allow, "Bash(make *)")], "make all", Held::Escaping, "ask"),
        (AcceptEdits, &[], "touch x", Held::Escaping, "ask"),
        (DontAsk, &[(Behaviour::Allow, "Bash")], "make all", Held::Escaping, "deny"),
        (BypassPermissions, &[], "make all", Held::Escaping, "allow"),
    ];
    for (mode, rules, command, held, expected) in cases {
        let (decided, reason) = decide(*mode, rules, command, *held);
        assert_eq!(decided, *expected, "{mode:?} {rules:?} {command} {held:?}: {reason:?}");
    }
    assert_eq!(decide(Default, &[], "make", Held::Escaping).1.kind(), "sandboxOverride");
}
