//! Commands that are allowed without a question because they only read: patterns, substitutions, loops over input and names
//! over pipes, in folders with hostile files. What is allowed is run by a real shell: it must not write, not show a private
//! or denied file, and not start a denied program. `GIMLET_SAMPLES` sets how many samples each folder gets.

#![allow(clippy::disallowed_methods, reason = "the oracle is a real shell; samples and seed come from the environment")]

use super::generators::{Random, samples, shell};
use super::{GIMLET, each, explained};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use testkit::Sandbox;

/// In files that nobody may read without a question.
const PRIVATE: &str = "NEVER-SHOWN";
/// In files that are ordinary until a rule denies them.
const DENIED: &str = "DENIED-BY-RULE";

/// What a folder holds besides ordinary files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Plain,
    /// Files whose names are options.
    Options,
    /// Keys, and links that lead out of the folder.
    Private,
    /// Names that a shell or `xargs` cuts into several words.
    Blanks,
}

fn git(dir: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(args).current_dir(dir).env_clear();
    git.env("PATH", "/usr/bin:/bin:/usr/local/bin").env("HOME", dir);
    assert!(git.output().unwrap().status.success(), "git {args:?}");
}

fn folder(layout: Layout) -> Sandbox {
    let sandbox = Sandbox::new(GIMLET);
    let project = sandbox.project();
    for path in ["a.rs", "b.rs", "notes.txt", "data.csv", "README.md", "src/a.rs", "src/deep/c.rs", "docs/x.md"] {
        sandbox.write(path, format!("foo {path}\nline two\n"));
    }
    sandbox.write("list", "secrets/k\n../outside.txt\n-o\n");
    sandbox.write("secrets/k", "foo\n");
    std::fs::write(project.join("../outside.txt"), format!("foo {PRIVATE}\n")).unwrap();
    let more: &[&str] = match layout {
        Layout::Plain | Layout::Private => &[],
        Layout::Options => &[
            "-o",
            "-ostolen",
            "--output=stolen",
            "--to-command=evil",
            "--compress-program=evil",
            "-i",
            "--files0-from=list",
            "-delete",
            "--pre=evil",
            "--",
            "-f",
            "-exec",
            "evil",
            ";",
            "-R",
            "--in-place",
            "-O",
            "-w",
            "src/-o",
            "src/--output=stolen",
        ],
        Layout::Blanks => &["p ../outside.txt", "x -o stolen", "q'r", "*", "s\\t", "src/z w"],
    };
    for path in more {
        sandbox.write(path, format!("foo {path}\n"));
    }
    if layout == Layout::Blanks {
        let outside = project.parent().unwrap().join("outside.txt");
        sandbox.write(&format!("src/y {}", outside.display()), "foo\n");
    }
    if layout == Layout::Private {
        for path in [".env", "id_rsa", "server.pem"] {
            sandbox.write(path, "foo\n");
        }
        symlink("../outside.txt", project.join("out.txt")).unwrap();
        symlink("../../outside.txt", project.join("src/out.rs")).unwrap();
        symlink("..", project.join("up")).unwrap();
        symlink("/proc/self/cwd/../outside.txt", project.join("own.md")).unwrap();
    }
    git(&project, &["init", "-q"]);
    git(&project, &["add", "-A", "-f"]);
    git(&project, &["commit", "-q", "-m", "one"]);
    sandbox.write("README.md", "foo changed\n");
    // What git itself shows of its objects is another matter: they do not hold what must not be seen.
    for (path, text) in [("secrets/k", DENIED), (".env", PRIVATE), ("id_rsa", PRIVATE), ("server.pem", PRIVATE)] {
        if project.join(path).exists() {
            sandbox.write(path, format!("foo {text}\n"));
            git(&project, &["update-index", "--assume-unchanged", path]);
        }
    }
    sandbox
}

