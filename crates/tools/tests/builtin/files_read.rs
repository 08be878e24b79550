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
    assert_eq!(text, "1\tone\n2\ttwo");
    let expected = json!({"type": "text", "file": {
        "filePath": path, "content": "one\ntwo\n", "numLines": 2, "startLine": 1, "totalLines": 2}});
    assert_eq!(result.to_string(), expected.to_string(), "key order counts");
}

#[tokio::test]
async fn the_form_of_the_reference_can_be_had() {
    // [MX-11] [MX-12]
    let mut bench = Bench::new();
    bench.facts.env = bench.facts.env.with([("GIMLET_COMPAT_OUTPUT", "1")]);
    let path = bench.file("a.txt", "one\ntwo\n");
    let (text, result) = bench.ok("Read", json!({"file_path": path})).await;
    assert_eq!(text, "1\tone\n2\ttwo\n3\t");
    assert_eq!((&result["file"]["numLines"], &result["file"]["totalLines"]), (&json!(3), &json!(3)));
    let path = bench.file("big", "line of text\n".repeat(30_000));
    let text = bench.fails("Read", json!({"file_path": path})).await;
    assert!(text.contains("381 KB") && text.contains("256 KB") && text.contains("allow_large"), "{text}");
    assert!(bench.fails("Read", json!({"file_path": bench.dir})).await.starts_with("EISDIR"));
}

