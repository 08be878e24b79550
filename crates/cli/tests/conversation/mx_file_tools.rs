//! What a model reads from Read, Edit, Write and Grep, through the real binary.

use crate::common::{EXE, git, stream};
use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

/// A model that makes `calls` one by one in a project that `prepare` fills; returns what it was told about each.
fn results(prepare: &dyn Fn(&Sandbox), calls: &[(&str, Value)]) -> Vec<String> {
    let mut script: Vec<ScriptedReply> =
        calls.iter().map(|(name, input)| ScriptedReply::tool(name, input.clone())).collect();
    script.push(ScriptedReply::text("done"));
    let server = ModelServer::script(script);
    let sandbox = Sandbox::with_server(EXE, &server);
    prepare(&sandbox);
    stream(&sandbox, "go", &["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]);
    let result = |request: usize| server.request(request).tool_results().last().unwrap()["content"].clone();
    (1..=calls.len()).map(|request| result(request).as_str().unwrap().to_owned()).collect()
}

fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({"file_path": path}))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("Edit", json!({"file_path": path, "old_string": old, "new_string": new}))
}

// [MX-10] [MX-11]
#[test]
fn files_are_shown_a_page_at_a_time() {
    let prepare = |sandbox: &Sandbox| {
        sandbox.write("long.txt", "a line\n".repeat(3_000));
        sandbox.write("wide.txt", format!("{}\nend", "x".repeat(240_015)));
        sandbox.write("large.log", "an entry of the log\n".repeat(20_000));
    };
    let shown = results(&prepare, &[read("long.txt"), read("wide.txt"), read("large.log")]);
    assert!(shown[0].contains("\n2000\ta line\n\n<system-reminder>PARTIAL view: lines 1–2000 of 3000 lines"));
    assert!(shown[0].contains("`offset` 2001") && shown[0].len() < 60_000);
    assert!(shown[1].contains("x… [line of 240,015 characters]\n2\tend\n\n[The file does not end with a newline.]"));
    assert!(shown[1].contains("cut -c 2001-4000"), "{}", shown[1]);
    assert!(
        shown[2].contains(
            "\n200\tan entry of the log\n\n<system-reminder>PARTIAL view: lines 1–200 of 20000 lines (391 KB)"
        )
    );
}

// [MX-12]
#[test]
fn what_is_not_a_file_is_answered_with_where_it_is() {
    let prepare = |sandbox: &Sandbox| {
        sandbox.write("docs/Overview.md", "# Overview\n\nThe parts and how they meet, at some length.\n");
        sandbox.write("src/deep/config.py", "x = 1\n");
        sandbox.write("src/deep/secret.py", "x = 1\n");
        sandbox.write("main.py", "x = 1\n");
        sandbox
            .write_config("settings.json", json!({"permissions": {"deny": ["Read(src/deep/secret.py)"]}}).to_string());
        // Whatever the repository names is not started.
        let trap = sandbox.write("trap.sh", "#!/bin/sh\ntouch ran\n");
        for line in [
            "init -q",
            "add docs src main.py",
            "commit -q -m one",
            "mv docs/Overview.md src/Guide.md",
            "commit -q -m two",
        ] {
            git(sandbox, line);
        }
        for key in ["core.fsmonitor", "gpg.program", "core.pager"] {
            git(sandbox, &format!("config {key} {}", trap.display()));
        }
        git(sandbox, "config log.showSignature true");
    };
    let ran = ("Bash", json!({"command": "ls ran"}));
    let shown = results(
        &prepare,
        &[
            read("src"),
            read("config.py"),
            read("docs/Overview.md"),
            read("other/secret.py"),
            edit("lib/main.py", "a", "b"),
            ran,
        ],
    );
    assert!(shown[0].ends_with("is a directory. In it:\nGuide.md\ndeep/"), "{}", shown[0]);
    assert!(shown[1].ends_with("project/src/deep/config.py?") && shown[1].contains("Did you mean"), "{}", shown[1]);
    assert!(shown[2].contains("It was moved in commit ") && shown[2].contains("project/src/Guide.md."), "{}", shown[2]);
    assert!(!shown[3].contains("deep/secret.py"), "{}", shown[3]);
    assert!(shown[4].contains("Did you mean") && shown[4].contains("project/main.py?"), "{}", shown[4]);
    assert!(shown[5].contains("No such file"), "nothing of the repository was started: {}", shown[5]);
}

