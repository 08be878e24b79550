//! What requests to go back do on disk; the session then continues its conversation from there (`session::rewind`).

use serde_json::{Value, json};
use session_parts::rewind::{self, DiffDetail, RewindReport};
use std::path::PathBuf;
use store::checkpoints::{CheckpointLog, OverwriteChoice, PromptPoint, RewindPart, RewindRequest, RewindTarget};
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
            let path = self.transcript.path();
            // Before the first prompt there is no file.
            let log = if path.exists() {
                CheckpointLog::read(path).map_err(|error| error.to_string())?
            } else {
                CheckpointLog::empty(path)
            };
            let request = rewind::request(&StoreLayout::new(&self.env), &log, &self.allowed);
            work(&request, &log)
        });
        worked.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

/// What goes back. A branch is taken up without its files unless they are asked for.
pub(crate) fn part(asked: &RewindConversation) -> Option<RewindPart> {
    let usual = if asked.branch == Some(true) { "conversation" } else { "both" };
    match asked.part.as_deref().unwrap_or(usual) {
        "code" => Some(RewindPart::Code),
        "conversation" => Some(RewindPart::Conversation),
        "both" => Some(RewindPart::Both),
        _ => None,
    }
}

fn find<'a>(log: &'a CheckpointLog, asked: &RewindConversation) -> Result<RewindTarget<'a>, String> {
    let name = &asked.to;
    if asked.branch == Some(true) {
        let unknown = || format!("No branch of this conversation ends with {name}");
        return log.branches.iter().find(|branch| branch.leaf == *name).map(RewindTarget::Branch).ok_or_else(unknown);
    }
    let unknown = || format!("There is no prompt {name} in this conversation");
    log.find(name).map(RewindTarget::Before).ok_or_else(unknown)
}

/// What a request would do.
pub(crate) fn preview(
    request: &RewindRequest,
    log: &CheckpointLog,
    asked: &RewindConversation,
    part: RewindPart,
) -> Result<Value, String> {
    let target = find(log, asked)?;
    let mut report = RewindReport::default();
    if part.has_code() {
        report = rewind::preview(request, log, target, DiffDetail::Hunks).map_err(|error| error.to_string())?;
    }
    let mut planned = json!({"report": report});
    if let RewindTarget::Before(point) = target {
        planned["prompt"] = rewind::prompt(point);
    }
    Ok(planned)
}

/// What was done.
pub(crate) struct StoredRewind {
    pub(crate) report: RewindReport,
    /// Where the conversation ended before.
    pub(crate) left: Option<String>,
    pub(crate) leaf: Option<String>,
    /// The lists of that point, as far as the transcript knows them.
    pub(crate) lists: Option<Value>,
    /// The prompt that was gone back to, and its content.
    pub(crate) prompt: Option<(PromptPoint, String)>,
}

pub(crate) fn rewind_stored(
    request: &RewindRequest,
    log: &CheckpointLog,
    asked: &RewindConversation,
    part: RewindPart,
) -> Result<StoredRewind, String> {
    let target = find(log, asked)?;
    let overwrite = OverwriteChoice::These(asked.overwrite.iter().map(PathBuf::from).collect());
    let (leaf, prompt) = match target {
        RewindTarget::Before(point) => {
            let content = log.content(point).map_err(|error| error.to_string())?;
            (point.parent.clone(), Some((point.clone(), content)))
        }
        RewindTarget::Branch(branch) => (Some(branch.leaf.clone()), None),
    };
    let report = rewind::apply(request, log, target, part, &overwrite).map_err(|error| error.to_string())?;
    let lists = log.lists_at(target).cloned();
    Ok(StoredRewind { report, left: log.leaf.clone(), leaf, lists, prompt })
}
