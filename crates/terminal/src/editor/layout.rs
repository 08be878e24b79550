//! The rows of a text at a given width, and conversion between byte offsets and screen positions.

use crate::text::{self, cluster_width, wrap};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

#[derive(Clone, Debug)]
pub struct EditorLayout {
    /// Byte ranges of the rows; blanks at a break belong to no row.
    pub rows: Vec<Range<usize>>,
}

impl EditorLayout {
    pub fn new(text: &str, columns: usize) -> Self {
        let mut rows = Vec::new();
        let mut at = 0;
        for line in text.split('\n') {
            rows.extend(wrap(line, columns, columns).into_iter().map(|range| range.start + at..range.end + at));
            at += line.len() + 1;
        }
        Self { rows }
    }

    /// Row and column of a byte offset.
    pub fn position(&self, text: &str, at: usize) -> (usize, usize) {
        let row = self.rows.partition_point(|range| range.start <= at).saturating_sub(1);
        let range = &self.rows[row];
        (row, text::width(&text[range.start..at.min(range.end)]))
    }

    /// The byte offset nearest to a position; `None` when the row does not exist.
    pub fn offset(&self, text: &str, row: usize, column: usize) -> Option<usize> {
        let range = self.rows.get(row)?;
        let mut used = 0;
        for (index, cluster) in text[range.clone()].grapheme_indices(true) {
            used += cluster_width(cluster);
            if used > column {
                return Some(range.start + index);
            }
        }
        Some(range.end)
    }
}
