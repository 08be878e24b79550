//! What decisions cost, for `cargo xtask bench`: one line per figure, a name and nanoseconds (the median of many runs).

#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use permission::{Access, PathFacts, PermissionQuery, Policy, SessionDirectories};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

fn rules(count: usize) -> Vec<RuleText> {
    let rule = |n: usize| {
        let text = match n % 5 {
            0 => format!("Bash(tool{n} run:*)"),
            1 => format!("Read(dir{n}/**)"),
            2 => format!("Edit(//srv/{n}/*.rs)"),
            3 => format!("Bash(make target-{n})"),
            _ => format!("mcp__server{n}"),
        };
        let behaviour = if n.is_multiple_of(3) { RuleBehaviour::Deny } else { RuleBehaviour::Allow };
        RuleText { behaviour, source: SettingsSource::User, text, root: "/w".into() }
    };
    (0..count).map(rule).collect()
}

fn policy(rules: &[RuleText]) -> Policy {
    let place = SessionDirectories {
        cwd: "/w".into(),
        home: Some("/home/u".into()),
        roots: vec!["/w".into()],
        ..SessionDirectories::default()
    };
    Policy::new(PermissionMode::Default, rules, place, &Path::to_path_buf).0
}

fn median(mut run: impl FnMut(), times: usize) -> Duration {
    let mut spent: Vec<Duration> = (0..times)
        .map(|_| {
            let started = Instant::now();
            run();
            started.elapsed()
        })
        .collect();
    spent.sort_unstable();
    spent[times / 2]
}

fn decide(policy: &Policy, tool: &str, access: Access) -> Duration {
    let accesses = [access];
    let request = PermissionQuery::new(tool, &accesses);
    let once = || {
        let facts = PathFacts::gather("/w".into(), policy.needs(&request, Path::new("/w")), Path::to_path_buf);
        std::hint::black_box(policy.decide(&request, &facts));
    };
    median(once, 501)
}

fn main() {
    let many = policy(&rules(200));
    let command = "cd src && cargo test --workspace -- --nocapture 2>&1 | tail -40";
    let (thousand, none) = (rules(1000), rules(0));
    let start = |rules: &[RuleText]| median(|| drop(std::hint::black_box(policy(rules))), 51);
    let figures = [
        ("file", decide(&many, "Read", Access::ReadPath(PathBuf::from("/w/src/main.rs")))),
        ("command", decide(&many, "Bash", Access::Run(command.into()))),
        ("start", start(&thousand).saturating_sub(start(&none))),
    ];
    for (name, spent) in figures {
        println!("{name} {}", spent.as_nanos());
    }
}
