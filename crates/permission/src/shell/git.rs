//! Git commands that only read. An option outside the tables makes the command ask, abbreviations included.

use super::globals;
use super::script::{ShellWord, join_raw};

/// A read-only subcommand with what it may be given.
struct GitSubcommand {
    name: &'static str,
    /// Long options, without dashes; a trailing `=` means a value in the same word is fine.
    long: &'static [&'static str],
    /// Letters of single short options; digits stand for themselves.
    short: &'static str,
    /// Operands (revisions and paths) are fine.
    operands: bool,
}

#[rustfmt::skip]
const LOG: &[&str] = &[
    "oneline", "stat", "shortstat", "numstat", "summary", "name-only", "name-status", "graph", "all", "decorate", "patch",
    "no-patch", "no-merges", "merges", "first-parent", "reverse", "follow", "abbrev-commit", "no-color", "cached", "staged",
    "no-ext-diff", "no-textconv", "word-diff", "color", "raw", "minimal", "patience", "histogram", "ignore-all-space",
    "ignore-space-change", "ignore-blank-lines", "function-context", "no-renames", "exit-code", "quiet", "check",
    "full-index", "binary", "no-prefix", "no-notes", "topo-order", "date-order", "tags", "branches", "remotes",
    "since=", "until=", "after=", "before=", "author=", "committer=", "grep=", "format=", "pretty=", "date=",
    "max-count=", "skip=", "diff-filter=", "unified=", "abbrev=", "color=", "stat=", "word-diff=", "decorate=",
    "find-renames=", "diff-algorithm=", "relative",
];

#[rustfmt::skip]
const REV_LIST: &[&str] = &[
    "count", "all", "no-merges", "merges", "first-parent", "reverse", "since=", "until=", "max-count=", "left-right", "cherry-pick",
    "oneline", "objects", "parents",
];

