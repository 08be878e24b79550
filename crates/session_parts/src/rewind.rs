//! Going back to a prompt, for everybody who offers it: the command line, the requests of hosts, the terminal. What
//! would change or has changed comes as one report with counts of lines.

use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use store::StoreLayout;
use store::checkpoints::{
    CheckpointLog, OverwriteChoice, PromptPoint, RewindError, RewindPart, RewindPlan, RewindRequest, RewindTarget,
};
use store::snapshots::{PathState, RestoreProblem};
use tools::patch::{self, DiffHunk};

/// In bytes. Lines of larger files are not counted.
const MAX_COUNTED_BYTES: usize = 4 << 20;

/// What would be done to one path, or was done.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RewoundFile {
    pub path: PathBuf,
    pub change: FileReturn,
    /// Lines that come back.
    pub insertions: u64,
    /// Lines that go.
    pub deletions: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<DiffHunk>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileReturn {
    Restored,
    Removed,
}

/// How much a report says about each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffDetail {
    Counts,
    Hunks,
}

/// What a rewind does.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RewindReport {
    pub files: Vec<RewoundFile>,
    pub insertions: u64,
    pub deletions: u64,
    /// Changed by somebody else since: they stay, or would stay.
    pub kept: Vec<PathBuf>,
    /// What replacing these would change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept_changes: Vec<RewoundFile>,
    pub problems: Vec<PathProblem>,
    /// How many of them are links.
    pub skipped_links: usize,
    pub not_covered: Vec<NotCovered>,
    /// Outside of the folders of the session: left alone.
    pub outside: Vec<PathBuf>,
    /// The change with which this rewind can be taken back.
    pub id: Option<String>,
    /// Rewinds of killed processes that were finished first.
    pub finished: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathProblem {
    pub path: PathBuf,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotCovered {
    pub what: String,
    pub why: String,
}

/// A request for the conversation in `log`. `allowed` are folders that may be changed because a transcript says so; the
/// folder of the session counts as well when the transcript lies where that folder's sessions are kept.
pub fn request(layout: &StoreLayout, log: &CheckpointLog, allowed: &[PathBuf]) -> RewindRequest {
    let own = log.cwd.as_deref().map(PathBuf::from);
    let is_at_home = |dir: &PathBuf| log.path.parent() == Some(layout.project_dir(dir).as_path());
    let mut roots: Vec<PathBuf> = allowed.iter().map(|dir| real(dir)).collect();
    roots.extend(own.iter().filter(|dir| is_at_home(dir)).map(|dir| real(dir)));
    let base = own.or_else(|| allowed.first().cloned()).unwrap_or_default();
    RewindRequest { config_home: layout.home().to_path_buf(), base: real(&base), roots }
}

fn real(dir: &Path) -> PathBuf {
    std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf())
}

/// What going back would do to the files now.
pub fn preview(
    request: &RewindRequest,
    log: &CheckpointLog,
    target: RewindTarget<'_>,
    detail: DiffDetail,
) -> Result<RewindReport, RewindError> {
    Ok(report(&request.plan(log, target)?, detail))
}

/// Goes back.
pub fn apply(
    request: &RewindRequest,
    log: &CheckpointLog,
    target: RewindTarget<'_>,
    part: RewindPart,
    overwrite: &OverwriteChoice,
) -> Result<RewindReport, RewindError> {
    let mut report =
        if part.has_code() { preview(request, log, target, DiffDetail::Counts)? } else { RewindReport::default() };
    let done = request.apply(log, target, part, overwrite)?;
    let changed = |path: &Path| done.undone.restored.iter().chain(&done.undone.removed).any(|done| done == path);
    // What was replaced all the same is listed with the others.
    report.files.append(&mut report.kept_changes);
    report.files.sort_by(|a, b| a.path.cmp(&b.path));
    report.files.retain(|file| changed(&file.path));
    report.kept = done.kept;
    report.set_problems(&done.undone.problems);
    (report.id, report.finished) = (done.undone.id, done.undone.finished);
    report.sum();
    Ok(report)
}

fn report(plan: &RewindPlan, detail: DiffDetail) -> RewindReport {
    let (newer, files): (Vec<_>, Vec<_>) =
        plan.files.targets.iter().partition(|(path, _)| plan.files.newer.contains(path));
    let changes = |targets: Vec<(&PathBuf, &PathState)>| -> Vec<RewoundFile> {
        targets.into_iter().map(|(path, target)| file(path, target, plan, detail)).collect()
    };
    let covered = |effect: &store::checkpoints::UncoveredEffect| NotCovered {
        what: effect.what.clone(),
        why: effect.why.clone(),
    };
    let mut report = RewindReport {
        files: changes(files),
        kept: plan.files.newer.clone(),
        kept_changes: changes(newer),
        not_covered: plan.uncovered.iter().map(covered).collect(),
        outside: plan.outside.clone(),
        ..RewindReport::default()
    };
    report.set_problems(&plan.files.blocked.problems);
    report.sum();
    report
}

