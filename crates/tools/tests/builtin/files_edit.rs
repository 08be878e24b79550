//! Edit, MultiEdit and Write, through the tool contract and a real directory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common::Bench;
use permission::Access;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn edit(path: impl AsRef<Path>, old: &str, new: &str) -> Value {
    json!({"file_path": path.as_ref(), "old_string": old, "new_string": new})
}

fn write(path: impl AsRef<Path>, content: &str) -> Value {
    json!({"file_path": path.as_ref(), "content": content})
}

/// Applies `structuredPatch` to `originalFile` as a reader would.
pub(crate) fn patched(result: &Value) -> String {
    let original = result["originalFile"].as_str().unwrap();
    let lines: Vec<&str> = original.split_inclusive('\n').collect();
    let (mut out, mut at) = (String::new(), 0);
    for hunk in result["structuredPatch"].as_array().unwrap() {
        let start = hunk["oldStart"].as_u64().unwrap() as usize - 1;
        out.extend(lines[at..start].iter().copied());
        at = start + hunk["oldLines"].as_u64().unwrap() as usize;
        let body: Vec<&str> = hunk["lines"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
        for (i, line) in body.iter().enumerate().filter(|(_, l)| l.starts_with([' ', '+'])) {
            out.push_str(&line[1..]);
            if !body.get(i + 1).is_some_and(|next| next.starts_with('\\')) {
                out.push('\n');
            }
        }
    }
    out.extend(lines[at..].iter().copied());
    out
}

#[tokio::test]
async fn a_unique_match_is_replaced() {
    // [TST-2] [TST-31] [TST-32]
    let bench = Bench::new();
    let path = bench.file("a", "one\ntwo\nthree");
    let (text, result) = bench.ok("Edit", edit(&path, "two", "2")).await;
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains(path.to_str().unwrap()));
    assert_eq!(bench.text("a"), "one\n2\nthree");
    assert_eq!(patched(&result), bench.text("a"));
    let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "filePath",
            "oldString",
            "newString",
            "originalFile",
            "structuredPatch",
            "userModified",
            "replaceAll",
            "contentNotInModelContext"
        ]
    );
    assert_eq!(result["replaceAll"], false);
}

#[tokio::test]
async fn edits_that_are_not_certain_are_refused() {
    // [TST-4] [TST-31]
    let bench = Bench::new();
    let path = bench.file("a", "x x x");
    for (old, new, needle) in
        [("y", "z", "not found"), ("x", "z", "3 times"), ("x", "x", "are the same"), ("", "z", "already has content")]
    {
        let outcome = bench.call("Edit", edit(&path, old, new)).await;
        let text = outcome.content.text();
        assert!(outcome.is_error && outcome.structured.is_none());
        assert!(text.starts_with("<tool_use_error>") && text.contains(needle), "{text}");
    }
    assert_eq!(bench.text("a"), "x x x");
    let all = json!({"file_path": path, "old_string": "x", "new_string": "y", "replace_all": "true"});
    let (text, result) = bench.ok("Edit", all).await;
    assert!(text.contains("3 occurrences"));
    assert_eq!((bench.text("a").as_str(), &result["replaceAll"]), ("y y y", &json!(true)));
    let text = bench.fails("Edit", edit("b", "x", "y")).await;
    assert!(text.contains("does not exist") && text.starts_with("<tool_use_error>"), "{text}");
    let text = bench.fails("Edit", edit(bench.file("n.ipynb", "{}"), "x", "y")).await;
    assert!(text.contains("NotebookEdit"), "{text}");
}

#[tokio::test]
async fn an_empty_old_string_creates() {
    let bench = Bench::new();
    let (_, result) = bench.ok("Edit", edit("new/dir/f", "", "hello\n")).await;
    assert_eq!(bench.text("new/dir/f"), "hello\n");
    assert_eq!(patched(&result), "hello\n");
    bench.file("empty", "");
    bench.ok("Edit", edit("empty", "", "x")).await;
    assert_eq!(bench.text("empty"), "x");
}

#[tokio::test]
async fn older_models_must_read_first() {
    // [TST-33]
    let mut bench = Bench::new();
    bench.facts.read_before_edit = true;
    let path = bench.file("a", "text");
    assert!(bench.fails("Edit", edit(&path, "text", "x")).await.contains("has not been read yet"));
    assert!(bench.fails("Write", write(&path, "x")).await.contains("has not been read yet"));
    bench.state().reads.record_shown(&path, b"text");
    bench.ok("Edit", edit(&path, "text", "more text")).await;
    bench.ok("Edit", edit(&path, "more", "still more")).await;
    bench.ok("Write", write(&path, "fresh")).await;
    bench.ok("Write", write("new", "made")).await;
    bench.ok("Edit", edit("new", "made", "changed")).await;
}

