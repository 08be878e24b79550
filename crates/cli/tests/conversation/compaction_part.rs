//! Summarising from a prompt on, or up to it: the other part stays word for word, live and when the session is resumed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, STREAM};
use serde_json::{Value, json};
use testkit::{CapturedRequest, ModelServer, RunningGimlet, Sandbox, ScriptedReply};

fn uuid(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

fn plain(request: &CapturedRequest) -> Vec<Value> {
    let mut messages = request.messages().to_vec();
    for block in messages.iter_mut().flat_map(|message| message["content"].as_array_mut().into_iter().flatten()) {
        block.as_object_mut().unwrap().remove("cache_control");
    }
    messages
}

fn start(sandbox: &Sandbox) -> RunningGimlet {
    let all: Vec<&str> = [&STREAM[..], &["--input-format", "stream-json"]].concat();
    sandbox.gimlet(&all).stdin_open().spawn()
}

fn prompt(running: &mut RunningGimlet, number: usize) {
    let content = format!("prompt number {number}.");
    running.send_json(&json!({"type": "user", "uuid": uuid(number), "message": {"role": "user", "content": content}}));
    running.wait_for("result");
}

fn ask(running: &mut RunningGimlet, prompt: usize, direction: &str) -> Value {
    let request = json!({
        "subtype": "x_compact_part", "user_message_id": uuid(prompt), "direction": direction, "instructions": "keep numbers",
    });
    running.send_json(&json!({"type": "control_request", "request_id": "part", "request": request}));
    running.wait_for("control_response")["response"].clone()
}

/// Three prompts, a part summarised, and a fourth prompt.
fn played(direction: &str, chosen: usize) -> (ModelServer, Sandbox, Value) {
    let server = ModelServer::start();
    for text in ["Answer one.", "Answer two.", "Answer three.", "SUMMARY of a part.", "Answer four."] {
        server.push(ScriptedReply::text(text));
    }
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "Be brief.\n");
    let mut running = start(&sandbox);
    (1..=3).for_each(|number| prompt(&mut running, number));
    let said = ask(&mut running, chosen, direction);
    assert_eq!(said["subtype"], "success", "{said}");
    assert_eq!(said["response"]["direction"], direction);
    prompt(&mut running, 4);
    running.close_stdin();
    running.finish().expect_clean();
    (server, sandbox, said)
}

/// Positions of these texts in the last request; `None` for what it does not hold.
fn places(request: &CapturedRequest, texts: &[&str]) -> Vec<Option<usize>> {
    let all = request.all_text();
    texts.iter().map(|text| all.find(text)).collect()
}

fn check_resume(server: &ModelServer, sandbox: &Sandbox) {
    let live = plain(&server.last_request());
    let session = sandbox.transcript()[0]["sessionId"].as_str().unwrap().to_owned();
    server.push(ScriptedReply::text("Answer five."));
    sandbox.gimlet(&[&["-p", "fifth", "--resume", &session], &STREAM[..]].concat()).run().expect_clean();
    let resumed = plain(&server.last_request());
    assert_eq!(resumed[..live.len()], live[..], "a resumed conversation is the live one");
}

fn boundary(sandbox: &Sandbox) -> Value {
    let lines = sandbox.transcript();
    lines.iter().find(|line| line["subtype"] == "compact_boundary").unwrap()["compactMetadata"].clone()
}

// [LNG-15] From a prompt on: what stands before it stays, with its bytes, and the summary follows it.
#[test]
fn the_end_can_be_summarised() {
    let (server, sandbox, _) = played("from", 2);
    let requests = server.requests();
    assert!(requests[3].last_user_text().contains("prompt number 2."), "{}", requests[3].last_user_text());
    assert!(requests[3].last_user_text().contains("keep numbers"));
    let last = &requests[4];
    let found = places(last, &["prompt number 1.", "Answer one.", "SUMMARY of a part.", "prompt number 4."]);
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{found:?} {}", last.all_text());
    assert_eq!(places(last, &["Answer two.", "Answer three."]), [None, None]);
    for words in ["prompt number 2.", "prompt number 3."] {
        assert_eq!(last.all_text().matches(words).count(), 1, "{words}: {}", last.all_text());
    }
    let (before, after) = (plain(&requests[0]), plain(last));
    assert_eq!(after[..1], before[..1], "the kept part has its bytes");
    let metadata = boundary(&sandbox);
    assert_eq!(metadata["direction"], "from", "{metadata}");
    assert_eq!(metadata["preservedMessages"]["uuids"][0], uuid(1), "{metadata}");
    assert_eq!(metadata["xDropped"]["fromUuid"], uuid(2), "{metadata}");
    check_resume(&server, &sandbox);
}

