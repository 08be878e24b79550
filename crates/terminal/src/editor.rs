//! The prompt editor: text, cursor, undo, kill ring, and chips, which are labels for pasted text and images. Positions
//! are byte offsets at grapheme boundaries. A chip is one unit: the cursor steps over it, and deleting removes it as a
//! whole. This module does not know about keys or colours.

pub mod chips;
pub mod layout;
pub mod motion;
pub mod vim;

use chips::{Chip, ChipSet};
use layout::EditorLayout;
use std::ops::Range;

const UNDO_LIMIT: usize = 200;
const KILL_LIMIT: usize = 30;

#[derive(Clone, Debug, PartialEq, Eq)]
struct EditSnapshot {
    text: String,
    cursor: usize,
}

/// Kinds of edits. Consecutive edits of one kind are undone in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EditKind {
    Typing,
    Deleting,
    Other,
}

/// Edits that are undone in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum UndoGroup {
    #[default]
    None,
    /// Open, without an edit so far.
    Empty,
    Begun,
}

#[derive(Clone, Debug, Default)]
pub struct Editor {
    text: String,
    cursor: usize,
    /// The column that vertical moves aim at; `None` after any other move.
    goal: Option<usize>,
    past: Vec<EditSnapshot>,
    future: Vec<EditSnapshot>,
    last: Option<EditKind>,
    group: UndoGroup,
    kills: Vec<String>,
    /// Whether the last command was a kill that can be extended or a yank that can be replaced.
    chain: KillChain,
    pub chips: ChipSet,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum KillChain {
    #[default]
    None,
    Kill,
    Yank {
        range: Range<usize>,
        index: usize,
    },
}

/// A submitted prompt: the text as shown, and with its chips expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    pub shown: String,
    pub expanded: String,
    /// Media type and base64 data of the images in the text.
    pub images: Vec<(String, String)>,
    /// The labels in the text with their chips, so that the prompt can be restored.
    pub chips: Vec<(String, Chip)>,
}

impl Submission {
    /// A text that was not typed in this editor.
    pub fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { shown: text.clone(), expanded: text, images: Vec::new(), chips: Vec::new() }
    }
}

impl Editor {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the whole text; the cursor moves to the end. Can be undone.
    pub fn set(&mut self, text: impl Into<String>) {
        self.push_undo(EditKind::Other);
        self.text = text.into();
        self.cursor = self.text.len();
        self.end_edit_chain();
    }

    /// Replaces text and cursor without recording an undo step.
    pub fn restore(&mut self, text: String, cursor: usize) {
        self.cursor = motion::boundary(&text, cursor);
        self.text = text;
        self.end_edit_chain();
    }

    /// Removes the text and clears the undo history; the kill ring is kept.
    pub fn take(&mut self) -> Submission {
        let shown = std::mem::take(&mut self.text);
        let expanded = self.chips.expand(&shown);
        let images = self.chips.images(&shown);
        let chips = self.chips.labelled(&shown);
        self.cursor = 0;
        self.past.clear();
        self.future.clear();
        self.chips.clear();
        self.last = None;
        self.group = UndoGroup::None;
        self.end_edit_chain();
        Submission { shown, expanded, images, chips }
    }

    /// The text with its chips expanded, as it would be submitted.
    pub fn expanded(&self) -> String {
        self.chips.expand(&self.text)
    }

    pub fn insert(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        // Whitespace ends an undo step, so that undo works word by word.
        let kind =
            if text.chars().all(char::is_whitespace) || text.len() > 8 { EditKind::Other } else { EditKind::Typing };
        self.push_undo(kind);
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.end_edit_chain();
    }

    /// Inserts text from the clipboard; long text becomes a chip.
    pub fn paste(&mut self, text: &str) {
        let text = crate::text::clean(text);
        if chips::is_long(&text) {
            let label = self.chips.add_text(text);
            self.insert(&label);
        } else {
            self.push_undo(EditKind::Other);
            self.text.insert_str(self.cursor, &text);
            self.cursor += text.len();
            self.end_edit_chain();
        }
    }

    pub fn remove(&mut self, range: Range<usize>) -> String {
        self.remove_as(range, EditKind::Other)
    }

