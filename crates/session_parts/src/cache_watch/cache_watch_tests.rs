use super::*;
use model::{CacheLife, CacheMarks, EffortLevel, Role, ThinkingParameter};
use serde_json::json;

const MODEL: &str = "claude-sonnet-4-5";
const MINUTE: u64 = 60_000;

fn described(name: &str, description: &str) -> Fragment {
    Fragment::new(wire::raw::to_raw(&json!({"name": name, "description": description})).unwrap())
}

fn tool(name: &str) -> Fragment {
    described(name, "does something")
}

fn request(messages: &[&str]) -> ModelRequest {
    let role = |at: usize| if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
    let message =
        |(at, text): (usize, &&str)| Message { role: role(at), blocks: vec![Fragment::text(text)], model: None };
    let messages: Vec<Message> = messages.iter().enumerate().map(message).collect();
    let cache = CacheMarks::default().plan(&messages, CacheLife::default());
    ModelRequest {
        tools: vec![tool("Bash"), tool("Read")].into(),
        system: vec![Fragment::text("rules"), Fragment::text("place")].into(),
        messages,
        cache: Some(cache),
        ..ModelRequest::new(MODEL, 1_000, Arc::default())
    }
}

fn usage(read: u64, written: u64) -> Usage {
    let mut usage = Usage {
        input_tokens: 3,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: written,
        ..Usage::default()
    };
    usage.cache_creation.ephemeral_5m_input_tokens = written;
    usage
}

/// Answers `first`, which caches 50,000 tokens, then `second` after so many minutes, which reads `read` of 60,000.
fn second(watch: &mut CacheWatch, second: ModelRequest, minutes: u64, read: u64) -> Option<CacheMiss> {
    let catalog = ModelCatalog::default();
    assert_eq!(watch.record(&Arc::new(request(&["one"])), ("here", &usage(0, 50_000), 0), &catalog), None);
    watch.record(&Arc::new(second), ("here", &usage(read, 60_000 - read), minutes * MINUTE), &catalog)
}

fn caused(minutes: u64, change: impl FnOnce(&mut ModelRequest)) -> (MissCause, String) {
    let mut changed = request(&["one", "two", "three"]);
    change(&mut changed);
    let miss = second(&mut CacheWatch::default(), changed, minutes, 10_000).unwrap();
    assert_eq!(miss.tokens, 40_000);
    (miss.cause, miss.detail)
}

/// [LNG-27]
#[test]
fn what_is_read_is_no_miss() {
    let same = || request(&["one", "two", "three"]);
    assert_eq!(second(&mut CacheWatch::default(), same(), 1, 50_000), None);
    assert_eq!(second(&mut CacheWatch::default(), same(), 1, 49_000), None, "within the tolerance");
    assert_eq!(second(&mut CacheWatch::default(), same(), 1, 48_999).unwrap().tokens, 1_001);
    let shorter = usage(9_000, 500);
    let mut watch = CacheWatch::default();
    second(&mut watch, same(), 1, 50_000);
    let now = watch.record(&Arc::new(request(&["summary"])), ("here", &shorter, MINUTE), &ModelCatalog::default());
    assert_eq!(now, None, "a shorter prompt cannot read what it does not hold");
}

/// [LNG-27] The price is the difference to a hit: 3.75 instead of 0.30 dollars per million.
#[test]
fn a_miss_has_its_price() {
    let miss = second(&mut CacheWatch::default(), request(&["one", "two"]), 1, 10_000).unwrap();
    assert!((miss.usd.unwrap() - 40_000.0 * 3.45 / 1e6).abs() < 1e-9, "{miss:?}");
    let mut free = request(&["one", "two"]);
    free.model = "nobody-knows".into();
    assert_eq!(second(&mut CacheWatch::default(), free, 1, 10_000).unwrap().usd, None);
}

/// [LNG-27]
#[test]
fn a_pause_longer_than_the_life_is_the_cause() {
    assert_eq!(caused(6, |_| {}), (MissCause::Expired, "idle for 6 minutes".into()));
    let with_hour = |request: &mut ModelRequest| {
        if let Some(plan) = &mut request.cache {
            plan.life = CacheLife { fixed: CacheTtl::Hour, moving: CacheTtl::Hour };
        }
    };
    assert_eq!(caused(6, with_hour).0, MissCause::Unknown);
    assert_eq!(caused(61, with_hour).0, MissCause::Expired);
    assert_eq!(caused(6, |request| request.tools = Arc::default()).0, MissCause::Expired, "one cause, the first");
}

/// [LNG-27]
#[test]
fn other_settings_of_the_request_are_the_cause() {
    let told = |change: fn(&mut ModelRequest)| caused(1, change);
    let model = told(|request| request.model = "claude-haiku-4-5".into());
    assert_eq!(model, (MissCause::ModelChanged, "model claude-haiku-4-5 instead of claude-sonnet-4-5".into()));
    let effort = told(|request| request.effort = Some(EffortLevel::High));
    assert_eq!(effort, (MissCause::ModelChanged, "effort high instead of none".into()));
    let thinking = told(|request| request.thinking = Some(ThinkingParameter::Disabled));
    assert_eq!(thinking, (MissCause::ModelChanged, "thinking".into()));
    let mut watch = CacheWatch::default();
    second(&mut watch, request(&["one", "two"]), 1, 50_000);
    let elsewhere = Arc::new(request(&["one", "two"]));
    let moved = watch.record(&elsewhere, ("there", &usage(0, 60_000), MINUTE), &ModelCatalog::default()).unwrap();
    assert_eq!((moved.cause, moved.detail.as_str()), (MissCause::ModelChanged, "provider there instead of here"));
}

