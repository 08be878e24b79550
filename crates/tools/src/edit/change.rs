//! The checks before a file is changed, and how it is written back. Shared by Edit and MultiEdit.

use super::apply::{AppliedEdit, MatchKind};
use crate::contract::{CallContext, PathDiscovery, ToolOutcome};
use crate::file_work::{self, MAX_LOADED_BYTES, PathKind};
use crate::patch::{self, DiffHunk};
use crate::read_state::{Coverage, FileFreshness};
use crate::seen_difference;
use crate::text_file::TextFile;
use std::path::Path;

pub(crate) enum EditTarget {
    Nothing,
    File(Box<EditableFile>),
}

/// A file that may be changed.
pub(crate) struct EditableFile {
    file: TextFile,
    /// The text with the line endings it has on disk.
    pub(crate) text: String,
    pub(crate) freshness: FileFreshness,
}

/// Opens the file at `path` for a change, or returns the reason why it must not be changed.
pub(crate) fn find(cx: &CallContext, path: &Path) -> Result<EditTarget, ToolOutcome> {
    if !(cx.may_read)(path, PathDiscovery::Named) {
        return Err(file_work::denied_error(path));
    }
    if file_work::is_notebook(path) {
        return Err(ToolOutcome::invalid(format!("{} is a notebook. Use NotebookEdit to change it.", path.display())));
    }
    let meta = match file_work::inspect(path).map_err(|e| file_work::io_error("edit", path, &e))? {
        PathKind::Nothing => return Ok(EditTarget::Nothing),
        PathKind::Directory => return Err(ToolOutcome::invalid(format!("{} is a directory.", path.display()))),
        PathKind::Special(kind) => return Err(file_work::special_file_error(path, kind)),
        PathKind::File(meta) => meta,
    };
    if meta.len() > MAX_LOADED_BYTES {
        let mib = meta.len() >> 20;
        return Err(ToolOutcome::invalid(format!(
            "{} is {mib} MiB, too large to edit. Use a shell command.",
            path.display()
        )));
    }
    if let Some(refused) = file_work::perforce_refusal(path, &meta, cx) {
        return Err(refused);
    }
    let mut file = TextFile::load(path).map_err(|e| file_work::io_error("read", path, &e))?;
    let Some(text) = file.text.take() else {
        return Err(ToolOutcome::invalid(format!(
            "{} is not valid UTF-8 or UTF-16 text, and an edit would damage it. Use a shell command.",
            path.display()
        )));
    };
    let freshness = cx.state.reads.freshness(path, &file.bytes, &file.meta);
    if !text.is_empty() && !has_seen_enough(freshness, cx) {
        return Err(ToolOutcome::invalid(format!(
            "{} has not been read yet. Read it before you change it.",
            path.display()
        )));
    }
    Ok(EditTarget::File(Box::new(EditableFile { file, text, freshness })))
}

fn has_seen_enough(freshness: FileFreshness, cx: &CallContext) -> bool {
    match freshness {
        FileFreshness::Current(Coverage::Whole | Coverage::Range) | FileFreshness::Stale => true,
        FileFreshness::Unseen | FileFreshness::Current(Coverage::Clipped) => !cx.state.facts.read_before_edit,
    }
}

impl EditableFile {
    /// Whether the file was changed by others since the model saw it.
    pub(crate) fn is_stale(&self) -> bool {
        self.freshness == FileFreshness::Stale
    }

    /// The refusal for a reason; for a stale file it holds what changed.
    pub(crate) fn refusal(&self, cx: &CallContext, path: &Path, reason: &str) -> ToolOutcome {
        if self.is_stale() {
            return seen_difference::refusal(cx, path, Some(reason), &self.file.bytes, &self.text);
        }
        ToolOutcome::invalid(reason)
    }

    /// Refuses an edit of a stale file that is not certain to be the one that is meant.
    pub(crate) fn refuse_uncertain(
        &self,
        cx: &CallContext,
        path: &Path,
        done: &AppliedEdit,
    ) -> Result<(), ToolOutcome> {
        let is_certain = done.matched == MatchKind::Exactly && done.places.len() == 1;
        if !self.is_stale() || is_certain {
            return Ok(());
        }
        Err(seen_difference::refusal(cx, path, None, &self.file.bytes, &self.text))
    }

    /// Writes `text` back and returns the difference.
    pub(crate) fn save(&self, cx: &CallContext, path: &Path, text: &str) -> Result<Vec<DiffHunk>, ToolOutcome> {
        let bytes = self.file.save(text).map_err(|e| file_work::io_error("write", path, &e))?;
        // After a change by another program the model has not seen the whole file, so it stays stale until it is
        // read again.
        if !self.is_stale() {
            cx.state.reads.record_rewrite(path, &bytes);
        }
        Ok(patch::structured(&self.text, text))
    }
}
