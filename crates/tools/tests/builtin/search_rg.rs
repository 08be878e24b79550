//! Compares Grep and Glob with a real `rg`, where one is installed: same files, same lines, same counts.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "test code")]

use crate::common::Bench;
use serde_json::{Value, json};
use std::process::Command;

/// Output of `rg` in the bench directory; `None` when it is not installed.
#[expect(clippy::disallowed_methods, reason = "the peer we compare with")]
fn rg(bench: &Bench, args: &[&str]) -> Option<String> {
    let output = Command::new("rg").args(["--no-config", "--hidden"]).args(args).current_dir(&bench.dir).output();
    let Ok(output) = output else {
        println!("SKIPPED: rg is not installed, nothing to compare with");
        return None;
    };
    assert!(output.status.code() < Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn tree() -> Bench {
    let bench = Bench::new();
    bench.file(".git/HEAD", "ref: refs/heads/main\nlet x\n");
    bench.file(".gitignore", "/out\n*.tmp\n!keep.tmp\n");
    bench.file(".ignore", "skipped/\n");
    bench.file(".rgignore", "also_skipped.rs\n");
    bench.file("sub/.gitignore", "local.rs\n");
    for (i, name) in [
        "a.rs",
        "b/c.rs",
        "b.rs",
        "b/d/e.py",
        "out/f.rs",
        "x.tmp",
        "keep.tmp",
        "sub/local.rs",
        "sub/other.rs",
        ".dot/g.rs",
        "skipped/h.rs",
        "also_skipped.rs",
        "Makefile",
        "w s/i.js",
        "j.JSX",
    ]
    .iter()
    .enumerate()
    {
        let lines: Vec<String> = (0..60)
            .map(|n| match (n * 7 + i) % 5 {
                0 => format!("    let value_{n} = call({n}); // Let it be"),
                1 => "fn name() {".to_owned(),
                2 => "}".to_owned(),
                3 => String::new(),
                _ => format!("text {n} ünïcode, tab\there"),
            })
            .collect();
        bench.file(name, lines.join("\n"));
    }
    bench
}

async fn entries(bench: &Bench, input: Value) -> Vec<String> {
    let (_, value) = bench.ok("Grep", input).await;
    match value["mode"].as_str().unwrap() {
        "files_with_matches" => {
            let names = value["filenames"].as_array().unwrap().iter();
            let mut names: Vec<String> = names.map(|name| name.as_str().unwrap().to_owned()).collect();
            names.sort();
            names
        }
        _ => value["content"].as_str().unwrap().lines().map(str::to_owned).collect(),
    }
}

#[tokio::test]
async fn the_same_answers() {
    // [TST-75]
    let bench = tree();
    let cases: &[(&[&str], Value)] = &[
        (&["let"], json!({"pattern": "let"})),
        (&["-i", "LET"], json!({"pattern": "LET", "-i": true})),
        (&[r"\bvalue_\d+"], json!({"pattern": r"\bvalue_\d+"})),
        (&["-g", "*.rs", "let"], json!({"pattern": "let", "glob": "*.rs"})),
        (&["-g", "!b/**", "let"], json!({"pattern": "let", "glob": "!b/**"})),
        (&["-g", "b/**/*.py", "let"], json!({"pattern": "let", "glob": "b/**/*.py"})),
        (&["-t", "rust", "let"], json!({"pattern": "let", "type": "rust"})),
        (&["-t", "js", "let"], json!({"pattern": "let", "type": "js"})),
        (&["let", "b"], json!({"pattern": "let", "path": "b"})),
        (&["^$"], json!({"pattern": "^$"})),
        (&["-A", "1", "value_35"], json!({"pattern": "value_35", "-A": 1})),
        (&["-C", "2", "value_.5"], json!({"pattern": "value_.5", "-C": 2})),
        (&["-B", "3", "-A", "1", "}$"], json!({"pattern": "}$", "-B": 3, "-A": 1})),
        (&["-o", r"call\(\d+\)"], json!({"pattern": r"call\(\d+\)", "-o": true})),
        (
            &["-U", "--multiline-dotall", r"name\(\) \{.*?value_5"],
            json!({"pattern": r"name\(\) \{.*?value_5", "multiline": true}),
        ),
        (&["ü.*\\t"], json!({"pattern": "ü.*\\t"})),
        (&["(?i)LET (it|her) be"], json!({"pattern": "(?i)LET (it|her) be"})),
    ];
    for (args, input) in cases {
        for (mode, flag) in [("content", "-n"), ("files_with_matches", "-l"), ("count", "-c")] {
            let flags = ["--sort", "path", "-g", "!.git", "-H", flag];
            let Some(theirs) = rg(&bench, &[&flags, *args].concat()) else { return };
            let mut input = input.clone();
            input["output_mode"] = mode.into();
            input["head_limit"] = 0.into();
            let mut theirs: Vec<&str> = theirs.lines().map(|line| line.strip_prefix("./").unwrap_or(line)).collect();
            if mode == "files_with_matches" {
                theirs.sort_unstable();
            }
            assert_eq!(entries(&bench, input.clone()).await, theirs, "{input}");
        }
    }
}

#[tokio::test]
async fn the_same_files() {
    // [TST-69]
    let mut bench = tree();
    bench.facts.env = bench.facts.env.with([("CLAUDE_CODE_GLOB_NO_IGNORE", "true")]);
    for pattern in ["*.rs", "**/*.rs", "b/*.rs", "b/**", "*.{py,js}", "[ab].rs", "sub/**/*.rs", ".dot/*", "*"] {
        let Some(theirs) = rg(&bench, &["--no-ignore", "--files", "-g", pattern, "-g", "!.git"]) else { return };
        let mut theirs: Vec<&str> = theirs.lines().collect();
        theirs.sort_unstable();
        let (_, value) = bench.ok("Glob", json!({"pattern": pattern})).await;
        let mut ours: Vec<&str> = value["filenames"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
        ours.sort_unstable();
        assert_eq!(ours, theirs, "{pattern}");
    }
}
