use super::*;
use crate::answer::HookPermission;
use crate::catalogue::{HookLayer, HookSwitches};
use serde_json::json;
use wire::hooks::{PreToolUse, UserPromptSubmit};
use wire::settings::SettingsSource;

struct Nobody;

impl HandlerRunner for Nobody {
    fn run(&self, _: HandlerJob) -> BoxFuture<'_, HandlerResult> {
        Box::pin(std::future::ready(HandlerResult::Failed { why: "nobody is there".into() }))
    }
}

struct Bench {
    hooks: Hooks,
    dir: tempfile::TempDir,
    cancel: CancellationToken,
}

impl Bench {
    fn new(handlers: &Value) -> Self {
        Self::of(&json!({"PreToolUse": [{"hooks": handlers}], "UserPromptSubmit": [{"hooks": handlers}]}))
    }

    fn of(hooks: &Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let origin = HookOrigin::Settings { source: SettingsSource::User, path: None };
        let layer = HookLayer { origin, hooks: hooks.as_object().unwrap().clone() };
        let env = sys::Env::snapshot().with([("OTEL_X", "1"), ("SECRET", "s")]);
        let around = HandlerEnvironment::new(&env, dir.path(), &["SECRET"], &[("CLAUDECODE", "1".into())]);
        let catalogue = HookCatalogue::new([crate::DeclaredLayer::from(&layer)], HookSwitches::default());
        let hooks = Hooks::new(catalogue, around, Arc::new(Nobody), "/nonexistent".into());
        Self { hooks, dir, cancel: CancellationToken::new() }
    }

    async fn fire<E: HookEvent>(&self, event: &E, input: Option<&Value>) -> MergedAnswer {
        let base = HookBase { session_id: "s".into(), ..HookBase::default() };
        let at = HookOccasion {
            base: &base,
            cwd: self.dir.path(),
            env_file: None,
            tool_use_id: None,
            tool_input: input,
            condition: &|rule| rule == "yes",
            limit: None,
            cancel: &self.cancel,
            progress: &SilentProgress,
        };
        self.hooks.fire(event, &at).await
    }

    async fn bash(&self) -> MergedAnswer {
        let input = json!({"command": "ls", "timeout": 5});
        let event = PreToolUse {
            tool_name: "Bash".into(),
            tool_input: wire::raw::to_raw(&input).unwrap(),
            tool_use_id: "t".into(),
            batch: None,
        };
        self.fire(&event, Some(&input)).await
    }

    async fn prompt(&self) -> MergedAnswer {
        self.fire(&UserPromptSubmit { prompt: "hi".into(), session_title: None }, None).await
    }
}

fn sh(command: &str) -> Value {
    json!({"type": "command", "command": command})
}

fn decide(decision: &str) -> Value {
    let output = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": decision}});
    sh(&format!("echo '{output}'"))
}

// [EXT-32] [EXT-69]
#[tokio::test]
async fn every_handler_gets_its_own_copy() {
    let bench = Bench::new(&json!([sh("cat >/dev/null; echo a"), sh("grep -o '\"prompt\":\"hi\"'"), sh("wc -l")]));
    let merged = bench.prompt().await;
    let texts: Vec<&str> = merged.contexts.iter().map(|c| c.text.as_str()).collect();
    assert_eq!(texts[..2], ["a", "\"prompt\":\"hi\""]);
    assert_eq!(texts[2].trim(), "1");
}

// [EXT-33] [EXT-34] [EXT-38]
#[tokio::test]
async fn shell_and_exec_forms_get_what_they_should() {
    let exec = json!({"type": "command", "command": "printf", "args": ["%s|", "$HOME 'x'", "${CLAUDE_PROJECT_DIR}"]});
    let shell = sh("echo \"${CLAUDE_PROJECT_DIR} ${OTEL_X:-none} ${SECRET:-none} $CLAUDECODE\"");
    let bench = Bench::new(&json!([exec, shell]));
    let merged = bench.prompt().await;
    let project = bench.dir.path().display();
    assert_eq!(merged.contexts[0].text, format!("$HOME 'x'|{project}|"));
    assert_eq!(merged.contexts[1].text, format!("{project} none none 1"));
}

// [EXT-39]
#[tokio::test]
async fn a_hook_has_no_terminal() {
    let bench = Bench::new(&json!([sh("if (exec </dev/tty) 2>/dev/null; then echo open; else echo closed; fi")]));
    assert_eq!(bench.prompt().await.contexts[0].text, "closed");
}

// [EXT-71]
#[tokio::test]
async fn the_strictest_permission_wins_and_all_run() {
    let bench = Bench::new(&json!([decide("allow"), decide("deny"), decide("ask"), sh("sleep 0.1; touch ran")]));
    let merged = bench.bash().await;
    let verdict = merged.verdict.unwrap();
    assert_eq!((verdict.permission, verdict.reason.as_deref()), (HookPermission::Deny, Some("deny")));
    assert!(bench.dir.path().join("ran").exists());
    let bench = Bench::new(&json!([decide("ask"), decide("defer"), decide("allow")]));
    assert_eq!(bench.bash().await.verdict.unwrap().permission, HookPermission::Defer);
}