#[tokio::test]
async fn a_partial_view_is_enough_to_edit_but_not_to_overwrite() {
    // [TST-33]
    for strict in [true, false] {
        let mut bench = Bench::new();
        bench.facts.read_before_edit = strict;
        let path = bench.file("a", "1\n2\n3\n");
        bench.ok("Read", json!({"file_path": path, "offset": 1, "limit": 2})).await;
        assert!(bench.fails("Write", write(&path, "x")).await.contains("only in part"));
        bench.ok("Edit", edit(&path, "2", "two")).await;
        bench.ok("Read", json!({"file_path": path})).await;
        bench.ok("Write", write(&path, "x")).await;
    }
}

#[tokio::test]
async fn a_page_allows_edits_and_no_overwriting() {
    // [MX-10]
    let mut bench = Bench::new();
    bench.facts.read_before_edit = true;
    let path = bench.file("a", "alpha\n".repeat(3_000) + "omega\n");
    bench.ok("Read", json!({"file_path": path})).await;
    assert!(bench.fails("Write", write(&path, "x")).await.contains("only in part"));
    bench.ok("Edit", edit(&path, "omega", "x")).await;
}

#[tokio::test]
async fn newer_models_may_edit_unread_files() {
    // [TST-34]
    let bench = Bench::new();
    let path = bench.file("a", "text");
    let (_, result) = bench.ok("Edit", edit(&path, "text", "x")).await;
    assert_eq!(result["contentNotInModelContext"], true);
    bench.ok("Write", write(&path, "y")).await;
    let (_, result) = bench.ok("Edit", edit(&path, "y", "z")).await;
    assert!(result.get("contentNotInModelContext").is_none());
}

#[tokio::test]
async fn a_changed_file_is_edited_only_where_the_match_is_certain() {
    // [TST-35] [TST-36]
    let bench = Bench::new();
    let path = bench.file("a", "one two");
    bench.ok("Read", json!({"file_path": path})).await;
    std::fs::File::open(&path).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let (text, _) = bench.ok("Edit", edit(&path, "one", "1")).await;
    assert!(!text.contains("since you read"), "touching is no change: {text}");
    std::fs::write(&path, "1 two two three").unwrap();
    let all = json!({"file_path": path, "old_string": "two", "new_string": "2", "replace_all": true});
    let (text, _) = bench.ok("Edit", edit(&path, "three", "3")).await;
    assert!(text.contains("changes made since you read it"), "{text}");
    assert!(bench.fails("Edit", all.clone()).await.contains("has changed since you read it"));
    assert_eq!(bench.text("a"), "1 two two 3");
    bench.ok("Edit", all).await;
    assert_eq!(bench.text("a"), "1 2 2 3", "the difference was shown, so the file is known");
}

#[tokio::test]
async fn the_refusal_of_a_stale_edit_holds_the_difference() {
    // [MX-7]
    let stale = |content: &str| {
        let mut bench = Bench::new();
        bench.facts.read_before_edit = true;
        (bench.file("a.rs", content), bench)
    };
    let (path, bench) = stale("fn one() {}\nfn two() {}\nfn three() {}\n");
    bench.ok("Read", json!({"file_path": path})).await;
    std::fs::write(&path, "fn one() {}\nfn second() {}\nfn three() {}\n").unwrap();
    let text = bench.fails("Edit", edit(&path, "fn two() {}", "fn two() { one() }")).await;
    assert!(text.contains("was not found") && text.contains("it counts as read again"), "{text}");
    assert!(text.contains("@@ -1,3 +1,3 @@\n fn one() {}\n-fn two() {}\n+fn second() {}\n fn three() {}"), "{text}");
    assert!(text.len() <= 1_200 + "<tool_use_error></tool_use_error>".len(), "{}", text.len());
    let (text, _) = bench.ok("Edit", edit(&path, "fn second() {}", "fn second() { one() }")).await;
    assert!(!text.contains("since you read"), "{text}");

    // The same for an overwrite, and for one of several edits.
    std::fs::write(&path, "fn four() {}\n").unwrap();
    assert!(bench.fails("Write", write(&path, "x\n")).await.contains("+fn four() {}"));
    bench.ok("Write", write(&path, "x\n")).await;
    std::fs::write(&path, "y\n").unwrap();
    let edits = json!({"file_path": path, "edits": [{"old_string": "x", "new_string": "z"}]});
    let text = bench.fails("MultiEdit", edits).await;
    assert!(text.contains("Edit 1 of 1 failed") && text.contains("-x\n+y"), "{text}");

    // A long difference is shown in part, and the file has to be read.
    let (path, bench) = stale(&"old line\n".repeat(200));
    bench.ok("Read", json!({"file_path": path})).await;
    std::fs::write(&path, "new line\n".repeat(200)).unwrap();
    for _ in 0..2 {
        let text = bench.fails("Edit", edit(&path, "old line\nold", "x")).await;
        assert!(
            text.contains("Read it again") && text.contains("-old line") && text.contains(" more lines of the diff")
        );
        assert!(text.len() <= 1_200 + "<tool_use_error></tool_use_error>".len(), "{}", text.len());
    }
}

