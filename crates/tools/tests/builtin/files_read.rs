//! Read of text, through the tool contract and a real directory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common::Bench;
use serde_json::json;
use std::os::unix::net::UnixListener;
use std::time::Duration;
use tools::edit::{ReplaceScope, apply};

#[tokio::test]
async fn lines_are_numbered_and_the_result_has_its_shape() {
    // [TST-2] [TST-17]
    let bench = Bench::new();
    let path = bench.file("a.txt", "one\ntwo\n");
    let (text, result) = bench.ok("Read", json!({"file_path": path})).await;
    assert_eq!(text, "1\tone\n2\ttwo\n3\t");
    let expected = json!({"type": "text", "file": {
        "filePath": path, "content": "one\ntwo\n", "numLines": 3, "startLine": 1, "totalLines": 3}});
    assert_eq!(result.to_string(), expected.to_string(), "key order counts");
}

#[tokio::test]
async fn ranges_are_exact_and_numbers_lenient() {
    // [TST-5] [TST-18]
    let bench = Bench::new();
    let path = bench.file("n", "1\n2\n3\n4\n5");
    let input = json!({"file_path": path, "offset": " +2 ", "limit": "2", "allow_large": "false", "unknown": 1});
    let (text, result) = bench.ok("Read", input).await;
    assert_eq!(text, "2\t2\n3\t3");
    assert_eq!(result["file"]["startLine"], 2);
    assert_eq!(result["file"]["numLines"], 2);
    assert_eq!(result["file"]["totalLines"], 5);
    assert!(result["file"].get("truncatedByTokenCap").is_none());
    let (text, _) = bench.ok("Read", json!({"file_path": "n", "offset": 0, "limit": 1})).await;
    assert_eq!(text, "1\t1", "relative paths and offset 0 work");
}

#[tokio::test]
async fn bad_input_names_tool_and_field() {
    // [TST-5]
    let bench = Bench::new();
    let missing = bench.try_call("Read", json!({})).await.unwrap_err();
    assert_eq!(missing.0, "Read: the required field `file_path` is missing");
    let wrong = bench.try_call("Read", json!({"file_path": "x", "limit": "many"})).await.unwrap_err();
    assert!(wrong.0.starts_with("Read: the field `limit` must be a whole number"), "{}", wrong.0);
}

#[tokio::test]
async fn a_long_text_is_cut_at_the_token_cap() {
    // [TST-19]
    let bench = Bench::new();
    let lines: Vec<String> = (1..=35_000).map(|n| n.to_string()).collect();
    let path = bench.file("numbers", lines.join("\n"));
    let (text, result) = bench.ok("Read", json!({"file_path": path})).await;
    assert!(text.contains("PARTIAL view"));
    assert_eq!(result["file"]["truncatedByTokenCap"], true);
    assert_eq!(result["file"]["totalLines"], 35_000);
    let shown = result["file"]["numLines"].as_u64().unwrap();
    assert!((12_000..13_500).contains(&shown), "{shown}");
    assert!(text.contains(&format!("`offset` {}", shown + 1)));
    let (all, result) = bench.ok("Read", json!({"file_path": path, "allow_large": true})).await;
    assert!(!all.contains("PARTIAL"));
    assert_eq!(result["file"]["numLines"], 35_000);
}

#[tokio::test]
async fn the_cap_can_be_set() {
    // [TST-19]
    let mut bench = Bench::new();
    bench.facts.env = bench.facts.env.with([("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", "100")]);
    let path = bench.file("f", "some words here\n".repeat(200));
    let (_, result) = bench.ok("Read", json!({"file_path": path})).await;
    assert!(result["file"]["numLines"].as_u64().unwrap() < 40);
}

#[tokio::test]
async fn a_range_over_the_cap_is_an_error_and_reads_little() {
    // [TST-20]
    let bench = Bench::new();
    let path = bench.file("huge", "x".repeat(512 * 1024));
    std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    let text = bench.fails("Read", json!({"file_path": path, "offset": 1, "limit": 1})).await;
    assert!(text.contains("25000 tokens") && !text.contains("tool_use_error"), "{text}");
}

#[tokio::test]
async fn a_large_file_needs_a_range_or_leave() {
    let bench = Bench::new();
    let path = bench.file("big", "line of text\n".repeat(30_000));
    let text = bench.fails("Read", json!({"file_path": path})).await;
    assert!(text.contains("381 KB") && text.contains("256 KB") && text.contains("allow_large"), "{text}");
    let (text, result) = bench.ok("Read", json!({"file_path": path, "offset": 29_999, "limit": 5})).await;
    assert_eq!(text, "29999\tline of text\n30000\tline of text\n30001\t");
    assert_eq!(result["file"]["totalLines"], 30_001);
}

#[tokio::test]
async fn neither_many_lines_nor_long_ones_are_cut() {
    let bench = Bench::new();
    let path = bench.file("many", "x\n".repeat(12_000));
    let (_, result) = bench.ok("Read", json!({"file_path": path})).await;
    assert_eq!(result["file"]["numLines"], 12_001);
    let path = bench.file("long", "y".repeat(50_000));
    let (text, _) = bench.ok("Read", json!({"file_path": path})).await;
    assert_eq!(text.len(), 50_002);
}

