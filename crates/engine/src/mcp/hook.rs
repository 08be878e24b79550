//! Hooks that are tools of servers. The tool's text counts as the hook's output; a server that is not there, or a tool that
//! fails, blocks nothing. Nobody is sent to sign in.

use super::Servers;
use hooks::{Job, McpTool, Ran};
use mcp::Part;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub(crate) async fn run(servers: &Servers, tool: &McpTool, job: &Job) -> Ran {
    let failed = |why: String| Ran::Failed { why };
    let payload: Value = serde_json::from_str(&job.payload).unwrap_or_default();
    let arguments: Map<String, Value> = tool.input.iter().map(|(k, v)| (k.clone(), filled(v, &payload))).collect();
    servers.begin_rest();
    let limit = servers.host.connect_limit().min(job.timeout);
    servers.host.settle(limit, |view| view.name == tool.server).await;
    // The caller keeps the time and drops this future, which tells the server.
    let done = servers.host.call(&tool.server, &tool.tool, arguments, &CancellationToken::new()).await;
    match done {
        Ok(result) => {
            let text = |part: &Part| match part {
                Part::Text(text) => Some(text.clone()),
                _ => None,
            };
            let body = result.content.iter().filter_map(text).collect::<Vec<_>>().join("\n");
            if result.is_error { failed(body) } else { Ran::Replied { body } }
        }
        Err(error) => failed(error.to_string()),
    }
}

/// `${tool_input.file_path}` in any string stands for that field of the payload.
fn filled(value: &Value, payload: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text, payload)),
        Value::Array(list) => list.iter().map(|value| filled(value, payload)).collect(),
        Value::Object(map) => Value::Object(map.iter().map(|(k, v)| (k.clone(), filled(v, payload))).collect()),
        other => other.clone(),
    }
}

fn fill(text: &str, payload: &Value) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((path, tail)) = after.split_once('}') else { break };
        out.push_str(before);
        let found = path.split('.').try_fold(payload, |value, key| value.get(key));
        match found {
            Some(Value::String(text)) => out.push_str(text),
            Some(Value::Null) | None => {}
            Some(other) => out.push_str(&other.to_string()),
        }
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // [EXT-41]
    #[test]
    fn fields_of_the_payload_are_filled_in() {
        let payload = json!({"tool_input": {"file_path": "/a b", "n": 3}});
        let input = json!({"path": "see ${tool_input.file_path}!", "list": ["${tool_input.n}", "${nope}", "${open"]});
        assert_eq!(filled(&input, &payload), json!({"path": "see /a b!", "list": ["3", "", "${open"]}));
    }
}
