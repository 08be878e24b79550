//! Compactions that are listed, shown and taken back; context usage that agrees with the provider.

use crate::common::{EXE, host, print, stream};
use serde_json::{Value, json};
use testkit::{CapturedRequest, ModelServer, RunningGimlet, Sandbox, ScriptedReply};

const SMALL: [&str; 2] = ["--model", "small-model"];

fn sandbox(server: &ModelServer) -> Sandbox {
    let mut here = Sandbox::with_server(EXE, server);
    here.set("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "20000");
    here
}

fn say(run: &mut RunningGimlet, text: &str) -> Value {
    run.send_user(text);
    run.wait_for("result")
}

fn session_of(sandbox: &Sandbox) -> String {
    sandbox.transcript().iter().find_map(|line| line["sessionId"].as_str().map(str::to_owned)).unwrap()
}

fn plain(request: &CapturedRequest) -> Vec<Value> {
    let mut messages = request.messages().to_vec();
    for block in messages.iter_mut().flat_map(|message| message["content"].as_array_mut().unwrap()) {
        block.as_object_mut().unwrap().remove("cache_control");
    }
    messages
}

fn go_on(sandbox: &Sandbox, prompt: &str, flags: &[&str]) {
    let done = print(sandbox, prompt, flags).run();
    assert_eq!(done.code(), 0, "{prompt}: {}", done.stderr);
}

fn refusal() -> ScriptedReply {
    ScriptedReply::error(400, "invalid_request_error", "prompt is too long: 21000 tokens > 20000 maximum")
}

/// [LNG-20] Every compaction can be listed with its numbers, its summary and what it dropped, in the session and from the
/// shell.
#[test]
fn compactions_are_listed_and_shown() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "echo one-two"})),
        ScriptedReply::text("Answer one."),
        ScriptedReply::text("SUMMARY alpha."),
        ScriptedReply::text("Answer two."),
        ScriptedReply::text("SUMMARY beta."),
    ]);
    let sandbox = sandbox(&server);
    let mut run = host(&sandbox, &[&SMALL[..], &["--allowedTools", "Bash"]].concat()).spawn();
    let nothing = say(&mut run, "/compact show");
    assert_eq!(nothing["result"], "This conversation was not compacted.");
    say(&mut run, "first prompt");
    say(&mut run, "/compact");
    say(&mut run, "second prompt");
    say(&mut run, "/compact");
    let shown = say(&mut run, "/compact show")["result"].as_str().unwrap().to_owned();
    for part in [
        "Compaction 1 of 2",
        "Compaction 2 of 2",
        "by command",
        "SUMMARY alpha.",
        "SUMMARY beta.",
        "first prompt",
        "echo one-two",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let second = say(&mut run, "/compact show 2")["result"].as_str().unwrap().to_owned();
    assert!(second.contains("Compaction 2 of 2") && second.contains("second prompt"), "{second}");
    // The person's words are in every summary; the steps are those of this one.
    let (_, steps) = second.split_once("\nDropped:\n").unwrap();
    assert!(!steps.contains("first prompt"), "{second}");
    let none = say(&mut run, "/compact show 3");
    assert!(none["result"].as_str().unwrap().contains("no compaction 3"), "{none}");
    run.close_stdin();
    run.finish();
    assert_eq!(server.requests().len(), 5, "nothing of it asks the model");
    let session = session_of(&sandbox);
    let listed = sandbox.gimlet(&["sessions", "compactions", &session, "--json"]).run().expect_clean().json();
    let all = listed["compactions"].as_array().unwrap();
    assert_eq!((all.len(), &listed["sessionId"]), (2, &json!(session)), "{listed}");
    let first = &all[0];
    assert_eq!((&first["number"], &first["trigger"], &first["kept"]), (&json!(1), &json!("manual"), &json!(0)));
    assert!(first["tokensBefore"].as_u64().unwrap() > first["tokensAfter"].as_u64().unwrap() / 4, "{first}");
    let dropped: Vec<&str> =
        first["dropped"].as_array().unwrap().iter().map(|step| step["who"].as_str().unwrap()).collect();
    assert_eq!(dropped, ["user", "Bash", "assistant"]);
    let line = first["dropped"][0]["line"].as_u64().unwrap() as usize;
    assert!(sandbox.transcript()[line - 1].to_string().contains("first prompt"), "{first}");
    let text = sandbox.gimlet(&["sessions", "compactions", &session]).run().expect_clean().stdout;
    assert!(text.contains("Compaction 2 of 2") && text.contains("SUMMARY beta."), "{text}");
}

