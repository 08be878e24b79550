//! Everyday commands that change nothing are not asked about: `everyday.txt` is the list.

use permission::reads::name_fits;
use permission::{Access, FoundNames, NameQuery, PathFacts, PermissionQuery, Policy, SessionDirectories};
use std::path::Path;
use wire::mode::PermissionMode;

const CWD: &str = "/w/app";

/// The files of the repository, all of them tracked.
const FILES: &[&str] =
    &["README.md", "CHANGELOG.md", "Cargo.toml", "a.txt", "b.txt", "lib.rs", "package.json", "src/main.rs", "src/b.rs"];

/// What the shell makes of a pattern with one name in it, or with a folder before it.
fn answer(query: &NameQuery) -> Vec<String> {
    match query {
        NameQuery::Links { .. } => Vec::new(),
        NameQuery::Below { root, names, .. } => {
            let paths = FILES.iter().map(|file| format!("{root}/{file}"));
            paths.filter(|path| names.iter().all(|name| name.fits(path.rsplit('/').next().unwrap()))).collect()
        }
        NameQuery::Tracked { .. } => FILES.iter().map(|file| (*file).to_owned()).collect(),
        NameQuery::Pattern { pattern, .. } => {
            let (folder, pattern) = pattern.rsplit_once('/').map_or(("", pattern.as_str()), |(dir, name)| (dir, name));
            let names = FILES.iter().filter_map(|file| match folder {
                "**" => file.rsplit('/').next(),
                "" | "." => Some(file.split('/').next().unwrap()),
                folder => file.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
            });
            let mut names: Vec<String> = names.filter(|name| name_fits(pattern, name)).map(str::to_owned).collect();
            names.dedup();
            let spelled = |name: String| match folder {
                "**" => FILES.iter().find(|file| file.ends_with(&name)).unwrap().to_string(),
                "" => name,
                folder => format!("{folder}/{name}"),
            };
            names.into_iter().map(spelled).collect()
        }
    }
}

/// The decision of a session without rules, in a plain repository.
fn decide(command: &str) -> &'static str {
    decide_in(PermissionMode::Default, command)
}

fn decide_in(mode: PermissionMode, command: &str) -> &'static str {
    let place = SessionDirectories {
        cwd: CWD.into(),
        home: Some("/home/u".into()),
        roots: vec![CWD.into()],
        ..SessionDirectories::default()
    };
    let policy = Policy::new(mode, &[], place, &Path::to_path_buf).0;
    let accesses = [Access::Run(command.to_owned())];
    let request = PermissionQuery::new("Bash", &accesses);
    let facts = PathFacts::gather(CWD.into(), policy.needs(&request, Path::new(CWD)), Path::to_path_buf);
    let found: FoundNames = policy
        .name_queries(&request, Path::new(CWD))
        .into_iter()
        .map(|query| (query.clone(), Some(answer(&query))))
        .collect();
    let facts = facts.with_names(found, |path| Some(path.to_path_buf()));
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

// [F-A5] [F-A8] [F-A11]
#[test]
fn what_only_looks_like_an_everyday_command_is_asked_about() {
    let lines = include_str!("../asked.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let wrong: Vec<&str> = lines.filter(|command| decide(command) != "ask").collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn names_on_disk_are_known_only_while_the_command_writes_nothing() {
    for (command, expected) in [
        ("cat $(git ls-files)", "allow"),
        ("cat $(git ls-files); echo x > out", "ask"),
        ("echo x > out; cat $(git ls-files)", "ask"),
        ("touch x.txt; cat $(git ls-files)", "ask"),
        ("cat *", "allow"),
        ("cat *; echo x > out", "ask"),
        ("echo x > out; cat *", "ask"),
        ("echo x > out; echo y", "allow"),
        ("touch x.txt; ls", "allow"),
    ] {
        assert_eq!(decide_in(PermissionMode::AcceptEdits, command), expected, "{command}");
    }
}
