//! Options, variables, files and servers that cannot be used: each is told once, with what is used instead.

use crate::common::{EXE, host, json, print};
use serde_json::json;
use testkit::{ModelServer, Sandbox, ScriptedReply};

/// Standard error of a text run that answers once.
fn told(prepare: impl FnOnce(&mut Sandbox), args: &[&str]) -> String {
    let server = ModelServer::script([ScriptedReply::text("done")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    prepare(&mut sandbox);
    let done = sandbox.gimlet(&[&["-p", "go"], args].concat()).run().expect_code(0);
    assert_eq!(done.stdout, "done\n");
    done.stderr
}

// [F-B3]
#[test]
fn variables_that_cannot_be_read_are_told_with_what_is_used() {
    for (name, value, line) in [
        ("MCP_TIMEOUT", "abc", "Warning: MCP_TIMEOUT=abc is not a whole number of at least 1; used instead: 30000\n"),
        (
            "DISABLE_AUTO_COMPACT",
            "perhaps",
            "Warning: DISABLE_AUTO_COMPACT=perhaps is not true or false (1, yes, on; 0, no, off); used instead: off\n",
        ),
        (
            "CLAUDE_CODE_EXTRA_BODY",
            "[1]",
            "Warning: CLAUDE_CODE_EXTRA_BODY is not a JSON object; used instead: nothing\n",
        ),
        (
            "CLAUDE_CODE_CERT_STORE",
            "sytem",
            "Warning: CLAUDE_CODE_CERT_STORE: sytem is unknown; the stores are system and bundled\n",
        ),
        ("MCP_TIMEOUT", "2e3", ""),
        ("DISABLE_AUTO_COMPACT", "", ""),
        ("DEBUG", "express:*", ""),
    ] {
        assert_eq!(told(|sandbox| sandbox.set(name, value), &[]), line, "{name}={value}");
    }
    let line = told(|_| {}, &["--settings", r#"{"env": {"API_TIMEOUT_MS": "soon"}}"#]);
    assert!(line.contains("API_TIMEOUT_MS=soon"), "variables of settings count too: {line}");
}

// [F-B3]
#[test]
fn certificates_that_cannot_be_used_are_told() {
    let gone = told(|sandbox| sandbox.set("NODE_EXTRA_CA_CERTS", "/no/such.pem"), &[]);
    assert!(gone.starts_with("Warning: NODE_EXTRA_CA_CERTS: /no/such.pem is not used: No such file"), "{gone}");
    let put = |text: &'static str| {
        move |sandbox: &mut Sandbox| {
            let path = sandbox.write("ca.pem", text);
            sandbox.set("NODE_EXTRA_CA_CERTS", path.as_os_str());
        }
    };
    assert!(told(put("nothing"), &[]).contains("ca.pem is not used: it holds no certificate"));
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(told(put(broken), &[]).contains("ca.pem is not used: its certificates cannot be read"));
}

// [F-B3]
#[test]
fn options_without_effect_are_told() {
    let unknown = told(|_| {}, &["--tools", "Foo,Read"]);
    assert!(unknown.starts_with("Warning: --tools: no built-in tool is named Foo; it adds nothing."), "{unknown}");
    for known in ["Read,Task,KillShell,Skill,ToolSearch", "", "default"] {
        assert_eq!(told(|_| {}, &["--tools", known]), "");
    }
    let fork = told(|_| {}, &["--fork-session"]);
    assert_eq!(fork, "Warning: --fork-session has no effect without --resume or --continue\n");
    let log = told(|_| {}, &["--debug-file", "/dev/null/log"]);
    assert!(log.starts_with("Warning: no debug log: /dev/null/log: "), "{log}");
}

// [F-C1]
#[test]
fn the_temporary_folder_that_is_named_is_made_or_replaced_aloud() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "sleep 0; cd sub", "description": "go there"})),
        ScriptedReply::text("done"),
    ]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    std::fs::create_dir(sandbox.project().join("sub")).unwrap();
    let wanted = sandbox.root().join("made/tmp");
    sandbox.set("CLAUDE_CODE_TMPDIR", wanted.as_os_str());
    drop(sandbox.gimlet(&["-p", "go", "--allowedTools", "Bash"]).run().expect_clean());
    assert!(wanted.is_dir());
    let file = |sandbox: &mut Sandbox| {
        let file = sandbox.write("file", "");
        sandbox.set("CLAUDE_CODE_TMPDIR", file.as_os_str());
    };
    let line = told(file, &[]);
    assert!(line.contains("is not used: it is not a folder. Temporary files go to /"), "{line}");
    let relative = told(|sandbox| sandbox.set("CLAUDE_CODE_TMPDIR", "some/where"), &[]);
    assert!(relative.contains("CLAUDE_CODE_TMPDIR=some/where is not used: it is not an absolute path"), "{relative}");
}

// [F-C7]
#[test]
fn servers_that_failed_are_named_where_no_list_shows_them() {
    let config = json!({"mcpServers": {"gone": {"command": "/no/such/server"}}}).to_string();
    let args = ["--mcp-config", config.as_str()];
    let line = told(|_| {}, &args);
    assert!(line.starts_with("Warning: the MCP server gone is not available: "), "{line}");
    assert!(line.ends_with("`gimlet mcp get gone` checks it.\n") && line.lines().count() == 1, "{line}");
    let server = ModelServer::script([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    assert_eq!(json(&sandbox, "go", &args).stderr, "");
    let streamed = print(&sandbox, "go", &args).run();
    assert_eq!(streamed.stderr, "");
    assert_eq!(streamed.lines()[0]["mcp_servers"][0]["status"], "failed");
}

// [F-B3]
#[test]
fn every_warning_about_settings_names_the_line() {
    let settings = "{\n \"model\": \"opus\",\n \"model\": \"sonnet\",\n \"hooks\": {\n  \"Stop\": [\n   {\"matcher\": 5},\n   \
                    {\"hooks\": [\n    {\"type\": \"command\"},\n    {\"type\": \"command\", \"command\": \"true\", \
                    \"timeout\": 99999}\n   ]}\n  ],\n  \"PreToolUse\": 7\n }\n}";
    let stderr = told(|sandbox| drop(sandbox.write_config("settings.json", settings)), &[]);
    for expected in [
        "settings.json:3: model is given twice",
        "settings.json:6: hooks.Stop[0]: matcher must be a string",
        "settings.json:8: hooks.Stop: handler 0: ",
        "settings.json:9: hooks.Stop: true: timeout is in seconds",
        "settings.json:12: hooks.PreToolUse",
    ] {
        assert!(stderr.contains(expected), "{expected}: {stderr}");
    }
    for line in stderr.lines() {
        let place = line.split("settings.json:").nth(1).unwrap_or_default();
        assert!(place.starts_with(|c: char| c.is_ascii_digit()), "no line number: {line}");
    }
}

// [F-C9]
#[test]
fn a_directory_that_cannot_be_added_is_refused() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let file = sandbox.write("file", "");
    let mut running = host(&sandbox, &[]).spawn();
    for (path, why) in
        [("/no/such", "/no/such cannot be used: No such file"), (file.to_str().unwrap(), "is not a directory")]
    {
        running.send_user(&format!("/add-dir {path}"));
        let result = running.wait_for("result");
        assert!(result["result"].as_str().unwrap().contains(why), "{result}");
    }
    running.close_stdin();
    running.finish();
}
