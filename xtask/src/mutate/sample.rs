//! What may be mutated, and a seeded sample of it.

use super::find::{self, Mutant};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};

/// One part of the program whose decisions matter.
pub(super) struct Area {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    /// The file where the switch of the mutants is added.
    pub(super) crate_root: &'static str,
    /// Files and folders that belong to it.
    places: &'static [&'static str],
    /// Tests of the binary that count too, by the beginning of their full names.
    pub(super) tests_of_binary: &'static [&'static str],
}

pub(super) const AREAS: &[Area] = &[
    Area {
        name: "permission",
        package: "gimlet-permission",
        crate_root: "crates/permission/src/lib.rs",
        places: &[
            "crates/permission/src/decision.rs",
            "crates/permission/src/domain.rs",
            "crates/permission/src/exclusion.rs",
            "crates/permission/src/glob.rs",
            "crates/permission/src/path.rs",
            "crates/permission/src/policy",
            "crates/permission/src/reads.rs",
            "crates/permission/src/rule.rs",
            "crates/permission/src/sensitive.rs",
            "crates/permission/src/shell",
        ],
        tests_of_binary: &[],
    },
    Area {
        name: "decide",
        package: "gimlet-engine",
        crate_root: "crates/engine/src/lib.rs",
        places: &["crates/engine/src/decide.rs"],
        tests_of_binary: &["cli conversation turns::"],
    },
    Area {
        name: "resume",
        package: "gimlet-store",
        crate_root: "crates/store/src/lib.rs",
        places: &["crates/store/src/resume"],
        tests_of_binary: &["cli conversation resume::", "cli conversation store::"],
    },
    Area {
        name: "snapshots",
        package: "gimlet-store",
        crate_root: "crates/store/src/lib.rs",
        places: &["crates/store/src/snapshots"],
        tests_of_binary: &["cli security undo::"],
    },
];

/// Files that explain or suggest, but decide nothing.
const LEFT_OUT: &[&str] = &["policy/explain.rs", "policy/suggesting.rs"];

impl Area {
    fn has(&self, file: &str) -> bool {
        let belongs = |place: &&str| {
            file.strip_prefix(*place).is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
        };
        self.places.iter().any(belongs)
            && file.strip_suffix(".rs").is_some_and(|stem| !stem.ends_with("_tests"))
            && !LEFT_OUT.iter().any(|end| file.ends_with(end))
    }
}

/// The areas of a name; all of them without one.
pub(super) fn areas(only: Option<&str>) -> Result<Vec<&'static Area>> {
    let chosen: Vec<&Area> = AREAS.iter().filter(|area| only.is_none_or(|name| area.name == name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
        bail!("there is nothing of that name to mutate; there are: {}", names.join(", "));
    }
    Ok(chosen)
}

/// At most `count` mutants, of which those in `chosen` areas are returned. Every area gives an equal part, and the first
/// one what smaller areas cannot give. A mutant is chosen by its key and the seed alone, so a change of the program
/// leaves most of a sample as it was.
pub(super) fn sample(tree: &Tree, chosen: &[&Area], count: usize, seed: u64) -> Result<Vec<Mutant>> {
    let mut rest = count;
    let mut sample = Vec::new();
    for (position, area) in AREAS.iter().enumerate().rev() {
        let mut all = candidates(tree, area)?;
        let found = all.len();
        all.sort_by_cached_key(|mutant| rank(seed, &mutant.key));
        all.truncate(rest / (position + 1));
        rest -= all.len();
        if chosen.iter().any(|other| other.name == area.name) {
            println!("   {}: {} of {found} possible mutants", area.name, all.len());
            sample.extend(all);
        }
    }
    sample.sort_by(|a, b| (&a.file, a.position).cmp(&(&b.file, b.position)));
    Ok(sample)
}

/// The place of a mutant in the order of one seed.
fn rank(seed: u64, key: &str) -> String {
    crate::dist::hex_sha256(format!("{seed} {key}").as_bytes())
}

fn candidates(tree: &Tree, area: &Area) -> Result<Vec<Mutant>> {
    let mut all = Vec::new();
    for (name, content) in tree.0.iter().filter(|(name, _)| area.has(name)) {
        let text = std::str::from_utf8(content).with_context(|| name.clone())?;
        all.extend(find::mutants(name, text)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const TEXT: &str = "fn a() -> bool { x == 1 && y != 2 }\nfn b() -> bool { !z }\n";

    fn keys(files: &[&str], chosen: Option<&str>, seed: u64) -> Vec<String> {
        let tree =
            Tree(files.iter().map(|file| ((*file).to_owned(), TEXT.as_bytes().to_vec())).collect::<BTreeMap<_, _>>());
        let found = sample(&tree, &areas(chosen).unwrap(), 9, seed).unwrap();
        found.into_iter().map(|mutant| mutant.key).collect()
    }

    #[test]
    fn a_sample_is_the_same_for_the_same_seed() {
        let files =
            ["crates/store/src/resume/chain.rs", "crates/store/src/resume_tests.rs", "crates/permission/src/glob.rs"];
        assert_eq!(keys(&files, None, 1), keys(&files, None, 1));
        assert_ne!(keys(&files, None, 1), keys(&files, None, 2));
        assert_eq!(keys(&files, None, 1).len(), 9);
        assert!(keys(&files, None, 1).iter().all(|key| !key.contains("_tests")));
    }

    #[test]
    fn a_sample_of_one_area_is_a_part_of_the_whole_one() {
        let files = ["crates/store/src/resume/chain.rs", "crates/permission/src/glob.rs"];
        let part = keys(&files, Some("resume"), 1);
        let whole = keys(&files, None, 1);
        assert_eq!(part.len(), 3);
        assert_eq!(whole.iter().filter(|key| key.starts_with("store/")).count(), 3);
        assert!(part.iter().all(|key| whole.contains(key)));
    }

    #[test]
    fn more_code_only_displaces_mutants_of_a_sample() {
        let before = keys(&["crates/permission/src/glob.rs", "crates/permission/src/path.rs"], None, 1);
        let files =
            ["crates/permission/src/domain.rs", "crates/permission/src/glob.rs", "crates/permission/src/path.rs"];
        let after = keys(&files, None, 1);
        let is_new = |key: &&String| key.starts_with("permission/src/domain.rs");
        let added = after.iter().filter(is_new).count();
        let kept = before.iter().filter(|key| after.contains(key)).count();
        assert!(added > 0 && kept > 0);
        assert_eq!(kept + added, before.len());
    }
}
