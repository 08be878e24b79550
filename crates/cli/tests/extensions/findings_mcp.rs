//! MCP servers at the start of a session: which runs wait for them, what the first request contains, and what is known
//! before the first prompt. The real binary with real servers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::mcp::{HttpServer, scene, server};
use crate::common::{host, of_kind, print, stream};
use serde_json::{Value, json};
use testkit::{ModelServer, RunningGimlet, Sandbox, ScriptedReply};

/// Longer than any test runs, in milliseconds.
const FOREVER: &str = "600000";

/// Servers of the user.
fn declare(sandbox: &Sandbox, servers: &Value) {
    sandbox.write_config(".claude.json", json!({"mcpServers": servers, "hasCompletedOnboarding": true}).to_string());
}

fn control(running: &mut RunningGimlet, request: &Value) -> Value {
    running.send_json(&json!({"type": "control_request", "request_id": "c", "request": request}));
    running.wait_for("control_response")["response"]["response"].clone()
}

// [F-B1] Their tools are offered with the first prompt of a script.
#[test]
fn servers_of_every_scope_are_in_the_first_request() {
    let (model, sandbox) = scene([ScriptedReply::text("done")]);
    let folder = sandbox.project().display().to_string();
    let state = json!({
        "mcpServers": {"mine": server(&[])},
        "projects": {folder: {"mcpServers": {"here": server(&[])}}},
    });
    sandbox.write_config(".claude.json", state.to_string());
    sandbox.write(".mcp.json", json!({"mcpServers": {"shared": server(&[])}}).to_string());
    let lines = stream(&sandbox, "go", &[]);
    let names = model.request(0).tool_names();
    for scope in ["mine", "here", "shared"] {
        assert!(names.contains(&format!("mcp__{scope}__echo")), "{scope}: {names:?}");
    }
    let listed = &of_kind(&lines, "system/init")[0]["mcp_servers"];
    assert!(listed.as_array().unwrap().iter().all(|row| row["status"] == "connected"), "{listed}");
}

