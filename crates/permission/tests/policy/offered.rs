//! What "do not ask again" offers: `offered.txt` is the list. What is offered allows that very command and nothing that
//! is asked about for another reason.

use permission::{Access, PathFacts, PermissionDecision, PermissionQuery, Policy, RuleSuggestion, SessionDirectories};
use proptest::prelude::*;
use std::path::Path;
use wire::mode::PermissionMode as Mode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

const CWD: &str = "/w/app";

fn rule(behaviour: RuleBehaviour, text: &str) -> RuleText {
    RuleText { behaviour, source: SettingsSource::Local, text: text.to_owned(), root: CWD.into() }
}

fn policy(mode: Mode, rules: &[RuleText]) -> Policy {
    let place = SessionDirectories {
        cwd: CWD.into(),
        home: Some("/home/u".into()),
        roots: vec![CWD.into()],
        ..SessionDirectories::default()
    };
    let (policy, warnings) = Policy::new(mode, rules, place, &Path::to_path_buf);
    assert!(warnings.is_empty(), "{warnings:?}");
    policy
}

fn with_facts<T>(policy: &Policy, command: &str, ask: impl Fn(&PermissionQuery<'_>, &PathFacts) -> T) -> T {
    let accesses = [Access::Run(command.to_owned())];
    let request = PermissionQuery::new("Bash", &accesses);
    let facts = PathFacts::gather(CWD.into(), policy.needs(&request, Path::new(CWD)), permission::normalise);
    ask(&request, &facts)
}

fn decide(policy: &Policy, command: &str) -> PermissionDecision {
    with_facts(policy, command, |request, facts| policy.decide(request, facts))
}

/// The rules offered for a command, as they would be written to a file.
fn offered(policy: &Policy, command: &str) -> Vec<String> {
    let text = |(tool, content): (String, Option<String>)| content.map_or(tool.clone(), |it| format!("{tool}({it})"));
    let rules = |suggestion: RuleSuggestion| match suggestion {
        RuleSuggestion::AddRules { rules, .. } => rules,
        other => panic!("{command}: {other:?}"),
    };
    let found = with_facts(policy, command, |request, facts| policy.suggest(request, facts));
    found.into_iter().flat_map(rules).map(text).collect()
}

fn rows() -> Vec<(String, Vec<String>)> {
    let lines = include_str!("offered.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &str| {
        let (command, rules) = line.rsplit_once(" => ").unwrap();
        let named = |rule: &str| match rule.split_once('(') {
            Some(("Edit" | "Read", _)) => rule.to_owned(),
            _ => format!("Bash({rule})"),
        };
        let rules = rules.split(" ;; ").filter(|rule| *rule != "-").map(named).collect();
        (command.replace("\\n", "\n"), rules)
    };
    lines.map(row).collect()
}

/// [CLI-178] [CLI-179] [CLI-180]
#[test]
fn two_hundred_commands_have_the_rule_that_fits_them() {
    let rows = rows();
    let plain = policy(Mode::Default, &[]);
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(command, wanted)| {
            let found = offered(&plain, command);
            (found != *wanted).then(|| format!("{command:?}\n   wanted {wanted:?}\n   offered {found:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(rows.len() >= 200, "{}", rows.len());
}

/// All that is offered for well-known tools at once, with what only the very command of its row gets left out.
fn all_prefixes() -> Vec<RuleText> {
    let rules = rows().into_iter().flat_map(|(_, rules)| rules).filter(|rule| rule.ends_with(" *)"));
    let mut rules: Vec<String> = rules.collect();
    rules.sort();
    rules.dedup();
    rules.iter().map(|text| rule(RuleBehaviour::Allow, text)).collect()
}

/// [SC-E13]
#[test]
fn every_prefix_together_allows_nothing_that_is_asked_about_for_a_reason() {
    let granted = policy(Mode::Default, &all_prefixes());
    let listed = include_str!("../asked.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let cases = include_str!("refused_with_prefixes.txt").lines().filter(|line| !line.starts_with('#'));
    let cases: Vec<String> = listed.chain(cases).map(|line| line.replace("\\n", "\n")).collect();
    let wrong: Vec<&String> = cases.iter().filter(|command| decide(&granted, command).is_allow()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A command of one well-known or unknown program, with arguments, a redirection and what may stand around it.
fn command() -> impl Strategy<Value = String> {
    let program = prop::sample::select(vec![
        "cargo test",
        "pytest",
        "npm run lint",
        "make",
        "git commit",
        "git push",
        "curl",
        "sed",
        "rm",
        "docker run",
        "deploy",
        "python3 a.py",
        "npx jest",
        "timeout 5 go test",
        "kubectl get",
        "xargs",
        "sh",
        "touch",
        "CI=1 make",
        "X=1 make",
    ]);
    let word = prop::sample::select(vec![
        "",
        " x",
        " -f",
        " 'a b'",
        " \"$HOME\"",
        " *.o",
        " $(date)",
        " --output=o.txt",
        " /etc/hosts",
        " ~/.ssh/id_rsa",
        " .git/config",
        " $X",
        " a(b)",
        " --token=ghp_0123456789abcdefghijABCDEFGHIJ012345",
    ]);
    let redirect = prop::sample::select(vec![
        "",
        "",
        " > out.txt",
        " 2>&1",
        " > /tmp/o",
        " >> ~/.bashrc",
        " < in.txt",
        " > .git/hooks/x",
    ]);
    let around = prop::sample::select(vec!["", "", "cd src && ", "ls | ", "evil; ", "cd /srv && "]);
    let after = prop::sample::select(vec!["", "", " | tail -3", " && make", " | sh", "\nls", " &"]);
    let one = (program, word.clone(), word, redirect);
    (around, one, after).prop_map(|(around, (program, first, second, redirect), after)| {
        format!("{around}{program}{first}{second}{redirect}{after}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(800) })]

    /// What is offered allows that very command, and nothing that deny and ask rules, protected paths or another part catch.
    #[test]
    fn what_is_offered_allows_that_command_and_no_more(command in command(), tail in 0_usize..6) {
        let plain = policy(Mode::Default, &[]);
        let rules = offered(&plain, &command);
        if rules.is_empty() {
            return Ok(());
        }
        let granted: Vec<RuleText> = rules.iter().map(|text| rule(RuleBehaviour::Allow, text)).collect();
        let after = policy(Mode::Default, &granted);
        prop_assert!(decide(&after, &command).is_allow(), "{:?} {:?}", command, rules);
        for restricted in [RuleBehaviour::Deny, RuleBehaviour::Ask] {
            for text in ["Bash(evil:*)", "Bash(make:*)", "Bash(cargo:*)", "Bash(git:*)", "Bash(rm:*)"] {
                let mut with_rule = granted.clone();
                with_rule.push(rule(restricted, text));
                let restricted = policy(Mode::Default, &[rule(restricted, text)]);
                if matches!(decide(&restricted, &command).reason(), permission::DecisionReason::Rule { .. }) {
                    prop_assert!(!decide(&policy(Mode::Default, &with_rule), &command).is_allow(), "{:?} {}", command, text);
                    prop_assert!(offered(&restricted, &command).is_empty(), "{:?} {}", command, text);
                }
            }
        }
        let more = ["; evil x", " $(evil x)", " > .git/hooks/pre-commit", " | sh", " > ~/.bashrc", " `evil`"][tail];
        let longer = format!("{command}{more}");
        prop_assert!(!decide(&after, &longer).is_allow(), "{:?} {:?}", longer, rules);
    }
}

/// [SC-A04] [SC-E07] A text that the command itself holds is read like any other word.
#[test]
fn a_document_that_a_substitution_prints_hides_nothing() {
    let held = |program: &str, text: &str| format!("{program} \"$(cat <<'EOF'\n{text}\nEOF\n)\"");
    let denied = |rule_text: &str| {
        policy(Mode::BypassPermissions, &[rule(RuleBehaviour::Deny, rule_text), rule(RuleBehaviour::Allow, "Bash")])
    };
    let evil = denied("Bash(evil:*)");
    for program in ["sh -c", "eval", "bash -lc", "env sh -c", "xargs sh -c"] {
        assert_eq!(decide(&evil, &held(program, "evil x")).as_str(), "deny", "{program}");
    }
    assert_eq!(decide(&denied("Bash(cat:*)"), &held("git commit -m", "x")).as_str(), "deny");
    assert!(decide(&denied("Bash(rm:*)"), &held("git commit -m", "never rm -rf /")).is_allow(), "prose is no command");
    let bypass = policy(Mode::BypassPermissions, &[]);
    for text in ["/", "/home/u"] {
        let command = held("rm -rf", text);
        assert_eq!(decide(&bypass, &command).as_str(), "ask", "{command}");
    }
    let plain = policy(Mode::Default, &[]);
    assert_eq!(decide(&plain, &held("cat", "/etc/shadow")).as_str(), "ask");
    assert_eq!(decide(&plain, &held("mytool", "x")).as_str(), "ask");
    assert!(decide(&plain, &held("echo", "several\nlines")).is_allow());
}
