//! Requests about files. A host reads what the rules of the session let the Read tool read without a question, and nothing
//! else.

use super::dispatch::{Refusal, Said};
use super::{Control, Front};
use base64::Engine;
use permission::{Access, Decision, Policy, Request};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use wire::control::{ReadFile, SeedReadState};

/// How much of a file a host gets when it does not say.
const READ_BYTES: u64 = 1_000_000;
/// The most it may ask for: the answer is one line.
const MOST_BYTES: u64 = 16 << 20;
/// The end of a task's output.
const OUTPUT_BYTES: u64 = 8 * 1024;

impl Control {
    pub(super) fn read_file(&self, front: &Front, asked: ReadFile) -> Said {
        let Some(policy) = self.board.policy.clone() else { return Said::refused("The session is not ready") };
        let cwd = front.reach.cwd.clone();
        Said::later(move || read(&policy, &cwd, &asked))
    }

    /// A file the host has shown to the model counts as read, when it is still the one that was shown.
    pub(super) fn seed_read(front: &Front, asked: SeedReadState) -> Said {
        let (cwd, state) = (front.reach.cwd.clone(), Arc::clone(&front.reach.state));
        Said::later(move || {
            let path = cwd.join(&asked.path);
            let failed = |error: std::io::Error| Refusal::new(format!("{}: {error}", path.display()));
            let modified = std::fs::metadata(&path).and_then(|meta| meta.modified()).map_err(failed)?;
            let millis = modified.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis());
            if millis <= asked.mtime.max(0.0) as u128 {
                state.reads.note_shown(&path, &sys::fs::read_whole(&path, MOST_BYTES as usize).map_err(failed)?);
            }
            Ok(json!({}))
        })
    }

    pub(super) fn task_output(front: &Front, id: &str) -> Said {
        let Some(task) = front.reach.state.tasks.get(id) else {
            return Said::refused(format!("No task with the id {id} is known"));
        };
        Said::later(move || {
            let mut file = std::fs::File::open(&task.output)
                .map_err(|error| Refusal::new(format!("{}: {error}", task.output.display())))?;
            let tail = tail(&mut file).map_err(|error| Refusal::new(error.to_string()))?;
            Ok(json!({"output": tail.text, "total_bytes": tail.total, "truncated": tail.total > OUTPUT_BYTES}))
        })
    }
}

fn read(policy: &Policy, cwd: &Path, asked: &ReadFile) -> Result<Value, Refusal> {
    let path = may_read(policy, cwd, &asked.path)?;
    let failed = |error: std::io::Error| Refusal::new(format!("{}: {error}", path.display()));
    let most = asked.max_bytes.unwrap_or(READ_BYTES).min(MOST_BYTES);
    let (file, meta) = sys::fs::open_regular(&path).map_err(|error| match error.kind() {
        ErrorKind::IsADirectory | ErrorKind::InvalidInput => Refusal::new(format!("{} is not a file", path.display())),
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

/// The file as it was named, when a Read call of the model would not even be asked about.
fn may_read(policy: &Policy, cwd: &Path, named: &str) -> Result<PathBuf, Refusal> {
    let path = cwd.join(named);
    let accesses = [Access::ReadPath(path.clone())];
    let input = json!({"file_path": path}).to_string();
    let request = Request::new("Read", &accesses).with_input(&input);
    let facts = crate::facts::gather(policy, &request, cwd);
    match policy.decide(&request, &facts) {
        // What was decided is what is opened.
        Decision::Allow(_) => Ok(facts.real_location(&path).map_or(path.clone(), Path::to_path_buf)),
        Decision::Deny(refusal) | Decision::Ask(refusal) => Err(Refusal::new(refusal.message)),
    }
}

struct Tail {
    text: String,
    total: u64,
}

fn tail(file: &mut std::fs::File) -> std::io::Result<Tail> {
    let total = file.metadata()?.len();
    file.seek(SeekFrom::Start(total.saturating_sub(OUTPUT_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_BYTES).read_to_end(&mut bytes)?;
    Ok(Tail { text: String::from_utf8_lossy(&bytes).into_owned(), total })
}
