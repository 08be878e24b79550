//! `structuredPatch`: unified-diff hunks with three lines of context that turn the old text into the new one
//! exactly, including a missing final newline. The cost depends on the changed region, not on the file size.

use crate::compare::{DiffOp, DiffTag, compare, group_diff_ops};
use serde::Serialize;
use std::time::{Duration, Instant};

const CONTEXT: usize = 3;
/// After this time a diff of two very different texts becomes coarser but stays correct.
const TIME_LIMIT: Duration = Duration::from_millis(500);
pub const NO_NEWLINE: &str = "\\ No newline at end of file";

/// One hunk. Line numbers start at 1; `lines` have the prefixes space, `+` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffHunk {
    pub old_start: usize,
    pub old_lines: usize,
    pub new_start: usize,
    pub new_lines: usize,
    pub lines: Vec<String>,
}

pub fn structured(old: &str, new: &str) -> Vec<DiffHunk> {
    if old == new {
        return Vec::new();
    }
    let window = ChangedRegion::around_change(old, new);
    let old_lines: Vec<&str> = old[window.start..window.old_end].split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new[window.start..window.new_end].split_inclusive('\n').collect();
    let skipped = memchr::memchr_iter(b'\n', &old.as_bytes()[..window.start]).count();
    let deadline = Some(Instant::now() + TIME_LIMIT);
    let ops = compare(&old_lines, &new_lines, deadline);
    group_diff_ops(ops, CONTEXT).iter().map(|group| hunk(group, skipped, &old_lines, &new_lines)).collect()
}

/// The part of two texts that differs, widened to whole lines and their context.
struct ChangedRegion {
    start: usize,
    old_end: usize,
    new_end: usize,
}

impl ChangedRegion {
    fn around_change(old: &str, new: &str) -> Self {
        let (a, b) = (old.as_bytes(), new.as_bytes());
        let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        let room = a.len().min(b.len()) - prefix;
        let suffix = a.iter().rev().zip(b.iter().rev()).take(room).take_while(|(x, y)| x == y).count();
        let start = back_lines(&a[..prefix], CONTEXT);
        let tail = forward_lines(&a[a.len() - suffix..], CONTEXT + 1);
        Self { start, old_end: a.len() - suffix + tail, new_end: b.len() - suffix + tail }
    }
}

/// Start of the line that contains the end of `text`, moved back by `lines` further lines.
fn back_lines(text: &[u8], lines: usize) -> usize {
    memchr::memrchr_iter(b'\n', text).nth(lines).map_or(0, |at| at + 1)
}

/// The length of the prefix of `text` with `lines` line ends (all of it when there are fewer).
fn forward_lines(text: &[u8], lines: usize) -> usize {
    memchr::memchr_iter(b'\n', text).nth(lines - 1).map_or(text.len(), |at| at + 1)
}

fn hunk(group: &[DiffOp], skipped: usize, old: &[&str], new: &[&str]) -> DiffHunk {
    let old_range = span(group.iter().map(DiffOp::old_range));
    let new_range = span(group.iter().map(DiffOp::new_range));
    let mut lines = Vec::new();
    for op in group {
        match op.tag() {
            DiffTag::Equal => push(&mut lines, ' ', &old[op.old_range()]),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                push(&mut lines, '-', &old[op.old_range()]);
                push(&mut lines, '+', &new[op.new_range()]);
            }
        }
    }
    DiffHunk {
        old_start: skipped + old_range.start + 1,
        old_lines: old_range.len(),
        new_start: skipped + new_range.start + 1,
        new_lines: new_range.len(),
        lines,
    }
}

fn span(ranges: impl Iterator<Item = std::ops::Range<usize>>) -> std::ops::Range<usize> {
    ranges.reduce(|all, next| all.start..next.end).unwrap_or(0..0)
}

fn push(lines: &mut Vec<String>, prefix: char, from: &[&str]) {
    for line in from {
        let body = line.strip_suffix('\n');
        lines.push(format!("{prefix}{}", body.unwrap_or(line)));
        if body.is_none() {
            lines.push(NO_NEWLINE.to_owned());
        }
    }
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
