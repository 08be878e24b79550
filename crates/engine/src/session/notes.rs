//! Notes that a session keeps for later ones. Every session is sent their index, so it has a maximum size; a call
//! that writes an index near or above the limit gets a warning in its result.

use crate::session::SessionIo;
use config::memory::{MAX_BYTES, MAX_LINES};
use session_parts::tool_use::ToolUse;
use tools::ToolOutcome;
use tools::facts::FileContact;
use wire::block::MessageContent;

const INDEX: &str = "MEMORY.md";
/// The model is warned from this percentage on.
const WARN_PERCENT: usize = 90;
/// An index larger than this is not checked.
const CHECKED_BYTES: usize = 64 << 20;

/// After a call: checks whether the index is within its limits.
pub(crate) fn check(used: &ToolUse, outcome: &mut ToolOutcome, io: &SessionIo) {
    let written = io.tooling.facts(&used.name).file.filter(|file| file.contact == FileContact::Write);
    let Some(named) = written.filter(|_| !outcome.is_error).and_then(|file| file.path_in(&used.input)) else { return };
    let path = io.workspace().absolute(&named);
    let in_notes = path.parent().is_some_and(|dir| io.rules.watch.place.notes.iter().any(|notes| notes == dir));
    if !in_notes || path.file_name().is_none_or(|name| name != INDEX) {
        return;
    }
    let Ok(text) = sys::fs::read_text(&path, CHECKED_BYTES) else { return };
    let (lines, bytes) = (text.lines().count(), text.len());
    let said = outcome.content.text().into_owned();
    if lines > MAX_LINES || bytes > MAX_BYTES {
        *outcome = ToolOutcome::failed(format!(
            "{said}\n{INDEX} was written, but it is too long: {lines} lines, {bytes} bytes. Later sessions are shown the first \
             {MAX_LINES} lines or {MAX_BYTES} bytes only. Rewrite it now: one short line for each topic, details in files of \
             their own."
        ));
    } else if lines * 100 >= MAX_LINES * WARN_PERCENT || bytes * 100 >= MAX_BYTES * WARN_PERCENT {
        let near = format!("{said}\n{INDEX} is nearly full ({lines} lines, {bytes} bytes): shorten it soon.");
        outcome.content = MessageContent::Text(near);
    }
}
