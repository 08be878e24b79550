//! What a session tells the model beside the conversation, and where it stands, through the real binary.

use crate::common::{EXE, git, host, print, session_of, stream};
use serde_json::{Value, json};
use testkit::{CapturedRequest, ModelServer, Sandbox, ScriptedReply, wait_until};

/// A sandbox whose model makes `calls` one by one and then ends.
fn scripted(calls: &[(&str, Value)]) -> (Sandbox, ModelServer) {
    let mut script: Vec<ScriptedReply> =
        calls.iter().map(|(name, input)| ScriptedReply::tool(name, input.clone())).collect();
    script.push(ScriptedReply::text("done"));
    let server = ModelServer::script(script);
    (Sandbox::with_server(EXE, &server), server)
}

/// The texts of the user blocks of the last user message, in order.
fn last_blocks(request: &CapturedRequest) -> Vec<String> {
    let last = request.messages().iter().rev().find(|message| message["role"] == "user").unwrap();
    match &last["content"] {
        Value::String(text) => vec![text.clone()],
        content => content
            .as_array()
            .unwrap()
            .iter()
            .map(|block| {
                block["text"].as_str().unwrap_or(if block["type"] == "tool_result" { "RESULT" } else { "" }).to_owned()
            })
            .collect(),
    }
}

fn facts_of(request: &CapturedRequest) -> Vec<String> {
    let blocks = request.messages().iter().filter_map(|message| message["content"].as_array()).flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    texts.filter(|text| text.contains("About this project")).map(str::to_owned).collect()
}

/// The bytes of a request up to its moving cache marker.
fn prefix(request: &CapturedRequest) -> Vec<u8> {
    let marker = br#","cache_control":{"type":"ephemeral"}"#;
    let moving = request.body.windows(marker.len()).rposition(|w| w == marker).unwrap();
    request.body[..moving].to_vec()
}

fn bash(command: &str) -> (&'static str, Value) {
    ("Bash", json!({"command": command}))
}

/// [MX-26] First message: context, skills, hook context, prompt; facts stand before the prompt, before the hook's
/// context when they were known in time.
#[test]
fn the_prompt_is_the_last_part_of_the_first_message() {
    let (sandbox, server) = scripted(&[]);
    sandbox.write("CLAUDE.md", "Be brief.\n");
    sandbox.write_config("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies up\n---\nTidy.\n");
    let hook = json!([{"hooks": [{"type": "command", "command": "echo from-the-hook"}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"UserPromptSubmit": hook}}).to_string());
    stream(&sandbox, "my words", &[]);
    let blocks = last_blocks(&server.request(0));
    let at = |text: &str| {
        blocks.iter().position(|block| block.contains(text)).unwrap_or_else(|| panic!("{text}: {blocks:#?}"))
    };
    let order = [at("Be brief."), at("Tidies up"), at("from-the-hook"), at("my words")];
    assert!(order.is_sorted(), "{order:?} {blocks:#?}");
    let facts = blocks.iter().position(|block| block.contains("About this project"));
    assert!(facts.is_none_or(|facts| order[1] < facts && facts < order[3]), "{blocks:#?}");
    assert_eq!(blocks.last().unwrap(), "my words");
}

/// [MX-26] A typed skill's prompt, and later prompts, stand behind every reminder.
#[test]
fn later_prompts_stand_behind_what_changed() {
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "a.txt"})),
        ScriptedReply::text("one"),
        ScriptedReply::text("two"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let file = sandbox.write("a.txt", "alpha\n");
    let mut run = host(&sandbox, &["--permission-mode", "acceptEdits"]).spawn();
    run.send_user("first");
    run.wait_for("result");
    std::fs::write(file, "beta\n").unwrap();
    run.send_user("second");
    run.wait_for("result");
    run.close_stdin();
    run.finish();
    let blocks = last_blocks(&server.request(2));
    assert!(blocks[0].contains("Changed on disk"), "{blocks:#?}");
    assert_eq!(blocks.last().unwrap(), "second");
}

