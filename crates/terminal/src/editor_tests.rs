use super::*;
use proptest::prelude::*;

fn typed(text: &str) -> Editor {
    let mut editor = Editor::new();
    for c in text.chars() {
        editor.insert(&c.to_string());
    }
    editor
}

#[test]
fn undo_goes_by_words_and_redo_returns() {
    let mut editor = typed("one two");
    assert!(editor.undo());
    assert_eq!(editor.text(), "one ");
    assert!(editor.undo());
    assert_eq!(editor.text(), "one");
    assert!(editor.redo());
    assert_eq!(editor.text(), "one ");
    editor.insert("x");
    assert!(!editor.redo());
    while editor.undo() {}
    assert_eq!(editor.text(), "");
}

#[test]
fn an_undo_step_ends_where_the_cursor_moved() {
    let mut editor = typed("abc");
    editor.left();
    editor.insert("x");
    editor.insert("y");
    assert_eq!(editor.text(), "abxyc");
    editor.right();
    editor.backspace();
    for expected in ["abxyc", "abc", ""] {
        assert!(editor.undo());
        assert_eq!(editor.text(), expected);
    }
    // Edits of one group are one step, and undoing within it begins another.
    editor.begin_group();
    editor.insert("one ");
    editor.left();
    editor.insert("two");
    editor.undo();
    assert_eq!(editor.text(), "");
    editor.insert("three");
    editor.end_group();
    editor.insert("!");
    editor.undo();
    assert_eq!(editor.text(), "three");
}

#[test]
fn kills_join_and_yank_cycles() {
    let mut editor = typed("alpha beta gamma");
    editor.kill_big_word();
    editor.kill_big_word();
    assert_eq!(editor.text(), "alpha ");
    editor.yank();
    assert_eq!(editor.text(), "alpha beta gamma");
    editor.line_start();
    editor.kill_word_right();
    editor.yank();
    editor.yank_older();
    assert_eq!(editor.text(), "beta gamma beta gamma");
}

#[test]
fn a_long_paste_is_a_chip_that_moves_and_dies_as_one() {
    // [TST-235]
    let mut editor = typed("see ");
    editor.paste("a\nb\nc\nd");
    assert_eq!(editor.text(), "see [Pasted text #1 +3 lines]");
    editor.insert(" ok");
    assert_eq!(editor.expanded(), "see a\nb\nc\nd ok");
    for _ in 0..3 {
        editor.left();
    }
    editor.left();
    assert_eq!(editor.cursor(), 4);
    editor.right();
    editor.backspace();
    assert_eq!(editor.text(), "see  ok");
    editor.undo();
    assert_eq!(editor.expanded(), "see a\nb\nc\nd ok");
    editor.paste("short\nx");
    assert!(editor.text().contains("short\nx"));
    editor.paste(&"y".repeat(801));
    assert!(editor.text().contains("[Pasted text #2]"));
}

#[test]
fn a_label_without_content_is_text() {
    // [TST-235]
    let editor = typed("[Pasted text #9 +3 lines]");
    assert_eq!(editor.expanded(), "[Pasted text #9 +3 lines]");
    assert_eq!(editor.step_left(editor.cursor()), editor.text().len() - 1);
}

#[test]
fn rows_are_visual_and_the_column_is_kept() {
    let mut editor = typed("abcdefgh ij\nxy\n日本語 words");
    editor.go(5);
    assert!(!editor.up(9));
    assert!(editor.down(9));
    assert_eq!(&editor.text()[editor.cursor()..], "\nxy\n日本語 words");
    assert!(editor.down(9) && editor.down(9));
    assert_eq!(&editor.text()[editor.cursor()..], "語 words");
    assert!(editor.down(9));
    assert!(!editor.down(9));
}

#[test]
fn words_and_lines() {
    let mut editor = typed("fn main() { x }\nnext");
    editor.word_left();
    assert_eq!(&editor.text()[editor.cursor()..], "next");
    editor.left();
    editor.line_start();
    assert_eq!(editor.cursor(), 0);
    editor.word_right();
    editor.word_right();
    assert_eq!(editor.cursor(), 7);
    editor.kill_to_end();
    assert_eq!(editor.text(), "fn main\nnext");
    editor.kill_to_end();
    assert_eq!(editor.text(), "fn mainnext");
    editor.kill_to_start();
    assert_eq!(editor.text(), "next");
}

#[derive(Clone, Debug)]
enum Op {
    Insert(String),
    Paste(String),
    Do(u8),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof!["[a-c日é \n]{1,3}".prop_map(Op::Insert), "[a\n]{0,6}".prop_map(Op::Paste), (0u8..18).prop_map(Op::Do),]
}

fn run(editor: &mut Editor, op: &Op) {
    match op {
        Op::Insert(text) => editor.insert(text),
        Op::Paste(text) => editor.paste(text),
        Op::Do(n) => match n {
            0 => editor.left(),
            1 => editor.right(),
            2 => editor.word_left(),
            3 => editor.word_right(),
            4 => editor.backspace(),
            5 => editor.delete(),
            6 => {
                editor.up(7);
            }
            7 => {
                editor.down(7);
            }
            8 => editor.kill_to_end(),
            9 => editor.kill_to_start(),
            10 => editor.kill_big_word(),
            11 => editor.yank(),
            12 => editor.yank_older(),
            13 => {
                editor.undo();
            }
            14 => {
                editor.redo();
            }
            15 => editor.line_start(),
            16 => editor.kill_word_right(),
            _ => editor.line_end(),
        },
    }
}

proptest! {
    #[test]
    fn the_cursor_is_always_at_a_boundary_and_undo_reaches_the_start(ops in prop::collection::vec(op(), 0..40)) {
        let mut editor = Editor::new();
        for op in &ops {
            run(&mut editor, op);
            prop_assert!(editor.text().is_char_boundary(editor.cursor()));
            let layout = EditorLayout::new(editor.text(), 7);
            let (row, column) = layout.position(editor.text(), editor.cursor());
            prop_assert!(row < layout.rows.len() && column <= 7);
        }
        while editor.undo() {}
        prop_assert_eq!(editor.text(), "");
    }
}
