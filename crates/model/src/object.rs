//! A JSON object with raw, ordered members: changing one key leaves the others byte for byte unchanged.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Members in their original order. Duplicate keys are kept; lookups find the first.
#[derive(Clone, Debug, Default)]
pub struct RawObject {
    members: Vec<(String, Box<RawValue>)>,
}

impl RawObject {
    /// `None` when `json` is not an object.
    pub fn parse(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.members.iter().find(|(k, _)| k == key).map(|(_, v)| &**v)
    }

    /// Replaces the member in place, or adds it at the end.
    pub fn set(&mut self, key: &str, value: Box<RawValue>) {
        match self.members.iter_mut().find(|(k, _)| k == key) {
            Some((_, slot)) => *slot = value,
            None => self.members.push((key.to_owned(), value)),
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Box<RawValue>> {
        let at = self.members.iter().position(|(k, _)| k == key)?;
        Some(self.members.remove(at).1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.members.iter().map(|(k, v)| (k.as_str(), &**v))
    }

    /// Compact text; members are copied unchanged.
    pub fn to_text(&self) -> String {
        let size = self.members.iter().map(|(k, v)| k.len() + v.get().len() + 4).sum::<usize>() + 2;
        let mut out = String::with_capacity(size);
        out.push('{');
        for (i, (key, value)) in self.members.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            push_string(&mut out, key);
            out.push(':');
            out.push_str(value.get());
        }
        out.push('}');
        out
    }

    pub fn to_raw(&self) -> Box<RawValue> {
        raw(self.to_text())
    }
}

/// Appends `text` as a JSON string, with U+2028 and U+2029 escaped.
pub fn push_string(out: &mut String, text: &str) {
    // Serialising a string cannot fail.
    out.push_str(&wire::raw::to_line(text).unwrap_or_else(|_| "\"\"".to_owned()));
}

pub fn string(text: &str) -> Box<RawValue> {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    raw(out)
}

/// `text` must be JSON composed by this crate; anything else becomes `null` instead of a corrupt request.
pub(crate) fn raw(text: String) -> Box<RawValue> {
    debug_assert!(serde_json::from_str::<&RawValue>(&text).is_ok(), "composed invalid JSON: {text}");
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = RawObject;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawObject { members })
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_bytes() {
        let mut object = RawObject::parse(r#"{"b":1.50,"a":[1, 2],"c":"x"}"#).unwrap();
        object.set("a", string("n\u{2028}"));
        object.remove("c");
        object.set("z", RawValue::NULL.to_owned());
        assert_eq!(object.to_text(), "{\"b\":1.50,\"a\":\"n\\u2028\",\"z\":null}");
    }
}
