//! An environment to run the binary in: temporary home, configuration and project, cleared environment variables, and
//! time limits on every wait.

#![expect(clippy::disallowed_methods, reason = "tests start the binary from outside, as a user does")]

use crate::server::ModelServer;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Temporary directories, and the environment variables of every run in them.
pub struct Sandbox {
    root: PathBuf,
    exe: PathBuf,
    env: Vec<(OsString, OsString)>,
    _temp: tempfile::TempDir,
}

impl Sandbox {
    /// `exe` is `env!("CARGO_BIN_EXE_gimlet")` of the calling test.
    pub fn new(exe: impl Into<PathBuf>) -> Self {
        // The test command names its run, to find what is left of it.
        let run = std::env::var("GIMLET_TEST_RUN").unwrap_or_else(|_| "tmp".to_owned());
        let temp = tempfile::Builder::new().prefix(&format!(".{run}")).tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("home/.claude")).unwrap();
        std::fs::create_dir_all(root.join("project")).unwrap();
        std::fs::create_dir_all(root.join("tmp")).unwrap();
        let mut sandbox = Self { root, exe: exe.into(), env: Vec::new(), _temp: temp };
        sandbox.set("HOME", sandbox.home());
        sandbox.set("CLAUDE_CONFIG_DIR", sandbox.config_dir());
        // Otherwise folders for its projects would be left in the shared temporary folder.
        sandbox.set("CLAUDE_CODE_TMPDIR", sandbox.root.join("tmp"));
        sandbox.set("ANTHROPIC_API_KEY", "test-key");
        sandbox.set("TERM", "xterm-256color");
        sandbox.set("TZ", "UTC");
        // `cargo xtask mutate` switches a change of the program on, and asks which changes a test reaches.
        for name in ["PATH", "GIMLET_MUTANT", "GIMLET_MUTANTS_REACHED"] {
            if let Some(value) = std::env::var_os(name) {
                sandbox.set(name, value);
            }
        }
        sandbox
    }

    /// A sandbox whose runs use `server` as the API.
    pub fn with_server(exe: impl Into<PathBuf>, server: &ModelServer) -> Self {
        let mut sandbox = Self::new(exe);
        sandbox.set("ANTHROPIC_BASE_URL", server.url());
        sandbox
    }

    /// Sets a variable for all later runs.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.unset(name);
        self.env.push((name.into(), value.into()));
    }

    pub fn unset(&mut self, name: &str) {
        self.env.retain(|(n, _)| n != name);
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn config_dir(&self) -> PathBuf {
        self.root.join("home/.claude")
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Writes a file in the project; creates its directories.
    pub fn write(&self, relative: &str, text: impl AsRef<[u8]>) -> PathBuf {
        write_under(&self.project(), relative, text.as_ref())
    }

    /// Writes a file in the configuration directory; creates its directories.
    pub fn write_config(&self, relative: &str, text: impl AsRef<[u8]>) -> PathBuf {
        write_under(&self.config_dir(), relative, text.as_ref())
    }

    pub fn read(&self, relative: &str) -> String {
        std::fs::read_to_string(self.project().join(relative)).unwrap()
    }

    /// A run of the binary in the project directory, with empty stdin.
    pub fn gimlet<S: AsRef<OsStr>>(&self, args: &[S]) -> GimletRun {
        GimletRun {
            exe: self.exe.clone(),
            args: args.iter().map(|a| a.as_ref().to_owned()).collect(),
            env: self.env.clone(),
            cwd: self.project(),
            stdin: GimletInput::Closed,
            reader_waits: false,
            timeout: WAIT_TIMEOUT,
        }
    }

    /// All transcripts of all projects, sorted by path; without those of subagents.
    pub fn transcript_paths(&self) -> Vec<PathBuf> {
        let projects = std::fs::read_dir(self.config_dir().join("projects")).into_iter().flatten();
        let mut found: Vec<PathBuf> = projects
            .filter_map(|p| std::fs::read_dir(p.unwrap().path()).ok())
            .flat_map(|files| files.map(|f| f.unwrap().path()))
            .filter(|p| p.extension() == Some(OsStr::new("jsonl")))
            .collect();
        found.sort();
        found
    }

    /// The lines of the only transcript; panics when there is not exactly one.
    pub fn transcript(&self) -> Vec<Value> {
        let paths = self.transcript_paths();
        assert_eq!(paths.len(), 1, "expected one transcript, found {paths:?}");
        read_jsonl(&paths[0])
    }

    /// The lines of the transcript of session `id`.
    pub fn transcript_of(&self, id: &str) -> Vec<Value> {
        let paths = self.transcript_paths();
        let path = paths.iter().find(|p| p.file_stem() == Some(OsStr::new(id)));
        read_jsonl(path.unwrap_or_else(|| panic!("no transcript of {id} among {paths:?}")))
    }
}

fn write_under(dir: &Path, relative: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(relative);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

fn read_jsonl(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{} lacks its final newline", path.display());
    // A writer that opens the file while another one writes may add an empty line, which readers skip.
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    stream_lines(&lines.join("\n"))
}

/// Every line of `text` as JSON; panics on a line that is not JSON.
pub fn stream_lines(text: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line:.300}"));
    text.lines().map(parse).collect()
}

enum GimletInput {
    Closed,
    Bytes(Vec<u8>),
    Open,
}

/// A run that is being prepared.
pub struct GimletRun {
    exe: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    stdin: GimletInput,
    reader_waits: bool,
    timeout: Duration,
}

impl GimletRun {
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self = self.env_remove(name);
        self.env.push((name.into(), value.into()));
        self
    }

    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Self {
        self.env.retain(|(n, _)| n != name);
        self
    }

    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.env.clear();
        self
    }

    #[must_use]
    pub fn cwd(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cwd = dir.into();
        self
    }

    /// Starts another program with the same arguments (a link to the binary).
    #[must_use]
    pub fn exe(mut self, exe: impl Into<PathBuf>) -> Self {
        self.exe = exe.into();
        self
    }

    /// Sends these bytes to stdin, then end of file.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = GimletInput::Bytes(bytes.into());
        self
    }

    /// Stdout is not read before `RunningGimlet::start_reading`.
    #[must_use]
    pub fn reader_waits(mut self) -> Self {
        self.reader_waits = true;
        self
    }

    /// Stdin is a pipe that stays open and silent until the run ends.
    #[must_use]
    pub fn stdin_open(mut self) -> Self {
        self.stdin = GimletInput::Open;
        self
    }

    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// The prepared command, for tests that connect the streams themselves.
    pub fn command(&self) -> Command {
        let mut command = if are_signals_ignored() {
            // In the background of a script SIGINT is ignored, under nohup SIGHUP; the child would inherit that, and no
            // interrupt could be tested.
            let mut env = Command::new("/usr/bin/env");
            env.arg("--default-signal=INT,HUP").arg(&self.exe);
            env
        } else {
            Command::new(&self.exe)
        };
        command.args(&self.args).env_clear().envs(self.env.iter().cloned()).current_dir(&self.cwd);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(match self.stdin {
            GimletInput::Closed => Stdio::null(),
            GimletInput::Bytes(_) | GimletInput::Open => Stdio::piped(),
        });
        command
    }

    /// Runs to the end; panics when the time limit is exceeded.
    pub fn run(self) -> FinishedRun {
        let timeout = self.timeout;
        self.spawn().finish_within(timeout)
    }

    /// Starts the run with its streams connected.
    pub fn spawn(self) -> RunningGimlet {
        let mut child = self.command().spawn().unwrap_or_else(|e| panic!("{}: {e}", self.exe.display()));
        let mut stdin = child.stdin.take();
        if let GimletInput::Bytes(bytes) = self.stdin {
            let mut pipe = stdin.take().unwrap();
            // A separate thread, because the child may write before it has read everything, or exit early.
            std::thread::spawn(move || pipe.write_all(&bytes).ok());
        }
        let (begin, may_begin) = mpsc::channel();
        let stdout = lines_of(child.stdout.take().unwrap(), may_begin);
        if !self.reader_waits {
            begin.send(()).ok();
        }
        let mut stderr_pipe = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut text = Vec::new();
            stderr_pipe.read_to_end(&mut text).ok();
            String::from_utf8_lossy(&text).into_owned()
        });
        RunningGimlet { child, stdin, stdout, begin, seen: String::new(), stderr: Some(stderr) }
    }
}

