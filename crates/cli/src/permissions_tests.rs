use super::*;

struct Home {
    dir: tempfile::TempDir,
    env: Env,
}

fn home(user: &str) -> Home {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config");
    std::fs::create_dir_all(dir.path().join("work")).unwrap();
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("settings.json"), user).unwrap();
    let base = Env::snapshot().without(["CLAUDE_CONFIG_DIR"]);
    let env = base.with([("HOME", dir.path().as_os_str()), ("CLAUDE_CONFIG_DIR", config.as_os_str())]);
    Home { dir, env }
}

fn run_in(home: &Home, words: &[&str], stdin: &str) -> (String, u8) {
    let work = home.dir.path().join("work").display().to_string();
    let words: Vec<OsString> = words.iter().copied().chain(["--cwd", &work]).map(OsString::from).collect();
    run(&words, &home.env, &mut stdin.as_bytes()).unwrap()
}

const RULES: &str = "{\n  \"permissions\": {\n    \"allow\": [\"Bash(npm test *)\"],\n    \"deny\": [\n      \"Bash(curl:*)\"\n    ]\n  }\n}\n";

#[test]
fn explain_names_rule_file_and_line() {
    let home = home(RULES);
    let (text, code) = run_in(&home, &["explain", "--json", "npm test && curl x"], "");
    assert_eq!(code, 0);
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["decision"], "deny");
    assert_eq!(answer["rule"], "Bash(curl:*)");
    assert_eq!(answer["source"], "userSettings");
    assert_eq!(answer["line"], 5);
    assert!(answer["file"].as_str().unwrap().ends_with("settings.json"));
    assert_eq!(answer["parts"][0]["decision"], "allow");
    assert_eq!(answer["parts"][0]["line"], 3);
    assert_eq!(answer["parts"][1]["decision"], "deny");
    assert_eq!(answer["parts"][1]["command"], "curl x");
    let (text, _) = run_in(&home, &["explain", "npm test && curl x"], "");
    assert!(text.starts_with("deny: rule Bash(curl:*)") && text.contains("settings.json:5"), "{text}");
}

#[test]
fn explain_takes_tools_modes_and_lines() {
    let home = home("{}");
    let input = r#"{"file_path":"a.txt","content":"x"}"#;
    let decision = |words: &[&str]| {
        let (text, _) = run_in(&home, words, "");
        serde_json::from_str::<Value>(&text).unwrap()["decision"].as_str().unwrap().to_owned()
    };
    assert_eq!(decision(&["explain", "Write", "--input", input, "--json"]), "ask");
    assert_eq!(decision(&["explain", "Write", "--input", input, "--json", "--mode", "acceptEdits"]), "allow");
    assert_eq!(decision(&["explain", "Write", "--input", input, "--json", "--mode=plan"]), "deny");
    let settings = r#"{"permissions":{"allow":["Bash(make:*)"]}}"#;
    assert_eq!(decision(&["explain", "make x", "--json", "--settings", settings]), "allow");
    assert_eq!(decision(&["explain", "mcp__s__t", "--json"]), "ask");
    let lines =
        "{\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"}}\n{\"tool\":\"Bash\",\"input\":{\"command\":\"curl x\"}}\n";
    let (text, code) = run_in(&home, &["explain", "--json"], lines);
    let decisions: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((decisions.len(), code), (2, 0));
    assert_eq!((&decisions[0]["decision"], &decisions[1]["decision"]), (&json!("allow"), &json!("ask")));
}

#[test]
fn lint_and_test_set_the_exit_code() {
    let wide = home("{\"permissions\":{\"allow\":[\"Bash(ls*)\"]}}");
    let (text, code) = run_in(&wide, &["lint"], "");
    assert!(code == 1 && text.contains("wide") && text.contains("settings.json:1"), "{text}");
    let home = home(RULES);
    assert_eq!(run_in(&home, &["lint"], "").1, 0);
    let table = "# commands\nallow npm test\ndeny  sudo curl x\n{\"tool\":\"Bash\",\"input\":{\"command\":\"make\"},\"expect\":\"ask\"}\n";
    std::fs::write(home.dir.path().join("work/table"), table).unwrap();
    assert_eq!(run_in(&home, &["test", "table"], ""), ("3 passed, 0 failed\n".into(), 0));
    std::fs::write(home.dir.path().join("work/table"), "allow curl x\n").unwrap();
    let (text, code) = run_in(&home, &["test", "table"], "");
    assert!(code == 1 && text.contains("table:1: expected allow, got deny"), "{text}");
}
