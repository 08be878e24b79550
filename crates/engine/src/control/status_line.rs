//! The user's status lines: a command of the settings that receives the state of the session and prints what the host
//! shows, and another one for the running agents.
//! The rules of hooks apply to these commands: trust, switches, managed settings. A host that asks again withdraws
//! its earlier request, which kills the command. When a command fails, the line is blank and the reply contains the
//! error.

use super::dispatch::RequestOutcome;
use super::{HostConnection, SessionControl};
use config::ConfigLoader;
use hooks::HandlerEnvironment;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use session_parts::command::RequestRefusal;
use session_parts::hooks::HookRestriction;
use std::ffi::OsString;
use std::path::PathBuf;

use std::time::Duration;
use sys::process::{self, ChildInput, ChildOutput, DescendantPolicy, RunOptions, SpawnSpec, TerminalAccess};
use wire::control::{AgentRow, AgentStatusLine, StatusLine};
use wire::usage::Usage;

const STATUS_LINE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes kept of the beginning and of the end of the output.
const MAX_OUTPUT_BYTES: usize = 32 * 1024;
/// The threshold of `exceeds_200k_tokens`.
const LARGE_CONTEXT_TOKENS: u64 = 200_000;

/// The `statusLine` setting.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusLineSetting {
    #[serde(rename = "type", default)]
    kind: String,
    command: String,
    #[serde(default)]
    padding: u64,
    /// In seconds, at least one.
    #[serde(default)]
    refresh_interval: Option<f64>,
    #[serde(default)]
    hide_vim_mode_indicator: bool,
}

/// Everything needed to run a status line command.
struct StatusLineRun {
    input: String,
    project: (PathBuf, sys::Env, config::SettingsSelection),
    reduced: HookRestriction,
    handler_env: HandlerEnvironment,
    cwd: PathBuf,
}

/// The setting, and the output or the error.
type StatusLineOutput = (StatusLineSetting, Result<String, String>);

impl StatusLineRun {
    fn new(front: &HostConnection, (columns, rows): (u64, u64), input: &Value) -> Self {
        let handles = &front.handles;
        let marks = [
            ("CLAUDECODE", "1".to_owned()),
            ("CLAUDE_CODE_SESSION_ID", handles.session_id.clone()),
            ("CLAUDE_PROJECT_DIR", handles.cwd.display().to_string()),
            ("COLUMNS", columns.to_string()),
            ("LINES", rows.to_string()),
        ];
        Self {
            input: input.to_string(),
            project: (handles.cwd.clone(), handles.base_env.clone(), handles.selection.clone()),
            reduced: handles.reduced,
            handler_env: HandlerEnvironment::new(
                &handles.env,
                &handles.cwd,
                config::environment::SECRET_VARIABLES,
                &marks,
            ),
            cwd: current_dir(front),
        }
    }

    /// Runs the command that the settings declare under `key` now; `None` when there is none.
    async fn run_setting(self, key: &'static str) -> Result<Option<StatusLineOutput>, RequestRefusal> {
        let ((cwd, env, selection), reduced) = (self.project, self.reduced);
        let look = move || {
            let loaded =
                ConfigLoader::open(&cwd, &env, &selection).map_err(|error| RequestRefusal::new(error.to_string()))?;
            Ok(session_parts::hooks::gated_command(&loaded, reduced, key))
        };
        let found = match tokio::task::spawn_blocking(look).await {
            Ok(found) => found?,
            Err(error) => return Err(RequestRefusal::new(format!("The settings could not be read: {error}"))),
        };
        let declared = found.and_then(|value| serde_json::from_value::<StatusLineSetting>(value).ok());
        let Some(declared) = declared.filter(|declared| declared.kind == "command") else { return Ok(None) };
        let said = run(&declared.command, self.input, self.handler_env, self.cwd).await;
        if let Err(why) = &said {
            tracing::warn!("{key} is blank: {why}");
        }
        Ok(Some((declared, said)))
    }
}

