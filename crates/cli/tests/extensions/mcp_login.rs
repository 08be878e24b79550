//! Signing in to a remote MCP server, against an authorization server of our own on loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use testkit::Sandbox;

/// The state of the server and the requests it got.
#[derive(Default)]
struct World {
    base: String,
    /// The token that is valid now.
    good: String,
    issued: u32,
    issuer: Option<String>,
    resource: Option<String>,
    forms: Vec<String>,
}

#[derive(Clone)]
struct Fake(Arc<Mutex<World>>);

impl Fake {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let fake = Self(Arc::new(Mutex::new(World { base, good: "none".into(), ..World::default() })));
        let served = fake.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let fake = served.clone();
                std::thread::spawn(move || fake.serve(&stream.unwrap()));
            }
        });
        fake
    }

    fn base(&self) -> String {
        self.0.lock().unwrap().base.clone()
    }

    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_owned());
        }
        let header = |name: &str| {
            let found = head.iter().find(|line| line.to_lowercase().starts_with(&format!("{name}:")));
            found.map(|line| line[name.len() + 1..].trim().to_owned())
        };
        let length: usize = header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        let path = head[0].split(' ').nth(1).unwrap().to_owned();
        let (status, extra, answer) = self.answer(&path, &body, header("authorization").as_deref());
        let answer = answer.map(|value| value.to_string()).unwrap_or_default();
        let text = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{extra}content-length: {}\r\nconnection: close\r\n\r\n{answer}",
            answer.len()
        );
        (&*stream).write_all(text.as_bytes()).ok();
    }

    fn answer(&self, path: &str, body: &str, authorization: Option<&str>) -> (&'static str, String, Option<Value>) {
        let mut world = self.0.lock().unwrap();
        let base = world.base.clone();
        let ok = |value: Value| ("200 OK", String::new(), Some(value));
        match path {
            "/mcp" if authorization == Some(&format!("Bearer {}", world.good)) => {
                let message: Value = serde_json::from_str(body).unwrap_or_default();
                let result = match message["method"].as_str() {
                    Some("initialize") => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                        "serverInfo": {"name": "fake", "version": "1"}}),
                    Some("tools/list") => json!({"tools": []}),
                    _ => return ("202 Accepted", String::new(), None),
                };
                ok(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
            }
            "/mcp" => {
                let challenge = format!("www-authenticate: Bearer resource_metadata=\"{base}/prm\", scope=\"a\"\r\n");
                ("401 Unauthorized", challenge, None)
            }
            "/prm" => {
                let resource = world.resource.clone().unwrap_or(format!("{base}/mcp"));
                ok(json!({"resource": resource, "authorization_servers": [base]}))
            }
            "/.well-known/oauth-authorization-server" => ok(json!({
                "issuer": world.issuer.clone().unwrap_or(base.clone()),
                "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"), "code_challenge_methods_supported": ["S256"]})),
            "/register" => ok(json!({"client_id": "registered"})),
            "/token" => {
                world.issued += 1;
                world.good = format!("token-{}-canary", world.issued);
                world.forms.push(body.to_owned());
                ok(
                    json!({"access_token": world.good, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r-canary-refresh"}),
                )
            }
            _ => ("404 Not Found", String::new(), None),
        }
    }
}

fn sandbox(fake: &Fake) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_gimlet"));
    sandbox.gimlet(&["mcp", "add", "-s", "user", "t", &format!("{}/mcp", fake.base())]).run().expect_clean();
    sandbox
}

/// The value of a query parameter.
fn parameter(url: &str, name: &str) -> String {
    let found = url.split(['?', '&']).find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    found.unwrap_or_else(|| panic!("no {name} in {url}")).replace("%3A", ":").replace("%2F", "/")
}

