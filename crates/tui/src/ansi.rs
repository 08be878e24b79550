//! Text with escape sequences as styled lines. Colours are kept, and for a status line also attributes and links; every
//! other sequence is dropped, so that no text can move the cursor or change the terminal.

use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;
use terminal::style::{Colour, StyledLine, StyledSpan, TextStyle};
use terminal::text;

/// The output of a command as a terminal would show it line by line: what was overwritten after a carriage return or a
/// backspace is gone. Of the sequences only colours are kept.
pub fn output_lines(output: &str) -> Vec<StyledLine> {
    let mut screen = OutputScreen::default();
    let mut chars = output.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => screen.end_line(),
            '\r' => screen.column = 0,
            '\u{8}' => screen.column = screen.column.saturating_sub(1),
            '\t' => screen.put_tab(),
            '\u{1b}' => screen.escape(&mut chars),
            '\u{9b}' => screen.control_sequence(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            c if c.is_control() || text::is_override(c) => {}
            c => screen.put(c),
        }
    }
    screen.end_line();
    screen.lines
}

/// The distance of tab stops, as terminals have it.
const TAB_COLUMNS: usize = 8;

/// The line being written and the finished ones.
#[derive(Default)]
struct OutputScreen {
    lines: Vec<StyledLine>,
    cells: Vec<(char, TextStyle)>,
    column: usize,
    style: TextStyle,
}

impl OutputScreen {
    fn put(&mut self, c: char) {
        let cell = (c, visible(self.style));
        match self.cells.get_mut(self.column) {
            Some(old) => *old = cell,
            None => self.cells.push(cell),
        }
        self.column += 1;
    }

    fn put_tab(&mut self) {
        for _ in 0..TAB_COLUMNS - self.column % TAB_COLUMNS {
            self.put(' ');
        }
    }

    fn end_line(&mut self) {
        let mut line = StyledLine::new();
        for run in self.cells.chunk_by(|before, next| before.1 == next.1) {
            line.push(run.iter().map(|(c, _)| *c).collect::<String>(), run[0].1);
        }
        self.lines.push(line);
        self.cells.clear();
        self.column = 0;
    }

    /// Reads what follows an escape character.
    fn escape(&mut self, chars: &mut Peekable<Chars<'_>>) {
        match chars.peek() {
            Some('[') => {
                chars.next();
                self.control_sequence(chars);
            }
            Some(']' | 'P' | 'X' | '^' | '_') => {
                chars.next();
                skip_string(chars);
            }
            // Other sequences: intermediate characters and a final one.
            Some(_) => {
                while chars.next_if(|c| (' '..='/').contains(c)).is_some() {}
                chars.next_if(|c| ('0'..='~').contains(c));
            }
            None => {}
        }
    }

    fn control_sequence(&mut self, chars: &mut Peekable<Chars<'_>>) {
        let mut codes = String::new();
        while let Some(c) = chars.next_if(|c| (' '..='?').contains(c)) {
            codes.push(c);
        }
        match chars.next_if(|c| ('@'..='~').contains(c)) {
            Some('m') => {
                let style = apply_sgr(self.style, &codes);
                self.style = TextStyle { fg: style.fg, bg: style.bg, ..TextStyle::PLAIN };
            }
            Some('K') => self.erase(&codes),
            Some(_) | None => {}
        }
    }

    /// Erases a part of the line, as progress displays do.
    fn erase(&mut self, codes: &str) {
        match codes {
            "" | "0" => self.cells.truncate(self.column),
            "1" => {
                let end = (self.column + 1).min(self.cells.len());
                self.cells[..end].fill((' ', TextStyle::PLAIN));
            }
            "2" => self.cells.fill((' ', TextStyle::PLAIN)),
            _ => {}
        }
    }
}

/// Text in the colour of its background would be hidden.
fn visible(style: TextStyle) -> TextStyle {
    if style.fg == style.bg { TextStyle { bg: None, ..style } } else { style }
}

/// Skips the text of a sequence such as a title, up to its end or to the end of the line.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// One line of text with its colours, attributes and links.
pub fn linked_line(text: &str) -> StyledLine {
    let mut reader = LinkedReader { line: StyledLine::new(), style: TextStyle::PLAIN, link: None };
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        reader.text(&rest[..at]);
        rest = reader.sequence(&rest[at + 1..]);
    }
    reader.text(rest);
    reader.line
}

struct LinkedReader {
    line: StyledLine,
    style: TextStyle,
    link: Option<Arc<str>>,
}

impl LinkedReader {
    fn text(&mut self, text: &str) {
        let text = text::clean(text).replace('\n', " ");
        self.line.push_span(StyledSpan { text, style: self.style, link: self.link.clone() });
    }

    /// Reads one sequence after its escape character; returns the rest of the text.
    fn sequence<'a>(&mut self, rest: &'a str) -> &'a str {
        if let Some(body) = rest.strip_prefix('[') {
            let end = body.find(|c: char| ('@'..='~').contains(&c));
            let Some(end) = end else { return "" };
            if body[end..].starts_with('m') {
                self.style = apply_sgr(self.style, &body[..end]);
            }
            return &body[end + 1..];
        }
        if let Some(body) = rest.strip_prefix(']') {
            let end = body.find(['\u{7}', '\u{1b}']);
            let Some(end) = end else { return "" };
            if let Some(link) = body[..end].strip_prefix("8;") {
                let address = link.split_once(';').map_or("", |(_, address)| address);
                self.link = is_web(address).then(|| address.into());
            }
            let after = &body[end..];
            return after.strip_prefix("\u{1b}\\").unwrap_or_else(|| &after[1..]);
        }
        let mut chars = rest.chars();
        chars.next();
        chars.as_str()
    }
}

/// Only these schemes become links; links to programs or network shares do not.
fn is_web(address: &str) -> bool {
    ["https://", "http://", "file:///", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
        && address.chars().all(|c| !c.is_control() && !c.is_whitespace())
}

fn apply_sgr(mut style: TextStyle, codes: &str) -> TextStyle {
    let mut codes = codes.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => style = TextStyle::PLAIN,
            1 => style.bold = true,
            2 => style.dim = true,
            3 => style.italic = true,
            4 => style.underline = true,
            7 => style.reverse = true,
            9 => style.strike = true,
            22 => (style.bold, style.dim) = (false, false),
            23 => style.italic = false,
            24 => style.underline = false,
            27 => style.reverse = false,
            29 => style.strike = false,
            30..=37 => style.fg = Some(Colour::Ansi((code - 30) as u8)),
            38 => style.fg = colour(&mut codes),
            39 => style.fg = None,
            40..=47 => style.bg = Some(Colour::Ansi((code - 40) as u8)),
            48 => style.bg = colour(&mut codes),
            49 => style.bg = None,
            90..=97 => style.fg = Some(Colour::Ansi((code - 90 + 8) as u8)),
            100..=107 => style.bg = Some(Colour::Ansi((code - 100 + 8) as u8)),
            _ => {}
        }
    }
    style
}

fn colour(codes: &mut impl Iterator<Item = u16>) -> Option<Colour> {
    let mut byte = || codes.next().and_then(|code| u8::try_from(code).ok());
    match byte()? {
        5 => Some(Colour::Indexed(byte()?)),
        2 => Some(Colour::Rgb(byte()?, byte()?, byte()?)),
        _ => None,
    }
}

#[cfg(test)]
#[path = "ansi_tests.rs"]
mod tests;
