//! What the pictures show.

use crate::common::mcp::server as mcp_server;
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{
    GimletRun, ModelServer, PictureTheme, ReplyGate, Sandbox, ScreenPicture, ScriptedBlock, ScriptedReply, TestTerminal,
};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

const CTRL_O: &str = "\x0f";
const CTRL_R: &str = "\x12";
/// Its price and context window are known.
const MODEL: &str = "claude-opus-5-5";

const CART: &str = "export interface Item {\n  price: number;\n  count: number;\n}\n\nexport function total(items: Item[]): number {\n  \
    let sum = 0;\n  for (const item of items) {\n    sum += item.price;\n  }\n  return sum;\n}\n";
const BEFORE: &str = "  for (const item of items) {\n    sum += item.price;\n  }\n";
const AFTER: &str = "  for (const item of items) {\n    sum += item.price * item.count;\n  }\n";

/// How a terminal shows colours and signs.
#[derive(Clone, Copy)]
pub(crate) struct TerminalLook {
    theme: &'static str,
    variables: &'static [(&'static str, &'static str)],
    window: PictureTheme,
}

pub(crate) const DARK: TerminalLook =
    TerminalLook { theme: "dark", variables: &[("COLORTERM", "truecolor")], window: PictureTheme::Dark };
pub(crate) const LIGHT: TerminalLook =
    TerminalLook { theme: "light", variables: &[("COLORTERM", "truecolor")], window: PictureTheme::Light };
pub(crate) const NO_COLOR: TerminalLook =
    TerminalLook { theme: "dark", variables: &[("NO_COLOR", "1")], window: PictureTheme::Dark };
pub(crate) const SIXTEEN: TerminalLook =
    TerminalLook { theme: "dark", variables: &[("TERM", "vt220")], window: PictureTheme::Dark };
pub(crate) const ASCII: TerminalLook = TerminalLook {
    theme: "dark",
    variables: &[("LANG", "en_US.ISO-8859-1"), ("COLORTERM", "truecolor")],
    window: PictureTheme::Dark,
};

/// A project in `~/shop`, and a model.
struct Shop {
    sandbox: Sandbox,
    look: TerminalLook,
    _server: ModelServer,
}

impl Shop {
    fn new(server: ModelServer, look: TerminalLook) -> Self {
        let mut sandbox = Sandbox::with_server(EXE, &server);
        for (name, value) in look.variables {
            sandbox.set(name, value);
        }
        let shop = Self { sandbox, look, _server: server };
        shop.settings(json!({}));
        shop.write("src/cart.ts", CART);
        shop.write(
            "test.sh",
            "echo '✓ an empty cart costs nothing'\necho '✓ counts are multiplied'\necho '2 passed'\n",
        );
        shop
    }

    fn scripted(look: TerminalLook, replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let replies = replies.into_iter().enumerate();
        let priced = replies.map(|(at, reply)| reply.model(MODEL).tokens(9_000 + 400 * at as u64, 240));
        Self::new(ModelServer::script(priced.collect::<Vec<_>>()), look)
    }

    fn settings(&self, mut settings: Value) {
        settings["theme"] = json!(self.look.theme);
        self.sandbox.write_config("settings.json", settings.to_string());
    }

