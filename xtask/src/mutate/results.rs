//! Results of mutants. A mutant that a test has noticed is not run again; one that survived is run again when the
//! test executables have changed.

use super::build::MutantBuild;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The name of the test that failed.
    Killed(String),
    /// The name of the test that did not end.
    TimedOut(String),
    Survived,
    /// No test runs this code.
    Unreached,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed(test) => write!(f, "killed by {test}"),
            Self::TimedOut(test) => write!(f, "timed out in {test}"),
            Self::Survived => f.write_str("SURVIVED"),
            Self::Unreached => f.write_str("UNREACHED"),
        }
    }
}

/// The results of this and earlier runs by the key of the mutant.
pub(super) struct Results {
    path: PathBuf,
    /// Identifies the test executables.
    build: String,
    known: BTreeMap<String, KnownResult>,
}

struct KnownResult {
    noticed: bool,
    build: String,
}

impl Results {
    pub(super) fn open(path: &Path, built: &MutantBuild) -> Result<Self> {
        let mut results = Self { path: path.to_owned(), build: identity(built)?, known: BTreeMap::new() };
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            let mut fields = line.splitn(3, '\t');
            if let (Some(build), Some(outcome), Some(key)) = (fields.next(), fields.next(), fields.next()) {
                let noticed = outcome.starts_with("killed") || outcome.starts_with("timed out");
                results.known.insert(key.to_owned(), KnownResult { noticed, build: build.to_owned() });
            }
        }
        Ok(results)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.known.get(key).is_some_and(|known| known.noticed || known.build == self.build)
    }

    pub(super) fn is_noticed(&self, key: &str) -> bool {
        self.known.get(key).is_some_and(|known| known.noticed)
    }

    pub(super) fn add(&mut self, key: &str, outcome: &Outcome) -> Result<()> {
        let noticed = matches!(outcome, Outcome::Killed(_) | Outcome::TimedOut(_));
        self.known.insert(key.to_owned(), KnownResult { noticed, build: self.build.clone() });
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&self.path)?;
        writeln!(file, "{}\t{outcome}\t{key}", self.build).with_context(|| self.path.display().to_string())
    }
}

/// A digest of the paths and times of the test executables.
fn identity(built: &MutantBuild) -> Result<String> {
    use std::fmt::Write as _;
    let mut text = String::new();
    for test in &built.tests {
        let changed = std::fs::metadata(&test.path)?.modified()?.duration_since(UNIX_EPOCH)?;
        writeln!(text, "{} {}", test.path.display(), changed.as_nanos())?;
    }
    Ok(crate::dist::hex_sha256(text.as_bytes()).chars().take(12).collect())
}

/// The mutants that may live, with the reason: rows of the table between `<!-- survivors -->` and
/// `<!-- /survivors -->` in `docs/testing.md`.
pub(super) fn reasons(root: &Path) -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(root.join("docs/testing.md")).context("docs/testing.md")?;
    Ok(reasons_in(&text))
}

fn reasons_in(text: &str) -> BTreeMap<String, String> {
    let table = text.split("<!-- survivors -->").nth(1).and_then(|rest| rest.split("<!-- /survivors -->").next());
    let rows = table.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.filter_map(|row| row.split_once(" | ")).map(|(key, why)| (key.to_owned(), why.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_from_the_table_only() {
        let text = "| a | b |\n<!-- survivors -->\n| Mutant | Reason |\n|---|---|\n| x.rs f: negated `a == b` | equal |\n<!-- /survivors -->\n| c | d |\n";
        let reasons = reasons_in(text);
        assert_eq!(reasons.get("x.rs f: negated `a == b`").map(String::as_str), Some("equal"));
        assert!(!reasons.contains_key("a") && !reasons.contains_key("c"));
    }
}
