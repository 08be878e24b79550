//! The vim keys of the prompt against the program: the same keys on the same text must give the same text and the same
//! place of the cursor. The keys are random, from a fixed seed; a failure is shrunk to the fewest commands.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::path::Path;
use std::process::{Command, Stdio};
use terminal::editor::Editor;
use terminal::editor::vim::{KeyHandling, Vim};
use terminal::keys::{KeyCode, KeyPress};

const SEED: [u8; 32] = *b"the same keys on the same texts.";
const CASES: u32 = 300;
/// Stands at the cursor in what Vim writes; occurs in no text and no command.
const MARK: char = '#';

/// What was left: the text, and the cursor as a byte offset.
type Outcome = (String, usize);

/// The commands before the first that is not compared: text objects on a line without a word, where Vim may reach into
/// other lines and we do nothing.
fn compared<'a>(text: &str, commands: &'a [String]) -> &'a [String] {
    let is_left_out = |count: &usize| {
        let command = &commands[*count];
        let has_object = command.contains(['i', 'a']) && !command.starts_with(['i', 'a', 'f', 't']);
        let (text, at) = with_our_keys(text, &commands[..*count]);
        let line = text[..at].rsplit('\n').next().unwrap_or_default().len();
        has_object && text[at - line..].split('\n').next().is_none_or(|line| line.trim().is_empty())
    };
    &commands[..(0..commands.len()).find(is_left_out).unwrap_or(commands.len())]
}

fn with_our_keys(text: &str, commands: &[String]) -> Outcome {
    let mut editor = Editor::new();
    editor.restore(text.to_owned(), 0);
    let mut vim = Vim::default();
    let escape = KeyPress::plain(KeyCode::Escape);
    let mut press = |key: KeyPress| {
        if vim.key(&mut editor, key) == KeyHandling::No
            && let Some(c) = key.text()
        {
            editor.insert(&c.to_string());
        }
    };
    press(escape);
    for c in commands.iter().flat_map(|command| command.chars()) {
        press(if c == '\u{1b}' { escape } else { KeyPress::char(c) });
    }
    press(escape);
    (editor.text().to_owned(), editor.cursor())
}

#[expect(clippy::disallowed_methods, reason = "the crate that starts processes is above this one")]
fn with_vim(program: &Path, dir: &Path, text: &str, commands: &[String]) -> Outcome {
    let (file, keys) = (dir.join("text"), dir.join("keys"));
    std::fs::write(&file, format!("{text}\n")).unwrap();
    // Keys from a file are one undo step, unless something ends the step.
    const ENDS_STEP: &str = ":set undolevels=1000\r";
    let commands = commands.join(ENDS_STEP);
    std::fs::write(&keys, format!("0{ENDS_STEP}{commands}\u{1b}\u{1b}i{MARK}\u{1b}:wq!\r")).unwrap();
    let mut vim = Command::new(program);
    vim.args(["-u", "NONE", "-i", "NONE", "-N", "-n", "--not-a-term"]);
    vim.args(["--cmd", "set shiftwidth=2 expandtab encoding=utf-8 startofline", "-s"]).arg(&keys).arg(&file);
    vim.env_clear().env("TERM", "dumb").env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", dir);
    let status = vim.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(status.success(), "{status}: {commands:?}");
    let marked = std::fs::read_to_string(&file).unwrap();
    let marked = marked.strip_suffix('\n').unwrap_or(&marked);
    let at = marked.find(MARK).unwrap_or_else(|| panic!("no mark in {marked:?} after {commands:?}"));
    (marked.replacen(MARK, "", 1), at)
}

fn count() -> impl Strategy<Value = String> {
    prop_oneof![6 => Just(String::new()), 2 => (2..5_u8).prop_map(|n| n.to_string())]
}

fn motion() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[hljkwbeWBE^$;,G]|gg", 2 => "[fFtT][abcx .]"]
}

fn object() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[ia][wW]", 1 => "[ia][\"(\\[{]"]
}

fn typed() -> impl Strategy<Value = String> {
    "[xy ]{0,3}\u{1b}"
}

fn command() -> impl Strategy<Value = String> {
    let joined = |parts: (String, String)| parts.0 + &parts.1;
    let joined3 = |parts: (String, String, String)| parts.0 + &parts.1 + &parts.2;
    let joined4 = |parts: (String, String, String, String)| parts.0 + &parts.1 + &parts.2 + &parts.3;
    let visual_end = "o?([dyxpuU~J<>]|r[xy])";
    prop_oneof![
        6 => (count(), motion()).prop_map(joined),
        1 => "0|y0",
        2 => (count(), "dd|yy|>>|<<|[xXDYpP~.]|r[xy]").prop_map(joined),
        1 => "J|(ax|iy|oxy)\u{1b}ugg",
        3 => (count(), "[dy<>]", motion()).prop_map(joined3),
        2 => ("[dy<>]", object()).prop_map(joined),
        2 => ("c", prop_oneof![motion(), object(), Just("c".to_owned())], typed()).prop_map(joined3),
        2 => (count(), "[iaIAoOsSC]", typed()).prop_map(joined3),
        2 => ("[vV]", prop_oneof![Just(String::new()), object()], motion(), visual_end).prop_map(joined4),
        1 => ("[vV]", motion(), "[cs]", typed()).prop_map(joined4),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "( {0,2}(a|bc|abc|x\\.b|b,|a_b) {0,2}){0,4}",
        1 => "a\\(b, c\\) x",
        1 => "b \"a c\" 'x' \"\" a",
        1 => "x\\[a\\{b\\}\\] é a",
    ];
    prop::collection::vec(line, 1..5).prop_map(|lines| lines.join("\n"))
}

/// Vim with as few features as there are, which is what Debian's smallest package has.
fn vim_program() -> Option<&'static Path> {
    ["/usr/bin/vim.tiny", "/usr/bin/vim", "/usr/local/bin/vim"].iter().map(Path::new).find(|path| path.exists())
}

/// [TST-233] The keys do what Vim does.
#[test]
fn random_commands_do_what_they_do_in_vim() {
    let Some(program) = vim_program() else {
        println!("NOT RUN: the comparison with Vim, which is not installed (Debian: vim-tiny)");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let config = Config { cases: CASES, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &SEED));
    let cases = (text(), prop::collection::vec(command(), 1..8));
    let result = runner.run(&cases, |(text, commands)| {
        let commands = [&["yl".to_owned()], compared(&text, &commands)].concat();
        let (ours, theirs) = (with_our_keys(&text, &commands), with_vim(program, dir.path(), &text, &commands));
        if ours == theirs { Ok(()) } else { Err(TestCaseError::fail(format!("ours {ours:?}, Vim {theirs:?}"))) }
    });
    if let Err(TestError::Fail(why, (text, commands))) = result {
        panic!("{text:?} {:?}: {why}", commands.concat());
    }
}
