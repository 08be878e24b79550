use super::super::apply::occurrences;
use super::*;

fn missing(text: &str, old: &str, new: &str) -> String {
    not_found(Path::new("/p/a.rs"), text, old, new)
}

#[test]
fn the_nearest_lines_and_the_difference_are_shown() {
    // [MX-4]
    let file = "fn one() {}\nfn total() {\n\tlet sum = add(1, 2);\n\tprint(sum);\n}\n";
    let text = missing(file, "fn total() {\n    let sum = add(1, 3);\n    print(sum);", "x");
    assert!(text.contains("2\tfn total() {\n3\t\tlet sum = add(1, 2);\n4\t⇥print(sum);"), "{text}");
    assert!(
        text.contains("line 3: the file has \"2\" where you sent \"3\"; the file has 1 tab, you sent 4 spaces"),
        "{text}"
    );
    let text = missing(file, "fn total() {\n    let sum = add(1, 2);\n    print(sum);\n}\n", "x");
    assert!(text.ends_with("line 3: the file has 1 tab, you sent 4 spaces"), "{text}");
}

#[test]
fn only_the_beginning_of_the_text_is_repeated() {
    // [MX-4]
    let old = "secret_marker ".repeat(500);
    let text = missing("other\n", &old, "x");
    assert!(text.len() <= MAX_BYTES);
    assert_eq!(text.matches("secret_marker").count(), 4 + usize::from(text.contains("`secret_marker`")), "{text}");
    let wide: Vec<String> = (0..40).map(|i| format!("{i} {}", "é".repeat(300))).collect();
    let text = missing(&wide.join("\n"), &wide.join("\n").replace("7 é", "x é"), "x");
    assert!(text.len() <= MAX_BYTES, "{}", text.len());
}

#[test]
fn without_anything_near_the_rarest_word_is_located() {
    // [MX-4]
    let file = "let a = common();\nlet b = common();\nspecial_name(a, b);\n";
    let text = missing(file, "if common() { while x { special_name } else { z } }", "x");
    assert!(text.contains("Nothing in its 3 lines is like it. `special_name` is at line 3."), "{text}");
}

#[test]
fn several_near_places_are_named() {
    // [MX-4]
    let file = "value = first(1)\n-\nvalue = first(2)\n-\n";
    assert!(missing(file, "value = first(3)", "x").contains("Several places are like it: lines 1–1, 3–3."));
}

#[test]
fn an_edit_that_was_made_before_is_recognised() {
    // [MX-6]
    let text = missing("a\nlet total = sum(b);\n", "let total = sum(a);", "let total = sum(b);");
    assert!(text.contains("already holds `new_string` at line 2: this edit seems to be done."), "{text}");
    assert!(!missing("a\nx\n", "something_else", "x").contains("already"));
}

#[test]
fn places_of_an_ambiguous_text_are_told_apart() {
    // [MX-5]
    let file = "[a]\nport = 1\nhost = x\n\n[b]\nport = 1\nhost = x\n\n[c]\nport = 1\nhost = x\n";
    let text = ambiguous(Path::new("/p/a.toml"), file, &occurrences(file, "host = x"));
    assert!(text.contains("occurs 3 times"), "{text}");
    assert!(text.contains("line 3 (above it, line 1: \"[a]\")"), "{text}");
    assert!(text.contains("line 7 (above it, line 5: \"[b]\")"), "{text}");
    let many = "same line\n".repeat(300);
    let text = ambiguous(Path::new("/p/a"), &many, &occurrences(&many, "same line"));
    assert!(text.contains("\nline 10") && text.contains("and 290 more") && text.len() <= MAX_BYTES, "{text}");
}
