//! Files that are sent to the model again after a compaction, because it had read them.

use crate::session::SessionIo;
use model::estimate;
use session_parts::messages::Attachment;
use session_parts::prompts;
use std::path::Path;

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
