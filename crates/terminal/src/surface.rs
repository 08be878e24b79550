//! The only writer to the terminal. Finished lines are printed once, as logical lines: the terminal wraps them, keeps
//! them in its own scrollback and reflows them. Below them stands the live region, redrawn by line difference.
//!
//! Guarantees: nothing above the live region is ever written to again; the scrollback is never cleared; a frame is
//! never taller than the screen; every draw is one write. Only relative motion is used, so it does not matter where on
//! the screen the program was started, and rows of the live region are drawn with wrapping off, so that a disagreement
//! about the width of a character cannot shift them.

use crate::style::{BackgroundFill, StyledLine, TerminalCapabilities, encode};
use crate::text;
use std::io::{self, Write};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    pub columns: usize,
    pub rows: usize,
}

/// Where the terminal's cursor stands: row and column of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caret {
    pub row: usize,
    pub column: usize,
}

/// The whole live region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveFrame {
    pub lines: Vec<StyledLine>,
    /// `None` hides the cursor.
    pub caret: Option<Caret>,
}

/// What a narrower terminal does with rows that no longer fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reflow {
    /// They continue on rows of their own.
    Wraps,
    /// They are cut.
    Cuts,
}

#[derive(Clone, Copy, Debug)]
pub struct TerminalProfile {
    pub capabilities: TerminalCapabilities,
    pub reflow: Reflow,
    /// Synchronized output; harmless where it is not known.
    pub synchronized: bool,
}

/// Clears from the left edge down. Not from the very corner of the screen: tmux keeps what is cleared from there in its
/// scrollback.
const ERASE: &[u8] = b"\x1b[K\x1b[C\x1b[J\r";

/// Cells by which terminals may disagree about the cursor after a reflow.
const SLACK: usize = 2;

/// One row as it stands on the screen.
#[derive(Debug)]
struct ScreenRow {
    bytes: Vec<u8>,
    /// Without styles.
    text: String,
    width: usize,
    /// What it was made of: nearly all rows of a frame are those of the frame before, and need not be made again.
    line: StyledLine,
    columns: usize,
}

/// By what can be seen.
impl PartialEq for ScreenRow {
    fn eq(&self, other: &Self) -> bool {
        self.width == other.width && self.bytes == other.bytes && self.text == other.text
    }
}

impl Eq for ScreenRow {}

#[derive(Debug)]
pub struct Surface<W> {
    out: W,
    profile: TerminalProfile,
    size: TerminalSize,
    /// What the screen shows of the live region.
    rows: Vec<Arc<ScreenRow>>,
    /// Where the cursor is, relative to the first row.
    caret: Caret,
    hidden: bool,
    /// The terminal may have moved what we drew.
    stale: bool,
    /// The cursor may have left its place: it stood where its row was broken, or there were several sizes since the last
    /// draw and nobody knows what the terminal made of those in between.
    unsure: bool,
    buffer: Vec<u8>,
}

impl<W: Write> Surface<W> {
    pub fn new(out: W, profile: TerminalProfile, size: TerminalSize) -> Self {
        Self {
            out,
            profile,
            size: clamp_size(size),
            rows: Vec::new(),
            caret: Caret::default(),
            hidden: false,
            stale: false,
            unsure: false,
            buffer: Vec::new(),
        }
    }

    pub fn size(&self) -> TerminalSize {
        self.size
    }

    pub fn profile(&self) -> TerminalProfile {
        self.profile
    }

    /// The terminal has this size now; what it shows is repaired by the next draw.
    pub fn resize(&mut self, size: TerminalSize) {
        let size = clamp_size(size);
        if size != self.size {
            let over = self.caret.column % size.columns;
            let at_edge = size.columns - over <= SLACK || (self.caret.column >= size.columns && over <= SLACK);
            self.unsure |= at_edge || self.stale;
            self.size = size;
            self.stale = true;
        }
    }

    /// Someone else wrote to the screen: the next draw repaints the live region as a whole.
    pub fn invalidate(&mut self) {
        self.stale = true;
    }

    /// Another program had the terminal: what was drawn is no longer below the cursor.
    pub fn reset(&mut self) {
        self.rows.clear();
        self.caret = Caret::default();
        self.stale = false;
        self.unsure = false;
        self.hidden = false;
    }

