//! Draws the cells of a screen as SVG.

use super::{CellLook, PictureCell, PictureTheme, ScreenPicture};
use std::fmt::Write;
use vt100::Color;

const LINE: usize = 18;
/// The width of a cell; the font is chosen so that its characters are as wide.
const CELL: usize = 8;
const MARGIN: usize = 20;
const TITLE_BAR: usize = 34;
/// Blanks that separate two runs of equal style.
const GAP: usize = 3;

/// The sixteen terminal colours of a dark and of a light theme.
const DARK_SIXTEEN: [&str; 16] = [
    "#2b303b", "#ec7f78", "#7ecb7a", "#e5c07b", "#61afef", "#c678dd", "#56c8d8", "#d6d9e0", "#8b93a3", "#f2a19b",
    "#9fdc9b", "#f0d59a", "#8ec5f5", "#d9a0ea", "#86dbe6", "#ffffff",
];
const LIGHT_SIXTEEN: [&str; 16] = [
    "#000000", "#b3261e", "#3d6b10", "#7a5000", "#2455a0", "#8a3a9a", "#146c7a", "#c8ccd4", "#5f6672", "#c9443b",
    "#4d8714", "#96660a", "#3568b8", "#a14db2", "#1f8494", "#ffffff",
];

struct WindowColours {
    paper: &'static str,
    ink: &'static str,
    bar: &'static str,
    title: &'static str,
    sixteen: &'static [&'static str; 16],
}

fn window(theme: PictureTheme) -> WindowColours {
    match theme {
        PictureTheme::Dark => {
            WindowColours { paper: "#1b1e25", ink: "#d6d9e0", bar: "#282c35", title: "#9aa2b1", sixteen: &DARK_SIXTEEN }
        }
        PictureTheme::Light => WindowColours {
            paper: "#fbfbfa",
            ink: "#24262b",
            bar: "#e6e6e3",
            title: "#5f6672",
            sixteen: &LIGHT_SIXTEEN,
        },
    }
}

pub(super) fn paper(theme: PictureTheme) -> &'static str {
    window(theme).paper
}

pub(super) fn ink(theme: PictureTheme) -> &'static str {
    window(theme).ink
}

pub(super) fn colour(colour: Color, theme: PictureTheme) -> Option<String> {
    Some(match colour {
        Color::Default => return None,
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        Color::Idx(index) if index < 16 => window(theme).sixteen[usize::from(index)].to_owned(),
        Color::Idx(index) if index < 232 => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = index - 16;
            format!("#{:02x}{:02x}{:02x}", level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        Color::Idx(index) => {
            let grey = 8 + 10 * (index - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    })
}

struct StyledRun<'a> {
    look: &'a CellLook,
    column: usize,
    columns: usize,
    text: String,
}

pub(super) fn draw(picture: &ScreenPicture, title: &str, label: &str) -> String {
    let mut styles = StyleClasses::default();
    let rows: Vec<String> =
        picture.rows.iter().enumerate().map(|(at, row)| draw_row(row, at, picture.theme, &mut styles)).collect();
    let columns = picture.rows.first().map_or(0, Vec::len);
    let size = (MARGIN * 2 + columns * CELL, TITLE_BAR + MARGIN * 2 + rows.len() * LINE);
    let mut out = frame(size, picture.theme, (title, label), &styles);
    out.extend(rows);
    if let Some((row, column)) = picture.cursor {
        let (x, y, ink) = (MARGIN + column * CELL, top(row), ink(picture.theme));
        writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{LINE}\" fill=\"{ink}\" opacity=\"0.7\"/>")
            .unwrap();
    }
    out + "</svg>\n"
}

fn top(row: usize) -> usize {
    TITLE_BAR + MARGIN + row * LINE
}

fn frame(
    (width, height): (usize, usize),
    theme: PictureTheme,
    (title, label): (&str, &str),
    styles: &StyleClasses,
) -> String {
    let WindowColours { paper, ink, bar, title: title_ink, .. } = window(theme);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{}\" xml:space=\"preserve\">\n<style>\n\
         text {{ font: 13.29px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre; fill: {ink} }}\n{}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"{paper}\"/>\n\
         <path d=\"M0 {TITLE_BAR}V10A10 10 0 0 1 10 0H{}A10 10 0 0 1 {width} 10V{TITLE_BAR}Z\" fill=\"{bar}\"/>\n",
        escaped(label).replace('"', "&quot;"),
        styles.rules(),
        width - 10
    );
    for (index, colour) in ["#ec6a5e", "#f4bf4f", "#61c554"].iter().enumerate() {
        writeln!(out, "<circle cx=\"{}\" cy=\"17\" r=\"6\" fill=\"{colour}\"/>", 22 + index * 20).unwrap();
    }
    writeln!(
        out,
        "<text x=\"{}\" y=\"21\" style=\"fill: {title_ink}\" text-anchor=\"middle\">{}</text>",
        width / 2,
        escaped(title)
    )
    .unwrap();
    out
}

