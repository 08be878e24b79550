//! Background tasks: how they start and end, and how they are queried.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "test code")]

use crate::common::Bench;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use sys::Env;
use tools::tasks::{TaskEvent, TaskStatus};

fn with_env(vars: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::new();
    let kept = Env::snapshot();
    let path = kept.get("PATH").unwrap_or("/usr/bin:/bin").to_owned();
    bench.facts.env = Env::default().with([("PATH", path.as_str())]).with(vars.iter().copied());
    bench
}

async fn background(bench: &Bench, command: &str) -> (String, Value) {
    let (text, result) = bench.ok("Bash", json!({"command": command, "run_in_background": true})).await;
    let id = result["backgroundTaskId"].as_str().unwrap().to_owned();
    assert!(text.contains(&id), "{text}");
    (id, result)
}

async fn settled(bench: &Bench) -> tools::tasks::TaskRecord {
    let state = bench.state();
    let wait = async {
        loop {
            if let TaskEvent::Settled(task) = state.tasks.next_event(None).await {
                return task;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect("the task settles")
}

#[tokio::test]
async fn a_background_command_returns_at_once_and_settles_once() {
    // [TST-52] [TST-53]
    let bench = with_env(&[]);
    let command = "echo begun; while [ ! -e go ]; do sleep 0.01; done; echo done";
    let (id, result) = background(&bench, command).await;
    assert!(id.len() == 9 && id.starts_with('b'), "{id}");
    for key in ["stdout", "stderr", "interrupted", "isImage"] {
        assert!(result.get(key).is_some(), "{key}");
    }
    let state = bench.state();
    let task = state.tasks.get(&id).unwrap();
    assert_eq!(task.output, bench.facts.tasks_dir.join(format!("{id}.output")));
    assert_eq!(task.tool_use_id, "toolu_test");
    testkit::until("begun", || std::fs::read_to_string(&task.output).unwrap() == "begun\n").await;
    assert_eq!(state.tasks.running().len(), 1);
    bench.file("go", "");
    let task = settled(&bench).await;
    assert_eq!((task.status, task.exit_code), (TaskStatus::Completed, Some(0)));
    assert_eq!(std::fs::read_to_string(&task.output).unwrap(), "begun\ndone\n");
    assert!(state.tasks.running().is_empty());
    state.tasks.stop(&id).await;
    assert!(state.tasks.take_events(None).is_empty());
    assert_eq!(mode(&bench.facts.tasks_dir), 0o700);
    let (text, _) = bench.ok("Bash", json!({"command": "pwd"})).await;
    assert_eq!(text, bench.dir.display().to_string());
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_timeout_moves_the_command_to_the_background() {
    // [TST-51]
    let bench = with_env(&[]);
    std::fs::create_dir(bench.dir.join("sub")).unwrap();
    // The command parser does not understand loops, so the loop is in a script.
    bench.file("wait.sh", "cd sub; echo before; while [ ! -e ../go ]; do sleep 0.01; done; echo after");
    let (text, result) = bench.ok("Bash", json!({"command": "cd . && sh wait.sh", "timeout": 1_200})).await;
    let id = result["backgroundTaskId"].as_str().unwrap().to_owned();
    let path = bench.facts.tasks_dir.join(format!("{id}.output"));
    assert!(
        text.contains("Command did not complete within its 1.2s timeout and was moved to the background"),
        "{text}"
    );
    assert!(text.starts_with("before\n") && text.contains(&id) && text.contains(path.to_str().unwrap()));
    let hint = format!(
        "Session cwd remains {}; directory changes made by the backgrounded command do not apply to subsequent commands.",
        bench.dir.display()
    );
    assert!(text.ends_with(&hint), "{text}");
    assert_eq!(result["backgroundCwdHint"], hint.as_str());
    assert_eq!(result["timedOutAfterMs"], 1_200);
    assert_eq!(result["stdout"], "before");
    bench.file("go", "");
    assert_eq!(settled(&bench).await.status, TaskStatus::Completed);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "before\nafter\n");
}

#[tokio::test]
async fn some_commands_are_ended_at_their_timeout() {
    // [TST-51]
    let no_tasks = with_env(&[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"), ("BASH_DEFAULT_TIMEOUT_MS", "100")]);
    let plain = with_env(&[("BASH_DEFAULT_TIMEOUT_MS", "100")]);
    for (bench, command) in [
        (&plain, "sleep 7200"),
        (&plain, "echo said; git hash-object --stdin </dev/null; tail -f /dev/null"),
        (&plain, "for i in 1 2; do sleep 7200; done"),
        (&no_tasks, "tail -f /dev/null"),
    ] {
        let outcome = bench.call("Bash", json!({"command": command})).await;
        let result: Value = serde_json::from_str(outcome.structured.unwrap().get()).unwrap();
        assert_eq!(result["interrupted"], true, "{command}");
        assert_eq!(result["timedOutAfterMs"], 100);
        assert!(outcome.is_error && outcome.content.text().contains("0.1s timeout and was terminated"), "{command}");
        assert!(bench.state().tasks.all().is_empty());
    }
}

#[tokio::test]
async fn background_off_means_foreground() {
    let bench = with_env(&[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")]);
    let (text, _) = bench.ok("Bash", json!({"command": "echo here", "run_in_background": true})).await;
    assert_eq!(text, "here");
}

#[tokio::test]
async fn a_background_deadline_is_kept() {
    let bench = with_env(&[]);
    bench.ok("Bash", json!({"command": "sleep 7200", "run_in_background": true, "timeout": 1_000})).await;
    let task = settled(&bench).await;
    assert_eq!(task.status, TaskStatus::Killed);
    assert!(task.note.unwrap().contains("time limit"));
}

#[tokio::test]
async fn task_output_reports_state_and_output() {
    // [TST-66]
    let bench = with_env(&[]);
    let (id, _) = background(&bench, "echo begun; while [ ! -e go ]; do sleep 0.01; done; seq 1 20000; exit 4").await;
    let (text, result) = bench.ok("TaskOutput", json!({"task_id": id, "block": false})).await;
    assert!(text.starts_with("<retrieval_status>not_ready</retrieval_status>"), "{text}");
    assert_eq!(result["task"]["status"], "running");
    let (text, _) = bench.ok("TaskOutput", json!({"task_id": id, "timeout": 10})).await;
    assert!(text.contains("<retrieval_status>timeout</retrieval_status>"));
    let unknown = bench.fails("TaskOutput", json!({"task_id": "bnope"})).await;
    assert!(unknown.contains("bnope") && unknown.contains(&id) && unknown.contains("echo begun"), "{unknown}");
    bench.file("go", "");
    let (text, result) = bench.ok("BashOutput", json!({"bash_id": id})).await;
    for part in [
        "<retrieval_status>success</retrieval_status>".to_owned(),
        format!("<task_id>{id}</task_id>"),
        "<task_type>local_bash</task_type>".to_owned(),
        "<status>failed</status>".to_owned(),
        "<exit_code>4</exit_code>".to_owned(),
        format!("<output>\n[Truncated. Full output: {}]", bench.facts.tasks_dir.join(format!("{id}.output")).display()),
    ] {
        assert!(text.contains(&part), "{part} missing in {}", &text[..400]);
    }
    assert!(text.ends_with("\n20000\n</output>"));
    assert!(text.len() < 33_000);
    assert_eq!(result["task"]["exitCode"], 4);
}

#[tokio::test]
async fn task_stop_ends_the_tree() {
    // [TST-67] [TST-57]
    let bench = with_env(&[]);
    let (id, _) = background(&bench, "setsid sleep 7301 & echo $! > pid; wait").await;
    testkit::until("a pid", || bench.dir.join("pid").exists() && !bench.text("pid").is_empty()).await;
    let pid = bench.text("pid").trim().to_owned();
    let (text, result) = bench.ok("KillShell", json!({"shell_id": id})).await;
    assert_eq!(result["message"], text.as_str());
    assert_eq!(result["task_id"], id.as_str());
    assert_eq!(result["task_type"], "local_bash");
    assert!(result["command"].as_str().unwrap().starts_with("setsid"));
    assert!(!Path::new("/proc").join(pid).exists());
    assert_eq!(settled(&bench).await.status, TaskStatus::Killed);
    let again = bench.fails("TaskStop", json!({"task_id": id})).await;
    assert!(again.contains("killed"), "{again}");
    assert!(bench.try_call("TaskStop", json!({})).await.is_err());
    assert!(bench.fails("TaskStop", json!({"task_id": "bnope"})).await.contains("none is running"));
}

#[tokio::test]
async fn the_end_of_the_session_ends_its_tasks() {
    // [TST-57]
    let bench = with_env(&[]);
    for n in 0..3 {
        background(&bench, &format!("trap '' TERM; echo $$ > pid{n}; while :; do sleep 0.05; done")).await;
    }
    let read = |n| std::fs::read_to_string(bench.dir.join(format!("pid{n}"))).unwrap_or_default();
    testkit::until("three pids", || (0..3).all(|n| !read(n).is_empty())).await;
    bench.state().shutdown().await;
    for pid in (0..3).map(read) {
        assert!(!Path::new("/proc").join(pid.trim()).exists());
    }
    assert!(bench.state().tasks.all().iter().all(|task| task.status == TaskStatus::Killed));
}

#[test]
fn descriptions_stay_short() {
    for (name, limit) in [("Bash", 2_200), ("TaskOutput", 500), ("TaskStop", 500)] {
        let registry = tools::ToolRegistry::new(|tool| tool == name);
        let size = registry.tool_fragments()[0].get().len();
        assert!(size <= limit, "{name} takes {size} bytes");
    }
}

// [F-C1]
#[tokio::test]
async fn output_that_cannot_be_saved_is_said_and_its_end_is_told() {
    let mut bench = with_env(&[]);
    bench.facts.tasks_dir = "/dev/null/tasks".into();
    bench.facts.session_dir = "/dev/null/session".into();
    let input = json!({"command": "echo the last words", "run_in_background": true});
    let (text, _) = bench.ok("Bash", input).await;
    assert!(text.contains("Not kept: its output could not be saved"), "{text}");
    let note = settled(&bench).await.note.expect("a note");
    assert!(note.contains("could not be saved") && note.ends_with("the last words"), "{note}");
}

// [F-C1]
#[tokio::test]
async fn output_goes_to_the_session_when_the_temporary_folder_cannot_be_written() {
    let mut bench = with_env(&[]);
    bench.facts.tasks_dir = "/dev/null/tasks".into();
    background(&bench, "echo kept").await;
    let task = settled(&bench).await;
    assert!(task.output.starts_with(&bench.facts.session_dir), "{}", task.output.display());
    assert_eq!(std::fs::read_to_string(&task.output).unwrap(), "kept\n");
}
