use super::*;
use std::fmt::Write as _;

fn text_of(read: &mut FrontMatter, key: &str) -> String {
    read.text(key).unwrap_or_default()
}

fn lines(read: &FrontMatter) -> Vec<usize> {
    read.defects.iter().map(|defect| defect.line).collect()
}

#[test]
fn plain_blocks_are_read_the_quick_way_and_as_yaml_alike() {
    let head = "name: a\ndescription: Does things, well\nmodel: \"opus\"\n";
    let quick = lenient::plain_lines(head, 2).unwrap();
    let slow = yaml::mapping(head, 2).unwrap();
    assert_eq!(quick, (slow, Vec::new()));
    for not_plain in
        ["a: [b]\n", "a: b # c\n", "a: 'x'\n", "a:\n  - b\n", "a: b: c # d\n", "a: |\n", "- a\n", "a: \"x\\n\"\n"]
    {
        assert_eq!(lenient::plain_lines(not_plain, 2), None, "{not_plain}");
    }
    // A colon that YAML refuses is detected without the parser and reported in its words.
    for refused in ["a: b: c\n", "a: ends with:\nb: plain\n", "a: x\nb: y: z, and more: w\n"] {
        assert!(yaml::mapping(refused, 2).is_err(), "{refused}");
        assert_eq!(lenient::plain_lines(refused, 2), Some(lenient::fields(refused, 2)), "{refused}");
    }
}

#[test]
fn a_colon_in_a_description_costs_only_a_diagnostic() {
    let text = "---\nname: review\ndescription: Use when: the user asks. Example: /review x\ntools:\n  - Read\n  - Grep\n---\nBody\n";
    let mut read = read(text);
    assert_eq!(text_of(&mut read, "description"), "Use when: the user asks. Example: /review x");
    assert_eq!(read.rules("tools").unwrap(), ["Read", "Grep"]);
    assert_eq!(lines(&read), [3]);
    assert_eq!(&text[read.body_at..], "Body\n");
    assert_eq!(read.body_line, 8);
}

#[test]
fn lists_come_in_every_spelling() {
    for list in [
        "[Read, 'Bash(git diff:*)', Grep]",
        "Read, Bash(git diff:*), Grep",
        "Read Bash(git diff:*) Grep",
        "\"Read,Bash(git diff:*),Grep\"",
        "\n  - Read\n  - Bash(git diff:*)\n  - Grep",
        "\n- Read\n- \"Bash(git diff:*)\"\n- Grep",
    ] {
        let mut read = read(&format!("---\ntools: {list}\n---\n"));
        assert_eq!(read.rules("tools").unwrap(), ["Read", "Bash(git diff:*)", "Grep"], "{list}");
        assert_eq!(read.defects, [], "{list}");
    }
    let mut globs = read("---\npaths: src/**/*.{ts,tsx}, My Docs/*.md\n---\n");
    assert_eq!(globs.globs("paths").unwrap(), ["src/**/*.{ts,tsx}", "My Docs/*.md"]);
}

#[test]
fn hints_with_brackets_stay_texts() {
    for (written, shown) in
        [("[file]", "[file]"), ("[a] | [b]", "[a] | [b]"), ("\"[x] <y>\"", "[x] <y>"), ("<a: b>", "<a: b>")]
    {
        let mut read = read(&format!("---\nargument-hint: {written}\nmodel: opus\n---\n"));
        assert_eq!(text_of(&mut read, "argument-hint"), shown);
        assert_eq!(text_of(&mut read, "model"), "opus");
    }
}

#[test]
fn bom_crlf_tabs_and_missing_ends_load() {
    let mut crlf = read("\u{feff}---\r\nname: x\r\ndescription: y\r\n---\r\nBody\r\n");
    assert_eq!((text_of(&mut crlf, "name"), text_of(&mut crlf, "description")), ("x".into(), "y".into()));
    assert_eq!(crlf.defects, []);
    let mut tabs = read("---\nname:\tx\ntools:\n\t- Read\n\t- Edit\n---\n");
    assert_eq!(text_of(&mut tabs, "name"), "x");
    assert_eq!(tabs.rules("tools").unwrap(), ["Read", "Edit"]);
    let text = "---\nname: x\ndescription: y\n\n# Title\n\nkey: not a field\n";
    let mut open = read(text);
    assert_eq!(text_of(&mut open, "description"), "y");
    assert_eq!(lines(&open), [1]);
    assert!(text[open.body_at..].starts_with("# Title"), "{}", &text[open.body_at..]);
    let mut late = read("\n\n---\nname: x\n---\n");
    assert_eq!((text_of(&mut late, "name"), lines(&late)), ("x".into(), vec![3]));
    let none = read("Just a body\n---\nname: x\n---\n");
    assert!(!none.present && none.fields.is_empty() && none.body_at == 0);
}

#[test]
fn the_last_of_repeated_keys_counts() {
    let mut twice = read("---\nname: a\nmodel: opus\nname: b\n---\n");
    assert_eq!(text_of(&mut twice, "name"), "b");
    assert_eq!(lines(&twice), [4]);
}

#[test]
fn blocks_quotes_and_structures_are_yaml() {
    let text = "---\ndescription: >-\n  One\n  two\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: \"./check.sh\"\n          timeout: 5\nflag: Yes\nnumber: 7\n---\n";
    let mut read = read(text);
    assert_eq!(text_of(&mut read, "description"), "One two");
    let hooks = read.json("hooks", Value::is_object).unwrap();
    assert_eq!(hooks["PreToolUse"][0]["hooks"][0]["timeout"], 5);
    assert_eq!((read.flag("flag"), read.number("number")), (Some(true), Some(7)));
    assert_eq!(read.defects, []);
}

#[test]
fn wrong_values_are_reported_and_ignored() {
    let mut read = read("---\nbackground: maybe\nmaxTurns: many\nmodel:\n  a: b\nallowedTools: Read\n---\n");
    assert_eq!((read.flag("background"), read.number("maxTurns"), read.text("model")), (None, None, None));
    read.report_misspelled(&["allowed-tools"]);
    assert_eq!(lines(&read), [2, 3, 4, 6]);
}

#[test]
fn aliases_are_bounded() {
    let mut bomb = String::from("---\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        let copies = vec![before; 10].join(",");
        writeln!(bomb, "a{level}: &a{level} [{copies}]").unwrap();
    }
    bomb.push_str("name: x\n---\n");
    let mut read = read(&bomb);
    assert_eq!(text_of(&mut read, "name"), "x");
    let deep = format!("---\na: {}\nname: x\n---\n", "[".repeat(5000));
    assert_eq!(super::read(&deep).text("name").as_deref(), Some("x"));
}

#[test]
fn a_carriage_return_within_a_line_ends_no_line() {
    let read = read("---\nname: a\r\rb\ntools: {x\n---\nBody\n");
    let lines: Vec<(&str, usize)> = read.fields.iter().map(|field| (field.key.as_str(), field.line)).collect();
    assert_eq!(lines, [("name", 2), ("tools", 3)]);
    assert!(read.defects.iter().all(|defect| (2..=3).contains(&defect.line)), "{:?}", read.defects);
    assert_eq!(read.body_line, 5);
}
