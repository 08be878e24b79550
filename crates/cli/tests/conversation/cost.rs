//! What a conversation costs: the provider's cache, budgets, limits of the account.

use crate::common::{EXE, host, json, kinds, mcp, of_kind, print, stream};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::{CapturedRequest, ModelServer, RunningGimlet, Sandbox, ScriptedBlock, ScriptedReply};

const MODEL: [&str; 2] = ["--model", "claude-sonnet-4-5"];

fn settings(sandbox: &Sandbox, value: &Value) {
    sandbox.write_config("settings.json", value.to_string());
}

fn say(run: &mut RunningGimlet, text: &str) -> Value {
    run.send_user(text);
    run.wait_for("result")
}

fn control(run: &mut RunningGimlet, request: &Value) -> Value {
    run.send_json(&json!({"type": "control_request", "request_id": "c", "request": request}));
    run.wait_for("control_response")["response"].clone()
}

/// An answer with usage: read from the cache, written to it.
fn cached(blocks: Vec<ScriptedBlock>, read: u64, written: u64) -> ScriptedReply {
    ScriptedReply::message(blocks).usage(
        json!({"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}),
        json!({"output_tokens": 5}),
    )
}

fn text(text: &str) -> Vec<ScriptedBlock> {
    vec![ScriptedBlock::text(text)]
}

/// [LNG-27] A miss is told to a host that asks for it, recorded, listed by `/cost` and by `gimlet usage`, and logged.
#[test]
fn a_cache_miss_is_explained() {
    let server = ModelServer::script([
        cached(text("one"), 0, 50_000),
        cached(text("two"), 50_000, 2_000),
        cached(text("three"), 10_000, 44_000),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let log = sandbox.root().join("debug.log");
    let flags = ["--include-cache-events", "--debug-file", log.to_str().unwrap(), MODEL[0], MODEL[1]];
    let mut run = host(&sandbox, &flags).spawn();
    say(&mut run, "one");
    say(&mut run, "two");
    control(&mut run, &json!({"subtype": "set_model", "model": "claude-haiku-4-5"}));
    run.send_user("three");
    let lines: Vec<Value> = std::iter::from_fn(|| run.next_line())
        .map(|line| serde_json::from_str::<Value>(&line).unwrap())
        .take_while(|line| line["type"] != "result")
        .collect();
    let told = of_kind(&lines, "system/x_cache_miss");
    assert_eq!(told.len(), 1, "{:?}", kinds(&lines));
    assert_eq!((&told[0]["cause"], &told[0]["missed_tokens"]), (&json!("model_changed"), &json!(42_000)));
    assert!(told[0]["detail"].as_str().unwrap().contains("claude-haiku-4-5 instead of claude-sonnet-4-5"));
    let usd = told[0]["cost_usd"].as_f64().unwrap();
    assert!((usd - 42_000.0 * 1.15 / 1e6).abs() < 1e-9, "{usd}");
    let cost = say(&mut run, "/cost");
    let shown = cost["result"].as_str().unwrap();
    assert!(shown.contains("42,000 tokens paid for again") && shown.contains("model changed"), "{shown}");
    assert!(shown.contains("All sessions:") && shown.contains("last 7 days"), "{shown}");
    run.close_stdin();
    run.finish();
    let recorded: Vec<Value> = sandbox.transcript().into_iter().filter(|line| line["type"] == "x-cache-miss").collect();
    assert_eq!((recorded.len(), &recorded[0]["usage"]), (1, &json!({"missed_tokens": 42_000})));
    let usage = sandbox.gimlet(&["usage", "--json"]).run().expect_clean().json();
    assert_eq!(usage["cacheMisses"][0]["cause"], "model_changed");
    assert_eq!(usage["totals"]["responses"], 3, "the miss is no response");
    let text = sandbox.gimlet(&["usage"]).run().expect_clean().stdout;
    assert!(text.contains("Cache misses: 1, 42,000 tokens"), "{text}");
    assert!(std::fs::read_to_string(log).unwrap().contains("model_changed"));
}

/// [LNG-27] Hosts that did not ask are not told; a resumed conversation knows what it had cached.
#[test]
fn a_resumed_conversation_knows_what_was_cached() {
    let server = ModelServer::script([cached(text("one"), 0, 50_000), cached(text("two"), 9_000, 44_000)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let first = stream(&sandbox, "one", &MODEL);
    let id = first[0]["session_id"].as_str().unwrap();
    let second = stream(&sandbox, "two", &["--resume", id, MODEL[0], MODEL[1]]);
    assert!(of_kind(&second, "system/x_cache_miss").is_empty());
    let recorded: Vec<Value> = sandbox.transcript().into_iter().filter(|line| line["type"] == "x-cache-miss").collect();
    assert_eq!((recorded.len(), &recorded[0]["cause"]), (1, &json!("first_request")));
}

/// A request without the cache markers, which move.
fn bare(request: &CapturedRequest, part: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("cache_control");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = request.json[part].clone();
    strip(&mut value);
    value
}

/// Fails when `next` changes what `before` had sent up to its last marker.
fn assert_keeps(before: &CapturedRequest, next: &CapturedRequest, step: &str) {
    assert_eq!(before.tool_names(), next.tool_names(), "{step}");
    assert!(bare(before, "tools") == bare(next, "tools"), "{step}: a tool has changed");
    assert!(bare(before, "system") == bare(next, "system"), "{step}: the system prompt has changed");
    let (sent, now) = (bare(before, "messages"), bare(next, "messages"));
    for (at, (message, kept)) in sent.as_array().unwrap().iter().zip(now.as_array().unwrap()).enumerate() {
        let blocks = message["content"].as_array().unwrap();
        assert_eq!(&kept["content"].as_array().unwrap()[..blocks.len()], blocks, "{step}: message {at}");
        assert_eq!(kept["role"], message["role"]);
    }
    assert!(sent.as_array().unwrap().len() <= now.as_array().unwrap().len(), "{step}");
}

/// [LNG-28] Whatever happens in a session, no request changes what an earlier one had sent before its last marker; only
/// compaction and another model do.
#[test]
fn requests_only_grow() {
    let calls = AtomicUsize::new(0);
    let server = ModelServer::with_handler(move |request| {
        let n = calls.fetch_add(1, Ordering::Relaxed);
        let is_prompt = request.messages().last().is_some_and(|last| !last.to_string().contains("tool_result"));
        if n.is_multiple_of(3) && is_prompt {
            ScriptedReply::tool("Glob", json!({"pattern": format!("{n}*")}))
        } else {
            ScriptedReply::text(format!("answer {n}"))
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "Be brief.\n");
    sandbox.write(".claude/skills/polish/SKILL.md", "---\nname: polish\ndescription: Polishes\n---\nPolish it.\n");
    let sign = sandbox.root().join("server-may-start");
    let late = json!({"mcpServers": {"late": mcp::server(&[&format!("wait={}", sign.display())])}});
    sandbox.write_config(".claude.json", late.to_string());
    let patient = [("ENABLE_TOOL_SEARCH", "true"), ("MCP_CONNECT_TIMEOUT_MS", "1"), ("MCP_TIMEOUT", "600000")];
    let mut run = patient.iter().fold(host(&sandbox, &[]), |run, (name, value)| run.env(name, *value)).spawn();
    let mut steps: Vec<(usize, &str)> = Vec::new();
    let mut done = |what: &'static str| steps.push((server.requests().len(), what));
    let mode = |mode: &str| json!({"subtype": "set_permission_mode", "mode": mode});
    let first = say(&mut run, "one");
    let id = first["session_id"].as_str().unwrap().to_owned();
    done("the first prompt");
    control(&mut run, &mode("acceptEdits"));
    say(&mut run, "two");
    done("another mode");
    std::fs::write(&sign, "").unwrap();
    say(&mut run, "three");
    say(&mut run, "three again");
    done("a server that came late");
    sandbox.write("CLAUDE.md", "Be verbose.\n");
    say(&mut run, "four");
    done("edited instructions");
    control(&mut run, &mode("plan"));
    say(&mut run, "five");
    control(&mut run, &mode("default"));
    say(&mut run, "six");
    done("plan mode and back");
    say(&mut run, "/polish the door");
    done("a skill");
    sandbox.write(".claude/skills/wax/SKILL.md", "---\nname: wax\ndescription: Waxes\n---\nWax it.\n");
    say(&mut run, "seven");
    done("a new skill");
    run.close_stdin();
    run.finish();
    let more = |prompt: &str, flags: &[&str]| {
        let run = print(&sandbox, prompt, flags);
        patient.iter().fold(run, |run, (name, value)| run.env(name, *value)).run().expect_clean();
    };
    more("eight", &["--resume", &id]);
    done("resumed");
    more("nine", &["--resume", &id, "--fork-session"]);
    done("forked");
    let requests = server.requests();
    let step = |at: usize| steps.iter().find(|(until, _)| at < *until).map_or("", |(_, what)| *what);
    assert!(requests.len() > 12);
    for (at, pair) in requests.windows(2).enumerate() {
        assert_keeps(&pair[0], &pair[1], step(at + 1));
    }
}

/// What the ledger of the day says was spent.
fn ledger(sandbox: &Sandbox) -> Vec<Value> {
    let files = std::fs::read_dir(sandbox.config_dir().join("budgets")).into_iter().flatten().flatten();
    let texts = files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let read = |path| std::fs::read_to_string(path).unwrap();
    texts.flat_map(|path| read(path).lines().filter(|line| !line.is_empty()).map(parse).collect::<Vec<_>>()).collect()
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

fn settled(sandbox: &Sandbox) -> f64 {
    ledger(sandbox).iter().filter(|line| line["kind"] == "settle").map(|line| line["usd"].as_f64().unwrap()).sum()
}

/// [LNG-32] Each budget of the settings ends the turn before the request that would exceed it, and the result says which.
#[test]
fn every_budget_stops_before_the_next_request() {
    let glob = || ScriptedReply::tool("Glob", json!({"pattern": "*"})).tokens(100_000, 10);
    for (key, limit, scope, unit) in [
        ("turnUsd", json!(0.2), "turn", "usd"),
        ("sessionUsd", json!(0.2), "session", "usd"),
        ("projectDailyUsd", json!(0.2), "project", "usd"),
        ("dailyUsd", json!(0.2), "day", "usd"),
        ("monthlyUsd", json!(0.2), "month", "usd"),
        ("dailyTokens", json!(90_000), "day", "tokens"),
    ] {
        let server = ModelServer::script([glob(), ScriptedReply::text("never")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        settings(&sandbox, &json!({"budgets": {key: limit}}));
        let result = print(&sandbox, "go", &MODEL).run().expect_code(1).result();
        assert_eq!(
            (&result["subtype"], &result["terminal_reason"]),
            (&json!("error_max_budget_usd"), &json!("budget_exhausted"))
        );
        assert_eq!(
            (&result["x_budget"]["scope"], &result["x_budget"]["unit"]),
            (&json!(scope), &json!(unit)),
            "{result}"
        );
        assert!(result["errors"][0].as_str().unwrap().starts_with("Reached maximum budget. The budget "), "{result}");
        assert_eq!(server.requests().len(), 1, "{key}");
        // What counts for longer than a process stops the next one at once.
        let again = print(&sandbox, "go", &MODEL).run();
        let is_shared = ["project", "day", "month"].contains(&scope);
        assert_eq!(server.requests().len(), if is_shared { 1 } else { 2 }, "{key}");
        assert_eq!(again.result()["subtype"] == "error_max_budget_usd", is_shared, "{key}");
    }
}

/// [LNG-32] `--max-turn-usd`; a later turn may spend again.
#[test]
fn a_turn_has_a_budget_of_its_own() {
    let server = ModelServer::script([
        ScriptedReply::tool("Glob", json!({"pattern": "*"})).tokens(100_000, 10),
        ScriptedReply::text("fine"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &["--max-turn-usd", "0.1", MODEL[0], MODEL[1]]).spawn();
    let first = say(&mut run, "one");
    assert_eq!((&first["subtype"], &first["x_budget"]["limit"]), (&json!("error_max_budget_usd"), &json!(0.1)));
    let shown = say(&mut run, "/budget");
    assert!(shown["result"].as_str().unwrap().contains("turn: "), "{shown}");
    assert_eq!(say(&mut run, "two")["result"], "fine");
}

/// [LNG-35] `/budget` raises a budget until the process ends, but not above what the administrator allows.
#[test]
fn a_budget_is_raised_by_a_command() {
    let big = || ScriptedReply::text("big").tokens(100_000, 10);
    let server = ModelServer::script([big(), big(), big()]);
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &json!({"budgets": {"dailyUsd": 0.2}}));
    let mut run = host(&sandbox, &MODEL).spawn();
    say(&mut run, "one");
    assert_eq!(say(&mut run, "two")["subtype"], "error_max_budget_usd");
    let wrong = say(&mut run, "/budget week 5");
    assert!(wrong["result"].as_str().unwrap().contains("Usage: /budget"), "{wrong}");
    let raised = say(&mut run, "/budget day 5");
    assert!(raised["result"].as_str().unwrap().contains("of $5.00"), "{raised}");
    assert_eq!(say(&mut run, "three")["result"], "big");
}

/// [LNG-34] Agents, hooks that ask a model, side questions and compaction count: the ledger agrees with the total.
#[test]
fn everything_that_asks_a_model_counts() {
    let server = ModelServer::with_handler(|request| {
        let (said, body) = (request.last_user_text(), String::from_utf8_lossy(&request.body).into_owned());
        let reply = if body.contains("Did the tests run?") {
            ScriptedReply::text(r#"{"ok": true}"#)
        } else if said == "go" && request.tool_results().is_empty() {
            let input = json!({"description": "d", "prompt": "explore", "subagent_type": "general-purpose",
                               "run_in_background": false});
            ScriptedReply::tool("Agent", input)
        } else {
            ScriptedReply::text("fine")
        };
        reply.tokens(1_000, 100)
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let hook = json!({"type": "prompt", "prompt": "Did the tests run? $ARGUMENTS"});
    settings(&sandbox, &json!({"budgets": {"dailyUsd": 1000}, "hooks": {"Stop": [{"hooks": [hook]}]}}));
    let mut run = host(&sandbox, &MODEL).spawn();
    say(&mut run, "go");
    assert_eq!(server.requests().len(), 4, "the prompt, the agent, the result, the hook");
    say(&mut run, "/btw which one?");
    let last = say(&mut run, "/compact");
    run.close_stdin();
    run.finish();
    let requests = server.requests();
    assert_eq!(requests.len(), 6);
    let (spent, total) = (settled(&sandbox), last["total_cost_usd"].as_f64().unwrap());
    assert!((spent - total).abs() < 1e-9 && total > 0.0, "{spent} of {total}");
    assert_eq!(ledger(&sandbox).iter().filter(|line| line["kind"] == "settle").count(), 6);
}

/// [LNG-33] Thirty processes, a third of them killed while they wait for an answer: the day's budget is exceeded by one
/// reservation at most, and what the dead had reserved is used by the others.
#[test]
fn many_processes_share_a_budget() {
    const PROCESSES: usize = 30;
    const BUDGET: f64 = 5.0;
    const PRICE: f64 = 0.5;
    let billed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&billed);
    let server = ModelServer::with_handler(move |request| {
        if request.last_user_text().starts_with("hang") {
            return ScriptedReply::hang();
        }
        count.fetch_add(1, Ordering::SeqCst);
        // As much output as was asked for: `PRICE`.
        ScriptedReply::text("fine").tokens(6_667, 32_000)
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &json!({"budgets": {"dailyUsd": BUDGET}}));
    let prompt = |n: usize| if n.is_multiple_of(3) { format!("hang {n}") } else { format!("go {n}") };
    let start = |n: usize| print(&sandbox, &prompt(n), &MODEL).timeout(Duration::from_mins(4)).spawn();
    let (mut doomed, mut others) = (Vec::new(), Vec::new());
    for n in 0..PROCESSES {
        if n.is_multiple_of(3) { doomed.push(start(n)) } else { others.push(start(n)) }
    }
    testkit::wait_until("somebody waits for an answer", || {
        server.requests().iter().any(|request| request.last_user_text().starts_with("hang"))
    });
    for process in &doomed {
        process.kill();
    }
    let ended: BTreeMap<String, usize> = others.into_iter().fold(BTreeMap::new(), |mut ended, process| {
        let subtype = process.finish_within(Duration::from_mins(4)).result()["subtype"].as_str().unwrap().to_owned();
        *ended.entry(subtype).or_default() += 1;
        ended
    });
    drop(doomed);
    let answered = billed.load(Ordering::SeqCst);
    let spent = answered as f64 * PRICE;
    let most = ledger(&sandbox).iter().filter_map(|line| line["usd"].as_f64()).fold(0.0, f64::max);
    assert!(spent <= BUDGET + most, "{spent} of {BUDGET}, {ended:?}");
    assert!(spent >= BUDGET - 2.0 * most, "the dead keep nothing: {spent} of {BUDGET}, {ended:?}");
    assert_eq!(ended.values().sum::<usize>(), 20);
}

/// [LNG-35] 80 % is told once a day.
#[test]
fn a_nearly_used_up_budget_is_told() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine").tokens(20_000, 100));
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &json!({"budgets": {"dailyTokens": 110_000}}));
    let run = || print(&sandbox, "go", &MODEL).run().stderr;
    let told: Vec<bool> = (0..5).map(|_| run().contains("of the budget for today is used")).collect();
    assert_eq!(told, [false, false, false, false, true]);
    assert!(!run().contains("of the budget for today is used"), "once a day");
}

/// [LNG-29] Nobody is asked without a screen; the result carries the warning.
#[test]
fn an_expensive_request_is_warned_about_in_the_result() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let result = json(&sandbox, "go", &MODEL).json();
    assert!(result.get("x_warnings").is_none(), "{result}");
    settings(&sandbox, &json!({"costWarnUsd": 0.0001}));
    let result = json(&sandbox, "go", &MODEL).json();
    let warning = result["x_warnings"][0].as_str().unwrap();
    assert!(warning.contains("tokens that are not cached") && warning.contains("nothing of it was sent before"));
    let told = |flags: &[&str]| sandbox.gimlet(&[&["-p", "go"], flags].concat()).run().expect_code(0).stderr;
    assert!(told(&["--verbose"]).contains("tokens that are not cached") && !told(&[]).contains("not cached"));
}

/// [LNG-29] `cacheTtl`
#[test]
fn the_life_of_the_cache_can_be_chosen() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut ttls = Vec::new();
    for choice in ["5m", "1h", "auto"] {
        settings(&sandbox, &json!({"cacheTtl": choice}));
        stream(&sandbox, "go", &MODEL);
        let body = String::from_utf8_lossy(&server.last_request().body).into_owned();
        ttls.push((body.contains(r#""ttl":"1h""#), body.contains(r#""cache_control":{"type":"ephemeral"}"#)));
    }
    assert_eq!(ttls, [(false, true), (true, false), (false, true)], "no pause speaks for the longer life");
}

fn limited(reset_at: u64) -> ScriptedReply {
    let reset = reset_at.to_string();
    ScriptedReply::error(429, "rate_limit_error", "five-hour limit reached")
        .header("anthropic-ratelimit-unified-status", "rejected")
        .header("anthropic-ratelimit-unified-reset", &reset)
        .header("anthropic-ratelimit-unified-representative-claim", "five_hour")
}

fn now() -> u64 {
    sys::clock::now_ms() / 1000
}

/// [LNG-37] [SDK-159] Limits are told when they change; the result and the hook of a failed turn name the reset.
#[test]
fn limits_of_the_account_are_told_on_change() {
    let near = |share: &str| {
        ScriptedReply::tool("Glob", json!({"pattern": share}))
            .header("anthropic-ratelimit-unified-status", "allowed_warning")
            .header("anthropic-ratelimit-unified-reset", "4102444800")
            .header("anthropic-ratelimit-unified-representative-claim", "five_hour")
            .header("anthropic-ratelimit-unified-5h-utilization", share)
    };
    let server = ModelServer::script([near("0.9"), near("0.9"), near("0.95"), limited(4_102_444_800)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let hook = json!({"type": "command", "command": "cat > failure.json"});
    settings(&sandbox, &json!({"hooks": {"StopFailure": [{"matcher": "rate_limit", "hooks": [hook]}]}}));
    let run = print(&sandbox, "go", &MODEL).run().expect_code(1);
    let lines = run.lines();
    let told: Vec<Value> =
        of_kind(&lines, "rate_limit_event").iter().map(|line| line["rate_limit_info"].clone()).collect();
    let seen: Vec<(&Value, &Value)> = told.iter().map(|info| (&info["status"], &info["utilization"])).collect();
    let (warning, rejected) = (json!("allowed_warning"), json!("rejected"));
    assert_eq!(seen, [(&warning, &json!(0.9)), (&warning, &json!(0.95)), (&rejected, &Value::Null)]);
    assert_eq!((&told[0]["rateLimitType"], &told[0]["resetsAt"]), (&json!("five_hour"), &json!(4_102_444_800_u64)));
    let result = run.result();
    assert_eq!((&result["terminal_reason"], &result["is_error"]), (&json!("api_error"), &json!(true)));
    assert_eq!(result["x_resets_at"], "2100-01-01T00:00:00.000Z");
    let failure: Value = serde_json::from_str(&sandbox.read("failure.json")).unwrap();
    assert_eq!(failure["error"], "rate_limit");
    assert!(failure["error_details"].as_str().unwrap().contains("2100-01-01 00:00 UTC"), "{failure}");
}

/// [LNG-36] With `--wait-for-limits` the turn goes on where it stopped.
#[test]
fn a_turn_waits_for_a_limit() {
    let server = ModelServer::script([
        ScriptedReply::tool("Glob", json!({"pattern": "*"})),
        limited(now() + 2),
        ScriptedReply::text("there we are"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let lines = stream(&sandbox, "go", &["--wait-for-limits", MODEL[0], MODEL[1]]);
    assert_eq!(of_kind(&lines, "result")[0]["result"], "there we are");
    let waits = of_kind(&lines, "system/api_retry");
    assert_eq!((waits.len(), &waits[0]["error"], &waits[0]["error_status"]), (1, &json!("rate_limit"), &json!(429)));
    assert_eq!(server.request(1).body, server.request(2).body, "the same request");
    assert!(of_kind(&lines, "result")[0].get("x_resets_at").is_none());
}

/// [LNG-36] A wait can be interrupted.
#[test]
fn a_wait_for_a_limit_can_be_interrupted() {
    let server = ModelServer::script([limited(now() + 36_000)]);
    let sandbox = Sandbox::with_server(EXE, &server);
    settings(&sandbox, &json!({"limitWait": "auto"}));
    let mut run = host(&sandbox, &MODEL).spawn();
    run.send_user("go");
    while run.wait_for("system")["subtype"] != "api_retry" {}
    control(&mut run, &json!({"subtype": "interrupt"}));
    assert_eq!(run.wait_for("result")["terminal_reason"], "aborted_streaming");
}
