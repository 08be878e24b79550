//! Data to measure with: a long transcript, and a large tree of source files. Both are the same in every run.

use anyhow::Result;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Lines of a long transcript per MB: edits whose results contain the previous content of the file.
const LINES_PER_MB: usize = 100;
/// Edits after the compact boundary.
const LIVE_TAIL: usize = 150;
/// The last text of the conversation.
pub(super) const LAST_WORDS: &str = "All tidy.";
const SHOWN_BYTES: usize = 1_500;
const SHARED_FIELDS: &str = r#""userType":"external","entrypoint":"sdk-cli","version":"2.1.325","gitBranch":"main""#;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boundary {
    NearEnd,
    None,
}

/// Writes the transcript of session `id` with `megabytes`; returns how many bytes of content a request would contain.
pub(super) fn transcript(path: &Path, id: &str, cwd: &Path, (megabytes, boundary): (usize, Boundary)) -> Result<u64> {
    let edits = megabytes * LINES_PER_MB / 2;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let place = format!("{SHARED_FIELDS},\"cwd\":{},\"sessionId\":\"{id}\"", json!(cwd));
    let (shown, before) = (filler(SHOWN_BYTES), filler(16_250));
    let mut chain = Chain { out: &mut out, place: &place, last: None, count: 0 };
    chain.add(r#""type":"user","message":{"role":"user","content":"Tidy up the whole project."}"#)?;
    let mut live = 0;
    for number in 0..(edits - 1) {
        if boundary == Boundary::NearEnd && number == edits - LIVE_TAIL {
            chain.compact()?;
            live = 0;
        }
        let call = call_line(number);
        let result = result_line(number, &shown, &before);
        live += (call.len() + 2 * SHOWN_BYTES) as u64;
        chain.add(&call)?;
        chain.add(&result)?;
    }
    chain.add(r#""type":"assistant","message":{"id":"msg_end","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"All tidy."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":5}}"#)?;
    out.flush()?;
    Ok(live)
}

struct Chain<'a> {
    out: &'a mut BufWriter<File>,
    place: &'a str,
    last: Option<u64>,
    count: u64,
}

impl Chain<'_> {
    fn add(&mut self, fields: &str) -> Result<()> {
        self.line("", fields)
    }

    fn line(&mut self, extra: &str, fields: &str) -> Result<()> {
        self.count += 1;
        let parent = self.last.map_or_else(|| "null".to_owned(), |n| format!("\"{}\"", uuid(n)));
        let (place, own) = (self.place, uuid(self.count));
        writeln!(
            self.out,
            "{{\"parentUuid\":{parent},{extra}\"isSidechain\":false,{fields},\"uuid\":\"{own}\",\
             \"timestamp\":\"2026-01-01T00:00:00.000Z\",{place}}}"
        )?;
        self.last = Some(self.count);
        Ok(())
    }

    fn compact(&mut self) -> Result<()> {
        let before = self.last.take().unwrap_or_default();
        let logical = format!("\"logicalParentUuid\":\"{}\",", uuid(before));
        self.line(
            &logical,
            r#""type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"level":"info","compactMetadata":{"trigger":"auto","preTokens":180000}"#,
        )?;
        self.add(r#""type":"user","isCompactSummary":true,"message":{"role":"user","content":"Summary: many files were edited."}"#)
    }
}

pub(super) fn uuid(number: u64) -> String {
    format!("0b5e55ed-0000-4000-8000-{number:012x}")
}

fn call_line(number: usize) -> String {
    let input =
        json!({"file_path": format!("src/part_{number}.rs"), "old_string": filler(200), "new_string": filler(220)});
    let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "tool_use", "id": format!("toolu_{number}"), "name": "Edit", "input": input}],
        "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 5}});
    format!("\"type\":\"assistant\",\"requestId\":\"req_{number}\",\"message\":{message}")
}

fn result_line(number: usize, shown: &str, before: &str) -> String {
    let content = json!([{"tool_use_id": format!("toolu_{number}"), "type": "tool_result", "content": shown}]);
    let result: Value = json!({"filePath": format!("src/part_{number}.rs"), "oldString": &before[..200],
        "newString": &before[..220], "originalFile": before, "structuredPatch": [], "userModified": false});
    format!("\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":{content}}},\"toolUseResult\":{result}")
}

/// Source-like text of about this many bytes.
pub(super) fn filler(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 64);
    let mut number = 0_u32;
    while text.len() < bytes {
        text.extend(["    let value_", &number.to_string(), " = compute(state, \"some text\"); // next step\n"]);
        number += 1;
    }
    text
}

/// Creates a tree of `files` source files below `root`; one in fifty contains the word `needle_` and a number.
pub(super) fn tree(root: &Path, files: usize) -> Result<()> {
    let body = filler(4_000);
    for number in 0..files {
        let dir = root.join(format!("crate_{}/module_{}", number / 500, number / 25 % 20));
        if number % 25 == 0 {
            std::fs::create_dir_all(&dir)?;
        }
        let extension = ["rs", "md", "json", "toml"][number % 4];
        let mut text = body.clone();
        if number % 50 == 0 {
            text.extend(["// needle_", &number.to_string(), "\n"]);
        }
        std::fs::write(dir.join(format!("file_{number}.{extension}")), text)?;
    }
    Ok(())
}
