//! Skills, commands, instruction files and output styles, from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, host, of_kind, print, stream};
use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedReply};

fn sandbox(server: &ModelServer) -> Sandbox {
    Sandbox::with_server(EXE, server)
}

fn answering() -> ModelServer {
    ModelServer::with_handler(|_| ScriptedReply::text("ok"))
}

#[test]
fn a_typed_command_is_expanded_and_recorded_with_its_tags() {
    // [EXT-120] [EXT-130] [TST-163] [SDK-66]
    let server = answering();
    let sandbox = sandbox(&server);
    sandbox.write(
        ".claude/commands/fix.md",
        "---\ndescription: Fixes\n---\nFix issue $0 in $ARGUMENTS[1]; see @notes.txt\n",
    );
    sandbox.write("notes.txt", "remember alpha\n");
    let lines = stream(&sandbox, "/fix 12 \"the parser\"", &[]);
    let sent = server.request(0).all_text();
    assert!(sent.contains("Fix issue 12 in the parser"), "{sent}");
    assert!(sent.contains("remember alpha"), "{sent}");
    let init = of_kind(&lines, "system/init")[0];
    assert_eq!(init["slash_commands"].as_array().unwrap().last(), Some(&json!("fix")));
    assert_eq!(of_kind(&lines, "user")[0]["isSynthetic"], true);
    let users: Vec<Value> = sandbox.transcript().into_iter().filter(|l| l["type"] == "user").collect();
    assert_eq!(
        users[0]["message"]["content"],
        "<command-name>/fix</command-name>\n<command-message>fix</command-message>\n<command-args>12 \"the parser\"</command-args>"
    );
    assert_eq!(users[1]["isMeta"], true);
    // An unknown command is sent as text.
    stream(&sandbox, "/nothing here", &[]);
    assert_eq!(server.request(1).last_user_text(), "/nothing here");
    // With commands disabled it is text too, and the tool is absent.
    stream(&sandbox, "/fix 1", &["--disable-slash-commands"]);
    assert_eq!(server.request(2).last_user_text(), "/fix 1");
    assert!(!server.request(2).tool_names().contains(&"Skill".to_owned()));
}

#[test]
fn the_model_loads_a_listed_skill() {
    // [TST-95] [EXT-139] [EXT-140] [EXT-146] [EXT-153]
    let server = ModelServer::script([
        ScriptedReply::tool("Skill", json!({"skill": "review", "args": "src"})),
        ScriptedReply::tool("Skill", json!({"skill": "review", "args": "src"})),
        ScriptedReply::tool("Skill", json!({"skill": "private"})),
        ScriptedReply::tool("Skill", json!({"skill": "nope"})),
        ScriptedReply::text("done"),
    ]);
    let sandbox = sandbox(&server);
    sandbox.write(
        ".claude/skills/review/SKILL.md",
        "---\ndescription: Reviews: code\nuser-invocable: no\n---\nReview $0 closely.\n",
    );
    sandbox.write_config(
        "skills/private/SKILL.md",
        "---\ndescription: Mine\ndisable-model-invocation: true\n---\nSecret.\n",
    );
    let lines = stream(&sandbox, "go", &[]);
    let first = server.request(0).all_text();
    assert!(first.contains("- review: Reviews: code") && !first.contains("- private"), "{first}");
    let init = of_kind(&lines, "system/init")[0];
    assert_eq!(init["slash_commands"].as_array().unwrap().last(), Some(&json!("private")));
    assert_eq!(init["skills"], json!(["review"]));
    assert!(server.request(1).all_text().contains("Review src closely."));
    assert_eq!(server.request(2).all_text().matches("Review src closely.").count(), 1);
    let results = server.request(4).tool_results();
    assert!(results[2]["content"].as_str().unwrap().contains("only be started by the user"), "{results:?}");
    assert!(results[3]["content"].as_str().unwrap().contains("Unknown skill: nope"), "{results:?}");
    let body = sandbox.transcript().into_iter().find(|l| l["sourceToolUseID"].is_string()).unwrap();
    assert_eq!(body["isMeta"], true);
    // A skill that only the model may load does not run when typed.
    let other = answering();
    let mut sandbox = sandbox;
    sandbox.set("ANTHROPIC_BASE_URL", other.url());
    stream(&sandbox, "/review src", &[]);
    assert!(!other.request(0).all_text().contains("closely"));
}

