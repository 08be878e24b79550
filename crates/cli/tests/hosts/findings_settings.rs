//! Settings that are wrong, widen rights by mistake, or have no effect here: each is reported and grants nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use testkit::{ModelServer, Sandbox, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

/// Runs a model that calls Bash once; returns whether the call ran, and standard error.
fn bash_with(settings: &str) -> (bool, String) {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch made", "description": "make a file"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", settings);
    let done = sandbox.gimlet(&["-p", "go"]).run().expect_code(0);
    (sandbox.project().join("made").exists(), done.stderr)
}

// [F-B3]
#[test]
fn malformed_allow_rules_grant_nothing_and_are_named_with_their_line() {
    for (allow, said) in [
        (r#"["Bash()"]"#, "settings.json:3: the permission rule Bash(): its parentheses are empty"),
        (r#"["Bash( )"]"#, "settings.json:3: the permission rule Bash( ): its parentheses are empty"),
        (r#""Bash""#, "settings.json:3: permissions.allow must be a list"),
        (
            r#"["Bash(touch *"]"#,
            "settings.json:3: the permission rule Bash(touch *: its closing parenthesis is missing",
        ),
        (r#"["(touch *)"]"#, "settings.json:3: the permission rule (touch *): it names no tool"),
        (r#"["*"]"#, "settings.json:3: the permission rule *: an allow rule must name its tool"),
        (r"[true]", "settings.json:3: permissions.allow[0] must be a string"),
        (r#"{"Bash": true}"#, "settings.json:3: permissions.allow must be a list"),
    ] {
        let (ran, stderr) = bash_with(&format!("{{\n \"permissions\": {{\n  \"allow\": {allow}\n }}\n}}"));
        assert!(!ran, "{allow} granted the call");
        assert!(stderr.contains(said), "{allow}: {stderr}");
    }
    let (ran, stderr) =
        bash_with(r#"{"permissions": {"allow": ["Bash()", "Bash(touch *)"]}, "cleanupPeriodDays": "x"}"#);
    assert!(ran, "the rest of the file keeps working: {stderr}");
    assert!(stderr.contains("cleanupPeriodDays must be a whole number"), "{stderr}");
}

// [F-B3]
#[test]
fn explain_and_doctor_show_the_same_problems() {
    let sandbox = Sandbox::new(EXE);
    sandbox.write_config(
        "settings.json",
        "{\n \"permissions\": {\n  \"allow\": [\"Bash()\"],\n  \"additionalDirectories\": \"/srv\"\n },\n \"cleanupPeriodDays\": \"x\",\n \"effortLevel\": \"extreme\"\n}",
    );
    sandbox.write(".claude/settings.json", "{\n oops\n}");
    let doctor = sandbox.gimlet(&["doctor", "--json"]).run().expect_code(1).json();
    let findings = doctor["findings"].as_array().unwrap().iter();
    let of_settings =
        |f: &&serde_json::Value| f["problem"] == true && (f["topic"] == "settings" || f["topic"] == "permissions");
    let told: Vec<String> = findings.filter(of_settings).map(|f| f["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(told.len(), 5, "{told:?}");
    let text = sandbox.gimlet(&["config", "explain"]).run().expect_code(0).stdout;
    for problem in &told {
        assert!(text.contains(&format!("! {problem}")), "{problem}: {text}");
    }
    assert!(text.contains("settings.json:6: cleanupPeriodDays must be a whole number"), "{text}");
    let listed = sandbox.gimlet(&["config", "explain", "--json"]).run().expect_code(0).json();
    let mut again: Vec<String> = Vec::new();
    for entry in listed.as_array().unwrap() {
        again.extend(entry["problems"].as_array().unwrap().iter().map(|p| p["text"].as_str().unwrap().to_owned()));
    }
    let sorted = |mut list: Vec<String>| {
        list.sort();
        list
    };
    assert_eq!(sorted(again), sorted(told));
    // One key: its own problems, with file and line, and those of files that cannot be read.
    let one = sandbox.gimlet(&["config", "explain", "effortLevel", "--json"]).run().expect_code(0).json();
    assert_eq!((one["problems"][1]["line"].as_u64(), one["problems"].as_array().unwrap().len()), (Some(7), 2), "{one}");
}

// [F-B3]
#[test]
fn a_single_word_grants_nothing() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    for (settings, key) in [
        (r#"{"permissions": {"additionalDirectories": "/"}}"#, "permissions.additionalDirectories"),
        (r#"{"sandbox": {"excludedCommands": "docker *"}}"#, "sandbox.excludedCommands"),
        (r#"{"sandbox": {"network": {"allowedDomains": "*"}}}"#, "sandbox.network.allowedDomains"),
        (r#"{"sandbox": {"ignoreViolations": {"npm": "network"}}}"#, "sandbox.ignoreViolations.npm"),
        (r#"{"enabledMcpjsonServers": "theirs"}"#, "enabledMcpjsonServers"),
        (r#"{"httpHookAllowedEnvVars": "TOKEN"}"#, "httpHookAllowedEnvVars"),
    ] {
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write_config("settings.json", settings);
        let done = sandbox.gimlet(&["-p", "hi"]).run().expect_code(0);
        assert!(done.stderr.contains(&format!("settings.json:1: {key} must be a list")), "{settings}: {}", done.stderr);
        let listed = sandbox.gimlet(&["config", "list"]).run().stdout;
        assert!(!listed.contains("docker") && !listed.contains("theirs") && !listed.contains("TOKEN"), "{listed}");
    }
    // A key that only refuses accepts a single rule instead of a list.
    let (ran, stderr) = bash_with(r#"{"permissions": {"allow": ["Bash"], "deny": "Bash(touch *)"}}"#);
    assert!(!ran && stderr.is_empty(), "{stderr}");
}

// [F-B3]
#[test]
fn all_servers_may_be_allowed_and_attribution_switched_off() {
    let settings = r#"{"permissions": {"allow": ["mcp__*", "Bash"]}, "attribution": {"commit": false, "pr": false}}"#;
    let (ran, stderr) = bash_with(settings);
    assert!(ran && stderr.is_empty(), "{stderr}");
}

// [F-B3]
#[test]
fn reads_outside_are_refused_in_every_mode_when_settings_say_so() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("notes.txt");
    std::fs::write(&secret, "the words outside").unwrap();
    let path = secret.display().to_string();
    for mode in ["default", "acceptEdits", "plan", "bypassPermissions"] {
        for (tool, input) in [
            ("Read", json!({"file_path": path})),
            ("Bash", json!({"command": format!("cat {path}"), "description": "show it"})),
        ] {
            let server = ModelServer::script([ScriptedReply::tool(tool, input), ScriptedReply::text("done")]);
            let mut sandbox = Sandbox::with_server(EXE, &server);
            sandbox.set("IS_SANDBOX", "1");
            sandbox.write_config(
                "settings.json",
                r#"{"permissions": {"blockReadsOutsideWorkingDirectories": true, "allow": ["Read", "Bash(cat *)"]}}"#,
            );
            sandbox.gimlet(&["-p", "go", "--permission-mode", mode]).run().expect_code(0);
            let result = server.request(1).tool_results()[0].to_string();
            assert!(!result.contains("the words outside"), "{mode} {tool}: {result}");
            assert!(result.contains("blockReadsOutsideWorkingDirectories"), "{mode} {tool}: {result}");
        }
    }
    let server =
        ModelServer::script([ScriptedReply::tool("Read", json!({"file_path": "in.txt"})), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("in.txt", "the words inside");
    sandbox.write_config("settings.json", r#"{"permissions": {"blockReadsOutsideWorkingDirectories": true}}"#);
    sandbox.gimlet(&["-p", "go"]).run().expect_clean();
    assert!(server.request(1).tool_results()[0].to_string().contains("the words inside"));
}

// [F-B3]
#[test]
fn keys_without_effect_are_named_in_one_line() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config(
        "settings.json",
        r#"{"spinnerTipsEnabled": false, "enabledPlugins": {"a@b": true}, "worktree": {"bgIsolation": "none"}, "tui": "default", "language": "Dutch"}"#,
    );
    let done = sandbox.gimlet(&["-p", "hi"]).run().expect_code(0);
    let lines: Vec<&str> = done.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{}", done.stderr);
    assert!(lines[0].contains("enabledPlugins, spinnerTipsEnabled, tui, worktree.bgIsolation"), "{}", lines[0]);
    assert!(!lines[0].contains("language"), "{}", lines[0]);
    let doctor = sandbox.gimlet(&["doctor"]).run().stdout;
    assert!(doctor.contains("enabledPlugins has no effect: gimlet has no plugins yet"), "{doctor}");
    let explained = sandbox.gimlet(&["config", "explain", "spinnerTipsEnabled"]).run().expect_code(0).stdout;
    assert!(explained.contains("has no effect in gimlet"), "{explained}");
}

// [F-B3]
#[test]
fn language_attribution_and_thinking_have_their_effect() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config(
        "settings.json",
        r#"{"language": "Dutch", "attribution": {"commit": "Made-with: gimlet", "pr": ""}, "alwaysThinkingEnabled": false}"#,
    );
    sandbox.gimlet(&["-p", "hi"]).run().expect_clean();
    let request = server.request(0);
    let system = request.json["system"].to_string();
    assert!(system.contains("Write to the user in Dutch") && system.contains("Made-with: gimlet"), "{system}");
    assert!(!system.contains("pull request with"), "{system}");
    assert_ne!(request.json["thinking"]["type"], "adaptive", "{}", request.json["thinking"]);
}

// [F-C9]
#[test]
fn bad_rules_on_the_command_line_are_told() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let done = sandbox.gimlet(&["-p", "hi", "--allowedTools", "Bash()"]).run().expect_code(0);
    assert!(done.stderr.contains("the permission rule Bash(): its parentheses are empty"), "{}", done.stderr);
}

// [F-B3]
#[test]
fn a_denied_server_stays_out_also_when_the_entry_is_a_bare_name() {
    let server = ModelServer::script([ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", "{\n \"deniedMcpServers\": [\n  \"x\",\n  {\"serverNam\": \"y\"}\n ]\n}");
    let config = json!({"mcpServers": {"x": crate::common::mcp::server(&[])}}).to_string();
    let done = sandbox.gimlet(&["-p", "go", "--mcp-config", &config]).run().expect_code(0);
    let offered = server.request(0).tool_names();
    assert!(!offered.iter().any(|name| name.starts_with("mcp__x")), "{offered:?}");
    assert!(done.stderr.contains("settings.json:3: deniedMcpServers[0] must be an object"), "{}", done.stderr);
    assert!(
        done.stderr.contains("settings.json:4: deniedMcpServers[1] must be an object with serverName"),
        "{}",
        done.stderr
    );
}

// [F-B3]
#[test]
fn values_inside_free_shapes_are_checked_with_file_and_line() {
    for (settings, said) in [
        (r#""statusLine": 5"#, "statusLine must be an object like"),
        (r#""statusLine": {"type": "command"}"#, "statusLine must be an object like"),
        (r#""statusLine": {"type": "foo", "command": "x"}"#, "statusLine must be an object like"),
        (r#""statusLine": {"type": "command", "command": 5}"#, "statusLine must be an object like"),
        (r#""subagentStatusLine": "x""#, "subagentStatusLine must be an object like"),
        (r#""spinnerVerbs": 5"#, "spinnerVerbs must be an object with verbs"),
        (r#""allowedMcpServers": [5]"#, "allowedMcpServers[0] must be an object with serverName"),
        (r#""skillOverrides": {"x": "foo"}"#, "skillOverrides.x must be one of on,"),
        (r#""sandbox": {"credentials": {"files": [5]}}"#, "sandbox.credentials.files[0] must be an object like"),
        (
            r#""sandbox": {"credentials": {"files": [{"path": "/x", "mode": "zzz"}]}}"#,
            "sandbox.credentials.files[0] has a mode that is neither deny nor mask",
        ),
        (r#""sandbox": {"credentials": {"envVars": ["X"]}}"#, "sandbox.credentials.envVars[0] must be an object like"),
        (r#""model": "  ""#, "model must name a model"),
        (r#""permissions": {"alow": ["Bash"]}"#, "permissions.alow is not a known key; was allow meant?"),
    ] {
        let server = ModelServer::script([ScriptedReply::text("done")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write_config("settings.json", format!("{{\n {settings}\n}}"));
        let done = sandbox.gimlet(&["-p", "go"]).run().expect_code(0);
        let said = format!("settings.json:2: {said}");
        assert!(done.stderr.contains(&said), "{settings}: {}", done.stderr);
        assert_ne!(server.request(0).model().trim(), "", "{settings}");
        let doctor = sandbox.gimlet(&["doctor"]).run().expect_code(1);
        assert!(doctor.stdout.contains(&said), "{settings}: {}", doctor.stdout);
    }
}

// [F-C8]
#[test]
fn doctor_names_what_runs_would_stumble_over() {
    for (settings, variable, said) in [
        ("{}", ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/?key=x"), "has a query or a fragment"),
        ("{}", ("HTTPS_PROXY", "nonsense:::x"), "HTTPS_PROXY is not a usable proxy URL"),
        (r#"{"apiKeyHelper": "/no/such/helper"}"#, ("X", "y"), "apiKeyHelper: there is no program \"/no/such/helper\""),
        (r#"{"agent": "nobody"}"#, ("X", "y"), "the setting agent names \"nobody\""),
        (
            r#"{"permissions": {"additionalDirectories": ["/no/such/dir"]}}"#,
            ("X", "y"),
            "/no/such/dir, which is not a directory",
        ),
        (
            r#"{"statusLine": {"type": "command", "command": "/no/such/line"}}"#,
            ("X", "y"),
            "statusLine: there is no program",
        ),
    ] {
        let mut sandbox = Sandbox::new(EXE);
        sandbox.set("ANTHROPIC_API_KEY", "sk-ant-test");
        sandbox.write_config("settings.json", settings);
        sandbox.set(variable.0, variable.1);
        let doctor = sandbox.gimlet(&["doctor"]).run().expect_code(1);
        assert!(doctor.stdout.contains(said), "{settings} {variable:?}: {}", doctor.stdout);
    }
}

// [F-C7]
#[test]
fn a_refused_connection_behind_a_proxy_names_the_proxy() {
    let server = ModelServer::script([]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("HTTP_PROXY", "http://127.0.0.1:1");
    sandbox.set("CLAUDE_CODE_MAX_RETRIES", "0");
    let done = sandbox.gimlet(&["-p", "go"]).run().expect_code(1);
    assert!(done.stdout.contains("the proxy http://127.0.0.1:1"), "{}", done.stdout);
}

// [F-C7]
#[test]
fn a_page_in_place_of_an_error_is_not_blamed_on_the_model() {
    let page =
        ScriptedReply::status(404).header("Via", "1.1 corp-proxy").body("text/html", "<html><h1>nope</h1></html>");
    let server = ModelServer::script([page.clone(), page]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    sandbox.set("CLAUDE_CODE_MAX_RETRIES", "0");
    let done = sandbox.gimlet(&["-p", "go"]).run().expect_code(1);
    assert!(done.stdout.contains("came through 1.1 corp-proxy"), "{}", done.stdout);
    assert!(!done.stdout.contains("may not exist"), "{}", done.stdout);
}

// [F-C7]
#[test]
fn words_of_a_server_cannot_steer_the_terminal() {
    let server = ModelServer::script([ScriptedReply::error(400, "invalid_request_error", "bad \u{1b}[31mred\u{7}")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let done = sandbox.gimlet(&["-p", "go"]).run().expect_code(1);
    assert!(!done.stdout.contains('\u{1b}') && done.stdout.contains("\\u{1b}[31mred"), "{}", done.stdout);
}

// [F-B4]
#[test]
fn the_error_of_a_command_is_printed_once() {
    let sandbox = Sandbox::new(EXE);
    let done = sandbox.gimlet(&["-p", "/rename"]).run().expect_code(1);
    assert_eq!(done.stdout.trim_end().lines().count(), 1, "{}", done.stdout);
}

// [F-C9]
#[test]
#[expect(clippy::disallowed_methods, reason = "the shell makes the pipes")]
fn settings_and_servers_come_from_pipes_of_the_shell() {
    let server = ModelServer::script([ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let line = r#""$0" -p go --settings <(echo '{"model":"from-a-pipe"}') --mcp-config <(echo '{"mcpServers":{}}')"#;
    let plain = sandbox.gimlet::<&str>(&[]).command();
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", line, EXE]).env_clear().current_dir(sandbox.project()).stdin(std::process::Stdio::null());
    shell.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let done = shell.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(server.request(0).model(), "from-a-pipe");
}

// [F-C10]
#[test]
#[expect(clippy::disallowed_methods, reason = "there is no other way to make a pipe here")]
fn a_fifo_in_the_place_of_the_state_file_hangs_nothing() {
    let server = ModelServer::script([ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let state = sandbox.config_dir().join(".claude.json");
    std::fs::remove_file(&state).ok();
    assert!(std::process::Command::new("mkfifo").arg(&state).status().unwrap().success());
    let doctor = sandbox.gimlet(&["doctor"]).run().expect_code(1);
    assert!(doctor.stdout.contains("is not a regular file"), "{}", doctor.stdout);
    let done = sandbox.gimlet(&["-p", "go"]).run();
    assert!(done.stderr.contains("is not a regular file") || done.code() == 0, "{done:?}");
}
