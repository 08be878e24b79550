//! How a command is started: shell, environment and wrapper script. The wrapper sources the rc snapshot and
//! `CLAUDE_ENV_FILE`, and makes the shell report its last directory however the command ends. The script never
//! contains values of variables, so they cannot be seen in a process list.

use crate::sandbox::{CommandSandbox, SandboxRun};
use crate::session_facts::SessionFacts;
use crate::shell_program::{DEFAULT_PATH, ShellProgram, quote};
use crate::spill;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use sys::process::{self, ChildInput, ChildOutput, ChildProcess, ChildReport, REPORT_FD, SpawnSpec};

/// Longest script, in bytes, that is passed as an argument; the kernel refuses single arguments above 128 KiB.
const ARGUMENT_BYTES: usize = 100 * 1024;

/// Variables that hosts set for themselves and that would mislead a program in a child process.
const NOT_INHERITED: [&str; 2] = ["CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP", "CLAUDE_CODE_SDK_READS_SESSION_STATE"];

/// The environment of children: ours without credentials and telemetry settings, plus the variables that mark them
/// as children of gimlet.
pub(crate) fn environment(facts: &SessionFacts) -> Vec<(OsString, OsString)> {
    let scrub = facts.env.is_on("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB");
    let mut vars: Vec<(OsString, OsString)> = facts
        .env
        .iter()
        .filter(|(name, _)| is_inherited(name, facts) && !(scrub && looks_secret(name)))
        .map(|(name, value)| (name.to_os_string(), value.to_os_string()))
        .collect();
    let mut set = |name: &str, value: &str| {
        vars.retain(|(n, _)| n != name);
        vars.push((name.into(), value.into()));
    };
    set("CLAUDECODE", "1");
    set("CLAUDE_CODE_CHILD_SESSION", "1");
    set("CLAUDE_CODE_SESSION_ID", &facts.session_id);
    set("CLAUDE_PID", &std::process::id().to_string());
    // An editor would wait for a person who is not there.
    set("GIT_EDITOR", "true");
    if let Some(effort) = &facts.effort {
        set("CLAUDE_EFFORT", effort);
    }
    if facts.env.non_empty("PATH").is_none() {
        set("PATH", DEFAULT_PATH);
    }
    vars
}

fn is_inherited(name: &OsStr, facts: &SessionFacts) -> bool {
    !name.as_bytes().starts_with(b"OTEL_")
        && !NOT_INHERITED.iter().any(|n| name == *n)
        && !facts.secret_vars.iter().any(|secret| name == secret.as_str())
}

fn looks_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["_TOKEN", "_SECRET", "_API_KEY", "_PASSWORD", "_SECRET_ACCESS_KEY", "_CREDENTIALS"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// How the shell reports its last directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectoryReport<'a> {
    File(&'a Path),
    /// Through a pipe, because no file can be written anywhere.
    Pipe,
    /// Not at all: in a sandbox without a writable folder.
    Nothing,
}

/// Everything needed to start a command, besides its text.
pub(crate) struct CommandLaunch<'a> {
    pub(crate) program: &'a ShellProgram,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: &'a Path,
    pub(crate) snapshot: Option<&'a Path>,
    /// `CLAUDE_ENV_FILE`.
    pub(crate) env_file: Option<&'a str>,
    /// `CLAUDE_CODE_SHELL_PREFIX`.
    pub(crate) prefix: Option<&'a str>,
    /// How the shell reports its last directory.
    pub(crate) directory_report: DirectoryReport<'a>,
    pub(crate) sandbox: Option<&'a CommandSandbox>,
    /// Shell text to run before the command, after the user's files were sourced.
    pub(crate) prelude: &'a str,
}

/// A command that was started.
pub(crate) struct LaunchedCommand {
    pub(crate) child: ChildProcess,
    pub(crate) sandbox_run: Option<SandboxRun>,
    pub(crate) report: Option<ChildReport>,
}

