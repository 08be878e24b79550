//! Grep through the tool contract: modes, limits, filters, order, refusals.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "test code")]

use crate::common::Bench;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

fn age(path: &Path, seconds_ago: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - seconds_ago);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

async fn text(bench: &Bench, input: Value) -> String {
    bench.ok("Grep", input).await.0
}

fn sample() -> Bench {
    let bench = Bench::new();
    age(&bench.file("src/main.rs", "fn main() {\n    let needle = 1;\n    print(needle);\n}\n"), 10);
    age(&bench.file("src/lib.rs", "// a Needle in the hay\nneedle needle\n"), 5);
    age(&bench.file("docs/a.md", "no such thing\n"), 3);
    age(&bench.file("docs/b.md", "one needle\n"), 100);
    bench
}

#[tokio::test]
async fn files_mode_is_the_default_and_newest_first() {
    // [TST-71]
    let (text, value) = sample().ok("Grep", json!({"pattern": "needle"})).await;
    assert_eq!(text, "Found 3 files\nsrc/lib.rs\nsrc/main.rs\ndocs/b.md");
    let expected = json!({
        "mode": "files_with_matches", "numFiles": 3,
        "filenames": ["src/lib.rs", "src/main.rs", "docs/b.md"], "totalFiles": 3,
    });
    assert_eq!(value, expected);
    let (text, _) = sample().ok("Grep", json!({"pattern": "one needle"})).await;
    assert_eq!(text, "Found 1 file\ndocs/b.md");
}

#[tokio::test]
async fn content_mode_in_path_order() {
    let bench = sample();
    let (text, value) = bench.ok("Grep", json!({"pattern": "needle", "output_mode": "content"})).await;
    let expected = "docs/b.md:1:one needle\nsrc/lib.rs:2:needle needle\nsrc/main.rs:2:    let needle = 1;\nsrc/main.rs:3:    print(needle);";
    assert_eq!(text, expected);
    assert_eq!(value["content"], expected);
    assert_eq!((&value["numLines"], &value["totalLines"]), (&json!(4), &json!(4)));
    assert_eq!((&value["mode"], &value["filenames"]), (&json!("content"), &json!([])));
    assert!(value.get("appliedLimit").is_none());
}

#[tokio::test]
async fn limits_and_offsets() {
    // [TST-71]
    let bench = Bench::new();
    for i in 0..300 {
        age(&bench.file(&format!("f{i:03}.txt"), "x\ny x\n"), i);
    }
    let (text, value) = bench.ok("Grep", json!({"pattern": "x"})).await;
    assert_eq!(value["filenames"].as_array().unwrap().len(), 250);
    assert_eq!(value["filenames"][249], "f249.txt");
    assert_eq!((&value["appliedLimit"], &value["totalFiles"]), (&json!(250), &json!(300)));
    assert!(text.starts_with("Found 300 files (showing 250 of 300 files; limit: 250)\nf000.txt\n"), "{text}");

    let (text, value) = bench.ok("Grep", json!({"pattern": "x", "head_limit": 0})).await;
    assert_eq!(value["filenames"].as_array().unwrap().len(), 300);
    assert!(value.get("appliedLimit").is_none());
    assert!(text.starts_with("Found 300 files\n"));

    let (_, value) = bench.ok("Grep", json!({"pattern": "x", "head_limit": "2", "offset": 298})).await;
    assert_eq!(value["filenames"], json!(["f298.txt", "f299.txt"]));
    assert_eq!(value["appliedOffset"], 298);

    let content = json!({"pattern": "x", "output_mode": "content", "head_limit": 3, "offset": 3});
    let (text, value) = bench.ok("Grep", content).await;
    assert_eq!(value["content"], "f001.txt:2:y x\nf002.txt:1:x\nf002.txt:2:y x");
    assert_eq!((&value["numLines"], &value["totalLines"]), (&json!(3), &json!(600)));
    assert!(text.ends_with("(showing 3 of 600 lines; limit: 3, offset: 3)"), "{text}");
}

