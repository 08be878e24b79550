//! A denied program is wrapped at random in builtins, runners and control structures. Whatever the policy would let run is
//! run by a real bash whose programs are recorders: the denied one must never have run. `GIMLET_SAMPLES` sets how many
//! samples are taken.

#![allow(clippy::unwrap_used, reason = "test code")]

use permission::{Access, PathFacts, PermissionQuery, Policy, SessionDirectories};
use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode as Mode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

/// The same sequence on every run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.next(from.len())]
    }
}

/// `@` stands for the program.
#[rustfmt::skip]
const BUILTINS: &[&str] = &[
    "@ x", "'@' x", "\\@ x", "\"@\"", "command @", "command -p @", "exec @", "exec -a y @", "builtin eval @", "eval @ x", "eval 'eval @'",
    "mapfile -C @ -c 1 a <<< x", "readarray -c 1 -C '@ y' a < <(echo x)", "echo @ | source /dev/stdin", "source <(echo @)",
    ". /dev/stdin <<< @", "echo '@ x' > made.sh; source ./made.sh", "echo @ > made; . ./made", "test -v 'a[$(@)]'", "[ -v 'a[$(@)]' ]",
    "[[ -v 'a[$(@)]' ]]", "printf -v 'a[$(@)]' x", "let 'a[$(@)]=1'", "declare 'a[$(@)]=1'", "read 'a[$(@)]' <<< x",
    "a=(1); unset 'a[$(@)]'", "x='a[$(@)]'; (( x ))", "x='a[$(@)]'; echo $((x + 1))", "x='a[$(@)]'; echo ${!x}",
    "x='a[$(@)]'; [[ $x -eq 1 ]]", "x='b[$(@)]'; y=(1); echo ${y[x]}", "x='b[$(@)]'; y=abc; echo ${y:x}",
    "declare -i n; n='a[$(@)]'", "declare -n r='a[$(@)]'; echo $r", "x='a[$(@)]'; test -v \"$x\"", "x='a[$(@)]'; printf -v \"$x\" y",
    "read x <<< 'a[$(@)]'; echo $((x))", "for x in 'a[$(@)]'; do (( x )); done", "echo $((a[$(@)]))", "(( a[$(@)] ))",
    "v='$(@)'; echo \"${v@P}\"", "PS4='$(@)'; set -x; true", "trap @ EXIT", "trap '@' DEBUG; true", "x=@; trap \"$x\" EXIT", "coproc @",
    "shopt -s expand_aliases; alias l=@\nl", "hash -p $BIN/@ ls; ls", "compgen -C @ x", "compgen -W '$(@)'",
    "command_not_found_handle() { @; }; nosuch", "ls() { @; }; ls", "function g { @; }\ng", "x=@; eval \"$x\"", "x=@; bash -c \"$x\"",
    "x=@; bash -c \"true; $x\"", "bash <<< @", "echo @ | bash", "echo @ | bash -s", "bash /dev/stdin <<< @", "bash <(echo @)",
    "BASH_ENV=<(echo @) bash -c true", "x=@; $x", "set -- @; \"$@\"", "f() { \"$@\"; }; f @", "read x <<< @; $x",
    "IFS=,; x=a,@; set -- $x; $2", "$(echo @)", "`echo @`", "${z:-@}", "{@,x}", "cat <<E | bash\n@\nE", "bash <<'E'\n@\nE",
    "echo $(@)", "echo `@`", "echo \"${z:-$(@)}\"", "x=$(@)", "cat <(@)", "echo x > >(@)", "cat <<E\n$(@)\nE", "[[ -n $(@) ]]",
    "bash -c '@ x'", "bash -c 'eval \"$1\"' _ @", "bash -c '\"$@\"' _ @", "sh -c @", "while @; do break; done", "until @; do break; done",
    "case $(@) in *) ;; esac", "select x in a; do @; break; done <<< 1", "for x in @; do $x; done", "for x in a; do @; done",
    "if @; then true; fi", "time @", "! @", "@ & wait", "x=1 @", "x=$(@) true", "a[$(@)]=1", "a=($(@))", "local x=$(@)",
    "export x=$(@)", "readonly x=$(@)", "echo ${a[$(@)]}", "exec 3< <(@); cat <&3", "wait -p 'a[$(@)]' 1", "getopts a 'b[$(@)]' -a",
    "declare -a 'x=($(@))'", "declare -A 'x=([a]=$(@))'", "readonly -a 'x=($(@))'", "export -a 'x=($(@))'", "typeset -a \"y=(\\$(@))\"", "v='($(@))'; declare -a x=$v",
    "x='a[$(@)]'; b=([x]=1)", "z=(['a[$(@)]']=2)", "RANDOM='a[$(@)]'", "OPTIND='a[$(@)]'", "SECONDS='a[$(@)]'", "SRANDOM='a[$(@)]'", "HISTCMD='a[$(@)]'",
    "for RANDOM in 'a[$(@)]'; do :; done", "read RANDOM <<< 'a[$(@)]'", "printf -v RANDOM %s 'a[$(@)]'", "export RANDOM='a[$(@)]'", "mapfile -t OPTIND <<< 'a[$(@)]'",
    "BASH_ALIASES[q]=@; shopt -s expand_aliases\nq", "BASH_CMDS[q]=$BIN/@; q", "declare 'BASH_CMDS[q]=$BIN/@'; q", "x=BASH_CMDS; declare \"$x[q]=$BIN/@\"; q", "local -a 'x=($(@))'",
    "BIN2=$BIN; $BIN2/@", "\"$BIN\"/@", "$BIN/e?il", "$BIN/[e]vil", "enable -n echo; echo() { @; }; echo", "printf '%s\\n' @ | while read c; do $c; done",
];

