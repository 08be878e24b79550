//! Front matter: whatever the bytes, reading ends without a panic, lines are in the file, the body is a part of the text,
//! and what stands after the block is never lost.

use config::frontmatter;

pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut read = frontmatter::read(&text);
    let lines = text.lines().count().max(1) + 1;
    assert!(text.is_char_boundary(read.body_at) && read.body_at <= text.len());
    assert!(read.body_line >= 1 && read.body_line <= lines + 1);
    assert!(read.defects.iter().all(|defect| defect.line >= 1 && defect.line <= lines), "{:?}", read.defects);
    assert!(read.fields.iter().all(|field| field.line >= 1 && field.line <= lines));
    assert_eq!(frontmatter::body(&text), &text[read.body_at..]);
    if !read.present {
        assert!(read.fields.is_empty());
    }
    let keys: Vec<String> = read.fields.iter().map(|field| field.key.clone()).collect();
    for key in &keys {
        assert_eq!(keys.iter().filter(|other| *other == key).count(), 1, "{key} twice");
        read.text(key);
        read.flag(key);
        read.rules(key);
        read.globs(key);
        read.json(key, serde_json::Value::is_object);
    }
}
