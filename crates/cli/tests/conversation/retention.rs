//! What happens to old conversations: they are announced, those that matter stay, and `gimlet sessions sweep --dry-run`
//! tells which is which.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use std::fs::FileTimes;
use std::path::Path;
use std::time::{Duration, SystemTime};
use testkit::{ModelServer, Sandbox, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

fn age(path: &Path, days: u64) {
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(sys::clock::now_ms()) - Duration::from_hours(24 * days);
    std::fs::File::open(path).unwrap().set_times(FileTimes::new().set_modified(at)).unwrap();
}

/// Everything in the folder, the folder itself last.
fn age_all(dir: &Path, days: u64) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            age_all(&entry.path(), days);
        } else {
            age(&entry.path(), days);
        }
    }
    age(dir, days);
}

/// Lets the sweep of today run again, and what was announced be announced two days ago.
fn two_days_pass(sandbox: &Sandbox) {
    std::fs::remove_file(sandbox.config_dir().join(".last-cleanup")).unwrap();
    let file = sandbox.config_dir().join(".cleanup-announced");
    let told = std::fs::read_to_string(&file).unwrap();
    let earlier = |line: &str| {
        let (at, name) = line.split_once(' ').unwrap();
        format!("{} {name}\n", at.parse::<u64>().unwrap() - 2 * 24 * 3_600_000)
    };
    std::fs::write(&file, told.lines().map(earlier).collect::<String>()).unwrap();
}

// [LNG-39]
#[test]
fn what_will_go_is_told_before_and_what_has_a_name_stays() {
    let gates = [testkit::ReplyGate::new(), testkit::ReplyGate::new()];
    let held = gates.clone();
    let server = ModelServer::with_handler(move |request| {
        let reply = ScriptedReply::text("An answer.");
        let gate = held.iter().enumerate().find(|(at, _)| request.last_user_text().contains(&format!("later {at}")));
        gate.map_or(reply.clone(), |(_, gate)| reply.gate(gate))
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    for prompt in ["forget this", "keep this"] {
        sandbox.gimlet(&["-p", prompt]).run().expect_clean();
    }
    let paths = sandbox.transcript_paths();
    let with = |text: &str| paths.iter().find(|path| std::fs::read_to_string(path).unwrap().contains(text)).unwrap();
    let (forgotten, kept) = (with("forget this"), with("keep this"));
    let id = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    sandbox.gimlet(&["sessions", "rename", &id(kept), "The one to keep"]).run().expect_clean();
    age_all(&sandbox.config_dir().join("projects"), 40);
    let dry = || sandbox.gimlet(&["sessions", "sweep", "--dry-run"]).run().expect_clean().stdout;
    let told = dry();
    assert!(told.contains(&id(forgotten)) && told.contains("goes a day after it is announced"), "{told}");
    assert!(told.contains("stays: named  The one to keep"), "{told}");
    assert!(paths.iter().all(|path| path.exists()), "a dry run removes nothing");
    let doctor = sandbox.gimlet(&["doctor"]).run().stdout;
    assert!(doctor.contains("1 session older than 30 days will be removed"), "{doctor}");
    let sweep = |gone: bool| {
        std::fs::remove_file(sandbox.config_dir().join(".last-cleanup")).ok();
        let running = sandbox.gimlet(&["-p", &format!("later {}", usize::from(gone))]).spawn();
        let announced = sandbox.config_dir().join(".cleanup-announced");
        testkit::wait_until("the sweep", || announced.exists() && forgotten.exists() != gone);
        gates[usize::from(gone)].open_all();
        running.finish().expect_code(0).stderr
    };
    let stderr = sweep(false);
    assert!(stderr.contains("1 session unused for 30 days will be removed from tomorrow on"), "{stderr}");
    assert!(stderr.contains("gimlet sessions sweep --dry-run"), "{stderr}");
    two_days_pass(&sandbox);
    assert!(dry().contains("goes with the next sweep"), "{}", dry());
    let listed = sandbox.gimlet(&["sessions", "sweep", "--dry-run", "--json"]).run().expect_clean().json();
    let row = |path: &Path| -> Value {
        let rows = listed["sessions"].as_array().unwrap();
        rows.iter().find(|row| row["sessionId"] == id(path)).unwrap().clone()
    };
    assert_eq!((&row(forgotten)["kept"], &row(kept)["kept"]), (&Value::Null, &json!("named")));
    sweep(true);
    assert!(!forgotten.exists() && kept.exists());
}

// [LNG-39]
#[test]
fn a_sweep_by_hand_is_refused_with_the_reason() {
    let sandbox = Sandbox::new(EXE);
    let run = sandbox.gimlet(&["sessions", "sweep"]).run();
    assert!(run.code() == 1 && run.stderr.contains("--dry-run"), "{}", run.stderr);
    let run = sandbox.gimlet(&["sessions", "sweep", "--dry-run"]).run().expect_clean();
    assert_eq!(run.stdout, "Nothing is older than 30 days\n");
}
