//! Compiles all tests and lints them in the same pass: clippy's driver compiles our crates. A warning fails the
//! stage. Dependencies are compiled once, by the plain compiler, and shared with an ordinary `cargo test`.

use crate::settings;
use crate::steps::cargo_program;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One test executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestBinary {
    /// The crate without the product's prefix, and the target: `cli conversation`, `wire lib`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The folder of the package; tests run in it, as with `cargo test`.
    pub(crate) folder: PathBuf,
}

/// The output of one compilation.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) tests: Vec<TestBinary>,
    /// The product binary, built in the same pass; `None` when it was not built.
    pub(crate) product: Option<PathBuf>,
    /// Compiler messages that report where settings keys are read.
    pub(crate) settings_readers: Vec<Value>,
    warnings: usize,
}

/// Builds the tests of `packages`, or of the whole workspace when the list is empty.
pub(crate) fn build(root: &Path, packages: &[String]) -> Result<Built> {
    build_profile(root, packages, false)
}

/// As [`build`]; with `release`, in the release profile.
pub(crate) fn build_profile(root: &Path, packages: &[String], release: bool) -> Result<Built> {
    let mut command = Command::new(cargo_program());
    command.args(["test", "--no-run", "--message-format=json"]);
    if release {
        command.arg("--release");
    }
    if packages.is_empty() {
        command.args(["--workspace", "--features", settings::FEATURE]);
    }
    for package in packages {
        command.args(["-p", package]);
    }
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").current_dir(root).stdout(Stdio::piped());
    let mut child = command.spawn().context("could not start cargo test --no-run")?;
    let mut built = Built::default();
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
        let line = line.context("could not read the messages of cargo")?;
        built.note(&serde_json::from_str(&line).unwrap_or_default());
    }
    if !child.wait()?.success() {
        bail!("the tests do not compile");
    }
    if built.warnings > 0 {
        bail!("{} warnings: every warning of the compiler and of clippy counts", built.warnings);
    }
    Ok(built)
}

impl Built {
    /// Handles one message of cargo: prints diagnostics, records executables.
    pub(crate) fn note(&mut self, message: &Value) {
        match message["reason"].as_str() {
            Some("compiler-message") => self.diagnostic(&message["message"]),
            Some("compiler-artifact") => self.artifact(message),
            _ => {}
        }
    }

    fn diagnostic(&mut self, message: &Value) {
        if settings::is_reader(message) {
            self.settings_readers.push(message.clone());
            return;
        }
        eprint!("{}", message["rendered"].as_str().unwrap_or_default());
        // The closing "3 warnings emitted" has no source location and is not counted.
        let is_about_source = message["spans"].as_array().is_some_and(|spans| !spans.is_empty());
        self.warnings += usize::from(message["level"] == "warning" && is_about_source);
    }

    fn artifact(&mut self, message: &Value) {
        let Some(path) = message["executable"].as_str().map(PathBuf::from) else { return };
        let target = message["target"]["name"].as_str().unwrap_or_default();
        if message["profile"]["test"] == true {
            let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
            let folder = manifest.parent().unwrap_or(manifest).to_path_buf();
            let package = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_lib = message["target"]["kind"][0] == "lib";
            let name = format!("{package} {}", if is_lib { "lib" } else { target });
            self.tests.push(TestBinary { name, path, folder });
        } else if target == "gimlet" {
            self.product = Some(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn executables_and_warnings_are_read_from_the_messages() {
        let mut built = Built::default();
        let artifact = |kind: &str, name: &str, test: bool| {
            json!({"reason": "compiler-artifact", "manifest_path": "/w/crates/cli/Cargo.toml",
            "target": {"kind": [kind], "name": name}, "profile": {"test": test}, "executable": format!("/t/{name}")})
        };
        built.note(&artifact("test", "hosts", true));
        built.note(&artifact("lib", "engine", true));
        built.note(&artifact("bin", "gimlet", false));
        built.note(
            &json!({"reason": "compiler-message", "message": {"level": "warning", "rendered": "", "spans": [{}]}}),
        );
        built
            .note(&json!({"reason": "compiler-message", "message": {"level": "warning", "rendered": "", "spans": []}}));
        let names: Vec<&str> = built.tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["cli hosts", "cli lib"]);
        assert_eq!(built.product.as_deref(), Some(Path::new("/t/gimlet")));
        assert_eq!(built.warnings, 1);
    }
}
