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

/// At most `count` mutants, the same for the same tree and seed. Every area gives an equal part, and the first one
/// what smaller areas cannot give.
pub(super) fn sample(tree: &Tree, areas: &[&Area], count: usize, seed: u64) -> Result<Vec<Mutant>> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut rest = count;
    let mut chosen = Vec::new();
    for (position, area) in areas.iter().enumerate().rev() {
        let mut all = candidates(tree, area)?;
        let found = all.len();
        random.shuffle(&mut all);
        all.truncate(rest / (position + 1));
        println!("   {}: {} of {found} possible mutants", area.name, all.len());
        rest -= all.len();
        chosen.extend(all);
    }
    chosen.sort_by(|a, b| (&a.file, a.position).cmp(&(&b.file, b.position)));
    Ok(chosen)
}

fn candidates(tree: &Tree, area: &Area) -> Result<Vec<Mutant>> {
    let mut all = Vec::new();
    for (name, content) in tree.0.iter().filter(|(name, _)| area.has(name)) {
        let text = std::str::from_utf8(content).with_context(|| name.clone())?;
        all.extend(find::mutants(name, text)?);
    }
    Ok(all)
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_sample_is_the_same_for_the_same_seed() {
        let text = "fn a() -> bool { x == 1 && y != 2 }\nfn b() -> bool { !z }\n";
        let files =
            ["crates/store/src/resume/chain.rs", "crates/store/src/resume_tests.rs", "crates/permission/src/glob.rs"];
        let tree =
            Tree(files.iter().map(|file| ((*file).to_owned(), text.as_bytes().to_vec())).collect::<BTreeMap<_, _>>());
        let keys = |seed| -> Vec<String> {
            let found = sample(&tree, &areas(None).unwrap(), 9, seed).unwrap();
            found.into_iter().map(|mutant| mutant.key).collect()
        };
        assert_eq!(keys(1), keys(1));
        assert_ne!(keys(1), keys(2));
        assert_eq!(keys(1).len(), 9);
        assert!(keys(1).iter().all(|key| !key.contains("_tests")));
    }
}
