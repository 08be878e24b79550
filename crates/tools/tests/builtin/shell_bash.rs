//! Bash in the foreground, with a real shell.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "test code")]

use crate::common::Bench;
use serde_json::{Value, json};
use sys::Env;

/// A bench whose shell reads no rc file.
fn bench() -> Bench {
    with_env(&[])
}

fn with_env(vars: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::new();
    let kept = Env::snapshot();
    let path = kept.get("PATH").unwrap_or("/usr/bin:/bin").to_owned();
    bench.facts.env = Env::default().with([("PATH", path.as_str())]).with(vars.iter().copied());
    bench
}

async fn ok(bench: &Bench, command: &str) -> (String, Value) {
    bench.ok("Bash", json!({"command": command})).await
}

async fn text(bench: &Bench, command: &str) -> String {
    ok(bench, command).await.0
}

#[tokio::test]
async fn the_directory_persists_inside_the_workspace() {
    // [TST-47]
    let bench = bench();
    std::fs::create_dir_all(bench.dir.join("sub dir/it's")).unwrap();
    let inner = bench.dir.join("sub dir/it's").display().to_string();
    let (out, result) = ok(&bench, "cd \"sub dir/it's\"").await;
    assert_eq!(result["stderr"], "");
    assert_eq!(result["noOutputExpected"], true);
    assert!(!out.contains("reset"));
    assert_eq!(text(&bench, "pwd").await, inner);

    let (out, result) = ok(&bench, "cd / && echo there").await;
    let notice = format!("Shell cwd was reset to {}", bench.dir.display());
    assert_eq!(out, format!("there\n{notice}"));
    assert_eq!(result["stdout"], "there");
    assert_eq!(result["stderr"], notice.as_str());
    assert_eq!(text(&bench, "pwd").await, bench.dir.display().to_string());
}

#[tokio::test]
async fn the_directory_is_learnt_however_the_command_ends() {
    // [TST-47]
    let bench = bench();
    for (name, command) in [
        ("a", "cd a; exit 0"),
        ("b", "trap 'true' EXIT; cd b"),
        ("c", "set -eu; cd c; :"),
        ("d", "cd d # comment"),
        ("e", "cd e <<X\nX"),
        ("f", "trap 'echo bye' EXIT; cd f"),
    ] {
        std::fs::create_dir_all(bench.dir.join(name)).unwrap();
        text(&bench, command).await;
        assert_eq!(text(&bench, "pwd").await, bench.dir.join(name).display().to_string(), "{command}");
        text(&bench, "cd ..").await;
    }
    let failed = bench.fails("Bash", json!({"command": "cd a; exit 3"})).await;
    // [MX-19]
    assert_eq!(failed, format!("Exit code 3\n[now in {}]", bench.dir.join("a").display()));
    assert_eq!(text(&bench, "pwd").await, bench.dir.join("a").display().to_string());
    // These commands do not report a directory; nothing breaks.
    text(&bench, "cd ..; exec true").await;
    bench.fails("Bash", json!({"command": "cd ..; kill -9 $$"})).await;
    assert_eq!(text(&bench, "pwd").await, bench.dir.join("a").display().to_string());
    let left: Vec<_> = std::fs::read_dir(bench.dir.parent().unwrap().join("tasks")).unwrap().collect();
    assert!(left.is_empty(), "scratch files stay behind: {left:?}");
}

#[tokio::test]
async fn a_directory_that_is_gone_is_replaced() {
    // [TST-47]
    let bench = bench();
    std::fs::create_dir(bench.dir.join("gone")).unwrap();
    text(&bench, "cd gone").await;
    std::fs::remove_dir(bench.dir.join("gone")).unwrap();
    let (out, _) = ok(&bench, "pwd").await;
    assert_eq!(out, format!("{0}\nShell cwd was reset to {0}", bench.dir.display()));
}

#[tokio::test]
async fn persistence_can_be_switched_off() {
    // [TST-47]
    let bench = with_env(&[("CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR", "1")]);
    std::fs::create_dir(bench.dir.join("sub")).unwrap();
    text(&bench, "cd sub").await;
    assert_eq!(text(&bench, "pwd").await, bench.dir.display().to_string());
}

