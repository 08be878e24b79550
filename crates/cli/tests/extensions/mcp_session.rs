//! MCP servers during a session: which rules apply, what the user types, what a resumed conversation continues with.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::mcp::{config, scene, server};
use crate::common::{ASK, host, of_kind, print, session_of, stream};
use serde_json::{Value, json};
use testkit::{CapturedRequest, ScriptedReply};

// [TST-220] A rule about a whole server also applies to its resources.
#[test]
fn a_denied_server_is_not_read() {
    for rule in ["mcp__fix", "mcp__fix__*", "mcp__*"] {
        let (model, sandbox) = scene([
            ScriptedReply::tool("ReadMcpResourceTool", json!({"server": "fix", "uri": "note://one"})),
            ScriptedReply::tool("ListMcpResourcesTool", json!({"server": "fix"})),
            ScriptedReply::tool("ListMcpResourcesTool", json!({})),
            ScriptedReply::text("done"),
        ]);
        let both = json!({"mcpServers": {"fix": server(&[]), "other": server(&[])}}).to_string();
        stream(&sandbox, "see @fix:note://one", &["--mcp-config", &both, "--disallowedTools", rule]);
        let results = model.request(3).tool_results();
        assert!(!model.request(3).json.to_string().contains("the text of the note"), "{rule}");
        assert!(results[0]["is_error"] == true && results[1]["is_error"] == true, "{rule}: {results:?}");
        let listed = results[2]["content"].to_string();
        assert!(!listed.contains("\"fix\""), "{listed}");
        assert_eq!(listed.contains("note://one"), rule != "mcp__*", "{rule}: {listed}");
    }
    // A rule about one tool does not apply to the whole server.
    let (model, sandbox) = scene([
        ScriptedReply::tool("ReadMcpResourceTool", json!({"server": "fix", "uri": "note://one"})),
        ScriptedReply::text("done"),
    ]);
    stream(&sandbox, "go", &["--mcp-config", &config(&[]), "--disallowedTools", "mcp__fix__echo"]);
    assert!(model.request(1).tool_results()[0]["content"].to_string().contains("the text of the note"));
}

