//! Turns a response body into text: decoding, HTML to Markdown, and the section of a long page that is shown at a time.

use super::scan;
use encoding_rs::Encoding;
use std::borrow::Cow;

/// Most bytes of HTML; the rest is cut before conversion.
const MAX_HTML: usize = 2 << 20;
/// Deepest element tree that is converted, because the conversion is recursive; deeper pages become plain text.
const MAX_DEPTH: usize = 200;
/// Characters of a page shown at a time.
pub(super) const SECTION_CHARS: usize = 100_000;

/// The kind of a body, from its declared type and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    Html,
    Markdown,
    Text,
    Binary,
}

pub(super) fn kind(content_type: &str, body: &[u8]) -> PageKind {
    let media = media_type(content_type);
    match media.as_str() {
        "text/html" | "application/xhtml+xml" => PageKind::Html,
        "text/markdown" | "text/x-markdown" => PageKind::Markdown,
        "application/json"
        | "application/xml"
        | "application/javascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-ndjson"
        | "application/x-sh" => PageKind::Text,
        _ if media.starts_with("text/") || media.ends_with("+json") || media.ends_with("+xml") => PageKind::Text,
        "" | "application/octet-stream" if !looks_binary(body) => {
            if looks_html(body) {
                PageKind::Html
            } else {
                PageKind::Text
            }
        }
        _ => PageKind::Binary,
    }
}

pub(super) fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn looks_binary(body: &[u8]) -> bool {
    let head = &body[..body.len().min(8192)];
    memchr::memchr(0, head).is_some() || std::str::from_utf8(head).is_err_and(|e| e.error_len().is_some())
}

fn looks_html(body: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&body[..body.len().min(512)]).trim_start().to_ascii_lowercase();
    head.starts_with("<!doctype html") || head.starts_with("<html")
}

/// The body as text, decoded by BOM, declared charset, or the `<meta>` of the page.
pub(super) fn decode(content_type: &str, body: &[u8], kind: PageKind) -> String {
    let declared = charset(content_type).or_else(|| (kind == PageKind::Html).then(|| meta_charset(body)).flatten());
    let encoding = declared.unwrap_or(encoding_rs::UTF_8);
    encoding.decode(body).0.into_owned()
}

fn charset(content_type: &str) -> Option<&'static Encoding> {
    let (_, rest) = split_once_ignore_case(content_type, "charset=")?;
    let label = rest.split(';').next()?.trim().trim_matches(['"', '\'']);
    Encoding::for_label(label.as_bytes())
}

fn meta_charset(body: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&body[..body.len().min(1024)]);
    let (_, rest) = split_once_ignore_case(&head, "charset=")?;
    let label: String = rest
        .trim_start_matches(['"', '\''])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
        .collect();
    Encoding::for_label(label.as_bytes())
}

fn split_once_ignore_case<'a>(text: &'a str, needle: &str) -> Option<(&'a str, &'a str)> {
    let at = text.to_ascii_lowercase().find(needle)?;
    Some((&text[..at], &text[at + needle.len()..]))
}

/// Markdown of an HTML page without scripts, styles and embedded data; plain text when its structure exceeds the
/// limits. Slow on large pages: must not run on a runtime thread.
pub(super) fn to_markdown(html: &str) -> String {
    let Some(clean) = scan::clean(html) else { return trimmed(scan::words(html)) };
    let document = dom_query::Document::from(trimmed(clean));
    document.select(r#"svg, iframe, img[src^="data:"]"#).remove();
    let text = if is_deep(&document) { document.text() } else { document.md(None) };
    text.trim().to_owned()
}

fn trimmed(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_HTML));
    text
}

fn is_deep(document: &dom_query::Document) -> bool {
    let mut pending: Vec<_> = document.root().children().into_iter().map(|node| (node, 1)).collect();
    while let Some((node, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        pending.extend(node.children_it(false).map(|child| (child, depth + 1)));
    }
    false
}

/// One section of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageSection<'a> {
    pub(super) text: &'a str,
    /// Start of the next section, in characters; `None` at the end of the page.
    pub(super) next: Option<usize>,
    /// Length of the whole page, in characters.
    pub(super) total: usize,
}

