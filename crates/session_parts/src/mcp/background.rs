//! MCP calls that take long. In a session with a person, a call of the main thread moves to the background after a
//! while or when the person asks for it; its result says where the output will be, and the model is notified of the end. An
//! interrupt ends a foreground call, never a background one. Calls of agents stay in the foreground, and so does a
//! call whose server has a question open.

use super::{SessionServers, outcome, refusal};
use futures_util::future::BoxFuture;
use mcp::{CallError, CallResult, McpHost, RemoteTool};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use sys::Env;
use tokio_util::sync::CancellationToken;
use tools::foreign_text::defused;
use tools::tasks::{SessionTasks, TaskEnd, TaskRecord, TaskStatus, may_background};
use tools::{CallContext, ToolOutcome};
use wire::block::{ContentBlock, MessageContent};

/// Default of `CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS`.
const AUTO_BACKGROUND_MS: u64 = 120_000;
/// How often an open question is checked again.
const QUESTION_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Who uses the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionAudience {
    ByPerson,
    /// Scripts and programs expect the result of the call itself, unless they set `CLAUDE_AUTO_BACKGROUND_TASKS`.
    ByProgram,
}

/// How long a call stays in the foreground; `None`: to its end.
pub fn background_after(env: &Env, watched: SessionAudience) -> Option<Duration> {
    let wanted = watched == SessionAudience::ByPerson || env.is_on("CLAUDE_AUTO_BACKGROUND_TASKS");
    let ms = env.number("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS").unwrap_or(AUTO_BACKGROUND_MS);
    (wanted && ms > 0 && may_background(env)).then(|| Duration::from_millis(ms))
}

/// A running call.
struct BackgroundMcpCall {
    remote: Arc<RemoteTool>,
    answer: BoxFuture<'static, Result<CallResult, CallError>>,
    /// Cancels the call at the server.
    cancel: CancellationToken,
    servers: Arc<SessionServers>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BackgroundCause {
    Person,
    Time,
}

pub(super) async fn run(
    servers: &Arc<SessionServers>,
    (host, remote): (McpHost, Arc<RemoteTool>),
    arguments: Map<String, Value>,
    cx: CallContext,
) -> ToolOutcome {
    let cancel = CancellationToken::new();
    let (token, tool) = (cancel.clone(), Arc::clone(&remote));
    let answer = Box::pin(async move { host.call(&tool.server, &tool.name, arguments, &token).await });
    let mut call = BackgroundMcpCall { remote, answer, cancel, servers: Arc::clone(servers) };
    let stays = cx.state.facts.agent_id.is_some() || !may_background(&cx.state.facts.env);
    let place = (!stays).then(|| cx.state.tasks.foreground.enter(&cx.id, cx.state.facts.agent_id.as_deref()));
    let released = async {
        match &place {
            Some(place) => place.released().await,
            None => std::future::pending().await,
        }
    };
    let by = tokio::select! {
        biased;
        done = &mut call.answer => return finish(done, &call.remote, servers, &cx).await,
        () = cx.cancel.cancelled() => {
            call.cancel.cancel();
            return finish(call.answer.await, &call.remote, servers, &cx).await;
        }
        () = released => BackgroundCause::Person,
        () = wait_until_overdue(servers), if !stays => BackgroundCause::Time,
    };
    drop(place);
    call.move_to_background(by, cx).await
}

/// Returns when the call should move to the background.
async fn wait_until_overdue(servers: &SessionServers) {
    let Some(timeout) = servers.background_after else { return std::future::pending().await };
    tokio::time::sleep(timeout).await;
    while servers.owner.is_asking() {
        tokio::time::sleep(QUESTION_POLL_INTERVAL).await;
    }
}

impl BackgroundMcpCall {
    /// Continues the call as a task; its result is written to a file of the session.
    async fn move_to_background(self, by: BackgroundCause, cx: CallContext) -> ToolOutcome {
        let dir = cx.state.facts.session_dir.clone();
        let made = tokio::task::spawn_blocking(move || tools::spill::create_as(&dir, "txt")).await;
        let (file, path) = match made.map_err(std::io::Error::other).flatten() {
            Ok(made) => made,
            Err(error) => {
                tracing::warn!(%error, "there is no place for the result of a call, so it is waited for");
                return finish(self.answer.await, &self.remote, &self.servers, &cx).await;
            }
        };
        let task = self.task(&cx, path.clone());
        let id = task.id.clone();
        let text = format!(
            "The call takes long and goes on in the background as task {id}. You will be told when it ends; its result will be in {}. Do \
             not wait for it and do not make it again.",
            path.display()
        );
        let tasks = Arc::clone(&cx.state.tasks);
        tasks.take_over(task, |stop| Box::pin(self.await_end(stop, file, cx)));
        let mut structured = json!({"backgroundTaskId": id, "outputFile": path});
        if by == BackgroundCause::Person {
            structured["backgroundedByUser"] = true.into();
        }
        ToolOutcome::text(text, wire::raw::to_raw(&structured).ok())
    }

