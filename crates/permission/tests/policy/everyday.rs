//! Everyday commands that change nothing are not asked about: `everyday.txt` is the list.

use permission::{Access, PathFacts, PermissionQuery, Policy, SessionDirectories};
use std::path::Path;
use wire::mode::PermissionMode;

const CWD: &str = "/w/app";

/// The decision of a session without rules, in a plain repository.
pub(crate) fn decide(command: &str) -> &'static str {
    let place = SessionDirectories {
        cwd: CWD.into(),
        home: Some("/home/u".into()),
        roots: vec![CWD.into()],
        ..SessionDirectories::default()
    };
    let policy = Policy::new(PermissionMode::Default, &[], place, &Path::to_path_buf).0;
    let accesses = [Access::Run(command.to_owned())];
    let request = PermissionQuery::new("Bash", &accesses);
    let facts = PathFacts::gather(CWD.into(), policy.needs(&request, Path::new(CWD)), Path::to_path_buf);
    policy.decide(&request, &facts).as_str()
}

/// Each command with whether it is rightly asked about.
fn everyday() -> Vec<(&'static str, bool)> {
    let lines = include_str!("../everyday.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.strip_prefix("? ").map_or((line, false), |command| (command, true))).collect()
}

// [F-A11]
#[test]
fn everyday_commands_are_not_asked_about() {
    let all = everyday();
    let wrong: Vec<_> =
        all.iter().filter(|(command, asks)| decide(command) != if *asks { "ask" } else { "allow" }).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{wrong:#?}", wrong.len(), all.len());
    let asked = all.iter().filter(|(_, asks)| *asks).count();
    assert!(all.len() >= 300 && asked * 20 <= all.len(), "{asked} of {}", all.len());
}
