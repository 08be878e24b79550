use super::super::stored::tests::Memory;
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A token endpoint with one fixed answer.
struct Endpoint {
    url: String,
    asked: Arc<AtomicUsize>,
}

async fn endpoint(status: &'static str, body: &'static str) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://127.0.0.1:{}/token", listener.local_addr().unwrap().port());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"client_id=c") {
                if stream.read_buf(&mut request).await.unwrap() == 0 {
                    break;
                }
            }
            count.fetch_add(1, Ordering::SeqCst);
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    Endpoint { url, asked }
}

fn remote() -> RemoteConfig {
    RemoteConfig { url: "http://h".into(), ..RemoteConfig::default() }
}

fn place() -> HelperPlace {
    HelperPlace { cwd: "/".into(), is_from_repository: false }
}

fn entry(endpoint: &str, expires_at: u64) -> TokenEntry {
    TokenEntry {
        access_token: Some("old".into()),
        refresh_token: Some("r1".into()),
        expires_at: Some(expires_at),
        client_id: Some("c".into()),
        token_endpoint: Some(endpoint.into()),
        resource: Some("http://h".into()),
        ..TokenEntry::default()
    }
}

fn keyring(entry: &TokenEntry) -> (Keyring, Arc<Memory>) {
    let vault = Arc::new(Memory::default());
    entry.write(&*vault, &identity("s", &remote())).unwrap();
    let shared: Arc<dyn TokenVault> = Arc::<Memory>::clone(&vault);
    (Keyring::new(Http::new(Env::default()), Env::default(), shared), vault)
}

fn stored(vault: &Memory) -> Option<TokenEntry> {
    TokenEntry::read(vault, &identity("s", &remote()))
}

async fn bearer(keyring: &Keyring, occasion: &HeaderOccasion) -> Option<String> {
    let headers = keyring.headers("s", &remote(), &place(), occasion).await.unwrap()?;
    headers.into_iter().find(|(name, _)| name == "authorization").map(|(_, value)| value)
}

const UNAUTHORIZED: HeaderOccasion = HeaderOccasion::Refused { status: 401, challenge: None };

#[tokio::test]
async fn tokens_are_refreshed_when_due_and_when_refused() {
    // [TST-214]
    let good =
        endpoint("200 OK", r#"{"access_token":"new","token_type":"bearer","expires_in":"3600","refresh_token":"r2"}"#)
            .await;
    let soon = sys::clock::now_ms() + 1000;
    let (due, vault) = keyring(&entry(&good.url, soon));
    assert_eq!(bearer(&due, &HeaderOccasion::Connect).await.as_deref(), Some("Bearer new"));
    assert_eq!(stored(&vault).unwrap().refresh_token.as_deref(), Some("r2"));
    assert_eq!(bearer(&due, &HeaderOccasion::Connect).await.as_deref(), Some("Bearer new"));
    assert_eq!(good.asked.load(Ordering::SeqCst), 1);
    let later = sys::clock::now_ms() + 3_600_000;
    let (refused, vault) = keyring(&entry(&good.url, later));
    assert_eq!(bearer(&refused, &HeaderOccasion::Connect).await.as_deref(), Some("Bearer old"));
    assert_eq!(bearer(&refused, &UNAUTHORIZED).await.as_deref(), Some("Bearer new"));
    assert_eq!(good.asked.load(Ordering::SeqCst), 2);
    // Another process stored a newer token: it is used, not refreshed.
    let other = TokenEntry { access_token: Some("theirs".into()), ..stored(&vault).unwrap() };
    other.write(&*vault, &identity("s", &remote())).unwrap();
    assert_eq!(bearer(&refused, &UNAUTHORIZED).await.as_deref(), Some("Bearer theirs"));
    assert_eq!(good.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_passing_failure_forgets_nothing_and_a_final_one_signs_out() {
    // [TST-214]
    let busy = endpoint("503 Service Unavailable", "").await;
    let (waits, vault) = keyring(&entry(&busy.url, sys::clock::now_ms() + 30_000));
    assert_eq!(bearer(&waits, &HeaderOccasion::Connect).await.as_deref(), Some("Bearer old"));
    assert!(waits.headers("s", &remote(), &place(), &UNAUTHORIZED).await.is_err());
    assert_eq!(stored(&vault).unwrap().refresh_token.as_deref(), Some("r1"));
    let gone = endpoint("400 Bad Request", r#"{"error":"invalid_grant"}"#).await;
    let (ended, vault) = keyring(&entry(&gone.url, 1));
    assert_eq!(bearer(&ended, &HeaderOccasion::Connect).await, None);
    assert_eq!(stored(&vault), None);
}

#[tokio::test]
async fn a_configured_header_is_used_alone_and_more_scope_is_remembered() {
    let never = endpoint("500 Nope", "").await;
    let (keys, vault) = keyring(&entry(&never.url, sys::clock::now_ms() + 3_600_000));
    let mut own = remote();
    own.headers.insert("AUTHORIZATION".into(), "Bearer mine".into());
    assert_eq!(keys.headers("s", &own, &place(), &HeaderOccasion::Connect).await.unwrap(), Some(Vec::new()));
    assert_eq!(keys.headers("s", &own, &place(), &UNAUTHORIZED).await.unwrap(), None);
    let challenge = Some(r#"Bearer error="insufficient_scope", scope="a b""#.to_owned());
    assert_eq!(bearer(&keys, &HeaderOccasion::Refused { status: 403, challenge }).await, None);
    assert_eq!(stored(&vault).unwrap().wanted_scope.as_deref(), Some("a b"));
    assert_eq!(never.asked.load(Ordering::SeqCst), 0);
}