    fn remove_as(&mut self, range: Range<usize>, kind: EditKind) -> String {
        let range = self.chips.widen(&self.text, range);
        if range.is_empty() {
            return String::new();
        }
        self.push_undo(kind);
        let gone = self.text[range.clone()].to_owned();
        self.text.replace_range(range.clone(), "");
        self.cursor = range.start;
        self.end_edit_chain();
        gone
    }

    pub fn replace(&mut self, range: Range<usize>, with: &str) {
        self.push_undo(EditKind::Other);
        self.text.replace_range(range.clone(), with);
        self.cursor = range.start + with.len();
        self.end_edit_chain();
    }

    pub fn backspace(&mut self) {
        let from = self.step_left(self.cursor);
        self.remove_as(from..self.cursor, EditKind::Deleting);
    }

    pub fn delete(&mut self) {
        let to = self.step_right(self.cursor);
        self.remove_as(self.cursor..to, EditKind::Deleting);
    }

    // Motions.

    pub fn step_left(&self, from: usize) -> usize {
        let at = motion::left(&self.text, from);
        self.chips.around(&self.text, at).map_or(at, |chip| chip.start)
    }

    pub fn step_right(&self, from: usize) -> usize {
        let at = motion::right(&self.text, from);
        self.chips.around(&self.text, at).map_or(at, |chip| chip.end)
    }

    pub fn go(&mut self, at: usize) {
        let at = motion::boundary(&self.text, at);
        self.go_exactly(self.chips.around(&self.text, at).map_or(at, |chip| chip.end));
    }

    pub fn left(&mut self) {
        self.go_exactly(self.step_left(self.cursor));
    }

    pub fn right(&mut self) {
        self.go_exactly(self.step_right(self.cursor));
    }

    /// What is typed after a move is undone on its own.
    fn go_exactly(&mut self, at: usize) {
        if at != self.cursor {
            self.last = None;
        }
        self.cursor = at;
        self.end_edit_chain();
    }

    pub fn word_left(&mut self) {
        self.go_exactly(self.word_start());
    }

    pub fn word_right(&mut self) {
        self.go(motion::word_right(&self.text, self.cursor));
    }

    fn word_start(&self) -> usize {
        let at = motion::word_left(&self.text, self.cursor);
        self.chips.around(&self.text, at).map_or(at, |chip| chip.start)
    }

    pub fn line_start(&mut self) {
        self.go_exactly(motion::line_start(&self.text, self.cursor));
    }

    pub fn line_end(&mut self) {
        self.go_exactly(motion::line_end(&self.text, self.cursor));
    }

    /// Moves one visual row up; returns `false` when there is none.
    pub fn up(&mut self, columns: usize) -> bool {
        self.vertical(columns, |row| row.checked_sub(1))
    }

    pub fn down(&mut self, columns: usize) -> bool {
        self.vertical(columns, |row| Some(row + 1))
    }

    fn vertical(&mut self, columns: usize, to: impl Fn(usize) -> Option<usize>) -> bool {
        let layout = EditorLayout::new(&self.text, columns);
        let (row, column) = layout.position(&self.text, self.cursor);
        let goal = self.goal.unwrap_or(column);
        let Some(at) = to(row).and_then(|row| layout.offset(&self.text, row, goal)) else { return false };
        self.cursor = self.chips.around(&self.text, at).map_or(at, |chip| chip.start);
        self.chain = KillChain::None;
        self.last = None;
        self.goal = Some(goal);
        true
    }

    // Kill and yank.

    pub fn kill_to_end(&mut self) {
        let end = motion::line_end(&self.text, self.cursor);
        // At the end of a line, the line break is killed.
        let end = if end == self.cursor { self.step_right(self.cursor) } else { end };
        self.kill(self.cursor..end, KillSide::After);
    }

    pub fn kill_to_start(&mut self) {
        let start = motion::line_start(&self.text, self.cursor);
        let start = if start == self.cursor { self.step_left(self.cursor) } else { start };
        self.kill(start..self.cursor, KillSide::Before);
    }

    /// Kills back to the last whitespace, as Ctrl+W does.
    pub fn kill_big_word(&mut self) {
        let start = motion::big_word_left(&self.text, self.cursor);
        self.kill(start..self.cursor, KillSide::Before);
    }

