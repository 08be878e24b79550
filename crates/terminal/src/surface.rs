//! The only writer to the terminal. Finished lines are printed once, as logical lines: the terminal wraps them, keeps
//! them in its scrollback and reflows them. The live region is below them; only its changed lines are redrawn.
//!
//! Guarantees: nothing above the live region is ever written again; the scrollback is never cleared; a frame is never
//! taller than the screen; every draw is one write. Only relative cursor motion is used, so the position on the screen
//! at start does not matter. Rows of the live region are drawn with wrapping off, so that a different opinion of the
//! terminal about the width of a character cannot shift them.

mod cover;

use crate::glyphs::{self, GlyphSet};
use crate::style::{BackgroundFill, StyledLine, TerminalCapabilities, TextStyle, encode};
use crate::text;
use cover::CoverScreen;
use std::io::{self, Write};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    pub columns: usize,
    pub rows: usize,
}

/// The cursor position: row and column in the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caret {
    pub row: usize,
    pub column: usize,
}

/// The content of the live region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveFrame {
    pub lines: Vec<StyledLine>,
    /// `None` hides the cursor.
    pub caret: Option<Caret>,
}

/// What the terminal does with rows that are too long after it became narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reflow {
    /// They continue on additional rows.
    Wraps,
    /// They are cut.
    Cuts,
}

#[derive(Clone, Copy, Debug)]
pub struct TerminalProfile {
    pub capabilities: TerminalCapabilities,
    pub reflow: Reflow,
    /// Use synchronized output; terminals that do not support it ignore it.
    pub synchronized: bool,
    pub glyphs: GlyphSet,
    pub caret: CaretStyle,
}

/// Who shows the cursor in a tall live region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaretStyle {
    /// The cursor of the terminal, always. Input methods and screen readers follow it.
    Terminal,
    /// A reversed cell, where many rows of the live region stand above it: a screen that becomes lower would move those rows into
    /// the scrollback, to keep the terminal's cursor visible. With few rows above it, the cursor of the terminal.
    DrawnWhenTall,
}

/// The most rows above the cursor of the terminal with `CaretStyle::DrawnWhenTall`. The prompt has less when nothing runs.
const ROWS_ABOVE_CURSOR: usize = 6;

/// Clears from the left edge down. It does not start in the top left corner of the screen, because tmux moves text that
/// is cleared from there into its scrollback.
const ERASE: &[u8] = b"\x1b[K\x1b[C\x1b[J\r";

const SAVE_CURSOR: &[u8] = b"\x1b7";
const RESTORE_CURSOR: &[u8] = b"\x1b8";

/// Number of cells by which terminals may differ about the cursor column after a reflow.
const SLACK: usize = 2;

/// Columns behind a row with a background that stay free, so that the row is not wrapped at once when the window is dragged
/// narrower.
const FREE_COLUMNS: usize = 2;

/// One row as shown on the screen.
#[derive(Debug)]
struct ScreenRow {
    bytes: Vec<u8>,
    /// The text without styles.
    text: String,
    width: usize,
    /// The line the row was made from. Most rows are the same in the next frame and can be reused.
    line: StyledLine,
    columns: usize,
    fill: BackgroundFill,
}

