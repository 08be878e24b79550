//! Requests that take more than one exchange: the server asks for input before it continues (revision 2026-07-28),
//! or returns a task that is polled until it ends. The caller sees one request with one answer.
//!
//! State that a server wants back is returned unchanged, with this request only.

use crate::client::Answerer;
use crate::error::CallError;
use crate::link::ServerLink;
use rmcp::model::{ClientRequest, CustomRequest};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Most rounds of input for one request.
const MAX_ROUNDS: usize = 10;
/// Time between two polls of a task, unless the server specifies it.
const DEFAULT_POLL: Duration = Duration::from_secs(1);
const SHORTEST_POLL: Duration = Duration::from_millis(50);
const LONGEST_POLL: Duration = Duration::from_secs(30);
/// A task is lost after this many failed polls in a row.
const MAX_FAILED_POLLS: u32 = 5;

/// What the next attempt of a request sends back to the server.
#[derive(Debug, Default)]
pub(crate) struct CarriedInput {
    pub(crate) responses: Option<BTreeMap<String, Value>>,
    pub(crate) state: Option<String>,
}

/// The kind of an answer.
enum AnswerKind {
    Whole,
    InputRequired,
    Task,
}

impl AnswerKind {
    fn of(answer: &Value) -> Self {
        match answer.get("resultType").and_then(Value::as_str) {
            Some("input_required") => Self::InputRequired,
            Some("task") => Self::Task,
            // Revision 2025-11-25 puts the task into a separate field.
            None if answer.pointer("/task/taskId").is_some() => Self::Task,
            Some(_) | None => Self::Whole,
        }
    }
}

impl ServerLink {
    /// Sends the request that `make` builds, again with the input the server asked for, until there is an answer.
    pub(crate) async fn complete(
        &self,
        make: impl Fn(CarriedInput) -> ClientRequest,
        cancel: &CancellationToken,
    ) -> Result<Value, CallError> {
        let mut carried = CarriedInput::default();
        let mut empty_rounds = 0;
        for _ in 0..MAX_ROUNDS {
            let mut answer = self.call(make(carried), cancel).await?;
            match AnswerKind::of(&answer) {
                AnswerKind::Whole => return Ok(answer),
                AnswerKind::Task => return self.await_task(&answer, cancel).await,
                AnswerKind::InputRequired => {}
            }
            let state = answer.get("requestState").and_then(Value::as_str).map(str::to_owned);
            let requests = match answer.get_mut("inputRequests").map(Value::take) {
                Some(Value::Object(requests)) => requests,
                _ => Map::new(),
            };
            if requests.is_empty() {
                if state.is_none() {
                    return Err(self.failed("it asks for input and does not say for which"));
                }
                pause(empty_rounds, cancel).await?;
                empty_rounds += 1;
            }
            let responses = self.answers(requests, cancel).await?;
            carried = CarriedInput { responses: (!responses.is_empty()).then_some(responses), state };
        }
        Err(self.failed(&format!("it asked for input {MAX_ROUNDS} times and did not answer")))
    }

