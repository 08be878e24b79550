use super::*;
use proptest::prelude::*;

fn one(text: &str, old: &str, new: &str) -> Option<(String, TextDifference)> {
    match search(text, old, new) {
        TolerantSearch::One(found) => Some((
            format!("{}{}{}", &text[..found.range.start], found.replacement, &text[found.range.end..]),
            found.difference,
        )),
        _ => None,
    }
}

fn edited(text: &str, old: &str, new: &str) -> String {
    one(text, old, new).expect("one place").0
}

#[test]
fn line_numbers_are_taken_off() {
    // [MX-2]
    let file = "fn main() {\n    let total = 1;\n\n    print(total);\n}\n";
    let old = "2\t    let total = 1;\n3\t\n4\t    print(total);";
    assert_eq!(
        edited(file, old, "2\t    let total = 2;\n3\t\n4\t    print(total);"),
        file.replace("total = 1", "total = 2")
    );
    assert_eq!(edited(file, "     2→    let total = 1;", "    let total = 3;"), file.replace("= 1", "= 3"));
    assert_eq!(one(file, "2\t    let total = 1;\n9\t\n", "x"), None, "numbers that do not rise by one");
    assert_eq!(one(file, "2\t    let total = 1;", "2\t    let a = 1;\n    let b = 2;"), None, "numbered in part");
}

#[test]
fn white_space_at_line_ends_is_ignored_and_kept_where_nothing_changes() {
    // [MX-2]
    let file = "# Title  \nfirst line  \nsecond line\t\nlast line";
    assert_eq!(
        edited(file, "first line\nsecond line\nlast", "first line\nthird line\nlast"),
        "# Title  \nfirst line  \nthird line\nlast line"
    );
    assert_eq!(
        edited(file, "second line \nlast line\n", "second line \nend of it\n"),
        "# Title  \nfirst line  \nsecond line\t\nend of it"
    );
    assert_eq!(edited("total = compute()\nb\n", "total = compute()   ", "total = 0"), "total = 0\nb\n");
    assert_eq!(
        one("value = compute\nnext\n", "value = compute\n\n", "value = other"),
        None,
        "it would join the next line"
    );
    // One newline more than there is, and fewer in the new text: those are kept.
    assert_eq!(edited("a\nvalue = compute\n", "value = compute\n\n", "value = 1\n"), "a\nvalue = 1\n");
    assert_eq!(edited("value = compute\nnext\n", "value = compute\n\n", "value = 1\n"), "value = 1\nnext\n");
    assert_eq!(edited("value = compute\nnext\n", "value = compute\n\n", "value = 1\n\n"), "value = 1\nnext\n");
    assert_eq!(edited("value = compute\nnext\n", "value = compute\n\n", ""), "next\n");
}

#[test]
fn lookalike_characters_are_matched_and_kept() {
    // [MX-2]
    let file = "Range 10\u{a0}–\u{a0}20 km… and “so” on\n";
    assert_eq!(edited(file, "Range 10 - 20 km... and", "Range 10 - 25 km... and"), file.replace("20 km", "25 km"));
    assert_eq!(
        edited("size = 10 - 20 metres\n", "size = 10 – 20 metres", "size = 10 – 30 metres"),
        "size = 10 - 30 metres\n"
    );
}

#[test]
fn spelled_out_escapes_are_read() {
    // [MX-2]
    let file = "if ready:\n\tprint(\"yes\")\n";
    assert_eq!(
        edited(file, "if ready:\\n\\tprint(\\\"yes\\\")", "if ready:\\n\\tprint(\\\"no\\\")"),
        file.replace("yes", "no")
    );
    assert_eq!(one(file, "if ready:\\n\\tprint(\\\"yes\\\")", "a\\nb\nc"), None, "escapes beside real line ends");
    assert_eq!(one("path = \"C:\\new\\table\"\n", "path = \"D:\\new\\table\"", "x"), None);
}