    /// Prints `finished` above the live region and makes that equal `frame`. Writes nothing when nothing changes.
    pub fn draw(&mut self, finished: &[StyledLine], frame: &LiveFrame) -> io::Result<()> {
        let (rows, caret) = self.prepare(frame);
        if finished.is_empty() && !self.stale && rows == self.rows && self.is_caret_at(caret) {
            return Ok(());
        }
        self.buffer.clear();
        self.begin();
        if !finished.is_empty() || self.stale {
            self.move_to_top();
            self.buffer.extend_from_slice(ERASE);
            self.rows.clear();
            self.print(finished);
        }
        self.buffer.extend_from_slice(b"\x1b[?7l");
        self.paint(rows);
        self.buffer.extend_from_slice(b"\x1b[?7h");
        self.place(caret);
        self.end();
        self.stale = false;
        self.unsure = false;
        self.flush()
    }

    /// Prints `finished` and takes the live region away; the cursor stands where it began.
    pub fn leave(&mut self, finished: &[StyledLine]) -> io::Result<()> {
        self.buffer.clear();
        self.begin();
        self.move_to_top();
        self.buffer.extend_from_slice(ERASE);
        self.rows.clear();
        self.print(finished);
        self.buffer.extend_from_slice(b"\x1b[?25h");
        self.hidden = false;
        self.end();
        self.flush()
    }

