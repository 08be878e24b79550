//! Vim keys. Their state is separate from the editor, so that mode, register and cursor survive while something covers
//! the prompt. Insert mode uses the usual keys; this module implements the normal and visual modes, where unknown keys
//! are ignored.

mod objects;

use super::Editor;
use super::motion;
use crate::keys::{KeyCode, KeyPress};
use objects::{CharFind, FindKind, object};
use std::ops::Range;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VimMode {
    #[default]
    Insert,
    Normal,
    Visual,
    VisualLine,
}

impl VimMode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Normal => "NORMAL",
            Self::Visual => "VISUAL",
            Self::VisualLine => "VISUAL LINE",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VimOperator {
    Delete,
    Change,
    Yank,
    Indent,
    Outdent,
}

/// Whether a register or range consists of characters or of whole lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum VimShape {
    #[default]
    Chars,
    Lines,
}

#[derive(Clone, Debug, Default)]
pub struct Vim {
    mode: VimMode,
    /// Keys of an incomplete command.
    pending: String,
    register: (String, VimShape),
    find: Option<CharFind>,
    /// The start of a visual selection.
    anchor: usize,
    /// The keys of the last change, for `.`.
    last: String,
    /// The text typed after it in insert mode.
    typed: String,
    repeating: bool,
}

/// Whether a key was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHandling {
    Yes,
    /// The usual keys apply.
    No,
}

/// The result of parsing the pending keys.
enum VimParse {
    Complete,
    Incomplete,
    Nonsense,
}

/// The target of a motion, and whether the motion includes the character there.
struct MotionTarget {
    at: usize,
    inclusive: bool,
    shape: VimShape,
}

impl Vim {
    pub fn mode(&self) -> VimMode {
        self.mode
    }

    /// True in normal mode without a pending command.
    pub fn is_idle(&self) -> bool {
        self.mode == VimMode::Normal && self.pending.is_empty()
    }

    /// The visual selection as a range of the text; `None` outside the visual modes.
    pub fn selection(&self, editor: &Editor) -> Option<Range<usize>> {
        match self.mode {
            VimMode::Insert | VimMode::Normal => None,
            VimMode::Visual => {
                let (from, to) = ordered(self.anchor, editor.cursor());
                Some(from..motion::right(editor.text(), to))
            }
            VimMode::VisualLine => {
                let (from, to) = ordered(self.anchor, editor.cursor());
                Some(lines(editor.text(), from, to))
            }
        }
    }

    /// Called when the prompt was sent or cleared: the next prompt starts in insert mode.
    pub fn reset(&mut self) {
        self.mode = VimMode::Insert;
        self.pending.clear();
    }

    pub fn key(&mut self, editor: &mut Editor, key: KeyPress) -> KeyHandling {
        if self.mode == VimMode::Insert {
            if key == KeyPress::plain(KeyCode::Escape) {
                self.leave_insert(editor);
                return KeyHandling::Yes;
            }
            if let Some(c) = key.text() {
                self.typed.push(c);
            }
            return KeyHandling::No;
        }
        let typed = match key.code {
            KeyCode::Escape if key.mods.is_none() => {
                self.pending.clear();
                let selecting = self.mode != VimMode::Normal;
                self.mode = VimMode::Normal;
                // In normal mode Esc has its usual meaning.
                return if selecting { KeyHandling::Yes } else { KeyHandling::No };
            }
            KeyCode::Char(c) if key.mods.is_none() => c,
            KeyCode::Left | KeyCode::Backspace => 'h',
            KeyCode::Right => 'l',
            KeyCode::Home => '0',
            KeyCode::End => '$',
            _ => return KeyHandling::No,
        };
        self.pending.push(typed);
        let keys = self.pending.clone();
        match self.run(editor, &keys) {
            VimParse::Incomplete => {}
            VimParse::Complete | VimParse::Nonsense => self.pending.clear(),
        }
        KeyHandling::Yes
    }

    fn leave_insert(&mut self, editor: &mut Editor) {
        self.mode = VimMode::Normal;
        let start = motion::line_start(editor.text(), editor.cursor());
        if editor.cursor() > start {
            editor.left();
        }
    }

