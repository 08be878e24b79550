//! Slash commands as prompts: what they answer, what they change, and that the model gets only what concerns it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::{FinishedRun, ModelServer, RunningGimlet, Sandbox, ScriptedReply};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");
const STREAM: [&str; 5] = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

fn start(sandbox: &Sandbox, more: &[&str]) -> RunningGimlet {
    sandbox.gimlet(&[&STREAM[..], more].concat()).stdin_open().spawn()
}

fn say(running: &mut RunningGimlet, text: &str) -> Value {
    running.send_user(text);
    running.wait_for("result")
}

/// Runs one command in a separate run, without a model.
fn alone(sandbox: &Sandbox, command: &str) -> FinishedRun {
    sandbox.gimlet(&["-p", command, "--output-format", "stream-json", "--verbose"]).run()
}

fn result_text(result: &Value) -> &str {
    result["result"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn local_commands_answer_without_the_model() {
    // [SDK-153] [CLI-213] [TST-163]
    let server = ModelServer::start();
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write("CLAUDE.md", "be brief\n");
    for (command, expected) in [
        ("/context", "Free space"),
        ("/usage", "Total cost: $0.0000"),
        ("/cost", "Total cost"),
        ("/help", "/compact [instructions|edit|show|undo]"),
        ("/status", "Session: "),
        ("/memory", "CLAUDE.md"),
        ("/agents", "general-purpose"),
        ("/hooks", "none"),
        ("/permissions", "Permission mode: default"),
        ("/skills", "none"),
        ("/tasks", "Nothing is running"),
        ("/todos", "no open tasks"),
        ("/mcp", "No MCP servers"),
        ("/effort", "Effort: "),
        ("/autocompact", "compacted automatically at about"),
        ("/color", "Colour: default. Colours: red, blue"),
        ("/color green", "Colour of this session: green."),
        ("/export", "Nothing has been said yet"),
        ("/theme", "needs the terminal interface"),
        ("/artifacts", "hosted service"),
        ("/vim", "editorMode"),
    ] {
        let run = alone(&sandbox, command).expect_clean();
        let lines = run.lines();
        let result = run.result();
        assert!(result_text(&result).contains(expected), "{command}: {result}");
        assert_eq!((&result["is_error"], &result["subtype"]), (&json!(false), &json!("success")), "{command}");
        assert!(result["local_command"].is_string() && result.get("terminal_reason").is_none(), "{command}: {result}");
        assert_eq!(lines[0]["subtype"], "init", "{command}");
        let told = &lines[lines.len() - 2];
        assert_eq!(
            (&told["type"], &told["message"]["content"][0]["text"]),
            (&json!("assistant"), &result["result"]),
            "{command}"
        );
        assert!(told["local_command_run"]["command"].is_string(), "{command}: {told}");
        let kind = &told["context_usage"]["memory_files"][0]["type"];
        assert_eq!(*kind == "Project", command == "/context", "{command}: {told}");
    }
    assert_eq!(server.requests().len(), 0);
    let texts: Vec<Value> = sandbox
        .transcript_paths()
        .iter()
        .flat_map(|path| {
            std::fs::read_to_string(path)
                .unwrap()
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect::<Vec<Value>>()
        })
        .collect();
    let starts = |value: &Value, text: &str| value.as_str().is_some_and(|value| value.starts_with(text));
    let command = "<command-name>/status</command-name>\n<command-message>status</command-message>";
    assert!(texts.iter().any(|line| line["type"] == "user" && starts(&line["message"]["content"], command)));
    let output =
        |line: &Value| line["subtype"] == "local_command" && starts(&line["content"], "<local-command-stdout>");
    assert!(texts.iter().any(output));
}

#[test]
fn what_a_command_shows_stays_out_of_the_conversation() {
    // [EXT-212] [EXT-213] [SDK-66]
    let server =
        ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two"), ScriptedReply::text("three")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &[]);
    say(&mut running, "hello");
    let shown = say(&mut running, "/context all");
    assert!(result_text(&shown).contains("System tools"), "{shown}");
    say(&mut running, "# not a memory");
    let last = server.last_request().json["messages"].to_string();
    assert!(!last.contains("Free space") && last.contains("# not a memory"), "{last}");
    let unknown = say(&mut running, "/comapct now");
    assert_eq!(unknown["result"], "three");
    let last = server.last_request().json["messages"].to_string();
    assert!(last.contains("/comapct now") && last.contains("similar names are /compact"), "{last}");
    running.close_stdin();
    running.finish().expect_clean();
    assert!(sandbox.transcript().iter().any(|line| line["attachment"]["type"] == "unknown_command_fallback"));
}

#[test]
fn init_lists_commands_and_a_switch_takes_them_away() {
    // [SDK-66]
    let server = ModelServer::script([ScriptedReply::text("ok"), ScriptedReply::text("ok")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let run = alone(&sandbox, "hi").expect_clean();
    let names = run.lines()[0]["slash_commands"].clone();
    let has = |name: &str| names.as_array().unwrap().iter().any(|n| n == name);
    assert!(has("compact") && has("clear") && has("context") && !has("theme") && !has("artifacts"), "{names}");
    let off = sandbox
        .gimlet(&["-p", "/usage", "--disable-slash-commands", "--output-format", "stream-json", "--verbose"])
        .run()
        .expect_clean();
    assert_eq!(off.lines()[0]["slash_commands"], json!([]));
    assert_eq!(off.result()["result"], "ok", "without commands it is a text like any other");
}

#[test]
fn a_model_switched_to_holds_for_the_session_and_is_not_saved() {
    // [CLI-119] [EXT-114]
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write_config("settings.json", r#"{"availableModels": ["sonnet", "haiku", "opus"]}"#);
    let mut running = start(&sandbox, &["--model", "sonnet"]);
    say(&mut running, "hello");
    let switched = say(&mut running, "/model haiku");
    assert!(result_text(&switched).contains("haiku"), "{switched}");
    let refused = say(&mut running, "/model fable");
    assert!(refused["is_error"] == true && result_text(&refused).contains("availableModels"), "{refused}");
    say(&mut running, "again");
    let models: Vec<Value> = server.requests().iter().map(|request| request.json["model"].clone()).collect();
    assert!(
        models[0].as_str().unwrap().contains("sonnet") && models[1].as_str().unwrap().contains("haiku"),
        "{models:?}"
    );
    let shown = say(&mut running, "/usage");
    assert!(result_text(&shown).contains("Usage by model:"), "{shown}");
    running.close_stdin();
    running.finish();
    let settings = std::fs::read_to_string(sandbox.config_dir().join("settings.json")).unwrap();
    assert!(!settings.contains("\"model\""), "{settings}");
}

#[test]
fn hooks_may_refuse_a_switch_and_add_to_the_next_request() {
    // [EXT-114]
    let server = ModelServer::script([ScriptedReply::text("one")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let hook = |command: &str| json!({"type": "command", "command": command, "timeout": 1});
    let settings = json!({"hooks": {
        "PreModelSwitch": [
            {"matcher": "claude-opus-.*", "hooks": [hook("echo too dear >&2; exit 2")]},
            {"matcher": "claude-fable-.*", "hooks": [hook("sleep 20")]},
        ],
        "PostModelSwitch": [{"hooks": [hook("echo the model is smaller now")]}],
    }});
    sandbox.write_config("settings.json", settings.to_string());
    let mut running = start(&sandbox, &["--model", "sonnet"]);
    let refused = say(&mut running, "/model opus");
    assert!(refused["is_error"] == true && result_text(&refused).contains("too dear"), "{refused}");
    let silent = say(&mut running, "/model fable");
    assert!(silent["is_error"] == true && result_text(&silent).contains("did not answer in time"), "{silent}");
    say(&mut running, "/model haiku");
    say(&mut running, "hello");
    let request = server.last_request();
    assert!(request.json["model"].as_str().unwrap().contains("haiku"));
    assert!(request.json["messages"].to_string().contains("the model is smaller now"));
}

#[test]
fn effort_is_a_choice_of_the_session() {
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--model", "sonnet"]);
    let set = say(&mut running, "/effort low");
    assert!(result_text(&set).starts_with("Effort set to low"), "{set}");
    assert_eq!(say(&mut running, "/effort huge")["is_error"], true);
    say(&mut running, "hello");
    assert_eq!(server.last_request().json["output_config"]["effort"], "low");
    say(&mut running, "/effort auto");
    say(&mut running, "again");
    assert_eq!(server.last_request().json["output_config"]["effort"], "high");
}

#[test]
fn directories_are_added_and_moved_to_within_the_rules() {
    // [EXT-109] [CLI-164]
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "/nowhere"})),
        ScriptedReply::text("one"),
        ScriptedReply::tool("Bash", json!({"command": "pwd"})),
        ScriptedReply::text("two"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let (extra, other) = (sandbox.root().join("extra"), sandbox.root().join("other"));
    std::fs::create_dir_all(extra.join("sub")).unwrap();
    std::fs::create_dir_all(&other).unwrap();
    std::os::unix::fs::symlink(&other, sandbox.root().join("link")).unwrap();
    let seen = sandbox.root().join("seen");
    let hook = json!({"type": "command", "command": format!("cat >> {}", seen.display())});
    let settings = json!({
        "permissions": {"allow": [format!("Cd(/{}/**)", extra.display())], "deny": [format!("Cd(/{})", other.display())]},
        "hooks": {"DirectoryAdded": [{"hooks": [hook.clone()]}], "CwdChanged": [{"hooks": [hook]}]},
    });
    sandbox.write_config("settings.json", settings.to_string());
    let mut running = start(&sandbox, &[]);
    let missing = say(&mut running, "/add-dir /no/such/place");
    assert_eq!(missing["is_error"], true, "{missing}");
    let added = say(&mut running, &format!("/add-dir {}", extra.display()));
    assert!(result_text(&added).contains("is a working directory"), "{added}");
    let again = say(&mut running, &format!("/add-dir {}/sub", extra.display()));
    assert!(result_text(&again).contains("already"), "{again}");
    say(&mut running, "hello");
    assert!(server.last_request().json["messages"].to_string().contains("is a working directory of this session now"));
    for forbidden in ["other", "link"] {
        let refused = say(&mut running, &format!("/cd {}", sandbox.root().join(forbidden).display()));
        assert!(refused["is_error"] == true && result_text(&refused).contains("forbids"), "{refused}");
    }
    let unlisted = say(&mut running, "/cd .");
    assert!(result_text(&unlisted).contains("not among"), "{unlisted}");
    let moved = say(&mut running, &format!("/cd {}/sub", extra.display()));
    assert_eq!(moved["is_error"], false, "{moved}");
    say(&mut running, "where are you?");
    let results = server.last_request().tool_results();
    assert!(results.last().unwrap()["content"].as_str().unwrap().ends_with("extra/sub"), "{results:?}");
    running.close_stdin();
    running.finish();
    let seen = std::fs::read_to_string(seen).unwrap();
    assert_eq!(seen.matches("\"DirectoryAdded\"").count(), 1, "{seen}");
    assert!(seen.contains("\"source\":\"slash_command\"") && seen.contains("\"new_cwd\""), "{seen}");
}

#[test]
fn rules_given_with_a_command_hold_for_the_next_call() {
    // [CLI-214]
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch a"})),
        ScriptedReply::text("one"),
        ScriptedReply::tool("Bash", json!({"command": "touch b"})),
        ScriptedReply::text("two"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &[]);
    let given = say(&mut running, "/permissions allow Bash(touch *)");
    assert!(result_text(&given).contains("for this session"), "{given}");
    say(&mut running, "go");
    assert!(sandbox.project().join("a").exists());
    let shown = say(&mut running, "/permissions");
    assert!(result_text(&shown).contains("Bash(touch *) [session]"), "{shown}");
    say(&mut running, "/permissions remove Bash(touch *)");
    let result = say(&mut running, "go");
    assert_eq!(result["permission_denials"].as_array().unwrap().len(), 1);
    assert!(!sandbox.project().join("b").exists());
    assert_eq!(say(&mut running, "/permissions allow Bash(")["is_error"], true);
}

#[test]
fn a_conversation_is_named_and_written_out() {
    // [CLI-215]
    let server = ModelServer::script([ScriptedReply::text("It is blue.")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &[]);
    say(&mut running, "What colour is it?");
    say(&mut running, "/rename the   colour\tquestion");
    let written = say(&mut running, "/export talk");
    assert_eq!(written["is_error"], false, "{written}");
    assert_eq!(sandbox.read("talk.txt"), "> What colour is it?\n\nIt is blue.\n");
    assert_eq!(say(&mut running, "/export talk.txt")["is_error"], true, "nothing is overwritten");
    running.close_stdin();
    running.finish().expect_code(1);
    assert!(sandbox.transcript().iter().any(|line| line["customTitle"] == "the colour question"));
}

#[test]
fn prompts_of_our_own_go_to_the_model_and_hooks_hear_of_them() {
    // [EXT-95] [EXT-214]
    let server = ModelServer::script([
        ScriptedReply::text("one"),
        ScriptedReply::tool("Skill", json!({"skill": "fix"})),
        ScriptedReply::text("two"),
        ScriptedReply::text("three"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write(".claude/commands/fix.md", "Fix it: $ARGUMENTS");
    sandbox.write_config("commands/danger.md", "Danger");
    let seen = sandbox.root().join("seen");
    let hooks = json!({"UserPromptExpansion": [
        {"hooks": [{"type": "command", "command": format!("cat >> {0}; echo >> {0}", seen.display())}]},
        {"matcher": "danger", "hooks": [{"type": "command", "command": "echo not today >&2; exit 2"}]},
    ]});
    sandbox.write_config("settings.json", json!({"hooks": hooks}).to_string());
    let mut running = start(&sandbox, &["--trust-workspace"]);
    say(&mut running, "/init with care");
    let first = server.last_request().json["messages"].to_string();
    assert!(first.contains("<command-name>/init</command-name>") && first.contains("do not overwrite it"), "{first}");
    say(&mut running, "use the skill yourself");
    let calls = std::fs::read_to_string(&seen).unwrap();
    assert_eq!(calls.matches("\"UserPromptExpansion\"").count(), 1, "not for the Skill tool: {calls}");
    let call: Value = serde_json::from_str(calls.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&call["expansion_type"], &call["command_name"], &call["command_args"], &call["prompt"]),
        (&json!("slash_command"), &json!("init"), &json!("with care"), &json!("/init with care"))
    );
    let blocked = say(&mut running, "/danger now");
    assert!(result_text(&blocked).contains("not today"), "{blocked}");
    assert_eq!(server.requests().len(), 3, "a blocked command is not sent");
    say(&mut running, "/fix the parser");
    assert!(server.last_request().json["messages"].to_string().contains("Fix it: the parser"));
    let calls = std::fs::read_to_string(&seen).unwrap();
    assert!(calls.contains("\"command_source\":\"project\""), "{calls}");
}

#[test]
fn a_plan_may_be_asked_for_with_a_command() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch x"})),
        ScriptedReply::text("a plan"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--allowedTools", "Bash"]);
    let on = say(&mut running, "/plan");
    assert!(result_text(&on).contains("Plan mode is on"), "{on}");
    let planned = say(&mut running, "/plan the whole thing");
    assert_eq!(planned["result"], "a plan");
    assert!(!sandbox.project().join("x").exists());
    assert!(server.request(0).json["messages"].to_string().contains("the whole thing"));
}

#[test]
fn clear_begins_another_conversation_behind_the_same_host() {
    // [SDK-150] [SDK-148] [CLI-208] [EXT-244]
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let seen = sandbox.root().join("seen");
    let hook = json!([{"hooks": [{"type": "command", "command": format!("cat >> {0}; echo >> {0}", seen.display())}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"SessionStart": hook, "SessionEnd": hook}}).to_string());
    let mut running = start(&sandbox, &[]);
    let first = say(&mut running, "my name is Ada");
    assert!(first["total_cost_usd"].as_f64().unwrap() > 0.0);
    let style = "---\nname: Terse\ndescription: d\nkeep-coding-instructions: true\n---\nAnswer in one word.\n";
    sandbox.write_config("output-styles/terse.md", style);
    let settings = json!({"outputStyle": "Terse", "hooks": {"SessionStart": hook, "SessionEnd": hook}});
    sandbox.write_config("settings.json", settings.to_string());
    let cleared = say(&mut running, "/clear the first one");
    assert_eq!((&cleared["local_command"], &cleared["total_cost_usd"]), (&json!("clear"), &json!(0.0)), "{cleared}");
    assert_eq!((&cleared["modelUsage"], &cleared["is_error"]), (&json!({}), &json!(false)));
    let second = say(&mut running, "what is my name?");
    let (old, new) = (first["session_id"].as_str().unwrap(), cleared["session_id"].as_str().unwrap());
    assert!(old != new && second["session_id"] == new);
    assert_eq!(second["total_cost_usd"], first["total_cost_usd"], "totals began anew");
    let request = server.last_request();
    assert!(!request.json["messages"].to_string().contains("Ada"), "nothing of the old conversation is sent");
    assert!(request.json["system"].to_string().contains("Answer in one word"), "a new style holds from here on");
    running.close_stdin();
    let run = running.finish().expect_clean();
    let lines = run.lines();
    let at = lines.iter().position(|line| line["type"] == "conversation_reset").unwrap();
    let reset = &lines[at];
    assert_eq!((&reset["session_id"], &reset["trigger"]), (&json!(old), &json!("clear")));
    assert!(reset["new_conversation_id"] != new && reset["new_conversation_id"].is_string());
    assert_eq!(lines[at + 1]["subtype"], "background_tasks_changed");
    let after: Vec<&Value> = lines[at + 1..].iter().filter(|line| line.get("session_id").is_some()).collect();
    assert!(after.iter().all(|line| line["session_id"] == new), "everything after the reset has the new id");
    let events: Vec<Value> = std::fs::read_to_string(seen)
        .unwrap()
        .lines()
        .filter(|l| !l.is_empty())
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let told: Vec<(&str, &str, &str)> = events
        .iter()
        .map(|e| {
            (
                e["hook_event_name"].as_str().unwrap(),
                e["source"].as_str().or(e["reason"].as_str()).unwrap(),
                e["session_id"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("SessionStart", "startup", old),
            ("SessionEnd", "clear", old),
            ("SessionStart", "clear", new),
            ("SessionEnd", "other", new)
        ]
    );
    assert!(sandbox.transcript_of(old).iter().any(|line| line["customTitle"] == "the first one"));
    let file = sandbox.transcript_of(new);
    assert!(file.iter().any(|line| line["type"] == "user") && file.iter().all(|line| line["sessionId"] == new));
    assert!(!file.iter().any(|line| line.to_string().contains("Ada")));
}

#[test]
fn what_runs_in_the_background_ends_with_its_conversation() {
    // [SDK-150]
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "sleep 300", "run_in_background": true})),
        ScriptedReply::text("started"),
        ScriptedReply::text("fresh"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = start(&sandbox, &["--allowedTools", "Bash"]);
    say(&mut running, "go");
    let tasks = say(&mut running, "/tasks");
    assert!(result_text(&tasks).contains("shell running"), "{tasks}");
    say(&mut running, "/new");
    let tasks = say(&mut running, "/bashes");
    assert!(result_text(&tasks).contains("Nothing is running"), "{tasks}");
    say(&mut running, "hello");
    assert!(!server.last_request().json["messages"].to_string().contains("task-notification"));
}
