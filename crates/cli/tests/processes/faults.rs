//! Faults of the model server through the real binary: each ends in its documented outcome, tools never run twice or on
//! half an input, and the host is informed of every retry before it happens.

#![expect(clippy::unwrap_used, reason = "a panic is the report of a test")]

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::{FinishedRun, ModelServer, ReplyGate, Sandbox, ScriptedBlock, ScriptedEvent, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

/// The base of retry waits in milliseconds, instead of half a second.
const BASE_MS: u64 = 20;

struct Case {
    server: ModelServer,
    sandbox: Sandbox,
}

impl Case {
    fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let server = ModelServer::script(replies);
        let mut sandbox = Sandbox::with_server(EXE, &server);
        sandbox.set("GIMLET_RETRY_BASE_MS", BASE_MS.to_string());
        Self { server, sandbox }
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.sandbox.set(name, value);
        self
    }

    fn run(&self, more: &[&str]) -> FinishedRun {
        let mut args = vec!["-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"];
        args.extend(more);
        self.sandbox.gimlet(&args).run()
    }

    /// Runs to an answer; checks that every reply of the script was requested, and nothing else.
    fn answer(&self, expected: &str) -> Vec<Value> {
        let lines = self.run(&[]).expect_clean().lines();
        let result = lines.last().unwrap();
        assert_eq!((&result["result"], &result["is_error"]), (&json!(expected), &json!(false)), "{result}");
        assert_eq!(self.server.unused_replies(), 0);
        let told = lines.iter().filter(|l| l["type"] == "assistant" && l.to_string().contains(expected)).count();
        assert_eq!(told, 1, "the answer is told once");
        lines
    }

    /// Runs to a failure of the API after `requests` requests; checks everything the failure must show.
    fn failure(&self, requests: usize) -> Value {
        let run = self.run(&[]).expect_code(1);
        assert_eq!(run.stderr, "");
        assert_eq!(self.server.requests().len(), requests);
        let lines = run.lines();
        let (result, synthetic) = (lines.last().unwrap().clone(), &lines[lines.len() - 2]);
        assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)));
        assert!(result.get("errors").is_none_or(|e| e == &json!([])), "{result}");
        assert_eq!(synthetic["type"], "assistant");
        assert_eq!(synthetic["message"]["model"], "<synthetic>");
        assert_eq!(synthetic["message"]["content"][0]["text"], result["result"]);
        let on_disk = self.sandbox.transcript();
        let line = on_disk.iter().find(|l| l["uuid"] == synthetic["uuid"]).unwrap();
        assert_eq!((&line["isApiErrorMessage"], &line["error"]), (&json!(true), &synthetic["error"]));
        json!({"status": result["api_error_status"], "reason": result["terminal_reason"], "text": result["result"],
               "error": synthetic["error"]})
    }
}

fn retries(lines: &[Value]) -> Vec<Value> {
    lines.iter().filter(|l| l["subtype"] == "api_retry").cloned().collect()
}

fn with_status(status: u16) -> ScriptedReply {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    ScriptedReply::error(status, kind, "of its own making")
}

/// A call that leaves a line on disk each time it runs.
fn counting_call() -> Vec<ScriptedBlock> {
    vec![
        ScriptedBlock::text("Working."),
        ScriptedBlock::tool_with_id("toolu_1", "Bash", &json!({"command": "echo ran >> runs"})),
    ]
}

fn events_until(blocks: Vec<ScriptedBlock>, kind: &str, nth: usize) -> usize {
    let events = ScriptedReply::events(blocks);
    let hits = events.iter().enumerate().filter(|(_, e)| e.name.as_deref() == Some(kind));
    hits.map(|(at, _)| at + 1).nth(nth).unwrap()
}

