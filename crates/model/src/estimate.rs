//! A local estimate of token counts, for servers that cannot count.

use crate::fragment::{Fragment, FragmentHead};
use crate::request::ModelRequest;
use memchr::memmem;

const IMAGE: u64 = 1_600;
/// Bytes of base64 per token of a document: pages are charged as text and as image.
const DOCUMENT_BYTES: u64 = 40;
/// Only blocks of at least this many bytes are searched for media.
const MEDIA_FROM: usize = 4 * 1024;

pub fn text(bytes: usize) -> u64 {
    wire::tokens::of_bytes(bytes)
}

pub fn fragment(fragment: &Fragment) -> u64 {
    match fragment.head() {
        FragmentHead::Image => IMAGE,
        FragmentHead::Document => (fragment.len() as u64 / DOCUMENT_BYTES).max(IMAGE),
        FragmentHead::ToolResult { .. } if fragment.len() >= MEDIA_FROM => nested(fragment.get()),
        _ => text(fragment.len()),
    }
}

pub fn request(request: &ModelRequest) -> u64 {
    let fixed: usize = request.tools.iter().chain(request.system.iter()).map(Fragment::len).sum();
    let blocks = request.messages.iter().flat_map(|turn| &turn.blocks);
    text(fixed) + blocks.map(fragment).sum::<u64>()
}

/// Base64 inside a tool result counts as media, the rest as text.
fn nested(json: &str) -> u64 {
    let mut tokens = 0;
    let mut rest = json;
    while let Some(at) = memmem::find(rest.as_bytes(), br#""data":""#) {
        let data = &rest[at + 8..];
        let end = memchr::memchr(b'"', data.as_bytes()).unwrap_or(data.len());
        tokens += text(at) + if end >= 64 { IMAGE } else { text(end) };
        rest = &data[end..];
    }
    tokens + text(rest.len())
}
