//! Failures before a session exists. stderr gets one line; stream-json output also gets a result line, because an
//! exit code alone would not name the cause.

use crate::run::OutputFormat;
use crate::stdio::print_to_stderr;
use std::io::{BufRead, Write};
use std::time::Duration;
use wire::sdk::{FirstTimes, SdkMessage, SubagentStats, TurnResult};
use wire::usage::Usage;

/// How long to wait for the host's first line when the session could not start.
const HOST_LINE_TIMEOUT: Duration = Duration::from_secs(2);

/// Reports `message`; `reason` is the `startup_failure_reason` of the protocol.
pub fn report(output: OutputFormat, session_id: &str, message: &str, reason: Option<&'static str>) {
    print_to_stderr(message);
    if output != OutputFormat::StreamJson {
        return;
    }
    if let Some(line) = line(session_id, message, reason) {
        std::io::stdout().lock().write_all(format!("{line}\n").as_bytes()).ok();
    }
}

/// Waits for the host's first line, the end of input, or `HOST_LINE_TIMEOUT`. Hosts write before they read: a host
/// whose first write fails would never read the reason.
pub(crate) async fn wait_for_host_line() {
    let (heard, hearing) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        std::io::stdin().lock().read_until(b'\n', &mut Vec::new()).ok();
        heard.send(()).ok();
    });
    tokio::time::timeout(HOST_LINE_TIMEOUT, hearing).await.ok();
}

/// The result line of a session that could not start.
pub(crate) fn line(session_id: &str, message: &str, reason: Option<&'static str>) -> Option<String> {
    SdkMessage::Result(Box::new(failure(session_id, message, reason))).to_line().ok()
}

fn failure(session_id: &str, message: &str, reason: Option<&'static str>) -> TurnResult {
    TurnResult {
        kind: "result",
        subtype: "error_during_execution",
        is_error: true,
        api_error_status: None,
        api_error_type: None,
        duration_ms: 0,
        duration_api_ms: 0,
        times: FirstTimes::default(),
        num_turns: 0,
        background_tasks_stopped: Vec::new(),
        result: None,
        errors: Some(vec![message.to_owned()]),
        stop_reason: None,
        session_id: session_id.to_owned(),
        total_cost_usd: 0.0,
        usage: Usage::default(),
        model_usage: std::collections::BTreeMap::new(),
        model_usage_since_last_result: None,
        permission_denials: Vec::new(),
        structured_output: None,
        deferred_tool_use: None,
        warnings: Vec::new(),
        terminal_reason: None,
        startup_failure_reason: reason,
        x_checks: None,
        x_resets_at: None,
        x_warnings: Vec::new(),
        x_budget: None,
        user_message_uuid: None,
        local_command: None,
        origin: None,
        queued_turn_count: 0,
        result_index: 0,
        fast_mode_state: "off",
        subagent_stats: SubagentStats::default(),
        uuid: sys::id::uuid(),
    }
}
