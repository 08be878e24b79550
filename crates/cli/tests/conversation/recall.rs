//! Recall: what a compaction dropped is found again, word for word, and nothing else is.

use crate::common::{EXE, git, host, print};
use serde_json::{Value, json};
use testkit::{CapturedRequest, ModelServer, RunningGimlet, Sandbox, ScriptedBlock, ScriptedReply};

const RECALL: &str = "Recall";

fn is_agent(request: &CapturedRequest) -> bool {
    request.header("x-claude-code-agent-id").is_some()
}

fn is_summary(request: &CapturedRequest) -> bool {
    request.last_user_text().contains("hand-over text only")
}

fn recall(id: &str, input: &Value) -> ScriptedReply {
    ScriptedReply::message(vec![ScriptedBlock::tool_with_id(id, RECALL, input)])
}

fn say(run: &mut RunningGimlet, text: &str) {
    run.send_user(text);
    run.wait_for("result");
}

/// The id of the only session.
fn session_of(sandbox: &Sandbox) -> String {
    sandbox.transcript().iter().find_map(|line| line["sessionId"].as_str().map(str::to_owned)).unwrap()
}

fn offers_recall(request: &CapturedRequest) -> bool {
    request.tool_names().contains(&RECALL.to_owned())
}

/// The result of the call `id` in the last request.
fn recalled(server: &ModelServer, id: &str) -> String {
    server.requests().last().unwrap().tool_result_text(id)
}

/// [LNG-19] Absent before the first compaction; afterwards every kind of text is found exactly, with its line; a resumed
/// conversation goes on with the same tools.
#[test]
fn dropped_texts_are_found_word_for_word() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "printf 'alpha\\n  beta gamma\\ndelta\\n'"})),
        ScriptedReply::text("The greek letters are printed."),
        ScriptedReply::text("SUMMARY without details."),
        recall("toolu_1", &json!({"query": "legacy VENDOR"})),
        recall("toolu_2", &json!({"query": "gamma", "kind": "result"})),
        recall("toolu_3", &json!({"query": "greek", "kind": "answer"})),
        recall("toolu_4", &json!({"query": "printf", "kind": "call"})),
        recall("toolu_5", &json!({"query": "zebra"})),
        recall("toolu_6", &json!({"query": "", "kind": "prompt"})),
        recall("toolu_7", &json!({"query": "legacy unicorn"})),
        ScriptedReply::text("done"),
        ScriptedReply::text("resumed"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &["--allowedTools", "Bash"]).spawn();
    say(&mut run, "Never touch vendor/legacy.c,\n  says Ada.");
    say(&mut run, "/compact");
    say(&mut run, "go on");
    run.close_stdin();
    run.finish();
    let requests = server.requests();
    for request in &requests[..3] {
        assert!(!offers_recall(request), "before the compaction: {:?}", request.tool_names());
    }
    let (before, after) = (requests[2].tool_names(), requests[3].tool_names());
    assert_eq!(after.iter().filter(|name| **name != RECALL).cloned().collect::<Vec<_>>(), before);
    let results: Vec<String> =
        (1..=7).map(|n| requests.last().unwrap().tool_result_text(&format!("toolu_{n}"))).collect();
    let lines = sandbox.transcript();
    let number = |part: &str| lines.iter().position(|line| line["message"].to_string().contains(part)).unwrap() + 1;
    let prompt = &results[0];
    assert!(prompt.contains("| Never touch vendor/legacy.c,\n|   says Ada."), "{prompt}");
    assert!(prompt.contains(&format!("Line {}, the user", number("Never touch"))), "{prompt}");
    assert!(prompt.starts_with("1 match in what was dropped from /"), "{prompt}");
    assert!(
        results[1].contains("result of Bash") && results[1].contains("| alpha\n|   beta gamma\n| delta"),
        "{results:?}"
    );
    assert!(results[2].contains(", you") && results[2].contains("| The greek letters are printed."), "{results:?}");
    assert!(results[3].contains("call of Bash") && results[3].contains("printf 'alpha\\n  beta"), "{results:?}");
    assert!(results[4].starts_with("Nothing that was dropped fits \"zebra\""), "{results:?}");
    assert!(results[5].contains("says Ada") && !results[5].contains("go on"), "only what was dropped: {results:?}");
    assert!(results[6].contains("No text has all the words") && results[6].contains("legacy.c"), "{results:?}");
    print(&sandbox, "and now", &["--resume", &session_of(&sandbox)]).run().expect_clean();
    let resumed = server.requests().pop().unwrap();
    assert_eq!(resumed.json["tools"], requests[3].json["tools"], "a resumed conversation has the same tools");
}

