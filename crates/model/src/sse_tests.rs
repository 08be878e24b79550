use super::*;
use proptest::prelude::*;

fn parse(chunks: &[&[u8]]) -> Vec<SseFrame> {
    let mut parser = SseParser::default();
    let mut out = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut out).unwrap();
    }
    parser.finish(&mut out).unwrap();
    out
}

fn frame(event: &str, data: &str) -> SseFrame {
    SseFrame { event: event.into(), data: data.into() }
}

#[test]
fn every_line_ending() {
    for end in ["\n", "\r", "\r\n"] {
        let text = ["event: a", "data: 1", "", "data: 2", ""].map(|l| format!("{l}{end}")).concat();
        assert_eq!(parse(&[text.as_bytes()]), [frame("a", "1"), frame("", "2")], "{end:?}");
    }
}

#[test]
fn bom_comments_and_several_data_lines() {
    let text = b"\xEF\xBB\xBF: hello\ndata: a\ndata:b\nid: 7\nretry: 1\ndata\n\n: alone\n\n";
    assert_eq!(parse(&[text]), [frame("", "a\nb\n")]);
}

#[test]
fn a_missing_last_empty_line_still_gives_the_event() {
    assert_eq!(parse(&[b"data: x\n"]), [frame("", "x")]);
    assert_eq!(parse(&[b"data: x"]), [frame("", "x")]);
}

#[test]
fn an_event_without_data_gives_nothing_and_leaves_no_name() {
    assert_eq!(parse(&[b"event: a\n\ndata: x\n\n"]), [frame("", "x")]);
}

#[test]
fn utf8_cut_between_chunks() {
    let text = "data: é😀\n\n".as_bytes();
    for at in 0..text.len() {
        assert_eq!(parse(&[&text[..at], &text[at..]]), [frame("", "é😀")]);
    }
}

#[test]
fn an_event_over_the_cap_is_refused() {
    let mut parser = SseParser::default();
    let mut out = Vec::new();
    let piece = vec![b'x'; 1024 * 1024];
    parser.push(b"data: ", &mut out).unwrap();
    let refused = (0..40).find_map(|i| parser.push(&piece, &mut out).err().map(|_| i));
    assert_eq!(refused, Some(31));
    // The same in many short lines.
    let mut parser = SseParser::default();
    let line = [b"data: ".as_slice(), &piece, b"\n"].concat();
    assert!((0..40).any(|_| parser.push(&line, &mut out).is_err()));
}

proptest! {
    // [TST-102] however the bytes are cut, the frames are the same.
    #[test]
    fn invariant_under_any_split(
        text in r"((data|event|:|id|x)?:? ?[a-zé😀{}]{0,6}(\r\n|\n|\r)){0,12}[a-z:]{0,4}",
        cuts in proptest::collection::vec(0usize..200, 0..8),
        bom: bool,
    ) {
        let mut bytes = if bom { b"\xEF\xBB\xBF".to_vec() } else { Vec::new() };
        bytes.extend_from_slice(text.as_bytes());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(parse(&chunks), parse(&[&bytes]));
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(parse(&single), parse(&[&bytes]));
    }

    #[test]
    fn never_panics(bytes: Vec<u8>) {
        let mut out = Vec::new();
        let mut parser = SseParser::default();
        parser.push(&bytes, &mut out).unwrap();
        parser.finish(&mut out).unwrap();
    }
}
