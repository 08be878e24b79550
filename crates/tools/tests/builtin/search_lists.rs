//! TodoWrite and the task list tools through the tool contract: literal texts, files on disk, concurrent writers.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "test code")]

use crate::common::Bench;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;

#[tokio::test]
async fn todo_write_replaces_the_list() {
    // [TST-81]
    let bench = Bench::new();
    let first = json!([
        {"content": "Run tests", "status": "in_progress", "activeForm": "Running tests"},
        {"content": "Ship", "status": "pending", "activeForm": "Shipping"},
    ]);
    let (text, value) = bench.ok("TodoWrite", json!({"todos": first})).await;
    assert!(text.starts_with("Todos have been modified successfully"), "{text}");
    assert_eq!(value, json!({"oldTodos": [], "newTodos": first}));
    let done = json!([{"content": "Run tests", "status": "completed", "activeForm": "Running tests"}]);
    let (_, value) = bench.ok("TodoWrite", json!({"todos": done})).await;
    assert_eq!(value, json!({"oldTodos": first, "newTodos": done}));
    assert!(bench.state().todos.snapshot().is_empty(), "a finished list is forgotten");

    let wrong = json!({"todos": [{"content": "x", "status": "later", "activeForm": "x"}]});
    assert!(bench.try_call("TodoWrite", wrong).await.unwrap_err().0.contains("todos[0].status"));
    let empty = json!({"todos": [{"content": " ", "status": "pending", "activeForm": "x"}]});
    assert!(bench.try_call("TodoWrite", empty).await.is_err());
}

async fn create(bench: &Bench, subject: &str) -> (String, Value) {
    bench.ok("TaskCreate", json!({"subject": subject, "description": "d"})).await
}

#[tokio::test]
async fn literal_texts_and_numbers_from_one() {
    // [TST-82]
    let bench = Bench::new();
    assert_eq!(bench.ok("TaskList", json!({})).await, ("No tasks found".into(), json!({"tasks": []})));
    let (text, value) = create(&bench, "Fix the bug").await;
    assert_eq!(text, "Task #1 created successfully: Fix the bug");
    assert_eq!(value, json!({"task": {"id": "1", "subject": "Fix the bug", "description": "d"}}));
    assert_eq!(create(&bench, "Ship").await.0, "Task #2 created successfully: Ship");

    let change = json!({"taskId": "1", "status": "in_progress", "owner": "me", "subject": "Fix it"});
    let (text, value) = bench.ok("TaskUpdate", change).await;
    assert_eq!(text, "Updated task #1 subject, owner, status");
    let expected = json!({
        "success": true, "taskId": "1", "updatedFields": ["subject", "owner", "status"],
        "statusChange": {"from": "pending", "to": "in_progress"},
    });
    assert_eq!(value, expected);

    bench.ok("TaskUpdate", json!({"taskId": 2, "addBlockedBy": ["#1", "2", "99"]})).await;
    let (text, value) = bench.ok("TaskList", json!({})).await;
    assert_eq!(text, "#1 [in_progress] Fix it (me)\n#2 [pending] Ship\nTask 2 is blocked by #1");
    assert_eq!(
        value["tasks"][0],
        json!({"id": "1", "subject": "Fix it", "status": "in_progress", "owner": "me", "blockedBy": []})
    );
    assert_eq!(value["tasks"][1]["blockedBy"], json!(["1"]));

    let (text, value) = bench.ok("TaskGet", json!({"taskId": "1"})).await;
    assert_eq!(
        value["task"],
        json!({"id": "1", "subject": "Fix it", "description": "d", "status": "in_progress", "blocks": ["2"], "blockedBy": []})
    );
    assert!(text.contains("Task #1: Fix it") && text.contains("Blocks: #2"), "{text}");

    bench.ok("TaskUpdate", json!({"taskId": "1", "status": "completed"})).await;
    let (text, _) = bench.ok("TaskList", json!({})).await;
    assert_eq!(text, "#1 [completed] Fix it (me)\n#2 [pending] Ship", "what is done blocks nothing");
}

