//! Reads tool input. Accepts common mistakes of models: numeric strings (padded, `+`-prefixed) as numbers,
//! `"true"`/`"false"` as booleans, `null` as absent; unknown keys are ignored. Everything else that does not fit is
//! an [`InputError`] that names the tool and the field; nothing is guessed.

use crate::contract::InputError;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The fields of one input object, not yet decoded.
#[derive(Debug)]
pub struct ToolInput<'a> {
    tool: &'a str,
    /// The path of this object in the input: empty at the top, `edits[0].` inside a list.
    prefix: String,
    fields: BTreeMap<String, &'a RawValue>,
}

impl<'a> ToolInput<'a> {
    pub fn of(tool: &'a str, raw: &'a RawValue) -> Result<Self, InputError> {
        Self::nested(tool, String::new(), raw)
    }

    fn nested(tool: &'a str, prefix: String, raw: &'a RawValue) -> Result<Self, InputError> {
        match serde_json::from_str::<BTreeMap<String, &'a RawValue>>(raw.get()) {
            Ok(mut fields) => {
                fields.retain(|_, value| value.get() != "null");
                Ok(Self { tool, prefix, fields })
            }
            Err(_) if prefix.is_empty() => Err(InputError(format!("{tool}: the input must be a JSON object"))),
            Err(_) => {
                let at = prefix.trim_end_matches('.');
                Err(InputError(format!("{tool}: `{at}` must be an object, got {}", describe_value(raw))))
            }
        }
    }

    /// The raw field; `None` when it is absent or `null`.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.fields.get(name).copied()
    }

    pub fn string(&self, name: &str) -> Result<String, InputError> {
        self.opt_string(name)?.ok_or_else(|| self.missing(name))
    }

    pub fn opt_string(&self, name: &str) -> Result<Option<String>, InputError> {
        self.decode(name, "a string", decode_string)
    }

    /// A whole number, zero or more.
    pub fn number(&self, name: &str) -> Result<u64, InputError> {
        self.opt_number(name)?.ok_or_else(|| self.missing(name))
    }

    /// A whole number, zero or more.
    pub fn opt_number(&self, name: &str) -> Result<Option<u64>, InputError> {
        self.decode(name, "a whole number, zero or more", decode_number)
    }

    pub fn opt_bool(&self, name: &str) -> Result<Option<bool>, InputError> {
        self.decode(name, "a boolean", decode_bool)
    }

    pub fn opt_strings(&self, name: &str) -> Result<Option<Vec<String>>, InputError> {
        self.decode(name, "an array of strings", decode_json::<Vec<String>>)
    }

    /// One of `choices`; the error lists them.
    pub fn opt_choice(&self, name: &str, choices: &[&'static str]) -> Result<Option<&'static str>, InputError> {
        let expected = format!("one of {}", choices.join(", "));
        self.decode(name, &expected, |raw| {
            let text = decode_string(raw)?;
            choices.iter().find(|c| **c == text).copied()
        })
    }

    /// An array of objects.
    pub fn objects(&self, name: &str) -> Result<Vec<ToolInput<'a>>, InputError> {
        let raw = self.raw(name).ok_or_else(|| self.missing(name))?;
        let items: Vec<&'a RawValue> =
            serde_json::from_str(raw.get()).map_err(|_| self.wrong(name, "an array of objects", raw))?;
        items
            .into_iter()
            .enumerate()
            .map(|(i, item)| Self::nested(self.tool, format!("{}{name}[{i}].", self.prefix), item))
            .collect()
    }

    pub fn missing(&self, name: &str) -> InputError {
        InputError(format!("{}: the required field `{}{name}` is missing", self.tool, self.prefix))
    }

    /// An error for rules the schema cannot express: `why` completes "the field … ".
    pub fn refuse(&self, name: &str, why: &str) -> InputError {
        InputError(format!("{}: the field `{}{name}` {why}", self.tool, self.prefix))
    }

    fn wrong(&self, name: &str, expected: &str, got: &RawValue) -> InputError {
        let got = describe_value(got);
        InputError(format!("{}: the field `{}{name}` must be {expected}, got {got}", self.tool, self.prefix))
    }

    fn decode<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'a RawValue) -> Option<T>,
    ) -> Result<Option<T>, InputError> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        read(raw).map(Some).ok_or_else(|| self.wrong(name, expected, raw))
    }
}