#[tokio::test]
async fn broken_data_files_are_said() {
    // [MX-8] [MX-9]
    let bench = Bench::new();
    let path = bench.file("a.json", "{\n  \"a\": 1\n}\n");
    let (text, _) = bench.ok("Edit", edit(&path, "1\n", "1,\n")).await;
    assert!(text.contains("\nNote: the file no longer parses: line 3: trailing comma"), "{text}");
    let (text, _) = bench.ok("Edit", edit(&path, "1,\n", "2\n")).await;
    assert!(!text.contains("parses"), "{text}");
    let (text, _) = bench.ok("Write", write(&path, "{\n")).await;
    assert!(text.contains("updated (3 lines → 1).\nNote: the file no longer parses: line 1: EOF"), "{text}");
    let path = bench.file("a.toml", "[a]\nb = 1\n");
    let edits = json!({"file_path": path, "edits": [{"old_string": "1", "new_string": "\"x"}]});
    let (text, _) = bench.ok("MultiEdit", edits).await;
    assert!(text.contains("Note: the file no longer parses: line 2: a string is not closed"), "{text}");
    let (text, _) = bench.ok("Write", write(bench.dir.join("new.yaml"), "a: [\n")).await;
    assert!(!text.contains("parses"), "a new file was not broken: {text}");
}

#[tokio::test]
async fn an_outside_change_stops_an_older_models_write() {
    // [TST-35]
    for (strict, allowed) in [(true, false), (false, true)] {
        let mut bench = Bench::new();
        bench.facts.read_before_edit = strict;
        let path = bench.file("a", "one");
        bench.ok("Read", json!({"file_path": path})).await;
        std::fs::write(&path, "two").unwrap();
        assert_eq!(!bench.call("Write", write(&path, "three")).await.is_error, allowed);
    }
}

#[tokio::test]
async fn bytes_that_were_not_edited_stay() {
    // [TST-29] [TST-32] [TST-37] [TST-38]
    let bench = Bench::new();
    for (name, before, after) in [
        ("crlf", &b"a\r\nold\r\nb"[..], &b"a\r\nn1\r\nn2\r\nb"[..]),
        ("lf", b"a\nold\nb", b"a\nn1\nn2\nb"),
        ("bom", b"\xef\xbb\xbfold\n", b"\xef\xbb\xbfn1\nn2\n"),
        ("utf16", b"\xff\xfeo\0l\0d\0\r\0\n\0", b"\xff\xfen\x001\0\r\0\n\0n\x002\0\r\0\n\0"),
        ("mixed", b"a\r\nold\nb\nc\n", b"a\r\nn1\nn2\nb\nc\n"),
        ("tabs", "“q”  \n\told ".as_bytes(), "“q”  \n\tn1\nn2 ".as_bytes()),
    ] {
        let path = bench.file(name, before);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o754)).unwrap();
        let (_, result) = bench.ok("Edit", edit(&path, "old", "n1\nn2")).await;
        assert_eq!(bench.bytes(name), after, "{name}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o754, "{name}");
        if !matches!(name, "bom" | "utf16") {
            assert_eq!(patched(&result), bench.text(name), "{name}");
        }
    }
    bench.file("bad", b"old\xff");
    assert!(bench.fails("Edit", edit("bad", "old", "new")).await.contains("not valid UTF-8"));
    bench.file("curly", "say “hi”");
    bench.ok("Edit", edit("curly", "say \"hi\"", "say \"hi\" twice")).await;
    assert_eq!(bench.text("curly"), "say “hi” twice");
}