    /// Answers the requests of a server, under the names it gave them.
    async fn answers(
        &self,
        requests: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<BTreeMap<String, Value>, CallError> {
        let answerer = Answerer { server: &self.server, owner: &self.owner };
        let mut responses = BTreeMap::new();
        for (name, request) in requests {
            let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
            let params = request.get("params").cloned().unwrap_or_default();
            let response = match method {
                "elicitation/create" => answerer.elicit(&params, cancel.cancelled()).await,
                "roots/list" => answerer.roots(),
                other => return Err(self.failed(&format!("it asks for {other:?}, which is not offered"))),
            };
            if cancel.is_cancelled() {
                return Err(CallError::Cancelled);
            }
            responses.insert(name, response);
        }
        Ok(responses)
    }

    /// Polls a task until it ends.
    async fn await_task(&self, created: &Value, cancel: &CancellationToken) -> Result<Value, CallError> {
        // Revision 2026-07-28 has the task fields at the top level, and the result in the task state.
        let inline = created.get("resultType").is_some();
        let task = if inline { created } else { created.get("task").unwrap_or(created) };
        let id = task.get("taskId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let started = Instant::now();
        let mut every = interval(task).unwrap_or(DEFAULT_POLL);
        let mut failures = 0;
        loop {
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = cancel.cancelled() => {
                    self.cancel_task(&id).await;
                    return Err(CallError::Cancelled);
                }
            }
            if started.elapsed() > self.limits.total {
                self.cancel_task(&id).await;
                return Err(CallError::TimedOut { server: self.server.clone(), after: self.limits.total });
            }
            let state = match self.ask(of_task("tasks/get", &id), self.list_limit).await {
                Ok(state) => state,
                Err(CallError::Failed { .. } | CallError::TimedOut { .. }) if failures < MAX_FAILED_POLLS => {
                    failures += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            failures = 0;
            every = interval(&state).unwrap_or(every);
            if let Some(ended) = self.look_at_task(&id, state, inline, cancel).await? {
                return Ok(ended);
            }
        }
    }

    /// The result when the task has ended; `None` while it runs.
    async fn look_at_task(
        &self,
        id: &str,
        mut state: Value,
        inline: bool,
        cancel: &CancellationToken,
    ) -> Result<Option<Value>, CallError> {
        let status = state.get("status").and_then(Value::as_str).unwrap_or_default().to_owned();
        match status.as_str() {
            "completed" if inline => Ok(state.get_mut("result").map(Value::take).or(Some(Value::Null))),
            "failed" if inline => Err(refused(&state)),
            "input_required" if inline => {
                let requests = match state.get_mut("inputRequests").map(Value::take) {
                    Some(Value::Object(requests)) => requests,
                    _ => Map::new(),
                };
                let responses = self.answers(requests, cancel).await?;
                let params = json!({"taskId": id, "inputResponses": responses});
                self.ask(CustomRequest::new("tasks/update", Some(params)).into(), self.list_limit).await?;
                Ok(None)
            }
            "cancelled" => Err(self.failed("it cancelled the task of this call")),
            // The result is requested; a server that needs input asks for it while that request is open.
            "completed" | "failed" | "input_required" => self.call(of_task("tasks/result", id), cancel).await.map(Some),
            _ => Ok(None),
        }
    }

    async fn cancel_task(&self, id: &str) {
        let told = self.ask(of_task("tasks/cancel", id), Duration::from_millis(500));
        if let Err(error) = told.await {
            tracing::debug!(server = self.server, %error, "the task could not be cancelled");
        }
    }

    fn failed(&self, why: &str) -> CallError {
        CallError::Failed { server: self.server.clone(), why: why.to_owned() }
    }
}

fn of_task(method: &str, id: &str) -> ClientRequest {
    CustomRequest::new(method, Some(json!({"taskId": id}))).into()
}

/// The poll interval the server specifies, within our limits; `None` when it specifies none.
fn interval(task: &Value) -> Option<Duration> {
    let given = ["pollIntervalMs", "pollInterval"].into_iter().find_map(|name| task.get(name)?.as_u64())?;
    Some(Duration::from_millis(given).clamp(SHORTEST_POLL, LONGEST_POLL))
}

fn refused(state: &Value) -> CallError {
    let error = state.get("error").unwrap_or(&Value::Null);
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    CallError::Refused {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: text(error, "message")
            .or_else(|| text(state, "statusMessage"))
            .unwrap_or_else(|| "the task failed".into()),
    }
}

/// Pauses before the next attempt when a server wants only its state back.
async fn pause(rounds: u32, cancel: &CancellationToken) -> Result<(), CallError> {
    let wait = Duration::from_millis(50 << rounds.min(4));
    tokio::select! {
        () = tokio::time::sleep(wait) => Ok(()),
        () = cancel.cancelled() => Err(CallError::Cancelled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // [F-B7] [F-B11]
    #[test]
    fn answers_are_told_apart() {
        let kind = |value: Value| match AnswerKind::of(&value) {
            AnswerKind::Whole => "whole",
            AnswerKind::InputRequired => "input",
            AnswerKind::Task => "task",
        };
        assert_eq!(kind(json!({"content": []})), "whole");
        assert_eq!(kind(json!({"resultType": "complete", "content": []})), "whole");
        assert_eq!(kind(json!({"resultType": "input_required", "requestState": "s"})), "input");
        assert_eq!(kind(json!({"resultType": "task", "taskId": "t"})), "task");
        assert_eq!(kind(json!({"task": {"taskId": "t", "status": "working"}})), "task");
        // A result may contain a field with that name.
        assert_eq!(kind(json!({"content": [], "task": "buy milk"})), "whole");
    }

    #[test]
    fn tasks_are_asked_after_at_a_bearable_pace() {
        assert_eq!(interval(&json!({})), None);
        assert_eq!(interval(&json!({"pollInterval": 0})), Some(SHORTEST_POLL));
        assert_eq!(interval(&json!({"pollIntervalMs": 400})), Some(Duration::from_millis(400)));
        assert_eq!(interval(&json!({"pollIntervalMs": 9_000_000})), Some(LONGEST_POLL));
    }
}