#[rustfmt::skip]
const SUBCOMMANDS: &[GitSubcommand] = &[
    GitSubcommand {
        name: "status",
        long: &["short", "branch", "porcelain", "porcelain=", "long", "ignored", "untracked-files=", "show-stash"],
        short: "sbuv",
        operands: true,
    },
    GitSubcommand { name: "diff", long: LOG, short: "wbpsuRMCSGz0123456789U", operands: true },
    GitSubcommand { name: "log", long: LOG, short: "pswbinSGLqz0123456789UM", operands: true },
    GitSubcommand { name: "show", long: LOG, short: "pswbqz0123456789U", operands: true },
    GitSubcommand { name: "shortlog", long: &["numbered", "summary", "email", "all", "no-merges", "since=", "until=", "branches"], short: "sne", operands: true },
    GitSubcommand {
        name: "branch",
        long: &[
            "all", "remotes", "list", "show-current", "verbose", "no-color", "merged", "no-merged", "contains", "no-contains",
            "sort=", "format=", "points-at", "column", "no-column", "ignore-case", "color=", "contains=", "merged=", "no-merged=",
        ],
        short: "arvi",
        operands: false,
    },
    GitSubcommand {
        name: "tag",
        long: &[
            "list", "sort=", "format=", "contains", "no-contains", "merged", "no-merged", "points-at", "column", "contains=", "merged=",
        ],
        short: "ln",
        operands: false,
    },
    GitSubcommand { name: "remote", long: &["verbose"], short: "v", operands: false },
    GitSubcommand {
        name: "rev-parse",
        long: &[
            "show-toplevel", "abbrev-ref", "short", "verify", "is-inside-work-tree", "git-dir", "quiet", "show-prefix", "show-cdup",
            "git-common-dir", "absolute-git-dir", "is-bare-repository", "is-shallow-repository", "short=", "symbolic-full-name",
            "show-superproject-working-tree", "all", "branches", "tags",
        ],
        short: "q",
        operands: true,
    },
    GitSubcommand {
        name: "ls-files",
        long: &["cached", "deleted", "modified", "others", "stage", "exclude-standard", "full-name", "ignored", "unmerged", "directory", "error-unmatch"],
        short: "cdmostzu",
        operands: true,
    },
    GitSubcommand { name: "ls-tree", long: &["name-only", "full-name", "long"], short: "rltd", operands: true },
    GitSubcommand { name: "blame", long: &["porcelain", "show-email", "date="], short: "wLesMC0123456789", operands: true },
    GitSubcommand { name: "describe", long: &["tags", "all", "always", "long", "dirty", "abbrev=", "exact-match", "first-parent", "match=", "exclude=", "candidates=", "contains"], short: "", operands: true },
    GitSubcommand { name: "annotate", long: &["date="], short: "wLes", operands: true },
    GitSubcommand { name: "check-attr", long: &["all", "cached"], short: "az", operands: true },
    GitSubcommand { name: "fsck", long: &["full", "no-dangling", "connectivity-only", "no-progress", "strict", "unreachable", "no-full", "no-reflogs"], short: "", operands: false },
    GitSubcommand { name: "hash-object", long: &["no-filters"], short: "", operands: true },
    GitSubcommand { name: "merge-base", long: &["all", "is-ancestor", "fork-point"], short: "a", operands: true },
    GitSubcommand { name: "rev-list", long: REV_LIST, short: "n0123456789", operands: true },
    GitSubcommand {
        name: "grep",
        long: &[
            "line-number", "ignore-case", "word-regexp", "count", "files-with-matches", "name-only", "fixed-strings",
            "extended-regexp", "perl-regexp", "no-color", "heading", "break", "show-function", "cached", "untracked",
        ],
        short: "niwclEFPepvhHzABC0123456789",
        operands: true,
    },
    GitSubcommand { name: "cat-file", long: &[], short: "ptse", operands: true },
    GitSubcommand { name: "show-ref", long: &["heads", "tags", "head", "verify", "quiet"], short: "dsq", operands: true },
    GitSubcommand {
        name: "diff-tree",
        long: &["no-commit-id", "name-only", "name-status", "stat", "root", "numstat", "diff-filter="],
        short: "rtpzcm",
        operands: true,
    },
    GitSubcommand {
        name: "for-each-ref",
        long: &["sort=", "format=", "count=", "points-at=", "merged", "no-merged", "contains", "merged=", "contains="],
        short: "",
        operands: true,
    },
    GitSubcommand { name: "check-ignore", long: &["verbose", "non-matching", "quiet", "no-index"], short: "vnq", operands: true },
    GitSubcommand { name: "show-branch", long: &["all", "remotes", "list", "current"], short: "ar", operands: true },
    GitSubcommand { name: "name-rev", long: &["name-only", "tags", "always"], short: "", operands: true },
    GitSubcommand { name: "count-objects", long: &["verbose", "human-readable"], short: "vH", operands: false },
    GitSubcommand { name: "whatchanged", long: LOG, short: "pswbinqz0123456789", operands: true },
    GitSubcommand { name: "cherry", long: &["abbrev="], short: "v", operands: true },
    GitSubcommand { name: "range-diff", long: &["no-color", "stat", "creation-factor="], short: "s", operands: true },
    GitSubcommand { name: "var", long: &[], short: "", operands: true },
];

/// `git -C dir log` is matched as `git log`.
pub(crate) fn without_directory(words: &[ShellWord]) -> Option<String> {
    match words {
        [git, flag, _, rest @ ..] if git.raw == "git" && flag.raw == "-C" => Some(format!("git {}", join_raw(rest))),
        [git, flag, rest @ ..] if git.raw == "git" && flag.raw == "--no-pager" => {
            Some(format!("git {}", join_raw(rest)))
        }
        _ => None,
    }
}

