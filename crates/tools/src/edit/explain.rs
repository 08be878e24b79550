//! What the model is told when `old_string` is not in the file, or is there more than once: the lines it probably
//! meant and how they differ, so that the next call can be right.

use super::nearest;
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

/// Longest explanation, in bytes.
const MAX_BYTES: usize = 1_200;
/// Most characters of the model's own text that are repeated.
const MAX_ECHO_CHARS: usize = 60;
/// Most lines of the nearest region that are shown.
const MAX_SHOWN_LINES: usize = 12;
/// Most characters of one shown line.
const MAX_LINE_CHARS: usize = 160;
/// Most places that are named.
const MAX_PLACES: usize = 10;
const MAX_NEAR_REGIONS: usize = 3;
/// How far a line that tells equal places apart may be, in lines.
const MAX_DISTANCE: usize = 30;
/// Shorter texts, in characters, are found in too many places to say that an edit was made before.
const MIN_APPLIED_CHARS: usize = 8;
/// Longer files, in bytes, are not searched for similar lines.
const MAX_COMPARED_BYTES: usize = 8 << 20;

/// Explains that `old` is not in `text`. All three have LF line ends only.
pub(super) fn not_found(path: &Path, text: &str, old: &str, new: &str) -> String {
    let mut out = format!("`old_string` was not found in {}: \"{}\".", path.display(), echo(old));
    let lines: Vec<&str> = text.split('\n').collect();
    if let Some(line) = applied_line(text, new) {
        write!(out, " The file already holds `new_string` at line {line}: this edit seems to be done.").ok();
    } else if text.len() <= MAX_COMPARED_BYTES {
        let wanted: Vec<&str> = old.trim_matches('\n').split('\n').collect();
        let near = nearest::regions(&lines, &wanted);
        match near.as_slice() {
            [] => out.push_str(&nothing_near(text, old)),
            [region] => out.push_str(&show_region(&lines, region.clone(), &wanted)),
            several => out.push_str(&name_regions(several)),
        }
    }
    clip(out)
}

/// Explains that `old` is not in the file at `path`, and once in `other`.
pub(super) fn in_other_file(path: &Path, old: &str, other: &Path, line: usize) -> String {
    clip(format!(
        "`old_string` was not found in {}: \"{}\". {} has it, at line {line}: if that file was meant, send its path.",
        path.display(),
        echo(old),
        other.display()
    ))
}

/// Explains that `old` occurs at all of `places`.
pub(super) fn ambiguous(path: &Path, text: &str, places: &[Range<usize>]) -> String {
    let count = places.len();
    let mut out = format!(
        "`old_string` occurs {count} times in {}. Add the lines that tell the place apart, or set `replace_all`:",
        path.display()
    );
    let lines: Vec<&str> = text.split('\n').collect();
    let at: Vec<usize> = places.iter().take(MAX_PLACES).map(|place| line_index(text, place.start)).collect();
    for line in &at {
        write!(out, "\nline {}", line + 1).ok();
        if let Some(other) = distinct_line(&lines, &at, *line) {
            let side = if other < *line { "above it" } else { "below it" };
            write!(out, " ({side}, line {}: \"{}\")", other + 1, clipped(lines[other].trim(), MAX_ECHO_CHARS)).ok();
        }
    }
    if count > at.len() {
        write!(out, "\nand {} more", count - at.len()).ok();
    }
    clip(out)
}

/// Explains that no place has `old` exactly, and several have it but for white space or lookalikes.
pub(super) fn several_alike(path: &Path, text: &str, places: &[Range<usize>]) -> String {
    let lines: Vec<String> =
        places.iter().take(MAX_PLACES).map(|place| (line_index(text, place.start) + 1).to_string()).collect();
    clip(format!(
        "`old_string` was not found in {} as it was sent. It is like the text at lines {}: copy the text of the one you \
         mean exactly, with the lines around it.",
        path.display(),
        lines.join(", ")
    ))
}

/// The index of the line that holds the byte at `offset`.
pub(super) fn line_index(text: &str, offset: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..offset]).count()
}

/// The beginning of the model's text, on one line.
fn echo(text: &str) -> String {
    clipped(&text.replace('\n', "\\n"), MAX_ECHO_CHARS)
}

fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The line, counted from 1, at which the file holds `new`, when that is long enough to mean something.
pub(super) fn applied_line(text: &str, new: &str) -> Option<usize> {
    let is_telling = new.chars().filter(|c| !c.is_whitespace()).take(MIN_APPLIED_CHARS).count() == MIN_APPLIED_CHARS;
    is_telling.then(|| text.find(new)).flatten().map(|at| line_index(text, at) + 1)
}

fn nothing_near(text: &str, old: &str) -> String {
    let count = text.lines().count();
    let mut out = format!(" Nothing in its {count} lines is like it.");
    if let Some((word, lines)) = rarest_word(text, old) {
        let named: Vec<String> = lines.iter().take(MAX_PLACES).map(usize::to_string).collect();
        write!(out, " `{word}` is at line {}.", named.join(", ")).ok();
    }
    out
}

