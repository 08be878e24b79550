//! `gimlet sessions import` through the real binary: files that Codex CLI, Gemini CLI and opencode wrote, older ones made
//! by hand, and this program's own exports are taken over and go on here.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedReply, stream_lines};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import").join(name)
}

const CODEX: &str = "rollout-2026-11-19T22-47-07-01a1f5fe-041e-7df2-a33c-a4e63e092704.jsonl";
const CODEX_ID: &str = "01a1f5fe-041e-7df2-a33c-a4e63e092704";
const GEMINI: &str = "session-2026-11-19T22-47-50f44e44.jsonl";
const ALL: [&str; 5] = [CODEX, "rollout-by-hand.jsonl", GEMINI, "checkpoint-before.json", "opencode-export.json"];

/// Imports one file; returns what was told about it.
fn imported(sandbox: &Sandbox, file: &Path, flags: &[&str]) -> Value {
    let args: Vec<&str> =
        ["sessions", "import", file.to_str().unwrap(), "--json"].into_iter().chain(flags.iter().copied()).collect();
    stream_lines(&sandbox.gimlet(&args).run().expect_clean().stdout).remove(0)
}

/// Whether every call of the request is answered in the message after it, once, and nothing else is.
fn assert_paired(request: &CapturedRequest, what: &str) {
    let mut open: BTreeSet<String> = BTreeSet::new();
    for message in request.messages() {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let of = |kind: &str, field: &str| -> Vec<String> {
            let found = blocks.iter().filter(|block| block["type"] == kind);
            found.map(|block| block[field].as_str().unwrap().to_owned()).collect()
        };
        let answered: BTreeSet<String> = of("tool_result", "tool_use_id").into_iter().collect();
        assert_eq!(answered, open, "{what}");
        open = of("tool_use", "id").into_iter().collect();
    }
    assert!(open.is_empty(), "{what}: {open:?}");
}

// [LNG-41]
#[test]
fn sessions_of_other_programs_go_on_here_with_their_history() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Going on."));
    let sandbox = Sandbox::with_server(EXE, &server);
    for name in ALL {
        let told = imported(&sandbox, &fixture(name), &[]);
        assert_eq!(told["state"], "imported", "{told}");
        // The directory of the file does not exist here, so the session goes to this one.
        let id = told["sessionId"].as_str().unwrap().to_owned();
        assert!(sandbox.gimlet(&["sessions", "list"]).run().expect_clean().stdout.contains(&id), "{name}");
        sandbox.gimlet(&["-p", "and now?", "--resume", &id]).run().expect_clean();
        let request = server.last_request();
        assert_paired(&request, name);
        let said = serde_json::to_string(request.messages()).unwrap();
        let known = match name {
            CODEX => ["first: write notes.txt", "hello from codex", "notes.txt says: hello from codex, and goodbye."],
            GEMINI => ["first: write notes.txt", "hello from gemini", "notes.txt says: hello from gemini."],
            "opencode-export.json" => ["first: write notes.txt", "hello from opencode", "Found 1 matches"],
            "checkpoint-before.json" => ["say which files there are", "data.txt", "Only data.txt."],
            _ => ["an old rollout", "no such file", "[apply_patch]"],
        };
        for text in known {
            assert!(said.contains(text), "{name}: {text} is not in the request");
        }
        // The model of the other program is not asked for.
        assert!(!request.model().contains("gpt") && !request.model().contains("gemini"), "{}", request.model());
    }
}

// [LNG-41]
#[test]
fn a_file_that_ends_anywhere_makes_a_valid_request() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Going on."));
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut random = fastrand::Rng::with_seed(16);
    let mut resumed = 0;
    for name in [CODEX, "rollout-by-hand.jsonl", GEMINI] {
        let text = std::fs::read_to_string(fixture(name)).unwrap();
        for _ in 0..4 {
            let end = random.usize(text.len() / 3..text.len());
            let cut = sandbox.write("cut.jsonl", &text.as_bytes()[..end]);
            let run = sandbox.gimlet(&["sessions", "import", "--copy", "--json", cut.to_str().unwrap()]).run();
            let told = stream_lines(&run.stdout).remove(0);
            if told["state"] == "failed" {
                assert!(told["reason"].as_str().unwrap().contains("holds no conversation"), "{told}");
                continue;
            }
            let id = told["sessionId"].as_str().unwrap().to_owned();
            sandbox.gimlet(&["-p", "and now?", "--resume", &id]).run().expect_clean();
            assert_paired(&server.last_request(), &format!("{name} cut at {end}"));
            resumed += 1;
        }
    }
    assert!(resumed >= 6, "only {resumed} of the cut files held a conversation");
}

