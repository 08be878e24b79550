//! The refusal of a change of a file that was changed by others since the model saw it. It holds the difference, so that
//! the next call can be right without reading the file again.

use crate::contract::{CallContext, ToolOutcome};
use crate::patch::{self, DiffHunk};
use crate::text_file::TextEncoding;
use std::path::Path;

/// Most bytes of the whole refusal.
const MAX_BYTES: usize = 1_200;
/// Most bytes of the reason when there is a difference to show.
const MAX_REASON_BYTES: usize = 450;
/// Most lines of the difference.
const MAX_LINES: usize = 40;

const STALE: &str = "The file has changed since you read it.";
const READ_AGAIN: &str = "Read it again before you change it.";
const INTRODUCTION: &str = "The difference is below, so it counts as read again:";

/// Refuses to change the file at `path`, which holds `text` (`bytes` on disk). Once the model is shown the whole
/// difference the file counts as seen again.
pub(crate) fn refusal(cx: &CallContext, path: &Path, reason: Option<&str>, bytes: &[u8], text: &str) -> ToolOutcome {
    let reason = reason.unwrap_or_default();
    let reads = &cx.state.reads;
    let before = reads.content(path).and_then(|before| TextEncoding::sniff(&before).decode(&before));
    let lines = before.map(|before| lines(&patch::structured(&before, text))).unwrap_or_default();
    // Not remembered, or changed in its encoding alone.
    if lines.is_empty() {
        return ToolOutcome::invalid(joined([reason, &format!("{STALE} {READ_AGAIN}")]));
    }
    let reason = clipped(reason, MAX_REASON_BYTES);
    let room = MAX_BYTES - STALE.len() - INTRODUCTION.len() - reason.len() - 3;
    match whole(&lines, room) {
        Some(difference) => {
            reads.record_rewrite(path, bytes);
            ToolOutcome::invalid(joined([reason, &format!("{STALE} {INTRODUCTION}\n{difference}")]))
        }
        None => ToolOutcome::invalid(joined([reason, &format!("{STALE} {READ_AGAIN}\n{}", beginning(&lines, room))])),
    }
}

fn joined(parts: [&str; 2]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// At most `most` bytes of `text`, whole lines where possible.
fn clipped(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let part = &text[..text.floor_char_boundary(most)];
    part.rfind('\n').map_or(part, |end| &part[..end])
}

/// The lines of a unified difference.
fn lines(hunks: &[DiffHunk]) -> Vec<String> {
    let mut lines = Vec::new();
    for hunk in hunks {
        lines.push(format!("@@ -{},{} +{},{} @@", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines));
        lines.extend(hunk.lines.iter().map(|line| line.trim_end_matches('\r').to_owned()));
    }
    lines
}

/// All lines, when they are few and short enough.
fn whole(lines: &[String], room: usize) -> Option<String> {
    let text = lines.join("\n");
    (lines.len() <= MAX_LINES && text.len() <= room).then_some(text)
}

/// As many lines as fit, and how many there are beyond them.
fn beginning(lines: &[String], room: usize) -> String {
    let note = |left: usize| format!("[{left} more lines of the difference]");
    let room = room.saturating_sub(note(lines.len()).len() + 1);
    let mut size = 0;
    let fitting = lines.iter().take(MAX_LINES).take_while(|line| {
        size += line.len() + 1;
        size <= room
    });
    let mut shown: Vec<&str> = fitting.map(String::as_str).collect();
    let note = note(lines.len() - shown.len());
    shown.push(&note);
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_differences_are_cut_at_line_borders() {
        // [MX-7]
        let lines: Vec<String> = (0..60).map(|n| format!("+line {n}")).collect();
        assert_eq!(whole(&lines, 10_000), None, "too many lines");
        assert_eq!(whole(&lines[..2], 15).as_deref(), Some("+line 0\n+line 1"));
        assert_eq!(whole(&lines[..2], 14), None);
        assert!(beginning(&lines, 10_000).ends_with("+line 39\n[20 more lines of the difference]"));
        assert_eq!(beginning(&lines[..4], 52), "+line 0\n+line 1\n[2 more lines of the difference]");
    }

    proptest! {
        #[test]
        fn a_refusal_is_never_too_long(reason in "[aé\n]{0,900}", length in 0..300usize, count in 0..80usize) {
            // [MX-7]
            let reason = clipped(&reason, MAX_REASON_BYTES);
            let room = MAX_BYTES - STALE.len() - INTRODUCTION.len() - reason.len() - 3;
            let lines = vec!["x".repeat(length); count];
            let shown = whole(&lines, room).unwrap_or_else(|| beginning(&lines, room));
            let all = joined([reason, &format!("{STALE} {INTRODUCTION}\n{shown}")]);
            prop_assert!(all.len() <= MAX_BYTES, "{}", all.len());
        }
    }
}
