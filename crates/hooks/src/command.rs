//! Command handlers: one process each, with a separate copy of the payload on standard input. A shell string is run by
//! `sh -c`; with `args` there is no shell. The process has no terminal. The wait ends when it exits (plus a short time
//! to read its output); processes it leaves running are ended with the session.

use crate::answer::HandlerResult;
use crate::declaration::{CommandHandler, HookOrigin, HookShell};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::process::{self, ChildInput, ChildOutput, DescendantPolicy, RunOptions, SpawnSpec, TerminalAccess};
use sys::{Env, RingBuffer};

/// Bytes kept of the beginning and of the end of each stream.
const MAX_OUTPUT_BYTES: usize = 512 * 1024;
const PROJECT: &str = "CLAUDE_PROJECT_DIR";
const ROOT: &str = "CLAUDE_PLUGIN_ROOT";
const DATA: &str = "CLAUDE_PLUGIN_DATA";
const INTERPRETERS: [&str; 12] =
    ["sh", "bash", "zsh", "python", "python3", "node", "bun", "ruby", "perl", "php", "pwsh", "uv"];

/// The environment of every command handler of a session.
#[derive(Clone, Debug)]
pub struct HandlerEnvironment {
    /// The complete environment: nothing else is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// The directory the session started in.
    pub project: PathBuf,
    /// `CLAUDE_CODE_SHELL_PREFIX`
    pub prefix: Option<String>,
    pub home: Option<PathBuf>,
}

impl HandlerEnvironment {
    /// The environment of gimlet without credentials (`secrets`) and telemetry settings, with variables that mark a
    /// child process (`marks`).
    pub fn new(env: &Env, project: &Path, secrets: &[&str], marks: &[(&str, String)]) -> Self {
        let passes = |name: &OsStr| {
            let name = name.to_string_lossy();
            !name.starts_with("OTEL_") && !secrets.contains(&name.as_ref()) && !marks.iter().any(|(n, _)| *n == name)
        };
        let kept = env.iter().filter(|(name, _)| passes(name)).map(|(n, v)| (n.to_owned(), v.to_owned()));
        let marked = marks.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Self {
            env: kept.chain(marked).collect(),
            project: project.to_path_buf(),
            prefix: env.non_empty("CLAUDE_CODE_SHELL_PREFIX").map(str::to_owned),
            home: env.home(),
        }
    }
}

/// One start of a command handler.
pub(crate) struct HandlerStart<'a> {
    pub(crate) command: &'a CommandHandler,
    pub(crate) origin: &'a HookOrigin,
    pub(crate) payload: &'a str,
    pub(crate) cwd: &'a Path,
    pub(crate) env_file: Option<&'a Path>,
    /// `None`: no time limit.
    pub(crate) timeout: Option<Duration>,
}

pub(crate) async fn run(start: HandlerStart<'_>, around: &HandlerEnvironment) -> HandlerResult {
    if let Some(script) = missing_script(&start, around) {
        return HandlerResult::Failed { why: format!("did not start: {} does not exist", script.display()) };
    }
    let (program, args) = words(&start, around);
    let spawn = SpawnSpec {
        program,
        args,
        env: environment(&start, around),
        cwd: directory(start.cwd, around),
        stdin: ChildInput::Pipe,
        output: ChildOutput::Split,
    };
    let timeout = start.timeout.unwrap_or(Duration::MAX);
    let options = RunOptions {
        // Ends with a newline, because `read` in a shell fails on input without one.
        input: [start.payload.as_bytes(), b"\n"].concat(),
        timeout,
        grace: Duration::from_millis(500),
        keep: MAX_OUTPUT_BYTES,
        descendants: DescendantPolicy::LiveOn,
        terminal: TerminalAccess::None,
    };
    match process::run(spawn, options).await {
        Ok(finished) if finished.timed_out => HandlerResult::TimedOut { after: timeout },
        Ok(mut finished) => HandlerResult::Exited {
            code: finished.exit.code,
            cut: finished.stdout.omitted() > 0,
            stdout: text(&mut finished.stdout),
            stderr: text(&mut finished.stderr),
        },
        Err(error) => HandlerResult::Failed { why: format!("did not start: {error}") },
    }
}

