//! Random identifiers.

/// Lower-case canonical v4.
pub fn uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Whether `text` is a UUID in canonical form.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
}

/// `len` characters of lower-case base 36.
pub fn base36(len: usize) -> String {
    (0..len).map(|_| char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[fastrand::usize(..36)])).collect()
}
