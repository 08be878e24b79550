//! Bash: one shell process per command, in its own process group, without input. The shell's directory persists
//! between calls while it is inside the workspace; nothing else persists. A command that takes too long continues
//! in the background or is terminated; in both cases the call returns. No call waits for a grandchild.

mod command_hints;
mod directory;
mod git;
mod guard;
mod readable;
mod report;
mod words;

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::facts::{
    AgentUse, CallBounds, MaskedInput, OutputBound, ReplacedOutput, SiblingFailure, TimeBound, ToolClass,
    ToolConfinement, ToolFacts,
};
use crate::input::ToolInput;
use crate::shell::capture::{CaptureLimits, OutputCapture};
use crate::shell::launch::{CommandLaunch, DirectoryReport, LaunchedCommand};
use crate::shell::running::{RunningCommand, WaitEnd, remove_scratch};
use crate::shell_program::{ShellKind, ShellProgram};
use crate::spill;
use crate::tasks::{NewTask, SessionTasks, TaskRecord, may_background};
use command_hints::ShownExtent;
use directory::DirectoryChange;
use futures_util::future::BoxFuture;
use permission::Access;
use report::{BashOutput, FinishedCommand};
use serde_json::value::RawValue;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::Env;
use sys::process::ExitOutcome;
use tokio::time::Instant;
use wire::block::MessageContent;

/// Largest file, in bytes, that is recorded as seen when a command shows it.
const MAX_RECORDED_BYTES: usize = 1 << 20;
/// How long a command may run when neither its call nor the environment says.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);
/// The longest that a call may ask for, unless the environment allows more.
const MAX_TIMEOUT: Duration = Duration::from_mins(10);
/// The time of a command that took longer is named.
const SLOW_COMMAND: Duration = Duration::from_secs(10);
/// Smaller timeouts, which are given in milliseconds, can only be meant as seconds.
const MIN_TIMEOUT_MS: u64 = 1_000;
const INTERRUPTED: &str = "[The user interrupted this command before it finished.]";

/// Whether commands are run by zsh in this environment.
pub fn runs_zsh(env: &Env) -> bool {
    ShellProgram::choose(env).kind == ShellKind::Zsh
}

pub struct BashTool;

pub const NAME: &str = "Bash";

const FACTS: ToolFacts = ToolFacts {
    confinement: ToolConfinement::Command,
    sibling_failure: SiblingFailure::CancelsLater,
    bounds: CallBounds {
        time: TimeBound::Requested { default: DEFAULT_TIMEOUT, max: MAX_TIMEOUT },
        output: OutputBound::Spilled,
    },
    masked_input: MaskedInput::Refused("Let the shell supply the value, for example from its variable or file."),
    replaced_output: ReplacedOutput::Streams,
    agents: AgentUse::Always,
    is_basic: true,
    ..ToolFacts::of(ToolClass::Shell)
};

static SPEC: ToolSpec = ToolSpec::of(NAME, include_str!("bash.md"), include_str!("bash.schema.json"), FACTS);

impl Tool for BashTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of(NAME, input)?;
        Ok(Box::new(BashCall {
            command: input.string("command")?,
            timeout_ms: input.opt_number("timeout")?,
            description: input.opt_string("description")?,
            background: input.opt_bool("run_in_background")?.unwrap_or(false),
            unsandboxed: input.opt_bool("dangerouslyDisableSandbox")?.unwrap_or(false),
        }))
    }
}

struct BashCall {
    command: String,
    timeout_ms: Option<u64>,
    description: Option<String>,
    background: bool,
    unsandboxed: bool,
}

impl ToolCall for BashCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Run(self.command.clone())]
    }

    fn concurrency(&self) -> CallConcurrency {
        if !self.background && command_hints::is_read_only(&self.command) {
            CallConcurrency::Shared
        } else {
            CallConcurrency::Exclusive
        }
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move { self.execute(&cx).await.unwrap_or_else(|error| ToolOutcome::failed(error.to_string())) })
    }
}

