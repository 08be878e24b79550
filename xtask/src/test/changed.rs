//! `--changed`: the crates with uncommitted changes, and those that depend on them.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The crates that a run covers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packages {
    All,
    Some(BTreeSet<String>),
}

impl Packages {
    /// The packages to pass to cargo; an empty list means all. `None` means there is nothing to build.
    pub(super) fn to_build(&self) -> Option<Vec<String>> {
        match self {
            Self::All => Some(Vec::new()),
            Self::Some(names) if names.is_empty() => None,
            Self::Some(names) => Some(names.iter().cloned().collect()),
        }
    }
}

pub(super) fn packages(root: &Path) -> Result<Packages> {
    let mut files = git(root, &["diff", "--name-only", "HEAD"])?;
    files.extend(git(root, &["ls-files", "--others", "--exclude-standard"])?);
    Ok(touched(&files, &crate::deps::metadata(root)?))
}

fn git(root: &Path, args: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("git").args(args).current_dir(root).output().context("could not start git")?;
    if !output.status.success() {
        bail!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

fn touched(files: &[String], metadata: &Value) -> Packages {
    let mut direct = BTreeSet::new();
    let mut own_tests = BTreeSet::new();
    for file in files {
        let mut parts = file.split('/');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("crates"), Some(name), Some("tests")) => drop(own_tests.insert(package_of_folder(name))),
            (Some("crates"), Some(name), _) => drop(direct.insert(package_of_folder(name))),
            (Some("xtask"), ..) => drop(direct.insert("xtask".to_owned())),
            (Some("docs"), ..) => drop(own_tests.insert("gimlet-cli".to_owned())),
            (Some("Cargo.toml" | "Cargo.lock" | "clippy.toml" | ".cargo"), ..) => return Packages::All,
            _ => {}
        }
    }
    while let Some(next) = dependents(&direct, metadata) {
        direct.insert(next);
    }
    direct.extend(own_tests);
    Packages::Some(direct)
}

/// Packages are written with hyphens, their folders with underscores.
fn package_of_folder(folder: &str) -> String {
    format!("gimlet-{}", folder.replace('_', "-"))
}

/// A package that depends on one of `names` and is not among them yet.
fn dependents(names: &BTreeSet<String>, metadata: &Value) -> Option<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let depends = |package: &&Value| {
        let on = package["dependencies"].as_array().into_iter().flatten();
        on.filter_map(|d| d["name"].as_str()).any(|name| names.contains(name))
    };
    let found = packages.filter(depends).filter_map(|package| package["name"].as_str());
    found.map(str::to_owned).find(|name| !names.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(files: &[&str]) -> Option<Vec<String>> {
        let metadata = json!({"packages": [
            {"name": "gimlet-wire", "dependencies": []},
            {"name": "gimlet-tools", "dependencies": [{"name": "gimlet-wire"}]},
            {"name": "gimlet-cli", "dependencies": [{"name": "gimlet-tools"}, {"name": "serde"}]},
            {"name": "gimlet-http", "dependencies": []},
        ]});
        touched(&files.iter().map(|f| (*f).to_owned()).collect::<Vec<_>>(), &metadata).to_build()
    }

    #[test]
    fn a_change_reaches_its_dependents_and_a_test_only_its_own_crate() {
        let all = |names: &[&str]| Some(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&["crates/wire/src/lib.rs"]), all(&["gimlet-cli", "gimlet-tools", "gimlet-wire"]));
        assert_eq!(names(&["crates/tools/tests/a.rs"]), all(&["gimlet-tools"]));
        assert_eq!(names(&["crates/session_parts/tests/a.rs"]), all(&["gimlet-session-parts"]));
        assert_eq!(names(&["docs/guide.md"]), all(&["gimlet-cli"]));
        assert_eq!(names(&["README"]), None);
        assert_eq!(names(&["Cargo.lock"]), Some(Vec::new()));
    }
}
