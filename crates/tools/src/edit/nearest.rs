//! The lines of a file that are most like a text that is not in it.

use std::collections::HashMap;
use std::ops::Range;

/// Regions less like the text than this are not shown.
const MIN_LIKENESS: f64 = 0.6;
/// Regions whose likeness is this close to that of the best count as equally near.
const CLOSE_LIKENESS: f64 = 0.05;
/// Most lines compared one by one when no line of the text is in the file.
const MAX_COMPARED_LINES: usize = 20_000;
/// Most starting lines whose whole region is compared.
const MAX_CANDIDATES: usize = 40;
/// Most bytes of a line that are compared.
const MAX_COMPARED_BYTES: usize = 300;

/// The regions of `file` nearest to `wanted`, as ranges of line indices, best first; empty when nothing is near.
pub(super) fn regions(file: &[&str], wanted: &[&str]) -> Vec<Range<usize>> {
    let count = wanted.len().min(file.len());
    if count == 0 || wanted.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let mut scored: Vec<(f64, usize)> = starts(file, wanted)
        .into_iter()
        .map(|at| (region_likeness(&file[at..(at + wanted.len()).min(file.len())], wanted), at))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .collect();
    sys::compact_sort::sort_by(&mut scored, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let Some((best, _)) = scored.first().copied() else { return Vec::new() };
    let mut near: Vec<Range<usize>> = Vec::new();
    for (_, at) in scored.into_iter().take_while(|(likeness, _)| best - likeness <= CLOSE_LIKENESS) {
        let range = at..(at + wanted.len()).min(file.len());
        if near.iter().all(|other| other.end <= range.start || range.end <= other.start) {
            near.push(range);
        }
    }
    near
}

/// Lines at which the text may begin: those that put an equal line in its place, most equal lines first; without
/// any, those that put a similar line in the place of the longest line.
fn starts(file: &[&str], wanted: &[&str]) -> Vec<usize> {
    let mut votes: HashMap<usize, usize> = HashMap::new();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in file.iter().enumerate() {
        places.entry(line.trim()).or_default().push(index);
    }
    for (index, line) in wanted.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        for at in places.get(line.trim()).into_iter().flatten() {
            *votes.entry(at.saturating_sub(index)).or_default() += 1;
        }
    }
    let mut starts: Vec<(usize, usize)> = votes.into_iter().map(|(at, count)| (count, at)).collect();
    if starts.is_empty() {
        return similar_starts(file, wanted);
    }
    sys::compact_sort::sort_by(&mut starts, |a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    starts.into_iter().take(MAX_CANDIDATES).map(|(_, at)| at).collect()
}

fn similar_starts(file: &[&str], wanted: &[&str]) -> Vec<usize> {
    let Some((index, longest)) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len()) else {
        return Vec::new();
    };
    let pairs = CharacterPairs::of(longest);
    let compared = file.iter().enumerate().take(MAX_COMPARED_LINES);
    let mut similar: Vec<(f64, usize)> = compared
        .map(|(at, line)| (pairs.likeness(line), at.saturating_sub(index)))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .collect();
    sys::compact_sort::sort_by(&mut similar, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    similar.into_iter().take(MAX_CANDIDATES).map(|(_, at)| at).collect()
}

fn region_likeness(file: &[&str], wanted: &[&str]) -> f64 {
    let sum: f64 = file.iter().zip(wanted).map(|(file, wanted)| line_likeness(file, wanted)).sum();
    sum / wanted.len() as f64
}

fn line_likeness(a: &str, b: &str) -> f64 {
    if a.trim() == b.trim() { 1.0 } else { CharacterPairs::of(b).likeness(a) }
}

/// The pairs of neighbouring characters of a line, without its indentation.
struct CharacterPairs {
    counts: HashMap<(u8, u8), u32>,
    total: u32,
}

fn compared_bytes(line: &str) -> &[u8] {
    let bytes = line.trim().as_bytes();
    &bytes[..bytes.len().min(MAX_COMPARED_BYTES)]
}

impl CharacterPairs {
    fn of(line: &str) -> Self {
        let mut counts = HashMap::new();
        for pair in compared_bytes(line).windows(2) {
            *counts.entry((pair[0], pair[1])).or_default() += 1;
        }
        Self { total: counts.values().sum(), counts }
    }

    /// From 0 (nothing in common) to 1 (the same pairs).
    fn likeness(&self, line: &str) -> f64 {
        let bytes = compared_bytes(line);
        let other = bytes.len().saturating_sub(1) as u32;
        // Lengths that differ too much cannot reach a likeness that counts.
        if self.total + other == 0 || self.total.min(other) * 2 < self.total.max(other) {
            return 0.0;
        }
        let mut left = self.counts.clone();
        let mut shared = 0;
        for pair in bytes.windows(2) {
            if let Some(count) = left.get_mut(&(pair[0], pair[1])).filter(|count| **count > 0) {
                *count -= 1;
                shared += 1;
            }
        }
        f64::from(2 * shared) / f64::from(self.total + other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_with_most_equal_lines_is_nearest() {
        let file = ["a", "let x = compute(1);", "b", "let y = other(2);", "c", "b", "d"];
        assert_eq!(regions(&file, &["let x = compute(2);", "b"]).first(), Some(&(1..3)));
        assert!(regions(&file, &["nothing like this at all"]).is_empty());
        assert!(regions(&file, &["", " "]).is_empty());
        assert!(regions(&[], &["a"]).is_empty());
    }

    #[test]
    fn equally_near_regions_are_all_named() {
        let file = ["value = first(1)", "-", "value = first(2)", "-"];
        assert_eq!(regions(&file, &["value = first(3)"]), [0..1, 2..3]);
    }
}
