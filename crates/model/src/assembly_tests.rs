use super::*;
use crate::error::ErrorKind;
use crate::sse::SseParser;

fn event(data: &str) -> ModelEvent {
    ModelEvent::parse("", data).unwrap()
}

fn fold(events: &[&str]) -> (ResponseAssembly, Vec<ClosedBlock>) {
    let mut assembly = ResponseAssembly::default();
    let closed = events.iter().filter_map(|e| assembly.push(&event(e))).collect();
    (assembly, closed)
}

fn start(index: u32, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u32, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn stop(index: u32) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn block(start_json: &str, deltas: &[&str]) -> ClosedBlock {
    let mut events = vec![start(0, start_json)];
    events.extend(deltas.iter().map(|d| delta(0, d)));
    events.push(stop(0));
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    fold(&events).1.remove(0)
}

// [TST-101] all six delta kinds accumulate.
#[test]
fn text_with_citations() {
    let closed = block(
        r#"{"type": "text", "text": "", "citations": null}"#,
        &[
            r#"{"type":"text_delta","text":"Hel"}"#,
            r#"{"type":"text_delta","text":"lo"}"#,
            r#"{"type":"citations_delta","citation":{"url":"u", "n":1.50}}"#,
        ],
    );
    assert_eq!(closed.block.get(), r#"{"type":"text","text":"Hello","citations":[{"url":"u","n":1.50}]}"#);
    assert_eq!(closed.kind, BlockKind::Text);
}

// [TST-101] [TST-115] omitted thinking keeps both keys.
#[test]
fn thinking_always_has_text_and_signature() {
    let closed = block(
        r#"{"type":"thinking","thinking":"","signature":""}"#,
        &[
            r#"{"type":"thinking_delta","thinking":"","estimated_tokens":50}"#,
            r#"{"type":"signature_delta","signature":"abc="}"#,
        ],
    );
    assert_eq!(closed.block.get(), r#"{"type":"thinking","thinking":"","signature":"abc="}"#);
    let closed = block(r#"{"type":"thinking","thinking":""}"#, &[r#"{"type":"thinking_delta","thinking":"hm"}"#]);
    assert_eq!(closed.block.get(), r#"{"type":"thinking","thinking":"hm","signature":""}"#);
    let closed = block(r#"{"type":"redacted_thinking","data":"xyz"}"#, &[]);
    assert_eq!(closed.block.get(), r#"{"type":"redacted_thinking","data":"xyz"}"#);
}

// [TST-101] compaction, unknown blocks and unknown deltas.
#[test]
fn unknown_blocks_keep_their_start_and_known_deltas() {
    let closed = block(r#"{"type":"compaction","content":null}"#, &[r#"{"type":"compaction_delta","content":"sum"}"#]);
    assert_eq!(closed.block.get(), r#"{"type":"compaction","content":"sum"}"#);
    let closed = block(r#"{"type":"hologram","size":[1, 2]}"#, &[r#"{"type":"light_delta","text":{"a":1}}"#]);
    assert_eq!(closed.block.get(), r#"{"type":"hologram","size":[1,2]}"#);
    let closed = block(r#"{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"a":1}]}"#, &[]);
    assert_eq!(closed.block.get(), r#"{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"a":1}]}"#);
}

// [TST-101] unknown events are passed on and change nothing.
#[test]
fn unknown_events_are_kept_raw() {
    let unknown = event("{\"type\": \"weather\",\n \"index\": \"north\", \"sun\": true}");
    assert_eq!(unknown.raw.get(), r#"{"type":"weather","index":"north","sun":true}"#);
    assert!(matches!(unknown.kind, EventKind::Unknown));
    assert!(ResponseAssembly::default().push(&unknown).is_none());
    // `event:` may be absent or wrong: the JSON decides.
    let ping = ModelEvent::parse("message_stop", r#"{"type":"ping"}"#).unwrap();
    assert!(matches!(ping.kind, EventKind::Ping));
    let named = ModelEvent::parse("message_stop", "{}").unwrap();
    assert!(matches!(named.kind, EventKind::MessageStop));
}

// [TST-102] input cut anywhere, also inside escapes and characters, parses once at the end.
#[test]
fn tool_input_cut_mid_escape_and_mid_character() {
    let input = r#"{ "path": "a\u00e9\n\"q\"", "n": 1.50, "e": "é😀\ud83d\ude00" }"#;
    let cuts: Vec<usize> = (0..=input.len()).filter(|at| input.is_char_boundary(*at)).collect();
    for at in cuts {
        let piece = |text: &str| {
            let mut json = String::new();
            object::push_string(&mut json, text);
            format!(r#"{{"type":"input_json_delta","partial_json":{json}}}"#)
        };
        let closed = block(
            r#"{"type":"tool_use","id":"toolu_1","name":"Write","input":{}}"#,
            &[&piece(&input[..at]), &piece(&input[at..])],
        );
        assert_eq!(
            closed.block.get(),
            r#"{"type":"tool_use","id":"toolu_1","name":"Write","input":{"path":"a\u00e9\n\"q\"","n":1.50,"e":"é😀\ud83d\ude00"}}"#
        );
        assert!(closed.malformed.is_none());
    }
}

// [TST-102] the same through the byte layer, one byte at a time.
#[test]
fn bytes_one_by_one() {
    let sse = "event: content_block_start\r\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\r\n\r\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"é😀\"}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
    let (mut parser, mut frames) = (SseParser::default(), Vec::new());
    for byte in sse.as_bytes() {
        parser.push(&[*byte], &mut frames).unwrap();
    }
    let mut assembly = ResponseAssembly::default();
    let closed = frames.iter().find_map(|f| assembly.push(&ModelEvent::parse(&f.event, &f.data).unwrap()));
    assert_eq!(closed.unwrap().block.get(), r#"{"type":"text","text":"é😀"}"#);
}

// [TST-102] empty input is `{}`; input that came with the start is kept.
#[test]
fn empty_input() {
    let tool = r#"{"type":"tool_use","id":"t","name":"X"}"#;
    assert_eq!(block(tool, &[]).block.get(), r#"{"type":"tool_use","id":"t","name":"X","input":{}}"#);
    let empty = [r#"{"type":"input_json_delta","partial_json":""}"#];
    assert_eq!(block(tool, &empty).block.get(), r#"{"type":"tool_use","id":"t","name":"X","input":{}}"#);
    let whole = r#"{"type":"tool_use","id":"t","name":"X","input":{"a":1}}"#;
    assert_eq!(block(whole, &[]).block.get(), whole);
}

#[test]
fn malformed_input_is_flagged_and_empty() {
    for text in [r#"{\"a\":"#, "[1]", "nonsense"] {
        let piece = format!(r#"{{"type":"input_json_delta","partial_json":"{text}"}}"#);
        let closed = block(r#"{"type":"tool_use","id":"t","name":"X","input":{}}"#, &[&piece]);
        assert_eq!(closed.block.get(), r#"{"type":"tool_use","id":"t","name":"X","input":{}}"#);
        assert!(closed.malformed.is_some(), "{text}");
    }
}

// [TST-103] several reports: the last wins, field by field, nothing is added.
#[test]
fn usage_is_replaced_not_summed() {
    let (assembly, _) = fold(&[
        r#"{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":7}}}"#,
        r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":20}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":1}}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    assert_eq!((assembly.id.as_str(), assembly.model.as_str()), ("msg_1", "m"));
    assert_eq!(assembly.usage.output_tokens, 30);
    assert_eq!(assembly.usage.input_tokens, 10);
    assert_eq!(assembly.usage.cache_read_input_tokens, 7);
    assert_eq!(assembly.usage.cache_creation_input_tokens, 5);
    assert_eq!(assembly.stop_reason.as_deref(), Some("end_turn"));
    assert_eq!(assembly.progress(), ResponseProgress::Stopped);
}

// [TST-104] a call cut by the output limit is discarded, a complete one is not.
#[test]
fn calls_cut_by_max_tokens() {
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{}}"#;
    let tool = |i| start(i, r#"{"type":"tool_use","id":"t","name":"X","input":{}}"#);
    let input = |i, text: &str| delta(i, &format!(r#"{{"type":"input_json_delta","partial_json":"{text}"}}"#));
    let run = |events: &[String]| {
        let events: Vec<&str> = events.iter().map(String::as_str).chain([end]).collect();
        fold(&events).0.cut_calls()
    };
    assert_eq!(run(&[tool(0), input(0, r#"{\"a\":1}"#), stop(0), tool(1), input(1, r#"{\"a"#), stop(1)]), [1]);
    assert_eq!(run(&[tool(0), stop(0)]), [0]);
    assert_eq!(run(&[tool(0), input(0, r#"{\"a\":1}"#), stop(0)]), [] as [u32; 0]);
    // A block that never closed is not returned.
    let (mut assembly, closed) = fold(&[&tool(0), &input(0, r#"{\"a"#), end]);
    assert!(closed.is_empty() && assembly.close_partial().is_empty());
}

#[test]
fn partial_text_can_be_closed_after_an_interrupt() {
    let (mut assembly, _) = fold(&[
        &start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        &delta(0, r#"{"type":"thinking_delta","thinking":"x"}"#),
        &start(1, r#"{"type":"text","text":""}"#),
        &delta(1, r#"{"type":"text_delta","text":"so far"}"#),
        &start(2, r#"{"type":"tool_use","id":"t","name":"X","input":{}}"#),
    ]);
    assert_eq!(assembly.open_text(), Some("so far"));
    assert_eq!(assembly.progress(), ResponseProgress::Partial);
    let closed = assembly.close_partial();
    assert_eq!(closed.len(), 1);
    assert_eq!(closed[0].block.get(), r#"{"type":"text","text":"so far"}"#);
}

#[test]
fn progress_by_what_is_complete() {
    assert_eq!(fold(&[]).0.progress(), ResponseProgress::Nothing);
    let thinking = [start(0, r#"{"type":"thinking","thinking":""}"#), stop(0)];
    assert_eq!(fold(&[&thinking[0]]).0.progress(), ResponseProgress::ThinkingOnly);
    assert_eq!(fold(&[&thinking[0], &thinking[1]]).0.progress(), ResponseProgress::ThinkingOnly);
    let text = start(1, r#"{"type":"text","text":""}"#);
    assert_eq!(fold(&[&thinking[0], &thinking[1], &text]).0.progress(), ResponseProgress::Partial);
    assert_eq!(fold(&[&thinking[0], &thinking[1], &text, &stop(1)]).0.progress(), ResponseProgress::Completed);
}

#[test]
fn an_error_event_is_an_error() {
    let data = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let error = ModelEvent::parse("error", data).unwrap_err();
    assert_eq!((error.kind, error.message.as_str(), error.status), (ErrorKind::Overloaded, "Overloaded", Some(529)));
    assert_eq!(ModelEvent::parse("", "{broken").unwrap_err().kind, ErrorKind::Malformed);
}
