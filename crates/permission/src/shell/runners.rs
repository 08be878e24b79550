//! Programs that run the command they are given as arguments. Deny and ask rules look through all of them: any word behind
//! a runner may be a program. The position of the program is known per runner, so that a name which is only known at
//! run time is noticed.

use super::script::ShellWord;
use super::wrapper::{base_name, may_run_others};

/// Runners beyond those of `wrapper`: everything behind their name may be a program.
#[rustfmt::skip]
const ALWAYS_RUNNING: &[&str] = &[
    "npx", "pnpx", "bunx", "uvx", "pipx", "perf", "gdb", "lldb", "valgrind", "chronic", "entr", "direnv", "nix", "nix-shell", "rbenv",
    "pyenv", "nodenv", "asdf", "mise", "rtx", "dotenv", "dotenvx", "dotenvy", "doppler", "aws-vault", "hyperfine", "torsocks", "torify",
    "proxychains", "proxychains4", "faketime", "firejail", "bwrap", "fakeroot", "dbus-run-session", "xvfb-run", "numactl", "prlimit",
    "setpriv", "capsh", "runcon", "rlwrap", "start-stop-daemon", "daemonize", "tini", "dumb-init", "gosu", "su-exec", "watchexec",
    "nodemon", "cross-env", "concurrently", "tmux", "screen", "systemd-inhibit", "catchsegv", "ccache", "distcc", "pkexec", "sg",
    "eatmydata", "chpst", "envdir", "setuidgid", "softlimit", "heaptrack", "rr", "uftrace", "bpftrace", "cgexec", "choom", "setarch",
    "linux64", "linux32", "i386", "i486", "i586", "i686", "x86_64", "jobs", "aa-exec", "expect", "multitime", "retry", "pv", "sem", "env-cmd", "foreman", "honcho", "overmind", "watchman", "at",
    "ssh-agent", "gpg-agent", "dbus-launch", "dbus-monitor", "ssh-askpass", "xauth", "setsebool", "sshpass", "cpulimit", "proot", "fakechroot",
    "systemd-nspawn", "machinectl", "with-contenv", "s6-setuidgid", "execlineb", "runit", "runsv", "chrt", "schedtool", "trickle", "tsocks",
    "unbuffer", "stdbuf", "cgclassify", "lxc-attach", "lxc-execute", "valgrind.bin", "memusage", "sotruss", "ltrace", "callgrind", "winpty",
];

/// Runners with a subcommand: what follows that word may be a program.
#[rustfmt::skip]
const BY_WORD: &[(&[&str], &[&str])] = &[
    (&["npm"], &["exec", "x", "explore"]),
    (&["pnpm"], &["exec", "dlx"]),
    (&["yarn"], &["exec", "dlx"]),
    (&["bun"], &["x", "exec"]),
    (&["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba", "heroku", "pixi", "rustup", "op", "infisical", "vault", "chamber", "teller"], &["run", "exec"]),
    (&["bundle", "lerna", "nx", "rvm", "chef", "turbo"], &["exec", "do"]),
    (&["docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc", "lxc", "flatpak", "snap"], &["exec", "run", "debug"]),
    (&["cargo"], &["watch", "with"]),
    (&["git"], &["run", "foreach"]),
    (&["vagrant", "gcloud", "fly", "flyctl"], &["ssh", "exec"]),
    (&["opam", "stack", "cabal", "guix", "spack"], &["exec", "shell", "environment"]),
];

/// The index of the first word that may be a program after the runner with which `words` begin.
pub(crate) fn from(words: &[String]) -> Option<usize> {
    let program = base_name(words.first()?);
    // The loader of programs runs the one it is given.
    let is_loader = program.starts_with("ld-") && program.contains(".so") || program == "ld.so";
    if ALWAYS_RUNNING.contains(&program) || is_loader {
        return Some(1);
    }
    let (_, subs) = BY_WORD.iter().find(|(programs, _)| programs.contains(&program))?;
    words.iter().position(|word| subs.contains(&word.as_str())).map(|at| at + 1)
}