#[tokio::test]
async fn the_shown_part_does_not_depend_on_threads() {
    let bench = Bench::new();
    for i in 0..400 {
        bench.file(&format!("d{:02}/f{i}.txt", i % 20), "x\n".repeat(i % 9 + 1));
    }
    let input = json!({"pattern": "x", "output_mode": "content", "head_limit": 40, "offset": 17, "-A": 1});
    let first = text(&bench, input.clone()).await;
    for _ in 0..10 {
        assert_eq!(text(&bench, input.clone()).await, first);
    }
    let all = text(&bench, json!({"pattern": "x", "output_mode": "content", "head_limit": 0, "-A": 1})).await;
    let page: Vec<&str> = all.lines().skip(17).take(40).collect();
    assert_eq!(first.lines().take(40).collect::<Vec<_>>(), page);
}

#[tokio::test]
async fn count_totals_cover_everything() {
    // [TST-74]
    let bench = sample();
    let (text, value) = bench.ok("Grep", json!({"pattern": "needle", "output_mode": "count", "head_limit": 1})).await;
    assert_eq!(text, "docs/b.md:1\n\nFound 4 matches in 3 files (showing 1 of 3 files; limit: 1)");
    assert_eq!((&value["numMatches"], &value["numFiles"]), (&json!(4), &json!(3)));
    for mode in ["files_with_matches", "content", "count"] {
        let past = json!({"pattern": "needle", "output_mode": mode, "offset": 50});
        assert_eq!(self::text(&bench, past).await, "No entries at this offset", "{mode}");
    }
}

#[tokio::test]
async fn nothing_found_says_what_was_searched() {
    // [MX-14]
    let bench = sample();
    assert_eq!(text(&bench, json!({"pattern": "absent"})).await, "No files found\n(4 files searched)");
    for mode in ["content", "count"] {
        let found = text(&bench, json!({"pattern": "absent", "output_mode": mode})).await;
        assert_eq!(found, "No matches found\n(4 files searched)");
    }
    bench.file(".gitignore", "vendor/\n");
    bench.file("vendor/a.rs", "HAY\n");
    bench.file("vendor/b.rs", "HAY\n");
    let found = text(&bench, json!({"pattern": "HAY", "output_mode": "content"})).await;
    let expected = "(5 files searched; 1 file matches ignoring case (`-i`); 2 files match among ignored files (name their \
                    folder in `path`))";
    assert_eq!(found, format!("No matches found\n{expected}"));
    let found = text(&bench, json!({"pattern": "HAY", "-i": true, "path": "docs"})).await;
    assert_eq!(found, "No files found\n(2 files searched)");
    let found = text(&bench, json!({"pattern": "needle", "glob": "*.tsx"})).await;
    assert_eq!(found, "No files found\n(0 files searched: none fits `glob` and `type`)");
}

#[tokio::test]
async fn a_pattern_that_does_not_parse_is_literal_text() {
    // [MX-14]
    let bench = Bench::new();
    bench.file("a.go", "func f(x interface{}) {}\ncall(x)\n");
    for (pattern, problem) in [("interface{}", "repetition"), ("call(", "unclosed group"), ("f(x i", "unclosed group")]
    {
        let found = text(&bench, json!({"pattern": pattern, "output_mode": "content"})).await;
        let (line, note) = found.split_once('\n').unwrap();
        assert!(line.starts_with("a.go:") && line.contains(pattern), "{found}");
        assert!(note.contains(problem) && note.ends_with("it was searched as literal text.)"), "{found}");
    }
    let found = text(&bench, json!({"pattern": "gone(", "-i": true})).await;
    assert!(found.starts_with("No files found\n(The pattern is no regular expression"), "{found}");
    for pattern in ["f(?=x)", "(?<!a)f", r"(f)\1"] {
        let refused = bench.fails("Grep", json!({"pattern": pattern})).await;
        assert!(refused.contains("not supported") && refused.contains("rg -P"), "{refused}");
    }
}

