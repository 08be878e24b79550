use super::*;

fn texts(command: &str) -> Vec<String> {
    parse(command).unwrap_or_else(|why| panic!("{command}: {why}")).iter().map(Unit::text).collect()
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
    assert_eq!(texts(""), Vec::<String>::new());
}

#[test]
#[rustfmt::skip]
fn quotes_are_removed_from_the_words() {
    let units = parse(r#"c'u'rl "a b" \x 'it' "q\"q""#).unwrap();
    let words: Vec<_> = units[0].words.iter().map(|w| w.text.as_str()).collect();
    assert_eq!(words, ["curl", "a b", "x", "it", "q\"q"]);
}

#[test]
#[rustfmt::skip]
fn everything_else_is_opaque() {
    for command in [
        "echo $(id)", "echo `id`", "echo \"$(id)\"", "echo \"`id`\"", "echo $HOME", "cat <(x)", "x > f", "x >> f", "x 2> f",
        "x &> f", "x >& f", "x < f", "x <<EOF\nhi\nEOF", "x <<< y", "x >/dev/nullx", "x >| f", "(x)", "{ x; }", "x &",
        "x & y", "if true; then x; fi", "! x", "for f in a; do x; done", "f(){ x; }", "a && ", "&& a", "a || || b",
        "echo \"open", "echo 'open", "eval ls", "source f", ". f", "X=1", "export A=b; ls", "=ls", "l? x", "~/x",
        "{curl,x}", "[[ -v a ]]", "echo a\u{202e}b", "echo a\rb", "cat${IFS}x", "a ;; b", "x {fd}>f", "ls\u{a0}-l",
    ] {
        assert!(parse(command).is_err(), "{command:?} must be opaque: {:?}", parse(command));
    }
    assert!(parse(&"x".repeat(10_001)).is_err());
}