/// Options of runners that name the directory in which the command runs.
#[rustfmt::skip]
const ENTERING: &[&str] = &[
    "-C", "-D", "--chdir", "--directory", "--cwd", "--wd", "--workdir", "--work-dir", "--working-directory", "--dir", "--prefix",
];

/// The directories that options of a runner make the command run in; empty text for one that is not known.
pub(crate) fn entered(words: &[String]) -> Vec<&str> {
    let Some(first) = words.first().map(|word| base_name(word)) else { return Vec::new() };
    if !may_run_others(first) && from(words).is_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let (name, inline) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let abbreviated = name.len() > 3 && name.starts_with("--") && "--chdir".starts_with(name);
        if ENTERING.contains(&name) || abbreviated {
            found.push(inline.or_else(|| words.get(at + 1).map(String::as_str)).unwrap_or_default());
        } else if let Some(attached) = word.strip_prefix("-C").filter(|dir| !dir.is_empty()) {
            found.push(attached);
        }
    }
    if words.iter().any(|word| matches!(base_name(word), "chroot" | "nsenter" | "unshare" | "bwrap" | "proot")) {
        found.push("");
    }
    found
}

/// The position of the command among the arguments of a runner.
struct CommandRunner {
    programs: &'static [&'static str],
    /// Options whose value is the next word.
    valued: &'static [&'static str],
    /// Words before the command: a duration, a lock file, a host.
    skips: usize,
}

const fn runner(programs: &'static [&'static str], valued: &'static [&'static str], skips: usize) -> CommandRunner {
    CommandRunner { programs, valued, skips }
}

#[rustfmt::skip]
const RUNNERS: &[CommandRunner] = &[
    runner(&["env"], &["-u", "--unset", "-C", "--chdir"], 0),
    runner(&["sudo", "doas", "pkexec"], &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "--user", "--group"], 0),
    runner(&["timeout"], &["-k", "-s", "--kill-after", "--signal"], 1),
    runner(&["nice"], &["-n", "--adjustment"], 0),
    runner(&["ionice"], &["-c", "-n", "-t", "--class", "--classdata"], 0),
    runner(&["stdbuf"], &["-i", "-o", "-e"], 0),
    runner(&["time", "nohup", "command", "builtin", "noglob", "nocorrect", "setsid", "coproc", "unbuffer", "chronic", "caffeinate"], &["-f", "-o"], 0),
    runner(&["exec"], &["-a"], 0),
    runner(&["xargs"], &["-n", "-L", "-P", "-I", "-a", "-d", "-E", "-s", "--max-args", "--max-procs", "--replace", "--delimiter", "--arg-file"], 0),
    runner(&["strace", "ltrace"], &["-o", "-e", "-p", "-s", "-u", "-P", "-S", "-a"], 0),
    runner(&["flock"], &["-w", "-E", "--timeout"], 1),
    runner(&["chroot"], &[], 1),
    runner(&["taskset", "chrt"], &["-p"], 1),
    runner(&["ssh"], &["-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-E", "-S", "-W", "-w"], 1),
    runner(&["unshare", "nsenter"], &["-t", "--target", "-S", "-G", "-w", "-R"], 0),
    runner(&["systemd-run"], &["-p", "-u", "-M", "-H", "--unit", "--property", "--slice", "-E"], 0),
    runner(&["npx", "pnpx", "bunx", "uvx"], &["-p", "--package", "--with", "--from", "--python"], 0),
    runner(&["valgrind", "hyperfine", "fakeroot", "rlwrap", "torsocks", "proxychains", "proxychains4", "entr", "dotenv", "eatmydata", "firejail", "ccache"], &["-f", "-e", "-w", "-r", "-m"], 0),
    runner(&["busybox", "toybox"], &[], 0),
    runner(&["numactl", "prlimit", "setpriv", "gosu", "su-exec"], &["-m", "-C"], 0),
];

/// Runners that start a shell, which reads its input, when they are given no command.
const SHELL_STARTERS: &[&str] =
    &["su", "unshare", "nsenter", "chroot", "script", "newgrp", "sg", "at", "batch", "runuser"];

