//! What covers the whole screen is drawn on the alternate screen. The terminal neither wraps nor keeps rows there, so that no
//! change of size leaves any of them behind. The main screen has no live region meanwhile.

use super::{Caret, LiveFrame, Surface, TerminalSize};
use crate::glyphs;
use crate::style::{BackgroundFill, StyledLine, encode};
use std::io::{self, Write};

/// The alternate screen while it is shown.
#[derive(Debug)]
pub(super) struct CoverScreen {
    /// The encoded rows.
    rows: Vec<Vec<u8>>,
    size: TerminalSize,
    caret: Option<Caret>,
}

impl<W: Write> Surface<W> {
    pub fn is_covered(&self) -> bool {
        self.cover.is_some()
    }

    /// Shows `frame` on the alternate screen. `finished` is printed on the main screen before that; while the alternate screen
    /// is shown, it must be empty.
    pub fn draw_cover(&mut self, finished: &[StyledLine], frame: &LiveFrame) -> io::Result<()> {
        let size = self.size;
        let before = self.cover.take();
        let rows: Vec<Vec<u8>> = frame.lines.iter().take(size.rows).map(|line| self.encoded(line)).collect();
        let caret = frame.caret.filter(|caret| caret.row < rows.len());
        let caret = caret.map(|caret| Caret { column: caret.column.min(size.columns - 1), ..caret });
        let is_shown = |before: &CoverScreen| (before.size, before.caret) == (size, caret) && before.rows == rows;
        if before.as_ref().is_some_and(is_shown) {
            self.cover = before;
            return Ok(());
        }
        self.buffer.clear();
        self.begin();
        if before.is_none() {
            // Rows of a live region could be moved into the scrollback while nobody sees them.
            self.compose(finished, Vec::new(), None);
            self.buffer.extend_from_slice(b"\x1b[?1049h\x1b[2J");
        }
        // A terminal that changed its size may have moved or cut rows.
        let known = before.filter(|before| before.size == size).map(|before| before.rows).unwrap_or_default();
        self.buffer.extend_from_slice(b"\x1b[?7l");
        paint(&rows, &known, size, &mut self.buffer);
        self.buffer.extend_from_slice(b"\x1b[?7h");
        if let Some(caret) = caret {
            write!(self.buffer, "\x1b[{};{}H\x1b[?25h", caret.row + 1, caret.column + 1).ok();
            self.hidden = false;
        }
        self.end();
        self.cover = Some(CoverScreen { rows, size, caret });
        self.flush()
    }

    /// Shows the main screen again, with the next frame.
    pub fn uncover(&mut self) {
        if self.cover.take().is_some() {
            // What is not cleared stays on the main screen in tmux when the window became larger meanwhile.
            self.pending.extend_from_slice(b"\x1b[2J\x1b[?1049l");
        }
    }

    /// Another program wrote to the screen: the next draw of what covers it repaints everything.
    pub fn invalidate_cover(&mut self) {
        if let Some(cover) = &mut self.cover {
            cover.rows.clear();
            cover.size = TerminalSize { columns: 0, rows: 0 };
        }
    }

    fn encoded(&self, line: &StyledLine) -> Vec<u8> {
        let mut bytes = Vec::new();
        let line = glyphs::shown(line, self.profile.glyphs);
        encode(&line.truncated(self.size.columns), self.profile.capabilities, BackgroundFill::ToEdge, &mut bytes);
        bytes
    }
}

/// Writes the rows that differ from those on the screen, and clears the screen below them.
fn paint(rows: &[Vec<u8>], known: &[Vec<u8>], size: TerminalSize, out: &mut Vec<u8>) {
    for (index, row) in rows.iter().enumerate() {
        if known.get(index) != Some(row) {
            write!(out, "\x1b[{};1H\x1b[2K", index + 1).ok();
            out.extend_from_slice(row);
        }
    }
    if rows.len() < size.rows && known.len() != rows.len() {
        write!(out, "\x1b[{};1H\x1b[J", rows.len() + 1).ok();
    }
}

#[cfg(test)]
#[path = "cover_tests.rs"]
mod tests;