/// Whether this process was started with SIGINT or SIGHUP ignored (Linux; `false` elsewhere).
fn are_signals_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    // Bit n - 1 stands for signal n: 1 is SIGHUP, 2 is SIGINT.
    mask & 0b11 != 0
}

/// Reads stdout line by line; each line keeps its newline if it had one.
fn lines_of(stdout: impl Read + Send + 'static, may_begin: mpsc::Receiver<()>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        may_begin.recv().ok();
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&line).into_owned();
            line.clear();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A running process. Dropping it kills the process.
pub struct RunningGimlet {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: mpsc::Receiver<String>,
    /// Makes the reader of stdout start.
    begin: mpsc::Sender<()>,
    seen: String,
    stderr: Option<std::thread::JoinHandle<String>>,
}

impl RunningGimlet {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// After `reader_waits`: starts reading stdout.
    pub fn start_reading(&self) {
        self.begin.send(()).ok();
    }

    /// Writes one line to stdin.
    pub fn send(&mut self, line: &str) {
        let pipe = self.stdin.as_mut().expect("stdin is open");
        pipe.write_all(format!("{line}\n").as_bytes()).unwrap();
        pipe.flush().unwrap();
    }

    pub fn send_json(&mut self, value: &Value) {
        self.send(&value.to_string());
    }

