//! Checks the dependencies between our crates against the complete list of allowed ones. A new dependency is a
//! decision that is made here. Between the modules of one crate it checks that cycles stay small, and that only the
//! modules that drive a session know the session.

use crate::modules::ModuleGraph;
use crate::source;
use crate::steps::cargo_program;
use crate::{plurals, tool_names};
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
    (
        "session-parts",
        &["wire", "sys", "http", "permission", "config", "store", "hooks", "model", "mcp", "tools", "terminal"],
    ),
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
    // The table of settings keys; the model of the evaluation.
    ("xtask", &["wire", "testkit"]),
];

/// A crate for tests only; product code must not depend on it.
const DEV_ONLY: &str = "testkit";

/// The most modules of one crate that may depend on each other.
pub(crate) const MAX_CYCLE: usize = 6;

/// The crate and the module whose users are listed.
pub(crate) const SESSION: (&str, &str) = ("engine", "session");
/// The modules that drive a session. All others get the parts that they need.
pub(crate) const SESSION_DRIVERS: &[&str] = &[
    "agent_runs",
    "apply_changes",
    "calls",
    "commands",
    "compact",
    "deferred",
    "open",
    "result",
    "serve",
    "step",
    "tool_session",
    "turn",
    "turn_state",
    "typed_skills",
];

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
    let mut wrong = Vec::new();
    for folder in source::crate_folders(root)? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        wrong.extend(wrong_modules(&name, &ModuleGraph::read(&folder)?));
    }
    if !wrong.is_empty() {
        bail!("edges between modules (the limits are in xtask/src/deps.rs):\n  {}", wrong.join("\n  "));
    }
    tool_names::check(root)?;
    plurals::check(root)
}

/// Cycles that are too large, and modules that use the session without driving it.
fn wrong_modules(name: &str, modules: &ModuleGraph) -> Vec<String> {
    let too_large = modules.cycles().into_iter().filter(|cycle| cycle.len() > MAX_CYCLE).map(|cycle| {
        format!(
            "{name}: a cycle of {} modules, at most {MAX_CYCLE} are allowed: {}. Move what they share to a module below \
             them. Edges:\n    {}",
            cycle.len(),
            cycle.join(", "),
            modules.edges_within(&cycle).join("\n    ")
        )
    });
    let mut wrong: Vec<String> = too_large.collect();
    let (crate_name, session) = SESSION;
    if name == crate_name {
        let strangers = modules.users_of(session).into_iter().filter(|user| !SESSION_DRIVERS.contains(user));
        wrong.extend(strangers.map(|user| {
            format!("{name}: {user} -> {session}, but only modules that drive a session use it. Pass {user} the part it needs")
        }));
    }
    wrong
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

    /// A crate whose modules each use the next, and the last uses the first.
    fn ring(modules: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("src/m0")).unwrap();
        for at in 0..modules {
            let text = format!("use crate::m{}::Thing;\n", (at + 1) % modules);
            std::fs::write(folder.path().join(format!("src/m{at}.rs")), text).unwrap();
        }
        // Neither a comment nor a test is an edge; a file below a module is part of it.
        let tests = "// crate::m2\n#[cfg(test)]\nmod tests {\n    use crate::m3::Thing;\n}\n";
        std::fs::write(folder.path().join("src/outside.rs"), format!("use crate::m0::Thing;\n{tests}")).unwrap();
        std::fs::write(folder.path().join("src/m0/part.rs"), "fn x() { crate::m0::y() }\n").unwrap();
        std::fs::write(folder.path().join("src/m1_tests.rs"), "use crate::outside::Thing;\n").unwrap();
        folder
    }

    #[test]
    fn a_cycle_of_seven_modules_is_refused() {
        let folder = ring(7);
        let wrong = wrong_modules("made_up", &ModuleGraph::read(folder.path()).unwrap());
        let [problem] = &wrong[..] else { panic!("{wrong:?}") };
        assert!(problem.contains("made_up: a cycle of 7 modules"), "{problem}");
        assert!(problem.contains("m0, m1, m2, m3, m4, m5, m6."), "{problem}");
        assert!(problem.contains("\n    m6 -> m0") && !problem.contains("outside"), "{problem}");
    }

    #[test]
    fn a_cycle_of_six_modules_passes() {
        let graph = ModuleGraph::read(ring(6).path()).unwrap();
        assert_eq!(graph.largest_cycle().len(), 6);
        assert_eq!(wrong_modules("made_up", &graph), Vec::<String>::new());
    }

    #[test]
    fn only_drivers_use_the_session() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("src/view")).unwrap();
        for (file, text) in [
            ("session.rs", "pub struct Session;"),
            ("turn.rs", "use crate::session::Session;"),
            ("view/rows.rs", "use crate::{session::Session, turn};"),
        ] {
            std::fs::write(folder.path().join("src").join(file), text).unwrap();
        }
        let graph = ModuleGraph::read(folder.path()).unwrap();
        let wrong = wrong_modules("engine", &graph);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].starts_with("engine: view -> session"), "{wrong:?}");
        assert_eq!(wrong_modules("other", &graph), Vec::<String>::new());
    }
}
