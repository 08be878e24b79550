//! Raw JSON fragments: serialised once, then passed along byte for byte.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The first byte of U+2028 and U+2029.
const SEPARATOR: u8 = 0xE2;

/// Compact JSON text of `value` with U+2028/U+2029 escaped, so that line-oriented readers never split it.
pub fn to_line<T: Serialize + ?Sized>(value: &T) -> Result<String, serde_json::Error> {
    to_line_of(value, 128)
}

/// The same for a value of about `bytes` bytes, so that the text is not moved while it grows.
pub fn to_line_of<T: Serialize + ?Sized>(value: &T, bytes: usize) -> Result<String, serde_json::Error> {
    let mut out = Vec::with_capacity(bytes);
    serde_json::to_writer(&mut out, value)?;
    String::from_utf8(out).map(escape_separators).map_err(serde::ser::Error::custom)
}

/// The same, as a fragment that can be embedded elsewhere.
pub fn to_raw<T: Serialize + ?Sized>(value: &T) -> Result<Box<RawValue>, serde_json::Error> {
    let raw = serde_json::value::to_raw_value(value)?;
    // It is parsed again only where something must be escaped.
    if memchr::memchr(SEPARATOR, raw.get().as_bytes()).is_none() {
        return Ok(raw);
    }
    RawValue::from_string(escape_separators(String::from(Box::<str>::from(raw))))
}

/// `text` as one compact fragment: white space between tokens dropped, key order and number spelling kept, line
/// separators escaped, lone surrogate escapes replaced. Fails only when `text` is not JSON.
pub fn compact(text: &str) -> Result<Box<RawValue>, serde_json::Error> {
    let checked: &RawValue = serde_json::from_str(text)?;
    // Most servers send compact JSON.
    if is_plainly_compact(checked.get()) {
        return Ok(checked.to_owned());
    }
    let squeezed = strip_whitespace(checked.get());
    if squeezed == checked.get() { Ok(checked.to_owned()) } else { RawValue::from_string(squeezed) }
}

/// Whether `strip_whitespace` would certainly return the same. Requires valid JSON.
fn is_plainly_compact(json: &str) -> bool {
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            // A line separator or an escaped surrogate may begin here.
            SEPARATOR => return false,
            b'u' if escaped => return false,
            b' ' | b'\t' | b'\n' | b'\r' if !in_string => return false,
            b'"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
    }
    true
}

/// Whether both fragments say the same: escapes, white space and the order of keys do not count, nor whether a whole number is
/// written with a fraction.
pub fn is_same_value(one: &RawValue, other: &RawValue) -> bool {
    let read = |raw: &RawValue| serde_json::from_str::<Value>(raw.get());
    match (read(one), read(other)) {
        (Ok(one), Ok(other)) => is_equal(&one, &other),
        (Err(_), _) | (_, Err(_)) => one.get() == other.get(),
    }
}

fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| is_equal(value, other)))
        }
        (one, other) => one == other,
    }
}

fn escape_separators(text: String) -> String {
    if memchr::memchr(SEPARATOR, text.as_bytes()).is_none() {
        return text;
    }
    // Two searches for strings are many times faster than one search for either character.
    if !text.contains("\u{2028}") && !text.contains("\u{2029}") {
        return text;
    }
    text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Requires valid JSON.
fn strip_whitespace(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' | '\n' | '\r' => {}
            '"' => {
                out.push('"');
                rest = copy_string(rest.as_str(), &mut out).chars();
            }
            other => out.push(other),
        }
    }
    out
}

/// Copies up to and including the closing quote; returns the text after it.
fn copy_string<'a>(text: &'a str, out: &mut String) -> &'a str {
    let mut rest = text;
    loop {
        let Some(at) = next_special(rest) else {
            out.push_str(rest);
            return "";
        };
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        match tail.as_bytes()[0] {
            b'"' => {
                out.push('"');
                return &tail[1..];
            }
            b'\\' => rest = copy_escape(tail, out),
            _ => {
                out.push_str(if tail.starts_with('\u{2028}') { "\\u2028" } else { "\\u2029" });
                rest = &tail['\u{2028}'.len_utf8()..];
            }
        }
    }
}

/// Index of the next quote, backslash or line separator.
fn next_special(text: &str) -> Option<usize> {
    memchr::memchr3_iter(b'"', b'\\', SEPARATOR, text.as_bytes()).find(|at| {
        let tail = &text.as_bytes()[*at..];
        tail[0] != SEPARATOR || tail.starts_with("\u{2028}".as_bytes()) || tail.starts_with("\u{2029}".as_bytes())
    })
}

/// Copies the escape that `text` starts with. A surrogate escape without its partner becomes U+FFFD.
fn copy_escape<'a>(text: &'a str, out: &mut String) -> &'a str {
    let Some(unit) = escaped_unit(text) else {
        let end = text.char_indices().nth(2).map_or(text.len(), |(i, _)| i);
        out.push_str(&text[..end]);
        return &text[end..];
    };
    let pair =
        matches!(unit, 0xD800..=0xDBFF) && escaped_unit(&text[6..]).is_some_and(|low| matches!(low, 0xDC00..=0xDFFF));
    if pair {
        out.push_str(&text[..12]);
        return &text[12..];
    }
    if matches!(unit, 0xD800..=0xDFFF) {
        out.push_str("\\ufffd");
    } else {
        out.push_str(&text[..6]);
    }
    &text[6..]
}

fn escaped_unit(text: &str) -> Option<u16> {
    let hex = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(hex, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_keeps_order_numbers_and_strings() {
        let raw = compact("{ \"b\" : 1.50,\n \"a\" : [ \"x \\\" y\", true ] }").unwrap();
        assert_eq!(raw.get(), r#"{"b":1.50,"a":["x \" y",true]}"#);
    }

    #[test]
    fn compact_text_is_recognised() {
        for text in [r#"{"a":"b c","d":[1,-2.5e3,null],"e":"\\ \" q"}"#, r#""""#, "[]", "12", "\"ü\""] {
            assert!(is_plainly_compact(text), "{text}");
            assert_eq!(strip_whitespace(text), text);
        }
        for text in [r#"{"a": 1}"#, "[1,\n2]", r#""\ud800""#, "\"\u{2028}\"", r#"["a\\" ]"#] {
            assert!(!is_plainly_compact(text), "{text}");
            assert_ne!(strip_whitespace(text), text);
        }
    }

    #[test]
    fn compact_escapes_separators_and_lone_surrogates() {
        let raw = compact("\"a\u{2028}\\ud800b\\ud83d\\ude00\"").unwrap();
        assert_eq!(raw.get(), "\"a\\u2028\\ufffdb\\ud83d\\ude00\"");
        let near = "\"\u{2027}\u{202a}€…\u{2029}\"";
        assert_eq!(compact(near).unwrap().get(), "\"\u{2027}\u{202a}€…\\u2029\"");
    }
}