    fn folder(&self) -> PathBuf {
        self.sandbox.home().join("shop")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn run(&self, args: &[&str]) -> GimletRun {
        self.sandbox.gimlet(args).cwd(self.folder())
    }

    fn open(&self, (columns, rows): (u16, u16), args: &[&str]) -> TestTerminal {
        let terminal = self.run(args).terminal(columns, rows);
        terminal.wait_until("the prompt and the banner", |screen| {
            ["gimlet ", " · medium", "~/shop", "$0.00"].iter().all(|part| screen.contains(part))
                || [" - medium", "~/shop", "$0.00"].iter().all(|part| screen.contains(part))
        });
        terminal
    }

    fn draw(&self, terminal: &TestTerminal) -> ScreenPicture {
        terminal.picture(self.look.window)
    }

    /// A prompt, and the screen when it contains all of `shown`.
    fn asked(&self, terminal: &mut TestTerminal, prompt: &str, shown: &[&str]) -> ScreenPicture {
        terminal.send(&format!("{prompt}\r"));
        self.when(terminal, shown)
    }

    fn when(&self, terminal: &TestTerminal, shown: &[&str]) -> ScreenPicture {
        terminal.wait_until(&format!("{shown:?}"), |screen| shown.iter().all(|part| screen.contains(part)));
        self.draw(terminal)
    }

    /// A prompt, and the screen when its turn has ended.
    fn answered(&self, terminal: &mut TestTerminal, prompt: &str, answer: &str) -> ScreenPicture {
        terminal.send(&format!("{prompt}\r"));
        terminal.wait_until("the end of the turn", |screen| {
            let ended = screen.lines().any(|row| ["✻ ", "* "].iter().any(|sign| row.trim_start().starts_with(sign)));
            screen.contains(answer) && ended && !screen.contains("esc to interrupt")
        });
        self.draw(terminal)
    }
}

fn edit() -> Value {
    json!({"file_path": "src/cart.ts", "old_string": BEFORE, "new_string": AFTER})
}

/// What `gimlet demo` prints, with the folder of another run.
pub(crate) fn demo() -> ScreenPicture {
    let sandbox = Sandbox::new(EXE);
    let run = sandbox.gimlet(&["demo"]).env("TMPDIR", sandbox.root()).env("COLORTERM", "truecolor");
    let terminal = run.terminal(96, 60);
    terminal.wait_for("explain this project");
    let mut picture = terminal.picture(PictureTheme::Dark);
    // What follows the verdict is advice with paths of this run.
    let verdict = picture.texts().iter().position(|row| row.starts_with('✓'));
    picture.keep_rows(verdict.expect("the demo passes") + 1);
    let made = std::fs::read_dir(sandbox.root()).unwrap().map(|entry| entry.unwrap().path());
    let made = made.into_iter().find(|path| path.to_string_lossy().contains("gimlet-demo-"));
    let made = made.expect("the demo makes a folder");
    replace_text(&mut picture, made.to_str().unwrap(), "/tmp/gimlet-demo-1f9c2a7b");
    picture
}

fn replace_text(picture: &mut ScreenPicture, from: &str, to: &str) {
    picture.replace(|row| row.match_indices(from).map(|(at, part)| (at..at + part.len(), to.to_owned())).collect());
}

pub(crate) fn start() -> ScreenPicture {
    let shop = Shop::scripted(DARK, []);
    git(&shop, &["init", "-q", "-b", "main"]);
    shop.write("README.md", "# Shop\n");
    let terminal = shop.open((96, 12), &[]);
    shop.when(&terminal, &["main · ", " changed"])
}

#[expect(clippy::disallowed_methods, reason = "a repository is made from outside")]
fn git(shop: &Shop, args: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.args(args).current_dir(shop.folder()).env_clear().env("PATH", "/usr/bin:/bin");
    assert!(command.env("HOME", shop.sandbox.home()).status().unwrap().success());
}

pub(crate) fn first_start() -> ScreenPicture {
    let mut shop = Shop::scripted(DARK, []);
    shop.sandbox.unset("ANTHROPIC_API_KEY");
    let terminal = shop.run(&[]).terminal(80, 20);
    shop.when(&terminal, &["gimlet ", "3. "])
}

pub(crate) fn trust() -> ScreenPicture {
    let shop = Shop::scripted(DARK, []);
    let servers = json!({"mcpServers": {
        "tickets": {"command": "npx", "args": ["-y", "tickets-server", "--read-only"]},
        "docs": {"type": "http", "url": "https://docs.example/mcp"},
    }});
    shop.write(".mcp.json", &servers.to_string());
    let format = json!([{"matcher": "Edit", "hooks": [{"type": "command", "command": "npx prettier --write"}]}]);
    let settings = json!({"hooks": {"PostToolUse": format}, "permissions": {"allow": ["Bash(npm test)"]}});
    shop.write(".claude/settings.json", &settings.to_string());
    let terminal = shop.run(&[]).terminal(96, 40);
    let mut picture = shop.when(&terminal, &["Do you trust", "tickets", "esc for no"]);
    let home = shop.sandbox.home();
    replace_text(&mut picture, home.to_str().unwrap(), "/home/ada");
    picture
}

pub(crate) fn session(size: (u16, u16), look: TerminalLook) -> ScreenPicture {
    let opening = "The cart adds prices but never looks at how many of each there are. I will check the code.";
    let shop = Shop::scripted(
        look,
        [
            ScriptedReply::message(vec![
                ScriptedBlock::text(opening),
                ScriptedBlock::tool("Read", &json!({"file_path": "src/cart.ts"})),
                ScriptedBlock::tool("Grep", &json!({"pattern": "total\\(", "path": "src"})),
            ]),
            ScriptedReply::tool("Edit", edit()),
            ScriptedReply::tool("Bash", json!({"command": "sh test.sh", "description": "Run the tests"})),
            ScriptedReply::text(
                "Fixed. `total` now multiplies each price by its count:\n\n| Cart | Before | Now |\n|---|---|---|\n\
                 | 2 apples at 3 € | 3 € | **6 €** |\n| empty | 0 € | 0 € |\n\nBoth tests pass.",
            ),
        ],
    );
    let mut terminal = shop.open(size, &["--allowedTools", "Bash(sh test.sh),Edit"]);
    shop.answered(&mut terminal, "the total is wrong when somebody buys two of a thing", "Both tests pass.")
}

pub(crate) fn failure() -> ScreenPicture {
    let shop = Shop::scripted(
        DARK,
        [
            ScriptedReply::tool("Bash", json!({"command": "sh build.sh", "description": "Build the project"})),
            ScriptedReply::text(
                "`count` may be missing in old orders: the type says so since yesterday. I will use 1 there.",
            ),
        ],
    );
    let mut log = (1..=30).map(|n| format!("echo 'compiled src/part{n}.ts'\n")).collect::<Vec<_>>().concat();
    log.push_str(
        "echo \"src/cart.ts:9:26 - error TS18048: 'item.count' is possibly 'undefined'.\"\necho\n\
         echo '9     sum += item.price * item.count;'\necho '                           ~~~~~~~~~~'\necho\n\
         echo 'Found 1 error in src/cart.ts:9'\nexit 2\n",
    );
    shop.write("build.sh", &log);
    let mut terminal = shop.open((80, 32), &["--allowedTools", "Bash(sh build.sh)"]);
    shop.answered(&mut terminal, "does it still build?", "use 1 there.")
}

pub(crate) fn changes() -> ScreenPicture {
    let test = "import { total } from \"./cart\";\n\ntest(\"counts are multiplied\", () => {\n  const items = [{ price: 3, count: 2 }];\n  \
                expect(total(items)).toBe(6);\n});\n";
    let shop = Shop::scripted(
        DARK,
        [
            ScriptedReply::tool("Read", json!({"file_path": "src/cart.ts"})),
            ScriptedReply::tool("Edit", edit()),
            ScriptedReply::tool("Write", json!({"file_path": "src/cart.test.ts", "content": test})),
            ScriptedReply::text("Prices are multiplied now, and a test says so."),
        ],
    );
    let mut terminal = shop.open((120, 40), &["--permission-mode", "acceptEdits"]);
    shop.answered(&mut terminal, "multiply by the count, with a test", "a test says so.")
}

pub(crate) fn permission(size: (u16, u16), look: TerminalLook) -> ScreenPicture {
    let command =
        json!({"command": "git commit -m \"Multiply prices by their count\"", "description": "Commit the fix"});
    let shop = Shop::scripted(
        look,
        [ScriptedReply::message(vec![
            ScriptedBlock::text("The fix is ready to be committed."),
            ScriptedBlock::tool("Bash", &command),
        ])],
    );
    let mut terminal = shop.open(size, &[]);
    shop.asked(&mut terminal, "commit it", &["1. Yes", "esc to cancel"])
}

pub(crate) fn compound() -> ScreenPicture {
    let command = "npm test -- --run 2>&1 | tail -20 && git push origin main";
    let shop = Shop::scripted(
        DARK,
        [ScriptedReply::message(vec![
            ScriptedBlock::text("The tests should run once more before this goes out."),
            ScriptedBlock::tool("Bash", &json!({"command": command, "description": "Run the tests, then push"})),
            ScriptedBlock::tool("Bash", &json!({"command": "npm version patch", "description": "Raise the version"})),
        ])],
    );
    let mut terminal = shop.open((96, 30), &[]);
    shop.asked(&mut terminal, "ship it", &["1. Yes", "esc to cancel"])
}

pub(crate) fn diff(look: TerminalLook) -> ScreenPicture {
    let shop = Shop::scripted(
        look,
        [ScriptedReply::tool("Read", json!({"file_path": "src/cart.ts"})), ScriptedReply::tool("Edit", edit())],
    );
    let mut terminal = shop.open((96, 32), &[]);
    // The change is shown in its file, once that was read.
    shop.asked(&mut terminal, "multiply by the count", &["1. Yes", "esc to cancel", "6   export function total"])
}

pub(crate) fn plan() -> ScreenPicture {
    let plan = "## Prices with tax\n\n1. Add `tax` to `Item` in `src/cart.ts`, **0** when it is missing\n2. Let `total` add it to \
                each price\n3. Cover reduced and full rates in the tests\n\nNothing else reads `Item`, so no caller changes.";
    let shop = Shop::scripted(DARK, [ScriptedReply::tool("ExitPlanMode", json!({"plan": plan}))]);
    let mut terminal = shop.open((96, 32), &["--permission-mode", "plan"]);
    shop.asked(&mut terminal, "prices need tax", &["1. Yes", "esc to cancel"])
}

pub(crate) fn question() -> ScreenPicture {
    let option = |label: &str, text: &str| json!({"label": label, "description": text});
    let questions = json!({"questions": [
        {"question": "How should prices be rounded?", "header": "Rounding", "multiSelect": false, "options": [
            option("At the end", "Once for the whole cart; what the law asks for"),
            option("Per line", "Each line by itself, as on the receipt"),
        ]},
        {"question": "Which currencies come first?", "header": "Currencies", "multiSelect": true, "options": [
            option("Euro", "Two decimals"), option("Yen", "No decimals"),
        ]},
    ]});
    let shop = Shop::scripted(DARK, [ScriptedReply::tool("AskUserQuestion", questions)]);
    let mut terminal = shop.open((80, 28), &[]);
    shop.asked(&mut terminal, "round prices", &["How should prices be rounded?", "esc to cancel"])
}

pub(crate) fn reply(size: (u16, u16)) -> ScreenPicture {
    let text = "There are **three** ways to round a total, and they differ by a cent now and then. The usual one adds \
        exact amounts and rounds once at the end; see [the rules](https://example.com/rounding).\n\n\
        | Way | When it rounds | What a buyer sees |\n|---|---|---:|\n\
        | at the end | once, after the discount | 10.35 € |\n\
        | per line | each line of the receipt, then adds the rounded lines | 10.36 € |\n\
        | per unit | each unit price; wrong for large counts | 10.40 € |\n\n\
        In code:\n\n```ts\nexport function total(items: Item[], discount = 0): number {\n  \
        const exact = items.reduce((sum, item) => sum + item.price * item.count, 0);\n  \
        return Math.round(exact * (1 - discount) * 100) / 100; // once, at the end\n}\n```\n\n\
        - Discounts are applied **before** rounding, so that no cent is lost on the way\n\
        - Tax is computed from the rounded total\n\n> Half a cent is rounded away from zero.";
    let shop = Shop::scripted(DARK, [ScriptedReply::text(text)]);
    let mut terminal = shop.open(size, &[]);
    shop.answered(&mut terminal, "how do shops round?", "away from")
}

pub(crate) fn files() -> ScreenPicture {
    let shop = Shop::scripted(DARK, []);
    for name in ["src/cart.test.ts", "src/card/charge.ts", "docs/cart.md", "src/catalog.ts", "src/main.ts"] {
        shop.write(name, "");
    }
    // Later changes come first among equal matches.
    let at = |seconds: u64| std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + seconds);
    for (index, name) in
        ["src/cart.ts", "src/cart.test.ts", "src/card/charge.ts", "docs/cart.md", "src/catalog.ts"].iter().enumerate()
    {
        let file = std::fs::File::options().write(true).open(shop.folder().join(name)).unwrap();
        file.set_modified(at(index as u64)).unwrap();
    }
    let mut terminal = shop.open((80, 20), &[]);
    terminal.send("explain @car");
    shop.when(&terminal, &["❯ ", "src/cart.ts", "charge.ts", "docs/cart.md"])
}

