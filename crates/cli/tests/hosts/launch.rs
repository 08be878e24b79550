//! How the binary starts, or refuses to: versions, help, argument errors, modes. No run here reaches a model unless it says
//! so.

use serde_json::json;
use testkit::{FinishedRun, ModelServer, Sandbox, ScriptedReply};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");

fn run(args: &[&str]) -> FinishedRun {
    Sandbox::new(GIMLET).gimlet(args).run()
}

/// Refused before the run: exit 1, this one line on stderr, nothing on stdout.
fn refused(args: &[&str]) -> String {
    let run = run(args).expect_code(1);
    assert_eq!(run.stdout, "");
    run.stderr
}

#[test]
fn version_is_instant_and_touches_nothing() {
    // [SDK-1] [SDK-2] [CLI-1]
    let sandbox = Sandbox::new(GIMLET);
    for flag in ["-v", "--version"] {
        let run = sandbox.gimlet(&[flag]).env_clear().stdin_open().run().expect_clean();
        assert_eq!(run.stdout, format!("{}\n", wire::version::line()));
        assert!(run.stdout.starts_with("2.1."));
    }
    assert_eq!(std::fs::read_dir(sandbox.config_dir()).unwrap().count(), 0, "no file is written");
    let among_flags = run(&["--verbose", "-v"]).expect_clean();
    assert_eq!(among_flags.stdout, format!("{}\n", wire::version::line()));
}

#[test]
fn help_is_as_agreed() {
    let run = run(&["--help"]).expect_clean();
    let expected = include_str!("../expected/help.txt");
    assert_eq!(run.stdout, expected, "update crates/cli/tests/expected/help.txt if this is meant");
    assert_eq!(run.stdout, self::run(&["help"]).stdout);
    assert!(run.stdout.lines().all(|line| line.len() <= 100));
}

#[test]
fn a_link_named_claude_behaves_the_same() {
    let sandbox = Sandbox::new(GIMLET);
    let link = sandbox.root().join("claude");
    std::os::unix::fs::symlink(GIMLET, &link).unwrap();
    for args in [&["--help"][..], &["-v"], &["--nope"], &["auth", "status"]] {
        let (plain, linked) = (sandbox.gimlet(args).run(), sandbox.gimlet(args).exe(&link).run());
        assert_eq!((&plain.stdout, &plain.stderr, plain.code()), (&linked.stdout, &linked.stderr, linked.code()));
    }
}

