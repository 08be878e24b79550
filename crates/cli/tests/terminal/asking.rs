//! Questions as a person answers them: what they show, what "do not ask again" saves, a no with words, servers of a
//! folder, an endpoint of one's own.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const UP: &str = "\x1b[A";

fn start(sandbox: &Sandbox, size: (u16, u16)) -> TestTerminal {
    let terminal = sandbox.gimlet::<&str>(&[]).terminal(size.0, size.1);
    terminal.wait_for("? for shortcuts");
    terminal
}

fn bash(command: &str, purpose: &str) -> ScriptedReply {
    ScriptedReply::tool("Bash", json!({"command": command, "description": purpose}))
}

fn local(sandbox: &Sandbox) -> Value {
    let text = std::fs::read_to_string(sandbox.project().join(".claude/settings.local.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// [TST-240]
#[test]
fn a_no_that_says_what_to_do_instead_is_one_key_away() {
    let server = ModelServer::script([bash("touch made.txt", "Make a file"), ScriptedReply::text("As you wish.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (80, 30));
    terminal.send("make it\r");
    let screen = terminal.wait_for("3. No, and say what to do instead");
    let rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let at = rows.iter().position(|row| row.contains("Do you want to run this command?")).unwrap();
    assert!(rows[at - 1].starts_with("───"), "{screen}");
    assert_eq!(
        rows[at..at + 9],
        [
            "  Do you want to run this command?",
            "  Make a file",
            "",
            "    touch made.txt",
            "",
            "  ❯ 1. Yes",
            "    2. Yes, and do not ask again for  touch *  in this project",
            "    3. No, and say what to do instead",
            "",
        ],
        "{screen}"
    );
    assert!(rows[at + 9].starts_with("  esc to cancel · tab adds a note"), "{screen}");
    terminal.answer("3");
    terminal.wait_for("what to do instead:");
    terminal.send("use mkdir\r");
    terminal.wait_for("As you wish.");
    let told = server.request(1).tool_results()[0]["content"].to_string();
    assert!(told.contains("use mkdir"), "{told}");
    assert!(!sandbox.project().join("made.txt").exists());
}

/// [TST-240] [TST-241]
#[test]
fn keeping_on_planning_asks_what_to_change() {
    let plan = ScriptedReply::tool("ExitPlanMode", json!({"plan": "1. first step"}));
    let server = ModelServer::script([plan, ScriptedReply::text("Changed.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = sandbox.gimlet(&["--permission-mode", "plan"]).terminal(80, 30);
    terminal.wait_for("plan mode on");
    terminal.send("plan it\r");
    terminal.wait_for("3. No, keep planning");
    terminal.answer("3");
    terminal.wait_for("what to change:");
    terminal.send("smaller steps\r");
    terminal.wait_for("Changed.");
    let told = server.request(1).tool_results()[0]["content"].to_string();
    assert!(told.contains("smaller steps"), "{told}");
}

/// [TST-240] [CLI-178]
#[test]
fn a_file_elsewhere_is_the_reason_and_its_folder_can_be_opened_for_the_session() {
    let sandbox_root = tempfile::tempdir().unwrap();
    let elsewhere = sandbox_root.path().canonicalize().unwrap();
    let write = |name: &str| bash(&format!("echo x > {}/{name}", elsewhere.display()), "Write it down");
    let server = ModelServer::script([write("one"), write("two"), ScriptedReply::text("Both are there.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (120, 30));
    terminal.send("write it\r");
    let screen = terminal.wait_for("1. Yes");
    let shown = elsewhere.display().to_string();
    assert!(screen.contains(&format!("Writes outside the project: {shown}/one")), "{screen}");
    assert!(screen.contains(&format!("2. Yes, and allow writing in {shown} for this session")), "{screen}");
    terminal.answer("2");
    terminal.wait_for("Both are there.");
    assert!(elsewhere.join("two").exists(), "the second is not asked about");
    assert!(local(&sandbox).is_null(), "a folder is opened for the session only");
}

/// [TST-240] [SC-E13]
#[test]
fn parts_keep_their_quotes_and_files_and_say_which_one_asks() {
    let command = "mytool \"$NAME\" --name 'a b' 2>&1; ls";
    let server = ModelServer::script([bash(command, ""), ScriptedReply::text("Not now.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox, (100, 30));
    terminal.send("do it\r");
    let screen = terminal.wait_for("1. Yes");
    assert!(screen.contains("? mytool \"$NAME\" --name 'a b' 2>&1\n") && screen.contains("✔ ls\n"), "{screen}");
    assert!(screen.contains("The value of a variable is known only when it runs"), "{screen}");
    assert!(!screen.contains("do not ask again"), "{screen}");
}

/// [TST-247]
#[test]
fn a_question_can_be_answered_in_narrow_windows_without_colour() {
    for (size, shown) in [((40, 24), "  ❯ 1. Yes"), ((20, 12), "❯ 1. Yes")] {
        let server = ModelServer::script([bash("touch made.txt", "Make a file"), ScriptedReply::text("Made.")]);
        let mut sandbox = Sandbox::with_server(EXE, &server);
        sandbox.set("NO_COLOR", "1");
        let mut terminal = sandbox.gimlet(&["make it"]).terminal(size.0, size.1);
        let screen = terminal.wait_for("1. Yes");
        assert!(screen.lines().any(|row| row.trim_end() == shown), "{screen}");
        assert!(screen.contains("esc to cancel") && screen.contains("Do you want"), "{screen}");
        terminal.answer("1");
        server.wait_for_requests(2);
        assert!(sandbox.project().join("made.txt").exists());
    }
}

/// [SC-D05] [TST-207]
#[test]
fn each_server_of_a_folder_is_said_yes_or_no_to_where_the_folder_is_trusted() {
    let server = ModelServer::script([ScriptedReply::text("Hello."), ScriptedReply::text("Hello again.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let declared = |beta: &str| {
        json!({"mcpServers": {
            "alpha": {"command": "sh", "args": ["-c", "touch alpha-ran; cat"]},
            "beta": {"command": "sh", "args": ["-c", beta]},
        }})
        .to_string()
    };
    sandbox.write(".mcp.json", declared("touch beta-ran; cat"));
    // The folder's own word for its servers does not count.
    sandbox.write(".claude/settings.json", json!({"enableAllProjectMcpServers": true}).to_string());
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(100, 30);
    let screen = terminal.wait_for("Do you trust");
    for shown in
        ["[no]  alpha: sh -c 'touch alpha-ran; cat'", "[no]  beta: sh -c 'touch beta-ran; cat'", "❯ 2. No, continue"]
    {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    terminal.answer(UP);
    terminal.wait_for("❯ 1. Yes, I trust this folder, without its servers");
    terminal.send(UP);
    terminal.wait_for("❯ [no]  beta");
    terminal.send(" ");
    terminal.wait_for("❯ [yes] beta");
    terminal.wait_for("with the servers marked yes");
    terminal.send("1");
    terminal.wait_gone("Do you trust");
    terminal.send("hi\r");
    terminal.wait_for("Hello.");
    let ran = |name: &str| sandbox.project().join(format!("{name}-ran")).exists();
    assert!(ran("beta") && !ran("alpha"));
    assert_eq!(local(&sandbox)["enabledMcpjsonServers"], json!(["beta"]));
    assert_eq!(local(&sandbox)["disabledMcpjsonServers"], json!(["alpha"]));
    drop(terminal);
    // [SC-D07] A server that changed is asked about again, and only that one.
    sandbox.write(".mcp.json", declared("touch beta-changed; cat"));
    let mut again = sandbox.gimlet::<&str>(&[]).terminal(100, 30);
    let screen = again.wait_for("has changed since you trusted it");
    assert!(
        screen.contains("[no]  beta: sh -c 'touch beta-changed; cat'") && !screen.contains("[no]  alpha"),
        "{screen}"
    );
    again.answer("1");
    again.wait_gone("has changed since you trusted it");
    again.send("hi\r");
    again.wait_for("Hello again.");
    assert!(!sandbox.project().join("beta-changed").exists());
}

/// [TST-173]
#[test]
fn an_endpoint_of_ones_own_is_entered_at_the_first_start() {
    let server = ModelServer::script([ScriptedReply::text("Welcome."), ScriptedReply::text("Welcome back.")]);
    let mut sandbox = Sandbox::with_server(EXE, &ModelServer::script([]));
    sandbox.unset("ANTHROPIC_API_KEY");
    sandbox.unset("ANTHROPIC_BASE_URL");
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(100, 24);
    terminal.wait_for("2. Use an endpoint of my own");
    terminal.send("2");
    terminal.wait_for("Address:");
    terminal.send("localhost\r");
    terminal.wait_for("Not an address");
    terminal.send(&format!("\x15{}/v1\r", server.url()));
    terminal.wait_for("Key:");
    terminal.send("own-key\r");
    let screen = terminal.wait_for("Model:");
    assert!(!screen.contains("own-key") && screen.contains(server.url()), "{screen}");
    terminal.send("house-model\r");
    let screen = terminal.wait_for("the address and the model in");
    assert!(screen.contains("Key saved in") && screen.contains("settings.json"), "{screen}");
    terminal.wait_gone("Use an endpoint of my own");
    terminal.send("hello\r");
    terminal.wait_for("Welcome.");
    let request = server.request(0);
    assert_eq!((request.header("x-api-key"), request.model()), (Some("own-key"), "house-model"));
    drop(terminal);
    let settings: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.config_dir().join("settings.json")).unwrap()).unwrap();
    assert_eq!(settings, json!({"env": {"ANTHROPIC_BASE_URL": server.url()}, "model": "house-model"}));
    // The next start needs no question.
    let mut again = start(&sandbox, (100, 24));
    again.send("hello\r");
    again.wait_for("Welcome back.");
}
