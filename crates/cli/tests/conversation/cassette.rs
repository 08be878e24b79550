//! `--record` and `--replay` through the binary: a recorded conversation runs the same way, with the same effects, on
//! another machine, without network and key, and reports where it differs from the recording.
#![allow(clippy::unwrap_used, reason = "test code")]

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::{CapturedRequest, FinishedRun, ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const STREAM: [&str; 3] = ["--output-format", "stream-json", "--verbose"];
/// An address at which every request is refused at once.
const NOBODY: &str = "http://127.0.0.1:9";

/// Another user on another machine: no key, no server, 26 hours away in local time.
fn elsewhere() -> Sandbox {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.set("ANTHROPIC_BASE_URL", NOBODY);
    sandbox.set("TZ", "FAR-14");
    sandbox.unset("ANTHROPIC_API_KEY");
    sandbox
}

fn here(server: &ModelServer) -> Sandbox {
    let mut sandbox = Sandbox::with_server(EXE, server);
    sandbox.set("TZ", "NEAR+12");
    sandbox
}

fn run(sandbox: &Sandbox, flag: &str, tape: &Path, args: &[&str]) -> FinishedRun {
    let mut all = vec![flag, tape.to_str().unwrap()];
    all.extend(args);
    sandbox.gimlet(&all).run()
}

/// Records into a file of the sandbox and returns it.
fn record(sandbox: &Sandbox, args: &[&str]) -> PathBuf {
    let tape = sandbox.root().join("tape.jsonl");
    let _lines = run(sandbox, "--record", &tape, args).expect_clean();
    tape
}

fn replay(tape: &Path, args: &[&str]) -> FinishedRun {
    run(&elsewhere(), "--replay", tape, args)
}

/// The conversation as the host saw it, without paths of this machine.
fn course(done: &FinishedRun, sandbox: &Sandbox) -> Vec<String> {
    let root = sandbox.root().to_str().unwrap().to_owned();
    let told = |line: &Value| match line["type"].as_str().unwrap() {
        "assistant" | "user" => Some(line["message"]["content"].to_string().replace(&root, "<root>")),
        "result" => Some(format!("{} {}", line["subtype"], line["result"]).replace(&root, "<root>")),
        _ => None,
    };
    done.lines().iter().filter_map(told).collect()
}

/// A call to `name`, whose input may use this machine's paths.
fn calls(name: &str, input: &Value) -> ScriptedReply {
    ScriptedReply::message(vec![ScriptedBlock::text("On it."), ScriptedBlock::tool(name, input)])
}

#[test]
fn a_recording_replays_on_another_machine() {
    let server = ModelServer::start();
    let first = here(&server);
    let at = |name: &str| first.project().join(name).to_str().unwrap().to_owned();
    server.push(calls("Read", &json!({"file_path": at("in.txt")})));
    server.push(calls("Write", &json!({"file_path": at("sub/out.txt"), "content": "written\n"})));
    server.push(calls(
        "Bash",
        &json!({"command": "pwd; date; date +%s%N | md5sum | cut -c1-32; echo $HOME; cat sub/out.txt"}),
    ));
    server.push(ScriptedReply::text(format!("All in {}.", at("sub"))));
    let args = ["-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Write,Bash"];
    first.write("in.txt", "input\n");
    let tape = first.root().join("tape.jsonl");
    let recorded = run(&first, "--record", &tape, &args).expect_clean();
    assert_eq!(server.requests().len(), 4);
    drop(server);

    let second = elsewhere();
    second.write("in.txt", "input\n");
    let replayed = run(&second, "--replay", &tape, &args).expect_clean();
    let (was, is) = (course(&recorded, &first), course(&replayed, &second));
    assert_eq!(was.len(), is.len());
    // The third result contains times; everything else must be equal.
    for (number, (was, is)) in was.iter().zip(&is).enumerate().filter(|(n, _)| *n != 8) {
        assert_eq!(was, is, "step {number}");
    }
    assert_eq!(second.read("sub/out.txt"), "written\n");
    let text = std::fs::read_to_string(&tape).unwrap();
    assert!(!text.contains(first.root().to_str().unwrap()), "{text}");
    assert_eq!(second.transcript().len(), first.transcript().len());
}

#[test]
fn secrets_never_reach_the_file() {
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "notes.txt"})),
        ScriptedReply::text("Your key is top-secret-key-1, the token secret-token-2.")
            .header("set-cookie", "session=secret-cookie-3"),
    ]);
    let mut sandbox = here(&server);
    sandbox.set("ANTHROPIC_API_KEY", "top-secret-key-1");
    sandbox.set("CLAUDE_CODE_OAUTH_TOKEN", "secret-token-2");
    sandbox.set("ANTHROPIC_CUSTOM_HEADERS", "x-gateway: secret-header-4");
    sandbox.write("notes.txt", "top-secret-key-1 and sk-ant-api03-abcdefghij\n");
    let tape = record(&sandbox, &["-p", "my key is top-secret-key-1"]);
    assert_eq!(server.request(0).header("x-api-key"), Some("top-secret-key-1"));
    assert_eq!(server.request(0).header("x-gateway"), Some("secret-header-4"));
    let text = std::fs::read_to_string(&tape).unwrap();
    for secret in ["secret-key-1", "secret-token-2", "secret-cookie-3", "secret-header-4", "sk-ant-api03", "x-api-key"]
    {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("my key is <secret>"), "{text}");
}

