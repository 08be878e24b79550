use super::disk::{AppendDisk, DiskState};
use super::*;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};

fn tree(n: usize) -> String {
    format!(r#"{{"parentUuid":null,"type":"user","uuid":"u{n}"}}"#)
}

fn meta(kind: &str, key: &str, value: &str) -> String {
    format!(r#"{{"type":"{kind}","{key}":"{value}","sessionId":"S"}}"#)
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn tail(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(64 << 10)..]).into_owned()
}

/// A file on a disk with `left` bytes of space.
struct SmallDisk {
    file: std::fs::File,
    left: Arc<AtomicUsize>,
}

impl AppendDisk for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(self.left.load(Ordering::SeqCst));
        if n == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.left.fetch_sub(n, Ordering::SeqCst);
        AppendDisk::write(&mut self.file, &bytes[..n])
    }

    fn state(&self) -> io::Result<DiskState> {
        self.file.state()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buffer, offset)
    }
}

fn on_small_disk(path: &Path, bytes: usize) -> (Transcript, Arc<AtomicUsize>) {
    let left = Arc::new(AtomicUsize::new(bytes));
    let shared = Arc::clone(&left);
    let open: OpenDisk = Box::new(move |path| {
        let file = std::fs::OpenOptions::new().append(true).read(true).create(true).open(path)?;
        Ok(Box::new(SmallDisk { file, left: Arc::clone(&shared) }))
    });
    (Transcript::with_disk(path.to_path_buf(), Persistence::Yes, open), left)
}

// [TST-138] [TST-139] [TST-140]
#[test]
fn the_file_appears_with_the_first_message() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p/s.jsonl");
    let transcript = Transcript::open(path.clone(), Persistence::Yes);
    block_on(async {
        transcript.append(vec![meta("mode", "mode", "normal")]).unwrap();
        transcript.flush().await.unwrap();
        assert!(!path.exists());
        transcript.append(vec![tree(1), tree(2)]).unwrap();
        transcript.flush().await.unwrap();
        assert_eq!(read(&path), format!("{}\n{}\n{}\n", meta("mode", "mode", "normal"), tree(1), tree(2)));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        transcript.close().await.unwrap();
    });
}

// [TST-139]
#[test]
fn resuming_without_a_message_leaves_the_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, "{}\n").unwrap();
    let before = path.metadata().unwrap().modified().unwrap();
    let transcript = Transcript::open(path.clone(), Persistence::Yes);
    transcript.remember(&[meta("custom-title", "customTitle", "t")]);
    transcript.append(vec![meta("mode", "mode", "normal")]).unwrap();
    block_on(transcript.close()).unwrap();
    assert_eq!(read(&path), "{}\n");
    assert_eq!(path.metadata().unwrap().modified().unwrap(), before);
}

#[test]
fn metadata_may_be_asked_for_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let transcript = Transcript::open(path.clone(), Persistence::Yes);
    transcript.append_now(vec![meta("tag", "tag", "x")]).unwrap();
    block_on(transcript.flush()).unwrap();
    assert!(read(&path).starts_with(r#"{"type":"tag""#));
}

// [CLI-19] [TST-147]
#[test]
fn without_persistence_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let transcript = Transcript::open(path.clone(), Persistence::No);
    transcript.append_now(vec![tree(1)]).unwrap();
    block_on(async {
        transcript.flush().await.unwrap();
        transcript.close().await.unwrap();
    });
    assert!(!path.exists());
}

// [TST-142]
#[test]
fn a_torn_last_line_is_closed_first() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, "{\"type\":\"us").unwrap();
    let transcript = Transcript::open(path.clone(), Persistence::Yes);
    transcript.append(vec![tree(1)]).unwrap();
    block_on(transcript.flush()).unwrap();
    assert_eq!(read(&path), format!("{{\"type\":\"us\n{}\n", tree(1)));
}