#[tokio::test]
async fn ranges_are_exact_and_numbers_lenient() {
    // [TST-5] [TST-18]
    let bench = Bench::new();
    let path = bench.file("n", "1\n2\n3\n4\n5");
    let input = json!({"file_path": path, "offset": " +2 ", "limit": "2", "allow_large": "false", "unknown": 1});
    let (text, result) = bench.ok("Read", input).await;
    assert_eq!(text, "2\t2\n3\t3", "nothing is said of a line end that is not shown");
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
async fn a_page_has_2000_lines() {
    // [TST-19] [MX-10]
    let bench = Bench::new();
    let lines: Vec<String> = (1..=35_000).map(|n| format!("{n}\n")).collect();
    let path = bench.file("numbers", lines.concat());
    let (text, result) = bench.ok("Read", json!({"file_path": path})).await;
    assert!(text.contains(
        "\n2000\t2000\n\n<system-reminder>PARTIAL view: lines 1–2000 of 35000 lines shown. Go on with `offset` 2001 "
    ));
    assert_eq!(result["file"]["truncatedByTokenCap"], true);
    assert_eq!((&result["file"]["numLines"], &result["file"]["totalLines"]), (&json!(2_000), &json!(35_000)));
    let (text, _) = bench.ok("Read", json!({"file_path": path, "offset": 33_000})).await;
    assert!(text.starts_with("33000\t") && text.contains("lines 33000–34999 of 35000"), "{text}");
    let (text, result) = bench.ok("Read", json!({"file_path": path, "offset": 34_000})).await;
    assert!(text.ends_with("\n35000\t35000") && result["file"].get("truncatedByTokenCap").is_none());
    let (text, result) = bench.ok("Read", json!({"file_path": path, "limit": 5_000})).await;
    assert!(!text.contains("PARTIAL"), "as many lines as were asked for");
    assert_eq!(result["file"]["numLines"], 5_000);
    let (all, result) = bench.ok("Read", json!({"file_path": path, "allow_large": true})).await;
    assert!(!all.contains("PARTIAL"));
    assert_eq!(result["file"]["numLines"], 35_000);
}

#[tokio::test]
async fn a_page_has_60000_bytes_and_a_range_25000_tokens() {
    // [TST-20] [MX-10]
    let bench = Bench::new();
    let path = bench.file("wide", format!("{}\n", "word ".repeat(39)).repeat(1_200));
    let (text, result) = bench.ok("Read", json!({"file_path": path})).await;
    let page = text.split("\n\n<system-reminder>").next().unwrap();
    assert!((59_500..=60_000).contains(&page.len()), "{}", page.len());
    let shown = result["file"]["numLines"].as_u64().unwrap();
    assert!(text.contains(&format!("`offset` {} and a `limit`", shown + 1)));
    let (text, _) = bench.ok("Read", json!({"file_path": path, "limit": 400})).await;
    assert!(text.len() > 78_000 && wire::tokens::of_bytes(text.len()) <= 25_000, "{}", text.len());
    let refused = bench.fails("Read", json!({"file_path": path, "limit": 450})).await;
    assert!(refused.contains("25000 tokens") && !refused.contains("tool_use_error"), "{refused}");
    let fitting: u64 = refused.split("set `limit` to ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    bench.ok("Read", json!({"file_path": path, "limit": fitting})).await;
    bench.fails("Read", json!({"file_path": path, "limit": fitting + 1})).await;
}

#[tokio::test]
async fn the_cap_can_be_set() {
    // [TST-19]
    let mut bench = Bench::new();
    bench.facts.env = bench.facts.env.with([("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", "100")]);
    let path = bench.file("f", "some words here\n".repeat(200));
    let (_, result) = bench.ok("Read", json!({"file_path": path})).await;
    assert!(result["file"]["numLines"].as_u64().unwrap() < 40);
    bench = Bench::new();
    bench.facts.env = bench.facts.env.with([("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", "30000")]);
    let path = bench.file("f", "some words here and more of them\n".repeat(2_000).repeat(2));
    let (text, _) = bench.ok("Read", json!({"file_path": path})).await;
    assert!(text.len() > 70_000, "a page follows the cap that was set");
}

#[tokio::test]
async fn a_line_of_any_length_is_shown_in_part() {
    // [TST-20] [MX-10] Memory does not depend on the line, and the rest of a huge file is not read.
    let bench = Bench::new();
    let path = bench.file("huge", "x".repeat(512 * 1024));
    std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    let (text, _) = bench.ok("Read", json!({"file_path": path, "offset": 1, "limit": 1})).await;
    assert!(text.starts_with(&format!("1\t{}… [line of more than ", "x".repeat(2_000))), "{}", &text[..100]);
    let path = bench.file("long", format!("{}\nshort\n", "y".repeat(50_000)));
    let (text, result) = bench.ok("Read", json!({"file_path": path})).await;
    assert!(text.contains("… [line of 50,000 characters]\n2\tshort\n\n<system-reminder>Lines are cut at 2,000"));
    assert!(text.contains("| cut -c 2001-4000`"), "{text}");
    assert_eq!(result["file"]["totalLines"], 2);
    let refused = bench.fails("Write", json!({"file_path": path, "content": "x"})).await;
    assert!(refused.contains("only in part"), "{refused}");
    let (text, _) = bench.ok("Read", json!({"file_path": path, "allow_large": true})).await;
    assert_eq!(text.len(), "1\t\n2\tshort".len() + 50_000);
}

#[tokio::test]
async fn of_a_large_file_the_beginning_is_shown() {
    // [MX-11]
    let bench = Bench::new();
    let path = bench.file("big", "line of text\n".repeat(30_000));
    let (text, result) = bench.ok("Read", json!({"file_path": path})).await;
    assert!(text.starts_with("1\tline of text\n") && text.contains("\n200\tline of text\n\n<system-reminder>"));
    let notice = text.split("<system-reminder>").nth(1).unwrap();
    assert!(notice.starts_with("PARTIAL view: lines 1–200 of 30000 lines (381 KB) shown. Go on with `offset` 201"));
    assert!(notice.contains("allow_large") && notice.contains("Grep"), "{notice}");
    assert_eq!((&result["file"]["numLines"], &result["file"]["totalLines"]), (&json!(200), &json!(30_000)));
    let (text, result) = bench.ok("Read", json!({"file_path": path, "offset": 29_999, "limit": 5})).await;
    assert_eq!(text, "29999\tline of text\n30000\tline of text");
    assert_eq!(result["file"]["totalLines"], 30_000);
}

#[tokio::test]
async fn pages_that_follow_each_other_are_the_whole_file() {
    // [MX-10]
    let bench = Bench::new();
    let path = bench.file("many", "x\n".repeat(5_000));
    let write = json!({"file_path": path, "content": "x"});
    for offset in [1, 2_001] {
        bench.ok("Read", json!({"file_path": path, "offset": offset})).await;
        assert!(bench.fails("Write", write.clone()).await.contains("only in part"));
    }
    bench.ok("Read", json!({"file_path": path, "offset": 4_001})).await;
    bench.ok("Write", write).await;
}

#[tokio::test]
async fn a_missing_final_newline_is_said() {
    // [MX-11]
    let bench = Bench::new();
    let path = bench.file("a", "one\ntwo");
    let (text, result) = bench.ok("Read", json!({"file_path": path})).await;
    assert_eq!(text, "1\tone\n2\ttwo\n\n[The file does not end with a newline.]");
    assert_eq!((&result["file"]["content"], &result["file"]["totalLines"]), (&json!("one\ntwo"), &json!(2)));
    let (text, _) = bench.ok("Read", json!({"file_path": path, "limit": 1})).await;
    assert_eq!(text, "1\tone");
}

#[tokio::test]
async fn a_directory_is_listed() {
    // [MX-12]
    let mut bench = Bench::new();
    bench.may_read = std::sync::Arc::new(|path, _| !path.ends_with("secret"));
    for n in 0..60 {
        bench.file(&format!("sub/f{n:02}"), "");
    }
    bench.file("sub/a/x", "");
    bench.file("sub/secret", "");
    let (text, result) = bench.ok("Read", json!({"file_path": "sub"})).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], format!("{} is a directory. In it:", bench.dir.join("sub").display()));
    assert_eq!((lines[1], lines[2], lines[50], lines[51]), ("a/", "f00", "f48", "[11 more]"));
    assert_eq!(result["type"], "text");
    std::fs::create_dir(bench.dir.join("none")).unwrap();
    assert!(bench.ok("Read", json!({"file_path": "none"})).await.0.ends_with("is an empty directory."));
}

