use super::*;
use proptest::prelude::*;

fn shown(source: &str, columns: usize) -> Vec<String> {
    shown_as(source, columns, ProseWrap::Terminal)
}

fn wrapped(source: &str, columns: usize) -> Vec<String> {
    shown_as(source, columns, ProseWrap::Words)
}

fn shown_as(source: &str, columns: usize, wrap: ProseWrap) -> Vec<String> {
    let theme = Theme::default();
    let look = MarkdownOptions { theme: &theme, columns, syntax: SyntaxColouring::Coloured, wrap };
    render(source, &look).iter().map(StyledLine::text).collect()
}

#[test]
fn prose_is_wrapped_at_words_between_margins() {
    let words = "word ".repeat(60);
    for (columns, widest) in [(40, 38), (80, 78), (120, 102), (200, 102)] {
        let rows = wrapped(&words, columns);
        let width = rows.iter().map(|row| text::width(row)).max().unwrap();
        assert!(width <= widest && width > widest - 6, "{columns}: {width}");
        assert!(rows.iter().all(|row| row.starts_with("  word") && row.ends_with("word")), "{rows:?}");
    }
    assert_eq!(
        wrapped("- one two three four\n  - five six seven eight\n\n> quoted words that wrap\n>\n> more", 22),
        [
            "  - one two three",
            "    four",
            "    - five six seven",
            "      eight",
            "",
            "  │ quoted words",
            "  │ that wrap",
            "  │ ",
            "  │ more",
        ]
    );
    assert_eq!(
        wrapped("日本語の文章は空白なしで折り返されます。👩‍👩‍👧", 20),
        ["  日本語の文章は空", "  白なしで折り返さ", "  れます。👩‍👩‍👧"]
    );
}

#[test]
fn code_is_flush_left_and_whole_and_links_are_not_cut() {
    let long = format!("let x = \"{}\";", "y".repeat(60));
    assert_eq!(
        wrapped(&format!("Do this:\n\n```rust\n{long}\n\n    deep\n```\n\n- item\n\n  ```sh\n  make\n  ```"), 30),
        ["  Do this:", "", &long, "", "    deep", "", "  - item", "", "make"]
    );
    assert_eq!(
        wrapped("See https://example.test/a/b?c=d for more", 40),
        ["  See https://example.test/a/b?c=d for", "  more"]
    );
    assert_eq!(
        wrapped("Please see https://example.test/a/b?c=d", 36),
        ["  Please see", "  https://example.test/a/b?c=d"]
    );
}

#[test]
fn cells_wrap_and_only_narrow_tables_are_stacked() {
    let table = "| Name | About |\n|--|--|\n| a | some words that explain it at length and go on for long enough |\n| b | short |";
    let across = format!("  {}┼{}", "─".repeat(5), "─".repeat(52));
    assert_eq!(
        wrapped(table, 60),
        [
            "  Name │ About",
            &across,
            "  a    │ some words that explain it at length and go on for",
            "       │ long enough",
            &across,
            "  b    │ short",
        ]
    );
    assert_eq!(
        wrapped(table, 40),
        [
            "  Name: a",
            "  About: some words that explain it at",
            "    length and go on for long enough",
            "  ─────",
            "  Name: b",
            "  About: short"
        ]
    );
    let many = format!("|{}\n|{}\n|{}", " head |".repeat(12), "--|".repeat(12), " some longer text |".repeat(12));
    assert!(wrapped(&many, 100)[0].starts_with("  head: some longer text"), "columns would be under 8");
}

#[test]
fn blocks_are_set_off_by_one_blank_line() {
    assert_eq!(
        shown("# Title\nSome *prose* over\ntwo lines.\n\n```rust\nlet x = 1;\n\nx\n```\nEnd.", 80),
        ["Title", "", "Some prose over two lines.", "", "  let x = 1;", "  ", "  x", "", "End."]
    );
}

#[test]
fn lists_nest_number_and_keep_their_paragraphs() {
    // [TST-246]
    assert_eq!(
        shown("1. one\n   - deep\n   - deeper\n     1. deepest\n2. two\n\n   more\n- [x] done\n- [ ] open", 80),
        ["1. one", "   - deep", "   - deeper", "     1. deepest", "2. two", "", "   more", "", "- ☑ done", "- ☐ open"]
    );
}

#[test]
fn quotes_carry_their_bar() {
    assert_eq!(shown("> a\n>\n> b", 80), ["│ a", "│ ", "│ b"]);
}

#[test]
fn tables_fit_or_stack() {
    // [TST-246]
    let table = "| Name | Size |\n|:--|--:|\n| alpha | 1 |\n| 日本 | 22 |";
    assert_eq!(shown(table, 80), ["Name  │ Size", "──────┼─────", "alpha │    1", "日本  │   22"]);
    assert_eq!(shown(table, 8), ["Name: alpha", "Size: 1", "─────", "Name: 日本", "Size: 22"]);
}