#[test]
fn another_prompt_is_named_with_both_sides() {
    let server = ModelServer::script([ScriptedReply::text("Hello.")]);
    let sandbox = here(&server);
    let tape = record(&sandbox, &["-p", "say hello"]);
    let done = replay(&tape, &["-p", "say goodbye"]).expect_code(1);
    assert!(done.stdout.contains("left the recorded way at exchange 1: message 1 (user) differs"), "{done:?}");
    assert!(
        done.stdout.contains("recorded: say hello\n") && done.stdout.contains("now:      say goodbye\n"),
        "{done:?}"
    );
    assert_eq!(done.stderr, "");
}

#[test]
fn another_tool_result_is_named_with_both_sides() {
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "n.txt"})),
        ScriptedReply::text("I see."),
    ]);
    let first = here(&server);
    first.write("n.txt", "one\n");
    let tape = record(&first, &["-p", "look"]);
    let second = elsewhere();
    second.write("n.txt", "two\n");
    let done = run(&second, "--replay", &tape, &["-p", "look", STREAM[0], STREAM[1], STREAM[2]]).expect_code(1);
    let result = done.result();
    let told = result["result"].as_str().unwrap();
    assert_eq!(result["is_error"], true);
    assert!(told.contains("exchange 2: message 3 (user) differs"), "{told}");
    assert!(told.contains("recorded: result: 1\tone") && told.contains("now:      result: 1\ttwo"), "{told}");
}

fn frames(prompts: &[&str]) -> String {
    let frame = |p: &&str| json!({"type": "user", "message": {"role": "user", "content": p}}).to_string() + "\n";
    prompts.iter().map(frame).collect()
}

fn converse(sandbox: &Sandbox, flag: &str, tape: &Path, prompts: &[&str]) -> FinishedRun {
    let args = [flag, tape.to_str().unwrap(), "-p", "--input-format", "stream-json", STREAM[0], STREAM[1], STREAM[2]];
    sandbox.gimlet(&args).stdin(frames(prompts)).run()
}

#[test]
fn order_and_number_of_exchanges_are_checked() {
    let server = ModelServer::script([ScriptedReply::text("A."), ScriptedReply::text("B.")]);
    let sandbox = here(&server);
    let tape = sandbox.root().join("tape.jsonl");
    let _done = converse(&sandbox, "--record", &tape, &["first", "second"]).expect_clean();
    let _same = converse(&elsewhere(), "--replay", &tape, &["first", "second"]).expect_clean();

    let swapped = converse(&elsewhere(), "--replay", &tape, &["second", "first"]).expect_code(1);
    assert!(swapped.stdout.contains("exchange 1"), "{swapped:?}");

    let more = converse(&elsewhere(), "--replay", &tape, &["first", "second", "third"]).expect_code(1);
    let told = more.result()["result"].as_str().unwrap().to_owned();
    assert!(told.contains("exchange 3: the cassette ends here") && told.contains("now:      third"), "{told}");

    let fewer = converse(&elsewhere(), "--replay", &tape, &["first"]).expect_code(1);
    assert_eq!(fewer.result()["result"], "A.");
    assert!(fewer.stderr.contains("exchange 2: it ended here, but 1 more were recorded"), "{}", fewer.stderr);
    assert!(fewer.stderr.contains("recorded: second"), "{}", fewer.stderr);
}

