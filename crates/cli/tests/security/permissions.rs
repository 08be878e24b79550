//! Permissions on a real disk: links, hard links, modes, resumed sessions, and the command that explains decisions.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");

/// The decision `permissions explain` prints.
fn explain(sandbox: &Sandbox, mode: &str, rules: &Value, tool: &str, input: &Value) -> String {
    let settings = json!({ "permissions": rules }).to_string();
    let args = ["permissions", "explain", tool, "--json", "--mode", mode, "--settings", &settings, "--input"];
    let input = input.to_string();
    let answer = sandbox.gimlet(&[&args[..], &[input.as_str()]].concat()).run().expect_clean().json();
    answer["decision"].as_str().unwrap().to_owned()
}

fn path(path: &str) -> Value {
    json!({ "file_path": path })
}

fn write(path: &str) -> Value {
    json!({ "file_path": path, "content": "x" })
}

#[test]
fn links_are_judged_where_they_lead() {
    // [CLI-154] [CLI-155] SC-C03 SC-C04 SC-C05 SC-C17
    let sandbox = Sandbox::new(GIMLET);
    let outside = sandbox.root().join("elsewhere");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("hosts"), "h").unwrap();
    sandbox.write("secrets/k", "k");
    sandbox.write("data/x", "x");
    symlink("secrets/k", sandbox.project().join("link")).unwrap();
    symlink(&outside, sandbox.project().join("out")).unwrap();
    symlink(&outside, sandbox.project().join("data/l")).unwrap();
    std::fs::hard_link(outside.join("hosts"), sandbox.project().join("second-name")).unwrap();
    let data = format!("Edit(/{}/data/**)", sandbox.project().display());
    for (id, mode, rules, tool, input, expected) in [
        ("SC-C03", "default", json!({"deny": ["Read(secrets/**)"]}), "Read", path("link"), "deny"),
        ("SC-C03", "bypassPermissions", json!({"deny": ["Read(secrets/**)"]}), "Read", path("link"), "deny"),
        ("SC-C04", "acceptEdits", json!({}), "Write", write("out/new.txt"), "ask"),
        ("SC-C04", "acceptEdits", json!({}), "Write", write("data/new.txt"), "allow"),
        ("SC-C05", "default", json!({"allow": [data]}), "Write", write("data/l/hosts"), "ask"),
        ("SC-C05", "default", json!({"allow": [data]}), "Write", write("data/x"), "allow"),
        ("SC-C17", "acceptEdits", json!({}), "Write", write("second-name"), "ask"),
        ("CLI-154", "default", json!({}), "Read", path("out/hosts"), "ask"),
        ("CLI-154", "default", json!({"allow": ["Read(out/**)"]}), "Read", path("out/hosts"), "ask"),
    ] {
        assert_eq!(explain(&sandbox, mode, &rules, tool, &input), expected, "{id} {tool} {input} {rules}");
    }
    let bash = |mode: &str, command: &str| explain(&sandbox, mode, &json!({}), "Bash", &json!({"command": command}));
    for command in
        ["sed -i s/a/b/ second-name", "echo x > second-name", "cat out/hosts", "echo x > out/y", "rm out/hosts"]
    {
        assert_eq!(bash("acceptEdits", command), "ask", "{command}");
    }
    assert_eq!(bash("acceptEdits", "rm data/x"), "allow");
}

#[test]
fn git_in_a_repository_of_its_own_starts_nothing_of_it() {
    // SC-B21
    let sandbox = Sandbox::new(GIMLET);
    for dir in [".git", "src", "nested/.git", "bare/objects", "bare/refs"] {
        std::fs::create_dir_all(sandbox.project().join(dir)).unwrap();
    }
    std::fs::write(sandbox.project().join("bare/HEAD"), "ref: refs/heads/x").unwrap();
    let planted = sandbox.project().join("planted");
    let config = format!("[core]\n\tbare = true\n\tfsmonitor = touch {}\n", planted.display());
    std::fs::write(sandbox.project().join("bare/config"), config).unwrap();
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "cd src && ls"})),
        ScriptedReply::tool("Bash", json!({"command": "git status --short"})),
        ScriptedReply::tool("Bash", json!({"command": "cd ../bare"})),
        ScriptedReply::tool("Bash", json!({"command": "git status"})),
        ScriptedReply::text("done"),
    ]);
    let args = ["-p", "go", "--output-format", "json"];
    let run = sandbox.gimlet(&args).env("ANTHROPIC_BASE_URL", server.url()).run().expect_clean();
    let denials = run.json()["permission_denials"].clone();
    let denied: Vec<_> = denials.as_array().unwrap().iter().map(|d| d["tool_input"]["command"].clone()).collect();
    assert!(denied.is_empty() && !planted.exists(), "{denials}");
}