pub(crate) fn commands() -> ScreenPicture {
    let shop = Shop::scripted(DARK, []);
    let mut terminal = shop.open((80, 20), &[]);
    terminal.send("/co");
    shop.when(&terminal, &["/config", "/compact", "/copy"])
}

pub(crate) fn history() -> ScreenPicture {
    let shop = Shop::scripted(DARK, []);
    let project = shop.folder().canonicalize().unwrap();
    let prompts = [
        "why does the nightly build fail on arm?",
        "add a currency to the cart",
        "the total is wrong when somebody buys two of a thing",
        "write a test for the cart:\n- empty\n- two of a thing\n- a discount of 10 %",
    ];
    let lines: Vec<String> = prompts
        .iter()
        .enumerate()
        .map(|(at, prompt)| {
            let entry = json!({"display": prompt, "pastedContents": {}, "timestamp": 1_700_000_000_000_u64 + at as u64,
                "project": project, "sessionId": format!("11111111-2222-4333-8444-55555555555{at}")});
            format!("{entry}\n")
        })
        .collect();
    shop.sandbox.write_config("history.jsonl", lines.concat());
    let mut terminal = shop.open((80, 20), &[]);
    terminal.send(CTRL_R);
    terminal.send("cart");
    shop.when(&terminal, &["2 found", "a discount of 10 %"])
}

