use super::*;
use serde_json::{Value, json};

const MAIN: &str = "p/11111111-1111-4111-8111-111111111111.jsonl";
const OTHER: &str = "p/22222222-2222-4222-8222-222222222222.jsonl";
const AGENT: &str = "p/11111111-1111-4111-8111-111111111111/subagents/agent-a1.jsonl";

/// A line of an answer: ids of message and request, input and output tokens, more fields.
fn answer(ids: (&str, Option<&str>), tokens: (u64, u64), more: &Value) -> String {
    let mut line = json!({
        "type": "assistant", "timestamp": "2026-11-01T10:00:00.000Z", "cwd": "/work",
        "message": {"id": ids.0, "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "\"usage\":{"}],
                    "usage": {"input_tokens": tokens.0, "output_tokens": tokens.1}},
    });
    if let Some(request) = ids.1 {
        line["requestId"] = request.into();
    }
    for (key, value) in more.as_object().into_iter().flatten() {
        line[key] = value.clone();
    }
    line.to_string()
}

fn recorded(files: &[(&str, Vec<String>)]) -> RecordedUsage {
    let home = tempfile::tempdir().unwrap();
    for (name, lines) in files {
        let path = home.path().join("projects").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }
    let env = sys::Env::default().with([("CLAUDE_CONFIG_DIR", home.path())]);
    read(super::files(&StoreLayout::new(&env), None))
}

/// Input, output and the number of responses.
fn totals(files: &[(&str, Vec<String>)]) -> (u64, u64, usize) {
    let usage = recorded(files);
    let sum = |of: fn(&TokenCounts) -> u64| usage.responses.iter().map(|r| of(&r.tokens)).sum();
    (sum(|tokens| tokens.input), sum(|tokens| tokens.output), usage.responses.len())
}

/// [LNG-30] The figures of every case are those that ccusage 20.0.24 tells for the same files.
#[test]
fn a_response_counts_once_wherever_it_stands() {
    let none = json!({});
    let side = json!({"isSidechain": true});
    let (first, second) = (("m1", Some("r1")), ("m1", Some("r2")));
    let line = |ids, output| answer(ids, (10, output), &none);
    let side_line = |ids, output| answer(ids, (10, output), &side);
    assert_eq!(totals(&[(MAIN, vec![line(first, 1), line(first, 50)])]), (10, 50, 1), "blocks of one response");
    assert_eq!(totals(&[(MAIN, vec![line(first, 50), line(first, 1)])]), (10, 50, 1), "in any order");
    assert_eq!(totals(&[(MAIN, vec![line(first, 1), line(second, 1)])]), (20, 2, 2), "another request");
    assert_eq!(totals(&[(MAIN, vec![line(("m1", None), 5), line(first, 9)])]), (20, 14, 2), "an unknown request");
    assert_eq!(totals(&[(MAIN, vec![line(("m1", None), 5); 2])]), (10, 5, 1));
    assert_eq!(totals(&[(MAIN, vec![line(first, 1)]), (OTHER, vec![line(first, 1), line(("m2", None), 1)])]).0, 20);
    assert_eq!(totals(&[(MAIN, vec![line(first, 1)]), (AGENT, vec![side_line(("m3", Some("r3")), 7)])]).2, 2);
    assert_eq!(totals(&[(MAIN, vec![line(first, 5)]), (AGENT, vec![side_line(second, 9)])]), (10, 5, 1), "a copy");
    assert_eq!(totals(&[(MAIN, vec![side_line(first, 9), line(first, 5)])]), (10, 5, 1));
    let later = json!({"isSidechain": true, "timestamp": "2026-11-01T10:00:00.001Z"});
    let elsewhere = |ids| (AGENT, vec![answer(ids, (10, 9), &later)]);
    assert_eq!(totals(&[(MAIN, vec![line(first, 5)]), elsewhere(second)]), (20, 14, 2), "another time and request");
    assert_eq!(totals(&[(MAIN, vec![line(first, 5)]), elsewhere(first)]), (10, 5, 1), "the same request");
    assert_eq!(totals(&[(AGENT, vec![side_line(first, 5), side_line(second, 9)])]), (10, 9, 1));
}