/// Subcommands that can destroy work irrecoverably. A rule for `git` at large does not cover them; it must
/// name the subcommand, as in `git reset`.
pub(crate) fn loses_work(words: &[ShellWord]) -> Option<String> {
    let (git, arguments) = words.split_first()?;
    if git.text != "git" {
        return None;
    }
    let words: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let at = match globals::subcommand("git", &words) {
        globals::SubcommandPosition::At(at) => at,
        // After an unknown option any word may be the subcommand: only a rule that names the option covers the call.
        globals::SubcommandPosition::Behind(at) => return Some(format!("git {}", arguments[at].raw)),
        globals::SubcommandPosition::Missing => return None,
    };
    if let Some(option) = (0..at).find(|index| defines_alias(&words[*index..at])) {
        return Some(format!("git {}", arguments[option].raw));
    }
    let (sub, options) = (words[at], &words[at + 1..]);
    // Settings on the spot may force a push, or send it elsewhere.
    let moves_commits =
        matches!(sub, "push" | "send-pack" | "http-push" | "fetch" | "pull" | "remote" | "submodule" | "subtree");
    if let Some(option) = (0..at).find(|index| moves_commits && changes_setting(&words[*index..at])) {
        return Some(format!("git {}", arguments[option].raw));
    }
    let has = |wanted: &[&str]| options.iter().any(|option| wanted.iter().any(|w| option.starts_with(w)));
    let cluster = |letter: char| {
        let short = |option: &&&str| option.starts_with('-') && !option.starts_with("--");
        options.iter().filter(short).any(|option| option.contains(letter))
    };
    let loses = match sub {
        "reset" => has(&["--h", "--me", "--k"]),
        "clean" => !has(&["--dry-run"]) && !cluster('n'),
        "checkout" | "switch" => has(&["--", "--f", "--d"]) || cluster('f') || options.contains(&"."),
        "stash" => has(&["drop", "clear"]),
        "fetch" | "pull" => {
            let forces =
                |option: &&&str| option.starts_with('+') || matches!(**option, "--force" | "--forc" | "--mirror");
            options.iter().any(|option| forces(&option)) || (sub == "fetch" && cluster('f'))
        }
        "config" => writes_powerful_setting(options),
        "push" => has(&["--f", "--mirror", "--d", "--prune", "+", ":"]) || cluster('f') || cluster('d'),
        "branch" | "tag" => has(&["--d", "--f"]) || cluster('D') || cluster('d') || cluster('f'),
        "send-pack" | "http-push" | "restore" | "update-ref" | "filter-branch" | "filter-repo" | "reflog" | "gc"
        | "prune" | "worktree" | "rm" => true,
        _ => false,
    };
    loses.then(|| format!("git {sub}"))
}

/// `-c` with a key that is not known to be harmless.
fn changes_setting(words: &[&str]) -> bool {
    let setting = match words {
        ["-c" | "--config-env", setting, ..] => Some(*setting),
        [word, ..] => word.strip_prefix("--config-env="),
        [] => None,
    };
    let harmless = ["user.", "color.", "advice.", "commit.", "core.quotepath", "log.", "pack.", "gc.", "init."];
    setting.is_some_and(|setting| {
        let lower = setting.to_ascii_lowercase();
        !harmless.iter().any(|key| lower.starts_with(key))
    })
}

/// `git config remote.origin.push +main`: what later calls do depends on it.
fn writes_powerful_setting(options: &[&str]) -> bool {
    const POWERFUL: &[&str] = &[
        "remote.",
        "branch.",
        "push.",
        "alias.",
        "url.",
        "core.",
        "include",
        "credential",
        "filter.",
        "diff.",
        "merge.",
        "gpg.",
        "http.",
        "pager.",
        "submodule.",
        "protocol.",
        "uploadpack.",
        "receive.",
        "sequence.",
        "web.",
        "browser.",
        "init.templatedir",
        "interactive.",
    ];
    let reads = ["--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list", "--get-urlmatch"];
    if options.iter().any(|option| reads.contains(option)) {
        return false;
    }
    let operands: Vec<String> =
        options.iter().filter(|word| !word.starts_with('-')).map(|word| word.to_ascii_lowercase()).collect();
    let is_powerful = |word: &String| POWERFUL.iter().any(|key| word.starts_with(key));
    operands.len() > 1 && operands.iter().any(is_powerful)
        || options.iter().any(|word| matches!(*word, "-e" | "--edit" | "edit"))
}

/// `-c alias.x=…`: the subcommand is what the option says it is.
fn defines_alias(words: &[&str]) -> bool {
    let setting = match words {
        ["-c" | "--config-env", setting, ..] => Some(*setting),
        [word, ..] => word.strip_prefix("--config-env="),
        [] => None,
    };
    setting.is_some_and(|setting| setting.to_ascii_lowercase().starts_with("alias."))
}