/// [LNG-20] After `/compact undo` the model gets what it had before; nothing is deleted, what was said since is another
/// branch, and a resumed conversation has the same bytes, also right after it.
#[test]
fn a_compaction_is_taken_back() {
    let server = ModelServer::script([
        ScriptedReply::text("One."),
        refusal(),
        ScriptedReply::text("SUMMARY."),
        ScriptedReply::text("Two."),
        ScriptedReply::text("Three."),
        ScriptedReply::text("Four."),
        ScriptedReply::text("Five."),
        ScriptedReply::text("SUMMARY again."),
        ScriptedReply::text("Six."),
        ScriptedReply::text("Seven."),
    ]);
    let sandbox = sandbox(&server);
    let mut run = host(&sandbox, &SMALL).spawn();
    say(&mut run, "first");
    say(&mut run, "second");
    say(&mut run, "third");
    let lines = sandbox.transcript().len();
    let undone = say(&mut run, "/compact undo");
    assert!(undone["result"].as_str().unwrap().contains("goes on from before the summary"), "{undone}");
    say(&mut run, "fourth");
    run.close_stdin();
    run.finish();
    let live = server.requests().pop().unwrap();
    let text = live.all_text();
    assert!(text.contains("first") && text.contains("One.") && text.contains("second"), "{text}");
    assert!(!text.contains("SUMMARY") && !text.contains("Two.") && !text.contains("third"), "{text}");
    assert!(sandbox.transcript().len() > lines, "nothing is deleted");
    let session = session_of(&sandbox);
    let listed = sandbox.gimlet(&["rewind", "--json", "--session", &session]).run().expect_clean().json();
    assert!(listed["branches"].to_string().contains("third"), "{listed}");
    let resume = ["--resume", session.as_str(), SMALL[0], SMALL[1]];
    go_on(&sandbox, "fifth", &resume);
    let resumed = plain(&server.requests().pop().unwrap());
    let before = plain(&live);
    assert_eq!(resumed[..before.len()], before[..]);
    go_on(&sandbox, "/compact", &resume);
    go_on(&sandbox, "sixth", &resume);
    assert!(server.requests().pop().unwrap().all_text().contains("SUMMARY again."));
    go_on(&sandbox, "/compact undo", &resume);
    go_on(&sandbox, "seventh", &resume);
    let last = server.requests().pop().unwrap();
    let text = last.all_text();
    assert!(text.contains("Five.") && text.contains("One.") && !text.contains("SUMMARY"), "{text}");
    assert!(!text.contains("sixth") && text.contains("seventh"), "{text}");
    assert_eq!(plain(&last)[..resumed.len()], resumed[..], "the same bytes as before the second compaction");
}

