//! Signals, and readers that leave.

use serde_json::json;
use testkit::{ModelServer, ReplyGate, RunningGimlet, Sandbox, ScriptedBlock, ScriptedReply};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");
const STREAM: [&str; 3] = ["--output-format", "stream-json", "--verbose"];
const SDK: [&str; 5] = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

/// A server whose answer stops after its first words, and a run that has received them.
struct Streaming {
    _server: ModelServer,
    sandbox: Sandbox,
    running: RunningGimlet,
}

fn streaming(args: &[&str]) -> Streaming {
    let gate = ReplyGate::new();
    let pieces = ScriptedBlock::TextPieces(vec!["so far".into(), " and never this".into()]);
    let server = ModelServer::script([ScriptedReply::message(vec![pieces]).gate(&gate)]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let args = [&["-p", "hi", "--include-partial-messages"], &STREAM[..], args].concat();
    let mut running = sandbox.gimlet(&args).spawn();
    gate.open_for(4);
    while running.wait_for("stream_event")["event"]["type"] != "content_block_delta" {}
    Streaming { _server: server, sandbox, running }
}

fn registry_is_empty(sandbox: &Sandbox) -> bool {
    let dir = std::fs::read_dir(sandbox.config_dir().join("sessions"));
    dir.map_or(true, |mut files| files.next().is_none())
}

#[test]
fn sigint_ends_the_turn_with_what_there_is() {
    // [CLI-52] [TST-202] [F-B2]
    let run = streaming(&[]);
    run.running.interrupt();
    let done = run.running.finish().expect_code(1);
    assert_eq!(done.stderr, "");
    let lines = done.lines();
    let partial = lines.iter().find(|l| l["type"] == "assistant").unwrap();
    assert_eq!(partial["message"]["content"][0]["text"], "so far");
    let result = done.result();
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"], &result["is_error"]),
        (&json!("error_during_execution"), &json!("aborted_streaming"), &json!(true))
    );
    assert!(registry_is_empty(&run.sandbox));
}

