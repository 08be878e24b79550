//! `mcp serve`: our file, search and shell tools for other MCP clients, on stdin and stdout. The client asks its user;
//! deny rules, hooks, the sandbox and what no mode allows by itself apply as in a session. Starts no servers.

use super::args::McpArgs;
use super::{block_on, error_text};
use engine::tool_session::{ToolCallResult, ToolSession};
use engine::{SessionOptions, StartRequest};
use futures_util::future::BoxFuture;
use mcp::serve::{OfferedTool, ServerIdentity, ToolAnswer, ToolProvider};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sys::Env;
use tokio::io::BufReader;
use tokio_util::sync::CancellationToken;
use tools::ToolClass;
use wire::mode::PermissionMode;

/// What is offered, in this order.
const SERVED: [ToolClass; 5] =
    [ToolClass::Shell, ToolClass::Read, ToolClass::Edit, ToolClass::Search, ToolClass::Background];

fn served_names() -> Vec<String> {
    let table = tools::builtin::table();
    let of = |class| table.iter().filter(move |row| row.is_offered && row.tool.spec().facts.class == class);
    SERVED.into_iter().flat_map(of).map(|row| row.tool.spec().name.to_string()).collect()
}

pub(super) fn run(words: &McpArgs, env: &Env) -> Result<(String, u8), String> {
    words.none("mcp serve")?;
    let cwd = sys::launch::cwd(env).map_err(error_text)?;
    let names = served_names();
    let mut options = SessionOptions::default();
    options.tools.offered = Some(names.clone());
    // The client has already asked; deny rules still win.
    options.permissions.allowed = names;
    options.permissions.mode = Some(PermissionMode::Default);
    options.conversation.persist = false;
    options.servers.is_strict = true;
    options.host.entrypoint = "mcp".into();
    let boot = StartRequest { env: env.clone(), cwd, options };
    block_on(serve(boot))??;
    Ok((String::new(), 0))
}

async fn serve(boot: StartRequest) -> Result<(), String> {
    let (session, notices) = ToolSession::open(boot).map_err(|error| error.to_string())?;
    for notice in &notices {
        headless::print_to_stderr(notice);
    }
    let mut tools = ServedTools { session };
    let identity = ServerIdentity { name: "gimlet", version: wire::version::COMPAT.to_owned(), instructions: None };
    let input = BufReader::new(tokio::io::stdin());
    let served = mcp::serve::run(input, tokio::io::stdout(), &identity, &mut tools).await;
    Box::pin(tools.session.close()).await;
    match served {
        // A closed output means that the client has ended normally.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error_text(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

struct ServedTools {
    session: ToolSession,
}

impl ToolProvider for ServedTools {
    fn offers(&self) -> Vec<OfferedTool> {
        let offer = |name: String| {
            let spec = self.session.spec(&name)?;
            Some(OfferedTool {
                name,
                description: spec.description.to_string(),
                schema: serde_json::from_str(&spec.schema).ok()?,
                read_only: !spec.facts.changes,
            })
        };
        served_names().into_iter().filter_map(offer).collect()
    }

    fn call<'a>(
        &'a mut self,
        name: &'a str,
        arguments: Box<RawValue>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            match self.session.call(name, arguments, cancel).await {
                Some(called) => answer(&called),
                None => ToolAnswer {
                    content: vec![json!({"type": "text", "text": "The call could not be recorded."})],
                    structured: None,
                    is_error: true,
                },
            }
        })
    }
}

fn answer(called: &ToolCallResult) -> ToolAnswer {
    let block: Value = serde_json::from_str(called.block.get()).unwrap_or_default();
    let content = match &block["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let is_error = block["is_error"] == Value::Bool(true);
    let structured = called.structured.as_ref().filter(|_| !is_error);
    ToolAnswer { content, structured: structured.and_then(|raw| serde_json::from_str(raw.get()).ok()), is_error }
}

/// Converts a content block of ours to one of MCP.
fn part(block: &Value) -> Option<Value> {
    match block["type"].as_str()? {
        "text" => Some(json!({"type": "text", "text": block["text"]})),
        "image" => {
            Some(json!({"type": "image", "data": block["source"]["data"], "mimeType": block["source"]["media_type"]}))
        }
        "document" => Some(json!({"type": "resource", "resource": {"uri": "gimlet:document",
            "mimeType": block["source"]["media_type"], "blob": block["source"]["data"]}})),
        _ => None,
    }
}
