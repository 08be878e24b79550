//! Styled text: spans, lines and their encoding as terminal bytes. All escape sequences for colours are generated here;
//! control characters in text are never written.

use crate::text;
use std::io::Write;
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;

/// One of the 16 colours of the terminal's palette, one of 256, or an RGB colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Colour {
    Ansi(u8),
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// How many colours the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColourDepth {
    /// No colours, only attributes.
    None,
    Ansi16,
    Ansi256,
    True,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextStyle {
    pub fg: Option<Colour>,
    pub bg: Option<Colour>,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub strike: bool,
    pub reverse: bool,
}

impl TextStyle {
    pub const PLAIN: Self = Self {
        fg: None,
        bg: None,
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        reverse: false,
    };

    pub fn fg(colour: Option<Colour>) -> Self {
        Self { fg: colour, ..Self::PLAIN }
    }

    #[must_use]
    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    #[must_use]
    pub fn dim(self) -> Self {
        Self { dim: true, ..self }
    }

    #[must_use]
    pub fn italic(self) -> Self {
        Self { italic: true, ..self }
    }

    #[must_use]
    pub fn underline(self) -> Self {
        Self { underline: true, ..self }
    }

    #[must_use]
    pub fn strike(self) -> Self {
        Self { strike: true, ..self }
    }

    #[must_use]
    pub fn reverse(self) -> Self {
        Self { reverse: true, ..self }
    }

    #[must_use]
    pub fn on(self, colour: Option<Colour>) -> Self {
        Self { bg: colour.or(self.bg), ..self }
    }

    /// Combines two styles; colours of `over` have priority.
    #[must_use]
    pub fn with(self, over: Self) -> Self {
        Self {
            fg: over.fg.or(self.fg),
            bg: over.bg.or(self.bg),
            bold: self.bold || over.bold,
            dim: self.dim || over.dim,
            italic: self.italic || over.italic,
            underline: self.underline || over.underline,
            strike: self.strike || over.strike,
            reverse: self.reverse || over.reverse,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledSpan {
    pub text: String,
    pub style: TextStyle,
    pub link: Option<Arc<str>>,
}

/// A logical line. The terminal wraps finished lines; in the live region a line is one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledLine {
    pub spans: Vec<StyledSpan>,
    /// Background colour up to the right edge.
    pub fill: Option<Colour>,
}

impl StyledLine {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Self::styled(text, TextStyle::PLAIN)
    }

    pub fn styled(text: impl Into<String>, style: TextStyle) -> Self {
        let mut line = Self::new();
        line.push(text, style);
        line
    }

    pub fn push(&mut self, text: impl Into<String>, style: TextStyle) {
        let text = text.into();
        if text.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.style == style && last.link.is_none() => last.text.push_str(&text),
            Some(_) | None => self.spans.push(StyledSpan { text, style, link: None }),
        }
    }

    pub fn push_span(&mut self, span: StyledSpan) {
        if !span.text.is_empty() {
            self.spans.push(span);
        }
    }

    #[must_use]
    pub fn and(mut self, text: impl Into<String>, style: TextStyle) -> Self {
        self.push(text, style);
        self
    }

    #[must_use]
    pub fn and_line(mut self, other: Self) -> Self {
        self.append(other);
        self
    }

    /// Applies a base style under the styles of all spans.
    #[must_use]
    pub fn over(mut self, style: TextStyle) -> Self {
        for span in &mut self.spans {
            span.style = style.with(span.style);
        }
        self
    }

