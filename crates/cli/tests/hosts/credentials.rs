//! Which key and which model a run uses, and when it asks for another.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use crate::common::{EXE, print};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use testkit::{GimletRun, ModelServer, Sandbox, ScriptedReply};

fn fine() -> ModelServer {
    ModelServer::with_handler(|_| ScriptedReply::text("fine"))
}

// [CLI-78]
#[test]
fn a_model_set_while_the_session_runs_is_for_the_next_one() {
    let server = ModelServer::script([
        ScriptedReply::tool("Bash", json!({"command": "cp new.json \"$CLAUDE_CONFIG_DIR/settings.json\""})),
        ScriptedReply::tool("Bash", json!({"command": "true"})),
        ScriptedReply::text("done"),
        ScriptedReply::text("next"),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write("new.json", r#"{"model": "claude-other-1"}"#);
    drop(print(&sandbox, "go", &["--allowedTools", "Bash"]).run());
    let model = |n: usize| {
        let body: serde_json::Value = serde_json::from_slice(&server.request(n).body).unwrap();
        body["model"].as_str().unwrap().to_owned()
    };
    assert_eq!((model(1), model(2)), (model(0), model(0)));
    drop(print(&sandbox, "again", &[]).run());
    assert_eq!(model(3), "claude-other-1");
}

// [CLI-118]
#[test]
fn the_flag_outranks_the_variable_and_that_the_settings() {
    let server = fine();
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", r#"{"model": "claude-from-settings"}"#);
    drop(print(&sandbox, "a", &[]).run());
    drop(print(&sandbox, "b", &[]).env("ANTHROPIC_MODEL", "claude-from-variable").run());
    drop(print(&sandbox, "c", &["--model", "claude-from-flag"]).env("ANTHROPIC_MODEL", "claude-from-variable").run());
    let models: Vec<serde_json::Value> = server
        .requests()
        .iter()
        .map(|r| serde_json::from_slice::<serde_json::Value>(&r.body).unwrap()["model"].clone())
        .collect();
    assert_eq!(models, ["claude-from-settings", "claude-from-variable", "claude-from-flag"]);
}

// [CLI-103]
#[test]
fn a_helper_runs_again_after_a_refusal_and_after_its_time() {
    let helper = "echo x >> \"$HOME/runs\"; echo key-$(wc -l < \"$HOME/runs\" | tr -d ' ')";
    let settings = json!({"apiKeyHelper": helper}).to_string();
    let mut step = 0;
    let server = ModelServer::with_handler(move |_| {
        step += 1;
        match step {
            1 => ScriptedReply::error(401, "authentication_error", "stale"),
            2 => ScriptedReply::tool("Bash", json!({"command": "true"})),
            _ => ScriptedReply::text("fine"),
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", &settings);
    drop(print(&sandbox, "go", &[]).env_remove("ANTHROPIC_API_KEY").run().expect_clean());
    let keys: Vec<_> = server.requests().iter().map(|r| r.header("x-api-key").unwrap().to_owned()).collect();
    assert_eq!(keys, ["key-1", "key-2", "key-2"], "once more after the refusal, then kept");
    assert_eq!(server.request(1).header("authorization"), Some("Bearer key-2"));

    let mut step = 0;
    let server = ModelServer::with_handler(move |_| {
        step += 1;
        if step == 1 { ScriptedReply::tool("Bash", json!({"command": "true"})) } else { ScriptedReply::text("fine") }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", &settings);
    let run = print(&sandbox, "go", &[]).env("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "0");
    drop(run.env_remove("ANTHROPIC_API_KEY").run().expect_clean());
    assert_eq!(server.request(1).header("x-api-key"), Some("key-2"), "its time was over");

    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", r#"{"apiKeyHelper": "echo broken >&2; exit 3"}"#);
    let failed = sandbox.gimlet(&["-p", "hi"]).env_remove("ANTHROPIC_API_KEY").run();
    assert!(
        failed.stdout.contains("Your apiKeyHelper script is failing")
            || failed.stderr.contains("Your apiKeyHelper script is failing")
    );
}

// [CLI-108]
#[test]
fn a_refused_token_is_not_replaced_by_a_stored_login() {
    let server = ModelServer::with_handler(|_| ScriptedReply::error(401, "authentication_error", "no"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let login = json!({"claudeAiOauth": {"accessToken": "stored-login-token", "scopes": ["user:inference"], "expiresAt": 9_999_999_999_999_u64}});
    sandbox.write_config(".credentials.json", login.to_string());
    let run =
        sandbox.gimlet(&["-p", "hi"]).env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "own-token-1");
    drop(run.run().expect_code(1));
    for request in server.requests() {
        assert_eq!(request.header("authorization"), Some("Bearer own-token-1"));
    }
    assert!(sandbox.config_dir().join(".credentials.json").exists());
}

/// A proxy for everything that is not on this machine. It refuses each connection and keeps the first line of what
/// was sent.
struct ProxyLog {
    address: SocketAddr,
    lines: mpsc::Receiver<String>,
}

impl ProxyLog {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let mut line = String::new();
                BufReader::new(&client).read_line(&mut line).ok();
                client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").ok();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { address, lines }
    }

    fn set(&self, run: GimletRun) -> GimletRun {
        let url = format!("http://{}", self.address);
        run.env("HTTPS_PROXY", &url).env("HTTP_PROXY", &url).env("ALL_PROXY", &url).env("NO_PROXY", "127.0.0.1")
    }

    /// Everything that was sent so far. Connections are taken in order, so ours comes after all earlier ones.
    fn seen(&self) -> Vec<String> {
        TcpStream::connect(self.address).unwrap().write_all(b"end\n").unwrap();
        self.lines.iter().take_while(|line| line != "end\n").collect()
    }
}

// [CLI-96] Nothing is reported anywhere: with the switch on, set to a false value, or unset.
#[test]
fn requests_go_to_the_model_and_nowhere_else() {
    let proxy = ProxyLog::start();
    for value in [None, Some("0"), Some("1")] {
        let server = ModelServer::script([
            ScriptedReply::tool("Bash", json!({"command": "false"})),
            ScriptedReply::text("done"),
            ScriptedReply::error(400, "invalid_request_error", "no"),
        ]);
        let sandbox = Sandbox::with_server(EXE, &server);
        for (prompt, code) in [("hi", 0), ("fail", 1)] {
            let mut run = proxy.set(print(&sandbox, prompt, &["--allowedTools", "Bash"]));
            if let Some(value) = value {
                run = run.env("DISABLE_TELEMETRY", value);
            }
            drop(run.run().expect_code(code));
        }
        let paths: Vec<String> = server.all_requests().iter().map(|r| r.path.clone()).collect();
        assert!(paths.len() == 3 && paths.iter().all(|path| path.starts_with("/v1/messages")), "{paths:?}");
    }
    assert_eq!(proxy.seen(), [""; 0]);
    // The proxy is used for other hosts: the assertion above can fail.
    let sandbox = Sandbox::new(EXE);
    let run = proxy.set(print(&sandbox, "hi", &[])).env("ANTHROPIC_BASE_URL", "https://elsewhere.test");
    drop(run.env("ANTHROPIC_API_KEY", "key").env("CLAUDE_CODE_MAX_RETRIES", "0").run().expect_code(1));
    assert_eq!(proxy.seen().first().map(String::as_str), Some("CONNECT elsewhere.test:443 HTTP/1.1\r\n"));
}

// [CLI-122]
#[test]
fn an_overloaded_model_gives_way_and_comes_first_again() {
    let server = ModelServer::with_handler(|request| {
        if request.model() == "claude-main-1" {
            ScriptedReply::error(529, "overloaded_error", "busy").header("retry-after-ms", "1")
        } else {
            ScriptedReply::text("fine")
        }
    });
    let sandbox = Sandbox::with_server(EXE, &server);
    let args = ["--model", "claude-main-1", "--fallback-model", "claude-spare-1"];
    for _ in 0..2 {
        let before = server.requests().len();
        drop(print(&sandbox, "hi", &args).env("CLAUDE_CODE_MAX_RETRIES", "0").run().expect_code(0));
        let models: Vec<String> = server.requests()[before..].iter().map(|r| r.model().to_owned()).collect();
        assert_eq!(
            (models.first().unwrap().as_str(), models.last().unwrap().as_str()),
            ("claude-main-1", "claude-spare-1")
        );
    }
    for status in [401, 429] {
        let server = ModelServer::with_handler(move |_| {
            ScriptedReply::error(status, "error", "no").header("retry-after-ms", "1")
        });
        let sandbox = Sandbox::with_server(EXE, &server);
        drop(print(&sandbox, "hi", &args).env("CLAUDE_CODE_MAX_RETRIES", "1").run().expect_code(1));
        assert!(server.requests().iter().all(|r| r.model() == "claude-main-1"), "{status} is no reason to switch");
    }
}

// [CLI-120]
#[test]
fn only_allowed_models_are_asked() {
    let server = fine();
    let sandbox = Sandbox::with_server(EXE, &server);
    sandbox.write_config("settings.json", r#"{"availableModels": ["opus", "claude-opus-4-6"]}"#);
    let done = print(&sandbox, "a", &["--model", "opus"]).run().expect_code(0);
    assert!(done.stderr.contains("opus means claude-opus-4-6"), "{}", done.stderr);
    let done = print(&sandbox, "b", &["--model", "claude-sonnet-5"]).run().expect_code(0);
    assert!(done.stderr.contains("claude-sonnet-5 is not among availableModels"), "{}", done.stderr);
    assert_eq!(server.request(0).model(), "claude-opus-4-6");
    assert_ne!(server.request(1).model(), "claude-sonnet-5");
}
