//! Handlers that call an MCP tool. Its text counts like the standard output of a command. A server that is missing or
//! refuses is reported and blocks nothing; the user is not asked to sign in.

use futures_util::future::BoxFuture;
use hooks::{HandlerJob, HandlerResult, McpToolHandler};
use serde_json::{Map, Value};
use wire::hooks::{BlockEffect, HookEventName};

/// The MCP servers of a session, for hooks.
pub trait ServerTools: Send + Sync {
    /// The text of the tool's result, or why there is none.
    fn call(&self, call: ServerToolCall) -> BoxFuture<'_, Result<String, String>>;
}

/// One call of an MCP tool.
pub struct ServerToolCall {
    pub server: String,
    pub tool: String,
    pub input: Map<String, Value>,
    pub connect_wait: ConnectWait,
}

/// Whether to wait for a server that is still connecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectWait {
    Waits,
    None,
}

pub(super) async fn run(servers: Option<&dyn ServerTools>, tool: &McpToolHandler, job: &HandlerJob) -> HandlerResult {
    let payload: Value = serde_json::from_str(&job.payload).unwrap_or_default();
    if is_too_early(job.entry.event, &payload) {
        return HandlerResult::Cancelled;
    }
    let Some(servers) = servers else {
        return HandlerResult::Failed { why: format!("MCP server {} is not there", tool.server) };
    };
    let timeout = match job.entry.event.facts().blocks {
        BlockEffect::Action | BlockEffect::Stopping | BlockEffect::Loop => ConnectWait::Waits,
        BlockEffect::TellsModel | BlockEffect::TellsUser | BlockEffect::Nothing => ConnectWait::None,
    };
    let call = ServerToolCall {
        server: tool.server.clone(),
        tool: tool.tool.clone(),
        input: fill(&tool.input, &payload),
        connect_wait: timeout,
    };
    match servers.call(call).await {
        Ok(stdout) => HandlerResult::Exited { code: Some(0), stdout, stderr: String::new(), cut: false },
        Err(why) => HandlerResult::Failed { why },
    }
}

/// At launch no server is connected, and the start does not wait for one.
fn is_too_early(event: HookEventName, payload: &Value) -> bool {
    let launched = || matches!(payload["source"].as_str(), Some("startup" | "resume" | "fork"));
    event == HookEventName::Setup || (event == HookEventName::SessionStart && launched())
}

/// Replaces `${dotted.path}` in strings by the value in the event's payload.
fn fill(input: &Map<String, Value>, payload: &Value) -> Map<String, Value> {
    input.iter().map(|(key, value)| (key.clone(), filled(value, payload))).collect()
}

fn filled(value: &Value, payload: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text_of(text, payload)),
        Value::Array(items) => Value::Array(items.iter().map(|item| filled(item, payload)).collect()),
        Value::Object(fields) => Value::Object(fill(fields, payload)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn text_of(text: &str, payload: &Value) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((path, tail)) = after.split_once('}') else { break };
        out.push_str(before);
        match path.split('.').try_fold(payload, |at, part| at.get(part)) {
            Some(Value::String(found)) => out.push_str(found),
            Some(Value::Null) | None => {}
            Some(other) => out.push_str(&other.to_string()),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // [EXT-41]
    #[test]
    fn the_event_fills_the_input() {
        let payload = json!({"tool_input": {"file_path": "/a b", "n": 3}, "cwd": "/c"});
        let input = json!({"path": "${tool_input.file_path}!", "deep": {"list": ["${cwd}", "${nothing}", "$x ${open"]}, "n": "${tool_input.n}"});
        let filled = fill(input.as_object().unwrap(), &payload);
        assert_eq!(
            Value::Object(filled),
            json!({"path": "/a b!", "deep": {"list": ["/c", "", "$x ${open"]}, "n": "3"})
        );
    }
}
