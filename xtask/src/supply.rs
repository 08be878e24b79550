//! Checks the dependencies: licences, sources, banned packages, packages locked in several versions, and the number
//! of packages. Uses `cargo metadata`, `cargo tree` and the lock file. Needs no network once everything was
//! downloaded.

mod licence;

use crate::steps::cargo_program;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Most packages that may be locked, ours included. Raised only for a feature that was planned with its packages.
const MOST_LOCKED: usize = 400;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Packages that must not be in our builds on any platform, with the reason. A name that ends in `*` bans all names
/// with that prefix.
const BANNED: &[(&str, &str)] = &[
    ("git2", "git is spawned"),
    ("gix", "git is spawned"),
    ("html2md", "its licence is GPL"),
    ("jsonschema", "`wire::json_schema` does it with 22 packages less"),
    ("native-tls", "TLS is rustls with aws-lc-rs"),
    ("openssl", "TLS is rustls with aws-lc-rs"),
    ("openssl-sys", "TLS is rustls with aws-lc-rs"),
    ("icu_*", "`idna_adapter` is pinned to a version without them"),
    ("ring", "two cryptographic providers in one program panic"),
    ("serde_yaml", "it is not kept up; YAML is read by `saphyr-parser`"),
    ("serde_yml", "it is unsound; YAML is read by `saphyr-parser`"),
    ("tokio-native-tls", "TLS is rustls with aws-lc-rs"),
];

/// Packages locked in several versions because other packages require different ones.
const SEVERAL_VERSIONS: &[&str] = &[
    "base64",
    "block-buffer",
    "core-foundation",
    "cpufeatures",
    "crypto-common",
    "darling",
    "darling_core",
    "darling_macro",
    "digest",
    "getrandom",
    "hashbrown",
    "miniz_oxide",
    "sha2",
    "similar",
    "syn",
    "weezl",
    "windows-sys",
];

