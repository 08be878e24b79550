//! The pictures of the documentation, drawn from the real binary: `cargo xtask pictures`. What they show is the same in
//! every run.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use std::path::Path;
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const COLUMNS: u16 = 96;

const CART: &str = "export interface Item {\n  price: number;\n  count: number;\n}\n\nexport function total(items: Item[]): number {\n  \
    let sum = 0;\n  for (const item of items) {\n    sum += item.price;\n  }\n  return sum;\n}\n";
const BEFORE: &str = "  for (const item of items) {\n    sum += item.price;\n  }\n";
const AFTER: &str = "  for (const item of items) {\n    sum += item.price * item.count;\n  }\n";

fn sandbox(server: &ModelServer) -> Sandbox {
    let mut sandbox = Sandbox::with_server(EXE, server);
    // The folder is shown as `~/shop`.
    sandbox.set("HOME", sandbox.root().to_owned());
    sandbox.set("COLORTERM", "truecolor");
    sandbox.write("src/cart.ts", CART);
    sandbox.write("test.sh", "echo '✓ an empty cart costs nothing'\necho '✓ counts are multiplied'\necho '2 passed'\n");
    sandbox
}

fn start(sandbox: &Sandbox, rows: u16, args: &[&str]) -> TestTerminal {
    let terminal = sandbox.gimlet(args).terminal(COLUMNS, rows);
    terminal.wait_for("? for shortcuts");
    terminal
}

fn keep(name: &str, terminal: &TestTerminal) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.svg")), steady(&terminal.picture("gimlet"))).unwrap();
}

/// Replaces what depends on the time: the spinner's seconds and glyph, the file name of a plan.
fn steady(picture: &str) -> String {
    let still = |line: &str| match line.split_once("s · ↓ ") {
        _ if line.contains(">Plan file: ") => {
            // The width of the other name would stretch the text.
            let (start, fill) = (line.find(" textLength").unwrap(), line.find(" fill=").unwrap());
            let (style, _) = line[fill..].split_once('>').unwrap();
            format!("{}{style}>Plan file: ~/.claude/plans/prices-with-tax.md</text>\n", &line[..start])
        }
        Some((before, after)) => {
            let before = before.trim_end_matches(|c: char| c.is_ascii_digit());
            format!("{before}2s · ↓ {after}\n")
        }
        None => ['·', '✢', '✶'].iter().fold(format!("{line}\n"), |line, glyph| {
            line.replace(&format!(">{glyph} Waiting for your answer"), ">✳ Waiting for your answer")
        }),
    };
    picture.lines().map(still).collect()
}

#[test]
#[ignore = "writes docs/pictures: cargo xtask pictures"]
fn draw_a_session() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::text(
                "The cart adds prices but never looks at how many of each there are. I will check the code.",
            ),
            ScriptedBlock::tool("Read", &json!({"file_path": "src/cart.ts"})),
            ScriptedBlock::tool("Grep", &json!({"pattern": "total\\(", "path": "src"})),
        ]),
        ScriptedReply::tool("Edit", json!({"file_path": "src/cart.ts", "old_string": BEFORE, "new_string": AFTER})),
        ScriptedReply::tool("Bash", json!({"command": "sh test.sh", "description": "Run the tests"})),
        ScriptedReply::text(
            "Fixed. `total` now multiplies each price by its count:\n\n| Cart | Before | Now |\n|---|---|---|\n\
             | 2 apples at 3 € | 3 € | **6 €** |\n| empty | 0 € | 0 € |\n\nBoth tests pass.",
        ),
    ]);
    let sandbox = sandbox(&server);
    let mut terminal = start(&sandbox, 44, &["--allowedTools", "Bash(sh test.sh),Edit"]);
    terminal.send("the total is wrong when somebody buys two of a thing\r");
    terminal.wait_for("Both tests pass.");
    terminal.wait_for("  ? for shortcuts");
    keep("session", &terminal);
}

#[test]
#[ignore = "writes docs/pictures: cargo xtask pictures"]
fn draw_a_permission() {
    let command = "npm test && git push origin main";
    let server = ModelServer::script([ScriptedReply::message(vec![
        ScriptedBlock::text("The tests should run once more before this goes out."),
        ScriptedBlock::tool("Bash", &json!({"command": command, "description": "Run the tests, then push"})),
    ])]);
    let sandbox = sandbox(&server);
    let mut terminal = start(&sandbox, 24, &[]);
    terminal.send("ship it\r");
    terminal.wait_for("1. Yes");
    keep("permission", &terminal);
}

#[test]
#[ignore = "writes docs/pictures: cargo xtask pictures"]
fn draw_a_diff() {
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "src/cart.ts"})),
        ScriptedReply::tool("Edit", json!({"file_path": "src/cart.ts", "old_string": BEFORE, "new_string": AFTER})),
    ]);
    let sandbox = sandbox(&server);
    let mut terminal = start(&sandbox, 30, &[]);
    terminal.send("multiply by the count\r");
    terminal.wait_for("1. Yes");
    keep("diff", &terminal);
}

#[test]
#[ignore = "writes docs/pictures: cargo xtask pictures"]
fn draw_a_plan() {
    let plan = "## Prices with tax\n\n1. Add `tax` to `Item` in `src/cart.ts`, **0** when it is missing\n2. Let `total` add it to \
                each price\n3. Cover reduced and full rates in the tests\n\nNothing else reads `Item`, so no caller changes.";
    let server = ModelServer::script([ScriptedReply::tool("ExitPlanMode", json!({"plan": plan}))]);
    let sandbox = sandbox(&server);
    let terminal = sandbox.gimlet(&["--permission-mode", "plan", "prices need tax"]).terminal(COLUMNS, 32);
    terminal.wait_for("1. Yes");
    keep("plan", &terminal);
}

#[test]
#[ignore = "writes docs/pictures: cargo xtask pictures"]
fn draw_the_picker() {
    let asked = [
        "why does the nightly build fail on arm?",
        "add a currency to the cart",
        "write release notes for 2.4",
        "the total is wrong when somebody buys two of a thing",
    ];
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Done."));
    let sandbox = sandbox(&server);
    for prompt in asked {
        sandbox.gimlet(&["-p", prompt]).run().expect_clean();
    }
    let terminal = sandbox.gimlet(&["--resume"]).terminal(COLUMNS, 16);
    terminal.wait_until("all of them", |screen| asked.iter().all(|prompt| screen.contains(prompt)));
    keep("picker", &terminal);
}