impl BashCall {
    async fn execute(&self, cx: &CallContext) -> io::Result<ToolOutcome> {
        if cx.cancel.is_cancelled() {
            let mut nothing = OutputCapture::new(limits(&cx.state.facts.env), PathBuf::new());
            return Ok(report::ended_outcome(&mut nothing, INTERRUPTED, BashOutput::default()).await);
        }
        let place = directory::start_directory(cx);
        let mut running = self.start(cx, &place.cwd).await?;
        let env = &cx.state.facts.env;
        if self.background && may_background(env) {
            let limit = background_timeout(self.timeout_ms);
            return Ok(self.start_in_background(cx, running, limit).await);
        }
        let timeout = foreground_timeout(env, self.timeout_ms);
        let started = Instant::now();
        let place_in_front = cx.state.tasks.foreground.enter(&cx.id, cx.state.facts.agent_id.as_deref());
        running.capture.show_in(place_in_front.output());
        let pause = tokio::select! {
            biased;
            pause = running.wait_until(&cx.cancel, Instant::now() + timeout) => pause?,
            () = place_in_front.released() => return Ok(self.move_to_background(cx, running).await),
        };
        drop(place_in_front);
        Ok(match pause {
            WaitEnd::Exited(exit) => {
                running.drain().await;
                self.finished_outcome(cx, running, exit, place.reset, started.elapsed()).await
            }
            WaitEnd::Deadline if command_hints::may_continue_in_background(&self.command, env) => {
                self.timed_out(cx, running, timeout).await
            }
            WaitEnd::Deadline => {
                let why = format!(
                    "Command did not complete within its {} timeout and was terminated (commands that sleep, use git \
                     or cannot be parsed do not go on in the background).",
                    seconds(timeout)
                );
                self.end_command(cx, running, &why, Some(timeout)).await
            }
            WaitEnd::Cancelled => self.end_command(cx, running, INTERRUPTED, None).await,
            WaitEnd::Excess => {
                self.end_command(cx, running, "[Terminated: the command printed more than 5 GB.]", None).await
            }
        })
    }

    async fn start(&self, cx: &CallContext, cwd: &Path) -> io::Result<RunningCommand> {
        let facts = &cx.state.facts;
        let shell = &cx.state.shell;
        let snapshot = tokio::select! {
            snapshot = shell.snapshot(facts, cwd) => snapshot,
            () = cx.cancel.cancelled() => None,
        };
        let sandbox = cx.sandbox.as_deref();
        let (scratch, tracked) = directory::scratch(cx, &sys::id::base36(9));
        let via = match (tracked, sandbox) {
            (true, _) => DirectoryReport::File(&scratch[0]),
            (false, None) => DirectoryReport::Pipe,
            (false, Some(_)) => DirectoryReport::Nothing,
        };
        let prelude = match &cx.git_guard {
            Some(guard) => guard::prelude(guard, &facts.env)?,
            None => String::new(),
        };
        let launch = CommandLaunch {
            program: shell.program(facts),
            env: shell.environment(facts),
            cwd,
            snapshot: snapshot.as_deref(),
            env_file: facts.env.non_empty("CLAUDE_ENV_FILE"),
            prefix: facts.env.non_empty("CLAUDE_CODE_SHELL_PREFIX"),
            directory_report: via,
            sandbox,
            prelude: &prelude,
        };
        let capture = OutputCapture::new(limits(&facts.env), spill::new_path(&facts.session_dir))
            .with_mask(cx.state.masking.mask().stream());
        match launch.start(&self.command, &scratch[1]) {
            Ok(LaunchedCommand { child, sandbox_run: confined, report }) => {
                let mut running = RunningCommand::new(child, capture, scratch.to_vec()).with_sandbox(confined);
                running.report = report;
                running.is_directory_untracked =
                    via == DirectoryReport::Nothing && command_hints::changes_directory(&self.command);
                Ok(running)
            }
            Err(error) => {
                remove_scratch(scratch.to_vec()).await;
                let shell = shell.program(facts).path.display();
                Err(io::Error::new(error.kind(), format!("Could not start {shell} in {}: {error}", cwd.display())))
            }
        }
    }