// [F-B1] A script waits only briefly, reports servers that did not connect, and never waits for them again.
#[test]
fn a_server_that_does_not_come_is_announced_once() {
    let (model, sandbox) = scene([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    declare(&sandbox, &json!({"fix": server(&[]), "slow": server(&["hang"])}));
    let mut running = host(&sandbox, &[]).env("MCP_CONNECT_TIMEOUT_MS", "700").env("MCP_TIMEOUT", FOREVER).spawn();
    for prompt in ["go", "again"] {
        running.send_user(prompt);
        running.wait_for("result");
    }
    running.close_stdin();
    let done = running.finish();
    assert_eq!(done.stderr.matches("MCP server slow did not connect within 0.7 s").count(), 1, "{}", done.stderr);
    let first = model.request(0);
    assert!(first.tool_names().contains(&"mcp__fix__echo".to_owned()), "{:?}", first.tool_names());
    for request in model.requests() {
        assert_eq!(request.all_text().matches("MCP server slow is still connecting").count(), 1);
    }
}

// [F-B1] [TST-208] With deferred tools no run waits: the request names connecting servers; ToolSearch finds tools.
#[test]
fn with_deferral_the_request_goes_out_at_once() {
    let sandbox_sign = tempfile::tempdir().unwrap();
    let sign = sandbox_sign.path().join("go");
    let (model, sandbox) = scene([
        ScriptedReply::tool("Bash", json!({"command": format!("touch {}", sign.display())})),
        ScriptedReply::tool("ToolSearch", json!({"query": "select:mcp__slow__echo"})),
        ScriptedReply::text("done"),
    ]);
    declare(&sandbox, &json!({"slow": server(&[&format!("wait={}", sign.display())])}));
    let run = print(&sandbox, "go", &["--allowedTools", "Bash"]);
    let run = run.env("ENABLE_TOOL_SEARCH", "true").env("MCP_CONNECT_TIMEOUT_MS", FOREVER);
    run.env("MCP_TIMEOUT", FOREVER).run().expect_clean();
    let first = model.request(0);
    assert!(first.tool_names().contains(&"ToolSearch".to_owned()), "{:?}", first.tool_names());
    assert!(first.all_text().contains("MCP server slow is still connecting"), "{}", first.all_text());
    let found = model.request(2).tool_results()[1].to_string();
    assert!(found.contains("mcp__slow__echo"), "{found}");
}

// [TST-219] A resumed conversation knows the tools of a server that is connecting again: they are not gone.
#[test]
fn tools_of_a_connecting_server_are_not_gone() {
    let place = tempfile::tempdir().unwrap();
    let sign = place.path().join("go");
    let touch = || ScriptedReply::tool("Bash", json!({"command": format!("touch {}", sign.display())}));
    let find = |query: &str| ScriptedReply::tool("ToolSearch", json!({"query": query}));
    // What is loaded would be waited for.
    let first = [touch(), find("+nothing"), ScriptedReply::text("one")];
    let (model, sandbox) =
        scene(first.into_iter().chain([touch(), find("select:mcp__slow__echo"), ScriptedReply::text("two")]));
    declare(&sandbox, &json!({"slow": server(&[&format!("wait={}", sign.display())])}));
    let run = |prompt: &str, more: &[&str]| {
        let run = print(&sandbox, prompt, &[&["--allowedTools", "Bash"], more].concat());
        let run = run.env("ENABLE_TOOL_SEARCH", "true").env("MCP_CONNECT_TIMEOUT_MS", FOREVER);
        run.env("MCP_TIMEOUT", FOREVER).run().expect_clean().lines()
    };
    let session = crate::common::session_of(&run("go", &[]));
    std::fs::remove_file(&sign).unwrap();
    run("go on", &["--resume", &session]);
    let last = model.last_request().all_text();
    assert!(!last.contains("are gone"), "{last}");
    assert_eq!(last.matches("mcp__slow__: ").count(), 1, "{last}");
    assert!(model.last_request().tool_results().last().unwrap().to_string().contains("mcp__slow__echo"));
}

// [F-B1] Servers of the command line are waited for up to their time limit.
#[test]
fn servers_of_the_command_line_are_waited_for() {
    let (model, sandbox) = scene([ScriptedReply::text("done")]);
    let place = tempfile::tempdir().unwrap();
    let sign = place.path().join("go");
    let config = json!({"mcpServers": {"fix": server(&[&format!("wait={}", sign.display())])}}).to_string();
    let hook = json!({"hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": format!("(sleep 0.6; touch {}) >/dev/null 2>&1 &", sign.display())}]}]}});
    let flags = ["--mcp-config", &config, "--settings", &hook.to_string()];
    print(&sandbox, "go", &flags).env("MCP_CONNECT_TIMEOUT_MS", "1").run().expect_clean();
    assert!(model.request(0).tool_names().contains(&"mcp__fix__echo".to_owned()));
}

// [F-B1] A person's servers start with the terminal, before any prompt, and a prompt does not wait for those that hang.
#[test]
fn the_terminal_connects_at_the_start_and_never_waits() {
    let (model, sandbox) = scene([ScriptedReply::text("Answered at once.")]);
    let log = sandbox.root().join("server.log");
    declare(
        &sandbox,
        &json!({
            "fix": server(&[&format!("log={}", log.display())]), "slow": server(&["hang"]),
        }),
    );
    let run = sandbox.gimlet::<&str>(&[]).env("MCP_CONNECT_TIMEOUT_MS", FOREVER).env("MCP_TIMEOUT", FOREVER);
    let mut terminal = run.terminal(100, 30);
    terminal.wait_for("? for shortcuts");
    crate::common::mcp::wait_for_text(&log, "prompts/list");
    terminal.send("/mcp\r");
    terminal.wait_until("what became of both servers", |screen| {
        screen.contains("◆ connected   user · 16 tools") && screen.contains("◌ connecting  user")
    });
    terminal.send("\x1b");
    terminal.wait_for("? for shortcuts");
    terminal.send("go\r");
    terminal.wait_for("  Answered at once.");
    assert!(model.request(0).tool_names().contains(&"mcp__fix__echo".to_owned()));
}