impl RewindReport {
    fn set_problems(&mut self, problems: &[RestoreProblem]) {
        self.skipped_links = problems.iter().filter(|problem| problem.is_link()).count();
        let of = |problem: &RestoreProblem| PathProblem { path: problem.path.clone(), why: problem.why.clone() };
        self.problems = problems.iter().map(of).collect();
    }

    fn sum(&mut self) {
        self.insertions = self.files.iter().map(|file| file.insertions).sum();
        self.deletions = self.files.iter().map(|file| file.deletions).sum();
    }

    /// The reply to the request of an SDK.
    pub fn sdk_reply(&self) -> Value {
        let mut reply = json!({
            "canRewind": true,
            "filesChanged": self.files.iter().map(|file| &file.path).collect::<Vec<_>>(),
            "insertions": self.insertions,
            "deletions": self.deletions,
        });
        if self.skipped_links > 0 {
            reply["skippedLinks"] = self.skipped_links.into();
        }
        if !self.kept.is_empty() {
            reply["x_kept"] = json!(self.kept);
        }
        if !self.not_covered.is_empty() {
            reply["x_notCovered"] = json!(self.not_covered);
        }
        if let Some(id) = &self.id {
            reply["x_undo"] = id.clone().into();
        }
        reply
    }
}

fn file(path: &Path, target: &PathState, plan: &RewindPlan, detail: DiffDetail) -> RewoundFile {
    let change = if *target == PathState::Absent { FileReturn::Removed } else { FileReturn::Restored };
    let then = match target {
        PathState::File { .. } => plan.files.contents.get(path).and_then(|content| text(content)),
        PathState::Absent => Some(String::new()),
        PathState::Link { .. } | PathState::Folder { .. } => None,
    };
    let is_file = std::fs::symlink_metadata(path).map_or(None, |meta| Some(meta.is_file()));
    let now = match is_file {
        Some(true) => text(path),
        Some(false) => None,
        None => Some(String::new()),
    };
    let hunks = match (now, then) {
        (Some(now), Some(then)) => patch::structured(&now, &then),
        _ => Vec::new(),
    };
    let count =
        |mark: char| hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.starts_with(mark)).count() as u64;
    let (insertions, deletions) = (count('+'), count('-'));
    let hunks = if detail == DiffDetail::Hunks { hunks } else { Vec::new() };
    RewoundFile { path: path.to_path_buf(), change, insertions, deletions, hunks }
}

/// The content of a text file; `None` for binary and very large files.
fn text(path: &Path) -> Option<String> {
    let bytes = sys::fs::read_whole(path, MAX_COUNTED_BYTES).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// The prompts of a conversation, oldest first, and the branches that were left.
pub fn list(log: &CheckpointLog) -> Value {
    let prompts = log.prompts.iter().filter(|point| point.number.is_some()).map(prompt);
    let others = log.prompts.iter().filter(|point| point.number.is_none()).map(prompt);
    let branches = log.branches.iter().map(|branch| {
        let is_last = |point: &&PromptPoint| branch.prompts.last() == Some(&point.uuid);
        let has_checkpoint = log.prompts.iter().find(is_last).is_some_and(|point| point.has_checkpoint);
        json!({"leafUuid": branch.leaf, "prompts": branch.prompts.len(), "text": branch.text,
               "at": sys::clock::iso(branch.at), "promptUuids": branch.prompts, "hasCheckpoint": has_checkpoint})
    });
    json!({
        "sessionId": log.session_id,
        "prompts": prompts.collect::<Vec<_>>(),
        "otherPrompts": others.collect::<Vec<_>>(),
        "branches": branches.collect::<Vec<_>>(),
    })
}

/// A prompt of the list.
pub fn prompt(point: &PromptPoint) -> Value {
    json!({
        "number": point.number,
        "uuid": point.uuid,
        "text": point.text,
        "at": sys::clock::iso(point.at),
        "files": point.files,
        "added": point.added,
        "removed": point.removed,
        "shellEffects": point.has_shell_effects,
        "hasCheckpoint": point.has_checkpoint,
    })
}