#[tokio::test]
async fn the_model_gets_20000_characters_on_line_borders() {
    // [MX-15]
    let bench = Bench::new();
    bench.file("wide.txt", format!("needle {}\n", "é".repeat(390)).repeat(240));
    let (found, value) = bench.ok("Grep", json!({"pattern": "needle", "output_mode": "content"})).await;
    let (lines, note) = found.split_once("\n\n").unwrap();
    assert!((19_500..=20_000).contains(&lines.chars().count()), "{}", lines.chars().count());
    let shown = lines.lines().count();
    assert!(lines.lines().all(|line| line.ends_with('é')));
    assert!(note.starts_with(&format!("(showing {shown} of 240 lines; 19800 characters at most. Narrow")), "{note}");
    assert!(note.ends_with(&format!("go on with `offset` {shown}.)")), "{note}");
    assert_eq!(value["numLines"], 240, "what programs read stays");
    assert_eq!(value["content"].as_str().unwrap().lines().count(), 240);
    let next = json!({"pattern": "needle", "output_mode": "content", "offset": shown, "head_limit": 1});
    assert!(text(&bench, next).await.starts_with(&format!("wide.txt:{}:needle", shown + 1)));
    for n in 0..300 {
        bench.file(&format!("{}/f{n:03}", "long".repeat(25)), "pin\n");
    }
    for mode in ["files_with_matches", "count"] {
        let found = text(&bench, json!({"pattern": "pin", "output_mode": mode, "head_limit": 0})).await;
        assert!(found.chars().count() < 20_300 && found.contains("of 300 files; 19800 characters"), "{found}");
    }
}

#[tokio::test]
async fn ignore_files_and_named_files() {
    // [TST-72]
    let bench = Bench::new();
    bench.file(".gitignore", "build/\n*.log\n");
    bench.file("build/out.txt", "needle");
    bench.file("a.log", "needle");
    bench.file(".hidden/b.txt", "needle");
    bench.file(".git/config", "needle");
    bench.file(".jj/x", "needle");
    bench.file("c.txt", "needle");
    let (_, value) = bench.ok("Grep", json!({"pattern": "needle"})).await;
    let mut names: Vec<&str> = value["filenames"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, [".hidden/b.txt", "c.txt"]);
    for named in ["a.log", "build/out.txt", ".git/config"] {
        let found = text(&bench, json!({"pattern": "needle", "path": named, "output_mode": "content"})).await;
        assert_eq!(found, format!("{named}:1:needle"));
    }
    assert_eq!(text(&bench, json!({"pattern": "needle", "path": "build"})).await, "Found 1 file\nbuild/out.txt");
}

#[tokio::test]
async fn rejected_patterns_globs_and_types() {
    // [TST-73]
    let bench = sample();
    let bad = bench.fails("Grep", json!({"pattern": "a\nb"})).await;
    assert!(bad.contains("multiline"), "{bad}");
    let bad = bench.fails("Grep", json!({"pattern": "a", "glob": "x{y"})).await;
    assert!(bad.contains("Invalid glob") && bad.contains("x{y"), "{bad}");
    let bad = bench.fails("Grep", json!({"pattern": "a", "type": "klingon"})).await;
    assert!(bad.contains("unrecognized file type: klingon"), "{bad}");
    let bad = bench.fails("Grep", json!({"pattern": "a", "path": "gone/x"})).await;
    assert!(bad.contains("gone/x") && bad.contains(&*bench.dir.to_string_lossy()), "{bad}");
    let bad = bench.try_call("Grep", json!({"pattern": "a", "output_mode": "lines"})).await.unwrap_err();
    assert!(bad.0.contains("output_mode"), "{bad}");
}

