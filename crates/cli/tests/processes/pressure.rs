//! Full disks, readers that close or are slow, and very large lines: the run reports truly what was saved, and stdout
//! stays whole lines of JSON.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a panic is the report of a test")]
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "mounts and limits are set up from outside, as an administrator does")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::{FinishedRun, ModelServer, Sandbox, ScriptedBlock, ScriptedReply, stream_lines};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const STREAM: [&str; 3] = ["--output-format", "stream-json", "--verbose"];
/// Very large lines take long in a debug build on a busy machine.
const RUN_TIMEOUT: Duration = Duration::from_mins(2);
const LINE_LIMIT: usize = 1_000_000;
const WARNING: &str = "Transcript writes are failing (";

fn args<'a>(head: &[&'a str], tail: &[&'a str]) -> Vec<&'a str> {
    head.iter().chain(&STREAM).chain(tail).copied().collect()
}

/// A small file system for the transcripts, unmounted at the end.
struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// `None` where mounting is not permitted; the test with a file size limit covers that machine.
    fn mount(sandbox: &Sandbox) -> Option<Self> {
        let at = sandbox.config_dir().join("projects");
        std::fs::create_dir_all(&at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&at).stderr(Stdio::null());
        if mount.status().is_ok_and(|s| s.success()) {
            return Some(Self { at });
        }
        eprintln!("mounting is not permitted here: a full disk is tested by a limit on file sizes only");
        None
    }

    fn fill(&self) {
        let filler = vec![b'x'; 1 << 16];
        std::fs::write(self.at.join("filler"), filler).ok();
    }

    fn clear(&self) {
        std::fs::remove_file(self.at.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.at).status().ok();
    }
}

fn of_subtype<'a>(lines: &'a [Value], subtype: &str) -> Vec<&'a Value> {
    lines.iter().filter(|l| l["subtype"] == subtype).collect()
}

fn assert_lost(run: &FinishedRun, code: &str) {
    let lines = run.lines();
    let lost = of_subtype(&lines, "session_writes_lost");
    assert_eq!(lost.len(), 1, "{}", run.stdout);
    assert_eq!(lost[0]["error_code"], code);
    assert_eq!(lost[0]["lost"], json!(["transcript"]));
    assert_eq!(lost[0]["transcript_session_ids"], json!([lines[0]["session_id"]]));
    assert_eq!(run.stderr.matches(WARNING).count(), 1, "told once: {}", run.stderr);
}