// [F-B1] Only `alwaysLoad` makes the terminal wait, and not for long.
#[test]
fn the_terminal_waits_for_always_load() {
    let (model, sandbox) = scene([ScriptedReply::text("Here I am.")]);
    let (mut fix, mut slow) = (server(&[]), server(&["hang"]));
    fix["alwaysLoad"] = json!(true);
    slow["alwaysLoad"] = json!(true);
    declare(&sandbox, &json!({"fix": fix, "slow": slow}));
    let run = sandbox.gimlet(&["go"]).env("MCP_CONNECT_TIMEOUT_MS", "2000").env("MCP_TIMEOUT", FOREVER);
    let terminal = run.terminal(100, 30);
    terminal.wait_for("MCP server slow did not connect within 2 s");
    terminal.wait_for("  Here I am.");
    assert!(model.request(0).tool_names().contains(&"mcp__fix__echo".to_owned()));
}

/// A sandbox that declares everything the four commands show.
fn furnished(replies: Vec<ScriptedReply>) -> (testkit::ModelServer, Sandbox) {
    let (model, sandbox) = scene(replies);
    declare(&sandbox, &json!({"fix": server(&[])}));
    let hook = |word: &str| json!([{"hooks": [{"type": "command", "command": format!("true {word}")}]}]);
    let settings = json!({"hooks": {"Stop": hook("at-stop"), "PreToolUse": hook("before-tool")}});
    sandbox.write_config("settings.json", settings.to_string());
    sandbox.write_config("CLAUDE.md", "Mine: say please. ".repeat(40));
    sandbox.write("CLAUDE.md", "Ours: tabs. ".repeat(40));
    sandbox.write_config("skills/shine/SKILL.md", "---\nname: shine\ndescription: Polishes things\n---\nPolish.\n");
    (model, sandbox)
}