#[test]
fn commands_in_a_skill_pass_the_rules_and_never_ask() {
    // [EXT-134] [EXT-135] [EXT-136] [EXT-138] SC-H03
    let server = answering();
    let sandbox = sandbox(&server);
    sandbox.write_config("skills/free/SKILL.md", "Now: !`echo look`\n");
    sandbox.write_config(
        "skills/maker/SKILL.md",
        "---\nallowed-tools: Bash(touch made), Bash(false)\n---\n!`touch made` done\n",
    );
    sandbox.write_config("skills/breaks/SKILL.md", "---\nallowed-tools: [\"Bash(false)\"]\n---\n!`false`\n");
    sandbox.write_config("skills/greps/SKILL.md", "x !`grep nothing here.txt` y\n");
    sandbox.write("here.txt", "words\n");
    sandbox.write(".claude/skills/sneaky/SKILL.md", "!`touch stolen`\n");
    stream(&sandbox, "/free", &[]);
    assert!(server.request(0).all_text().contains("Now: look"));
    let refused = print(&sandbox, "/sneaky", &[]).run().expect_code(1);
    let text = refused.result()["result"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Shell command permission check failed for pattern \"!`touch stolen`\""), "{text}");
    assert!(!sandbox.project().join("stolen").exists());
    assert_eq!(server.requests().len(), 1, "nothing is sent");
    stream(&sandbox, "/maker", &[]);
    assert!(sandbox.project().join("made").exists());
    let broken = print(&sandbox, "/breaks", &[]).run().expect_code(1);
    assert!(broken.result()["result"].as_str().unwrap().starts_with("Shell command failed for pattern \"!`false`\""));
    stream(&sandbox, "/greps", &[]);
    print(&sandbox, "/maker", &["--disallowedTools", "Bash(touch *)"]).run().expect_code(1);
    stream(&sandbox, "/maker", &["--settings", r#"{"disableSkillShellExecution": true}"#]);
    assert!(server.last_request().all_text().contains("[shell command execution disabled by policy]"));
}

#[test]
fn what_a_skill_grants_ends_with_the_turn() {
    // [EXT-141] [EXT-142] [EXT-143]
    let bash = || ScriptedReply::tool("Bash", json!({"command": "touch granted"}));
    let web = ScriptedReply::tool("Read", json!({"file_path": "a.txt"}));
    let server = ModelServer::script([bash(), web, ScriptedReply::text("one"), bash(), ScriptedReply::text("two")]);
    let sandbox = sandbox(&server);
    sandbox.write("a.txt", "alpha");
    sandbox.write_config(
        "skills/grant/SKILL.md",
        "---\nallowed-tools: Bash(touch granted)\ndisallowed-tools: Read\nmodel: haiku\neffort: low\n---\nGo.\n",
    );
    let mut run = host(&sandbox, &["--model", "claude-sonnet-4-5"]).spawn();
    run.send_user("/grant");
    run.wait_for("result");
    assert!(sandbox.project().join("granted").exists());
    std::fs::remove_file(sandbox.project().join("granted")).unwrap();
    run.send_user("again");
    run.wait_for("result");
    run.close_stdin();
    drop(run.finish());
    assert!(!sandbox.project().join("granted").exists());
    let second = server.request(2).tool_results();
    assert!(second[1]["content"].as_str().unwrap().contains("denied"), "{second:?}");
    assert!(server.request(0).model().contains("haiku"), "{}", server.request(0).model());
    assert_eq!(server.request(3).model(), "claude-sonnet-4-5");
}

#[test]
fn a_skill_does_not_lift_rules_that_refuse() {
    // SC-E12
    let touch = |name: &str| ScriptedReply::tool("Bash", json!({"command": format!("touch {name}")}));
    let server = ModelServer::script([touch("denied"), touch("asked"), touch("made"), ScriptedReply::text("done")]);
    let sandbox = sandbox(&server);
    let rules = json!({"permissions": {"deny": ["Bash(touch denied)"], "ask": ["Bash(touch asked)"]}});
    sandbox.write_config("settings.json", rules.to_string());
    sandbox.write_config("skills/all/SKILL.md", "---\nallowed-tools: AskUserQuestion, Bash\n---\nGo.\n");
    drop(sandbox.gimlet(&["-p", "/all"]).run());
    let made = |name: &str| sandbox.project().join(name).exists();
    assert_eq!((made("denied"), made("asked"), made("made")), (false, false, true));
}

#[test]
fn changes_are_picked_up_while_the_session_runs() {
    // [EXT-128] [EXT-123] [EXT-152]
    let server = ModelServer::script([
        ScriptedReply::text("one"),
        ScriptedReply::text("two"),
        ScriptedReply::tool("Read", json!({"file_path": "pkg/a.txt"})),
        ScriptedReply::text("three"),
        ScriptedReply::text("four"),
    ]);
    let sandbox = sandbox(&server);
    sandbox.write(".claude/skills/old/SKILL.md", "Old words.");
    sandbox.write(".claude/skills/bound/SKILL.md", "---\npaths: pkg/*.txt\n---\nBound words.");
    sandbox.write("pkg/a.txt", "alpha");
    sandbox.write("pkg/CLAUDE.md", "Nested words.");
    sandbox.write("pkg/.claude/skills/inner/SKILL.md", "Inner words.");
    let mut run = host(&sandbox, &[]).spawn();
    let mut say = |text: &str| {
        run.send_user(text);
        run.wait_for("result");
    };
    say("first");
    sandbox.write(".claude/skills/new/SKILL.md", "New words.");
    std::fs::remove_dir_all(sandbox.project().join(".claude/skills/old")).unwrap();
    say("second");
    say("third");
    say("/inner");
    run.close_stdin();
    drop(run.finish());
    let first = server.request(0).all_text();
    assert!(first.contains("- old: Old words.") && !first.contains("bound"), "{first}");
    let second = server.request(1).all_text();
    assert!(second.contains("- new: New words.") && second.contains("no longer available: old"), "{second}");
    assert!(!server.request(2).all_text().contains("Nested words."));
    let third = server.request(3).all_text();
    assert!(third.contains("Nested words.") && third.contains("- inner: Inner words."), "{third}");
    assert!(third.contains("- bound: Bound words."), "{third}");
    assert!(server.request(4).all_text().contains("Inner words."));
    let kinds: Vec<Value> = sandbox.transcript().iter().map(|l| l["attachment"]["type"].clone()).collect();
    assert!(kinds.contains(&json!("nested_memory")) && kinds.contains(&json!("skill_listing")));
}

#[test]
fn a_resumed_request_begins_with_the_same_bytes() {
    // [CLI-124]
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "pkg/a.txt"})),
        ScriptedReply::text("one"),
        ScriptedReply::text("two"),
    ]);
    let sandbox = sandbox(&server);
    sandbox.write(".claude/skills/s/SKILL.md", "Words with a @a.txt mention.");
    sandbox.write("a.txt", "mentioned\n");
    sandbox.write("pkg/a.txt", "alpha");
    sandbox.write("pkg/CLAUDE.md", "Nested words.");
    stream(&sandbox, "/s go", &[]);
    stream(&sandbox, "more", &["--continue"]);
    let (before, after) = (server.request(1), server.request(2));
    let bare = |message: &Value| {
        let mut message = message.clone();
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
        message
    };
    let sent: Vec<Value> = before.messages().iter().map(bare).collect();
    let again: Vec<Value> = after.messages().iter().map(bare).collect();
    assert_eq!(sent, again[..sent.len()]);
    assert_eq!(after.all_text().matches("Words with a").count(), before.all_text().matches("Words with a").count());
}