// [TST-220]
#[test]
fn a_resource_that_a_prompt_names_stands_beside_it() {
    let (model, sandbox) = scene([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let flags = ["--mcp-config", &config(&[])];
    let lines = stream(&sandbox, "sum up @fix:note://one and @nobody:note://two", &flags);
    let first = model.request(0);
    let sent = first.all_text();
    assert!(sent.contains("sum up @fix:note://one"), "{sent}");
    assert!(sent.contains("the text of the note") && !sent.contains("server nobody"), "{sent}");
    let id = session_of(&lines);
    stream(&sandbox, "go on", &["--resume", &id, "--mcp-config", &config(&[])]);
    assert_extends(&first, &model.request(1));
}

/// The later request begins with the messages of the earlier one, cache marks aside, and has the same tools.
fn assert_extends(earlier: &CapturedRequest, later: &CapturedRequest) {
    assert_eq!(bare(&earlier.json["tools"]), bare(&later.json["tools"]));
    assert_eq!(bare(&earlier.json["system"]), bare(&later.json["system"]));
    for (before, after) in earlier.messages().iter().zip(later.messages()) {
        assert_eq!(bare(before), bare(after));
    }
    assert!(later.messages().len() > earlier.messages().len());
}

fn bare(value: &Value) -> String {
    value.to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

// [TST-96] [TST-219] Loaded tools can be called after a resume, and the requests extend each other.
#[test]
fn loaded_tools_outlive_the_process() {
    for native in [true, false] {
        let (model, sandbox) = scene([
            ScriptedReply::tool("ToolSearch", json!({"query": "select:mcp__fix__extra_7"})),
            ScriptedReply::text("found"),
            ScriptedReply::tool("mcp__fix__extra_7", json!({})),
            ScriptedReply::text("done"),
        ]);
        // A server of the user is not waited for by default.
        let state = json!({"mcpServers": {"fix": server(&["many=600"])}}).to_string();
        sandbox.write_config(".claude.json", &state);
        let run = |prompt: &str, more: &[&str]| {
            let flags: Vec<&str> = ["--allowedTools", "mcp__fix"].iter().chain(more).copied().collect();
            let run = print(&sandbox, prompt, &flags);
            let run = if native { run.env("ENABLE_TOOL_SEARCH", "true") } else { run };
            run.env("MCP_CONNECTION_NONBLOCKING", "0").run().expect_clean().lines()
        };
        let id = session_of(&run("look", &[]));
        run("use it", &["--resume", &id]);
        assert_eq!(model.request(3).tool_results()[1]["content"], "called extra_7", "native: {native}");
        assert_extends(&model.request(1), &model.request(2));
        assert_extends(&model.request(2), &model.request(3));
        let again = model.request(2).all_text();
        assert_eq!(again.matches("Use echo for echoes.").count(), 1, "{again}");
    }
}

// [TST-219] No reference to a tool of a missing server is sent.
#[test]
fn references_to_tools_that_are_gone_become_words() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("ToolSearch", json!({"query": "select:mcp__fix__echo"})),
        ScriptedReply::text("found"),
        ScriptedReply::text("done"),
    ]);
    let flags = ["--mcp-config", &config(&[])];
    let lines = print(&sandbox, "look", &flags).env("ENABLE_TOOL_SEARCH", "true").run().expect_clean().lines();
    let id = session_of(&lines);
    // Behind an endpoint that does not know references.
    stream(&sandbox, "go on", &["--resume", &id]);
    let later = model.request(2).json.to_string();
    assert!(!later.contains("tool_reference") && later.contains("Tools that fit: mcp__fix__echo"), "{later}");
}

// [TST-218] Neither bypassing permissions nor a run without questions replaces the person.
#[test]
fn a_tool_that_wants_a_person_gets_one_in_every_mode() {
    let verdict = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#;
    let hook =
        json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": format!("echo '{verdict}'")}]}]}})
            .to_string();
    let ways: [&[&str]; 4] = [
        &["--permission-mode", "bypassPermissions"],
        &["--permission-mode", "dontAsk"],
        &["--settings", &hook],
        &["--permission-mode", "acceptEdits"],
    ];
    for way in ways {
        let (model, sandbox) = scene([ScriptedReply::tool("mcp__fix__insist", json!({})), ScriptedReply::text("done")]);
        let servers = config(&[]);
        let flags: Vec<&str> =
            ["--mcp-config", &servers, "--allowedTools", "mcp__fix"].iter().chain(way).copied().collect();
        print(&sandbox, "go", &flags).env("IS_SANDBOX", "1").run();
        assert_eq!(model.request(1).tool_results()[0]["is_error"], true, "{way:?}");
        // If a person is there, the person is asked, except where questions are forbidden.
        let (model, sandbox) = scene([ScriptedReply::tool("mcp__fix__insist", json!({})), ScriptedReply::text("done")]);
        let mut running = host(&sandbox, &[&ASK, flags.as_slice()].concat()).env("IS_SANDBOX", "1").spawn();
        running.send_user("go");
        if way.contains(&"dontAsk") {
            running.wait_for("result");
            assert_eq!(model.request(1).tool_results()[0]["is_error"], true);
        } else {
            let asked = running.wait_for("control_request");
            assert_eq!(asked["request"]["tool_name"], "mcp__fix__insist", "{way:?}");
            crate::common::answer(&mut running, &asked, &json!({"behavior": "allow", "updatedInput": {}}));
            running.wait_for("result");
            assert_eq!(model.request(1).tool_results()[0]["content"], "insisted", "{way:?}");
        }
        running.close_stdin();
        running.finish();
    }
}

