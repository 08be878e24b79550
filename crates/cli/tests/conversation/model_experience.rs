//! What a model reads and how its calls are understood, through the real binary.

use crate::common::{EXE, print, stream};
use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedReply};

/// A project with a tab-indented file, a hook that notes what it sees, and a model that makes `calls` one by one.
fn run(calls: &[(&str, Value)], settings: &Value) -> (Sandbox, ModelServer) {
    let mut script: Vec<ScriptedReply> =
        calls.iter().map(|(name, input)| ScriptedReply::tool(name, input.clone())).collect();
    script.push(ScriptedReply::text("done"));
    let server = ModelServer::script(script);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("main.go", "package main\n\nfunc total() int {\n\tsum := add(1, 2)\n\treturn sum\n}\n");
    let note = json!([{"matcher": "", "hooks": [{"type": "command", "command": "cat >> seen.jsonl"}]}]);
    let mut all = json!({"hooks": {"PreToolUse": note}});
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    sandbox.write_config("settings.json", all.to_string());
    stream(&sandbox, "go", &["--permission-mode", "acceptEdits", "--allowedTools", "Read", "Bash(echo:*)"]);
    (sandbox, server)
}

fn seen(sandbox: &Sandbox) -> Vec<Value> {
    let text = std::fs::read_to_string(sandbox.project().join("seen.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn result(server: &ModelServer, request: usize) -> String {
    server.request(request).tool_results().last().unwrap()["content"].as_str().unwrap().to_owned()
}

fn main_go(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.project().join("main.go")).unwrap()
}

fn spaces_edit() -> (&'static str, Value) {
    let old = "    sum := add(1, 2)\n    return sum";
    ("Edit", json!({"file_path": "main.go", "old_string": old, "new_string": old.replace("add(1, 2)", "add(1, 3)")}))
}

// [MX-2] [MX-3] [MX-8] What hooks see is what is done; the transcript has what the model sent.
#[test]
fn an_edit_with_other_indentation_is_made_and_shown() {
    let edit = spaces_edit();
    let (sandbox, server) = run(&[("Read", json!({"file_path": "main.go"})), edit.clone()], &json!({}));
    assert!(main_go(&sandbox).contains("\tsum := add(1, 3)\n\treturn sum\n"), "{}", main_go(&sandbox));
    let shown = result(&server, 2);
    assert!(
        shown.contains("Matched lines 4–5 by indentation (file: tabs). Now:\n4\t\tsum := add(1, 3)\n5\t\treturn sum"),
        "{shown}"
    );
    let hooked = &seen(&sandbox)[1]["tool_input"];
    assert_eq!(hooked["old_string"], "\tsum := add(1, 2)\n\treturn sum");
    assert_eq!(hooked["new_string"], "\tsum := add(1, 3)\n\treturn sum");
    let lines = sandbox.transcript();
    let sent = lines.iter().flat_map(|line| line["message"]["content"].as_array().cloned().unwrap_or_default());
    let sent: Vec<Value> = sent.filter(|block| block["name"] == "Edit").collect();
    assert_eq!(sent[0]["input"], edit.1);
    let told = lines.iter().find(|line| line["toolUseResult"]["oldString"].is_string()).unwrap();
    assert_eq!(told["toolUseResult"]["oldString"], "\tsum := add(1, 2)\n\treturn sum");
}

// [MX-2]
#[test]
fn exact_matching_can_be_demanded() {
    let calls = [("Read", json!({"file_path": "main.go"})), spaces_edit()];
    let (sandbox, server) = run(&calls, &json!({"editMatching": "exact"}));
    assert!(main_go(&sandbox).contains("add(1, 2)"));
    let shown = result(&server, 2);
    assert!(shown.contains("line 4: the file has 1 tab, you sent 4 spaces"), "{shown}");
}

// [MX-4] [MX-5] [MX-6]
#[test]
fn errors_of_edits_hold_what_the_next_call_needs() {
    let edit = |old: &str, new: &str| ("Edit", json!({"file_path": "main.go", "old_string": old, "new_string": new}));
    let calls = [
        ("Read", json!({"file_path": "main.go"})),
        edit("\tsum := add(1, 5)\n\treturn sum", "x"),
        edit("sum", "total"),
        edit("\tsum := sub(1, 2)\n", "\tsum := add(1, 2)\n"),
    ];
    let (_sandbox, server) = run(&calls, &json!({}));
    let near = result(&server, 2);
    assert!(
        near.contains("4\t\tsum := add(1, 2)") && near.contains("the file has \"2\" where you sent \"5\""),
        "{near}"
    );
    let several = result(&server, 3);
    assert!(
        several.contains("occurs 2 times") && several.contains("line 4") && several.contains("line 5"),
        "{several}"
    );
    assert!(result(&server, 4).contains("already holds `new_string` at line 4"), "{}", result(&server, 4));
}

// [MX-21] [MX-22] [MX-23]
#[test]
fn calls_that_nearly_fit_are_run_and_said() {
    let calls = [
        ("read_file", json!({"path": "main.go", "view_range": [1, 2]})),
        ("shell", json!({"command": ["echo", "it's here"]})),
        ("Reed", json!({"file_path": "main.go"})),
        ("Read", json!({"lines": 3})),
    ];
    let (sandbox, server) = run(&calls, &json!({}));
    let read = result(&server, 1);
    assert!(read.starts_with("1\tpackage main\n"), "{read}");
    assert!(
        read.contains(
            "(read_file was taken for Read; `path` was taken for `file_path`; ignored `view_range`; Read has "
        ),
        "{read}"
    );
    assert!(result(&server, 2).starts_with("it's here\n(shell was taken for Bash"), "{}", result(&server, 2));
    assert!(
        result(&server, 3).contains("No such tool available: Reed. The nearest is Read, which requires file_path.")
    );
    assert!(result(&server, 4).contains("`file_path` is missing. Sent: lines. Required: file_path. Example: {"));
    let hooked = seen(&sandbox);
    assert_eq!(hooked[0]["tool_name"], "Read");
    assert!(hooked[0]["tool_input"]["file_path"].as_str().unwrap().ends_with("main.go"), "{}", hooked[0]);
    assert_eq!(hooked[1]["tool_input"]["command"], r"echo 'it'\''s here'");
}

// [MX-21] A name that is taken for a tool is held by the rules of that tool.
#[test]
fn rules_hold_for_a_tool_under_another_name() {
    let script = [ScriptedReply::tool("shell", json!({"cmd": "touch made"})), ScriptedReply::text("done")];
    let server = ModelServer::script(script);
    let sandbox = Sandbox::with_server(EXE, &server);
    print(&sandbox, "go", &["--disallowedTools", "Bash(touch:*)", "--allowedTools", "Bash"]).run();
    assert!(!sandbox.project().join("made").exists());
}