    fn insert(&mut self) {
        self.mode = VimMode::Insert;
        if !self.repeating {
            self.typed.clear();
        }
    }

    fn run(&mut self, editor: &mut Editor, keys: &str) -> VimParse {
        let (count, rest) = count(keys);
        let Some(first) = rest.chars().next() else { return VimParse::Incomplete };
        if self.mode != VimMode::Normal {
            return self.visual(editor, count.unwrap_or(1), first, rest);
        }
        match first {
            'd' | 'c' | 'y' | '>' | '<' => return self.operator(editor, count, first, rest),
            'i' | 'a' | 'I' | 'A' | 'o' | 'O' => self.start_insert(editor, first),
            'x' | 'X' | 's' | 'S' | 'D' | 'C' | 'Y' => self.shorthand(editor, count.unwrap_or(1), first),
            'p' | 'P' => self.put(editor, first),
            'J' => join(editor),
            '~' => flip(editor),
            'u' => {
                editor.undo();
            }
            '.' => self.repeat(editor),
            'v' => {
                self.anchor = editor.cursor();
                self.mode = VimMode::Visual;
            }
            'V' => {
                self.anchor = editor.cursor();
                self.mode = VimMode::VisualLine;
            }
            'r' => {
                let Some(with) = rest.chars().nth(1) else { return VimParse::Incomplete };
                replace_char(editor, with);
            }
            _ => return self.run_motion(editor, count.unwrap_or(1), rest),
        }
        if !matches!(first, 'u' | '.' | 'v' | 'V') {
            self.record_change(keys);
        }
        VimParse::Complete
    }

    /// Records the keys that `.` repeats.
    fn record_change(&mut self, keys: &str) {
        if !self.repeating {
            keys.clone_into(&mut self.last);
        }
    }

    fn repeat(&mut self, editor: &mut Editor) {
        let (keys, typed) = (self.last.clone(), self.typed.clone());
        if keys.is_empty() {
            return;
        }
        self.repeating = true;
        self.run(editor, &keys);
        if self.mode == VimMode::Insert {
            editor.insert(&typed);
            self.leave_insert(editor);
        }
        self.repeating = false;
    }

    // Moving.

    fn run_motion(&mut self, editor: &mut Editor, count: usize, keys: &str) -> VimParse {
        match self.target(editor, count, keys) {
            Ok(target) => {
                editor.go(target.at);
                VimParse::Complete
            }
            Err(parsed) => parsed,
        }
    }

    fn target(&mut self, editor: &Editor, count: usize, keys: &str) -> Result<MotionTarget, VimParse> {
        let text = editor.text();
        let from = editor.cursor();
        let mut chars = keys.chars();
        let first = chars.next().ok_or(VimParse::Incomplete)?;
        let plain = |at| Ok(MotionTarget { at, inclusive: false, shape: VimShape::Chars });
        let inclusive = |at| Ok(MotionTarget { at, inclusive: true, shape: VimShape::Chars });
        let linewise = |at| Ok(MotionTarget { at, inclusive: true, shape: VimShape::Lines });
        let times = |step: &dyn Fn(usize) -> usize| (0..count).fold(from, |at, _| step(at));
        match first {
            'h' => plain(times(&|at| motion::left(text, at)).max(motion::line_start(text, from))),
            'l' | ' ' => plain(times(&|at| motion::right(text, at)).min(motion::line_end(text, from))),
            'j' => linewise(times(&|at| objects::line_below(text, at))),
            'k' => linewise(times(&|at| objects::line_above(text, at))),
            'w' => plain(times(&|at| objects::next_word(text, at, objects::WordSize::Small))),
            'W' => plain(times(&|at| objects::next_word(text, at, objects::WordSize::Big))),
            'e' => inclusive(times(&|at| objects::word_end(text, at, objects::WordSize::Small))),
            'E' => inclusive(times(&|at| objects::word_end(text, at, objects::WordSize::Big))),
            'b' => plain(times(&|at| objects::word_start(text, at, objects::WordSize::Small))),
            'B' => plain(times(&|at| objects::word_start(text, at, objects::WordSize::Big))),
            '0' => plain(motion::line_start(text, from)),
            '^' => plain(objects::first_non_blank(text, from)),
            '$' => plain(motion::line_end(text, from)),
            'G' => linewise(text.len()),
            'g' => match chars.next() {
                None => Err(VimParse::Incomplete),
                Some('g') => linewise(0),
                Some(_) => Err(VimParse::Nonsense),
            },
            'f' | 'F' | 't' | 'T' => {
                let what = chars.next().ok_or(VimParse::Incomplete)?;
                let find = CharFind { kind: FindKind::parse(first), what };
                self.find = Some(find);
                find.go(text, from, count).map(|at| found(find, at)).ok_or(VimParse::Nonsense)
            }
            ';' | ',' => {
                let find = self.find.ok_or(VimParse::Nonsense)?;
                let find = if first == ',' { find.reversed() } else { find };
                find.go(text, from, count).map(|at| found(find, at)).ok_or(VimParse::Nonsense)
            }
            _ => Err(VimParse::Nonsense),
        }
    }

