//! A text that is not in the file it was sent for, and once in another file that the model has seen.

use super::explain::{applied_line, in_other_file, line_index};
use super::lookalikes::lf_only;
use super::{TextReplacement, apply};
use crate::contract::{CallContext, PathDiscovery};
use crate::text_file::TextFile;
use std::path::{Path, PathBuf};

/// Most files that are searched, those seen last first.
const MAX_SEARCHED_FILES: usize = 20;
/// Larger files, in bytes, are not searched.
const MAX_SEARCHED_BYTES: u64 = 1 << 20;
/// Shorter texts, in characters that are not blank, stand in too many files to tell which one was meant.
const MIN_TEXT_CHARS: usize = 12;

/// Names the other file, when exactly one has the text of `replacement` and `text` does not: that file was meant.
pub(super) fn explain(cx: &CallContext, path: &Path, text: &str, replacement: &TextReplacement) -> Option<String> {
    let [text, old, new] = [text, &replacement.old_string, &replacement.new_string].map(lf_only);
    let is_telling = old.chars().filter(|c| !c.is_whitespace()).take(MIN_TEXT_CHARS).count() == MIN_TEXT_CHARS;
    if !is_telling || text.contains(&*old) || applied_line(&text, &new).is_some() {
        return None;
    }
    let seen = cx.state.reads.recent(MAX_SEARCHED_FILES);
    let mut found = seen.iter().filter_map(|other| Some((other, line_in(cx, path, other, &old)?)));
    match (found.next(), found.next()) {
        (Some((other, line)), None) => Some(in_other_file(path, &old, other, line)),
        _ => None,
    }
}

/// The line, counted from 1, at which the file has the text once.
fn line_in(cx: &CallContext, path: &Path, other: &PathBuf, old: &str) -> Option<usize> {
    let is_small = std::fs::metadata(other).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_SEARCHED_BYTES);
    let is_same = path.canonicalize().is_ok_and(|path| path == *other);
    if !is_small || is_same || !(cx.may_read)(other, PathDiscovery::Named) {
        return None;
    }
    let text = TextFile::load(other).ok()?.text?;
    let text = lf_only(&text);
    match apply::overlapping(&text, old).as_slice() {
        [place] => Some(line_index(&text, place.start) + 1),
        _ => None,
    }
}
