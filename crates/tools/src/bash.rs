//! Bash: one shell process per command, in a group of its own, without input. Its directory persists inside the
//! workspace, nothing else does. A command that takes too long goes on in the background or is ended; either way the
//! call returns. No call waits for a grandchild.

mod capture;
mod directory;
mod git;
mod guard;
pub(crate) mod launch;
pub(crate) mod meaning;
mod report;
pub(crate) mod running;
pub mod shell;
mod words;

use crate::contract::{Call, CallCx, InputError, Outcome, Sharing, Spec, Tool, Workspace};
use crate::input::Input;
use crate::spill;
use crate::tasks::{NewTask, Task, Tasks};
use capture::{Capture, Limits};
use futures_util::future::BoxFuture;
use launch::Launch;
use meaning::Shown;
use permission::Access;
use report::{Finished, Structured};
use running::{Pause, Running};
use serde_json::value::RawValue;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::Env;
use tokio::time::Instant;
use wire::block::Content;

pub(crate) use capture::read_end;

const INTERRUPTED: &str = "[The user interrupted this command before it finished.]";

pub struct Bash;

static SPEC: Spec = Spec::of("Bash", include_str!("bash.md"), include_str!("bash.schema.json"));

impl Tool for Bash {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of("Bash", input)?;
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

impl Call for BashCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Run(self.command.clone())]
    }

    fn sharing(&self) -> Sharing {
        if !self.background && meaning::only_looks(&self.command) { Sharing::Shared } else { Sharing::Exclusive }
    }

    fn run(self: Box<Self>, cx: CallCx) -> BoxFuture<'static, Outcome> {
        Box::pin(async move { self.execute(&cx).await.unwrap_or_else(|error| Outcome::failed(error.to_string())) })
    }
}

impl BashCall {
    async fn execute(&self, cx: &CallCx) -> io::Result<Outcome> {
        if cx.cancel.is_cancelled() {
            let mut nothing = Capture::new(limits(&cx.state.facts.env), PathBuf::new());
            return Ok(report::ended(&mut nothing, INTERRUPTED, Structured::default()).await);
        }
        let place = directory::place(cx);
        let mut running = self.start(cx, &place.cwd).await?;
        let env = &cx.state.facts.env;
        if self.background && meaning::background_allowed(env) {
            let limit = background_timeout(self.timeout_ms);
            return Ok(self.in_background(cx, running, limit).await);
        }
        let timeout = foreground_timeout(env, self.timeout_ms);
        let place_in_front = cx.state.tasks.foreground.enter(&cx.id);
        let pause = tokio::select! {
            biased;
            pause = running.until(&cx.cancel, Instant::now() + timeout) => pause?,
            () = place_in_front.released() => return Ok(self.let_go(cx, running).await),
        };
        drop(place_in_front);
        Ok(match pause {
            Pause::Exited(exit) => {
                running.drain().await;
                // Death by a signal is reported as 1, as the reference does.
                self.finished(cx, running, exit.code.unwrap_or(1), place.reset).await
            }
            Pause::Deadline if meaning::may_go_on(&self.command, env) => self.timed_out(cx, running, timeout).await,
            Pause::Deadline => {
                let why = format!(
                    "Command did not complete within its {} timeout and was terminated (commands that sleep, use git \
                     or cannot be parsed do not go on in the background).",
                    seconds(timeout)
                );
                self.end(cx, running, &why, Some(timeout)).await
            }
            Pause::Cancelled => self.end(cx, running, INTERRUPTED, None).await,
            Pause::Excess => self.end(cx, running, "[Terminated: the command printed more than 5 GB.]", None).await,
        })
    }