    // Operators.

    fn operator(&mut self, editor: &mut Editor, count_before: Option<usize>, name: char, keys: &str) -> VimParse {
        let operator = match name {
            'd' => VimOperator::Delete,
            'c' => VimOperator::Change,
            'y' => VimOperator::Yank,
            '>' => VimOperator::Indent,
            _ => VimOperator::Outdent,
        };
        let (count_after, rest) = count(&keys[1..]);
        let times = count_before.unwrap_or(1) * count_after.unwrap_or(1);
        let Some(first) = rest.chars().next() else { return VimParse::Incomplete };
        let text = editor.text();
        let from = editor.cursor();
        let (range, shape) = if first == name {
            let end = (1..times).fold(from, |at, _| objects::line_below(text, at));
            (lines(text, from, end), VimShape::Lines)
        } else if first == 'i' || first == 'a' {
            let Some(kind) = rest.chars().nth(1) else { return VimParse::Incomplete };
            let Some(range) = object(text, from, first, kind) else { return VimParse::Nonsense };
            (range, VimShape::Chars)
        } else {
            // `cw` does not change the blank after the word.
            let rest = match (operator, first) {
                (VimOperator::Change, 'w') => "e",
                (VimOperator::Change, 'W') => "E",
                _ => rest,
            };
            match self.target(editor, times, rest) {
                Err(parsed) => return parsed,
                Ok(target) => span(editor.text(), from, &target),
            }
        };
        let keys = self.pending.clone();
        self.apply(editor, operator, range, shape);
        if operator != VimOperator::Yank {
            self.record_change(&keys);
        }
        VimParse::Complete
    }

    fn apply(&mut self, editor: &mut Editor, operator: VimOperator, range: Range<usize>, shape: VimShape) {
        let text = editor.text();
        if operator != VimOperator::Indent && operator != VimOperator::Outdent {
            self.register = (text[range.clone()].trim_end_matches('\n').to_owned(), shape);
            if shape == VimShape::Chars {
                text[range.clone()].clone_into(&mut self.register.0);
            }
        }
        match operator {
            VimOperator::Yank => editor.go(range.start),
            VimOperator::Delete => {
                let range = match shape {
                    VimShape::Chars => range,
                    VimShape::Lines => with_break(text, range),
                };
                editor.remove(range);
                if shape == VimShape::Lines {
                    editor.go(objects::first_non_blank(editor.text(), editor.cursor()));
                }
            }
            VimOperator::Change => {
                editor.remove(range);
                self.insert();
            }
            VimOperator::Indent | VimOperator::Outdent => indent(editor, &range, operator),
        }
    }