#[test]
fn output_styles_change_the_system_prompt() {
    // [EXT-243] [EXT-245] [SDK-131]
    let server = answering();
    let sandbox = sandbox(&server);
    sandbox.write_config("output-styles/brief.md", "---\nname: Brief\ndescription: x\n---\nSpeak in haiku.\n");
    sandbox.write(".claude/output-styles/kept.md", "---\nkeep-coding-instructions: true\n---\nSpeak softly.\n");
    let with = |name: &str| {
        let settings = json!({"outputStyle": name}).to_string();
        let lines = stream(&sandbox, "hi", &["--settings", &settings]);
        assert_eq!(lines[0]["output_style"], name);
        server.last_request().system_text()
    };
    let brief = with("Brief");
    assert!(
        brief.contains("Speak in haiku.") && !brief.contains("# How to work") && brief.contains("# Tools"),
        "{brief}"
    );
    let kept = with("kept");
    assert!(kept.contains("Speak softly.") && kept.contains("# How to work"));
    assert!(with("explanatory").contains("Insight"));
    assert!(with("nobody knows it").contains("# How to work"));
}

#[test]
fn memory_show_names_file_and_line() {
    let sandbox = Sandbox::new(EXE);
    sandbox.write("CLAUDE.md", "First.\n<!-- hidden -->\nSecond, see @more.md\n");
    sandbox.write("more.md", "Imported.\n");
    sandbox.write(".claude/rules/ts.md", "---\npaths: src/**/*.ts\n---\nTyped.\n");
    let shown = sandbox.gimlet(&["memory", "show"]).run().expect_clean().stdout;
    for part in
        ["CLAUDE.md:1\nFirst.", "CLAUDE.md:3\nSecond", "more.md:1\nImported.", "waits for a matching file", "3 tokens"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!shown.contains("hidden"));
    let json = sandbox.gimlet(&["memory", "show", "src/a.ts", "--json"]).run().expect_clean().json();
    let files = json["files"].as_array().unwrap();
    assert_eq!(files.len(), 3);
    assert_eq!((&files[2]["reason"], &files[2]["parts"][0]["line"]), (&json!("path_glob_match"), &json!(4)));
    sandbox.gimlet(&["memory"]).run().expect_code(1);
}

