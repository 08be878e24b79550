//! What the session itself knows after a compaction, told as it is now: place, mode, changed files, failing commands, open
//! lists, the plan, and what runs in the background. None of it comes from the summary.

use super::failing_check;
use crate::session::SessionIo;
use session_parts::carried::{CarriedRecord, ChangedFile};
use session_parts::messages::Attachment;
use session_parts::prompts;
use std::fmt::Write;
use std::path::Path;
use tools::tasks::TaskRecord;

const MAX_FILES: usize = 100;

pub(super) fn attachment(carried: &CarriedRecord, io: &SessionIo) -> Option<Attachment> {
    let mut parts = vec![format!("{}\n\n{}", prompts::RECORDED_FACTS, place(io))];
    parts.extend(files(&carried.files, io));
    parts.extend(Some(failing_check::quoted(&carried.failed)).filter(|text| !text.is_empty()));
    parts.extend(io.knowledge.checks.describe());
    let plan = &io.knowledge.plan.file;
    parts.extend(plan.is_file().then(|| format!("The plan is in {}.", plan.display())));
    parts.extend(list("Your todo list", &todos(io)));
    parts.extend(list("Your task list", &crate::session::reminders::open_listed_tasks(io)));
    parts.extend(list("Still running in the background", &running(io)));
    Attachment::note("x_facts", prompts::reminder(&parts.join("\n\n")))
}

fn list(heading: &str, lines: &[String]) -> Option<String> {
    (!lines.is_empty()).then(|| format!("{heading}:\n{}", lines.join("\n")))
}

fn place(io: &SessionIo) -> String {
    let cwd = io.tooling.state.cwd.lock().clone();
    let mut text = format!("Working directory: {}", cwd.display());
    let branch = sys::git::branch(&cwd);
    if !branch.is_empty() {
        write!(text, ", branch {branch}").ok();
    }
    if let Some(stay) = &io.tooling.active_worktree {
        let record = stay.record();
        write!(text, ", worktree {} of {}", record.worktree_path, record.original_cwd).ok();
    }
    write!(text, "\nPermission mode: {}", io.rules.mode().as_str()).ok();
    text
}

fn files(changed: &[ChangedFile], io: &SessionIo) -> Option<String> {
    let cwd = io.tooling.state.cwd.lock().clone();
    let line = |file: &ChangedFile| {
        let path = Path::new(&file.path);
        let shown = path.strip_prefix(&cwd).unwrap_or(path).display().to_string();
        let gone = if path.exists() { "" } else { ", no longer there" };
        format!("- {shown} +{} −{}{gone}", file.added, file.removed)
    };
    let mut lines: Vec<String> = changed.iter().take(MAX_FILES).map(line).collect();
    if changed.len() > MAX_FILES {
        lines.push(format!("- and {} more", changed.len() - MAX_FILES));
    }
    list("Files changed so far", &lines)
}

fn todos(io: &SessionIo) -> Vec<String> {
    let all = io.tooling.state.todos.snapshot();
    if all.iter().all(|todo| todo.status == "completed") {
        return Vec::new();
    }
    all.iter().map(|todo| format!("- [{}] {}", todo.status, todo.content)).collect()
}

fn running(io: &SessionIo) -> Vec<String> {
    let mut tasks = io.tooling.state.tasks.running();
    tasks.retain(|task| task.owner.as_deref() == io.output.host.agent_id());
    tasks.iter().map(running_line).collect()
}

/// A task with the file that shows how far it is.
fn running_line(task: &TaskRecord) -> String {
    format!("- {}: {} (output so far: {})", task.id, task.description, task.output.display())
}