impl SessionControl {
    pub(super) fn status_line(&self, front: &HostConnection, asked: &StatusLine) -> RequestOutcome {
        let input = self.status_input(front, asked);
        let ready = StatusLineRun::new(front, (asked.columns, asked.rows), &input);
        RequestOutcome::Later(Box::pin(async move {
            let Some((declared, said)) = ready.run_setting("statusLine").await? else {
                return Ok(json!({"configured": false}));
            };
            let (output, error) = match said {
                Ok(output) => (output, None),
                Err(why) => (String::new(), Some(why)),
            };
            Ok(json!({
                "configured": true, "output": output, "error": error, "padding": declared.padding,
                "refreshIntervalMs": declared.refresh_interval.map(|seconds| (seconds.max(1.0) * 1_000.0) as u64),
                "hideVimModeIndicator": declared.hide_vim_mode_indicator,
            }))
        }))
    }

    /// One run for all agents; the host shows its default row for agents that the output does not name.
    pub(super) fn agent_status_line(&self, front: &HostConnection, asked: &AgentStatusLine) -> RequestOutcome {
        let handles = &front.handles;
        let here = current_dir(front);
        let now = sys::clock::now_ms();
        let task = |row: &AgentRow| {
            json!({
                "id": row.id, "name": row.name, "type": "local_agent", "status": "running",
                "description": row.description, "label": row.label,
                "startTime": now.saturating_sub(row.elapsed_ms), "tokenCount": row.token_count,
                "tokenSamples": row.token_samples, "cwd": here,
            })
        };
        let mut input = json!({
            "session_id": handles.session_id, "transcript_path": handles.transcript.path(), "cwd": here,
            "permission_mode": self.view.rules.read().mode, "columns": asked.columns,
            "tasks": asked.tasks.iter().map(task).collect::<Vec<_>>(),
        });
        if let Some(id) = &self.view.prompt_id {
            input["prompt_id"] = json!(id);
        }
        let ready = StatusLineRun::new(front, (asked.columns, asked.rows), &input);
        RequestOutcome::Later(Box::pin(async move {
            Ok(match ready.run_setting("subagentStatusLine").await? {
                Some((_, said)) => json!({"configured": true, "output": said.unwrap_or_default()}),
                None => json!({"configured": false}),
            })
        }))
    }

    /// The JSON that the command reads on standard input.
    fn status_input(&self, front: &HostConnection, asked: &StatusLine) -> Value {
        let (handles, view) = (&front.handles, &self.view);
        let here = current_dir(front);
        let mut input = Map::new();
        let mut put = |name: &str, value: Value| {
            input.insert(name.to_owned(), value);
        };
        put("session_id", json!(handles.session_id));
        if let Some(name) = &view.name {
            put("session_name", json!(name));
        }
        if let Some(id) = &view.prompt_id {
            put("prompt_id", json!(id));
        }
        put("transcript_path", json!(handles.transcript.path()));
        put("cwd", json!(here));
        put("model", json!({"id": view.model, "display_name": handles.catalog.display_name(&view.model)}));
        put(
            "workspace",
            json!({"current_dir": here, "project_dir": handles.cwd, "added_dirs": view.rules.read().directories}),
        );
        put("version", json!(wire::version::COMPAT));
        put("output_style", json!({"name": view.output_style}));
        put(
            "cost",
            json!({
                "total_cost_usd": handles.ledger.cost(),
                "total_duration_ms": u64::try_from(handles.since.elapsed().as_millis()).unwrap_or(u64::MAX),
                "total_api_duration_ms": view.api_ms,
                "total_lines_added": handles.ledger.lines().0,
                "total_lines_removed": handles.ledger.lines().1,
            }),
        );
        put("context_window", self.window());
        if let Some(cache) = self.prompt_cache() {
            put("prompt_cache", cache);
        }
        let all = view.last_usage.as_ref().map_or(0, |usage| input_tokens(usage) + usage.output_tokens);
        put("exceeds_200k_tokens", json!(all > LARGE_CONTEXT_TOKENS));
        put("fast_mode", json!(false));
        if let Some(level) = view.effort {
            put("effort", json!({"level": level}));
        }
        put("thinking", json!({"enabled": view.thinks}));
        if let Some(agent) = &view.agent {
            put("agent", json!({"name": agent}));
        }
        if let Some(stay) = &view.worktree {
            let mut worktree = json!({
                "name": stay.worktree_name, "path": stay.worktree_path, "original_cwd": stay.original_cwd,
            });
            if let Some(branch) = &stay.worktree_branch {
                worktree["branch"] = json!(branch);
            }
            put("worktree", worktree);
        }
        if let Some(mode) = &asked.vim {
            put("vim", json!({"mode": mode}));
        }
        Value::Object(input)
    }