    fn task(&self, cx: &CallContext, output: PathBuf) -> TaskRecord {
        TaskRecord {
            id: SessionTasks::new_id(),
            kind: "mcp_task",
            command: self.remote.exposed.clone(),
            description: format!("{}: {}", self.remote.server, self.remote.name),
            tool_use_id: cx.id.clone(),
            output,
            status: TaskStatus::Running,
            exit_code: None,
            note: None,
            started_at_ms: sys::clock::now_ms(),
            ended_at_ms: None,
            owner: None,
            agent: None,
        }
    }

    async fn await_end(mut self, stop: CancellationToken, mut file: std::fs::File, cx: CallContext) -> TaskEnd {
        let done = tokio::select! {
            done = &mut self.answer => done,
            () = stop.cancelled() => {
                self.cancel.cancel();
                self.answer.await
            }
        };
        let was_stopped = matches!(done, Err(CallError::Cancelled));
        let outcome = finish(done, &self.remote, &self.servers, &cx).await;
        let status = match (was_stopped, outcome.is_error) {
            (true, _) => TaskStatus::Killed,
            (false, true) => TaskStatus::Failed,
            (false, false) => TaskStatus::Completed,
        };
        // The result does not pass through `tools::masked_calls::run`, so it is masked here.
        let text = cx.state.masking.mask().text(&shown(&outcome.content)).into_owned();
        let written = tokio::task::spawn_blocking(move || file.write_all(text.as_bytes())).await;
        let failed = written.map_err(std::io::Error::other).flatten().err();
        TaskEnd { note: failed.map(|error| format!("its result could not be saved: {error}")), ..TaskEnd::new(status) }
    }
}

/// The parts of a result that a text file can contain.
fn shown(content: &MessageContent) -> String {
    let blocks = match content {
        MessageContent::Text(text) => return text.clone(),
        MessageContent::Blocks(blocks) => blocks,
    };
    let line = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::Image { .. } => "[a picture, which cannot be shown here]".to_owned(),
        ContentBlock::Document { .. } => "[a document, which cannot be shown here]".to_owned(),
        ContentBlock::ToolReference { .. } => String::new(),
    };
    blocks.iter().map(line).collect::<Vec<_>>().join("\n")
}

async fn finish(
    done: Result<CallResult, CallError>,
    remote: &RemoteTool,
    servers: &SessionServers,
    cx: &CallContext,
) -> ToolOutcome {
    let (outcome, is_refused) = match done {
        Ok(result) => {
            let outcome = outcome::from_result(result, remote, cx).await;
            let is_refused = refusal::is_about_input(&outcome);
            (outcome, is_refused)
        }
        Err(CallError::Cancelled) => return ToolOutcome::failed("The call was interrupted by the user."),
        Err(error) => (ToolOutcome::failed(defused(error.to_string())), refusal::is_refused(&error)),
    };
    if is_refused { refusal::with_schema(outcome, remote, servers, cx) } else { outcome }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_somebody_waits_or_asked_for_it() {
        // [TST-210]
        let of =
            |pairs: &[(&str, &str)], watched| background_after(&Env::default().with(pairs.iter().copied()), watched);
        assert_eq!(of(&[], SessionAudience::ByPerson), Some(Duration::from_mins(2)));
        assert_eq!(of(&[], SessionAudience::ByProgram), None);
        assert_eq!(
            of(&[("CLAUDE_AUTO_BACKGROUND_TASKS", "1")], SessionAudience::ByProgram),
            Some(Duration::from_mins(2))
        );
        assert_eq!(of(&[("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS", "0")], SessionAudience::ByPerson), None);
        let short = of(&[("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS", "50")], SessionAudience::ByPerson);
        assert_eq!(short, Some(Duration::from_millis(50)));
        assert_eq!(of(&[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")], SessionAudience::ByPerson), None);
    }
}