/// The identifier of `old` that occurs in the fewest lines of `text`, with these lines counted from 1.
fn rarest_word<'a>(text: &str, old: &'a str) -> Option<(&'a str, Vec<usize>)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words =
        old.split(|c| !is_part(c)).filter(|word| word.len() >= 3 && !word.starts_with(|c: char| c.is_ascii_digit()));
    let found = words.take(40).filter_map(|word| {
        let lines: Vec<usize> = text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.split(|c| !is_part(c)).any(|other| other == word))
            .map(|(index, _)| index + 1)
            .collect();
        (!lines.is_empty()).then_some((word, lines))
    });
    found.min_by_key(|(word, lines)| (lines.len(), std::cmp::Reverse(word.len())))
}

fn name_regions(regions: &[Range<usize>]) -> String {
    let named: Vec<String> =
        regions.iter().take(MAX_NEAR_REGIONS).map(|r| format!("{}–{}", r.start + 1, r.end)).collect();
    format!(" Several places are like it: lines {}. Read the one you mean and copy it exactly.", named.join(", "))
}

fn show_region(lines: &[&str], region: Range<usize>, wanted: &[&str]) -> String {
    let differing = lines[region.clone()].iter().zip(wanted).position(|(file, sent)| file != sent);
    let mut out = String::from(" The nearest lines are:");
    // A long region is shown from shortly before the first difference.
    let first = match differing {
        Some(at) if region.len() > MAX_SHOWN_LINES => at.saturating_sub(2).min(region.len() - MAX_SHOWN_LINES),
        _ => 0,
    };
    for index in region.clone().skip(first).take(MAX_SHOWN_LINES) {
        let sent = wanted.get(index - region.start).copied().unwrap_or_default();
        write!(out, "\n{}\t{}", index + 1, clipped(&marked(lines[index], sent), MAX_LINE_CHARS)).ok();
    }
    if let Some(at) = differing {
        let index = region.start + at;
        write!(out, "\nline {}: {}", index + 1, difference(lines[index], wanted[at])).ok();
    }
    out
}

/// The line of the file, with tabs and spaces made visible where it differs from what was sent in white space alone.
fn marked(file: &str, sent: &str) -> String {
    if file == sent || file.trim() != sent.trim() {
        return file.to_owned();
    }
    let visible = |blank: &str| blank.replace('\t', "⇥").replace(' ', "·");
    let indent = if indent(file) == indent(sent) { indent(file).to_owned() } else { visible(indent(file)) };
    format!("{indent}{}{}", file.trim(), visible(tail(file)))
}

/// The difference of two lines in words.
fn difference(file: &str, sent: &str) -> String {
    let mut parts = Vec::new();
    if file.trim() != sent.trim() {
        let (file_part, sent_part) = differing_parts(file.trim(), sent.trim());
        let (file_part, sent_part) = (clipped(file_part, MAX_ECHO_CHARS), clipped(sent_part, MAX_ECHO_CHARS));
        parts.push(format!("the file has \"{file_part}\" where you sent \"{sent_part}\""));
    }
    if indent(file) != indent(sent) {
        parts.push(format!("the file has {}, you sent {}", count_blanks(indent(file)), count_blanks(indent(sent))));
    }
    if tail(file) != tail(sent) {
        parts.push(format!("the file ends with {}, yours with {}", count_blanks(tail(file)), count_blanks(tail(sent))));
    }
    parts.join("; ")
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn tail(line: &str) -> &str {
    &line[line.trim_end().len()..]
}

/// Tabs and spaces, counted.
pub(super) fn count_blanks(text: &str) -> String {
    let count = |c: char, name: &str| match text.chars().filter(|other| *other == c).count() {
        0 => None,
        1 => Some(format!("1 {name}")),
        n => Some(format!("{n} {name}s")),
    };
    let parts: Vec<String> = [count('\t', "tab"), count(' ', "space")].into_iter().flatten().collect();
    match (parts.is_empty(), text.is_empty()) {
        (false, _) => parts.join(" and "),
        (true, true) => "no white space".into(),
        (true, false) => "other white space".into(),
    }
}

/// The middle of both lines, without their common beginning and end, widened to whole words.
fn differing_parts<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str) {
    let shared = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
    };
    let head = shared(&mut a.chars().zip(b.chars()));
    let head = a[..head]
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |at| at + a[at..].chars().next().map_or(1, char::len_utf8));
    let (a, b) = (&a[head..], &b[head..]);
    let room = a.len().min(b.len());
    let tail = shared(&mut a.chars().rev().zip(b.chars().rev())).min(room);
    let tail = a[a.len() - tail..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| tail - at);
    (&a[..a.len() - tail], &b[..b.len() - tail])
}

/// The line nearest to line `at` by which that place can be told from the other places.
fn distinct_line(lines: &[&str], places: &[usize], at: usize) -> Option<usize> {
    let around = (1..=MAX_DISTANCE).flat_map(|distance| [-(distance as isize), distance as isize]);
    around
        .filter_map(|offset| Some((offset, at.checked_add_signed(offset).filter(|line| *line < lines.len())?)))
        .find(|(offset, line)| {
            let text = lines[*line].trim();
            let others = places.iter().filter(|other| **other != at);
            let mut same = others.map(|other| other.checked_add_signed(*offset).and_then(|line| lines.get(line)));
            !text.is_empty() && same.all(|line| line.is_none_or(|line| line.trim() != text))
        })
        .map(|(_, line)| line)
}

fn clip(mut text: String) -> String {
    if text.len() > MAX_BYTES {
        let end = text.floor_char_boundary(MAX_BYTES - '…'.len_utf8());
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
