//! Findings about the connection to the model: waits, kept connections, odd answers and gateways, credentials that
//! older programs leave, and homes that cannot be written.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, print};
use serde_json::{Value, json};
use std::process::Stdio;
use testkit::{FinishedRun, ModelServer, Sandbox, ScriptedBlock, ScriptedEvent, ScriptedReply};

fn sandbox(server: &ModelServer) -> Sandbox {
    let mut sandbox = Sandbox::with_server(EXE, server);
    sandbox.set("GIMLET_RETRY_BASE_MS", "5");
    sandbox
}

fn retries(run: &FinishedRun) -> usize {
    run.lines().iter().filter(|l| l["subtype"] == "api_retry").count()
}

fn limited() -> ScriptedReply {
    ScriptedReply::error(429, "rate_limit_error", "slow down")
}

/// The text of a failed result.
fn failure(run: FinishedRun) -> String {
    let run = run.expect_code(1);
    let result = run.result();
    assert_eq!(result["is_error"], true, "{result}");
    result["result"].as_str().unwrap().to_owned()
}

/// Runs to a failure with `replies` and no others.
fn failed(replies: impl IntoIterator<Item = ScriptedReply>) -> (String, ModelServer) {
    let server = ModelServer::script(replies);
    let text = failure(print(&sandbox(&server), "go", &[]).run());
    assert_eq!(server.unused_replies(), 0);
    (text, server)
}

// [F-C2]
#[test]
fn a_wait_beyond_five_minutes_ends_the_turn_with_the_time() {
    for asked in ["94608000", "301", "1e300", "Fri, 01 Jan 2100 00:00:00 GMT"] {
        let server = ModelServer::script([limited().header("retry-after", asked)]);
        let run = print(&sandbox(&server), "go", &[]).run();
        if asked.contains("2100") {
            assert!(run.result()["result"].as_str().unwrap().contains("wait until 2100-01-01 00:00 UTC"), "{run:?}");
        }
        assert_eq!((retries(&run), server.requests().len()), (0, 1), "{asked}");
        let text = failure(run);
        assert!(text.starts_with("API Error: 429 slow down. The server asks to wait until "), "{text}");
        assert!(text.contains("CLAUDE_CODE_RETRY_WATCHDOG=1"), "{text}");
    }
}

// [F-C2] The message also names the time at which the plan's allowance resets.
#[test]
fn a_used_up_plan_says_when_it_resets() {
    let reply = limited()
        .header("anthropic-ratelimit-unified-status", "rejected")
        .header("anthropic-ratelimit-unified-reset", "4102444800");
    let (text, _) = failed([reply]);
    assert!(text.contains("The limit resets at 2100-01-01 00:00 UTC."), "{text}");
}

// [F-C2]
#[test]
fn the_watchdog_waits_as_long_as_it_is_asked_to() {
    let server = ModelServer::script([limited().header("retry-after", "94608000")]);
    let sandbox = sandbox(&server);
    let mut run = print(&sandbox, "go", &[]).env("CLAUDE_CODE_RETRY_WATCHDOG", "1").spawn();
    let retry = loop {
        let line = run.wait_for("system");
        if line["subtype"] == "api_retry" {
            break line;
        }
    };
    assert_eq!(retry["retry_delay_ms"], 94_608_000_000_u64);
    run.interrupt();
    run.finish();
}

// [F-C2]
#[test]
fn a_person_at_a_terminal_sees_what_is_waited_for() {
    let server = ModelServer::script([limited().header("retry-after", "200")]);
    let sandbox = sandbox(&server);
    let terminal = sandbox.gimlet(&["-p", "go"]).terminal(120, 20);
    terminal.wait_for("Waiting 200 s for the API (too many requests, status 429), then retry 1 of 10");
    terminal.terminate();
    terminal.finish();
    // When stderr is not a terminal, nothing is printed.
    let server = ModelServer::script([limited().header("retry-after", "1"), ScriptedReply::text("Fine.")]);
    let quiet = Sandbox::with_server(EXE, &server);
    assert_eq!(quiet.gimlet(&["-p", "go"]).run().expect_clean().stdout, "Fine.\n");
}

