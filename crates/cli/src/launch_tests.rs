use super::*;
use std::ffi::OsString;

fn around(vars: &[(&str, &str)]) -> LaunchEnvironment {
    let env = Env::default().with(vars.iter().map(|(k, v)| (*k, *v)));
    let is_sandboxed = env.is_on("IS_SANDBOX");
    LaunchEnvironment { env, stdout_is_terminal: true, is_root: false, is_sandboxed }
}

fn args(words: &[&str]) -> Args {
    crate::parse::parse(&words.iter().map(OsString::from).collect::<Vec<_>>()).unwrap()
}

fn start(words: &[&str]) -> Result<HeadlessJob, LaunchRefusal> {
    job(args(words), &around(&[]))
}

fn usage(words: &[&str]) -> String {
    match start(words) {
        Err(LaunchRefusal::Usage(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

#[test]
fn headless_is_chosen_by_any_of_its_signs() {
    assert_eq!(start(&["hi"]).unwrap_err(), LaunchRefusal::Interactive);
    assert_eq!(start(&["hi"]).err(), start(&["hi", "--output-format", "text"]).err());
    assert_eq!(start(&["-p", "hi"]).unwrap().output, OutputFormat::Text);
    assert_eq!(start(&["--output-format", "json", "hi"]).unwrap().output, OutputFormat::Json);
    assert_eq!(start(&["--output-format", "json", "--verbose", "hi"]).unwrap().output, OutputFormat::JsonArray); // [SDK-38]
    let piped = LaunchEnvironment { stdout_is_terminal: false, ..around(&[]) };
    assert_eq!(job(args(&["hi"]), &piped).unwrap().output, OutputFormat::Text);
    let sdk = start(&["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"]).unwrap();
    assert!(sdk.boot.options.host.multi_turn && matches!(sdk.input, RunInput::StreamJson { first: None }));
}

#[test]
fn conflicts_are_named() {
    let uuid = "5f2f1c1e-0000-4000-8000-0000000000aa";
    assert!(usage(&["-p", "x", "--output-format", "stream-json"]).contains("--verbose")); // [CLI-9]
    assert!(usage(&["--input-format", "stream-json"]).contains("--output-format=stream-json"));
    assert!(usage(&["-p", "--bg", "x"]).contains("--bg")); // [CLI-44]
    assert!(usage(&["-p", "--system-prompt", "a", "--system-prompt-file", "b"]).contains("both")); // [CLI-12]
    assert!(usage(&["-p", "--session-id", "nope", "x"]).contains("valid UUID")); // [SDK-28] [CLI-15]
    assert!(usage(&["-p", "--session-id", uuid, "-c", "x"]).contains("--fork-session")); // [SDK-29]
    assert!(usage(&["-p", "x", "-r"]).contains("needs a session ID"));
    assert!(usage(&["-p", "x", "--resume-session-at", uuid]).contains("requires --resume"));
    assert!(usage(&["-p", "x", "--forward-subagent-text"]).contains("stream-json")); // [CLI-43]
    assert!(usage(&["-p", "x", "--json-schema", "{"]).starts_with("Error: --json-schema is not a valid JSON Schema"));
}

#[test]
fn sessions_are_chosen() {
    let uuid = "5f2f1c1e-0000-4000-8000-0000000000aa";
    let choice = |words: &[&str]| start(words).unwrap().boot.options.conversation.choice;
    assert_eq!(choice(&["-p", "x"]), SessionChoice::New { id: None });
    assert_eq!(choice(&["-p", "x", "--session-id", uuid]), SessionChoice::New { id: Some(uuid.into()) });
    assert_eq!(choice(&["-p", "x", "-c"]), SessionChoice::Continue { fork: None });
    let fork = Some(ForkTarget { id: Some(uuid.into()) });
    assert_eq!(
        choice(&["-p", "x", "--resume", "t", "--fork-session", "--session-id", uuid]),
        SessionChoice::Resume { target: "t".into(), fork }
    );
}

#[test]
fn root_gets_no_bypass_outside_a_sandbox() {
    // [CLI-170]
    let root = |vars| LaunchEnvironment { is_root: true, ..around(vars) };
    for words in [
        &["-p", "x", "--dangerously-skip-permissions"][..],
        &["-p", "x", "--permission-mode", "bypassPermissions"],
        &["-p", "x", "--allow-dangerously-skip-permissions"],
    ] {
        let refusal = job(args(words), &root(&[])).unwrap_err();
        assert!(matches!(refusal, LaunchRefusal::Startup { reason: Some("bypass_root"), .. }), "{words:?}");
        job(args(words), &root(&[("IS_SANDBOX", "1")])).unwrap();
        job(args(words), &around(&[])).unwrap();
    }
    let mode = start(&["-p", "x", "--dangerously-skip-permissions"]).unwrap().boot.options.permissions.mode;
    assert_eq!(mode, Some(PermissionMode::BypassPermissions));
}

#[test]
fn files_are_checked_before_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let big = dir.path().join("big.json");
    std::fs::write(&big, vec![b' '; 3 << 20]).unwrap();
    let message = |words: &[&str]| match start(words).unwrap_err() {
        LaunchRefusal::Startup { message, .. } => message,
        other => panic!("{other:?}"),
    };
    // [CLI-33]
    assert!(message(&["-p", "x", "--settings", "/no/such.json"]).contains("Settings file not found"));
    assert!(message(&["-p", "x", "--settings", big.to_str().unwrap()]).contains("2 MiB"));
    assert!(message(&["-p", "x", "--settings", dir.path().to_str().unwrap()]).contains("regular file"));
    assert!(message(&["-p", "x", "--settings", "{oops"]).contains("Invalid JSON"));
    assert!(message(&["-p", "x", "--add-dir", big.to_str().unwrap()]).contains("not a directory"));
    let prompt = dir.path().join("prompt.md");
    std::fs::write(&prompt, "Be kind.").unwrap();
    let job =
        start(&["-p", "x", "--system-prompt-file", prompt.to_str().unwrap(), "--append-system-prompt", "And brief."]);
    let options = job.unwrap().boot.options;
    assert_eq!(options.prompt.system.as_deref(), Some("Be kind.")); // [SDK-14] [CLI-13]
    assert_eq!(options.prompt.append.as_deref(), Some("And brief."));
    for flag in ["--system-prompt-file", "--append-system-prompt-file"] {
        let endless = message(&["-p", "x", flag, "/dev/zero"]);
        assert_eq!(endless, "Error: the system prompt file /dev/zero is larger than 10 MiB");
        assert!(message(&["-p", "x", flag, "/no/such.md"]).contains("/no/such.md cannot be read: No such file"));
    }
    for flag in ["--settings", "--mcp-config"] {
        std::fs::write(&prompt, [0xff]).unwrap();
        let pipe = std::fs::File::open("/dev/zero").unwrap();
        let handed_over = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&pipe));
        assert!(message(&["-p", "x", flag, &handed_over]).ends_with("is larger than 2 MiB"), "{flag}");
    }
    assert!(message(&["-p", "x", "--system-prompt-file", prompt.to_str().unwrap()]).contains("is not UTF-8 text"));
}

#[test]
fn a_swallowed_prompt_is_explained() {
    let job = start(&["-p", "--allowedTools", "Read", "fix the test"]).unwrap();
    assert!(job.missing_prompt_hint.unwrap().contains("--allowedTools"));
}

#[test]
fn stream_only_switches_need_streams() {
    let options = start(&["-p", "x", "--include-partial-messages", "--replay-user-messages"]).unwrap().boot.options;
    assert!(!options.host.partial_messages && !options.host.replay_user_messages);
    let named = job(args(&["-p", "x"]), &around(&[("CLAUDE_CODE_ENTRYPOINT", "sdk-py")])).unwrap();
    assert_eq!(named.boot.options.host.entrypoint, "sdk-py");
}
