//! `config`, `trust`, `auth` and `doctor` from outside.

#![expect(clippy::unwrap_used, reason = "a panic is the report")]

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use testkit::{ModelServer, Sandbox, ScriptedReply};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");

fn json_of(path: &std::path::Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn config_changes_the_named_file_and_explains() {
    // [CLI-99] [CLI-76]
    let sandbox = Sandbox::new(GIMLET);
    let run = |args: &[&str]| sandbox.gimlet(&[&["config"][..], args].concat()).run();
    sandbox.write_config("settings.json", "{\n  // mine\n  \"custom\": 1\n}\n");
    drop(run(&["set", "model", "opus"]).expect_clean());
    drop(run(&["set", "--project", "model", "sonnet"]).expect_clean());
    drop(run(&["add", "--local", "permissions.deny", "WebFetch", "Bash(rm *)"]).expect_clean());
    drop(run(&["set", "cleanupPeriodDays", "7"]).expect_clean());
    let user = std::fs::read_to_string(sandbox.config_dir().join("settings.json")).unwrap();
    assert!(
        user.contains("// mine") && user.contains("\"custom\": 1") && user.contains("\"model\": \"opus\""),
        "{user}"
    );
    assert_eq!(run(&["get", "model"]).expect_clean().stdout, "sonnet\n");
    assert_eq!(run(&["get", "-g", "model"]).expect_clean().stdout, "opus\n");
    let explained = run(&["explain", "model", "--json"]).expect_clean().json();
    assert_eq!(explained["value"], "sonnet");
    let verdicts: Vec<_> = explained["layers"].as_array().unwrap().iter().map(|l| l["verdict"].clone()).collect();
    assert_eq!(verdicts, ["wins", "hidden by a higher file"]);
    assert_eq!(explained["layers"][1]["line"], 4);
    drop(run(&["remove", "--local", "permissions.deny", "WebFetch"]).expect_clean());
    let local = json_of(&sandbox.project().join(".claude/settings.local.json"));
    assert_eq!(local, json!({"permissions": {"deny": ["Bash(rm *)"]}}));
    for wrong in [
        &["set", "model.x", "1"][..],
        &["set", "nope", "1"],
        &["set", "cleanupPeriodDays", "0"],
        &["set", "--project", "processWrapper", "x"],
        &["frob"],
    ] {
        assert_eq!(run(wrong).expect_code(1).stdout, "", "{wrong:?}");
    }
}

#[test]
fn trust_lists_asks_and_remembers() {
    // SC-D03 SC-D07
    let sandbox = Sandbox::new(GIMLET);
    sandbox.write(
        ".claude/settings.json",
        r#"{"env": {"ANTHROPIC_BASE_URL": "https://gw.example"}, "permissions": {"allow": ["Bash(make)"]}}"#,
    );
    let run = |args: &[&str]| sandbox.gimlet(&[&["trust"][..], args].concat()).run();
    let unasked = run(&[]).expect_code(1);
    assert!(unasked.stderr.contains("gw.example") && unasked.stderr.contains("Bash(make)"), "{}", unasked.stderr);
    assert!(run(&["--yes"]).expect_code(1).stderr.contains("--allow-host gw.example"));
    assert_eq!(run(&["--list"]).stdout, "");
    drop(run(&["--yes", "--allow-host", "gw.example"]).expect_clean());
    assert_eq!(run(&["--list"]).stdout.trim(), sandbox.project().display().to_string());
    drop(run(&["--show"]).expect_clean());
    sandbox.write(".claude/settings.json", r#"{"permissions": {"allow": ["Bash(make)", "Bash"]}}"#);
    let changed = run(&["--show"]).expect_code(1);
    assert!(changed.stdout.contains("+ Bash\n"), "{}", changed.stdout);
    drop(run(&["--revoke"]).expect_clean());
    assert!(run(&["/nonexistent"]).expect_code(1).stderr.contains("/nonexistent"));
}

#[test]
fn a_stored_key_is_used_and_forgotten() {
    // [CLI-105] [CLI-56] SC-G02
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let auth = |args: &[&str]| sandbox.gimlet(&[&["auth"][..], args].concat()).env_remove("ANTHROPIC_API_KEY");
    assert!(auth(&["login"]).stdin("two words\n").run().expect_code(1).stderr.contains("Nothing was stored"));
    let stored = auth(&["login", "--expires-in-days", "30"]).stdin("sk-stored\n").run().expect_clean();
    assert!(!stored.stdout.contains("sk-stored"));
    let file = sandbox.config_dir().join(".credentials.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let status = auth(&["status", "--json"]).run().expect_clean().json();
    assert_eq!((&status["loggedIn"], &status["authMethod"]), (&json!(true), &json!("api_key")));
    assert!(status["expiresAt"].is_u64());
    // [F-B5]
    assert_eq!(status["loginExpiresAt"], status["expiresAt"]);
    drop(sandbox.gimlet(&["-p", "hi"]).env_remove("ANTHROPIC_API_KEY").run().expect_clean());
    drop(auth(&["logout"]).run().expect_clean());
    drop(auth(&["status"]).run().expect_code(1));
}

#[test]
fn doctor_reports_problems_with_their_lines() {
    // [CLI-74]
    let sandbox = Sandbox::new(GIMLET);
    let healthy = sandbox.gimlet(&["doctor", "--json"]).run();
    assert_eq!(healthy.json()["ok"], true, "{}", healthy.stdout);
    sandbox.write_config("settings.json", "{\n \"model\": \n}");
    sandbox.write(".claude/settings.json", "{\n \"effortLevel\": \"extreme\"\n}");
    let report = sandbox.gimlet(&["doctor"]).run().expect_code(1).stdout;
    assert!(report.contains("settings.json:3: is not valid JSON"), "{report}");
    assert!(report.contains("settings.json:2: effortLevel must be one of low, medium, high, xhigh"), "{report}");
    assert!(!report.contains("test-key"), "{report}");
}

#[test]
fn a_corrupt_state_file_stops_a_script_and_is_kept() {
    // [CLI-93]
    let sandbox = Sandbox::new(GIMLET);
    sandbox.write_config(".claude.json", "{\"projects\": ");
    let run = sandbox.gimlet(&["-p", "hi"]).run().expect_code(1);
    assert!(run.stderr.contains(".claude.json cannot be parsed"), "{}", run.stderr);
    assert_eq!(std::fs::read_dir(sandbox.config_dir().join("backups")).unwrap().count(), 1);
}

// [F-C9]
#[expect(clippy::disallowed_methods, reason = "the advice is followed as a person would")]
#[test]
fn a_corrupt_state_file_names_its_good_backups_and_the_way_back() {
    let sandbox = Sandbox::new(GIMLET);
    let bare = sandbox.write_config(".claude.json", "{\"projects\": ");
    let run = sandbox.gimlet(&["-p", "hi"]).run().expect_code(1);
    assert!(run.stderr.contains("There is no good backup"), "{}", run.stderr);
    let old = sandbox.write_config("backups/.claude.json.backup.1700000000000aaa", "{\"numStartups\": 1}");
    let good = sandbox.write_config("backups/.claude.json.backup.1700000000001aaa", "{\"numStartups\": 2}");
    let torn = sandbox.write_config("backups/.claude.json.backup.1700000000002aaa", "{\"numStart");
    let run = sandbox.gimlet(&["-p", "hi"]).run().expect_code(1);
    let command = format!("cp {} {}", good.display(), bare.display());
    for told in [&run.stderr, &sandbox.gimlet(&["doctor"]).run().expect_code(1).stdout] {
        assert!(told.contains(&format!("newest first: {}, {}.", good.display(), old.display())), "{told}");
        assert!(told.contains(&command) && !told.contains(&torn.display().to_string()), "{told}");
    }
    // The advised command works unchanged.
    let shell = std::process::Command::new("sh").arg("-c").arg(&command).status().unwrap();
    assert!(shell.success());
    assert_eq!(json_of(&bare)["numStartups"], 2);
    assert!(!sandbox.gimlet(&["doctor"]).run().stdout.contains("state file"));
}

// [F-C9]
#[test]
fn errors_of_mcp_config_say_what_where_and_what_to_do() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write("broken.json", "{\n \"mcpServers\": {,}\n}");
    sandbox.write("list.json", "{\n \"mcpServers\": []\n}");
    sandbox.write("alone.json", "{\"command\": \"x\"}");
    std::fs::create_dir(sandbox.project().join("folder")).unwrap();
    let here = |name: &str| sandbox.project().join(name).display().to_string();
    for (given, said) in [
        ("none.json", vec!["MCP config file not found: ".to_owned() + &here("none.json"), "Check the path".into()]),
        (
            "broken.json",
            vec![here("broken.json:2"), "is not valid JSON".into(), "(column 17)".into(), "correct it".into()],
        ),
        (
            "{\"mcpServers\": }",
            vec!["line 1 of the JSON given to --mcp-config is not valid JSON".into(), "column".into()],
        ),
        (
            "list.json",
            vec![here("list.json:2"), "must hold an object under \"mcpServers\"".into(), "It should look like".into()],
        ),
        ("alone.json", vec![here("alone.json"), "must hold its servers under \"mcpServers\"".into()]),
        ("folder", vec![here("folder"), "is not a regular file".into(), "give --mcp-config a readable".into()]),
    ] {
        let run = sandbox.gimlet(&["-p", "hi", "--mcp-config", given]).run().expect_code(1);
        for part in &said {
            assert!(run.stderr.contains(part), "{given}: {part}: {}", run.stderr);
        }
    }
    // An invalid server is left out; the run continues.
    sandbox.write("odd.json", "{\"mcpServers\": {\n \"odd\": {\"type\": \"carrier-pigeon\"}\n}}");
    let run = sandbox.gimlet(&["-p", "hi", "--mcp-config", "odd.json"]).run().expect_code(0);
    assert!(run.stderr.contains(&(here("odd.json:2") + ": server \"odd\" is not used")), "{}", run.stderr);
    assert!(run.stderr.contains("use stdio, http, sse, ws or sdk"), "{}", run.stderr);
    let given = r#"{"mcpServers": {"odd": {"command": 3}}}"#;
    let run = sandbox.gimlet(&["-p", "hi", "--mcp-config", given]).run().expect_code(0);
    assert!(run.stderr.contains("--mcp-config: server \"odd\" is not used"), "{}", run.stderr);
}

#[test]
fn a_deny_rule_added_while_the_session_runs_applies_to_the_next_call() {
    // [CLI-77]
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "sh ./change.sh"})),
        ScriptedReply::tool("Bash", json!({"command": "echo no > made"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write("new.json", r#"{"permissions": {"deny": ["Bash(echo no*)"]}}"#);
    sandbox.write("change.sh", "cp new.json \"$HOME/.claude/settings.json\"");
    let args = ["-p", "hi", "--output-format", "json", "--permission-mode", "bypassPermissions"];
    let run = sandbox.gimlet(&args).env("IS_SANDBOX", "1").run().expect_clean();
    assert_eq!(run.json()["permission_denials"].as_array().unwrap().len(), 1, "{}", run.stdout);
    assert!(!sandbox.project().join("made").exists());
}

#[test]
fn explain_says_what_waits_what_is_ignored_and_what_was_meant() {
    let sandbox = Sandbox::new(GIMLET);
    let run = |args: &[&str]| sandbox.gimlet(&[&["config"][..], args].concat()).run();
    assert!(run(&["explain"]).expect_clean().stdout.contains("No settings file sets anything"));
    sandbox.write(".claude/settings.json", r#"{"env": {"ANTHROPIC_BASE_URL": "https://x.example", "FOO": "1"}}"#);
    sandbox.write_config("settings.json", r#"{"model": 4, "permisions": {}}"#);
    let text = run(&["explain"]).expect_clean().stdout;
    assert!(text.contains("in part: the rest waits until the folder is trusted"), "{text}");
    assert!(text.contains("ignored: not valid"), "{text}");
    assert!(run(&["get", "permisions"]).expect_code(1).stderr.contains("did you mean permissions?"));
    let report = sandbox.gimlet(&["doctor"]).env("ANTHROPIC_BASE_URL", "https://u:hunter22@gw.example").run();
    assert!(report.stdout.contains("permisions, did you mean permissions?"), "{}", report.stdout);
    assert!(report.stdout.contains("https://gw.example") && !report.stdout.contains("hunter22"), "SC-G04");
}
