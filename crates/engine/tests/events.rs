//! What a host receives, from the first event of a turn to the end of the session: the whole list, in order, through the
//! two channels that every frontend uses.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use engine::{Command, CommandSender, Event, EventReceiver, PermissionVerdict, Prompt, SessionOptions, StartRequest};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{ModelServer, ReplyGate, ScriptedBlock, ScriptedEvent, ScriptedReply};
use wire::control::{HostQuestion, HostReply};

/// A session in a temporary project. Questions are answered with `verdict`.
struct HostedSession {
    folder: tempfile::TempDir,
    commands: CommandSender,
    events: EventReceiver,
    verdict: fn(Value) -> PermissionVerdict,
    seen: Vec<String>,
}

impl HostedSession {
    async fn open(server: &ModelServer, change: impl FnOnce(&mut SessionOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            path.display().to_string()
        };
        let env = sys::Env::default().with([
            ("HOME", path("home").as_str()),
            ("CLAUDE_CONFIG_DIR", path("home/.claude").as_str()),
            ("TMPDIR", path("tmp").as_str()),
            ("PATH", "/usr/bin:/bin"),
            ("ANTHROPIC_BASE_URL", server.url()),
            ("ANTHROPIC_API_KEY", "test-key"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ]);
        let mut options = SessionOptions::default();
        options.host.multi_turn = true;
        change(&mut options);
        let request = StartRequest { env, cwd: path("project").into(), options };
        let (commands, events) = engine::open(request).await.unwrap();
        let verdict = PermissionVerdict::allow as fn(Value) -> PermissionVerdict;
        Self { folder, commands, events, verdict, seen: Vec::new() }
    }

    async fn submit(&self, text: &str) {
        let content = wire::raw::to_raw(text).unwrap();
        self.commands.send(Command::Submit(Prompt::new(content))).await.unwrap();
    }

    /// Receives events until one begins with `last`.
    async fn receive_until(&mut self, last: &str) {
        while !self.receive().await.starts_with(last) {}
    }

    async fn receive(&mut self) -> String {
        let event = tokio::time::timeout(Duration::from_secs(30), self.events.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("nothing came after {:#?}", self.seen)).expect("the session ended");
        let name = name(&event);
        if let Event::Ask { id, question: HostQuestion::CanUseTool(asked) } = event {
            let input = serde_json::from_str(asked.input.get()).unwrap();
            let reply = HostReply::success(id, &(self.verdict)(input));
            self.commands.send(Command::Reply(reply)).await.unwrap();
        }
        self.seen.push(name.clone());
        name
    }

    /// Ends the session and returns the names of all its events.
    async fn close(mut self) -> Vec<String> {
        self.commands.send(Command::Close).await.unwrap();
        while let Some(event) = self.events.recv().await {
            self.seen.push(name(&event));
        }
        self.seen
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join("project").join(name), text).unwrap();
    }
}

/// One line that says what an event is and what it carries.
fn name(event: &Event) -> String {
    match event {
        Event::Message(message) => message_name(&serde_json::from_str(&message.to_line().unwrap()).unwrap()),
        Event::Ask { question: HostQuestion::CanUseTool(asked), .. } => format!("ask {}", asked.tool_name),
        Event::Ask { .. } => "ask".to_owned(),
        Event::AskWithdrawn { .. } => "ask withdrawn".to_owned(),
        Event::Response(_) => "response".to_owned(),
        Event::Mirror(_) => "mirror".to_owned(),
        Event::Dropped(count) => format!("dropped {count}"),
        Event::Notice(text) => format!("notice {text}"),
        Event::Aside(_) => "aside".to_owned(),
        Event::Fault(text) => format!("fault {text}"),
        Event::Refused(error) => format!("refused {error}"),
    }
}

fn message_name(message: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
    let whose = if message["parent_tool_use_id"].is_string() { "agent: " } else { "" };
    let kind = text(&message["type"]);
    match kind.as_str() {
        "system" => match message["status"].as_str() {
            Some(status) => format!("system/{} {status}", text(&message["subtype"])),
            None => format!("system/{}", text(&message["subtype"])),
        },
        "result" => {
            let (subtype, reason) = (text(&message["subtype"]), text(&message["terminal_reason"]));
            let parts = [format!("result/{subtype}"), reason, text(&message["result"])];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        }
        "assistant" | "user" => {
            let content = &message["message"]["content"];
            let blocks = content.as_array().map(|blocks| blocks.iter().map(block_name).collect::<Vec<_>>().join(", "));
            format!("{whose}{kind} {}", blocks.unwrap_or_else(|| text(content)))
        }
        _ => kind,
    }
}

