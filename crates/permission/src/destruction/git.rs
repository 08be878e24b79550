//! Git commands that can lose work: which part of the repository must be saved before they run.

use super::programs::{Words, into};
use super::{At, Extent, GitLoss, GitWork, Losses};
use crate::shell::globals::{self, Place};
use std::path::PathBuf;

/// Words without which no git command loses anything.
#[rustfmt::skip]
pub(super) const LOSING: &[&str] = &[
    "reset", "clean", "checkout", "switch", "restore", "read-tree", "filter-", "stash", "branch", "tag", "reflog",
    "update-ref", "symbolic-ref", "rm", "worktree", "submodule", "mv", "apply", "--out", "archive", "format-patch",
];

pub(super) fn add(losses: &mut Losses, arguments: &[String], at: &At<'_>) {
    let Some((dir, sub, rest)) = subcommand(arguments, at) else { return };
    let words = Words { all: rest };
    let at = &At { dir: &dir, ..*at };
    let Some(sub) = sub else { return worst(losses, &words, at) };
    let Some((work, grave)) = work(losses, sub, &words, at) else { return };
    losses.grave |= grave;
    let loss = GitLoss { dir: dir.clone(), work };
    if !losses.git.contains(&loss) {
        losses.git.push(loss);
    }
}

/// The subcommand is not known: everything that any of them could lose.
fn worst(losses: &mut Losses, words: &Words<'_>, at: &At<'_>) {
    let operands = words.operands(&[]);
    let commits = operands.iter().map(|word| (*word).to_owned()).collect();
    losses.grave = true;
    for work in [GitWork::Tracked { commits }, GitWork::Untracked { ignored: true }] {
        let loss = GitLoss { dir: at.dir.to_path_buf(), work };
        if !losses.git.contains(&loss) {
            losses.git.push(loss);
        }
    }
    removed(losses, &operands, at);
}

/// Where git works, what it does (`None` when that cannot be known), and the words after that.
fn subcommand<'a>(arguments: &'a [String], at: &At<'_>) -> Option<(PathBuf, Option<&'a str>, &'a [String])> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (end, sub) = match globals::subcommand("git", &words) {
        Place::At(index) => (index, Some(words[index])),
        Place::Behind(index) => (index, None),
        Place::Missing => return None,
    };
    let mut dir = at.dir.to_path_buf();
    let enters = |dir: PathBuf, word: &str| at.variables.paths(word, &dir).into_iter().next().unwrap_or(dir);
    for (index, word) in words[..end].iter().enumerate() {
        let next = words.get(index + 1).copied();
        let target = match (*word, word.strip_prefix("--work-tree=")) {
            ("-C" | "--work-tree", _) => next,
            (_, inline) => inline,
        };
        if let Some(target) = target {
            dir = enters(dir, target);
        }
    }
    // An alias given on the spot may stand for anything.
    let aliased = words[..end].iter().any(|word| word.to_ascii_lowercase().contains("alias."));
    let rest = if sub.is_some() { end + 1 } else { end };
    Some((dir, sub.filter(|_| !aliased), &arguments[rest..]))
}

const UNHARMED: GitWork = GitWork::None;

/// What is at stake, and whether it may be lost for good.
fn work(losses: &mut Losses, sub: &str, words: &Words<'_>, at: &At<'_>) -> Option<(GitWork, bool)> {
    let tracked = |commits: Vec<&str>| GitWork::Tracked { commits: commits.into_iter().map(str::to_owned).collect() };
    let forced = words.cluster("fBC") || words.has(&["--force", "--discard-changes"]);
    match sub {
        "reset" if words.has(&["--hard", "--merge", "--keep"]) => Some((tracked(words.operands(&[])), true)),
        "reset" => Some((UNHARMED, false)),
        "clean" if words.cluster("n") || words.has(&["--dry-run"]) => None,
        "clean" => Some((GitWork::Untracked { ignored: words.cluster("xX") }, true)),
        "checkout" if (words.cluster("b") || words.has(&["--orphan"])) && !forced => None,
        "checkout" => {
            let commits = words.operands(&["-b", "-B", "--orphan", "--conflict", "--pathspec-from-file"]);
            Some((tracked(commits), forced || words.has(&["--", "."])))
        }
        "switch" if forced => Some((tracked(words.operands(&["-c", "-C"])), true)),
        "restore" if words.has(&["--staged", "-S"]) && !words.has(&["--worktree", "-W"]) => Some((UNHARMED, true)),
        "restore" => Some((tracked(words.values("-s", "--source")), true)),
        "checkout-index" | "read-tree" | "filter-branch" | "filter-repo" => Some((tracked(Vec::new()), true)),
        "stash" if words.has(&["drop", "clear"]) => Some((UNHARMED, true)),
        "branch" if words.cluster("dDfmMC") || words.has(&["--delete", "--force", "--move"]) => Some((UNHARMED, true)),
        "tag" if words.cluster("df") || words.has(&["--delete", "--force"]) => Some((UNHARMED, true)),
        "reflog" if words.has(&["expire", "delete"]) => Some((UNHARMED, true)),
        "update-ref" | "symbolic-ref" => Some((UNHARMED, true)),
        "rm" if words.has(&["--cached"]) => Some((UNHARMED, false)),
        "rm" => {
            removed(losses, &words.operands(&[]), at);
            Some((UNHARMED, true))
        }
        "worktree" | "submodule" if words.has(&["remove", "deinit"]) => {
            removed(losses, words.operands(&[]).get(1..).unwrap_or_default(), at);
            Some((UNHARMED, true))
        }
        "mv" => {
            let (sources, target) = words.copied();
            into(losses, "git mv", &sources, target, at);
            removed(losses, &sources, at);
            Some((UNHARMED, false))
        }
        "apply" if words.has(&["--check", "--stat", "--numstat", "--summary"]) => None,
        "apply" => {
            applied(losses, words, at);
            Some((UNHARMED, false))
        }
        _ => None,
    }
}

fn removed(losses: &mut Losses, operands: &[&str], at: &At<'_>) {
    for word in operands {
        losses.word(word, &Extent::Tree, at, "git");
    }
}

fn applied(losses: &mut Losses, words: &Words<'_>, at: &At<'_>) {
    let patches = at.paths(&words.operands(&["-p", "-C", "--directory", "--exclude", "--include"]));
    if patches.is_empty() {
        losses.unnamed.push("git apply".into());
    }
    for patch in patches {
        losses.word(".", &Extent::Patched(patch), at, "git apply");
    }
}
