//! Tables: columns side by side, with cells that wrap when there is too little room; in a narrow window one
//! `header: value` line per cell.

use crate::style::{StyledLine, TextStyle};
use crate::text;
use crate::theme::{Theme, ThemeToken};
use pulldown_cmark::Alignment;

/// With less room than this, a table that does not fit is stacked.
const NARROWEST: usize = 56;
/// A column of cells that wrap is at least this wide.
const LEAST_COLUMN: usize = 8;
const SEPARATOR: usize = 3;

#[derive(Debug)]
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<StyledLine>>,
    row: Vec<StyledLine>,
}

/// One line of a table.
#[derive(Debug)]
pub(super) struct TableLine {
    pub(super) text: StyledLine,
    /// By how much its further rows are indented; `None` when it must not be wrapped.
    pub(super) hang: Option<usize>,
}

impl MarkdownTable {
    pub(super) fn new(alignments: &[Alignment]) -> Self {
        Self { alignments: alignments.to_vec(), rows: Vec::new(), row: Vec::new() }
    }

    pub(super) fn cell(&mut self, cell: StyledLine) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    pub(super) fn layout(self, columns: usize, theme: &Theme) -> Vec<TableLine> {
        let count = self.alignments.len();
        let natural: Vec<usize> = (0..count)
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(StyledLine::width).max().unwrap_or(0))
            .collect();
        let room = columns.saturating_sub(SEPARATOR * count.saturating_sub(1));
        match widths_within(&natural, room) {
            Some(widths) if widths == natural || columns >= NARROWEST => self.side_by_side(&widths, theme),
            Some(_) | None => self.stacked(theme),
        }
    }

    fn side_by_side(self, widths: &[usize], theme: &Theme) -> Vec<TableLine> {
        let rule = theme.fg(ThemeToken::Subtle);
        let parts: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let across = StyledLine::styled(parts.join("─┼─"), rule);
        let mut lines: Vec<StyledLine> = Vec::new();
        let mut was_wrapped = false;
        for (index, row) in self.rows.into_iter().enumerate() {
            let cells = wrapped_cells(row, widths, index == 0);
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            // Rows that take several lines are set apart.
            if index > 1 && (was_wrapped || height > 1) {
                lines.push(across.clone());
            }
            was_wrapped = height > 1;
            for at in 0..height {
                let mut line = StyledLine::new();
                for (column, cell) in cells.iter().enumerate() {
                    if column > 0 {
                        line.push(" │ ", rule);
                    }
                    let is_last = column + 1 == widths.len();
                    let part = cell.get(at).cloned().unwrap_or_default();
                    line.append(aligned(part, widths[column], self.alignments[column], is_last));
                }
                lines.push(line);
            }
            if index == 0 {
                lines.push(across.clone());
            }
        }
        lines.into_iter().map(|text| TableLine { text, hang: None }).collect()
    }

    fn stacked(self, theme: &Theme) -> Vec<TableLine> {
        let mut rows = self.rows.into_iter();
        let headers = rows.next().unwrap_or_default();
        let mut lines = Vec::new();
        for row in rows {
            if !lines.is_empty() {
                let text = StyledLine::styled("─────", theme.fg(ThemeToken::Subtle));
                lines.push(TableLine { text, hang: None });
            }
            for (column, cell) in row.into_iter().enumerate() {
                let name = headers.get(column).map(StyledLine::text).unwrap_or_default();
                let mut text = StyledLine::styled(format!("{name}: "), TextStyle::PLAIN.bold());
                text.append(cell);
                lines.push(TableLine { text, hang: Some(2) });
            }
        }
        lines
    }
}

/// The widths of the columns within `room`; wide ones share what narrow ones leave. `None` when a column would be too
/// narrow.
fn widths_within(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    if natural.iter().sum::<usize>() <= room {
        return Some(natural.to_vec());
    }
    let mut widths = vec![0; natural.len()];
    let mut open: Vec<usize> = (0..natural.len()).collect();
    let mut left = room;
    // Columns that need no more than an equal share get what they need.
    loop {
        let share = left / open.len().max(1);
        let (narrow, wide): (Vec<usize>, Vec<usize>) = open.iter().partition(|column| natural[**column] <= share);
        for column in &narrow {
            widths[*column] = natural[*column];
            left -= natural[*column];
        }
        open = wide;
        if narrow.is_empty() {
            break;
        }
    }
    let share = left.checked_div(open.len())?;
    if share < LEAST_COLUMN {
        return None;
    }
    let mut more = left % open.len();
    for column in open {
        widths[column] = share + usize::from(more > 0);
        more = more.saturating_sub(1);
    }
    Some(widths)
}

/// The rows of each cell.
fn wrapped_cells(row: Vec<StyledLine>, widths: &[usize], is_header: bool) -> Vec<Vec<StyledLine>> {
    let mut cells = row.into_iter();
    let wrapped = |width: &usize| {
        let mut cell = cells.next().unwrap_or_default();
        for span in cell.spans.iter_mut().filter(|_| is_header) {
            span.style.bold = true;
        }
        if cell.width() <= *width { vec![cell] } else { cell.parts(&text::wrap(&cell.text(), *width, *width)) }
    };
    widths.iter().map(wrapped).collect()
}

fn aligned(cell: StyledLine, width: usize, alignment: Alignment, is_last: bool) -> StyledLine {
    let free = width.saturating_sub(cell.width());
    let before = match alignment {
        Alignment::Right => free,
        Alignment::Center => free / 2,
        Alignment::Left | Alignment::None => 0,
    };
    let mut line = StyledLine::plain(" ".repeat(before));
    line.append(cell);
    if !is_last {
        line.push(" ".repeat(free - before), TextStyle::PLAIN);
    }
    line
}
