//! Reading values of others: a field that is missing or of another type is absent.

use serde_json::{Value, json};
use tools::foreign_text::defuse;

/// In bytes. Larger files are refused.
pub(super) const PLAIN_JSON_BYTES: u64 = 1 << 30;
/// In characters of base64. Larger images are left out: no request could carry them.
const IMAGE_LIMIT: usize = 7 << 20;

/// The first of these fields that is a text.
pub(super) fn text<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| value.get(key)?.as_str())
}

pub(super) fn number(value: &Value, keys: &[&str]) -> Option<u64> {
    keys.iter().find_map(|key| value.get(key)?.as_u64())
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A text block; `None` for blank text, which no request may contain. Tags that only this program writes do not work in
/// what a file of others says.
pub(super) fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": defuse(text).text}))
}

/// An image block; `None` when models cannot be sent this image.
pub(super) fn image_block(mime: &str, data: &str) -> Option<Value> {
    let is_known = matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    (is_known && !data.is_empty() && data.len() <= IMAGE_LIMIT)
        .then(|| json!({"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}))
}

/// The image of a `data:` address.
pub(super) fn image_of_url(url: &str) -> Option<Value> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
    image_block(kind.strip_suffix(";base64")?, data)
}