/// [LNG-20] What cannot be taken back says why, and what needs a person says so.
#[test]
fn what_cannot_be_taken_back_says_why() {
    let server = ModelServer::script([ScriptedReply::text("One."), ScriptedReply::text("SUMMARY.")]);
    let mut sandbox = sandbox(&server);
    sandbox.set("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "100000");
    let mut run = host(&sandbox, &SMALL).spawn();
    let none = say(&mut run, "/compact undo");
    assert!(none["result"].as_str().unwrap().contains("no compaction to take back"), "{none}");
    say(&mut run, &"many words ".repeat(6_000));
    let edit = say(&mut run, "/compact edit");
    assert!(edit["result"].as_str().unwrap().contains("needs the terminal"), "{edit}");
    say(&mut run, "/compact");
    run.close_stdin();
    run.finish();
    sandbox.set("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "20000");
    let resume = ["--resume", &session_of(&sandbox), SMALL[0], SMALL[1]];
    let refused = print(&sandbox, "/compact undo", &resume).run();
    let said = refused.result();
    assert!(said["result"].as_str().unwrap().contains("would be summarised again at 16,667"), "{said}");
    assert_eq!(server.requests().len(), 2);
}

/// Reports usage as a provider would count it: one token for 3.1 bytes of the whole body.
fn counting(answer: &'static str, steps: usize) -> ModelServer {
    let mut asked = 0;
    ModelServer::with_handler(move |request| {
        let tokens = (request.json.to_string().len() as f64 / 3.1) as u64;
        asked += 1;
        let reply = if asked <= steps {
            ScriptedReply::tool("Bash", json!({"command": format!("seq {} {}", asked * 100, asked * 100 + 400)}))
        } else {
            ScriptedReply::text(answer)
        };
        reply.tokens(tokens, 40)
    })
}

fn sum(rows: &Value, kind: &str) -> u64 {
    let rows = rows.as_array().unwrap().iter().filter(|row| row["kind"] == kind);
    rows.map(|row| row["tokens"].as_u64().unwrap()).sum()
}

/// [LNG-25] After each response `/context` and its twin agree with what the provider reported; rows add up to the header
/// and to the window, and say where they come from; no request is made for it.
#[test]
fn context_agrees_with_the_provider() {
    let server = counting("Counted.", 3);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "Always be exact.\n".repeat(40));
    sandbox
        .write(".claude/skills/polish/SKILL.md", "---\nname: polish\ndescription: Polishes things\n---\nPolish it.\n");
    let mut run = host(&sandbox, &["--allowedTools", "Bash", "--model", "claude-sonnet-4-5"]).spawn();
    for prompt in ["one", "two", "three"] {
        run.send_user(prompt);
        let mut reported = 0;
        loop {
            let line: Value = serde_json::from_str(&run.next_line().unwrap()).unwrap();
            if line["type"] == "assistant" {
                let usage = &line["message"]["usage"];
                let count = |name: &str| usage[name].as_u64().unwrap_or(0);
                reported =
                    count("input_tokens") + count("cache_read_input_tokens") + count("cache_creation_input_tokens");
            }
            if line["type"] == "result" {
                break;
            }
        }
        let reported = (reported + 40) as f64;
        run.send_json(
            &json!({"type": "control_request", "request_id": "u", "request": {"subtype": "get_context_usage"}}),
        );
        let twin = run.wait_for("control_response")["response"]["response"].clone();
        let asked = server.requests().len();
        run.send_user("/context");
        let shown = run.wait_for("assistant")["context_usage"].clone();
        run.wait_for("result");
        assert_eq!(server.requests().len(), asked, "nothing is counted by a request");
        for total in [twin["totalTokens"].as_f64().unwrap(), shown["total_tokens"].as_f64().unwrap()] {
            assert!((total - reported).abs() / reported <= 0.02, "{prompt}: {total} of {reported}");
        }
        for (rows, total, window) in [
            (&twin["categories"], &twin["totalTokens"], &twin["maxTokens"]),
            (&shown["categories"], &shown["total_tokens"], &shown["raw_max_tokens"]),
        ] {
            assert_eq!(sum(rows, "used"), total.as_u64().unwrap(), "{rows}");
            assert_eq!(sum(rows, "used") + sum(rows, "free") + sum(rows, "buffer"), window.as_u64().unwrap(), "{rows}");
        }
        let row = |id: &str| twin["categories"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone();
        assert!(row("memory_files")["x_from"].as_str().unwrap().ends_with("CLAUDE.md"), "{twin}");
        assert!(row("skills")["x_from"].as_str().unwrap().contains("polish"), "{twin}");
        assert!(row("messages")["x_smaller"].as_str().unwrap().contains("/compact"), "{twin}");
        assert!(twin["apiUsage"]["input_tokens"].is_u64(), "{twin}");
    }
    run.close_stdin();
    run.finish();
}

/// [LNG-26] The same for a stored conversation.
#[test]
fn a_stored_conversation_has_its_context() {
    let server = counting("Counted.", 2);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "count", &["--allowedTools", "Bash", "--model", "claude-sonnet-4-5"]);
    let last = lines.iter().rfind(|line| line["type"] == "assistant").unwrap();
    let reported = last["message"]["usage"]["input_tokens"].as_u64().unwrap() + 40;
    let id = session_of(&sandbox);
    let stored = sandbox.gimlet(&["context", &id, "--json"]).run().expect_clean().json();
    assert_eq!((&stored["totalTokens"], &stored["model"]), (&json!(reported), &json!("claude-sonnet-4-5")), "{stored}");
    assert_eq!(sum(&stored["categories"], "used"), reported);
    let text = sandbox.gimlet(&["context"]).run().expect_clean().stdout;
    assert!(text.contains(&id) && text.contains("Messages") && text.contains("results of calls"), "{text}");
    let unknown = sandbox.gimlet(&["context", "nothing-like-it"]).run();
    assert_eq!(unknown.code(), 1);
    assert!(unknown.stderr.contains("No conversation found"), "{}", unknown.stderr);
}