#[test]
fn indentation_follows_one_rule() {
    // [MX-2]
    let tabs = "func main() {\n\tif ready {\n\t\trun(first)\n\t}\n}\n";
    let (text, difference) = one(
        tabs,
        "    if ready {\n        run(first)\n    }",
        "    if ready {\n        run(second)\n        stop()\n    }",
    )
    .unwrap();
    assert_eq!(text, "func main() {\n\tif ready {\n\t\trun(second)\n\t\tstop()\n\t}\n}\n");
    assert_eq!(difference, TextDifference::Indentation(IndentRule::TabsForSpaces(4)));

    let spaces = "class A:\n    def f(self):\n        return first\n\n    def g(self):\n        pass\n";
    assert_eq!(
        edited(spaces, "def f(self):\n    return first\n", "def f(self):\n    x = 1\n\n    return x\n"),
        spaces.replace("        return first\n", "        x = 1\n\n        return x\n")
    );
    assert_eq!(
        edited(spaces, "\tdef f(self):\n\t\treturn first", "\tdef f(self):\n\t\treturn 2"),
        spaces.replace("first", "2")
    );
    assert_eq!(
        edited(spaces, "        def f(self):\n            return first", "        def f(self):\n            return 2"),
        spaces.replace("first", "2")
    );
    assert_eq!(
        edited(spaces, "def f(self):\n    return first\n\n", ""),
        spaces.replace("    def f(self):\n        return first\n\n", "")
    );
}

#[test]
fn indentation_without_one_rule_is_refused() {
    // [MX-2]
    let file = "a:\n  first_step()\n     second_step()\n";
    assert_eq!(one(file, "first_step()\nsecond_step()", "first_step()\nthird_step()"), None, "two rules");
    let tabs = "\tfirst_step()\n\tsecond_step()\n";
    assert_eq!(
        one(tabs, "    first_step()\n    second_step()", "    first_step()\n      second_step(1)"),
        None,
        "not a multiple"
    );
    assert_eq!(one(tabs, "    first_step()\n", "    changed_step()"), None, "it would join the next line");
}

#[test]
fn several_places_short_texts_and_nothing_to_change_are_refused() {
    // [MX-2]
    let twice = "  call_something()\nx\n    call_something()\n";
    assert!(
        matches!(search(twice, "\tcall_something()", "\tother()"), TolerantSearch::Several(places) if places.len() == 2)
    );
    assert_eq!(search("  short()\n", "\tshort()", "\tlong()"), TolerantSearch::Nothing);
    assert_eq!(search("\tcall_something()\n", "    call_something()", "\tcall_something()"), TolerantSearch::Nothing);
}

#[test]
fn white_space_of_a_blank_line_is_not_put_before_another_line() {
    // [MX-2]
    assert_eq!(
        edited("first = 1;\nsecond = 2;\n\t\nthird;\n", "first = 1;\nsecond = 2;\n\n", "first = 1;\nsecond = 2;\n"),
        "first = 1;\nsecond = 2;\nthird;\n"
    );
    assert_eq!(
        edited("\tfirst = 1;\n\tsecond = 2;\n\t\nthird;\n", "first = 1;\nsecond = 2;\n\n", "second = 2;\n"),
        "\tsecond = 2;\nthird;\n"
    );
}

#[test]
fn the_beginning_of_a_longer_line_is_not_a_line() {
    // [MX-2] An edit that was made already is not made again within its own result.
    let file = "def gross(net):\n    return net / 0.75\n";
    assert_eq!(one(file, "def gross(net):\n    return net / 0.7\n", "def gross(net):\n    return net / 0.75\n"), None);
    assert_eq!(one("total = compute\nx", "total = comp\n", "total = 1\n"), None);
    let numbered = "1\tdef gross(net):\n2\t    return net / 0.7";
    assert_eq!(one(file, numbered, "1\tdef gross(net):\n2\t    return net / 0.75"), None);
    assert_eq!(one(file, "def gross(net):  \n    return net / 0.7", "def gross(net):\n    return net / 0.75"), None);
    assert_eq!(one(file, "def gross(net):\\n    return net / 0.7", "def gross(net):\\n    return net / 0.75"), None);
}

#[test]
fn an_edit_that_was_made_before_is_not_made_again() {
    // [MX-2]
    let file = "def gross(net):\n    value = net\n    return value + 1\n";
    assert_eq!(one(file, "    value = net  \n    return value", "    value = net\n    return value + 1"), None);
    assert_eq!(
        one(file, "def gross(net): \n    value = net\n", "def gross(net):\n    value = net\n    return value + 1\n"),
        None
    );
    assert_eq!(one(file, "\treturn value + 1\n", "\tvalue = net\n\treturn value + 1\n"), None);
}

/// [MX-2] What begins or ends within a word is probably another text.
#[test]
fn a_place_never_begins_or_ends_within_a_word() {
    let (old, new) = ("message = \"offset\" + value", "message = \"offset\" + amount");
    let file = |name: &str, end: &str| format!("let {name} = \u{201c}offset\u{201d} + {end};\n");
    assert!(one(&file("message", "value"), old, new).is_some());
    for (name, end) in [("my_message", "value"), ("message", "value_2"), ("message", "values")] {
        assert_eq!(one(&file(name, end), old, new), None, "{name} {end}");
    }
}