// [TST-145]
#[test]
fn a_full_disk_is_told_and_a_plain_answer_still_comes() {
    let server = ModelServer::script([ScriptedReply::text("An answer.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let Some(disk) = SmallDisk::mount(&sandbox) else { return };
    disk.fill();
    let run = sandbox.gimlet(&args(&["-p", "hi"], &[])).run();
    assert_lost(&run, "ENOSPC");
    assert!(run.stderr.contains("disk full — ENOSPC"), "{}", run.stderr);
    assert_eq!(run.result()["result"], "An answer.");
    assert_eq!(run.code(), 0);
}

// [TST-145] [TST-154] Nothing with effects runs unrecorded in a session that was being saved.
#[test]
fn when_the_disk_fills_up_no_command_runs() {
    let server = ModelServer::script([
        ScriptedReply::text("First."),
        ScriptedReply::tool("Bash", json!({"command": "touch ran"})),
        ScriptedReply::text("never"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let Some(disk) = SmallDisk::mount(&sandbox) else { return };
    let flags = ["--input-format", "stream-json", "--allowedTools", "Bash"];
    let mut run = sandbox.gimlet(&args(&[], &flags)).stdin_open().spawn();
    run.send_user("one");
    assert_eq!(run.wait_for("result")["result"], "First.");
    disk.fill();
    // Longer than what is left of the last block of the transcript.
    run.send_user(&"two ".repeat(2_000));
    let result = run.wait_for("result");
    run.close_stdin();
    let run = run.finish().expect_code(1);
    assert_lost(&run, "ENOSPC");
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_during_execution"), &json!(true)));
    assert!(result["errors"][0].as_str().unwrap().contains("could not be saved"), "{result}");
    assert!(!sandbox.project().join("ran").exists());
}

// [F-C4] A disk that was full from the start: there is no transcript to tear, so the session continues with a warning.
#[test]
fn on_a_disk_that_was_full_from_the_start_the_work_goes_on() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "touch ran"})),
        ScriptedReply::text("Done."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let Some(disk) = SmallDisk::mount(&sandbox) else { return };
    disk.fill();
    let run = sandbox.gimlet(&args(&["-p", "hi", "--allowedTools", "Bash"], &[])).run().expect_code(0);
    assert_lost(&run, "ENOSPC");
    let result = run.result();
    assert_eq!(result["result"], "Done.");
    assert!(result["warnings"][0].as_str().unwrap().contains("undo and checkpoints are off"), "{result}");
    assert!(sandbox.project().join("ran").exists());
}

// [TST-145] With room again, everything that waited is written, in order.
#[test]
fn a_disk_with_room_again_gets_everything() {
    let server = ModelServer::script([
        ScriptedReply::text("First."),
        ScriptedReply::text("Second."),
        ScriptedReply::text("Third."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let Some(disk) = SmallDisk::mount(&sandbox) else { return };
    disk.fill();
    let mut run = sandbox.gimlet(&args(&[], &["--input-format", "stream-json"])).stdin_open().spawn();
    run.send_user("one");
    run.wait_for("result");
    run.send_user("two");
    run.wait_for("result");
    disk.clear();
    run.send_user("three");
    run.wait_for("result");
    run.close_stdin();
    let done = run.finish().expect_code(0);
    assert!(of_subtype(&done.lines(), "session_writes_lost").is_empty());
    assert_eq!(done.stderr.matches(WARNING).count(), 1, "{}", done.stderr);
    let texts: Vec<Value> = sandbox
        .transcript()
        .iter()
        .filter(|l| l["type"] == "assistant")
        .map(|l| l["message"]["content"][0]["text"].clone())
        .collect();
    assert_eq!(texts, ["First.", "Second.", "Third."]);
}

// [TST-145] The queue is bounded: when it is full, the turn ends.
#[test]
fn a_full_queue_ends_the_turn() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("An answer."));
    let sandbox = Sandbox::with_server(EXE, &server);
    let Some(disk) = SmallDisk::mount(&sandbox) else { return };
    disk.fill();
    let run = sandbox.gimlet(&args(&[], &["--input-format", "stream-json"])).env("DISABLE_AUTO_COMPACT", "1");
    let mut run = run.stdin_open().spawn();
    let large = "x".repeat(3 << 20);
    run.send_user(&large);
    assert_eq!(run.wait_for("result")["is_error"], false);
    run.send_user(&large);
    let result = run.wait_for("result");
    assert_eq!(result["subtype"], "error_during_execution", "{result}");
    assert!(result["errors"][0].as_str().unwrap().contains("free disk space"), "{result}");
    assert_eq!(server.requests().len(), 1);
    run.close_stdin();
    assert_lost(&run.finish().expect_code(1), "ENOSPC");
}

/// Runs the binary with a limit on the size of files; needs no privileges.
fn limited(sandbox: &Sandbox, all: &[&str]) -> FinishedRun {
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    let mut whole = vec!["-c", script, EXE];
    whole.extend(all);
    sandbox.gimlet(&whole).exe("/bin/sh").run()
}

// [TST-145] [TST-142] A line that was written in part: reported, and the next append repairs the file.
#[test]
fn a_write_that_is_cut_short_is_told_and_repaired() {
    let server = ModelServer::script([
        ScriptedReply::text("x".repeat(20_000)),
        ScriptedReply::tool("Bash", json!({"command": "touch ran"})),
        ScriptedReply::text("never"),
        ScriptedReply::text("Resumed."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = limited(&sandbox, &args(&["-p", "long"], &[])).expect_code(0);
    assert_lost(&run, "EFBIG");
    let id = run.result()["session_id"].as_str().unwrap().to_owned();
    let path = &sandbox.transcript_paths()[0];
    assert!(!std::fs::read(path).unwrap().ends_with(b"\n"), "the limit fell inside a line");
    let run = limited(&sandbox, &args(&["-p", "act", "--resume", &id, "--allowedTools", "Bash"], &[])).expect_code(1);
    assert_eq!(run.result()["subtype"], "error_during_execution");
    assert!(!sandbox.project().join("ran").exists());
    server.push(ScriptedReply::text("Resumed."));
    let run = sandbox.gimlet(&args(&["-p", "again", "--resume", &id], &[])).run().expect_code(0);
    assert!(run.stderr.starts_with("Warning: line ") && run.stderr.lines().count() == 1, "{}", run.stderr);
    assert!(!run.result()["is_error"].as_bool().unwrap());
    let text = std::fs::read_to_string(path).unwrap();
    let broken = text.lines().filter(|l| serde_json::from_str::<Value>(l).is_err()).count();
    assert_eq!((broken, text.ends_with('\n')), (1, true));
    assert!(server.last_request().all_text().contains("long"));
}

/// Starts the run and hands out its stdout as a plain pipe.
fn piped(sandbox: &Sandbox, all: &[&str]) -> (std::process::Child, std::process::ChildStdout) {
    let mut child = sandbox.gimlet(all).command().spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    (child, stdout)
}

fn wait_for_exit(child: &mut std::process::Child) -> std::process::ExitStatus {
    let mut status = None;
    testkit::wait_until("the exit", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

fn stderr_of(child: &mut std::process::Child) -> String {
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

// A reader that closes its end: the run ends quietly, with its work on disk.
#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let calls = |n: usize| ScriptedReply::tool("Bash", json!({"command": format!("echo {n} >> marks; sleep 0.05")}));
    let mut n = 0;
    let server = ModelServer::with_handler(move |_| {
        n += 1;
        calls(n)
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let all = args(&["-p", "go", "--allowedTools", "Bash"], &[]);
    let (mut child, stdout) = piped(&sandbox, &all);
    let mut reader = BufReader::new(stdout);
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    let status = wait_for_exit(&mut child);
    assert_eq!(status.code(), Some(1), "by an exit code, not by a signal");
    assert_eq!(stderr_of(&mut child), "");
    let asked: String =
        sandbox.transcript().iter().filter(|l| l["type"] == "assistant").map(Value::to_string).collect();
    for mark in std::fs::read_to_string(sandbox.project().join("marks")).unwrap_or_default().lines() {
        assert!(asked.contains(&format!("echo {mark} >>")));
    }
}

// The answer of a text run has no reader at all.
#[test]
fn a_text_answer_without_reader_fails_quietly() {
    let server = ModelServer::script([ScriptedReply::text("Unheard.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let (mut child, stdout) = piped(&sandbox, &["-p", "go"]);
    drop(stdout);
    assert_eq!(wait_for_exit(&mut child).code(), Some(1));
    assert_eq!(stderr_of(&mut child), "");
    assert!(sandbox.transcript().iter().any(|l| l["type"] == "assistant"), "the transcript has the answer");
}

// [CLI-53] A reader that takes a kilobyte at a time gets the last line whole.
#[test]
fn a_slow_reader_gets_the_whole_last_line() {
    let server = ModelServer::script([ScriptedReply::text("y".repeat(900_000))]);
    let sandbox = Sandbox::with_server(EXE, &server);
    for format in ["stream-json", "json", "text"] {
        server.push(ScriptedReply::text("y".repeat(900_000)));
        let (mut child, mut stdout) = piped(&sandbox, &["-p", "go", "--verbose", "--output-format", format]);
        let mut seen = Vec::new();
        let mut buffer = [0; 1024];
        let slow_until = Instant::now() + Duration::from_secs(1);
        while Instant::now() < slow_until {
            let count = stdout.read(&mut buffer).unwrap();
            seen.extend_from_slice(&buffer[..count]);
            testkit::let_pass(Duration::from_millis(5));
        }
        stdout.read_to_end(&mut seen).unwrap();
        assert!(child.wait().unwrap().success());
        let text = String::from_utf8(seen).unwrap();
        assert!(text.ends_with('\n') && text.matches("yyyy").count() >= 900_000 / 4, "{format}: {}", text.len());
    }
}

fn assert_bounded(run: &FinishedRun) {
    for line in run.stdout.lines() {
        assert!(line.chars().count() <= LINE_LIMIT, "a line of {} characters", line.chars().count());
    }
    stream_lines(&run.stdout);
}

/// A PNG of noise, stored without compression: as large as its pixels.
fn noisy_png(width: u32, height: u32) -> Vec<u8> {
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let row = 1 + width * 3;
    // Each row begins with the number of its filter: none.
    let raw: Vec<u8> = (0..row * height).map(|at| if at % row == 0 { 0 } else { noise() }).collect();
    let mut zlib = vec![0x78, 0x01];
    let count = raw.chunks(65_535).count();
    for (at, part) in raw.chunks(65_535).enumerate() {
        let length = part.len() as u16;
        zlib.push(u8::from(at + 1 == count));
        zlib.extend(length.to_le_bytes());
        zlib.extend((!length).to_le_bytes());
        zlib.extend_from_slice(part);
    }
    zlib.extend(adler(&raw).to_be_bytes());
    let mut header = Vec::new();
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    header.extend([8, 2, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"IHDR", header), (b"IDAT", zlib), (b"IEND", Vec::new())] {
        png.extend((data.len() as u32).to_be_bytes());
        let from = png.len();
        png.extend(kind);
        png.extend(data);
        png.extend(crc(&png[from..]).to_be_bytes());
    }
    png
}

fn adler(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    (b << 16) | a
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xEDB8_8320 } else { c >> 1 })
    })
}

// [SDK-33]
#[test]
fn lines_stay_within_what_clients_read() {
    let server = ModelServer::script([
        ScriptedReply::message(vec![
            ScriptedBlock::tool_with_id("toolu_1", "Read", &json!({"file_path": "noise.png"})),
            ScriptedBlock::tool_with_id("toolu_2", "Read", &json!({"file_path": "big.txt", "limit": 1})),
        ]),
        ScriptedReply::tool(
            "Edit",
            json!({"file_path": "big.txt", "old_string": "the needle", "new_string": "the pin"}),
        ),
        ScriptedReply::text("z".repeat(3_000_000)),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let png = noisy_png(1400, 1200);
    assert!(png.len() > 5_000_000);
    sandbox.write("noise.png", png);
    sandbox.write("big.txt", format!("{}the needle\n", "line of text\n".repeat(240_000)));
    let run = sandbox.gimlet(&args(&["-p", "go", "--permission-mode", "acceptEdits"], &[])).run().expect_clean();
    assert_bounded(&run);
    assert_eq!(run.result()["is_error"], false);
    let image = &server.request(1).tool_results()[0];
    assert_eq!(image["content"][0]["type"], "image", "{:.300}", image.to_string());
    assert!(sandbox.read("big.txt").ends_with("the pin\n"));
    let whole = sandbox.transcript();
    let last = whole.iter().rfind(|l| l["type"] == "assistant").unwrap();
    assert_eq!(last["message"]["content"][0]["text"].as_str().unwrap().len(), 3_000_000, "the transcript has it whole");
}

// A single event of 32 MB.
#[test]
fn a_huge_event_is_taken() {
    let server = ModelServer::script([ScriptedReply::text("h".repeat(32_000_000))]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let run = sandbox.gimlet(&args(&["-p", "go"], &[])).timeout(RUN_TIMEOUT).run().expect_clean();
    assert_bounded(&run);
    assert_eq!(run.result()["is_error"], false);
}

// [SDK-34]
#[test]
fn a_line_of_sixteen_mebibytes_is_accepted() {
    let server = ModelServer::script([ScriptedReply::text("Read it.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let frame = |text: &str| json!({"type": "user", "message": {"role": "user", "content": text}}).to_string();
    let line = frame(&"p".repeat((16 << 20) - frame("").len() - 1));
    assert_eq!(line.len() + 1, 16 << 20);
    let run = sandbox
        .gimlet(&args(&[], &["--input-format", "stream-json"]))
        .stdin(format!("{line}\n"))
        .timeout(RUN_TIMEOUT)
        .run();
    let run = run.expect_clean();
    assert_eq!(run.result()["result"], "Read it.");
    assert!(server.request(0).all_text().len() > 16_000_000);
}