/// Everything in the folder but `.git`.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![dir.to_path_buf()];
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && entry.file_name() != ".git" {
                pending.push(entry.path());
            }
            let bytes = if kind.is_file() { std::fs::read(entry.path()).unwrap() } else { Vec::new() };
            found.insert(entry.path().to_string_lossy().into_owned(), bytes);
        }
    }
    found
}

const PATTERNS: &[&str] = &[
    "*",
    "./*",
    "*.rs",
    "*.md",
    "*.txt",
    "src/*",
    "src/*.rs",
    "*/*",
    "*/*.rs",
    "?.rs",
    "[ab].rs",
    "[!a]*",
    "-*",
    "*o*",
    "docs/*",
    ".*",
    "s*/k",
    "secrets/*",
    "*.pem",
    "../*",
    "l*",
    "nosuch*",
    "**/*.rs",
    "**",
    "**/*",
    "src/**",
    "**/k",
    "\"$PWD\"/*.rs",
    "'*'*",
];

const READERS: &[&str] = &[
    "cat",
    "head -n 2",
    "tail -n1",
    "wc -l",
    "sort",
    "sort -u",
    "uniq",
    "xxd",
    "nl",
    "tac",
    "grep foo",
    "grep -h foo",
    "grep",
    "rg -N foo",
    "sed -n 1p",
    "awk 1",
    "cut -c1-20",
    "ls",
    "ls -la",
    "stat",
    "file",
    "tree",
    "echo",
    "printf '%s\\n'",
    "printf",
    "find",
    "diff",
    "md5sum",
    "od -c",
    "less",
    "git diff",
    "git log -p --",
    "git log --oneline --",
    "git show HEAD --",
    "git blame",
    "git ls-files",
    "du -sh",
    "basename",
    "tar tf",
    "shuf",
    "column -t",
    "strings",
    "comm",
    "paste",
    "jq .",
    "base64",
];

const SOURCES: &[&str] = &[
    "git rev-parse HEAD",
    "git ls-files",
    "git ls-files '*.rs'",
    "git ls-files -z",
    "git log -1 --format=%s",
    "cat list",
    "cat notes.txt",
    "ls",
    "ls -a",
    "find . -type f",
    "find . -name '*.rs'",
    "find src docs -type f -name '*.*' -not -name '*.md'",
    "find . -iname 'READ*' -o -name 'a*'",
    "find . -maxdepth 1 -type f -print0",
    "git rev-parse --short HEAD~0",
    "git merge-base HEAD HEAD",
    "git rev-list -1 HEAD",
    "evil",
    "echo evil",
    "echo ../outside.txt",
    "printf '%s ' -o stolen",
    "seq 1 3",
    "pwd",
    "date +%F",
    "cat secrets/k",
    "cat ../outside.txt",
    "echo x > stolen",
    "head -1 README.md",
    "grep -l foo *",
    "rg -l foo",
    "echo '../*'",
    "git show HEAD:a.rs",
    "echo 'a[$(evil)]'",
];