// [TST-107] [CLI-62] Both minimums apply: the time the server asked for, and the backoff.
#[test]
fn a_throttled_request_waits_for_both_minimums() {
    let case = Case::new([
        with_status(429).header("retry-after", "1"),
        with_status(429),
        with_status(429).header("retry-after-ms", "5"),
        ScriptedReply::text("At last."),
    ]);
    let lines = case.answer("At last.");
    let told = retries(&lines);
    assert_eq!(told.len(), 3);
    for (at, retry) in told.iter().enumerate() {
        assert_eq!(retry["attempt"], at + 1);
        assert_eq!(retry["max_retries"], 10);
        assert_eq!((&retry["error_status"], &retry["error"]), (&json!(429), &json!("rate_limit")));
        assert!(retry["uuid"].is_string() && retry["session_id"].is_string());
    }
    let times: Vec<Instant> = case.server.requests().iter().map(|r| r.received_at).collect();
    let least = [1000, BASE_MS * 2 * 3 / 4, BASE_MS * 4 * 3 / 4];
    for (at, least) in least.into_iter().enumerate() {
        let delay = told[at]["retry_delay_ms"].as_u64().unwrap();
        assert!(delay >= least, "{told:#?}");
        assert!(times[at + 1] - times[at] >= Duration::from_millis(least));
    }
    assert!(told[1]["retry_delay_ms"].as_u64().unwrap() <= BASE_MS * 2 * 5 / 4 + 1);
    let noted: Vec<Value> = case.sandbox.transcript().into_iter().filter(|l| l["subtype"] == "api_error").collect();
    assert_eq!(noted.len(), 3);
    assert_eq!((&noted[0]["retryAttempt"], &noted[0]["maxRetries"]), (&json!(1), &json!(10)));
}

// [CLI-62] The line comes before the wait, not after it.
#[test]
fn a_retry_is_told_before_it_is_waited_for() {
    let case = Case::new([with_status(429).header("retry-after", "60")]);
    let args = ["-p", "go", "--output-format", "stream-json", "--verbose"];
    let mut run = case.sandbox.gimlet(&args).spawn();
    run.wait_for("system");
    let retry = run.wait_for("system");
    assert_eq!((&retry["subtype"], &retry["retry_delay_ms"]), (&json!("api_retry"), &json!(60_000)));
    run.interrupt();
    let ended = run.finish_within(Duration::from_secs(5)).expect_code(1);
    assert_eq!(ended.result()["terminal_reason"], "aborted_streaming");
}

// [TST-108] [CLI-62]
#[test]
fn passing_faults_before_the_answer_are_retried() {
    let cases: [(ScriptedReply, Value, &str); 6] = [
        (with_status(500), json!(500), "server_error"),
        (with_status(503), json!(503), "server_error"),
        (with_status(529), json!(529), "overloaded"),
        (with_status(408), json!(408), "invalid_request"),
        (ScriptedReply::reset(), Value::Null, "unknown"),
        (with_status(400).header("x-should-retry", "true"), json!(400), "invalid_request"),
    ];
    for (fault, status, category) in cases {
        let case = Case::new([fault, ScriptedReply::text("Recovered.")]);
        let lines = case.answer("Recovered.");
        let told = retries(&lines);
        assert_eq!(told.len(), 1);
        assert_eq!((&told[0]["error_status"], &told[0]["error"]), (&status, &json!(category)));
    }
}

// [TST-108] [TST-141] A partial answer is discarded and requested again.
#[test]
fn an_answer_cut_in_its_text_comes_once() {
    let pieces = || vec![ScriptedBlock::TextPieces(vec!["One ".into(), "two ".into(), "three.".into()])];
    let at = events_until(pieces(), "content_block_delta", 1);
    let shapes: [fn(ScriptedReply) -> ScriptedReply; 3] =
        [|r| r, ScriptedReply::cut_by_reset, ScriptedReply::cut_cleanly];
    for shape in shapes {
        let case =
            Case::new([shape(ScriptedReply::message(pieces()).cut_after_events(at)), ScriptedReply::message(pieces())]);
        let lines = case.answer("One two three.");
        assert_eq!(retries(&lines).len(), 1);
        assert_eq!(retries(&lines)[0]["error_status"], Value::Null);
        let written: Vec<Value> = case.sandbox.transcript().into_iter().filter(|l| l["type"] == "assistant").collect();
        assert_eq!(written.len(), 1, "nothing of the half answer is recorded");
        assert_eq!(lines.last().unwrap()["usage"]["output_tokens"], 5);
    }
}

