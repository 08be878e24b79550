use super::*;
use proptest::prelude::*;

fn shown(source: &str, columns: usize) -> Vec<String> {
    let theme = Theme::default();
    let look = MarkdownOptions { theme: &theme, columns, syntax: SyntaxColouring::Coloured };
    render(source, &look).iter().map(StyledLine::text).collect()
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
        ["1. one", "   - deep", "   - deeper", "     1. deepest", "2. two", "", "   more", "", "- ☒ done", "- ☐ open"]
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
    let look = MarkdownOptions { theme: &theme, columns: 80, syntax: SyntaxColouring::Coloured };
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
        let look = MarkdownOptions { theme: &theme, columns: 60, syntax: SyntaxColouring::Coloured };
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