/// `@` is the program, `#` a script with it. The programs are stand-ins that run whatever they are given.
#[rustfmt::skip]
const RUNNERS: &[&str] = &[
    "env @ x", "env A=b @", "env -u A @", "env -S '@ x'", "env -S'@ x'", "env --split-string='@ x'", "nice @", "nice -n 5 @", "nohup @", "timeout 5 @",
    "timeout -k 1 5 @", "stdbuf -o0 @", "setsid @", "echo x | xargs @", "echo x | xargs -n 1 @", "echo x | xargs -I{} @ {}",
    "echo @ | xargs env", "echo @ | xargs -I{} {}", "echo @ | xargs -I{} bash -c '{}'", "echo @ | xargs bash -c", "echo x | xargs env @",
    "find . -maxdepth 0 -exec @ {} \\;", "find . -maxdepth 0 -exec env @ {} +", "find . -maxdepth 0 -exec bash -c '@ {}' \\;", "find . -maxdepth 0 -execdir @ \\;",
    "npm exec -- @ x", "npm exec @", "npm x -- @", "npm exec -c '#'", "npm --prefix x exec -- @", "npx @ x", "npx -y @", "npx -c '#'", "pnpm exec @", "pnpm dlx @",
    "yarn exec @", "yarn dlx @", "bunx @", "bun x @", "uv run @", "uv run -- @", "uvx @", "poetry run @", "pipenv run @", "bundle exec @", "perf stat @",
    "perf record -- @", "strace @", "strace -f -o x @", "ltrace @", "gdb --args @", "valgrind @", "chronic @", "flock lock @", "flock lock -c '#'",
    "parallel @ ::: a", "parallel ::: '#'", "ls | entr @", "watch @", "watch -n 1 '#'", "direnv exec . @", "nix run x -c @", "nix shell x -c @", "nix-shell --run '#'",
    "docker exec c @", "docker run --rm i @", "docker --context x exec c @", "podman run i @", "kubectl exec p -- @", "ssh h @", "ssh h '#'", "sudo @", "sudo -u u @",
    "sudo -E env @", "doas @", "su -c '#'", "su u -c @", "script -c '#'", "systemd-run @", "chroot / @", "unshare @", "unshare -r @", "nsenter -t 1 @",
    "busybox @", "rbenv exec @", "pyenv exec @", "mise exec -- @", "mise x -- @", "dotenv -- @", "cargo watch -s '#'", "cargo watch -x @", "hyperfine '#'", "hyperfine @",
    "git -c core.fsmonitor=@ status", "git -c core.pager='#' log", "git -c alias.x='!#' x", "git bisect run @", "git rebase -x '#' HEAD", "git rebase --exec='#' HEAD",
    "git submodule foreach '#'", "git difftool --extcmd=@", "git filter-branch --tree-filter '#'", "GIT_EDITOR=@ git commit", "GIT_PAGER='#' git log",
    "GIT_SSH_COMMAND='#' git fetch", "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=@ git log", "PAGER=@ git log", "tmux new-session '#'",
    "firejail @", "fakeroot @", "xvfb-run @", "gosu u @", "taskset 1 @", "ionice -c3 @", "caffeinate @", "torsocks @", "rlwrap @", "prlimit @", "sg g -c '#'",
    "ssh-agent @", "gpg-agent --daemon @", "split --filter=@ x", "split --filt '#' x", "tar cf x --checkpoint=1 --checkpoint-action=exec=@ y", "tar xf x --to-command '#'",
    "TAR_OPTIONS=--to-command=@ tar xf x", "zip -T -TT @ x y", "wget --use-askpass=@ x", "git config alias.x '!@' && git x", "git config core.pager @; git log", "rg --pre @ x",
    "rsync -e @ a b", "rsync --rsh='#' a b", "RSYNC_RSH=@ rsync a b", "scp -S @ a b", "man -P @ ls", "man --pager='#' ls", "ssh -o ProxyCommand=@ h", "sort --compress-program=@ x", "socat - EXEC:@",
    "ncat -e @ h", "dbus-launch @", "ld-linux-x86-64.so.2 @", "go test -exec @", "bat --pager=@ x", "fzf --preview '#'", "tcpdump -z @", "docker run --entrypoint @ i",
    "conda run @", "aws-vault exec p -- @", "doppler run -- @", "cross-env A=b @", "nodemon --exec '#'", "watchexec @",
    "pixi run @", "rustup run stable @", "op run -- @", "infisical run -- @", "linux32 @", "i686 @", "jobs -x @",
];