// [LNG-41]
#[test]
fn nothing_is_overwritten_and_a_dry_run_writes_nothing() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Going on."));
    let sandbox = Sandbox::with_server(EXE, &server);
    let told = imported(&sandbox, &fixture(CODEX), &["--dry-run"]);
    assert_eq!((told["state"].as_str(), told["sessionId"].as_str()), (Some("wouldImport"), Some(CODEX_ID)));
    assert!(sandbox.transcript_paths().is_empty());
    imported(&sandbox, &fixture(CODEX), &[]);
    sandbox.gimlet(&["-p", "go on", "--resume", CODEX_ID]).run().expect_clean();
    let before = std::fs::read(&sandbox.transcript_paths()[0]).unwrap();
    assert_eq!(imported(&sandbox, &fixture(CODEX), &[])["state"], "alreadyHere");
    let copy = imported(&sandbox, &fixture(CODEX), &["--copy"]);
    assert!(copy["state"] == "imported" && copy["sessionId"] != CODEX_ID, "{copy}");
    assert_eq!(sandbox.transcript_paths().len(), 2);
    let kept = sandbox.transcript_paths().iter().any(|path| std::fs::read(path).unwrap() == before);
    assert!(kept, "the session that went on here is as it was");
}

// [LNG-41]
#[test]
fn a_folder_is_searched_and_what_could_not_be_mapped_is_listed() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    for name in ALL {
        sandbox.write(&format!("old/2026/{name}"), std::fs::read(fixture(name)).unwrap());
    }
    sandbox.write("old/package.json", "{\"name\": \"x\"}");
    sandbox.write("old/notes.md", "no session");
    let run = sandbox.gimlet(&["sessions", "import", "old"]).run().expect_code(0);
    for expected in ["Codex CLI imported", "Gemini CLI imported", "opencode \"A title\" imported"] {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
    assert!(run.stdout.contains("calls kept as text: apply_patch, web_search"), "{}", run.stdout);
    assert!(run.stdout.contains("reasoning") && run.stdout.contains("left out:"), "{}", run.stdout);
    assert!(run.stderr.contains("1 file in") && run.stderr.contains("of other kinds passed over"), "{}", run.stderr);
    assert_eq!(sandbox.transcript_paths().len(), ALL.len());
    // One that cannot be read stops no other, and is named.
    sandbox.write("bad.json", "{\"info\": {}, \"mess");
    let run = sandbox.gimlet(&["sessions", "import", "bad.json", "old", "--copy"]).run();
    assert!(run.code() == 1 && run.stderr.contains("bad.json is not a whole session"), "{}", run.stderr);
    assert_eq!(sandbox.transcript_paths().len(), 2 * ALL.len());
    assert_eq!(sandbox.gimlet(&["sessions", "import", "nowhere.jsonl"]).run().code(), 1);
}

