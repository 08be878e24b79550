//! What is sent to the model again after a compaction: files it had read, its open work, and what runs in the
//! background.

use crate::session::SessionIo;
use model::estimate;
use session_parts::messages::Attachment;
use session_parts::prompts;
use std::path::Path;
use tools::tasks::TaskRecord;

const MAX_FILES: usize = 5;
/// Files share a budget; no single file takes more than this many tokens.
const MAX_FILE_TOKENS: u64 = 5_000;

/// Only the files attached here still count as read: an edit requires that the context contains the file.
pub(super) fn attachments(io: &SessionIo, budget: u64) -> Vec<Attachment> {
    let mut left = budget;
    let mut shown = Vec::new();
    let mut notes = Vec::new();
    for path in io.tooling.state.reads.recent(MAX_FILES) {
        let Some(text) = readable(&path, io) else { continue };
        let cost = estimate::text(text.len());
        if cost > MAX_FILE_TOKENS.min(left) {
            continue;
        }
        left -= cost;
        notes.extend(Attachment::note("x_recent_file", prompts::recent_file(&path.display().to_string(), &text)));
        shown.push(path);
    }
    io.tooling.state.reads.forget_all_but(&shown);
    notes.extend(todos(io));
    notes.extend(listed_tasks(io));
    notes.extend(running(io));
    let checks = io.knowledge.checks.describe();
    notes.extend(checks.and_then(|checks| Attachment::note("x_checks", prompts::reminder(&checks))));
    notes
}

/// The current content of the file; `None` when a rule hides it or it is too large.
fn readable(path: &Path, io: &SessionIo) -> Option<String> {
    if io.rules.policy().hides(path, &sys::real_path::path(path)) {
        return None;
    }
    let text = sys::fs::read_text(path, MAX_FILE_TOKENS as usize * 8).ok()?;
    io.tooling.state.reads.record_shown(path, text.as_bytes());
    Some(text)
}

fn todos(io: &SessionIo) -> Option<Attachment> {
    let list = io.tooling.state.todos.snapshot();
    if list.iter().all(|todo| todo.status == "completed") {
        return None;
    }
    let lines: Vec<String> = list.iter().map(|todo| format!("- [{}] {}", todo.status, todo.content)).collect();
    Attachment::note("x_todo_list", prompts::unfinished_list("Your todo list", &lines))
}

fn listed_tasks(io: &SessionIo) -> Option<Attachment> {
    let lines = crate::session::reminders::open_listed_tasks(io);
    (!lines.is_empty()).then(|| Attachment::note("x_task_list", prompts::unfinished_list("Your task list", &lines)))?
}

fn running(io: &SessionIo) -> Option<Attachment> {
    let mut tasks = io.tooling.state.tasks.running();
    tasks.retain(|task| task.owner.as_deref() == io.output.host.agent_id());
    if tasks.is_empty() {
        return None;
    }
    let lines: Vec<String> = tasks.iter().map(running_line).collect();
    Attachment::note("x_background_tasks", prompts::unfinished_list("Still running in the background", &lines))
}

/// A task with the file that shows how far it is.
fn running_line(task: &TaskRecord) -> String {
    format!("- {}: {} (output so far: {})", task.id, task.description, task.output.display())
}
