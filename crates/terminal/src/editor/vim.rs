//! Vim keys. Their state is separate from the editor, so that mode, register and cursor survive while something covers
//! the prompt. Insert mode uses the usual keys; this module implements the normal and visual modes, where unknown keys
//! are ignored. `tests/vim_program.rs` compares it with Vim.

mod change;
mod find;
mod motions;
mod objects;
mod parse;
mod select;

use super::Editor;
use super::motion;
use crate::keys::{KeyCode, KeyPress};
use find::CharFind;
use motions::{GoalColumn, MotionStart, MotionUse, last_of_line};
use parse::{NoCommand, OperatorTarget, VimCommand, VimMotion, VimOperator, VimShape, VimVerb};
use select::SelectionExtent;
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

#[derive(Clone, Debug, Default)]
struct VimRegister {
    text: String,
    shape: VimShape,
}

/// What `.` repeats.
#[derive(Clone, Debug)]
struct LastChange {
    command: VimCommand,
    /// How much was selected.
    extent: Option<SelectionExtent>,
    /// What was typed in insert mode after it.
    typed: String,
}

/// Text being typed in insert mode.
#[derive(Clone, Debug, Default)]
struct TypedInsert {
    /// Where it began; `None` before the first key, and after the cursor was moved.
    start: Option<usize>,
    /// How often it is inserted again at the end: once less than the count.
    repeats: usize,
    /// Each repetition is a line of its own.
    by_lines: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Vim {
    mode: VimMode,
    /// Keys of an incomplete command.
    pending: String,
    register: VimRegister,
    find: Option<CharFind>,
    /// The start of a visual selection.
    anchor: usize,
    goal: Option<GoalColumn>,
    last: Option<LastChange>,
    insert: TypedInsert,
    /// A change is being repeated, so nothing is recorded.
    is_repeating: bool,
}

/// Whether a key was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHandling {
    Yes,
    /// The usual keys apply.
    No,
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
        let (from, to) = (self.anchor.min(editor.cursor()), self.anchor.max(editor.cursor()));
        match self.mode {
            VimMode::Insert | VimMode::Normal => None,
            VimMode::Visual => Some(from..motion::right(editor.text(), to)),
            VimMode::VisualLine => Some(lines(editor.text(), from, to)),
        }
    }

    /// Called when the prompt was sent or cleared: the next prompt starts in insert mode.
    pub fn reset(&mut self) {
        self.mode = VimMode::Insert;
        self.pending.clear();
        self.insert = TypedInsert::default();
        self.goal = None;
    }

    pub fn key(&mut self, editor: &mut Editor, key: KeyPress) -> KeyHandling {
        if self.mode == VimMode::Insert {
            return self.insert_key(editor, key);
        }
        let typed = match key.code {
            KeyCode::Escape if key.mods.is_none() => return self.escape(editor),
            KeyCode::Char(c) if key.mods.is_none() => c,
            KeyCode::Left | KeyCode::Backspace => 'h',
            KeyCode::Right => 'l',
            KeyCode::Home => '0',
            KeyCode::End => '$',
            _ => return KeyHandling::No,
        };
        self.pending.push(typed);
        match parse::command(&self.pending, self.mode) {
            Err(NoCommand::Incomplete) => {}
            Err(NoCommand::Nonsense) => self.pending.clear(),
            Ok(command) => {
                self.pending.clear();
                self.run(editor, command);
            }
        }
        KeyHandling::Yes
    }

    fn insert_key(&mut self, editor: &mut Editor, key: KeyPress) -> KeyHandling {
        if key == KeyPress::plain(KeyCode::Escape) {
            self.leave_insert(editor);
            return KeyHandling::Yes;
        }
        if matches!(
            key.code,
            KeyCode::Left | KeyCode::Right | KeyCode::Up | KeyCode::Down | KeyCode::Home | KeyCode::End
        ) {
            self.insert.start = None;
            editor.end_group();
        } else if self.insert.start.is_none() {
            self.insert.start = Some(editor.cursor());
            editor.begin_group();
        }
        KeyHandling::No
    }

    /// Cancels what is pending or selected; in normal mode Esc has its usual meaning.
    fn escape(&mut self, editor: &mut Editor) -> KeyHandling {
        let was_busy = self.mode != VimMode::Normal || !self.pending.is_empty();
        self.pending.clear();
        self.enter_normal(editor);
        if was_busy { KeyHandling::Yes } else { KeyHandling::No }
    }

    fn enter_normal(&mut self, editor: &mut Editor) {
        self.mode = VimMode::Normal;
        let last = last_of_line(editor.text(), editor.cursor());
        if editor.cursor() > last {
            let at = editor.step_left(editor.cursor());
            editor.go(at);
        }
    }

    fn start_insert(&mut self, editor: &mut Editor, repeats: usize, by_lines: bool) {
        self.mode = VimMode::Insert;
        self.insert = TypedInsert { start: Some(editor.cursor()), repeats, by_lines };
    }

    fn leave_insert(&mut self, editor: &mut Editor) {
        let TypedInsert { start, repeats, by_lines } = std::mem::take(&mut self.insert);
        let typed = start.and_then(|start| editor.text().get(start..editor.cursor())).unwrap_or_default().to_owned();
        let again = if by_lines { format!("\n{typed}") } else { typed.clone() };
        if start.is_some() && !again.is_empty() {
            editor.insert(&again.repeat(repeats));
        }
        if !self.is_repeating
            && let Some(last) = &mut self.last
        {
            last.typed = typed;
        }
        editor.end_group();
        self.goal = None;
        let line = motion::line_start(editor.text(), editor.cursor());
        if editor.cursor() > line {
            editor.left();
        }
        self.mode = VimMode::Normal;
    }

    fn run(&mut self, editor: &mut Editor, command: VimCommand) {
        let extent = self.selection_extent(editor);
        editor.begin_group();
        let is_change = self.perform(editor, command);
        if is_change && !self.is_repeating {
            self.last = Some(LastChange { command, extent, typed: String::new() });
        }
        if self.mode != VimMode::Insert {
            editor.end_group();
        }
        if self.mode == VimMode::Normal {
            self.enter_normal(editor);
        }
    }

    /// Whether the command changed something that `.` repeats.
    fn perform(&mut self, editor: &mut Editor, VimCommand { count, verb }: VimCommand) -> bool {
        if let VimVerb::Move(by) = verb {
            self.go_by(editor, by, count);
            return false;
        }
        let is_change = self.perform_edit(editor, verb, count);
        self.goal = None;
        is_change
    }

    fn perform_edit(&mut self, editor: &mut Editor, verb: VimVerb, count: Option<usize>) -> bool {
        let times = count.unwrap_or(1);
        match verb {
            VimVerb::Operate(operator, target) => self.operate(editor, operator, target, count),
            VimVerb::Insert(how) => self.insert_command(editor, how, times),
            VimVerb::Shorthand(name) => self.shorthand(editor, name, times),
            VimVerb::Put(side) => change::put(editor, &self.register, side, times),
            VimVerb::Join => change::join(editor, times),
            VimVerb::FlipCase => change::flip_case(editor, times),
            VimVerb::Replace(with) => change::replace_chars(editor, with, times),
            VimVerb::Undo => {
                editor.end_group();
                for _ in 0..times {
                    editor.undo();
                }
                false
            }
            VimVerb::Repeat => {
                self.repeat(editor, count);
                false
            }
            VimVerb::Select(shape) => {
                self.select(editor, shape);
                false
            }
            VimVerb::SelectObject(object) => {
                self.select_object(editor, object, times);
                false
            }
            VimVerb::SwapEnds => {
                let cursor = editor.cursor();
                editor.go(self.anchor);
                self.anchor = cursor;
                false
            }
            VimVerb::OperateSelection(operator) => self.operate_selection(editor, operator, times),
            VimVerb::ChangeSelection(name, with) => self.change_selection(editor, name, with),
            VimVerb::Move(_) => false,
        }
    }

    fn repeat(&mut self, editor: &mut Editor, count: Option<usize>) {
        let Some(LastChange { mut command, extent, typed }) = self.last.clone() else { return };
        if count.is_some() {
            command.count = count;
            if let Some(last) = &mut self.last {
                last.command.count = count;
            }
        }
        self.is_repeating = true;
        if let Some(extent) = extent {
            self.reselect(editor, extent);
        }
        self.perform(editor, command);
        if self.mode == VimMode::Insert {
            editor.insert_whole(&typed);
            self.leave_insert(editor);
        }
        self.is_repeating = false;
    }

    // Moving.

    fn motion_start<'a>(&self, editor: &'a Editor, purpose: MotionUse) -> MotionStart<'a> {
        MotionStart { text: editor.text(), from: editor.cursor(), goal: self.goal, find: self.find, purpose }
    }

    fn remember_find(&mut self, by: VimMotion) {
        if let VimMotion::Find(find) = by {
            self.find = Some(find);
        }
    }

    fn go_by(&mut self, editor: &mut Editor, by: VimMotion, count: Option<usize>) {
        let purpose = if self.mode == VimMode::Normal { MotionUse::Move } else { MotionUse::Select };
        let target = self.motion_start(editor, purpose).target(by, count);
        self.remember_find(by);
        let Some(target) = target else { return };
        self.goal = target.goal;
        land(editor, target.at);
    }

    // Changing.

    fn operate(
        &mut self,
        editor: &mut Editor,
        operator: VimOperator,
        target: OperatorTarget,
        count: Option<usize>,
    ) -> bool {
        let (text, from) = (editor.text(), editor.cursor());
        let mut to = from;
        let found = match target {
            OperatorTarget::Lines => {
                let down = count.unwrap_or(1) - 1;
                let below = text[from..].match_indices('\n').map(|(index, _)| from + index + 1).take(down).last();
                let end = if down == 0 { Some(from) } else { below };
                end.map(|end| (lines(text, from, end), VimShape::Lines))
            }
            OperatorTarget::Object(object) => {
                let range = objects::object(text, from, object.reach, object.kind, count.unwrap_or(1));
                range.map(|range| (range, VimShape::Chars))
            }
            OperatorTarget::Motion(by) => {
                let start = self.motion_start(editor, MotionUse::Operator(operator));
                let target = start.target(by, count);
                self.remember_find(by);
                to = target.map_or(from, |target| target.at);
                target.map(|target| motions::span(text, from, &target, operator))
            }
        };
        let Some((range, shape)) = found else { return false };
        self.apply(editor, operator, range, shape);
        if operator == VimOperator::Yank && shape == VimShape::Lines {
            editor.go(from.min(to));
        }
        operator != VimOperator::Yank
    }

    /// Carries out an operator. Yanking lines leaves the cursor where it is.
    fn apply(&mut self, editor: &mut Editor, operator: VimOperator, range: Range<usize>, shape: VimShape) {
        let is_nothing = range.is_empty() && shape == VimShape::Chars && operator != VimOperator::Yank;
        if !is_nothing && !matches!(operator, VimOperator::Indent | VimOperator::Outdent) {
            self.register = VimRegister { text: editor.text()[range.clone()].to_owned(), shape };
        }
        match operator {
            VimOperator::Yank if shape == VimShape::Lines => {}
            VimOperator::Yank => editor.go(range.start),
            VimOperator::Delete => change::delete(editor, range, shape),
            VimOperator::Change => {
                editor.go(range.start);
                editor.remove(range);
                self.start_insert(editor, 0, false);
            }
            VimOperator::Indent | VimOperator::Outdent => change::shift(editor, &range, operator, 1),
        }
    }

    fn shorthand(&mut self, editor: &mut Editor, name: char, times: usize) -> bool {
        let (text, from) = (editor.text(), editor.cursor());
        let end = motion::line_end(text, from);
        let ahead = (0..times).fold(from, |at, _| motion::right(text, at)).min(end);
        let behind = (0..times).fold(from, |at, _| motion::left(text, at)).max(motion::line_start(text, from));
        let (operator, range) = match name {
            'x' => (VimOperator::Delete, from..ahead),
            'X' => (VimOperator::Delete, behind..from),
            _ => (VimOperator::Change, from..ahead),
        };
        if range.is_empty() && operator == VimOperator::Delete {
            return false;
        }
        self.apply(editor, operator, range, VimShape::Chars);
        true
    }

    fn insert_command(&mut self, editor: &mut Editor, how: char, times: usize) -> bool {
        let (text, from) = (editor.text(), editor.cursor());
        match how {
            'a' => editor.go(motion::right(text, from).min(motion::line_end(text, from))),
            'I' => editor.go(objects::indented(text, from)),
            'A' => editor.go(motion::line_end(text, from)),
            'o' => {
                let end = motion::line_end(text, from);
                editor.insert_at(end, "\n");
            }
            'O' => {
                let start = motion::line_start(text, from);
                editor.insert_at(start, "\n");
                editor.go(start);
            }
            _ => {}
        }
        self.start_insert(editor, times - 1, matches!(how, 'o' | 'O'));
        true
    }
}

/// Moves the cursor. A chip is entered at its start and left at its end.
fn land(editor: &mut Editor, at: usize) {
    let from = editor.cursor();
    let chip = editor.chips.around(editor.text(), at);
    match chip {
        Some(chip) if chip.start > from || at < from => editor.go(chip.start),
        _ => editor.go(at),
    }
}

/// Whole lines from one position to another, without the line break after the last.
fn lines(text: &str, from: usize, to: usize) -> Range<usize> {
    motion::line_start(text, from)..motion::line_end(text, to)
}

#[cfg(test)]
#[path = "vim_tests.rs"]
mod tests;
