//! Old results are cleared before anything is summarised: when it frees enough, never those of the current turn, and so that a
//! resumed conversation has the same bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, STREAM};
use serde_json::{Value, json};
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedReply};

const WINDOW: usize = 60_000;
const CLEARED: &str = "[Result cleared to make room: Read ";

fn is_summary_request(request: &CapturedRequest) -> bool {
    request.last_user_text().contains("hand-over text only")
}

fn body(request: &CapturedRequest) -> String {
    String::from_utf8_lossy(&request.body).into_owned()
}

fn plain(request: &CapturedRequest) -> Vec<Value> {
    let mut messages = request.messages().to_vec();
    for block in messages.iter_mut().flat_map(|message| message["content"].as_array_mut().into_iter().flatten()) {
        block.as_object_mut().unwrap().remove("cache_control");
    }
    messages
}

/// What the provider says about its cache.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cache {
    Warm,
    Cold,
}

/// A model that reads `pages` pages in the first turn and one more in the second, whose prompt fills the window.
fn reader(pages: usize, cache: Cache) -> ModelServer {
    let mut read = 0;
    ModelServer::with_handler(move |request| {
        let size = request.body.len() / 4;
        let reply = if is_summary_request(request) {
            ScriptedReply::text("SUMMARY")
        } else if read < pages || (read == pages && request.last_user_text().contains("second")) {
            read += 1;
            ScriptedReply::tool("Read", json!({"file_path": format!("page{read}.txt")}))
        } else {
            ScriptedReply::text("Done.")
        };
        let cached = if cache == Cache::Warm { size } else { 0 };
        let usage = json!({
            "input_tokens": size - cached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0, "output_tokens": 1,
        });
        reply.usage(usage, json!({"output_tokens": 10}))
    })
}

fn sandbox(server: &ModelServer, pages: usize, page_bytes: usize) -> Sandbox {
    let mut sandbox = Sandbox::with_server(EXE, server);
    sandbox.set("CLAUDE_CODE_MAX_CONTEXT_TOKENS", WINDOW.to_string());
    for page in 1..=pages + 1 {
        let line = format!("page {page} has a line of words that are told apart\n");
        sandbox.write(&format!("page{page}.txt"), line.repeat(page_bytes / line.len()));
    }
    sandbox
}

/// Two turns; the second prompt is so long that the conversation is crowded.
fn play(server: &ModelServer, sandbox: &Sandbox) -> Vec<Value> {
    let all: Vec<&str> = [&STREAM[..], &["--input-format", "stream-json", "--model", "small-model"]].concat();
    let mut running = sandbox.gimlet(&all).stdin_open().spawn();
    running.send_user("first");
    running.wait_for("result");
    let used = server.last_request().body.len() / 4;
    // The limit is a sixth below the window.
    let missing = (WINDOW * 5 / 6 + 1_500).saturating_sub(used) * 4;
    running.send_user(&format!("second {}", "filler ".repeat(missing / 7)));
    running.wait_for("result");
    running.close_stdin();
    running.finish().expect_code(0).lines()
}

fn count(lines: &[Value], subtype: &str) -> usize {
    lines.iter().filter(|line| line["subtype"] == subtype).count()
}

