//! What happens to a conversation that stays open for long: another day, a machine that slept, a configuration folder on
//! another disk; and what the administrator says about what it may cost.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, host};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use testkit::{GimletRun, ModelServer, ReplyGate, RunningGimlet, Sandbox, ScriptedReply};

fn say(run: &mut RunningGimlet, text: &str) -> Value {
    run.send_user(text);
    run.wait_for("result")
}

#[test]
fn another_day_or_time_zone_is_told_once() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let mut sandbox = Sandbox::with_server(EXE, &server);
    // These two never have the same date.
    sandbox.set("TZ", "FAR+12");
    sandbox.gimlet(&["-p", "one"]).run().expect_clean();
    sandbox.set("TZ", "NEAR-14");
    for prompt in ["two", "three"] {
        sandbox.gimlet(&["-p", prompt, "-c"]).run().expect_clean();
    }
    let lines = sandbox.transcript();
    let changes: Vec<&Value> = lines.iter().filter(|line| line["attachment"]["type"] == "date_change").collect();
    assert_eq!(changes.len(), 1, "{changes:?}");
    let date = changes[0]["attachment"]["newDate"].as_str().unwrap().to_owned();
    assert!(server.last_request().all_text().contains(&date));
}

fn signal(run: &RunningGimlet, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(run.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn a_machine_that_slept_while_an_answer_came_asks_again() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let mut step = 0;
    let server = ModelServer::with_handler(move |_| {
        step += 1;
        match step {
            // The connection is gone when the machine wakes up.
            1 => ScriptedReply::text("half of it").gate(&held).cut_after_events(2).cut_by_reset(),
            _ => ScriptedReply::text("the whole answer"),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &[]).spawn();
    run.send_user("go");
    gate.wait_until_reached(1);
    signal(&run, rustix::process::Signal::STOP);
    gate.open_all();
    testkit::wait_until("the lost answer", || server.requests().len() == 1);
    signal(&run, rustix::process::Signal::CONT);
    assert_eq!(run.wait_for("result")["result"], "the whole answer");
    assert_eq!(say(&mut run, "and now?")["result"], "the whole answer");
}

/// Copies a folder, as a move to another disk does: no file stays the same file.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o700)).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_configuration_folder_that_moves_to_another_disk_loses_nothing() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("fine"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &[]).spawn();
    say(&mut run, "before the move");
    let (old, new) = (sandbox.config_dir(), sandbox.root().join("other-disk"));
    copy(&old, &new);
    std::fs::remove_dir_all(&old).unwrap();
    std::os::unix::fs::symlink(&new, &old).unwrap();
    let after = say(&mut run, "after the move");
    assert_eq!(after["result"], "fine", "{after}");
    run.close_stdin();
    run.finish().expect_code(0);
    let paths = sandbox.transcript_paths();
    let text: String = paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert!(paths.len() == 1 && text.contains("before the move") && text.contains("after the move"), "{text}");
}

/// The run with these settings of the administrator; `None`, with a message, where there are no namespaces.
#[expect(clippy::disallowed_methods, clippy::print_stderr, reason = "the place of these settings is made from outside")]
fn administered(sandbox: &Sandbox, settings: &Value, run: GimletRun) -> Option<GimletRun> {
    let script = format!(
        "#!/bin/sh\nexec unshare -rm sh -c 'cat /etc/passwd > \"$0/passwd\"; mount -t tmpfs none /etc || exit 77; mkdir \
         /etc/claude-code; cp \"$0/passwd\" /etc/passwd; cp \"$0/managed.json\" /etc/claude-code/managed-settings.json; chmod -R \
         go-w /etc/claude-code; exec {EXE} \"$@\"' {} \"$@\"\n",
        sandbox.root().display()
    );
    std::fs::write(sandbox.root().join("managed.json"), settings.to_string()).unwrap();
    let program = sandbox.root().join("administered");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let probe = std::process::Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/etc"]).output();
    if probe.as_ref().is_ok_and(|done| done.status.success()) {
        return Some(run.exe(program));
    }
    eprintln!("NOT RUN: no place of its own for the administrator's settings: {probe:?}");
    None
}

/// [LNG-35] The administrator's budget counts where the user's is higher, and nothing in the session raises it.
#[test]
fn the_administrators_budget_cannot_be_raised() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("big").tokens(50_000, 10));
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", json!({"budgets": {"dailyUsd": 50}}).to_string());
    let run = host(&sandbox, &["--model", "claude-sonnet-4-5"]);
    let Some(run) = administered(&sandbox, &json!({"budgets": {"dailyUsd": 0.2}}), run) else { return };
    let mut run = run.spawn();
    assert_eq!(say(&mut run, "one")["result"], "big");
    let over = say(&mut run, "two");
    assert_eq!(over["subtype"], "error_max_budget_usd", "{over}");
    assert_eq!(over["x_budget"]["limit"], json!(0.2), "{over}");
    let sent = server.requests().len();
    let refused = say(&mut run, "/budget day 5");
    assert!(refused["result"].as_str().unwrap().contains("The administrator allows $0.20"), "{refused}");
    assert_eq!(say(&mut run, "three")["subtype"], "error_max_budget_usd");
    assert_eq!(server.requests().len(), sent);
}
