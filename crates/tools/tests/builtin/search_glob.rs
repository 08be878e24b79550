//! Glob through the tool contract: order, limits, ignore rules, refusals.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "test code")]

use crate::common::Bench;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tools::contract::Workspace;

fn age(path: &Path, seconds_ago: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - seconds_ago);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[tokio::test]
async fn newest_first_and_relative() {
    // [TST-68] [MX-13]
    let bench = Bench::new();
    age(&bench.file("new.rs", ""), 1);
    age(&bench.file("a/old.rs", ""), 500);
    age(&bench.file("b/middle.rs", ""), 100);
    age(&bench.file("b/same.rs", ""), 100);
    bench.file("b/other.txt", "");
    let (text, value) = bench.ok("Glob", json!({"pattern": "**/*.rs"})).await;
    assert_eq!(lines(&text), ["new.rs", "b/middle.rs", "b/same.rs", "a/old.rs"]);
    assert_eq!(value["filenames"], json!(["new.rs", "b/middle.rs", "b/same.rs", "a/old.rs"]));
    assert_eq!(value["numFiles"], 4);
    assert_eq!(value["totalMatches"], 4);
    assert_eq!(value["truncated"], false);
    assert_eq!(value["countIsComplete"], true);
    assert!(value["durationMs"].is_u64());
    assert!(value.get("timedOut").is_none());
}

#[tokio::test]
async fn at_most_one_hundred_and_the_total() {
    // [TST-68]
    let bench = Bench::new();
    for i in 0..150 {
        age(&bench.file(&format!("d{}/f{i:03}.txt", i % 7), ""), 1000 - i);
    }
    let (text, value) = bench.ok("Glob", json!({"pattern": "*.txt"})).await;
    assert_eq!(value["filenames"].as_array().unwrap().len(), 100);
    assert_eq!(value["filenames"][0], "d2/f149.txt");
    assert_eq!(value["filenames"][99], "d1/f050.txt");
    assert_eq!(value["truncated"], true);
    assert_eq!(value["totalMatches"], 150);
    assert_eq!(lines(&text).len(), 101);
    assert!(lines(&text)[100].contains("100 of 150"), "{text}");
}

#[tokio::test]
async fn patterns() {
    let bench = Bench::new();
    for name in
        ["top.ts", "src/a.ts", "src/b.tsx", "src/deep/c.ts", "src/deep/d.js", "x y/e.ts", ".git/f.ts", "lib/[id].ts"]
    {
        age(&bench.file(name, ""), 1);
    }
    let dir = bench.dir.display();
    let cases = [
        (json!({"pattern": "*.tsx"}), vec!["src/b.tsx"]),
        (json!({"pattern": "src/*.ts"}), vec!["src/a.ts"]),
        (json!({"pattern": "src/**/*.{ts,js}"}), vec!["src/a.ts", "src/deep/c.ts", "src/deep/d.js"]),
        (json!({"pattern": "**/[cd].*"}), vec!["src/deep/c.ts", "src/deep/d.js"]),
        (json!({"pattern": "?.ts", "path": "x y"}), vec!["x y/e.ts"]),
        (json!({"pattern": format!("{dir}/src/*.tsx")}), vec!["src/b.tsx"]),
        (json!({"pattern": "lib/\\[id\\].ts"}), vec!["lib/[id].ts"]),
        (json!({"pattern": ".git/*.ts"}), vec!["No files found"]),
        (json!({"pattern": "**/f.ts"}), vec!["No files found"]),
        (json!({"pattern": "nowhere/**"}), vec!["No files found"]),
    ];
    for (input, expected) in cases {
        let (text, _) = bench.ok("Glob", input.clone()).await;
        assert_eq!(lines(&text), expected, "{input}");
    }
}

#[tokio::test]
async fn ignored_and_hidden_files_by_switch() {
    // [TST-69]
    let found = async |vars: &[(&str, &str)]| {
        let mut bench = Bench::new();
        bench.facts.env = bench.facts.env.with(vars.iter().copied());
        bench.file(".gitignore", "ignored.log\n");
        for name in ["ignored.log", ".hidden.log", "plain.log", ".svn/x.log"] {
            bench.file(name, "");
        }
        let (text, _) = bench.ok("Glob", json!({"pattern": "*.log"})).await;
        let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
        names.sort();
        names
    };
    let note = "(1 ignored file matches; name their folder in the pattern to list them)";
    assert_eq!(found(&[]).await, [note, ".hidden.log", "plain.log"]);
    assert_eq!(found(&[("CLAUDE_CODE_GLOB_NO_IGNORE", "true")]).await, [".hidden.log", "ignored.log", "plain.log"]);
    assert_eq!(found(&[("GIMLET_COMPAT_OUTPUT", "1")]).await, [".hidden.log", "ignored.log", "plain.log"]);
    assert_eq!(found(&[("CLAUDE_CODE_GLOB_HIDDEN", "false")]).await, [note, "plain.log"]);
}

