//! What the model is told about an edit that was made.

use super::explain::line_index;
use std::fmt::Write;

/// Most line numbers that are named.
const MAX_NAMED_LINES: usize = 5;
/// Most lines of a region that are shown.
const MAX_SHOWN_LINES: usize = 12;
/// Most characters of one shown line.
const MAX_LINE_CHARS: usize = 200;

/// The number of replacements and the lines of the first ones; `places` are byte offsets in `text`.
pub(super) fn occurrences(text: &str, places: &[usize]) -> String {
    let lines: Vec<String> =
        places.iter().take(MAX_NAMED_LINES).map(|at| (line_index(text, *at) + 1).to_string()).collect();
    let more = if places.len() > MAX_NAMED_LINES { ", …" } else { "" };
    format!("{} occurrences replaced (lines {}{more})", places.len(), lines.join(", "))
}

/// How the text was found, and the lines that are there now: those of `replacement`, which begins at byte `at`.
pub(super) fn matched_region(note: &str, text: &str, replacement: &str, at: usize) -> String {
    let mut out = format!(" {note}");
    if replacement.trim().is_empty() {
        return out;
    }
    let first = line_index(text, at);
    let count = replacement.trim_end_matches('\n').split('\n').count();
    out.push_str(" Now:");
    for (index, line) in text.lines().enumerate().skip(first).take(count.min(MAX_SHOWN_LINES)) {
        let shown = line.char_indices().nth(MAX_LINE_CHARS).map_or(line, |(end, _)| &line[..end]);
        write!(out, "\n{}\t{shown}", index + 1).ok();
    }
    if count > MAX_SHOWN_LINES {
        write!(out, "\n[{} more lines]", count - MAX_SHOWN_LINES).ok();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_are_counted_and_the_first_located() {
        // [MX-8]
        let text = "x\n\nx x\n";
        assert_eq!(occurrences(text, &[0, 3, 5]), "3 occurrences replaced (lines 1, 3, 3)");
        assert!(
            occurrences(&"x\n".repeat(9), &[0, 2, 4, 6, 8, 10])
                .contains("6 occurrences replaced (lines 1, 2, 3, 4, 5, …)")
        );
    }

    #[test]
    fn the_region_is_shown_with_its_numbers() {
        // [MX-8]
        let text = "a\n\tb\n\tc\nd\n";
        assert_eq!(matched_region("Matched.", text, "\tb\n\tc\n", 2), " Matched. Now:\n2\t\tb\n3\t\tc");
        assert_eq!(matched_region("Matched.", text, "", 2), " Matched.");
        let long = "line\n".repeat(20);
        assert!(matched_region("M.", &long, &long, 0).ends_with("12\tline\n[8 more lines]"));
    }
}
