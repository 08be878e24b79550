//! The output of a status line command as styled rows. Colours, attributes and links are kept; every other sequence is
//! dropped, so that a command can neither move the cursor nor change the terminal.

use crate::ansi;
use terminal::style::StyledLine;

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
    ansi::linked_line(&text[..text.floor_char_boundary(ROW_BYTES)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use terminal::style::{Colour, TextStyle};

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