#[tokio::test]
async fn variables_do_not_persist_but_the_env_file_does() {
    // [TST-48]
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("env.sh");
    std::fs::write(&file, "export FROM_FILE='a b'\n").unwrap();
    let bench = with_env(&[("CLAUDE_ENV_FILE", file.to_str().unwrap())]);
    text(&bench, "export X=1").await;
    assert_eq!(text(&bench, "echo \"[$X][$FROM_FILE]\"").await, "[][a b]");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(text(&bench, "echo \"[$FROM_FILE]\"").await, "[]");
}

#[tokio::test]
async fn failures_begin_with_the_exit_code() {
    // [TST-49]
    let bench = bench();
    assert_eq!(
        bench.fails("Bash", json!({"command": "echo out; echo err >&2; exit 7"})).await,
        "Exit code 7\nout\nerr"
    );
    assert_eq!(bench.fails("Bash", json!({"command": "kill -KILL $$"})).await, "Exit code 137\nkilled by SIGKILL");
    // [MX-19]
    let probably = bench.fails("Bash", json!({"command": "bash -c 'kill -SEGV $$'; exit $?"})).await;
    assert!(probably.starts_with("Exit code 139\nprobably killed by SIGSEGV"), "{probably}");
    let syntax = bench.fails("Bash", json!({"command": "echo 'unterminated"})).await;
    assert!(syntax.starts_with("Exit code 2\n"), "{syntax}");
    bench.file("f", "a\n");
    let (out, result) = ok(&bench, "grep nothing f").await;
    assert_eq!(result["returnCodeInterpretation"], "No matches found");
    assert_eq!(out, "No matches found");
    bench.fails("Bash", json!({"command": "grep x missing"})).await;
}

#[tokio::test]
async fn results_have_the_old_fields_always() {
    // [TST-53]
    let bench = bench();
    let (out, result) = ok(&bench, "true").await;
    assert_eq!(out.chars().count(), 31);
    for (key, value) in
        [("stdout", json!("")), ("stderr", json!("")), ("interrupted", json!(false)), ("isImage", json!(false))]
    {
        assert_eq!(result[key], value, "{key}");
    }
    let (out, result) = ok(&bench, "printf '\\n\\n  a\\n\\0b\\377\\n\\n'").await;
    assert_eq!(out, "  a\nb\u{fffd}");
    assert_eq!(result["stdout"], out);
    // [MX-16]
    let (out, result) = ok(&bench, "printf '\\033[31mred\\033[0m 1%%\\r\\033[Kdone'").await;
    assert_eq!((out.as_str(), &result["stdout"]), ("done", &json!("\u{1b}[31mred\u{1b}[0m 1%\r\u{1b}[Kdone")));
}

#[tokio::test]
async fn output_keeps_arrival_order() {
    // [TST-54]
    let out = text(&bench(), "for i in 1 2 3; do echo out$i; echo err$i >&2; done").await;
    assert_eq!(out, "out1\nerr1\nout2\nerr2\nout3\nerr3");
}

#[tokio::test]
async fn long_output_is_spilled() {
    // [TST-55] [TST-10]
    let bench = bench();
    let (whole, _) = ok(&bench, "head -c 30000 /dev/zero | tr '\\0' x").await;
    assert_eq!(whole.len(), 30_000);
    let (out, result) = ok(&bench, "seq -f %07g 1 5000; printf end").await;
    assert!(out.starts_with("<persisted-output>\n") && out.ends_with("</persisted-output>"), "{out}");
    let path = result["persistedOutputPath"].as_str().unwrap();
    assert!(out.contains(&format!("Full output saved to: {path}\n")));
    assert!(path.starts_with(bench.facts.session_dir.join("tool-results").to_str().unwrap()));
    let saved = std::fs::read_to_string(path).unwrap();
    assert_eq!(saved.len(), 40_003);
    assert!(saved.starts_with("0000001\n") && saved.ends_with("0005000\nend"));
    assert_eq!(result["persistedOutputSize"], 40_003);
    // [MX-17]
    assert!(out.contains("\n0000001\n") && out.contains("\n0005000\nend\n") && out.len() < 10_500, "{out}");
    assert!(out.contains("\n[lines 501–4251 of 5001 left out]\n"), "{out}");
}

