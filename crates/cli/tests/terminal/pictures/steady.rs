//! Replaces what differs from run to run.

use std::ops::Range;
use testkit::ScreenPicture;

/// The spinner's glyphs, and the one that is drawn.
const SPINNER: [&str; 6] = ["·", "✢", "✳", "✶", "*", "+"];
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn make_steady(picture: &mut ScreenPicture) {
    picture.replace(|row| {
        let mut parts = Vec::new();
        if let Some(at) = row.find(&format!("gimlet {VERSION}")) {
            parts.push((at + "gimlet ".len()..at + "gimlet ".len() + VERSION.len(), "1.0".to_owned()));
        }
        parts.extend(spinner(row));
        parts.extend(row.match_indices('○').map(|(at, sign)| (at..at + sign.len(), "◌".to_owned())));
        parts
    });
    picture.replace(plan_file);
    picture.replace(times);
    picture.replace(clock_times);
}

fn spinner(row: &str) -> Option<(Range<usize>, String)> {
    let is_turn = row.contains("esc to interrupt") || row.contains("Waiting for your answer");
    let glyph = SPINNER.iter().find(|glyph| row.starts_with(&format!("{glyph} ")))?;
    let steady = if glyph.is_ascii() { "*" } else { "✳" };
    is_turn.then(|| (0..glyph.len(), steady.to_owned()))
}

/// The random name of a plan.
fn plan_file(row: &str) -> Vec<(Range<usize>, String)> {
    let folder = ".claude/plans/";
    let Some(start) = row.find(folder).map(|at| at + folder.len()) else { return Vec::new() };
    let Some(len) = row[start..].find(".md") else { return Vec::new() };
    vec![(start..start + len, "prices-with-tax".to_owned())]
}

/// Running times such as `1 min 3 s` and `0.4 s`. A finished call has one only when it took long, so it is left out there.
fn times(row: &str) -> Vec<(Range<usize>, String)> {
    let begins = |signs: &[&str]| signs.iter().any(|sign| row.trim_start().starts_with(&format!("{sign} ")));
    let found = durations(row);
    if begins(&["◆", "✕", "x"]) || (begins(&["*"]) && !row.contains('$') && !row.contains("esc to interrupt")) {
        let part = |range: Range<usize>| {
            let start = row[..range.start].strip_suffix(" · ").or_else(|| row[..range.start].strip_suffix(" - "));
            start.map(|before| (before.len()..range.end, String::new()))
        };
        return found.into_iter().filter_map(part).collect();
    }
    let steady = if begins(&["✻", "*"]) { "14 s" } else { "8 s" };
    found.into_iter().map(|range| (range, steady.to_owned())).collect()
}

/// Where a row has a duration.
fn durations(row: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for unit in [" s", " min", " h"] {
        for (at, _) in row.match_indices(unit) {
            let end = at + unit.len();
            let digits = row[..at].trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            // How old a conversation is was set.
            let is_age = row[end..].starts_with(" ago");
            let ends = !is_age && row[end..].chars().next().is_none_or(|next| !next.is_alphanumeric());
            let begins = digits.chars().next_back().is_none_or(|before| !before.is_alphanumeric() && before != '$');
            if digits.len() < at && ends && begins {
                found.push(digits.len()..end);
            }
        }
    }
    found.sort_by_key(|range| range.start);
    // `1 min 3 s` is one.
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in found {
        match merged.last_mut().filter(|last| last.end + 1 == range.start) {
            Some(last) => last.end = range.end,
            None => merged.push(range),
        }
    }
    merged
}

/// Times of the day, such as `19:04`, and relative ones.
fn clock_times(row: &str) -> Vec<(Range<usize>, String)> {
    let bytes = row.as_bytes();
    let is_clock = |at: &usize| {
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let free = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at)).is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b':')
        };
        digit(*at)
            && digit(at + 1)
            && bytes.get(at + 2) == Some(&b':')
            && digit(at + 3)
            && digit(at + 4)
            && free(at.checked_sub(1))
            && free(Some(at + 5))
    };
    (0..bytes.len()).filter(is_clock).map(|at| (at..at + 5, "10:24".to_owned())).collect()
}
