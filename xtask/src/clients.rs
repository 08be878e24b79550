//! Third-party programs that prove compatibility: installed under `tests/clients`, run offline against the built
//! binary.
//!
//! No proprietary program is ever installed: the Python SDK is built from its source distribution, npm's optional
//! packages are left out, and the installed trees are searched for such programs before anything runs.

use crate::steps::{self, Stages, cargo_program};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const REAL_MODEL: &str = "test_real_model.py";
const CCUSAGE: &str = "node_modules/@ccusage/ccusage-linux-x64/bin/ccusage";

fn run_in(dir: &Path, program: &str, args: &[&str]) -> Result<()> {
    steps::run(Command::new(program).args(args).current_dir(dir))
}

/// Runs the real SDKs and readers, then a real model with a separate environment. `binary` is the product that the
/// Rust tests used; with `None` one is built.
pub(crate) fn run(root: &Path, binary: Option<&Path>, stages: &mut Stages) -> Result<()> {
    let dir = root.join("tests/clients");
    stages.stage("clients: install", || install(&dir))?;
    let binary = match binary {
        Some(path) => path.to_path_buf(),
        None => stages.stage("clients: binary", || build(root))?,
    };
    stages.stage("clients: suites", || pytest(&dir, &binary, &["--ignore", REAL_MODEL, "."]))?;
    stages.stage("real model: install", || model_server(&dir))?;
    stages.stage("real model: suite", || pytest(&dir, &binary, &[REAL_MODEL]))
}

fn install(dir: &Path) -> Result<()> {
    browser();
    python(dir)?;
    node(dir)?;
    refuse_proprietary(dir)
}

fn pytest(dir: &Path, binary: &Path, args: &[&str]) -> Result<()> {
    let mut command = Command::new(dir.join(".venv/bin/python"));
    command.args(["-m", "pytest"]).args(args).current_dir(dir);
    steps::run(command.env("GIMLET_BIN", binary).env("PYTHONDONTWRITEBYTECODE", "1"))
}

/// Installs Chromium of the system where it is missing and that is allowed. Its tests say so when they could not run.
fn browser() {
    let has = |name: &str| Command::new(name).arg("--version").output().is_ok_and(|done| done.status.success());
    if ["chromium", "chromium-browser", "google-chrome"].into_iter().any(has) {
        return;
    }
    let packages = ["install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"];
    if let Err(error) = steps::run(Command::new("apt-get").args(packages)) {
        println!("   NOT RUN: tests in Chromium, which could not be installed: {error:#}");
    }
}

/// Installs when the requirement lists changed since the last installation.
fn python(dir: &Path) -> Result<()> {
    let stamp = Stamp::of(dir, ".venv", &["requirements.txt", "constraints.txt"])?;
    if stamp.is_current() {
        return Ok(());
    }
    run_in(dir, python_program()?, &["-m", "venv", "--clear", ".venv"])?;
    run_in(dir, ".venv/bin/pip", &["install", "-q", "-r", "requirements.txt", "-c", "constraints.txt"])?;
    stamp.write()
}

/// Installs the model server without the packages its wheels name, because it needs none of them.
fn model_server(dir: &Path) -> Result<()> {
    let stamp = Stamp::of(dir, ".venv-model", &["requirements-model.txt"])?;
    if stamp.is_current() {
        return Ok(());
    }
    run_in(dir, python_program()?, &["-m", "venv", "--clear", ".venv-model"])?;
    run_in(dir, ".venv-model/bin/pip", &["install", "-q", "--no-deps", "-r", "requirements-model.txt"])?;
    stamp.write()
}

fn python_program() -> Result<&'static str> {
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    ["python3.11", "python3.12", "python3.13", "python3"]
        .into_iter()
        .find(works)
        .context("the client tests need Python 3.11 or later; skip them with --no-clients")
}

fn node(dir: &Path) -> Result<()> {
    let stamp = Stamp::of(dir, "node_modules", &["package.json", "package-lock.json", ".npmrc"])?;
    if stamp.is_current() {
        return Ok(());
    }
    run_in(dir, "npm", &["ci", "--loglevel=error"])?;
    // The file is published without the execute bit.
    run_in(dir, "chmod", &["+x", CCUSAGE])?;
    stamp.write()
}

/// The requirement lists of an installation, stored beside it.
struct Stamp {
    file: PathBuf,
    text: String,
}

impl Stamp {
    fn of(dir: &Path, installed: &str, lists: &[&str]) -> Result<Self> {
        let mut text = String::new();
        for list in lists {
            text.push_str(&std::fs::read_to_string(dir.join(list)).with_context(|| format!("tests/clients/{list}"))?);
        }
        Ok(Self { file: dir.join(installed).join(".installed"), text })
    }

    fn is_current(&self) -> bool {
        std::fs::read_to_string(&self.file).is_ok_and(|text| text == self.text)
    }

    fn write(&self) -> Result<()> {
        std::fs::write(&self.file, &self.text).with_context(|| self.file.display().to_string())
    }
}

fn refuse_proprietary(dir: &Path) -> Result<()> {
    let searches: [(&str, &[&str]); 2] = [
        (".venv", &["-path", "*claude_agent_sdk/_bundled/*", "!", "-name", ".gitignore"]),
        (
            "node_modules",
            &[
                "-type",
                "d",
                "(",
                "-path",
                "*@anthropic-ai/claude-agent-sdk-*",
                "-o",
                "-path",
                "*@anthropic-ai/claude-code*",
                ")",
            ],
        ),
    ];
    for (tree, what) in searches {
        let found = Command::new("find").arg(tree).args(what).current_dir(dir).output().context("find")?;
        if !found.stdout.is_empty() || !found.status.success() {
            bail!("{tree} holds a program that must not be installed:\n{}", String::from_utf8_lossy(&found.stdout));
        }
    }
    Ok(())
}

/// Builds the debug binary.
pub(crate) fn build(root: &Path) -> Result<PathBuf> {
    let mut command = Command::new(cargo_program());
    command.args(["build", "--quiet", "--package", "gimlet-cli", "--message-format", "json-render-diagnostics"]);
    let output = command.current_dir(root).output().context("cargo build")?;
    if !output.status.success() {
        bail!("cargo build failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    executable(&String::from_utf8_lossy(&output.stdout)).context("cargo build named no executable")
}

pub(crate) fn executable(messages: &str) -> Option<PathBuf> {
    let parsed = messages.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    parsed.filter_map(|m| m["executable"].as_str().map(PathBuf::from)).find(|p| p.ends_with("gimlet"))
}