/// `@` stands for a command.
#[rustfmt::skip]
const AROUND: &[&str] = &[
    "true && @", "false || @", "echo a; @", "echo a\n@", "@ | cat", "echo a | { @; }", "( @ )", "{ @\n}", "if true; then @\nfi", "for i in 1 2; do @\ndone",
    "f() { @\n}; f", "@ 2>/dev/null", "echo \"$( @ )\"", "case a in a) @\n;; esac", "@ # note", "  @  ", "cd . && @", "while true; do @\nbreak; done", "{ @\n} 2>&1",
];

const DENIED: &str = "evil";
const OTHER: &str = "fine";

fn sample(random: &mut Random) -> (String, bool) {
    let denied = random.next(4) > 0;
    let program = if denied { DENIED } else { OTHER };
    let template = if random.next(2) == 0 { random.pick(BUILTINS) } else { random.pick(RUNNERS) };
    let template =
        if denied { template.to_owned() } else { template.replace("e?il", "fin?").replace("[e]vil", "[f]ine") };
    let script = random.pick(&["@", "@ x", "true; @", "true && @ y"]);
    let mut command = template.replace('#', script).replace('@', program);
    for _ in 0..random.next(4) {
        command = random.pick(AROUND).replacen('@', &command, 1);
    }
    (command, denied)
}

fn policy(denied: &str) -> Policy {
    let rule = |behaviour, text: &str| RuleText {
        behaviour,
        source: SettingsSource::User,
        text: text.into(),
        root: "/w".into(),
    };
    let rules = [rule(RuleBehaviour::Deny, denied), rule(RuleBehaviour::Allow, "Bash")];
    let place = SessionDirectories {
        cwd: "/w".into(),
        home: Some("/home/u".into()),
        roots: vec!["/w".into()],
        ..SessionDirectories::default()
    };
    Policy::new(Mode::BypassPermissions, &rules, place, &Path::to_path_buf).0
}

fn decide(policy: &Policy, command: &str) -> &'static str {
    let accesses = [Access::Run(command.to_owned())];
    let request = PermissionQuery::new("Bash", &accesses);
    let facts = PathFacts::gather("/w".into(), policy.needs(&request, Path::new("/w")), Path::to_path_buf);
    policy.decide(&request, &facts).as_str()
}

/// A directory of programs: recorders, stand-ins for runners, and a few harmless real ones.
struct RecorderFolder {
    dir: tempfile::TempDir,
    bin: PathBuf,
}

