//! `gimlet mcp …` from outside: declaring, showing, removing, serving.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use testkit::Sandbox;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_gimlet"))
}

fn state(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&std::fs::read(sandbox.config_dir().join(".claude.json")).unwrap()).unwrap()
}

/// A server in a shell script: answers the handshake, lists no tools, and notes that it was started.
fn fake_server(sandbox: &Sandbox) -> String {
    let path = sandbox.root().join("fake-server");
    let script = format!(
        r#"#!/bin/sh
echo started >> '{root}/started'
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) echo '{{"jsonrpc":"2.0","id":'"$id"',"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"fake","version":"1"}}}}}}' ;;
    *'"tools/list"'*) echo '{{"jsonrpc":"2.0","id":'"$id"',"result":{{"tools":[]}}}}' ;;
  esac
done
"#,
        root = sandbox.root().display()
    );
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(script.as_bytes()).unwrap();
    drop(file);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn servers_are_declared_shown_and_removed() {
    // [CLI-57] [TST-206] SC-G04
    let sandbox = sandbox();
    let server = fake_server(&sandbox);
    let added =
        sandbox.gimlet(&["mcp", "add", "-e", "TOKEN=hunter2", "-s", "user", "one", "--", &server, "-s", "x"]).run();
    let added = added.expect_clean();
    assert!(added.stdout.starts_with("Added stdio MCP server one to user config\n"), "{}", added.stdout);
    let twice = sandbox.gimlet(&["mcp", "add", "-s", "user", "one", "--", "x"]).run();
    assert_eq!((twice.code(), twice.stderr.trim()), (1, "MCP server one already exists in user config"));
    for name in ["computer-use", "a b"] {
        assert_eq!(sandbox.gimlet(&["mcp", "add", name, "--", "x"]).run().code(), 1, "{name}");
    }
    assert_eq!(sandbox.gimlet(&["mcp", "add", "-t", "ws", "w", "https://h"]).run().code(), 1);
    let json =
        json!({"type": "streamable-http", "url": "http://u:pw@127.0.0.1:9/mcp?key=${K}", "headers": {"A": "secret-h"}});
    sandbox.gimlet(&["mcp", "add-json", "two", &json.to_string()]).run();
    let stored = state(&sandbox);
    assert_eq!(stored["mcpServers"]["one"]["args"], json!(["-s", "x"]));
    let folder = sandbox.project();
    assert_eq!(stored["projects"][folder.to_str().unwrap()]["mcpServers"]["two"], json);
    let listed = sandbox.gimlet(&["mcp", "list"]).run();
    assert_eq!(listed.code(), 0, "{}", listed.stderr);
    assert!(listed.stdout.contains(&format!("one: {server} -s x - ✔ Connected")), "{}", listed.stdout);
    assert!(listed.stdout.contains("two: http://127.0.0.1:9/mcp (HTTP) - ✘ Failed to connect"), "{}", listed.stdout);
    assert!(listed.stdout.contains("not set in the environment: K"), "{}", listed.stdout);
    let got = sandbox.gimlet(&["mcp", "get", "one"]).run().expect_clean().stdout;
    assert!(got.contains("Scope: User config") && got.contains("TOKEN=(hidden)"), "{got}");
    let two = sandbox.gimlet(&["mcp", "get", "two"]).run().stdout;
    for secret in ["hunter2", "pw@", "key=", "secret-h"] {
        assert!(!format!("{}{got}{two}", listed.stdout).contains(secret), "{secret}");
    }
    let typo = sandbox.gimlet(&["mcp", "get", "twoo"]).run();
    assert_eq!((typo.code(), typo.stderr.trim()), (1, "No MCP server found with name: twoo. Did you mean two?"));
    sandbox.gimlet(&["mcp", "add", "-s", "local", "one", "--", "y"]).run().expect_clean();
    let several = sandbox.gimlet(&["mcp", "remove", "one"]).run();
    assert!(several.code() == 1 && several.stderr.contains("gimlet mcp remove one -s user"), "{}", several.stderr);
    sandbox.gimlet(&["mcp", "remove", "one", "-s", "user"]).run().expect_clean();
    sandbox.gimlet(&["mcp", "remove", "one"]).run().expect_clean();
    assert_eq!(sandbox.gimlet(&["mcp", "remove", "one"]).run().code(), 1);
}

#[test]
fn looking_at_a_repository_starts_nothing() {
    // [TST-207] SC-D05 SC-D06
    let sandbox = sandbox();
    let server = fake_server(&sandbox);
    sandbox.write(".mcp.json", json!({"mcpServers": {"theirs": {"command": server}}}).to_string());
    sandbox.write(".claude/settings.json", r#"{"enableAllProjectMcpServers": true}"#);
    for args in [&["mcp", "list"][..], &["mcp", "get", "theirs"]] {
        let out = sandbox.gimlet(args).run();
        assert!(out.stdout.contains("⏸ Pending approval"), "{}", out.stdout);
    }
    assert!(!sandbox.root().join("started").exists(), "the server ran");
    sandbox.write(".claude/settings.local.json", r#"{"disabledMcpjsonServers": ["theirs"]}"#);
    assert!(sandbox.gimlet(&["mcp", "list"]).run().stdout.contains("✘ Rejected"));
    sandbox.gimlet(&["mcp", "reset-project-choices"]).run().expect_clean();
    assert!(sandbox.gimlet(&["mcp", "list"]).run().stdout.contains("⏸ Pending approval"));
    assert!(!sandbox.root().join("started").exists(), "the server ran");
}

#[test]
fn our_tools_are_served_under_the_rules() {
    // [TST-223]
    let sandbox = sandbox();
    sandbox.write("a.txt", "alpha\n");
    sandbox.write("hidden.txt", "no\n");
    sandbox.write_config("settings.json", r#"{"permissions": {"deny": ["Read(hidden.txt)"]}, "env": {}}"#);
    let call = |id: u32, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        call(3, "Read", json!({"file_path": "a.txt"})),
        call(4, "Write", json!({"file_path": "b.txt", "content": "beta"})),
        call(5, "Bash", json!({"command": "cat b.txt; exit 3"})),
        call(6, "Read", json!({"file_path": "hidden.txt"})),
        call(7, "WebFetch", json!({})),
    ];
    let input: String = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    let done = sandbox.gimlet(&["mcp", "serve"]).stdin(input).run();
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""));
    let answers: Vec<Value> = done.lines();
    let by_id =
        |id: u32| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("no {id}: {answers:?}"));
    assert_eq!(by_id(1)["result"]["serverInfo"]["name"], "gimlet");
    let names: Vec<&str> =
        by_id(2)["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    for name in ["Bash", "Read", "Edit", "Write", "Glob", "Grep"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let read = &by_id(3)["result"];
    assert!(read["content"][0]["text"].as_str().unwrap().contains("alpha"), "{read}");
    assert_eq!(read["structuredContent"]["type"], "text");
    assert_eq!(sandbox.read("b.txt"), "beta");
    let failed = &by_id(5)["result"];
    assert!(failed["isError"] == true && failed["content"][0]["text"].as_str().unwrap().contains("beta"), "{failed}");
    assert_eq!(by_id(6)["result"]["isError"], true, "a deny rule holds");
    assert!(by_id(7)["error"]["code"].is_i64());
    assert!(sandbox.transcript_paths().is_empty());
}