#[test]
fn sigint_in_text_mode_prints_what_there_is() {
    let gate = ReplyGate::new();
    let pieces = ScriptedBlock::TextPieces(vec!["so far".into(), " and never this".into()]);
    let server = ModelServer::script([ScriptedReply::message(vec![pieces]).gate(&gate)]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let running = sandbox.gimlet(&["-p", "hi"]).spawn();
    gate.open_for(4);
    gate.wait_until_reached(5);
    running.interrupt();
    let done = running.finish().expect_code(1);
    assert!(done.stdout == "so far\n" || done.stdout.starts_with("Error:"), "{done:?}");
    let told = format!("{}{}", done.stdout, done.stderr);
    assert!(told.contains("Interrupted by the user"), "{done:?}");
}

#[test]
fn sigterm_and_sighup_stop_at_once_without_a_result() {
    // [CLI-51] [SDK-188] [TST-202]
    for (hang_up, code) in [(false, 143), (true, 129)] {
        let run = streaming(&[]);
        if hang_up {
            run.running.hang_up();
        } else {
            run.running.terminate();
        }
        let done = run.running.finish().expect_code(code);
        assert_eq!(done.stderr, "");
        assert!(!done.stdout.contains(r#""type":"result""#), "{}", done.stdout);
        assert!(registry_is_empty(&run.sandbox));
    }
}

#[test]
fn sigterm_during_a_tool_kills_its_whole_tree() {
    // [CLI-51] [TST-202]
    let server =
        ModelServer::script([ScriptedReply::tool("Bash", json!({"command": "echo $$ > pid; sleep 600 & wait"}))]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let args = [&["-p", "hi", "--allowedTools", "Bash"], &STREAM[..]].concat();
    let running = sandbox.gimlet(&args).spawn();
    let file = sandbox.project().join("pid");
    let shell = wait_until(|| std::fs::read_to_string(&file).ok()?.trim().parse::<u32>().ok());
    running.terminate();
    running.finish().expect_code(143);
    wait_until(|| (!std::path::Path::new(&format!("/proc/{shell}")).exists()).then_some(()));
    let lines = sandbox.transcript();
    assert!(lines.iter().any(|l| l.to_string().contains("tool_use")), "the call was recorded before it ran");
}

#[test]
fn sigint_while_idle_is_the_end() {
    let server = ModelServer::script([ScriptedReply::text("ok")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = sandbox.gimlet(&SDK).stdin_open().spawn();
    running.send_user("hi");
    running.wait_for("result");
    running.interrupt();
    running.finish().expect_code(130);
}

#[test]
fn sigint_while_only_background_work_runs_stops_it_and_says_so() {
    // [F-B2]
    let server = background();
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = sandbox.gimlet(&[&SDK[..], &["--allowedTools", "Bash"]].concat()).stdin_open().spawn();
    running.send_user("hi");
    running.wait_for("result");
    running.interrupt();
    let result = running.wait_for("result");
    assert_eq!(result["is_error"], true, "{result}");
    assert_eq!(result["background_tasks_stopped"][0]["description"], "Sleep long", "{result}");
    running.finish().expect_code(1);
}

#[test]
fn a_second_sigint_does_not_wait() {
    let server = ModelServer::script([ScriptedReply::hang()]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut running = sandbox.gimlet(&SDK).stdin_open().spawn();
    running.send_user("hi");
    server.wait_for_requests(1);
    running.interrupt();
    running.wait_for("result");
    running.interrupt();
    running.finish().expect_code(130);
}

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("hello").gate(&gate)]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let mut command = sandbox.gimlet(&[&["-p", "hi", "--include-partial-messages"], &STREAM[..]].concat()).command();
    let mut child = command.spawn().unwrap();
    server.wait_for_requests(1);
    drop(child.stdout.take());
    gate.open_all();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(registry_is_empty(&sandbox));
}

/// A run whose answer is finished and whose command still goes on in the background.
fn waiting(server: &ModelServer, sandbox: &Sandbox, args: &[&str]) -> RunningGimlet {
    let args = [&["-p", "hi", "--allowedTools", "Bash"], args].concat();
    let running = sandbox.gimlet(&args).spawn();
    server.wait_for_requests(2);
    let told = || sandbox.transcript_paths().first().and_then(|path| std::fs::read_to_string(path).ok());
    wait_until(|| told()?.contains("cost-state").then_some(()));
    running
}

fn background() -> ModelServer {
    let call = json!({"command": "sleep 300", "run_in_background": true, "description": "Sleep long"});
    ModelServer::script([ScriptedReply::tool("Bash", call), ScriptedReply::text("the answer")])
}

#[test]
fn sigint_while_background_work_is_waited_for_keeps_the_answer() {
    // [F-B2]
    let server = background();
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let running = waiting(&server, &sandbox, &[]);
    running.interrupt();
    let done = running.finish().expect_code(1);
    assert_eq!(done.stdout, "the answer\n");
    assert!(done.stderr.contains("Interrupted by the user") && done.stderr.contains("\"Sleep long\""), "{done:?}");

    for format in [&["--output-format", "json"][..], &STREAM] {
        let server = background();
        let sandbox = Sandbox::with_server(GIMLET, &server);
        let running = waiting(&server, &sandbox, format);
        running.interrupt();
        let done = running.finish().expect_code(1);
        let result = serde_json::from_str::<serde_json::Value>(done.stdout.lines().last().unwrap()).unwrap();
        assert_eq!((&result["is_error"], &result["result"]), (&json!(true), &json!("the answer")), "{result}");
        assert_eq!(result["background_tasks_stopped"][0]["description"], "Sleep long", "{result}");
        assert!(result["errors"].to_string().contains("Sleep long"), "{result}");
    }
}

#[test]
fn sigint_of_the_last_turn_ends_the_run_with_its_background_work() {
    // [F-B2]
    let call = json!({"command": "sleep 300", "run_in_background": true, "description": "Sleep long"});
    let server = ModelServer::script([ScriptedReply::tool("Bash", call), ScriptedReply::hang()]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let args = [&["-p", "hi", "--allowedTools", "Bash"], &STREAM[..]].concat();
    let running = sandbox.gimlet(&args).spawn();
    server.wait_for_requests(2);
    running.interrupt();
    let done = running.finish().expect_code(1);
    let result = done.result();
    assert_eq!(result["background_tasks_stopped"][0]["description"], "Sleep long", "{result}");
    assert_eq!(server.requests().len(), 2, "nothing is asked behind the interrupt");
}

#[test]
fn sigint_ends_waits_before_the_request() {
    // [F-B2]
    let hang = json!({"mcpServers": {"slow": crate::common::mcp::server(&["hang"])}}).to_string();
    let helper = json!({"apiKeyHelper": "echo $$ > started; exec sleep 300"}).to_string();
    for args in [["--mcp-config", hang.as_str()], ["--settings", helper.as_str()]] {
        let server = ModelServer::script([ScriptedReply::text("never")]);
        let mut sandbox = Sandbox::with_server(GIMLET, &server);
        if args[0] == "--settings" {
            sandbox.unset("ANTHROPIC_API_KEY");
        }
        let running = sandbox.gimlet(&[&["-p", "hi"], &args[..], &STREAM].concat()).spawn();
        wait_until(|| is_waiting(&running, &sandbox).then_some(()));
        running.interrupt();
        let done = running.finish().expect_code(1);
        assert_eq!(done.result()["terminal_reason"], "aborted_streaming", "{done:?}");
        assert!(server.requests().is_empty());
    }
}

/// The helper runs, or the server does.
fn is_waiting(running: &RunningGimlet, sandbox: &Sandbox) -> bool {
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let is_server = |pid: &str| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("mcp_server.py"))
    };
    sandbox.project().join("started").exists() || children.split_whitespace().any(is_server)
}

#[test]
fn sigint_during_a_start_hook_ends_the_run() {
    // [F-B2]
    let server = ModelServer::script([ScriptedReply::text("never")]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    let hook = json!([{"hooks": [{"type": "command", "command": "touch started; sleep 300"}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"SessionStart": hook}}).to_string());
    let running = sandbox.gimlet(&[&["-p", "hi"], &STREAM[..]].concat()).spawn();
    wait_until(|| sandbox.project().join("started").exists().then_some(()));
    running.interrupt();
    let done = running.finish().expect_code(1);
    assert_eq!(done.result()["is_error"], true, "{done:?}");
    assert!(server.requests().is_empty(), "the prompt is not sent");
}

/// Waits for a condition of the file system or the process table, which have no events to wait on.
fn wait_until<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    testkit::wait_for(|| ready().ok_or_else(|| "a condition".to_owned()))
}