/// [LNG-19] Where tools are deferred the arrival of Recall is one more name in the conversation: tools and system prompt
/// keep every byte, and it is loaded like any other tool; the same when the conversation is resumed.
#[test]
fn its_arrival_changes_nothing_that_was_sent() {
    let search = |id: &str| {
        ScriptedReply::message(vec![ScriptedBlock::tool_with_id(id, "ToolSearch", &json!({"query": "select:Recall"}))])
    };
    let server = ModelServer::script([
        ScriptedReply::text("Noted."),
        ScriptedReply::text("SUMMARY."),
        ScriptedReply::text("Going on."),
        search("toolu_s"),
        recall("toolu_r", &json!({"query": "ORCHID"})),
        ScriptedReply::text("done"),
        ScriptedReply::text("resumed"),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("ENABLE_TOOL_SEARCH", "true");
    git(&sandbox, "init -q");
    let mut run = host(&sandbox, &[]).spawn();
    say(&mut run, "The code word is ORCHID-7.");
    say(&mut run, "/compact");
    say(&mut run, "go on");
    run.close_stdin();
    run.finish();
    let session = session_of(&sandbox);
    print(&sandbox, "what was the word?", &["--resume", &session]).run().expect_clean();
    print(&sandbox, "thanks", &["--resume", &session]).run().expect_clean();
    let requests = server.requests();
    let bare = |value: &Value| value.to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    for later in &requests[1..4] {
        assert_eq!(bare(&later.json["tools"]), bare(&requests[0].json["tools"]));
        assert_eq!(bare(&later.json["system"]), bare(&requests[0].json["system"]));
    }
    assert!(!requests[1].all_text().contains(RECALL), "not named before the compaction");
    assert!(requests[2].all_text().contains("Recall"), "named after it: {}", requests[2].all_text());
    let last = requests.last().unwrap();
    let result = last.tool_result_text("toolu_r");
    assert!(result.contains("| The code word is ORCHID-7."), "{result}");
    let (before, after) = (requests[3].json["tools"].as_array().unwrap(), last.json["tools"].as_array().unwrap());
    assert_eq!(bare(&json!(before)), bare(&json!(after[..before.len()])));
    assert!(
        after[before.len()..].iter().all(|tool| tool["name"] == RECALL && tool["defer_loading"] == true),
        "{after:?}"
    );
    for pair in requests[2..].windows(2) {
        for (sent, kept) in pair[0].messages().iter().zip(pair[1].messages()) {
            assert_eq!(bare(sent), bare(kept));
        }
    }
}

/// [LNG-19] A branch that was left is not searched, nor what the user took back or what only people saw; the past that
/// two branches share is found from both, and a copy of the session finds its past in the original.
#[test]
fn other_branches_stay_unknown() {
    let server = ModelServer::with_handler(move |request| {
        let said = request.last_user_text();
        let last = request.messages().last().unwrap().to_string();
        if is_summary(request) {
            ScriptedReply::text("SUMMARY.")
        } else if last.contains("tool_result") {
            ScriptedReply::text("done")
        } else if said.contains("recall ") {
            let word = said.rsplit("recall ").next().unwrap().trim().to_owned();
            recall(&format!("toolu_{word}"), &json!({"query": word}))
        } else {
            ScriptedReply::text("An answer.")
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    for (prompt, flags) in [("SHARED one", &[][..]), ("LEFTBRANCH two", &["-c"])] {
        print(&sandbox, prompt, flags).run().expect_clean();
    }
    sandbox.gimlet(&["rewind", "--to", "2", "--conversation"]).run().expect_clean();
    for prompt in [
        "/status",
        "KEPTBRANCH two",
        "/compact",
        "recall SHARED",
        "recall LEFTBRANCH",
        "recall KEPTBRANCH",
        "recall Directory",
    ] {
        print(&sandbox, prompt, &["-c"]).run().expect_clean();
    }
    let requests = server.requests();
    let result = |word: &str| {
        let id = format!("toolu_{word}");
        let has = |request: &&CapturedRequest| request.tool_results().iter().any(|result| result["tool_use_id"] == id);
        requests.iter().find(has).unwrap().tool_result_text(&id)
    };
    assert!(result("SHARED").contains("| SHARED one"), "{}", result("SHARED"));
    assert!(result("KEPTBRANCH").contains("| KEPTBRANCH two"), "{}", result("KEPTBRANCH"));
    let left = result("LEFTBRANCH");
    assert!(left.starts_with("Nothing that was dropped fits") && !left.contains("| "), "{left}");
    let local = result("Directory");
    assert!(local.starts_with("Nothing that was dropped fits"), "what only people saw: {local}");
    let session = session_of(&sandbox);
    let copied = print(&sandbox, "recall one", &["--resume", &session, "--fork-session"]).run().expect_clean();
    let own = server.requests().last().unwrap().tool_result_text("toolu_one");
    assert!(own.contains("| SHARED one") && own.contains(&session), "{own} {}", copied.stdout);
}

/// [LNG-19] Several compactions: everything before each is in reach, once.
#[test]
fn the_whole_past_is_in_reach() {
    let mut replies = Vec::new();
    for n in 1..=3 {
        replies.push(ScriptedReply::text(format!("Answer {n}.")));
        replies.push(ScriptedReply::text(format!("SUMMARY {n} mentions MARMOT.")));
    }
    replies.push(recall("toolu_all", &json!({"query": "MARMOT"})));
    replies.push(recall("toolu_near", &json!({"query": "", "around": 1})));
    replies.push(ScriptedReply::text("done"));
    let server = ModelServer::script(replies);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &[]).spawn();
    for n in 1..=3 {
        say(&mut run, &format!("MARMOT number {n}"));
        say(&mut run, "/compact");
    }
    say(&mut run, "go on");
    run.close_stdin();
    run.finish();
    let all = recalled(&server, "toolu_all");
    assert!(all.starts_with("3 matches"), "summaries are not what was said: {all}");
    for n in 1..=3 {
        assert_eq!(all.matches(&format!("| MARMOT number {n}")).count(), 1, "{all}");
    }
    let near = recalled(&server, "toolu_near");
    assert!(near.contains("| MARMOT number 1\n") && near.contains("| Answer 1."), "{near}");
}

/// [LNG-19] What was masked stays masked, and what is a secret now is masked although it was typed.
#[test]
fn secrets_stay_hidden() {
    let secret = ["kX9mP2qR7v", "T4wY6zB8n"].concat();
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "echo \"deploy with $SERVICE_API_KEY now\""})),
        ScriptedReply::text("ok"),
        ScriptedReply::text("SUMMARY."),
        recall("toolu_out", &json!({"query": "deploy"})),
        recall("toolu_typed", &json!({"query": "typed"})),
        ScriptedReply::text("done"),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("SERVICE_API_KEY", &secret);
    let mut run = host(&sandbox, &["--allowedTools", "Bash"]).spawn();
    say(&mut run, &format!("I typed {secret} here"));
    say(&mut run, "/compact");
    say(&mut run, "go on");
    run.close_stdin();
    run.finish();
    for id in ["toolu_out", "toolu_typed"] {
        let result = recalled(&server, id);
        assert!(result.contains("[secret SERVICE_API_KEY hidden by gimlet]"), "{result}");
        assert!(!result.contains(&secret), "{result}");
    }
}

/// [LNG-19] A subagent finds what its own compaction dropped, and nothing of the conversation that started it; rules and
/// options take the tool away.
#[test]
fn agents_recall_their_own_past() {
    let mut reads = 0;
    let server = ModelServer::with_handler(move |request| {
        if is_summary(request) {
            return ScriptedReply::text("SUMMARY of the agent.");
        }
        if !is_agent(request) {
            let is_first = request.messages().len() == 1;
            let brief = "Read the pages one by one, FERRET, and report what the first one said about its owner.";
            let input = json!({"description": "read", "prompt": brief, "run_in_background": false, "subagent_type": "general-purpose"});
            return if is_first { ScriptedReply::tool("Agent", input) } else { ScriptedReply::text("done") };
        }
        reads += 1;
        if offers_recall(request) && !request.json.to_string().contains("toolu_own") {
            let calls = ["WEASEL", "OTTERMAIN"].map(|word| {
                let id = if word == "WEASEL" { "toolu_own" } else { "toolu_other" };
                ScriptedBlock::tool_with_id(id, RECALL, &json!({"query": word}))
            });
            return ScriptedReply::message(calls.into());
        }
        if offers_recall(request) || reads > 12 {
            return ScriptedReply::text("The report.");
        }
        ScriptedReply::tool("Read", json!({"file_path": format!("page{reads}.txt")}))
    });
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "20000");
    for n in 1..=12 {
        let words = format!("page {n} has a line with some words of text\n").repeat(220);
        sandbox.write(&format!("page{n}.txt"), format!("WEASEL owns page {n}\n{words}"));
    }
    let args = ["--model", "small-model"];
    let done = print(&sandbox, "OTTERMAIN asks", &args).run();
    assert_eq!(done.code(), 0, "{}", done.stderr);
    let requests = server.requests();
    let last = requests.iter().rfind(|request| is_agent(request)).unwrap();
    let own = last.tool_result_text("toolu_own");
    assert!(own.contains("WEASEL owns page 1") && own.contains("/subagents/"), "{own}");
    let other = last.tool_result_text("toolu_other");
    assert!(other.starts_with("Nothing that was dropped fits"), "{other}");
    assert!(requests.iter().filter(|request| !is_agent(request)).all(|request| !offers_recall(request)));
}

/// [LNG-19] Rules and options take it away like any other tool, and an unsaved conversation has nothing to search.
#[test]
fn it_can_be_taken_away() {
    for flags in [&["--disallowedTools", RECALL][..], &["--tools", "Read"], &["--no-session-persistence"]] {
        let server = ModelServer::script(["One.", "SUMMARY.", "Two."].map(ScriptedReply::text));
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut run = host(&sandbox, flags).spawn();
        say(&mut run, "one");
        say(&mut run, "/compact");
        say(&mut run, "two");
        run.close_stdin();
        run.finish();
        let last = server.requests().pop().unwrap();
        assert!(!offers_recall(&last), "{flags:?}: {:?}", last.tool_names());
    }
}