// [LNG-41]
#[test]
fn a_session_goes_to_its_own_directory_when_it_exists() {
    let server = ModelServer::script([]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let other = sandbox.root().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let text = std::fs::read_to_string(fixture("opencode-export.json")).unwrap();
    let file = sandbox.write("export.json", text.replace("/home/someone/project", other.to_str().unwrap()));
    imported(&sandbox, &file, &[]);
    let listed = |dir: &Path| sandbox.gimlet(&["sessions", "list"]).cwd(dir).run().expect_code(0).stdout;
    assert!(listed(&other).contains("A title") && !listed(&sandbox.project()).contains("A title"));
    imported(&sandbox, &file, &["--here", "--copy"]);
    assert!(listed(&sandbox.project()).contains("A title"));
}

/// A conversation with a call, as this program writes it.
fn talked() -> (ModelServer, Sandbox, PathBuf) {
    let server = ModelServer::script([
        ScriptedReply::tool("Read", serde_json::json!({"file_path": "data.txt"})),
        ScriptedReply::text("It says \u{201e}größer\u{201c}."),
        ScriptedReply::text("Going on."),
        ScriptedReply::text("Going on."),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("data.txt", "größer\n");
    sandbox.gimlet(&["-p", "what does data.txt say?"]).run().expect_clean();
    let path = sandbox.transcript_paths().remove(0);
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"type\":\"x_novel\",  \"kept\":[1, 2.50]}\n");
    std::fs::write(&path, text).unwrap();
    (server, sandbox, path)
}

// [LNG-42]
#[test]
fn an_export_comes_back_byte_for_byte() {
    let (server, sandbox, path) = talked();
    let before = std::fs::read(&path).unwrap();
    let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
    for format in ["jsonl", "json"] {
        let file = format!("out.{format}");
        sandbox.gimlet(&["sessions", "export", &id, &file]).run().expect_clean();
        if format == "jsonl" {
            assert_eq!(sandbox.read(&file).as_bytes(), before);
        }
        std::fs::remove_file(&path).unwrap();
        let told = imported(&sandbox, &sandbox.project().join(&file), &[]);
        assert_eq!((told["sessionId"].as_str(), told["state"].as_str()), (Some(id.as_str()), Some("imported")));
        assert_eq!(std::fs::read(&path).unwrap(), before, "{format}");
    }
    sandbox.gimlet(&["-p", "and now?", "--resume", &id]).run().expect_clean();
    assert_paired(&server.last_request(), "an own export");
    assert!(server.last_request().tool_results()[0].to_string().contains("größer"));
}

// [LNG-42]
#[test]
fn a_copy_differs_in_its_id_only() {
    let (server, sandbox, path) = talked();
    let before = std::fs::read_to_string(&path).unwrap();
    let id = path.file_stem().unwrap().to_str().unwrap();
    let told = imported(&sandbox, &path, &["--copy"]);
    let copy = told["sessionId"].as_str().unwrap();
    let made = sandbox.transcript_paths().into_iter().find(|path| path.to_string_lossy().contains(copy)).unwrap();
    let fields = |text: &str, id: &str| {
        text.replace(&format!("\"sessionId\":\"{id}\""), "").replace(&format!("\"session_id\":\"{id}\""), "")
    };
    assert_eq!(fields(&std::fs::read_to_string(made).unwrap(), copy), fields(&before, id));
    sandbox.gimlet(&["-p", "and now?", "--resume", copy]).run().expect_clean();
    assert_paired(&server.last_request(), "a copy");
}

// [LNG-41]
#[test]
fn a_transcript_of_the_reference_goes_on_here_without_its_rights() {
    let server = ModelServer::with_handler(|_| ScriptedReply::text("Going on."));
    let sandbox = Sandbox::with_server(EXE, &server);
    let text = std::fs::read_to_string(fixture("../reference.jsonl")).unwrap();
    let text =
        text.replace("SESSION", "0b5a1f7e-3c55-4a51-9d2c-5f3f0a4f7c11").replace("PROJECT", "/home/someone/project");
    // Whoever made the file must not choose what may be done here.
    let rights = r#"{"type":"permission-mode","permissionMode":"acceptEdits","sessionId":"x"}"#;
    let file = sandbox.write("from-elsewhere.jsonl", format!("{text}{rights}\n"));
    let told = imported(&sandbox, &file, &["--here"]);
    let id = told["sessionId"].as_str().unwrap().to_owned();
    let run = sandbox
        .gimlet(&["-p", "and now?", "--resume", &id, "--output-format", "stream-json", "--verbose"])
        .run()
        .expect_clean();
    let init = run.lines().into_iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["permissionMode"], "default");
    assert_paired(&server.last_request(), "a transcript of the reference");
}
