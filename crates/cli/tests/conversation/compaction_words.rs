//! What compactions never lose: the person's words, the facts of the record, and the instructions; whatever happens between
//! them, and in a session that is resumed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{ASK, EXE, STREAM, answer};
use serde_json::{Value, json};
use std::collections::HashSet;
use testkit::{CapturedRequest, ModelServer, RunningGimlet, Sandbox, ScriptedReply};

const WINDOW: &str = "CLAUDE_CODE_MAX_CONTEXT_TOKENS";

fn is_summary_request(request: &CapturedRequest) -> bool {
    request.last_user_text().contains("hand-over text only")
}

fn body(request: &CapturedRequest) -> String {
    String::from_utf8_lossy(&request.body).into_owned()
}

/// A file of so many lines.
fn page(lines: u32) -> String {
    (0..lines).map(|n| format!("line {n} with some words of text")).collect::<Vec<_>>().join("\n")
}

/// The messages without cache marks, which move.
fn plain(request: &CapturedRequest) -> Vec<Value> {
    let mut messages = request.messages().to_vec();
    for block in messages.iter_mut().flat_map(|message| message["content"].as_array_mut().into_iter().flatten()) {
        block.as_object_mut().unwrap().remove("cache_control");
    }
    messages
}

/// Whether `whole` begins with `start`: the last message of the start may have grown.
fn begins_with(whole: &[Value], start: &[Value]) -> bool {
    let Some((last, before)) = start.split_last() else { return true };
    let grown = &whole[before.len()];
    let (sent, now) = (last["content"].as_array().unwrap(), grown["content"].as_array().unwrap());
    whole[..before.len()] == *before && grown["role"] == last["role"] && now[..sent.len().min(now.len())] == sent[..]
}

fn is_result_request(request: &CapturedRequest) -> bool {
    let last = request.messages().last().unwrap();
    last["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result"))
}

/// A stream-json host of one conversation, which may be resumed.
struct Host<'s> {
    sandbox: &'s Sandbox,
    running: RunningGimlet,
    /// Answers and refusals given so far.
    replies: usize,
    /// All words of the person, in order.
    said: Vec<String>,
    /// The uuids of the prompts.
    prompts: Vec<String>,
    session: Option<String>,
    /// The last turn was.
    is_interrupted: bool,
}

impl<'s> Host<'s> {
    fn new(sandbox: &'s Sandbox) -> Self {
        let running = start(sandbox, None);
        let (said, prompts) = (Vec::new(), Vec::new());
        Self { sandbox, running, replies: 0, said, prompts, session: None, is_interrupted: false }
    }

