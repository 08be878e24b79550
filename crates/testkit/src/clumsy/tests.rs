//! The model against a small world of made-up results.

use super::intent::{EditText, Intent, IntentKind, StaleEdit};
use super::view::RequestView;
use super::*;
use crate::message::ScriptedBlock;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Answers a call: text, and whether it is an error.
type World<'a> = &'a mut dyn FnMut(&str, &Value) -> (String, bool);

const FILE: &str =
    "def first(values):\n    total = sum(values)\n    return total\n\n\ndef second(values):\n    return max(values)\n";

fn edit(old: &str, new: &str) -> Intent {
    let text = EditText { old: old.into(), new: new.into(), all: false };
    Intent::plain(IntentKind::Edit { file: "a.py".into(), text, stale: None }, 1)
}

fn oracle() -> Oracle {
    let first = edit("    total = sum(values)\n    return total\n", "    total = sum(values)\n    return total + 1\n");
    let run = IntentKind::Run {
        command: "python3 check.py".into(),
        expect: Some("OK".into()),
        fields: Value::Null,
        verifies: true,
        denied: false,
        is_long: false,
    };
    let say = IntentKind::Say { text: "All done.".into() };
    Oracle {
        intents: [vec![first], [run, say].map(|kind| Intent::plain(kind, 1)).to_vec()].concat(),
        ..Oracle::default()
    }
}

fn request(messages: &[Value]) -> CapturedRequest {
    let field = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let edit = json!({"type": "object", "required": ["file_path", "old_string", "new_string"],
        "properties": {"file_path": {"type": "string"}, "old_string": {"type": "string"}, "new_string": {"type": "string"}}});
    let tool = |name: &str, schema: Value| json!({"name": name, "input_schema": schema});
    let tools = [
        tool("Read", field("file_path")),
        tool("Bash", field("command")),
        tool("Edit", edit),
        tool("Glob", field("pattern")),
    ];
    let body =
        json!({"system": [{"type": "text", "text": "- Working directory: /w"}], "tools": tools, "messages": messages});
    CapturedRequest {
        method: "POST".into(),
        path: "/v1/messages".into(),
        query: None,
        headers: Vec::new(),
        body: body.to_string().into_bytes(),
        json: body,
        received_at: Instant::now(),
    }
}

/// Runs a conversation to its end; returns the calls in order.
fn converse(model: &ClumsyModel, world: World<'_>) -> Vec<String> {
    let mut messages = vec![json!({"role": "user", "content": [{"type": "text", "text": "go"}]})];
    let mut calls = Vec::new();
    for _ in 0..60 {
        let mut state = model.inner.lock().unwrap();
        let ModelState { main, outside, .. } = &mut *state;
        let answer = main.respond(&RequestView::of(&request(&messages)), outside);
        drop(state);
        let (mut used, mut results) = (Vec::new(), Vec::new());
        for block in answer.0 {
            let ScriptedBlock::Tool { id, name, input } = block else { continue };
            calls.push(format!("{name} {input}"));
            let parsed = serde_json::from_str(&input).unwrap_or(Value::Null);
            let (text, is_error) = world(&name, &parsed);
            results.push(json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}));
            used.push(json!({"type": "tool_use", "id": id, "name": name, "input": parsed}));
        }
        if used.is_empty() {
            model.finish();
            return calls;
        }
        messages.push(json!({"role": "assistant", "content": used}));
        messages.push(json!({"role": "user", "content": results}));
    }
    panic!("the conversation does not end: {calls:#?}");
}

fn model(seed: u64, percent: u64) -> ClumsyModel {
    ClumsyModel::new(&oracle(), Clumsiness { seed, percent }, Box::new(|_| {}))
}

fn numbered(text: &str) -> String {
    text.lines().enumerate().map(|(at, line)| format!("{}\t{line}", at + 1)).collect::<Vec<_>>().join("\n")
}

/// A world of exact matching whose errors say little.
struct Mute {
    files: BTreeMap<String, String>,
}