#[tokio::test]
async fn a_missing_file_is_found_by_its_name() {
    // [MX-12]
    let mut bench = Bench::new();
    bench.may_read = std::sync::Arc::new(|path, _| !path.ends_with("denied/handler.rs"));
    for name in ["src/api/handler.rs", "lib/handler.rs", "denied/handler.rs", "node_modules/handler.rs"] {
        bench.file(name, "");
    }
    bench.file(".gitignore", "node_modules/\n");
    let at = |name: &str| bench.dir.join(name).display().to_string();
    let text = bench.fails("Read", json!({"file_path": "app/api/Handler.rs"})).await;
    let meant = format!("Did you mean one of these?\n{}\n{}", at("src/api/handler.rs"), at("lib/handler.rs"));
    assert!(text.ends_with(&meant), "{text}");
    std::fs::remove_dir_all(bench.dir.join("lib")).unwrap();
    let edit = json!({"file_path": "app/handler.rs", "old_string": "a", "new_string": "b"});
    let text = bench.fails("Edit", edit).await;
    assert!(text.contains(&format!("Did you mean {}?", at("src/api/handler.rs"))), "{text}");
    for n in 0..9 {
        bench.file(&format!("d{n}/mod.rs"), "");
    }
    let text = bench.fails("Read", json!({"file_path": "x/mod.rs"})).await;
    assert_eq!(text.lines().skip(1).count(), 5, "{text}");
    let text = bench.fails("Read", json!({"file_path": "x/nowhere.rs"})).await;
    assert!(text.ends_with(&format!("The current directory is {}.", bench.dir.display())), "{text}");
}

#[tokio::test]
async fn empty_files_and_far_offsets_are_noticed_not_failed() {
    // [TST-21]
    let bench = Bench::new();
    let path = bench.file("empty", "");
    let (text, _) = bench.ok("Read", json!({"file_path": path})).await;
    assert!(text.starts_with("<system-reminder>") && text.contains("empty"), "{text}");
    let path = bench.file("short", "a\nb\n");
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
    assert_eq!(
        bench.ok("Read", json!({"file_path": "utf16"})).await.0,
        "1\ta\n2\tß\n\n[The file does not end with a newline.]"
    );
    bench.file("bom", b"\xef\xbb\xbfx\r\ny\r\n");
    let (text, result) = bench.ok("Read", json!({"file_path": "bom"})).await;
    assert_eq!((text.as_str(), &result["file"]["content"]), ("1\tx\n2\ty", &json!("x\ny\n")));
    bench.file("latin1", b"caf\xe9\n");
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