    /// Bytes that draw nothing: modes, title, bell.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        // A long reply must not keep its buffer for ever.
        if self.buffer.capacity() > 1 << 20 {
            self.buffer = Vec::new();
        }
        self.out.flush()
    }

    fn begin(&mut self) {
        if self.profile.synchronized {
            self.buffer.extend_from_slice(b"\x1b[?2026h");
        }
        if !self.hidden {
            self.buffer.extend_from_slice(b"\x1b[?25l");
            self.hidden = true;
        }
    }

    fn end(&mut self) {
        if self.profile.synchronized {
            self.buffer.extend_from_slice(b"\x1b[?2026l");
        }
    }

    /// The rows to show: the last ones when there are too many, each within the width.
    fn prepare(&self, frame: &LiveFrame) -> (Vec<Arc<ScreenRow>>, Option<Caret>) {
        let skipped = frame.lines.len().saturating_sub(self.size.rows);
        let lines = &frame.lines[skipped..];
        let made = |(index, line)| self.shown(line, index, lines.len()).unwrap_or_else(|| Arc::new(self.row(line)));
        let rows = lines.iter().enumerate().map(made).collect();
        let caret = frame.caret.filter(|caret| caret.row >= skipped).map(|caret| Caret {
            row: (caret.row - skipped).min(frame.lines.len().saturating_sub(skipped + 1)),
            column: caret.column.min(self.size.columns - 1),
        });
        (rows, caret)
    }

    /// The row that shows this line already, at its place counted from the first row or from the last.
    fn shown(&self, line: &StyledLine, index: usize, count: usize) -> Option<Arc<ScreenRow>> {
        let from_last = (self.rows.len() + index).checked_sub(count);
        let mut places = [Some(index), from_last].into_iter().flatten().filter_map(|at| self.rows.get(at));
        places.find(|row| row.columns == self.size.columns && row.line == *line).cloned()
    }

    /// Blanks at the end are not written: some terminals would wrap them when they reflow.
    fn row(&self, source: &StyledLine) -> ScreenRow {
        let columns = self.size.columns;
        let mut line = source.truncated(columns);
        while let Some(last) = line.spans.last_mut() {
            if last.style.bg.is_some() || last.style.reverse || last.style.underline {
                break;
            }
            last.text.truncate(last.text.trim_end_matches(' ').len());
            if !last.text.is_empty() {
                break;
            }
            line.spans.pop();
        }
        let mut bytes = Vec::new();
        encode(&line, self.profile.capabilities, BackgroundFill::TextOnly, &mut bytes);
        ScreenRow { bytes, width: line.width(), text: line.text(), line: source.clone(), columns }
    }

    fn is_caret_at(&self, caret: Option<Caret>) -> bool {
        match caret {
            Some(caret) => !self.hidden && caret == self.caret,
            None => self.hidden,
        }
    }

    /// From the cursor to the first row of the live region, wherever a resize has put it. The terminal stops at the top
    /// of the screen by itself.
    fn move_to_top(&mut self) {
        up(self.rows_above(), &mut self.buffer);
        self.buffer.push(b'\r');
        self.caret = Caret::default();
    }

    /// How many rows of the live region stand above the cursor.
    fn rows_above(&self) -> usize {
        if self.stale && self.profile.reflow == Reflow::Wraps {
            let columns = self.size.columns;
            let before: usize =
                self.rows.iter().take(self.caret.row).map(|row| text::rows_of(&row.text, columns)).sum();
            let own = self.rows.get(self.caret.row).map_or("", |row| row.text.as_str());
            // Terminals differ where a row is broken under the cursor, and what they did then shows at every later size.
            // One row too few leaves a row of ours behind, one too many would take a finished line away.
            let sure = if self.unsure { 0 } else { self.caret.column.saturating_sub(SLACK) };
            before + text::rows_before(own, sure, columns)
        } else {
            self.caret.row
        }
    }

    /// Finished lines, from the left edge; afterwards the cursor is at the left edge again.
    fn print(&mut self, finished: &[StyledLine]) {
        for line in finished {
            encode(line, self.profile.capabilities, BackgroundFill::ToEdge, &mut self.buffer);
            self.buffer.extend_from_slice(b"\r\n");
        }
    }

    /// Makes the rows on the screen equal `rows`, touching only those that differ.
    fn paint(&mut self, rows: Vec<Arc<ScreenRow>>) {
        let old = std::mem::take(&mut self.rows);
        for (index, row) in rows.iter().enumerate() {
            let before = old.get(index);
            if before == Some(row) {
                continue;
            }
            if before.is_some() || index == 0 {
                self.go(index);
            } else {
                // A row that does not exist yet: the line feed makes it, scrolling if need be.
                self.go(index - 1);
                self.buffer.extend_from_slice(b"\r\n");
                self.caret = Caret { row: index, column: 0 };
            }
            self.buffer.extend_from_slice(&row.bytes);
            if before.is_some_and(|before| before.width > row.width) {
                self.buffer.extend_from_slice(b"\x1b[K");
            }
            self.caret.column = row.width;
        }
        if old.len() > rows.len() {
            if rows.is_empty() {
                self.go(0);
            } else {
                self.go(rows.len() - 1);
                // The row below exists: it held an old line.
                self.buffer.extend_from_slice(b"\r\n");
                self.caret = Caret { row: rows.len(), column: 0 };
            }
            self.buffer.extend_from_slice(b"\x1b[J");
        }
        self.rows = rows;
    }

    /// To the left edge of an existing row.
    fn go(&mut self, row: usize) {
        if row < self.caret.row {
            up(self.caret.row - row, &mut self.buffer);
        } else if row > self.caret.row {
            down(row - self.caret.row, &mut self.buffer);
        }
        self.buffer.push(b'\r');
        self.caret = Caret { row, column: 0 };
    }

    fn place(&mut self, caret: Option<Caret>) {
        if let Some(caret) = caret {
            self.go(caret.row);
            if caret.column > 0 {
                write!(self.buffer, "\x1b[{}C", caret.column).ok();
            }
            self.caret = caret;
            self.buffer.extend_from_slice(b"\x1b[?25h");
            self.hidden = false;
        } else {
            // A column of its own: the pending wrap after a full row would count differently when reflowed.
            self.go(self.rows.len().saturating_sub(1));
        }
    }
}

/// A terminal that reports nothing usable is treated as a small one.
fn clamp_size(size: TerminalSize) -> TerminalSize {
    TerminalSize {
        columns: if size.columns == 0 { 80 } else { size.columns },
        rows: if size.rows == 0 { 24 } else { size.rows },
    }
}

fn up(rows: usize, out: &mut Vec<u8>) {
    if rows > 0 {
        write!(out, "\x1b[{rows}A").ok();
    }
}

fn down(rows: usize, out: &mut Vec<u8>) {
    if rows > 0 {
        write!(out, "\x1b[{rows}B").ok();
    }
}

#[cfg(test)]
#[path = "surface_tests.rs"]
mod tests;
