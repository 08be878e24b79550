//! The redirect target of a sign-in: a listener on this machine that waits for one request with our `state`. All
//! other requests are rejected and do not end the wait, so that another page cannot end or forge a sign-in.

use super::AuthError;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

const MAX_REQUEST_BYTES: usize = 16 * 1024;
/// Time limit of one request; further connections wait meanwhile.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const DONE_PAGE: &str = "Signed in. You can close this window and go back to gimlet.";
const FAILED_PAGE: &str = "Signing in did not work. The reason is shown in gimlet.";
const STRANGER_PAGE: &str = "Nothing to see here.";

/// A listener on `localhost` for the redirect.
pub(super) struct RedirectListener {
    v4: TcpListener,
    /// Browsers may try the IPv6 address of `localhost` first.
    v6: Option<TcpListener>,
    pub(super) port: u16,
}

/// The answer of the authorization server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AuthorizationCode {
    pub(super) code: String,
    pub(super) issuer: Option<String>,
}

impl RedirectListener {
    /// Listens on `port`; `None` means any free port.
    pub(super) async fn open(port: Option<u16>) -> Result<Self, AuthError> {
        let wanted = port.unwrap_or(0);
        let failed = |error| AuthError::Port { port: wanted, error };
        let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).await.map_err(failed)?;
        let port = v4.local_addr().map_err(failed)?.port();
        let v6 = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.ok();
        Ok(Self { v4, v6, port })
    }

    /// The redirect address. The host must be exactly `localhost`, because authorization servers compare it as text.
    pub(super) fn address(&self) -> String {
        format!("http://localhost:{}/callback", self.port)
    }

    pub(super) async fn wait(&self, state: &str) -> Result<AuthorizationCode, AuthError> {
        loop {
            let Ok(stream) = self.accept().await else { continue };
            // A client that sends nothing must not block the real one.
            let served = tokio::time::timeout(REQUEST_TIMEOUT, serve(stream, state)).await;
            if let Ok(Ok(Some(answer))) = served {
                return answer;
            }
        }
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        let second = async {
            match &self.v6 {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        let (stream, _) = tokio::select! { one = self.v4.accept() => one?, other = second => other? };
        Ok(stream)
    }
}

/// Answers one request; `None` when it is not the awaited redirect.
async fn serve(mut stream: TcpStream, state: &str) -> io::Result<Option<Result<AuthorizationCode, AuthError>>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < MAX_REQUEST_BYTES {
        if stream.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    let text = String::from_utf8_lossy(&head);
    let target = text.lines().next().and_then(|line| line.strip_prefix("GET ")?.split(' ').next().map(str::to_owned));
    let answer = target.and_then(|target| Url::parse("http://localhost").ok()?.join(&target).ok());
    let answer = answer.and_then(|url| read(&url, state));
    let (status, text) = match &answer {
        Some(Ok(_)) => ("200 OK", DONE_PAGE),
        Some(Err(_)) => ("400 Bad Request", FAILED_PAGE),
        None => ("404 Not Found", STRANGER_PAGE),
    };
    let page = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\nconnection: \
         close\r\n\r\n{text}",
        text.len()
    );
    stream.write_all(page.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(answer)
}

/// Reads the redirect address; `None` when its path or `state` is not ours.
fn read(url: &Url, state: &str) -> Option<Result<AuthorizationCode, AuthError>> {
    let get = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    if url.path() != "/callback" || get("state").as_deref() != Some(state) {
        return None;
    }
    if let Some(error) = get("error") {
        let why = get("error_description").map_or(error.clone(), |why| format!("{error}: {why}"));
        return Some(Err(AuthError::Refused(why.chars().filter(|c| !c.is_control()).take(300).collect())));
    }
    let code = get("code").filter(|code| !code.is_empty())?;
    Some(Ok(AuthorizationCode { code, issuer: get("iss") }))
}

/// Reads the redirect address that the person pasted.
pub(super) fn pasted(text: &str, state: &str) -> Result<AuthorizationCode, AuthError> {
    let url = Url::parse(text.trim()).map_err(|_| AuthError::Pasted)?;
    read(&url, state).unwrap_or(Err(AuthError::Pasted))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn visit(port: u16, target: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn only_the_answer_with_our_state_counts() {
        let redirect = RedirectListener::open(None).await.unwrap();
        let port = redirect.port;
        assert_eq!(redirect.address(), format!("http://localhost:{port}/callback"));
        let visits = async {
            for stranger in
                ["/", "/callback?code=evil", "/callback?code=evil&state=other", "/favicon.ico?state=s&code=c"]
            {
                assert!(visit(port, stranger).await.starts_with("HTTP/1.1 404"), "{stranger}");
            }
            visit(port, "/callback?code=good%2F1&state=s&iss=https%3A%2F%2Fas").await
        };
        let (code, page) = tokio::join!(redirect.wait("s"), visits);
        assert_eq!(code.unwrap(), AuthorizationCode { code: "good/1".into(), issuer: Some("https://as".into()) });
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        assert!(pasted("http://localhost:1/callback?code=c&state=s", "s").is_ok());
        assert!(matches!(pasted("c0de", "s"), Err(AuthError::Pasted)));
        assert!(matches!(pasted("http://localhost:1/callback?code=c&state=t", "s"), Err(AuthError::Pasted)));
        let refused = pasted("http://localhost/callback?error=access_denied&state=s", "s");
        assert!(matches!(refused, Err(AuthError::Refused(why)) if why == "access_denied"));
    }
}
