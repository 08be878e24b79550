//! The output of a status line command as styled rows. Colours, attributes and links are kept; every other sequence is
//! dropped, so that a command can neither move the cursor nor change the terminal.

use std::sync::Arc;
use terminal::style::{Colour, StyledLine, StyledSpan, TextStyle};
use terminal::text;

/// The most rows shown.
const ROWS: usize = 8;
/// The most bytes of one row, before it is cut to the window.
const ROW_BYTES: usize = 8 * 1024;

/// The rows of an output, without blank ones at the end.
pub fn rows(output: &str) -> Vec<StyledLine> {
    let mut rows: Vec<StyledLine> = output.lines().take(ROWS).map(row).collect();
    while rows.last().is_some_and(|row| row.text().trim().is_empty()) {
        rows.pop();
    }
    rows
}

fn row(text: &str) -> StyledLine {
    let text = &text[..text.floor_char_boundary(ROW_BYTES)];
    let mut painter = AnsiReader { line: StyledLine::new(), style: TextStyle::PLAIN, link: None };
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        painter.text(&rest[..at]);
        rest = painter.sequence(&rest[at + 1..]);
    }
    painter.text(rest);
    painter.line
}

struct AnsiReader {
    line: StyledLine,
    style: TextStyle,
    link: Option<Arc<str>>,
}

impl AnsiReader {
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
mod tests {
    use super::*;

    #[test]
    fn colours_and_links_are_kept_and_nothing_else() {
        // [TST-251] [EXT-247]
        let shown = rows(
            "\x1b[1;31mred\x1b[0m \x1b[38;5;208mo\x1b[38;2;1;2;3mx\x1b[m\x1b[2J\x1b[10;1Hhome\x1b]0;title\x07\n\
             \x1b]8;;https://example.com/a\x1b\\here\x1b]8;;\x1b\\ \x1b]8;;javascript:1\x07no\x1b]8;;\x07 \x1b]52;c;aGk=\x07end\n\n",
        );
        let texts: Vec<String> = shown.iter().map(StyledLine::text).collect();
        assert_eq!(texts, ["red oxhome", "here no end"]);
        let span = |row: usize, text: &str| shown[row].spans.iter().find(|span| span.text == text).unwrap().clone();
        assert_eq!(span(0, "red").style, TextStyle::fg(Some(Colour::Ansi(1))).bold());
        assert_eq!(span(0, "o").style.fg, Some(Colour::Indexed(208)));
        assert_eq!(span(0, "x").style.fg, Some(Colour::Rgb(1, 2, 3)));
        assert_eq!(span(0, "home").style, TextStyle::PLAIN);
        assert_eq!(span(1, "here").link.as_deref(), Some("https://example.com/a"));
        assert_eq!(span(1, "no").link, None);
    }

    #[test]
    fn a_broken_end_is_harmless_and_rows_are_bounded() {
        assert_eq!(rows("a\x1b[31").len(), 1);
        assert_eq!(rows("a\x1b]8;;http").first().map(StyledLine::text).as_deref(), Some("a"));
        assert_eq!(rows("a\x1b").first().map(StyledLine::text).as_deref(), Some("a"));
        assert_eq!(rows(&"x\n".repeat(100)).len(), ROWS);
        assert!(rows("\n \n").is_empty());
    }
}
