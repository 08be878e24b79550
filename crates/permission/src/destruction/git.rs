//! Git commands that can lose work: which part of the repository must be saved before they run.

use super::programs::{ProgramArguments, add_copy_targets};
use super::{GitLoss, GitWork, LossContext, LossExtent, PossibleLosses};
use crate::shell::globals::{self, SubcommandPosition};
use std::path::PathBuf;

/// Words without which no git command loses anything.
#[rustfmt::skip]
pub(super) const LOSING_SUBCOMMANDS: &[&str] = &[
    "reset", "clean", "checkout", "switch", "restore", "read-tree", "filter-", "stash", "branch", "tag", "reflog",
    "update-ref", "symbolic-ref", "rm", "worktree", "submodule", "mv", "apply", "--out", "archive", "format-patch",
];

pub(super) fn add(losses: &mut PossibleLosses, arguments: &[String], at: &LossContext<'_>) {
    let Some((dir, sub, rest)) = subcommand(arguments, at) else { return };
    let words = ProgramArguments { all: rest };
    let at = &LossContext { dir: &dir, ..*at };
    let Some(sub) = sub else { return add_worst_case(losses, &words, at) };
    let Some((work, grave)) = work_at_stake(losses, sub, &words, at) else { return };
    losses.is_irreversible |= grave;
    let mut works = vec![work];
    if grave {
        let moved = MovedWork::by_other_calls(at);
        let is_stash = sub == "stash";
        if is_stash && moved.stashed {
            works.push(GitWork::Tracked { commits: Vec::new() });
        }
        let reaches_new_files = matches!(works[0], GitWork::Tracked { .. }) || (is_stash && moved.stashed);
        works.extend(moved.tracked.filter(|_| reaches_new_files).map(|ignored| GitWork::Untracked { ignored }));
    }
    for work in works {
        let loss = GitLoss { dir: dir.clone(), work };
        if !losses.git.contains(&loss) {
            losses.git.push(loss);
        }
    }
}

/// What other git calls of the same command put where one of them loses it (`git stash; git stash drop`).
#[derive(Default)]
struct MovedWork {
    /// Changes go into a stash.
    stashed: bool,
    /// Files that are not tracked before the command are so behind these calls; whether ignored ones are among them.
    tracked: Option<bool>,
}

impl MovedWork {
    fn by_other_calls(at: &LossContext<'_>) -> Self {
        let mut moved = Self::default();
        for part in at.feeders {
            part.any_program(|program, arguments| {
                if program == "git"
                    && let Some((_, Some(sub), rest)) = subcommand(arguments, at)
                {
                    moved.note(sub, &ProgramArguments { all: rest });
                }
                false
            });
        }
        moved
    }

    fn note(&mut self, sub: &str, words: &ProgramArguments<'_>) {
        let ignored_before = self.tracked == Some(true);
        match sub {
            "add" | "stage" => {
                self.tracked = Some(ignored_before || words.has_short_option("f") || words.has(&["--force"]));
            }
            "stash" if matches!(words.operands(&["-m", "--message"]).first(), None | Some(&"push" | &"save")) => {
                self.stashed = true;
                let all = words.has_short_option("a") || words.has(&["--all"]);
                if all || words.has_short_option("u") || words.has(&["--include-untracked"]) {
                    self.tracked = Some(ignored_before || all);
                }
            }
            _ => {}
        }
    }
}

/// The subcommand is not known: everything that any of them could lose.
fn add_worst_case(losses: &mut PossibleLosses, words: &ProgramArguments<'_>, at: &LossContext<'_>) {
    let operands = words.operands(&[]);
    let commits = operands.iter().map(|word| (*word).to_owned()).collect();
    losses.is_irreversible = true;
    for work in [GitWork::Tracked { commits }, GitWork::Untracked { ignored: true }] {
        let loss = GitLoss { dir: at.dir.to_path_buf(), work };
        if !losses.git.contains(&loss) {
            losses.git.push(loss);
        }
    }
    add_removed(losses, &operands, at);
}

