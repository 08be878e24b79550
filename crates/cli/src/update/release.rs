//! The source of releases: a URL or a folder with channels (`latest`, `stable`) and one folder for each release with
//! its archives, `SHA256SUMS` and `SHA256SUMS.sig`. An archive is used only after its checksum was found in a list that
//! is signed with the configured key, or that the user accepts unsigned.

use super::installation::failed;
use super::version::ReleaseNumber;
use aws_lc_rs::digest::{self, SHA256};
use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine;
use http::{Http, HttpMethod, HttpRequest, HttpResponse};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::Env;

const LIST: &str = "SHA256SUMS";
const MOST_TEXT: usize = 256 * 1024;
const MOST_ARCHIVE: u64 = 512 * 1024 * 1024;
const MOST_REDIRECTS: usize = 5;
const HEADERS_TIMEOUT: Duration = Duration::from_secs(30);
const PIECE_TIMEOUT: Duration = Duration::from_mins(1);
/// The bytes before an Ed25519 key in the DER form that `openssl` prints.
const DER_HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The key with which releases are signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicKey([u8; 32]);

impl PublicKey {
    /// Reads 32 bytes in base64, bare or as `openssl pkey -pubout` prints them, with or without its two frame lines.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let body: String =
            text.lines().filter(|line| !line.starts_with("-----")).flat_map(str::split_whitespace).collect();
        let bytes = from_base64(&body).unwrap_or_default();
        let bare = bytes.strip_prefix(&DER_HEAD).unwrap_or(&bytes);
        bare.try_into().map(Self).map_err(|_| {
            "Error: the key that releases are signed with cannot be read: an Ed25519 public key in base64 is expected, \
             as `openssl pkey -in KEY.pem -pubout` prints it"
                .to_owned()
        })
    }

    fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}

/// What the user accepts as proof that a release is genuine.
pub(super) struct SignaturePolicy {
    /// `None`: no key is configured.
    pub key: Option<PublicKey>,
    pub allow_unsigned: bool,
}

/// Whether a list of checksums was signed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SignatureState {
    Signed,
    /// The user accepts it; the text says why it could not be checked.
    Unsigned(&'static str),
}

pub(super) enum ReleaseSource {
    Web { http: Http, base: String },
    Folder(PathBuf),
}

impl ReleaseSource {
    pub(super) fn of(url: &str, env: &Env) -> Result<Self, String> {
        if let Some(path) = url.strip_prefix("file://").or_else(|| url.starts_with('/').then_some(url)) {
            return Ok(Self::Folder(PathBuf::from(path)));
        }
        http::check_url(url).map_err(|error| format!("Error: releases cannot come from there: {error}"))?;
        Ok(Self::Web { http: Http::new(env.clone()), base: url.trim_end_matches('/').to_owned() })
    }

    /// True when others on the network could change what is downloaded.
    fn is_open_to_others(&self) -> bool {
        let Self::Web { base, .. } = self else { return false };
        let Some(rest) = base.strip_prefix("http://") else { return false };
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        // With a user name or a backslash in it, the host may differ from what it seems to be.
        base.contains(['@', '\\']) || !matches!(host, "127.0.0.1" | "localhost" | "[::1]")
    }

    /// The release that a channel names.
    pub(super) async fn channel(&self, name: &str) -> Result<ReleaseNumber, String> {
        let text =
            self.text(name).await?.ok_or_else(|| format!("Error: no channel '{name}' at {}", self.shown(name)))?;
        let text = String::from_utf8_lossy(&text);
        text.trim().parse().map_err(|why| format!("Error: {} names no release: {why}", self.shown(name)))
    }

    /// The list of checksums of a release, after its signature was checked.
    pub(super) async fn list(
        &self,
        number: &ReleaseNumber,
        proof: &SignaturePolicy,
    ) -> Result<(Checksums, SignatureState), String> {
        let name = format!("{number}/{LIST}");
        let list = self.text(&name).await?.ok_or_else(|| {
            format!("Error: no gimlet {number} at {}; the channels latest and stable name releases", self.shown(&name))
        })?;
        let genuine = self.check(&list, &format!("{name}.sig"), number, proof).await?;
        Ok((Checksums(String::from_utf8_lossy(&list).into_owned()), genuine))
    }

