//! `--permission-prompt-tool mcp__server__tool`: an MCP tool decides instead of a person. It receives the tool's
//! name, its input and the id of the call, and returns one text block with its decision as JSON.

use super::SessionServers;
use crate::permission_prompt::{AfterDenial, PermissionReply};
use mcp::ResultPart;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The call that the tool decides about.
pub struct PromptToolRequest {
    pub tool_name: String,
    pub input: Box<RawValue>,
    pub tool_use_id: String,
    /// The call needs a person's consent.
    pub needs_person: bool,
}

/// The tool's decision; an error when the tool does not exist.
pub async fn judge(
    servers: Arc<SessionServers>,
    prompt_tool: String,
    asked: PromptToolRequest,
    cancel: CancellationToken,
) -> Result<PermissionReply, String> {
    servers.begin_rest();
    let of_server = |name: &str| prompt_tool.starts_with(&format!("{}__", mcp::exposed_server(name)));
    tokio::select! {
        () = servers.host.wait_until_connected(servers.host.connect_limit(), |view| of_server(&view.name)) => {}
        () = cancel.cancelled() => return Ok(PermissionReply::Withdrawn),
    }
    let tools: Vec<_> = servers.host.views().into_iter().flat_map(|view| view.tools.to_vec()).collect();
    let Some(tool) = tools.iter().find(|tool| tool.exposed == prompt_tool) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.exposed.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(format!(
            "Error: MCP tool {prompt_tool} (passed via --permission-prompt-tool) not found. Available MCP tools: {known}"
        ));
    };
    let input: Value = serde_json::from_str(asked.input.get()).unwrap_or_default();
    let Value::Object(arguments) =
        json!({"tool_name": asked.tool_name, "input": input, "tool_use_id": asked.tool_use_id})
    else {
        return Ok(refused("the question could not be written"));
    };
    Ok(match servers.host.call(&tool.server, &tool.name, arguments as Map<String, Value>, &cancel).await {
        Ok(result) => verdict(&result, asked.needs_person),
        Err(mcp::CallError::Cancelled) => PermissionReply::Withdrawn,
        Err(error) => refused(&error.to_string()),
    })
}

fn verdict(result: &mcp::CallResult, needs_person: bool) -> PermissionReply {
    let text = result.content.iter().find_map(|part| match part {
        ResultPart::Text(text) => Some(text),
        _ => None,
    });
    let Some(text) = text.filter(|_| !result.is_error) else { return refused("the permission tool gave no verdict") };
    let Ok(verdict) = RawValue::from_string(text.trim().to_owned()) else {
        return refused("the permission tool's verdict is not JSON");
    };
    match PermissionReply::parse(&verdict) {
        PermissionReply::Allow { .. } if needs_person => PermissionReply::Deny {
            message: "MCP tool requires user interaction; not supported via --permission-prompt-tool".into(),
            then: AfterDenial::GoOn,
        },
        reply => reply,
    }
}

fn refused(why: &str) -> PermissionReply {
    PermissionReply::Deny { message: format!("Permission was not given: {why}"), then: AfterDenial::GoOn }
}
