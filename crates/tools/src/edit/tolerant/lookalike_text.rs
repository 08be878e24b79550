//! Equal but for spaces, dashes, dots and quotes that look alike.

use super::{Place, TextDifference};
use crate::edit::apply::overlapping;
use crate::edit::lookalikes::{FoldedText, Folding, folded, keep_file_characters};

pub(super) fn places(text: &str, old: &str, new: &str) -> Vec<Place> {
    if text.is_ascii() && old.is_ascii() {
        return Vec::new();
    }
    let file = FoldedText::of(text, Folding::All);
    let found = overlapping(&file.text, &folded(old, Folding::All)).into_iter();
    let original = found.map(|range| file.original(range.start)..file.original(range.end));
    original
        .map(|range| {
            let replacement = keep_file_characters(&text[range.clone()], old, new, Folding::All);
            Place { range, change: Some((replacement, TextDifference::Lookalikes)) }
        })
        .collect()
}
