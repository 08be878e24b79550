//! How many keys everyday actions take: the real binary in a pseudo-terminal. Text that is typed is not counted; what a
//! row needs before it begins and leaves behind is not counted either. A row fails when its action takes another key.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

const ENTER: &str = "\r";
const ESCAPE: &str = "\x1b";
const TAB: &str = "\t";
const UP: &str = "\x1b[A";
const DOWN: &str = "\x1b[B";
const LEFT: &str = "\x1b[D";
const SHIFT_TAB: &str = "\x1b[Z";
const ALT_P: &str = "\x1bp";
const ALT_T: &str = "\x1bt";
const CTRL_B: &str = "\x02";
const CTRL_C: &str = "\x03";
const CTRL_E: &str = "\x05";
const CTRL_J: &str = "\n";
const CTRL_O: &str = "\x0f";
const CTRL_R: &str = "\x12";
const CTRL_S: &str = "\x13";
const CTRL_T: &str = "\x14";

const QUESTION: &str = "Do you want";
const BUSY: &str = "esc to interrupt";

/// One part of an action.
#[derive(Clone, Copy)]
enum Step {
    /// Text; not counted.
    Type(&'static str),
    /// A counted key.
    Key(&'static str),
    /// A counted key for a question, which must have been readable.
    Answer(&'static str),
    /// A key before or after the action.
    Uncounted(&'static str),
    Wait(&'static str),
    Gone(&'static str),
    /// A command has made this file.
    File(&'static str),
    /// No turn runs and nothing is asked.
    Idle,
}

use Step::{Answer, File, Gone, Idle, Key, Type, Uncounted, Wait};

struct Action {
    name: &'static str,
    /// The keys that it takes.
    keys: usize,
    steps: &'static [Step],
}

const fn action(name: &'static str, keys: usize, steps: &'static [Step]) -> Action {
    Action { name, keys, steps }
}

/// A screen that a command opens.
macro_rules! screen {
    ($name:literal, $command:literal, $shown:literal) => {
        action($name, 1, &[Type($command), Key(ENTER), Wait($shown), Uncounted(ESCAPE), Gone($shown)])
    };
}

#[rustfmt::skip]
const AT_REST: &[Action] = &[
    screen!("list the commands", "/help", "Commands"),
    screen!("see what fills the context", "/context", "Free space"),
    screen!("see the cost", "/usage", "Total cost"),
    screen!("see the state of the session", "/status", "Credentials"),
    screen!("see the servers", "/mcp", "No MCP servers"),
    screen!("see the hooks", "/hooks", "No hooks"),
    screen!("see the instruction files", "/memory", "Notes between sessions"),
    screen!("see the background tasks", "/tasks", "Nothing is running"),
    screen!("see the rules", "/permissions", "Add a rule"),
    screen!("see every key", "/keybindings", "app:interrupt"),
    screen!("see what is uncommitted", "/diff", "Uncommitted changes"),
    screen!("check the installation", "/doctor", "config home"),
    action("see the agents", 1, &[Key(LEFT), Wait("Agents"), Uncounted(ESCAPE), Gone("Agents")]),
    action("change the model", 2, &[Key(ALT_P), Wait("Another model"), Key("2"), Gone("Another model")]),
    action("change the model for this session", 3, &[
        Key(ALT_P), Wait("Another model"), Key(DOWN), Key("s"), Gone("Another model"),
    ]),
    action("change the effort", 2, &[Type("/effort"), Key(ENTER), Wait("xhigh"), Key("2"), Gone("xhigh")]),
    action("switch a setting", 2, &[
        Type("/config"), Key(ENTER), Wait("Search:"), Type("fewer"), Wait("❯ Fewer animations"), Key(ENTER), Wait("  on  "),
        Uncounted(CTRL_C), Gone("Search:"),
    ]),
    action("choose a theme", 2, &[Type("/theme"), Key(ENTER), Wait("dark-ansi"), Key("2"), Gone("dark-ansi")]),
    action("accept edits from now on", 1, &[Key(SHIFT_TAB), Wait("accept edits")]),
    action("plan from now on", 1, &[Key(SHIFT_TAB), Wait("plan")]),
    action("ask again from now on", 1, &[Key(SHIFT_TAB), Gone("plan mode")]),
    action("switch thinking off", 1, &[Key(ALT_T), Wait("Thinking is off")]),
    action("write a second line", 1, &[Type("one"), Key(CTRL_J), Type("two"), Wait("  two")]),
    action("clear the prompt", 2, &[Key(ESCAPE), Wait("again to clear"), Key(ESCAPE), Gone("  two")]),
    action("put the prompt aside", 1, &[Type("for later"), Wait("for later"), Key(CTRL_S), Gone("for later")]),
    action("take it back", 1, &[Key(CTRL_S), Wait("for later"), Uncounted(CTRL_C), Gone("for later")]),
    action("leave", 2, &[Key(CTRL_C), Wait("again to exit"), Key(CTRL_C)]),
];

#[rustfmt::skip]
const AT_WORK: &[Action] = &[
    action("send a prompt", 1, &[Type("say hello"), Key(ENTER), Wait("Finished hello."), Idle]),
    action("attach a file by three letters", 1, &[Type("read @car"), Wait("cart.txt"), Key(TAB), Wait("read @src/cart.txt")]),
    action("send it", 1, &[Key(ENTER), Wait("Finished read."), Idle]),
    action("send the last prompt again", 2, &[Key(UP), Wait("❯ read @src/cart.txt"), Key(ENTER), Gone("❯ read"), Idle]),
    action("find an earlier prompt and send it", 3, &[
        Key(CTRL_R), Type("hell"), Wait("say hello"), Key(ENTER), Wait("❯ say hello"), Key(ENTER), Gone("❯ say hello"), Idle,
    ]),
    action("run a command of your own", 1, &[Type("!echo shell-$((40+2))"), Key(ENTER), Wait("shell-42"), Idle]),
    action("accept an edit", 1, &[
        Type("edit it"), Uncounted(ENTER), Wait(QUESTION), Answer("1"), Wait("Finished edit."), Idle,
    ]),
    action("see the full diff", 1, &[Key(CTRL_O), Wait("transcript")]),
    action("search the conversation", 2, &[Key("/"), Type("Finished hello"), Key(ENTER), Wait("Finished hello")]),
    action("go back to the prompt", 1, &[Key("q"), Gone("transcript ·"), Idle]),
    action("refuse an edit", 1, &[Type("edit once more"), Uncounted(ENTER), Wait(QUESTION), Answer(ESCAPE), Gone(QUESTION), Idle]),
    action("see why it asks", 1, &[Type("touch it"), Uncounted(ENTER), Wait(QUESTION), Answer(CTRL_E)]),
    action("allow a command once", 1, &[Answer("1"), Gone(QUESTION), Wait("Finished touch."), Idle]),
    action("allow a command for good", 1, &[
        Type("folder please"), Uncounted(ENTER), Wait(QUESTION), Answer("2"), Wait("Finished folder."), Idle,
    ]),
    action("stop a turn", 1, &[Type("wait for it"), Uncounted(ENTER), Wait(BUSY), Key(ESCAPE), Idle]),
    action("send a message while it works", 1, &[
        Type("wait for it"), Uncounted(ENTER), Wait(BUSY), Type("one more thing"), Key(ENTER), Wait("to take back"),
    ]),
    action("take back a queued prompt", 1, &[Key(UP), Gone("to take back"), Uncounted("\x05\x15"), Gone("one more thing")]),
    action("stop it as well", 1, &[Key(ESCAPE), Idle]),
    action("move a command to the background", 1, &[
        Type("stay running"), Uncounted(ENTER), Wait(BUSY), File("stays"), Key(CTRL_B), Wait("Finished stay."), Idle,
    ]),
    action("see its output", 1, &[Type("/tasks"), Key(ENTER), Wait("running"), Wait("started-42")]),
    action("stop it", 1, &[Key("x"), Wait("Nothing is running"), Uncounted(ESCAPE), Gone("Nothing is running"), Idle]),
    action("open an agent's view", 2, &[
        Type("look with an agent"), Uncounted(ENTER), Wait("Finished agent."), Idle, Wait("⑂ general-purpose"),
        Key(DOWN), Wait("m to message"), Key(ENTER), Wait("transcript"),
    ]),
    action("stop the agent", 2, &[Key("q"), Wait("x to stop"), Key("x"), Wait("ended"), Uncounted(ESCAPE), Gone("x to stop"), Idle]),
    action("hide the tasks", 1, &[
        Type("plan tasks"), Uncounted(ENTER), Wait("☐ second step"), Key(CTRL_T), Gone("☐ second step"), Uncounted(CTRL_T), Uncounted(ESCAPE), Idle,
    ]),
    action("name the session", 1, &[Type("/rename keys"), Key(ENTER), Wait("keys"), Idle]),
    action("copy the answer into a file", 1, &[Type("/copy w"), Key(ENTER), Idle]),
    action("ask on the side", 1, &[Type("/btw what is it"), Key(ENTER), Wait("Finished aside."), Uncounted(ESCAPE), Gone("Finished aside."), Idle]),
    action("compact the conversation", 1, &[Type("/compact"), Key(ENTER), Wait("Compacted"), Idle]),
    action("undo what was typed", 1, &[Type("slip"), Wait("❯ slip"), Key("\x1f"), Gone("❯ slip")]),
    action("see the budgets", 1, &[Type("/budget"), Key(ENTER), Wait("No budget is set"), Idle]),
    action("write the conversation into a file", 1, &[Type("/export talk.md"), Key(ENTER), File("talk.md"), Wait("Exported to"), Idle]),
    action("go on in a copy", 1, &[Type("/branch"), Key(ENTER), Wait("This is a copy now"), Idle]),
    action("begin a new conversation", 1, &[Type("/clear"), Key(ENTER), Wait("New session."), Idle]),
];

/// What the model does with each prompt.
fn reply(request: &CapturedRequest) -> ScriptedReply {
    let prompt = request.last_user_text();
    let finished = |what: &str| ScriptedReply::text(format!("Finished {what}."));
    // The agent has a prompt of its own.
    if prompt.contains("look around slowly") {
        return ScriptedReply::tool("Bash", json!({"command": "until test -e agent; do sleep 0.02; done"}));
    }
    let bash = |command: &str| ScriptedReply::tool("Bash", json!({"command": command}));
    let edit = |old: &str, new: &str| {
        ScriptedReply::tool("Edit", json!({"file_path": "src/cart.txt", "old_string": old, "new_string": new}))
    };
    if prompt.trim().is_empty() {
        let made = request.tool_uses().last().map(ToString::to_string).unwrap_or_default();
        let kinds =
            [("\"Edit\"", "edit"), ("touch", "touch"), ("mkdir", "folder"), ("never", "stay"), ("\"Agent\"", "agent")];
        let kind = kinds.iter().find(|(part, _)| made.contains(part)).map_or("it", |(_, kind)| kind);
        return finished(kind);
    }
    match prompt.as_str() {
        text if text.contains("edit it") => edit("apples", "pears"),
        text if text.contains("edit once more") => edit("pears", "plums"),
        text if text.contains("touch it") => bash("touch made.txt"),
        text if text.contains("folder please") => bash("mkdir made"),
        text if text.contains("wait for it") => bash("until test -e never-there; do sleep 0.02; done"),
        text if text.contains("stay running") => {
            bash("echo started-$((40+2)) | tee stays; until test -e never; do sleep 0.02; done")
        }
        text if text.contains("look with an agent") => ScriptedReply::tool(
            "Agent",
            json!({"description": "Look", "prompt": "look around slowly", "subagent_type": "general-purpose",
                   "run_in_background": true}),
        ),
        text if text.contains("plan tasks") => ScriptedReply::message(vec![
            testkit::ScriptedBlock::tool(
                "TodoWrite",
                &json!({"todos": [
                {"content": "first step", "status": "in_progress", "activeForm": "Doing the first step"},
                {"content": "second step", "status": "pending", "activeForm": "Doing the second step"}]}),
            ),
            testkit::ScriptedBlock::tool("Bash", &json!({"command": "until test -e never-there; do sleep 0.02; done"})),
        ]),
        text if text.contains("what is it") => finished("aside"),
        text if text.contains("hello") => finished("hello"),
        text if text.contains("read") => finished("read"),
        _ => finished("it"),
    }
}

fn run(terminal: &mut TestTerminal, sandbox: &Sandbox, action: &Action) -> usize {
    let mut keys = 0;
    for step in action.steps {
        match step {
            Type(text) => terminal.send(text),
            Key(key) => {
                terminal.send(key);
                keys += 1;
            }
            Answer(key) => {
                terminal.answer(key);
                keys += 1;
            }
            Uncounted(key) => terminal.send(key),
            Wait(text) => drop(terminal.wait_for(text)),
            Gone(text) => drop(terminal.wait_gone(text)),
            File(name) => testkit::wait_until(name, || sandbox.project().join(name).exists()),
            Idle => drop(terminal.wait_until("rest", |screen| {
                !screen.contains(BUSY) && !screen.contains(QUESTION) && !screen.contains("Stopping")
            })),
        }
    }
    keys
}

/// Runs the actions in one session; returns a row of text for each, and the rows that took another number of keys.
fn measure(actions: &[Action], sandbox: &Sandbox, terminal: &mut TestTerminal) -> (String, Vec<&'static str>) {
    let mut table = String::new();
    let mut wrong = Vec::new();
    for action in actions {
        let keys = run(terminal, sandbox, action);
        writeln!(table, "{keys:>3}  {}", action.name).unwrap();
        if keys != action.keys {
            wrong.push(action.name);
        }
    }
    std::io::stdout().write_all(table.as_bytes()).unwrap();
    (table, wrong)
}

fn start(sandbox: &Sandbox, args: &[&str]) -> TestTerminal {
    let terminal = sandbox.gimlet(args).terminal(110, 40);
    terminal.wait_for("? for shortcuts");
    terminal
}

#[test]
fn actions_at_rest_take_no_more_keys_than_they_did() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let (table, wrong) = measure(AT_REST, &sandbox, &mut start(&sandbox, &[]));
    assert!(wrong.is_empty(), "{wrong:?}\n{table}");
    assert_eq!(table.lines().count(), AT_REST.len());
}

#[test]
fn actions_at_work_take_no_more_keys_than_they_did() {
    let server = ModelServer::with_handler(reply);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("src/cart.txt", "apples\n");
    let (table, wrong) = measure(AT_WORK, &sandbox, &mut start(&sandbox, &["--allowedTools", "TodoWrite,Bash(tee *)"]));
    assert!(wrong.is_empty(), "{wrong:?}\n{table}");
}

/// The promises of the design.
#[test]
fn what_is_done_most_often_takes_the_fewest_keys() {
    let promised = [
        ("accept an edit", 1),
        ("allow a command for good", 2),
        ("attach a file by three letters", 2),
        ("send it", 1),
        ("take back a queued prompt", 1),
        ("see the full diff", 1),
        ("open an agent's view", 2),
        ("change the model", 3),
    ];
    for (name, at_most) in promised {
        let found = AT_REST.iter().chain(AT_WORK).find(|action| action.name == name).expect(name);
        assert!(found.keys <= at_most, "{name}: {}", found.keys);
    }
}
