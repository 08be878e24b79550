use super::*;
use proptest::prelude::*;

fn text(content: &str, old: &str, new: &str) -> String {
    apply(content, old, new, ReplaceScope::One).unwrap().text
}

#[test]
fn unique_none_and_several() {
    // [TST-31]
    assert_eq!(text("a b c", "b", "x"), "a x c");
    assert_eq!(apply("a b", "z", "x", ReplaceScope::One), Err(EditMismatch::NotFound));
    assert_eq!(apply("b b b", "b", "x", ReplaceScope::One), Err(EditMismatch::Ambiguous(vec![0..1, 2..3, 4..5])));
    let all = apply("b b b", "b", "xx", ReplaceScope::All).unwrap();
    assert_eq!((all.text.as_str(), all.places), ("xx xx xx", vec![0, 3, 6]));
}

#[test]
fn overlapping_places_are_several() {
    assert_eq!(apply("a\na\na\n", "a\na\n", "x\n", ReplaceScope::One), Err(EditMismatch::Ambiguous(vec![0..4, 2..6])));
    assert_eq!(apply("aaa", "aa", "b", ReplaceScope::All).unwrap().text, "ba");
}

#[test]
fn line_endings_of_the_file_win() {
    // [TST-37]
    assert_eq!(text("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb"), "a\r\nx\r\nb\r\nc\r\n");
    assert_eq!(text("a\r\nb\r\n", "\nb", "\nc"), "a\r\nc\r\n");
    assert_eq!(text("a\nb\n", "a\r\nb", "a\r\nc"), "a\nc\n");
    assert_eq!(text("a\r\nb\nc\nd\n", "c", "x\ny"), "a\r\nb\nx\ny\nd\n", "other lines keep theirs");
    assert_eq!(text("a\rb", "b", "c"), "a\rc");
}

#[test]
fn curly_quotes_are_matched_and_kept() {
    // [TST-38]
    assert_eq!(text("say “hello” now", "say \"hello\" now", "say \"hello\" later"), "say “hello” later");
    assert_eq!(text("it’s a ‘b’", "it's a", "it's the"), "it’s the ‘b’");
    assert_eq!(text("x = \"y\"", "x = “y”", "x = “z”"), "x = \"z\"");
    let exact = apply("“a” and \"a\"", "\"a\"", "\"b\"", ReplaceScope::One).unwrap();
    assert_eq!((exact.text.as_str(), exact.matched), ("“a” and \"b\"", MatchKind::Exactly));
    assert_eq!(text("“q”  \t x", "x", "y"), "“q”  \t y");
}

#[test]
fn long_quoted_texts_keep_both_ends() {
    let body = "w ".repeat(3000);
    let content = format!("“a” {body} “z”");
    let edited = text(&content, &format!("\"a\" {body} \"z\""), &format!("\"a\" {body}! \"z\""));
    assert_eq!(edited, format!("“a” {body}! “z”"));
}

proptest! {
    #[test]
    fn exact_replacement_is_what_string_replace_does(content in "[ab\n]{0,40}", old in "[ab\n]{1,4}", new in "[abc\n]{0,4}") {
        match apply(&content, &old, &new, ReplaceScope::All) {
            Ok(done) => prop_assert_eq!(done.text, content.replace(&old, &new)),
            Err(why) => {
                prop_assert_eq!(why, EditMismatch::NotFound);
                prop_assert!(!content.contains(&old));
            }
        }
    }

    #[test]
    fn any_input_is_survived_and_the_rest_kept(content in "([a“”‘’'\"é]|\r\n|\n|\r){0,30}", old in "([a'\"“’]|\r\n|\n){1,5}", new in "([b'\"”]|\r\n|\n){0,5}") {
        for scope in [ReplaceScope::One, ReplaceScope::All] {
            if let Ok(done) = apply(&content, &old, &new, scope) {
                prop_assert!(!done.places.is_empty());
                if scope == ReplaceScope::One {
                    prop_assert_eq!(done.places.len(), 1);
                }
            }
        }
    }
}