#[tokio::test]
async fn files_metadata_and_deletion() {
    // [TST-82]
    let mut bench = Bench::new();
    bench.facts.env = bench.facts.env.with([("CLAUDE_CODE_TASK_LIST_ID", "team/../x")]);
    let input = json!({"subject": "a", "description": "d", "activeForm": "Doing", "metadata": {"k": 1, "gone": 2}});
    bench.ok("TaskCreate", input).await;
    create(&bench, "b").await;
    let dir = bench.facts.config_home.join("tasks/team----x");
    let read =
        |n: u32| -> Value { serde_json::from_slice(&std::fs::read(dir.join(format!("{n}.json"))).unwrap()).unwrap() };
    let expected = json!({
        "id": "1", "subject": "a", "description": "d", "activeForm": "Doing", "status": "pending",
        "blocks": [], "blockedBy": [], "metadata": {"k": 1, "gone": 2},
    });
    assert_eq!(read(1), expected);

    // Fields of other writers are kept.
    let mut foreign = read(1);
    foreign["extra"] = json!([1]);
    std::fs::write(dir.join("1.json"), foreign.to_string()).unwrap();
    let change = json!({"taskId": "1", "metadata": {"gone": null, "new": true}, "addBlocks": ["2"]});
    let (text, _) = bench.ok("TaskUpdate", change).await;
    assert_eq!(text, "Updated task #1 metadata, blocks");
    assert_eq!((&read(1)["metadata"], &read(1)["extra"]), (&json!({"k": 1, "new": true}), &json!([1])));

    let (text, value) = bench.ok("TaskUpdate", json!({"taskId": "2", "status": "deleted"})).await;
    assert_eq!(text, "Updated task #2 deleted");
    assert_eq!(value["statusChange"], json!({"from": "pending", "to": "deleted"}));
    assert_eq!(read(1)["blocks"], json!([]));
    assert_eq!(create(&bench, "c").await.0, "Task #3 created successfully: c", "numbers are not used twice");

    let (text, value) = bench.ok("TaskUpdate", json!({"taskId": "2", "subject": "x"})).await;
    assert_eq!(text, "Task #2 not found");
    assert_eq!(value, json!({"success": false, "taskId": "2", "updatedFields": [], "error": "Task not found"}));
    assert_eq!(bench.ok("TaskGet", json!({"taskId": "../1"})).await, ("Task not found".into(), json!({"task": null})));
}

#[tokio::test]
async fn concurrent_calls_never_share_a_number() {
    // [TST-82]
    let bench = std::sync::Arc::new(Bench::new());
    let mut calls = tokio::task::JoinSet::new();
    for i in 0..40 {
        let bench = bench.clone();
        calls.spawn(async move { create(&bench, &format!("t{i}")).await.1["task"]["id"].clone() });
    }
    let ids: BTreeSet<String> = calls.join_all().await.iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 40);
    assert!(ids.contains("1") && ids.contains("40"));
}

/// Runs as a child process of the test below: creates tasks in the list it is given.
#[tokio::test]
#[ignore = "the body of a child process"]
async fn child_creates_tasks() {
    let mut bench = Bench::new();
    let Some(home) = bench.facts.env.get("TEST_TASK_HOME") else { return };
    bench.facts.config_home = home.into();
    for i in 0..15 {
        create(&bench, &format!("{} {i}", std::process::id())).await;
    }
}

#[test]
fn concurrent_processes_never_collide() {
    // [TST-82]
    let home = tempfile::tempdir().unwrap();
    let exe = std::env::current_exe().unwrap();
    #[expect(clippy::disallowed_methods, reason = "the point is another process of this very test")]
    let start = || {
        Command::new(&exe)
            .args(["--ignored", "--exact", "search_lists::child_creates_tasks"])
            .env("TEST_TASK_HOME", home.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| start()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let dir = home.path().join("tasks/00000000-0000-4000-8000-000000000000");
    let mut subjects = BTreeSet::new();
    for n in 1..=60 {
        let task: Value = serde_json::from_slice(&std::fs::read(dir.join(format!("{n}.json"))).unwrap()).unwrap();
        assert_eq!(task["id"], n.to_string());
        subjects.insert(task["subject"].as_str().unwrap().to_owned());
    }
    assert_eq!(subjects.len(), 60, "no task was overwritten");
    assert!(!dir.join("61.json").exists());
}
