//! Fetches one page: redirects within a site are followed and each is checked, a redirect to another site is
//! reported instead. Bodies are limited in size; a body that is not text is saved and described.

use super::page::{self, PageKind};
use super::target::{self, AddressScope};
use crate::web_cache::{FetchedPage, PageBody};
use http::{Http, HttpMethod, HttpRequest, HttpResponse};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use url::Url;

const MAX_HOPS: usize = 10;
const MAX_BODY: usize = 10 << 20;
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Site owners know this kind of reader by the prefix; the product name follows it.
const USER_AGENT: &str = concat!("Claude-User (gimlet/", env!("CARGO_PKG_VERSION"), ")");
const ACCEPT: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5";

pub(super) enum FetchResult {
    Page(FetchedPage),
    /// The page redirects to another site.
    Moved {
        to: Url,
        status: u16,
    },
}

/// The parameters of a fetch.
pub(super) struct PageFetch<'a> {
    pub(super) http: &'a Http,
    pub(super) scope: AddressScope,
    pub(super) resolves_locally: bool,
    /// The folder for bodies that are not text.
    pub(super) save_dir: PathBuf,
}

impl PageFetch<'_> {
    pub(super) async fn page(&self, start: &Url) -> Result<FetchResult, String> {
        let mut url = start.clone();
        for _ in 0..=MAX_HOPS {
            target::check(&url, self.scope, self.resolves_locally).await?;
            let response = self.get(&url).await?;
            let status = response.status();
            let Some(to) = redirect(&url, &response)? else { return self.read(&url, response).await };
            if !target::same_site(start, &to) {
                return Ok(FetchResult::Moved { to, status });
            }
            url = to;
        }
        Err(format!("{start} redirects more than {MAX_HOPS} times"))
    }

    async fn get(&self, url: &Url) -> Result<HttpResponse, String> {
        let mut bare = url.clone();
        bare.set_fragment(None);
        let headers = vec![("user-agent".into(), USER_AGENT.into()), ("accept".into(), ACCEPT.into())];
        let request = HttpRequest {
            method: HttpMethod::Get,
            url: bare.into(),
            headers,
            body: Vec::new(),
            timeout: HEADER_TIMEOUT,
        };
        self.http.send(request).await.map_err(|error| format!("Could not fetch {url}: {error}"))
    }

    async fn read(&self, url: &Url, response: HttpResponse) -> Result<FetchResult, String> {
        let status = response.status();
        if status >= 400 {
            return Err(format!("{url} answered with HTTP status {status} {}", reason(status)));
        }
        let content_type = response.header("content-type").unwrap_or_default().to_owned();
        let (body, clipped) =
            response.bytes(MAX_BODY).await.map_err(|error| format!("Could not read {url}: {error}"))?;
        let save_dir = self.save_dir.clone();
        let done = tokio::task::spawn_blocking(move || convert(&content_type, &body, clipped, &save_dir)).await;
        let (bytes, body) = done.map_err(|error| format!("Could not convert {url}: {error}"))??;
        Ok(FetchResult::Page(FetchedPage { status, bytes, body }))
    }
}

/// The target of a redirect, checked and upgraded like the first URL.
fn redirect(from: &Url, response: &HttpResponse) -> Result<Option<Url>, String> {
    if !matches!(response.status(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.header("location") else { return Ok(None) };
    let to = from.join(location).map_err(|e| format!("{from} redirects to an invalid URL ({e})"))?;
    target::check_url(to).map(Some).map_err(|why| format!("{from} redirects to a URL that {why}"))
}

fn convert(content_type: &str, body: &[u8], clipped: bool, save_dir: &Path) -> Result<(usize, PageBody), String> {
    let kind = page::kind(content_type, body);
    if kind == PageKind::Binary {
        return save(content_type, body, clipped, save_dir).map(|saved| (body.len(), saved));
    }
    let text = page::decode(content_type, body, kind);
    let mut text = if kind == PageKind::Html { page::to_markdown(&text) } else { text };
    if clipped {
        text.push_str("\n\n[The page is larger than 10 MB; the rest was not fetched.]");
    }
    Ok((body.len(), PageBody::Text { text, markdown: kind == PageKind::Markdown }))
}

fn save(content_type: &str, body: &[u8], clipped: bool, dir: &Path) -> Result<PageBody, String> {
    let media = page::media_type(content_type);
    let media = if media.is_empty() { "unknown type" } else { &media };
    if clipped {
        return Err(format!("The response ({media}) is larger than 10 MB and not text; download it with the shell"));
    }
    let path = dir.join(format!("webfetch-{}.{}", sys::id::base36(9), page::extension(media)));
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.and_then(|()| sys::fs::atomic_write(&path, body, 0o600))
        .map_err(|error| format!("Could not save the response to {}: {error}", path.display()))?;
    let (size, path) = (body.len(), path.display());
    Ok(PageBody::Saved(format!(
        "Binary content ({media}, {size} bytes) was saved to {path}. Open it with a fitting tool."
    )))
}

/// The reason phrase of a status.
pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}
