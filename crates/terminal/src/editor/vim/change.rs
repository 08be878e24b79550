//! What commands change in the text.

use super::motions::last_of_line;
use super::objects;
use super::parse::{VimOperator, VimShape};
use super::{VimRegister, lines};
use crate::editor::{Editor, motion};
use std::ops::Range;

/// Columns of one step of indentation.
const INDENT: &str = "  ";

/// Removes text; the cursor stays at its start, or goes to the line that took the place of the lines.
pub(super) fn delete(editor: &mut Editor, range: Range<usize>, shape: VimShape) {
    if shape == VimShape::Chars {
        editor.go(range.start);
        editor.remove(range);
        return;
    }
    let text = editor.text();
    let range =
        if range.end < text.len() { range.start..range.end + 1 } else { range.start.saturating_sub(1)..range.end };
    editor.remove(range);
    // After the last lines the cursor is at the end of the line before.
    let at = objects::first_non_blank(editor.text(), editor.cursor());
    editor.go(at);
}

/// `p` and `P`; `false` when the register is empty.
pub(super) fn put(editor: &mut Editor, register: &VimRegister, side: char, times: usize) -> bool {
    let (text, from) = (editor.text(), editor.cursor());
    match register.shape {
        VimShape::Chars => {
            if register.text.is_empty() {
                return false;
            }
            let after = motion::right(text, from).min(motion::line_end(text, from));
            let at = if side == 'p' { after } else { from };
            editor.insert_at(at, &register.text.repeat(times));
            if register.text.contains('\n') {
                editor.go(at);
            } else {
                editor.left();
            }
        }
        VimShape::Lines => {
            let block = vec![register.text.as_str(); times].join("\n");
            let at = if side == 'p' {
                let end = motion::line_end(text, from);
                editor.insert_at(end, &format!("\n{block}"));
                end + 1
            } else {
                let start = motion::line_start(text, from);
                editor.insert_at(start, &format!("{block}\n"));
                start
            };
            editor.go(objects::first_non_blank(editor.text(), at));
        }
    }
    true
}

/// `J`: joins this line and those after it, `count` in all.
pub(super) fn join(editor: &mut Editor, count: usize) -> bool {
    let mut has_joined = false;
    for _ in 0..count.max(2) - 1 {
        let text = editor.text();
        let end = motion::line_end(text, editor.cursor());
        if end == text.len() {
            break;
        }
        let next = text[end + 1..].trim_start_matches([' ', '\t']);
        let resume = text.len() - next.len();
        let is_bare = next.is_empty() || next.starts_with(['\n', ')']);
        let ends_blank = objects::is_empty_line(text, end) || text[..end].ends_with([' ', '\t']);
        let gap = if is_bare || ends_blank { "" } else { " " };
        editor.replace(end..resume, gap);
        editor.go(end);
        has_joined = true;
    }
    has_joined
}

pub(super) fn flip_case(editor: &mut Editor, times: usize) -> bool {
    let (text, from) = (editor.text(), editor.cursor());
    let to = (0..times).fold(from, |at, _| motion::right(text, at)).min(motion::line_end(text, from));
    if from == to || touches_chip(editor, &(from..to)) {
        return false;
    }
    let flipped = objects::flipped(&text[from..to]);
    editor.replace(from..to, &flipped);
    true
}

pub(super) fn replace_chars(editor: &mut Editor, with: char, times: usize) -> bool {
    let (text, from) = (editor.text(), editor.cursor());
    let end = motion::line_end(text, from);
    let mut to = from;
    for _ in 0..times {
        if to >= end {
            return false;
        }
        to = motion::right(text, to);
    }
    if touches_chip(editor, &(from..to)) {
        return false;
    }
    editor.replace(from..to, &with.to_string().repeat(times));
    editor.left();
    true
}

/// Whether a part of a chip is in the range; the letters of a label cannot be changed one by one.
pub(super) fn touches_chip(editor: &Editor, range: &Range<usize>) -> bool {
    editor.chips.find(editor.text()).iter().any(|(chip, _)| chip.start < range.end && range.start < chip.end)
}

/// Indents or outdents lines by some steps.
pub(super) fn shift(editor: &mut Editor, range: &Range<usize>, operator: VimOperator, steps: usize) {
    let whole = lines(editor.text(), range.start, range.end);
    let shifted: Vec<String> =
        editor.text()[whole.clone()].split('\n').map(|line| shifted(line, operator, steps)).collect();
    editor.go(whole.start);
    editor.replace(whole.clone(), &shifted.join("\n"));
    let at = objects::first_non_blank(editor.text(), whole.start);
    editor.go(at.min(last_of_line(editor.text(), at)));
}

fn shifted(line: &str, operator: VimOperator, steps: usize) -> String {
    if operator == VimOperator::Indent {
        return if line.is_empty() { String::new() } else { format!("{}{line}", INDENT.repeat(steps)) };
    }
    let mut rest = line;
    for _ in 0..steps {
        rest = rest.strip_prefix(INDENT).or_else(|| rest.strip_prefix([' ', '\t'])).unwrap_or(rest);
    }
    rest.to_owned()
}