pub(crate) fn picker() -> ScreenPicture {
    let asked = [
        "why does the nightly build fail on arm?",
        "add a currency to the cart",
        "write release notes for 2.4",
        "the total is wrong when somebody buys two of a thing",
    ];
    let shop = Shop::new(ModelServer::with_handler(|_| ScriptedReply::text("Done.")), DARK);
    for (at, prompt) in asked.iter().enumerate() {
        let known = shop.sandbox.transcript_paths();
        shop.run(&["-p", prompt]).env("CLAUDE_CODE_ENTRYPOINT", "cli").run().expect_clean();
        let new = shop.sandbox.transcript_paths().into_iter().find(|path| !known.contains(path)).unwrap();
        let age = std::time::Duration::from_secs([20 * 3600, 5 * 3600, 2 * 3600, 60 * 12][at] + 30);
        let file = std::fs::File::options().write(true).open(new).unwrap();
        let written = file.metadata().unwrap().modified().unwrap();
        file.set_modified(written - age).unwrap();
    }
    let terminal = shop.run(&["--resume"]).terminal(96, 20);
    let mut picture = shop.when(&terminal, &asked);
    // A transcript is as large as the paths in it are long.
    picture.replace(|row| {
        let size = row.find(" kB · shop").map(|at| (row.len() - row.trim_start().len()..at, "4.4".to_owned()));
        size.into_iter().collect()
    });
    picture
}