    async fn finished_outcome(
        &self,
        cx: &CallContext,
        mut running: RunningCommand,
        exit: ExitOutcome,
        reset: Option<String>,
        took: Duration,
    ) -> ToolOutcome {
        // The shell's own form for death by a signal.
        let code = exit.code.unwrap_or(128 + exit.signal.unwrap_or_default());
        if let Some(pipe) = running.take_open_pipe() {
            cx.state.tasks.drain_pipe(pipe);
        }
        let moved = directory::apply_directory(cx, std::mem::take(&mut running.scratch), running.report.take()).await;
        let mut remarks = self.remarks(took);
        let mut notices: Vec<String> = reset.into_iter().collect();
        match moved {
            Some(DirectoryChange::Entered(dir)) => remarks.insert(0, format!("[now in {}]", dir.display())),
            Some(DirectoryChange::Reset(notice)) => notices = vec![notice],
            None => {}
        }
        if running.is_directory_untracked {
            notices.push(format!(
                "The directory this command ended in could not be recorded: nothing can be written to the temporary \
                 folder. The next command starts in {}.",
                directory::current(cx).display()
            ));
        }
        notices.extend(self.violations(cx, &mut running, code).await);
        let unsandboxed = self.ran_outside_sandbox(cx);
        let report = FinishedCommand {
            command: &self.command,
            unsandboxed,
            code,
            signal: exit.signal,
            notices: &notices,
            remarks: &remarks,
        };
        let outcome = report.outcome(&mut running.capture).await;
        if code == 0 && !running.capture.is_long() {
            record_shown_file(cx, &self.command, running.capture.head()).await;
        }
        outcome
    }

    /// What the model is told about the time of a command.
    fn remarks(&self, took: Duration) -> Vec<String> {
        let slow = (took > SLOW_COMMAND).then(|| format!("[took {:.0} s]", took.as_secs_f64()));
        let small = self
            .timeout_ms
            .filter(|timeout| is_in_seconds(*timeout))
            .map(|timeout| format!("[a timeout of {timeout} was taken as seconds; it is given in milliseconds]"));
        slow.into_iter().chain(small).collect()
    }

    /// A report of what the sandbox prevented the command from doing; `None` when there is nothing to report.
    async fn violations(&self, cx: &CallContext, running: &mut RunningCommand, code: i32) -> Option<String> {
        let (sandbox, confined) = (cx.sandbox.as_deref()?, running.take_sandbox()?);
        let mut found = confined.finish().await;
        if code != 0 {
            found.extend(crate::sandbox::suspected_violations(&report::excerpt(&running.capture)));
        }
        sandbox.report(&self.command, found)
    }

    /// True when the command ran outside a sandbox because the model asked for that.
    fn ran_outside_sandbox(&self, cx: &CallContext) -> bool {
        self.unsandboxed && cx.sandbox.is_none()
    }

    async fn end_command(
        &self,
        cx: &CallContext,
        mut running: RunningCommand,
        why: &str,
        timeout: Option<Duration>,
    ) -> ToolOutcome {
        if let Err(error) = running.kill().await {
            tracing::debug!(%error, "a command could not be ended cleanly");
        }
        remove_scratch(std::mem::take(&mut running.scratch)).await;
        let result = BashOutput {
            timed_out_after_ms: timeout.map(millis),
            dangerously_disable_sandbox: self.ran_outside_sandbox(cx),
            ..BashOutput::default()
        };
        report::ended_outcome(&mut running.capture, why, result).await
    }

