//! What an export hides: credentials, in the formats that are read by people, and what the user names.

use permission::mask::Mask;
use regex::Regex;
use serde_json::Value;
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use sys::Env;

/// Stands in the place of what the user's patterns match.
const REDACTED: &str = "[redacted]";

#[derive(Clone, Debug, Default)]
pub struct ExportRedaction {
    mask: Mask,
    patterns: Vec<Regex>,
}

impl ExportRedaction {
    /// Hides credentials: known formats, and the values of variables that look like credentials.
    pub fn of_secrets(env: &Env) -> Self {
        let variables = env.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        Self { mask: Mask::of(variables, &[]), patterns: Vec::new() }
    }

    /// Also hides what matches `pattern`, a regular expression.
    pub fn and(mut self, pattern: &str) -> Result<Self, String> {
        let compiled = Regex::new(pattern).map_err(|error| format!("--redact {pattern}: {error}"))?;
        if compiled.is_match("") {
            return Err(format!("--redact {pattern}: it matches everything"));
        }
        self.patterns.push(compiled);
        Ok(self)
    }

    pub(super) fn has_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// A text for people.
    pub(super) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut shown = self.mask.text(text);
        for pattern in &self.patterns {
            if let Some(hidden) = redacted(pattern, &shown) {
                shown = Cow::Owned(hidden);
            }
        }
        shown
    }

    /// The input of a call, which stays valid JSON.
    pub(super) fn input<'a>(&self, input: &'a str) -> Cow<'a, str> {
        let Ok(raw) = serde_json::from_str::<&serde_json::value::RawValue>(input) else { return self.text(input) };
        match self.mask.json(raw) {
            Some(masked) => Cow::Owned(self.line(masked.get()).into_owned()),
            None => self.line(input),
        }
    }

    /// A line of a transcript: only the patterns, and only in its strings. It stays a valid line.
    pub(super) fn line<'a>(&self, line: &'a str) -> Cow<'a, str> {
        if !self.has_patterns() {
            return Cow::Borrowed(line);
        }
        let Ok(mut value) = serde_json::from_str::<Value>(line) else {
            // A torn line has no strings to look into.
            return redacted_all(&self.patterns, line);
        };
        if !self.strings(&mut value) {
            return Cow::Borrowed(line);
        }
        wire::raw::to_line(&value).map_or_else(|_| redacted_all(&self.patterns, line), Cow::Owned)
    }

    /// True when something was hidden.
    fn strings(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => {
                let mut hidden = false;
                for pattern in &self.patterns {
                    if let Some(shown) = redacted(pattern, text) {
                        *text = shown;
                        hidden = true;
                    }
                }
                hidden
            }
            // Every item is looked at, whatever the ones before it held.
            Value::Array(items) => items.iter_mut().filter_map(|item| self.strings(item).then_some(())).count() > 0,
            Value::Object(members) => {
                members.values_mut().filter_map(|item| self.strings(item).then_some(())).count() > 0
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// `None` when the pattern matches nothing.
fn redacted(pattern: &Regex, text: &str) -> Option<String> {
    match pattern.replace_all(text, REDACTED) {
        Cow::Owned(hidden) => Some(hidden),
        Cow::Borrowed(_) => None,
    }
}

fn redacted_all<'a>(patterns: &[Regex], text: &'a str) -> Cow<'a, str> {
    let mut shown = Cow::Borrowed(text);
    for pattern in patterns {
        if let Some(hidden) = redacted(pattern, &shown) {
            shown = Cow::Owned(hidden);
        }
    }
    shown
}