#[tokio::test]
async fn long_failures_keep_both_real_ends_and_their_file() {
    // [TST-55] [MX-17] [MX-18]
    let bench = bench();
    for (lines, shown) in [(2_000, 1_374), (5_000, 1_375), (50_000, 1_375)] {
        let command = format!("seq -f %07g 1 1000; echo 'error: the cause'; seq -f %07g 1002 {lines}; exit 1");
        let out = bench.fails("Bash", json!({"command": command})).await;
        assert!(out.starts_with("Exit code 1\n<persisted-output>\n"), "{lines}");
        assert!(out.ends_with(&format!("\n{lines:07}\n</persisted-output>")), "{lines}");
        assert!(out.contains(&format!("[lines 376–{} of {lines} left out]\n", lines - shown)), "{out}");
        // Line 1001 of 2,000 is shown.
        assert_eq!(out.contains("1001: error: the cause"), lines > 2_000, "{lines}");
        let path = out.lines().find_map(|line| line.split_once("Full output saved to: ")).unwrap().1;
        assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), lines);
        assert!(out.len() < 15_000, "{lines}");
    }
}

#[tokio::test]
async fn output_that_is_not_text_is_described() {
    // [MX-16]
    let bench = bench();
    let noise: Vec<u8> = (0..=255).cycle().take(2_048).collect();
    std::fs::write(bench.dir.join("noise"), &noise).unwrap();
    let (out, _) = ok(&bench, "cat noise").await;
    let path = out.strip_prefix("[2.0 KB of output that is not text (binary data), saved to ").unwrap();
    assert_eq!(std::fs::read(path.trim_end_matches(']')).unwrap(), noise);
    let failed = bench.fails("Bash", json!({"command": "cat noise; exit 1"})).await;
    assert!(failed.starts_with("Exit code 1\n[2.0 KB of output that is not text"), "{failed}");
}

#[tokio::test]
async fn the_inline_limit_can_be_set() {
    // [TST-55]
    let bench = with_env(&[("BASH_MAX_OUTPUT_LENGTH", "100")]);
    let (out, _) = ok(&bench, "seq 1 100").await;
    assert!(out.starts_with("<persisted-output>"), "{out}");
}

/// Whether any `sleep` process has `needle` in its command line.
fn alive(needle: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|p| std::fs::read(p.path().join("cmdline")).ok()).any(|line| {
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.starts_with("sleep") && line.contains(needle)
    })
}