/// A home below a file: nobody can write there, not even root.
fn homeless(server: &ModelServer) -> Sandbox {
    let mut sandbox = sandbox(server);
    let file = sandbox.root().join("file");
    std::fs::write(&file, "").unwrap();
    sandbox.set("HOME", file.join("home"));
    sandbox.unset("CLAUDE_CONFIG_DIR");
    sandbox
}

// [F-C4]
#[test]
fn a_home_that_cannot_be_written_does_not_stop_the_work() {
    let replies =
        || [ScriptedReply::tool("Bash", json!({"command": "rm -rf old && touch ran"})), ScriptedReply::text("Done.")];
    let server = ModelServer::script(replies());
    let sandbox = homeless(&server);
    sandbox.write("old/file", "x");
    let run = print(&sandbox, "go", &["--allowedTools", "Bash"]).run().expect_code(0);
    assert!(sandbox.project().join("ran").exists(), "{run:?}");
    let result = run.result();
    assert_eq!(result["result"], "Done.");
    let told = result["warnings"][0].as_str().unwrap_or_default();
    for part in ["not saved", "undo and checkpoints are off", "--no-session-persistence", "CLAUDE_CONFIG_DIR"] {
        assert!(told.contains(part), "{part}: {result}");
        assert_eq!(run.stderr.matches(part).count(), 1, "told once: {}", run.stderr);
    }
    // When the user has chosen this, nothing is printed.
    let server = ModelServer::script(replies());
    let sandbox = homeless(&server);
    let run = print(&sandbox, "go", &["--allowedTools", "Bash", "--no-session-persistence"]).run().expect_code(0);
    assert!(run.result().get("warnings").is_none() && !run.stderr.contains("not saved"), "{run:?}");
}

// [F-C4] The message also appears for an answer without calls.
#[test]
fn a_plain_answer_says_that_it_is_not_saved() {
    let server = ModelServer::script([ScriptedReply::text("Hello.")]);
    let run = homeless(&server).gimlet(&["-p", "go"]).run().expect_code(0);
    assert_eq!(run.stdout, "Hello.\n");
    assert_eq!(run.stderr.matches("--no-session-persistence").count(), 1, "{}", run.stderr);
}