// [TST-146] [SDK-179]
#[test]
fn dropping_the_last_handle_still_writes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let transcript = Transcript::open(path.clone(), Persistence::Yes);
    let shared = transcript.shared.clone().unwrap();
    for n in 0..100 {
        transcript.append(vec![tree(n)]).unwrap();
    }
    drop(transcript);
    block_on(async {
        shared.progress.subscribe().wait_for(|p| p.closed).await.unwrap();
    });
    assert_eq!(read(&path).lines().count(), 100);
}

// [TST-145]
#[test]
fn a_full_disk_is_reported_and_recovers_without_loss() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let (transcript, left) = on_small_disk(&path, 60);
    let health = transcript.health();
    block_on(async {
        transcript.append(vec![tree(1), tree(2)]).unwrap();
        let error = transcript.flush().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "Transcript writes are failing (disk full — ENOSPC) · recent messages may not be saved for resume"
        );
        assert!(health.borrow().as_ref().unwrap().warn);
        assert_eq!(transcript.pending(), 2);
        left.store(1 << 20, Ordering::SeqCst);
        transcript.append(vec![tree(3)]).unwrap();
        transcript.flush().await.unwrap();
        transcript.close().await.unwrap();
    });
    assert!(health.borrow().is_none());
    // The rest of the torn line is written, not the whole line again.
    assert_eq!(read(&path), format!("{}\n{}\n{}\n", tree(1), tree(2), tree(3)));
}

#[test]
fn a_cut_line_is_repeated_when_another_process_wrote_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let (transcript, left) = on_small_disk(&path, 60);
    block_on(async {
        transcript.append(vec![tree(1), tree(2)]).unwrap();
        transcript.flush().await.unwrap_err();
        transcript.flush().await.unwrap_err();
        use std::io::Write;
        let mut other = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        other.write_all(b"other").unwrap();
        left.store(1 << 20, Ordering::SeqCst);
        transcript.flush().await.unwrap();
    });
    let text = read(&path);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!((lines[0], lines[2]), (tree(1).as_str(), tree(2).as_str()));
    assert!(lines[1].ends_with("other"));
}

// [TST-145]
#[test]
fn a_full_queue_refuses_and_close_tells_what_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let (transcript, _) = on_small_disk(&path, 0);
    block_on(async {
        transcript.append(vec!["x".repeat(QUEUE_LIMIT / 2)]).unwrap();
        transcript.flush().await.unwrap_err();
        transcript.append(vec!["y".into()]).unwrap();
        let refused = transcript.append(vec!["x".repeat(QUEUE_LIMIT / 2)]);
        assert!(matches!(refused, Err(StoreError::Full { .. })));
        let Err(StoreError::Failing { lines, .. }) = transcript.close().await else { panic!("should fail") };
        assert_eq!(lines, 2);
    });
}

#[test]
fn flush_works_without_a_runtime() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let transcript = Transcript::open(path.clone(), Persistence::Yes);
    transcript.append(vec![tree(1)]).unwrap();
    transcript.flush_blocking(Duration::from_secs(5)).unwrap();
    assert_eq!(read(&path).lines().count(), 1);
    let (failing, _) = on_small_disk(&dir.path().join("t.jsonl"), 0);
    failing.append(vec![tree(1)]).unwrap();
    failing.flush_blocking(Duration::from_secs(5)).unwrap_err();
}

