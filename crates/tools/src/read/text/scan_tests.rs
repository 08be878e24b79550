use super::*;
use proptest::prelude::*;
use std::io::{BufReader, Read};

const ALL: LineRequest = LineRequest {
    first: 1,
    limit: None,
    cap: 1 << 20,
    at_cap: CapBehaviour::Clip,
    line_chars: None,
    last_newline: LastNewline::EndsLine,
};

fn read(text: &[u8], wanted: LineRequest) -> Option<ShownLines> {
    match scan(text, wanted).unwrap() {
        ScannedLines::Shown(shown) => Some(shown),
        ScannedLines::Refused { .. } => None,
    }
}

#[test]
fn lines_are_numbered_without_padding() {
    // [TST-17]
    assert_eq!(read(b"a\nb\n", ALL).unwrap().numbered, "1\ta\n2\tb");
    let starts_line = LineRequest { last_newline: LastNewline::StartsLine, ..ALL };
    assert_eq!(read(b"a\nb\n", starts_line).unwrap().numbered, "1\ta\n2\tb\n3\t");
    assert_eq!(read(b"a\r\nb", ALL).unwrap().numbered, "1\ta\n2\tb");
}

#[test]
fn nul_bytes_are_dropped() {
    // [TST-12]
    let shown = read(b"a\0b\xff", ALL).unwrap();
    assert_eq!(shown.content, "ab\u{fffd}");
    assert!(shown.lossy);
}

#[test]
fn the_cap_clips_whole_reads_and_refuses_ranges() {
    // [TST-19] [TST-20]
    let text = "0123456789\n".repeat(100);
    let clipped = read(text.as_bytes(), LineRequest { cap: 200, ..ALL }).unwrap();
    assert!(clipped.clipped && clipped.lines < 20 && clipped.lines > 5, "{}", clipped.lines);
    assert_eq!(clipped.total, 100);
    assert!(read(text.as_bytes(), LineRequest { cap: 200, at_cap: CapBehaviour::Refuse, ..ALL }).is_none());
    let one_line = "é".repeat(1000);
    let part = read(one_line.as_bytes(), LineRequest { cap: 101, ..ALL }).unwrap();
    assert_eq!((part.content.chars().count(), part.lines, part.clipped, part.lossy), (50, 1, true, false));
}

/// Returns endless bytes and counts how many were read.
struct Endless(std::rc::Rc<std::cell::Cell<usize>>);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.fill(b'x');
        self.0.set(self.0.get() + buffer.len());
        Ok(buffer.len())
    }
}

#[test]
fn a_range_over_the_cap_stops_reading() {
    // [TST-20]
    let taken = std::rc::Rc::default();
    let reader = BufReader::new(Endless(std::rc::Rc::clone(&taken)));
    let wanted = LineRequest { limit: Some(1), cap: 100_000, at_cap: CapBehaviour::Refuse, ..ALL };
    assert_eq!(scan(reader, wanted).unwrap(), ScannedLines::Refused { fitting: 0 });
    assert!(taken.get() < 200_000, "{}", taken.get());
}

#[test]
fn long_lines_are_cut_and_measured() {
    // [MX-10]
    let cut = LineRequest { line_chars: Some(5), ..ALL };
    let shown = read("éééééé\r\nééééé\r\nx\n".as_bytes(), cut).unwrap();
    assert_eq!(shown.content, "ééééé… [line of 6 characters]\nééééé\nx\n");
    assert_eq!((shown.cut_lines, shown.lossy, shown.total), (1, false, 3));
    let shown = read("éééééééééé\r\n".as_bytes(), cut).unwrap();
    assert_eq!(shown.content, "ééééé… [line of 10 characters]\n");
    let long = format!("{}\nend", "y".repeat(240_015));
    let shown = read(long.as_bytes(), LineRequest { line_chars: Some(2_000), cap: 60_000, ..ALL }).unwrap();
    assert!(shown.numbered.ends_with("… [line of 240,015 characters]\n2\tend"));
    assert_eq!(shown.content.find('…'), Some(2_000));
}

#[test]
fn an_endless_line_is_left_after_a_while() {
    // [MX-10] A range of a file with one endless line is shown, with little memory.
    let taken = std::rc::Rc::default();
    let reader = BufReader::with_capacity(1 << 20, Endless(std::rc::Rc::clone(&taken)));
    let wanted = LineRequest { limit: Some(1), line_chars: Some(10), ..ALL };
    let ScannedLines::Shown(shown) = scan(reader, wanted).unwrap() else { panic!("refused") };
    assert_eq!(shown.content, "xxxxxxxxxx… [line of more than 16,777,216 characters]");
    assert!(shown.has_more && taken.get() as u64 <= COUNTED_BYTES + (2 << 20), "{}", taken.get());
}

proptest! {
    #[test]
    fn any_range_equals_the_lines_of_the_text(text in "[ab\r\n]{1,60}", first in 1..12u64, limit in proptest::option::of(1..6u64), chunk in 1..9usize) {
        // [TST-18] [MX-11] Lines are counted as `wc -l` counts them; one without a newline at its end counts too.
        let wanted = LineRequest { first, limit, line_chars: Some(30), ..ALL };
        let ScannedLines::Shown(shown) = scan(BufReader::with_capacity(chunk, text.as_bytes()), wanted).unwrap() else {
            return Err(TestCaseError::fail("refused"));
        };
        let newlines = text.matches('\n').count();
        prop_assert_eq!(shown.total as usize, newlines + usize::from(!text.ends_with('\n')));
        prop_assert_eq!(shown.lacks_newline, !text.ends_with('\n'));
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let expected: Vec<&str> =
            lines.iter().skip(first as usize - 1).take(limit.map_or(usize::MAX, |n| n as usize)).copied().collect();
        prop_assert_eq!(shown.lines, expected.len() as u64);
        let with_lf: String = expected.iter().map(|line| line.replace("\r\n", "\n")).collect();
        let reaches_end = !expected.is_empty() && first as usize - 1 + expected.len() == lines.len();
        let without_last = with_lf.strip_suffix('\n').unwrap_or(&with_lf);
        prop_assert_eq!(shown.content.as_str(), if reaches_end { with_lf.as_str() } else { without_last });
    }
}