// [F-A4] [F-A6] [F-A11]
#[test]
fn rules_on_commands_hold_behind_builtins_runners_and_flags() {
    let sandbox = Sandbox::new(GIMLET);
    sandbox.write("env.sh", "A=b");
    let bash =
        |mode: &str, rules: &Value, command: &str| explain(&sandbox, mode, rules, "Bash", &json!({"command": command}));
    let denied = json!({"allow": ["Bash"], "deny": ["Bash(curl:*)", "Bash(rm -rf:*)"]});
    for (command, expected) in [
        ("mapfile -C curl a < env.sh", "ask"),
        ("echo 'curl x' | source /dev/stdin", "ask"),
        ("source nothing.sh", "ask"),
        ("echo curl > env.sh; source env.sh", "ask"),
        // Rules cannot see what a sourced file does.
        ("source env.sh", "allow"),
        (". ./env.sh && make", "allow"),
        ("npm exec -- curl x", "deny"),
        ("git -c core.fsmonitor=curl status", "deny"),
        ("rm -fr x", "deny"),
        ("rm -r x", "allow"),
    ] {
        for mode in ["default", "bypassPermissions"] {
            assert_eq!(bash(mode, &denied, command), expected, "{command} in {mode}");
        }
    }
    let git = json!({"allow": ["Bash(git *)"]});
    assert_eq!(bash("default", &git, "git --config-env a.b=HOME reset --hard"), "ask");
    assert_eq!(bash("default", &git, "git --config-env a.b=HOME commit -m x"), "allow");
    for command in ["git tag -l", "ps aux", "find . | xargs wc -l", "echo $HOME", "for i in 1 2; do echo $i; done"] {
        assert_eq!(bash("default", &json!({}), command), "allow", "{command}");
    }
}

#[test]
fn search_tools_do_not_show_what_may_not_be_read() {
    // [CLI-156] SC-C13
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::tool("Glob", &json!({"pattern": "**/*"})),
            ScriptedBlock::tool("Grep", &json!({"pattern": "KEY", "output_mode": "content"})),
            ScriptedBlock::tool("Write", &write("private/new")),
        ]),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write("deep/.env", "KEY=1\n");
    sandbox.write("private/a", "KEY=2\n");
    sandbox.write("deep/plain", "KEY=3\n");
    let args =
        ["-p", "go", "--permission-mode", "acceptEdits", "--disallowedTools", "Read(**/.env)", "Read(private/**)"];
    drop(sandbox.gimlet(&args).run().expect_clean());
    let results = server.request(1).tool_results();
    for result in &results[..2] {
        let text = result["content"].as_str().unwrap();
        assert!(text.contains("plain") && !text.contains(".env") && !text.contains("private"), "{text}");
    }
    assert_eq!(results[2]["is_error"], true, "a read deny covers creation");
    assert!(!sandbox.project().join("private/new").exists());
}