/// Where git works, what it does (`None` when that cannot be known), and the words after that.
fn subcommand<'a>(arguments: &'a [String], at: &LossContext<'_>) -> Option<(PathBuf, Option<&'a str>, &'a [String])> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (end, sub) = match globals::subcommand("git", &words) {
        SubcommandPosition::At(index) => (index, Some(words[index])),
        SubcommandPosition::Behind(index) => (index, None),
        SubcommandPosition::Missing => return None,
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

const NO_WORK_LOST: GitWork = GitWork::None;

/// What is at stake, and whether it may be lost for good.
fn work_at_stake(
    losses: &mut PossibleLosses,
    sub: &str,
    words: &ProgramArguments<'_>,
    at: &LossContext<'_>,
) -> Option<(GitWork, bool)> {
    let tracked = |commits: Vec<&str>| GitWork::Tracked { commits: commits.into_iter().map(str::to_owned).collect() };
    let forced = words.has_short_option("fBC") || words.has(&["--force", "--discard-changes"]);
    match sub {
        "reset" if words.has(&["--hard", "--merge", "--keep"]) => Some((tracked(words.operands(&[])), true)),
        "reset" => Some((NO_WORK_LOST, false)),
        "clean" if words.has_short_option("n") || words.has(&["--dry-run"]) => None,
        "clean" => Some((GitWork::Untracked { ignored: words.has_short_option("xX") }, true)),
        "checkout" if (words.has_short_option("b") || words.has(&["--orphan"])) && !forced => None,
        "checkout" => {
            let commits = words.operands(&["-b", "-B", "--orphan", "--conflict", "--pathspec-from-file"]);
            Some((tracked(commits), forced || words.has(&["--", "."])))
        }
        "switch" if forced => Some((tracked(words.operands(&["-c", "-C"])), true)),
        "restore" if words.has(&["--staged", "-S"]) && !words.has(&["--worktree", "-W"]) => Some((NO_WORK_LOST, true)),
        "restore" => Some((tracked(words.values("-s", "--source")), true)),
        "checkout-index" | "read-tree" | "filter-branch" | "filter-repo" => Some((tracked(Vec::new()), true)),
        "stash" if words.has(&["drop", "clear"]) => Some((NO_WORK_LOST, true)),
        "branch" if words.has_short_option("dDfmMC") || words.has(&["--delete", "--force", "--move"]) => {
            Some((NO_WORK_LOST, true))
        }
        "tag" if words.has_short_option("df") || words.has(&["--delete", "--force"]) => Some((NO_WORK_LOST, true)),
        "reflog" if words.has(&["expire", "delete"]) => Some((NO_WORK_LOST, true)),
        "update-ref" | "symbolic-ref" => Some((NO_WORK_LOST, true)),
        "rm" if words.has(&["--cached"]) => Some((NO_WORK_LOST, false)),
        "rm" => {
            add_removed(losses, &words.operands(&[]), at);
            Some((NO_WORK_LOST, true))
        }
        "worktree" | "submodule" if words.has(&["remove", "deinit"]) => {
            add_removed(losses, words.operands(&[]).get(1..).unwrap_or_default(), at);
            Some((NO_WORK_LOST, true))
        }
        "mv" => {
            let (sources, target) = words.copy_operands();
            add_copy_targets(losses, "git mv", &sources, target, at);
            add_removed(losses, &sources, at);
            Some((NO_WORK_LOST, false))
        }
        "apply" if words.has(&["--check", "--stat", "--numstat", "--summary"]) => None,
        "apply" => {
            add_applied_patch(losses, words, at);
            Some((NO_WORK_LOST, false))
        }
        _ => None,
    }
}

fn add_removed(losses: &mut PossibleLosses, operands: &[&str], at: &LossContext<'_>) {
    for word in operands {
        losses.add_word(word, &LossExtent::Tree, at, "git");
    }
}

fn add_applied_patch(losses: &mut PossibleLosses, words: &ProgramArguments<'_>, at: &LossContext<'_>) {
    let patches = at.paths(&words.operands(&["-p", "-C", "--directory", "--exclude", "--include"]));
    if patches.is_empty() {
        losses.unnamed.push("git apply".into());
    }
    for patch in patches {
        losses.add_word(".", &LossExtent::Patched(patch), at, "git apply");
    }
}