// [TST-108] [TST-102]
#[test]
fn a_call_cut_in_its_input_runs_once_and_whole() {
    let call =
        || vec![ScriptedBlock::tool_with_id("toolu_1", "Bash", &json!({"command": "echo ran >> runs; echo tail"}))];
    for nth in 0..3 {
        let at = events_until(call(), "content_block_delta", nth);
        let case = Case::new([
            ScriptedReply::message(call()).cut_after_events(at),
            ScriptedReply::message(call()),
            ScriptedReply::text("Done."),
        ]);
        let lines = case.answer("Done.");
        assert_eq!(case.sandbox.read("runs"), "ran\n");
        assert_eq!(retries(&lines).len(), 1);
        assert_eq!(case.server.request(2).tool_result_text("toolu_1"), "tail");
    }
}

// [TST-108] Complete blocks are kept: the call runs once, and nothing is requested again.
#[test]
fn a_cut_after_a_whole_call_is_not_retried() {
    let at = events_until(counting_call(), "content_block_stop", 1);
    let half_more = || {
        let mut blocks = counting_call();
        blocks.push(ScriptedBlock::tool_with_id("toolu_2", "Bash", &json!({"command": "echo half >> runs"})));
        blocks
    };
    let inside_the_next = events_until(half_more(), "content_block_start", 2) + 2;
    let faults = [
        ScriptedReply::message(counting_call()).cut_after_events(at),
        ScriptedReply::message(counting_call()).cut_after_events(at).cut_by_reset(),
        ScriptedReply::message(counting_call()).cut_after_events(at + 1),
        ScriptedReply::message(half_more()).cut_after_events(inside_the_next),
    ];
    for fault in faults {
        let case = Case::new([fault, ScriptedReply::text("Done.")]);
        let lines = case.answer("Done.");
        assert!(retries(&lines).is_empty());
        assert_eq!(case.sandbox.read("runs"), "ran\n");
        let sent: Vec<Value> = case.server.request(1).tool_uses();
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0]["id"], "toolu_1");
        let told = lines.iter().filter(|l| l["message"]["content"][0]["type"] == "tool_use").count();
        assert_eq!(told, 1);
    }
}

// [TST-108] A drop after thinking: two quick tries outside the budget, then the turn fails.
#[test]
fn a_drop_after_thinking_is_asked_again_twice() {
    let blocks = || vec![ScriptedBlock::thinking("Hm.", "c2ln"), ScriptedBlock::text("Thought through.")];
    let at = events_until(blocks(), "content_block_stop", 0);
    let broken = || ScriptedReply::message(blocks()).cut_after_events(at);
    let case = Case::new([broken(), broken(), ScriptedReply::message(blocks())]);
    let lines = case.answer("Thought through.");
    assert!(retries(&lines).is_empty());
    let case = Case::new([broken(), broken(), broken()]);
    assert_eq!(case.failure(3)["reason"], "api_error");
}

// [TST-108]
#[test]
fn an_error_event_in_the_stream_is_a_fault_of_its_own_status() {
    let mut events = ScriptedReply::events(vec![ScriptedBlock::TextPieces(vec!["Half ".into(), "of it".into()])]);
    events.truncate(4);
    events.push(ScriptedEvent::error("overloaded_error", "Overloaded"));
    let case = Case::new([ScriptedReply::sse(events), ScriptedReply::text("Whole.")]);
    let told = retries(&case.answer("Whole."));
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["error_status"], &told[0]["error"]), (&json!(529), &json!("overloaded")));
}

// [TST-108] An error event after a whole call: the call counts.
#[test]
fn an_error_event_after_a_whole_call_keeps_the_call() {
    let mut events = ScriptedReply::events(counting_call());
    events.truncate(events_until(counting_call(), "content_block_stop", 1));
    events.push(ScriptedEvent::error("api_error", "Internal"));
    let case = Case::new([ScriptedReply::sse(events), ScriptedReply::text("Done.")]);
    assert!(retries(&case.answer("Done.")).is_empty());
    assert_eq!(case.sandbox.read("runs"), "ran\n");
}