impl Mute {
    fn new() -> Self {
        Self { files: BTreeMap::from([("/w/a.py".to_owned(), FILE.to_owned())]) }
    }

    fn answer(&mut self, tool: &str, input: &Value) -> (String, bool) {
        let fail = |text: &str| (text.to_owned(), true);
        let text = |name: &str| input[name].as_str();
        match tool {
            "Read" => match text("file_path").map(|path| self.files.get(path)) {
                Some(Some(content)) if input["offset"].is_null() => (numbered(content), false),
                Some(Some(_)) => ("nothing at this offset".into(), false),
                Some(None) => fail("File does not exist."),
                None => fail("Read: `file_path` is missing"),
            },
            "Glob" => ("/w/a.py".into(), false),
            "Bash" if text("command").is_some() => ("OK".into(), false),
            "Edit" => {
                let (Some(path), Some(old), Some(new)) = (text("file_path"), text("old_string"), text("new_string"))
                else {
                    return fail("Edit: `file_path`, `old_string` or `new_string` is missing");
                };
                match self.files.get_mut(path) {
                    None => fail("File does not exist."),
                    Some(content) if content.matches(old).count() == 1 => {
                        *content = content.replacen(old, new, 1);
                        ("updated".into(), false)
                    }
                    Some(_) => fail("not found"),
                }
            }
            "Bash" => fail("Bash: `command` must be a string; it is missing"),
            _ => fail("No such tool; the JSON was not valid"),
        }
    }
}

// [MX-42]
#[test]
fn the_same_seed_makes_the_same_calls() {
    let run = |seed| {
        let mut world = Mute::new();
        converse(&model(seed, 60), &mut |tool, input| world.answer(tool, input))
    };
    assert_eq!(run(7), run(7));
    let different: BTreeSet<Vec<String>> = (1..20).map(run).collect();
    assert!(different.len() > 8, "{} different runs", different.len());
}

// [MX-42] Without slips the right calls are sent and nothing else.
#[test]
fn a_careful_model_makes_no_detour() {
    let mut world = Mute::new();
    let model = model(1, 0);
    let calls = converse(&model, &mut |tool, input| world.answer(tool, input));
    assert_eq!(calls.iter().map(|call| call.split(' ').next().unwrap()).collect::<Vec<_>>(), ["Read", "Edit", "Bash"]);
    assert!(world.files["/w/a.py"].contains("return total + 1"));
    assert!(model.slips().is_empty() && model.given_up().is_empty());
    assert_eq!(model.done().len(), 1);
}

// [MX-42] Whatever the slip, the model gets its text only from results: in a world that shows the file it ends with the
// right bytes or gives up, never with wrong ones.
#[test]
fn the_file_is_right_or_unchanged_after_any_slip() {
    let right = FILE.replace("return total\n", "return total + 1\n");
    let mut recovered = 0;
    for seed in 0..400 {
        let mut world = Mute::new();
        let model = model(seed, 100);
        converse(&model, &mut |tool, input| world.answer(tool, input));
        let content = &world.files["/w/a.py"];
        assert!(*content == right || content == FILE, "seed {seed}: {content}");
        recovered += usize::from(*content == right);
        assert!(model.slips().iter().all(|slip| slip.outcome != SlipOutcome::Open));
    }
    assert!(recovered > 350, "{recovered} of 400");
}

// [MX-42] Errors that teach nothing are followed by three equal tries at most; the measure tells them from errors that do.
#[test]
fn better_errors_are_measured_as_better() {
    let measure = |teaches: bool| {
        let (mut at_1, mut all) = (0, 0);
        for seed in 0..300 {
            let mut world = Mute::new();
            let model = model(seed, 100);
            converse(&model, &mut |tool, input| {
                let (text, is_error) = world.answer(tool, input);
                let shown =
                    if teaches && tool == "Edit" && is_error { format!("{text}\n{}", numbered(FILE)) } else { text };
                (shown, is_error)
            });
            let slips = model.slips();
            all += slips.len();
            at_1 += slips.iter().filter(|slip| matches!(slip.outcome, SlipOutcome::Recovered(0 | 1))).count();
        }
        100 * at_1 / all.max(1)
    };
    let (mute, teaching) = (measure(false), measure(true));
    assert!(teaching >= mute + 10, "{mute} % and {teaching} %");
}