fn decode_json<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// A lone surrogate escape is not valid in a Rust string; it becomes U+FFFD instead of failing the call.
fn decode_string(raw: &RawValue) -> Option<String> {
    decode_json(raw).or_else(|| decode_json(&wire::raw::compact(raw.get()).ok()?))
}

fn decode_number(raw: &RawValue) -> Option<u64> {
    let text: Cow<'_, str> = if raw.get().starts_with('"') { decode_string(raw)?.into() } else { raw.get().into() };
    let text = text.trim();
    let text = text.strip_prefix('+').unwrap_or(text);
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Ok(whole) = text.parse() {
        return Some(whole);
    }
    let float: f64 = text.parse().ok()?;
    (float.fract() == 0.0 && float < 9.0e15).then_some(float as u64)
}

fn decode_bool(raw: &RawValue) -> Option<bool> {
    match raw.get() {
        "true" => Some(true),
        "false" => Some(false),
        _ => match decode_string(raw)?.trim().to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        },
    }
}

/// The value, shortened for an error message.
fn describe_value(raw: &RawValue) -> Cow<'_, str> {
    let text = raw.get();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn numbers_and_booleans_are_lenient() {
        // [TST-5]
        let json = raw(r#"{"a":" 12 ","b":"+7","c":3,"d":4.0,"t":"true","f":"False","x":{"unknown":1},"n":null}"#);
        let input = ToolInput::of("T", &json).unwrap();
        assert_eq!(input.opt_number("a").unwrap(), Some(12));
        assert_eq!(input.opt_number("b").unwrap(), Some(7));
        assert_eq!(input.opt_number("c").unwrap(), Some(3));
        assert_eq!(input.opt_number("d").unwrap(), Some(4));
        assert_eq!(input.opt_bool("t").unwrap(), Some(true));
        assert_eq!(input.opt_bool("f").unwrap(), Some(false));
        assert_eq!(input.opt_string("n").unwrap(), None);
        assert_eq!(input.opt_string("absent").unwrap(), None);
    }

    #[test]
    fn errors_name_tool_and_field() {
        // [TST-5]
        let json = raw(r#"{"a":"x","b":-1,"l":[{"k":1}],"m":"slow","v":"++1","e":"","i":"inf"}"#);
        let input = ToolInput::of("Read", &json).unwrap();
        assert_eq!(input.string("file_path").unwrap_err().0, "Read: the required field `file_path` is missing");
        let wrong = input.opt_number("a").unwrap_err().0;
        assert_eq!(wrong, "Read: the field `a` must be a whole number, zero or more, got \"x\"");
        for name in ["b", "v", "e", "i"] {
            assert!(input.opt_number(name).is_err(), "{name}");
        }
        let list = input.objects("l").unwrap();
        assert!(list[0].string("k").unwrap_err().0.contains("`l[0].k` must be a string"));
        assert!(input.opt_choice("m", &["fast", "safe"]).unwrap_err().0.contains("one of fast, safe"));
        assert!(ToolInput::of("Read", &raw("[1]")).unwrap_err().0.contains("Read: the input must be a JSON object"));
    }

    #[test]
    fn lone_surrogates_do_not_fail_a_call() {
        // [TST-12]
        let json = raw("{\"s\":\"a\\ud800b\"}");
        assert_eq!(ToolInput::of("T", &json).unwrap().string("s").unwrap(), "a\u{fffd}b");
    }
}