#[test]
fn malformed_events_are_retried() {
    let text = || ScriptedReply::text("Readable.");
    let faults = [
        text().corrupt_event(0, "{not json"),
        text().corrupt_event(3, r#"{"type":"content_block_delta","index":0,"delta":"#),
        ScriptedReply::status(200).body("text/event-stream", "\u{0}\u{1}garbage\n\nmore: garbage\n\n"),
        ScriptedReply::status(200).body("text/html", "<html>captive portal</html>"),
    ];
    for fault in faults {
        let case = Case::new([fault, text()]);
        let told = retries(&case.answer("Readable."));
        assert_eq!((told.len(), &told[0]["error"]), (1, &json!("unknown")));
    }
}

// [TST-111]
#[test]
fn silence_is_ended_and_asked_again_once() {
    let silent = || ScriptedReply::text("Never.").cut_after_events(1).cut_by_stall();
    let case = Case::new([silent(), ScriptedReply::text("Awake.")]).set("GIMLET_STREAM_SILENCE_MS", "200");
    assert!(retries(&case.answer("Awake.")).is_empty(), "outside the budget");
    let case = Case::new([silent(), silent(), ScriptedReply::text("Awake.")]).set("GIMLET_STREAM_SILENCE_MS", "200");
    let told = retries(&case.answer("Awake."));
    assert_eq!((told.len(), &told[0]["error_status"]), (1, &Value::Null));
    let case = Case::new([ScriptedReply::hang(), ScriptedReply::text("Awake.")]).set("API_TIMEOUT_MS", "200");
    case.answer("Awake.");
}

// [TST-111] Pings count for the byte watchdog and not for the event watchdog.
#[test]
fn pings_keep_the_bytes_alive_only() {
    let pinging = || {
        let mut events = ScriptedReply::events(vec![ScriptedBlock::text("Patient.")]);
        events.splice(2..2, std::iter::repeat_with(ScriptedEvent::ping).take(5));
        ScriptedReply::sse(events).pause(Duration::from_millis(100))
    };
    let case = Case::new([pinging()]).set("GIMLET_STREAM_SILENCE_MS", "300").set("CLAUDE_ENABLE_STREAM_WATCHDOG", "0");
    case.answer("Patient.");
    let case = Case::new([pinging(), ScriptedReply::text("Quick.")]).set("GIMLET_STREAM_SILENCE_MS", "300");
    case.answer("Quick.");
}

// [TST-102] Every byte boundary: escapes, characters of several bytes, event frames.
#[test]
fn answers_survive_any_split() {
    let text = "Grüße 🦀 \"quoted\" \\ \u{2028} 日本語";
    let command = format!("printf '%s' '{text}' > said.txt");
    for size in [1, 2, 3, 7] {
        let call = ScriptedReply::tool("Bash", json!({"command": command})).split_every(size);
        let case = Case::new([call, ScriptedReply::text(text).split_every(size)]);
        let lines = case.run(&[]).expect_clean().lines();
        assert_eq!(lines.last().unwrap()["result"], text);
        assert_eq!(case.sandbox.read("said.txt"), text);
    }
}

// [TST-101] Known deltas are gathered, unknown ones are passed on and do no harm.
#[test]
fn every_kind_of_delta_is_gathered_or_passed_on() {
    let mut events = ScriptedReply::events(vec![ScriptedBlock::thinking("Hm.", "c2ln"), ScriptedBlock::text("Cited.")]);
    let delta = |delta: Value| ScriptedEvent::json(&json!({"type": "content_block_delta", "index": 1, "delta": delta}));
    let at = events.iter().rposition(|e| e.name.as_deref() == Some("content_block_stop")).unwrap();
    let citation = json!({"type": "char_location", "cited_text": "x", "document_index": 0});
    events.insert(at, delta(json!({"type": "citations_delta", "citation": citation})));
    events.insert(at, delta(json!({"type": "tomorrows_delta", "x": 1})));
    events.insert(at, ScriptedEvent::json(&json!({"type": "tomorrows_event", "y": 2})));
    let case = Case::new([ScriptedReply::sse(events)]);
    let lines = case.run(&["--include-partial-messages"]).expect_clean().lines();
    let blocks: Vec<&Value> =
        lines.iter().filter(|l| l["type"] == "assistant").map(|l| &l["message"]["content"][0]).collect();
    assert_eq!(blocks[0], &json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}));
    assert_eq!(blocks[1], &json!({"type": "text", "text": "Cited.", "citations": [citation]}));
    for unknown in ["tomorrows_delta", "tomorrows_event"] {
        let passed = lines.iter().filter(|l| l["type"] == "stream_event" && l.to_string().contains(unknown)).count();
        assert_eq!(passed, 1, "{unknown}");
    }
}

