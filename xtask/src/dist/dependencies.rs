//! The packages that are linked into the binary on this platform, from `cargo metadata` and the lock file.

use crate::steps::cargo_program;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const PRODUCT: &str = "gimlet-cli";

pub(super) struct Package {
    pub name: String,
    pub version: String,
    /// An SPDX expression; empty when the manifest names none.
    pub licence: String,
    pub authors: Vec<String>,
    pub repository: Option<String>,
    /// The folder of its sources.
    pub folder: PathBuf,
    /// SHA-256 of the published archive; `None` for our crates.
    pub checksum: Option<String>,
    /// Its dependencies as `name@version`.
    pub needs: Vec<String>,
}

impl Package {
    pub(super) fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Whether the package comes from a registry and not from this repository.
    pub(super) fn is_foreign(&self) -> bool {
        self.checksum.is_some()
    }
}

/// The product first, then all packages linked into it, by name.
pub(super) fn packages(root: &Path) -> Result<Vec<Package>> {
    let metadata = metadata(root)?;
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock")?;
    let checksums = checksums(&lock);
    let all = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let by_id: BTreeMap<&str, &Value> =
        all.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata resolves nothing")?;
    let linked: BTreeMap<&str, Vec<&str>> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, linked(node)))).collect();
    let product = all.iter().find(|package| package["name"] == PRODUCT).and_then(|package| package["id"].as_str());
    let product = product.with_context(|| format!("there is no package {PRODUCT}"))?;
    let mut seen = BTreeSet::from([product]);
    let mut open = vec![product];
    while let Some(id) = open.pop() {
        let next = linked.get(id).into_iter().flatten().copied();
        open.extend(next.filter(|id| seen.insert(id)));
    }
    let named =
        |id: &&str| by_id.get(*id).map(|package| format!("{}@{}", text(package, "name"), text(package, "version")));
    let mut packages: Vec<Package> = Vec::new();
    for id in seen {
        let needs = linked.get(id).into_iter().flatten().filter_map(named).collect();
        packages.push(package(by_id.get(id).with_context(|| id.to_owned())?, &checksums, needs)?);
    }
    packages.sort_by_key(|package| (package.name != PRODUCT, package.id()));
    Ok(packages)
}

fn metadata(root: &Path) -> Result<Value> {
    let host = Command::new("rustc").arg("-vV").output().context("rustc")?;
    let host = String::from_utf8_lossy(&host.stdout).into_owned();
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?.to_owned();
    let mut command = Command::new(cargo_program());
    command.args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", &host]);
    let output = command.current_dir(root).output().context("could not start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata printed something else than JSON")
}

/// Dependencies that are linked into the binary: not those of tests or build scripts.
fn linked(node: &Value) -> Vec<&str> {
    let is_linked = |dependency: &&Value| {
        dependency["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let all = node["deps"].as_array().into_iter().flatten();
    all.filter(is_linked).filter_map(|dependency| dependency["pkg"].as_str()).collect()
}

fn text(package: &Value, field: &str) -> String {
    package[field].as_str().unwrap_or_default().to_owned()
}

fn package(package: &Value, checksums: &BTreeMap<String, String>, needs: Vec<String>) -> Result<Package> {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent().map(Path::to_path_buf);
    let authors = package["authors"].as_array().into_iter().flatten();
    Ok(Package {
        licence: text(package, "license").replace('/', " OR "),
        authors: authors.filter_map(|author| author.as_str().map(str::to_owned)).collect(),
        repository: package["repository"].as_str().map(str::to_owned),
        folder: folder.with_context(|| format!("{name} has no manifest"))?,
        checksum: checksums.get(&format!("{name}@{version}")).cloned(),
        needs,
        name,
        version,
    })
}

/// Checksums by `name@version`, for every package in the lock file that has one.
fn checksums(lock: &str) -> BTreeMap<String, String> {
    let field = |block: &str, name: &str| {
        block
            .lines()
            .find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned()))
    };
    let blocks = lock.split("[[package]]");
    blocks
        .filter_map(|block| {
            Some((format!("{}@{}", field(block, "name")?, field(block, "version")?), field(block, "checksum")?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_tests_and_builds_are_left_out() {
        let packages = packages(&crate::root()).unwrap();
        let has = |name: &str| packages.iter().any(|package| package.name == name);
        assert_eq!(packages[0].name, PRODUCT);
        assert!(has("gimlet-engine") && has("serde_json") && has("tokio"));
        assert!(!has("proptest") && !has("vt100") && !has("cc") && !has("gimlet-testkit"));
        let serde = packages.iter().find(|package| package.name == "serde_json").unwrap();
        assert!(
            serde.is_foreign() && serde.needs.iter().any(|id| id.starts_with("itoa@")) && serde.licence.contains("MIT")
        );
        assert!(!packages[0].is_foreign());
    }

    #[test]
    fn checksums_of_the_lock_file_are_read() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"ff\"\n\n[[package]]\nname = \"b\"\nversion = \"2.0.0\"\n";
        assert_eq!(checksums(lock), BTreeMap::from([("a@1.0.0".into(), "ff".into())]));
    }
}
