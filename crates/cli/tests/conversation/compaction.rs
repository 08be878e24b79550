//! Compaction through the binary: when it happens, what is written, what is sent afterwards, and that a conversation
//! far larger than its window runs to its end.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::{CapturedRequest, ModelServer, ReplyGate, Sandbox, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const STREAM: [&str; 3] = ["--output-format", "stream-json", "--verbose"];
/// A model that is not in the catalogue: the environment sets its window.
const SMALL: [&str; 2] = ["--model", "small-model"];
const REFUSED: &str = "prompt is too long: 21000 tokens > 20000 maximum";

fn sandbox(server: &ModelServer) -> Sandbox {
    let mut here = Sandbox::with_server(EXE, server);
    here.set("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "20000");
    here
}

fn refusal() -> ScriptedReply {
    ScriptedReply::error(400, "invalid_request_error", REFUSED)
}

fn args<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&["-p"], rest, &SMALL, &STREAM].concat()
}

fn kinds(lines: &[Value]) -> Vec<String> {
    let of = |line: &Value| {
        let kind = line["type"].as_str().unwrap();
        match (kind, line["subtype"].as_str(), line["status"].as_str()) {
            ("system", Some("status"), Some(status)) => format!("status {status}"),
            ("system", Some("status"), None) => {
                format!("status null {}", line["compact_result"].as_str().unwrap_or(""))
            }
            (_, Some(subtype), _) => format!("{kind}/{subtype}"),
            (_, None, _) => kind.to_owned(),
        }
    };
    lines.iter().map(of).collect()
}

fn of_kind<'a>(lines: &'a [Value], subtype: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["subtype"] == subtype).collect()
}

fn is_summary_request(request: &CapturedRequest) -> bool {
    request.last_user_text().contains("hand-over text only")
}

// [TST-106] [TST-192] [SDK-152] The API refuses the prompt: the history is summarised and the turn goes on.
#[test]
fn a_refused_prompt_is_summarised_and_the_turn_goes_on() {
    let server = ModelServer::start();
    let here = sandbox(&server);
    here.write("CLAUDE.md", "Always answer in rhyme.\n");
    server.push(ScriptedReply::text("First answer."));
    server.push(refusal());
    server.push(ScriptedReply::text("SUMMARY: the user greeted me."));
    server.push(ScriptedReply::text("Second answer."));
    let input = [prompt("hello there"), prompt("and now this")].concat();
    let done = here.gimlet(&args(&["--input-format", "stream-json"])).stdin(input).run();
    assert_eq!(done.code(), 0, "{}", done.stderr);
    let lines = done.lines();
    let second = lines.iter().skip_while(|l| l["type"] != "result").skip(1).cloned().collect::<Vec<_>>();
    assert_eq!(
        kinds(&second),
        [
            "system/init",
            "status compacting",
            "status null success",
            "system/compact_boundary",
            "user",
            "assistant",
            "result/success"
        ]
    );
    let boundary = of_kind(&lines, "compact_boundary")[0];
    assert_eq!(boundary["compact_metadata"]["trigger"], "auto");
    assert!(boundary["compact_metadata"]["pre_tokens"].as_u64().unwrap() > 0);
    assert!(boundary["logical_parent_uuid"].is_string());
    // [F-B5] What is kept besides the summary.
    let (kept, segment) =
        (&boundary["compact_metadata"]["preserved_messages"], &boundary["compact_metadata"]["preserved_segment"]);
    assert_eq!(kept["uuids"], kept["all_uuids"], "{boundary}");
    assert_eq!(kept["anchor_uuid"], segment["anchor_uuid"], "{boundary}");
    assert_eq!(segment["head_uuid"], kept["uuids"][0], "{boundary}");
    assert_eq!(segment["tail_uuid"], *kept["uuids"].as_array().unwrap().last().unwrap(), "{boundary}");
    assert_eq!(second[4]["isSynthetic"], true);
    let requests = server.requests();
    assert!(is_summary_request(&requests[2]));
    let last = requests[3].all_text();
    assert!(last.contains("SUMMARY: the user greeted me."), "{last}");
    assert!(last.contains("and now this"), "the user's latest words are kept: {last}");
    assert!(last.contains("Always answer in rhyme."), "instructions are told again: {last}");
    assert_eq!(last.matches("and now this").count(), 1, "kept once: {last}");
}