#[tokio::test]
async fn an_interrupt_ends_the_whole_tree_and_keeps_output() {
    // [TST-56] [TST-57]
    let bench = bench();
    let cancel = bench.cancel.clone();
    let ready = bench.dir.join("ready");
    let command = "trap '' TERM; echo partial; sleep 7101 & setsid sleep 7102 & (setsid sh -c 'sleep 7103 & sleep 7104' &); touch ready; sleep 7105; sleep 7106";
    let waiting = async {
        testkit::until("the tree", || ready.exists() && alive("7103")).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(bench.call("Bash", json!({"command": command})), waiting);
    let result: Value = serde_json::from_str(outcome.structured.unwrap().get()).unwrap();
    assert_eq!(result["interrupted"], true);
    assert_eq!(result["stdout"], "partial");
    let shown = outcome.content.text();
    assert!(shown.starts_with("partial\n") && shown.contains("interrupted"), "{shown}");
    for n in 7101..=7106 {
        assert!(!alive(&n.to_string()), "sleep {n} survived");
    }
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing_behind() {
    // [TST-57]
    let bench = bench();
    let call = bench.call("Bash", json!({"command": "setsid sleep 7201 & sleep 7202"}));
    tokio::select! {
        _ = call => panic!("the command does not end by itself"),
        () = testkit::until("both", || alive("7201") && alive("7202")) => {}
    }
    assert!(!alive("7201") && !alive("7202"));
}

#[tokio::test]
async fn a_server_left_running_does_not_hold_the_call() {
    // [TST-58]
    let bench = bench();
    let (out, _) =
        ok(&bench, "(until [ -e go ]; do echo a line; sleep 0.02; done; echo last; touch survived) & echo started")
            .await;
    assert!(out.starts_with("started") || out.contains("\nstarted"), "{out}");
    // The background process is not killed by a broken pipe, and continues although nobody uses its output.
    let survived = bench.dir.join("survived");
    assert!(!survived.exists(), "the call did not wait for it");
    bench.file("go", "");
    testkit::until("the end of the server", || survived.exists()).await;
}

#[tokio::test]
async fn a_chatty_survivor_does_not_hide_the_exit() {
    // [TST-58]
    let bench = bench();
    let (out, _) = ok(&bench, "yes & echo $! > pid; sleep 0.1").await;
    assert!(out.contains("y\ny\ny"), "{out}");
    // It is still there: the call did not wait for its end.
    text(&bench, "kill $(cat pid)").await;
}

#[tokio::test]
async fn there_is_no_input() {
    // [TST-61]
    assert_eq!(text(&bench(), "cat; read x || echo \"nothing [$x]\"").await, "nothing []");
    assert_eq!(text(&bench(), "readlink /proc/self/fd/0").await, "/dev/null");
}

#[tokio::test]
async fn children_are_marked_and_telemetry_is_hidden() {
    // [TST-62]
    let mut bench = with_env(&[("OTEL_SERVICE_NAME", "x"), ("MY_KEY", "secret"), ("PLAIN", "kept")]);
    bench.facts.secret_vars = vec!["MY_KEY".into()];
    let out = text(&bench, "env | sort").await;
    for line in ["CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1", "PLAIN=kept"] {
        assert!(out.lines().any(|l| l == line), "{line} missing in {out}");
    }
    assert!(out.contains("CLAUDE_CODE_SESSION_ID=") && out.contains(&format!("CLAUDE_PID={}", std::process::id())));
    assert!(!out.contains("OTEL_") && !out.contains("secret"), "{out}");
}

#[tokio::test]
async fn it_works_with_an_empty_environment() {
    let mut bench = Bench::new();
    bench.facts.env = Env::default();
    assert_eq!(text(&bench, "ls -d / && cd . && echo ok").await, "/\nok");
}

#[tokio::test]
async fn leaving_the_sandbox_is_recorded() {
    // [TST-63]
    let bench = bench();
    let (_, result) = bench.ok("Bash", json!({"command": "true", "dangerouslyDisableSandbox": "true"})).await;
    assert_eq!(result["dangerouslyDisableSandbox"], true);
    assert!(ok(&bench, "true").await.1.get("dangerouslyDisableSandbox").is_none());
}

#[tokio::test]
async fn git_operations_are_reported() {
    // [TST-64]
    let bench = bench();
    let setup =
        "git init -q -b trunk . && git config user.email a@b.c && git config user.name n && touch f && git add f";
    text(&bench, setup).await;
    let (_, result) = ok(&bench, "git commit -m \"$(cat <<'EOF'\nfirst\nEOF\n)\"").await;
    assert_eq!(result["gitOperation"]["commit"]["branch"], "trunk");
    assert_eq!(result["gitOperation"]["commit"]["kind"], "committed");
    let sha = result["gitOperation"]["commit"]["sha"].as_str().unwrap().to_owned();
    assert!(text(&bench, "git rev-parse HEAD").await.starts_with(&sha));
    // The editor never waits for a person.
    bench.fails("Bash", json!({"command": "git commit --allow-empty"})).await;
}

#[tokio::test]
async fn a_data_url_becomes_an_image() {
    let bench = bench();
    for size in [30, 60_000] {
        let command = format!("printf 'data:image/png;base64,'; head -c {size} /dev/zero | base64 -w0");
        let outcome = bench.call("Bash", json!({"command": command})).await;
        let result: Value = serde_json::from_str(outcome.structured.unwrap().get()).unwrap();
        assert_eq!(result["isImage"], true, "{size}");
        let content = serde_json::to_value(&outcome.content).unwrap();
        assert_eq!(content[0]["type"], "image");
        assert_eq!(content[0]["source"]["media_type"], "image/png");
        assert_eq!(content[0]["source"]["data"].as_str().unwrap().len(), size / 3 * 4);
    }
}

#[tokio::test]
async fn very_long_commands_and_prefixes_work() {
    let long = format!("cat <<'EOF' | wc -c\n{}\nEOF", "x".repeat(200_000));
    assert_eq!(text(&bench(), &long).await, "200001");
    let tools = tempfile::tempdir().unwrap();
    let prefix = tools.path().join("prefix.sh");
    std::fs::write(&prefix, "echo \"wrapped $#\"; exec sh -c \"$1\"\n").unwrap();
    let bench = with_env(&[("CLAUDE_CODE_SHELL_PREFIX", &format!("sh {}", prefix.display()))]);
    assert_eq!(text(&bench, "echo \"it's $((1+1))\"").await, "wrapped 1\nit's 2");
}

#[tokio::test]
async fn xtrace_shows_only_the_command() {
    assert_eq!(text(&bench(), "set -x; echo hi").await, "++ echo hi\nhi");
}

#[tokio::test]
async fn cat_counts_as_reading() {
    // [TST-33]
    let bench = bench();
    let path = bench.file("a.txt", "one\ntwo\n");
    text(&bench, "cat a.txt | head").await;
    assert!(bench.state().reads.get(&path).is_none());
    text(&bench, "cat a.txt").await;
    assert!(bench.state().reads.get(&path).is_some());
}

#[tokio::test]
async fn rc_aliases_and_functions_work() {
    // [TST-60]
    let home = tempfile::tempdir().unwrap();
    let rc = "case $- in *i*) ;; *) return;; esac\nalias hello='echo aliased'\n_inner() { echo inner; }\n_unused() { :; }\n\
              outer() { _inner; }\nexport PATH=\"$PATH:/from/rc\"\necho noise\n";
    std::fs::write(home.path().join(".bashrc"), rc).unwrap();
    let bench = with_env(&[("HOME", home.path().to_str().unwrap()), ("SHELL", "/bin/bash")]);
    assert_eq!(text(&bench, "hello; outer").await, "aliased\ninner");
    assert!(text(&bench, "echo $PATH").await.ends_with(":/from/rc"));
    bench.fails("Bash", json!({"command": "_unused"})).await;
    let folder = bench.facts.config_home.join("shell-snapshots");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    bench.state().shutdown().await;
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[tokio::test]
async fn a_slow_rc_file_delays_only_briefly() {
    // [TST-60]
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".bashrc"), "echo run >> ~/runs; sleep 7200\n").unwrap();
    let bench = with_env(&[("HOME", home.path().to_str().unwrap())]);
    // Neither call waits for the end of the file, and only the first one tries to read it.
    assert_eq!(text(&bench, "echo quick").await, "quick");
    assert_eq!(text(&bench, "echo quick").await, "quick");
    assert_eq!(std::fs::read_to_string(home.path().join("runs")).unwrap(), "run\n");
}

#[tokio::test]
async fn a_cancelled_call_runs_nothing() {
    // [TST-56]
    let bench = bench();
    bench.cancel.cancel();
    let outcome = bench.call("Bash", json!({"command": "touch ran"})).await;
    let result: Value = serde_json::from_str(outcome.structured.unwrap().get()).unwrap();
    assert_eq!(result["interrupted"], true);
    assert!(!bench.dir.join("ran").exists());
}

#[tokio::test]
async fn output_that_cannot_be_saved_keeps_both_ends() {
    let mut bench = bench();
    bench.facts.session_dir = bench.file("not-a-folder", "");
    let (out, result) = ok(&bench, "seq -f %07g 1 5000").await;
    assert!(out.starts_with("0000001\n") && out.contains("\n0005000\n[The whole output could not be saved: "), "{out}");
    assert!(result.get("persistedOutputPath").is_none());
}

#[tokio::test]
async fn nothing_is_left_in_temporary_folders() {
    let bench = bench();
    text(&bench, "true").await;
    assert!(bench.facts.tasks_dir.exists());
    bench.state().shutdown().await;
    assert!(!bench.facts.tasks_dir.exists());
}

// [F-C1]
#[tokio::test]
async fn the_directory_is_carried_over_when_no_file_can_be_written() {
    for shell in ["/bin/bash", "/bin/zsh"].into_iter().filter(|shell| std::path::Path::new(shell).exists()) {
        let mut bench = with_env(&[("CLAUDE_CODE_SHELL", shell)]);
        bench.facts.tasks_dir = "/dev/null/tasks".into();
        bench.facts.session_dir = "/dev/null/session".into();
        bench.file("sub/inner/a", "");
        let sub = bench.dir.join("sub").display().to_string();
        assert_eq!(text(&bench, "cd sub && pwd").await, format!("{sub}\n[now in {sub}]"));
        assert_eq!(text(&bench, "pwd").await, sub, "{shell}");
        // A command with an EXIT trap, a failing command, and one that leaves a process running.
        ok(&bench, "trap 'echo bye' EXIT; cd inner").await;
        assert_eq!(text(&bench, "pwd").await, bench.dir.join("sub/inner").display().to_string(), "{shell}");
        bench.fails("Bash", json!({"command": "cd .. && exit 3"})).await;
        assert_eq!(text(&bench, "pwd").await, bench.dir.join("sub").display().to_string(), "{shell}");
        ok(&bench, "sleep 7200 & echo $! > left; cd ..").await;
        assert_eq!(text(&bench, "pwd").await, bench.dir.display().to_string(), "{shell}");
        ok(&bench, "kill $(cat sub/left)").await;
    }
}
