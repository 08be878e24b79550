//! What is read in the terminal: prose, code, tables, the banner and the footer, at several widths and in several themes. The
//! real binary in a pseudo-terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use testkit::{ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const CODE: &str =
    "let total = items.iter().map(|item| item.price * item.count).sum::<f64>(); // all of it, before the discount";

/// Markdown of several kinds, in the pieces in which it streams, and the word at which each of them ends.
fn pieces() -> [(String, &'static str); 6] {
    [
        (
            "The total is rounded before the discount is applied, so half a cent is lost with each of the items".into(),
            "items",
        ),
        (
            " in it.\n\n- first of all the rounding goes to the end of the function, where everything is known".into(),
            "known",
        ),
        (
            format!(
                "\n- see https://example.test/rounding/of/money?unit=cent for the reasons\n\n```rust\n{CODE}\nlet three"
            ),
            "three",
        ),
        (" = 3;\n```\n\n> 日本語の文章は空白なしで書かれます。four".into(), "four"),
        (
            "\n\n| Case | What happens |\n|--|--|\n| empty | nothing is paid, and the discount does not matter at all, five |\n"
                .into(),
            "five",
        ),
        ("\nThat is the end.".into(), "end."),
    ]
}

fn reply() -> String {
    pieces().map(|(text, _)| text).concat()
}

/// Waits until the turn with this answer has ended.
fn idle(terminal: &TestTerminal, answer: &str) -> String {
    terminal.wait_until("the end of the turn", |screen| {
        screen.contains(answer) && screen.contains(" s\n") && !screen.contains("esc to interrupt")
    })
}

/// The rows from the first one with `from` on to the last one with `to`.
fn part(screen: &str, from: &str, to: &str) -> Vec<String> {
    let rows: Vec<&str> = screen.lines().collect();
    let first = rows.iter().position(|row| row.contains(from)).unwrap_or_else(|| panic!("{from}: {screen}"));
    let last = rows.iter().rposition(|row| row.contains(to)).unwrap_or_else(|| panic!("{to}: {screen}"));
    rows[first..=last].iter().map(|row| row.trim_end().to_owned()).collect()
}

/// The rows of the screen.
fn rows(terminal: &TestTerminal) -> Vec<String> {
    terminal.written().1.iter().map(|row| row.trim_end().to_owned()).collect()
}

#[test]
fn what_streams_stands_as_it_will_stand_when_it_is_finished() {
    for columns in [40, 80, 120, 200] {
        let gate = ReplyGate::new();
        let block = ScriptedBlock::TextPieces(pieces().map(|(text, _)| text).to_vec());
        let server = ModelServer::script([ScriptedReply::message(vec![block]).gate(&gate)]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(columns, 60);
        terminal.wait_for(" medium");
        terminal.send("explain it\r");
        gate.open_for(3);
        let mut seen: Vec<Vec<String>> = Vec::new();
        for (_, word) in &pieces()[..5] {
            gate.open_for(1);
            terminal.wait_for(word);
            let rows = rows(&terminal);
            let first = rows.iter().position(|row| row.contains("The total")).unwrap();
            let end = rows.iter().position(|row| row.contains("esc to interrupt")).unwrap();
            seen.push(rows[first..end].to_vec());
        }
        gate.open_all();
        let screen = idle(&terminal, "That is the end.");
        let finished = part(&rows(&terminal).join("\n"), "The total", "That is the end.");
        for rows in seen {
            // The last row may still grow.
            let stable = rows.iter().rposition(|row| !row.is_empty()).unwrap_or(0);
            assert_eq!(rows[..stable], finished[..stable], "{columns}");
        }
        let widest = finished.iter().filter(|row| row.starts_with("  ")).map(|row| row.chars().count()).max().unwrap();
        assert!(widest <= usize::from(columns).min(102), "{columns}: {finished:#?}");
        assert!(
            finished.iter().any(|row| row.contains("https://example.test/rounding/of/money?unit=cent"))
                == (columns > 40)
        );
        assert!(screen.contains(&format!("\n{CODE}\nlet three = 3;\n")), "flush left and one line: {screen}");
    }
}

/// The screen after a reply, in a theme and with variables.
fn answered(settings: &serde_json::Value, variables: &[(&str, &str)]) -> (String, Vec<u8>) {
    let server = ModelServer::script([ScriptedReply::text(reply())]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    for (name, value) in variables {
        sandbox.set(name, value);
    }
    sandbox.write_config("settings.json", settings.to_string());
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 40);
    terminal.wait_for(" medium");
    terminal.send("explain it\r");
    let screen = idle(&terminal, "That is the end.");
    let rows = part(&screen, "explain it", "That is the end.").join("\n");
    (rows, terminal.bytes())
}

#[test]
fn themes_and_depths_change_colours_only() {
    let (dark, bytes) = answered(&json!({"theme": "dark"}), &[("COLORTERM", "truecolor")]);
    let has = |bytes: &[u8], sequence: &str| bytes.windows(sequence.len()).any(|part| part == sequence.as_bytes());
    assert!(has(&bytes, "48;2;48;48;48m"), "the band behind the prompt");
    let (light, bytes) = answered(&json!({"theme": "light"}), &[("COLORTERM", "truecolor")]);
    assert!(has(&bytes, "48;2;238;238;238m"));
    let (plain, bytes) = answered(&json!({}), &[("NO_COLOR", "1")]);
    for colour in ["\x1b[3", "\x1b[4", ";38;", ";48;"] {
        let is_colour =
            |at: usize| bytes[at..].split(u8::is_ascii_alphabetic).next().is_some_and(|part| part.len() > 3);
        let found = (0..bytes.len().saturating_sub(colour.len()))
            .find(|at| bytes[*at..].starts_with(colour.as_bytes()) && is_colour(*at));
        assert_eq!(found, None, "{colour:?}");
    }
    let (few, _) = answered(&json!({"theme": "dark"}), &[("TERM", "vt220")]);
    assert!(dark == light && dark == plain && dark == few, "{dark}\n{light}\n{plain}\n{few}");
    let (ascii, _) = answered(&json!({}), &[("LANG", "en_US.ISO-8859-1"), ("LC_ALL", "")]);
    assert!(
        ascii.contains("| explain it") && ascii.contains("  Case  | What happens") && !ascii.contains('│'),
        "{ascii}"
    );
}

#[test]
fn the_terminal_wraps_where_the_settings_say_so_and_copies_are_never_wrapped() {
    let paragraph = "one paragraph ".repeat(20);
    let paragraph = paragraph.trim_end();
    for (settings, is_whole) in [(json!({}), false), (json!({"wrap": "terminal"}), true)] {
        let server = ModelServer::script([ScriptedReply::text(paragraph)]);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write_config("settings.json", settings.to_string());
        let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
        terminal.wait_for(" medium");
        terminal.send("go\r");
        idle(&terminal, "paragraph");
        let written = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        assert_eq!(written.contains(paragraph), is_whole, "{settings}");
        terminal.send("/copy w\r");
        let screen = terminal.wait_for(".md");
        let path =
            screen.split_whitespace().find(|word| word.contains(".md")).unwrap().trim_end_matches('.').to_owned();
        assert_eq!(std::fs::read_to_string(&path).unwrap().trim_end(), paragraph, "{screen}");
    }
}

#[test]
fn the_banner_names_model_effort_and_what_changed() {
    let server = ModelServer::script([ScriptedReply::text("Hello.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    crate::common::git(&sandbox, "init -q -b trunk");
    sandbox.write("one.txt", "1");
    sandbox.write("two.txt", "2");
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(100, 24);
    let screen = terminal.wait_for("2 changed");
    let rows: Vec<&str> = screen.lines().collect();
    assert!(rows[0].starts_with("  ◆ gimlet ") && rows[0].ends_with(" · Opus 5.5 · medium"), "{screen}");
    assert!(rows[1].contains(" · trunk · 2 changed"), "{screen}");
    assert!(screen.contains("\n  ask before edits · Opus 5.5 · medium"), "{screen}");
    terminal.send("hi\r");
    let screen = idle(&terminal, "Hello.");
    assert_eq!(screen.matches("◆ gimlet").count(), 1, "{screen}");
    terminal.send("/rename money matters\r");
    terminal.wait_until("the name on the rule", |screen| screen.contains("─ money matters ──\n"));
    terminal.send("!true");
    terminal.wait_for("\n! true\n");
}
