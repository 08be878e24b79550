use super::*;
use wire::usage::{CacheCreation, ServerToolUse, Usage};

fn usage(input: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: 2_000,
        cache_read_input_tokens: 30_000,
        cache_creation_input_tokens: 900,
        cache_creation: CacheCreation {
            ephemeral_5m_input_tokens: 400,
            ephemeral_1h_input_tokens: 500,
            ..CacheCreation::default()
        },
        ..Usage::default()
    }
}

// [CLI-205] every row of the price table, with the split.
#[test]
fn every_price_row() {
    let rows: &[(&str, u64, [f64; 5])] = &[
        ("claude-fable-5-1", 1_000, [10.0, 12.5, 20.0, 0.25, 50.0]),
        ("claude-mythos-5-1", 1_000, [10.0, 12.5, 20.0, 0.25, 50.0]),
        ("claude-fable-5", 1_000, [10.0, 12.5, 20.0, 1.0, 50.0]),
        ("claude-mythos-5", 1_000, [10.0, 12.5, 20.0, 1.0, 50.0]),
        ("claude-opus-5-5", 1_000, [4.0, 5.0, 8.0, 0.2, 20.0]),
        ("claude-opus-5", 1_000, [5.0, 6.25, 10.0, 0.5, 25.0]),
        ("claude-opus-4-8", 1_000, [5.0, 6.25, 10.0, 0.5, 25.0]),
        ("claude-opus-4-7", 1_000, [5.0, 6.25, 10.0, 0.5, 25.0]),
        ("claude-opus-4-6", 1_000, [5.0, 6.25, 10.0, 0.5, 25.0]),
        ("claude-opus-4-5-20251101", 1_000, [5.0, 6.25, 10.0, 0.5, 25.0]),
        ("claude-opus-4-1-20250805", 1_000, [15.0, 18.75, 30.0, 1.5, 75.0]),
        ("claude-opus-4-20250514", 1_000, [15.0, 18.75, 30.0, 1.5, 75.0]),
        ("claude-3-opus-20240229", 1_000, [15.0, 18.75, 30.0, 1.5, 75.0]),
        ("claude-sonnet-5-5", 1_000, [2.0, 2.5, 4.0, 0.2, 10.0]),
        ("claude-sonnet-5", 1_000, [2.0, 2.5, 4.0, 0.2, 10.0]),
        ("claude-sonnet-4-6", 1_000, [3.0, 3.75, 6.0, 0.3, 15.0]),
        ("claude-sonnet-4-5-20250929", 1_000, [3.0, 3.75, 6.0, 0.3, 15.0]),
        ("claude-sonnet-4-20250514", 1_000, [3.0, 3.75, 6.0, 0.3, 15.0]),
        ("claude-3-7-sonnet-latest", 1_000, [3.0, 3.75, 6.0, 0.3, 15.0]),
        ("claude-haiku-5-5", 1_000, [0.1, 0.125, 0.2, 0.01, 0.5]),
        ("claude-haiku-5-5", 100_000, [0.5, 0.625, 1.0, 0.05, 2.5]),
        ("claude-haiku-4-5-20251001", 1_000, [1.0, 1.25, 2.0, 0.1, 5.0]),
        ("claude-3-5-haiku-20241022", 1_000, [0.8, 1.0, 1.6, 0.08, 4.0]),
        ("claude-3-haiku-20240307", 1_000, [0.25, 0.3, 0.5, 0.03, 1.25]),
    ];
    for (id, input, [p_in, w5, w1h, read, out]) in rows {
        let facts = ModelCatalog::default().lookup(id);
        let expected =
            (*input as f64 * p_in + 400.0 * w5 + 500.0 * w1h + 30_000.0 * read + 2_000.0 * out) / 1_000_000.0;
        let got = cost(&usage(*input), &facts).unwrap();
        assert!((got - expected).abs() < 1e-9, "{id}: {got} {expected}");
    }
}