    fn shorthand(&mut self, editor: &mut Editor, count: usize, name: char) {
        let text = editor.text();
        let from = editor.cursor();
        let end = motion::line_end(text, from);
        let ahead = (0..count).fold(from, |at, _| motion::right(text, at)).min(end);
        let behind = (0..count).fold(from, |at, _| motion::left(text, at)).max(motion::line_start(text, from));
        let line = lines(text, from, from);
        let (operator, range, shape) = match name {
            'x' => (VimOperator::Delete, from..ahead, VimShape::Chars),
            'X' => (VimOperator::Delete, behind..from, VimShape::Chars),
            's' => (VimOperator::Change, from..ahead, VimShape::Chars),
            'S' => (VimOperator::Change, line, VimShape::Lines),
            'D' => (VimOperator::Delete, from..end, VimShape::Chars),
            'C' => (VimOperator::Change, from..end, VimShape::Chars),
            _ => (VimOperator::Yank, line, VimShape::Lines),
        };
        if !range.is_empty() || operator == VimOperator::Change {
            self.apply(editor, operator, range, shape);
        }
    }

    fn start_insert(&mut self, editor: &mut Editor, name: char) {
        let text = editor.text();
        let from = editor.cursor();
        match name {
            'a' => editor.go(motion::right(text, from).min(motion::line_end(text, from))),
            'I' => editor.go(objects::first_non_blank(text, from)),
            'A' => editor.go(motion::line_end(text, from)),
            'o' => {
                editor.go(motion::line_end(text, from));
                editor.insert("\n");
            }
            'O' => {
                editor.go(motion::line_start(text, from));
                editor.insert("\n");
                editor.left();
            }
            _ => {}
        }
        self.insert();
    }

    fn put(&mut self, editor: &mut Editor, name: char) {
        let (text, shape) = self.register.clone();
        if text.is_empty() {
            return;
        }
        let from = editor.cursor();
        match (shape, name) {
            (VimShape::Chars, 'p') => {
                editor.go(motion::right(editor.text(), from).min(motion::line_end(editor.text(), from)));
                editor.insert(&text);
                editor.left();
            }
            (VimShape::Chars, _) => {
                editor.insert(&text);
                editor.left();
            }
            (VimShape::Lines, 'p') => {
                let end = motion::line_end(editor.text(), from);
                editor.go(end);
                editor.insert(&format!("\n{text}"));
                editor.go(end + 1);
            }
            (VimShape::Lines, _) => {
                let start = motion::line_start(editor.text(), from);
                editor.go(start);
                editor.insert(&format!("{text}\n"));
                editor.go(start);
            }
        }
    }

    // Visual modes.

    fn visual(&mut self, editor: &mut Editor, count: usize, first: char, keys: &str) -> VimParse {
        let Some(range) = self.selection(editor) else { return VimParse::Nonsense };
        let shape = if self.mode == VimMode::VisualLine { VimShape::Lines } else { VimShape::Chars };
        let replaced = |editor: &mut Editor, with: String| {
            editor.replace(range.clone(), &with);
            editor.go(range.start);
        };
        match first {
            'v' | 'V' => {
                let asked = if first == 'v' { VimMode::Visual } else { VimMode::VisualLine };
                self.mode = if self.mode == asked { VimMode::Normal } else { asked };
                return VimParse::Complete;
            }
            'o' => {
                let cursor = editor.cursor();
                editor.go(self.anchor);
                self.anchor = cursor;
                return VimParse::Complete;
            }
            'i' | 'a' => {
                let Some(kind) = keys.chars().nth(1) else { return VimParse::Incomplete };
                let Some(range) = object(editor.text(), editor.cursor(), first, kind) else {
                    return VimParse::Nonsense;
                };
                self.anchor = range.start;
                editor.go(motion::left(editor.text(), range.end));
                return VimParse::Complete;
            }
            'd' | 'x' => self.apply(editor, VimOperator::Delete, range, shape),
            'y' => self.apply(editor, VimOperator::Yank, range, shape),
            'c' | 's' => {
                self.mode = VimMode::Normal;
                self.apply(editor, VimOperator::Change, range, shape);
                return VimParse::Complete;
            }
            '>' => self.apply(editor, VimOperator::Indent, range, shape),
            '<' => self.apply(editor, VimOperator::Outdent, range, shape),
            'p' => {
                let text = self.register.0.clone();
                replaced(editor, text);
            }
            'u' => {
                let text = editor.text()[range.clone()].to_lowercase();
                replaced(editor, text);
            }
            'U' => {
                let text = editor.text()[range.clone()].to_uppercase();
                replaced(editor, text);
            }
            '~' => {
                let text = objects::flipped(&editor.text()[range.clone()]);
                replaced(editor, text);
            }
            'r' => {
                let Some(with) = keys.chars().nth(1) else { return VimParse::Incomplete };
                let text = &editor.text()[range.clone()];
                let text = text.chars().map(|c| if c == '\n' { c } else { with }).collect();
                replaced(editor, text);
            }
            'J' => {
                let breaks = editor.text()[range.clone()].matches('\n').count().max(1);
                editor.go(range.start);
                for _ in 0..breaks {
                    join(editor);
                }
            }
            _ => return self.run_motion(editor, count, keys),
        }
        self.mode = VimMode::Normal;
        VimParse::Complete
    }
}