#[test]
fn descriptions_that_do_not_fit_are_named_once() {
    // [EXT-148]
    let server = answering();
    let mut sandbox = sandbox(&server);
    sandbox.set("SLASH_COMMAND_TOOL_CHAR_BUDGET", "30");
    sandbox.write(".claude/skills/a/SKILL.md", "Twenty characters ok.");
    sandbox.write(".claude/skills/b/SKILL.md", "Rather more than thirty characters here.");
    let run = print(&sandbox, "hi", &[]).run().expect_code(0);
    assert!(run.stderr.contains("1 skills do not fit") && run.stderr.contains(": b."), "{}", run.stderr);
    let sent = server.request(0).all_text();
    assert!(sent.contains("- a: Twenty") && sent.contains("- b\n"), "{sent}");
}

#[test]
fn rules_about_skills_hold() {
    // [EXT-151]
    let call = || ScriptedReply::tool("Skill", json!({"skill": "plain"}));
    let server = ModelServer::script([call(), ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let sandbox = sandbox(&server);
    sandbox.write(".claude/skills/plain/SKILL.md", "Plain words.");
    stream(&sandbox, "go", &["--disallowedTools", "Skill(plain)"]);
    assert_eq!(server.request(1).tool_results()[0]["is_error"], true);
    stream(&sandbox, "go", &["--disallowedTools", "Skill"]);
    assert!(!server.request(2).tool_names().contains(&"Skill".to_owned()));
}

#[test]
fn doctor_names_broken_definitions() {
    // [EXT-129] [EXT-157]
    let sandbox = Sandbox::new(EXE);
    sandbox.write(".claude/skills/a/SKILL.md", "---\ndescription: One: two\n---\n");
    sandbox.write(".claude/agents/b.md", "---\ndescription: d\n---\n");
    let report = sandbox.gimlet(&["doctor"]).run().stdout;
    assert!(report.contains("SKILL.md:2: `description` is not valid YAML"), "{report}");
    assert!(report.contains("b.md:1: not a valid agent: `name` is missing"), "{report}");
}
