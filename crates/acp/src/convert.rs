//! Converts the client's prompts, MCP servers and modes into those of the engine.

use crate::protocol::{ContentBlock, EmbeddedResource, McpServer, NamedValue, SessionMode, SessionModeState};
use serde_json::{Value, json};

/// The modes a session can be switched to: id, name, description.
const MODES: [(&str, &str, &str); 5] = [
    ("default", "Manual", "Ask before edits and commands that are not allowed yet"),
    ("acceptEdits", "Accept edits", "Edit files in the project without asking"),
    ("plan", "Plan", "Read and plan; change nothing"),
    ("dontAsk", "Don't ask", "Refuse what is not allowed already instead of asking"),
    ("bypassPermissions", "Bypass permissions", "Ask for nothing"),
];

pub(crate) fn modes(current: &str, bypass_allowed: bool) -> SessionModeState {
    let offered = MODES.iter().filter(|(id, ..)| bypass_allowed || *id != "bypassPermissions");
    let available_modes = offered.map(|&(id, name, description)| SessionMode { id, name, description }).collect();
    SessionModeState { current_mode_id: current.to_owned(), available_modes }
}

/// Converts a prompt into content blocks of the Messages API.
pub(crate) fn prompt(blocks: &[ContentBlock]) -> Value {
    Value::Array(blocks.iter().map(block).collect())
}

fn block(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text { text } => text_block(text),
        ContentBlock::Image { data, mime_type } => json!({
            "type": "image",
            "source": {"type": "base64", "media_type": mime_type, "data": data},
        }),
        ContentBlock::ResourceLink { name, uri } => text_block(&mention(uri, name)),
        ContentBlock::Resource { resource: EmbeddedResource::Text { uri, text } } => {
            text_block(&format!("<context ref=\"{uri}\">\n{text}\n</context>"))
        }
        ContentBlock::Resource { resource: EmbeddedResource::Blob { uri, .. } } => {
            text_block(&format!("[{uri} is attached as binary data, which cannot be shown here]"))
        }
        ContentBlock::Audio {} => text_block("[Audio cannot be heard by the model and was left out]"),
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A file becomes an `@path` mention, so that the model can read it; any other address becomes a link.
fn mention(uri: &str, name: &str) -> String {
    match uri.strip_prefix("file://") {
        Some(path) => format!("@{}", unescaped(path)),
        None => format!("[{name}]({uri})"),
    }
}

/// Decodes percent escapes that are complete, where the result is valid UTF-8.
fn unescaped(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let escape = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = escape.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

/// The servers in the format of `--mcp-config`; `None` when there are none.
pub(crate) fn mcp_config(servers: &[McpServer]) -> Option<String> {
    let declared: serde_json::Map<String, Value> = servers.iter().map(server).collect();
    (!declared.is_empty()).then(|| json!({"mcpServers": declared}).to_string())
}

fn server(server: &McpServer) -> (String, Value) {
    let pairs = |list: &[NamedValue]| -> serde_json::Map<String, Value> {
        list.iter().map(|pair| (pair.name.clone(), pair.value.clone().into())).collect()
    };
    match server {
        McpServer::Stdio { name, command, args, env } => {
            (name.clone(), json!({"type": "stdio", "command": command, "args": args, "env": pairs(env)}))
        }
        McpServer::Remote { kind, name, url, headers } => {
            (name.clone(), json!({"type": kind, "url": url, "headers": pairs(headers)}))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(json: Value) -> Vec<ContentBlock> {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn prompts_become_blocks_of_the_api() {
        let sent = blocks(json!([
            {"type": "text", "text": "look at"},
            {"type": "resource_link", "name": "a b.rs", "uri": "file:///tmp/a%20b.rs"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///x.txt", "text": "seen"}},
        ]));
        let told = prompt(&sent);
        assert_eq!(told[0]["text"], "look at");
        assert_eq!(told[1]["text"], "@/tmp/a b.rs");
        assert_eq!(told[2]["source"], json!({"type": "base64", "media_type": "image/png", "data": "AAAA"}));
        assert_eq!(told[3]["text"], "<context ref=\"file:///x.txt\">\nseen\n</context>");
    }

    #[test]
    fn broken_escapes_stay_as_they_are() {
        assert_eq!(unescaped("/a%2"), "/a%2");
        assert_eq!(unescaped("/a%zz%41"), "/a%zzA");
        assert_eq!(unescaped("/%ff"), "/%ff");
    }

    #[test]
    fn servers_become_declarations() {
        let servers: Vec<McpServer> = serde_json::from_value(json!([
            {"name": "one", "command": "/bin/one", "args": ["-x"], "env": [{"name": "K", "value": "v"}]},
            {"type": "http", "name": "two", "url": "http://127.0.0.1:1/mcp", "headers": []},
        ]))
        .unwrap();
        let config: Value = serde_json::from_str(&mcp_config(&servers).unwrap()).unwrap();
        assert_eq!(
            config["mcpServers"]["one"],
            json!({"type": "stdio", "command": "/bin/one", "args": ["-x"], "env": {"K": "v"}})
        );
        assert_eq!(config["mcpServers"]["two"]["type"], "http");
        assert_eq!(mcp_config(&[]), None);
    }
}