// [SDK-145] [CLI-63]
#[test]
fn final_faults_are_told_at_once() {
    let cases = [
        (400, "api_error", "invalid_request"),
        (403, "api_error", "authentication_failed"),
        (404, "api_error", "model_not_found"),
        // As the reference calls it; see observed-behaviour.md part 9.
        (413, "image_error", "invalid_request"),
    ];
    for (status, reason, category) in cases {
        let seen = Case::new([with_status(status)]).failure(1);
        assert_eq!((&seen["status"], &seen["reason"]), (&json!(status), &json!(reason)), "{seen}");
        assert_eq!(seen["error"], category, "{seen}");
        assert!(seen["text"].as_str().unwrap().contains("of its own making"), "{seen}");
    }
}

// [TST-107] If the server forbids a retry, there is none, even for a status that would be retried.
#[test]
fn the_server_may_forbid_a_retry() {
    for status in [429, 500, 529] {
        let seen = Case::new([with_status(status).header("x-should-retry", "false")]).failure(1);
        assert_eq!(seen["status"], status);
    }
}

// [TST-109]
#[test]
fn a_used_up_allowance_is_not_waited_for() {
    let spent =
        ScriptedReply::error(429, "rate_limit_error", "You have reached your spend limit, it resets 2026-12-01");
    let seen = Case::new([spent]).failure(1);
    assert_eq!((&seen["status"], &seen["error"]), (&json!(429), &json!("rate_limit")));
    assert!(seen["text"].as_str().unwrap().contains("resets 2026-12-01"));
}

// [SDK-145] [CLI-62] [CLI-63]
#[test]
fn retries_run_out() {
    for (given, told) in [("2", 2), ("0", 0)] {
        let replies = std::iter::repeat_with(|| with_status(529)).take(told + 1);
        let case = Case::new(replies).set("CLAUDE_CODE_MAX_RETRIES", given);
        let seen = case.failure(told + 1);
        assert_eq!(seen["text"], "API Error: 529 of its own making");
        assert_eq!((&seen["reason"], &seen["error"]), (&json!("api_error"), &json!("overloaded")));
        let noted = case.sandbox.transcript().iter().filter(|l| l["subtype"] == "api_error").count();
        assert_eq!(noted, told);
    }
    let case = Case::new(std::iter::repeat_with(ScriptedReply::reset).take(11)).set("GIMLET_RETRY_BASE_MS", "1");
    let seen = case.failure(11);
    assert_eq!((&seen["status"], &seen["error"]), (&Value::Null, &json!("unknown")));
}

// [SDK-145] The process continues after the failure.
#[test]
fn a_failed_turn_does_not_end_the_session() {
    let case = Case::new([with_status(403), ScriptedReply::text("Better.")]);
    let args = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
    let mut run = case.sandbox.gimlet(&args).stdin_open().spawn();
    run.send_user("one");
    assert_eq!(run.wait_for("result")["is_error"], true);
    run.send_user("two");
    assert_eq!(run.wait_for("result")["result"], "Better.");
    run.close_stdin();
    assert_eq!(run.finish().code(), 0);
    assert!(!case.server.request(1).all_text().contains("of its own making"), "our own words are not sent");
}

#[test]
fn a_refused_key_is_asked_for_again() {
    let count = |case: &Case| std::fs::read_to_string(case.sandbox.root().join("asked")).unwrap().lines().count();
    let with_helper = |replies: Vec<ScriptedReply>| {
        let mut case = Case::new(replies);
        let script = case.sandbox.root().join("helper.sh");
        let asked = case.sandbox.root().join("asked");
        let text = format!("#!/bin/sh\necho x >> {0}\necho key-$(wc -l < {0})\n", asked.display());
        std::fs::write(&script, text).unwrap();
        let settings = json!({"apiKeyHelper": format!("sh {}", script.display())});
        case.sandbox.write_config("settings.json", settings.to_string());
        case.sandbox.unset("ANTHROPIC_API_KEY");
        case
    };
    let case = with_helper(vec![with_status(401), ScriptedReply::text("Let in.")]);
    case.answer("Let in.");
    assert_eq!(count(&case), 2);
    assert_eq!(case.server.request(0).header("x-api-key"), Some("key-1"));
    assert_eq!(case.server.request(1).header("x-api-key"), Some("key-2"));
    // A new key is tried at once, then within the budget of retries.
    let case =
        with_helper(vec![with_status(401), with_status(401), with_status(401)]).set("CLAUDE_CODE_MAX_RETRIES", "1");
    let seen = case.failure(3);
    assert_eq!(count(&case), 3);
    assert_eq!((&seen["status"], &seen["error"]), (&json!(401), &json!("authentication_failed")));
    let seen = Case::new([with_status(401)]).set("CLAUDE_CODE_MAX_RETRIES", "0").failure(1);
    assert_eq!(seen["error"], "authentication_failed");
}

