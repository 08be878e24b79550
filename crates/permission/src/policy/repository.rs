//! Git calls that only read. They count as read-only because the caller makes the configuration of their repositories
//! powerless when they run: `git_places` says where to look, `Facts::with_repositories` what was found there, and
//! `git_guard` which calls need it.

use super::command::{GrantScope, UnitVerdict};
use super::directory_tracker::{DirectoryTracker, ReadFootprint};
use super::{Access, DecisionReason, PathFacts, PermissionQuery, Policy};
use crate::path::normalise;
use crate::shell::reading::CommandReading;
use crate::shell::script::SimpleCommand;
use crate::shell::{files, wrapper};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::RuleBehaviour;

/// What was found about the repository that git would use in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryFacts {
    /// Its configuration can be made powerless.
    Powerless {
        /// A key that replaces git's own diff.
        external_diff: Option<String>,
        /// Files it is configured by.
        files: Vec<PathBuf>,
    },
    /// This key may run a program, and cannot be overridden.
    Obstacle(String),
}

/// Git calls that were allowed because they only read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitGuard {
    /// The directories they run in.
    pub places: Vec<PathBuf>,
    pub scope: GuardScope,
}

/// Which part of a command runs with powerless configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardScope {
    /// All of it.
    Command,
    /// Git with exactly these arguments; the rest of the command is left alone.
    Calls(Vec<Vec<String>>),
}

/// One git call of a read-only part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitCall {
    pub(super) dir: PathBuf,
    /// It would print a diff made by a program of the configuration.
    pub(super) external_diff: bool,
}

impl Policy {
    /// The directories in which a command of `request` would run git. `facts` hold the names for `Policy::name_queries`.
    pub fn git_places(&self, request: &PermissionQuery<'_>, facts: &PathFacts) -> Vec<PathBuf> {
        let mut places = BTreeSet::new();
        for command in commands(request) {
            let mut walk = DirectoryTracker::new(&facts.cwd, self.directories.home.as_deref(), Some(&facts.names));
            for unit in CommandReading::of(command).units() {
                let calls = walk.step(unit).map(|parts| parts.repositories).unwrap_or_default();
                places.extend(calls.into_iter().map(|call| call.dir));
            }
        }
        places.into_iter().collect()
    }

    /// What must be made powerless when an allowed request runs. Nothing when a rule or mode allows the command as it is.
    pub fn git_guard(&self, request: &PermissionQuery<'_>, facts: &PathFacts) -> Option<GitGuard> {
        let whole = |rule: &crate::rule::PermissionRule| {
            rule.behaviour == RuleBehaviour::Allow && rule.covers_tool(request.tool)
        };
        if self.mode == PermissionMode::BypassPermissions || self.rules.iter().any(whole) {
            return None;
        }
        commands(request).find_map(|command| self.command_guard(&CommandReading::of(command), facts))
    }

    fn command_guard(&self, reading: &CommandReading, facts: &PathFacts) -> Option<GitGuard> {
        if self.exact_rule(reading).is_some() {
            return None;
        }
        let judged = match (&reading.strict, &reading.relaxed) {
            (Ok(units), _) => self.judge_units(units, facts, GrantScope::RulesAndMode),
            (Err(_), Some(units)) => {
                let judged = self.judge_units(units, facts, GrantScope::Nothing);
                judged.iter().all(|part| part.grant.is_some()).then_some(judged)?
            }
            (Err(_), None) => return None,
        };
        let guarded: Vec<&UnitVerdict> = judged.iter().filter(|part| !part.git.is_empty()).collect();
        let places: BTreeSet<PathBuf> =
            guarded.iter().flat_map(|part| &part.git).map(|call| call.dir.clone()).collect();
        if places.is_empty() {
            return None;
        }
        let scope = if is_mixed(&judged) {
            GuardScope::Calls(guarded.iter().map(|part| part.arguments.clone()).collect())
        } else {
            GuardScope::Command
        };
        Some(GitGuard { places: places.into_iter().collect(), scope })
    }

    /// The key for which a read-only part cannot run without a question.
    pub(super) fn obstacle(&self, parts: &ReadFootprint, facts: &PathFacts) -> Option<String> {
        parts.repositories.iter().find_map(|call| self.call_obstacle(call, facts))
    }