// [TST-144] [SDK-173] [TST-159]
#[test]
fn titles_and_tags_stay_in_the_last_64_kib() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let transcript = Transcript::open(path.clone(), Persistence::Yes);
    let title = meta("custom-title", "customTitle", "mine");
    let tag = meta("tag", "tag", "keep");
    block_on(async {
        transcript.append(vec![tree(0), title.clone(), tag.clone()]).unwrap();
        for n in 0..1000 {
            let line = format!(r#"{{"parentUuid":null,"type":"user","uuid":"u{n}","x":"{}"}}"#, "x".repeat(10_000));
            transcript.append(vec![line]).unwrap();
            if n % 50 == 0 {
                transcript.flush().await.unwrap();
                // The writer may still be writing the copies; the second flush waits for them.
                transcript.append(vec![tree(n)]).unwrap();
                transcript.flush().await.unwrap();
                assert!(tail(&path).contains(&title), "after {n}");
            }
        }
        transcript.close().await.unwrap();
    });
    let tail = tail(&path);
    assert!(tail.lines().any(|l| l == title));
    assert!(tail.lines().any(|l| l.starts_with(r#"{"type":"tag""#) && l == tag));
    assert!(read(&path).matches(&title).count() < 300);
}

// [TST-143] [SDK-171]
#[test]
fn a_rename_by_another_process_wins_over_our_copy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let transcript = Transcript::open(path.clone(), Persistence::Yes);
    let ours = meta("custom-title", "customTitle", "ours");
    let theirs = meta("custom-title", "customTitle", "theirs");
    let filler =
        |n: usize| format!(r#"{{"parentUuid":null,"type":"user","uuid":"f{n}","x":"{}"}}"#, "x".repeat(30_000));
    block_on(async {
        transcript.append(vec![tree(0), ours.clone()]).unwrap();
        transcript.flush().await.unwrap();
        use std::io::Write;
        let mut other = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        writeln!(other, "{theirs}").unwrap();
        for n in 0..20 {
            transcript.append(vec![filler(n)]).unwrap();
            transcript.flush().await.unwrap();
        }
        transcript.close().await.unwrap();
    });
    let text = read(&path);
    assert_eq!(text.matches(&ours).count(), 1);
    assert!(text.matches(&theirs).count() > 2);
    assert!(tail(&path).contains(&theirs));
}

// [SDK-173]
#[test]
fn a_resumed_title_is_copied_at_exit_and_a_stale_leaf_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let title = meta("ai-title", "aiTitle", "old");
    let last = r#"{"type":"last-prompt","lastPrompt":"p","leafUuid":"u1","sessionId":"S"}"#;
    std::fs::write(&path, format!("{title}\n{last}\n{}\n", "x".repeat(100 << 10))).unwrap();
    let transcript = Transcript::open(path.clone(), Persistence::Yes);
    transcript.remember(&[title.as_str(), last]);
    transcript.append(vec![tree(1)]).unwrap();
    block_on(transcript.close()).unwrap();
    let text = read(&path);
    assert_eq!(text.matches(&title).count(), 2);
    assert_eq!(text.lines().last(), Some(r#"{"type":"last-prompt","lastPrompt":"p","sessionId":"S"}"#));
}

#[test]
fn two_writers_interleave_whole_lines() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = path.clone();
            scope.spawn(move || {
                let transcript = Transcript::open(path, Persistence::Yes);
                for n in 0..200 {
                    transcript.append(vec![format!(r#"{{"parentUuid":"w{writer}","n":{n}}}"#)]).unwrap();
                }
                block_on(transcript.close()).unwrap();
            });
        }
    });
    let text = read(&path);
    // A writer that opens the file during another's write adds a newline first: an empty line, which readers skip.
    assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), 800);
    for writer in 0..4 {
        let mine = text.lines().filter(|l| l.contains(&format!("\"w{writer}\"")));
        let expected: Vec<String> = (0..200).map(|n| format!(r#"{{"parentUuid":"w{writer}","n":{n}}}"#)).collect();
        assert_eq!(mine.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_deleted_file_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let transcript = Transcript::open(path.clone(), Persistence::Yes);
    block_on(async {
        transcript.append(vec![tree(1)]).unwrap();
        transcript.flush().await.unwrap();
        std::fs::remove_file(&path).unwrap();
        transcript.append(vec![tree(2)]).unwrap();
        transcript.flush().await.unwrap();
    });
    assert_eq!(read(&path), format!("{}\n", tree(2)));
}