// [TST-116]
#[test]
fn refused_thinking_is_left_out() {
    let refusal = || ScriptedReply::error(400, "invalid_request_error", "thinking: this model does not support it");
    let case =
        Case::new([refusal(), ScriptedReply::tool("Glob", json!({"pattern": "*"})), ScriptedReply::text("Without.")]);
    let lines = case.answer("Without.");
    assert!(retries(&lines).is_empty());
    let sent: Vec<bool> = case.server.requests().iter().map(|r| r.json.get("thinking").is_some()).collect();
    assert_eq!(sent, [true, false, false], "and stays out for the conversation");
    assert_eq!(Case::new([refusal(), refusal()]).failure(2)["status"], 400);
}

// An output limit that does not fit beside the input is lowered to what does.
#[test]
fn an_output_limit_that_does_not_fit_is_lowered() {
    let refusal = || {
        let text = "input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length";
        ScriptedReply::error(400, "invalid_request_error", text)
    };
    let case = Case::new([refusal(), ScriptedReply::text("Shorter.")]);
    assert!(retries(&case.answer("Shorter.")).is_empty());
    assert_eq!(case.server.request(1).json["max_tokens"], 49_000);
    let seen = Case::new([refusal(), refusal()]).failure(2);
    assert_eq!(seen["reason"], "prompt_too_long");
}

// [TST-120] Each model gets its own retries; the next prompt starts with the first model again.
#[test]
fn a_chain_of_models_is_tried_in_order() {
    let server = ModelServer::with_handler(|request| match request.model() {
        "claude-haiku-4-5" => ScriptedReply::text("The last one answers."),
        _ => with_status(529),
    });
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("GIMLET_RETRY_BASE_MS", "1");
    sandbox.set("CLAUDE_CODE_MAX_RETRIES", "1");
    let args = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--model"];
    let chain = ["claude-opus-4-5", "--fallback-model", "claude-sonnet-4-5,claude-haiku-4-5"];
    let mut run = sandbox.gimlet(&args.iter().chain(&chain).collect::<Vec<_>>()).stdin_open().spawn();
    for _ in 0..2 {
        run.send_user("hi");
        assert_eq!(run.wait_for("result")["result"], "The last one answers.");
    }
    run.close_stdin();
    assert_eq!(run.finish().code(), 0);
    let asked: Vec<String> = server.requests().iter().map(|r| r.model().to_owned()).collect();
    let (a, b, c) = ("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5");
    assert_eq!(asked, [a, a, b, b, c, a, a, b, b, c]);
}

// Faults between us and the server, and refused keys, are no reason to change the model.
#[test]
fn other_faults_do_not_change_the_model() {
    for fault in [with_status(401), with_status(403), with_status(400)] {
        let case = Case::new([fault]).set("CLAUDE_CODE_MAX_RETRIES", "0");
        let run = case.run(&["--fallback-model", "claude-haiku-4-5"]).expect_code(1);
        assert_eq!(run.result()["is_error"], true);
        assert_eq!(case.server.requests().len(), 1);
    }
}

// [TST-130] The rest of the reply never comes, so only the interrupt can close the stream.
#[test]
fn an_interrupt_closes_the_stream_before_the_reply_ends() {
    let gate = ReplyGate::new();
    let case = Case::new([ScriptedReply::text("one two").gate(&gate)]);
    let args = ["-p", "go", "--output-format", "stream-json", "--verbose", "--include-partial-messages"];
    let mut run = case.sandbox.gimlet(&args).spawn();
    gate.open_for(4);
    while !run.wait_for("stream_event")["event"]["delta"]["text"].is_string() {}
    run.interrupt();
    case.server.wait_for_aborts(1);
    let done = run.finish().expect_code(1);
    assert_eq!(done.result()["terminal_reason"], "aborted_streaming", "{done:?}");
}
