use super::*;
use crate::random::Numbers;
use terminal::style::{BackgroundFill, ColourDepth, TerminalCapabilities, encode};

fn texts(output: &str) -> Vec<String> {
    output_lines(output).iter().map(StyledLine::text).collect()
}

#[test]
fn progress_overwrites_itself() {
    assert_eq!(texts("10 %\r50 %\r100 %\nok"), ["100 %", "ok"]);
    assert_eq!(texts("downloading\rdone\u{1b}[K\r\nnext"), ["done", "next"]);
    assert_eq!(texts("abc\u{8}\u{8}x"), ["axc"]);
    assert_eq!(texts("a\tb\nlonger\tc"), ["a       b", "longer  c"]);
    assert_eq!(texts("half\u{1b}]0;title\nnext"), ["half", "next"], "a sequence without an end hides one line only");
}

#[test]
fn colours_are_kept_over_lines_and_never_hide_text() {
    let lines = output_lines("\u{1b}[1;31merr\nor\u{1b}[0m \u{1b}[30;40mseen");
    assert_eq!(lines[0].spans[0].style, TextStyle::fg(Some(Colour::Ansi(1))));
    assert_eq!(lines[1].spans[0].style, TextStyle::fg(Some(Colour::Ansi(1))));
    assert_eq!(lines[1].spans[2].style, TextStyle::fg(Some(Colour::Ansi(0))));
}

fn random_output(numbers: &mut Numbers) -> String {
    const PIECES: [&str; 34] = [
        "\u{1b}",
        "[",
        "]",
        "\u{9b}",
        "\u{90}",
        "\u{9d}",
        "\u{9c}",
        "\u{7}",
        "\\",
        "m",
        "K",
        "J",
        "H",
        "h",
        "l",
        "?25",
        "31",
        "48;5;208",
        "38;2;1;2;3",
        ";",
        ":",
        "0",
        "1",
        "7",
        "2J",
        "52;c;aGk=",
        "8;;http://a.test/",
        "\r",
        "\n",
        "\u{8}",
        "\t",
        "text",
        "日本",
        "\u{202e}",
    ];
    (0..numbers.below(60)).map(|_| PIECES[numbers.below(PIECES.len())]).collect()
}

/// Removes the sequences that set or reset a colour; `Err` for any other sequence.
fn without_colours(bytes: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = bytes;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        let body = rest[at..].strip_prefix("\u{1b}[").ok_or_else(|| rest[at..].to_owned())?;
        let (codes, after) = body.split_once('m').ok_or_else(|| rest[at..].to_owned())?;
        let mut codes = codes.split(';').map(|code| code.parse::<u16>().map_err(|_| rest[at..].to_owned()));
        while let Some(code) = codes.next().transpose()? {
            match code {
                0 | 30..=37 | 90..=97 | 40..=47 | 100..=107 => {}
                38 | 48 => {
                    let more = if codes.next().transpose()? == Some(5) { 1 } else { 3 };
                    (0..more).try_for_each(|_| codes.next().transpose().map(drop))?;
                }
                _ => return Err(rest[at..].to_owned()),
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[test]
fn nothing_but_colours_passes() {
    let mut numbers = Numbers(7);
    let can = TerminalCapabilities { depth: ColourDepth::True, links: true };
    for _ in 0..20_000 {
        let output = random_output(&mut numbers);
        for line in output_lines(&output) {
            let mut bytes = Vec::new();
            encode(&line, can, BackgroundFill::ToEdge, &mut bytes);
            let plain = without_colours(std::str::from_utf8(&bytes).unwrap());
            let plain = plain.unwrap_or_else(|other| panic!("{other:?} passed, from {output:?}"));
            assert!(!plain.chars().any(|c| c.is_control() || text::is_override(c)), "{plain:?} from {output:?}");
            assert_eq!(plain, line.text(), "{output:?}");
        }
    }
}