pub(crate) fn check(root: &Path) -> Result<()> {
    let locked = locked(&std::fs::read_to_string(root.join("Cargo.lock")).context("could not read Cargo.lock")?);
    let mut wrong = wrong_locked(&locked);
    wrong.extend(wrong_packages(&metadata(root)?));
    wrong.extend(banned(&built(root)?));
    println!("   {} packages are locked, at most {MOST_LOCKED} may be", locked.len());
    println!("   {}", advisories(root));
    if !wrong.is_empty() {
        bail!("dependencies outside the rules (xtask/src/supply.rs):\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// A package of the lock file; `source` is `None` for our packages.
#[derive(Debug, PartialEq, Eq)]
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
}

/// Parses the lock file, which cargo writes as one `key = "value"` per line below each `[[package]]`.
fn locked(text: &str) -> Vec<Locked> {
    let field = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
        line.map(|value| value.trim().trim_matches('"').to_owned())
    };
    let package = |package: &str| {
        Some(Locked {
            name: field(package, "name")?,
            version: field(package, "version")?,
            source: field(package, "source"),
        })
    };
    text.split("[[package]]").skip(1).filter_map(package).collect()
}

fn wrong_locked(locked: &[Locked]) -> Vec<String> {
    let mut wrong = Vec::new();
    if locked.len() > MOST_LOCKED {
        wrong
            .push(format!("{} packages are locked, {MOST_LOCKED} may be: look for a smaller dependency", locked.len()));
    }
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in locked {
        versions.entry(&package.name).or_default().insert(&package.version);
        if let Some(source) = package.source.as_deref().filter(|source| *source != REGISTRY) {
            wrong.push(format!("{} {} comes from {source}; only crates.io is allowed", package.name, package.version));
        }
    }
    for (name, versions) in versions {
        let list = || versions.iter().copied().collect::<Vec<_>>().join(", ");
        match (versions.len() > 1, SEVERAL_VERSIONS.contains(&name)) {
            (true, false) => wrong.push(format!("{name} is locked in several versions: {}", list())),
            (false, true) => wrong.push(format!("{name} is locked once now: strike it from SEVERAL_VERSIONS")),
            _ => {}
        }
    }
    wrong
}

/// Problems with the licences of all locked packages.
fn wrong_packages(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let wrong = |package: &Value| {
        let (name, version, licence) = (text(package, "name"), text(package, "version"), text(package, "license"));
        let why = licence::refusal(&name, &licence)?;
        Some(format!("{name} {version}: {why}"))
    };
    packages.iter().filter_map(wrong).collect()
}

/// Banned names among the built packages.
fn banned(built: &BTreeSet<String>) -> Vec<String> {
    let is_meant = |ban: &str, name: &str| ban.strip_suffix('*').map_or(ban == name, |start| name.starts_with(start));
    let refusal = |name: &String| {
        let (_, why) = BANNED.iter().find(|(ban, _)| is_meant(ban, name))?;
        Some(format!("{name} is banned: {why}"))
    };
    built.iter().filter_map(refusal).collect()
}

/// Runs cargo without the network; when that fails, with it, because something may not be downloaded yet.
fn cargo(root: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let run =
        |more: &[&str]| Command::new(cargo_program()).args(args).arg("--locked").args(more).current_dir(root).output();
    let mut output = run(&["--offline"]).context("could not start cargo")?;
    if !output.status.success() {
        output = run(&[]).context("could not start cargo")?;
    }
    if !output.status.success() {
        bail!("cargo {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(output.stdout)
}

fn metadata(root: &Path) -> Result<Value> {
    let output = cargo(root, &["metadata", "--format-version", "1"])?;
    serde_json::from_slice(&output).context("cargo metadata printed something else than JSON")
}

/// Names of the packages that a build of the workspace compiles on any platform. The lock file lists more: packages
/// that only an unused feature needs.
fn built(root: &Path) -> Result<BTreeSet<String>> {
    let edges = "normal,build,dev";
    let args = ["tree", "--workspace", "--target", "all", "--edges", edges, "--prefix", "none", "--format", "{p}"];
    let text = String::from_utf8(cargo(root, &args)?).context("cargo tree printed something else than text")?;
    Ok(text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect())
}

/// Known vulnerabilities, when `cargo audit` and its database are installed. Reported, never a failure.
fn advisories(root: &Path) -> String {
    let mut command = Command::new(cargo_program());
    command.args(["audit", "--no-fetch", "--quiet"]).current_dir(root);
    match command.output() {
        Ok(output) if output.status.success() => "advisories: none".to_owned(),
        Ok(output) if !output.stdout.is_empty() => {
            format!("advisories:\n{}", String::from_utf8_lossy(&output.stdout).trim_end())
        }
        _ => "advisories: not checked (cargo-audit or its database is missing)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, version: &str, source: Option<&str>) -> Locked {
        Locked { name: name.into(), version: version.into(), source: source.map(str::to_owned) }
    }

    #[test]
    fn the_lock_file_is_read() {
        let text = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n\
                    dependencies = [\n \"b\",\n]\n\n[[package]]\nname = \"b\"\nversion = \"0.1.0\"\n";
        assert_eq!(locked(text), [package("a", "1.0.0", Some("registry+x")), package("b", "0.1.0", None)]);
    }

    #[test]
    fn sources_versions_and_the_ceiling_are_kept() {
        let mut good: Vec<Locked> = SEVERAL_VERSIONS
            .iter()
            .flat_map(|name| [package(name, "1.0.0", Some(REGISTRY)), package(name, "2.0.0", Some(REGISTRY))])
            .collect();
        good.push(package("ours", "0.1.0", None));
        assert_eq!(wrong_locked(&good), Vec::<String>::new());
        let count = good.len();
        good.push(package("ours", "0.2.0", Some("git+https://example.com")));
        good.remove(0);
        let wrong = wrong_locked(&good);
        assert!(wrong[0].contains("git+https://example.com"), "{wrong:?}");
        assert!(wrong.iter().any(|line| line.contains("base64 is locked once now")), "{wrong:?}");
        assert!(wrong.iter().any(|line| line == "ours is locked in several versions: 0.1.0, 0.2.0"), "{wrong:?}");
        good.extend((0..=MOST_LOCKED - count).map(|at| package(&format!("p{at}"), "1.0.0", None)));
        assert!(wrong_locked(&good)[0].contains("401 packages"), "{:?}", wrong_locked(&good)[0]);
    }

    #[test]
    fn bans_and_licences_are_kept() {
        let built = ["serde", "openssl-sys", "icu_properties", "ring-like"].map(str::to_owned).into();
        let wrong = banned(&built);
        assert!(wrong.len() == 2 && wrong[0].starts_with("icu_properties") && wrong[1].starts_with("openssl-sys"));
        let metadata = json!({"packages": [
            {"name": "a", "version": "1.0.0", "license": "MIT"}, {"name": "b", "version": "2.0.0", "license": "GPL-3.0"},
            {"name": "c", "version": "3.0.0", "license": null}
        ]});
        assert_eq!(wrong_packages(&metadata).len(), 2);
    }
}
