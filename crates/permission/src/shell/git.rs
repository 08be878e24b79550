//! Git commands that only read. An option outside the tables makes the command ask, abbreviations included.

use super::script::{Word, join_raw};

/// A read-only subcommand with what it may be given.
struct Subcommand {
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

const REV_LIST: &[&str] =
    &["count", "all", "no-merges", "merges", "first-parent", "reverse", "since=", "until=", "max-count="];

#[rustfmt::skip]
const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "status",
        long: &["short", "branch", "porcelain", "porcelain=", "long", "ignored", "untracked-files=", "show-stash"],
        short: "sbuv",
        operands: true,
    },
    Subcommand { name: "diff", long: LOG, short: "wbpsuRMCSGz0123456789U", operands: true },
    Subcommand { name: "log", long: LOG, short: "pswbinSGLqz0123456789UM", operands: true },
    Subcommand { name: "show", long: LOG, short: "pswbqz0123456789U", operands: true },
    Subcommand { name: "shortlog", long: &["numbered", "summary", "email"], short: "sne", operands: true },
    Subcommand {
        name: "branch",
        long: &["all", "remotes", "list", "show-current", "verbose", "no-color"],
        short: "arv",
        operands: false,
    },
    Subcommand { name: "tag", long: &["list"], short: "l", operands: false },
    Subcommand { name: "remote", long: &["verbose"], short: "v", operands: false },
    Subcommand {
        name: "rev-parse",
        long: &["show-toplevel", "abbrev-ref", "short", "verify", "is-inside-work-tree", "git-dir", "quiet"],
        short: "q",
        operands: true,
    },
    Subcommand {
        name: "ls-files",
        long: &["cached", "deleted", "modified", "others", "stage", "exclude-standard", "full-name"],
        short: "cdmost",
        operands: true,
    },
    Subcommand { name: "ls-tree", long: &["name-only", "full-name", "long"], short: "rltd", operands: true },
    Subcommand { name: "blame", long: &["porcelain", "show-email", "date="], short: "wLesMC0123456789", operands: true },
    Subcommand { name: "describe", long: &["tags", "all", "always", "long", "dirty"], short: "", operands: true },
    Subcommand { name: "merge-base", long: &["all", "is-ancestor", "fork-point"], short: "a", operands: true },
    Subcommand { name: "rev-list", long: REV_LIST, short: "n0123456789", operands: true },
    Subcommand {
        name: "grep",
        long: &[
            "line-number", "ignore-case", "word-regexp", "count", "files-with-matches", "name-only", "fixed-strings",
            "extended-regexp", "perl-regexp", "no-color", "heading", "break", "show-function", "cached", "untracked",
        ],
        short: "niwclEFPepvhHzABC0123456789",
        operands: true,
    },
    Subcommand { name: "cat-file", long: &[], short: "ptse", operands: true },
    Subcommand { name: "show-ref", long: &["heads", "tags", "head", "verify", "quiet"], short: "dsq", operands: true },
    Subcommand { name: "reflog", long: &["all"], short: "n0123456789", operands: false },
];

/// `git -C dir log` is matched as `git log`.
pub(crate) fn without_directory(words: &[Word]) -> Option<String> {
    match words {
        [git, flag, _, rest @ ..] if git.raw == "git" && flag.raw == "-C" => Some(format!("git {}", join_raw(rest))),
        [git, flag, rest @ ..] if git.raw == "git" && flag.raw == "--no-pager" => {
            Some(format!("git {}", join_raw(rest)))
        }
        _ => None,
    }
}

/// Subcommands that can throw away work nobody can bring back. A rule for `git` at large does not cover them; it must
/// name the subcommand, as in `git reset`.
pub(crate) fn loses_work(words: &[Word]) -> Option<String> {
    let (git, arguments) = words.split_first()?;
    if git.text != "git" {
        return None;
    }
    let mut rest = arguments.iter().map(|word| word.text.as_str());
    let sub = loop {
        match rest.next()? {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" => rest.next(),
            option if option.starts_with('-') => Some(option),
            sub => break sub,
        };
    };
    let options: Vec<_> = rest.collect();
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
        "push" => has(&["--f", "--mirror", "--d", "--prune", "+", ":"]) || cluster('f') || cluster('d'),
        "branch" | "tag" => has(&["--d", "--f"]) || cluster('D') || cluster('d') || cluster('f'),
        "restore" | "update-ref" | "filter-branch" | "filter-repo" | "reflog" | "gc" | "prune" | "worktree" | "rm" => {
            true
        }
        _ => false,
    };
    loses.then(|| format!("git {sub}"))
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
pub(crate) fn push_target(words: &[Word]) -> Option<PushTarget<'_>> {
    let (git, arguments) = words.split_first()?;
    let mut rest = arguments.iter().map(|word| word.text.as_str());
    if git.text != "git" || !rest.any(|word| word == "push") {
        return None;
    }
    // An option with a value of its own is taken for the destination: that asks once too often, never too seldom.
    Some(rest.find(|word| !word.starts_with('-')).map_or(PushTarget::Default, PushTarget::Named))
}

/// A git command that only reads.
pub(super) struct ReadCall<'a> {
    pub(super) call: RepositoryCall<'a>,
    pub(super) operands: Vec<&'a Word>,
}

/// The use of a repository by a git command that only reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepositoryCall<'a> {
    /// The value of `-C`.
    pub(crate) directory: Option<&'a Word>,
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
pub(super) fn read_call(arguments: &[Word]) -> Option<ReadCall<'_>> {
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
    Some(ReadCall { call, operands: operands(rest)? })
}

/// The operands of a read-only git command, `None` when it may do more. `arguments` follow the word `git`.
fn operands(arguments: &[Word]) -> Option<Vec<&Word>> {
    let rest = match arguments {
        [pager, rest @ ..] if matches!(pager.raw.as_str(), "--no-pager" | "-P") => rest,
        all => all,
    };
    let (name, rest) = rest.split_first()?;
    if name.raw == "stash"
        && let Some((show, rest)) = rest.split_first().filter(|(verb, _)| verb.raw == "show")
    {
        let known =
            |word: &Word| matches!(word.raw.as_str(), "-p" | "--patch" | "--stat") || !word.text.starts_with('-');
        return (!show.quoted && rest.iter().all(known)).then(|| rest.iter().collect());
    }
    if matches!(name.raw.as_str(), "stash" | "worktree") {
        return (rest.len() == 1 && rest[0].raw == "list").then(Vec::new);
    }
    let sub = SUBCOMMANDS.iter().find(|sub| sub.name == name.raw)?;
    let mut operands = Vec::new();
    let mut after_dashes = false;
    for word in rest {
        if word.glob || word.tilde {
            return None;
        }
        if after_dashes || !word.text.starts_with('-') {
            operands.push(word);
        } else if word.text == "--" {
            after_dashes = true;
        } else if !sub.takes(&word.text) {
            return None;
        }
    }
    (sub.operands || operands.is_empty()).then_some(operands)
}

impl Subcommand {
    fn takes(&self, option: &str) -> bool {
        if let Some(long) = option.strip_prefix("--") {
            return match long.split_once('=') {
                // Signatures are checked by a program the configuration names.
                Some((_, value)) if value.contains("%G") => false,
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