#[test]
fn without_anybody_to_ask_a_question_is_a_refusal_that_is_told() {
    // [CLI-174] [SDK-97] SC-E14 SC-E15 SC-H01
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "sh install.sh"})),
        ScriptedReply::tool("Bash", json!({"command": "curl x"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write("install.sh", "touch ran");
    sandbox.write_config("settings.json", r#"{"permissions": {"deny": ["Bash(curl:*)"]}}"#);
    let args = ["-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash(curl:*)"];
    let run = sandbox.gimlet(&args).run().expect_clean();
    let told: Vec<Value> = run.lines().into_iter().filter(|l| l["subtype"] == "permission_denied").collect();
    assert_eq!(told.len(), 2, "{}", run.stdout);
    assert!(told[0]["message"].as_str().unwrap().contains("haven't granted it yet"), "{}", told[0]);
    assert_eq!(told[1]["decision_reason_type"], "rule");
    let result = run.result();
    assert_eq!((&result["subtype"], result["permission_denials"].as_array().unwrap().len()), (&json!("success"), 2));
    assert!(!sandbox.project().join("ran").exists());
}

#[test]
fn modes_on_a_real_disk() {
    // [CLI-165] [CLI-166] [CLI-167] [CLI-168] SC-E06
    let calls = || {
        vec![
            ScriptedBlock::tool("Write", &write("a")),
            ScriptedBlock::tool("Bash", &json!({"command": "mkdir made"})),
            ScriptedBlock::tool("Write", &write(".git/config")),
            ScriptedBlock::tool("Write", &write("../outside")),
            ScriptedBlock::tool("Bash", &json!({"command": "ls"})),
        ]
    };
    for (mode, allowed) in [
        ("default", &["ls"][..]),
        ("acceptEdits", &["a", "made", "ls"]),
        ("plan", &["ls"]),
        ("dontAsk", &["ls"]),
        ("bypassPermissions", &["a", "made", ".git/config", "outside", "ls"]),
    ] {
        let server = ModelServer::script([ScriptedReply::message(calls()), ScriptedReply::text("done")]);
        let sandbox = Sandbox::with_server(GIMLET, &server);
        let args = ["-p", "go", "--output-format", "json", "--permission-mode", mode];
        let run = sandbox.gimlet(&args).env("IS_SANDBOX", "1").run().expect_clean();
        let there = |name: &str| match name {
            "outside" => sandbox.root().join("outside").exists(),
            name => sandbox.project().join(name).exists(),
        };
        for name in ["a", "made", ".git/config", "outside"] {
            assert_eq!(there(name), allowed.contains(&name), "{mode} {name}");
        }
        assert_eq!(run.json()["permission_denials"].as_array().unwrap().len(), 5 - allowed.len(), "{mode}");
    }
    // An allow rule does not lift plan mode.
    let sandbox = Sandbox::new(GIMLET);
    for (tool, input) in [
        ("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"})),
        ("Bash", json!({"command": "touch x"})),
    ] {
        assert_eq!(
            explain(&sandbox, "plan", &json!({"allow": ["Edit", "Write", "Bash"]}), tool, &input),
            "deny",
            "{tool}"
        );
    }
}

#[test]
fn plan_and_bypass_do_not_come_back_by_resuming() {
    // [CLI-173]
    for (mode, back) in [("plan", "default"), ("bypassPermissions", "default"), ("acceptEdits", "acceptEdits")] {
        let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
        let sandbox = Sandbox::with_server(GIMLET, &server);
        drop(sandbox.gimlet(&["-p", "one", "--permission-mode", mode]).env("IS_SANDBOX", "1").run().expect_clean());
        let run = sandbox
            .gimlet(&["-p", "two", "--continue", "--output-format", "stream-json", "--verbose"])
            .run()
            .expect_clean();
        assert_eq!(run.lines()[0]["permissionMode"], back, "{mode}");
    }
}

#[test]
fn hosts_are_compared_as_parsed() {
    // SC-E16 SC-E18 SC-E19
    let sandbox = Sandbox::new(GIMLET);
    let fetch = |rules: Value, url: &str| {
        let settings = json!({ "permissions": rules }).to_string();
        let input = json!({"url": url, "prompt": "p"}).to_string();
        let run = sandbox
            .gimlet(&["permissions", "explain", "WebFetch", "--json", "--settings", &settings, "--input", &input])
            .run();
        // An address that the tool does not accept is refused before a decision.
        if run.code() == 0 { run.json()["decision"].as_str().unwrap().to_owned() } else { "refused".to_owned() }
    };
    let good = || json!({"allow": ["WebFetch(domain:good.example)"]});
    assert_eq!(fetch(good(), "https://good.example/x"), "allow");
    for url in [
        "https://good.example.evil.example/",
        "https://good.example@evil.example/",
        "https://evil.example/#good.example",
    ] {
        assert_ne!(fetch(good(), url), "allow", "SC-E16 {url}");
    }
    let bad = || json!({"deny": ["WebFetch(domain:*.bad.example)"]});
    assert_eq!(fetch(bad(), "https://a.bad.example"), "deny");
    assert_eq!(fetch(bad(), "https://bad.example"), "ask");
    for url in ["file:///etc/hostname", "http://169.254.169.254/", "http://localhost:1/", "http://[::1]/"] {
        assert_ne!(fetch(json!({}), url), "allow", "SC-E19 {url}");
    }
}

#[test]
fn anchors_follow_the_file_a_rule_stands_in() {
    // [CLI-150] [CLI-151] [CLI-157] SC-C12
    let sandbox = Sandbox::new(GIMLET);
    sandbox.write("secrets/k", "k");
    sandbox.write_config("secrets/k", "k");
    sandbox.write_config("settings.json", r#"{"permissions": {"deny": ["Read(/secrets/**)", "Read(~/Desktop/**)"]}}"#);
    std::fs::create_dir_all(sandbox.home().join("Desktop")).unwrap();
    let of_user = sandbox.config_dir().join("secrets/k");
    assert_eq!(explain(&sandbox, "default", &json!({}), "Read", &path(of_user.to_str().unwrap())), "deny");
    assert_eq!(explain(&sandbox, "default", &json!({}), "Read", &path("secrets/k")), "allow");
    for command in [
        "cat $HOME/Desktop/x",
        "cat ~/Desktop/x",
        "cat ${HOME}/Desktop/x",
        "grep y ~/Desktop/x",
        "sed -n p ~/Desktop/x",
        "head ~/Desktop/x",
    ] {
        assert_eq!(
            explain(&sandbox, "bypassPermissions", &json!({}), "Bash", &json!({"command": command})),
            "deny",
            "{command}"
        );
    }
}

#[test]
fn auto_mode_without_a_classifier_is_default_mode_with_a_word() {
    // [CLI-185]
    let server =
        ModelServer::script([ScriptedReply::tool("Bash", json!({"command": "touch x"})), ScriptedReply::text("done")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let args = ["-p", "go", "--output-format", "stream-json", "--verbose", "--permission-mode", "auto"];
    let run = sandbox.gimlet(&args).run().expect_code(0);
    assert!(run.stderr.contains("auto is not available"), "{}", run.stderr);
    assert_eq!(run.lines()[0]["permissionMode"], "default");
    assert_eq!(run.result()["permission_denials"].as_array().unwrap().len(), 1);
}