    /// How many tokens of the last request came from the provider's cache, and when the cache expires. `None` before
    /// the first answer.
    fn prompt_cache(&self) -> Option<Value> {
        let view = &self.view;
        let (usage, ttl) = (view.last_usage.as_ref()?, view.cache_ttl?);
        let expires_at_ms = view.last_at_ms + ttl.millis();
        let read = usage.cache_read_input_tokens;
        Some(json!({
            "warm": sys::clock::now_ms() < expires_at_ms,
            "ttl": ttl.name(),
            "expires_at": expires_at_ms / 1_000,
            "read_tokens": read,
            "write_tokens": usage.cache_creation_input_tokens,
            "hit_percentage": (read * 100).checked_div(input_tokens(usage)).unwrap_or(0),
        }))
    }

    /// The context window as the provider counted the last request; `estimate` is our own count, also before the
    /// first request.
    fn window(&self) -> Value {
        let view = &self.view;
        let size = view.usage.window;
        let totals = self.host.as_ref().map(|front| front.handles.ledger.models()).unwrap_or_default();
        let share = |tokens: u64| (tokens * 100).checked_div(size).unwrap_or(0).min(100);
        let used = view.last_usage.as_ref().map(|usage| share(input_tokens(usage)));
        let current = view.last_usage.as_ref().map(|usage| {
            json!({
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cache_creation_input_tokens": usage.cache_creation_input_tokens,
                "cache_read_input_tokens": usage.cache_read_input_tokens,
            })
        });
        let input = totals.values().map(|m| m.input_tokens + m.cache_creation_input_tokens + m.cache_read_input_tokens);
        json!({
            "total_input_tokens": input.sum::<u64>(),
            "total_output_tokens": totals.values().map(|m| m.output_tokens).sum::<u64>(),
            "context_window_size": size,
            "used_percentage": used,
            "remaining_percentage": used.map(|used| 100 - used),
            "current_usage": current,
            "estimate": {"tokens": view.usage.total(), "used_percentage": view.usage.percentage()},
        })
    }
}

fn input_tokens(usage: &Usage) -> u64 {
    usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
}

fn current_dir(front: &HostConnection) -> PathBuf {
    front.handles.state.cwd.lock().clone()
}

async fn run(command: &str, input: String, environment: HandlerEnvironment, cwd: PathBuf) -> Result<String, String> {
    let spawn = SpawnSpec {
        program: "sh".into(),
        args: vec![OsString::from("-c"), command.into()],
        env: environment.env,
        cwd,
        stdin: ChildInput::Pipe,
        output: ChildOutput::Split,
    };
    let options = RunOptions {
        input: [input.as_bytes(), b"\n"].concat(),
        timeout: STATUS_LINE_TIMEOUT,
        grace: Duration::from_millis(100),
        keep: MAX_OUTPUT_BYTES,
        descendants: DescendantPolicy::End,
        terminal: TerminalAccess::None,
    };
    let finished = process::run(spawn, options).await.map_err(|error| format!("it did not start: {error}"))?;
    if finished.timed_out {
        return Err(format!("it ran longer than {} s", STATUS_LINE_TIMEOUT.as_secs()));
    }
    if finished.exit.code != Some(0) {
        let complaint = String::from_utf8_lossy(&finished.stderr.to_bytes()).trim().to_owned();
        return Err(format!("exit {:?} {complaint}", finished.exit.code));
    }
    Ok(String::from_utf8_lossy(&finished.stdout.to_bytes()).into_owned())
}
