//! How the project is built and tested, as far as well-known files say it. They are read, never run.

use super::{ProjectFactsQuery, harmless};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Longest build file that is read, in bytes.
const MAX_FILE: usize = 256 << 10;
/// Most targets or scripts of one file.
const MAX_TARGETS: usize = 10;

/// One line for each file that says something.
pub(super) fn describe(query: &ProjectFactsQuery) -> String {
    let read = |name: &str| {
        let path = query.cwd.join(name);
        // A link could lead anywhere.
        let is_file = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
        (is_file && !query.policy.hides(&path, &sys::real_path::path(&path)))
            .then(|| sys::fs::read_text(&path, MAX_FILE).ok())
            .flatten()
    };
    let exists = |name: &str| query.cwd.join(name).symlink_metadata().is_ok();
    let mut lines = Vec::new();
    if let Some(text) = read("Cargo.toml") {
        let all = if has_table(&text, "workspace") { " --workspace" } else { "" };
        lines.push(format!("Cargo.toml: cargo build{all}, cargo test{all}"));
    }
    if let Some(text) = read("package.json") {
        lines.extend(scripts(&text, package_manager(exists)));
    }
    if let Some(text) = read("pyproject.toml") {
        lines.extend(python(&text, exists("uv.lock")));
    }
    for (name, program) in [("Makefile", "make"), ("justfile", "just")] {
        let targets = read(name).map(|text| targets(&text)).unwrap_or_default();
        if !targets.is_empty() {
            lines.push(format!("{name}: {program} {}", targets.join("|")));
        }
    }
    if exists("go.mod") {
        lines.push("go.mod: go build ./..., go test ./...".to_owned());
    }
    let mut text = String::new();
    for line in lines {
        write!(text, "\n- {line}").ok();
    }
    text
}

fn has_table(toml: &str, name: &str) -> bool {
    let opens = |line: &str| line.strip_prefix('[').is_some_and(|rest| rest.starts_with(name));
    toml.lines().any(|line| opens(line.trim()))
}

fn package_manager(exists: impl Fn(&str) -> bool) -> &'static str {
    let locks = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
    locks.into_iter().find(|(lock, _)| exists(lock)).map_or("npm", |(_, program)| program)
}

/// The scripts of a package, those that check something first.
fn scripts(json: &str, program: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct PackageFile {
        #[serde(default)]
        scripts: BTreeMap<String, serde_json::Value>,
    }
    const FIRST: [&str; 7] = ["build", "test", "lint", "check", "typecheck", "dev", "start"];
    let package: PackageFile = serde_json::from_str(json).ok()?;
    let mut names: Vec<&str> = package.scripts.keys().map(String::as_str).collect();
    sys::compact_sort::sort_by_key(&mut names, |name| {
        FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len())
    });
    let shown: Vec<String> = names.iter().take(MAX_TARGETS).map(|name| harmless(name)).collect();
    (!shown.is_empty()).then(|| format!("package.json: {program} run {}", shown.join("|")))
}

fn python(toml: &str, uses_uv: bool) -> Option<String> {
    let run = if uses_uv || has_table(toml, "tool.uv") {
        "uv run "
    } else if has_table(toml, "tool.poetry") {
        "poetry run "
    } else {
        ""
    };
    let tools = [("tool.pytest", "pytest"), ("tool.ruff", "ruff check"), ("tool.mypy", "mypy"), ("tool.tox", "tox")];
    let named = tools
        .into_iter()
        .filter(|(table, _)| has_table(toml, table) || toml.contains("pytest") && *table == "tool.pytest");
    let commands: Vec<String> = named.map(|(_, command)| format!("{run}{command}")).collect();
    (!commands.is_empty()).then(|| format!("pyproject.toml: {}", commands.join(", ")))
}

/// Targets of a Makefile or recipes of a justfile: names at the beginning of a line, before a colon.
fn targets(text: &str) -> Vec<String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(['.', '-', '_'])
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
    };
    let mut found: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphanumeric())) {
        let Some((head, rest)) = line.split_once(':') else { continue };
        // `name := value`, `name ::= value`
        if rest.trim_start_matches(':').starts_with('=') {
            continue;
        }
        let name = head.split_whitespace().next().unwrap_or_default();
        if is_name(name) && !head.contains('=') && !found.iter().any(|known| known == name) {
            found.push(harmless(name));
        }
    }
    found.truncate(MAX_TARGETS);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_names_before_a_colon() {
        let makefile = "CC := gcc\nall: build\nbuild test: x.o\n\tcc\n.PHONY: all\n%.o: %.c\nall: again\nVAR = a:b\n";
        assert_eq!(targets(makefile), ["all", "build"]);
        assert_eq!(targets("set shell := ['sh']\ntest filter='':\n  x\n_private:\nlint: test\n"), ["lint"]);
    }

    #[test]
    fn scripts_that_check_come_first() {
        let json = r#"{"scripts": {"alpha": "x", "test": "y", "build": "z"}}"#;
        assert_eq!(scripts(json, "pnpm").unwrap(), "package.json: pnpm run build|test|alpha");
        assert_eq!(scripts("{}", "npm"), None);
    }

    #[test]
    fn python_projects_name_their_tools() {
        assert_eq!(
            python("[tool.pytest.ini_options]\n[tool.ruff]\n", true).unwrap(),
            "pyproject.toml: uv run pytest, uv run ruff check"
        );
        assert_eq!(python("[project]\nname='x'\n", false), None);
    }
}