/// Where a push goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushTarget<'a> {
    /// Wherever the configuration says.
    Default,
    /// A remote by its name, or an address.
    Named(&'a str),
}

/// The destination of `git push`; `None` for anything else.
pub(crate) fn push_target(words: &[ShellWord]) -> Option<PushTarget<'_>> {
    let (git, arguments) = words.split_first()?;
    let mut rest = arguments.iter().map(|word| word.text.as_str());
    if git.text != "git" || !rest.any(|word| word == "push") {
        return None;
    }
    // An option with a value of its own is taken for the destination: that asks once too often, never too seldom.
    Some(rest.find(|word| !word.starts_with('-')).map_or(PushTarget::Default, PushTarget::Named))
}

/// A git command that only reads.
pub(super) struct GitReadCall<'a> {
    pub(super) call: RepositoryCall<'a>,
    pub(super) operands: Vec<&'a ShellWord>,
}

/// The use of a repository by a git command that only reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepositoryCall<'a> {
    /// The value of `-C`.
    pub(crate) directory: Option<&'a ShellWord>,
    /// It starts programs that the repository's configuration names, unless that is made powerless.
    pub(crate) uses_programs: bool,
    /// It prints a diff, which a program of the configuration may make.
    pub(crate) external_diff: bool,
}

/// Options of `git diff` with which it starts no external diff.
#[rustfmt::skip]
const NO_EXTERNAL_DIFF: &[&str] = &[
    "--no-ext-diff", "--stat", "--shortstat", "--numstat", "--summary", "--name-only", "--name-status", "--raw", "--quiet",
];

/// What a read-only git command uses, `None` when it may do more. `arguments` follow the word `git`.
pub(super) fn read_call(arguments: &[ShellWord]) -> Option<GitReadCall<'_>> {
    let mut rest = arguments;
    let mut directory = None;
    loop {
        rest = match rest {
            [option, rest @ ..] if matches!(option.raw.as_str(), "--no-pager" | "-P" | "--no-optional-locks") => rest,
            [option, dir, rest @ ..] if option.raw == "-C" && directory.is_none() && !dir.glob => {
                directory = Some(dir);
                rest
            }
            _ => break,
        };
    }
    let (name, words) = rest.split_first()?;
    let prints_diff = matches!(name.raw.as_str(), "diff" | "diff-tree" | "diff-index" | "diff-files");
    let external_diff = prints_diff && !words.iter().any(|word| NO_EXTERNAL_DIFF.contains(&word.text.as_str()));
    let call = RepositoryCall { directory, uses_programs: name.raw != "config", external_diff };
    Some(GitReadCall { call, operands: operands(rest)? })
}

/// Whether the command shows lines of files. `arguments` follow the word `git`.
pub(super) fn shows_content(arguments: &[ShellWord]) -> bool {
    const SHOWING: &[&str] = &[
        "diff",
        "diff-tree",
        "diff-index",
        "diff-files",
        "show",
        "blame",
        "annotate",
        "grep",
        "cat-file",
        "stash",
        "range-diff",
    ];
    const SUMMARIES: &[&str] =
        &["--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--summary", "--quiet"];
    const PATCHES: &[&str] = &["-p", "-u", "--patch", "-U", "--unified", "-L", "-c", "--cc", "-m"];
    let has = |known: &dyn Fn(&str) -> bool| arguments.iter().any(|word| known(&word.text));
    let is_log = has(&|word| matches!(word, "log" | "whatchanged" | "reflog"));
    let shows_patch = is_log && has(&|word| PATCHES.iter().any(|option| word.starts_with(option)));
    let shows = has(&|word| SHOWING.contains(&word));
    shows_patch || (shows && !has(&|word| SUMMARIES.contains(&word)))
}

/// Whether the word names a file with credentials, perhaps at a revision or in a pathspec.
pub(super) fn names_secret(word: &str) -> bool {
    let leaves_out = [":!", ":^", ":(exclude"].iter().any(|start| word.starts_with(start));
    if leaves_out || (word.starts_with('-') && !word.starts_with("-L")) {
        return false;
    }
    word.rsplit([':', ')']).next().is_some_and(|path| crate::sensitive::is_secret(std::path::Path::new(path)))
}