pub(crate) fn transcript() -> ScreenPicture {
    let shop = Shop::scripted(
        DARK,
        [
            ScriptedReply::message(vec![
                ScriptedBlock::text("I will look at the code first."),
                ScriptedBlock::tool("Read", &json!({"file_path": "src/cart.ts"})),
            ]),
            ScriptedReply::tool("Edit", edit()),
            ScriptedReply::text("Prices are multiplied by their count now."),
        ],
    );
    let mut terminal = shop.open((120, 44), &["--permission-mode", "acceptEdits"]);
    shop.answered(&mut terminal, "multiply by the count", "count now.");
    terminal.send(CTRL_O);
    shop.when(&terminal, &["transcript · end"])
}

fn todos(states: [&str; 3]) -> Value {
    let todo =
        |content: &str, active: &str, state: &str| json!({"content": content, "activeForm": active, "status": state});
    json!({"todos": [
        todo("Find the rounding", "Looking for the rounding", states[0]),
        todo("Fix cart.ts", "Fixing cart.ts", states[1]),
        todo("Run all tests", "Running all tests", states[2]),
    ]})
}

pub(crate) fn work() -> ScreenPicture {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let agent = |name: &str, prompt: &str| {
        let input = json!({"description": name, "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": true});
        ScriptedBlock::tool("Agent", &input)
    };
    let (first, second) =
        (agent("Where is it rounded", "look at rounding"), agent("Which tests exist", "look at tests"));
    let server = ModelServer::with_handler(move |request| {
        let is_main = request.all_text().contains("fix the rounding");
        match (is_main, request.tool_results().len()) {
            (true, 0) => ScriptedReply::message(vec![
                ScriptedBlock::text("Two agents look around while I begin."),
                ScriptedBlock::tool("TodoWrite", &todos(["completed", "in_progress", "pending"])),
                first.clone(),
            ]),
            // One after the other, so that their order is always the same.
            (true, 2) => ScriptedReply::message(vec![second.clone()]),
            (false, 0) => ScriptedReply::tool("Grep", json!({"pattern": "round", "path": "src"})),
            _ => ScriptedReply::text("Done.").gate(&held),
        }
        .model(MODEL)
        .tokens(9_000, 240)
    });
    let shop = Shop::new(server, DARK);
    let mut terminal = shop.open((120, 30), &["--allowedTools", "TodoWrite,Agent"]);
    terminal.send("fix the rounding\r");
    terminal.wait_until("both agents at work", |screen| {
        screen.contains("☐ Run all tests") && screen.matches("1 call · Grep").count() == 2
    });
    let picture = shop.draw(&terminal);
    gate.open_all();
    picture
}