// [F-C4] A session that was being saved must not continue unsaved.
#[test]
fn a_session_that_can_no_longer_be_saved_stops() {
    let server = ModelServer::script([
        ScriptedReply::text("First."),
        ScriptedReply::tool("Bash", json!({"command": "touch ran"})),
    ]);
    let sandbox = sandbox(&server);
    print(&sandbox, "one", &[]).run().expect_clean();
    let path = sandbox.transcript_paths().remove(0);
    let kept = path.with_extension("kept");
    let mut run = crate::common::host(&sandbox, &["--continue", "--allowedTools", "Bash"]).spawn();
    // The file is replaced by a folder once the session has read it: from now on it cannot be written.
    run.send_json(&json!({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}}));
    run.wait_for("control_response");
    std::fs::rename(&path, &kept).unwrap();
    std::fs::create_dir(&path).unwrap();
    run.send_user("two");
    let result = run.wait_for("result");
    run.close_stdin();
    run.finish();
    assert!(!sandbox.project().join("ran").exists());
    let text = result["errors"][0].as_str().unwrap_or_else(|| panic!("{result}"));
    for part in ["could not be saved any more", "--no-session-persistence", "CLAUDE_CONFIG_DIR"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

// [F-C5]
#[test]
fn repeated_call_ids_are_replaced_everywhere() {
    let call = |n: u32| {
        let input = json!({"command": format!("echo out-{n}")});
        ScriptedReply::message(vec![ScriptedBlock::tool_with_id("call_0", "Bash", &input)])
    };
    let pair = ScriptedReply::message(vec![
        ScriptedBlock::tool_with_id("call_0", "Bash", &json!({"command": "echo out-3"})),
        ScriptedBlock::tool_with_id("call_0", "Bash", &json!({"command": "echo out-4"})),
    ]);
    let server = ModelServer::script([
        call(1),
        call(2),
        pair,
        ScriptedReply::text("Done."),
        call(5),
        ScriptedReply::text("More."),
    ]);
    let sandbox = sandbox(&server);
    let flags = ["--allowedTools", "Bash", "--include-partial-messages"];
    let lines = print(&sandbox, "go", &flags).run().expect_clean().lines();
    let more = print(&sandbox, "on", &[&flags[..], &["--continue"]].concat()).run().expect_clean().lines();
    let last = server.request(5);
    let sent: Vec<Value> = last.tool_uses().iter().map(|used| used["id"].clone()).collect();
    assert_eq!((sent.len(), &sent[0]), (5, &json!("call_0")));
    let distinct: std::collections::BTreeSet<String> = sent.iter().map(Value::to_string).collect();
    assert_eq!(distinct.len(), 5, "{sent:?}");
    for (n, id) in sent.iter().enumerate() {
        assert_eq!(last.tool_result_text(id.as_str().unwrap()), format!("out-{}", n + 1));
    }
    let all: Vec<&Value> = lines.iter().chain(&more).collect();
    let ids = |of: &dyn Fn(&Value) -> Option<Value>| -> Vec<Value> { all.iter().filter_map(|l| of(l)).collect() };
    let streamed = ids(&|l| {
        (l["event"]["content_block"]["type"] == "tool_use").then(|| l["event"]["content_block"]["id"].clone())
    });
    let told =
        ids(&|l| (l["message"]["content"][0]["type"] == "tool_use").then(|| l["message"]["content"][0]["id"].clone()));
    let answered = ids(&|l| l["message"]["content"][0].get("tool_use_id").cloned());
    let in_file: Vec<Value> = sandbox
        .transcript()
        .iter()
        .filter(|l| l["message"]["content"][0]["type"] == "tool_use")
        .map(|l| l["message"]["content"][0]["id"].clone())
        .collect();
    assert_eq!((&streamed, &told, &answered, &in_file), (&sent, &sent, &sent, &sent));
}

/// A call whose input is cut, in an answer that ends as if it were whole.
fn unreadable() -> ScriptedReply {
    let mut events = ScriptedReply::events(vec![ScriptedBlock::tool("Bash", &json!({"command": "true"}))]);
    events.retain(|e| e.name.as_deref() != Some("content_block_delta"));
    let delta = json!({"type": "input_json_delta", "partial_json": "{\"command\": \"ech"});
    events.insert(3, ScriptedEvent::json(&json!({"type": "content_block_delta", "index": 0, "delta": delta})));
    ScriptedReply::sse(events)
}

// [F-C5]
#[test]
fn a_weak_model_may_fail_ten_times_and_is_told_more_each_time() {
    let replies = std::iter::repeat_with(unreadable).take(10).chain([ScriptedReply::text("At last.")]);
    let server = ModelServer::script(replies);
    let result = print(&sandbox(&server), "go", &["--allowedTools", "Bash"]).run().expect_clean().result();
    assert_eq!(result["result"], "At last.");
    let told = |n: usize| server.request(n).tool_results().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(!told(1).contains("in a row"), "{}", told(1));
    assert!(told(2).contains("failure 2 in a row") && told(2).contains("EOF"), "{}", told(2));
    assert!(!told(2).contains("Its schema is") && told(3).contains("Its schema is"), "{}", told(3));
    assert!(!told(4).contains("much smaller") && told(5).contains("much smaller"), "{}", told(5));
    // The retries are limited.
    let server = ModelServer::with_handler(|_| unreadable());
    let run = print(&sandbox(&server), "go", &["--allowedTools", "Bash"]).run().expect_code(1);
    assert_eq!(run.result()["terminal_reason"], "malformed_tool_use_exhausted");
    assert_eq!(server.requests().len(), 12);
}

// [F-C6]
#[test]
fn a_kept_connection_that_the_server_closed_costs_no_retry() {
    let call = || ScriptedReply::tool("Bash", json!({"command": "true"}));
    let script = [call(), ScriptedReply::reset(), call(), ScriptedReply::reset(), ScriptedReply::text("Done.")];
    let server = ModelServer::script(script);
    let mut sandbox = sandbox(&server);
    sandbox.set("CLAUDE_CODE_MAX_RETRIES", "0");
    let run = print(&sandbox, "go", &["--allowedTools", "Bash"]).run().expect_clean();
    assert_eq!((retries(&run), server.requests().len()), (0, 5));
    assert_eq!(run.result()["result"], "Done.");
    // On a new connection it counts as an ordinary fault.
    let server = ModelServer::script([ScriptedReply::reset(), ScriptedReply::text("Done.")]);
    let run = print(&self::sandbox(&server), "go", &[]).run().expect_clean();
    assert_eq!(retries(&run), 1);
    // The second failure in a row does too.
    let server =
        ModelServer::script([call(), ScriptedReply::reset(), ScriptedReply::reset(), ScriptedReply::text("Done.")]);
    let run = print(&self::sandbox(&server), "go", &["--allowedTools", "Bash"]).run().expect_clean();
    assert_eq!(retries(&run), 1);
}

// [F-C7]
#[test]
fn a_page_or_nothing_in_place_of_an_answer_is_told_after_few_tries() {
    let cases = [
        ("text/html; charset=utf-8", "<html>sign in here</html>", "text/html; charset=utf-8 (it begins: <html>sign in"),
        ("text/html", "", "status 200 and nothing in it (text/html)"),
        ("text/event-stream", "", "status 200 and nothing in it (text/event-stream)"),
        ("application/json", "", "status 200 and nothing in it (application/json)"),
        ("application/json", r#"{"ok":true}"#, r#"application/json (it begins: {"ok":true})"#),
        ("text/plain", "upstream is asleep", "text/plain (it begins: upstream is asleep)"),
    ];
    for (kind, body, part) in cases {
        let page = || ScriptedReply::status(200).body(kind, body);
        let (text, server) = failed([page(), page(), page()]);
        assert!(text.contains(part), "{text}");
        assert!(text.starts_with(&format!("API Error: {} answered with status 200 and ", server.url())), "{text}");
        assert!(text.contains("check ANTHROPIC_BASE_URL, HTTPS_PROXY"), "{text}");
    }
    // The error names the proxy, without its password.
    let server = ModelServer::start();
    let page = ScriptedReply::status(200).body("text/html", "<html>portal</html>");
    server.route("http://api.example.invalid/v1/messages", page);
    let mut sandbox = sandbox(&server);
    sandbox.set("ANTHROPIC_BASE_URL", "http://api.example.invalid");
    sandbox.set("HTTP_PROXY", server.url().replace("http://", "http://me:geheim@"));
    let text = failure(print(&sandbox, "go", &[]).run());
    assert!(text.contains(&format!("went through the proxy {}", server.url())), "{text}");
    assert!(!text.contains("geheim"), "{text}");
}

// [F-C7]
#[test]
fn redirects_are_followed_on_the_same_server_only() {
    for (status, location) in [(307, "/elsewhere/v1/messages?beta=true"), (301, "/v1/messages?beta=true")] {
        let server = ModelServer::script([
            ScriptedReply::status(status).header("location", location),
            ScriptedReply::text("Found."),
        ]);
        server.route("/elsewhere/v1/messages", ScriptedReply::text("Found."));
        let run = print(&sandbox(&server), "go", &[]).run().expect_clean();
        assert_eq!(run.result()["result"], "Found.");
        let sent = server.all_requests();
        assert_eq!((sent.len(), retries(&run)), (2, 0));
        assert_eq!(
            (&sent[1].method, &sent[1].body, sent[1].header("x-api-key")),
            (&sent[0].method, &sent[0].body, Some("test-key"))
        );
    }
    let other = ModelServer::start();
    let away = format!("{}/v1/messages?token=abc", other.url());
    let (text, _) = failed([ScriptedReply::status(302).header("location", &away)]);
    assert!(text.contains(&format!("redirects to {}/v1/messages, which is another server", other.url())), "{text}");
    assert!(text.contains("set ANTHROPIC_BASE_URL") && !text.contains("token=abc"), "{text}");
    assert!(other.all_requests().is_empty(), "nothing goes there");
    let server = ModelServer::with_handler(|_| ScriptedReply::status(308).header("location", "/v1/messages?beta=true"));
    let text = failure(print(&sandbox(&server), "go", &[]).run());
    assert!(text.contains("redirects without an end"), "{text}");
}

// [F-C7]
#[test]
fn refusals_say_what_to_do() {
    let (text, server) = failed([ScriptedReply::error(404, "not_found_error", "model: claude-nope-1")]);
    assert!(text.starts_with("API Error: 404 model: claude-nope-1. The model "), "{text}");
    assert!(text.contains(server.url()) && text.contains("--model"), "{text}");
    let server =
        ModelServer::script([ScriptedReply::error(413, "request_too_large", "Request exceeds the maximum size")]);
    let result = print(&sandbox(&server), "go", &[]).run().expect_code(1).result();
    assert_eq!((&result["terminal_reason"], &result["api_error_status"]), (&json!("image_error"), &json!(413)));
    let text = result["result"].as_str().unwrap();
    assert!(text.contains("images") && text.contains("exceeds the maximum size"), "{text}");
}

// [F-C7]
#[test]
fn a_base_url_that_is_none_is_named_and_not_retried() {
    for (url, part) in [
        ("localhost:8080", "Did you mean http://localhost:8080?"),
        ("gateway.example.com/v1", "Did you mean https://gateway.example.com/v1?"),
        ("ftp://gateway.example.com", "Use an address such as"),
        ("http://", "Use an address such as"),
        ("https://gateway.example.com/?key=1", "it has a query or a fragment"),
    ] {
        let mut sandbox = Sandbox::new(EXE);
        sandbox.set("ANTHROPIC_BASE_URL", url);
        let run = print(&sandbox, "go", &[]).run();
        assert_eq!(retries(&run), 0);
        let text = failure(run);
        assert!(text.starts_with("API Error: ANTHROPIC_BASE_URL is not the address of a server"), "{text}");
        assert!(text.contains(part), "{text}");
    }
}

// [F-C7] The keys of a helper are tried within the budget; a fixed key a few times.
#[test]
fn refused_keys_are_asked_for_until_the_budget_is_used() {
    let refused = || ScriptedReply::error(401, "authentication_error", "invalid key");
    let helper = |server: &ModelServer| {
        let mut sandbox = sandbox(server);
        let asked = sandbox.root().join("asked");
        let command = format!("echo x >> {0}; echo key-number-$(wc -l < {0})", asked.display());
        sandbox.write_config("settings.json", json!({"apiKeyHelper": command}).to_string());
        sandbox.unset("ANTHROPIC_API_KEY");
        sandbox.set("CLAUDE_CODE_MAX_RETRIES", "4");
        sandbox
    };
    let server = ModelServer::script([refused(), refused(), refused(), refused(), ScriptedReply::text("Let in.")]);
    let run = print(&helper(&server), "go", &[]).run().expect_clean();
    assert_eq!((run.result()["result"].as_str(), retries(&run)), (Some("Let in."), 3));
    let keys: Vec<String> = server.requests().iter().map(|r| r.header("x-api-key").unwrap().to_owned()).collect();
    assert_eq!(keys, ["key-number-1", "key-number-2", "key-number-3", "key-number-4", "key-number-5"]);
    let server = ModelServer::with_handler(move |_| refused());
    let text = failure(print(&helper(&server), "go", &[]).run());
    assert_eq!(server.requests().len(), 6, "one, its new key at once, four retries");
    assert!(text.contains("apiKeyHelper") && !text.contains("/login"), "{text}");
    let (text, _) = failed([refused(), refused(), refused()]);
    assert!(
        text.contains("Set ANTHROPIC_API_KEY to another one") && text.contains("check ANTHROPIC_BASE_URL"),
        "{text}"
    );
}

// [F-C7] An answer with missing parts is requested again.
#[test]
fn answers_with_missing_parts_are_asked_for_again() {
    let mut orphans = ScriptedReply::events(vec![ScriptedBlock::text("Lost words.")]);
    orphans.retain(|e| e.name.as_deref() != Some("content_block_start"));
    let server = ModelServer::script([ScriptedReply::sse(orphans), ScriptedReply::text("Found words.")]);
    let run = print(&sandbox(&server), "go", &[]).run().expect_clean();
    assert_eq!((run.result()["result"].as_str(), retries(&run)), (Some("Found words."), 1));
    let empty = || ScriptedReply::message(Vec::new()).stop_reason("tool_use");
    let server = ModelServer::script([
        empty(),
        ScriptedReply::tool("Bash", json!({"command": "true"})),
        ScriptedReply::text("Done."),
    ]);
    let run = print(&sandbox(&server), "go", &["--allowedTools", "Bash"]).run().expect_clean();
    assert_eq!((run.result()["result"].as_str(), retries(&run)), (Some("Done."), 1));
    // Text that arrived is kept; the model continues from there.
    let words = ScriptedReply::text("Let me look.").stop_reason("tool_use");
    let server = ModelServer::script([
        words,
        ScriptedReply::tool("Bash", json!({"command": "true"})),
        ScriptedReply::text("Done."),
    ]);
    let run = print(&sandbox(&server), "go", &["--allowedTools", "Bash"]).run().expect_clean();
    assert_eq!(run.result()["result"], "Done.");
    assert_eq!(run.stdout.matches("Let me look.").count(), 1, "told once");
    let server = ModelServer::with_handler(move |_| empty());
    let text = failure(print(&sandbox(&server), "go", &[]).env("CLAUDE_CODE_MAX_RETRIES", "1").run());
    assert!(text.contains("holds none"), "{text}");
}

// [F-C7]
#[test]
fn a_key_of_one_letter_is_not_masked_in_every_word() {
    let server = ModelServer::script([ScriptedReply::error(400, "invalid_request_error", "a bad example")]);
    let text = failure(print(&sandbox(&server), "go", &[]).env("ANTHROPIC_API_KEY", "a").run());
    assert_eq!(text, "API Error: 400 a bad example");
    let echo = ScriptedReply::error(400, "invalid_request_error", "key sk-made-up-123 is bad");
    let server = ModelServer::script([echo]);
    let text = failure(print(&sandbox(&server), "go", &[]).env("ANTHROPIC_API_KEY", "sk-made-up-123").run());
    assert_eq!(text, "API Error: 400 key [redacted] is bad");
}

// [F-B6]
#[test]
fn thinking_between_calls_can_be_switched_off() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Yes."));
    let sandbox = sandbox(&server);
    let betas = |value: &str| {
        print(&sandbox, "go", &[]).env("DISABLE_INTERLEAVED_THINKING", value).run().expect_clean();
        server.last_request().header("anthropic-beta").unwrap_or_default().to_owned()
    };
    assert!(betas("0").contains("interleaved-thinking"));
    assert!(!betas("1").contains("interleaved-thinking"));
}

// [F-C7]
#[test]
fn a_line_that_is_left_out_on_resume_is_named() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Yes."));
    let sandbox = sandbox(&server);
    print(&sandbox, "one", &[]).run().expect_clean();
    let path = sandbox.transcript_paths().remove(0);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let at = 1 + lines.iter().position(|line| line.contains(r#""type":"user""#)).unwrap();
    lines.insert(at, r#"{"type": "user", "mess"#);
    lines.insert(at + 1, r#"{"type": 5, "uuid": "x", "message": {"role": "user", "content": "lost"}}"#);
    lines.insert(at + 2, r#"{"type": "queue-operation", garbage}"#);
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let run = print(&sandbox, "two", &["--continue"]).run().expect_code(0);
    let (first, path) = (at + 1, path.display());
    let wanted = format!("lines {first}, {}, {} of {path} could not be read and are left out", first + 1, first + 2);
    assert!(run.stderr.contains(&wanted), "{}", run.stderr);
    assert_eq!(print(&sandbox, "new", &[]).run().stderr, "");
}

// [F-C7]
#[test]
fn a_full_device_as_stdout_is_told_on_stderr() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Lost."));
    let sandbox = sandbox(&server);
    for args in [&["-p", "go"][..], &["-p", "go", "--output-format", "stream-json", "--verbose"], &["--version"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let done = sandbox.gimlet(args).command().stdout(Stdio::from(full)).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(said.contains("could not be written to stdout") && said.contains("No space left"), "{args:?}: {said}");
        assert_eq!(done.status.code(), Some(1), "{args:?}");
    }
}

/// A run without any of today's credentials.
fn keyless(server: &ModelServer) -> Sandbox {
    let mut sandbox = sandbox(server);
    sandbox.unset("ANTHROPIC_API_KEY");
    sandbox
}

fn home_file(sandbox: &Sandbox, name: &str, value: &Value) {
    std::fs::write(sandbox.home().join(name), value.to_string()).unwrap();
}

// [F-B14]
#[test]
fn keys_of_older_programs_are_found_last() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Yes."));
    let key = |sandbox: &Sandbox, vars: &[(&str, &str)]| {
        let mut run = print(sandbox, "go", &[]);
        for (name, value) in vars {
            run = run.env(name, *value);
        }
        let run = run.run().expect_code(0);
        let sent = server.last_request();
        assert_eq!(sent.header("authorization"), None);
        let lines = run.lines();
        let init = lines.iter().find(|l| l["subtype"] == "init").unwrap();
        let source = init["apiKeySource"].as_str().unwrap().to_owned();
        (sent.header("x-api-key").unwrap().to_owned(), source)
    };
    let sandbox = keyless(&server);
    // The value of the variable is sent unchanged.
    assert_eq!(key(&sandbox, &[("CLAUDE_API_KEY", "gateway-key-1")]).0, "gateway-key-1");
    let both = [("CLAUDE_API_KEY", "gateway-key-1"), ("ANTHROPIC_API_KEY", "newer-key-1")];
    assert_eq!(key(&sandbox, &both).0, "newer-key-1");
    for (file, member) in [
        (".claude.json.api", "apiKey"),
        (".claude.json.api", "anthropicApiKey"),
        (".claude.json.api", "customApiKey"),
        (".claude.json.api", "primaryApiKey"),
        (".claude.json", "apiKey"),
        (".claude.json", "customApiKey"),
    ] {
        let sandbox = keyless(&server);
        home_file(&sandbox, file, &json!({member: "sk-ant-api03-made-up"}));
        assert_eq!(key(&sandbox, &[]), ("sk-ant-api03-made-up".into(), format!("~/{file}")), "{file} {member}");
        assert_eq!(key(&sandbox, &[("CLAUDE_API_KEY", "gateway-key-1")]).0, "gateway-key-1");
    }
    let sandbox = keyless(&server);
    std::fs::write(sandbox.home().join(".claude.json.api"), "sk-ant-api03-plain\n").unwrap();
    assert_eq!(key(&sandbox, &[]).0, "sk-ant-api03-plain");
}

// [F-B14]
#[test]
fn values_of_other_services_are_named_and_never_sent() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Yes."));
    let sandbox = keyless(&server);
    home_file(&sandbox, ".claude.json.api", &json!({"apiKey": "sk-other-made-up-1"}));
    home_file(&sandbox, ".claude-oauth-credentials.json", &json!({"accessToken": "other-made-up-2"}));
    let run = print(&sandbox, "go", &[]).run().expect_code(1);
    let text = run.result()["result"].as_str().unwrap().to_owned();
    assert!(text.contains("does not begin with sk-ant-: apiKey in ~/.claude.json.api"), "{text}");
    assert!(text.contains("accessToken in ~/.claude-oauth-credentials.json"), "{text}");
    assert!(!run.stdout.contains("made-up") && !run.stderr.contains("made-up"), "{run:?}");
    assert!(server.all_requests().is_empty());
}

// [F-B14]
#[test]
fn logins_of_older_programs_are_used_while_they_last() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Yes."));
    let login = |more: Value| {
        let mut login = json!({"accessToken": "sk-ant-oat01-made-up"});
        login.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        login
    };
    let scopes = json!({"scopes": ["user:inference", "user:profile"]});
    let good = [
        login(json!({})),
        login(scopes),
        login(json!({"expiresAt": 4_102_444_800_000_u64})),
        login(json!({"expiresAt": "2100-01-01T00:00:00.000Z"})),
        login(json!({"expiresAt": "2100-01-01"})),
    ];
    let bad = [
        login(json!({"scopes": ["user:profile"]})),
        login(json!({"scopes": []})),
        login(json!({"expiresAt": 1_000})),
        login(json!({"expiresAt": "2020-01-01T00:00:00Z"})),
    ];
    // The same in today's file and in the older one, with and without the member around it.
    let places: [fn(&Sandbox, &Value); 3] = [
        |sandbox, login| drop(sandbox.write_config(".credentials.json", json!({"claudeAiOauth": login}).to_string())),
        |sandbox, login| home_file(sandbox, ".claude-oauth-credentials.json", login),
        |sandbox, login| home_file(sandbox, ".claude-oauth-credentials.json", &json!({"claudeAiOauth": login})),
    ];
    for place in places {
        for login in &good {
            let sandbox = keyless(&server);
            place(&sandbox, login);
            print(&sandbox, "go", &[]).run().expect_clean();
            let sent = server.last_request();
            assert_eq!(sent.header("authorization"), Some("Bearer sk-ant-oat01-made-up"), "{login}");
            assert_eq!(sent.header("x-api-key"), None);
            let betas = sent.header("anthropic-beta").unwrap();
            assert!(betas.split(',').any(|beta| beta == "oauth-2025-04-20"), "{betas}");
        }
    }
    server.forget();
    for login in &bad {
        for place in places {
            let sandbox = keyless(&server);
            place(&sandbox, login);
            print(&sandbox, "go", &[]).run().expect_code(1);
            assert!(server.all_requests().is_empty(), "{login}");
        }
    }
    // A token in a variable adds the beta header too; a key does not.
    let sandbox = keyless(&server);
    print(&sandbox, "go", &[]).env("CLAUDE_CODE_OAUTH_TOKEN", "token-made-up").run().expect_clean();
    assert!(server.last_request().header("anthropic-beta").unwrap().contains("oauth-2025-04-20"));
    print(&sandbox, "go", &[]).env("ANTHROPIC_API_KEY", "key-made-up").run().expect_clean();
    assert!(!server.last_request().header("anthropic-beta").unwrap_or_default().contains("oauth"));
}
