use super::*;
use crate::catalog::ModelCatalog;
use crate::fragment::Role;
use crate::repair::{RepairNeeds, repair};
use serde_json::Value;
use serde_json::value::RawValue;

fn raw(json: &str) -> Fragment {
    Fragment::new(RawValue::from_string(json.to_owned()).unwrap())
}

fn request(messages: Vec<Message>) -> ModelRequest {
    let identity = RequestIdentity::new("11111111-2222-4333-8444-555555555555", "sdk-cli", &Env::default());
    let mut request = ModelRequest::new("claude-opus-5[1m]", 32_000, Arc::new(identity));
    request.tools =
        vec![raw(r#"{"name":"Read","input_schema":{}}"#), raw(r#"{"name":"Bash","input_schema":{}}"#)].into();
    request.system = vec![Fragment::text("You are"), Fragment::text("careful")].into();
    request.messages = messages;
    request
}

fn text(request: &ModelRequest) -> String {
    let bytes = request.body().concat();
    String::from_utf8(bytes).unwrap()
}

fn value(request: &ModelRequest) -> Value {
    serde_json::from_str(&text(request)).unwrap()
}

fn header(request: &ModelRequest, name: &str) -> Option<String> {
    request.headers().into_iter().find(|(n, _)| n == name).map(|(_, v)| v)
}

#[test]
fn key_order_is_fixed_and_messages_stand_last() {
    let mut r = request(vec![Message::user_text("hi")]);
    r.thinking = Some(ThinkingParameter::Adaptive { display: Some("summarized".into()) });
    r.effort = Some(EffortLevel::High);
    r.task_budget = Some(9_000);
    r.context_management = Some(raw(r#"{"edits":[]}"#));
    r.user_id = Some("u".into());
    let keys: Vec<String> = value(&r).as_object().unwrap().keys().cloned().collect();
    let expected = "model max_tokens thinking output_config context_management metadata stream tools system messages";
    assert_eq!(keys.join(" "), expected);
    assert_eq!(
        text(&r),
        concat!(
            r#"{"model":"claude-opus-5","max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"#,
            r#""output_config":{"effort":"high","task_budget":{"type":"tokens","total":9000}},"context_management":{"edits":[]},"#,
            r#""metadata":{"user_id":"u"},"stream":true,"tools":[{"name":"Read","input_schema":{}},{"name":"Bash","input_schema":{}}],"#,
            r#""system":[{"type":"text","text":"You are"},{"type":"text","text":"careful"}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#
        )
    );
}

fn count_marks(body: &str) -> usize {
    body.matches(r#""cache_control""#).count()
}

/// Adds an assistant message with `calls` parallel calls, and their results.
fn exchange(history: &mut Vec<Message>, number: usize, calls: usize) {
    let model = "claude-opus-5";
    let mut uses = vec![
        raw(&format!(r#"{{"type":"thinking","thinking":"","signature":"s{number}"}}"#)),
        Fragment::text(&format!("step {number}")),
    ];
    let id = |call: usize| format!("toolu_{number}_{call}");
    uses.extend((0..calls).map(|c| {
        raw(&format!(r#"{{"type":"tool_use","id":"{}","name":"Read","input":{{"file_path":"/f{c}"}}}}"#, id(c)))
    }));
    history.push(Message::assistant(model, uses));
    // Some results are large enough to be shared instead of copied.
    let content = "y".repeat(if number.is_multiple_of(7) { 40_000 } else { 40 });
    let results = (0..calls)
        .map(|c| raw(&format!(r#"{{"tool_use_id":"{}","type":"tool_result","content":"{content}"}}"#, id(c))))
        .collect();
    history.push(Message::user(results));
}

/// The bytes before the moving marker.
fn stable(body: &str) -> &str {
    &body[..body.rfind(r#","cache_control""#).unwrap()]
}

// [TST-113] fifty turns: the bytes of each request up to its moving marker are the beginning of the next request.
#[test]
fn requests_grow_by_appending() {
    let mut marks = CacheMarks::default();
    let mut history = vec![Message::user_text("begin")];
    let mut before: Option<String> = None;
    for number in 0..50 {
        let repaired = repair(&history, &RepairNeeds::new("claude-opus-5"));
        assert!(repaired.notes.is_empty(), "{:?}", repaired.notes);
        let mut r = request(repaired.messages);
        r.cache = Some(marks.plan(&r.messages, CacheLife::default()));
        let body = text(&r);
        assert!(serde_json::from_str::<&RawValue>(&body).is_ok());
        assert!((2..=4).contains(&count_marks(&body)));
        assert!(body.ends_with(r#","cache_control":{"type":"ephemeral"}}]}]}"#), "the moving marker is the last key");
        if let Some(before) = &before {
            assert!(body.starts_with(stable(before)), "request {number} does not begin like the one before");
        }
        before = Some(body);
        exchange(&mut history, number, 1 + number % 5);
        if number % 10 == 9 {
            history.push(Message::user_text("and now"));
        }
    }
}

// [TST-113] a step that adds more blocks than a lookup reaches keeps the previous marker; at most four markers in
// total.
#[test]
fn a_large_step_keeps_the_marker_before_it() {
    let mut marks = CacheMarks::default();
    marks.context = Some(BlockPosition { message: 0, block: 0 });
    let mut history = vec![Message::user(vec![Fragment::text("context"), Fragment::text("begin")])];
    let mut plan = |history: &[Message]| {
        let mut r = request(history.to_vec());
        r.cache = Some(marks.plan(history, CacheLife::default()));
        (r.cache.clone().unwrap().marks, text(&r))
    };
    let (first, one) = plan(&history);
    assert_eq!(first, [BlockPosition { message: 0, block: 0 }, BlockPosition { message: 0, block: 1 }]);
    exchange(&mut history, 1, 12);
    let (second, two) = plan(&history);
    assert!(second.contains(&BlockPosition { message: 0, block: 1 }), "kept: {second:?}");
    assert_eq!(count_marks(&two), 4);
    assert!(two.starts_with(stable(&one)));
    exchange(&mut history, 2, 2);
    let (third, three) = plan(&history);
    assert!(third.contains(&BlockPosition { message: 0, block: 1 }), "stays: {third:?}");
    assert!(three.starts_with(stable(&two)));
    exchange(&mut history, 3, 30);
    let (fourth, four) = plan(&history);
    assert_eq!(count_marks(&four), 4);
    assert!(fourth.contains(&third[2]), "the newest is kept: {fourth:?}");
    // A shorter history starts with no kept markers.
    let (fresh, _) = plan(&[Message::user_text("summary")]);
    assert_eq!(fresh, [BlockPosition { message: 0, block: 0 }]);
}

#[test]
fn the_moving_marker_avoids_thinking() {
    let paused = vec![
        Message::user_text("go"),
        Message::assistant(
            "m",
            vec![Fragment::text("a"), raw(r#"{"type":"thinking","thinking":"x","signature":"s"}"#)],
        ),
    ];
    let plan = CacheMarks::default().plan(&paused, CacheLife::default());
    assert_eq!(plan.marks, [BlockPosition { message: 1, block: 0 }]);
}

// [TST-114] [CLI-123]
#[test]
fn cache_lifetime_by_environment() {
    let ttl = |vars: &[(&str, &str)], hour| {
        CacheTtl::from_env(&Env::default().with(vars.iter().copied()), "claude-opus-5", hour)
    };
    assert_eq!(ttl(&[], false), Some(CacheTtl::FiveMinutes));
    assert_eq!(ttl(&[], true), Some(CacheTtl::Hour));
    assert_eq!(ttl(&[("ENABLE_PROMPT_CACHING_1H", "1")], false), Some(CacheTtl::Hour));
    assert_eq!(
        ttl(&[("ENABLE_PROMPT_CACHING_1H", "1"), ("FORCE_PROMPT_CACHING_5M", "1")], true),
        Some(CacheTtl::FiveMinutes)
    );
    assert_eq!(ttl(&[("DISABLE_PROMPT_CACHING", "1")], true), None);
    assert_eq!(ttl(&[("DISABLE_PROMPT_CACHING_OPUS", "1")], true), None);
    assert_eq!(ttl(&[("DISABLE_PROMPT_CACHING_HAIKU", "1")], true), Some(CacheTtl::Hour));
}

const HOUR: CacheLife = CacheLife { fixed: CacheTtl::Hour, moving: CacheTtl::Hour };

/// [MX-39] An included hour is for what never changes; whoever asks for it gets it for everything.
#[test]
fn the_long_life_is_for_what_never_changes() {
    let life = |vars: &[(&str, &str)], included| {
        CacheLife::from_env(&Env::default().with(vars.iter().copied()), "claude-opus-5", included)
    };
    let mixed = CacheLife { fixed: CacheTtl::Hour, moving: CacheTtl::FiveMinutes };
    assert_eq!((life(&[], true), life(&[], false)), (Some(mixed), Some(CacheLife::default())));
    assert_eq!(life(&[("ENABLE_PROMPT_CACHING_1H", "1")], false), Some(HOUR));
    let mut marks = CacheMarks::default();
    marks.context = Some(BlockPosition { message: 0, block: 0 });
    let mut r = request(vec![Message::user(vec![Fragment::text("context"), Fragment::text("begin")])]);
    r.cache = Some(marks.plan(&r.messages, mixed));
    r.static_blocks = 1;
    let body = value(&r);
    let long = serde_json::json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!(body["system"][0]["cache_control"], long);
    assert!(body["system"][1]["cache_control"].is_null(), "{body}");
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], long);
    assert_eq!(body["messages"][0]["content"][1]["cache_control"], serde_json::json!({"type": "ephemeral"}));
}

/// [MX-39] What is shorter than the model's floor gets no marker; the first block that reaches it may have one.
#[test]
fn nothing_below_the_floor_is_marked() {
    let block = |tokens: usize| Fragment::text(&"x".repeat(tokens * 13 / 4));
    let history = [Message::user(vec![block(500), block(500), block(500)])];
    let plan = |context, fixed, whole, floor| {
        let mut marks = CacheMarks::default();
        marks.context = Some(BlockPosition { message: 0, block: context });
        let plan = marks.plan(&history, CacheLife::default());
        let plan = plan.above_floor(&history, PrefixTokens { fixed, whole }, floor);
        (plan.skips_prefix, plan.marks.iter().map(|mark| mark.block).collect::<Vec<_>>())
    };
    assert_eq!(plan(0, 2_000, 2_100, 1_024), (false, vec![0, 2]));
    assert_eq!(plan(0, 100, 200, 1_024), (true, vec![2]));
    assert_eq!(plan(1, 100, 200, 1_024), (true, vec![1, 2]));
    assert_eq!(plan(1, 100, 200, 4_096), (true, vec![]));
}

// [TST-115] blocks are sent back byte for byte.
#[test]
fn blocks_are_sent_unmodified() {
    let thinking = r#"{"type":"thinking","thinking":"","signature":"a+b/c=="}"#;
    let redacted = r#"{"type":"redacted_thinking","data":"Zm9v"}"#;
    let call = r#"{"type":"tool_use","id":"t","name":"X","input":{"n":1.50,"u":"\u00e9"}}"#;
    let turn = Message::assistant("claude-opus-5", vec![raw(thinking), raw(redacted), raw(call)]);
    let body = text(&request(vec![Message::user_text("x"), turn]));
    assert!(body.contains(&format!(r#""content":[{thinking},{redacted},{call}]"#)));
}

// [TST-117] [TST-118]
#[test]
fn betas_and_their_fields_come_and_go_together() {
    let mut r = request(vec![Message::user_text("x")]);
    r.effort = Some(EffortLevel::Low);
    r.thinking = Some(ThinkingParameter::Adaptive { display: None });
    r.format = Some(raw(r#"{"type":"json_schema","schema":{}}"#));
    r.task_budget = Some(1);
    r.context_management = Some(raw(r#"{"edits":[]}"#));
    r.cache = Some(CacheMarks::default().plan(&r.messages, HOUR));
    r.fast = true;
    r.betas = vec!["mine-2026-01-01".into(), "effort-2025-11-24".into()];
    let on = value(&r);
    assert_eq!(on["output_config"]["effort"], "low");
    assert_eq!(on["system"][1]["cache_control"]["ttl"], "1h");
    assert_eq!(on["speed"], "fast");
    assert_eq!(
        header(&r, "anthropic-beta").unwrap(),
        "interleaved-thinking-2025-05-14,context-1m-2025-08-07,context-management-2025-06-27,extended-cache-ttl-2025-04-11,\
         structured-outputs-2025-11-13,fast-mode-2026-02-01,task-budgets-2026-03-13,effort-2025-11-24,mine-2026-01-01"
    );
    r.experiments =
        ExperimentalBetas::from_env(&Env::default().with([("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS", "1")]));
    let off = value(&r);
    for key in ["output_config", "context_management", "speed"] {
        assert!(off.get(key).is_none(), "{key}");
    }
    assert_eq!(off["system"][1]["cache_control"], serde_json::json!({"type":"ephemeral"}));
    assert_eq!(off["thinking"]["type"], "adaptive", "thinking is no experiment");
    assert_eq!(header(&r, "anthropic-beta").unwrap(), "mine-2026-01-01,effort-2025-11-24");
    let plain = ModelRequest { model: "claude-opus-4-5".into(), ..request(vec![]) };
    assert_eq!(header(&plain, "anthropic-beta"), None);
    assert!(value(&plain).get("output_config").is_none());
}

// [TST-116]
#[test]
fn a_refused_capability_is_left_out() {
    let mut r = request(vec![Message::user_text("x")]);
    r.thinking = Some(ThinkingParameter::Adaptive { display: None });
    r.disable(Capability::Thinking);
    assert!(value(&r).get("thinking").is_none());
    assert!(!header(&r, "anthropic-beta").unwrap().contains("thinking"));
}

#[test]
fn extra_body_wins_but_never_over_the_conversation() {
    let env = Env::default().with([(
        "CLAUDE_CODE_EXTRA_BODY",
        r#"{"max_tokens": 5, "top_k": 3, "messages": [], "stream": false, "system": [{"type":"text","text":"S"}]}"#,
    )]);
    let mut r = request(vec![Message::user_text("x")]);
    r.extra_body = extra_body(&env);
    let body = value(&r);
    assert_eq!((body["max_tokens"].as_u64(), body["top_k"].as_u64()), (Some(5), Some(3)));
    assert_eq!(body["stream"], true);
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert_eq!(body["system"].as_array().unwrap().len(), 1);
    assert_eq!(body.as_object().unwrap().keys().next_back().unwrap(), "messages");
    assert!(extra_body(&Env::default().with([("CLAUDE_CODE_EXTRA_BODY", "[1]")])).is_none());
}

#[test]
fn who_asks() {
    let env =
        Env::default().with([("CLAUDE_AGENT_SDK_VERSION", "0.2.1"), ("CLAUDE_AGENT_SDK_CLIENT_APP", "my\u{e9}app/1")]);
    let own = wire::version::OWN;
    assert_eq!(
        user_agent("sdk-py", &env),
        format!("gimlet/{own} (external, sdk-py, agent-sdk/0.2.1, client-app/myapp/1)")
    );
    assert_eq!(user_agent("cli", &Env::default()), format!("gimlet/{own} (external, cli)"));
    let mut r = request(vec![]);
    assert!(header(&r, "x-claude-code-agent-id").is_none());
    Arc::make_mut(&mut r.identity).agent_id = Some("a1".into());
    assert_eq!(header(&r, "x-claude-code-agent-id").unwrap(), "a1");
    assert_eq!(header(&r, "x-app").unwrap(), "cli");
    assert_eq!(header(&r, "x-claude-code-session-id").unwrap(), "11111111-2222-4333-8444-555555555555");
}

// [TST-126] adaptive for unknown ids, a budget for older models.
#[test]
fn thinking_by_model() {
    let catalog = ModelCatalog::default();
    let choose = |id: &str, choice, vars: &[(&str, &str)]| {
        ThinkingParameter::for_model(&catalog.lookup(id), choice, 32_000, &Env::default().with(vars.iter().copied()))
    };
    let adaptive = Some(ThinkingParameter::Adaptive { display: None });
    let budget = |budget| Some(ThinkingParameter::Enabled { budget, display: None });
    assert_eq!(choose("claude-opus-4-6", ThinkingChoice::Auto, &[]), adaptive);
    assert_eq!(choose("who-knows", ThinkingChoice::Auto, &[]), adaptive);
    assert_eq!(choose("claude-sonnet-4-5", ThinkingChoice::Auto, &[("MAX_THINKING_TOKENS", "8000")]), budget(8_000));
    assert_eq!(choose("claude-sonnet-4-5", ThinkingChoice::Budget(99_000), &[]), budget(31_999));
    assert_eq!(choose("claude-sonnet-4-5", ThinkingChoice::Budget(100), &[]), None);
    assert_eq!(choose("claude-opus-5", ThinkingChoice::Auto, &[("MAX_THINKING_TOKENS", "8000")]), adaptive);
    assert_eq!(
        choose("claude-opus-5", ThinkingChoice::Auto, &[("MAX_THINKING_TOKENS", "0")]),
        Some(ThinkingParameter::Disabled)
    );
    assert_eq!(choose("claude-fable-5", ThinkingChoice::Disabled, &[]), None);
    assert_eq!(choose("claude-3-5-haiku", ThinkingChoice::Auto, &[]), None);
    let forced = [("MAX_THINKING_TOKENS", "8000"), ("CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING", "1")];
    assert_eq!(choose("claude-opus-4-6", ThinkingChoice::Auto, &forced), budget(8_000));
    assert_eq!(
        choose("claude-opus-5", ThinkingChoice::Auto, &[("CLAUDE_CODE_DISABLE_THINKING", "1")]),
        Some(ThinkingParameter::Disabled)
    );
}

#[test]
fn content_in_both_forms() {
    let string = RawValue::from_string("\"a\\u00e9\\n\"".into()).unwrap();
    assert_eq!(Message::from_content(Role::User, &string).blocks[0].get(), "{\"type\":\"text\",\"text\":\"aé\\n\"}");
    let list = RawValue::from_string(r#"[ {"type": "text", "text":"x"}, 5 ]"#.into()).unwrap();
    let turn = Message::from_content(Role::User, &list);
    assert_eq!(turn.blocks[0].get(), r#"{"type":"text","text":"x"}"#);
    assert_eq!(turn.blocks.len(), 2);
}

#[test]
fn count_body_has_no_marks_and_no_output_limit() {
    let mut r = request(vec![Message::user_text("x")]);
    r.cache = Some(CacheMarks::default().plan(&r.messages, CacheLife::default()));
    let mut body = String::from_utf8(r.count_body().concat()).unwrap();
    let parsed: Value = serde_json::from_str(&body).unwrap();
    assert!(parsed.get("max_tokens").is_none() && parsed.get("stream").is_none());
    // Cache markers do not change the count.
    body.truncate(body.find(r#""messages""#).unwrap());
    assert_eq!(parsed["messages"][0]["content"][0], serde_json::json!({"type":"text","text":"x"}));
}