    pub fn kill_word_left(&mut self) {
        self.kill(self.word_start()..self.cursor, KillSide::Before);
    }

    pub fn kill_word_right(&mut self) {
        let end = motion::word_right(&self.text, self.cursor);
        self.kill(self.cursor..end, KillSide::After);
    }

    fn kill(&mut self, range: Range<usize>, side: KillSide) {
        let joins = self.chain == KillChain::Kill;
        let gone = self.remove(range);
        if gone.is_empty() {
            return;
        }
        match self.kills.last_mut().filter(|_| joins) {
            Some(last) => match side {
                KillSide::Before => last.insert_str(0, &gone),
                KillSide::After => last.push_str(&gone),
            },
            None => self.push_kill(gone),
        }
        self.chain = KillChain::Kill;
    }

    /// Adds a text to the kill ring.
    pub fn push_kill(&mut self, text: String) {
        self.kills.push(text);
        if self.kills.len() > KILL_LIMIT {
            self.kills.remove(0);
        }
    }

    pub fn yank(&mut self) {
        let Some(text) = self.kills.last().cloned() else { return };
        let start = self.cursor;
        self.insert_whole(&text);
        self.chain = KillChain::Yank { range: start..self.cursor, index: self.kills.len() - 1 };
    }

    /// Replaces the text that was just yanked with the previous kill.
    pub fn yank_older(&mut self) {
        let KillChain::Yank { range, index } = self.chain.clone() else { return };
        let index = index.checked_sub(1).unwrap_or(self.kills.len() - 1);
        let text = self.kills[index].clone();
        let start = range.start;
        self.replace(range, &text);
        self.chain = KillChain::Yank { range: start..self.cursor, index };
    }

    /// Inserts at another position; the cursor is after the text then, but undoing puts it back.
    pub fn insert_at(&mut self, at: usize, text: &str) {
        self.push_undo(EditKind::Other);
        self.text.insert_str(at, text);
        self.cursor = at + text.len();
        self.end_edit_chain();
    }

    /// Inserts a text that is undone in one step.
    pub fn insert_whole(&mut self, text: &str) {
        self.push_undo(EditKind::Other);
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.end_edit_chain();
    }

    // Undo.

    /// Everything until `end_group` is undone in one step.
    pub fn begin_group(&mut self) {
        if self.group == UndoGroup::None {
            self.group = UndoGroup::Empty;
        }
    }

    pub fn end_group(&mut self) {
        self.group = UndoGroup::None;
        self.last = None;
    }

    fn push_undo(&mut self, kind: EditKind) {
        let begins_step = match self.group {
            UndoGroup::None => kind == EditKind::Other || self.last != Some(kind),
            UndoGroup::Empty => true,
            UndoGroup::Begun => false,
        };
        if self.group == UndoGroup::Empty {
            self.group = UndoGroup::Begun;
        }
        if begins_step {
            self.past.push(EditSnapshot { text: self.text.clone(), cursor: self.cursor });
            if self.past.len() > UNDO_LIMIT {
                self.past.remove(0);
            }
        }
        self.future.clear();
        self.last = Some(kind);
    }

    pub fn undo(&mut self) -> bool {
        let now = EditSnapshot { text: self.text.clone(), cursor: self.cursor };
        let Some(before) = self.past.pop() else { return false };
        self.future.push(now);
        self.restore_snapshot(before);
        true
    }

    pub fn redo(&mut self) -> bool {
        let now = EditSnapshot { text: self.text.clone(), cursor: self.cursor };
        let Some(after) = self.future.pop() else { return false };
        self.past.push(now);
        self.restore_snapshot(after);
        true
    }

    fn restore_snapshot(&mut self, moment: EditSnapshot) {
        self.text = moment.text;
        self.cursor = moment.cursor;
        self.last = None;
        if self.group == UndoGroup::Begun {
            self.group = UndoGroup::Empty;
        }
        self.goal = None;
        self.chain = KillChain::None;
    }

    fn end_edit_chain(&mut self) {
        self.goal = None;
        self.chain = KillChain::None;
    }
}

#[derive(Clone, Copy)]
enum KillSide {
    Before,
    After,
}

#[cfg(test)]
#[path = "editor_tests.rs"]
mod tests;