#[tokio::test]
async fn ignored_folders_are_left_out_unless_they_are_named() {
    // [MX-13]
    let bench = Bench::new();
    bench.file(".gitignore", "node_modules/\n");
    for i in 0..150 {
        age(&bench.file(&format!("node_modules/p{i}/index.ts"), ""), 10);
    }
    bench.file("src/own.ts", "");
    let (text, value) = bench.ok("Glob", json!({"pattern": "**/*.ts"})).await;
    assert_eq!(lines(&text)[0], "src/own.ts");
    assert_eq!(value["totalMatches"], 1);
    assert!(text.contains("150 ignored files match; name their folder"), "{text}");
    let (text, value) = bench.ok("Glob", json!({"pattern": "node_modules/**/*.ts"})).await;
    assert_eq!(value["totalMatches"], 150, "{text}");
}

#[tokio::test]
async fn the_order_of_the_reference_can_be_had() {
    // [MX-13]
    let mut bench = Bench::new();
    bench.facts.env = bench.facts.env.with([("GIMLET_COMPAT_OUTPUT", "1")]);
    age(&bench.file("new.rs", ""), 1);
    age(&bench.file("old.rs", ""), 500);
    let (text, _) = bench.ok("Glob", json!({"pattern": "*.rs"})).await;
    assert_eq!(lines(&text), ["old.rs", "new.rs"]);
}

#[tokio::test]
async fn nul_and_bad_patterns_are_errors() {
    // [TST-70]
    let bench = Bench::new();
    let refused = bench.try_call("Glob", json!({"pattern": "a\u{0}b"})).await.unwrap_err();
    assert!(refused.0.contains("Glob") && refused.0.contains("pattern") && refused.0.contains("NUL"), "{refused}");
    assert!(bench.try_call("Glob", json!({"pattern": "*", "path": "a\u{0}"})).await.is_err());
    assert!(bench.try_call("Glob", json!({"path": "."})).await.is_err());
    let text = bench.fails("Glob", json!({"pattern": "a{b"})).await;
    assert!(text.contains("Invalid glob"), "{text}");
}

#[tokio::test]
async fn missing_directory_names_the_cwd() {
    let bench = Bench::new();
    bench.file("f.txt", "");
    let text = bench.fails("Glob", json!({"pattern": "*", "path": "nope"})).await;
    assert!(text.contains("nope") && text.contains(&*bench.dir.to_string_lossy()), "{text}");
    assert!(text.starts_with("<tool_use_error>"), "{text}");
    let text = bench.fails("Glob", json!({"pattern": "*", "path": "f.txt"})).await;
    assert!(text.contains("not a directory"), "{text}");
}

#[tokio::test]
async fn denied_files_are_left_out() {
    // [TST-76]
    let mut bench = Bench::new();
    bench.file("secret/key.pem", "");
    bench.file("open/key.pem", "");
    bench.may_read = Arc::new(|path, _| !path.components().any(|c| c.as_os_str() == "secret"));
    let (text, value) = bench.ok("Glob", json!({"pattern": "**/*.pem"})).await;
    assert_eq!(text, "open/key.pem");
    assert_eq!(value["totalMatches"], 1);
}

#[tokio::test]
async fn slow_trees_end_with_what_was_found() {
    // [TST-77]
    let mut bench = Bench::new();
    for i in 0..1000 {
        bench.file(&format!("f{i}"), "");
    }
    bench.facts.env = bench.facts.env.with([("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS", "0.02")]);
    // Simulates a slow file system: the walk takes far longer than the limit.
    bench.may_read = Arc::new(|_, _| {
        testkit::let_pass(Duration::from_millis(1));
        true
    });
    let (text, value) = bench.ok("Glob", json!({"pattern": "*"})).await;
    assert_eq!(value["timedOut"], true);
    assert_eq!(value["countIsComplete"], false);
    assert!(value["totalMatches"].as_u64().unwrap() < 1000);
    assert!(text.contains("incomplete"), "{text}");
}

#[tokio::test]
async fn cancelled_before_it_ended() {
    let bench = Bench::new();
    bench.file("a", "");
    bench.cancel.cancel();
    assert!(bench.fails("Glob", json!({"pattern": "*"})).await.contains("interrupted"));
}

#[test]
fn access_is_where_the_pattern_looks() {
    let at = Workspace { cwd: "/w".into(), project: "/w".into(), additional: Vec::new(), home: Some("/h".into()) };
    let access = |input: serde_json::Value| {
        let raw = serde_json::value::RawValue::from_string(input.to_string()).unwrap();
        let registry = tools::ToolRegistry::new(|_| true);
        let call = registry.find("Glob").unwrap().parse(&raw).unwrap();
        format!("{:?}", call.access(&at))
    };
    assert_eq!(access(json!({"pattern": "*.rs"})), r#"[ReadPath("/w")]"#);
    assert_eq!(access(json!({"pattern": "*.rs", "path": "a/../b"})), r#"[ReadPath("/w/b")]"#);
    assert_eq!(access(json!({"pattern": "/etc/**"})), r#"[ReadPath("/etc")]"#);
    assert_eq!(access(json!({"pattern": "../../etc/**"})), r#"[ReadPath("/etc")]"#);
    assert_eq!(access(json!({"pattern": "~/.ssh/*"})), r#"[ReadPath("/h/.ssh")]"#);
    assert_eq!(access(json!({"pattern": "a/*/../../../etc/*"})), r#"[ReadPath("/w/a")]"#);
}
