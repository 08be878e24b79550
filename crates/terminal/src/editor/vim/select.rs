//! The visual modes.

use super::motions::{self, GoalColumn, column};
use super::objects;
use super::parse::{TextObject, VimOperator, VimShape};
use super::{Vim, VimMode, VimRegister, change, lines};
use crate::editor::{Editor, motion};
use std::ops::Range;

/// How much was selected, for repeating the command elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SelectionExtent {
    shape: VimShape,
    /// Line breaks in it.
    breaks: usize,
    /// Columns in one line, or the column in the last of several.
    columns: GoalColumn,
}

impl Vim {
    fn shape(&self) -> VimShape {
        if self.mode == VimMode::VisualLine { VimShape::Lines } else { VimShape::Chars }
    }

    /// `v` or `V`: begins a selection, changes its kind, or ends it.
    pub(super) fn select(&mut self, editor: &mut Editor, shape: VimShape) {
        let mode = if shape == VimShape::Lines { VimMode::VisualLine } else { VimMode::Visual };
        if self.mode == mode {
            return self.enter_normal(editor);
        }
        if self.mode == VimMode::Normal {
            self.anchor = editor.cursor();
        }
        self.mode = mode;
    }

    pub(super) fn select_object(&mut self, editor: &mut Editor, object: TextObject, times: usize) {
        let range = objects::object(editor.text(), editor.cursor(), object.reach, object.kind, times);
        let Some(range) = range.filter(|range| !range.is_empty()) else { return };
        self.mode = VimMode::Visual;
        self.anchor = range.start;
        editor.go(motion::left(editor.text(), range.end));
    }

    pub(super) fn selection_extent(&self, editor: &Editor) -> Option<SelectionExtent> {
        let range = self.selection(editor)?;
        let (text, anchor) = (editor.text(), self.anchor);
        let (from, to) = (anchor.min(editor.cursor()), anchor.max(editor.cursor()));
        let breaks = text[from..to].matches('\n').count();
        let columns = match (self.goal, breaks) {
            (Some(GoalColumn::End), _) => GoalColumn::End,
            (_, 0) => GoalColumn::At(column(text, range.end.min(motion::line_end(text, to))) - column(text, from)),
            _ => GoalColumn::At(column(text, to)),
        };
        Some(SelectionExtent { shape: self.shape(), breaks, columns })
    }

    /// Selects as much from the cursor on as was selected before.
    pub(super) fn reselect(&mut self, editor: &mut Editor, extent: SelectionExtent) {
        let (text, from) = (editor.text(), editor.cursor());
        self.anchor = from;
        self.mode = if extent.shape == VimShape::Lines { VimMode::VisualLine } else { VimMode::Visual };
        let start = motion::line_start(text, from);
        let below = text[start..].match_indices('\n').map(|(index, _)| start + index + 1).take(extent.breaks);
        let line = below.last().unwrap_or(start);
        let goal = match extent.columns {
            GoalColumn::At(columns) if extent.breaks == 0 => {
                GoalColumn::At(column(text, from) + columns.saturating_sub(1))
            }
            other => other,
        };
        let at = motions::at_goal(text, line, goal);
        let at = if goal == GoalColumn::End { at } else { at.min(motions::last_of_line(text, at)) };
        self.goal = Some(goal);
        editor.go(at);
    }

    fn selected(&self, editor: &Editor) -> Option<(Range<usize>, VimShape)> {
        Some((self.selection(editor)?, self.shape()))
    }

    /// Where the cursor is after a command on the selection: in lines it keeps its column only when it was moved up.
    fn cursor_after(&self, editor: &Editor, range: &Range<usize>) -> usize {
        let is_above = editor.cursor() < motion::line_start(editor.text(), self.anchor);
        if is_above || self.mode == VimMode::Visual {
            range.start.max(editor.cursor().min(self.anchor))
        } else {
            range.start
        }
    }

    pub(super) fn operate_selection(&mut self, editor: &mut Editor, operator: VimOperator, times: usize) -> bool {
        let Some((range, shape)) = self.selected(editor) else { return false };
        let after = self.cursor_after(editor, &range);
        self.mode = VimMode::Normal;
        match operator {
            VimOperator::Indent | VimOperator::Outdent => {
                let end = self.anchor.max(editor.cursor());
                change::shift(editor, &(range.start..end), operator, times);
            }
            _ => {
                editor.go(after);
                self.apply(editor, operator, range, shape);
            }
        }
        operator != VimOperator::Yank
    }

    pub(super) fn change_selection(&mut self, editor: &mut Editor, name: char, with: Option<char>) -> bool {
        let Some((range, shape)) = self.selected(editor) else { return false };
        let after = self.cursor_after(editor, &range);
        let (first, last) = (self.anchor.min(editor.cursor()), self.anchor.max(editor.cursor()));
        self.mode = VimMode::Normal;
        match name {
            'p' => self.put_over(editor, range, shape),
            'J' => {
                let breaks = editor.text()[lines(editor.text(), first, last)].matches('\n').count();
                editor.go(after);
                return change::join(editor, breaks + 1);
            }
            _ => {
                if change::touches_chip(editor, &range) {
                    return false;
                }
                let text = rewritten(&editor.text()[range.clone()], name, with);
                editor.go(range.start);
                editor.replace(range.clone(), &text);
                editor.go(if name == 'r' { range.start } else { after });
            }
        }
        true
    }

    /// The register in place of the selection, which goes into the register.
    fn put_over(&mut self, editor: &mut Editor, range: Range<usize>, shape: VimShape) {
        let taken = VimRegister { text: editor.text()[range.clone()].to_owned(), shape };
        let put = std::mem::replace(&mut self.register, taken);
        let at = range.start;
        let is_line = put.shape == VimShape::Lines;
        let splits = is_line && shape == VimShape::Chars;
        let text = if splits { format!("\n{}\n", put.text) } else { put.text };
        editor.go(at);
        editor.replace(range, &text);
        if is_line || shape == VimShape::Lines {
            editor.go(objects::first_non_blank(editor.text(), at + usize::from(splits)));
        } else if text.contains('\n') {
            editor.go(at);
        } else if !text.is_empty() {
            editor.left();
        }
    }
}

fn rewritten(text: &str, name: char, with: Option<char>) -> String {
    match (name, with) {
        ('u', _) => text.to_lowercase(),
        ('U', _) => text.to_uppercase(),
        ('r', Some(with)) => text.chars().map(|c| if c == '\n' { c } else { with }).collect(),
        _ => objects::flipped(text),
    }
}
