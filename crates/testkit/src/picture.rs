//! A screen as SVG. Every run of cells with equal style is positioned and stretched to its cells, so that the picture
//! looks the same in any monospace font.

use std::fmt::Write;
use vt100::{Cell, Color, Screen};

const LINE: usize = 18;
const CHARACTER: f64 = 7.83;
const MARGIN: usize = 20;
const TITLE_BAR: usize = 34;
/// Drawn as a line, because many fonts lack it.
const CORNER: &str = "⎿";
const PAPER: &str = "#1b1e25";
const INK: &str = "#d6d9e0";
/// The sixteen terminal colours of a dark theme.
const SIXTEEN: [&str; 16] = [
    "#2b303b", "#ec7f78", "#7ecb7a", "#e5c07b", "#61afef", "#c678dd", "#56c8d8", "#d6d9e0", "#8b93a3", "#f2a19b",
    "#9fdc9b", "#f0d59a", "#8ec5f5", "#d9a0ea", "#86dbe6", "#ffffff",
];

/// The common style of a run of cells.
#[derive(Clone, PartialEq)]
struct CellLook {
    ink: String,
    paper: Option<String>,
    bold: bool,
    italic: bool,
    dim: bool,
    underline: bool,
}

struct StyledRun {
    look: CellLook,
    column: usize,
    columns: usize,
    text: String,
}

/// The screen without empty rows at its end, in a window with this title.
pub(crate) fn svg(screen: &Screen, title: &str) -> String {
    let (rows, columns) = screen.size();
    let lines: Vec<Vec<StyledRun>> = (0..rows).map(|row| runs(screen, row, columns)).collect();
    let used = lines.iter().rposition(|line| !line.is_empty()).map_or(1, |last| last + 1);
    let width = MARGIN * 2 + (f64::from(columns) * CHARACTER) as usize;
    let height = TITLE_BAR + MARGIN * 2 + used * LINE;
    let mut out = frame(width, height, title);
    for (index, line) in lines[..used].iter().enumerate() {
        for run in line {
            draw(run, TITLE_BAR + MARGIN + index * LINE, &mut out);
        }
    }
    if !screen.hide_cursor() {
        let (row, column) = screen.cursor_position();
        let (x, y) = (at(usize::from(column)), TITLE_BAR + MARGIN + usize::from(row) * LINE);
        writeln!(
            out,
            "<rect x=\"{x:.2}\" y=\"{y}\" width=\"{CHARACTER}\" height=\"{LINE}\" fill=\"{INK}\" opacity=\"0.7\"/>"
        )
        .unwrap();
    }
    out + "</svg>\n"
}

fn frame(width: usize, height: usize, title: &str) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{title}\">\n<style>\n\
         text {{ font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre }}\n</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"{PAPER}\"/>\n\
         <path d=\"M0 {TITLE_BAR}V10A10 10 0 0 1 10 0H{}A10 10 0 0 1 {width} 10V{TITLE_BAR}Z\" fill=\"#282c35\"/>\n",
        width - 10
    );
    for (index, colour) in ["#ec6a5e", "#f4bf4f", "#61c554"].iter().enumerate() {
        writeln!(out, "<circle cx=\"{}\" cy=\"17\" r=\"6\" fill=\"{colour}\"/>", 22 + index * 20).unwrap();
    }
    writeln!(out, "<text x=\"{}\" y=\"21\" fill=\"#9aa2b1\" text-anchor=\"middle\">{title}</text>", width / 2).unwrap();
    out
}

fn at(column: usize) -> f64 {
    MARGIN as f64 + column as f64 * CHARACTER
}

fn draw(run: &StyledRun, top: usize, out: &mut String) {
    let (x, width) = (at(run.column), run.columns as f64 * CHARACTER);
    if let Some(paper) = &run.look.paper {
        writeln!(out, "<rect x=\"{x:.2}\" y=\"{top}\" width=\"{width:.2}\" height=\"{LINE}\" fill=\"{paper}\"/>")
            .unwrap();
    }
    if run.text.trim().is_empty() {
        return;
    }
    let look = &run.look;
    if run.text == CORNER {
        let (left, middle, right) = (x + CHARACTER * 0.4, top + LINE / 2 + 1, x + CHARACTER);
        writeln!(out, "<path d=\"M{left:.2} {}V{middle}H{right:.2}\" fill=\"none\" stroke=\"{}\"/>", top + 3, look.ink)
            .unwrap();
        return;
    }
    let mut style = format!("fill=\"{}\"", look.ink);
    for (is_so, text) in [
        (look.bold, " font-weight=\"bold\""),
        (look.italic, " font-style=\"italic\""),
        (look.dim, " opacity=\"0.6\""),
        (look.underline, " text-decoration=\"underline\""),
    ] {
        if is_so {
            style.push_str(text);
        }
    }
    let text = run.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let y = top + 13;
    writeln!(
        out,
        "<text x=\"{x:.2}\" y=\"{y}\" textLength=\"{width:.2}\" lengthAdjust=\"spacingAndGlyphs\" {style} \
         xml:space=\"preserve\">{text}</text>"
    )
    .unwrap();
}

/// The cells of a row as runs of equal style; blanks without colour are left out.
fn runs(screen: &Screen, row: u16, columns: u16) -> Vec<StyledRun> {
    let mut runs: Vec<StyledRun> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else { continue };
        let (look, column) = (look(cell), usize::from(column));
        let columns = if cell.is_wide() { 2 } else { 1 };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let joins = |run: &StyledRun| {
            run.look == look && run.column + run.columns == column && run.text.trim() != CORNER && text != CORNER
        };
        match runs.last_mut().filter(|run| joins(run)) {
            Some(run) => {
                run.text.push_str(text);
                run.columns += columns;
            }
            None => runs.push(StyledRun { look, column, columns, text: text.to_owned() }),
        }
    }
    for run in runs.iter_mut().filter(|run| run.look.paper.is_none() && !run.look.underline) {
        let kept = run.text.trim_end_matches(' ').len();
        run.columns -= run.text.len() - kept;
        run.text.truncate(kept);
        let led = run.text.len() - run.text.trim_start_matches(' ').len();
        run.column += led;
        run.columns -= led;
        run.text.drain(..led);
    }
    runs.retain(|run| run.columns > 0);
    runs
}

fn look(cell: &Cell) -> CellLook {
    let (ink, paper) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
    let (ink, paper) = if cell.inverse() {
        (Some(paper.unwrap_or_else(|| PAPER.to_owned())), Some(ink.unwrap_or_else(|| INK.to_owned())))
    } else {
        (ink, paper)
    };
    CellLook {
        ink: ink.unwrap_or_else(|| INK.to_owned()),
        paper,
        bold: cell.bold(),
        italic: cell.italic(),
        dim: cell.dim(),
        underline: cell.underline(),
    }
}

fn colour(colour: Color) -> Option<String> {
    match colour {
        Color::Default => None,
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Color::Idx(index) if index < 16 => Some(SIXTEEN[usize::from(index)].to_owned()),
        Color::Idx(index) if index < 232 => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = index - 16;
            Some(format!("#{:02x}{:02x}{:02x}", level(cube / 36), level(cube / 6 % 6), level(cube % 6)))
        }
        Color::Idx(index) => {
            let grey = 8 + 10 * (index - 232);
            Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
        }
    }
}
