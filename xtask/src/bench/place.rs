//! The environment of measured processes: a temporary home and project, a cleared environment, the measured binary.
//! The user's configuration cannot influence a figure.

use super::usage::{self, Usage};
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(super) struct Place {
    pub(super) gimlet: PathBuf,
    root: tempfile::TempDir,
    env: Vec<(OsString, OsString)>,
}

impl Place {
    /// Works with a copy of the binary, as an installation has it: how much of a file the kernel maps at once depends on how
    /// it was written, and linkers write in pieces of many sizes.
    pub(super) fn new(binary: &Path, url: &str) -> Result<Self> {
        let root = tempfile::tempdir().context("no temporary directory")?;
        let gimlet = root.path().join("gimlet");
        std::fs::copy(binary, &gimlet).with_context(|| binary.display().to_string())?;
        let mut place = Self { gimlet, root, env: Vec::new() };
        std::fs::create_dir_all(place.config())?;
        std::fs::create_dir_all(place.project())?;
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        place.env = vec![
            ("HOME".into(), place.root().join("home").into()),
            ("CLAUDE_CONFIG_DIR".into(), place.config().into()),
            ("ANTHROPIC_API_KEY".into(), "bench-key".into()),
            ("ANTHROPIC_BASE_URL".into(), url.into()),
            ("PATH".into(), path),
        ];
        Ok(place)
    }

    /// The path without symlinks, as the product names it.
    fn root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap_or_else(|_| self.root.path().to_path_buf())
    }

    pub(super) fn config(&self) -> PathBuf {
        self.root().join("home/.claude")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// The folder with the sessions of the project.
    pub(super) fn sessions(&self) -> PathBuf {
        let name = self.project().to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        self.config().join("projects").join(name)
    }

    pub(super) fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(self.env.iter().cloned()).current_dir(self.project());
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(super) fn spawn(&self, args: &[&str]) -> Result<Child> {
        let mut command = self.command(&self.gimlet, args);
        command.stdout(Stdio::null()).spawn().with_context(|| format!("{} does not start", self.gimlet.display()))
    }

    /// Starts gimlet with piped stdin and stdout.
    pub(super) fn spawn_piped(&self, args: &[&str]) -> Result<Child> {
        let mut command = self.command(&self.gimlet, args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().with_context(|| format!("{} does not start", self.gimlet.display()))
    }

    pub(super) fn spawn_bare(&self) -> Result<Child> {
        self.command(Path::new("true"), &[]).stdout(Stdio::null()).spawn().context("true does not start")
    }

    /// Runs gimlet once; returns its start time and duration.
    pub(super) fn run(&self, args: &[&str]) -> Result<(Instant, Duration)> {
        let began = Instant::now();
        let status = self.spawn(args)?.wait()?;
        ensure!(status.success(), "gimlet {args:?} failed: {status}");
        Ok((began, began.elapsed()))
    }

    /// Runs another program once and discards its output through a pipe, as gimlet's tools would read it.
    pub(super) fn peer(&self, program: &str, args: &[&str]) -> Result<Duration> {
        let began = Instant::now();
        let output = self.command(Path::new(program), args).output().with_context(|| program.to_owned())?;
        ensure!(output.status.success(), "{program} {args:?} failed: {}", output.status);
        Ok(began.elapsed())
    }

    /// Runs gimlet once and measures peak memory and processor time.
    pub(super) fn usage(&self, args: &[&str]) -> Result<Usage> {
        self.usage_of(&self.gimlet, args)
    }

    pub(super) fn usage_of(&self, program: &Path, args: &[&str]) -> Result<Usage> {
        usage::measure(self.command(&usage::observer()?, &[]), program, args)
    }
}