    pub fn append(&mut self, other: Self) {
        for span in other.spans {
            self.push_span(span);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty())
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| text::width(&span.text)).sum()
    }

    /// The text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// The part in a range of byte offsets of `text()`.
    #[must_use]
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        let mut out = Self { spans: Vec::new(), fill: self.fill };
        let mut at = 0;
        for span in &self.spans {
            let end = at + span.text.len();
            let (from, to) = (range.start.max(at), range.end.min(end));
            if from < to {
                let text = span.text[from - at..to - at].to_owned();
                out.spans.push(StyledSpan { text, style: span.style, link: span.link.clone() });
            }
            at = end;
        }
        out
    }

    /// The line cut to at most `columns`, with an ellipsis if something was cut.
    #[must_use]
    pub fn truncated(&self, columns: usize) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let Some(room) = columns.checked_sub(1) else { return Self::new() };
        let text = self.text();
        let cut = text::fit(&text, room);
        let mut out = self.slice(0..cut);
        let style = out.spans.last().map_or(TextStyle::PLAIN, |span| span.style);
        out.push("…", style);
        out
    }

    /// Wraps into rows of at most `columns`; all but the first are indented by `indent` blanks.
    pub fn wrapped(&self, columns: usize, indent: usize) -> Vec<Self> {
        if self.width() <= columns {
            return vec![self.clone()];
        }
        let indent = if indent + 8 > columns { 0 } else { indent };
        let rows = self.parts(&text::wrap(&self.text(), columns, columns - indent));
        rows.into_iter().enumerate().map(|(index, row)| if index == 0 { row } else { row.indented(indent) }).collect()
    }

    /// The rows in which a terminal of `columns` shows the line when nothing has wrapped it.
    pub fn cut_at(&self, columns: usize) -> Vec<Self> {
        if self.width() <= columns {
            return vec![self.clone()];
        }
        self.parts(&text::cut_rows(&self.text(), columns))
    }

    /// The parts in ascending ranges of byte offsets of `text()`.
    pub fn parts(&self, ranges: &[std::ops::Range<usize>]) -> Vec<Self> {
        let mut parts = Vec::with_capacity(ranges.len());
        let mut spans = self.spans.iter();
        // The current span and where it begins.
        let mut current = spans.next();
        let mut at = 0;
        for range in ranges {
            let mut part = Self { spans: Vec::new(), fill: self.fill };
            while let Some(span) = current {
                let end = at + span.text.len();
                let (from, to) = (range.start.max(at), range.end.min(end));
                if from < to {
                    let text = span.text[from - at..to - at].to_owned();
                    part.spans.push(StyledSpan { text, style: span.style, link: span.link.clone() });
                }
                if end > range.end {
                    break;
                }
                at = end;
                current = spans.next();
            }
            parts.push(part);
        }
        parts
    }

    /// The line with the cell at `column` reversed, as a cursor.
    #[must_use]
    pub fn with_reversed_cell(&self, column: usize) -> Self {
        let text = self.text();
        let start = text::fit(&text, column);
        let end = start + text[start..].graphemes(true).next().map_or(0, str::len);
        let mut out = self.slice(0..start);
        out.push(" ".repeat(column.saturating_sub(out.width())), TextStyle::PLAIN);
        let mut cell = if end > start { self.slice(start..end) } else { Self::plain(" ") };
        for span in &mut cell.spans {
            span.style.reverse = !span.style.reverse;
        }
        out.append(cell);
        out.append(self.slice(end..text.len()));
        out
    }

    /// The line after `columns` blanks.
    #[must_use]
    pub fn indented(self, columns: usize) -> Self {
        if columns == 0 {
            return self;
        }
        let mut line = Self::plain(" ".repeat(columns));
        line.fill = self.fill;
        line.append(self);
        line
    }
}

impl From<&str> for StyledLine {
    fn from(text: &str) -> Self {
        Self::plain(text)
    }
}

/// The lines of a plain text, all in one style.
pub fn lines_of(text: &str, style: TextStyle) -> Vec<StyledLine> {
    text.split('\n').map(|line| StyledLine::styled(line, style)).collect()
}

/// The abilities of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalCapabilities {
    pub depth: ColourDepth,
    pub links: bool,
}

/// Whether the background may reach the right edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundFill {
    ToEdge,
    TextOnly,
}

/// Appends the bytes of a line; they start and end with the plain style.
pub fn encode(line: &StyledLine, can: TerminalCapabilities, fill: BackgroundFill, out: &mut Vec<u8>) {
    if let (Some(colour), BackgroundFill::ToEdge) = (line.fill, fill)
        && can.depth != ColourDepth::None
    {
        // Written before the text: erasing after a full row would remove its last character.
        sgr(TextStyle::PLAIN.on(Some(colour)), can.depth, out);
        out.extend_from_slice(b"\x1b[K\x1b[0m");
    }
    for span in &line.spans {
        let style = TextStyle { bg: span.style.bg.or(line.fill), ..span.style };
        let link = span.link.as_deref().filter(|_| can.links);
        if let Some(link) = link {
            out.extend_from_slice(b"\x1b]8;;");
            out.extend(link.bytes().filter(|byte| (0x21..0x7f).contains(byte)));
            out.extend_from_slice(b"\x1b\\");
        }
        let styled = sgr(style, can.depth, out);
        for part in span.text.split(char::is_control) {
            out.extend_from_slice(part.as_bytes());
        }
        if styled {
            out.extend_from_slice(b"\x1b[0m");
        }
        if link.is_some() {
            out.extend_from_slice(b"\x1b]8;;\x1b\\");
        }
    }
}

