use super::super::reading::CommandReading;
use super::super::script::SimpleCommand;

fn texts(command: &str) -> Vec<String> {
    let reading = CommandReading::of(command);
    reading.strict.unwrap_or_else(|why| panic!("{command:?}: {why}")).iter().map(SimpleCommand::text).collect()
}

#[test]
#[rustfmt::skip]
fn plain_commands_are_split_and_normalised() {
    assert_eq!(texts("git   commit\t-m x"), ["git commit -m x"]);
    assert_eq!(texts("a && b || c ; d | e |& f\n g # note"), ["a", "b", "c", "d", "e", "f", "g"]);
    assert_eq!(texts("npm test -- --grep '# todo; rm'"), ["npm test -- --grep '# todo; rm'"]);
    assert_eq!(texts("ls 2>&1 >/dev/null; cat x 2> /dev/null | wc"), ["ls", "cat x", "wc"]);
    assert_eq!(texts("\n\nls;\n"), ["ls"]);
    assert_eq!(texts("gr\\\nep x"), ["grep x"]);
    assert_eq!(texts("echo a#b"), ["echo a#b"]);
    assert_eq!(texts("(a; b) && { c; }"), ["a", "b", "c"]);
    assert_eq!(texts("if a; then b; else c; fi"), ["a", "b", "c"]);
    assert_eq!(texts("! a | b &"), ["a", "b"]);
    assert_eq!(texts("time a"), ["a"]);
    assert_eq!(texts("cat <<'E'\n$(x) rm -rf /\nE\nls"), ["cat", "ls"]);
    assert_eq!(texts("cat <<E\nplain\nE"), ["cat"]);
    assert_eq!(texts("a <<< 'b c'"), ["a"]);
    assert_eq!(texts("git show HEAD@{1}"), ["git show HEAD@{1}"]);
    assert_eq!(texts("find . -name {} -print"), ["find . -name {} -print"]);
}