#[tokio::test]
async fn a_failing_write_leaves_the_old_file() {
    // [TST-39]
    let bench = Bench::new();
    bench.file("plain", "old");
    let text = bench.fails("Write", write("plain/below", "x")).await;
    assert!(!text.contains("tool_use_error"), "a failure while running is bare: {text}");
    assert_eq!(bench.text("plain"), "old");
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 1);
}

#[tokio::test]
async fn symlinks_are_written_through() {
    // [TST-40]
    let bench = Bench::new();
    bench.file("target", "old");
    let link = bench.dir.join("link");
    std::os::unix::fs::symlink("target", &link).unwrap();
    bench.ok("Edit", edit(&link, "old", "new")).await;
    assert!(link.is_symlink());
    assert_eq!(bench.text("target"), "new");
    bench.ok("Write", write(&link, "newer")).await;
    assert!(link.is_symlink());
    assert_eq!(bench.text("target"), "newer");
    let dangling = bench.dir.join("dangling");
    std::os::unix::fs::symlink("made", &dangling).unwrap();
    bench.ok("Write", write(&dangling, "x")).await;
    assert!(dangling.is_symlink());
    assert_eq!(bench.text("made"), "x");
}

#[tokio::test]
async fn a_read_deny_blocks_changes_and_creation() {
    // [TST-41]
    let mut bench = Bench::new();
    bench.may_read = std::sync::Arc::new(|path, met| {
        met == tools::PathDiscovery::Changed || !path.to_string_lossy().contains("secret")
    });
    bench.file("secret", "key");
    for (tool, input) in [
        ("Edit", edit("secret", "key", "x")),
        ("Write", write("secret", "x")),
        ("Write", write("secrets/new", "x")),
        ("Edit", edit("secrets/new", "", "x")),
        ("MultiEdit", json!({"file_path": "secret", "edits": [{"old_string": "key", "new_string": "x"}]})),
        ("NotebookEdit", json!({"notebook_path": "secret.ipynb", "cell_id": "a", "new_source": ""})),
    ] {
        assert!(bench.fails(tool, input).await.contains("denies reading"));
    }
    assert_eq!(bench.text("secret"), "key");
    assert!(!bench.dir.join("secrets").exists());
}

#[tokio::test]
async fn write_creates_and_updates() {
    // [TST-42] [TST-32]
    let bench = Bench::new();
    let (text, result) = bench.ok("Write", write("deep/er/f", "a\n")).await;
    assert!(text.contains("created"));
    let expected = json!({"type": "create", "filePath": bench.dir.join("deep/er/f"), "content": "a\n",
        "structuredPatch": [], "originalFile": null, "userModified": false});
    assert_eq!(result.to_string(), expected.to_string(), "key order counts");
    let reference = std::fs::metadata(bench.file("reference", "")).unwrap().permissions().mode();
    let made = std::fs::metadata(bench.dir.join("deep/er/f")).unwrap().permissions().mode();
    assert_eq!(made, reference, "the umask decides");
    let (text, result) = bench.ok("Write", write("deep/er/f", "b")).await;
    assert!(text.contains("updated"));
    assert_eq!((&result["type"], &result["originalFile"]), (&json!("update"), &json!("a\n")));
    assert_eq!(patched(&result), "b");
    assert!(bench.fails("Write", write("deep", "x")).await.contains("is a directory"));
}

#[tokio::test]
async fn write_keeps_the_style_of_the_file() {
    // [TST-37]
    let bench = Bench::new();
    bench.file("crlf", "a\r\nb\r\n");
    bench.ok("Write", write("crlf", "x\ny\n")).await;
    assert_eq!(bench.text("crlf"), "x\r\ny\r\n");
    bench.file("lf", "a\n");
    bench.ok("Write", write("lf", "x\ny")).await;
    assert_eq!(bench.text("lf"), "x\ny");
    bench.file("utf16", b"\xff\xfea\0");
    bench.ok("Write", write("utf16", "b")).await;
    assert_eq!(bench.bytes("utf16"), b"\xff\xfeb\0");
    bench.file("binary", b"\xff\x00\x01");
    let (_, result) = bench.ok("Write", write("binary", "text")).await;
    assert_eq!((bench.text("binary").as_str(), &result["originalFile"]), ("text", &Value::Null));
}

