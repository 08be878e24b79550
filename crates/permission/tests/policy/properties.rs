//! Properties of the shell judge against mutations, and against a real bash whose programs are recorders.

use permission::{Access, PathFacts, PermissionQuery, Policy, SessionDirectories, fuzz};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;
use wire::mode::PermissionMode as Mode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

fn policy(mode: Mode, rules: &[(RuleBehaviour, String)]) -> Policy {
    let text = |(behaviour, text): &(RuleBehaviour, String)| RuleText {
        behaviour: *behaviour,
        source: SettingsSource::User,
        text: text.clone(),
        root: "/w".into(),
    };
    let rules: Vec<_> = rules.iter().map(text).collect();
    let place = SessionDirectories {
        cwd: "/w".into(),
        home: Some("/home/u".into()),
        roots: vec!["/w".into()],
        ..SessionDirectories::default()
    };
    Policy::new(mode, &rules, place, &Path::to_path_buf).0
}

fn bash(policy: &Policy, command: &str) -> &'static str {
    let accesses = [Access::Run(command.to_owned())];
    let request = PermissionQuery::new("Bash", &accesses);
    let facts = PathFacts::gather("/w".into(), policy.needs(&request, Path::new("/w")), Path::to_path_buf);
    policy.decide(&request, &facts).as_str()
}

/// A spelling of the word that the shell reads as the same word.
fn respelled(word: &str, how: u8) -> String {
    let (head, tail) = word.split_at(1);
    match how % 6 {
        0 => word.to_owned(),
        1 => format!("'{word}'"),
        2 => format!("{head}\"{tail}\""),
        3 => format!("\\{word}"),
        4 => format!("{head}\\\n{tail}"),
        _ => format!("{head}''{tail}"),
    }
}

