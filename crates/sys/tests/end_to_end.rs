//! Tests that need whole processes: which of them remain after the end of their parent, and files when writing fails.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "these tests start the fixture as a stranger would")]

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SHAPES: [&str; 6] = ["plain", "setsid", "nohup", "daemon", "doublefork", "scrubbed"];

/// The running fixture; killed when a test ends early.
struct Fixture(Child);

impl Drop for Fixture {
    fn drop(&mut self) {
        self.end();
    }
}

impl Fixture {
    fn end(&mut self) {
        self.0.kill().ok();
        self.0.wait().unwrap();
    }

    fn succeeds(&mut self) -> bool {
        self.0.wait().unwrap().success()
    }
}

fn fixture(command: &str, dir: &Path) -> Fixture {
    let mut program = Command::new(env!("CARGO_BIN_EXE_gimlet-sys-fixture"));
    Fixture(program.arg(command).arg(dir).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
}

fn pid_in(path: &Path) -> i32 {
    std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

fn ready(dir: &Path) {
    testkit::wait_until("the fixture is ready", || dir.join("ready").exists());
}

fn everyone_goes(dir: &Path) {
    for shape in SHAPES {
        let pid = pid_in(&dir.join(shape));
        testkit::wait_until(&format!("{shape} ({pid}) is gone"), || !sys::is_alive(pid));
    }
}

fn children_of(pid: u32) -> Vec<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn keeper_of(pid: u32) -> i32 {
    let is_keeper = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains(sys::keeper::ARGUMENT))
    };
    children_of(pid).into_iter().find(is_keeper).unwrap()
}

// [TST-57]
#[test]
fn nothing_survives_sigkill() {
    let dir = tempfile::tempdir().unwrap();
    let mut parent = fixture("guarded", dir.path());
    ready(dir.path());
    for shape in SHAPES {
        assert!(sys::is_alive(pid_in(&dir.path().join(shape))), "{shape} runs");
    }
    let keeper = keeper_of(parent.0.id());
    parent.end();
    everyone_goes(dir.path());
    testkit::wait_until("the keeper is gone", || !sys::is_alive(keeper));
}

// [TST-57]
#[test]
fn nothing_survives_a_plain_exit_nor_does_the_keeper() {
    let dir = tempfile::tempdir().unwrap();
    assert!(fixture("exit", dir.path()).succeeds());
    everyone_goes(dir.path());
}

// [TST-57]
#[test]
fn kill_all_leaves_nobody_even_without_keeper() {
    let dir = tempfile::tempdir().unwrap();
    assert!(fixture("kill-all", dir.path()).succeeds());
    assert!(dir.path().join("killed").exists());
}

#[test]
fn the_keeper_ignores_polite_signals_and_holds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut parent = fixture("guarded", dir.path());
    ready(dir.path());
    let keeper = keeper_of(parent.0.id());
    for signal in ["-INT", "-TERM", "-HUP"] {
        assert!(Command::new("kill").args([signal, &keeper.to_string()]).status().unwrap().success());
    }
    assert!(sys::is_alive(keeper));
    assert_eq!(std::fs::read_dir(format!("/proc/{keeper}/fd")).unwrap().count(), 3);
    assert_eq!(std::fs::read(format!("/proc/{keeper}/environ")).unwrap(), b"");
    let stat = std::fs::read_to_string(format!("/proc/{keeper}/stat")).unwrap();
    assert_eq!(stat[stat.rfind(')').unwrap()..].split_whitespace().nth(4), Some(keeper.to_string().as_str()));
    parent.end();
    everyone_goes(dir.path());
}

#[test]
fn a_keeper_that_was_killed_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let mut parent = fixture("revive", dir.path());
    ready(dir.path());
    let (first, second) = (pid_in(&dir.path().join("ready")), pid_in(&dir.path().join("plain")));
    assert!(sys::is_alive(first) && sys::is_alive(second));
    parent.end();
    testkit::wait_until("both are gone", || !sys::is_alive(first) && !sys::is_alive(second));
}

#[test]
fn a_keeper_without_a_ward_harms_nobody() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gimlet-sys-fixture"));
    let status = command.arg(sys::keeper::ARGUMENT).stdin(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_full_disk_tears_no_line_and_empties_no_file() {
    let dir = tempfile::tempdir().unwrap();
    assert!(fixture("limited", dir.path()).succeeds());
}

#[test]
fn a_closed_directory_falls_back_to_writing_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, "a longer old text").unwrap();
    let before = std::fs::metadata(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let succeeded = fixture("closed", dir.path()).succeeds();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(succeeded);
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!((after.ino(), after.uid()), (before.ino(), before.uid()));
}