/// The command at the end of a chain of runners.
pub(super) enum RunnerTarget<'a> {
    /// A program and its arguments.
    Command(&'a [ShellWord]),
    /// A shell that reads its input, or a program that is appended when it runs.
    Unknown,
    Nothing,
}

/// Follows runners to the command. `appends` becomes true behind one that adds words from its input.
pub(super) fn inner<'a>(words: &'a [ShellWord], appends: &mut bool) -> RunnerTarget<'a> {
    let mut words = words;
    loop {
        let Some((name, rest)) = words.split_first() else {
            return if *appends { RunnerTarget::Unknown } else { RunnerTarget::Nothing };
        };
        let program = base_name(&name.text);
        let shell = matches!(program, "sudo" | "doas") && rest.iter().take(3).any(|word| is_shell_option(&word.text));
        let bare = SHELL_STARTERS.contains(&program) && !rest.iter().any(|word| is_code_option(&word.text));
        if shell {
            return RunnerTarget::Unknown;
        }
        let Some(runner) = RUNNERS.iter().find(|runner| runner.programs.contains(&program)) else {
            let lists = rest.iter().any(|word| matches!(word.text.as_str(), "-l" | "-q" | "--help" | "--version"));
            return if bare && !lists { RunnerTarget::Unknown } else { RunnerTarget::Command(words) };
        };
        *appends |= program == "xargs";
        let Some(after) = runner.command(rest) else {
            let reads = bare || (*appends && program != "xargs");
            return if reads { RunnerTarget::Unknown } else { RunnerTarget::Nothing };
        };
        words = after;
    }
}

fn is_shell_option(word: &str) -> bool {
    matches!(word, "-s" | "-i" | "--shell" | "--login" | "-is" | "-si")
}

fn is_code_option(word: &str) -> bool {
    matches!(word, "-c" | "--command" | "--session-command") || word.starts_with("--command=")
}

impl CommandRunner {
    fn command<'a>(&self, rest: &'a [ShellWord]) -> Option<&'a [ShellWord]> {
        let mut skips = self.skips;
        let mut index = 0;
        while let Some(word) = rest.get(index) {
            let text = word.text.as_str();
            if text == "--" {
                return rest.get(index + 1 + skips..).filter(|rest| !rest.is_empty());
            }
            let sets = text.split_once('=').is_some_and(|(name, _)| is_name(name));
            if self.valued.contains(&text) {
                index += 2;
            } else if (text.starts_with('-') && text.len() > 1) || (sets && self.skips == 0) {
                index += 1;
            } else if skips > 0 {
                (skips, index) = (skips - 1, index + 1);
            } else {
                return rest.get(index..);
            }
        }
        None
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// Options whose value is text that a shell runs, by runner.
#[rustfmt::skip]
const CODE_OPTIONS: &[(&[&str], &[&str])] = &[
    (&["su", "runuser", "script", "flock", "sg", "capsh", "vagrant"], &["-c", "--command", "--session-command"]),
    (&["npm", "npx", "pnpm"], &["-c", "--call", "--shell-mode"]),
    (&["nix", "nix-shell", "guix"], &["-c", "--command", "--run"]),
    (&["env"], &["-S", "--split-string"]),
    (&["cargo", "watchexec", "nodemon"], &["-s", "--shell", "-x", "--exec"]),
    (&["git"], &["-x", "--exec", "--extcmd", "--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--commit-filter", "--tag-name-filter", "--upload-pack", "--receive-pack", "-u"]),
    (&["gcloud", "fly", "flyctl"], &["--command", "-C"]),
    (&["tmux", "screen"], &["new-session", "new-window", "split-window", "send-keys", "run-shell", "-X"]),
];

