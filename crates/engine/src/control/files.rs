//! Requests about files. A host may read only what the session's rules let the Read tool read without a question.

use super::dispatch::RequestOutcome;
use super::{HostConnection, SessionControl};
use base64::Engine;
use permission::{Access, PermissionDecision, PermissionQuery, Policy};
use serde_json::{Value, json};
use session_parts::command::RequestRefusal;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use wire::control::{ReadFile, SeedReadState};

/// Bytes of a file a host gets by default.
const DEFAULT_READ_BYTES: u64 = 1_000_000;
/// Maximum number of bytes a host may ask for: the answer is one line.
const MAX_READ_BYTES: u64 = 16 << 20;
/// Bytes returned from the end of a task's output.
const OUTPUT_TAIL_BYTES: u64 = 8 * 1024;

impl SessionControl {
    pub(super) fn read_file(&self, front: &HostConnection, asked: ReadFile) -> RequestOutcome {
        let Some(policy) = self.view.rules.read().policy.clone() else {
            return RequestOutcome::refused("The session is not ready");
        };
        let cwd = front.handles.cwd.clone();
        RequestOutcome::later(move || read(&policy, &cwd, &asked))
    }

    /// Marks a file that the host has shown to the model as read, if it has not changed since.
    pub(super) fn seed_read(front: &HostConnection, asked: SeedReadState) -> RequestOutcome {
        let (cwd, state) = (front.handles.cwd.clone(), Arc::clone(&front.handles.state));
        RequestOutcome::later(move || {
            let path = cwd.join(&asked.path);
            let failed = |error: std::io::Error| RequestRefusal::new(format!("{}: {error}", path.display()));
            let modified = std::fs::metadata(&path).and_then(|meta| meta.modified()).map_err(failed)?;
            let millis = modified.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis());
            if millis <= asked.mtime.max(0.0) as u128 {
                state.reads.record_shown(&path, &sys::fs::read_whole(&path, MAX_READ_BYTES as usize).map_err(failed)?);
            }
            Ok(json!({}))
        })
    }

    pub(super) fn task_output(front: &HostConnection, id: &str) -> RequestOutcome {
        let Some(task) = front.handles.state.tasks.get(id) else {
            return RequestOutcome::refused(format!("No task with the id {id} is known"));
        };
        RequestOutcome::later(move || {
            let mut file = std::fs::File::open(&task.output)
                .map_err(|error| RequestRefusal::new(format!("{}: {error}", task.output.display())))?;
            let tail = tail(&mut file).map_err(|error| RequestRefusal::new(error.to_string()))?;
            Ok(json!({"output": tail.text, "total_bytes": tail.total, "truncated": tail.total > OUTPUT_TAIL_BYTES}))
        })
    }
}

fn read(policy: &Policy, cwd: &Path, asked: &ReadFile) -> Result<Value, RequestRefusal> {
    let path = may_read(policy, cwd, &asked.path)?;
    let failed = |error: std::io::Error| RequestRefusal::new(format!("{}: {error}", path.display()));
    let most = asked.max_bytes.unwrap_or(DEFAULT_READ_BYTES).min(MAX_READ_BYTES);
    let (file, meta) = sys::fs::open_regular(&path).map_err(|error| match error.kind() {
        ErrorKind::IsADirectory | ErrorKind::InvalidInput => {
            RequestRefusal::new(format!("{} is not a file", path.display()))
        }
        _ => failed(error),
    })?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    let mut reply = json!({"absPath": path});
    if meta.len() > most {
        reply["truncated"] = json!(true);
    }
    if asked.encoding.as_deref() == Some("base64") {
        reply["contents"] = json!(base64::engine::general_purpose::STANDARD.encode(&bytes));
        reply["encoding"] = json!("base64");
        return Ok(reply);
    }
    let text = String::from_utf8_lossy(&bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        reply["lossy"] = json!(true);
    }
    reply["contents"] = json!(text);
    Ok(reply)
}

/// The resolved path of a file, when a Read call of the model would be allowed without a question.
fn may_read(policy: &Policy, cwd: &Path, named: &str) -> Result<PathBuf, RequestRefusal> {
    let path = cwd.join(named);
    let accesses = [Access::ReadPath(path.clone())];
    let input = json!({"file_path": path}).to_string();
    let request = PermissionQuery::reading(&accesses).with_input(&input);
    let facts = session_parts::facts::gather(policy, &request, cwd);
    match policy.decide(&request, &facts) {
        // The path that was decided about is the one that is opened.
        PermissionDecision::Allow(_) => Ok(facts.real_location(&path).map_or(path.clone(), Path::to_path_buf)),
        PermissionDecision::Deny(refusal) | PermissionDecision::Ask(refusal) => {
            Err(RequestRefusal::new(refusal.message))
        }
    }
}

struct OutputTail {
    text: String,
    total: u64,
}

fn tail(file: &mut std::fs::File) -> std::io::Result<OutputTail> {
    let total = file.metadata()?.len();
    file.seek(SeekFrom::Start(total.saturating_sub(OUTPUT_TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(OutputTail { text: String::from_utf8_lossy(&bytes).into_owned(), total })
}
