//! A screen as a picture: the cells of the emulator, in which a test replaces what differs from run to run, drawn as SVG.
//! Each row of the screen is one line of the SVG, and cells of equal style are one run, positioned and stretched to its
//! cells, so that the picture is small, looks the same in any monospace font, and can be compared row by row.

mod compare;
mod svg;

use std::ops::Range;
use vt100::{Cell, Screen};

pub use compare::first_difference;

/// The colours of the window around a screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PictureTheme {
    #[default]
    Dark,
    Light,
}

/// The style of a cell. Colours are `#rrggbb`; `None` is the colour of the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CellLook {
    ink: Option<String>,
    paper: Option<String>,
    bold: bool,
    italic: bool,
    dim: bool,
    underline: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct PictureCell {
    /// Empty for the second half of a wide character.
    text: String,
    look: CellLook,
}

impl PictureCell {
    fn blank() -> Self {
        Self { text: " ".into(), look: CellLook::default() }
    }
}

/// The cells of a screen.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenPicture {
    rows: Vec<Vec<PictureCell>>,
    cursor: Option<(usize, usize)>,
    theme: PictureTheme,
}

impl ScreenPicture {
    /// The screen without empty rows at its end.
    pub(crate) fn of(screen: &Screen, theme: PictureTheme) -> Self {
        let (height, width) = screen.size();
        let row = |row: u16| {
            (0..width).filter_map(|column| screen.cell(row, column)).map(|cell| picture_cell(cell, theme)).collect()
        };
        let mut rows: Vec<Vec<PictureCell>> = (0..height).map(row).collect();
        for row in &mut rows {
            // The second half of a wide character has the style of the first.
            for at in (1..row.len()).filter(|at| row[*at].text.is_empty()).collect::<Vec<_>>() {
                row[at].look = row[at - 1].look.clone();
            }
        }
        let cursor = (!screen.hide_cursor()).then(|| screen.cursor_position());
        let cursor = cursor.map(|(row, column)| (usize::from(row), usize::from(column)));
        let is_used = |row: &Vec<PictureCell>| row.iter().any(|cell| *cell != PictureCell::blank());
        let used = rows.iter().rposition(is_used).map_or(1, |last| last + 1);
        rows.truncate(used.max(cursor.map_or(0, |(row, _)| row + 1)));
        Self { rows, cursor, theme }
    }

    /// The texts of the rows.
    pub fn texts(&self) -> Vec<String> {
        self.rows.iter().map(|row| text(row).trim_end().to_owned()).collect()
    }

    /// Replaces parts of rows: `find` gets the text of a row and returns byte ranges, in order, and what stands there. The
    /// blanks behind a part give way or fill up, so that what is aligned stays so.
    pub fn replace(&mut self, find: impl Fn(&str) -> Vec<(Range<usize>, String)>) {
        for row in &mut self.rows {
            for (range, with) in find(&text(row)).into_iter().rev() {
                replace_part(row, &range, &with);
            }
        }
    }

    /// Leaves out what stands below the first rows.
    pub fn keep_rows(&mut self, count: usize) {
        self.rows.truncate(count);
        self.cursor = self.cursor.filter(|(row, _)| *row < count);
    }

    /// The picture in a window with this title; `label` describes it to those who do not see it.
    pub fn svg(&self, title: &str, label: &str) -> String {
        svg::draw(self, title, label)
    }
}

fn text(row: &[PictureCell]) -> String {
    row.iter().map(|cell| cell.text.as_str()).collect()
}

/// The cell at a byte of the row's text.
fn cell_at(row: &[PictureCell], byte: usize) -> usize {
    let mut seen = 0;
    let is_behind = |cell: &PictureCell| {
        seen += cell.text.len();
        seen > byte
    };
    row.iter().position(is_behind).unwrap_or(row.len())
}

