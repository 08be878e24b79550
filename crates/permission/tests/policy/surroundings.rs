//! What the shell, the files and the folders of a session change about a decision.

use permission::{
    Access, CommandConfinement, PathFacts, PermissionDecision, PermissionQuery, Policy, SessionDirectories,
};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode as Mode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

const CWD: &str = "/w/app";

fn place() -> SessionDirectories {
    SessionDirectories {
        cwd: CWD.into(),
        home: Some("/home/u".into()),
        roots: vec![CWD.into()],
        undo_store: Some("/home/u/.claude/snapshots".into()),
        ..SessionDirectories::default()
    }
}

fn policy(place: SessionDirectories, mode: Mode, denied: &[&str]) -> Policy {
    let rule = |text: &&str| RuleText {
        behaviour: RuleBehaviour::Deny,
        source: SettingsSource::User,
        text: (*text).to_owned(),
        root: "/home/u/.claude".into(),
    };
    let rules: Vec<RuleText> = denied.iter().map(rule).collect();
    Policy::new(mode, &rules, place, &Path::to_path_buf).0
}

/// The decision on a command in a folder with these files.
fn decide(policy: &Policy, command: &str, held: CommandConfinement, files: &[&str]) -> PermissionDecision {
    let accesses = [Access::Run(command.to_owned())];
    let request = PermissionQuery::new("Bash", &accesses).with_confinement(held);
    let facts = PathFacts::gather(CWD.into(), policy.needs(&request, Path::new(CWD)), Path::to_path_buf);
    policy.decide(&request, &facts.with_files(|path| files.iter().any(|file| Path::new(file) == path)))
}

fn asks_about(decision: &PermissionDecision, what: &str) -> bool {
    matches!(decision, PermissionDecision::Ask(_)) && format!("{decision:?}").contains(what)
}

// [F-A6]
#[test]
fn what_zsh_reads_in_another_way_is_asked_about_where_something_depends_on_it() {
    let asks = |runs_zsh, mode, denied: &[&str], command: &str, held| {
        let policy = policy(SessionDirectories { runs_zsh, ..place() }, mode, denied);
        asks_about(&decide(&policy, command, held, &[]), "zsh, which runs it")
    };
    let free = CommandConfinement::Not;
    let rows: [(Mode, &[&str], &str, bool); 9] = [
        (Mode::Default, &[], "repeat 1 ls", true),
        (Mode::AcceptEdits, &[], "repeat 1 ls", true),
        (Mode::Default, &[], "ls -la", false),
        (Mode::BypassPermissions, &[], "repeat 1 ls", false),
        (Mode::BypassPermissions, &["Bash(curl *)"], "repeat 1 ls", true),
        (Mode::BypassPermissions, &["Read(~/keys/**)"], "repeat 1 ls", true),
        (Mode::BypassPermissions, &[], "repeat 1 rm -rf build", true),
        (Mode::BypassPermissions, &[], "repeat 1 eval 'nice rm x'", true),
        (Mode::BypassPermissions, &[], "repeat 1 eval 'nice ls x'", false),
    ];
    for (mode, denied, command, wanted) in rows {
        assert_eq!(asks(true, mode, denied, command, free), wanted, "{mode:?} {denied:?} {command}");
        assert!(!asks(false, mode, denied, command, free), "bash: {mode:?} {denied:?} {command}");
        assert!(!asks(true, mode, denied, command, CommandConfinement::Sandboxed), "sandbox: {mode:?} {command}");
    }
}

#[test]
fn what_a_command_runs_must_be_known_where_commands_are_forbidden() {
    let asks = |denied: &[&str], command: &str| {
        let policy = policy(place(), Mode::BypassPermissions, denied);
        let files = ["/w/app/env.sh", "/elsewhere/env.sh"];
        let decision = decide(&policy, command, CommandConfinement::Not, &files);
        asks_about(&decision, "which program this starts is known only when it runs")
    };
    for (command, wanted) in [
        (". ./env.sh", false),
        ("source env.sh && ls", false),
        (". ./gone.sh", true),
        (". /elsewhere/env.sh", true),
        ("cd src; . ./env.sh", true),
        ("pushd src; . ./env.sh", true),
        ("echo x > env.sh; . /w/app/env.sh", true),
        // Programs that are known from the text, and programs that come from an input.
        ("parallel ls ::: a", false),
        ("parallel ::: ls", true),
        ("parallel", true),
        ("bash build.sh", false),
        ("bash *.sh", true),
        ("bash -", true),
        ("bash /dev/stdin", true),
        ("bash \"$SCRIPT\"", true),
        ("bash --rcfile \"$SCRIPT\" -c ls", true),
        ("eval", false),
        ("eval ls", false),
    ] {
        assert_eq!(asks(&["Bash(curl *)"], command), wanted, "{command}");
        assert!(!asks(&[], command), "without rules about commands it does not matter: {command}");
    }
}