/// The operands of a read-only git command, `None` when it may do more. `arguments` follow the word `git`.
fn operands(arguments: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let (name, rest) = arguments.split_first()?;
    if rest.iter().any(|word| word.tilde) {
        return None;
    }
    match name.raw.as_str() {
        "worktree" => return listed(rest, &["list"]),
        "stash" => return stash(rest),
        "config" => return config(rest),
        "reflog" => return reflog(rest),
        "remote" if matches!(rest.first().map(|word| word.raw.as_str()), Some("get-url" | "show")) => {
            return remote(rest);
        }
        "symbolic-ref" => return symbolic_ref(rest),
        "submodule" => return submodule(rest),
        "bisect" | "notes" | "sparse-checkout" | "archive" | "ls-remote" | "help" | "version" => {
            return listed_forms(name, rest);
        }
        _ => {}
    }
    let sub = SUBCOMMANDS.iter().find(|sub| sub.name == name.raw)?;
    let operands = sub.operands(rest)?;
    // A name after these would be created; after a word that asks for a list it is a pattern or a commit.
    let lists = |word: &ShellWord| {
        let long = ["--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
        long.contains(&word.raw.as_str()) || (sub.name == "tag" && word.raw == "-l")
    };
    let asks = matches!(sub.name, "branch" | "tag") && rest.iter().any(lists);
    (sub.operands || operands.is_empty() || asks).then_some(operands)
}

/// Forms of other subcommands that only tell something, word by word.
fn listed_forms<'a>(name: &ShellWord, rest: &'a [ShellWord]) -> Option<Vec<&'a ShellWord>> {
    let words: Vec<&str> = rest.iter().map(|word| word.raw.as_str()).collect();
    let known = match (name.raw.as_str(), &words[..]) {
        ("bisect", ["log" | "terms"])
        | ("notes", ["list"] | [])
        | ("sparse-checkout", ["list"])
        | ("archive", ["--list" | "-l"])
        | ("help", ["-a" | "--all" | "-g" | "--guides"])
        | ("version", [] | ["--build-options"])
        | ("ls-remote", ["--get-url"]) => true,
        ("notes", ["list", object]) | ("ls-remote", ["--get-url", object]) => !object.starts_with('-'),
        _ => false,
    };
    known.then(Vec::new)
}

/// `git submodule status`: which commits the submodules are at.
fn submodule(rest: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let rest = match rest {
        [quiet, rest @ ..] if matches!(quiet.raw.as_str(), "-q" | "--quiet") => rest,
        rest => rest,
    };
    let options = match rest {
        [] => rest,
        [verb, options @ ..] if verb.raw == "status" => options,
        _ => return None,
    };
    let (flags, paths): (Vec<&ShellWord>, Vec<&ShellWord>) =
        options.iter().partition(|word| word.text.starts_with('-'));
    let known = |word: &&ShellWord| matches!(word.raw.as_str(), "--cached" | "--recursive" | "--quiet" | "--");
    (flags.iter().all(known) && paths.iter().all(|word| !word.glob)).then_some(paths)
}

fn listed<'a>(rest: &'a [ShellWord], words: &[&str]) -> Option<Vec<&'a ShellWord>> {
    let known = |word: &ShellWord| matches!(word.raw.as_str(), "--porcelain" | "-v" | "--verbose");
    let (list, options) = rest.split_first()?;
    (words.contains(&list.raw.as_str()) && options.iter().all(known)).then(Vec::new)
}

/// `git stash list` and `git stash show`, with the options of `log` and `diff`.
fn stash(rest: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let (verb, options) = rest.split_first()?;
    let model = match verb.raw.as_str() {
        "list" => SUBCOMMANDS.iter().find(|sub| sub.name == "log")?,
        "show" => SUBCOMMANDS.iter().find(|sub| sub.name == "diff")?,
        _ => return None,
    };
    let options = options.iter().filter(|word| !matches!(word.raw.as_str(), "--include-untracked" | "-u"));
    let mut operands = Vec::new();
    for word in options {
        if word.text.starts_with('-') {
            model.takes(&word.text).then_some(())?;
        } else {
            operands.push(word);
        }
    }
    Some(operands)
}

