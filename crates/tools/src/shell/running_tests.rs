use super::*;
use crate::shell::capture::CaptureLimits;
use std::path::Path;
use sys::process::{ChildInput, ChildOutput, SpawnSpec};

const LIMITS: CaptureLimits = CaptureLimits { inline_chars: 1_000, file_bytes: 1_000_000, kill_bytes: 4_000_000 };

fn start(dir: &Path, script: &str, limits: CaptureLimits) -> RunningCommand {
    let child = sys::process::spawn(SpawnSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: dir.to_path_buf(),
        stdin: ChildInput::Null,
        output: ChildOutput::Merged,
    })
    .unwrap();
    RunningCommand::new(child, OutputCapture::new(limits, dir.join("out")), Vec::new())
}

async fn wait(running: &mut RunningCommand) -> WaitEnd {
    let deadline = Instant::now() + Duration::from_mins(1);
    running.wait_until(&CancellationToken::new(), deadline).await.unwrap()
}

#[tokio::test]
async fn endless_output_is_stopped_and_disk_use_bounded() {
    // [TST-59]
    let dir = tempfile::tempdir().unwrap();
    let mut running = start(dir.path(), "yes", LIMITS);
    assert_eq!(wait(&mut running).await, WaitEnd::Excess);
    running.kill().await.unwrap();
    assert!(running.capture.total() > LIMITS.kill_bytes);
    let saved = std::fs::metadata(dir.path().join("out")).unwrap().len();
    assert!((LIMITS.file_bytes..LIMITS.file_bytes + 70_000).contains(&saved), "{saved}");
}

#[tokio::test]
async fn a_capped_file_keeps_beginning_and_end() {
    // [TST-59]
    let dir = tempfile::tempdir().unwrap();
    let mut running = start(dir.path(), "seq 1 300000", LIMITS);
    assert!(matches!(wait(&mut running).await, WaitEnd::Exited(_)));
    running.drain().await;
    let saved = std::fs::read_to_string(dir.path().join("out")).unwrap();
    assert!(saved.starts_with("1\n2\n") && saved.ends_with("\n300000\n"));
    let (_, note) = saved.split_once("\n[").unwrap();
    let left_out: usize = note.split_once(" bytes left out here]\n").unwrap().0.parse().unwrap();
    let note_len = format!("\n[{left_out} bytes left out here]\n").len();
    assert_eq!(saved.len() - note_len + left_out, usize::try_from(running.capture.total()).unwrap());
}
