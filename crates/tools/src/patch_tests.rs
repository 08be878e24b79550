use super::*;
use proptest::prelude::*;

/// Applies hunks the way a patch reader does, checking every context and removed line.
fn apply(old: &str, hunks: &[DiffHunk]) -> String {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let mut out = String::new();
    let mut at = 0;
    for hunk in hunks {
        let start = hunk.old_start - 1;
        out.extend(lines[at..start].iter().copied());
        assert_eq!(out.matches('\n').count(), hunk.new_start - 1, "newStart");
        at = start;
        let (mut removed, mut added) = (0, 0);
        for (i, line) in hunk.lines.iter().enumerate() {
            if line == NO_NEWLINE {
                continue;
            }
            let ends = hunk.lines.get(i + 1).is_none_or(|next| next != NO_NEWLINE);
            let body = format!("{}{}", &line[1..], if ends { "\n" } else { "" });
            match &line[..1] {
                "+" => {}
                " " | "-" => {
                    assert_eq!(lines[at], body);
                    at += 1;
                    removed += 1;
                }
                other => panic!("prefix {other:?}"),
            }
            if !line.starts_with('-') {
                out.push_str(&body);
                added += 1;
            }
        }
        assert_eq!((removed, added), (hunk.old_lines, hunk.new_lines));
    }
    out.extend(lines[at..].iter().copied());
    out
}

#[test]
fn hunks_have_three_lines_of_context() {
    // [TST-32]
    let lines: Vec<String> = (1..=20).map(|n| format!("line {n}\n")).collect();
    let old = lines.concat();
    let new = old.replace("line 10\n", "ten\n");
    let hunks = structured(&old, &new);
    assert_eq!(hunks.len(), 1);
    let h = &hunks[0];
    assert_eq!((h.old_start, h.old_lines, h.new_start, h.new_lines), (7, 7, 7, 7));
    assert_eq!(h.lines[2..5], [" line 9", "-line 10", "+ten"]);
    assert_eq!(apply(&old, &hunks), new);
}

#[test]
fn a_missing_final_newline_is_marked() {
    // [TST-32]
    for (old, new) in [("a", "a\n"), ("a\n", "a"), ("a\nb", "a\nc"), ("", "x"), ("x", ""), ("", "a\nb\n"), ("a\n", "")]
    {
        assert_eq!(apply(old, &structured(old, new)), new, "{old:?} -> {new:?}");
    }
    let hunks = structured("a", "a\n");
    assert_eq!(hunks[0].lines, ["-a", NO_NEWLINE, "+a"]);
}

#[test]
fn a_small_change_in_a_large_file_stays_cheap() {
    let old = "some line of text\n".repeat(2_000_000);
    let mut new = old.clone();
    new.replace_range(18_000_000..18_000_004, "SOME");
    let hunks = structured(&old, &new);
    assert!(hunks[0].lines.len() <= 9);
}

proptest! {
    #[test]
    fn hunks_apply_back(old in "([ab\r]?\n|[abc]){0,30}", new in "([ab\r]?\n|[abc]){0,30}") {
        // [TST-32]
        prop_assert_eq!(apply(&old, &structured(&old, &new)), new);
    }

    #[test]
    fn hunks_of_a_spliced_text_apply_back(body in "([a-c]{0,2}\n){10,60}", at in 0..100usize, cut in 0..12usize, put in "[a-c\n]{0,6}") {
        let start = at.min(body.len());
        let end = (start + cut).min(body.len());
        let new = format!("{}{put}{}", &body[..start], &body[end..]);
        prop_assert_eq!(apply(&body, &structured(&body, &new)), new);
    }
}