/// `@` is a command that prints something, `%` a program that reads, `#` a pattern.
const FORMS: &[&str] = &[
    "% #",
    "% # #",
    "% -- #",
    "cd src && % #",
    "cat # | %",
    "for f in #; do % \"$f\"; done",
    "for f in #; do echo \"${f%.rs}\"; done",
    "% < #",
    "(% #)",
    "% # 2>/dev/null",
    "time % #",
    "env % #",
    "% \"$PWD\"/notes.txt",
    "% $PWD/src/a.rs",
    "pushd src && % #; popd",
    "echo $(@)",
    "echo \"$(@)\"",
    "echo `@`",
    "printf '%s\\n' \"$(@)\"",
    "printf \"$(@)\"",
    "printf '%d' \"$(@)\"",
    "[ -n \"$(@)\" ] && echo yes",
    "[ -n $(@) ] && echo yes",
    "[[ -n $(@) ]] && echo yes",
    "test \"$(@)\" = x || echo no",
    "basename \"$(@)\"",
    "dirname $(@)",
    "x=$(@); echo \"$x\"",
    "x=$(@); echo $x",
    "x=$(@); % $x",
    "% $(@)",
    "% \"$(@)\"",
    "% <(@)",
    "diff <(@) <(cat a.rs)",
    "comm -12 <(@) <(sort notes.txt)",
    "sort <(@) <(@)",
    "echo x > >(@)",
    "while read -r l; do echo \"$l\"; done < <(@)",
    "@ | while read -r l; do echo \"$l\"; done",
    "@ | while read -r l; do % \"$l\"; done",
    "@ | while IFS= read -r l; do printf '%s\\n' \"$l\"; done",
    "while read -r l; do echo \"${l%x}\"; done < #",
    "while read -r l; do $l; done < list",
    "for f in $(@); do echo \"$f\"; done",
    "for f in $(@); do % \"$f\"; done",
    "@ | xargs %",
    "@ | xargs -I{} echo {}",
    "@ | xargs -n1 %",
    "@ | xargs -0 %",
    "@ | grep s | xargs %",
    "@ | xargs -I{} % {}",
    "@ | xargs printf '%s\\n'",
    "@ | xargs echo",
    "@ | xargs %< list",
    "@ | xargs % <<< ../outside.txt",
    "@ | sort | head -n 3 | xargs %",
    "@ 2>&1 | xargs %",
    "echo \"$(% #)\"",
    "echo \"$(< #)\"",
    "diff <(% #) <(@)",
    "git diff --no-index # notes.txt",
    "git show $(@)",
    "git show $(@):a.rs",
    "git log --oneline $(@)..HEAD",
    "git diff \"$(@)\" -- #",
    "git log $(@) #",
    "@ | head -n 2 | xargs %",
    "@ | grep -v k | xargs -n 2 %",
    "git diff --no-index a.rs ../outside.txt",
    "git -C \"$PWD/src\" status",
    "git submodule status",
    "echo ${PWD##*/} ${HOME#/}",
    "x='a[$(evil)]'; echo \"$x\"",
    "x='a[$(evil)]'; [[ -v $x ]]",
    "x='a[$(evil)]'; echo $((x))",
    "read -r x < #; echo \"$x\"",
    "echo \"${x:-$(@)}\"",
    "echo \"$(echo \"$(@)\")\"",
];

fn command(random: &mut Random) -> String {
    let mut command = random.pick(FORMS).to_owned();
    while let Some(at) = command.find('@') {
        let source = random.pick(SOURCES);
        command.replace_range(at..=at, source);
    }
    // A percent sign that is no format and no removal stands for a program.
    let mut out = String::new();
    let mut rest = command.as_str();
    while let Some(at) = rest.find('%') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        out.push_str(before);
        let is_text = after.starts_with(['s', 'd', 'F'])
            || before.ends_with("${f")
            || before.ends_with("${l")
            || before.ends_with("format=")
            || before.ends_with('+');
        out.push_str(if is_text { "%" } else { random.pick(READERS) });
        rest = after;
    }
    out.push_str(rest);
    let mut spelled = String::new();
    let mut rest = out.as_str();
    while let Some(at) = rest.find('#') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        spelled.push_str(before);
        let is_text = before.ends_with("PWD") || before.ends_with("HOME") || before.ends_with("PWD#");
        spelled.push_str(if is_text { "#" } else { random.pick(PATTERNS) });
        rest = after;
    }
    spelled.push_str(rest);
    spelled
}