#[test]
fn a_place_at_the_end_of_the_file_without_a_newline_counts() {
    // [MX-2]
    let several = |text: &str, old: &str| matches!(search(text, old, "other\n"), TolerantSearch::Several(places) if places.len() == 2);
    assert!(several("first = 1;\nsecond = 2;\nx\nfirst = 1;\nsecond = 2;", "first = 1;\nsecond = 2;\n\n"));
    assert!(several("first = 1;\nsecond = 2;\nx\nfirst = 1;\nsecond = 2;", "first = 1;  \nsecond = 2;\n"));
    assert!(several("\tfirst = 1;\n\tsecond = 2;\nx\n\tfirst = 1;\n\tsecond = 2;", "first = 1;\nsecond = 2;\n"));
}

/// A file of indented lines, and the slip with which part of it is sent.
fn cases() -> impl Strategy<Value = (Vec<String>, usize, usize, usize, usize)> {
    let word = "[a-c]{1,2}|[a-c]\\(x\\)|é – y";
    let line = (0usize..3, word, word).prop_map(|(depth, a, b)| format!("{}{a} = {b};", "\t".repeat(depth)));
    let lines = prop::collection::vec(prop_oneof![9 => line, 1 => Just(String::new())], 1..14);
    (lines, 0usize..14, 1usize..5, 0usize..7, 0usize..5)
}

/// The text as a careless model sends it.
fn sent(lines: &[String], first_line: usize, slip: usize) -> String {
    let spaces = |line: &String| {
        let depth = line.len() - line.trim_start_matches('\t').len();
        format!("{}{}", "    ".repeat(depth), line.trim_start_matches('\t'))
    };
    let numbered = |(i, line): (usize, &String)| format!("{}\t{line}", first_line + i + 1);
    match slip {
        0 => lines.iter().map(spaces).collect::<Vec<_>>().join("\n"),
        1 => lines.iter().enumerate().map(numbered).collect::<Vec<_>>().join("\n"),
        2 => lines.join("  \n"),
        3 => lines.join("\n").replace('–', "-"),
        4 => lines.join("\\n").replace('\t', "\\t"),
        5 => lines.iter().map(|line| format!("\t{line}")).collect::<Vec<_>>().join("\n"),
        _ => lines.join("\n") + "\n",
    }
}

#[expect(clippy::disallowed_methods, reason = "the number of samples is given to the test command")]
fn samples() -> u32 {
    std::env::var("GIMLET_SAMPLES").ok().and_then(|count| count.parse().ok()).unwrap_or(2_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(samples()))]

    /// Never a byte outside the region, never a choice between two places, never on short text.
    #[test]
    fn a_match_is_the_only_place_and_nothing_else_changes((lines, at, count, slip, change) in cases()) {
        // [MX-2]
        let file = lines.join("\n");
        let at = at % lines.len();
        let region = &lines[at..(at + count).min(lines.len())];
        let old = sent(region, at, slip);
        let mut wished = region.to_vec();
        let target = change % wished.len();
        wished[target] = format!("{}changed;", "\t".repeat(change.min(2)));
        let new = sent(&wished, at, slip);
        let is_exact = file.contains(&old);
        match if is_exact { TolerantSearch::Nothing } else { search(&file, &old, &new) } {
            TolerantSearch::Nothing => {}
            TolerantSearch::Several(places) => prop_assert!(places.len() > 1),
            TolerantSearch::One(found) => {
                prop_assert!(old.chars().filter(|c| !c.is_whitespace()).count() >= MIN_TEXT_CHARS);
                let there = &file[found.range.clone()];
                prop_assert_eq!(overlapping(&file, there).len(), 1);
                // What was meant is the region it was copied from; anything else would be a wrong change.
                let start: usize = lines[..at].iter().map(|line| line.len() + 1).sum();
                prop_assert!(found.range.start >= start, "{:?} before {start}", found.range);
                prop_assert!(found.range.end <= start + region.join("\n").len() + 1);
                let meant = format!("{}{}{}", &file[..start], wished.join("\n"), &file[start + region.join("\n").len()..]);
                let made = format!("{}{}{}", &file[..found.range.start], found.replacement, &file[found.range.end..]);
                // A newline that was sent too often may leave the file with a final one.
                let is_longer = slip == 6 && made.strip_suffix('\n') == Some(meant.as_str());
                prop_assert!(made == meant || is_longer, "{made:?} and not {meant:?}");
            }
        }
    }
}
