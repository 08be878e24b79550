//! What MCP servers cost: a call over stdio beyond what any call costs, and a start with many servers that nobody uses.

use super::start::TURN;
use super::table::{Amount, Row};
use super::turns::{CALLS, call_gap};
use super::{Bench, medians, reply};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/cli/tests/fixtures/mcp_server.py");
const UNUSED: usize = 20;
/// A server that is used is waited for; calls of it need no leave.
const USED: &str = r#"{"env": {"ENABLE_TOOL_SEARCH": "false"}, "permissions": {"allow": ["mcp__s0"]}}"#;
/// Their tools are deferred, as they are with the API itself.
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
        declare(state, kept, 1)?;
        call_gap(bench, |_| ("mcp__s0__echo", json!({"text": "x"})))
    };
    let plain = || {
        restore(state, kept)?;
        call_gap(bench, |number| ("Read", json!({"file_path": project.join(format!("plain_{number}.txt"))})))
    };
    let (remote, plain) = medians(bench.few(), remote, plain)?;
    let hello = [reply::text(["Hello."])];
    std::fs::write(settings, DEFERRED)?;
    let many = || {
        declare(state, kept, UNUSED)?;
        bench.server.script(&hello);
        bench.to_first_request(&TURN)
    };
    let none = || {
        restore(state, kept)?;
        bench.server.script(&hello);
        bench.to_first_request(&TURN)
    };
    let (many, none) = medians(bench.times(), many, none)?;
    Ok(vec![
        Row::new("MCP call over stdio, beyond a Read", Amount::Time(remote.saturating_sub(plain)))
            .peer("Read", Amount::Time(plain))
            .budget(Amount::ms(1.0)),
        Row::new("20 unused MCP servers, to first request", Amount::Time(many.saturating_sub(none)))
            .peer("none", Amount::Time(none))
            .budget(Amount::ms(5.0)),
    ])
}

/// The user's state with so many servers.
fn declare(state: &Path, kept: Option<&[u8]>, count: usize) -> Result<()> {
    let mut value: Value = kept.and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_else(|| json!({}));
    let server = json!({"command": "python3", "args": [SERVER]});
    value["mcpServers"] =
        (0..count).map(|n| (format!("s{n}"), server.clone())).collect::<serde_json::Map<_, _>>().into();
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
