//! Images for prompts, resized for a request like those of the Read tool. Blocking; call it on threads that may wait.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Media type and base64 data, or why the image cannot be sent (completes "the picture …").
pub fn fit(bytes: &[u8]) -> Result<(String, String), String> {
    tools::read::picture(bytes).map(|(media_type, data)| (media_type.to_owned(), data))
}

pub fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