#[tokio::test]
async fn options_behave_as_in_ripgrep() {
    // [TST-75]
    let bench = Bench::new();
    bench.file("a.rs", "one\ntwo\nTHREE three\nfour\nfive\nsix\nseven three\n");
    bench.file("b.py", "three\n");
    let content = async |extra: Value| {
        let mut input = json!({"pattern": "three", "output_mode": "content", "glob": "*.rs"});
        input.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        text(&bench, input).await
    };
    assert_eq!(content(json!({})).await, "a.rs:3:THREE three\na.rs:7:seven three");
    assert_eq!(content(json!({"-n": false})).await, "a.rs:THREE three\na.rs:seven three");
    assert_eq!(
        content(json!({"-A": 1, "head_limit": 3})).await.lines().next_back().unwrap(),
        "(showing 3 of 4 lines; limit: 3)"
    );
    assert_eq!(content(json!({"-A": "1"})).await, "a.rs:3:THREE three\na.rs-4-four\n--\na.rs:7:seven three");
    assert_eq!(content(json!({"-B": 1})).await, "a.rs-2-two\na.rs:3:THREE three\n--\na.rs-6-six\na.rs:7:seven three");
    let around = "a.rs-2-two\na.rs:3:THREE three\na.rs-4-four\n--\na.rs-6-six\na.rs:7:seven three";
    assert_eq!(content(json!({"-C": 1})).await, around);
    assert_eq!(content(json!({"context": 1})).await, around);
    assert_eq!(content(json!({"-o": true, "-i": "true"})).await, "a.rs:3:THREE\na.rs:3:three\na.rs:7:three");
    assert_eq!(content(json!({"glob": "*.{py,js}"})).await, "b.py:1:three");
    assert_eq!(content(json!({"glob": "*.py *.rs", "pattern": "^three"})).await, "b.py:1:three");
    assert_eq!(content(json!({"glob": "!*.py"})).await, "a.rs:3:THREE three\na.rs:7:seven three");
    assert_eq!(content(json!({"glob": null, "type": "py"})).await, "b.py:1:three");
    let spanning = content(json!({"pattern": "two.*four", "multiline": true})).await;
    assert_eq!(spanning, "a.rs:2:two\na.rs:3:THREE three\na.rs:4:four");
    assert_eq!(content(json!({"pattern": "two.*four"})).await, "No matches found\n(1 file searched)");
    let parts = content(json!({"pattern": "o\nTHREE", "multiline": true, "-o": true})).await;
    assert_eq!(parts, "a.rs:2:o\na.rs:3:THREE");
    let counted = json!({"pattern": "t\\w+", "output_mode": "count", "-i": true, "glob": "*.rs"});
    assert_eq!(text(&bench, counted).await, "a.rs:3\n\nFound 3 matches in 1 file");
}

#[tokio::test]
async fn separators_between_files_with_context() {
    let bench = Bench::new();
    bench.file("a", "x\n");
    bench.file("b", "x\ny\n");
    let (text, value) = bench.ok("Grep", json!({"pattern": "x", "output_mode": "content", "-C": 1})).await;
    assert_eq!(text, "a:1:x\n--\nb:1:x\nb-2-y");
    assert_eq!(value["totalLines"], 4);
}

#[tokio::test]
async fn long_lines_binary_files_and_encodings() {
    // [MX-15] Long lines are cut around the match.
    let bench = Bench::new();
    bench.file("long.js", format!("{}needle{}\n", "a".repeat(5000), "b".repeat(5000)));
    bench.file("data.bin", b"needle\n\0\0needle\n");
    bench.file("crlf.txt", "needle\r\n");
    bench.file("latin.txt", b"needle \xe9\n");
    let utf16: Vec<u8> = "\u{feff}needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bench.file("wide.txt", utf16);
    let found = text(&bench, json!({"pattern": "needle", "output_mode": "content"})).await;
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines[0], "crlf.txt:1:needle");
    assert_eq!(lines[1], "latin.txt:1:needle \u{fffd}");
    assert!(lines[2].contains("needle") && lines[2].chars().count() < 600, "{found}");
    assert_eq!(lines[3], "wide.txt:1:needle");
    let named = text(&bench, json!({"pattern": "needle", "path": "data.bin", "output_mode": "content"})).await;
    assert!(named.starts_with("data.bin: binary file matches") && !named.contains('\0'), "{named}");
    let (_, value) = bench.ok("Grep", json!({"pattern": "needle", "output_mode": "count"})).await;
    assert_eq!(value["numFiles"], 4, "binary files do not count");
}