fn prompt(text: &str) -> String {
    format!("{}\n", json!({"type": "user", "message": {"role": "user", "content": text}}))
}

// [TST-157] [TST-179] [SDK-168] [SDK-169] The file: boundary, summary, kept messages by uuid; resuming sends what the
// live session would have sent.
#[test]
fn the_file_resumes_to_the_same_context() {
    let server = ModelServer::start();
    let here = sandbox(&server);
    server.push(ScriptedReply::text("One."));
    server.push(refusal());
    server.push(ScriptedReply::text("SUMMARY one."));
    server.push(ScriptedReply::text("Two."));
    server.push(ScriptedReply::text("Three."));
    let input = [prompt("first"), prompt("second"), prompt("third")].concat();
    let done = here.gimlet(&args(&["--input-format", "stream-json"])).stdin(input).run();
    assert_eq!(done.code(), 0, "{}", done.stderr);
    let file = here.transcript();
    let boundary = file.iter().position(|l| l["subtype"] == "compact_boundary").unwrap();
    assert_eq!(file[boundary]["parentUuid"], Value::Null);
    assert!(file[boundary]["logicalParentUuid"].is_string());
    assert_eq!(file[boundary]["content"], "Conversation compacted");
    let summary = &file[boundary + 1];
    assert_eq!(summary["isCompactSummary"], true);
    assert_eq!(summary["isVisibleInTranscriptOnly"], true);
    assert_eq!(summary["parentUuid"], file[boundary]["uuid"]);
    let kept = &file[boundary]["compactMetadata"]["preservedMessages"];
    assert_eq!(kept["anchorUuid"], summary["uuid"]);
    assert!(!kept["uuids"].as_array().unwrap().is_empty());
    let session = file[boundary]["sessionId"].as_str().unwrap().to_owned();

    let live = server.requests().pop().unwrap();
    server.push(ScriptedReply::text("Four."));
    let done = here.gimlet(&args(&["fourth", "--resume", &session])).run();
    assert_eq!(done.code(), 0, "{}", done.stderr);
    let resumed = server.requests().pop().unwrap();
    let plain = |request: &CapturedRequest| {
        let mut messages = request.messages().to_vec();
        messages.iter_mut().for_each(strip_marks);
        messages
    };
    let (live, resumed) = (plain(&live), plain(&resumed));
    assert_eq!(resumed[..live.len()], live[..], "the resumed conversation begins with the live one");
}

/// Strings and one text block are the same content; cache marks move.
fn strip_marks(message: &mut Value) {
    for block in message["content"].as_array_mut().into_iter().flatten() {
        block.as_object_mut().unwrap().remove("cache_control");
    }
}

// [TST-193] The summary request is the next request with one more text: its prefix is cached.
#[test]
fn the_summary_request_shares_the_cached_prefix() {
    let server = ModelServer::start();
    let here = sandbox(&server);
    server.push(ScriptedReply::text("One."));
    server.push(ScriptedReply::text("SUMMARY"));
    let input = [prompt("first"), prompt("/compact keep the names")].concat();
    let done = here.gimlet(&args(&["--input-format", "stream-json"])).stdin(input).run();
    assert_eq!(done.code(), 0, "{}", done.stderr);
    let requests = server.requests();
    let (first, summary) = (&requests[0], &requests[1]);
    assert_eq!(first.json["system"], summary.json["system"]);
    assert_eq!(first.json["tools"], summary.json["tools"]);
    let (mut before, mut after) = (first.messages().to_vec(), summary.messages().to_vec());
    before.iter_mut().chain(after.iter_mut()).for_each(strip_marks);
    assert_eq!(after[..before.len()], before[..]);
    assert!(summary.last_user_text().contains("keep the names"));
}

