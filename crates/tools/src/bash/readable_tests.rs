use super::*;
use proptest::prelude::*;

fn screen(text: &str) -> String {
    screen_text(text.as_bytes()).into_owned()
}

#[test]
fn escape_sequences_are_not_read() {
    // [MX-16]
    assert_eq!(screen("\u{1b}[1;31merror\u{1b}[0m: x\n"), "error: x\n");
    assert_eq!(screen("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{7} \u{1b}(Bx\u{1b}=y"), "link xy");
    assert_eq!(screen("bell\u{7} and\u{b} more"), "bell and more");
    assert_eq!(screen("tabs\tstay\r\nand lines"), "tabs\tstay\nand lines");
    assert!(matches!(screen_text("plain é\n".as_bytes()), Cow::Borrowed(_)));
}

#[test]
fn progress_is_read_in_its_last_state() {
    // [MX-16]
    assert_eq!(screen("10 %\r50 %\r100 %\ndone"), "100 %\ndone");
    assert_eq!(screen("downloading\r\u{1b}[Kdone\n"), "done\n");
    assert_eq!(screen("abc\u{8}\u{8}X"), "aXc");
    assert_eq!(screen("step 1\u{1b}[2K\rstep 2"), "step 2");
    assert_eq!(screen("long text\rshort"), "shorttext");
}

#[test]
fn both_ends_are_cut_at_line_borders() {
    // [MX-17]
    let lines: Vec<String> = (1..=8_000).map(|i| format!("line {i}\n")).collect();
    let text = lines.concat();
    let ends = ends(&text[..30_000], &text[text.len() - 32_000..], 8_000, ShownEnds::SUCCESS);
    assert!(ends.first.starts_with("line 1\n") && ends.first.len() <= 4_000);
    assert!(ends.last.ends_with("line 8000") && ends.last.len() <= 6_000);
    let last_shown: u64 = ends.first.lines().last().unwrap()[5..].parse().unwrap();
    let next_shown: u64 = ends.last.lines().next().unwrap()[5..].parse().unwrap();
    assert_eq!(ends.gap, format!("[lines {}–{} of 8000 left out]", last_shown + 1, next_shown - 1));
    assert_eq!(ends.missing, Some((last_shown + 1, next_shown - 1)));
}

#[test]
fn one_endless_line_is_cut_inside() {
    // [MX-17]
    let text = "x".repeat(60_000);
    let ends = ends(&text[..30_000], &text[..32_000], 1, ShownEnds::FAILURE);
    assert_eq!(ends.gap, "[the middle of long lines left out]");
    assert!(ends.first.contains("… [line of 3000 characters]"), "{}", ends.first);
}

#[test]
fn binary_output_is_recognised() {
    // [MX-16]
    assert_eq!(binary_kind(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0"), Some("a PNG image"));
    let noise: Vec<u8> = (0..=255).cycle().take(2_000).collect();
    assert_eq!(binary_kind(&noise), Some("binary data"));
    assert_eq!(binary_kind("naïve – café\n".repeat(10).as_bytes()), None);
    assert_eq!(binary_kind(b"\x1b[31mred\x1b[0m\n"), None);
    assert_eq!(binary_kind(b"first\0second\0third\0"), None, "names of find -print0");
    assert_eq!(binary_kind(b""), None);
}

#[test]
fn causes_are_found_in_the_part_left_out() {
    // [MX-18]
    let mut lines: Vec<String> = (1..=100).map(|i| format!("step {i} ok")).collect();
    lines[49] = "\u{1b}[31merror: expected `;`\u{1b}[0m".into();
    lines[59] = "2 tests failed".into();
    lines[97] = "error: outside".into();
    let text = lines.join("\n");
    assert_eq!(likely_causes(text.as_bytes(), (10, 90)), ["50: error: expected `;`", "60: 2 tests failed"]);
    let many = "FAILED one\n".repeat(50);
    assert_eq!(likely_causes(many.as_bytes(), (1, 50)).len(), 5);
}

proptest! {
    #[test]
    fn no_control_character_is_left(text in "[a-z\u{1b}\\[\\]0-9;mK\r\n\t\u{7}\u{8}\u{0}\u{9b}é]{0,80}") {
        // [MX-16]
        let shown = screen(&text);
        prop_assert!(shown.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "{shown:?}");
        prop_assert_eq!(shown.matches('\n').count() <= text.matches('\n').count(), true);
    }

    #[test]
    fn ends_never_panic_and_stay_short(text in "[a-é\n]{0,400}", first in 1usize..60, last in 1usize..60) {
        // [MX-17]
        let ends = ends(&text, &text, count_lines(&text), ShownEnds { first, last });
        prop_assert!(ends.first.chars().count() <= first && ends.last.chars().count() <= last);
    }
}
