//! Pictures in the prompt and copies out of the conversation. The real binary in a pseudo-terminal, with clipboard
//! programs of the test's own.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use testkit::{ModelServer, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");
const PASTE_IMAGE: &str = "\x16";

/// A picture of one pixel.
const PNG: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 31, 21, 196,
    137, 0, 0, 0, 13, 73, 68, 65, 84, 120, 156, 99, 248, 207, 192, 240, 31, 0, 5, 0, 1, 255, 137, 153, 61, 29, 0, 0, 0,
    0, 73, 69, 78, 68, 174, 66, 96, 130,
];

fn png() -> &'static [u8] {
    PNG
}

/// Creates a clipboard program that replaces the real one.
fn program(sandbox: &mut Sandbox, name: &str, script: &str) -> PathBuf {
    let dir = sandbox.root().join("bin");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.set("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", dir.display()));
    path
}

fn start(sandbox: &Sandbox) -> TestTerminal {
    let terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal
}

fn pasted(text: &str) -> String {
    format!("\x1b[200~{text}\x1b[201~")
}

/// The pictures of the last message of the user.
fn pictures(request: &testkit::CapturedRequest) -> Vec<Value> {
    let messages = request.messages();
    let all = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    all.filter(|block| block["type"] == "image").cloned().collect()
}

fn write_picture(sandbox: &Sandbox, name: &str, bytes: impl AsRef<[u8]>) -> String {
    sandbox.write(name, bytes).display().to_string()
}

#[test]
fn a_picture_of_the_clipboard_goes_along() {
    // [TST-236]
    let server = ModelServer::script([ScriptedReply::text("A pixel.")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    let source = sandbox.root().join("clip.png");
    std::fs::write(&source, png()).unwrap();
    program(&mut sandbox, "wl-paste", &format!("cat '{}'", source.display()));
    sandbox.set("WAYLAND_DISPLAY", "wayland-0");
    let mut terminal = start(&sandbox);
    terminal.send(PASTE_IMAGE);
    terminal.wait_for("❯ [Image #1]");
    terminal.send("what is it?\r");
    terminal.wait_for("  A pixel.");
    let sent = pictures(&server.request(0));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0]["source"]["media_type"], "image/png");
    assert!(server.request(0).all_text().contains("[Image #1] what is it?"));
}

#[test]
fn several_dropped_files_are_several_chips_and_a_chip_goes_as_one() {
    // [TST-236]
    let server = ModelServer::script([ScriptedReply::text("Two.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let plain = write_picture(&sandbox, "plain.png", png());
    let spaced = write_picture(&sandbox, "with space.png", png());
    let third = write_picture(&sandbox, "third.png", png());
    let mut terminal = start(&sandbox);
    let escaped = spaced.replace(' ', "\\ ");
    terminal.send(&pasted(&format!("{plain} {escaped} file://{}", third.replace(' ', "%20"))));
    terminal.wait_for("❯ [Image #1] [Image #2] [Image #3]");
    // Deletes the blank, then the whole chip.
    terminal.send("\x7f\x7f");
    terminal.wait_gone("[Image #3]");
    terminal.send("look\r");
    terminal.wait_for("  Two.");
    assert_eq!(pictures(&server.request(0)).len(), 2);
}

#[test]
fn what_is_no_picture_is_told_or_stays_text() {
    // [TST-236]
    let server = ModelServer::script([ScriptedReply::text("Fine.")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    let broken = write_picture(&sandbox, "broken.png", "this is no picture");
    program(&mut sandbox, "xclip", "exit 1");
    sandbox.set("DISPLAY", ":0");
    let mut terminal = start(&sandbox);
    terminal.send(&pasted(&broken));
    terminal.wait_for("broken.png is in no format that can be sent");
    terminal.send(PASTE_IMAGE);
    terminal.wait_for("No picture in the clipboard");
    terminal.send(&pasted("/no/such/file.png"));
    terminal.wait_for("❯ /no/such/file.png");
    terminal.send("\r");
    terminal.wait_for("  Fine.");
    assert!(pictures(&server.request(0)).is_empty());
}

#[test]
fn a_queued_picture_joins_the_turn_with_its_number() {
    // [TST-236] [TST-166]
    let waits = "until test -e go; do sleep 0.02; done";
    let server =
        ModelServer::script([ScriptedReply::tool("Bash", json!({"command": waits})), ScriptedReply::text("Seen.")]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let picture = write_picture(&sandbox, "a.png", png());
    let mut terminal = sandbox.gimlet(&["--allowedTools", "Bash"]).terminal(80, 24);
    terminal.wait_for("? for shortcuts");
    terminal.send("go on\r");
    terminal.wait_for("Running a command");
    terminal.send(&pasted(&picture));
    terminal.wait_for("❯ [Image #1]");
    terminal.send("and this\r");
    terminal.wait_for("to take back");
    sandbox.write("go", "");
    terminal.wait_for("  Seen.");
    assert_eq!(pictures(&server.request(1)).len(), 1);
    let lines = sandbox.transcript();
    let joined = lines.iter().find(|line| line["attachment"]["type"] == "queued_command").unwrap();
    assert_eq!(joined["attachment"]["imagePasteIds"], json!([1]));
    let blocks = joined["attachment"]["prompt"].as_array().unwrap();
    assert!(blocks.iter().any(|block| block["type"] == "image"), "{joined}");
}

fn answered(sandbox: &Sandbox) -> TestTerminal {
    let mut terminal = start(sandbox);
    terminal.send("go\r");
    terminal.wait_for("  Copy me.");
    terminal.wait_gone("esc to interrupt");
    terminal
}

#[test]
fn an_answer_is_copied_by_a_program_or_through_the_terminal() {
    // [TST-253]
    let server = ModelServer::script([ScriptedReply::text("Copy me."), ScriptedReply::text("Copy me.")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    let kept = sandbox.root().join("kept");
    program(&mut sandbox, "wl-copy", &format!("cat > '{}'", kept.display()));
    sandbox.set("WAYLAND_DISPLAY", "wayland-0");
    let mut terminal = answered(&sandbox);
    terminal.send("/copy\r");
    terminal.wait_for("Copied 8 characters with wl-copy.");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "Copy me.");
    terminal.send("/copy w\r");
    terminal.wait_for("answer.md");
    assert_eq!(sandbox.read("answer.md"), "Copy me.");
    terminal.send("/copy 7\r");
    terminal.wait_for("No such answer");
    drop(terminal);
    sandbox.set("SSH_TTY", "/dev/pts/9");
    let mut far = answered(&sandbox);
    far.send("/copy\r");
    far.wait_for("through the terminal (OSC 52)");
    let written = String::from_utf8_lossy(&far.bytes()).into_owned();
    assert!(written.contains("\x1b]52;c;Q29weSBtZS4=\x07"));
    assert!(Path::new(&kept).exists());
}