#[test]
fn links_show_where_they_lead() {
    assert_eq!(
        shown("[text](http://x.y/z) <http://a.b> ![pic](p.png)", 80),
        ["text (http://x.y/z) http://a.b [image: pic]"]
    );
    let theme = Theme::default();
    let look =
        MarkdownOptions { theme: &theme, columns: 80, syntax: SyntaxColouring::Coloured, wrap: ProseWrap::Terminal };
    let lines = render("[text](http://x.y/z)", &look);
    assert_eq!(lines[0].spans[0].link.as_deref(), Some("http://x.y/z"));
}

#[test]
fn escape_sequences_in_a_reply_do_nothing() {
    assert_eq!(shown("a\u{1b}[2Jb `c\u{7}`", 80), ["ab c"]);
}

#[test]
fn only_the_last_block_is_open() {
    assert_eq!(closed_length("one"), 0);
    assert_eq!(closed_length("one\ntwo"), 0);
    assert_eq!(closed_length("one\n\ntwo"), 5);
    assert_eq!(closed_length("| a |\n|--|\n| b |\n|"), 0);
    assert_eq!(closed_length("one\n\n```\ncode\n"), 5);
    let text = "para\n\n- a\n- b\n\n  c\n";
    assert_eq!(&text[closed_length(text)..], "- a\n- b\n\n  c\n");
    assert_eq!(closed_length("a\n\n---\n"), 3);
}

proptest! {
    #[test]
    fn a_streamed_reply_looks_like_the_whole(parts in prop::collection::vec(prop::sample::select(vec![
        "word ", "\n", "\n\n", "# h\n", "- item\n", "  - sub\n", "1. n\n", "```rust\nlet x;\n```\n", "> q\n", "**b** ",
        "| a | b |\n|--|--|\n| 1 | 2 |\n", "---\n", "`c` ", "日本",
    ]), 0..24)) {
        // [TST-246]
        let whole: String = parts.concat();
        let theme = Theme::default();
        let look = MarkdownOptions { theme: &theme, columns: 60, syntax: SyntaxColouring::Coloured, wrap: ProseWrap::Terminal };
        // Blocks are removed as they close, as in streaming.
        let (mut source, mut printed) = (String::new(), Vec::new());
        let take = |text: &str, printed: &mut Vec<StyledLine>| {
            let lines = render(text, &look);
            if !printed.is_empty() && !lines.is_empty() {
                printed.push(StyledLine::new());
            }
            printed.extend(lines);
        };
        // One character at a time: a block must not close when only the beginning of its next line has arrived.
        for part in whole.chars() {
            source.push(part);
            let done = closed_length(&source);
            if done > 0 {
                take(&source[..done], &mut printed);
                source.drain(..done);
            }
        }
        take(&source, &mut printed);
        prop_assert_eq!(printed, render(&whole, &look));
    }
}

/// Pieces of Markdown of every kind.
const PIECES: [&str; 18] = [
    "word ",
    "longer words here, and more of them ",
    "\n",
    "\n\n",
    "# h\n",
    "- item with several words in it\n",
    "  - sub\n",
    "1. n\n",
    "```rust\nlet x = \"a line that is rather long, so that it does not fit\";\n```\n",
    "> quoted words that go on for a while\n",
    "**b** ",
    "| a | b |\n|--|--|\n| 1 | some words in a cell that wrap, because they are many |\n",
    "---\n",
    "`c` ",
    "日本語の文章",
    "e\u{301}👩‍👩‍👧 ",
    "https://example.test/a/long/path?x=y ",
    "[a link](https://example.test) ",
];

proptest! {
    #[test]
    fn what_grows_looks_as_when_it_is_finished(
        parts in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..16), columns in 20usize..130,
        wrap in prop::sample::select(vec![ProseWrap::Words, ProseWrap::Terminal]), count in 1usize..40,
    ) {
        let theme = Theme::default();
        let look = MarkdownOptions { theme: &theme, columns, syntax: SyntaxColouring::Coloured, wrap };
        let (mut source, mut memory) = (String::new(), WrapMemory::default());
        for part in parts {
            for piece in part.split_inclusive(' ') {
                source.push_str(piece);
                let live = render_tail(&source, &look, count, &mut memory);
                let finished: Vec<StyledLine> = render(&source, &look).iter().flat_map(|line| line.cut_at(columns)).collect();
                let texts = |lines: &[StyledLine]| lines.iter().map(StyledLine::text).collect::<Vec<_>>();
                prop_assert_eq!(texts(&live), texts(&finished[finished.len().saturating_sub(count)..]));
                prop_assert!(live.iter().all(|row| row.width() <= columns));
            }
        }
    }
}

#[test]
fn only_the_last_rows_of_a_growing_paragraph_are_wrapped_again() {
    let theme = Theme::default();
    let look =
        MarkdownOptions { theme: &theme, columns: 80, syntax: SyntaxColouring::Coloured, wrap: ProseWrap::Words };
    let (mut source, mut memory) = (String::new(), WrapMemory::default());
    for n in 0..2_000 {
        source.push_str(["some ", "more ", "**bold** ", "words "][n % 4]);
        assert!(!render_tail(&source, &look, 20, &mut memory).is_empty());
    }
    // Four rows of at most 77 bytes each time, instead of all 12,000.
    assert!(memory.looked_at < 2_000 * 4 * 80, "{}", memory.looked_at);
}