fn replace_part(row: &mut Vec<PictureCell>, range: &Range<usize>, with: &str) {
    let columns = row.len();
    let (start, end) = (cell_at(row, range.start), cell_at(row, range.end));
    let look = row.get(start).map(|cell| cell.look.clone()).unwrap_or_default();
    let cells: Vec<PictureCell> =
        with.chars().map(|c| PictureCell { text: c.to_string(), look: look.clone() }).collect();
    let behind = start + cells.len();
    row.splice(start..end, cells);
    // The first gap of two blanks takes up the difference.
    let gap = (behind..row.len().saturating_sub(1)).find(|at| row[*at].text == " " && row[at + 1].text == " ");
    while row.len() > columns {
        match gap.filter(|at| row[*at].text == " " && row.get(at + 1).is_some_and(|next| next.text == " ")) {
            Some(at) => drop(row.remove(at)),
            None => drop(row.pop()),
        }
    }
    while row.len() < columns {
        let at = gap.unwrap_or(row.len());
        let blank = row.get(at).cloned().unwrap_or_else(PictureCell::blank);
        row.insert(at, blank);
    }
}

fn picture_cell(cell: &Cell, theme: PictureTheme) -> PictureCell {
    let text = match (cell.is_wide_continuation(), cell.has_contents()) {
        (true, _) => "",
        (false, true) => cell.contents(),
        (false, false) => " ",
    };
    let (mut ink, mut paper) = (svg::colour(cell.fgcolor(), theme), svg::colour(cell.bgcolor(), theme));
    if cell.inverse() {
        (ink, paper) = (
            Some(paper.unwrap_or_else(|| svg::paper(theme).to_owned())),
            Some(ink.unwrap_or_else(|| svg::ink(theme).to_owned())),
        );
    }
    let look =
        CellLook { ink, paper, bold: cell.bold(), italic: cell.italic(), dim: cell.dim(), underline: cell.underline() };
    // What a blank would look like with ink does not matter.
    let look = match (text, look.underline) {
        (" ", false) => CellLook { paper: look.paper, ..CellLook::default() },
        _ => look,
    };
    PictureCell { text: text.to_owned(), look }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(bytes: &str, columns: u16) -> ScreenPicture {
        let mut parser = vt100::Parser::new(4, columns, 0);
        parser.process(bytes.as_bytes());
        ScreenPicture::of(parser.screen(), PictureTheme::Dark)
    }

    #[test]
    fn replaced_parts_keep_what_is_aligned() {
        let at = |row: &str, part: &str, with: &str| {
            row.find(part).map(|start| (start..start + part.len(), with.to_owned())).into_iter().collect()
        };
        let mut shown = picture("♥ took 12 s   right", 20);
        shown.replace(|row| at(row, "12 s", "1 min 2 s"));
        assert_eq!(shown.texts(), ["♥ took 1 min 2 s rig"]);
        let mut shown = picture("♥ took 12 s   right", 20);
        shown.replace(|row| at(row, "12 s", "2 s"));
        assert_eq!(shown.texts(), ["♥ took 2 s    right"]);
        shown.replace(|row| at(row, "right", "r"));
        assert_eq!(shown.texts(), ["♥ took 2 s    r"]);
    }

    #[test]
    fn a_picture_has_a_line_for_each_row_and_runs_of_equal_style() {
        let drawn = picture("plain \x1b[1mbold\x1b[0m words\r\n\r\n<\x1b[41m日本\x1b[0m>", 20).svg("title", "label");
        let rows: Vec<&str> = drawn.lines().filter(|line| line.starts_with("<g id=\"r")).collect();
        assert_eq!(rows.len(), 2, "{drawn}");
        assert!(rows[0].contains(">plain</tspan>") && rows[0].contains(">bold</tspan>"), "{drawn}");
        assert!(rows[1].contains("&lt;") && rows[1].contains("textLength=\"48\""), "{drawn}");
        assert!(rows[1].contains("<rect x=\"28\" y=\"90\" width=\"32\""), "{drawn}");
        let other = picture("plain \x1b[1mbold\x1b[0m words\r\n\r\nelse", 20).svg("title", "label");
        assert_eq!(first_difference(&drawn, &drawn), None);
        let told = first_difference(&drawn, &other).unwrap();
        assert!(told.contains("row 3") && told.contains("<日本>") && told.contains("else"), "{told}");
        let light = picture("plain \x1b[1mbold\x1b[0m words\r\n\r\n<\x1b[42m日本\x1b[0m>", 20).svg("title", "label");
        assert!(first_difference(&drawn, &light).unwrap().contains("looks different"), "{light}");
        assert!(first_difference(&drawn, &drawn.replace("title", "other")).unwrap().contains("window"));
    }
}
