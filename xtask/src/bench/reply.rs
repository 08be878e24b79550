//! Replies of the Messages API as ready bytes: a chunked HTTP response with one chunk per event.

use serde_json::{Value, json};
use std::sync::Arc;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
                    request-id: req_bench\r\ntransfer-encoding: chunked\r\n\r\n";

/// A reply with one text block in these pieces, then the end of the turn.
pub(super) fn text<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Arc<Vec<u8>> {
    let deltas = pieces.into_iter().map(|p| json!({"type": "text_delta", "text": p}));
    message(0, &json!({"type": "text", "text": ""}), deltas, "end_turn")
}

/// A reply with one call. `number` makes its ids unique within a conversation.
pub(super) fn call(number: usize, tool: &str, input: &Value) -> Arc<Vec<u8>> {
    let start = json!({"type": "tool_use", "id": format!("toolu_bench_{number}"), "name": tool, "input": {}});
    let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
    message(number, &start, [delta], "tool_use")
}

/// Several calls of one tool in one message.
pub(super) fn calls(tool: &str, inputs: &[Value]) -> Arc<Vec<u8>> {
    numbered_calls(0, tool, inputs)
}

/// As [`calls`]; `number` makes the ids unique within a conversation.
pub(super) fn numbered_calls(number: usize, tool: &str, inputs: &[Value]) -> Arc<Vec<u8>> {
    let blocks: Vec<(Value, Vec<Value>)> = inputs
        .iter()
        .enumerate()
        .map(|(at, input)| {
            let start =
                json!({"type": "tool_use", "id": format!("toolu_many_{number}_{at}"), "name": tool, "input": {}});
            (start, vec![json!({"type": "input_json_delta", "partial_json": input.to_string()})])
        })
        .collect();
    blocks_message(number, &blocks, "tool_use")
}

fn message(number: usize, block: &Value, deltas: impl IntoIterator<Item = Value>, stop_reason: &str) -> Arc<Vec<u8>> {
    blocks_message(number, &[(block.clone(), deltas.into_iter().collect())], stop_reason)
}

fn blocks_message(number: usize, blocks: &[(Value, Vec<Value>)], stop_reason: &str) -> Arc<Vec<u8>> {
    let usage = json!({"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                       "output_tokens": 1});
    let mut out = HEAD.as_bytes().to_vec();
    let mut event = |value: &Value| {
        let kind = value["type"].as_str().unwrap_or_default();
        let text = format!("event: {kind}\ndata: {value}\n\n");
        out.extend_from_slice(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
    };
    event(&json!({"type": "message_start", "message": {"id": format!("msg_bench_{number}"), "type": "message",
        "role": "assistant", "model": "claude-sonnet-4-5", "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": usage}}));
    for (index, (block, deltas)) in blocks.iter().enumerate() {
        event(&json!({"type": "content_block_start", "index": index, "content_block": block}));
        for delta in deltas {
            event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        event(&json!({"type": "content_block_stop", "index": index}));
    }
    event(&json!({"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": null},
        "usage": {"output_tokens": 5}}));
    event(&json!({"type": "message_stop"}));
    out.extend_from_slice(b"0\r\n\r\n");
    Arc::new(out)
}