fn wrapped(command: String, how: u8) -> String {
    match how % 20 {
        0 => format!("env {command}"),
        1 => format!("sudo -n {command}"),
        2 => format!("FOO=1 {command}"),
        3 => format!("timeout 5 {command}"),
        4 => format!("nice -n 3 {command}"),
        5 => format!("( {command} )"),
        6 => format!("{{ {command}; }}"),
        7 => format!("true && {command}"),
        8 => format!("echo \"$({command})\""),
        9 => format!("cat <({command})"),
        10 => format!("if true; then {command}; fi"),
        11 => format!("{command} # note"),
        12 => format!("  \t {command}   "),
        13 => format!("! {command}"),
        14 => format!("time {command}"),
        15 => format!("x | {command} 2>&1"),
        16 => format!("for i in a b; do {command}; done"),
        // Backquotes need another layer of escapes for what the command already escapes.
        17 if command.contains(['`', '\\', '\n']) => command,
        17 => format!("echo ${{x:-`{command}`}}"),
        18 => format!("cat <<E\n$({command})\nE"),
        _ => format!("echo a; {command} &"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Whitespace, quotes, comments, continuations, variable prefixes and wrappers never allow a denied command.
    #[test]
    fn a_denied_command_stays_denied(word in 0_u8..6, wraps in prop::collection::vec(any::<u8>(), 0..4), mode in 0_usize..4) {
        let mode = [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions, Mode::DontAsk][mode];
        let denied = policy(mode, &[(RuleBehaviour::Deny, "Bash(evil:*)".into()), (RuleBehaviour::Allow, "Bash".into())]);
        let mut command = format!("{} x", respelled("evil", word));
        for how in wraps {
            command = wrapped(command, how);
        }
        prop_assert!(bash(&denied, &command) == "deny", "{command:?}");
    }

    /// Any text: no panic, no hang. What does not parse is asked about.
    #[test]
    fn fuzz_smoke(text in "\\PC{0,60}", shell in "[a-c $`(){}\\[\\]'\"<>|&;#\\\\\n=*~!-]{0,40}", path in "[a-z/.*~\\[\\]{}!-]{0,20}") {
        fuzz::rules(&text);
        fuzz::rules(&shell);
        fuzz::command(&text);
        prop_assert!(fuzz::command(&shell) != "allow" || !shell.contains('`') || shell.contains(['\'', '#', '\\']), "{shell:?}");
        fuzz::path(&path, &path);
    }
}

/// Scripts over recorder programs p0…p9, from a grammar of everything the judge must see through.
fn script() -> impl Strategy<Value = String> {
    let program = (0_u8..10, 0_u8..6).prop_map(|(n, how)| respelled(&format!("p{n}"), how));
    let leaf = (program, prop::sample::select(vec!["", " a", " 'b c'", " \"d\"", " -x", " A=b", " 2>/dev/null"]))
        .prop_map(|(program, rest)| format!("{program}{rest}"));
    // Names that exist only when the script runs: nobody can deny them, so they must be asked about.
    let hidden = (0_u8..10, 0_u8..6).prop_map(|(n, how)| match how {
        0 => format!("X=p{n}; $X"),
        1 => format!("$(echo p{n})"),
        2 => format!("{{p{n},a}}"),
        3 => format!("X=p; ${{X}}{n}"),
        4 => format!("echo p{n} | bash"),
        _ => format!("\"$BIN\"/p[{n}]"),
    });
    let leaf = prop_oneof![6 => leaf, 1 => hidden];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            two.clone().prop_map(|(a, b)| format!("{a} && {b}")),
            two.clone().prop_map(|(a, b)| format!("{a}; {b}")),
            two.clone().prop_map(|(a, b)| format!("{a}\n{b}")),
            two.clone().prop_map(|(a, b)| format!("{a} | {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} || {b}")),
            two.clone().prop_map(|(a, b)| format!("p0 \"$({a})\" $({b})")),
            two.clone().prop_map(|(a, b)| format!("if {a}; then {b}; fi")),
            two.prop_map(|(a, b)| format!("p1 <({a}); {{ {b}; }}")),
            inner.clone().prop_map(|a| format!("( {a} )")),
            inner.clone().prop_map(|a| format!("! {a}")),
            inner.clone().prop_map(|a| format!("env {a}")),
            inner.clone().prop_map(|a| format!("X=1 {a}")),
            inner.clone().prop_map(|a| format!("p2 ${{y:-$({a})}}")),
            inner.clone().prop_map(|a| format!("for i in 1 2; do {a}; done")),
            inner.clone().prop_map(|a| format!("case a in a) {a};; esac")),
            inner.clone().prop_map(|a| format!("f() {{ {a}; }}; f")),
            inner.clone().prop_map(|a| format!("p3 <<E\n$({a})\nE\n")),
            inner.clone().prop_map(|a| format!("p3 <<'E'\n$({a})\nE\n")),
            inner.clone().prop_map(|a| format!("eval '{}'", a.replace('\'', "'\\''"))),
            inner.clone().prop_map(|a| format!(
                "bash -c \"{}\"",
                a.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`")
            )),
            inner.clone().prop_map(|a| format!("{a} & wait")),
            inner.clone().prop_map(|a| format!("while {a}; do break; done")),
            inner.clone().prop_map(|a| format!("x=$({a}) p4")),
            inner.prop_map(|a| format!("[[ -n $({a}) ]]")),
        ]
    })
}

/// Every program a real bash starts is one that the judge saw, or the judge asked.
#[test]
fn everything_bash_runs_was_judged() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for n in 0..10 {
        let file = bin.join(format!("p{n}"));
        std::fs::write(&file, format!("#!/bin/bash\necho p{n} >> \"$LOG\"\n")).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(250)
    });
    let deadline = Instant::now() + std::time::Duration::from_secs(20);
    let counter = std::cell::Cell::new(0_u32);
    runner
        .run(&script(), |script| {
            // A process substitution may still write when its shell is gone: each case has its own log.
            counter.set(counter.get() + 1);
            if Instant::now() > deadline {
                return Ok(());
            }
            let log = dir.path().join(format!("log{}", counter.get()));
            std::fs::write(&log, "").unwrap();
            #[expect(clippy::disallowed_methods, reason = "the oracle is a real shell with recorders on PATH")]
            let mut shell = std::process::Command::new("/bin/bash");
            let status = shell
                .arg("-c")
                .arg(&script)
                .env_clear()
                .env("PATH", &path)
                .env("LOG", &log)
                .env("BIN", &bin)
                .current_dir(dir.path());
            let done = status.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::null()).output();
            prop_assert!(done.is_ok());
            let ran: BTreeSet<String> = std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
            for program in &ran {
                // A deny rule for exactly that program must be hit in a mode that otherwise runs everything …
                let denied = policy(Mode::BypassPermissions, &[(RuleBehaviour::Deny, format!("Bash({program}:*)"))]);
                prop_assert_ne!(bash(&denied, &script), "allow", "{:?} ran {}", &script, program);
                // … and allowing everything else must not be enough.
                let others = (0..10).map(|n| format!("p{n}")).filter(|name| name != program);
                let rules: Vec<_> = others.map(|name| (RuleBehaviour::Allow, format!("Bash({name}:*)"))).collect();
                prop_assert_eq!(bash(&policy(Mode::Default, &rules), &script), "ask", "{:?} ran {}", &script, program);
            }
            Ok(())
        })
        .unwrap();
}

/// The cost of a decision grows at most with the number of rules. Both sides are measured in the same moment, and each is
/// the best of several, so a busy machine changes neither verdict; `cargo xtask bench` has the figures.
#[test]
fn a_thousand_rules_are_no_burden() {
    // [CLI-189]
    let rule = |n: usize| {
        let text = match n % 3 {
            0 => format!("Bash(tool{n} run:*)"),
            1 => format!("Read(dir{n}/**)"),
            _ => format!("mcp__server{n}"),
        };
        (if n.is_multiple_of(3) { RuleBehaviour::Deny } else { RuleBehaviour::Allow }, text)
    };
    let few = policy(Mode::Default, &(0..100).map(rule).collect::<Vec<_>>());
    let many = policy(Mode::Default, &(0..1_000).map(rule).collect::<Vec<_>>());
    let best = |policy: &Policy| {
        let one = || {
            let started = Instant::now();
            assert_eq!(bash(policy, "cd src && cargo test --workspace 2>&1 | tail -40"), "ask");
            started.elapsed()
        };
        (0..20).map(|_| one()).min().unwrap()
    };
    let (few, many) = (best(&few), best(&many));
    assert!(many < few * 30, "ten times as many rules: {few:?}, {many:?}");
}
