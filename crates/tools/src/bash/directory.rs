//! The shell's directory between calls. It persists inside the workspace; it is reset to the project when a command
//! leaves the workspace or when the directory no longer exists.

use crate::contract::{CallContext, Workspace};
use crate::task_folder::{self, MAX_PATH};
use std::path::{Path, PathBuf};
use sys::process::ChildReport;

/// The scratch files of one command: first the one for its directory, then the one for its text. They are in the
/// first writable folder. The flag is true when the directory file was created.
pub(super) fn scratch(cx: &CallContext, id: &str) -> ([PathBuf; 2], bool) {
    let facts = &cx.state.facts;
    let names = |dir: &Path| [dir.join(format!(".{id}.cwd")), dir.join(format!(".{id}.sh"))];
    // In a sandbox the command may write its directory report to this folder only.
    if let Some(temp) = cx.sandbox.as_deref().and_then(|cage| cage.temp.as_ref()) {
        let files = names(temp);
        let made = task_folder::report_file(&files[0]).is_ok();
        return (files, made);
    }
    let others = [facts.session_dir.join("tool-results")];
    let held = cx.state.folders.lock_folder(&facts.tasks_dir).is_ok();
    let folders = std::iter::once(&facts.tasks_dir).filter(|_| held).chain(&others);
    for files in folders.map(|dir| names(dir)) {
        if task_folder::report_file(&files[0]).is_ok() {
            return (files, true);
        }
    }
    (names(&facts.tasks_dir), false)
}

/// The directory a command starts in. `reset` is a notice when this is not the directory of the last command.
pub(super) struct StartDirectory {
    pub(super) cwd: PathBuf,
    pub(super) reset: Option<String>,
}

pub(super) fn current(cx: &CallContext) -> PathBuf {
    cx.state.cwd.lock().clone()
}

fn set(cx: &CallContext, dir: PathBuf) {
    *cx.state.cwd.lock() = dir;
}

fn reset_notice(dir: &Path) -> String {
    format!("Shell cwd was reset to {}", dir.display())
}

/// The directory to start in. A directory that no longer exists is replaced by the project's.
pub(super) fn start_directory(cx: &CallContext) -> StartDirectory {
    let cwd = current(cx);
    if cwd.is_dir() || cwd == cx.workspace.project {
        return StartDirectory { cwd, reset: None };
    }
    let project = cx.workspace.project.clone();
    set(cx, project.clone());
    StartDirectory { reset: Some(reset_notice(&project)), cwd: project }
}

/// What became of the directory after a command.
pub(super) enum DirectoryChange {
    Entered(PathBuf),
    /// It was reset; the text is the notice.
    Reset(String),
}

/// Applies the directory the shell ended in; `None` when it is the same as before.
pub(super) async fn apply_directory(
    cx: &CallContext,
    scratch: Vec<PathBuf>,
    report: Option<ChildReport>,
) -> Option<DirectoryChange> {
    let before = current(cx);
    let workspace = cx.workspace.clone();
    let ended_in = tokio::task::spawn_blocking(move || {
        // A sandboxed command can write anything to the report.
        let text = match report {
            Some(report) => report.take(MAX_PATH),
            None => {
                scratch.first().and_then(|file| sys::fs::read_limited(file, MAX_PATH).ok()).unwrap_or_default().bytes
            }
        };
        crate::shell::running::remove_files(&scratch);
        let now = parse_report(text)?;
        let changed = now != before && before.canonicalize().ok().as_ref() != Some(&now);
        changed.then(|| (is_inside(&now, &workspace), now))
    });
    let (inside, now) = ended_in.await.ok()??;
    // An agent's shell always starts in the agent's directory.
    if cx.state.facts.agent_id.is_some() {
        return None;
    }
    let project = &cx.workspace.project;
    if cx.state.facts.env.is_on("CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR") {
        set(cx, project.clone());
        return None;
    }
    if inside {
        set(cx, now.clone());
        return Some(DirectoryChange::Entered(now));
    }
    set(cx, project.clone());
    Some(DirectoryChange::Reset(reset_notice(project)))
}

/// The path at the beginning of a report. The report file is filled with NULs in advance; they are ignored.
fn parse_report(mut text: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    text.truncate(memchr::memchr(0, &text).unwrap_or(text.len()));
    if text.pop() != Some(b'\n') || !text.starts_with(b"/") {
        return None;
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(text)))
}

fn is_inside(dir: &Path, workspace: &Workspace) -> bool {
    std::iter::once(&workspace.project)
        .chain(&workspace.additional)
        .any(|root| dir.starts_with(root) || root.canonicalize().is_ok_and(|root| dir.starts_with(root)))
}