/// Sets a style on top of the plain one; returns `false` when there was nothing to set.
fn sgr(style: TextStyle, depth: ColourDepth, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.extend_from_slice(b"\x1b[");
    let attributes = [
        (style.bold, 1),
        (style.dim, 2),
        (style.italic, 3),
        (style.underline, 4),
        (style.reverse, 7),
        (style.strike, 9),
    ];
    for (_, code) in attributes.iter().filter(|(on, _)| *on) {
        write!(out, "{code};").ok();
    }
    if let Some(colour) = style.fg.and_then(|colour| reduce_colour(colour, depth)) {
        colour_code(colour, 30, out);
    }
    if let Some(colour) = style.bg.and_then(|colour| reduce_background(colour, depth)) {
        colour_code(colour, 40, out);
    }
    if out.len() == start + 2 {
        out.truncate(start);
        return false;
    }
    out.pop();
    out.push(b'm');
    true
}

fn colour_code(colour: Colour, base: u8, out: &mut Vec<u8>) {
    match colour {
        Colour::Ansi(n @ 0..8) => write!(out, "{};", base + n),
        Colour::Ansi(n) => write!(out, "{};", base + 60 + (n & 7)),
        Colour::Indexed(n) => write!(out, "{};5;{n};", base + 8),
        Colour::Rgb(r, g, b) => write!(out, "{};2;{r};{g};{b};", base + 8),
    }
    .ok();
}

/// The nearest text colour that the terminal can show; `None` when it shows no colours.
pub fn reduce_colour(colour: Colour, depth: ColourDepth) -> Option<Colour> {
    match (depth, colour) {
        (ColourDepth::None, _) => None,
        (_, Colour::Ansi(_))
        | (ColourDepth::True, Colour::Indexed(_) | Colour::Rgb(..))
        | (ColourDepth::Ansi256, Colour::Indexed(_)) => Some(colour),
        (ColourDepth::Ansi256, Colour::Rgb(r, g, b)) => Some(Colour::Indexed(nearest_256(r, g, b))),
        (ColourDepth::Ansi16, Colour::Indexed(n @ 0..16)) => Some(Colour::Ansi(n)),
        (ColourDepth::Ansi16, Colour::Indexed(_) | Colour::Rgb(..)) => Some(Colour::Ansi(nearest_16(rgb(colour)))),
    }
}

/// The nearest background colour. With 16 colours, tints become black or white, so that every text can be read on them.
pub fn reduce_background(colour: Colour, depth: ColourDepth) -> Option<Colour> {
    match (depth, colour) {
        (ColourDepth::Ansi16, Colour::Indexed(16..) | Colour::Rgb(..)) => {
            Some(Colour::Ansi(if luminance(rgb(colour)) < 0.2 { 0 } else { 7 }))
        }
        (_, _) => reduce_colour(colour, depth),
    }
}

/// The components of a colour; those of the palette are only usual ones.
fn rgb(colour: Colour) -> (u8, u8, u8) {
    match colour {
        Colour::Rgb(r, g, b) => (r, g, b),
        Colour::Indexed(n) => components(n),
        Colour::Ansi(n) => PALETTE[usize::from(n & 15)],
    }
}

