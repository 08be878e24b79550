//! Turns rules into an ordered list of mounts: shallow paths first, so that a narrower rule is mounted over a broader
//! one. Pure except for checking whether paths exist.

use super::stand_ins::is_missing;
use super::{RuleEffect, SandboxRule};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MountState {
    Writable,
    ReadOnly,
    Hidden,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SandboxMount {
    pub(crate) path: PathBuf,
    pub(crate) state: MountState,
    pub(crate) is_dir: bool,
    /// The directory is hidden, but something below it is not.
    pub(crate) has_open_parts: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MountPlan {
    pub(crate) mounts: Vec<SandboxMount>,
    /// Protected paths in a writable place that do not exist: the first missing part of each.
    pub(crate) absent: Vec<PathBuf>,
}

/// The state of one path under the rules.
pub(crate) fn state(rules: &[SandboxRule], path: &Path) -> MountState {
    if nearest(rules, path, RuleEffect::DenyRead, RuleEffect::AllowRead) == Some(RuleEffect::DenyRead) {
        return MountState::Hidden;
    }
    let protected = rules.iter().any(|rule| rule.effect == RuleEffect::Protect && path.starts_with(&rule.path));
    if in_writable_place(rules, path) && !protected { MountState::Writable } else { MountState::ReadOnly }
}

/// True where a command may write unless a path is protected.
pub(crate) fn in_writable_place(rules: &[SandboxRule], path: &Path) -> bool {
    nearest(rules, path, RuleEffect::DenyWrite, RuleEffect::AllowWrite) == Some(RuleEffect::AllowWrite)
}

fn nearest(rules: &[SandboxRule], path: &Path, deny: RuleEffect, allow: RuleEffect) -> Option<RuleEffect> {
    let speaking = rules.iter().filter(|rule| rule.effect == deny || rule.effect == allow);
    let about = speaking.filter(|rule| path.starts_with(&rule.path));
    about.max_by_key(|rule| (rule.path.components().count(), rule.effect == deny)).map(|rule| rule.effect)
}

pub(crate) fn plan(rules: &[SandboxRule]) -> MountPlan {
    let mut plan = MountPlan::default();
    // The value says whether a path must be a separate mount, so that protected paths cannot be renamed with it.
    let mut wanted: BTreeMap<(usize, PathBuf), bool> = BTreeMap::new();
    for rule in rules {
        let protects = rule.effect == RuleEffect::Protect && parent_is_writable(rules, &rule.path);
        if !is_missing(&rule.path) {
            want(&mut wanted, &rule.path, protects || rule.effect == RuleEffect::DenyRead);
            if protects || matches!(rule.effect, RuleEffect::DenyRead | RuleEffect::DenyWrite) {
                pin_parents(&mut wanted, rules, &rule.path);
            }
        } else if protects {
            let missing = first_missing(&rule.path);
            pin_parents(&mut wanted, rules, &missing);
            if !plan.absent.contains(&missing) {
                plan.absent.push(missing);
            }
        }
    }
    for ((_, path), pinned) in wanted {
        let state = state(rules, &path);
        let below = plan.mounts.iter().rev().find(|mount| path.starts_with(&mount.path));
        if !pinned && below.map_or(MountState::ReadOnly, |mount| mount.state) == state {
            continue;
        }
        // Nothing can be mounted on a link, and the target of the link has its own rule.
        let Ok(kind) = path.symlink_metadata() else { continue };
        if kind.is_symlink() {
            continue;
        }
        let porous = state == MountState::Hidden && rules.iter().any(|r| below_and_open(rules, r, &path));
        plan.mounts.push(SandboxMount { is_dir: kind.is_dir(), path, state, has_open_parts: porous });
    }
    plan
}

fn want(wanted: &mut BTreeMap<(usize, PathBuf), bool>, path: &Path, pinned: bool) {
    *wanted.entry((path.components().count(), path.to_path_buf())).or_default() |= pinned;
}

/// Pins the writable directories above `path`, up to the root of the writable place.
fn pin_parents(wanted: &mut BTreeMap<(usize, PathBuf), bool>, rules: &[SandboxRule], path: &Path) {
    for parent in path.ancestors().skip(1) {
        if state(rules, parent) != MountState::Writable {
            return;
        }
        want(wanted, parent, true);
    }
}

fn parent_is_writable(rules: &[SandboxRule], path: &Path) -> bool {
    let above = path.ancestors().skip(1).find(|parent| parent.exists());
    above.is_some_and(|parent| state(rules, parent) == MountState::Writable)
}

fn first_missing(path: &Path) -> PathBuf {
    let missing = path.ancestors().take_while(|part| is_missing(part));
    missing.last().unwrap_or(path).to_path_buf()
}

fn below_and_open(rules: &[SandboxRule], rule: &SandboxRule, path: &Path) -> bool {
    rule.path != path
        && rule.path.starts_with(path)
        && rule.path.exists()
        && state(rules, &rule.path) != MountState::Hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(root: &Path, list: &[(RuleEffect, &str)]) -> Vec<SandboxRule> {
        list.iter().map(|(effect, path)| SandboxRule::new(*effect, root.join(path))).collect()
    }

    #[test]
    fn the_narrower_rule_wins_and_denial_wins_ties() {
        // [CLI-192]
        use RuleEffect::{AllowRead, AllowWrite, DenyRead, DenyWrite, Protect};
        let root = Path::new("/w");
        let list = [
            (AllowWrite, ""),
            (DenyRead, "secret"),
            (AllowRead, "secret/open"),
            (DenyRead, "secret/open/not"),
            (DenyWrite, "vendor"),
            (AllowWrite, "vendor/mine"),
            (DenyRead, "both"),
            (AllowRead, "both"),
            (Protect, ".git/hooks"),
            (AllowWrite, ".git/hooks/pre-commit"),
        ];
        let rules = rules(root, &list);
        let cases = [
            ("a", MountState::Writable),
            ("secret/x", MountState::Hidden),
            ("secret/open/x", MountState::Writable),
            ("secret/open/not", MountState::Hidden),
            ("vendor/x", MountState::ReadOnly),
            ("vendor/mine/x", MountState::Writable),
            ("both", MountState::Hidden),
            (".git/hooks/pre-commit", MountState::ReadOnly),
            ("../x", MountState::ReadOnly),
        ];
        for (path, expected) in cases {
            let path = if path == "../x" { PathBuf::from("/x") } else { root.join(path) };
            assert_eq!(state(&rules, &path), expected, "{}", path.display());
        }
    }

    #[test]
    fn folders_above_protected_files_cannot_be_renamed_away() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/config"), "").unwrap();
        let list = [
            (RuleEffect::AllowWrite, ""),
            (RuleEffect::Protect, ".git/config"),
            (RuleEffect::Protect, ".git/hooks"),
            (RuleEffect::Protect, ".claude/settings.json"),
        ];
        let plan = plan(&rules(&root, &list));
        let shown: Vec<_> =
            plan.mounts.iter().map(|m| (m.path.strip_prefix(&root).unwrap().to_str().unwrap(), m.state)).collect();
        assert_eq!(
            shown,
            [("", MountState::Writable), (".git", MountState::Writable), (".git/config", MountState::ReadOnly)]
        );
        assert_eq!(plan.absent, [root.join(".git/hooks"), root.join(".claude")]);
    }
}