#[test]
fn trees_that_are_copied_or_moved_are_named() {
    let copied = |command: &str| {
        let accesses = [Access::Run(command.to_owned())];
        policy(place(), Mode::Default, &[]).copied_trees(&PermissionQuery::new("Bash", &accesses), Path::new(CWD))
    };
    let paths = |names: &[&str]| names.iter().map(|name| Path::new(CWD).join(name)).collect::<Vec<PathBuf>>();
    for (command, names) in [
        ("mv a b", &["a"][..]),
        ("mv a b c", &["a", "b"]),
        ("cp -r a b", &["a"]),
        ("cp -R a b", &["a"]),
        ("cp -a a b", &["a"]),
        ("cp --recursive a b", &["a"]),
        ("cp --archive a b", &["a"]),
        ("rsync -a a b", &["a"]),
        ("scp -r a b", &["a"]),
        ("mv -t c a b", &["c", "a", "b"]),
        ("cp a b", &[]),
        ("cp --preserve a b", &[]),
        ("rsync a b", &[]),
        ("rm -r a b", &[]),
        ("grep -r a b", &[]),
    ] {
        assert_eq!(copied(command), paths(names), "{command}");
    }
}

// [F-A7] SC-E07
#[test]
fn a_removal_is_looked_for_in_a_text_that_is_not_understood_to_its_end() {
    let decided = |command: &str| {
        let policy = policy(place(), Mode::BypassPermissions, &[]);
        decide(&policy, command, CommandConfinement::Not, &[])
    };
    for command in [
        "git clean -fdx; echo \"x",
        "rm x; echo \"x",
        "mv a b; echo \"x",
        "find . -delete; echo \"x",
        "fd . -x rm; echo \"x",
        "tar -cf x.tar --remove-files a; echo \"x",
        "rsync -m a b; echo \"x",
    ] {
        assert!(asks_about(&decided(command), "not understood to its end"), "{command}: {:?}", decided(command));
    }
    for command in
        ["git status; echo \"x", "make clean; echo \"x", "tar -cf x.tar a; echo \"x", "find . -name rmx; echo \"x"]
    {
        assert_eq!(decided(command).as_str(), "allow", "{command}");
    }
}

// [F-A7] SC-E07
#[test]
fn the_data_for_undo_is_not_overwritten_in_any_mode() {
    let decided = |store: Option<PathBuf>, command: &str| {
        let policy = policy(SessionDirectories { undo_store: store, ..place() }, Mode::BypassPermissions, &[]);
        decide(&policy, command, CommandConfinement::Not, &[]).as_str()
    };
    for command in [
        "echo x > ~/.claude/snapshots/pruned",
        "cp a ~/.claude/snapshots/manifests/b.jsonl",
        "chmod -R 000 ~/.claude/snapshots",
        "truncate -s 0 ~/.claude/snapshots/manifests/b.jsonl",
        "dd if=a of=/home/u/.claude/snapshots/blobs/b",
        "echo x | tee ~/.claude/snapshots/pruned",
    ] {
        assert_eq!(decided(place().undo_store, command), "deny", "{command}");
        assert_eq!(decided(None, command), "allow", "{command}");
    }
    for command in ["echo x > ~/notes", "cp ~/.claude/snapshots/pruned a", "ls ~/.claude/snapshots", "chmod 600 a"] {
        assert_eq!(decided(place().undo_store, command), "allow", "{command}");
    }
}

// [F-A7]
#[test]
fn a_root_that_is_only_named_beside_a_removal_is_not_asked_about() {
    let decided = |command: &str| {
        let policy = policy(place(), Mode::BypassPermissions, &[]);
        decide(&policy, command, CommandConfinement::Not, &[]).as_str()
    };
    for command in ["rm x; ls /", "ls / | xargs echo", "rm x; df ~"] {
        assert_eq!(decided(command), "allow", "{command}");
    }
    for command in ["echo / | xargs rm -rf", "rm -rf /", "rm -rf ~"] {
        assert_ne!(decided(command), "allow", "{command}");
    }
}