    fn call_obstacle(&self, call: &GitCall, facts: &PathFacts) -> Option<String> {
        let Some(known) = &facts.repositories else {
            // The caller did not read the configuration: only the repository the session started in counts.
            let start = normalise(&self.directories.cwd);
            let home = normalise(&call.dir) == start || facts.real(&call.dir) == Some(start.as_path());
            return (!home).then(|| UNREAD_REPOSITORY.to_owned());
        };
        match known.get(&call.dir) {
            Some(RepositoryFacts::Powerless { external_diff, .. }) => {
                external_diff.clone().filter(|_| call.external_diff)
            }
            Some(RepositoryFacts::Obstacle(key)) => Some(key.clone()),
            None => Some(UNREAD_REPOSITORY.to_owned()),
        }
    }

    /// A file that the command writes and by which a repository of its read-only git calls is configured.
    pub(super) fn rewrites_configuration(
        &self,
        reading: &CommandReading,
        judged: &[UnitVerdict],
        facts: &PathFacts,
    ) -> Option<String> {
        let known = facts.repositories.as_ref()?;
        let calls = judged.iter().flat_map(|part| &part.git);
        let found: Vec<&PathBuf> = calls
            .filter_map(|call| match known.get(&call.dir)? {
                RepositoryFacts::Powerless { files, .. } => Some(files),
                RepositoryFacts::Obstacle(_) => None,
            })
            .flatten()
            .collect();
        if found.is_empty() {
            return None;
        }
        let written = files::written_files(&reading.suspects, &facts.cwd, self.directories.home.as_deref());
        written.iter().find_map(|open| {
            let real = facts.real(open).map_or_else(|| normalise(open), Path::to_path_buf);
            let hit = found.iter().find(|file| file.starts_with(&real) || file.starts_with(normalise(open)))?;
            Some(hit.display().to_string())
        })
    }
}

const UNREAD_REPOSITORY: &str = "a repository whose configuration was not looked at";

/// Whether a rule allows some part, which must then run as it always does.
fn is_mixed(judged: &[UnitVerdict]) -> bool {
    let as_usual =
        |part: &UnitVerdict| !matches!(part.grant, Some(DecisionReason::ReadOnlyCommand | DecisionReason::Mode(_)));
    judged.iter().any(as_usual)
}

/// Beside a part that runs as usual, a git call is guarded by its arguments alone: that works only for `git` itself.
pub(super) fn is_ambiguous_call(judged: &[UnitVerdict], at: usize, unit: &SimpleCommand) -> bool {
    let plain = unit.words.first().is_some_and(|word| word.raw == "git") && !unit.words.iter().any(|word| word.tilde);
    !judged[at].git.is_empty() && !plain && is_mixed(judged)
}

/// Programs that rustup puts in the place of the real ones: they run the toolchain that a file of the folder names.
const RUSTUP: &[&str] = &["cargo", "rustc", "rustup", "rustfmt", "rustdoc"];

/// Programs whose settings in the folder name the host they ask for news, with which credential, and where they write.
const NPM: &[&str] = &["npm", "npx"];

/// Whether a file of the folder decides what this program runs, reaches or writes, even while it only tells something.
pub(super) fn obeys_folder(unit: &SimpleCommand, has_moved: bool, facts: &PathFacts) -> bool {
    let names = |programs: &[&str]| unit.words.iter().any(|word| programs.contains(&wrapper::base_name(&word.text)));
    (names(RUSTUP) && (facts.names_toolchain || has_moved)) || (names(NPM) && (facts.has_npm_settings || has_moved))
}

/// The arguments of git as it gets them.
pub(super) fn arguments(unit: &SimpleCommand) -> Vec<String> {
    wrapper::strip_wrappers(&unit.words).iter().skip(1).map(|word| word.text.clone()).collect()
}

fn commands<'a>(request: &PermissionQuery<'a>) -> impl Iterator<Item = &'a String> {
    request.accesses.iter().filter_map(|access| match access {
        Access::Run(command) => Some(command),
        Access::ReadPath(_)
        | Access::WritePath(_)
        | Access::Reach { .. }
        | Access::Use
        | Access::Harmless
        | Access::Interact => None,
    })
}