/// How well one colour can be read on the other: from 1 to 21, as WCAG 2 defines it. Text needs 4.5.
pub fn contrast(a: Colour, b: Colour) -> f64 {
    let (a, b) = (luminance(rgb(a)), luminance(rgb(b)));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
    let linear = |component: u8| {
        let value = f64::from(component) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

/// From this value on (the largest component) a colour counts as a bright one.
const DARKEST_BRIGHT: u8 = 190;

const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn components(n: u8) -> (u8, u8, u8) {
    match n {
        0..16 => PALETTE[usize::from(n)],
        16..232 => {
            let n = usize::from(n - 16);
            (STEPS[n / 36], STEPS[n / 6 % 6], STEPS[n % 6])
        }
        232.. => {
            let grey = 8 + 10 * (n - 232);
            (grey, grey, grey)
        }
    }
}

/// Common values of the 16 colours; terminals differ.
const PALETTE: [(u8, u8, u8); 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
];

fn distance(a: (u8, u8, u8), b: (u8, u8, u8)) -> u32 {
    let square = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
    square(a.0, b.0) + square(a.1, b.1) + square(a.2, b.2)
}

fn nearest_256(r: u8, g: u8, b: u8) -> u8 {
    // The greys are left out for what is not grey: a dark tint would lose its hue.
    let is_grey = r.max(g).max(b) - r.min(g).min(b) < 20;
    let candidates = if is_grey { 16..=255_u8 } else { 16..=231_u8 };
    let nearest = candidates.min_by_key(|n| distance(components(*n), (r, g, b)));
    nearest.unwrap_or(15)
}

/// Keeps the hue, which carries the meaning; distances would turn most colours into greys.
fn nearest_16((r, g, b): (u8, u8, u8)) -> u8 {
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let spread = i32::from(most - least);
    if spread * 4 < i32::from(most) || most < 60 {
        let greys = [0_u8, 8, 7, 15];
        return greys.into_iter().min_by_key(|n| distance(components(*n), (r, g, b))).unwrap_or(7);
    }
    let (r, g, b) = (i32::from(r), i32::from(g), i32::from(b));
    let most = i32::from(most);
    let hue = if most == r {
        60 * (g - b) / spread
    } else if most == g {
        120 + 60 * (b - r) / spread
    } else {
        240 + 60 * (r - g) / spread
    };
    let colour = match hue.rem_euclid(360) {
        25..75 => 3,
        75..165 => 2,
        165..200 => 6,
        200..265 => 4,
        265..335 => 5,
        _ => 1,
    };
    if most >= i32::from(DARKEST_BRIGHT) { colour + 8 } else { colour }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(line: &StyledLine, depth: ColourDepth) -> String {
        let mut out = Vec::new();
        encode(line, TerminalCapabilities { depth, links: true }, BackgroundFill::ToEdge, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn colours_are_lowered_to_what_the_terminal_has() {
        // [TST-248]
        let line = StyledLine::styled("x", TextStyle::fg(Some(Colour::Rgb(255, 0, 0))).bold());
        assert_eq!(bytes(&line, ColourDepth::True), "\x1b[1;38;2;255;0;0mx\x1b[0m");
        assert_eq!(bytes(&line, ColourDepth::Ansi256), "\x1b[1;38;5;196mx\x1b[0m");
        assert_eq!(bytes(&line, ColourDepth::Ansi16), "\x1b[1;91mx\x1b[0m");
        assert_eq!(bytes(&line, ColourDepth::None), "\x1b[1mx\x1b[0m");
        assert_eq!(reduce_colour(Colour::Indexed(244), ColourDepth::Ansi16), Some(Colour::Ansi(8)));
        let dark_green = Colour::Rgb(18, 66, 32);
        assert_eq!(reduce_background(dark_green, ColourDepth::Ansi256), Some(Colour::Indexed(22)));
        assert_eq!(reduce_background(dark_green, ColourDepth::Ansi16), Some(Colour::Ansi(0)));
    }

    #[test]
    fn no_control_character_of_a_text_is_written() {
        let mut line = StyledLine::plain("a\u{1b}[2Jb\r\n");
        line.push_span(StyledSpan {
            text: "l".into(),
            style: TextStyle::PLAIN,
            link: Some("http://x/\u{1b}\u{7}y".into()),
        });
        assert_eq!(bytes(&line, ColourDepth::True), "a[2Jb\x1b]8;;http://x/y\x1b\\l\x1b]8;;\x1b\\");
    }

    #[test]
    fn a_line_wraps_with_its_styles_and_hangs() {
        let line = StyledLine::plain("- one two ").and("three four", TextStyle::PLAIN.bold());
        let rows: Vec<String> = line.wrapped(12, 2).iter().map(StyledLine::text).collect();
        assert_eq!(rows, ["- one two", "  three four"]);
        assert!(line.wrapped(12, 2)[1].spans[1].style.bold);
        assert_eq!(line.truncated(9).text(), "- one tw…");
    }

    #[test]
    fn a_cursor_can_be_drawn_in_any_cell() {
        let line = StyledLine::plain("a日b");
        let reversed = |column| {
            let drawn = line.with_reversed_cell(column);
            let cell = drawn.spans.iter().find(|span| span.style.reverse).unwrap().text.clone();
            (drawn.text(), cell)
        };
        assert_eq!(reversed(0), ("a日b".to_owned(), "a".to_owned()));
        assert_eq!(reversed(1), ("a日b".to_owned(), "日".to_owned()));
        assert_eq!(reversed(4), ("a日b ".to_owned(), " ".to_owned()));
        assert_eq!(reversed(6), ("a日b   ".to_owned(), " ".to_owned()));
    }

    #[test]
    fn a_fill_comes_before_the_text() {
        let line = StyledLine { fill: Some(Colour::Ansi(1)), ..StyledLine::plain("x") };
        assert_eq!(bytes(&line, ColourDepth::True), "\x1b[41m\x1b[K\x1b[0m\x1b[41mx\x1b[0m");
    }
}