// [CLI-209] and the other factors.
#[test]
fn geography_searches_fast_and_missing_split() {
    let facts = ModelCatalog::default().lookup("claude-opus-5");
    let plain = cost(&usage(1_000), &facts).unwrap();
    let us = Usage { inference_geo: Some("us".into()), ..usage(1_000) };
    assert!((cost(&us, &facts).unwrap() - plain * 1.1).abs() < 1e-9);
    let searched = Usage {
        server_tool_use: ServerToolUse { web_search_requests: 3, web_fetch_requests: 9, ..ServerToolUse::default() },
        ..usage(1_000)
    };
    assert!((cost(&searched, &facts).unwrap() - plain - 0.03).abs() < 1e-9);
    let fast = Usage { speed: Some("fast".into()), ..usage(1_000) };
    assert!((cost(&fast, &facts).unwrap() - plain * 2.0).abs() < 1e-9);
    let unsplit = Usage { cache_creation: CacheCreation::default(), ..usage(0) };
    let expected = (900.0 * 6.25 + 30_000.0 * 0.5 + 2_000.0 * 25.0) / 1_000_000.0;
    assert!((cost(&unsplit, &facts).unwrap() - expected).abs() < 1e-9);
}

// [TST-126] [CLI-207]
#[test]
fn unknown_ids_get_documented_defaults_and_no_price() {
    let facts = ModelCatalog::default().lookup("qwen3-coder:30b");
    assert!(!facts.known);
    assert_eq!((facts.max_output, facts.context_window), (32_000, 200_000));
    assert_eq!(facts.thinking, ThinkingKind::Adaptive);
    assert!(facts.efforts.is_empty());
    assert_eq!(cost(&usage(1), &facts), None);
    assert_eq!(facts.display_name, "qwen3-coder:30b");
    let env = Env::default().with([("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "32768")]);
    assert_eq!(facts.window(&env, ServingParty::Gateway), 32_768);
    assert_eq!(ModelCatalog::default().lookup("claude-next-9").window(&env, ServingParty::FirstParty), 200_000);
}

// [CLI-117]
#[test]
fn aliases_and_suffix() {
    let catalog = ModelCatalog::default();
    let env = Env::default();
    assert_eq!(catalog.resolve("opus", &env), "claude-opus-5-5");
    assert_eq!(catalog.resolve("Sonnet[1m]", &env), "claude-sonnet-5-5[1m]");
    assert_eq!(catalog.resolve("best", &env), "claude-opus-5-5");
    assert_eq!(catalog.resolve("fable", &env), "claude-fable-5-2");
    assert_eq!(catalog.resolve("haiku", &env), "claude-haiku-5-5");
    assert_eq!(catalog.resolve("my-model", &env), "my-model");
    let pinned = env.with([("ANTHROPIC_DEFAULT_OPUS_MODEL", "gateway/opus")]);
    assert_eq!(catalog.resolve("opus", &pinned), "gateway/opus");
    assert_eq!(strip_long_suffix("claude-opus-4-6[1M]"), "claude-opus-4-6");
    assert_eq!(catalog.lookup("claude-sonnet-4-6[1m]").context_window, 1_000_000);
    assert_eq!(catalog.lookup("claude-sonnet-4-6").context_window, 200_000);
    assert_eq!(catalog.lookup("opus").window(&env, ServingParty::Gateway), 200_000);
    assert_eq!(catalog.lookup("opus[1m]").window(&env, ServingParty::Gateway), 1_000_000);
    assert_eq!(catalog.lookup("opus").window(&env, ServingParty::FirstParty), 1_000_000);
}

// [F-B6]
#[test]
fn retired_ids_are_replaced_and_opusplan_is_two_models() {
    let catalog = ModelCatalog::default();
    let env = Env::default();
    assert_eq!(catalog.resolve("claude-opus-4-1-20250805", &env), "claude-opus-5-5");
    assert_eq!(catalog.resolve("claude-3-7-sonnet-latest", &env), "claude-sonnet-5-5");
    assert_eq!(catalog.resolve("claude-opus-4-5", &env), "claude-opus-4-5");
    for own in ["us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1@20250805", "anthropic/claude-opus-4-1"] {
        assert_eq!(catalog.resolve(own, &env), own, "a provider's own id");
    }
    let kept = env.clone().with([("CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP", "1")]);
    assert_eq!(catalog.resolve("claude-opus-4-1-20250805", &kept), "claude-opus-4-1-20250805");

    assert_eq!(catalog.resolve("opusplan", &env), "claude-sonnet-5-5");
    assert_eq!(catalog.plan_model("OpusPlan[1m]", &env), Some("claude-opus-5-5[1m]".into()));
    assert_eq!(catalog.plan_model("opus", &env), None);
    let pinned = env.clone().with([("ANTHROPIC_DEFAULT_SONNET_MODEL", "gateway/sonnet")]);
    assert_eq!(catalog.resolve("opusplan", &pinned), "gateway/sonnet");

    for (id, window, output) in [("claude-opus-5", 1_000_000, 64_000), ("claude-opus-5-5", 1_000_000, 64_000)] {
        let facts = catalog.lookup(id);
        assert_eq!((facts.context_window, facts.max_output), (window, output), "{id}");
    }
}

#[test]
fn provider_spellings() {
    for id in [
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5@20250929",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "anthropic/claude-sonnet-4-5",
        "claude-sonnet-4-5-latest",
        "CLAUDE-SONNET-4-5[1m]",
    ] {
        assert_eq!(canonical(id), "claude-sonnet-4-5", "{id}");
    }
    assert_eq!(canonical("notclaude-x"), "notclaude-x");
}

// [CLI-121] [TST-117]
#[test]
fn effort_is_clamped() {
    let catalog = ModelCatalog::default();
    assert_eq!(catalog.lookup("claude-opus-5").clamp_effort(EffortLevel::Xhigh), Some(EffortLevel::Xhigh));
    assert_eq!(catalog.lookup("claude-opus-4-6").clamp_effort(EffortLevel::Xhigh), Some(EffortLevel::High));
    assert_eq!(catalog.lookup("claude-haiku-4-5").clamp_effort(EffortLevel::High), None);
    assert_eq!(catalog.lookup("claude-opus-4-7").default_effort, Some(EffortLevel::Xhigh));
}

#[test]
fn output_limit_from_the_environment_is_clamped() {
    let facts = ModelCatalog::default().lookup("claude-haiku-4-5");
    let env = |n: &str| Env::default().with([("CLAUDE_CODE_MAX_OUTPUT_TOKENS", n)]);
    assert_eq!(facts.max_tokens(&Env::default()), 32_000);
    assert_eq!(facts.max_tokens(&env("1000000")), 64_000);
    assert_eq!(facts.max_tokens(&env("500")), 500);
}

#[test]
fn overrides() {
    let json = r#"{"my-model":{"contextWindow":65536,"prices":{"input":1.0,"output":2.0}},"claude-opus-5":{"displayName":"Big"}}"#;
    let catalog = ModelCatalog::with_overrides(json).unwrap();
    let mine = catalog.lookup("my-model");
    assert_eq!(mine.context_window, 65_536);
    let expected = (1_000.0 + 400.0 * 1.25 + 500.0 * 2.0 + 30_000.0 * 0.1 + 2_000.0 * 2.0) / 1_000_000.0;
    assert!((cost(&usage(1_000), &mine).unwrap() - expected).abs() < 1e-12);
    assert_eq!(catalog.display_name("claude-opus-5"), "Big");
    assert!(ModelCatalog::with_overrides("[]").unwrap_err().contains("not valid"));
}

#[test]
fn generations() {
    let catalog = ModelCatalog::default();
    for id in ["claude-opus-4-6", "claude-haiku-4-5", "claude-sonnet-4-5"] {
        assert!(catalog.lookup(id).read_before_edit, "{id}");
    }
    for id in ["claude-opus-4-7", "claude-opus-5", "unknown"] {
        assert!(!catalog.lookup(id).read_before_edit, "{id}");
    }
    assert!(catalog.lookup("claude-opus-5").hides_todo_tools);
    assert!(!catalog.lookup("claude-sonnet-4-5").hides_todo_tools);
    assert_eq!(catalog.display_name("claude-mythos-5"), "Mythos 5");
}

#[test]
fn a_wide_window_is_counted_as_such() {
    let name = "claude-sonnet-4-5-20250929";
    assert_eq!(counted_as("claude-sonnet-4-5[1m]", name), "claude-sonnet-4-5-20250929[1m]");
    assert_eq!(counted_as("claude-sonnet-4-5", name), name);
    assert_eq!(counted_as("claude-sonnet-4-5[1m]", "claude-haiku-4-5"), "claude-haiku-4-5");
}