    async fn timed_out(&self, cx: &CallContext, running: RunningCommand, timeout: Duration) -> ToolOutcome {
        let stdout = report::excerpt(&running.capture);
        let shown = report::shown_so_far(&running.capture);
        let task = self.adopt(cx, running, background_timeout(None)).await;
        let hint = command_hints::changes_directory(&self.command).then(|| {
            format!(
                "Session cwd remains {}; directory changes made by the backgrounded command do not apply to \
                 subsequent commands.",
                directory::current(cx).display()
            )
        });
        let moved = format!(
            "Command did not complete within its {} timeout and was moved to the background as task {}. {}",
            seconds(timeout),
            task.id,
            output_sentence(&task, "Its output continues in", ".")
        );
        let text = report::join(&[&shown, &moved, hint.as_deref().unwrap_or_default()]);
        BashOutput {
            stdout,
            background_task_id: Some(task.id),
            timed_out_after_ms: Some(millis(timeout)),
            background_cwd_hint: hint,
            dangerously_disable_sandbox: self.ran_outside_sandbox(cx),
            ..BashOutput::default()
        }
        .outcome(MessageContent::Text(text), false)
    }

    /// Continues a running command in the background at the user's request.
    async fn move_to_background(&self, cx: &CallContext, running: RunningCommand) -> ToolOutcome {
        let stdout = report::excerpt(&running.capture);
        let shown = report::shown_so_far(&running.capture);
        let task = self.adopt(cx, running, background_timeout(None)).await;
        let moved = format!(
            "The user moved the command to the background as task {}. {}",
            task.id,
            output_sentence(&task, "Its output continues in", "; you will be told when it ends.")
        );
        let text = report::join(&[&shown, &moved]);
        BashOutput {
            stdout,
            background_task_id: Some(task.id),
            backgrounded_by_user: true,
            dangerously_disable_sandbox: self.ran_outside_sandbox(cx),
            ..BashOutput::default()
        }
        .outcome(MessageContent::Text(text), false)
    }

    async fn start_in_background(&self, cx: &CallContext, running: RunningCommand, limit: Duration) -> ToolOutcome {
        let task = self.adopt(cx, running, limit).await;
        let text = format!(
            "Running in the background as task {}. {} You will be told when the task ends.",
            task.id,
            output_sentence(&task, "Output goes to", "; read that file to look at it.")
        );
        BashOutput {
            background_task_id: Some(task.id),
            dangerously_disable_sandbox: self.ran_outside_sandbox(cx),
            ..BashOutput::default()
        }
        .outcome(MessageContent::Text(text), false)
    }

    async fn adopt(&self, cx: &CallContext, mut running: RunningCommand, deadline: Duration) -> TaskRecord {
        let facts = &cx.state.facts;
        let id = SessionTasks::new_id();
        running.capture.write_through(output_paths(cx, &id)).await;
        let output = running.capture.file().map(Path::to_path_buf).unwrap_or_default();
        let note = running.capture.write_error().map(|error| format!("its output could not be saved: {error}"));
        let new = NewTask {
            note,
            id,
            command: self.command.clone(),
            description: self.description.clone().unwrap_or_else(|| self.command.clone()),
            tool_use_id: cx.id.clone(),
            output,
            deadline: facts.agent_id.as_ref().map_or(deadline, |_| deadline.min(agent_limit(&facts.env))),
            owner: facts.agent_id.clone(),
        };
        cx.state.tasks.adopt(new, running)
    }
}

/// The files the output of a task may be written to, the preferred one first.
fn output_paths(cx: &CallContext, id: &str) -> Vec<PathBuf> {
    let facts = &cx.state.facts;
    let held = cx.state.folders.lock_folder(&facts.tasks_dir).is_ok() && sys::fs::has_room(&facts.tasks_dir);
    let usual = SessionTasks::output_path(&facts.tasks_dir, id);
    let other = SessionTasks::output_path(&facts.session_dir.join("tool-results"), id);
    if held { vec![usual, other] } else { vec![other, usual] }
}

/// A sentence that names the file of a task's output, or the reason why there is none.
fn output_sentence(task: &TaskRecord, opening: &str, closing: &str) -> String {
    match &task.note {
        Some(note) => format!("Not kept: {note}. Only the last lines will be told when it ends."),
        None => format!("{opening} {}{closing}", task.output.display()),
    }
}