/// [LNG-27]
#[test]
fn changed_tools_are_named() {
    let tools = |tools: Vec<Fragment>| caused(1, |request| request.tools = tools.into());
    let changed = described("Bash", "other");
    let cause = |detail: &str| (MissCause::ToolsChanged, detail.to_owned());
    assert_eq!(tools(vec![tool("Bash"), tool("Read"), tool("mcp__late__x")]), cause("mcp__late__x added"));
    assert_eq!(tools(vec![changed]), cause("Bash changed, Read removed"));
    assert_eq!(tools(vec![tool("Read"), tool("Bash")]), cause("order changed"));
}

/// [LNG-27]
#[test]
fn a_changed_system_prompt_is_the_cause() {
    let other = vec![Fragment::text("rules"), Fragment::text("another place")];
    assert_eq!(caused(1, |request| request.system = other.into()), (MissCause::SystemChanged, "block 2".into()));
}

/// [LNG-27]
#[test]
fn an_edited_history_is_the_cause() {
    let mut watch = CacheWatch::default();
    second(&mut watch, request(&["one", "two", "three"]), 1, 50_000);
    watch.note_edit("compaction");
    let catalog = ModelCatalog::default();
    let shorter = Arc::new(request(&["summary"]));
    let miss = watch.record(&shorter, ("here", &usage(8_000, 20_000), MINUTE), &catalog).unwrap();
    assert_eq!((miss.cause, miss.detail.as_str()), (MissCause::HistoryEdited, "compaction, message 1 of 3"));
    assert_eq!(miss.tokens, 20_003);
    let again = watch.record(&shorter, ("here", &usage(0, 28_000), MINUTE), &catalog).unwrap();
    assert_eq!(again.cause, MissCause::Unknown, "the edit is told once");
    assert_eq!(caused(1, |request| request.messages[0] = Message::user_text("other")).0, MissCause::HistoryEdited);
    let longer = |request: &mut ModelRequest| request.messages[0].blocks.push(Fragment::text("more"));
    assert_eq!(caused(1, longer).0, MissCause::Unknown, "more at the end of what was sent is no edit");
}

/// [LNG-27]
#[test]
fn more_blocks_than_a_lookup_reaches_are_the_cause() {
    let texts: Vec<String> = (0..40).map(|n| format!("block {n}")).collect();
    let many = |request: &mut ModelRequest| {
        request.messages[0].blocks.extend(texts.iter().map(|text| Fragment::text(text)));
        request.cache = Some(CacheMarks::default().plan(&request.messages, CacheLife::default()));
    };
    let (cause, detail) = caused(1, many);
    assert_eq!((cause, detail.as_str()), (MissCause::BreakpointLimit, "42 blocks since the last marker"));
}

/// [LNG-27]
#[test]
fn the_first_request_of_a_resumed_conversation() {
    let resumed = |minutes: u64| {
        let mut watch = CacheWatch::resumed(Some(ResumedPrompt { cached: 50_000, at_ms: 0 }));
        let request = Arc::new(request(&["one"]));
        watch.record(&request, ("here", &usage(0, 60_000), minutes * MINUTE), &ModelCatalog::default()).unwrap().cause
    };
    assert_eq!((resumed(1), resumed(30)), (MissCause::FirstRequest, MissCause::Expired));
}

/// [LNG-27] Everything is the same, and the provider did not find it.
#[test]
fn what_cannot_be_explained_is_unknown() {
    assert_eq!(caused(1, |_| {}), (MissCause::Unknown, String::new()));
}

/// [LNG-29]
#[test]
fn what_is_expected_to_be_cached_is_known_before_a_request() {
    let mut watch = CacheWatch::default();
    let next = request(&["one", "two", "three"]);
    assert_eq!(watch.expected(&next, ("here", 0), 60_000), 0);
    assert_eq!(watch.cold_reason(&next, ("here", 0)), None, "nothing was ever cached");
    second(&mut watch, request(&["one", "two"]), 0, 50_000);
    assert_eq!(watch.expected(&next, ("here", MINUTE), 70_000), 60_000);
    assert_eq!(watch.expected(&next, ("here", 7 * MINUTE), 70_000), 0);
    let reason = |request: &ModelRequest, minutes| watch.cold_reason(request, ("here", minutes * MINUTE));
    assert!(reason(&next, 7).unwrap().contains("7 minutes ago"));
    assert_eq!(reason(&next, 1), None);
    let other = ModelRequest { model: "claude-haiku-4-5".into(), ..next };
    assert!(reason(&other, 1).unwrap().contains("claude-haiku-4-5"));
}
