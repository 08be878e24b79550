//! Files and folders that a prompt names with `@`.

use serde_json::{Value, json};
use std::fmt::Write;
use testkit::{ModelServer, Sandbox, ScriptedReply};

const GIMLET: &str = env!("CARGO_BIN_EXE_gimlet");

fn answering() -> ModelServer {
    ModelServer::with_handler(|_| ScriptedReply::text("ok"))
}

/// Everything of a request that stands in the messages.
fn said(server: &ModelServer, request: usize) -> String {
    Value::from(server.request(request).messages()).to_string()
}

/// [TST-171] A named file is sent with the prompt and counts as read; a folder is listed; a resumed request begins with
/// the same bytes.
#[test]
fn named_files_are_sent_with_the_prompt_and_count_as_read() {
    let edit = json!({"file_path": "src/a b.txt", "old_string": "alpha", "new_string": "beta"});
    let server = ModelServer::script([
        ScriptedReply::tool("Edit", edit),
        ScriptedReply::text("done"),
        ScriptedReply::text("again"),
    ]);
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write("src/a b.txt", "alpha one\n");
    let mut numbered = String::new();
    for n in 1..=50 {
        writeln!(numbered, "line {n}").unwrap();
    }
    sandbox.write("src/lines.txt", numbered);
    sandbox.write("lib/deep/x.rs", "");
    sandbox.write("lib/y.rs", "");
    let prompt = "change @src/a\\ b.txt, see @src/lines.txt#L20-22 and (@lib)";
    sandbox.gimlet(&["-p", "--permission-mode", "acceptEdits", prompt]).run().expect_clean();
    let first = said(&server, 0);
    assert!(first.contains("alpha one") && first.contains(r"deep/\ny.rs"), "{first}");
    assert!(first.contains("line 20") && first.contains("line 22"), "{first}");
    assert!(!first.contains("line 19") && !first.contains("line 23"), "{first}");
    assert_eq!(sandbox.read("src/a b.txt"), "beta one\n", "the file counts as read");
    sandbox.gimlet(&["-p", "-c", "go on"]).run().expect_clean();
    let (before, after) = (server.request(1).messages().to_vec(), server.request(2).messages().to_vec());
    assert_eq!(Value::from(&after[..1]), Value::from(&before[..1]), "the prompt and its files");
}

/// [SDK-62] Denied files, files outside, code, addresses and composed messages attach nothing.
#[test]
fn what_may_not_be_read_or_is_no_mention_is_not_sent() {
    let server = answering();
    let sandbox = Sandbox::with_server(GIMLET, &server);
    sandbox.write("open.txt", "canary open\n");
    sandbox.write("shut.txt", "canary shut\n");
    sandbox.write(".claude/settings.json", r#"{"permissions": {"deny": ["Read(shut.txt)"]}}"#);
    let outside = sandbox.home().join("outside.txt");
    std::fs::write(&outside, "canary outside\n").unwrap();
    let prompt = format!("see @shut.txt @{} `@open.txt` me@open.txt @missing.txt", outside.display());
    sandbox.gimlet(&["-p", &prompt]).run().expect_clean();
    assert!(!said(&server, 0).contains("canary"), "{}", said(&server, 0));
    let composed =
        json!({"type": "user", "message": {"role": "user", "content": "see @open.txt"}, "client_composed": true});
    let plain = json!({"type": "user", "message": {"role": "user", "content": "see @open.txt"}});
    let flags = ["-p", "--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
    sandbox.gimlet(&flags).stdin(format!("{composed}\n")).run().expect_clean();
    assert!(!said(&server, 1).contains("canary"), "{}", said(&server, 1));
    sandbox.gimlet(&flags).stdin(format!("{plain}\n")).run().expect_clean();
    assert!(said(&server, 2).contains("canary open"), "{}", said(&server, 2));
}