/// Options whose value is a program or a command, by program. A short one may have its value in the same word.
#[rustfmt::skip]
const PROGRAM_OPTIONS: &[(&[&str], &[&str])] = &[
    (&["split"], &["--filter"]),
    (&["tar", "bsdtar", "gtar"], &["--checkpoint-action", "--to-command", "-I", "--use-compress-program", "-F", "--info-script", "--new-volume-script",
        "--rmt-command", "--rsh-command"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["wget"], &["--use-askpass"]),
    (&["rg"], &["--pre", "--hostname-bin"]),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-S", "-D", "-s"]),
    (&["man"], &["-P", "--pager", "-H", "--html"]),
    (&["sort"], &["--compress-program"]),
    (&["gpg", "gpg2"], &["--agent-program", "--dirmngr-program", "--keyboxd-program", "--photo-viewer", "--exec-path"]),
    (&["gcc", "g++", "cc", "c++"], &["-wrapper", "-B"]),
    (&["nc", "ncat", "netcat"], &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"]),
    (&["tcpdump"], &["-z"]),
    (&["bat", "batcat", "delta", "psql", "mysql"], &["--pager"]),
    (&["fzf"], &["--preview", "--bind"]),
    (&["go"], &["-toolexec", "-exec", "-vettool"]),
    (&["npm", "pnpm", "yarn"], &["--script-shell"]),
    (&["docker", "podman"], &["--entrypoint"]),
    (&["crontab"], &["-e"]),
    (&["vim", "vi", "nvim", "view", "ex"], &["-c", "--cmd"]),
    (&["ssh"], &["-o"]),
    (&["make"], &["--eval"]),
    (&["less"], &["-k", "--lesskey-file"]),
    (&["logrotate", "ip", "ansible"], &["exec", "-a"]),
    (&["ld", "clang"], &["-fuse-ld"]),
    (&["ctags"], &["--filter"]),
    (&["git"], &["--ext-diff", "--upload-pack", "--receive-pack", "--extcmd", "--open-files-in-pager", "-O"]),
];

/// Values of options that name programs to run, with whether they are known only when they run.
pub(crate) fn named_programs(words: &[ShellWord]) -> Vec<(String, bool)> {
    let Some(program) = words.first().map(|word| base_name(&word.text)) else { return Vec::new() };
    let mut found = Vec::new();
    for (_, options) in PROGRAM_OPTIONS.iter().filter(|(programs, _)| programs.contains(&program)) {
        for (at, word) in words.iter().enumerate().skip(1) {
            if let Some(value) = option_value(word, words.get(at + 1), options) {
                found.push(value);
            }
        }
    }
    // `socat - EXEC:x`.
    if program == "socat" {
        let inner = |word: &ShellWord| {
            let (kind, text) = word.text.split_once(':')?;
            matches!(kind.to_ascii_uppercase().as_str(), "EXEC" | "SYSTEM" | "SHELL")
                .then(|| (text.to_owned(), word.expands))
        };
        found.extend(words.iter().filter_map(inner));
    }
    found
}

/// The value of an option, from `word` itself or from the word after it.
fn option_value(word: &ShellWord, next: Option<&ShellWord>, options: &[&str]) -> Option<(String, bool)> {
    let (name, inline) =
        word.text.split_once('=').map_or((word.text.as_str(), None), |(name, value)| (name, Some(value)));
    let is_long = |option: &&&str| option.starts_with("--") && name.len() > 4 && option.starts_with(name);
    let value = if options.contains(&name) || options.iter().any(|option| is_long(&option)) {
        match inline {
            Some(value) => (value.to_owned(), word.expands),
            None => next.map(|next| (next.text.clone(), next.expands))?,
        }
    } else {
        let short = |option: &&str| option.len() == 2 && word.text.len() > 2 && word.text.starts_with(option);
        options.iter().copied().find(|option| short(option))?;
        (word.text[2..].to_owned(), word.expands)
    };
    let (text, expands) = value;
    // `exec=x` of tar, `ProxyCommand=x` of ssh, `execute(x)` of fzf, `!x` of vim and make.
    let marks =
        ["exec=", "ProxyCommand=", "ProxyCommand ", "LocalCommand=", "KnownHostsCommand=", "execute(", "become("];
    let lower = text.to_ascii_lowercase();
    let mark = marks.iter().find_map(|mark| lower.find(&mark.to_ascii_lowercase()).map(|at| at + mark.len()));
    let is_setting = matches!(options, ["-o"]) || (text.contains('=') && options.contains(&"--checkpoint-action"));
    match mark {
        Some(at) => Some((text[at..].trim_matches(['"', '\'', ')']).to_owned(), expands)),
        None if is_setting => None,
        None => Some((text.trim_start_matches(['!', ':']).to_owned(), expands)),
    }
}

/// The texts of a call that a shell will run.
pub(super) fn code_texts(words: &[ShellWord]) -> Vec<&ShellWord> {
    let Some(program) = words.first().map(|word| base_name(&word.text)) else { return Vec::new() };
    let Some((_, options)) = CODE_OPTIONS.iter().find(|(programs, _)| programs.contains(&program)) else {
        return Vec::new();
    };
    // `cargo watch -x`, not `cargo build -x`.
    if program == "cargo" && !words.iter().any(|word| word.text == "watch") {
        return Vec::new();
    }
    let after = words.windows(2).filter(|pair| options.contains(&pair[0].text.as_str())).map(|pair| &pair[1]);
    let inline = words.iter().filter(|word| {
        word.text.split_once('=').is_some_and(|(name, _)| options.contains(&name)) && word.text.starts_with("--")
    });
    after.chain(inline).collect()
}

/// The text in `-S'x y'`: the value of a short option in the same word.
pub(super) fn attached(word: &str) -> Option<&str> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    letters.char_indices().nth(1).map(|(at, _)| &letters[at..])
}

/// Values in the same word as their option.
pub(super) fn attached_texts(words: &[ShellWord]) -> Vec<&ShellWord> {
    let Some(program) = words.first().map(|word| base_name(&word.text)) else { return Vec::new() };
    let Some((_, options)) = CODE_OPTIONS.iter().find(|(programs, _)| programs.contains(&program)) else {
        return Vec::new();
    };
    let short =
        |word: &&ShellWord| options.iter().any(|o| o.len() == 2 && word.text.starts_with(o) && word.text.len() > 2);
    words.iter().skip(1).filter(short).collect()
}

/// Keys of git's configuration whose value is a command; the last part of the key, without case.
#[rustfmt::skip]
const GIT_PROGRAM_KEYS: &[&str] = &[
    "fsmonitor", "pager", "editor", "sshcommand", "askpass", "helper", "external", "command", "textconv", "cmd", "clean", "smudge",
    "process", "program", "driver", "difffilter", "gitproxy", "packobjectshook", "sendmailcmd", "tocmd", "cccmd",
];

/// Commands in `git -c key=value`: what git would run, as shell text.
pub(super) fn git_config_texts(words: &[ShellWord]) -> Vec<(String, bool)> {
    if words.first().is_none_or(|word| base_name(&word.text) != "git") {
        return Vec::new();
    }
    let settings = words.windows(2).filter(|pair| pair[0].text == "-c").map(|pair| &pair[1]);
    let settings = settings.map(|word| (word.text.clone(), word.expands));
    // `git config alias.x '!y'` holds for the calls behind it.
    let is_config = words.iter().any(|word| word.text == "config");
    let written =
        words.windows(2).filter(|pair| is_config && pair[0].text.contains('.') && !pair[0].text.starts_with('-'));
    let written =
        written.map(|pair| (format!("{}={}", pair[0].text, pair[1].text), pair[0].expands || pair[1].expands));
    let text = |(setting, expands): (String, bool)| {
        let (key, value) = setting.split_once('=')?;
        let key = key.to_ascii_lowercase();
        let last = key.rsplit('.').next().unwrap_or(&key);
        let is_alias = key.starts_with("alias.");
        if !is_alias && !key.starts_with("pager.") && !GIT_PROGRAM_KEYS.contains(&last) {
            return None;
        }
        if value.is_empty() || matches!(value, "true" | "false") {
            return None;
        }
        let text = match value.strip_prefix('!') {
            Some(script) => script.to_owned(),
            None if is_alias => format!("git {value}"),
            None => value.to_owned(),
        };
        Some((text, expands))
    };
    settings.chain(written).filter_map(text).collect()
}

/// Whether some word of the call may be text that is run.
pub(super) fn runs_text(words: &[String]) -> bool {
    words.iter().any(|word| may_run_others(base_name(word))) || from(words).is_some()
}
