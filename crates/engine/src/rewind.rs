//! What requests to go back do on disk; the session then continues its conversation from there (`session::rewind`).

use serde_json::{Value, json};
use session_parts::rewind::{self, DiffDetail, RewindReport};
use std::path::PathBuf;
use store::checkpoints::{CheckpointLog, OverwriteChoice, PromptPoint, RewindPart, RewindRequest};
use store::{StoreLayout, Transcript};
use sys::Env;
use wire::control::RewindConversation;

/// Where a rewind works.
pub(crate) struct RewindPlace {
    pub(crate) transcript: Transcript,
    pub(crate) env: Env,
    /// Folders whose files may be changed because the transcript says so.
    pub(crate) allowed: Vec<PathBuf>,
}

impl RewindPlace {
    /// Calls `work` with the transcript as it is now, on a thread that may wait.
    pub(crate) async fn with_log<T: Send + 'static>(
        self,
        work: impl FnOnce(&RewindRequest, &CheckpointLog) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        self.transcript.flush().await.map_err(|error| error.to_string())?;
        let worked = tokio::task::spawn_blocking(move || {
            let log = CheckpointLog::read(self.transcript.path()).map_err(|error| error.to_string())?;
            let request = rewind::request(&StoreLayout::new(&self.env), &log, &self.allowed);
            work(&request, &log)
        });
        worked.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

pub(crate) fn part(name: Option<&str>) -> Option<RewindPart> {
    match name.unwrap_or("both") {
        "code" => Some(RewindPart::Code),
        "conversation" => Some(RewindPart::Conversation),
        "both" => Some(RewindPart::Both),
        _ => None,
    }
}

fn find<'a>(log: &'a CheckpointLog, name: &str) -> Result<&'a PromptPoint, String> {
    log.find(name).ok_or_else(|| format!("There is no prompt {name} in this conversation"))
}

/// What a request would do.
pub(crate) fn preview(
    request: &RewindRequest,
    log: &CheckpointLog,
    asked: &RewindConversation,
    part: RewindPart,
) -> Result<Value, String> {
    let point = find(log, &asked.to)?;
    let mut report = RewindReport::default();
    if part.has_code() {
        report = rewind::preview(request, log, point, DiffDetail::Hunks).map_err(|error| error.to_string())?;
    }
    Ok(json!({"prompt": rewind::prompt(point), "report": report}))
}

/// What was done.
pub(crate) struct StoredRewind {
    pub(crate) report: RewindReport,
    pub(crate) leaf: Option<String>,
    /// The prompt that was gone back to, and its content.
    pub(crate) prompt: Option<(PromptPoint, String)>,
}

pub(crate) fn rewind_stored(
    request: &RewindRequest,
    log: &CheckpointLog,
    asked: &RewindConversation,
    part: RewindPart,
) -> Result<StoredRewind, String> {
    if asked.branch == Some(true) {
        let unknown = || format!("No branch of this conversation ends with {}", asked.to);
        let branch = log.branches.iter().find(|branch| branch.leaf == asked.to).ok_or_else(unknown)?;
        RewindRequest::take_up(log, branch).map_err(|error| error.to_string())?;
        return Ok(StoredRewind { report: RewindReport::default(), leaf: Some(branch.leaf.clone()), prompt: None });
    }
    let point = find(log, &asked.to)?;
    let overwrite = OverwriteChoice::These(asked.overwrite.iter().map(PathBuf::from).collect());
    let content = log.content(point).map_err(|error| error.to_string())?;
    let report = rewind::apply(request, log, point, part, &overwrite).map_err(|error| error.to_string())?;
    Ok(StoredRewind { report, leaf: point.parent.clone(), prompt: Some((point.clone(), content)) })
}
