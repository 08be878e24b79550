//! Transcript lines for hooks that ran: which hook, its output and its outcome. They are for readers of the
//! transcript; they are never sent to the model.

use hooks::{HookOutcome, HookReport, MergedAnswer};
use serde_json::json;
use serde_json::value::RawValue;

/// Maximum bytes kept of a hook's output.
const KEPT: usize = 10_000;

/// One `attachment` object per run and per message to the user. Objections have separate lines.
pub fn lines(merged: &MergedAnswer, tool_use_id: Option<&str>) -> Vec<Box<RawValue>> {
    let id = |hook: &str| tool_use_id.unwrap_or(hook).to_owned();
    let objects = |report: &&HookReport| {
        merged.blocks.iter().any(|b| b.description == report.description && b.hook == report.name)
    };
    let runs = merged.reports.iter().filter(|report| !objects(report)).filter_map(|report| {
        let kind = match report.outcome {
            HookOutcome::Success => "hook_success",
            HookOutcome::Error => "hook_non_blocking_error",
            HookOutcome::Cancelled => return None,
        };
        wire::raw::to_raw(&json!({
            "type": kind,
            "hookName": report.name,
            "hookEvent": report.event.as_str(),
            "toolUseID": id(&report.name),
            "content": "",
            "command": report.description,
            "stdout": cut(&report.stdout),
            "stderr": cut(&report.stderr),
            "exitCode": report.exit_code,
            "durationMs": report.duration_ms,
        }))
        .ok()
    });
    let event = merged.reports.first().map(|report| report.event.as_str());
    let messages = merged.messages.iter().filter_map(|message| {
        let line = json!({
            "type": "hook_system_message",
            "content": cut(&message.text),
            "hookName": message.hook,
            "hookEvent": event,
            "toolUseID": id(&message.hook),
        });
        wire::raw::to_raw(&line).ok()
    });
    runs.chain(messages).collect()
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(KEPT)]
}