    /// Sends a prompt and answers what is asked until its turn has ended.
    fn turn(&mut self, text: &str) -> Value {
        let uuid = sys_uuid(self.prompts.len() as u64 + 1);
        let line = json!({"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}});
        self.running.send_json(&line);
        if !text.starts_with('/') {
            self.said.push(text.to_owned());
            self.prompts.push(uuid);
        }
        self.until_result()
    }

    fn until_result(&mut self) -> Value {
        loop {
            let line: Value = serde_json::from_str(&self.running.next_line().expect("the run goes on")).unwrap();
            match line["type"].as_str() {
                Some("control_request") => self.reply(&line),
                Some("result") => {
                    self.session = line["session_id"].as_str().map(str::to_owned);
                    self.is_interrupted = line["is_error"] == true;
                    return line;
                }
                _ => {}
            }
        }
    }

    fn reply(&mut self, question: &Value) {
        self.replies += 1;
        let number = self.replies;
        let mut input = question["request"]["input"].clone();
        let verdict = if question["request"]["tool_name"] == "AskUserQuestion" {
            let words = format!("answer number {number} please");
            let asked = input["questions"][0]["question"].as_str().unwrap().to_owned();
            input["answers"] = json!({asked: words});
            self.said.push(words);
            json!({"behavior": "allow", "updatedInput": input})
        } else {
            let words = format!("no number {number} do it by hand");
            self.said.push(words.clone());
            json!({"behavior": "deny", "message": words})
        };
        answer(&mut self.running, question, &verdict);
    }

    fn request(&mut self, request: &Value) -> Value {
        self.running.send_json(&json!({"type": "control_request", "request_id": "part", "request": request}));
        self.running.wait_for("control_response")["response"].clone()
    }

    /// Ends the process and goes on in another one.
    fn restart(&mut self) {
        self.running.close_stdin();
        let next = start(self.sandbox, self.session.as_deref());
        // A run whose last turn was interrupted says so.
        std::mem::replace(&mut self.running, next).finish().expect_code(i32::from(self.is_interrupted));
        self.is_interrupted = false;
    }
}

fn sys_uuid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

fn start(sandbox: &Sandbox, session: Option<&str>) -> RunningGimlet {
    let resumed: Vec<&str> = session.map(|id| vec!["--resume", id]).unwrap_or_default();
    let more = ["--input-format", "stream-json", "--model", "small-model", "--allowedTools", "Read"];
    let all: Vec<&str> = [&STREAM[..], &more, &ASK, &resumed].concat();
    sandbox.gimlet(&all).stdin_open().spawn()
}

/// A model that asks, wants to run a command, or reads a page, as the end of the prompt says, once for each prompt.
fn obedient() -> ModelServer {
    let mut done: HashSet<String> = HashSet::new();
    ModelServer::with_handler(move |request| {
        if is_summary_request(request) {
            return ScriptedReply::text("SUMMARY without a word of the user.");
        }
        let text = request.last_user_text();
        let prompt = text.lines().last().unwrap_or_default().to_owned();
        if is_result_request(request) || !done.insert(prompt.clone()) {
            return ScriptedReply::text("Done.");
        }
        match prompt.rsplit(' ').next() {
            Some("ASK") => {
                let options = json!([{"label": "a", "description": ""}, {"label": "b", "description": ""}]);
                let question = json!({"question": "Which?", "header": "H", "multiSelect": false, "options": options});
                ScriptedReply::tool("AskUserQuestion", json!({"questions": [question]}))
            }
            Some("REFUSE") => ScriptedReply::tool("Bash", json!({"command": "touch refused"})),
            Some("BIG") => ScriptedReply::tool("Read", json!({"file_path": "page.txt"})),
            Some("HANG") => ScriptedReply::hang(),
            _ => ScriptedReply::text("Done."),
        }
    })
}

/// A small generator of numbers, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

// [LNG-17] Ten compactions, by hand: every request holds every word; the latest request is whole and last.
#[test]
fn every_word_survives_ten_compactions() {
    let server = obedient();
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set(WINDOW, "60000");
    let mut host = Host::new(&sandbox);
    for round in 0..10 {
        let end = ["", " ASK", " REFUSE"][round % 3];
        host.turn(&format!("wish {round} is long enough to be told apart{end}"));
        host.turn("/compact");
    }
    host.turn("and now the last");
    let last = body(&server.last_request());
    for words in &host.said {
        assert!(last.contains(words.as_str()), "{words}: {last}");
    }
    let at = |words: &str| last.find(words).unwrap();
    let order: Vec<usize> = host.said.iter().map(|words| at(words)).collect();
    assert!(order.is_sorted(), "{order:?} {last}");
    assert!(last.contains("refusing Bash touch refused]"), "{last}");
    assert!(last.contains("Where the hand-over differs from it, this holds"), "{last}");
    host.restart();
    host.turn("/compact");
    host.turn("after a restart");
    let last = body(&server.last_request());
    for words in &host.said {
        assert!(last.contains(words.as_str()), "{words}: {last}");
    }
}

// [LNG-17] Beyond the budget the oldest are shortened first, and say where they are whole; the latest is whole, however long.
#[test]
fn the_oldest_words_are_shortened_and_say_where_they_are() {
    let server = obedient();
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set(WINDOW, "60000");
    let mut host = Host::new(&sandbox);
    let long = |name: &str, words: usize| format!("{name} {}", vec![name; words].join(" "));
    let (first, second, latest) = (long("first", 900), long("second", 900), long("latest", 4_000));
    for prompt in [&first, &second, &latest] {
        host.turn(prompt);
    }
    host.turn("/compact");
    host.turn("go on");
    let sent = body(&server.last_request());
    assert!(!sent.contains(&first) && sent.contains("[1] first first"), "{sent}");
    assert!(sent.contains(&latest), "the latest request is whole");
    assert_eq!(sent.matches(&latest).count(), 1, "and sent once");
    let path = sandbox.transcript_paths().pop().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let number = sent.split("whole in line ").nth(1).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap();
    assert!(text.lines().nth(number - 1).unwrap().contains(&first), "line {number} holds it");
    let boundary = text.lines().find(|line| line.contains("\"compact_boundary\"")).unwrap();
    let dropped = serde_json::from_str::<Value>(boundary).unwrap()["compactMetadata"]["xDropped"].clone();
    let (from, to) = (dropped["fromLine"].as_u64().unwrap(), dropped["toLine"].as_u64().unwrap());
    assert!((from..=to).contains(&(number as u64)), "{dropped}");
    assert!(sent.contains(&format!(" (what was dropped now: lines {from} to {to})")), "{sent}");
    for name in ["fromUuid", "toUuid"] {
        assert!(text.contains(&format!("\"uuid\":{}", dropped[name])), "{dropped}");
    }
}

// [LNG-17] [LNG-21] [LNG-15] Whatever happens, in any order: prompts, answers, refusals, interrupts, pages that fill the window,
// compactions of all kinds, restarts. Every request holds every word, and a resumed conversation begins with the bytes of
// the live one.
#[test]
fn words_survive_whatever_happens() {
    let mut kinds: Vec<String> = Vec::new();
    for seed in 1..=6 {
        kinds.extend(play(seed));
    }
    for kind in ["manual", "from", "up_to", "microcompact_boundary", "resumed"] {
        assert!(kinds.iter().any(|done| done == kind), "no {kind} among {kinds:?}");
    }
}

/// Returns what happened.
fn play(seed: u64) -> Vec<String> {
    let server = obedient();
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set(WINDOW, "30000");
    sandbox.write("page.txt", page(250));
    let mut host = Host::new(&sandbox);
    let mut dice = Dice(seed);
    let mut live: Option<Vec<Value>> = None;
    let mut happened = Vec::new();
    for step in 0..26 {
        let name = format!("seed {seed} step {step}");
        match dice.roll(12) {
            0 => {
                host.turn("/compact");
                live = None;
            }
            1 if host.session.is_some() => {
                host.restart();
                live = server.requests().iter().rfind(|request| !is_summary_request(request)).map(plain);
            }
            2 if !host.prompts.is_empty() => {
                let at = dice.roll(host.prompts.len() as u64) as usize;
                let direction = ["from", "up_to"][dice.roll(2) as usize];
                let asked =
                    json!({"subtype": "x_compact_part", "user_message_id": host.prompts[at], "direction": direction});
                host.request(&asked);
                // What is sent next is no longer what was sent last.
                live = None;
            }
            3 => {
                let (text, sent) = (format!("{name} HANG"), server.requests().len());
                host.running.send_json(&json!({"type": "user", "message": {"role": "user", "content": text}}));
                server.wait_for_requests(sent + 1);
                host.running.interrupt();
                host.said.push(text);
                host.until_result();
            }
            roll => {
                let end = ["ASK", "REFUSE", "BIG", "BIG", "PLAIN"][roll as usize % 5];
                let result = host.turn(&format!("{name} {end}"));
                assert_eq!(result["is_error"], false, "{name}: {result}");
                let request = server.requests().into_iter().rfind(|request| !is_summary_request(request)).unwrap();
                let sent = body(&request);
                for words in &host.said {
                    assert!(sent.contains(words.as_str()), "{name}: {words} is lost: {sent}");
                }
                if let Some(before) = live.take() {
                    let first = server.requests().into_iter().find(|request| body(request).contains(&name)).unwrap();
                    let cleared = |text: &str| text.matches("Result cleared to make room").count();
                    let is_cleared = cleared(&body(&first)) > cleared(&json!(before).to_string());
                    if !is_cleared && !is_summary_request(&first) {
                        happened.push("resumed".to_owned());
                        assert!(begins_with(&plain(&first), &before), "{name}: resumed otherwise");
                    }
                }
            }
        }
    }
    let code = i32::from(host.is_interrupted);
    host.running.close_stdin();
    host.running.finish().expect_code(code);
    for line in sandbox.transcript() {
        if line["subtype"] == "compact_boundary" {
            let metadata = &line["compactMetadata"];
            happened.extend(metadata["direction"].as_str().or(metadata["trigger"].as_str()).map(str::to_owned));
        }
        happened.extend(line["subtype"].as_str().filter(|kind| *kind == "microcompact_boundary").map(str::to_owned));
    }
    happened
}

fn tool(name: &str, input: Value) -> ScriptedReply {
    ScriptedReply::tool(name, input)
}

// [LNG-18] The facts are those of the record, after several compactions and in another process: files with their lines, the
// command that fails, open tasks, place and mode. None of it is in the summary.
#[test]
fn facts_come_from_the_record() {
    let server = ModelServer::start();
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("a.txt", "one\ntwo\n");
    crate::common::git(&sandbox, "init -q -b trunk");
    let todo =
        json!({"todos": [{"content": "Paint the shed", "status": "pending", "activeForm": "Painting the shed"}]});
    let agent = json!({
        "description": "d", "prompt": "Write c.txt", "subagent_type": "general-purpose", "run_in_background": false,
    });
    for reply in [
        tool("Read", json!({"file_path": "a.txt"})),
        tool("Edit", json!({"file_path": "a.txt", "old_string": "two\n", "new_string": "2\nthree\n"})),
        tool("Write", json!({"file_path": "b.txt", "content": "x\ny\n"})),
        tool("Agent", agent),
        tool("Write", json!({"file_path": "c.txt", "content": "c\n"})),
        ScriptedReply::text("Written."),
        tool("Bash", json!({"command": "false # test_of_the_parser"})),
        tool("TodoWrite", todo),
        ScriptedReply::text("One."),
        ScriptedReply::text("SUMMARY"),
        tool("Edit", json!({"file_path": "b.txt", "old_string": "y\n", "new_string": "z\n"})),
        ScriptedReply::text("Two."),
        ScriptedReply::text("SUMMARY"),
        ScriptedReply::text("Three."),
    ] {
        server.push(reply);
    }
    let more =
        ["--input-format", "stream-json", "--permission-mode", "acceptEdits", "--allowedTools", "Bash,TodoWrite,Agent"];
    let run = |prompts: &[&str], resumed: &[&str]| {
        let all: Vec<&str> = [&STREAM[..], &more, resumed].concat();
        let mut running = sandbox.gimlet(&all).env("CLAUDE_CODE_ENABLE_TASKS", "0").stdin_open().spawn();
        let mut session = String::new();
        for prompt in prompts {
            running.send_user(prompt);
            session = running.wait_for("result")["session_id"].as_str().unwrap().to_owned();
        }
        running.close_stdin();
        running.finish().expect_code(0);
        session
    };
    let session = run(&["work", "/compact", "more work", "/compact", "go on"], &[]);
    let told = |expected: &[&str]| {
        let text = server.last_request().all_text();
        let facts = text.split("From the record of this session").nth(1).unwrap_or_else(|| panic!("{text}"));
        for part in expected {
            assert!(facts.contains(part), "{part}: {facts}");
        }
        assert!(!text.contains("+2 −0, no longer there"), "{text}");
    };
    let files = ["- a.txt +2 −1", "- b.txt +3 −1", "- c.txt +1 −0"];
    let state = [
        "branch trunk",
        "Permission mode: acceptEdits",
        "has not succeeded since: `false # test_of_the_parser`",
        "- [pending] Paint the shed",
    ];
    told(&[&files[..], &state].concat());
    server.push(tool("Edit", json!({"file_path": "b.txt", "old_string": "z\n", "new_string": ""})));
    for text in ["Four.", "SUMMARY", "Five."] {
        server.push(ScriptedReply::text(text));
    }
    let session = run(&["even more", "/compact", "go on"], &["--resume", &session]);
    told(&["- a.txt +2 −1", "- b.txt +3 −2", "- c.txt +1 −0", "`false # test_of_the_parser`"]);
    // A fork copies only what the conversation still holds; the record is part of that.
    for text in ["Six.", "SUMMARY", "Seven."] {
        server.push(ScriptedReply::text(text));
    }
    std::fs::remove_file(sandbox.project().join("c.txt")).unwrap();
    run(&["in a fork", "/compact", "go on"], &["--resume", &session, "--fork-session"]);
    told(&["- a.txt +2 −1", "- b.txt +3 −2", "- c.txt +1 −0, no longer there", "`false # test_of_the_parser`"]);
    let text = server.last_request().all_text();
    assert!(["work", "more work", "even more"].iter().all(|words| text.contains(&format!("] {words}"))), "{text}");
}

/// The block with the date and the instructions.
fn instructions(request: &CapturedRequest) -> String {
    let blocks = request.messages().iter().flat_map(|message| message["content"].as_array().into_iter().flatten());
    let texts = blocks.filter_map(|block| block["text"].as_str());
    let context = |text: &&str| text.starts_with("<system-reminder>\nToday's date is");
    let all: Vec<&str> = texts.filter(context).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].to_owned()
}

// [LNG-24] After a compaction the instructions are those of a fresh start: the same bytes, order and origins, from the files
// as they are now.
#[test]
fn instructions_are_those_of_a_fresh_start() {
    let server = ModelServer::start();
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("CLAUDE.md", "User rule.\n");
    sandbox.write("CLAUDE.md", "Old rule. See @more.md\n");
    sandbox.write("more.md", "Imported rule.\n");
    sandbox.write(".claude/rules/style.md", "Unscoped rule.\n");
    sandbox.write(".claude/rules/rust.md", "---\npaths: [\"**/*.rs\"]\n---\nScoped rule.\n");
    sandbox.write("CLAUDE.local.md", "Private rule.\n");
    for text in ["One.", "SUMMARY", "Two.", "Fresh."] {
        server.push(ScriptedReply::text(text));
    }
    let all: Vec<&str> = [&STREAM[..], &["--input-format", "stream-json"]].concat();
    let mut running = sandbox.gimlet(&all).stdin_open().spawn();
    running.send_user("first");
    running.wait_for("result");
    let before = instructions(&server.last_request());
    sandbox.write("CLAUDE.md", "New rule. See @more.md\n");
    sandbox.write(".claude/rules/added.md", "Added rule.\n");
    for prompt in ["/compact", "second"] {
        running.send_user(prompt);
        running.wait_for("result");
    }
    running.close_stdin();
    running.finish().expect_code(0);
    let compacted = instructions(&server.last_request());
    crate::common::stream(&sandbox, "fresh", &[]);
    let fresh = instructions(&server.last_request());
    assert_eq!(compacted, fresh);
    assert!(before.contains("Old rule.") && fresh.contains("New rule.") && fresh.contains("Added rule."), "{fresh}");
    let at = |part: &str| fresh.find(part).unwrap_or_else(|| panic!("{part}: {fresh}"));
    assert!(at("User rule.") < at("New rule.") && at("New rule.") < at("Private rule."), "{fresh}");
    assert!(!fresh.contains("Scoped rule.") || fresh.contains("Unscoped rule."), "{fresh}");
}

// [LNG-22] Ten windows of conversation. After each compaction the first prompt, the third correction, the list of changed files
// and the name of the failing test are in the request itself; the summaries hold none of them.
#[test]
fn four_questions_are_answerable_after_every_compaction() {
    const TURNS: usize = 80;
    let mut calls = 0;
    let server = ModelServer::with_handler(move |request| {
        if is_summary_request(request) {
            return ScriptedReply::text("SUMMARY that knows nothing.");
        }
        calls += 1;
        if is_result_request(request) {
            return ScriptedReply::text("Done.");
        }
        match calls {
            1 => tool("Write", json!({"file_path": "src/parser.rs", "content": "fn parse() {}\n"})),
            3 => tool("Bash", json!({"command": "sh check parser::tests::third_of_nine"})),
            n => tool("Bash", json!({"command": format!("cat page.txt # {n}")})),
        }
    });
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set(WINDOW, "24000");
    sandbox.write("page.txt", page(330));
    sandbox.write("check", "#!/bin/sh\necho \"test $1 ... FAILED\"\nexit 101\n");
    let more = ["--input-format", "stream-json", "--model", "small-model", "--permission-mode", "acceptEdits"];
    let all: Vec<&str> = [&STREAM[..], &more, &["--allowedTools", "Bash"]].concat();
    let mut running = sandbox.gimlet(&all).stdin_open().spawn();
    for turn in 0..TURNS {
        let words = match turn {
            0 => "Write me a parser for the quux format.".to_owned(),
            1..=3 => format!("No, correction {turn}: keep the quux header."),
            _ => format!("Read on, part {turn}."),
        };
        running.send_user(&words);
        let result = running.wait_for("result");
        assert_eq!(result["is_error"], false, "{result}");
    }
    running.close_stdin();
    let lines = running.finish().expect_code(0).lines();
    let boundaries = lines.iter().filter(|line| line["subtype"] == "compact_boundary").count();
    assert!(boundaries >= 8, "{boundaries} compactions");
    let requests = server.requests();
    let sent: usize = requests.iter().map(|request| request.body.len()).max().unwrap();
    assert!(sent / 4 < 30_000, "{sent} bytes are about one window");
    let mut asked = 0;
    for request in requests.iter().filter(|request| !is_summary_request(request)) {
        let text = body(request);
        if !text.contains("SUMMARY that knows nothing.") {
            continue;
        }
        asked += 1;
        assert!(text.contains("Write me a parser for the quux format."), "the first prompt: {text}");
        assert!(text.contains("correction 3: keep the quux header."), "the third correction: {text}");
        assert!(text.contains("- src/parser.rs +1 −0"), "the changed files: {text}");
        assert!(text.contains("test parser::tests::third_of_nine ... FAILED"), "the failing test: {text}");
    }
    assert!(asked > boundaries, "{asked} requests after a compaction");
}

// [LNG-17] A conversation that another program compacted: its prompts are read from the transcript.
#[test]
fn prompts_before_a_foreign_summary_are_found() {
    let server = obedient();
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set(WINDOW, "60000");
    let mut host = Host::new(&sandbox);
    for words in ["the oldest wish", "a later wish"] {
        host.turn(words);
    }
    host.turn("/compact");
    host.turn("after the summary");
    host.running.close_stdin();
    let idle = start(&sandbox, None);
    std::mem::replace(&mut host.running, idle).finish().expect_code(0);
    let path = sandbox.transcript_paths().pop().unwrap();
    // The boundary of another program has no record.
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        if line["subtype"] == "compact_boundary" {
            line["compactMetadata"].as_object_mut().unwrap().retain(|name, _| !name.starts_with('x'));
        }
        if line["isCompactSummary"] == true {
            line["message"]["content"] = json!("SUMMARY of another program.");
        }
    }
    let written = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    std::fs::write(&path, written).unwrap();
    host.running.close_stdin();
    let resumed = start(&sandbox, host.session.as_deref());
    std::mem::replace(&mut host.running, resumed).finish().expect_code(0);
    host.turn("/compact");
    host.turn("and on");
    let last = body(&server.last_request());
    for words in ["] the oldest wish", "] a later wish", "after the summary"] {
        assert!(last.contains(words), "{words}: {last}");
    }
    host.running.close_stdin();
    host.running.finish().expect_code(0);
}