pub(crate) fn tasks() -> ScreenPicture {
    let command = "sh serve.sh";
    let shop = Shop::scripted(
        DARK,
        [
            ScriptedReply::tool(
                "Bash",
                json!({"command": command, "description": "Start the development server", "run_in_background": true}),
            ),
            ScriptedReply::text("The server runs in the background."),
        ],
    );
    shop.write("serve.sh", "echo 'ready on http://localhost:3000'\nuntil test -e stop; do sleep 0.02; done\n");
    let mut terminal = shop.open((96, 24), &["--allowedTools", "Bash(sh serve.sh)"]);
    shop.answered(&mut terminal, "start the server", "in the background.");
    terminal.send("/tasks\r");
    let mut picture = shop.when(&terminal, &["running", "ready on http"]);
    shop.write("stop", "");
    // The name of the task differs.
    picture.replace(|row| {
        let name = row.find("shell b").map(|at| at + "shell ".len());
        name.map(|at| (at..at + row[at..].find(' ').unwrap_or(row.len() - at), "b4c7m2x9q".to_owned()))
            .into_iter()
            .collect()
    });
    picture
}

/// The list of prompts to go back to, in a conversation with changes by tools and by a command.
fn prompts_to_go_back_to() -> (Shop, TestTerminal) {
    let bash = |command: &str| ScriptedReply::tool("Bash", json!({"command": command}));
    let replies = [
        ScriptedReply::tool("Read", json!({"file_path": "src/cart.ts"})),
        ScriptedReply::tool("Edit", edit()),
        ScriptedReply::text("Items are multiplied now."),
        bash("rm -rf reports && mv notes.md NOTES.md"),
        ScriptedReply::text("The reports are gone."),
        ScriptedReply::text("Only the prices with tax are left."),
    ];
    let shop = Shop::scripted(DARK, replies);
    shop.write("reports/2025.csv", "item,price\nlamp,40\nchair,90\n");
    shop.write("notes.md", "Ask about the tax.\n");
    let mut terminal = shop.open((96, 30), &["--allowedTools", "Bash,Edit,Read"]);
    shop.answered(&mut terminal, "multiply the price by the count", "multiplied now.");
    shop.answered(&mut terminal, "remove the old reports and rename the notes", "are gone.");
    shop.answered(&mut terminal, "what is left to do?", "are left.");
    terminal.send("/rewind\r");
    shop.when(&terminal, &["3 prompts", "what is left to do?"]);
    (shop, terminal)
}