// [MX-42] Three equal failures and the model gives up.
#[test]
fn it_gives_up_after_three_equal_failures() {
    let model = model(1, 0);
    let calls = converse(&model, &mut |tool, _| match tool {
        "Read" => (numbered(FILE), false),
        _ => ("no".into(), true),
    });
    assert_eq!(calls.iter().filter(|call| call.starts_with("Bash")).count(), 3, "{calls:#?}");
    assert_eq!(model.given_up().len(), 2);
}

// [MX-42] Every slip of the table fits some call, and its name stands in the table of the report.
#[test]
fn every_slip_can_happen() {
    let parse = |text: &str| Oracle::parse(&serde_json::from_str::<Value>(text).unwrap()).unwrap();
    let many = parse(
        r#"{"reminds": true, "intent": [
        {"kind": "search", "pattern": "call\\(x", "want": "call("},
        {"kind": "read", "file": "src/main.rs"},
        {"kind": "edit", "file": "src/main.rs", "old": "\tlet name = read(path);\n\tlet a = 1 - 2;\n", "new": "\tlet name = open(path);\n\tlet a = 1 - 3;\n",
         "slips": [], "stale": {"command": "true", "old": "x", "new": "y"}},
        {"kind": "edit", "file": "src/main.rs", "old": "\tlet name = read(path);\n\tlet a = 1;\n", "new": "\tlet name = open(path);\n\tlet a = 1;\n",
         "slips": ["non-unique"]},
        {"kind": "edit", "file": "src/main.rs", "old": "\tlet name = read(path);\n\tlet a = 1;\n", "new": "\tlet name = open(path);\n\tlet a = 1;\n"},
        {"kind": "call", "tool": "TodoWrite", "input": {"todos": [{"content": "x"}]}},
        {"kind": "run", "command": "make test all", "verifies": true},
        {"kind": "run", "command": "make all | grep x", "expect": "x", "is_long": true},
        {"kind": "run", "command": "make", "denied": true}]}"#,
    );
    let messages = [json!({"role": "user", "content": "go"})];
    let view = RequestView::of(&request(&messages));
    let mut dice = random::Dice::new(1);
    let mut seen: BTreeSet<&str> = BTreeSet::from([slips::SUMMARY_SLIP]);
    for (at, intent) in many.intents.iter().enumerate() {
        let right = attempt::right_call(&intent.kind, &view).unwrap();
        for _ in 0..2_000 {
            let next = many.intents.get(at + 1);
            let scene = &mut slips::SlipScene {
                intent,
                next,
                view: &view,
                dice: &mut dice,
                has_background: true,
                reminds: true,
            };
            if let Some((name, _)) = slips::choose(&right, scene) {
                seen.insert(name);
            }
        }
    }
    assert_eq!(seen, SLIP_NAMES.into_iter().collect());
}

// A file that somebody changes is changed by the oracle's command, and only the model's caller sees that.
#[test]
fn stale_edits_run_the_outside_command() {
    let mut oracle = oracle();
    if let IntentKind::Edit { stale, .. } = &mut oracle.intents[0].kind {
        let text = EditText { old: "b".into(), new: "c".into(), all: false };
        *stale = Some(StaleEdit { command: "touch it".into(), text });
    }
    oracle.intents[0].slips = vec!["stale".into()];
    let ran = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&ran);
    let outside = Box::new(move |command: &str| noted.lock().unwrap().push(command.to_owned()));
    let model = ClumsyModel::new(&oracle, Clumsiness { seed: 1, percent: 100 }, outside);
    let mut world = Mute::new();
    converse(&model, &mut |tool, input| world.answer(tool, input));
    assert_eq!(*ran.lock().unwrap(), ["touch it"]);
}