fn block_name(block: &Value) -> String {
    match block["type"].as_str().unwrap() {
        "text" => block["text"].as_str().unwrap().to_owned(),
        "tool_use" => format!("calls {}", block["name"].as_str().unwrap()),
        "tool_result" if block["is_error"] == true => "failed result".to_owned(),
        "tool_result" => "result".to_owned(),
        other => other.to_owned(),
    }
}

fn asks(options: &mut SessionOptions) {
    options.permissions.prompt_tool = Some("stdio".to_owned());
}

#[tokio::test]
async fn a_turn_with_text() {
    let server = ModelServer::script([ScriptedReply::text("Hello.")]);
    let mut session = HostedSession::open(&server, |_| {}).await;
    session.submit("hi").await;
    session.receive_until("result").await;
    assert_eq!(session.close().await, ["system/init", "assistant Hello.", "result/success completed Hello."]);
}

#[tokio::test]
async fn a_turn_with_partial_messages() {
    let server = ModelServer::script([ScriptedReply::text("Hi.")]);
    let mut session = HostedSession::open(&server, |options| options.host.partial_messages = true).await;
    session.submit("hi").await;
    session.receive_until("result").await;
    let mut seen = session.close().await;
    seen.dedup();
    let expected = [
        "system/init",
        "system/status requesting",
        "stream_event",
        "assistant Hi.",
        "stream_event",
        "result/success completed Hi.",
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_turn_with_calls() {
    let calls = ["a.txt", "b.txt"].map(|file| ScriptedBlock::tool("Read", &json!({"file_path": file})));
    let server = ModelServer::script([ScriptedReply::message(calls.into()), ScriptedReply::text("Both say alpha.")]);
    let mut session = HostedSession::open(&server, |_| {}).await;
    session.write("a.txt", "alpha\n");
    session.write("b.txt", "alpha\n");
    session.submit("what do they say?").await;
    session.receive_until("result").await;
    let expected = [
        "system/init",
        "assistant calls Read",
        "assistant calls Read",
        "user result",
        "user result",
        "assistant Both say alpha.",
        "result/success completed Both say alpha.",
    ];
    assert_eq!(session.close().await, expected);
}

#[tokio::test]
async fn a_call_that_the_host_allows() {
    let write = ScriptedReply::tool("Write", json!({"file_path": "new.txt", "content": "x"}));
    let server = ModelServer::script([write, ScriptedReply::text("Written.")]);
    let mut session = HostedSession::open(&server, asks).await;
    session.submit("write it").await;
    session.receive_until("result").await;
    assert!(session.folder.path().join("project/new.txt").exists());
    let expected = [
        "system/init",
        "assistant calls Write",
        "ask Write",
        "user result",
        "assistant Written.",
        "result/success completed Written.",
    ];
    assert_eq!(session.close().await, expected);
}

#[tokio::test]
async fn a_call_that_the_host_denies() {
    let write = ScriptedReply::tool("Write", json!({"file_path": "new.txt", "content": "x"}));
    let server = ModelServer::script([write, ScriptedReply::text("Then not.")]);
    let mut session = HostedSession::open(&server, asks).await;
    session.verdict = |_| PermissionVerdict::deny("not here");
    session.submit("write it").await;
    session.receive_until("result").await;
    assert!(!session.folder.path().join("project/new.txt").exists());
    assert!(server.request(1).tool_results()[0]["content"].to_string().contains("not here"));
    let expected = [
        "system/init",
        "assistant calls Write",
        "ask Write",
        "user failed result",
        "assistant Then not.",
        "result/success completed Then not.",
    ];
    assert_eq!(session.close().await, expected);
}

#[tokio::test]
async fn a_turn_that_is_interrupted_while_the_model_answers() {
    let gate = ReplyGate::new();
    let server = ModelServer::script([ScriptedReply::text("never read").gate(&gate), ScriptedReply::text("Again.")]);
    let mut session = HostedSession::open(&server, |_| {}).await;
    session.submit("hi").await;
    session.receive_until("system/init").await;
    testkit::until("the request", || !server.requests().is_empty()).await;
    session.commands.send(Command::Interrupt).await.unwrap();
    session.receive_until("result").await;
    session.submit("again").await;
    session.receive_until("result").await;
    let expected = [
        "system/init",
        "user [Request interrupted by user]",
        "result/error_during_execution aborted_streaming",
        "system/init",
        "assistant Again.",
        "result/success completed Again.",
    ];
    assert_eq!(session.close().await, expected);
}

#[tokio::test]
async fn a_turn_that_the_api_refuses() {
    let refused = ScriptedReply::error(400, "invalid_request_error", "that is no prompt");
    let server = ModelServer::script([refused]);
    let mut session = HostedSession::open(&server, |_| {}).await;
    session.submit("hi").await;
    session.receive_until("result").await;
    let text = "API Error: 400 that is no prompt";
    let expected = ["system/init".to_owned(), format!("assistant {text}"), format!("result/success api_error {text}")];
    assert_eq!(session.close().await, expected);
}

#[tokio::test]
async fn a_stream_that_breaks_is_repeated() {
    let mut broken = ScriptedReply::events(vec![ScriptedBlock::text("never finished")]);
    broken.truncate(3);
    broken.push(ScriptedEvent::ping());
    let server = ModelServer::script([ScriptedReply::sse(broken).cut_after_events(3), ScriptedReply::text("Whole.")]);
    let mut session = HostedSession::open(&server, |_| {}).await;
    session.submit("hi").await;
    session.receive_until("result").await;
    assert_eq!(
        session.close().await,
        ["system/init", "system/api_retry", "assistant Whole.", "result/success completed Whole."]
    );
}

#[tokio::test]
async fn a_turn_with_a_subagent() {
    let call = json!({"description": "Look", "prompt": "look around", "subagent_type": "general-purpose", "run_in_background": false});
    let server = ModelServer::script([
        ScriptedReply::tool("Agent", call),
        ScriptedReply::tool("Read", json!({"file_path": "a.txt"})),
        ScriptedReply::text("It says alpha."),
        ScriptedReply::text("The agent saw alpha."),
    ]);
    let mut session = HostedSession::open(&server, |_| {}).await;
    session.write("a.txt", "alpha\n");
    session.submit("send an agent").await;
    session.receive_until("result").await;
    let expected = [
        "system/init",
        "assistant calls Agent",
        "system/task_started",
        "agent: user look around",
        "system/task_progress",
        "agent: assistant calls Read",
        "agent: user result",
        "system/task_updated",
        "system/task_notification completed",
        "user result",
        "assistant The agent saw alpha.",
        "result/success completed The agent saw alpha.",
    ];
    assert_eq!(session.close().await, expected);
}

#[tokio::test]
async fn a_conversation_that_is_compacted() {
    let server = ModelServer::script([
        ScriptedReply::text("Hello."),
        ScriptedReply::text("<summary>They greeted each other.</summary>"),
        ScriptedReply::text("Still here."),
    ]);
    let mut session = HostedSession::open(&server, |_| {}).await;
    session.submit("hi").await;
    session.receive_until("result").await;
    session.submit("/compact").await;
    session.receive_until("result").await;
    session.submit("are you there?").await;
    session.receive_until("result").await;
    let request = server.request(2).all_text();
    assert!(request.contains("They greeted each other.") && !request.contains("Hello."), "{request}");
    let expected = [
        "system/init",
        "assistant Hello.",
        "result/success completed Hello.",
        "system/status compacting",
        "system/status",
        "system/init",
        "system/compact_boundary",
        "user The earlier part of this conversation was summarised to make room. This is the hand-over you wrote; it stands for everything before it.",
        "user <local-command-stdout>Compacted. The session continues from the summary.</local-command-stdout>",
        "result/success Compacted. The session continues from the summary.",
        "system/init",
        "assistant Still here.",
        "result/success completed Still here.",
    ];
    assert_eq!(session.close().await, expected);
}