    async fn check(
        &self,
        list: &[u8],
        name: &str,
        number: &ReleaseNumber,
        proof: &SignaturePolicy,
    ) -> Result<SignatureState, String> {
        let why = match &proof.key {
            None => "no key is configured",
            Some(key) => match self.text(name).await? {
                None => "it is not signed",
                Some(signature) => {
                    let text = std::str::from_utf8(&signature).ok().and_then(|text| from_base64(text.trim()));
                    let is_signed =
                        key.has_signed(list, &signature) || text.is_some_and(|raw| key.has_signed(list, &raw));
                    return if is_signed {
                        Ok(SignatureState::Signed)
                    } else {
                        Err(format!(
                            "Error: the signature {} was not made with the configured key. Nothing was changed",
                            self.shown(name)
                        ))
                    };
                }
            },
        };
        if !proof.allow_unsigned {
            let way = if proof.key.is_none() {
                "set updateKey to the publisher's key"
            } else {
                "ask the publisher for a signed release"
            };
            return Err(format!(
                "Error: gimlet {number} cannot be checked: {why}. Nothing was changed; {way}, or accept it with --allow-unsigned"
            ));
        }
        if self.is_open_to_others() {
            return Err("Error: an unsigned release is not taken over plain http: use https, or a key".to_owned());
        }
        Ok(SignatureState::Unsigned(why))
    }

    /// Downloads a file of a release and compares its checksum.
    pub(super) async fn download(
        &self,
        number: &ReleaseNumber,
        name: &str,
        sums: &Checksums,
        to: &Path,
    ) -> Result<(), String> {
        let expected = sums.of(name).ok_or_else(|| {
            format!(
                "Error: gimlet {number} is not published for this machine ({name} is not in {})",
                self.shown(&format!("{number}/{LIST}"))
            )
        })?;
        let mut file = File::create_new(to).map_err(|error| failed("write", to, &error))?;
        let path = format!("{number}/{name}");
        let found = self.copy(&path, &mut file, to).await?;
        file.sync_all().map_err(|error| failed("write", to, &error))?;
        if found == expected.to_lowercase() {
            return Ok(());
        }
        Err(format!(
            "Error: {} is damaged: its SHA-256 is {found}, the list of checksums says {expected}. Nothing was changed; try again",
            self.shown(&path)
        ))
    }

    async fn copy(&self, path: &str, file: &mut File, to: &Path) -> Result<String, String> {
        let mut hash = digest::Context::new(&SHA256);
        let mut total = 0;
        let mut put = |piece: &[u8]| {
            hash.update(piece);
            total += piece.len() as u64;
            if total > MOST_ARCHIVE {
                return Err(format!("Error: {} is larger than {MOST_ARCHIVE} bytes", self.shown(path)));
            }
            file.write_all(piece).map_err(|error| failed("write", to, &error))
        };
        match self {
            Self::Folder(folder) => {
                let from = folder.join(path);
                let mut input = File::open(&from).map_err(|error| failed("read", &from, &error))?;
                let mut piece = vec![0; 64 * 1024];
                loop {
                    match input.read(&mut piece).map_err(|error| failed("read", &from, &error))? {
                        0 => break,
                        length => put(&piece[..length])?,
                    }
                }
            }
            Self::Web { http, base } => {
                let url = format!("{base}/{path}");
                let mut response = get(http, &url).await?.ok_or_else(|| format!("Error: {url} was not found"))?;
                while let Some(piece) = piece_of(&mut response, &url).await? {
                    put(&piece)?;
                }
            }
        }
        Ok(super::hex(hash.finish().as_ref()))
    }

    /// Reads a small file; `None` when it does not exist.
    async fn text(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        match self {
            Self::Folder(folder) => match sys::fs::read_whole(&folder.join(path), MOST_TEXT) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(failed("read", &folder.join(path), &error)),
            },
            Self::Web { http, base } => {
                let url = format!("{base}/{path}");
                let Some(mut response) = get(http, &url).await? else { return Ok(None) };
                let mut bytes = Vec::new();
                while let Some(piece) = piece_of(&mut response, &url).await? {
                    bytes.extend_from_slice(&piece);
                    if bytes.len() > MOST_TEXT {
                        return Err(format!("Error: {url} is larger than {MOST_TEXT} bytes"));
                    }
                }
                Ok(Some(bytes))
            }
        }
    }

    fn shown(&self, path: &str) -> String {
        match self {
            Self::Folder(folder) => folder.join(path).display().to_string(),
            Self::Web { base, .. } => format!("{base}/{path}"),
        }
    }
}