// [TST-210] The time limit in a server's declaration, and the one in the environment.
#[test]
fn a_call_that_takes_too_long_is_given_up() {
    for (limit, idle) in [(Some(1000), None), (None, Some("300"))] {
        let (model, sandbox) =
            scene([ScriptedReply::tool("mcp__fix__sleep", json!({"seconds": 60})), ScriptedReply::text("done")]);
        let mut fix = server(&[]);
        if let Some(limit) = limit {
            fix["timeout"] = json!(limit);
        }
        let config = json!({"mcpServers": {"fix": fix}}).to_string();
        let run = print(&sandbox, "go", &["--mcp-config", &config, "--allowedTools", "mcp__fix"]);
        let run = idle.into_iter().fold(run, |run, ms| run.env("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", ms));
        run.run().expect_clean();
        let result = model.request(1).tool_results()[0].clone();
        assert_eq!(result["is_error"], true);
        let said = result["content"].as_str().unwrap();
        let expected = if limit.is_some() { "did not answer within 1 s" } else { "did not answer within 0.3 s" };
        assert!(said.contains(expected), "{said}");
    }
}

// [TST-211] If a list cannot be read again, the old one stays.
#[test]
fn a_failed_refresh_keeps_the_tools() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("mcp__fix__spoil", json!({})),
        ScriptedReply::tool(
            "Bash",
            json!({"command": "until grep -q 'tools/list refused' ../server.log; do sleep 0.01; done"}),
        ),
        ScriptedReply::tool("mcp__fix__echo", json!({"text": "still here"})),
        ScriptedReply::text("done"),
    ]);
    let log = format!("log={}", sandbox.root().join("server.log").display());
    stream(&sandbox, "go", &["--mcp-config", &config(&[&log]), "--allowedTools", "mcp__fix", "Bash"]);
    assert_eq!(model.request(3).tool_results()[2]["content"], "still here");
    assert_eq!(model.request(3).json["tools"], model.request(0).json["tools"]);
}

/// The output of a typed command.
fn said(lines: &[Value]) -> String {
    let told = of_kind(lines, "assistant").into_iter().find(|line| line["local_command_run"].is_object()).unwrap();
    told["message"]["content"][0]["text"].as_str().unwrap().to_owned()
}

// What the user sees and chooses; the choice applies to the folder.
#[test]
fn servers_are_shown_and_switched_by_command() {
    let (_model, sandbox) = scene([]);
    let servers = json!({"fix": server(&[]), "bad": {"command": "/no/such/program"}});
    sandbox.write_config(".claude.json", json!({"mcpServers": servers}).to_string());
    let shown = said(&stream(&sandbox, "/mcp", &[]));
    assert!(shown.contains("fix [user] connected, 16 tools, 1 prompt, resources"), "{shown}");
    assert!(shown.contains("bad [user] failed: cannot start `/no/such/program`"), "{shown}");
    let off = said(&stream(&sandbox, "/mcp disable fix", &[]));
    assert_eq!(off, "fix [user] disabled");
    let state: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.config_dir().join(".claude.json")).unwrap()).unwrap();
    let project = sandbox.project().display().to_string();
    assert_eq!(state["projects"][&project]["disabledMcpServers"], json!(["fix"]));
    let later = said(&stream(&sandbox, "/mcp", &[]));
    assert!(later.contains("fix [user] disabled"), "{later}");
    let on = said(&stream(&sandbox, "/mcp enable fix", &[]));
    assert!(on.starts_with("fix [user] connected"), "{on}");
    let again = said(&stream(&sandbox, "/mcp reconnect fix", &[]));
    assert!(again.starts_with("fix [user] connected"), "{again}");
    let unknown = said(&print(&sandbox, "/mcp reconnect nope", &[]).run().expect_code(1).lines());
    assert!(unknown.contains("There is no MCP server \"nope\"; there are: bad, fix."), "{unknown}");
}