impl RecorderFolder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let recorders = Self { dir, bin };
        for name in [DENIED, OTHER] {
            recorders.program(name, &format!("echo {name} \"$@\" >> \"$LOG\"\n"));
        }
        recorders.program("rm", "echo rm \"$@\" >> \"$LOG\"\n");
        // Runs every word and every text that mentions a recorder, which no real runner does.
        let runs = "for a in \"$@\" \"$GIT_EDITOR\" \"$GIT_PAGER\" \"$PAGER\" \"$GIT_SSH_COMMAND\" \"$GIT_CONFIG_VALUE_0\"; do case $a in \
                    evil|fine) \"$a\";; *evil*|*fine*) a=${a#*=}; bash -c \"${a#!}\";; esac; done\n";
        let named = RUNNERS.iter().flat_map(|template| template.split([' ', '|']));
        let real = ["env", "nice", "nohup", "timeout", "stdbuf", "setsid", "xargs", "find", "cat", "ls", "bash", "sh"];
        for name in named.filter(|word| word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')) {
            if !real.contains(&name) && !["echo", "if", "exec"].contains(&name) {
                recorders.program(name, runs);
            }
        }
        for name in real {
            let found = ["/usr/bin", "/bin"].iter().map(|dir| Path::new(dir).join(name)).find(|path| path.exists());
            if let Some(path) = found {
                symlink(path, recorders.bin.join(name)).unwrap();
            }
        }
        recorders
    }

    fn program(&self, name: &str, body: &str) {
        let file = self.bin.join(name);
        std::fs::write(&file, format!("#!/bin/bash\n{body}")).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// What ran, a line per call of a recorder.
    fn run(&self, command: &str, number: usize) -> String {
        let (work, log) = (self.dir.path().join(format!("w{number}")), self.dir.path().join(format!("log{number}")));
        std::fs::create_dir(&work).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the oracle is a real shell with recorders on PATH")]
        let mut shell = std::process::Command::new("/usr/bin/timeout");
        shell.args(["-s", "KILL", "10", "/bin/bash", "-c", command]).env_clear().current_dir(&work);
        shell.env("PATH", &self.bin).env("LOG", &log).env("BIN", &self.bin);
        shell.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::null()).output().unwrap();
        std::fs::read_to_string(&log).unwrap_or_default()
    }
}

fn samples() -> usize {
    #[allow(clippy::disallowed_methods, reason = "how long the test runs is the caller's choice")]
    let given = std::env::var("GIMLET_SAMPLES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(130)
}

/// The start of a random sequence: fixed unless `GIMLET_SEED` gives another.
fn seed(default: u64) -> u64 {
    #[allow(clippy::disallowed_methods, reason = "which samples are drawn is the caller's choice")]
    let given = std::env::var("GIMLET_SEED").ok().and_then(|text| text.parse::<u64>().ok());
    given.map_or(default, |seed| default ^ seed.wrapping_mul(0xd134_2543_de82_ef95) | 1)
}

// [F-A6]
#[test]
fn no_wrapper_starts_a_denied_program() {
    let (recorders, policy) = (RecorderFolder::new(), policy("Bash(evil:*)"));
    let mut random = Random(seed(0x9e37_79b9_7f4a_7c15));
    let (mut allowed, mut ran, mut wrong) = (0, 0, String::new());
    for number in 0..samples() {
        let (command, _) = sample(&mut random);
        if decide(&policy, &command) != "allow" {
            continue;
        }
        allowed += 1;
        let log = recorders.run(&command, number);
        ran += usize::from(!log.is_empty());
        if log.lines().any(|line| line.starts_with(DENIED)) {
            writeln!(wrong, "{command:?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "the denied program ran:\n{wrong}");
    // Other programs do run: the judge does not hold up everything.
    assert!(allowed * 20 > samples() && ran * 40 > samples(), "{allowed} allowed, {ran} ran, of {}", samples());
    eprintln!("{} samples, {allowed} allowed, {ran} of them ran a recorder", samples());
}

// [F-A6]
#[test]
fn the_order_of_flags_is_no_way_out() {
    let (recorders, policy) = (RecorderFolder::new(), policy("Bash(rm -rf:*)"));
    let mut random = Random(seed(0x2545_f491_4f6c_dd1d));
    let (mut allowed, mut wrong) = (0, String::new());
    for number in 0..samples() {
        let mut words = vec!["x", "y"];
        for _ in 0..=random.next(3) {
            let flag = random.pick(&[
                "-r",
                "-f",
                "-R",
                "-v",
                "-rf",
                "-fr",
                "-Rfv",
                "--recursive",
                "--force",
                "--recurs",
                "--forc",
                "-i",
                "--",
                "-d",
            ]);
            words.insert(random.next(words.len() + 1), flag);
        }
        let command =
            format!("{} {}", random.pick(&["rm", "/bin/rm", "'rm'", "env rm", "true && rm"]), words.join(" "));
        if decide(&policy, &command) != "allow" {
            continue;
        }
        allowed += 1;
        let log = recorders.run(&command.replace("/bin/rm", "rm"), number);
        let flags = log.split(" -- ").next().unwrap_or("").split_whitespace().filter(|word| word.starts_with('-'));
        let flags: Vec<&str> = flags.collect();
        let has = |letters: [char; 2], long: &str| {
            let short = |word: &&str| !word.starts_with("--") && word.contains(letters);
            flags.iter().any(|word| short(word) || (word.len() > 3 && long.starts_with(word)))
        };
        if has(['r', 'R'], "--recursive") && has(['f', 'f'], "--force") {
            writeln!(wrong, "{command}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "removed recursively and by force:\n{wrong}");
    assert!(allowed * 20 > samples(), "{allowed} of {}", samples());
}
