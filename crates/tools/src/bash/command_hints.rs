//! Hints from the text of a command: which exit codes are answers rather than failures, whether output is expected,
//! what may continue in the background, which files it showed. Hints only; permissions are decided elsewhere.

use super::words;
use crate::contract::Workspace;
use crate::tasks::may_background;
use std::path::PathBuf;
use sys::Env;

/// The meaning of exit code 1 for commands that answer with it; `None` for all others. The last command of the
/// pipeline decides.
pub(crate) fn interpretation(command: &str, code: i32) -> Option<&'static str> {
    if code != 1 {
        return None;
    }
    let commands = words::commands(command)?;
    let last = commands.last()?;
    match last.first()?.rsplit('/').next()? {
        "grep" | "rg" | "egrep" | "fgrep" => Some("No matches found"),
        "find" => Some("Some directories could not be searched"),
        "diff" => Some("Files differ"),
        "test" | "[" => Some("Condition is false"),
        "git" => match words::git_subcommand(last)? {
            "diff" => Some("Files differ"),
            "grep" => Some("No matches found"),
            _ => None,
        },
        _ => None,
    }
}

const SILENT: [&str; 16] = [
    "mv", "cp", "rm", "mkdir", "rmdir", "chmod", "chown", "chgrp", "touch", "ln", "cd", "export", "unset", "wait",
    "true", "install",
];

/// True when every command in the text prints nothing on success.
pub(crate) fn expects_no_output(command: &str) -> bool {
    words::commands(command).is_some_and(|all| {
        !all.is_empty() && all.iter().all(|words| words.first().is_some_and(|w| SILENT.contains(&w.as_str())))
    })
}

/// Whether a command that takes too long may continue in the background instead of being terminated.
pub(crate) fn may_continue_in_background(command: &str, env: &Env) -> bool {
    let Some(commands) = words::commands(command) else { return false };
    let sleeps = commands.first().and_then(|words| words.first()).is_some_and(|w| w == "sleep");
    may_background(env) && !sleeps && !words::mentions(command, "git")
}

pub(crate) fn changes_directory(command: &str) -> bool {
    ["cd", "pushd", "popd", "chdir"].iter().any(|word| words::mentions(command, word))
}

const READERS: [&str; 12] =
    ["ls", "pwd", "cat", "head", "tail", "wc", "stat", "file", "which", "echo", "whoami", "uname"];

/// True for a single plain command that only reads; it may run at the same time as other calls.
pub(crate) fn is_read_only(command: &str) -> bool {
    words::plain_words(command).is_some_and(|words| READERS.contains(&words[0]))
}

/// How much of a file a command showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShownExtent {
    Whole,
    Part,
}

/// The single file that a plain viewing command prints, without a pipe or redirection.
pub(crate) fn shown_file(command: &str, at: &Workspace) -> Option<(PathBuf, ShownExtent)> {
    let words = words::plain_words(command).or_else(|| plain_sed(command))?;
    let (file, arguments) = words.split_last()?;
    let (program, options) = arguments.split_first()?;
    let shown = match *program {
        "cat" | "nl" | "bat" | "batcat" if options.iter().all(|o| o.starts_with('-')) => ShownExtent::Whole,
        "head" | "tail" if options.len() <= 2 => ShownExtent::Part,
        "grep" | "egrep" | "fgrep" | "rg" if !options.is_empty() => ShownExtent::Part,
        "sed" if options.first() == Some(&"-n") => ShownExtent::Part,
        _ => return None,
    };
    (!file.starts_with('-')).then(|| (at.absolute(file), shown))
}

/// Recognises `sed -n 'X,Yp' file`, the only quoted form that is supported.
fn plain_sed(command: &str) -> Option<Vec<&str>> {
    let rest = command.trim().strip_prefix("sed -n '")?;
    let (range, file) = rest.split_once("p' ")?;
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '$');
    let file = words::plain_words(file)?;
    (digits(range) && file.len() == 1).then(|| vec!["sed", "-n", range, file[0]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_not_failures() {
        // [TST-49]
        for (command, expected) in [
            ("grep x f", Some("No matches found")),
            ("cat f | grep -v x", Some("No matches found")),
            ("/usr/bin/diff a b", Some("Files differ")),
            ("[ -f x ]", Some("Condition is false")),
            ("git -C x diff --exit-code", Some("Files differ")),
            ("git grep x", Some("No matches found")),
            ("grep x f | wc -l", None),
            ("grep x f && false", None),
            ("git status", None),
        ] {
            assert_eq!(interpretation(command, 1), expected, "{command}");
            assert_eq!(interpretation(command, 2), None, "{command}");
        }
    }

    #[test]
    fn some_commands_never_go_on() {
        // [TST-51]
        let env = Env::default();
        for ended in ["sleep 200", "cd x && git push", "echo $(a", "for i in 1 2; do x; done"] {
            assert!(!may_continue_in_background(ended, &env), "{ended}");
        }
        assert!(may_continue_in_background("npm run build 2>&1 | tail -5", &env));
        assert!(!may_continue_in_background("npm test", &env.with([("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")])));
    }

    #[test]
    fn only_trivial_commands_are_shared() {
        for shared in ["ls -la src", "cat a.txt", "pwd"] {
            assert!(is_read_only(shared), "{shared}");
        }
        for alone in ["ls; rm x", "cat a > b", "ls $(x)", "find . -delete", "cd src", "tail -f `x`"] {
            assert!(!is_read_only(alone), "{alone}");
        }
    }

    #[test]
    fn viewing_commands_name_their_file() {
        // [TST-33]
        let at = Workspace { cwd: "/w".into(), project: "/w".into(), additional: Vec::new(), home: None };
        assert_eq!(shown_file("cat -n a.rs", &at), Some(("/w/a.rs".into(), ShownExtent::Whole)));
        assert_eq!(shown_file("head -n 5 a.rs", &at), Some(("/w/a.rs".into(), ShownExtent::Part)));
        assert_eq!(shown_file("sed -n '1,20p' a.rs", &at), Some(("/w/a.rs".into(), ShownExtent::Part)));
        for none in ["cat a | head", "cat a b", "cat a > b", "ls a", "cat", "sed -i s/a/b/ f"] {
            assert_eq!(shown_file(none, &at), None, "{none}");
        }
    }
}