// [SDK-151] [TST-192] `/compact`: status pair, init, boundary, summary, the command's output, result.
#[test]
fn the_command_answers_in_the_documented_order() {
    let server = ModelServer::start();
    let here = sandbox(&server);
    server.push(ScriptedReply::text("One."));
    server.push(ScriptedReply::text("SUMMARY"));
    server.push(ScriptedReply::text("Two."));
    let input = [prompt("first"), prompt("/compact"), prompt("go on")].concat();
    let done = here.gimlet(&args(&["--input-format", "stream-json"])).stdin(input).run();
    assert_eq!(done.code(), 0, "{}", done.stderr);
    let lines = done.lines();
    let after_first = lines.iter().skip_while(|l| l["type"] != "result").skip(1).cloned().collect::<Vec<_>>();
    assert_eq!(
        kinds(&after_first)[..7],
        [
            "status compacting",
            "status null success",
            "system/init",
            "system/compact_boundary",
            "user",
            "user",
            "result/success"
        ]
    );
    assert_eq!(after_first[3]["compact_metadata"]["trigger"], "manual");
    assert_eq!(after_first[5]["isReplay"], true);
    assert_eq!(after_first[6]["local_command"], "compact");
    let last = server.requests().pop().unwrap().all_text();
    assert!(last.contains("SUMMARY") && !last.contains("One."), "{last}");
}

// A refused prompt is taken back; the summary before it stays, live and when the session is resumed.
#[test]
fn a_refused_prompt_leaves_the_summary() {
    let server = ModelServer::start();
    let here = sandbox(&server);
    let refused = || ScriptedReply::text("No.").stop_reason("refusal");
    for reply in [ScriptedReply::text("One."), ScriptedReply::text("SUMMARY"), refused(), refused()] {
        server.push(reply);
    }
    server.push(ScriptedReply::text("Two."));
    let input = [prompt("first"), prompt("/compact"), prompt("FORBIDDEN"), prompt("go on")].concat();
    let done = here.gimlet(&args(&["--input-format", "stream-json"])).stdin(input).run();
    let session = done.lines()[0]["session_id"].as_str().unwrap().to_owned();
    server.push(refused());
    server.push(refused());
    for words in ["FORBIDDEN", "harmless"] {
        here.gimlet(&args(&[words, "--resume", &session])).run();
        server.push(ScriptedReply::text("Three."));
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 8, "two for each refused prompt");
    for request in [&requests[4], &requests[7]] {
        let text = request.all_text();
        assert!(text.contains("SUMMARY") && !text.contains("FORBIDDEN"), "{text}");
    }
}

// [SDK-151] Nothing to compact, or switched off: the pair of frames still comes.
#[test]
fn the_command_on_nothing_says_so() {
    let server = ModelServer::start();
    let here = sandbox(&server);
    for (variable, words) in [("X_UNUSED", "Nothing to compact"), ("DISABLE_COMPACT", "disabled")] {
        let done = here.gimlet(&args(&["/compact"])).env(variable, "1").run();
        assert_eq!(done.code(), 0, "{}", done.stderr);
        let lines = done.lines();
        assert_eq!(kinds(&lines)[..2], ["status compacting", "status null failed"]);
        assert!(lines.last().unwrap()["result"].as_str().unwrap().contains(words), "{lines:#?}");
    }
    assert!(server.requests().is_empty());
}

// [TST-197] [TST-192] A conversation ten times the window, built by its own tool results, runs to its end: no request
// is larger than the window, and the user's words and the instructions are in every one.
#[test]
fn ten_windows_run_to_the_end() {
    const READS: usize = 60;
    let mut reads = 0;
    let server = ModelServer::with_handler(move |request| {
        if is_summary_request(request) {
            return ScriptedReply::text("SUMMARY of the pages so far.");
        }
        reads += 1;
        if reads <= READS {
            ScriptedReply::tool("Read", json!({"file_path": "page.txt", "offset": 1 + reads % 3}))
        } else {
            ScriptedReply::text("All pages were read.")
        }
    });
    let here = sandbox(&server);
    here.write("CLAUDE.md", "House rule 7: be brief.\n");
    let page: String = (0..220).map(|n| format!("line {n} with some words of text")).collect::<Vec<_>>().join("\n");
    here.write("page.txt", &page);
    let done = here.gimlet(&args(&["Read every page, dear machine."])).run();
    assert_eq!(done.code(), 0, "{}", done.stderr);
    let lines = done.lines();
    assert_eq!(lines.last().unwrap()["result"], "All pages were read.");
    let boundaries = of_kind(&lines, "compact_boundary").len();
    assert!(boundaries >= 8, "{boundaries} compactions");
    let requests = server.requests();
    let whole: usize = READS * page.len();
    assert!(whole / 4 > 10 * 10_000, "the pages alone are ten windows");
    for request in requests.iter().filter(|r| !is_summary_request(r)) {
        let text = request.all_text();
        assert!(text.contains("Read every page, dear machine."), "the request keeps the user's words");
        assert!(text.contains("House rule 7"), "the request keeps the instructions");
        assert!(text.len() / 4 < 20_000, "{} bytes fit the window", text.len());
    }
}

