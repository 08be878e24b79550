//! What a person reads when the network or a server fails: a sentence that says what failed, where, and what to do.

use crate::common::print;
use serde_json::Value;
use testkit::{ModelServer, Sandbox, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

/// Words of libraries that nobody should have to read.
const FOREIGN_WORDS: [&str; 8] =
    ["os error", "hyper", "reqwest", "rustls", "tcp connect", "client error", "error trying", "<html"];

struct Failure {
    text: String,
    /// The reasons of the attempts in between.
    reasons: Vec<String>,
}

fn fail_at(sandbox: &mut Sandbox, address: &str) -> Failure {
    sandbox.set("ANTHROPIC_BASE_URL", address);
    sandbox.set("GIMLET_RETRY_BASE_MS", "5");
    sandbox.set("CLAUDE_CODE_MAX_RETRIES", "1");
    let run = print(sandbox, "go", &[]).run().expect_code(1);
    let retries = run.lines().into_iter().filter(|line| line["subtype"] == "api_retry");
    let reasons = retries.map(|line| line["x_reason"].as_str().unwrap_or_default().to_owned()).collect();
    let text = run.result()["result"].as_str().unwrap_or_default().to_owned();
    Failure { text, reasons }
}

fn check(failure: &Failure, said: &str, advice: &str) {
    let Failure { text, reasons } = failure;
    assert!(text.starts_with("API Error: ") && text.contains(said) && text.contains(advice), "{text}");
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| reason.contains(said)), "{reasons:?}");
    for word in FOREIGN_WORDS {
        assert!(!text.contains(word) && !reasons.concat().contains(word), "{word}: {text} {reasons:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.set("ANTHROPIC_API_KEY", "k");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let failure = fail_at(&mut sandbox, &format!("http://127.0.0.1:{port}"));
    check(&failure, "the connection was refused", &format!("Check that the server at http://127.0.0.1:{port} runs"));
    let failure = fail_at(&mut sandbox, "http://nowhere.invalid");
    check(&failure, "the host name was not found (DNS)", "http://nowhere.invalid");
}

#[test]
fn a_connection_that_breaks_says_so() {
    let early = || ScriptedReply::text("half").cut_after_events(1);
    for cut in [early(), early().cut_by_reset()] {
        let server = ModelServer::with_handler(move |_| cut.clone());
        let mut sandbox = Sandbox::with_server(EXE, &server);
        let failure = fail_at(&mut sandbox, server.url());
        assert!(failure.text.starts_with("API Error: "), "{}", failure.text);
        for word in FOREIGN_WORDS {
            assert!(!failure.text.contains(word), "{word}: {}", failure.text);
        }
    }
}

#[test]
fn a_page_of_a_proxy_is_told_by_its_title() {
    let page = "<!DOCTYPE html>\n<html><head><title>502 Bad\n Gateway</title></head><body>nginx</body></html>";
    let server = ModelServer::with_handler(move |_| ScriptedReply::status(502).body("text/html", page));
    let mut sandbox = Sandbox::with_server(EXE, &server);
    let failure = fail_at(&mut sandbox, server.url());
    let said = "API Error: 502 the server sent a web page (\"502 Bad Gateway\") in place of an answer.";
    assert!(failure.text.starts_with(said) && !failure.text.contains('<'), "{}", failure.text);
    assert!(failure.text.contains("The fault is at the server; try again later."), "{}", failure.text);
    assert_eq!(failure.reasons, ["the server has a fault, status 502"]);
}

/// The reason stands below the line of the turn while it waits, and the sentence at the end.
#[test]
fn the_terminal_says_why_it_tries_again() {
    let mut sandbox = Sandbox::new(EXE);
    sandbox.set("ANTHROPIC_API_KEY", "k");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    sandbox.set("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}"));
    sandbox.set("CLAUDE_CODE_MAX_RETRIES", "1");
    let mut terminal = sandbox.gimlet::<&str>(&[]).terminal(100, 30);
    terminal.wait_for("? for shortcuts");
    terminal.send("go\r");
    let screen = terminal.wait_for("Retrying in");
    assert!(screen.contains("the connection was refused") && screen.contains("attempt 1 of 1"), "{screen}");
    assert!(screen.contains("esc to interrupt"), "{screen}");
    let screen = terminal.wait_for("API Error:");
    let words: Vec<&str> = screen.split_whitespace().collect();
    assert!(words.join(" ").contains("Check that the server at"), "{screen}");
    let lines: Vec<Value> = sandbox.transcript();
    assert!(lines.iter().any(|line| line["type"] == "user"), "the prompt is kept");
}