// [LNG-21] Results of earlier turns become one line each that says how to get them back; the newest and those of the current turn
// stay. It is recorded, and a resumed request has the same bytes.
#[test]
fn old_results_are_cleared_before_anything_is_summarised() {
    const PAGES: usize = 8;
    let server = reader(PAGES, Cache::Warm);
    let sandbox = sandbox(&server, PAGES, 14_000);
    let lines = play(&server, &sandbox);
    assert_eq!(count(&lines, "compact_boundary"), 0, "nothing was summarised");
    assert_eq!(count(&lines, "microcompact_boundary"), 1);
    let requests = server.requests();
    assert!(!requests.iter().any(is_summary_request));
    let last = requests.last().unwrap();
    let sent = body(last);
    assert_eq!(sent.matches(CLEARED).count(), PAGES - 3, "{sent}");
    for page in 1..=PAGES + 1 {
        let is_there = sent.contains(&format!("page {page} has a line"));
        assert_eq!(is_there, page > PAGES - 3, "page {page}");
    }
    assert!(sent.contains(r#"Read {\"file_path\":\"page1.txt\"}. Call it again"#), "{sent}");
    let file = sandbox.transcript();
    let boundary = file.iter().find(|line| line["subtype"] == "microcompact_boundary").unwrap();
    let ids = boundary["microcompactMetadata"]["compactedToolIds"].as_array().unwrap();
    assert_eq!(ids.len(), PAGES - 3, "{boundary}");
    assert!(boundary["microcompactMetadata"]["tokensSaved"].as_u64().unwrap() > WINDOW as u64 / 5, "{boundary}");
    for id in ids {
        assert!(last.tool_result_text(id.as_str().unwrap()).starts_with(CLEARED), "{id}");
    }
    assert!(std::fs::read_to_string(sandbox.transcript_paths().pop().unwrap()).unwrap().contains("page 1 has a line"));
    let session = lines[0]["session_id"].as_str().unwrap();
    let all = [&["-p", "third", "--resume", session, "--model", "small-model"], &STREAM[..]].concat();
    sandbox.gimlet(&all).run().expect_code(0);
    let resumed = server.requests().into_iter().find(|request| body(request).contains("third")).unwrap();
    let (live, resumed) = (plain(last), plain(&resumed));
    assert_eq!(resumed[..live.len()], live[..]);
}

// [LNG-21] Less than a fifth of the window is not worth a new cache: the conversation is summarised. When the cache is cold, it
// is cleared all the same.
#[test]
fn little_is_cleared_only_when_the_cache_is_cold() {
    const PAGES: usize = 6;
    for (cache, cleared) in [(Cache::Warm, 0), (Cache::Cold, 1)] {
        let server = reader(PAGES, cache);
        let sandbox = sandbox(&server, PAGES, 9_000);
        let lines = play(&server, &sandbox);
        assert_eq!(count(&lines, "microcompact_boundary"), cleared);
        assert_eq!(count(&lines, "compact_boundary"), 1 - cleared);
    }
}

// [LNG-21] A turn that fills the window with its own results keeps them all until it is summarised.
#[test]
fn results_of_the_current_turn_are_not_cleared() {
    let mut reads = 0;
    let server = ModelServer::with_handler(move |request| {
        reads += 1;
        match reads {
            _ if is_summary_request(request) => ScriptedReply::text("SUMMARY"),
            1..=14 => ScriptedReply::tool("Read", json!({"file_path": format!("page{reads}.txt")})),
            _ => ScriptedReply::text("Done."),
        }
    });
    let sandbox = sandbox(&server, 16, 20_000);
    let all: Vec<&str> = [&["-p", "read them all", "--model", "small-model"], &STREAM[..]].concat();
    let lines = sandbox.gimlet(&all).run().expect_code(0).lines();
    assert!(count(&lines, "compact_boundary") >= 1);
    assert_eq!(count(&lines, "microcompact_boundary"), 0);
    assert!(!server.requests().iter().any(|request| body(request).contains(CLEARED)));
}

// [LNG-21] A file whose content was cleared must be read again before it is edited.
#[test]
fn a_cleared_file_must_be_read_again() {
    const PAGES: usize = 8;
    let server = reader(PAGES, Cache::Warm);
    let sandbox = sandbox(&server, PAGES, 14_000);
    let lines = play(&server, &sandbox);
    let session = lines[0]["session_id"].as_str().unwrap();
    let edit =
        |page: usize| json!({"file_path": format!("page{page}.txt"), "old_string": "page", "new_string": "leaf"});
    let server = ModelServer::script([ScriptedReply::tool("Edit", edit(1)), ScriptedReply::text("Done.")]);
    let mut here = sandbox;
    here.set("ANTHROPIC_BASE_URL", server.url());
    let more = ["--model", "small-model", "--permission-mode", "acceptEdits"];
    let all: Vec<&str> = [&["-p", "edit it", "--resume", session], &more[..], &STREAM].concat();
    here.gimlet(&all).run().expect_code(0);
    let result = server.last_request().tool_results().pop().unwrap();
    assert_eq!(result["is_error"], true, "{result}");
}