// [TST-195] A conversation that is full again right after each summary stops with an explanation.
#[test]
fn endless_refills_stop() {
    let server = ModelServer::with_handler(|request| {
        if is_summary_request(request) {
            return ScriptedReply::text("SUMMARY");
        }
        ScriptedReply::tool("Read", json!({"file_path": "large.txt"}))
    });
    let here = sandbox(&server);
    here.write("large.txt", "words that fill the window\n".repeat(2_500));
    let done = here.gimlet(&args(&["hello"])).run();
    assert_eq!(done.code(), 1);
    let lines = done.lines();
    let result = lines.last().unwrap();
    assert_eq!(result["terminal_reason"], "rapid_refill_breaker", "{result:#}");
    assert!(result["result"].as_str().unwrap().contains("too large"));
}

// [TST-195] Three summaries in a row that fail end the attempts; the conversation is unchanged.
#[test]
fn failing_summaries_leave_the_conversation_as_it_was() {
    let server = ModelServer::with_handler(|request| {
        if is_summary_request(request) {
            ScriptedReply::error(400, "invalid_request_error", "no summaries today")
        } else if request.all_text().contains("two") {
            refusal()
        } else {
            ScriptedReply::text("An answer.")
        }
    });
    let here = sandbox(&server);
    let done =
        here.gimlet(&args(&["--input-format", "stream-json"])).stdin([prompt("one"), prompt("two")].concat()).run();
    assert_eq!(done.code(), 1);
    let lines = done.lines();
    assert_eq!(lines.last().unwrap()["terminal_reason"], "prompt_too_long");
    assert!(kinds(&lines).contains(&"status null failed".to_owned()));
    assert!(of_kind(&here.transcript(), "compact_boundary").is_empty());
}

// [TST-201] An interrupt during the summary ends the turn and changes nothing.
#[test]
fn an_interrupt_during_the_summary_changes_nothing() {
    let server = ModelServer::start();
    let here = sandbox(&server);
    let gate = ReplyGate::new();
    server.push(ScriptedReply::text("One."));
    server.push(ScriptedReply::text("SUMMARY").gate(&gate));
    let mut running = here.gimlet(&args(&["--input-format", "stream-json"])).stdin_open().spawn();
    running.send_user("first");
    running.wait_for("result");
    running.send_user("/compact");
    gate.wait_until_reached(1);
    running.interrupt();
    let result = running.wait_for("result");
    assert_eq!(result["terminal_reason"], "aborted_streaming", "{result:#}");
    gate.open_all();
    running.close_stdin();
    assert!(of_kind(&here.transcript(), "compact_boundary").is_empty());
}

// [EXT-147] [EXT-211] After the summary the texts of used skills and the listing are sent again.
#[test]
fn skills_and_listings_come_back() {
    let server = ModelServer::start();
    let here = sandbox(&server);
    let long = "Clause. ".repeat(4_000);
    for (name, text) in [("brief", "Write in telegram style, stop."), ("lengthy", long.as_str())] {
        here.write(
            &format!(".claude/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: About {name}\n---\n{text}\n"),
        );
    }
    for text in ["One.", "Two.", "SUMMARY", "Three."] {
        server.push(ScriptedReply::text(text));
    }
    let input = [prompt("/lengthy"), prompt("/brief"), prompt("/compact"), prompt("go on")].concat();
    let done = here.gimlet(&args(&["--input-format", "stream-json"])).stdin(input).run();
    assert_eq!(done.code(), 0, "{}", done.stderr);
    let last = server.requests().pop().unwrap().all_text();
    assert!(last.contains("Write in telegram style, stop."), "{last}");
    assert!(last.contains("- brief"), "the listing is told again: {last}");
    let clauses = last.matches("Clause. ").count();
    assert!((1_000..2_100).contains(&clauses), "cut to 5,000 tokens: {clauses}");
}