    /// Sends a stream-json user message.
    pub fn send_user(&mut self, text: &str) {
        self.send_json(&serde_json::json!({"type": "user", "message": {"role": "user", "content": text},
                                           "parent_tool_use_id": null, "session_id": ""}));
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// The next line of stdout without its newline; `None` at the end. Panics after 30 s.
    pub fn next_line(&mut self) -> Option<String> {
        match self.stdout.recv_timeout(WAIT_TIMEOUT) {
            Ok(line) => {
                self.seen.push_str(&line);
                Some(line.trim_end_matches('\n').to_owned())
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("no line within {WAIT_TIMEOUT:?}; so far: {}", self.seen),
        }
    }

    /// Reads lines until one is JSON with this `type`; returns it. Panics at the end of output.
    pub fn wait_for(&mut self, kind: &str) -> Value {
        loop {
            let line = self.next_line().unwrap_or_else(|| panic!("no {kind} line; output: {}", self.seen));
            let value: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
            if value["type"] == kind {
                return value;
            }
        }
    }

    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Reads the remaining output and waits for the exit (at most 30 s).
    pub fn finish(self) -> FinishedRun {
        self.finish_within(WAIT_TIMEOUT)
    }

    pub fn finish_within(mut self, limit: Duration) -> FinishedRun {
        let deadline = std::time::Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            match self.stdout.recv_timeout(left) {
                Ok(line) => self.seen.push_str(&line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    self.child.kill().ok();
                    let stderr = self.take_stderr();
                    panic!("still running after {limit:?}; stdout: {}; stderr: {stderr}", self.seen);
                }
            }
        }
        // Stdin is closed only after the process has exited: the process must not wait for it.
        let status = self.child.wait().unwrap();
        self.stdin = None;
        FinishedRun { stdout: std::mem::take(&mut self.seen), stderr: self.take_stderr(), status }
    }

    fn take_stderr(&mut self) -> String {
        self.stderr.take().and_then(|t| t.join().ok()).unwrap_or_default()
    }
}

impl Drop for RunningGimlet {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct FinishedRun {
    pub stdout: String,
    pub stderr: String,
    pub status: ExitStatus,
}

impl FinishedRun {
    /// Exit code; 128 + n after signal n, as in shells.
    pub fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// stdout as JSON lines.
    pub fn lines(&self) -> Vec<Value> {
        stream_lines(&self.stdout)
    }

    /// stdout as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The last `result` line.
    pub fn result(&self) -> Value {
        let found = self.lines().into_iter().rev().find(|l| l["type"] == "result");
        found.unwrap_or_else(|| panic!("no result line: {self:?}"))
    }

    /// Panics unless the exit code is `code`; returns self for more checks.
    #[expect(clippy::return_self_not_must_use, reason = "a check by itself")]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Panics unless the run succeeded with an empty stderr.
    #[expect(clippy::return_self_not_must_use, reason = "a check by itself")]
    pub fn expect_clean(self) -> Self {
        assert_eq!((self.code(), self.stderr.as_str()), (0, ""), "stdout: {}", self.stdout);
        self
    }
}