/// What an allowed command did that it must not do.
fn harm(command: &str, sandbox: &Sandbox, bin: &Path, rules_deny: bool) -> Option<String> {
    let log = bin.join("log");
    let before = contents(&sandbox.project());
    let home = sandbox.home();
    let path = format!("{}:/usr/bin:/bin:/usr/local/bin", bin.display());
    let more = [
        ("PATH", Path::new(&path)),
        ("HOME", home.as_path()),
        ("LOG", log.as_path()),
        ("GIT_OPTIONAL_LOCKS", Path::new("0")),
        ("GIT_PAGER", Path::new("cat")),
    ];
    let mut shown = shell(command, &sandbox.project(), &more);
    if command.contains("**") {
        // What it stands for depends on an option of the shell.
        let recursive = more.iter().copied().chain([("BASHOPTS", Path::new("globstar"))]).collect::<Vec<_>>();
        shown += &shell(command, &sandbox.project(), &recursive);
    }
    if shown.contains(PRIVATE) {
        return Some("showed a private file".into());
    }
    if rules_deny && shown.contains(DENIED) {
        return Some("showed a denied file".into());
    }
    if log.exists() {
        return Some("started the denied program".into());
    }
    let after = contents(&sandbox.project());
    let changed: Vec<&String> =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    (!changed.is_empty()).then(|| format!("changed {changed:?}"))
}