/// One value of the configuration, where it is none that holds a credential.
fn config(rest: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    const SCOPES: &[&str] = &["--global", "--local", "--system", "--worktree", "--show-origin", "--show-scope", "-z"];
    const READS: &[&str] =
        &["--get", "--get-all", "get", "--type=bool", "--type=int", "--type=path", "--bool", "--int"];
    let is_option = |word: &&ShellWord| SCOPES.contains(&word.raw.as_str()) || READS.contains(&word.raw.as_str());
    let [key] = rest.iter().filter(|word| !is_option(word)).collect::<Vec<_>>()[..] else { return None };
    let lower = key.text.to_ascii_lowercase();
    let secret = ["extraheader", "credential", "password", "passwd", "token", "secret", "cookie"];
    let plain = !key.glob && !lower.starts_with('-') && lower.contains('.');
    (plain && !secret.iter().any(|word| lower.contains(word))).then(Vec::new)
}

fn reflog(rest: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let rest = match rest {
        [show, rest @ ..] if show.raw == "show" => rest,
        // Other verbs expire and delete; a name alone is a reference.
        [verb, ..] if matches!(verb.raw.as_str(), "expire" | "delete" | "drop" | "write") => return None,
        rest => rest,
    };
    SUBCOMMANDS.iter().find(|sub| sub.name == "log")?.operands(rest)
}

/// `git remote get-url x`; `show` only with `-n`, which contacts no host.
fn remote(rest: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let words: Vec<&str> = rest.iter().map(|word| word.raw.as_str()).collect();
    match words[..] {
        ["get-url", name] | ["get-url", "--all" | "--push", name] | ["show", "-n", name] if !name.starts_with('-') => {
            Some(Vec::new())
        }
        _ => None,
    }
}

/// Reading one: a second operand would be written.
fn symbolic_ref(rest: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let (options, names): (Vec<&ShellWord>, Vec<&ShellWord>) = rest.iter().partition(|word| word.text.starts_with('-'));
    let known = |word: &&ShellWord| matches!(word.raw.as_str(), "--short" | "-q" | "--quiet");
    (options.iter().all(known) && names.len() == 1 && !names[0].glob).then_some(names)
}

impl GitSubcommand {
    /// Revisions, paths and patterns; `None` when an option is not known.
    fn operands<'a>(&self, rest: &'a [ShellWord]) -> Option<Vec<&'a ShellWord>> {
        let mut operands = Vec::new();
        let mut after_dashes = false;
        for word in rest {
            if word.glob {
                return None;
            }
            if after_dashes || !word.text.starts_with('-') {
                operands.push(word);
            } else if word.text == "--" {
                after_dashes = true;
            } else if !self.takes(&word.text) {
                return None;
            }
        }
        Some(operands)
    }

    fn takes(&self, option: &str) -> bool {
        if let Some(long) = option.strip_prefix("--") {
            return match long.split_once('=') {
                // Signatures are checked by a program the configuration names.
                Some((_, value)) if value.contains("%G") => false,
                // `diff` starts git in the submodule.
                Some(("submodule", value)) => {
                    matches!(self.name, "diff" | "log" | "show") && matches!(value, "short" | "log")
                }
                None if long == "submodule" => matches!(self.name, "diff" | "log" | "show"),
                None if long == "no-index" => self.name == "diff",
                Some((name, _)) => self.long.iter().any(|known| known.strip_suffix('=') == Some(name)),
                None => self.long.contains(&long),
            };
        }
        let mut letters = option[1..].chars();
        let Some(first) = letters.next() else { return false };
        // `-n5`, `-Sneedle`, `-L1,5:f`: the rest of the word is the value. Anything else is a cluster of flags.
        let takes_value = !matches!(self.name, "grep" | "shortlog" | "show-ref" | "cat-file");
        let valued =
            takes_value && matches!(first, 'n' | 'S' | 'G' | 'L' | 'U' | 'M' | 'C') && self.short.contains(first);
        self.short.contains(first) && (valued || letters.all(|letter| self.short.contains(letter)))
    }
}