// The tool really fetches a page; the model's answer about it is recorded.
#[test]
fn requests_that_tools_make_are_on_the_tape() {
    let pages = ModelServer::start();
    pages.route("/page", ScriptedReply::status(200).body("text/html", "<h1>Title</h1><p>The answer is 42.</p>"));
    let fetch = json!({"url": format!("{}/page", pages.url()), "prompt": "What is the answer?"});
    let server = ModelServer::script([
        ScriptedReply::tool("WebFetch", fetch),
        ScriptedReply::text("42, it says."),
        ScriptedReply::text("It is 42."),
    ]);
    let sandbox = here(&server);
    let allow = ["-p", "find out", "--allowedTools", "WebFetch"];
    let tape = sandbox.root().join("tape.jsonl");
    let local = "GIMLET_WEBFETCH_ALLOW_LOCAL";
    let tape_text = tape.to_str().unwrap().to_owned();
    let args = |flag: &'static str| [&[flag, &tape_text][..], &allow[..]].concat();
    let done = sandbox.gimlet(&args("--record")).env(local, "1").run().expect_clean();
    assert_eq!(done.stdout, "It is 42.\n");
    assert_eq!(server.requests().len(), 3);
    drop(server);
    let done = elsewhere().gimlet(&args("--replay")).env(local, "1").run().expect_clean();
    assert_eq!(done.stdout, "It is 42.\n");

    pages.route("/page", ScriptedReply::status(200).body("text/html", "<h1>Title</h1><p>The answer is 43.</p>"));
    let done = elsewhere().gimlet(&args("--replay")).env(local, "1").run().expect_code(1);
    assert!(done.stdout.contains("exchange 2") && done.stdout.contains("43"), "{done:?}");
}

// Calls of one message run in parallel, so their requests to the model have no fixed order.
#[test]
fn parallel_requests_of_tools_may_come_in_any_order() {
    let pages = ModelServer::start();
    let slow = |word: &str| ScriptedReply::status(200).body("text/html", format!("<p>{word}</p>"));
    let wait = std::time::Duration::from_millis(300);
    pages.route("/a", slow("alpha"));
    pages.route("/b", slow("beta").delay(wait));
    let fetch = |name: &str| json!({"url": format!("{}/{name}", pages.url()), "prompt": "Repeat it."});
    let both = vec![ScriptedBlock::tool("WebFetch", &fetch("a")), ScriptedBlock::tool("WebFetch", &fetch("b"))];
    let mut first = true;
    let server = ModelServer::with_handler(move |request| {
        let asked = request.last_user_text();
        match () {
            () if std::mem::take(&mut first) => ScriptedReply::message(both.clone()),
            () if asked.contains("alpha") => ScriptedReply::text("It is alpha."),
            () if asked.contains("beta") => ScriptedReply::text("It is beta."),
            () => ScriptedReply::text("Both."),
        }
    });
    let sandbox = here(&server);
    let tape = sandbox.root().join("tape.jsonl");
    let local = "GIMLET_WEBFETCH_ALLOW_LOCAL";
    let args = |flag| [flag, tape.to_str().unwrap(), "-p", "look", "--allowedTools", "WebFetch"];
    let done = sandbox.gimlet(&args("--record")).env(local, "1").run().expect_clean();
    assert_eq!((done.stdout.as_str(), server.requests().len()), ("Both.\n", 4));
    pages.route("/a", slow("alpha").delay(wait));
    pages.route("/b", slow("beta"));
    let done = elsewhere().gimlet(&args("--replay")).env(local, "1").run().expect_clean();
    assert_eq!(done.stdout, "Both.\n");
}

