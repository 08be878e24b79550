//! Programs that run another program. Allow rules look through a few, in their simplest forms; deny and ask rules look
//! through all of them in any form.

use super::script::ShellWord;

/// Variables that change nothing about which code runs or where data goes.
#[rustfmt::skip]
const INERT_VARIABLES: &[&str] = &[
    "LANG", "LANGUAGE", "TZ", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "TERM", "CI",
    "NODE_ENV", "RUST_BACKTRACE", "RUST_LOG", "DEBUG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "GOOS", "GOARCH",
    "CARGO_TERM_COLOR",
];

pub(crate) fn is_inert(assignment: &str) -> bool {
    let Some((name, value)) = assignment.split_once('=') else { return false };
    if name == "TZ" {
        // A time zone of the system, not a file.
        return !value.starts_with(['/', ':']) && !value.contains("..");
    }
    if matches!(name, "GIT_PAGER" | "PAGER" | "MANPAGER") {
        return value == "cat";
    }
    // A locale with a slash is a file to load.
    (INERT_VARIABLES.contains(&name) || name.starts_with("LC_")) && !value.contains('/')
}

/// The command inside the wrappers an allow rule may look through.
pub(crate) fn strip_wrappers(mut words: &[ShellWord]) -> &[ShellWord] {
    while let Some(inner) = unwrap_once(words) {
        words = inner;
    }
    words
}

/// As `strip_wrappers`, and through `env` where it sets nothing but harmless variables. For commands that only read.
pub(crate) fn strip_for_reading(words: &[ShellWord]) -> &[ShellWord] {
    let mut words = strip_wrappers(words);
    while let Some(inner) = after_env(words) {
        words = strip_wrappers(inner);
    }
    words
}

fn after_env(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let (_, rest) = words.split_first().filter(|(name, _)| name.raw == "env")?;
    let is_setting = |word: &&ShellWord| word.raw == word.text && is_inert(&word.text);
    let rest = &rest[rest.iter().take_while(is_setting).count()..];
    let program = rest.first()?;
    let is_plain = program.raw == program.text && !program.glob && !program.tilde && program.substituted.is_none();
    (is_plain && !program.raw.starts_with('-') && !program.raw.contains('=')).then_some(rest)
}

fn unwrap_once(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let (name, rest) = words.split_first()?;
    let rest = match name.raw.as_str() {
        "time" | "nohup" | "command" | "builtin" | "noglob" | "xargs" => rest,
        "timeout" => after_duration(rest)?,
        "nice" => after_niceness(rest),
        "stdbuf" => after_buffers(rest)?,
        _ => return None,
    };
    let program = rest.first()?;
    (!program.raw.starts_with('-') && !program.glob && !program.tilde && !program.quoted).then_some(rest)
}

fn after_duration(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let mut rest = words;
    loop {
        let (word, after) = rest.split_first()?;
        rest = match word.raw.as_str() {
            "--foreground" | "--preserve-status" | "-v" => after,
            "-k" | "-s" => after.get(1..)?,
            text if is_duration(text) => return Some(after),
            _ => return None,
        };
    }
}

fn is_duration(text: &str) -> bool {
    let digits = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn after_niceness(words: &[ShellWord]) -> &[ShellWord] {
    match words {
        [flag, value, rest @ ..] if flag.raw == "-n" && value.raw.parse::<i32>().is_ok() => rest,
        [flag, rest @ ..] if flag.raw.starts_with('-') && flag.raw[1..].parse::<i32>().is_ok() => rest,
        _ => words,
    }
}

fn after_buffers(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let is_buffer = |word: &ShellWord| {
        let mode = word.raw.strip_prefix("-i").or(word.raw.strip_prefix("-o")).or(word.raw.strip_prefix("-e"));
        mode.is_some_and(|mode| mode == "L" || (!mode.is_empty() && mode.chars().all(|c| c.is_ascii_digit())))
    };
    let buffers = words.iter().take_while(|word| is_buffer(word)).count();
    (buffers > 0).then(|| &words[buffers..])
}

/// Forms that run the words after them, or delete: only an exact rule allows them.
pub(crate) fn needs_exact_rule(words: &[ShellWord]) -> bool {
    let Some(name) = words.first().map(|word| base_name(&word.text)) else { return true };
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(&word.text.as_str()));
    match name {
        "watch" | "setsid" | "ionice" | "flock" => true,
        "find" | "fd" | "fdfind" => has(FIND_ACTIONS),
        "xargs" => words.get(1).is_some_and(|word| word.text.starts_with('-')),
        // Options that name a program to run.
        name => {
            let texts: Vec<String> = words.iter().skip(1).map(|word| word.text.clone()).collect();
            let named = super::runners::named_programs(words);
            // The usual way of `rsync`, and words of git's own.
            let is_usual = |text: &str| text == "ssh" || name == "git";
            super::outputs::written_by(name, &texts).runs || named.iter().any(|(text, _)| !is_usual(text))
        }
    }
}

#[rustfmt::skip]
const FIND_ACTIONS: &[&str] = &[
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-x", "-X", "--exec",
    "--exec-batch",
];

/// Programs that may run one of their arguments.
#[rustfmt::skip]
const RUNNERS: &[&str] = &[
    "env", "sudo", "doas", "su", "runuser", "timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin", "exec",
    "noglob", "nocorrect", "xargs", "watch", "ionice", "chrt", "taskset", "setsid", "flock", "chroot", "unshare",
    "nsenter", "strace", "ltrace", "parallel", "find", "fd", "fdfind", "busybox", "toybox", "script", "unbuffer",
    "systemd-run", "caffeinate", "coproc", "ssh", "eval", "trap", "alias", "sh", "bash", "zsh", "dash", "ksh", "fish", "ash",
];

pub(crate) fn may_run_others(name: &str) -> bool {
    RUNNERS.contains(&name)
}

/// The last component of a program's path.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
