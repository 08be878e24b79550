//! From rules to what is mounted where, in order: shallow paths first, so that a narrower rule lies on top of a broader
//! one. Pure but for asking whether paths exist.

use super::place::is_missing;
use super::{Effect, Rule};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Writable,
    ReadOnly,
    Hidden,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) path: PathBuf,
    pub(crate) state: State,
    pub(crate) is_dir: bool,
    /// Hidden, but something below it is not.
    pub(crate) porous: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) mounts: Vec<Mount>,
    /// Protected, in a writable place, and not there: the first missing part of each path.
    pub(crate) absent: Vec<PathBuf>,
}

/// What the rules say about one path.
pub(crate) fn state(rules: &[Rule], path: &Path) -> State {
    if nearest(rules, path, Effect::DenyRead, Effect::AllowRead) == Some(Effect::DenyRead) {
        return State::Hidden;
    }
    let protected = rules.iter().any(|rule| rule.effect == Effect::Protect && path.starts_with(&rule.path));
    let allowed = nearest(rules, path, Effect::DenyWrite, Effect::AllowWrite) == Some(Effect::AllowWrite);
    if allowed && !protected { State::Writable } else { State::ReadOnly }
}

fn nearest(rules: &[Rule], path: &Path, deny: Effect, allow: Effect) -> Option<Effect> {
    let speaking = rules.iter().filter(|rule| rule.effect == deny || rule.effect == allow);
    let about = speaking.filter(|rule| path.starts_with(&rule.path));
    about.max_by_key(|rule| (rule.path.components().count(), rule.effect == deny)).map(|rule| rule.effect)
}

pub(crate) fn plan(rules: &[Rule]) -> Plan {
    let mut plan = Plan::default();
    // Whether a path must be a mount of its own, so that it cannot be renamed away with what is protected below it.
    let mut wanted: BTreeMap<(usize, PathBuf), bool> = BTreeMap::new();
    for rule in rules {
        let protects = rule.effect == Effect::Protect && parent_is_writable(rules, &rule.path);
        if !is_missing(&rule.path) {
            want(&mut wanted, &rule.path, protects || rule.effect == Effect::DenyRead);
            if protects || matches!(rule.effect, Effect::DenyRead | Effect::DenyWrite) {
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
        if !pinned && below.map_or(State::ReadOnly, |mount| mount.state) == state {
            continue;
        }
        // Nothing can be mounted on a link, and what it leads to has a rule of its own.
        let Ok(kind) = path.symlink_metadata() else { continue };
        if kind.is_symlink() {
            continue;
        }
        let porous = state == State::Hidden && rules.iter().any(|r| below_and_open(rules, r, &path));
        plan.mounts.push(Mount { is_dir: kind.is_dir(), path, state, porous });
    }
    plan
}

fn want(wanted: &mut BTreeMap<(usize, PathBuf), bool>, path: &Path, pinned: bool) {
    *wanted.entry((path.components().count(), path.to_path_buf())).or_default() |= pinned;
}

/// The writable directories between the root of a writable place and `path`.
fn pin_parents(wanted: &mut BTreeMap<(usize, PathBuf), bool>, rules: &[Rule], path: &Path) {
    for parent in path.ancestors().skip(1) {
        if state(rules, parent) != State::Writable {
            return;
        }
        want(wanted, parent, true);
    }
}

fn parent_is_writable(rules: &[Rule], path: &Path) -> bool {
    let above = path.ancestors().skip(1).find(|parent| parent.exists());
    above.is_some_and(|parent| state(rules, parent) == State::Writable)
}

fn first_missing(path: &Path) -> PathBuf {
    let missing = path.ancestors().take_while(|part| is_missing(part));
    missing.last().unwrap_or(path).to_path_buf()
}

fn below_and_open(rules: &[Rule], rule: &Rule, path: &Path) -> bool {
    rule.path != path && rule.path.starts_with(path) && rule.path.exists() && state(rules, &rule.path) != State::Hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(root: &Path, list: &[(Effect, &str)]) -> Vec<Rule> {
        list.iter().map(|(effect, path)| Rule::new(*effect, root.join(path))).collect()
    }

    #[test]
    fn the_narrower_rule_wins_and_denial_wins_ties() {
        // [CLI-192]
        use Effect::{AllowRead, AllowWrite, DenyRead, DenyWrite, Protect};
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
            ("a", State::Writable),
            ("secret/x", State::Hidden),
            ("secret/open/x", State::Writable),
            ("secret/open/not", State::Hidden),
            ("vendor/x", State::ReadOnly),
            ("vendor/mine/x", State::Writable),
            ("both", State::Hidden),
            (".git/hooks/pre-commit", State::ReadOnly),
            ("../x", State::ReadOnly),
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
            (Effect::AllowWrite, ""),
            (Effect::Protect, ".git/config"),
            (Effect::Protect, ".git/hooks"),
            (Effect::Protect, ".claude/settings.json"),
        ];
        let plan = plan(&rules(&root, &list));
        let shown: Vec<_> =
            plan.mounts.iter().map(|m| (m.path.strip_prefix(&root).unwrap().to_str().unwrap(), m.state)).collect();
        assert_eq!(shown, [("", State::Writable), (".git", State::Writable), (".git/config", State::ReadOnly)]);
        assert_eq!(plan.absent, [root.join(".git/hooks"), root.join(".claude")]);
    }
}