fn text(ring: &mut RingBuffer) -> String {
    let omitted = ring.omitted();
    if omitted == 0 {
        return String::from_utf8_lossy(&ring.to_bytes()).into_owned();
    }
    let head = String::from_utf8_lossy(ring.head()).into_owned();
    let tail = String::from_utf8_lossy(ring.tail()).into_owned();
    format!("{head}\n… [{omitted} bytes left out] …\n{tail}")
}

fn words(start: &HandlerStart<'_>, around: &HandlerEnvironment) -> (OsString, Vec<OsString>) {
    let command = &start.command.command;
    if let Some(args) = &start.command.args {
        let fill = |text: &String| OsString::from(fill(text, start.origin, around));
        return (fill(command), args.iter().map(fill).collect());
    }
    match start.command.shell {
        HookShell::PowerShell => {
            let text = powershell(command);
            ("pwsh".into(), vec!["-NoProfile".into(), "-NonInteractive".into(), "-Command".into(), text.into()])
        }
        HookShell::Posix => {
            let script = match &around.prefix {
                Some(prefix) => format!("{prefix} {}", quote(command)),
                None => command.clone(),
            };
            ("sh".into(), vec!["-c".into(), script.into()])
        }
    }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn powershell(command: &str) -> String {
    [PROJECT, ROOT, DATA]
        .iter()
        .fold(command.to_owned(), |text, name| text.replace(&format!("${{{name}}}"), &format!("${{env:{name}}}")))
}

/// Replaces placeholders with plain text, for arguments that no shell reads. In a shell they are variables.
fn fill(text: &str, origin: &HookOrigin, around: &HandlerEnvironment) -> String {
    values(origin, around)
        .into_iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), &value.to_string_lossy()))
}

fn values(origin: &HookOrigin, around: &HandlerEnvironment) -> Vec<(&'static str, PathBuf)> {
    let mut all = vec![(PROJECT, around.project.clone())];
    if let HookOrigin::Plugin { root, data, .. } = origin {
        all.extend([(ROOT, root.clone()), (DATA, data.clone())]);
    }
    all
}

fn environment(start: &HandlerStart<'_>, around: &HandlerEnvironment) -> Vec<(OsString, OsString)> {
    let mut env = around.env.clone();
    env.retain(|(name, _)| name != "CLAUDE_ENV_FILE");
    env.extend(values(start.origin, around).into_iter().map(|(name, value)| (name.into(), value.into())));
    if let Some(file) = start.env_file {
        env.push(("CLAUDE_ENV_FILE".into(), file.into()));
    }
    env
}

/// The session's directory or, if it is gone, the first fallback that exists.
fn directory(cwd: &Path, around: &HandlerEnvironment) -> PathBuf {
    let places = [Some(cwd), Some(&around.project), around.home.as_deref(), Some(Path::new("/tmp"))];
    let found = places.into_iter().flatten().find(|dir| dir.is_dir());
    if found != Some(cwd) {
        tracing::warn!(cwd = %cwd.display(), "the working directory is gone; hooks run elsewhere");
    }
    found.unwrap_or(Path::new("/")).to_path_buf()
}

/// A script under one of our placeholders that does not exist. An interpreter would exit with 2 for it, which means
/// "block".
fn missing_script(start: &HandlerStart<'_>, around: &HandlerEnvironment) -> Option<PathBuf> {
    let command = start.command;
    let words: Vec<String> = match &command.args {
        Some(args) => std::iter::once(&command.command).chain(args).take(2).cloned().collect(),
        None => command.command.split_whitespace().take(2).map(|word| word.replace(['"', '\''], "")).collect(),
    };
    let first = words.first()?;
    let name = first.rsplit('/').next().unwrap_or(first);
    let script = if INTERPRETERS.contains(&name) { words.get(1)? } else { first };
    values(start.origin, around).into_iter().find_map(|(name, value)| {
        let rest =
            script.strip_prefix(&format!("${{{name}}}/")).or_else(|| script.strip_prefix(&format!("${name}/")))?;
        let plain = !rest.contains(['$', '`', '*', '?', '\\', ';', '|', '&', '<', '>', '(', ')']);
        let path = value.join(rest);
        (plain && !path.exists()).then_some(path)
    })
}
