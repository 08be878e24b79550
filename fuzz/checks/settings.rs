//! Settings: any bytes load without a panic, what cannot be read is reported, and an edit of a readable text gives a
//! readable text that holds the change and keeps everything else.

use config::fuzz::{edited, keys_of, load};

pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let readable = load(&text);
    let Some(after) = edited(&text, "model", "opus") else { return };
    assert!(readable, "an unreadable text was changed: {text:?}");
    assert!(load(&after), "an edit broke the text: {after:?}");
    let (before, now) = (keys_of(&text), keys_of(&after));
    assert!(before.iter().all(|key| now.contains(key)), "{before:?} became {now:?}");
    assert!(now.iter().any(|key| key == "model"));
    assert_eq!(edited(&after, "model", "opus").as_deref(), Some(after.as_str()), "a second edit changes nothing");
}