// [LNG-15] Up to a prompt: everything before it becomes the summary, it and everything after it stay.
#[test]
fn the_beginning_can_be_summarised() {
    let (server, sandbox, _) = played("up_to", 3);
    let requests = server.requests();
    let demand = requests[3].all_text();
    assert!(demand.contains("Answer two.") && !demand.contains("prompt number 3."), "{demand}");
    let last = &requests[4];
    let texts = [
        "SUMMARY of a part.",
        "prompt number 1.",
        "prompt number 2.",
        "prompt number 3.",
        "Answer three.",
        "prompt number 4.",
    ];
    let found = places(last, &texts);
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{found:?} {}", last.all_text());
    assert_eq!(places(last, &["Answer one.", "Answer two."]), [None, None]);
    assert!(last.all_text().contains("Be brief."));
    let metadata = boundary(&sandbox);
    assert_eq!(metadata["direction"], "up_to", "{metadata}");
    assert_eq!(metadata["preservedMessages"]["uuids"][0], uuid(3), "{metadata}");
    check_resume(&server, &sandbox);
}

// [LNG-15] [LNG-17] Parts and whole compactions follow each other: every word is there once, in its order, also after a restart.
#[test]
fn parts_and_whole_compactions_mix() {
    let server = ModelServer::with_handler(|request| {
        let is_demand = request.last_user_text().contains("hand-over text only");
        ScriptedReply::text(if is_demand { "SUMMARY" } else { "Answer." })
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = start(&sandbox);
    (1..=4).for_each(|number| prompt(&mut running, number));
    assert_eq!(ask(&mut running, 3, "from")["subtype"], "success");
    (5..=6).for_each(|number| prompt(&mut running, number));
    assert_eq!(ask(&mut running, 6, "up_to")["subtype"], "success");
    prompt(&mut running, 7);
    assert_eq!(ask(&mut running, 7, "from")["subtype"], "success");
    prompt(&mut running, 8);
    check_words(&server, 8);
    running.send_user("/compact");
    running.wait_for("result");
    prompt(&mut running, 9);
    running.close_stdin();
    running.finish().expect_clean();
    check_words(&server, 9);
    check_resume(&server, &sandbox);
    check_words(&server, 9);
}

fn check_words(server: &ModelServer, count: usize) {
    let request = server.last_request();
    let text = request.all_text();
    let mut last = 0;
    for number in 1..=count {
        let words = format!("prompt number {number}.");
        let at = text.find(&words).unwrap_or_else(|| panic!("{words} is lost: {text}"));
        assert!(at > last, "{words} is out of order: {text}");
        assert_eq!(text.matches(&words).count(), 1, "{words}: {text}");
        last = at;
    }
}

// [LNG-15] What cannot be summarised says why, and changes nothing.
#[test]
fn what_cannot_be_summarised_says_why() {
    let server = ModelServer::script([ScriptedReply::text("Answer one.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = start(&sandbox);
    prompt(&mut running, 1);
    for (number, direction, why) in [
        (1, "sideways", "direction must be from or up_to"),
        (9, "from", "no prompt"),
        (1, "up_to", "nothing to summarise"),
    ] {
        let said = ask(&mut running, number, direction);
        assert_eq!(said["subtype"], "error", "{said}");
        assert!(said["error"].as_str().unwrap().contains(why), "{said}");
    }
    running.close_stdin();
    running.finish().expect_clean();
    assert_eq!(server.requests().len(), 1);
}