/// [LNG-30]
#[test]
fn a_copy_of_a_fork_belongs_to_the_session_that_asked() {
    let copy = answer(("m1", Some("r1")), (10, 1), &json!({"forkedFrom": {"sessionId": "x"}}));
    let own = answer(("m1", Some("r1")), (10, 1), &json!({}));
    let usage = recorded(&[(MAIN, vec![copy]), (OTHER, vec![own])]);
    assert_eq!(usage.responses.len(), 1);
    assert!(usage.responses[0].file.session.starts_with("2222"));
}

/// [LNG-30] What is not the usage of an answer, and what cannot be read.
#[test]
fn only_answers_count() {
    let with_usage = |usage: Value| {
        let message = json!({"message": {"id": "m", "model": "x", "usage": usage}});
        totals(&[(MAIN, vec![answer(("m", None), (0, 0), &message)])])
    };
    assert_eq!(with_usage(json!({"output_tokens": 2})).2, 0);
    assert_eq!(with_usage(json!({"input_tokens": 1.5, "output_tokens": 2})).2, 0);
    assert_eq!(with_usage(json!({"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": null})).2, 0);
    let tool = json!({"type": "user", "timestamp": "2026-11-01T10:00:00Z", "message": {"role": "user", "content": "x"},
                      "toolUseResult": {"usage": {"input_tokens": 9, "output_tokens": 2}}});
    let lines = vec![
        tool.to_string(),
        "{\"usage\":{".to_owned(),
        answer(("m1", None), (1, 1), &json!({"timestamp": "yesterday"})),
        answer(("", None), (1, 1), &json!({})),
        answer(("m2", None), (7, 3), &json!({})),
    ];
    assert_eq!(totals(&[(MAIN, lines)]), (7, 3, 1));
}

/// [LNG-30]
#[test]
fn written_tokens_are_the_sum_of_their_parts() {
    let written = |usage: Value| {
        let message = json!({"message": {"id": "m", "model": "x", "usage": usage}});
        let usage = recorded(&[(MAIN, vec![answer(("m", None), (0, 0), &message)])]);
        let tokens = usage.responses[0].tokens;
        (tokens.cache_write_5m, tokens.cache_write_1h)
    };
    let both = json!({"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 100,
                      "cache_creation": {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 5}});
    assert_eq!(written(both), (7, 5));
    assert_eq!(written(json!({"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 100})), (100, 0));
}

/// [LNG-30] [LNG-31] The files are cut into pieces of 8 MB that several threads read.
#[test]
fn lines_of_a_long_file_are_all_found_in_order() {
    let filler = "x".repeat(60_000);
    let line = |n: u64| answer((&format!("m{n}"), None), (1, n), &json!({"toolUseResult": filler}));
    let usage = recorded(&[(MAIN, (0..400).map(line).collect())]);
    let outputs: Vec<u64> = usage.responses.iter().map(|response| response.tokens.output).collect();
    assert_eq!(outputs, (0..400).collect::<Vec<u64>>());
}

/// [LNG-27] Misses are read back; they are no usage of an answer.
#[test]
fn recorded_misses_are_found() {
    let line = json!({"type": "x-cache-miss", "sessionId": "s", "timestamp": "2026-11-01T10:00:00.000Z",
                      "model": "claude-sonnet-4-5", "cause": "tools_changed", "detail": "Bash",
                      "usage": {"missed_tokens": 5000}, "costUSD": 0.0135});
    let usage = recorded(&[(MAIN, vec![line.to_string()])]);
    assert!(usage.responses.is_empty());
    assert_eq!((usage.misses[0].tokens, usage.misses[0].cause.as_str()), (5000, "tools_changed"));
    assert!(usage.misses[0].session.starts_with("1111"));
}
