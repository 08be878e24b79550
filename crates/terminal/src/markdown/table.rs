//! Tables: columns side by side if they fit, otherwise one `header: value` line per cell.

use crate::style::{StyledLine, TextStyle};
use crate::theme::{Theme, ThemeToken};
use pulldown_cmark::Alignment;

#[derive(Debug)]
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<StyledLine>>,
    row: Vec<StyledLine>,
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

    pub(super) fn layout(self, columns: usize, theme: &Theme) -> Vec<StyledLine> {
        let count = self.alignments.len();
        let widths: Vec<usize> = (0..count)
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(StyledLine::width).max().unwrap_or(0))
            .collect();
        let total = widths.iter().sum::<usize>() + 3 * count.saturating_sub(1);
        if total <= columns { self.side_by_side(&widths, theme) } else { self.stacked(theme) }
    }

    fn side_by_side(self, widths: &[usize], theme: &Theme) -> Vec<StyledLine> {
        let rule = theme.fg(ThemeToken::Subtle);
        let mut lines = Vec::new();
        for (index, row) in self.rows.into_iter().enumerate() {
            let mut line = StyledLine::new();
            let mut cells = row.into_iter();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    line.push(" │ ", rule);
                }
                let mut cell = cells.next().unwrap_or_default();
                if index == 0 {
                    for span in &mut cell.spans {
                        span.style.bold = true;
                    }
                }
                let free = width - cell.width();
                let before = match self.alignments[column] {
                    Alignment::Right => free,
                    Alignment::Center => free / 2,
                    Alignment::Left | Alignment::None => 0,
                };
                line.push(" ".repeat(before), TextStyle::PLAIN);
                line.append(cell);
                if column + 1 < widths.len() {
                    line.push(" ".repeat(free - before), TextStyle::PLAIN);
                }
            }
            lines.push(line);
            if index == 0 {
                let parts: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(StyledLine::styled(parts.join("─┼─"), rule));
            }
        }
        lines
    }

    fn stacked(self, theme: &Theme) -> Vec<StyledLine> {
        let mut rows = self.rows.into_iter();
        let headers = rows.next().unwrap_or_default();
        let mut lines = Vec::new();
        for row in rows {
            if !lines.is_empty() {
                lines.push(StyledLine::styled("─────", theme.fg(ThemeToken::Subtle)));
            }
            for (column, cell) in row.into_iter().enumerate() {
                let name = headers.get(column).map(StyledLine::text).unwrap_or_default();
                let mut line = StyledLine::styled(format!("{name}: "), TextStyle::PLAIN.bold());
                line.append(cell);
                lines.push(line);
            }
        }
        lines
    }
}
