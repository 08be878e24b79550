//! Messages about background tasks and agents.

use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct TaskStarted {
    pub task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<String>,
    pub is_backgrounded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawn_depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
    pub task_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TaskProgress {
    pub task_id: String,
    pub run_id: String,
    pub tool_use_id: String,
    pub description: String,
    pub subagent_type: String,
    pub usage: TaskUsage,
    pub last_tool_name: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct TaskNotification {
    pub task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    pub status: &'static str,
    pub output_file: String,
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TaskUsage>,
}

/// The cost of a task so far. Tokens are those of its last request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskUsage {
    pub total_tokens: u64,
    pub tool_uses: u64,
    pub duration_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackgroundTask {
    pub task_id: String,
    pub task_type: &'static str,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TaskPatch {
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<u64>,
}