/// Signs in by pasting the address at which the browser would have ended; `change` may tamper with it.
fn sign_in(sandbox: &Sandbox, change: impl Fn(String) -> String) -> (i32, String, String) {
    let mut run = sandbox.gimlet(&["mcp", "login", "t", "--no-browser"]).stdin_open().spawn();
    let url = loop {
        let Some(line) = run.next_line() else {
            let done = run.finish();
            return (done.code(), done.stdout.clone(), done.stderr);
        };
        if line.trim().starts_with("http") {
            break line.trim().to_owned();
        }
    };
    let address = format!("{}?code=c0de&state={}", parameter(&url, "redirect_uri"), parameter(&url, "state"));
    assert!(address.starts_with("http://localhost:"), "{address}");
    assert_eq!((parameter(&url, "scope"), parameter(&url, "code_challenge_method")), ("a".into(), "S256".into()));
    run.send(&change(address));
    let done = run.finish();
    (done.code(), done.stdout.clone(), done.stderr)
}

#[test]
fn a_pasted_address_signs_in_and_tokens_are_kept_and_refreshed() {
    // [TST-214]
    let fake = Fake::start();
    let sandbox = sandbox(&fake);
    assert!(sandbox.gimlet(&["mcp", "list"]).run().stdout.contains("! Needs authentication"));
    let (code, _, stderr) = sign_in(&sandbox, |address| address);
    assert_eq!((code, stderr.as_str()), (0, ""));
    let form = fake.0.lock().unwrap().forms[0].clone();
    for part in [
        "grant_type=authorization_code",
        "code=c0de",
        "code_verifier=",
        "resource=http%3A%2F%2F127.0.0.1",
        "client_id=registered",
    ] {
        assert!(form.contains(part), "{part} is not in {form}");
    }
    let file = sandbox.config_dir().join(".credentials.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&file).unwrap().contains("token-1-canary"));
    let listed = sandbox.gimlet(&["mcp", "list"]).run();
    assert!(listed.stdout.contains("✔ Connected") && !listed.stdout.contains("canary"), "{}", listed.stdout);
    // The server no longer takes the token: one refresh, and it works again.
    fake.0.lock().unwrap().good = "elsewhere".into();
    assert!(sandbox.gimlet(&["mcp", "list"]).run().stdout.contains("✔ Connected"));
    let form = fake.0.lock().unwrap().forms[1].clone();
    assert!(form.contains("grant_type=refresh_token") && form.contains("refresh_token=r-canary-refresh"), "{form}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("token-2-canary"));
    let again = sandbox.gimlet(&["mcp", "login", "t"]).run().expect_clean();
    assert!(again.stdout.contains("works without signing in"), "{}", again.stdout);
    sandbox.gimlet(&["mcp", "logout", "t"]).run().expect_clean();
    assert!(!std::fs::read_to_string(&file).unwrap().contains("canary"));
    assert!(sandbox.gimlet(&["mcp", "list"]).run().stdout.contains("! Needs authentication"));
}

#[test]
fn strangers_are_refused() {
    // [TST-214]
    let fake = Fake::start();
    let sandbox = sandbox(&fake);
    let (code, _, stderr) = sign_in(&sandbox, |address| address.replace("state=", "state=x"));
    assert!(code == 1 && stderr.contains("does not belong to this sign-in"), "{stderr}");
    fake.0.lock().unwrap().issuer = Some("https://evil.example".into());
    let (code, stdout, stderr) = sign_in(&sandbox, |address| address);
    assert!(code == 1 && stderr.contains("calls itself") && !stdout.contains("http"), "{stdout} {stderr}");
    fake.0.lock().unwrap().issuer = None;
    fake.0.lock().unwrap().resource = Some("https://evil.example/mcp".into());
    let (code, stdout, stderr) = sign_in(&sandbox, |address| address);
    assert!(
        code == 1 && stderr.contains("its authorization is not used") && !stdout.contains("http"),
        "{stdout} {stderr}"
    );
    assert!(fake.0.lock().unwrap().forms.is_empty(), "no code was exchanged");
    let own =
        json!({"type": "http", "url": format!("{}/mcp", fake.base()), "headers": {"Authorization": "Bearer mine"}});
    sandbox.gimlet(&["mcp", "add-json", "own", &own.to_string()]).run().expect_clean();
    let refused = sandbox.gimlet(&["mcp", "login", "own"]).run();
    assert!(refused.code() == 1 && refused.stderr.contains("Authorization header"), "{}", refused.stderr);
}
