//! Text pasted into prompts of the history. Short texts are stored in the line of the prompt; long ones are stored
//! once, in a file named after the hash of the content. A paste whose file is missing is shown as its label.

use crate::error::StoreError;
use crate::layout::StoreLayout;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// In bytes. Longer pastes are stored in files.
const MAX_INLINE_BYTES: usize = 1024;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredPaste {
    #[serde(default)]
    id: u64,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_hash: Option<String>,
}

/// Returns the `pastedContents` of a prompt with these labels and texts, and stores long texts in files. Blocking.
pub fn store_pastes(layout: &StoreLayout, pasted: &[(String, String)]) -> Result<Box<RawValue>, StoreError> {
    let mut all = BTreeMap::new();
    for (label, text) in pasted {
        let Some(id) = number(label) else { continue };
        let content_hash = if text.len() > MAX_INLINE_BYTES { Some(store(layout, text)?) } else { None };
        let content = content_hash.is_none().then(|| text.clone());
        all.insert(id.to_string(), StoredPaste { id, kind: "text".into(), content, content_hash });
    }
    Ok(wire::raw::to_raw(&all).unwrap_or_else(|_| crate::history::nothing_pasted()))
}

/// Returns `display` with its labels replaced by the pasted texts.
pub fn expand(layout: &StoreLayout, display: &str, pasted: &RawValue) -> String {
    if pasted.get() == "{}" {
        return display.to_owned();
    }
    let Ok(all) = serde_json::from_str::<BTreeMap<String, StoredPaste>>(pasted.get()) else {
        return display.to_owned();
    };
    let mut text = String::with_capacity(display.len());
    let mut rest = display;
    while let Some(start) = rest.find("[Pasted text #") {
        let end = rest[start..].find(']').map_or(rest.len(), |at| start + at + 1);
        let paste = number(&rest[start..end]).and_then(|id| all.get(&id.to_string()));
        text.push_str(&rest[..start]);
        text.push_str(&paste.and_then(|paste| read(layout, paste)).unwrap_or_else(|| rest[start..end].to_owned()));
        rest = &rest[end..];
    }
    text + rest
}

/// The number in `[Pasted text #3 +12 lines]`.
fn number(label: &str) -> Option<u64> {
    let digits = label.strip_prefix("[Pasted text #")?;
    digits[..digits.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}

fn read(layout: &StoreLayout, paste: &StoredPaste) -> Option<String> {
    if paste.kind != "text" {
        return None;
    }
    paste.content.clone().or_else(|| {
        let hash = paste.content_hash.as_deref().filter(|hash| hash.bytes().all(|b| b.is_ascii_alphanumeric()))?;
        std::fs::read_to_string(layout.paste_cache().join(format!("{hash}.txt"))).ok()
    })
}

fn store(layout: &StoreLayout, text: &str) -> Result<String, StoreError> {
    let mut hash = String::with_capacity(16);
    for byte in &Sha256::digest(text.as_bytes())[..8] {
        write!(hash, "{byte:02x}").ok();
    }
    let dir = layout.paste_cache();
    let path = dir.join(format!("{hash}.txt"));
    let fail = |error| StoreError::write(&path, error);
    crate::layout::create_private(&dir).map_err(fail)?;
    sys::fs::atomic_write(&path, text.as_bytes(), 0o600).map_err(fail)?;
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::Env;

    #[test]
    fn short_pastes_stand_in_the_line_and_long_ones_in_a_file() {
        // [TST-173]
        let dir = tempfile::tempdir().unwrap();
        let layout = StoreLayout::new(&Env::default().with([("CLAUDE_CONFIG_DIR", dir.path())]));
        let (short, long) = ("a\nb\nc\nd".to_owned(), "x".repeat(2_000));
        let labels = ["[Pasted text #1 +3 lines]", "[Pasted text #2]"].map(str::to_owned);
        let pasted = [(labels[0].clone(), short.clone()), (labels[1].clone(), long.clone())];
        let kept = store_pastes(&layout, &pasted).unwrap();
        let read: serde_json::Value = serde_json::from_str(kept.get()).unwrap();
        assert_eq!(read["1"], serde_json::json!({"id": 1, "type": "text", "content": short}));
        assert!(read["2"].get("content").is_none());
        let file = layout.paste_cache().join(format!("{}.txt", read["2"]["contentHash"].as_str().unwrap()));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), long);
        let display = format!("see {} and {}!", labels[0], labels[1]);
        assert_eq!(expand(&layout, &display, &kept), format!("see {short} and {long}!"));
        std::fs::remove_file(file).unwrap();
        assert_eq!(expand(&layout, &display, &kept), format!("see {short} and {}!", labels[1]));
        let outside = RawValue::from_string(r#"{"1":{"id":1,"type":"text","contentHash":"../../x"}}"#.into()).unwrap();
        assert_eq!(expand(&layout, &labels[0], &outside), labels[0]);
        assert_eq!(expand(&layout, "[Pasted text #", &kept), "[Pasted text #");
    }
}