/// The section at `offset` (in characters); `None` when the page ends before it.
pub(super) fn page_section(page: &str, offset: usize) -> Option<PageSection<'_>> {
    let total = page.chars().count();
    if offset > 0 && offset >= total {
        return None;
    }
    let byte_at = |n: usize| page.char_indices().nth(n).map_or(page.len(), |(i, _)| i);
    let end = offset.saturating_add(SECTION_CHARS).min(total);
    Some(PageSection { text: &page[byte_at(offset)..byte_at(end)], next: (end < total).then_some(end), total })
}

/// The file name extension for saved bytes.
pub(super) fn extension(media_type: &str) -> Cow<'_, str> {
    match media_type {
        "application/pdf" => "pdf".into(),
        "image/jpeg" => "jpg".into(),
        "application/gzip" | "application/x-gzip" => "gz".into(),
        "application/x-tar" => "tar".into(),
        other => {
            let sub = other.rsplit('/').next().unwrap_or_default();
            let plain = !sub.is_empty() && sub.len() <= 5 && sub.bytes().all(|b| b.is_ascii_alphanumeric());
            if plain { sub.into() } else { "bin".into() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_becomes_markdown() {
        let html = "<html><head><title>T</title><style>p{color:red}</style></head><body><h1>Head</h1>\
            <script>alert('x')</script><p>One <b>bold</b> <a href=\"https://e.example/\">link</a></p>\
            <ul><li>a</li><li>b</li></ul><pre><code>let x = 1;</code></pre></body></html>";
        let text = to_markdown(html);
        for part in ["# Head", "**bold**", "[link](https://e.example/)", "let x = 1;"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("alert") && !text.contains("color"), "{text}");
    }

    #[test]
    fn hostile_nesting_does_no_harm() {
        for tag in ["div", "b", "ul><li", "blockquote", "table><tr><td", "a href=x", "span"] {
            for times in [150, 20_000] {
                let html = format!("<{tag}>").repeat(times) + "deep text";
                assert!(to_markdown(&html).contains("deep text"), "{tag}");
            }
        }
    }

    #[test]
    fn kinds_and_charsets() {
        assert_eq!(kind("text/html; charset=utf-8", b""), PageKind::Html);
        assert_eq!(kind("text/markdown", b""), PageKind::Markdown);
        assert_eq!(kind("application/ld+json", b""), PageKind::Text);
        assert_eq!(kind("", b"<!DOCTYPE html><p>"), PageKind::Html);
        assert_eq!(kind("", b"a\0b"), PageKind::Binary);
        assert_eq!(kind("application/pdf", b"%PDF"), PageKind::Binary);
        assert_eq!(kind("image/svg+xml", b"<svg/>"), PageKind::Text);
        assert_eq!(decode("text/plain; charset=iso-8859-1", b"\xe9", PageKind::Text), "é");
        assert_eq!(
            decode("text/html", b"<meta charset=\"windows-1252\">\x80", PageKind::Html),
            "<meta charset=\"windows-1252\">€"
        );
        assert_eq!(decode("text/plain", b"\xff\xfea\0", PageKind::Text), "a");
        assert_eq!((extension("application/pdf"), extension("application/vnd.ms-x")), ("pdf".into(), "bin".into()));
    }

    #[test]
    fn long_pages_come_in_stretches() {
        let page = "é".repeat(SECTION_CHARS + 5);
        let first = page_section(&page, 0).unwrap();
        assert_eq!(
            (first.text.chars().count(), first.next, first.total),
            (SECTION_CHARS, Some(SECTION_CHARS), SECTION_CHARS + 5)
        );
        let rest = page_section(&page, SECTION_CHARS).unwrap();
        assert_eq!((rest.text, rest.next), ("ééééé", None));
        assert_eq!(page_section(&page, SECTION_CHARS + 5), None);
        assert_eq!(page_section("", 0).unwrap().text, "");
    }
}