/// A picture without the age of a prompt, which differs on a slow machine, and with a fixed id of a change.
fn without_ages(mut picture: ScreenPicture) -> ScreenPicture {
    picture.replace(|row| {
        let Some(begin) = row.find("gimlet undo --to ").map(|at| at + "gimlet undo --to ".len()) else {
            return Vec::new();
        };
        let end = row[begin..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(row.len(), |at| begin + at);
        vec![(begin..end, "mwo6tb0ws4l".to_owned())]
    });
    picture.replace(|row| {
        let Some(end) = row.find(" min ago") else { return Vec::new() };
        let begin = row[..end].rfind(' ').map_or(0, |at| at + 1);
        vec![(begin..end + " min ago".len(), "just now".to_owned())]
    });
    picture
}

pub(crate) fn rewind() -> ScreenPicture {
    let (shop, terminal) = prompts_to_go_back_to();
    without_ages(shop.draw(&terminal))
}

pub(crate) fn rewind_choice() -> ScreenPicture {
    let (shop, mut terminal) = prompts_to_go_back_to();
    terminal.send("\x1b[A\r");
    without_ages(shop.when(&terminal, &["6. Never mind", "would change"]))
}

/// A screen that a command opens in a new conversation.
fn screen(shop: &Shop, size: (u16, u16), args: &[&str], command: &str, shown: &[&str]) -> ScreenPicture {
    let mut terminal = shop.open(size, args);
    shop.asked(&mut terminal, command, shown)
}

pub(crate) fn config() -> ScreenPicture {
    let shop = Shop::scripted(DARK, []);
    screen(&shop, (100, 30), &[], "/config", &["Settings", "❯ ", "user"])
}

pub(crate) fn model() -> ScreenPicture {
    screen(&Shop::scripted(DARK, []), (100, 24), &[], "/model", &["Another model", "price of a million tokens"])
}

pub(crate) fn mcp() -> ScreenPicture {
    let shop = Shop::scripted(DARK, []);
    let broken = json!({"command": "docs-server", "args": ["--port", "0"]});
    let servers = json!({"mcpServers": {"tickets": mcp_server(&[]), "docs": broken}}).to_string();
    screen(&shop, (96, 24), &["--mcp-config", &servers], "/mcp", &["◆ connected", "✕ failed", "checks it"])
}

/// What the program sends differs with the system it runs on; the figures are those of some run.
pub(crate) fn context() -> ScreenPicture {
    let shop = Shop::scripted(DARK, [ScriptedReply::text("Hello.").tokens(24_000, 300)]);
    let mut terminal = shop.open((96, 46), &[]);
    shop.answered(&mut terminal, "hello", "Hello.");
    let mut picture = shop.asked(&mut terminal, "/context", &["Free space", "esc to close"]);
    picture.replace(|row| {
        let figures = [
            ("System prompt  ", "880 tokens (0.4 %)"),
            ("System tools  ", "4,800 tokens (2.4 %)"),
            ("Messages  ", "3,560 tokens (1.8 %)"),
            ("Free space  ", "157,760 tokens (78.9 %)"),
            ("  from answers", " 4 % · your prompts 4 % · notes and summaries 92 %"),
        ];
        let figure = figures.iter().find_map(|(name, figure)| Some((row.find(name)? + name.len(), *figure)));
        let end = row.trim_end().len();
        // The names stand again where it is told what put them there.
        let shown = figure.filter(|(at, _)| *at < end);
        shown.map(|(at, figure)| (at..end, figure.to_owned())).into_iter().collect()
    });
    picture
}

pub(crate) fn usage() -> ScreenPicture {
    let shop = Shop::scripted(DARK, [ScriptedReply::text("Hello."), ScriptedReply::text("Twelve.")]);
    let mut terminal = shop.open((96, 28), &[]);
    shop.answered(&mut terminal, "hello", "Hello.");
    shop.answered(&mut terminal, "how many tests are there?", "Twelve.");
    let mut picture = shop.asked(&mut terminal, "/usage", &["Total cost", "esc to close"]);
    picture.replace(|row| {
        const NAME: &str = "Time: ";
        let at = row.find(NAME).map(|at| at + NAME.len());
        at.map(|at| (at..row.trim_end().len(), "2 s at the model, 41 s in all".to_owned())).into_iter().collect()
    });
    picture
}