/// Names for the styles of text, in the order in which they are met.
#[derive(Default)]
struct StyleClasses(Vec<String>);

impl StyleClasses {
    /// The class of a style; `None` for plain text.
    fn class(&mut self, look: &CellLook) -> Option<String> {
        let mut rules = Vec::new();
        if let Some(ink) = &look.ink {
            rules.push(format!("fill: {ink}"));
        }
        for (is_so, rule) in [
            (look.bold, "font-weight: bold"),
            (look.italic, "font-style: italic"),
            (look.dim, "opacity: 0.6"),
            (look.underline, "text-decoration: underline"),
        ] {
            if is_so {
                rules.push(rule.to_owned());
            }
        }
        if rules.is_empty() {
            return None;
        }
        let rule = rules.join("; ");
        let at = self.0.iter().position(|known| *known == rule).unwrap_or_else(|| {
            self.0.push(rule);
            self.0.len() - 1
        });
        Some(class_name(at))
    }

    fn rules(&self) -> String {
        let mut out = String::new();
        for (at, rule) in self.0.iter().enumerate() {
            writeln!(out, ".{} {{ {rule} }}", class_name(at)).unwrap();
        }
        out
    }
}

fn class_name(at: usize) -> String {
    match u8::try_from(at).ok().filter(|at| *at < 26) {
        Some(at) => char::from(b'a' + at).to_string(),
        None => format!("z{at}"),
    }
}

fn draw_row(row: &[PictureCell], at: usize, theme: PictureTheme, styles: &mut StyleClasses) -> String {
    let mut drawn = papers(row, at, theme);
    let runs = runs(row);
    if !runs.is_empty() {
        write!(drawn, "<text y=\"{}\">", top(at) + 13).unwrap();
        for run in &runs {
            drawn.push_str(&span(run, styles));
        }
        drawn.push_str("</text>");
    }
    if drawn.is_empty() {
        return drawn;
    }
    format!("<g id=\"r{}\">{drawn}</g>\n", at + 1)
}

/// The backgrounds of a row.
fn papers(row: &[PictureCell], at: usize, theme: PictureTheme) -> String {
    let mut out = String::new();
    let mut column = 0;
    for part in row.chunk_by(|one, other| one.look.paper == other.look.paper) {
        if let Some(colour) = part[0].look.paper.as_deref().filter(|colour| *colour != paper(theme)) {
            let (x, width) = (MARGIN + column * CELL, part.len() * CELL);
            write!(out, "<rect x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{LINE}\" fill=\"{colour}\"/>", top(at))
                .unwrap();
        }
        column += part.len();
    }
    out
}

fn span(run: &StyledRun<'_>, styles: &mut StyleClasses) -> String {
    let class = styles.class(run.look).map(|name| format!(" class=\"{name}\"")).unwrap_or_default();
    // Lines are stretched, so that they have no gaps.
    let adjust = if run.text.contains('─') { " lengthAdjust=\"spacingAndGlyphs\"" } else { "" };
    let (x, width) = (MARGIN + run.column * CELL, run.columns * CELL);
    format!("<tspan x=\"{x}\" textLength=\"{width}\"{adjust}{class}>{}</tspan>", escaped(&run.text))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Whether two cells belong to one run of text.
fn joins(one: &CellLook, other: &CellLook) -> bool {
    *one == CellLook { paper: one.paper.clone(), ..other.clone() }
}

/// The texts of a row as runs of equal style. A few blanks between two parts of equal style belong to their run.
fn runs(row: &[PictureCell]) -> Vec<StyledRun<'_>> {
    let mut runs: Vec<StyledRun<'_>> = Vec::new();
    let mut column = 0;
    let mut cells = row.iter().peekable();
    while let Some(cell) = cells.next() {
        let is_wide = cells.next_if(|next| next.text.is_empty()).is_some();
        let columns = if is_wide { 2 } else { 1 };
        let start = column;
        column += columns;
        if cell.text == " " && !cell.look.underline {
            continue;
        }
        let last = runs.last_mut().filter(|run| joins(run.look, &cell.look));
        match last.map(|run| (start - run.column - run.columns, run)).filter(|(gap, _)| *gap < GAP) {
            Some((gap, run)) => {
                run.text.push_str(&" ".repeat(gap));
                run.text.push_str(&cell.text);
                run.columns += gap + columns;
            }
            None => runs.push(StyledRun { look: &cell.look, column: start, columns, text: cell.text.clone() }),
        }
    }
    runs
}