/// The first match of `prefix` followed by a name, in the last result.
fn named(request: &CapturedRequest, prefix: &str) -> String {
    let results = request.tool_results();
    let text = results.last().unwrap()["content"].as_str().unwrap().to_owned();
    let at = text.find(prefix).unwrap_or_else(|| panic!("{prefix} in {text}")) + prefix.len();
    text[at..]
        .chars()
        .take_while(|c| !c.is_whitespace() && !matches!(c, ',' | '<'))
        .collect::<String>()
        .trim_end_matches('.')
        .to_owned()
}

// Task ids and file names are random: the replayed call must use those of this run.
#[test]
fn names_made_up_by_tools_are_found_again() {
    let mut step = 0;
    let server = ModelServer::with_handler(move |request| {
        step += 1;
        match step {
            1 => ScriptedReply::tool("Bash", json!({"command": "echo from afar", "run_in_background": true})),
            2 => ScriptedReply::tool(
                "TaskOutput",
                json!({"task_id": named(request, "as task "), "block": true, "timeout": 20000}),
            ),
            3 => ScriptedReply::tool("Bash", json!({"command": "seq 1 9000"})),
            4 => ScriptedReply::tool("Read", json!({"file_path": named(request, "saved to: "), "limit": 3})),
            _ => ScriptedReply::text("Done."),
        }
    });
    let sandbox = here(&server);
    let args = ["-p", "work", "--allowedTools", "Bash"];
    let tape = record(&sandbox, &[&args[..], &STREAM[..]].concat());
    assert_eq!(server.requests().len(), 5, "{:?}", server.last_request().tool_results());
    let last = server.last_request();
    assert!(last.tool_results().iter().all(|r| r["is_error"] != true), "{:?}", last.tool_results());
    drop(server);
    let done = replay(&tape, &args).expect_clean();
    assert_eq!(done.stdout, "Done.\n");
}

#[test]
fn a_resumed_conversation_has_its_own_cassette() {
    let server = ModelServer::script([ScriptedReply::text("Blue."), ScriptedReply::text("I said blue.")]);
    let sandbox = here(&server);
    let (one, two) = (sandbox.root().join("1.jsonl"), sandbox.root().join("2.jsonl"));
    let _first = run(&sandbox, "--record", &one, &["-p", "a colour"]).expect_clean();
    let _second = run(&sandbox, "--record", &two, &["-c", "-p", "which?"]).expect_clean();
    let other = elsewhere();
    let _first = run(&other, "--replay", &one, &["-p", "a colour"]).expect_clean();
    let done = run(&other, "--replay", &two, &["-c", "-p", "which?"]).expect_clean();
    assert_eq!(done.stdout, "I said blue.\n");
}

#[test]
fn faults_of_the_api_are_part_of_the_recording() {
    let server = ModelServer::script([
        ScriptedReply::error(529, "overloaded_error", "busy").header("retry-after-ms", "1"),
        ScriptedReply::text("At last."),
    ]);
    let args = ["-p", "hi", STREAM[0], STREAM[1], STREAM[2]];
    let sandbox = here(&server);
    let tape = record(&sandbox, &args);
    drop(server);
    let lines = replay(&tape, &args).expect_clean().lines();
    assert!(lines.iter().any(|l| l["subtype"] == "api_retry" && l["error_status"] == 529), "{lines:?}");
    assert_eq!(lines.last().unwrap()["result"], "At last.");
}

#[test]
fn unusable_files_are_refused_before_anything_happens() {
    let sandbox = elsewhere();
    sandbox.write("notes.txt", "not a cassette\n");
    for (flag, file, part) in [
        ("--replay", "missing.jsonl", "cannot read the cassette"),
        ("--replay", "notes.txt", "not a cassette"),
        ("--record", "no/such/dir.jsonl", "cannot record to"),
    ] {
        let done = sandbox.gimlet(&[flag, file, "-p", "hi"]).run().expect_code(1);
        assert!(done.stderr.contains(part) && done.stderr.lines().count() == 1, "{flag} {file}: {}", done.stderr);
        assert_eq!(done.stdout, "");
    }
    let done = sandbox.gimlet(&["--record", "a", "--replay", "b", "-p", "hi"]).run().expect_code(1);
    assert!(done.stderr.contains("cannot be used together"), "{}", done.stderr);
}
