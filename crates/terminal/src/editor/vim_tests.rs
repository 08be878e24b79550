use super::*;
use proptest::prelude::*;

/// Types `keys` in normal mode with the cursor at the start of `text`; U+001B is the Esc key.
fn after(text: &str, keys: &str) -> (String, usize, VimMode) {
    let mut editor = Editor::new();
    editor.set(text);
    editor.go(0);
    let mut vim = Vim { mode: VimMode::Normal, ..Vim::default() };
    for c in keys.chars() {
        let key = if c == '\u{1b}' { KeyPress::plain(KeyCode::Escape) } else { KeyPress::char(c) };
        if vim.key(&mut editor, key) == KeyHandling::No && key.text().is_some() {
            editor.insert(&c.to_string());
        }
    }
    (editor.text().to_owned(), editor.cursor(), vim.mode())
}

fn text(text: &str, keys: &str) -> String {
    after(text, keys).0
}

#[test]
fn motions() {
    // [TST-233]
    let at = |keys| after("foo.bar baz\n  next line", keys).1;
    assert_eq!(
        [at("w"), at("W"), at("e"), at("3l"), at("$"), at("jj"), at("j^"), at("G")],
        [3, 8, 2, 3, 10, 12, 14, 14]
    );
    assert_eq!(
        [at("wwb"), at("$b"), at("$B"), at("fb"), at("tb"), at("fb;"), at("$Fb"), at("fb;,")],
        [3, 8, 8, 4, 3, 8, 8, 4]
    );
    assert_eq!([at("Ggg"), at("jk"), at("$0")], [0, 0, 0]);
}

#[test]
fn operators_and_objects() {
    // [TST-233]
    assert_eq!(text("one two three", "dw"), "two three");
    assert_eq!(text("one two three", "d2w"), "three");
    assert_eq!(text("one two three", "wdiw"), "one  three");
    assert_eq!(text("one two three", "wdaw"), "one three");
    assert_eq!(text("one two three", "cwxy\u{1b}"), "xy two three");
    assert_eq!(text("say \"hi there\" now", "fhci\"x\u{1b}"), "say \"x\" now");
    assert_eq!(text("f(a, (b), c)", "fadi("), "f()");
    assert_eq!(text("f(a, b)", "fada("), "f");
    assert_eq!(text("one\ntwo\nthree", "jdd"), "one\nthree");
    assert_eq!(text("one\ntwo\nthree", "2dd"), "three");
    assert_eq!(text("one two", "wD"), "one ");
    assert_eq!(text("one two", "wCxy\u{1b}"), "one xy");
    assert_eq!(text("one\ntwo", "yyp"), "one\none\ntwo");
    assert_eq!(text("one two", "ywwP"), "one one two");
    assert_eq!(text("abc", "xp"), "bac");
    assert_eq!(text("one\n  two", "J"), "one two");
    assert_eq!(text("one", ">>"), "  one");
    assert_eq!(text("  one", "<<"), "one");
    assert_eq!(text("abc", "~~"), "ABc");
    assert_eq!(text("abc", "rx"), "xbc");
    assert_eq!(text("one two", "dfe"), " two");
    assert_eq!(text("one two", "dte"), "e two");
    assert_eq!(text("abc", "3x"), "");
}

#[test]
fn the_last_change_is_repeated() {
    // [TST-233]
    assert_eq!(text("a b c d", "dw.."), "d");
    assert_eq!(text("one two", "cwx\u{1b}w."), "x x");
    assert_eq!(text("ab", "ix\u{1b}l."), "xxab");
    assert_eq!(text("a b c", "dwu"), "a b c");
}

#[test]
fn visual_modes() {
    // [TST-233]
    assert_eq!(text("one two three", "vey"), "one two three");
    assert_eq!(text("one two three", "wved"), "one  three");
    assert_eq!(text("one\ntwo\nthree", "Vjd"), "three");
    assert_eq!(text("abc def", "veU"), "ABC def");
    assert_eq!(text("abc def", "v~"), "Abc def");
    assert_eq!(text("abc def", "verx"), "xxx def");
    assert_eq!(text("abc def", "yiwwviwp"), "abc abc");
    assert_eq!(text("a\nb\nc", "VjJ"), "a b\nc");
    assert_eq!(after("abc", "v\u{1b}").2, VimMode::Normal);
    assert_eq!(after("abc", "vcx").2, VimMode::Insert);
}

#[test]
fn the_cursor_never_stands_behind_a_line_and_typing_is_undone_at_once() {
    // [TST-233]
    assert_eq!(after("abc", "$").1, 2);
    assert_eq!(after("abc", "A\u{1b}").1, 2);
    assert_eq!(after("abc", "vlll\u{1b}").1, 2);
    assert_eq!(after("abc", "Dp").0, "abc");
    assert_eq!(text("", "ione two three\u{1b}u"), "");
    assert_eq!(text("one two", "cwx y\u{1b}u"), "one two");
    assert_eq!(text("a", "3ix\u{1b}"), "xxxa");
    assert_eq!(text("a", "2oxy\u{1b}u"), "a");
}

/// A chip is entered and left as a whole, and its label is not written over.
#[test]
fn chips_are_one_step_for_motions_and_one_piece_for_operators() {
    let mut editor = Editor::new();
    editor.insert("see ");
    editor.paste("a\nb\nc\nd");
    editor.insert(" ok");
    let mut vim = Vim { mode: VimMode::Normal, ..Vim::default() };
    let mut press = |editor: &mut Editor, keys: &str| {
        for key in keys.chars() {
            vim.key(editor, KeyPress::char(key));
        }
    };
    press(&mut editor, "04lrx~");
    assert_eq!((editor.cursor(), editor.text()), (4, "see [Pasted text #1 +3 lines] ok"));
    press(&mut editor, "l");
    assert_eq!(&editor.text()[editor.cursor()..], " ok");
    press(&mut editor, "h");
    assert_eq!(editor.cursor(), 4);
    press(&mut editor, "x");
    assert_eq!(editor.text(), "see  ok");
}

proptest! {
    #[test]
    fn no_keys_break_the_editor(keys in "[a-zA-Z0-9$^~.;,<>\"(){}'\u{1b} ]{0,40}", start in "[a-c (\"日\n]{0,20}") {
        let (text, cursor, mode) = after(&start, &keys);
        prop_assert!(text.is_char_boundary(cursor));
        prop_assert!(mode != VimMode::Normal || cursor <= motions::last_of_line(&text, cursor));
    }
}