#[test]
#[rustfmt::skip]
fn quotes_are_removed_from_the_words() {
    let reading = CommandReading::of(r#"c'u'rl "a b" \x 'it' "q\"q""#);
    let words: Vec<_> = reading.strict.as_ref().unwrap()[0].words.iter().map(|w| w.text.as_str()).collect();
    assert_eq!(words, ["curl", "a b", "x", "it", "q\"q"]);
}

#[test]
#[rustfmt::skip]
fn redirections_are_kept_apart() {
    let reading = CommandReading::of("sort < in > out 2>&1 >/dev/null");
    let unit = &reading.strict.as_ref().unwrap()[0];
    let files: Vec<_> = unit.redirects.iter().map(|r| (r.word.text.as_str(), r.writes)).collect();
    assert_eq!(files, [("in", false), ("out", true)]);
    assert_eq!(unit.text(), "sort");
}

#[test]
#[rustfmt::skip]
fn everything_else_is_opaque() {
    for command in [
        "echo $(id)", "echo `id`", "echo \"$(id)\"", "echo \"`id`\"", "echo $SECRET", "cat $HOME", "cat <(x)", "x <<EOF\n$(hi)\nEOF", "x <<< $y",
        "x > ~/f", "x > *", "x 5> f", "x {fd}> f", "f(){ x; }", "a && ", "&& a", "a || || b", "echo \"open", "echo 'open", "eval ls",
        "source f", ". f", "X=1", "export A=b; ls", "=ls", "l? x", "~/x", "{curl,x}", "{a..b} x", "[[ -v a ]]", "echo a\u{202e}b",
        "echo a\rb", "cat${IFS}x", "a ;; b", "ls\u{a0}-l", "((a))", "case a in b) c;; esac", "coproc x", "select x in a; do b; done",
        "for ((;;)); do x; done", "echo $'a'", "echo $\"a\"", "a[0]=b c", "a=(b) c", "x >! f", "{ x; } > f", "echo ~u", "", " ", "# x",
        "function f { x; }", "echo @(a|b)",
    ] {
        assert!(CommandReading::of(command).strict.is_err(), "{command:?} must be opaque: {:?}", CommandReading::of(command).strict);
    }
    assert!(CommandReading::of(&"x".repeat(10_001)).strict.is_err());
}

#[test]
fn deep_nesting_ends() {
    for (open, close) in [
        ("(", ")"),
        ("( ')'; ", ")"),
        ("$(", ")"),
        ("{ ", ";}"),
        ("`", "`"),
        ("${a:-", "}"),
        ("if ", ""),
        ("\"$(", ")\""),
        ("((", "))"),
    ] {
        for depth in [3, 8, 9, 30, 300, 3000] {
            let command = format!("{}rm x{}", open.repeat(depth), close.repeat(depth));
            let reading = CommandReading::of(&command);
            assert!(depth < 9 || reading.strict.is_err(), "{open}");
            assert!(open.starts_with('`') || reading.any_spelling(|text| text.starts_with("rm x")), "{open} {depth}");
        }
    }
}

#[test]
fn characters_beyond_ascii_are_safe() {
    for command in
        ["echo {\u{e014f}..\u{e0150}}", "echo {1\u{1f600}..3}", "\u{1f600} x", "cat <<\u{e9}\nx\n\u{e9}", "a\0b"]
    {
        CommandReading::of(command);
    }
    assert_eq!(texts("caf\u{e9} 'd\u{e9}j\u{e0}' && echo \u{fc}"), ["caf\u{e9} 'd\u{e9}j\u{e0}'", "echo \u{fc}"]);
}

#[test]
fn texts_the_library_gives_up_on_are_only_opaque() {
    // [CLI-188]
    let nines = "9".repeat(30);
    for text in [format!("ls ~{nines}"), format!("ls ~+{nines}"), format!("ls {{1..{nines}}}"), "echo $(cat <<E".into()]
    {
        assert!(super::super::reading::CommandReading::of(&text).strict.is_err(), "{text}");
    }
    assert!(super::super::reading::CommandReading::of(&format!("echo {nines}")).strict.is_ok());
}

#[test]
fn commands_are_read_up_to_their_limits() {
    use super::super::script::MAX_CHARS;
    let long = |length: usize| CommandReading::of(&format!("echo {}", "a".repeat(length - "echo ".len()))).strict;
    assert!(long(MAX_CHARS).is_ok());
    assert_eq!(long(MAX_CHARS + 1).unwrap_err(), "it is too long");
    let nested = |levels: u32| (0..levels).fold("ls".to_owned(), |inner, _| format!("echo $({inner})"));
    assert!(CommandReading::of(&nested(super::MAX_DEPTH)).relaxed.is_some());
    assert!(CommandReading::of(&nested(super::MAX_DEPTH + 1)).relaxed.is_none());
    let evaluated = |levels: usize| CommandReading::of(&format!("{}ls", "eval ".repeat(levels))).hides_program;
    assert!(!evaluated(super::MAX_DEPTH as usize - 1));
    assert!(evaluated(super::MAX_DEPTH as usize));
}

/// [CLI-188] The library panics over such numbers; they are found before it sees them.
#[test]
fn a_number_that_does_not_fit_is_refused_before_the_library_reads_it() {
    for text in [
        "ls 4444444444<x",
        "ls 44444\\\n44444>x",
        "(0111111111111111<<",
        "ls ~+99999999999999999999",
        "ls {1..99999999999999999999}",
    ] {
        assert_eq!(CommandReading::of(text).strict.unwrap_err(), "it has a number that is too long", "{text}");
    }
    for text in ["ls 444444444 <x", "echo 4444444444", "ls 2>x", "ls file4444444444 >x"] {
        assert!(CommandReading::of(text).strict.is_ok(), "{text}");
    }
}

#[test]
fn here_documents_without_a_name_are_not_read() {
    // The library takes all memory for some of them.
    for tag in ["''", "\"\"", "''\"\"", "\r", "\u{c}", "\u{c}''", "\"\\\n\"", "\\\n''"] {
        for rest in ["<<#", ";#", " |#x", " ;ls", "\nx\n\n"] {
            for text in
                [format!("cat <<{tag}{rest}"), format!("cat <<- {tag}{rest}"), format!("bash -c $'cat <<{tag}{rest}'")]
            {
                assert!(CommandReading::of(&text).strict.is_err(), "{text:?}");
            }
        }
    }
    assert_eq!(texts("cat <<< ''"), ["cat"]);
}
