//! TLS over real sockets: trusted roots, client certificates, HTTP/2, and error messages.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/certificates.rs"]
mod certificates;

use bytes::Bytes;
use certificates::TestKey;
use http::{Http, HttpError, HttpMethod, HttpRequest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use sys::Env;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// An authority with one server and one client certificate, as files.
struct Authority {
    dir: tempfile::TempDir,
}

impl Authority {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| std::fs::write(dir.path().join(name), text).unwrap();
        let authority = TestKey::generate();
        write("ca.pem", certificates::authority(&authority));
        for (serial, name) in [(2, "server"), (3, "client")] {
            let key = TestKey::generate();
            write(&format!("{name}.pem"), certificates::leaf(&key, &authority, serial));
            write(&format!("{name}.key"), key.pem());
        }
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

fn read_certificates(path: &Path) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(path).unwrap().map(Result::unwrap).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clients {
    Anyone,
    WithCertificate,
}

fn acceptor(authority: &Authority, clients: Clients, alpn: &str) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(read_certificates(&authority.path("ca.pem")));
    let verifier =
        rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = match clients {
        Clients::Anyone => builder.with_no_client_auth(),
        Clients::WithCertificate => builder.with_client_cert_verifier(verifier.unwrap()),
    };
    let key = PrivateKeyDer::from_pem_file(authority.path("server.key")).unwrap();
    let mut config = builder.with_single_cert(read_certificates(&authority.path("server.pem")), key).unwrap();
    config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// Answers every request on every connection with `ok`.
async fn serve_http1(acceptor: TlsAcceptor) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") && stream.read_buf(&mut request).await.is_ok_and(|n| n > 0) {}
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.ok();
        }
    });
    url
}

fn client(vars: &[(&str, String)]) -> Http {
    Http::new(Env::default().with(vars.iter().map(|(name, value)| (*name, value.clone()))))
}

fn get(url: &str) -> HttpRequest {
    let timeout = Duration::from_secs(20);
    HttpRequest { method: HttpMethod::Get, url: url.to_owned(), headers: vec![], body: vec![], timeout }
}

// [TST-110]
#[tokio::test]
async fn an_unknown_authority_is_a_certificate_error() {
    let authority = Authority::new();
    let url = serve_http1(acceptor(&authority, Clients::Anyone, "http/1.1")).await;
    let error = client(&[]).send(get(&url)).await.unwrap_err();
    assert!(
        matches!(&error, HttpError::Certificate(text) if text.contains("signed by an unknown authority")),
        "{error:?}"
    );
}

// [TST-110]
#[tokio::test]
async fn a_certificate_for_another_name_is_a_certificate_error() {
    let authority = Authority::new();
    let url = serve_http1(acceptor(&authority, Clients::Anyone, "http/1.1")).await.replace("127.0.0.1", "localhost");
    let error = client(&[("NODE_EXTRA_CA_CERTS", authority.text("ca.pem"))]).send(get(&url)).await.unwrap_err();
    assert!(matches!(error, HttpError::Certificate(_)), "{error:?}");
}

// [TST-129]
#[tokio::test]
async fn extra_authorities_are_trusted() {
    let authority = Authority::new();
    let url = serve_http1(acceptor(&authority, Clients::Anyone, "http/1.1")).await;
    for name in ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"] {
        let response = client(&[(name, authority.text("ca.pem"))]).send(get(&url)).await.unwrap();
        assert_eq!(response.bytes(10).await.unwrap().0, b"ok");
    }
}

// [TST-129] [TST-110]
#[tokio::test]
async fn a_client_certificate_is_shown_when_configured() {
    let authority = Authority::new();
    let url = serve_http1(acceptor(&authority, Clients::WithCertificate, "http/1.1")).await;
    let trust = ("NODE_EXTRA_CA_CERTS", authority.text("ca.pem"));
    let error = client(std::slice::from_ref(&trust)).send(get(&url)).await.unwrap_err();
    assert!(matches!(error, HttpError::Certificate(_)), "{error:?}");
    let certificate = ("CLAUDE_CODE_CLIENT_CERT", authority.text("client.pem"));
    let key = ("CLAUDE_CODE_CLIENT_KEY", authority.text("client.key"));
    let response = client(&[trust, certificate, key]).send(get(&url)).await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn http2_is_spoken_where_offered() {
    let authority = Authority::new();
    let acceptor = acceptor(&authority, Clients::Anyone, "h2");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let (reset, was_reset) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let stream = acceptor.accept(stream).await.unwrap();
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let (request, mut respond) = connection.accept().await.unwrap().unwrap();
        assert_eq!(request.headers()["content-length"], "6");
        let mut body = respond.send_response(http_types::Response::new(()), false).unwrap();
        body.send_data(Bytes::from_static(b"first"), false).unwrap();
        let ended = std::future::poll_fn(|cx| body.poll_reset(cx));
        // The connection must be polled for the stream to make progress.
        tokio::select! {
            reason = ended => drop(reset.send(reason.unwrap())),
            _ = connection.accept() => panic!("the connection ended"),
        }
    });
    let http = client(&[("NODE_EXTRA_CA_CERTS", authority.text("ca.pem"))]);
    let body = vec![Bytes::from_static(b"one"), Bytes::from_static(b"two")];
    let mut response = http.send(HttpRequest { method: HttpMethod::Post, body, ..get(&url) }).await.unwrap();
    assert_eq!(response.chunk().await.unwrap().as_deref(), Some(b"first".as_slice()));
    // [TST-130]
    drop(response);
    let reason = tokio::time::timeout(Duration::from_secs(10), was_reset).await.unwrap().unwrap();
    assert_eq!(reason, h2::Reason::CANCEL);
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_not_a_certificate_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = [0; 16];
        stream.read_exact(&mut hello).await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        stream.shutdown().await.unwrap();
    });
    let error = client(&[]).send(get(&url)).await.unwrap_err();
    assert!(matches!(error, HttpError::Connect(_)), "{error:?}");
}