// [F-A5] [F-A8] [F-A11]
#[test]
fn random_silent_commands_do_no_harm() {
    let bin = tempfile::tempdir().unwrap();
    std::fs::write(bin.path().join("evil"), "#!/bin/bash\necho ran >> \"$LOG\"\n").unwrap();
    std::fs::set_permissions(bin.path().join("evil"), PermissionsExt::from_mode(0o755)).unwrap();
    let (mut total, mut allowed, mut wrong) = (0, 0, Vec::new());
    for (class, layout) in [Layout::Plain, Layout::Options, Layout::Private, Layout::Blanks].into_iter().enumerate() {
        let sandbox = folder(layout);
        let mut random = Random::new(20 + class as u64);
        let commands: Vec<String> = (0..samples()).map(|_| command(&mut random)).collect();
        for rules in [json!({}), json!({"deny": ["Bash(evil:*)", "Read(./secrets/**)"]})] {
            let rules_deny = rules.get("deny").is_some();
            for (command, answer) in commands.iter().zip(explained(&sandbox, "default", &rules, &commands)) {
                total += 1;
                if answer["decision"] == "allow" {
                    allowed += 1;
                    let found = harm(command, &sandbox, bin.path(), rules_deny);
                    wrong.extend(found.map(|what| format!("{layout:?} seed {}: {command} {what}", random.seed)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(allowed * 8 > total, "only {allowed} of {total} were allowed");
    eprintln!("silent forms: {total} decisions, {allowed} allowed and run");
}

fn no_rules() -> Value {
    json!({})
}

// [F-A8] [F-A11]
#[test]
fn a_file_that_looks_like_an_option_is_judged_as_one() {
    let sandbox = folder(Layout::Options);
    let asks = [
        "tree *",
        "sort *",
        "uniq *",
        "git diff *",
        "rg foo *",
        "find *",
        "less *",
        "shuf *",
        "tar tf *",
        "git ls-files | xargs sort",
        "git ls-files | xargs tree",
        "sort $(git ls-files)",
        "cd src && sort *",
        "sed -n 1p *",
        "for f in *; do sort \"$f\"; done",
    ];
    each(&sandbox, "default", &no_rules(), "ask", &asks);
    let silent = [
        "sort ./*",
        "sort src/*",
        "tree src/*",
        "cat ./*",
        "rg foo ./*",
        "git diff -- *.md",
        "sort *.rs",
        "cd src && sort ./*",
        "ls *.rs",
    ];
    each(&sandbox, "default", &no_rules(), "allow", &silent);
    // A rule for the program does not cover the file that the option would have it write.
    each(&sandbox, "default", &json!({"allow": ["Bash(tree:*)", "Bash(sort:*)"]}), "ask", &["tree *", "sort *"]);
    each(
        &sandbox,
        "default",
        &json!({"allow": ["Bash(tree:*)", "Bash(sort:*)"]}),
        "allow",
        &["tree src/*", "sort *.rs"],
    );
}

// [F-A11]
#[test]
fn everyday_patterns_and_substitutions_are_silent_on_a_real_tree() {
    let sandbox = folder(Layout::Plain);
    let commands = [
        "cat *",
        "wc -l *",
        "sort *.md",
        "head -n 5 *.rs",
        "git diff *.md",
        "git log -- *.rs",
        "ls *",
        "tree *",
        "sort *",
        "sed -n 1p *.md",
        "git blame *.md",
        "for f in *; do cat \"$f\"; done",
        "cat **/*.rs",
        "wc -l src/**",
        "echo $(git rev-parse HEAD)",
        "git show $(git rev-parse HEAD)",
        "git log $(git merge-base HEAD HEAD)..HEAD",
        "find . -name '*.rs' | xargs cat",
        "find src docs -type f | head -3 | xargs head -n 1",
        "diff <(git show HEAD:a.rs) <(cat a.rs)",
        "while read -r x; do echo \"$x\"; done < list",
        "git ls-files | xargs cat",
        "git ls-files | xargs wc -l",
        "git ls-files | xargs sort",
        "wc -l $(git ls-files '*.rs')",
        "seq 1 3 | xargs -I{} echo {}",
        "git ls-files | xargs grep foo",
        "echo ${PWD##*/}",
        "pushd src && ls; popd",
        "env git status",
        "git -C \"$PWD/src\" status",
        "git submodule status",
        "git diff --submodule",
        "git diff --no-index a.rs b.rs",
        "cd src && git ls-files | xargs cat",
        "git ls-files -z | xargs -0 head -n 1",
    ];
    each(&sandbox, "default", &no_rules(), "allow", &commands);
    each(&sandbox, "plan", &no_rules(), "allow", &commands);
    // What a part of the same command may change is not counted on.
    let accepting = ["touch -- -o && sort *", "mkdir x && tree *", "sort * > out.txt"];
    each(&sandbox, "acceptEdits", &no_rules(), "ask", &accepting);
}

// [F-A5] [F-A11]
#[test]
fn private_files_among_the_names_are_asked_about() {
    let sandbox = folder(Layout::Private);
    let asks = [
        "cat *",
        "cat *.txt",
        "cat *.md",
        "cat *.pem",
        "head .*",
        "cat src/*",
        "cat src/*.rs",
        "git ls-files | xargs cat",
        "cat $(git ls-files)",
        "git blame *.pem",
        "git blame server.pem",
        "git diff .env",
        "git show HEAD:id_rsa",
        "cat **/*.pem",
        "cat **",
        "cat **/*.rs",
        "find . -type f | xargs cat",
        "find . -name '*.rs' | xargs cat",
        "find . -name 'out.*' | xargs head",
        "find up -name outside.txt | xargs cat",
        "cd src && cat *",
        "for f in *; do cat \"$f\"; done",
        "echo \"$(cat .env)\"",
        "diff <(cat id_rsa) a.rs",
        "while read -r x; do echo \"$x\"; done < out.txt",
        "echo \"$(< own.md)\"",
        "git diff --no-index out.txt a.rs",
    ];
    each(&sandbox, "default", &no_rules(), "ask", &asks);
    each(
        &sandbox,
        "default",
        &no_rules(),
        "allow",
        &[
            "ls *",
            "cat **/*.csv",
            "find docs -name '*.md' | xargs cat",
            "cat *.csv",
            "wc -l docs/*",
            "git ls-files | xargs dirname",
        ],
    );
    let sandbox = folder(Layout::Blanks);
    each(
        &sandbox,
        "default",
        &no_rules(),
        "ask",
        &["git ls-files | xargs cat", "cat $(git ls-files)", "cd src && git ls-files | xargs cat"],
    );
    each(&sandbox, "default", &no_rules(), "allow", &["git ls-files -z | xargs -0 cat", "cat *", "cat ./*"]);
}