/// The longest time that a background command of an agent may run.
fn agent_limit(env: &Env) -> Duration {
    Duration::from_millis(env.number("CLAUDE_SUBAGENT_BG_SHELL_MAX_MS").unwrap_or(3_600_000))
}

fn limits(env: &Env) -> CaptureLimits {
    CaptureLimits {
        inline_chars: env.number("BASH_MAX_OUTPUT_LENGTH").filter(|n| *n > 0).unwrap_or(30_000).min(150_000),
        file_bytes: CaptureLimits::FILE_BYTES,
        kill_bytes: CaptureLimits::KILL_BYTES,
    }
}

fn foreground_timeout(env: &Env, requested: Option<u64>) -> Duration {
    let positive = |name| env.number::<u64>(name).filter(|n| *n > 0);
    let of = |name, usual| positive(name).map_or(usual, Duration::from_millis);
    let default = of("BASH_DEFAULT_TIMEOUT_MS", DEFAULT_TIMEOUT);
    let max = of("BASH_MAX_TIMEOUT_MS", MAX_TIMEOUT).max(default);
    requested_ms(requested).filter(|n| *n > 0).map_or(default, Duration::from_millis).min(max)
}

/// Whether a timeout can only be meant as seconds.
fn is_in_seconds(timeout: u64) -> bool {
    (1..MIN_TIMEOUT_MS).contains(&timeout)
}

fn requested_ms(requested: Option<u64>) -> Option<u64> {
    requested.map(|timeout| if is_in_seconds(timeout) { timeout * 1_000 } else { timeout })
}

fn background_timeout(requested: Option<u64>) -> Duration {
    Duration::from_millis(requested_ms(requested).filter(|n| *n > 0).unwrap_or(1_800_000).min(7_200_000))
}

/// Seconds as `120s` or `0.5s`.
fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Records a file that a command such as `cat file` showed, as Read does. With plain `cat` the output must equal
/// the file.
async fn record_shown_file(cx: &CallContext, command: &str, output: &[u8]) {
    let Some((path, shown)) = command_hints::shown_file(command, &cx.workspace) else { return };
    let verbatim = command.trim_start().starts_with("cat ") && !command.contains(" -");
    let output = output.to_vec();
    let state = std::sync::Arc::clone(&cx.state);
    let noted = tokio::task::spawn_blocking(move || {
        let Ok(content) = sys::fs::read_whole(&path, MAX_RECORDED_BYTES) else { return };
        match shown {
            ShownExtent::Whole if verbatim && content != output => {}
            ShownExtent::Whole => state.reads.record_shown(&path, &content),
            ShownExtent::Part => state.reads.record_part_shown(&path, &content),
        }
    });
    if let Err(error) = noted.await {
        tracing::debug!(%error, "what a command showed was not noted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_have_defaults_and_ceilings() {
        // [TST-50]
        let env = Env::default();
        let ms = |env: &Env, requested| foreground_timeout(env, requested).as_millis();
        assert_eq!(ms(&env, None), 120_000);
        assert_eq!(ms(&env, Some(5_000_000)), 600_000);
        assert_eq!(ms(&env, Some(1_700)), 1_700);
        // [MX-19]
        assert_eq!(ms(&env, Some(70)), 70_000);
        assert_eq!(ms(&env.with([("BASH_DEFAULT_TIMEOUT_MS", "900000")]), Some(5_000_000)), 900_000);
        assert_eq!(ms(&env.with([("BASH_MAX_TIMEOUT_MS", "200000")]), Some(5_000_000)), 200_000);
        assert_eq!(background_timeout(None).as_millis(), 1_800_000);
        assert_eq!(background_timeout(Some(u64::MAX)).as_millis(), 7_200_000);
    }

    #[test]
    fn seconds_are_short() {
        assert_eq!(seconds(Duration::from_mins(2)), "120s");
        assert_eq!(seconds(Duration::from_millis(250)), "0.25s");
    }
}