#[tokio::test]
async fn rewrites_combine_in_the_order_of_the_settings() {
    let rewrite = |input: Value, delay: &str| {
        let output = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": input}});
        sh(&format!("sleep {delay}; echo '{output}'"))
    };
    let first = rewrite(json!({"command": "ls -a", "timeout": 5}), "0.1");
    let second = rewrite(json!({"command": "ls -l", "timeout": 5, "description": "d"}), "0");
    let bench = Bench::new(&json!([first, second, sh("echo '{}'")]));
    let merged = bench.bash().await;
    assert_eq!(merged.updated_input, Some(json!({"command": "ls -l", "timeout": 5, "description": "d"})));
}

// [EXT-47]
#[tokio::test]
async fn a_hanging_hook_is_stopped_and_decides_nothing() {
    let bench = Bench::new(&json!([{"type": "command", "command": "echo no >&2; sleep 7200; exit 2", "timeout": 0.1}]));
    let merged = bench.bash().await;
    assert!(merged.verdict.is_none() && merged.blocks.is_empty());
    assert!(merged.problems[0].text.contains("timed out"));
    assert_eq!(merged.reports[0].outcome, HookOutcome::Cancelled);
}

#[tokio::test]
async fn an_interrupt_ends_the_wait() {
    let bench = Bench::new(&json!([sh("touch up; sleep 60")]));
    let up = bench.dir.path().join("up");
    let cancel = bench.cancel.clone();
    let interrupt = async move {
        while !up.exists() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (merged, ()) = tokio::join!(bench.bash(), interrupt);
    assert_eq!(merged.reports[0].outcome, HookOutcome::Cancelled);
}

#[tokio::test]
async fn ten_megabytes_are_bounded_and_a_daemon_holds_nothing_up() {
    let flood = sh("head -c 10000000 /dev/zero | tr '\\0' x");
    let daemon = sh("(sleep 7200 & ) ; echo started");
    let bench = Bench::new(&json!([flood, daemon]));
    let merged = bench.prompt().await;
    assert!(merged.contexts[0].text.len() < 1_100_000);
    assert!(merged.contexts[0].text.contains("bytes left out"));
    assert_eq!(merged.contexts[1].text, "started");
    sys::process::kill_all();
}

#[tokio::test]
async fn a_script_that_is_not_there_does_not_block() {
    let python = sh("python3 \"$CLAUDE_PROJECT_DIR/gone.py\"");
    let exec = json!({"type": "command", "command": "${CLAUDE_PROJECT_DIR}/gone.sh", "args": []});
    let unknown = json!({"type": "command", "command": "no-such-program-here", "args": []});
    let bench = Bench::new(&json!([python, exec, unknown]));
    let merged = bench.bash().await;
    assert!(merged.verdict.is_none());
    assert_eq!(merged.problems.iter().filter(|p| p.text.contains("did not start")).count(), 3, "{:?}", merged.problems);
}

#[tokio::test]
async fn fail_closed_turns_a_broken_hook_into_a_block() {
    let bench = Bench::new(&json!([{"type": "command", "command": "exit 1", "failClosed": true}]));
    assert_eq!(bench.bash().await.verdict.unwrap().permission, HookPermission::Deny);
}

#[tokio::test]
async fn filters_and_matchers_come_before_the_spawn() {
    let bench = Bench::of(&json!({"PreToolUse": [
        {"matcher": "Edit", "hooks": [sh("touch a")]},
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "touch b", "if": "no"},
            {"type": "command", "command": "touch c", "if": "yes"}]},
        {"matcher": "(?!x)Bash", "hooks": [sh("touch d")]},
    ]}));
    let merged = bench.bash().await;
    let made = ["a", "b", "c", "d"].map(|name| bench.dir.path().join(name).exists());
    assert_eq!(made, [false, false, true, false]);
    // The pattern needs a process, and no binary is available here.
    assert!(merged.problems[0].text.contains("could not be tried"));
}

// [EXT-50]
#[tokio::test]
async fn a_detached_hook_decides_nothing_and_speaks_later() {
    let output = json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "later"}});
    let quiet = json!({"type": "command", "command": format!("sleep 0.05; echo '{output}'; exit 2"), "async": true});
    let rewake = json!({"type": "command", "command": "echo wake up >&2; exit 2", "asyncRewake": true});
    let bench = Bench::new(&json!([quiet, rewake]));
    let merged = bench.prompt().await;
    assert!(merged.contexts.is_empty() && merged.blocks.is_empty());
    let mut done = Vec::new();
    for detached in merged.detached {
        done.push(detached.done.await);
    }
    assert_eq!((done[0].texts.as_slice(), &done[0].wake), (["later".to_owned()].as_slice(), &None));
    assert_eq!(done[1].wake.as_deref(), Some("wake up"));
}
