//! The check of the `edit` fuzz target on mutated edits, with the same inputs on every run.
#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../../../../fuzz/checks/edit.rs"]
mod check;
#[path = "../../../../fuzz/checks/mutate.rs"]
mod mutate;

/// Scope flag, content, old text and new text.
const CORPUS: [(u8, &str, &str, &str); 5] = [
    (0, "fn main() {\n    run();\n}\n", "run()", "walk()"),
    (1, "a b a b a\n", "a", "aa"),
    (0, "one\r\ntwo\r\nthree\r\n", "two\nthree", "2\n3"),
    (1, "say \u{201c}hi\u{201d} and \u{2018}bye\u{2019}\n", "\"hi\" and 'bye'", "\"ho\""),
    (0, "\u{e9}e\u{301}\u{1f600}\ttab  \n", "\u{1f600}\t", "x"),
];

// [TST-31] [TST-37] [TST-38]
#[test]
fn edits_survive_mutation() {
    mutate::kept(include_str!("../../../../fuzz/corpus/edit.txt"), check::check);
    let seeds = CORPUS.map(|(flag, content, old, new)| {
        [&[flag], content.as_bytes(), &[0xff], old.as_bytes(), &[0xff], new.as_bytes()].concat()
    });
    mutate::smoke(&seeds, check::check, 21, 3_000);
}