/// [MX-26] After a compaction that does not keep it, the user's latest message comes last.
#[test]
fn the_latest_words_are_last_after_a_compaction() {
    let server = ModelServer::start();
    for text in ["One.", "SUMMARY of it.", "Two."] {
        server.push(ScriptedReply::text(text));
    }
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("CLAUDE.md", "Be brief.\n");
    let mut run = host(&sandbox, &[]).spawn();
    for words in ["the first words", "/compact", "next words"] {
        run.send_user(words);
        run.wait_for("result");
    }
    run.close_stdin();
    run.finish();
    let last = server.last_request();
    let text = last.all_text();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let order = [at("SUMMARY of it."), at("Be brief."), at("word for word:\n\nthe first words"), at("next words")];
    assert!(order.is_sorted(), "{order:?} {text}");
    let session = sandbox.transcript()[0]["sessionId"].as_str().unwrap().to_owned();
    server.push(ScriptedReply::text("Three."));
    stream(&sandbox, "more", &["--resume", &session]);
    assert!(server.last_request().body.starts_with(&prefix(&last)), "a resumed request has the same order");
}

/// [MX-27] [MX-28] The branch is no part of the system prompt, and the facts stay as they were told.
#[test]
fn resuming_on_another_branch_keeps_the_prefix() {
    let server = ModelServer::script([
        ScriptedReply::tool("Read", json!({"file_path": "a.txt"})),
        ScriptedReply::text("one"),
        ScriptedReply::text("two"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("a.txt", "alpha\n");
    for line in ["init -q -b trunk", "add .", "commit -q -m first-subject"] {
        git(&sandbox, line);
    }
    let id = session_of(&stream(&sandbox, "first", &[]));
    let before = server.request(1);
    assert!(!before.system_text().contains("trunk"), "{}", before.system_text());
    assert!(before.all_text().contains("Git branch: trunk"), "{}", before.all_text());
    git(&sandbox, "checkout -q -b elsewhere");
    sandbox.write("b.txt", "new\n");
    stream(&sandbox, "second", &["--resume", &id]);
    let after = server.request(2);
    assert!(after.body.starts_with(&prefix(&before)));
    assert!(!after.all_text().contains("elsewhere"), "facts are told once: {}", after.all_text());
}

/// A project with everything that facts are made of. Its model makes harmless calls until it was told `awaited`.
fn project_with_everything(awaited: &'static str) -> (Sandbox, ModelServer) {
    let server = ModelServer::with_handler(move |request| match request.tool_results().len() {
        n if n < 500 && !facts_of(request).concat().contains(awaited) => {
            ScriptedReply::tool("Bash", json!({"command": format!("echo {n}")}))
        }
        _ => ScriptedReply::text("done"),
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("package.json", json!({"scripts": {"test": "x", "build": "y"}}).to_string());
    sandbox.write("Makefile", "all: x\n\ttouch ran-a-target\n");
    sandbox.write("src/x.c", "");
    for line in ["init -q -b trunk", "add .", "commit -q -m first-subject", "config branch.trunk.remote origin"] {
        git(&sandbox, line);
    }
    git(&sandbox, "config branch.trunk.merge refs/heads/trunk");
    sandbox.write("new.txt", "new\n");
    (sandbox, server)
}

/// Edits and commands need no answer.
const FREE: [&str; 4] = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash"];

const ALLOWED: [&str; 2] = ["--allowedTools", "Bash"];

/// [MX-28] What is known at the start goes with the first message, the rest with a later one, each once and together
/// within the bound.
#[test]
fn facts_about_the_project_are_told_once_and_bounded() {
    let (sandbox, server) = project_with_everything("first-subject");
    stream(&sandbox, "go", &ALLOWED);
    let told = facts_of(&server.last_request());
    let all = told.concat();
    for fact in [
        "UTC",
        "Git branch: trunk, follows origin/trunk",
        "Git status, 1 changed:\n  ?? new.txt",
        "Last commits: first-subject",
        "Here: src/ Makefile new.txt package.json",
        "package.json: npm run build|test",
        "Makefile: make all",
    ] {
        assert_eq!(all.matches(fact).count(), 1, "{fact}: {all}");
    }
    assert!(all.len() <= 2_000, "{}", all.len());
    let first = server.request(0);
    let context: usize = last_blocks(&first).iter().map(String::len).sum();
    assert!(context <= 2_800, "{context}");
    let kept = sandbox.transcript().iter().filter(|line| line["attachment"]["type"] == "x_project_facts").count();
    assert_eq!(kept, told.len());
}

/// [MX-28] Switches: everything, or what git says.
#[test]
fn facts_can_be_left_out() {
    let (sandbox, server) = project_with_everything("Here:");
    sandbox.write_config("settings.json", json!({"includeGitInstructions": false}).to_string());
    stream(&sandbox, "go", &ALLOWED);
    let all = facts_of(&server.last_request()).concat();
    assert!(all.contains("Here: src/") && !all.contains("trunk") && !all.contains("first-subject"), "{all}");
    for (flags, settings) in [(&[][..], json!({"projectFacts": false})), (&["--system-prompt", "mine"], json!({}))] {
        let (sandbox, server) = project_with_everything("");
        sandbox.write_config("settings.json", settings.to_string());
        stream(&sandbox, "go", &[&ALLOWED, flags].concat());
        assert_eq!(facts_of(&server.last_request()), [""; 0], "{settings}");
    }
}

/// [MX-28] Nothing that the repository configures is run to gather the facts.
#[test]
fn gathering_facts_runs_nothing_of_the_repository() {
    let (sandbox, server) = project_with_everything("first-subject");
    let trap = sandbox.write("trap.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/trapped\"\ncat\n");
    let mut mode = std::fs::metadata(&trap).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&trap, mode).unwrap();
    sandbox.write(".gitattributes", "* filter=trap diff=trap\n");
    for key in [
        "core.fsmonitor",
        "filter.trap.clean",
        "filter.trap.process",
        "diff.trap.textconv",
        "core.pager",
        "gpg.program",
    ] {
        git(&sandbox, &format!("config {key} {}", trap.display()));
    }
    git(&sandbox, "config log.showSignature true");
    std::fs::remove_file(sandbox.project().join("trapped")).ok();
    sandbox.write("src/x.c", "changed\n");
    stream(&sandbox, "go", &ALLOWED);
    assert!(facts_of(&server.last_request()).concat().contains("Git branch: trunk"));
    assert!(!sandbox.project().join("trapped").exists(), "{}", facts_of(&server.last_request()).concat());
    assert!(!sandbox.project().join("ran-a-target").exists());
}

/// [MX-28] A name that a rule hides is not told.
#[test]
fn facts_leave_out_what_rules_hide() {
    let (sandbox, server) = project_with_everything("first-subject");
    sandbox.write("private/key.txt", "x\n");
    let rules = json!({"permissions": {"deny": ["Read(./new.txt)", "Read(./private/**)"]}});
    sandbox.write_config("settings.json", rules.to_string());
    stream(&sandbox, "go", &ALLOWED);
    let all = facts_of(&server.last_request()).concat();
    assert!(all.contains("Makefile") && !all.contains("new.txt"), "{all}");
}

/// [MX-29]
#[test]
fn the_environment_says_who_is_there() {
    let (sandbox, server) = scripted(&[]);
    stream(&sandbox, "go", &[]);
    let system = server.request(0).system_text();
    assert!(system.contains("- Person: not present; nobody can answer"), "{system}");
    assert!(!system.contains("- Sandbox"), "{system}");
    let (sandbox, server) = scripted(&[]);
    let mut run = host(&sandbox, &["--permission-prompt-tool", "stdio"]).spawn();
    run.send_user("go");
    run.wait_for("result");
    run.close_stdin();
    run.finish();
    assert!(server.request(0).system_text().contains("- Person: present"), "{}", server.request(0).system_text());
}

/// [MX-29] Where a sandbox works, its roots and its network are named.
#[test]
fn the_environment_describes_the_sandbox() {
    let (sandbox, server) = scripted(&[]);
    let settings = json!({"sandbox": {"enabled": true, "network": {"allowedDomains": ["docs.example"]}}});
    sandbox.write_config("settings.json", settings.to_string());
    let done = print(&sandbox, "go", &[]).run();
    let system = server.request(0).system_text();
    if done.stderr.contains("cannot be applied here") {
        assert!(!system.contains("- Sandbox"), "{system}");
        return;
    }
    let project = sandbox.project().canonicalize().unwrap();
    let wanted = format!("- Sandbox of shell commands: writes below {} ", project.display());
    assert!(system.contains(&wanted) && system.contains("network to docs.example only"), "{system}");
}

/// [MX-25] Denied because nobody can answer: the known sentence first, then what to do.
#[test]
fn denials_without_a_person_say_what_to_do() {
    let question = json!({"questions": [{"question": "Which?", "header": "H", "multiSelect": false,
        "options": [{"label": "a", "description": ""}, {"label": "b", "description": ""}]}]});
    let (sandbox, server) = scripted(&[
        ("Write", json!({"file_path": "x.txt", "content": "x"})),
        ("AskUserQuestion", question),
        bash("touch made"),
    ]);
    let lines = stream(&sandbox, "go", &[]);
    let text = |n: usize| server.request(n).tool_results().last().unwrap()["content"].as_str().unwrap().to_owned();
    let advice = "\nNobody can grant this in this run. Do what is possible without it and say what is missing.";
    assert!(text(1).starts_with("Claude requested permissions to ") && text(1).ends_with(advice), "{}", text(1));
    assert!(text(2).ends_with("Nobody can answer: choose, say which and why."), "{}", text(2));
    assert!(text(3).ends_with(advice), "{}", text(3));
    let told = lines.iter().find(|line| line["subtype"] == "permission_denied").unwrap();
    assert!(!told["message"].as_str().unwrap().contains("Nobody"), "{told}");
    let (sandbox, server) = scripted(&[bash("touch made")]);
    stream(&sandbox, "go", &["--permission-mode", "dontAsk"]);
    let text = server.request(1).tool_results()[0]["content"].as_str().unwrap().to_owned();
    assert!(text.ends_with(advice), "{text}");
}

/// [MX-25]
#[test]
fn a_denial_in_plan_mode_names_the_plan_file() {
    let (sandbox, server) = scripted(&[("Write", json!({"file_path": "x.txt", "content": "x"}))]);
    stream(&sandbox, "go", &["--permission-mode", "plan"]);
    let text = server.request(1).tool_results()[0]["content"].as_str().unwrap().to_owned();
    let named = text.split_once("The only file that may be written now is the plan, ").unwrap().1;
    assert!(named.ends_with(".md.") && named.starts_with(sandbox.config_dir().to_str().unwrap()), "{text}");
}

fn changed_of(request: &CapturedRequest) -> Vec<String> {
    let blocks = request.messages().iter().filter_map(|message| message["content"].as_array()).flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    texts.filter(|text| text.contains("Changed on disk")).map(str::to_owned).collect()
}

/// [MX-30] Changes by a command are told once, with a difference, after which the file counts as seen; own edits are
/// not told.
#[test]
fn changes_by_a_command_are_told_once() {
    let edit = |old: &str, new: &str| ("Edit", json!({"file_path": "a.txt", "old_string": old, "new_string": new}));
    let (sandbox, server) = scripted(&[
        ("Read", json!({"file_path": "a.txt"})),
        edit("one", "ONE"),
        bash("sed -i s/two/TWO/ a.txt"),
        ("Write", json!({"file_path": "a.txt", "content": "whole\n"})),
        bash("rm a.txt"),
        bash("true"),
    ]);
    sandbox.write("a.txt", "one\ntwo\nthree\n");
    stream(&sandbox, "go", &FREE);
    assert_eq!(changed_of(&server.request(2)), [""; 0], "an own edit");
    let told = changed_of(&server.request(3));
    assert_eq!(told.len(), 1);
    let wanted = "a.txt (probably by a command of yours):\n@@ -1,3 +1,3 @@\n ONE\n-two\n+TWO\n three";
    assert!(told[0].contains(wanted), "{told:?}");
    let written = &server.request(4).tool_results()[3];
    assert!(written["is_error"].is_null() || written["is_error"] == false, "it counts as seen: {written}");
    let last = changed_of(&server.last_request());
    assert!(last.len() == 2 && last[1].contains("a.txt is gone"), "{last:?}");
}

/// [MX-30] A long difference is not shown: the file is named once and has to be read again.
#[test]
fn a_long_change_is_named_only() {
    let (sandbox, server) = scripted(&[
        ("Read", json!({"file_path": "a.txt"})),
        ("Read", json!({"file_path": "b.txt"})),
        bash("seq 1 500 > a.txt; sed -i s/x/y/ b.txt"),
        ("Write", json!({"file_path": "a.txt", "content": "whole\n"})),
        bash("true"),
    ]);
    sandbox.write("a.txt", "one\n");
    sandbox.write("b.txt", "x\n");
    // A model that has to read a file before it overwrites it.
    stream(&sandbox, "go", &[&FREE[..], &["--model", "claude-sonnet-4-5"]].concat());
    let told = changed_of(&server.request(3));
    assert!(told[0].contains("a.txt (probably by a command of yours): read it again"), "{told:?}");
    assert!(told[0].contains("-x\n+y") && told[0].len() <= 4_000, "{told:?}");
    assert_eq!(server.request(4).tool_results()[3]["is_error"], true, "what was not shown is not seen");
    assert_eq!(changed_of(&server.last_request()).len(), 1, "told once");
}

/// [MX-30] A hook that formats after an edit.
#[test]
fn changes_by_a_hook_are_told_as_such() {
    let (sandbox, server) = scripted(&[
        ("Read", json!({"file_path": "a.txt"})),
        ("Edit", json!({"file_path": "a.txt", "old_string": "one", "new_string": "ONE"})),
        ("Edit", json!({"file_path": "a.txt", "old_string": "formatted", "new_string": "again"})),
    ]);
    sandbox.write("a.txt", "one\n");
    let hook = json!([{"matcher": "Edit", "hooks": [{"type": "command",
        "command": "grep -qE 'formatted|again' a.txt || echo formatted >> a.txt"}]}]);
    sandbox.write_config("settings.json", json!({"hooks": {"PostToolUse": hook}}).to_string());
    stream(&sandbox, "go", &["--permission-mode", "acceptEdits"]);
    let told = changed_of(&server.request(2));
    assert!(told[0].contains("(probably by a hook)") && told[0].contains("+formatted"), "{told:?}");
    assert!(!server.request(3).tool_result_text(&last_id(&server.request(3))).contains("read it again"));
    assert_eq!(sandbox.read("a.txt"), "ONE\nagain\n");
}

fn last_id(request: &CapturedRequest) -> String {
    request.tool_results().last().unwrap()["tool_use_id"].as_str().unwrap().to_owned()
}

fn todos() -> Value {
    let item = |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": "x"});
    json!({"todos": [item("write it", "in_progress"), item("test it", "pending"), item("was done", "completed")]})
}

/// [MX-31] A list that is not touched is told again, open items only, every twelve calls.
#[test]
fn a_forgotten_list_is_told_every_twelve_calls() {
    let mut calls = vec![("TodoWrite", todos())];
    calls.extend((0..26).map(|n| bash(&format!("echo {n}"))));
    let (sandbox, server) = scripted(&calls);
    let run = print(&sandbox, "go", &["--allowedTools", "TodoWrite", "Bash"]).env("CLAUDE_CODE_ENABLE_TASKS", "0");
    run.run().expect_clean();
    let told = |n: usize| server.request(n).all_text().matches("Open items of your list").count();
    assert_eq!((told(12), told(13), told(24), told(25), told(27)), (0, 1, 1, 2, 2));
    let blocks = last_blocks(&server.request(13));
    let reminder = blocks.iter().find(|block| block.contains("Open items")).unwrap();
    assert!(reminder.contains("- [in_progress] write it\n- [pending] test it") && !reminder.contains("was done"));
    assert!(reminder.len() <= 600);
}

/// [MX-31] The task list is told after a compaction, as the todo list is.
#[test]
fn the_task_list_is_told_after_a_compaction() {
    let server = ModelServer::start();
    server.push(ScriptedReply::tool("TaskCreate", json!({"subject": "mend the roof", "description": "all of it"})));
    for text in ["One.", "SUMMARY.", "Two."] {
        server.push(ScriptedReply::text(text));
    }
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut run = host(&sandbox, &["--allowedTools", "TaskCreate", "TaskUpdate"]).spawn();
    for words in ["begin", "/compact", "go on"] {
        run.send_user(words);
        run.wait_for("result");
    }
    run.close_stdin();
    run.finish();
    let text = server.last_request().all_text();
    assert!(text.contains("Your task list:\n#1 [pending] mend the roof"), "{text}");
}

/// [MX-32] The third and the fifth failure, and the end of the turn at the limit.
#[test]
fn a_turn_that_only_repeats_itself_is_told_and_ended() {
    let server = ModelServer::with_handler(|_| ScriptedReply::tool("Bash", json!({"command": "exit 3"})));
    let sandbox = Sandbox::with_server(EXE, &server);
    let done = print(&sandbox, "go", &["--allowedTools", "Bash"]).run();
    let result = done.result();
    assert_eq!(result["subtype"], "error_during_execution", "{result}");
    assert_eq!(result["terminal_reason"], "repeated_calls_exhausted");
    assert!(result["errors"][0].as_str().unwrap().contains("12 times"), "{result}");
    assert_eq!(server.requests().len(), 12);
    let results = server.last_request().tool_results();
    let text = |n: usize| results[n]["content"].as_str().unwrap();
    assert!(!text(1).contains("Same call"), "{}", text(1));
    assert!(text(2).starts_with("Exit code 3") && text(2).contains("Same call, same failure, third time."));
    assert!(!text(3).contains("Say what blocks you") && text(4).contains("Say what blocks you"), "{}", text(4));
    let twin =
        sandbox.transcript().iter().filter_map(|l| l["toolUseResult"].as_str().map(str::to_owned)).collect::<Vec<_>>();
    assert!(twin.iter().all(|twin| !twin.contains("Same call")), "{twin:?}");
}

/// [MX-32] The limit can be set, and waiting for background work does not count.
#[test]
fn waiting_does_not_count_as_repeating() {
    let server = ModelServer::with_handler(|request| match request.tool_results().len() {
        0 => ScriptedReply::tool("Bash", json!({"command": "true", "run_in_background": true})),
        n if n < 8 => {
            let first = request.tool_results()[0]["content"].as_str().unwrap().to_owned();
            let id = first.split_once("as task ").unwrap().1.split('.').next().unwrap().to_owned();
            ScriptedReply::tool("TaskOutput", json!({"task_id": id, "block": false, "timeout": 1}))
        }
        n if n < 20 => ScriptedReply::tool("Bash", json!({"command": "echo same"})),
        _ => ScriptedReply::text("done"),
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", json!({"maxRepeats": 4}).to_string());
    let done = print(&sandbox, "go", &["--allowedTools", "Bash", "TaskOutput"]).run();
    assert_eq!(done.result()["terminal_reason"], "repeated_calls_exhausted", "{}", done.result());
    assert_eq!(server.requests().len(), 12, "seven polls do not count, four equal commands do");
    sandbox.write_config("settings.json", json!({"maxRepeats": 0}).to_string());
    server.forget();
    let done = print(&sandbox, "go", &["--allowedTools", "Bash", "TaskOutput"]).run();
    assert_eq!(done.result()["subtype"], "success", "{}", done.result());
    assert_eq!(server.requests().len(), 21);
}

/// [MX-33] The result says whether a command ran after the last edit.
#[test]
fn the_result_says_whether_the_work_was_checked() {
    let write = ("Write", json!({"file_path": "x.txt", "content": "x"}));
    for (calls, wanted) in [
        (vec![write.clone()], json!({"ran_after_last_edit": false})),
        (
            vec![write.clone(), bash("false")],
            json!({"ran_after_last_edit": true, "command": "false", "succeeded": false}),
        ),
        (vec![bash("true"), write], json!({"ran_after_last_edit": false})),
        (vec![bash("true")], Value::Null),
    ] {
        let (sandbox, _server) = scripted(&calls);
        let lines = stream(&sandbox, "go", &FREE);
        assert_eq!(lines.last().unwrap()["x_checks"], wanted);
    }
}

/// [MX-33] One reminder when a turn ends with edits and nothing run since.
#[test]
fn a_check_is_asked_for_once_when_settings_say_so() {
    for (setting, requests) in [("remind", 3), ("off", 2)] {
        let server = ModelServer::script([
            ScriptedReply::tool("Write", json!({"file_path": "x.txt", "content": "x"})),
            ScriptedReply::text("done"),
            ScriptedReply::text("nothing to run"),
        ]);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write_config("settings.json", json!({"verifyBeforeEnd": setting}).to_string());
        stream(&sandbox, "go", &["--permission-mode", "acceptEdits"]);
        assert_eq!(server.requests().len(), requests);
        if setting == "remind" {
            assert!(last_blocks(&server.request(2)).last().unwrap().contains("nothing was run since"));
        }
    }
}

/// [MX-28] A late part follows once: what git says comes after a first request that could not wait for it.
#[test]
fn what_git_says_late_follows_with_a_later_request() {
    let (sandbox, server) = project_with_everything("first-subject");
    let gate = sandbox.root().join("may-answer");
    let slow = sandbox.root().join("bin/git");
    std::fs::create_dir_all(slow.parent().unwrap()).unwrap();
    let script =
        format!("#!/bin/sh\nwhile [ ! -e {} ]; do sleep 0.05; done\nexec /usr/bin/git \"$@\"\n", gate.display());
    std::fs::write(&slow, script).unwrap();
    let mut mode = std::fs::metadata(&slow).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&slow, mode).unwrap();
    let path = format!("{}:/usr/bin:/bin", slow.parent().unwrap().display());
    let running = print(&sandbox, "go", &ALLOWED).env("PATH", path).spawn();
    wait_until("the first request", || !server.requests().is_empty());
    std::fs::write(&gate, "").unwrap();
    running.finish();
    let first = facts_of(&server.request(0)).concat();
    assert!(!first.contains("first-subject"), "{first}");
    let all = facts_of(&server.last_request()).concat();
    for fact in ["Git branch: trunk", "first-subject"] {
        assert_eq!(all.matches(fact).count(), 1, "{all}");
    }
}

/// [MX-28] [MX-33] An agent in the same place is told the facts before its task; its report says whether its work was
/// checked.
#[test]
fn agents_are_told_facts_and_report_checks() {
    const TASK: &str = "the task of the agent";
    let server = ModelServer::with_handler(|request| {
        let is_agent = !request.tool_names().contains(&"Agent".to_owned()) || request.last_user_text() == TASK;
        match (is_agent, request.tool_results().len()) {
            (true, 0) => ScriptedReply::tool("Write", json!({"file_path": "x.txt", "content": "x"})),
            (true, _) => ScriptedReply::text("report"),
            (false, 0) => {
                ScriptedReply::tool("Agent", json!({"description": "d", "prompt": TASK, "run_in_background": false}))
            }
            (false, _) => ScriptedReply::text("done"),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    stream(&sandbox, "go", &FREE);
    let requests = server.requests();
    let agent = last_blocks(requests.iter().find(|request| request.last_user_text() == TASK).unwrap());
    assert!(agent.iter().any(|block| block.contains("About this project")), "{agent:#?}");
    assert_eq!(agent.last().unwrap(), TASK);
    let result = server.last_request().tool_results()[0].to_string();
    assert!(result.contains("[Nothing was run after the last change of a file.]"), "{result}");
}