#[tokio::test]
async fn empty_files_and_far_offsets_are_noticed_not_failed() {
    // [TST-21]
    let bench = Bench::new();
    let path = bench.file("empty", "");
    let (text, _) = bench.ok("Read", json!({"file_path": path})).await;
    assert!(text.starts_with("<system-reminder>") && text.contains("empty"), "{text}");
    let path = bench.file("short", "a\nb");
    let (text, result) = bench.ok("Read", json!({"file_path": path, "offset": 9})).await;
    assert!(text.starts_with("<system-reminder>") && text.contains("2 lines"), "{text}");
    assert_eq!(result["file"]["numLines"], 0);
}

#[tokio::test]
async fn a_second_read_shows_all_again_and_edits_still_work() {
    // [TST-22], as observed in the reference: the second read returns the whole text again.
    let bench = Bench::new();
    let path = bench.file("a", "same");
    let first = bench.ok("Read", json!({"file_path": path})).await;
    assert_eq!(bench.ok("Read", json!({"file_path": path})).await, first);
    bench.ok("Edit", json!({"file_path": path, "old_string": "same", "new_string": "other"})).await;
    assert_eq!(bench.text("a"), "other");
}

#[tokio::test]
async fn what_is_no_file_is_refused_without_hanging() {
    // [TST-28]
    let bench = Bench::new();
    bench.file("sub/main.rs", "");
    let text = bench.fails("Read", json!({"file_path": bench.dir.join("sub")})).await;
    assert!(text.starts_with("EISDIR"), "{text}");
    let text = bench.fails("Read", json!({"file_path": bench.dir.join("sub/mian.rs")})).await;
    assert!(text.contains("does not exist") && text.contains(bench.dir.to_str().unwrap()), "{text}");
    assert!(text.ends_with(&format!("Did you mean {}?", bench.dir.join("sub/main.rs").display())), "{text}");
    // SC-C16
    let text = bench.fails("Read", json!({"file_path": "/dev/zero"})).await;
    assert!(text.contains("is a device") && text.starts_with("<tool_use_error>"), "{text}");
    let _socket = UnixListener::bind(bench.dir.join("sock")).unwrap();
    assert!(bench.fails("Read", json!({"file_path": "sock"})).await.contains("is a socket"));
    mkfifo(&bench).await;
    for (tool, input) in [
        ("Read", json!({"file_path": "pipe"})),
        ("Write", json!({"file_path": "pipe", "content": "x"})),
        ("Edit", json!({"file_path": "pipe", "old_string": "a", "new_string": "b"})),
    ] {
        let text = tokio::time::timeout(Duration::from_secs(20), bench.fails(tool, input)).await.expect("hangs");
        assert!(text.contains("is a FIFO"), "{text}");
    }
}

async fn mkfifo(bench: &Bench) {
    use sys::process::{ChildInput, ChildOutput, SpawnSpec, spawn};
    let spec = SpawnSpec {
        program: "/usr/bin/mkfifo".into(),
        args: vec!["pipe".into()],
        env: Vec::new(),
        cwd: bench.dir.clone(),
        stdin: ChildInput::Null,
        output: ChildOutput::Null,
    };
    assert_eq!(spawn(spec).unwrap().wait().await.unwrap().code, Some(0));
}

#[tokio::test]
async fn binary_files_are_refused_by_content() {
    let bench = Bench::new();
    let path = bench.file("tool.exe", b"MZ\x90\0\x03\0\0\0");
    let text = bench.fails("Read", json!({"file_path": path})).await;
    assert!(text.starts_with("<tool_use_error>") && text.contains(".exe"), "{text}");
}

#[tokio::test]
async fn encodings_are_decoded() {
    // [TST-29] [TST-12]
    let bench = Bench::new();
    bench.file("utf16", b"\xff\xfea\0\r\0\n\0\xdf\0");
    assert_eq!(bench.ok("Read", json!({"file_path": "utf16"})).await.0, "1\ta\n2\tß");
    bench.file("bom", b"\xef\xbb\xbfx\r\ny");
    let (text, result) = bench.ok("Read", json!({"file_path": "bom"})).await;
    assert_eq!((text.as_str(), &result["file"]["content"]), ("1\tx\n2\ty", &json!("x\ny")));
    bench.file("latin1", b"caf\xe9");
    let (text, _) = bench.ok("Read", json!({"file_path": "latin1"})).await;
    assert!(text.starts_with("1\tcaf\u{fffd}\n\n[") && text.ends_with(']'), "{text}");
    bench.file("separators", "a\u{2028}b");
    let raw = bench.call("Read", json!({"file_path": "separators"})).await.structured.unwrap();
    assert!(!raw.get().contains('\u{2028}') && raw.get().contains("\\u2028"));
}

#[tokio::test]
async fn a_denied_path_and_a_cancelled_call_show_nothing() {
    let mut bench = Bench::new();
    bench.may_read = std::sync::Arc::new(|path, _| !path.ends_with("secret"));
    bench.file("secret", "key");
    bench.file("open", "text");
    assert!(bench.fails("Read", json!({"file_path": "secret"})).await.contains("denies reading"));
    bench.cancel.cancel();
    assert!(bench.fails("Read", json!({"file_path": "open"})).await.contains("cancelled"));
}

#[test]
fn edit_application_is_public_and_pure() {
    assert_eq!(apply("a", "a", "b", ReplaceScope::One).unwrap().text, "b");
}
