use super::*;

fn problem(text: &str) -> Option<(usize, String)> {
    check(text).err().map(|problem| (problem.line, problem.text))
}

#[test]
fn what_is_toml_is_accepted() {
    // [MX-9]
    let text = r#"
# a comment
title = "x \" \\ \u00e9 \U0001F600" # another
'a b'.c = 1_000
"d.e" = [1, 2.5e-3, [ "x", 'y\' ], { a = 1, b.c = true }, # inside
]
empty = {}
none = []
date = 1979-05-27T07:32:00Z
local = 1979-05-27 07:32:00.5
day = 1979-05-27
time = 07:32:00
numbers = [0, -0, +1, 0xDEAD_beef, 0o17, 0b1, inf, -nan, 6.626e-34, 1e6]
long = """
one "two" ""three"" \
   four"""""
raw = '''
C:\path ''x'''

[a.b]
c = 1
[a]
d.e = 1
d.f = 2
[[list]]
name = "one"
[list.sub]
x = 1
[[list]]
name = "two"
[list.sub]
x = 2
"#;
    assert_eq!(problem(text), None);
    assert_eq!(problem(&text.replace('\n', "\r\n")), None);
    assert_eq!(problem(""), None);
}

#[test]
fn the_files_of_this_repository_are_accepted() {
    // [MX-9]
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in ["Cargo.toml", "Cargo.lock", "rustfmt.toml", "clippy.toml", "crates/tools/Cargo.toml"] {
        let text = std::fs::read_to_string(root.join(name)).unwrap();
        assert_eq!(problem(&text), None, "{name}");
    }
}

#[test]
fn what_is_no_toml_is_refused_at_its_line() {
    // [MX-9]
    for (text, line, said) in [
        ("a = 1\nb = \n", 2, "a value is missing"),
        ("a = 1\nb\n", 2, "`=` is missing"),
        ("a = 1 b = 2\n", 1, "more than one thing"),
        ("a = \"x\nb = 1", 1, "not closed"),
        ("a = '''x\nb", 2, "not closed"),
        ("a = [1, 2\nb = 3\n", 2, "missing in an array"),
        ("a = [1", 1, "missing in an array"),
        ("a = { b = 1,\n c = 2 }", 1, "a key is missing"),
        ("a = { b = 1 c = 2 }", 1, "missing in an inline table"),
        ("a = yes", 1, "`yes` is no value"),
        ("a = 01", 1, "is no value"),
        ("a = 1__0", 1, "is no value"),
        ("a = \"\\q\"", 1, "escape"),
        ("[a\nb = 1", 1, "not closed"),
        ("[[a]\n", 1, "not closed"),
        ("[a]\nb = 1\nb = 2", 3, "`b` is defined twice"),
        ("[a]\n[b]\n[a]\n", 3, "`a` is defined twice"),
        ("a = 1\n[a.b]\n", 2, "`a` is a value"),
        ("[[a]]\n[a]\n", 2, "defined twice"),
        ("a = {b = 1, b = 2}", 1, "defined twice"),
        ("= 1", 1, "a key is missing"),
    ] {
        let (at, problem) = problem(text).unwrap_or_else(|| panic!("{text:?} is accepted"));
        assert!(at == line && problem.contains(said), "{text:?}: line {at}: {problem}");
    }
}