    async fn start(&self, cx: &CallCx, cwd: &Path) -> io::Result<Running> {
        let facts = &cx.state.facts;
        let shell = &cx.state.shell;
        let snapshot = tokio::select! {
            snapshot = shell.snapshot(facts, cwd) => snapshot,
            () = cx.cancel.cancelled() => None,
        };
        let id = sys::id::base36(9);
        let cage = cx.cage.as_deref();
        // The command must be able to report its directory, and to nothing else beside it.
        let dir = cage.and_then(|cage| cage.temp.as_ref()).unwrap_or(&facts.tasks_dir);
        let scratch = [dir.join(format!(".{id}.cwd")), dir.join(format!(".{id}.sh"))];
        let tracked = spill::create_private(&scratch[0]).is_ok();
        let prelude = match &cx.git_guard {
            Some(guard) => guard::prelude(guard, &facts.env)?,
            None => String::new(),
        };
        let launch = Launch {
            program: shell.program(facts),
            env: shell.environment(facts),
            cwd,
            snapshot: snapshot.as_deref(),
            env_file: facts.env.non_empty("CLAUDE_ENV_FILE"),
            prefix: facts.env.non_empty("CLAUDE_CODE_SHELL_PREFIX"),
            cwd_file: tracked.then_some(&scratch[0]),
            cage,
            prelude: &prelude,
        };
        let capture = Capture::new(limits(&facts.env), spill::new_path(&facts.session_dir))
            .masked(cx.state.masking.mask().stream());
        match launch.start(&self.command, &scratch[1]) {
            Ok((child, confined)) => Ok(Running::new(child, capture, scratch.to_vec()).confined(confined)),
            Err(error) => {
                remove_scratch(scratch.to_vec()).await;
                let shell = shell.program(facts).path.display();
                Err(io::Error::new(error.kind(), format!("Could not start {shell} in {}: {error}", cwd.display())))
            }
        }
    }

    async fn finished(&self, cx: &CallCx, mut running: Running, code: i32, reset: Option<String>) -> Outcome {
        if let Some(pipe) = running.leftover() {
            cx.state.tasks.read_on(pipe);
        }
        let moved = directory::settle(cx, std::mem::take(&mut running.scratch)).await;
        let mut notices: Vec<String> = moved.or(reset).into_iter().collect();
        notices.extend(self.violations(cx, &mut running, code).await);
        let unsandboxed = self.left_out(cx);
        let report = Finished { command: &self.command, unsandboxed, code, notices: &notices };
        let outcome = report.outcome(&mut running.capture).await;
        if code == 0 && !running.capture.is_long() {
            note_shown(cx, &self.command, running.capture.head()).await;
        }
        outcome
    }

    /// What the sandbox kept the command from doing.
    async fn violations(&self, cx: &CallCx, running: &mut Running, code: i32) -> Option<String> {
        let (cage, confined) = (cx.cage.as_deref()?, running.take_confined()?);
        let mut found = confined.finish().await;
        if code != 0 {
            found.extend(crate::cage::suspected(&report::excerpt(&running.capture)));
        }
        cage.report(&self.command, found)
    }

    /// Whether the command ran outside a sandbox because it asked to.
    fn left_out(&self, cx: &CallCx) -> bool {
        self.unsandboxed && cx.cage.is_none()
    }

    async fn end(&self, cx: &CallCx, mut running: Running, why: &str, timeout: Option<Duration>) -> Outcome {
        if let Err(error) = running.kill().await {
            tracing::debug!(%error, "a command could not be ended cleanly");
        }
        remove_scratch(std::mem::take(&mut running.scratch)).await;
        let result = Structured {
            timed_out_after_ms: timeout.map(millis),
            dangerously_disable_sandbox: self.left_out(cx),
            ..Structured::default()
        };
        report::ended(&mut running.capture, why, result).await
    }

    async fn timed_out(&self, cx: &CallCx, running: Running, timeout: Duration) -> Outcome {
        let stdout = report::excerpt(&running.capture);
        let task = self.adopt(cx, running, background_timeout(None)).await;
        let hint = meaning::changes_directory(&self.command).then(|| {
            format!(
                "Session cwd remains {}; directory changes made by the backgrounded command do not apply to \
                 subsequent commands.",
                directory::current(cx).display()
            )
        });
        let moved = format!(
            "Command did not complete within its {} timeout and was moved to the background as task {}. Its output \
             continues in {}.",
            seconds(timeout),
            task.id,
            task.output.display()
        );
        let text = report::join(&[&stdout, &moved, hint.as_deref().unwrap_or_default()]);
        Structured {
            stdout,
            background_task_id: Some(task.id),
            timed_out_after_ms: Some(millis(timeout)),
            background_cwd_hint: hint,
            dangerously_disable_sandbox: self.left_out(cx),
            ..Structured::default()
        }
        .outcome(Content::Text(text), false)
    }