#[test]
fn argument_errors_are_one_line_and_exit_1() {
    // [SDK-27]
    assert_eq!(refused(&["--frobnicate"]), "error: unknown option '--frobnicate'\n");
    assert_eq!(refused(&["-p", "--model"]), "error: option '--model <model>' argument missing\n");
    assert!(refused(&["-p", "x", "--permission-mode", "bogus"]).contains("Allowed choices are default, manual,")); // [CLI-39]
    assert!(refused(&["-p", "x", "--session-id", "1234"]).starts_with("Error: Invalid session ID")); // [CLI-15] [SDK-28]
    assert!(refused(&["-p", "x", "--output-format", "stream-json"]).contains("--verbose")); // [CLI-9] [SDK-38]
    assert!(refused(&["-p", "--bg", "x"]).contains("--bg cannot be used with --print")); // [CLI-44]
    assert!(refused(&["-p", "x", "--worktree", "../w"]).contains("cannot name a worktree"));
    assert!(refused(&["-p", "x", "--settings", "/no/such/file.json"]).contains("Settings file not found")); // [CLI-33]
    let schema = refused(&["-p", "x", "--json-schema", r#"{"type":"nonsense"}"#]); // [CLI-24]
    assert!(schema.starts_with("Error: --json-schema is not a valid JSON Schema"), "{schema}");
}

#[test]
fn a_mistyped_subcommand_is_suggested_and_nothing_starts() {
    // [CLI-50]
    assert_eq!(refused(&["udpate"]), "error: unknown command 'udpate'. Did you mean gimlet update?\n");
    assert_eq!(refused(&["plugin"]), "Error: `gimlet plugin` is not available yet\n");
}

#[test]
fn prompts_must_have_text() {
    let server = ModelServer::start();
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let blank = sandbox.gimlet(&["-p", "   "]).run().expect_code(1); // [CLI-5]
    assert_eq!(
        blank.stderr,
        "Error: Input contained only whitespace. Provide a prompt with text through stdin or as a prompt argument when using --print\n"
    );
    let none = sandbox.gimlet(&["-p"]).run().expect_code(1); // [CLI-6]
    assert!(none.stderr.starts_with("Error: Input must be provided"), "{}", none.stderr);
    let swallowed = sandbox.gimlet(&["-p", "--allowedTools", "Read", "fix it"]).run().expect_code(1);
    assert!(swallowed.stderr.contains("--allowedTools takes every word"), "{}", swallowed.stderr);
    let huge = sandbox.gimlet(&["-p", "sum up"]).stdin(vec![b'x'; 11 << 20]).run().expect_code(1); // [CLI-4]
    assert!(huge.stderr.contains("10 MB"), "{}", huge.stderr);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn startup_failures_are_told_to_hosts_too() {
    // [SDK-189]
    let stream = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
    let sandbox = Sandbox::new(GIMLET);
    let missing = sandbox.gimlet(&[&stream[..], &["--settings", "/no/such.json"]].concat()).run().expect_code(1);
    let result = missing.result();
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_during_execution"), &json!(true)));
    assert!(result["errors"][0].as_str().unwrap().contains("Settings file not found"));

    let id = "5f2f1c1e-0000-4000-8000-0000000000aa";
    let unknown = sandbox.gimlet(&[&stream[..], &["--resume", id]].concat()).run().expect_code(1); // [CLI-14]
    assert_eq!(unknown.stderr, format!("No conversation found with session ID: {id}\n"));
    assert!(unknown.result()["errors"][0].as_str().unwrap().contains(id));
}

#[test]
fn a_directory_that_is_gone_is_a_plain_error() {
    // [CLI-55]
    let sandbox = Sandbox::new(GIMLET);
    let gone = sandbox.root().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let script = r#"cd "$1" && rmdir "$1" && exec "$2" -p hi"#;
    let shell = sandbox.gimlet(&["-c", script, "sh", gone.to_str().unwrap(), GIMLET]).exe("/bin/sh");
    let run = shell.run().expect_code(1);
    assert!(run.stderr.starts_with("Error: the current directory is not available"), "{}", run.stderr);
}

#[test]
fn root_gets_no_bypass_mode_outside_a_sandbox() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("ok"));
    let sandbox = Sandbox::with_server(GIMLET, &server);
    // [CLI-170]
    let args = ["-p", "x", "--dangerously-skip-permissions"];
    let run = sandbox.gimlet(&args).env("IS_SANDBOX", "0").run();
    if std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0) {
        assert_eq!(run.code(), 1);
        assert!(run.stderr.contains("cannot be used with root/sudo privileges for security reasons"));
        assert_eq!(run.stderr.lines().count(), 1);
        assert_eq!(server.requests().len(), 0);
        sandbox.write_config("settings.json", r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#);
        let by_settings = sandbox.gimlet(&["-p", "x"]).env("IS_SANDBOX", "0").run().expect_code(1);
        assert_eq!(by_settings.stderr, run.stderr, "the same words however it was asked for");
    } else {
        run.expect_clean();
    }
    sandbox.gimlet(&args).env("IS_SANDBOX", "1").run().expect_clean();
}

#[test]
fn auth_status_says_whether_and_how() {
    // [CLI-56]
    let sandbox = Sandbox::new(GIMLET);
    let with_key = sandbox.gimlet(&["auth", "status", "--json"]).run().expect_clean();
    let said = with_key.json();
    assert_eq!(said["loggedIn"], true);
    assert_eq!(said["authMethod"], "api_key");
    assert_eq!(said["apiProvider"], "firstParty");
    assert_eq!(said["apiKeySource"], "ANTHROPIC_API_KEY");
    let without = sandbox.gimlet(&["auth", "status"]).env_remove("ANTHROPIC_API_KEY").run().expect_code(1);
    assert_eq!(without.json()["loggedIn"], false);
    let text = sandbox.gimlet(&["auth", "status", "--text"]).run().expect_clean();
    assert!(text.stdout.contains("ANTHROPIC_API_KEY") && !text.stdout.contains("test-key"));
    sandbox.write_config("settings.json", r#"{"apiKeyHelper":"exit 1"}"#);
    let helper = sandbox.gimlet(&["auth", "status"]).env_remove("ANTHROPIC_API_KEY").run().expect_clean();
    assert_eq!(helper.json()["authMethod"], "api_key_helper");
}

#[test]
fn completions_are_printed() {
    let bash = run(&["completions", "bash"]).expect_clean();
    assert!(bash.stdout.contains("--output-format") && bash.stdout.contains("demo"));
    assert!(refused(&["completions", "tcsh"]).starts_with("Usage: gimlet completions"));
}

#[test]
fn an_empty_environment_is_enough() {
    // [SDK-30]
    let server = ModelServer::script([ScriptedReply::text("fine")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let run = sandbox.gimlet(&["-p", "hi"]).env_clear().env("ANTHROPIC_BASE_URL", server.url());
    let run = run.env("ANTHROPIC_API_KEY", "k").env("CLAUDE_CONFIG_DIR", sandbox.config_dir()).run().expect_clean();
    assert_eq!(run.stdout, "fine\n");
}

#[test]
fn the_debug_log_goes_to_its_file_and_holds_no_key() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let mut sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.set("ANTHROPIC_API_KEY", "sk-very-secret");
    let id = "5f2f1c1e-0000-4000-8000-0000000000aa";
    let run =
        sandbox.gimlet(&["-p", "--debug", "--session-id", id, "--channels", "x", "--", "hi"]).run().expect_clean();
    assert_eq!(run.stdout, "fine\n");
    let log = std::fs::read_to_string(sandbox.config_dir().join(format!("debug/{id}.txt"))).unwrap();
    assert!(log.contains("--channels is accepted and has no effect"), "{log}");
    assert!(!log.contains("sk-very-secret"));
    let file = sandbox.root().join("my.log");
    sandbox.gimlet(&["-p", "hi", "--debug-file", file.to_str().unwrap(), "--advisor", "a"]).run().expect_clean();
    assert!(std::fs::read_to_string(file).unwrap().contains("--advisor"));
}
