//! The `result` message and its parts.

use crate::usage::{ModelUsage, Usage};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The last message of every turn.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TurnResult {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub subtype: &'static str,
    pub is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_type: Option<String>,
    pub duration_ms: u64,
    pub duration_api_ms: u64,
    #[serde(flatten)]
    pub times: FirstTimes,
    pub num_turns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
    pub stop_reason: Option<String>,
    pub session_id: String,
    pub total_cost_usd: f64,
    pub usage: Usage,
    #[serde(rename = "modelUsage")]
    pub model_usage: BTreeMap<String, ModelUsage>,
    /// The part of `modelUsage` that was added since the previous result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_usage_since_last_result: Option<BTreeMap<String, ModelUsage>>,
    pub permission_denials: Vec<PermissionDenial>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Box<RawValue>>,
    /// Background tasks that were still running when the run had to end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background_tasks_stopped: Vec<StoppedTask>,
    /// The call that a hook deferred to a later run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred_tool_use: Option<DeferredToolUse>,
    /// Warnings for the user in addition to the answer, for example that the session is not saved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_failure_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message_uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_command: Option<String>,
    /// What started the turn; `None` when it was a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<TurnOrigin>,
    pub queued_turn_count: usize,
    pub result_index: u64,
    pub fast_mode_state: &'static str,
    pub subagent_stats: SubagentStats,
    /// Whether the changes of the turn were checked; `None` when it changed no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_checks: Option<ReportedChecks>,
    /// When the limit of the provider that ended the turn is lifted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_resets_at: Option<String>,
    /// What the user should know about the cost of the turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub x_warnings: Vec<String>,
    /// The budget that ended the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_budget: Option<ReportedBudget>,
    pub uuid: String,
}

/// A budget that is used up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportedBudget {
    /// `turn`, `run`, `session`, `project`, `day` or `month`.
    pub scope: &'static str,
    /// `usd` or `tokens`.
    pub unit: &'static str,
    pub limit: f64,
    pub spent: f64,
}

/// The command that ran after the last change of a file in a turn, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedChecks {
    pub ran_after_last_edit: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<bool>,
}

/// Times from the start of the turn until its first events, in milliseconds. `None`: the event has not happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FirstTimes {
    /// The first event with content from the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<u64>,
    /// The first event of any kind from the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_stream_ms: Option<u64>,
    /// The first request to the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_request_ms: Option<u64>,
    /// The first message or event with content that was sent to the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_content_frame_ms: Option<u64>,
}

/// Counts about the subagents of a session so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubagentStats {
    pub requested: RequestedRuns,
    pub spawned: u64,
    pub started_in_background: u64,
    pub completed: u64,
    pub failed: u64,
    pub killed: SubagentKills,
    pub refused: SubagentRefusals,
    pub by_type: BTreeMap<String, u64>,
    pub max_depth: u32,
    pub spawned_by_subagents: u64,
}

/// How calls asked for an agent to run: in the foreground, in the background, or unspecified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestedRuns {
    pub foreground: u64,
    pub background: u64,
    pub unset: u64,
}

/// Who stopped agents before they had finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubagentKills {
    pub user: u64,
    pub parent: u64,
    pub system: u64,
}

/// Which limit prevented an agent from starting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubagentRefusals {
    pub budget: u64,
    pub concurrency_limit: u64,
    pub depth_limit: u64,
}

/// Background work that did not end in time and was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoppedTask {
    pub task_id: String,
    pub description: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct DeferredToolUse {
    pub id: String,
    pub name: String,
    pub input: Box<RawValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TurnOrigin {
    pub kind: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct PermissionDenial {
    pub tool_name: String,
    pub tool_use_id: String,
    pub tool_input: Box<RawValue>,
}
