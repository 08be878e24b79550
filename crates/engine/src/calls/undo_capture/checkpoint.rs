//! What the checkpoint of a prompt is told about one call: the file it changes, kept before; afterwards what was changed, by
//! which snapshot it can be taken back, and which programs did something that nobody can name.

use super::describe;
use crate::session::SessionIo;
use permission::Access;
use permission::destruction::{PossibleLosses, unseen_programs};
use session_parts::checkpoints::CheckpointScope;
use session_parts::ledger::changed_lines;
use session_parts::tool_use::ToolUse;
use std::path::PathBuf;
use store::StoreError;
use store::snapshots::{ChangeKind, PendingSnapshot, SnapshotHeader, content_hash};
use tools::ToolOutcome;
use wire::entry::CheckpointChange;

pub(super) struct CheckpointNote {
    scope: CheckpointScope,
    change: CheckpointChange,
    assistant_line: String,
    /// The file a tool changes.
    file: Option<PathBuf>,
}

impl CheckpointNote {
    /// `None` while checkpoints are off, and for a call that changes nothing.
    pub(super) fn begin(used: &ToolUse, accesses: &[Access], losses: &PossibleLosses, io: &SessionIo) -> Option<Self> {
        let message_id = io.output.checkpoints.prompt()?;
        let (file, not_covered) = match accesses.first()? {
            Access::WritePath(path) => (Some(path.clone()), Vec::new()),
            Access::Run(command) => (None, unseen_programs(command, losses)),
            Access::ReadPath(_) | Access::Reach { .. } | Access::Use | Access::Harmless | Access::Interact => {
                return None;
            }
        };
        if file.is_none() && losses.is_empty() && not_covered.is_empty() {
            return None;
        }
        let about = describe(used, accesses, io);
        let change = CheckpointChange {
            message_id,
            kind: if about.kind == ChangeKind::Edit { "edit".into() } else { "command".into() },
            what: about.description,
            path: file.as_ref().map(|path| path.display().to_string()),
            not_covered,
            ..CheckpointChange::default()
        };
        let assistant_line = used.assistant_uuid.clone();
        Some(Self { scope: io.output.checkpoints.clone(), change, assistant_line, file })
    }

    /// Whether there is something to tell even without a snapshot.
    pub(super) fn is_needed(&self) -> bool {
        self.file.is_some() || !self.change.not_covered.is_empty()
    }

    /// Nothing else saves the file.
    pub(super) async fn without_snapshot(&mut self) {
        if self.file.is_none() {
            self.change.not_saved = Some("saving before commands is switched off (snapshotsEnabled)".into());
        }
        // Without a snapshot there is nothing that could fail.
        self.keep_before(Ok(None)).await.ok();
    }

    /// Keeps the file as it is; a snapshot of it shares its content.
    pub(super) async fn keep_before(
        &mut self,
        saved: Result<Option<PendingSnapshot>, StoreError>,
    ) -> Result<Option<PendingSnapshot>, StoreError> {
        let Some(file) = self.file.clone() else { return saved };
        let stored = saved.as_ref().ok().and_then(Option::as_ref).and_then(|kept| kept.content_of(&file));
        let (scope, line, has_snapshot) = (self.scope.clone(), self.assistant_line.clone(), stored.is_some());
        let kept = tokio::task::spawn_blocking(move || scope.keep_before(&file, stored.as_deref(), &line)).await;
        // The snapshot brings the file back all the same.
        self.change.not_saved = kept.unwrap_or_else(|error| Some(error.to_string())).filter(|_| !has_snapshot);
        saved
    }

    /// Notes the change, unless there was none.
    pub(super) async fn finish(mut self, header: Option<&SnapshotHeader>, outcome: &ToolOutcome) {
        let is_edit = self.file.is_some();
        if (is_edit && outcome.is_error) || (header.is_none() && !self.is_needed()) {
            return;
        }
        if let Some(header) = header {
            (self.change.snapshot, self.change.paths) = (Some(header.id.clone()), header.files);
            if !header.is_complete() {
                let skipped = header.skipped.first().map(|skip| format!("{}: {}", skip.path.display(), skip.why));
                self.change.not_saved = header.cut.clone().or(skipped);
            }
        }
        if let Some((added, removed)) =
            outcome.structured.as_ref().filter(|_| is_edit).and_then(|raw| changed_lines(raw))
        {
            (self.change.added, self.change.removed) = (added, removed);
        }
        if let Some(file) = self.file.take().filter(|_| header.is_none()) {
            let real = move || content_hash(&std::fs::canonicalize(&file).unwrap_or(file));
            self.change.after = tokio::task::spawn_blocking(real).await.ok().flatten();
        }
        self.change.timestamp = sys::clock::now_iso();
        self.scope.note_change(self.change);
    }
}
