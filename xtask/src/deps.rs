//! Checks the dependencies between our crates against the complete list of allowed ones. A new dependency is a
//! decision that is made here.

use crate::steps::cargo_program;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const PREFIX: &str = "gimlet-";

/// Each crate and the crates it may depend on, without the prefix.
const ALLOWED: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("sys", &[]),
    ("http", &["sys"]),
    ("permission", &["wire"]),
    ("config", &["wire", "sys"]),
    ("store", &["wire", "sys"]),
    ("hooks", &["wire", "sys"]),
    ("model", &["wire", "sys", "http"]),
    ("mcp", &["wire", "sys", "http"]),
    ("tools", &["wire", "sys", "http", "permission"]),
    ("session-parts", &["wire", "sys", "http", "permission", "config", "store", "hooks", "model", "mcp", "tools"]),
    (
        "engine",
        &["wire", "sys", "http", "permission", "config", "store", "hooks", "model", "mcp", "tools", "session-parts"],
    ),
    ("headless", &["engine", "wire", "sys"]),
    ("acp", &["engine", "wire", "sys"]),
    ("terminal", &["wire"]),
    ("tui", &["engine", "terminal", "wire", "sys"]),
    (
        "cli",
        &[
            "wire",
            "sys",
            "http",
            "permission",
            "config",
            "store",
            "hooks",
            "model",
            "mcp",
            "tools",
            "engine",
            "headless",
            "acp",
            "terminal",
            "tui",
        ],
    ),
    ("testkit", &["wire"]),
    // The table of settings keys.
    ("xtask", &["wire"]),
];

/// A crate for tests only; product code must not depend on it.
const DEV_ONLY: &str = "testkit";

pub(crate) fn check(root: &Path) -> Result<()> {
    let metadata = metadata(root)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let wrong: Vec<String> = packages.iter().flat_map(wrong_edges).collect();
    if !wrong.is_empty() {
        bail!(
            "edges outside the architecture (docs/architecture.md; the list is in xtask/src/deps.rs):\n  {}",
            wrong.join("\n  ")
        );
    }
    Ok(())
}

pub(crate) fn metadata(root: &Path) -> Result<Value> {
    let mut command = Command::new(cargo_program());
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root);
    let output = command.output().context("could not start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata printed something else than JSON")
}

/// Each of our crates with those of our crates that it depends on outside tests.
pub(crate) fn edges_of(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let row = |package: &Value| {
        let name = package["name"].as_str().unwrap_or_default();
        let to = edges(package).filter(|(_, kind)| *kind != "dev").map(|(to, _)| to.to_owned()).collect();
        (name.strip_prefix(PREFIX).unwrap_or(name).to_owned(), to)
    };
    packages.map(row).collect()
}

fn wrong_edges(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let short = name.strip_prefix(PREFIX).unwrap_or(name);
    let Some((_, allowed)) = ALLOWED.iter().find(|(crate_name, _)| *crate_name == short) else {
        return edges(package).map(|(to, _)| format!("{name} -> {to} ({name} is not in the list)")).collect();
    };
    let is_wrong = |(to, kind): &(&str, &str)| {
        let for_tests = *kind == "dev" && (*to == DEV_ONLY || *to == "wire" || *to == "sys");
        !(for_tests || allowed.contains(to))
    };
    edges(package).filter(is_wrong).map(|(to, kind)| format!("{short} -> {to} ({kind})")).collect()
}

/// Our crates among the dependencies, each with its kind: `normal`, `dev` or `build`.
fn edges(package: &Value) -> impl Iterator<Item = (&str, &str)> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies.filter_map(|d| {
        let to = d["name"].as_str()?.strip_prefix(PREFIX)?;
        Some((to, d["kind"].as_str().unwrap_or("normal")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, dependency: &str, kind: &Value) -> Vec<String> {
        wrong_edges(
            &json!({"name": name, "dependencies": [{"name": dependency, "kind": kind}, {"name": "serde", "kind": null}]}),
        )
    }

    #[test]
    fn only_listed_edges_pass() {
        assert_eq!(package("gimlet-tools", "gimlet-permission", &Value::Null), Vec::<String>::new());
        assert_eq!(package("gimlet-tools", "gimlet-engine", &Value::Null), ["tools -> engine (normal)"]);
        assert_eq!(package("gimlet-cli", "gimlet-testkit", &json!("dev")), Vec::<String>::new());
        assert_eq!(package("gimlet-cli", "gimlet-testkit", &Value::Null), ["cli -> testkit (normal)"]);
        assert_eq!(package("xtask", "gimlet-sys", &Value::Null), ["xtask -> sys (normal)"]);
        assert_eq!(package("gimlet-novel", "gimlet-wire", &Value::Null).len(), 1);
    }
}