#[tokio::test]
async fn an_unread_notebook_is_never_overwritten() {
    // [TST-43]
    let bench = Bench::new();
    let path = bench.file("n.ipynb", r#"{"cells":[],"nbformat":4,"nbformat_minor":5,"metadata":{}}"#);
    assert!(bench.fails("Write", write(&path, "{}")).await.contains("has not been read yet"));
    bench.ok("Read", json!({"file_path": path})).await;
    bench.ok("Write", write(&path, "{}")).await;
}

#[tokio::test]
async fn perforce_mode_refuses_read_only_files() {
    // [TST-46]
    let mut bench = Bench::new();
    bench.facts.env = bench.facts.env.with([("CLAUDE_CODE_PERFORCE_MODE", "1")]);
    let path = bench.file("a", "x");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    assert!(bench.fails("Edit", edit(&path, "x", "y")).await.contains("p4 edit"));
    assert!(bench.fails("Write", write(&path, "y")).await.contains("p4 edit"));
}

#[tokio::test]
async fn multi_edit_is_all_or_nothing() {
    let bench = Bench::new();
    let path = bench.file("a", "one two");
    let edits = |second: &str| {
        json!({"file_path": path, "edits": [
            {"old_string": "one", "new_string": "1"}, {"old_string": second, "new_string": "2"}]})
    };
    assert!(bench.fails("MultiEdit", edits("three")).await.contains("Edit 2 of 2"));
    assert_eq!(bench.text("a"), "one two");
    let (_, result) = bench.ok("MultiEdit", edits("two")).await;
    assert_eq!(bench.text("a"), "1 2");
    assert_eq!(patched(&result), "1 2");
}

#[tokio::test]
async fn very_large_files_are_bounded() {
    let bench = Bench::new();
    let path = bench.file("large", "line\n".repeat(300_000) + "end");
    let (_, result) = bench.ok("Edit", edit(&path, "end", "END")).await;
    assert_eq!(result["originalFile"], Value::Null);
    assert_eq!(result["structuredPatch"].as_array().unwrap().len(), 1);
    let huge = bench.file("huge", "x");
    std::fs::File::options().write(true).open(&huge).unwrap().set_len((1 << 30) + 1).unwrap();
    assert!(bench.fails("Edit", edit(&huge, "x", "y")).await.contains("too large"));
}

#[test]
fn accesses_are_absolute_and_normalised() {
    let bench = Bench::new();
    let access = |tool: &str, input: Value| {
        let raw = RawValue::from_string(input.to_string()).unwrap();
        bench.registry.find(tool).unwrap().parse(&raw).unwrap().access(&bench.cx().workspace)
    };
    let at = bench.dir.join("f");
    assert_eq!(access("Read", json!({"file_path": "x/../f"})), [Access::ReadPath(at.clone())]);
    assert_eq!(access("Write", write("./f", "")), [Access::WritePath(at.clone())]);
    assert_eq!(access("Edit", edit("f", "a", "b")), [Access::WritePath(at)]);
}

// [MX-6]
#[tokio::test]
async fn the_other_file_that_has_the_text_is_named() {
    let mut bench = Bench::new();
    let (one, other) = (bench.file("one.py", "first = 1\n"), bench.file("other.py", "x\ntotal = compute(1)\n"));
    let call = edit(&one, "total = compute(1)", "total = 2");
    assert!(!bench.fails("Edit", call.clone()).await.contains("other.py"), "it was not seen");
    bench.ok("Read", json!({"file_path": other})).await;
    let text = bench.fails("Edit", call.clone()).await;
    assert!(text.contains(&format!("{} has it, at line 2", other.display())), "{text}");
    bench.may_read = std::sync::Arc::new(|path: &Path, _| !path.ends_with("other.py"));
    assert!(!bench.fails("Edit", call.clone()).await.contains("other.py"), "it may not be read");
    bench.may_read = std::sync::Arc::new(|_: &Path, _| true);
    let third = bench.file("third.py", "total = compute(1)\n");
    bench.ok("Read", json!({"file_path": third})).await;
    let text = bench.fails("Edit", call).await;
    assert!(!text.contains("other.py") && !text.contains("third.py"), "two files have it: {text}");
}

// [MX-12] Of names that are equally like the one that was sent, none is chosen.
#[tokio::test]
async fn equally_near_names_are_all_told() {
    let bench = Bench::new();
    for number in 1..=4 {
        bench.file(&format!("part_{number}.py"), "");
    }
    let text = bench.fails("Edit", edit(bench.dir.join("part4_.py"), "a", "b")).await;
    assert!(text.contains(&format!("Did you mean {}?", bench.dir.join("part_4.py").display())), "{text}");
    let text = bench.fails("Edit", edit(bench.dir.join("part_9.py"), "a", "b")).await;
    let named = |number: usize| text.contains(&format!("part_{number}.py"));
    assert!(named(1) && named(2) && named(3) && text.contains("Did you mean one of these?"), "{text}");
}
