//! Random commands against real trees. What `permissions explain` allows is run by a real shell, and nothing denied may
//! come of it. `GIMLET_SAMPLES` sets how many (5000 each for the long form), `GIMLET_SEED` repeats a run.

#![allow(clippy::disallowed_methods, reason = "the oracle is a real shell; samples and seed come from the environment")]

use super::{GIMLET, explained};
use serde_json::json;
use std::fmt::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::Sandbox;

pub(super) fn samples() -> usize {
    std::env::var("GIMLET_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(130)
}

pub(super) struct Random {
    pub(super) seed: u64,
    state: u64,
}

impl Random {
    pub(super) fn new(class: u64) -> Self {
        let seed = std::env::var("GIMLET_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_118);
        Self { seed, state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (class << 17) | 1 }
    }

    fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % end as u64).unwrap()
    }

    pub(super) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const MARK: &str = "NEVER-SHOWN";

fn tree() -> Sandbox {
    let sandbox = Sandbox::new(GIMLET);
    for path in ["secrets/k", "secrets/deep/key.txt", "a/b/denied/x", "a/denied.rs", ".env", "src/.env"] {
        sandbox.write(path, format!("foo {MARK}\n"));
    }
    for path in ["src/a.rs", "src/b.rs", "a/b/x", "a/c.rs", "docs/key.txt", "k", "section/k", "notes.txt"] {
        sandbox.write(path, "foo plain\n");
    }
    symlink("secrets", sandbox.project().join("link")).unwrap();
    symlink("../secrets/k", sandbox.project().join("src/l.rs")).unwrap();
    symlink(".", sandbox.project().join("here")).unwrap();
    sandbox
}

/// A path with some of its characters replaced by patterns that still match.
fn pattern(path: &str, random: &mut Random) -> String {
    let mut out = String::new();
    for name in path.split('/') {
        if !out.is_empty() {
            out.push('/');
        }
        if random.below(4) == 0 && !name.starts_with('.') {
            out.push('*');
            continue;
        }
        for (at, c) in name.char_indices() {
            match random.below(14) {
                6 if at > 0 && c.is_ascii_lowercase() => out.push_str("[[:lower:]]"),
                7 if at > 0 || c != '.' => write!(out, "[[={c}=]]").unwrap(),
                8 if at > 0 || c != '.' => write!(out, "[\"{c}\"]").unwrap(),
                9 if at > 0 || c != '.' => write!(out, "[\\{c}x]").unwrap(),
                10 if (at > 0 || c != '.') && !c.is_ascii_digit() => out.push_str("[![:digit:]]"),
                11 if at > 0 || c != '.' => write!(out, "[[.{c}.]-z]").unwrap(),
                0 if at > 0 || c != '.' => out.push('?'),
                1 if at > 0 || c != '.' => out.extend(['[', c, 'q', ']']),
                2 if at > 0 => {
                    out.push('*');
                    break;
                }
                3 => out.extend(['\'', c, '\'']),
                4 => out.extend(['\\', c]),
                5 if c.is_ascii_alphabetic() => out.extend(['{', c, ',', c, 'z', '}']),
                _ => out.push(c),
            }
        }
    }
    out
}

fn read_command(random: &mut Random) -> String {
    let path = random.pick(&[
        "secrets/k",
        "secrets/deep/key.txt",
        "a/b/denied/x",
        "a/denied.rs",
        ".env",
        "src/.env",
        "link/k",
        "src/l.rs",
        "here/secrets/k",
        "src/a.rs",
        "a/b/x",
        "docs/key.txt",
        "k",
        "section/k",
        "src/../secrets/k",
        "notes.txt",
    ]);
    let spelled = pattern(path, random);
    let (dir, name) = spelled.rsplit_once('/').unwrap_or((".", &spelled));
    let reader = random.pick(&[
        "cat",
        "head -n 3",
        "tail -n3",
        "grep foo",
        "sed -n p",
        "awk 1",
        "sort",
        "nl",
        "cut -c1-80",
        "tac",
        "grep -h -e foo",
        "uniq",
        "paste",
        "fold -w 90",
    ]);
    let folder = random.pick(&[".", "src", "a", "docs", "sec*", "a/*", "*", "here", "link", "section"]);
    match random.below(22) {
        0..=5 => format!("{reader} {spelled}"),
        6 => format!("{reader} < {spelled}"),
        7 => format!("X={path}; {reader} $X"),
        8 => format!("X='{}'; {reader} $X", spelled.replace('\'', "")),
        9 => format!("for f in {spelled}; do {reader} \"$f\"; done"),
        10 => format!("cd {dir} && {reader} {name}"),
        11 => format!("(cd src; {reader} ../{spelled})"),
        12 => format!("{reader} $(echo {spelled})"),
        13 => format!("grep -{}n foo {folder}", random.pick(&["r", "R", "rh", "Rs", "rI"])),
        14 => {
            let left_out = ["secrets", "sec*", "src", "denied", "'{secrets,denied}'", "'[[:lower:]]*'", "'[!a-r]*'"];
            format!("grep -r foo --exclude-dir={} {folder}", random.pick(&left_out))
        }
        15 => format!("find {folder} -type f -exec {reader} {{}} {}", random.pick(&["+", "\\;"])),
        16 => format!("find {folder} -name '{}' | xargs {reader}", random.pick(&["*.rs", "k", "*.txt", "x", "[kx]"])),
        17 => format!("tar cf - {folder} | tar xOf -"),
        18 => format!("diff -r {folder} docs"),
        19 => format!("echo {spelled} | xargs {reader}"),
        20 => format!("sh -c '{reader} {}'", spelled.replace('\'', "")),
        _ => format!("cp -r {folder} \"$OUT\""),
    }
}

/// Runs the command in `dir` and returns what it printed and copied.
pub(super) fn shell(command: &str, dir: &Path, more: &[(&str, &Path)]) -> String {
    let out = tempfile::tempdir().unwrap();
    let mut bash = Command::new("/bin/bash");
    bash.arg("-c").arg(command).current_dir(dir).env_clear().env("PATH", "/usr/bin:/bin").env("OUT", out.path());
    bash.envs(more.iter().copied());
    let done = bash.stdin(Stdio::null()).output().unwrap();
    let copied =
        Command::new("/usr/bin/find").arg(out.path()).args(["-type", "f", "-exec", "cat", "{}", "+"]).output().unwrap();
    String::from_utf8_lossy(&[done.stdout, done.stderr, copied.stdout].concat()).into_owned()
}

// [F-A5]
#[test]
fn random_reads_never_show_a_denied_file() {
    let mut sandbox = tree();
    let out = tempfile::tempdir().unwrap();
    sandbox.set("OUT", out.path());
    let mut random = Random::new(5);
    let commands: Vec<String> = (0..samples()).map(|_| read_command(&mut random)).collect();
    let deny = ["Read(./secrets/**)", "Read(a/b/denied/**)", "Read(/a/denied.rs)", "Read(.env)"];
    let deny: Vec<String> =
        deny.iter().map(|rule| rule.replace("(/a", &format!("(/{}/a", sandbox.project().display()))).collect();
    let mut allowed = 0;
    for (mode, rules) in
        [("default", json!({"deny": deny, "allow": ["Bash"]})), ("bypassPermissions", json!({"deny": deny}))]
    {
        for (command, answer) in commands.iter().zip(explained(&sandbox, mode, &rules, &commands)) {
            if answer["decision"] == "allow" {
                allowed += 1;
                let shown = shell(command, &sandbox.project(), &[]);
                assert!(!shown.contains(MARK), "seed {}: {command} showed {shown}", random.seed);
            }
        }
    }
    assert!(allowed > commands.len() / 8, "only {allowed} of {} were allowed", 2 * commands.len());
    eprintln!("reads: {} commands in two modes, {allowed} allowed", commands.len());
}

fn write_command(random: &mut Random) -> String {
    let target = random.pick(&[
        ".git/hooks/h",
        ".git/config",
        ".claude/settings.json",
        "locked/x",
        "locked/../locked/x",
        "./.git/config",
    ]);
    let target = if random.below(6) == 0 { "out/fine" } else { target };
    let (program, option, tail): (&str, String, &str) = match random.below(15) {
        0 => (
            "sort",
            random.pick(&["-o @", "-o@", "-uo @", "-no@", "--output=@", "--outp @", "--o=@"]).into(),
            "notes.txt",
        ),
        1 => ("shuf", random.pick(&["-o @", "-o@", "--output=@", "--out @"]).into(), "notes.txt"),
        2 => ("git diff --no-index", random.pick(&["--output=@", "--output @", "--outpu=@"]).into(), "notes.txt k"),
        3 => ("tee", random.pick(&["@", "-a @", "-- @", "--append @"]).into(), "< notes.txt"),
        4 => ("dd", random.pick(&["of=@", "conv=notrunc of=@"]).into(), "if=notes.txt"),
        5 => ("uniq notes.txt", random.pick(&["@", "-c @", "-- @"]).into(), ""),
        6 => (
            "sed",
            random.pick(&["'w @'", "-n '1w @'", "-e 'w @'", "'s/a/b/w @'", "-n -e '/f/w @'"]).into(),
            "notes.txt",
        ),
        7 => ("awk", random.pick(&["'{print > \"@\"}'", "'{print >> \"@\"}'"]).into(), "notes.txt"),
        8 => ("find", random.pick(&["-fprint @", "-name k -fprint0 @", "-fprintf @ x"]).into(), ""),
        10 => ("gcc -c", random.pick(&["-MMD -MF @", "-MMD -MF@", "-o @", "-Wp,-MMD,@"]).into(), "c.c"),
        11 => ("gzip", random.pick(&["@", "-9 @", "-f -- @", "-kf @", "-S .b @"]).into(), ""),
        12 => ("xz", random.pick(&["@", "-0 @", "-T1 @"]).into(), ""),
        13 => ("sqlite3", random.pick(&["@ 'create table t(a)'", ":memory: '.output @' 'select 1'"]).into(), ""),
        9 => ("iconv", random.pick(&["-o @", "-f utf8 -o@", "--output=@"]).into(), "notes.txt"),
        _ => ("tar", random.pick(&["-cf @", "cf @", "--create --file=@", "-c -f@", "-czf @"]).into(), "notes.txt"),
    };
    let option = option.replace('@', target);
    let extra = match program {
        "sort" => random.pick(&["", "-u", "-k1", "-r"]),
        "shuf" => random.pick(&["", "-n1"]),
        _ => "",
    };
    let fixed_order = matches!(program, "sed" | "awk" | "find" | "uniq notes.txt" | "tar");
    match random.below(3) {
        0 if !fixed_order => format!("{program} {tail} {extra} {option}"),
        1 => format!("timeout 5 {program} {option} {extra} {tail}"),
        _ => format!("{program} {extra} {option} {tail}"),
    }
}

// [F-A8]
#[test]
fn random_options_never_write_a_protected_file() {
    let sandbox = tree();
    for path in [".git/hooks/h", ".git/config", ".claude/settings.json", "locked/x"] {
        sandbox.write(path, "");
    }
    sandbox.write("c.c", "int x;\n");
    std::fs::create_dir(sandbox.project().join("out")).unwrap();
    let mut random = Random::new(8);
    let commands: Vec<String> = (0..samples()).map(|_| write_command(&mut random)).collect();
    let programs = [
        "sort", "shuf", "git diff", "git", "tee", "dd", "uniq", "sed", "awk", "find", "iconv", "tar", "gcc", "gzip",
        "xz", "sqlite3",
    ];
    let allow: Vec<String> =
        programs.iter().map(|name| format!("Bash({name}:*)")).chain(["Edit(out/**)".into()]).collect();
    let rules = json!({"allow": allow, "deny": ["Edit(locked/**)"]});
    let (mut allowed, mut wrote) = (0, 0);
    for (command, answer) in commands.iter().zip(explained(&sandbox, "default", &rules, &commands)) {
        if answer["decision"] == "allow" {
            allowed += 1;
            shell(command, &sandbox.project(), &[]);
            wrote += usize::from(sandbox.project().join("out/fine").exists());
        }
        for path in [".git/hooks/h", ".git/config", ".claude/settings.json", "locked/x"] {
            assert_eq!(sandbox.read(path), "", "seed {}: {command} wrote {path}", random.seed);
        }
    }
    assert!(allowed > 0 && wrote > 0, "{allowed} of {} were allowed", commands.len());
    eprintln!("writes: {} commands, {allowed} allowed", commands.len());
}

fn remove_command(random: &mut Random) -> String {
    let home = random.pick(&[
        "~",
        "$HOME",
        "\"$HOME\"",
        "${HOME}",
        "~/",
        "$HOME/.",
        "h/..",
        "../home",
        "$CLAUDE_CONFIG_DIR",
        "~/.claude",
        "~/.c*",
        "../h*me",
        "h/.claude",
        "/proc/self/cwd/../home",
        "build",
        "src/a.rs",
        "./build/*",
        "out",
        "*.tmp",
        "\"$PWD\"/build",
        "/proc/self/cwd/build",
    ]);
    let rm = random.pick(&[
        "rm -rf",
        "rm -r",
        "rm --recursive --force",
        "rm -fr --",
        "\\rm -rf",
        "'rm' -rf",
        "command rm -rf",
    ]);
    let plain = format!("{rm} {home}");
    match random.below(18) {
        0..=2 => plain,
        3 => format!("X={home}; {rm} $X"),
        4 => format!("X={home}; {rm} \"$X\""),
        5 => format!("for d in x {home}; do {rm} $d; done"),
        6 => format!("echo {home} | xargs {rm}"),
        7 => format!("echo '{}' | sh", plain.replace('\'', "")),
        8 => format!("bash <<< '{}'", plain.replace('\'', "")),
        9 => format!("bash <<'E'\n{plain}\nE"),
        10 => format!("eval '{}'", plain.replace('\'', "")),
        11 => format!("cd {home} && {rm} \"$PWD\""),
        12 => format!("cd {home}; {rm} ../$(basename $PWD)"),
        13 => format!("A=({home} x); {rm} \"${{A[@]}}\""),
        14 => format!("true && Y={home}; {rm} $Y"),
        15 => format!("if true; then Z={home}; else Z=build; fi; {rm} $Z"),
        16 => format!("f() {{ {plain}; }}; f"),
        _ => format!("$(echo {}) {home}", rm.replace(['\\', '\''], "")),
    }
}

// [F-A7]
#[test]
fn random_removals_never_reach_the_home_directory() {
    let sandbox = tree();
    symlink(sandbox.home(), sandbox.project().join("h")).unwrap();
    for path in ["build/x", "x.tmp", "out/y"] {
        sandbox.write(path, "");
    }
    std::fs::create_dir_all(sandbox.config_dir().join("snapshots")).unwrap();
    // The recorder stands in for rm: it says where each operand leads and removes nothing.
    let bin = tempfile::tempdir().unwrap();
    let log = bin.path().join("log");
    let recorder = bin.path().join("rm");
    let text = "#!/bin/bash\nfor a; do case $a in -*|'') ;; *) d=$(dirname -- \"$a\"); echo \"$(cd -- \"$d\" 2>/dev/null && pwd -P)/$(basename -- \"$a\")\" \
                \"$(realpath -m -- \"$a\")\" >> \"$LOG\";; esac; done\n";
    std::fs::write(&recorder, text).unwrap();
    std::fs::set_permissions(&recorder, PermissionsExt::from_mode(0o755)).unwrap();
    let mut random = Random::new(7);
    let commands: Vec<String> = (0..samples()).map(|_| remove_command(&mut random)).collect();
    let path = format!("{}:/usr/bin:/bin", bin.path().display());
    let (mut allowed, mut recorded) = (0, 0);
    for (command, answer) in
        commands.iter().zip(explained(&sandbox, "bypassPermissions", &json!({"allow": ["Bash"]}), &commands))
    {
        if answer["decision"] != "allow" {
            continue;
        }
        allowed += 1;
        std::fs::write(&log, "").unwrap();
        let (home, config) = (sandbox.home(), sandbox.config_dir());
        let more = [
            ("HOME", home.as_path()),
            ("CLAUDE_CONFIG_DIR", config.as_path()),
            ("PATH", Path::new(&path)),
            ("LOG", log.as_path()),
        ];
        shell(command, &sandbox.project(), &more);
        let store = config.join("snapshots");
        for line in std::fs::read_to_string(&log).unwrap().lines() {
            recorded += 1;
            let Some((as_named, real)) = line.split_once(' ') else { continue };
            // `.` and `..` are refused by rm itself; a link goes alone.
            let ends_in_dots = as_named.ends_with("/.") || as_named.ends_with("/..");
            let removed = Path::new(if ends_in_dots { real } else { as_named });
            let holds = store.starts_with(removed) || sandbox.project().starts_with(removed);
            assert!(!holds, "seed {}: {command} would remove {line}", random.seed);
        }
    }
    assert!(allowed > 0 && recorded > 0, "{allowed} of {} were allowed", commands.len());
    eprintln!("removals: {} commands, {allowed} allowed", commands.len());
}