// [EXT-100] [EXT-101] [EXT-96] PreCompact can refuse; PostCompact gets the summary; SessionStart says why it runs.
#[test]
fn hooks_see_and_refuse_compactions() {
    let server = ModelServer::start();
    let here = sandbox(&server);
    let log = here.project().join("log");
    let note = format!("cat >> {0}; echo >> {0}", log.display());
    let hook = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let refuse = format!("{note}; test ! -e refuse || {{ echo not today >&2; exit 2; }}");
    let hooks = json!({"PreCompact": hook(&refuse), "PostCompact": hook(&note), "SessionStart": hook(&note)});
    here.write_config("settings.json", json!({"hooks": hooks}).to_string());
    here.write("refuse", "");
    server.push(ScriptedReply::text("One."));
    let input = [prompt("first"), prompt("/compact keep names")].concat();
    let done = here.gimlet(&args(&["--input-format", "stream-json"])).stdin(input).run();
    let result = done.lines().pop().unwrap();
    assert!(result["result"].as_str().unwrap().contains("not today"), "{result}");
    assert_eq!(server.requests().len(), 1, "nothing was asked");
    std::fs::remove_file(here.project().join("refuse")).unwrap();
    std::fs::remove_file(&log).unwrap();
    for text in ["One.", "SUMMARY of it"] {
        server.push(ScriptedReply::text(text));
    }
    let input = [prompt("first"), prompt("/compact keep names")].concat();
    here.gimlet(&args(&["--input-format", "stream-json"])).stdin(input).run();
    let told: Vec<Value> =
        std::fs::read_to_string(&log).unwrap().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |name: &str| told.iter().filter(|event| event["hook_event_name"] == name).collect::<Vec<_>>();
    assert_eq!(of("PreCompact")[0]["custom_instructions"], "keep names");
    assert_eq!(of("PostCompact")[0]["compact_summary"], "SUMMARY of it");
    let sources: Vec<_> = of("SessionStart").iter().map(|event| event["source"].clone()).collect();
    assert_eq!(sources, ["startup", "compact"]);
}

// [TST-194] Files that were in use and open todos are sent again, in their current state.
#[test]
fn what_was_in_use_comes_back() {
    let server = ModelServer::start();
    let here = sandbox(&server);
    let many: Vec<String> = (0..7).map(|n| format!("file{n}.txt")).collect();
    for name in &many {
        here.write(name, format!("content of {name}\n"));
        server.push(ScriptedReply::tool("Read", json!({"file_path": name})));
    }
    let todo =
        json!({"todos": [{"content": "Paint the shed", "status": "pending", "activeForm": "Painting the shed"}]});
    server.push(ScriptedReply::tool("TodoWrite", todo));
    for text in ["Read.", "SUMMARY"] {
        server.push(ScriptedReply::text(text));
    }
    server.push(ScriptedReply::tool(
        "Edit",
        json!({"file_path": "file6.txt", "old_string": "changed", "new_string": "edited"}),
    ));
    server.push(ScriptedReply::text("Done."));
    let rest = ["--input-format", "stream-json", "--allowedTools", "Edit", "TodoWrite"];
    let mut run = here.gimlet(&args(&rest)).env("CLAUDE_CODE_ENABLE_TASKS", "0").stdin_open().spawn();
    run.send_user("read them");
    run.wait_for("result");
    here.write("file6.txt", "changed meanwhile\n");
    run.send_user("/compact");
    run.wait_for("result");
    run.send_user("go on");
    run.wait_for("result");
    run.close_stdin();
    drop(run.finish());
    let requests = server.requests();
    let after = requests[requests.len() - 2].all_text();
    for name in &many[2..6] {
        assert!(after.contains(&format!("content of {name}")), "{name}: {after}");
    }
    assert!(after.contains("changed meanwhile") && !after.contains("content of file1.txt"), "{after}");
    assert!(after.contains("Paint the shed"), "{after}");
    assert_eq!(here.read("file6.txt"), "edited meanwhile\n");
}
