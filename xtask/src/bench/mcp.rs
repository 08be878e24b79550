//! The cost of MCP servers: a call over stdio compared with other calls, a start with many unused servers, and a
//! start with many servers that the first request waits for.

use super::start::TURN;
use super::table::{Amount, Row};
use super::turns::{CALLS, call_gap};
use super::{Bench, medians, reply};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/cli/tests/fixtures/mcp_server.py");
const MANY: usize = 20;
/// The server is used, so the first request waits for it; its calls need no permission question.
const USED: &str = r#"{"env": {"ENABLE_TOOL_SEARCH": "false"}, "permissions": {"allow": ["mcp__s0"]}}"#;
/// All tools are sent, so the first request waits for their servers.
const AWAITED: &str = r#"{"env": {"ENABLE_TOOL_SEARCH": "false"}}"#;
/// The tools are deferred, as they are by default with the API.
const DEFERRED: &str = r#"{"env": {"ENABLE_TOOL_SEARCH": "true"}}"#;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let (settings, state) = (bench.place.config().join("settings.json"), bench.place.config().join(".claude.json"));
    let kept = std::fs::read(&state).ok();
    let measured = measure(bench, (&settings, &state), kept.as_deref());
    restore(&state, kept.as_deref())?;
    std::fs::remove_file(&settings)?;
    measured
}

fn measure(bench: &Bench, (settings, state): (&Path, &Path), kept: Option<&[u8]>) -> Result<Vec<Row>> {
    let project = bench.place.project();
    for number in 0..=CALLS {
        std::fs::write(project.join(format!("plain_{number}.txt")), "one line of text\n")?;
    }
    std::fs::write(settings, USED)?;
    let remote = || {
        declare(state, kept, (1, &python()))?;
        call_gap(bench, |_| ("mcp__s0__echo", json!({"text": "x"})))
    };
    let plain = || {
        restore(state, kept)?;
        call_gap(bench, |number| ("Read", json!({"file_path": project.join(format!("plain_{number}.txt"))})))
    };
    let (remote, plain) = medians(bench.few(), remote, plain)?;
    let hello = [reply::text(["Hello."])];
    std::fs::write(settings, DEFERRED)?;
    let none = || {
        restore(state, kept)?;
        bench.server.script(&hello);
        bench.to_first_request(&TURN)
    };
    let many = |server: &Value| {
        declare(state, kept, (MANY, server))?;
        bench.server.script(&hello);
        bench.to_first_request(&TURN)
    };
    let (deferred, without) = medians(bench.times(), || many(&python()), none)?;
    let off = || {
        declare(state, kept, (MANY, &python()))?;
        switch_off(state, &project)?;
        bench.server.script(&hello);
        bench.to_first_request(&TURN)
    };
    let (disabled, beside) = medians(bench.times(), off, none)?;
    std::fs::write(settings, AWAITED)?;
    let stub = json!({"command": std::env::current_exe()?, "args": ["bench", STUB]});
    let (awaited, alone) = medians(bench.few(), || many(&stub), none)?;
    let each = awaited.saturating_sub(alone) / u32::try_from(MANY)?;
    Ok(vec![
        Row::new("MCP call over stdio, beyond a Read", Amount::Time(remote.saturating_sub(plain)))
            .peer("Read", Amount::Time(plain))
            .budget(Amount::ms(1.0)),
        Row::new("20 deferred MCP servers, to first request", Amount::Time(deferred.saturating_sub(without)))
            .peer("none", Amount::Time(without))
            .budget(Amount::ms(5.0)),
        Row::new("20 disabled MCP servers, to first request", Amount::Time(disabled.saturating_sub(beside)))
            .peer("none", Amount::Time(beside))
            .budget(Amount::ms(5.0)),
        Row::new("MCP server that answers at once, each of 20, to first request", Amount::Time(each))
            .peer("none", Amount::Time(alone))
            .budget(Amount::ms(10.0)),
    ])
}

fn python() -> Value {
    json!({"command": "python3", "args": [SERVER]})
}

/// Writes the user's state with `count` servers.
fn declare(state: &Path, kept: Option<&[u8]>, (count, server): (usize, &Value)) -> Result<()> {
    let mut value: Value = kept.and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_else(|| json!({}));
    value["mcpServers"] =
        (0..count).map(|n| (format!("s{n}"), server.clone())).collect::<serde_json::Map<_, _>>().into();
    Ok(std::fs::write(state, value.to_string())?)
}

/// Disables the same servers in this folder.
fn switch_off(state: &Path, project: &Path) -> Result<()> {
    let mut value: Value = serde_json::from_slice(&std::fs::read(state)?)?;
    let names: Vec<String> = (0..MANY).map(|n| format!("s{n}")).collect();
    value["projects"][project.display().to_string()]["disabledMcpServers"] = json!(names);
    Ok(std::fs::write(state, value.to_string())?)
}

fn restore(state: &Path, kept: Option<&[u8]>) -> Result<()> {
    match kept {
        Some(text) => std::fs::write(state, text)?,
        None if state.exists() => std::fs::remove_file(state)?,
        None => {}
    }
    Ok(())
}

/// The hidden subcommand that makes this program a server which answers at once.
pub(super) const STUB: &str = "mcp-stub";

/// Answers the handshake and the lists with minimal results, until its input ends.
pub(super) fn stub() -> Result<()> {
    for line in std::io::stdin().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let Some(id) = asked.get("id") else { continue };
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "stub", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": [{"name": "nothing", "inputSchema": {"type": "object"}}]}),
            _ => json!({}),
        };
        println!("{}", json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }
    Ok(())
}