async fn piece_of(response: &mut HttpResponse, url: &str) -> Result<Option<Vec<u8>>, String> {
    match tokio::time::timeout(PIECE_TIMEOUT, response.chunk()).await {
        Ok(Ok(piece)) => Ok(piece.map(|bytes| bytes.to_vec())),
        Ok(Err(error)) => {
            Err(format!("Error: the download of {url} broke off: {error}. Nothing was changed; try again"))
        }
        Err(_) => Err(format!("Error: {url} sent nothing for {} seconds; try again", PIECE_TIMEOUT.as_secs())),
    }
}

/// Follows redirects, but never from https to http. `None` for status 404.
async fn get(http: &Http, url: &str) -> Result<Option<HttpResponse>, String> {
    let mut at = url.to_owned();
    for _ in 0..=MOST_REDIRECTS {
        let request = HttpRequest {
            method: HttpMethod::Get,
            url: at.clone(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout: HEADERS_TIMEOUT,
        };
        let response =
            http.send(request).await.map_err(|error| format!("Error: {url} could not be reached: {error}"))?;
        match response.status() {
            200 => return Ok(Some(response)),
            404 => return Ok(None),
            301 | 302 | 303 | 307 | 308 => {
                let next = response.header("location").and_then(|location| http::redirect(&at, location));
                let next = next.ok_or_else(|| format!("Error: {url} leads nowhere"))?;
                if at.starts_with("https:") && !next.url.starts_with("https:") {
                    return Err(format!("Error: {url} leads from https to {}, which is not safe", next.shown));
                }
                at = next.url;
            }
            status => return Err(format!("Error: {url} answered with status {status}")),
        }
    }
    Err(format!("Error: {url} leads through more than {MOST_REDIRECTS} addresses"))
}

/// `SHA256SUMS`: one line for each file.
pub(super) struct Checksums(String);

impl Checksums {
    fn of(&self, name: &str) -> Option<&str> {
        let named = |line: &'_ str| -> bool {
            line.split_once(char::is_whitespace)
                .is_some_and(|(_, rest)| rest.trim_start().trim_start_matches('*') == name)
        };
        let sum = self.0.lines().find(|line| named(line))?.split_whitespace().next()?;
        (sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_bare_and_as_openssl_prints_it() {
        let bare = "gRuvhIrbnBlIIxxlCoL7zZA7JGuBRzFmOGLlFZJcJ3A=";
        let framed = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAgRuvhIrbnBlIIxxlCoL7zZA7JGuBRzFmOGLlFZJcJ3A=\n-----END PUBLIC KEY-----\n";
        assert_eq!(PublicKey::parse(bare), PublicKey::parse(framed));
        assert!(PublicKey::parse(bare).is_ok());
        for wrong in ["", "abc", "gRuvhIrbnBlIIxxlCoL7zZA7JGuBRzFmOGLlFZJcJ3", "!!!!"] {
            assert!(PublicKey::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn plain_http_is_open_to_others_except_on_this_machine() {
        let is_open = |url: &str| ReleaseSource::of(url, &Env::default()).unwrap().is_open_to_others();
        assert!(is_open("http://releases.example/gimlet"));
        for other in ["http://127.0.0.1.example/", "http://127.0.0.1:80@x.example/", "http://x.example\\@127.0.0.1/"] {
            assert!(is_open(other), "{other}");
        }
        for safe in [
            "https://releases.example",
            "http://127.0.0.1:8080/x",
            "http://localhost:1",
            "http://[::1]:80",
            "/srv/gimlet",
        ] {
            assert!(!is_open(safe), "{safe}");
        }
        assert!(ReleaseSource::of("ftp://releases.example", &Env::default()).is_err());
    }
}
