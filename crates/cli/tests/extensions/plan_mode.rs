//! Questions and plans: AskUserQuestion, EnterPlanMode and ExitPlanMode over the real protocol, and without a host.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, answer, asked, last_result};
use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedReply};

fn questions() -> Value {
    let options =
        json!([{"label": "Postgres", "description": "a server"}, {"label": "SQLite", "description": "a file"}]);
    json!([{"question": "Which database?", "header": "Database", "options": options, "multiSelect": false}])
}

fn tools(line: &Value) -> Vec<&str> {
    line["tools"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

fn ask() -> ScriptedReply {
    // Answers that the model gives itself are ignored.
    ScriptedReply::tool("AskUserQuestion", json!({"questions": questions(), "answers": {"Which database?": "Oracle"}}))
}

#[test]
fn a_question_is_asked_whatever_the_rules_and_its_answer_reaches_the_model() {
    // [SDK-108] [TST-84] SC-E12
    let server = ModelServer::script([ask(), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &["--allowedTools", "AskUserQuestion"]);
    let init = running.wait_for("system");
    assert!(tools(&init).contains(&"AskUserQuestion"), "{init}");
    let question = running.wait_for("control_request");
    let request = &question["request"];
    assert_eq!(
        (&request["tool_name"], &request["input"]),
        (&json!("AskUserQuestion"), &json!({"questions": questions()}))
    );
    assert_eq!(request["requires_user_interaction"], true);
    assert!(request.get("permission_suggestions").is_none(), "no rule can answer it: {request}");
    let input = json!({"questions": questions(), "answers": {"Which database?": "SQLite"}});
    answer(&mut running, &question, &json!({"behavior": "allow", "updatedInput": input}));
    running.wait_for("result");
    let result = last_result(&server);
    assert!(result["content"].as_str().unwrap().contains(r#""Which database?"="SQLite""#), "{result}");
    running.close_stdin();
    let run = running.finish().expect_clean();
    let told = run.lines().into_iter().find(|line| line["tool_use_result"]["answers"].is_object()).unwrap();
    assert_eq!(told["tool_use_result"], json!({"questions": questions(), "answers": {"Which database?": "SQLite"}}));
}

#[test]
fn a_refused_question_is_a_refusal_and_bypass_asks_too() {
    // [TST-84] [TST-85]
    let server = ModelServer::script([ask(), ask(), ScriptedReply::text("done")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("IS_SANDBOX", "1");
    let mut running = asked(&sandbox, &["--dangerously-skip-permissions"]);
    let first = running.wait_for("control_request");
    answer(&mut running, &first, &json!({"behavior": "deny", "message": "ask me tomorrow"}));
    let second = running.wait_for("control_request");
    assert_eq!(last_result(&server)["content"], "ask me tomorrow");
    let input = json!({"questions": questions(), "response": "neither, please wait"});
    answer(&mut running, &second, &json!({"behavior": "allow", "updatedInput": input}));
    running.wait_for("result");
    assert_eq!(last_result(&server)["content"], "The user responded: neither, please wait");
}

#[test]
fn without_a_host_there_is_no_question_tool_and_only_a_hook_can_answer() {
    // [SDK-109] [EXT-75] [CLI-167]
    let server = ModelServer::script([ask(), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let flags = ["-p", "go", "--output-format", "stream-json", "--verbose"];
    let run = sandbox.gimlet(&flags).run().expect_clean();
    let lines = run.lines();
    for tool in ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"] {
        assert!(!tools(&lines[0]).contains(&tool), "{tool}");
    }
    assert_eq!(last_result(&server)["is_error"], true);
    for (output, answered) in [
        (json!({"permissionDecision": "allow"}), false),
        (json!({"permissionDecision": "allow", "updatedInput": {"questions": questions()}}), false),
        (
            json!({"permissionDecision": "allow", "updatedInput": {"questions": questions(), "answers": {"Which database?": "SQLite"}}}),
            true,
        ),
    ] {
        let server = ModelServer::script([ask(), ScriptedReply::text("done")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        let mut output = output;
        output["hookEventName"] = "PreToolUse".into();
        let said = json!({"hookSpecificOutput": output}).to_string();
        let hook = json!({"type": "command", "command": format!("echo '{said}'")});
        let settings = json!({"hooks": {"PreToolUse": [{"matcher": "AskUserQuestion", "hooks": [hook]}]}});
        sandbox.write_config("settings.json", settings.to_string());
        sandbox.gimlet(&["-p", "go"]).run().expect_clean();
        let result = last_result(&server);
        assert_eq!(result["content"].as_str().unwrap().contains(r#"="SQLite""#), answered, "{said}: {result}");
    }
}

/// The path the model was told to write its plan to.
fn plan_file(server: &ModelServer) -> String {
    let texts = server.request(0).json["messages"].to_string();
    let at = texts.find("the plan itself: ").expect("the reminder names the file") + "the plan itself: ".len();
    texts[at..].split(" (").next().unwrap().to_owned()
}

#[test]
fn a_plan_is_written_refused_with_words_and_approved_with_a_mode() {
    // [SDK-110] [TST-86] [TST-87] [CLI-166]
    let server = ModelServer::script([
        ScriptedReply::text("first look"),
        ScriptedReply::tool("ExitPlanMode", json!({})),
        ScriptedReply::text("nothing yet"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &["--permission-mode", "plan", "--allowedTools", "Edit,Write"]);
    running.wait_for("result");
    let path = plan_file(&server);
    assert!(path.contains("/plans/") && path.contains(".md"), "{path}");
    running.send_user("go on");
    running.wait_for("result");
    assert!(
        last_result(&server)["content"].as_str().unwrap().contains("There is no plan yet"),
        "{}",
        last_result(&server)
    );

    for reply in [
        ScriptedReply::tool("Write", json!({"file_path": "code.rs", "content": "x"})),
        ScriptedReply::tool("Write", json!({"file_path": path, "content": "# Plan\n1. do it\n"})),
        ScriptedReply::tool("ExitPlanMode", json!({})),
        ScriptedReply::tool("ExitPlanMode", json!({})),
        ScriptedReply::tool("Write", json!({"file_path": "code.rs", "content": "x"})),
        ScriptedReply::text("done"),
    ] {
        server.push(reply);
    }
    running.send_user("write the plan");
    let first = running.wait_for("control_request");
    let input = &first["request"]["input"];
    assert_eq!((&input["plan"], &input["planFilePath"]), (&json!("# Plan\n1. do it\n"), &json!(path)));
    assert!(!sandbox.project().join("code.rs").exists(), "plan mode holds whatever is allowed");
    answer(&mut running, &first, &json!({"behavior": "deny", "message": "smaller steps"}));
    let second = running.wait_for("control_request");
    assert_eq!(last_result(&server)["content"], "smaller steps");
    let update = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let edited = json!({"plan": "# Plan\n1. do half of it\n"});
    answer(&mut running, &second, &json!({"behavior": "allow", "updatedInput": edited, "updatedPermissions": update}));
    running.wait_for("result");
    let results = server.requests().last().unwrap().tool_results();
    let approved = results[results.len() - 2]["content"].as_str().unwrap();
    assert!(approved.starts_with("User has approved your plan"), "{approved}");
    assert!(approved.contains("## Approved Plan:\n# Plan\n1. do half of it"), "{approved}");
    assert!(sandbox.project().join("code.rs").exists(), "the new mode holds for the next call");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# Plan\n1. do half of it\n");
    running.close_stdin();
    let run = running.finish().expect_clean();
    let switched =
        run.lines().into_iter().find(|line| line["subtype"] == "status" && line["permissionMode"].is_string());
    assert_eq!(switched.unwrap()["permissionMode"], "acceptEdits");
    let told = run.lines().into_iter().find(|line| line["tool_use_result"]["planWasEdited"] == true).unwrap();
    assert_eq!(
        (&told["tool_use_result"]["isAgent"], &told["tool_use_result"]["filePath"]),
        (&json!(false), &json!(path))
    );
    let slug = std::path::Path::new(&path).file_stem().unwrap().to_str().unwrap().to_owned();
    assert!(sandbox.transcript().iter().any(|line| line["slug"] == slug.as_str()));
}

#[test]
fn the_model_enters_plan_mode_and_a_plain_yes_restores_the_mode_before() {
    // [SDK-110] [TST-86]
    let server = ModelServer::script([
        ScriptedReply::tool("EnterPlanMode", json!({})),
        ScriptedReply::tool("Bash", json!({"command": "touch made"})),
        ScriptedReply::tool("ExitPlanMode", json!({"plan": "all of it"})),
        ScriptedReply::tool("Bash", json!({"command": "touch made"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &["--allowedTools", "Bash"]);
    let question = running.wait_for("control_request");
    assert_eq!(
        (&question["request"]["tool_name"], &question["request"]["input"]["plan"]),
        (&json!("ExitPlanMode"), &json!("all of it"))
    );
    assert!(!sandbox.project().join("made").exists());
    let told = server.requests().last().unwrap().json["messages"].to_string();
    assert_eq!(told.matches("Plan mode is on: the user wants").count(), 1, "told once");
    answer(&mut running, &question, &json!({"behavior": "allow"}));
    running.wait_for("result");
    assert!(sandbox.project().join("made").exists());
    running.close_stdin();
    let run = running.finish().expect_clean();
    let modes: Vec<String> = run
        .lines()
        .iter()
        .filter(|line| line["subtype"] == "status")
        .filter_map(|line| line["permissionMode"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(modes, ["plan", "default"]);
}

#[test]
fn without_a_host_a_plan_is_the_answer() {
    let server = ModelServer::script([
        ScriptedReply::tool("EnterPlanMode", json!({})),
        ScriptedReply::tool("ExitPlanMode", json!({"plan": "x"})),
        ScriptedReply::text("the plan"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = sandbox.gimlet(&["-p", "go", "--permission-mode", "plan"]).run().expect_clean();
    assert_eq!(run.stdout, "the plan\n");
    let results = server.requests().last().unwrap().tool_results();
    assert!(results[0]["content"].as_str().unwrap().contains("already on"));
    assert!(results[1]["content"].as_str().unwrap().contains("haven't granted"), "{}", results[1]);
    let first = server.request(0).json["messages"].to_string();
    assert!(first.contains("nobody can approve it here"), "{first}");
    let again = ModelServer::script([ScriptedReply::tool("EnterPlanMode", json!({})), ScriptedReply::text("ok")]);
    let sandbox = Sandbox::with_server(EXE, &again);
    sandbox.gimlet(&["-p", "go"]).run().expect_clean();
    assert!(last_result(&again)["content"].as_str().unwrap().contains("nobody could approve"));
}

#[test]
fn a_plan_comes_back_after_a_summary_and_holds_in_agents() {
    // [TST-194] [TST-87]
    let server = ModelServer::script([ScriptedReply::text("looking")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut running = asked(&sandbox, &["--permission-mode", "plan"]);
    running.wait_for("result");
    let path = plan_file(&server);
    for reply in [
        ScriptedReply::tool("Write", json!({"file_path": path, "content": "# The plan\nsteps\n"})),
        ScriptedReply::text("written"),
        ScriptedReply::text("the summary"),
        ScriptedReply::text("on it"),
    ] {
        server.push(reply);
    }
    running.send_user("plan it");
    running.wait_for("result");
    running.send_user("/compact");
    running.wait_for("result");
    running.send_user("and now?");
    running.wait_for("result");
    let last = server.last_request().json["messages"].to_string();
    assert!(last.contains("# The plan\\nsteps") && last.contains("Plan mode is on: the user wants"), "{last}");
    let kinds: Vec<Value> = sandbox.transcript().iter().map(|line| line["attachment"]["type"].clone()).collect();
    assert!(kinds.contains(&json!("plan_file_reference")) && kinds.contains(&json!("plan_mode")), "{kinds:?}");
    for reply in [
        ScriptedReply::tool("Agent", json!({"description": "d", "prompt": "p", "run_in_background": false})),
        ScriptedReply::tool("Write", json!({"file_path": "x", "content": "x"})),
        ScriptedReply::text("could not"),
        ScriptedReply::text("done"),
    ] {
        server.push(reply);
    }
    running.send_user("use an agent");
    running.wait_for("result");
    let requests = server.requests();
    let of_agent = &requests[requests.len() - 2];
    let told = of_agent.json["messages"].to_string();
    assert!(told.contains("report what you found") && of_agent.tool_results()[0]["is_error"] == true, "{told}");
    assert!(!sandbox.project().join("x").exists());
}