/// Forward searches include the character they find.
fn found(find: CharFind, at: usize) -> MotionTarget {
    MotionTarget { at, inclusive: find.is_forward(), shape: VimShape::Chars }
}

fn join(editor: &mut Editor) {
    let text = editor.text();
    let end = motion::line_end(text, editor.cursor());
    if end == text.len() {
        return;
    }
    let next = text[end + 1..].trim_start_matches([' ', '\t']);
    let resume = text.len() - next.len();
    editor.replace(end..resume, " ");
    editor.left();
}

fn flip(editor: &mut Editor) {
    let from = editor.cursor();
    let to = motion::right(editor.text(), from);
    let flipped: String = objects::flipped(&editor.text()[from..to]);
    if flipped != "\n" && !flipped.is_empty() {
        editor.replace(from..to, &flipped);
    }
}

fn replace_char(editor: &mut Editor, with: char) {
    let from = editor.cursor();
    let to = motion::right(editor.text(), from);
    if from < to && &editor.text()[from..to] != "\n" {
        editor.replace(from..to, with.encode_utf8(&mut [0; 4]));
        editor.left();
    }
}

fn ordered(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

/// Splits off a leading count; a leading zero is a motion.
fn count(keys: &str) -> (Option<usize>, &str) {
    let digits = keys.len() - keys.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 || keys.starts_with('0') {
        return (None, keys);
    }
    (keys[..digits].parse::<usize>().ok().map(|n| n.clamp(1, 999)), &keys[digits..])
}

/// Whole lines from one position to another, without the line break after the last.
fn lines(text: &str, from: usize, to: usize) -> Range<usize> {
    motion::line_start(text, from)..motion::line_end(text, to)
}

/// Extends a range of lines by one line break: the one after it or, at the end of the text, the one before it.
fn with_break(text: &str, range: Range<usize>) -> Range<usize> {
    if range.end < text.len() {
        range.start..range.end + 1
    } else if range.start > 0 {
        range.start - 1..range.end
    } else {
        range
    }
}

/// The range between the cursor and the target of a motion.
fn span(text: &str, from: usize, target: &MotionTarget) -> (Range<usize>, VimShape) {
    let (start, end) = ordered(from, target.at);
    match target.shape {
        VimShape::Lines => (lines(text, start, end), VimShape::Lines),
        VimShape::Chars if target.inclusive && target.at >= from => (start..motion::right(text, end), VimShape::Chars),
        VimShape::Chars => (start..end, VimShape::Chars),
    }
}

fn indent(editor: &mut Editor, range: &Range<usize>, operator: VimOperator) {
    let whole = lines(editor.text(), range.start, range.end);
    let shifted: Vec<String> = editor.text()[whole.clone()]
        .split('\n')
        .map(|line| match operator {
            VimOperator::Indent => format!("  {line}"),
            _ => line.strip_prefix("  ").or_else(|| line.strip_prefix(' ')).unwrap_or(line).to_owned(),
        })
        .collect();
    editor.replace(whole.clone(), &shifted.join("\n"));
    editor.go(objects::first_non_blank(editor.text(), whole.start));
}

#[cfg(test)]
#[path = "vim_tests.rs"]
mod tests;