impl CommandLaunch<'_> {
    /// Starts `command`. A very long command is written to `text_file` first.
    pub(crate) fn start(self, command: &str, text_file: &Path) -> io::Result<LaunchedCommand> {
        let body = if command.len() > ARGUMENT_BYTES {
            spill::create_private(text_file)?.write_all(command.as_bytes())?;
            format!(". {}", quote(&text_file.to_string_lossy()))
        } else {
            format!("eval {}", quote(command))
        };
        let script = self.script(&body, command);
        let shell = self.program.path.clone();
        let script = match self.prefix {
            Some(prefix) => {
                format!("{prefix} {}", quote(&format!("{} -c {}", quote(&shell.to_string_lossy()), quote(&script))))
            }
            None => script,
        };
        let spawn = SpawnSpec {
            program: shell.into(),
            args: vec!["-c".into(), script.into()],
            env: self.env,
            cwd: self.cwd.to_path_buf(),
            stdin: ChildInput::Null,
            output: ChildOutput::Merged,
        };
        let (child, confined, report) = match (self.sandbox, self.directory_report) {
            (Some(sandbox), _) => sandbox.start(spawn).map(|(child, confined)| (child, Some(confined), None))?,
            (None, DirectoryReport::Pipe) => {
                process::spawn_reporting(spawn).map(|(child, report)| (child, None, Some(report)))?
            }
            (None, DirectoryReport::File(_) | DirectoryReport::Nothing) => (process::spawn(spawn)?, None, None),
        };
        Ok(LaunchedCommand { child, sandbox_run: confined, report })
    }

    fn script(&self, body: &str, command: &str) -> String {
        let source = |file: Cow<'_, str>| format!("[ -r {0} ] && . {0}; ", quote(&file));
        let sourced = self.snapshot.map(Path::to_string_lossy).map(source).unwrap_or_default()
            + &self.env_file.map(Into::into).map(source).unwrap_or_default()
            + self.prelude
            // With it `cd NAME` leads to another folder than the one that was judged.
            + "unset CDPATH 2>/dev/null; ";
        let target = match self.directory_report {
            // Opened without truncation, because its space is already reserved.
            DirectoryReport::File(file) => format!("1<>{}", quote(&file.to_string_lossy())),
            DirectoryReport::Pipe => format!(">|/dev/fd/{REPORT_FD}"),
            DirectoryReport::Nothing => return sourced + body,
        };
        let report = format!("{{ pwd -P {target}; }} 2>/dev/null");
        let trap = quote(&report);
        // An EXIT trap of the command replaces ours, so the report must not depend on ours.
        let after = if command.contains("trap") && command.contains("EXIT") {
            format!("; {{ __status=$?; {report}; }} 2>/dev/null; (exit $__status)")
        } else {
            String::new()
        };
        format!("{sourced}trap {trap} EXIT; {body}{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::Env;

    fn facts(vars: &[(&str, &str)]) -> SessionFacts {
        SessionFacts {
            session_id: "s".into(),
            env: Env::default().with(vars.iter().copied()),
            session_dir: "/x".into(),
            tasks_dir: "/x".into(),
            config_home: "/x".into(),
            read_before_edit: false,
            effort: Some("high".into()),
            secret_vars: vec!["ANTHROPIC_API_KEY".into()],
            documents: false,
            plan_file: None,
            agent_id: None,
        }
    }

    #[test]
    fn children_get_marks_but_no_secrets() {
        // [TST-62]
        let given = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "k"),
            ("ANTHROPIC_API_KEY", "k"),
            ("CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP", "k"),
            ("CLAUDECODE", "old"),
            ("GH_TOKEN", "kept"),
        ];
        let env = environment(&facts(&given));
        let get =
            |name: &str| env.iter().filter(|(n, _)| n == name).map(|(_, v)| v.to_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(get("CLAUDECODE"), ["1"]);
        assert_eq!(get("CLAUDE_CODE_CHILD_SESSION"), ["1"]);
        assert_eq!(get("CLAUDE_CODE_SESSION_ID"), ["s"]);
        assert_eq!(get("CLAUDE_EFFORT"), ["high"]);
        assert_eq!(get("GH_TOKEN"), ["kept"]);
        assert_eq!(get("PATH"), [DEFAULT_PATH]);
        assert!(env.iter().all(|(_, v)| v != "k"), "{env:?}");
    }

    #[test]
    fn scrubbing_removes_what_looks_like_a_credential() {
        let env = environment(&facts(&[("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", "1"), ("GH_TOKEN", "t"), ("HOME", "/h")]));
        assert!(env.iter().all(|(n, _)| n != "GH_TOKEN"));
        assert!(env.iter().any(|(n, _)| n == "HOME"));
    }
}