/// What could not be searched is named, whatever else was found.
#[tokio::test]
async fn files_that_cannot_be_searched_are_named() {
    let bench = sample();
    let long = [b"needle first\n".as_slice(), &vec![b'x'; (64 << 20) + 1]].concat();
    bench.file("z/long.json", long);
    let line = "(1 file could not be searched to the end; z/long.json: a line is longer than 64 MiB)";
    let whole =
        "(1 file could not be searched to the end; z/long.json: it has more than 64 MiB, the most with `multiline`)";
    for mode in ["files_with_matches", "content", "count"] {
        let absent = text(&bench, json!({"pattern": "absent", "output_mode": mode})).await;
        assert!(absent.ends_with(&format!("(4 files searched)\n{line}")), "{mode}: {absent}");
        let spanning = text(&bench, json!({"pattern": "one\nabsent", "output_mode": mode, "multiline": true})).await;
        assert!(spanning.ends_with(whole), "{mode}: {spanning}");
    }
    let found = text(&bench, json!({"pattern": "needle", "output_mode": "content"})).await;
    assert!(found.contains("docs/b.md:1:one needle\n") && found.contains("z/long.json:1:needle first"), "{found}");
    assert!(found.ends_with(line), "{found}");
    let named = json!({"pattern": "absent", "path": "z/long.json"});
    assert!(bench.fails("Grep", named).await.contains("long.json: a line is longer than 64 MiB"));
}

#[tokio::test]
async fn denied_files_are_never_searched() {
    // [TST-76]
    let mut bench = sample();
    bench.may_read = Arc::new(|path, _| !path.ends_with("src/lib.rs"));
    for mode in ["files_with_matches", "content", "count"] {
        let found = text(&bench, json!({"pattern": "(?i)needle", "output_mode": mode})).await;
        assert!(found.contains("src/main.rs") && !found.contains("lib.rs"), "{found}");
    }
    assert_eq!(
        text(&bench, json!({"pattern": "needle", "path": "src/lib.rs"})).await,
        "No files found\n(0 files searched)"
    );
}

#[tokio::test]
async fn slow_trees_end_with_what_was_found() {
    // [TST-77]
    let mut bench = Bench::new();
    for i in 0..1000 {
        bench.file(&format!("f{i}"), "needle");
    }
    bench.facts.env = bench.facts.env.with([("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS", "0.02")]);
    // Simulates a slow file system: the walk takes far longer than the limit.
    bench.may_read = Arc::new(|_, _| {
        testkit::let_pass(Duration::from_millis(1));
        true
    });
    let (text, value) = bench.ok("Grep", json!({"pattern": "needle"})).await;
    assert_eq!(value["timedOut"], true);
    assert!(value["totalFiles"].as_u64().unwrap() < 1000);
    assert!(text.contains("incomplete"), "{text}");
}

#[tokio::test]
async fn cancelled_searches_say_so() {
    let bench = sample();
    bench.cancel.cancel();
    assert!(bench.fails("Grep", json!({"pattern": "needle"})).await.contains("interrupted"));
}

#[tokio::test]
async fn outside_paths_are_absolute() {
    let bench = sample();
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("x.txt");
    std::fs::write(&file, "needle\n").unwrap();
    let found = text(&bench, json!({"pattern": "needle", "path": outside.path(), "output_mode": "content"})).await;
    assert_eq!(found, format!("{}:1:needle", file.display()));
}