    /// A person wants it in the background.
    async fn let_go(&self, cx: &CallCx, running: Running) -> Outcome {
        let stdout = report::excerpt(&running.capture);
        let task = self.adopt(cx, running, background_timeout(None)).await;
        let moved = format!(
            "The user moved the command to the background as task {}. Its output continues in {}; you will be told when \
             it ends.",
            task.id,
            task.output.display()
        );
        let text = report::join(&[&stdout, &moved]);
        Structured {
            stdout,
            background_task_id: Some(task.id),
            backgrounded_by_user: true,
            dangerously_disable_sandbox: self.left_out(cx),
            ..Structured::default()
        }
        .outcome(Content::Text(text), false)
    }

    async fn in_background(&self, cx: &CallCx, running: Running, limit: Duration) -> Outcome {
        let task = self.adopt(cx, running, limit).await;
        let text = format!(
            "Running in the background as task {}. Output goes to {}; read that file to look at it. You will be told \
             when the task ends.",
            task.id,
            task.output.display()
        );
        Structured {
            background_task_id: Some(task.id),
            dangerously_disable_sandbox: self.left_out(cx),
            ..Structured::default()
        }
        .outcome(Content::Text(text), false)
    }

    async fn adopt(&self, cx: &CallCx, mut running: Running, deadline: Duration) -> Task {
        let facts = &cx.state.facts;
        let id = Tasks::new_id();
        running.capture.watch(Tasks::output_path(&cx.state.facts.tasks_dir, &id)).await;
        let output = running.capture.file().map(Path::to_path_buf).unwrap_or_default();
        let new = NewTask {
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

/// How long a command that an agent left in the background may run.
fn agent_limit(env: &Env) -> Duration {
    Duration::from_millis(env.number("CLAUDE_SUBAGENT_BG_SHELL_MAX_MS").unwrap_or(3_600_000))
}

fn limits(env: &Env) -> Limits {
    Limits {
        inline_chars: env.number("BASH_MAX_OUTPUT_LENGTH").filter(|n| *n > 0).unwrap_or(30_000).min(150_000),
        file_bytes: Limits::FILE_BYTES,
        kill_bytes: Limits::KILL_BYTES,
    }
}

fn foreground_timeout(env: &Env, requested: Option<u64>) -> Duration {
    let positive = |name| env.number::<u64>(name).filter(|n| *n > 0);
    let default = positive("BASH_DEFAULT_TIMEOUT_MS").unwrap_or(120_000);
    let ceiling = positive("BASH_MAX_TIMEOUT_MS").unwrap_or(600_000).max(default);
    Duration::from_millis(requested.filter(|n| *n > 0).unwrap_or(default).min(ceiling))
}

fn background_timeout(requested: Option<u64>) -> Duration {
    Duration::from_millis(requested.filter(|n| *n > 0).unwrap_or(1_800_000).min(7_200_000))
}

/// `120s`, `0.5s`.
fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// `cat file` shows a file as well as Read does, when what was printed is what is there.
async fn note_shown(cx: &CallCx, command: &str, output: &[u8]) {
    let Some((path, shown)) = meaning::shown_file(command, &cx.workspace) else { return };
    let verbatim = command.trim_start().starts_with("cat ") && !command.contains(" -");
    let output = output.to_vec();
    let state = std::sync::Arc::clone(&cx.state);
    let noted = tokio::task::spawn_blocking(move || {
        let Ok(content) = std::fs::read(&path) else { return };
        match shown {
            Shown::Whole if verbatim && content != output => {}
            Shown::Whole => state.reads.note_shown(&path, &content),
            Shown::Part => state.reads.note_part_shown(&path, &content),
        }
    });
    if let Err(error) = noted.await {
        tracing::debug!(%error, "what a command showed was not noted");
    }
}

pub(crate) async fn remove_scratch(files: Vec<PathBuf>) {
    // The task only fails when the runtime is going away.
    tokio::task::spawn_blocking(move || remove_files(&files)).await.ok();
}

fn remove_files(files: &[PathBuf]) {
    for file in files {
        // Most never come into being.
        std::fs::remove_file(file).ok();
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
        assert_eq!(ms(&env, Some(700)), 700);
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