// [F-B8] Over stream-json, as requests and as commands, before the first request to the model.
#[test]
fn a_host_knows_everything_before_the_first_prompt() {
    let (model, sandbox) = furnished(Vec::new());
    let mut running = host(&sandbox, &[]).spawn();
    control(&mut running, &json!({"subtype": "initialize"}));
    let status = control(&mut running, &json!({"subtype": "mcp_status"}));
    let fix = &status["mcpServers"][0];
    assert_eq!((&fix["status"], fix["tools"].as_array().map(Vec::len)), (&json!("connected"), Some(16)), "{status}");
    let usage = control(&mut running, &json!({"subtype": "get_context_usage"}));
    check_usage(&usage);
    let hooks = control(&mut running, &json!({"subtype": "get_hooks_listing"}));
    let listed = hooks["hooks"].to_string();
    assert!(listed.contains("true at-stop") && listed.contains("true before-tool"), "{hooks}");
    let mut said = |command: &str| {
        running.send_user(command);
        let mut text = String::new();
        loop {
            let line: Value = serde_json::from_str(&running.next_line().unwrap()).unwrap();
            match line["type"].as_str() {
                Some("result") => return text,
                Some("assistant" | "system") => text.push_str(&line.to_string()),
                _ => {}
            }
        }
    };
    let shown = said("/mcp");
    assert!(shown.contains("fix [user] connected, 16 tools"), "{shown}");
    let shown = said("/memory");
    assert!(shown.matches("CLAUDE.md").count() >= 2, "{shown}");
    let shown = said("/hooks");
    assert!(shown.contains("true at-stop") && shown.contains("true before-tool"), "{shown}");
    let shown = said("/context");
    for part in ["mcp__fix__echo", "CLAUDE.md", "shine", "Memory files", "MCP tools"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    running.close_stdin();
    running.finish();
    assert!(model.requests().is_empty());
}

fn check_usage(usage: &Value) {
    let files = usage["memoryFiles"].to_string();
    assert_eq!(files.matches("CLAUDE.md").count(), 2, "{usage}");
    let tools = usage["mcpTools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "mcp__fix__echo" && tool["serverName"] == "fix"), "{usage}");
    assert!(usage["skills"]["skillFrontmatter"].to_string().contains("shine"), "{usage}");
    let used = usage["categories"].as_array().unwrap().iter().filter(|row| row["kind"] == "used");
    let sum: u64 = used.map(|row| row["tokens"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), usage["totalTokens"].as_u64(), "{usage}");
}

// [F-B8] The same for a user who opens the screens first.
#[test]
fn the_screens_know_everything_before_the_first_prompt() {
    let (model, sandbox) = furnished(Vec::new());
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(110, 60);
    terminal.wait_for("? for shortcuts");
    for (command, expected) in [
        ("/mcp", &["fix", "◆ connected  user · 16 tools"][..]),
        ("/memory", &["CLAUDE.md", "all your projects", "this project, shared"]),
        ("/hooks", &["true at-stop", "true before-tool"]),
        ("/context", &["Memory files", "mcp__fix__echo", "shine"]),
    ] {
        terminal.send(&format!("{command}\r"));
        terminal.wait_until(&format!("{command}: {expected:?}"), |screen| {
            expected.iter().all(|part| screen.contains(part))
        });
        terminal.send("\x1b");
        terminal.wait_for("? for shortcuts");
    }
    assert!(model.requests().is_empty());
}

// [F-B7] A server without handshake that asks before it answers: its state is returned to it unchanged.
#[test]
fn a_server_without_a_handshake_is_spoken_to() {
    let (model, sandbox) = scene([
        ScriptedReply::tool("mcp__fix__confirm", json!({})),
        ScriptedReply::tool("mcp__fix__echo", json!({"text": "heard"})),
        ScriptedReply::text("done"),
    ]);
    declare(&sandbox, &json!({"fix": server(&["stateless"])}));
    let lines = stream(&sandbox, "go", &["--allowedTools", "mcp__fix"]);
    assert_eq!(of_kind(&lines, "system/init")[0]["mcp_servers"][0]["status"], "connected");
    // Nobody can accept, so the question is declined.
    assert_eq!(model.request(1).tool_results()[0]["content"], "decline, as it was");
    assert_eq!(model.request(2).tool_results()[1]["content"], "heard");
}

/// Runs a test against a server of the revision 2026-07-28, as a child and over HTTP. `log` is what it was asked.
fn over_both(options: &[&str], check: impl Fn(Value, &std::path::Path)) {
    for over_http in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("server.log");
        let log = format!("log={}", path.display());
        let options: Vec<&str> = options.iter().copied().chain(["stateless", &log]).collect();
        if over_http {
            let remote = HttpServer::start(&options);
            check(remote.config.clone(), &path);
        } else {
            check(server(&options), &path);
        }
    }
}

// [F-B7] A task of this revision carries its result, its questions and its failure in its state.
#[test]
fn tasks_of_the_newest_revision_are_followed_to_their_end() {
    over_both(&["tasks"], |declared, log| {
        let (model, sandbox) = scene([
            ScriptedReply::tool("mcp__fix__job", json!({})),
            ScriptedReply::tool("mcp__fix__broken", json!({})),
            ScriptedReply::text("done"),
        ]);
        declare(&sandbox, &json!({"fix": declared}));
        stream(&sandbox, "go", &["--allowedTools", "mcp__fix"]);
        // It asked in between, and nobody can accept.
        assert_eq!(model.request(1).tool_results()[0]["content"], "decline, and done");
        let failed = &model.request(2).tool_results()[1];
        assert!(failed["is_error"] == true && failed.to_string().contains("the disk is full"), "{failed}");
        let log = std::fs::read_to_string(log).unwrap();
        assert_eq!((log.matches("tasks/update").count(), log.matches("tasks/result").count()), (1, 0), "{log}");
        assert!(!log.contains("notifications/initialized"), "{log}");
    });
}

// [F-B7] A task that takes too long is given up, and the server is told.
#[test]
fn a_task_of_the_newest_revision_is_cancelled_when_its_time_is_up() {
    over_both(&["tasks"], |declared, log| {
        let (model, sandbox) = scene([ScriptedReply::tool("mcp__fix__stuck", json!({})), ScriptedReply::text("done")]);
        declare(&sandbox, &json!({"fix": declared}));
        print(&sandbox, "go", &["--allowedTools", "mcp__fix"]).env("MCP_TOOL_TIMEOUT", "1000").run().expect_clean();
        let result = &model.request(1).tool_results()[0];
        assert!(result["is_error"] == true, "{result}");
        let log = std::fs::read_to_string(log).unwrap();
        assert!(log.contains("tasks/get") && log.contains("tasks/cancel"), "{log}");
    });
}

// [F-B7] Changes are reported to subscribers: a tool that appears later is offered and can be called.
#[test]
fn changes_are_subscribed_to_in_the_newest_revision() {
    over_both(&[], |declared, log| {
        let model = ModelServer::with_handler(|request| {
            let results = request.tool_results();
            let last = results.last().map(|result| result["content"].to_string()).unwrap_or_default();
            let offered = request.tool_names().contains(&"mcp__fix__grown".to_owned());
            match last.as_str() {
                "" => ScriptedReply::tool("mcp__fix__grow", json!({})),
                said if said.contains("called grown") => ScriptedReply::text("done"),
                _ if offered => ScriptedReply::tool("mcp__fix__grown", json!({})),
                // The notification has not arrived yet.
                _ => ScriptedReply::tool("mcp__fix__echo", json!({"text": "waiting"})),
            }
        });
        let sandbox = Sandbox::with_server(crate::common::EXE, &model);
        declare(&sandbox, &json!({"fix": declared}));
        stream(&sandbox, "go", &["--allowedTools", "mcp__fix"]);
        assert!(!model.request(0).tool_names().contains(&"mcp__fix__grown".to_owned()));
        let log = std::fs::read_to_string(log).unwrap();
        assert_eq!((log.matches("subscriptions/listen").count(), log.matches("tools/list").count()), (1, 2), "{log}");
    });
}

// [F-A9] [SDK-82] What is told about declared servers and hooks contains no credential.
#[test]
fn declarations_are_told_without_credentials() {
    let (_model, sandbox) = scene([]);
    let local = json!({"command": "true", "args": ["x.js", "--api-key", "hunter22-canary", "--token=tok-canary", "--port", "5"]});
    let remote = |url: &str| json!({"type": "http", "url": url});
    let named = remote("http://me:pass-canary@127.0.0.1:1/mcp?api_key=quer2y-canary&team=blue");
    declare(&sandbox, &json!({"local": local, "named": named, "plain": remote("http://127.0.0.1:1/mcp?team=blue")}));
    let token = ["kX9", "mP2", "qR7", "vT4", "wB8", "zC3", "nD5", "jF6", "hG1"].concat();
    let told =
        json!({"type": "command", "command": format!("curl -H 'Authorization: Bearer {token}' http://127.0.0.1:1/")});
    sandbox.write_config("settings.json", json!({"hooks": {"Stop": [{"hooks": [told]}]}}).to_string());
    let mut host = host(&sandbox, &[]).spawn();
    control(&mut host, &json!({"subtype": "initialize"}));
    let status = control(&mut host, &json!({"subtype": "mcp_status"}));
    let hooks = control(&mut host, &json!({"subtype": "get_hooks_listing"})).to_string();
    host.close_stdin();
    host.finish();
    assert!(!status.to_string().contains("canary"), "{status}");
    let listed = sandbox.gimlet(&["hooks", "list"]).run().expect_code(0).stdout;
    for shown in [&hooks, &listed] {
        assert!(shown.contains("curl -H") && shown.contains("http://127.0.0.1:1/"), "{shown}");
        assert!(!shown.contains(&token), "{shown}");
    }
    let config = |name: &str| {
        status["mcpServers"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()["config"].clone()
    };
    assert_eq!(config("local")["args"][1], "--api-key");
    assert_eq!(config("local")["args"][5], "5");
    assert_eq!(config("plain")["url"], "http://127.0.0.1:1/mcp?team=blue");
    assert!(config("named")["url"].as_str().unwrap().ends_with("&team=blue"), "{status}");
}

// [F-A9] What a server prints on standard error is shown, stored and logged without its credentials.
#[test]
fn the_last_words_of_a_server_are_masked() {
    let pass = ["kX9", "mP2", "qR7", "vT4"].concat();
    let with_key = |options: &[&str]| {
        let mut declared = server(options);
        declared["env"] = json!({"SERVICE_API_KEY": pass});
        declared
    };
    let (model, sandbox) = scene([ScriptedReply::tool("mcp__fix__crash", json!({})), ScriptedReply::text("done")]);
    declare(&sandbox, &json!({"fix": with_key(&["secret"]), "shut": with_key(&["refuse", "secret"])}));
    let log = sandbox.root().join("debug.log");
    let flags = ["--allowedTools", "mcp__fix", "--debug-file", log.to_str().unwrap()];
    let run = print(&sandbox, "go", &flags).run();
    let result = model.request(1).tool_results()[0].to_string();
    assert!(result.contains("the last words [secret SERVICE_API_KEY hidden"), "{result}");
    assert!(result.contains("[secret Slack token hidden"), "{result}");
    let mut host = host(&sandbox, &[]).spawn();
    control(&mut host, &json!({"subtype": "initialize"}));
    let status = control(&mut host, &json!({"subtype": "mcp_status"})).to_string();
    host.close_stdin();
    host.finish();
    assert!(status.contains("no access with [secret"), "{status}");
    let transcripts: Vec<String> =
        sandbox.transcript_paths().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let list = sandbox.gimlet(&["mcp", "list"]).run();
    let get = sandbox.gimlet(&["mcp", "get", "shut"]).run();
    assert!(list.stdout.contains("no access with [secret"), "{}", list.stdout);
    let doctor = sandbox.gimlet(&["doctor"]).run();
    let logged = std::fs::read_to_string(&log).unwrap();
    let mut all =
        vec![result, status, logged, run.stdout, run.stderr, list.stdout, list.stderr, get.stdout, get.stderr];
    all.extend(transcripts);
    all.push(doctor.stdout);
    for text in all {
        assert!(!text.contains(&pass) && !text.contains("aB3dE6gH9kLmN2"), "{text}");
    }
}

// [F-B11] A call that the server runs as a task is asked after until it ends.
#[test]
fn a_task_of_a_server_is_waited_for() {
    let (model, sandbox) = scene([ScriptedReply::tool("mcp__fix__job", json!({})), ScriptedReply::text("done")]);
    let log = sandbox.root().join("server.log");
    declare(&sandbox, &json!({"fix": server(&["tasks", &format!("log={}", log.display())])}));
    stream(&sandbox, "go", &["--allowedTools", "mcp__fix"]);
    assert_eq!(model.request(1).tool_results()[0]["content"], "the job is done");
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!((log.matches("tasks/get").count(), log.matches("tasks/result").count()), (3, 1), "{log}");
}

// [F-B13] [CLI-116] A gateway is asked when the user wants that, at most once a day, and `initialize` never asks.
#[test]
fn models_of_a_gateway_are_listed() {
    let (model, sandbox) = scene([]);
    let data = json!([{"id": "claude-house-1", "display_name": "House One"}, {"id": "gpt-9"}]);
    model.route("/v1/models", ScriptedReply::status(200).json(&json!({"data": data, "has_more": false})));
    let lists = |discovers: &str| {
        let run = host(&sandbox, &[]).env("CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY", discovers);
        let mut running = run.spawn();
        let greeting = control(&mut running, &json!({"subtype": "initialize"}));
        let asked = model.all_requests().len();
        let listed = control(&mut running, &json!({"subtype": "list_models"}));
        running.close_stdin();
        running.finish();
        (greeting["models"].to_string(), listed["models"].to_string(), asked)
    };
    let (greeting, listed, _) = lists("0");
    assert!(!greeting.contains("claude-house-1") && !listed.contains("claude-house-1"), "{listed}");
    assert!(model.all_requests().is_empty());
    let (greeting, listed, asked) = lists("1");
    assert!(asked == 0 && !greeting.contains("claude-house-1"), "{greeting}");
    assert!(listed.contains("House One") && listed.contains("From gateway") && !listed.contains("gpt-9"), "{listed}");
    assert!(listed.contains("\"default\""), "{listed}");
    // From the cache on disk.
    let (greeting, _, _) = lists("1");
    assert!(greeting.contains("House One"), "{greeting}");
    assert_eq!(model.all_requests().len(), 1);
}

// [F-B13] The first party's models are listed by default, page by page, and once a day; here through a proxy.
#[test]
fn models_of_the_first_party_are_listed_page_by_page() {
    let (model, mut sandbox) = scene([]);
    let page = |id: &str, more: bool| {
        let data = json!([{"id": id, "display_name": format!("Model {id}")}]);
        ScriptedReply::status(200).json(&json!({"data": data, "has_more": more, "first_id": id, "last_id": id}))
    };
    model.route("http://api.anthropic.com/v1/models?beta=true&limit=1000", page("claude-page-1", true));
    model.route(
        "http://api.anthropic.com/v1/models?beta=true&limit=1000&after_id=claude-page-1",
        page("claude-page-2", true),
    );
    model.route(
        "http://api.anthropic.com/v1/models?beta=true&limit=1000&after_id=claude-page-2",
        page("claude-page-3", false),
    );
    sandbox.set("HTTP_PROXY", model.url());
    sandbox.unset("NO_PROXY");
    let listed = |sandbox: &Sandbox, base_url: &str| {
        let mut running = host(sandbox, &[]).env("ANTHROPIC_BASE_URL", base_url).spawn();
        let greeting = control(&mut running, &json!({"subtype": "initialize"}));
        let listed = control(&mut running, &json!({"subtype": "list_models"}));
        running.close_stdin();
        running.finish();
        // The provider is the first party, because the protocol is.
        assert_eq!(greeting["account"]["apiProvider"], "firstParty");
        listed["models"].to_string()
    };
    // Similar addresses count as gateways: no list is requested.
    for other in [
        "http://api.anthropic.com.example",
        "http://gate.example/api.anthropic.com",
        "http://gate.example/?api.anthropic.com",
        "http://api.anthropic.com@gate.example",
        "http://notapi.anthropic.com.gate.example",
    ] {
        let listed = listed(&sandbox, other);
        assert!(!listed.contains("claude-page"), "{other}: {listed}");
    }
    assert!(model.all_requests().is_empty());
    let all = listed(&sandbox, "http://api.anthropic.com");
    for number in 1..=3 {
        assert!(all.contains(&format!("Model claude-page-{number}")), "{all}");
    }
    assert!(all.contains("Offered by the API"), "{all}");
    let asked = model.all_requests();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|request| request.header("host") == Some("api.anthropic.com")), "{asked:?}");
    listed(&sandbox, "http://api.anthropic.com");
    assert_eq!(model.all_requests().len(), 3, "the list on disk is fresh");
}