/// Compares only what is visible.
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
    /// The rows of the live region on the screen.
    rows: Vec<Arc<ScreenRow>>,
    /// The cursor position relative to the first row.
    caret: Caret,
    hidden: bool,
    /// The terminal may have moved or changed the drawn rows.
    stale: bool,
    /// The cursor position is uncertain: the cursor was near the point where its row was broken, or the size changed
    /// several times since the last draw and the terminal's handling of the intermediate sizes is unknown.
    unsure: bool,
    /// What is on the alternate screen; `None` while the main screen is shown.
    cover: Option<CoverScreen>,
    /// Written with the next frame, so that nothing is seen in between.
    pending: Vec<u8>,
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
            cover: None,
            pending: Vec::new(),
            buffer: Vec::new(),
        }
    }

    pub fn size(&self) -> TerminalSize {
        self.size
    }

    pub fn profile(&self) -> TerminalProfile {
        self.profile
    }

    /// Sets the new size of the terminal; the next draw repairs the screen.
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

    /// Another program wrote to the screen: the next draw repaints the whole live region.
    pub fn invalidate(&mut self) {
        self.stale = true;
    }

    /// Another program used the terminal: the drawn rows are no longer at the cursor.
    pub fn reset(&mut self) {
        self.rows.clear();
        self.caret = Caret::default();
        self.stale = false;
        self.unsure = false;
        self.hidden = false;
    }

    /// Prints `finished` above the live region and shows `frame` in it. Writes nothing when nothing has changed.
    pub fn draw(&mut self, finished: &[StyledLine], frame: &LiveFrame) -> io::Result<()> {
        let (rows, caret) = self.prepare(frame);
        let is_same = finished.is_empty() && !self.stale && rows == self.rows && self.is_caret_at(caret);
        if is_same && self.pending.is_empty() {
            return Ok(());
        }
        self.buffer.clear();
        self.begin();
        self.compose(finished, rows, caret);
        self.end();
        self.flush()
    }

    /// Writes a frame into the buffer.
    fn compose(&mut self, finished: &[StyledLine], rows: Vec<Arc<ScreenRow>>, caret: Option<Caret>) {
        if !finished.is_empty() || self.stale {
            self.move_to_top();
            self.buffer.extend_from_slice(ERASE);
            self.rows.clear();
            self.print(finished);
        }
        // Some terminals (tmux) change their size a moment before they say so. A motion that is too long for the new size ends at the
        // edge of the screen, and the way back would end in finished lines: the terminal remembers the place instead.
        let stays = rows.len() == self.rows.len() && caret.unwrap_or_default() == self.caret;
        if stays {
            self.buffer.extend_from_slice(SAVE_CURSOR);
        }
        self.buffer.extend_from_slice(b"\x1b[?7l");
        self.paint(rows);
        self.buffer.extend_from_slice(b"\x1b[?7h");
        self.place(caret);
        if stays {
            self.buffer.extend_from_slice(RESTORE_CURSOR);
        }
        self.stale = false;
        self.unsure = false;
    }

    /// Prints `finished` and removes the live region; the cursor is left on the row below.
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

    /// Sends bytes that draw nothing: modes, title, bell.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        // Releases the large buffer of a long reply.
        if self.buffer.capacity() > 1 << 20 {
            self.buffer = Vec::new();
        }
        self.out.flush()
    }

    fn begin(&mut self) {
        if self.profile.synchronized {
            self.buffer.extend_from_slice(b"\x1b[?2026h");
        }
        self.buffer.append(&mut self.pending);
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

    /// The rows to show: the last ones if there are too many, each cut to the width.
    fn prepare(&self, frame: &LiveFrame) -> (Vec<Arc<ScreenRow>>, Option<Caret>) {
        let skipped = frame.lines.len().saturating_sub(self.size.rows);
        let lines = &frame.lines[skipped..];
        let caret = frame.caret.filter(|caret| caret.row >= skipped).map(|caret| Caret {
            row: (caret.row - skipped).min(frame.lines.len().saturating_sub(skipped + 1)),
            column: caret.column.min(self.size.columns - 1),
        });
        let is_drawn = |caret: &Caret| {
            self.profile.caret == CaretStyle::DrawnWhenTall && caret.row > ROWS_ABOVE_CURSOR.min(self.size.rows / 3)
        };
        let (drawn, caret) = if caret.as_ref().is_some_and(is_drawn) { (caret, None) } else { (None, caret) };
        // A terminal that becomes narrower counts the cells behind the text as well. That does not matter while the cursor
        // is above them all.
        let fill = if caret.is_none() { BackgroundFill::ToEdge } else { BackgroundFill::TextOnly };
        let made = |(index, line): (usize, &StyledLine)| {
            if let Some(caret) = drawn.filter(|caret| caret.row == index) {
                let line = line.truncated(self.size.columns).with_reversed_cell(caret.column);
                return Arc::new(self.row(&line, fill));
            }
            self.shown(line, fill, index, lines.len()).unwrap_or_else(|| Arc::new(self.row(line, fill)))
        };
        (lines.iter().enumerate().map(made).collect(), caret)
    }

    /// A row on the screen that already shows this line, at the same position counted from the first or from the last
    /// row.
    fn shown(&self, line: &StyledLine, fill: BackgroundFill, index: usize, count: usize) -> Option<Arc<ScreenRow>> {
        let from_last = (self.rows.len() + index).checked_sub(count);
        let mut places = [Some(index), from_last].into_iter().flatten().filter_map(|at| self.rows.get(at));
        let is_same = |row: &&Arc<ScreenRow>| row.columns == self.size.columns && row.fill == fill && row.line == *line;
        places.find(is_same).cloned()
    }

    /// Makes a row. Blanks at the end are not written, because some terminals would wrap them in a reflow.
    fn row(&self, source: &StyledLine, fill: BackgroundFill) -> ScreenRow {
        let columns = self.size.columns;
        let mut line = glyphs::shown(source, self.profile.glyphs).truncated(columns);
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
        if let (Some(colour), BackgroundFill::ToEdge) = (line.fill, fill) {
            let blanks = columns.saturating_sub(line.width() + FREE_COLUMNS);
            line.push(" ".repeat(blanks), TextStyle::PLAIN.on(Some(colour)));
        }
        let mut bytes = Vec::new();
        encode(&line, self.profile.capabilities, BackgroundFill::TextOnly, &mut bytes);
        ScreenRow { bytes, width: line.width(), text: line.text(), line: source.clone(), columns, fill }
    }

    fn is_caret_at(&self, caret: Option<Caret>) -> bool {
        match caret {
            Some(caret) => !self.hidden && caret == self.caret,
            None => self.hidden,
        }
    }

    /// Moves from the cursor to the first row of the live region, also after a resize. The terminal stops at the top of
    /// the screen.
    fn move_to_top(&mut self) {
        up(self.rows_above(), &mut self.buffer);
        self.buffer.push(b'\r');
        self.caret = Caret::default();
    }

    /// Number of rows of the live region above the cursor.
    fn rows_above(&self) -> usize {
        if self.stale && self.profile.reflow == Reflow::Wraps {
            let columns = self.size.columns;
            let before: usize =
                self.rows.iter().take(self.caret.row).map(|row| text::rows_of(&row.text, columns)).sum();
            let own = self.rows.get(self.caret.row).map_or("", |row| row.text.as_str());
            // Terminals differ when a row is broken at the cursor, and the difference persists at every later size. One
            // row too few leaves an old row on the screen; one too many would erase a finished line.
            let sure = if self.unsure { 0 } else { self.caret.column.saturating_sub(SLACK) };
            // Wide characters leave gaps at the edge. Some terminals count columns only when they move the cursor.
            before + text::rows_before(own, sure, columns).min(sure / columns)
        } else {
            self.caret.row
        }
    }

    /// Prints finished lines, starting and ending at the left edge.
    fn print(&mut self, finished: &[StyledLine]) {
        for line in finished {
            encode(
                &glyphs::shown(line, self.profile.glyphs),
                self.profile.capabilities,
                BackgroundFill::ToEdge,
                &mut self.buffer,
            );
            self.buffer.extend_from_slice(b"\r\n");
        }
    }

    /// Makes the rows on the screen equal to `rows`; writes only those that differ.
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
                // The row does not exist yet: the line feed creates it and scrolls if necessary.
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
                // The row below exists because it showed an old line.
                self.buffer.extend_from_slice(b"\r\n");
                self.caret = Caret { row: rows.len(), column: 0 };
            }
            self.buffer.extend_from_slice(b"\x1b[J");
        }
        self.rows = rows;
    }

    /// Moves to the left edge of an existing row.
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
            // A hidden cursor waits at the first row: a screen that becomes lower loses the rows below the cursor and
            // moves none above it into the scrollback, where they could not be erased. In column 0 no reflow moves it.
            self.go(0);
        }
    }
}

/// A size of 0 is replaced with 80 columns or 24 rows.
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
