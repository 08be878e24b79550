//! The test command as a list of steps.

use crate::{clients, deps, ids, settings};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clients {
    Run,
    Skip,
}

pub(crate) fn test(root: &Path, with_clients: Clients) -> Result<()> {
    let cargo = |args: &[&str]| run(Command::new(cargo_program()).args(args).current_dir(root));
    stage("format", || cargo(&["fmt", "--all", "--check"]))?;
    stage("lints", || cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    stage("crate edges", || deps::check(root))?;
    stage("checklist items", || ids::check(root))?;
    stage("settings keys", || settings::check(root))?;
    stage("programs of others", || {
        for program in PROGRAMS {
            install(root, program);
        }
        Ok(())
    })?;
    stage("rust tests", || rust_tests(root))?;
    match with_clients {
        Clients::Run => clients::run(root),
        Clients::Skip => Ok(()),
    }
}

/// Many turns in one session, in a build whose memory is that of the real one.
pub(crate) fn soak(root: &Path) -> Result<()> {
    let args = ["test", "--release", "-p", "gimlet-cli", "--test", "soak", "--", "--nocapture"];
    stage("soak", || run(Command::new(cargo_program()).args(args).current_dir(root)))
}

/// More failures than this are no matter of a busy machine.
const FEW: usize = 2;

/// All tests. They drive real processes, so a machine that stalls can fail one: up to [`FEW`] failed targets get a second
/// run, alone and in plain sight.
fn rust_tests(root: &Path) -> Result<()> {
    let mut all = Command::new(cargo_program());
    all.args(["test", "--workspace", "--quiet", "--no-fail-fast"]).current_dir(root).stderr(Stdio::piped());
    println!("   $ cargo test --workspace --quiet --no-fail-fast");
    let mut child = all.spawn().context("could not start cargo")?;
    let mut said = Vec::new();
    for line in child.stderr.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
        let line = line.context("could not read what cargo says")?;
        eprintln!("{line}");
        said.push(line);
    }
    if child.wait()?.success() {
        return Ok(());
    }
    let failed = failed_targets(&said);
    if failed.is_empty() || failed.len() > FEW {
        bail!("cargo test failed");
    }
    for target in failed {
        println!("   UNSTEADY? once more, alone: {target}");
        let words = target.split_whitespace();
        run(Command::new(cargo_program()).args(["test", "--quiet"]).args(words).current_dir(root))?;
    }
    Ok(())
}

/// What cargo lists behind "targets failed:", as `-p gimlet-cli --test asks`.
fn failed_targets(said: &[String]) -> Vec<&str> {
    let listed = said.iter().skip_while(|line| !line.ends_with(" failed:")).skip(1);
    listed.filter_map(|line| line.trim().strip_prefix('`')?.strip_suffix('`')).collect()
}

/// A program that some tests need: where it is, the Debian package that brings it, and what is not run without it.
struct Program {
    path: &'static str,
    package: &'static str,
    without: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program { path: "/usr/bin/bwrap", package: "bubblewrap", without: "the sandbox's back end bwrap" },
    Program { path: "/usr/bin/rg", package: "ripgrep", without: "what rg walks" },
];

/// The tests of a program that is missing report themselves as not run; here it is installed where that is possible.
fn install(root: &Path, program: &Program) {
    let there = Path::new(program.path).exists();
    if there || !cfg!(target_os = "linux") || !Path::new("/usr/bin/apt-get").exists() {
        return;
    }
    if run(Command::new("apt-get").args(["install", "-y", "-q", program.package]).current_dir(root)).is_err() {
        println!("   {} could not be installed: tests of {} will report NOT RUN", program.package, program.without);
    }
}

pub(crate) fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// One named part of the run; its name stands before its output and in its error.
pub(crate) fn stage<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("== {name}");
    let started = Instant::now();
    let done = work().with_context(|| format!("stage '{name}' failed"))?;
    println!("   {name}: {:.1} s", started.elapsed().as_secs_f64());
    Ok(done)
}

/// Runs a program with our streams and says what it runs.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = std::iter::once(command.get_program()).chain(command.get_args());
    let shown = shown.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    println!("   $ {shown}");
    let status = command.status().with_context(|| format!("could not start {shown}"))?;
    if !status.success() {
        bail!("failed ({status}): {shown}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn failed_targets_are_read_from_what_cargo_says() {
        let said = "error: test failed, to rerun pass `-p a --lib`\nerror: 2 targets failed:\n    `-p a --lib`\n    `-p b --test c`";
        let said: Vec<String> = said.lines().map(str::to_owned).collect();
        assert_eq!(super::failed_targets(&said), ["-p a --lib", "-p b --test c"]);
    }
}
