//! One line of a block before it is laid out: its text, and the indents of the blocks around it. Laid out as finished
//! lines for the scrollback, or as rows of the live region; both show the same.

use super::{MarkdownOptions, ProseWrap};
use crate::style::StyledLine;
use crate::text;
use std::ops::Range;

/// Prose is at most this wide, also in a wide window.
const WIDEST_PROSE: usize = 100;
/// The margin on both sides of prose. The right one also keeps rows from being wrapped anew at once when a window is dragged
/// narrower.
const MARGIN: usize = 2;
/// Windows narrower than this have no margins.
const NARROWEST_WITH_MARGIN: usize = 16;

/// The widths for which lines are laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineLayout {
    wrap: ProseWrap,
    columns: usize,
    margin: usize,
}

impl LineLayout {
    pub(super) fn new(look: &MarkdownOptions<'_>) -> Self {
        let has_margin = look.wrap == ProseWrap::Words && look.columns >= NARROWEST_WITH_MARGIN;
        Self { wrap: look.wrap, columns: look.columns, margin: if has_margin { MARGIN } else { 0 } }
    }

    /// The room for prose.
    fn prose_room(self) -> usize {
        self.columns.saturating_sub(2 * self.margin).clamp(1, WIDEST_PROSE)
    }

    /// The room for a line across, inside of blocks that are indented by `indent`.
    pub(super) fn rule_room(self, indent: usize) -> usize {
        match self.wrap {
            ProseWrap::Words => self.prose_room().saturating_sub(indent),
            ProseWrap::Terminal => self.columns,
        }
    }

    /// The room for a table inside of blocks that are indented by `indent`.
    pub(super) fn table_room(self, indent: usize) -> usize {
        self.columns.saturating_sub(self.margin + indent)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Prose,
    /// Laid out for the width: never wrapped.
    Fixed,
    /// Never wrapped and without margin.
    Code,
}

#[derive(Clone, Debug)]
pub(super) struct BlockLine {
    kind: LineKind,
    pub(super) text: StyledLine,
    /// What stands before the first row and before all others.
    first: StyledLine,
    rest: StyledLine,
}

impl BlockLine {
    pub(super) fn prose(first: StyledLine, rest: StyledLine) -> Self {
        Self { kind: LineKind::Prose, text: StyledLine::new(), first, rest }
    }

    pub(super) fn code(text: StyledLine) -> Self {
        Self { kind: LineKind::Code, text, first: StyledLine::new(), rest: StyledLine::new() }
    }

    pub(super) fn blank(bars: StyledLine) -> Self {
        Self::prose(bars, StyledLine::new())
    }

    /// Indents all rows but the first by more columns; `None` keeps the line from being wrapped.
    pub(super) fn hang(&mut self, columns: Option<usize>) {
        match columns {
            Some(columns) => self.rest.append(StyledLine::plain(" ".repeat(columns))),
            None => self.kind = LineKind::Fixed,
        }
    }

    /// The lines for the scrollback.
    pub(super) fn finished(&self, layout: LineLayout) -> Vec<StyledLine> {
        if self.is_wrapped(layout) { self.rows(layout) } else { vec![self.whole(layout)] }
    }

    /// The rows as a terminal shows them.
    pub(super) fn rows(&self, layout: LineLayout) -> Vec<StyledLine> {
        if !self.is_wrapped(layout) {
            return self.whole(layout).cut_at(layout.columns);
        }
        let (first, rest) = self.rooms(layout);
        let text = self.text.text();
        let parts = self.text.parts(&text::wrap(&text, first, rest));
        parts.into_iter().enumerate().map(|(index, part)| self.framed(part, index, layout)).collect()
    }

    /// The last `count` rows.
    pub(super) fn last_rows(&self, layout: LineLayout, count: usize, memory: &mut WrapMemory) -> Vec<StyledLine> {
        if !self.is_wrapped(layout) {
            return self.rows(layout);
        }
        let ranges = memory.wrap(self.text.text(), self.rooms(layout));
        let skipped = ranges.len().saturating_sub(count);
        let parts = self.text.parts(&ranges[skipped..]);
        parts.into_iter().enumerate().map(|(index, part)| self.framed(part, skipped + index, layout)).collect()
    }

    fn is_wrapped(&self, layout: LineLayout) -> bool {
        self.kind == LineKind::Prose && layout.wrap == ProseWrap::Words
    }

    fn whole(&self, layout: LineLayout) -> StyledLine {
        match self.kind {
            LineKind::Fixed => self.framed(self.text.clone(), 0, layout),
            LineKind::Prose | LineKind::Code => self.first.clone().and_line(self.text.clone()),
        }
    }

    /// The columns for text in the first row and in the others.
    fn rooms(&self, layout: LineLayout) -> (usize, usize) {
        let room = layout.prose_room();
        let beside = |indent: &StyledLine| room.saturating_sub(indent.width()).max(8);
        (beside(&self.first), beside(&self.rest))
    }

    fn framed(&self, part: StyledLine, index: usize, layout: LineLayout) -> StyledLine {
        let indent = if index == 0 { &self.first } else { &self.rest };
        if indent.is_empty() && part.is_empty() {
            return StyledLine::new();
        }
        indent.clone().and_line(part).indented(layout.margin)
    }
}

/// Where a paragraph was broken into rows.
#[derive(Debug, Default)]
pub struct WrapMemory {
    text: String,
    rooms: (usize, usize),
    rows: Vec<Range<usize>>,
    /// How many bytes were looked at, in total.
    #[cfg(test)]
    pub(super) looked_at: usize,
}

impl WrapMemory {
    /// The rows of `text`; those of the part that is as before are not computed anew.
    fn wrap(&mut self, text: String, rooms: (usize, usize)) -> &[Range<usize>] {
        let same = if self.rooms == rooms { common_prefix(&self.text, &text) } else { 0 };
        // Everything that decides where a row begins stands before the end of that row.
        let known = self.rows.iter().take_while(|row| row.end < same).count().saturating_sub(2);
        self.rows.truncate(known + 1);
        let last = self.rows.pop().filter(|_| known > 0);
        let (start, room) = last.map_or((0, rooms.0), |row| (row.start, rooms.1));
        #[cfg(test)]
        {
            self.looked_at += text.len() - start;
        }
        text::wrap_from(&text, start, room, rooms.1, &mut self.rows);
        self.text = text;
        self.rooms = rooms;
        &self.rows
    }
}

fn common_prefix(a: &str, b: &str) -> usize {
    if b.starts_with(a) {
        return a.len();
    }
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    a.floor_char_boundary(same)
}
