use super::*;
use proptest::prelude::*;

const ALL: LineRequest = LineRequest { first: 1, limit: None, cap: 1 << 20, at_cap: CapBehaviour::Clip };

fn read(text: &[u8], wanted: LineRequest) -> Option<ShownLines> {
    scan(text, wanted).unwrap()
}

#[test]
fn lines_are_numbered_without_padding() {
    // [TST-17]
    assert_eq!(read(b"a\nb\n", ALL).unwrap().numbered, "1\ta\n2\tb\n3\t");
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
    assert_eq!(clipped.total, 101);
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
    let wanted = LineRequest { first: 1, limit: Some(1), cap: 100_000, at_cap: CapBehaviour::Refuse };
    assert!(scan(reader, wanted).unwrap().is_none());
    assert!(taken.get() < 200_000, "{}", taken.get());
}

proptest! {
    #[test]
    fn any_range_equals_the_lines_of_split(text in "[ab\n]{1,60}", first in 1..12u64, limit in proptest::option::of(1..6u64), chunk in 1..9usize) {
        // [TST-18]
        let reader = BufReader::with_capacity(chunk, text.as_bytes());
        let shown = scan(reader, LineRequest { first, limit, ..ALL }).unwrap().unwrap();
        let lines: Vec<&str> = text.split('\n').collect();
        let expected: Vec<&str> =
            lines.iter().skip(first as usize - 1).take(limit.map_or(usize::MAX, |n| n as usize)).copied().collect();
        prop_assert_eq!(shown.total, lines.len() as u64);
        prop_assert_eq!(shown.lines, expected.len() as u64);
        prop_assert_eq!(shown.content, expected.join("\n"));
    }
}