// [MX-7] Two calls of one message: the first changes the file behind the back of the second.
#[test]
fn a_stale_edit_is_answered_with_the_difference() {
    let stale = edit("a.txt", "two", "2");
    let both = ScriptedReply::message(vec![
        ScriptedBlock::tool("Bash", &json!({"command": "printf 'one\\nzwei\\nthree\\n' > a.txt"})),
        ScriptedBlock::tool(stale.0, &stale.1),
    ]);
    let next = edit("a.txt", "zwei", "2");
    let script = [
        ScriptedReply::tool("Read", json!({"file_path": "a.txt"})),
        both,
        ScriptedReply::tool(next.0, next.1),
        ScriptedReply::text("done"),
    ];
    let server = ModelServer::script(script);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("a.txt", "one\ntwo\nthree\n");
    stream(&sandbox, "go", &["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]);
    let told = |request: usize| server.request(request).tool_results().last().unwrap()["content"].to_string();
    assert!(
        told(2).contains(r"so it counts as read again:\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three"),
        "{}",
        told(2)
    );
    assert!(!told(3).contains("since you read"), "{}", told(3));
    assert_eq!(sandbox.read("a.txt"), "one\n2\nthree\n");
}

// [MX-9]
#[test]
fn a_data_file_that_was_broken_is_said() {
    let prepare = |sandbox: &Sandbox| {
        sandbox.write("package.json", "{\n  \"name\": \"a\"\n}\n");
        sandbox.write("values.yaml", "a: 1\n");
    };
    let calls = [
        read("package.json"),
        edit("package.json", "\"a\"\n", "\"a\",\n"),
        ("Write", json!({"file_path": "values.yaml", "content": "a: [1\n"})),
    ];
    let told = results(&prepare, &calls);
    assert!(
        told[1].contains("has been updated.\nNote: the file no longer parses: line 3: trailing comma"),
        "{}",
        told[1]
    );
    assert!(told[2].contains("(1 line → 1).\nNote: the file no longer parses: line "), "{}", told[2]);
}

// [MX-14] [MX-15]
#[test]
fn searches_say_how_they_were_understood_and_what_was_searched() {
    let prepare = |sandbox: &Sandbox| {
        sandbox.write("only.ts", "function call(x: interface{}) {}\n");
        sandbox.write("wide.txt", format!("{}needle{}\n", "y".repeat(3_000), "z".repeat(3_000)).repeat(100));
        sandbox.write(".gitignore", "build/\n");
        sandbox.write("build/out.ts", "marker\n");
    };
    let grep = |pattern: &str| ("Grep", json!({"pattern": pattern, "output_mode": "content"}));
    let told = results(&prepare, &[grep("call(x: interface{}"), grep("marker"), grep("CALL"), grep("needle")]);
    assert!(
        told[0].starts_with("only.ts:1:function call") && told[0].contains("searched as literal text"),
        "{}",
        told[0]
    );
    assert!(
        told[1].starts_with("No matches found\n(3 files searched; 1 file matches among ignored files"),
        "{}",
        told[1]
    );
    assert!(told[2].contains("1 file matches ignoring case"), "{}", told[2]);
    let lines = told[3].split("\n\n").next().unwrap();
    assert!(lines.len() <= 20_200 && lines.lines().all(|line| line.contains("needle")), "{}", told[3]);
    assert!(told[3].contains("of 100 lines; 19800 characters at most"), "{}", told[3]);
}
