//! Typed access to fields: texts, truth values, numbers, and lists in all common spellings. A value that does not fit
//! is reported as a defect and treated as missing.

use super::{FrontMatter, FrontMatterDefect, FrontMatterField, YamlNode};
use serde_json::Value;

/// A truth value; `None` when it is not given.
pub type OptionalFlag = Option<bool>;

impl FrontMatter {
    pub fn get(&self, key: &str) -> Option<&FrontMatterField> {
        self.fields.iter().find(|field| field.key == key).filter(|field| field.value != YamlNode::Null)
    }

    /// True when `text` would return a value.
    pub(crate) fn is_text(&self, key: &str) -> bool {
        self.get(key).is_some_and(|field| match &field.value {
            YamlNode::Plain(text) | YamlNode::Text(text) => !text.trim().is_empty(),
            YamlNode::List(items) => words(items).is_some(),
            YamlNode::Null | YamlNode::Map(_) => false,
        })
    }

    /// A text; a list of words is joined again as it was written (`[a] | [b]` and `[file]` are common hints).
    pub fn text(&mut self, key: &str) -> Option<String> {
        let field = self.get(key)?;
        let text = match &field.value {
            YamlNode::Plain(text) | YamlNode::Text(text) => text.trim().to_owned(),
            YamlNode::List(items) => format!("[{}]", words(items)?.join(", ")),
            YamlNode::Null | YamlNode::Map(_) => {
                self.refuse(key, "must be a text");
                return None;
            }
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// Accepts true, false, yes, no, on, off, 1, 0, in any case.
    pub fn flag(&mut self, key: &str) -> OptionalFlag {
        let field = self.get(key)?;
        let (YamlNode::Plain(text) | YamlNode::Text(text)) = &field.value else {
            self.refuse(key, "must be true or false");
            return None;
        };
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => {
                self.refuse(key, "must be true or false");
                None
            }
        }
    }

    pub fn number(&mut self, key: &str) -> Option<u32> {
        let field = self.get(key)?;
        let (YamlNode::Plain(text) | YamlNode::Text(text)) = &field.value else {
            self.refuse(key, "must be a whole number");
            return None;
        };
        let number = text.trim().parse().ok();
        if number.is_none() {
            self.refuse(key, "must be a whole number");
        }
        number
    }

    /// Tool rules: a list, or a string separated by blanks or commas.
    pub fn rules(&mut self, key: &str) -> Option<Vec<String>> {
        self.list_with(key, split_rules)
    }

    /// Names: a list, or a string separated by commas or blanks.
    pub fn names(&mut self, key: &str) -> Option<Vec<String>> {
        self.list_with(key, |text| {
            text.split([',', ' ', '\t', '\n']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
        })
    }

    /// Path patterns: a list, or a string separated by commas outside braces. Blanks may be part of a name.
    pub fn globs(&mut self, key: &str) -> Option<Vec<String>> {
        self.list_with(key, split_globs)
    }

    fn list_with(&mut self, key: &str, split: impl Fn(&str) -> Vec<String>) -> Option<Vec<String>> {
        let field = self.get(key)?;
        let list = match &field.value {
            // A string may contain a list in brackets: `[Read, Write]`.
            YamlNode::Plain(text) | YamlNode::Text(text) => Some(split(unbracketed(text))),
            YamlNode::List(items) => words(items).map(|all| {
                let one = |text: &String| if text.trim().is_empty() { None } else { Some(text.trim().to_owned()) };
                all.iter().filter_map(one).collect()
            }),
            YamlNode::Null | YamlNode::Map(_) => None,
        };
        if list.is_none() {
            self.refuse(key, "must be a list of names");
        }
        list
    }

    /// The field as JSON, if `fits` accepts it.
    pub fn json(&mut self, key: &str, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let value = self.get(key)?.value.to_json();
        if fits(&value) {
            return Some(value);
        }
        self.refuse(key, "does not have the shape it must have");
        None
    }

    /// One of the known words, compared case-insensitively.
    pub fn choice(&mut self, key: &str, known: &[&'static str]) -> Option<&'static str> {
        let text = self.text(key)?;
        let found = known.iter().find(|word| word.eq_ignore_ascii_case(&text)).copied();
        if found.is_none() {
            self.refuse(key, &format!("is `{text}`, which is none of {}", known.join(", ")));
        }
        found
    }

    /// Reports a defect at the line of the field.
    pub fn refuse(&mut self, key: &str, why: &str) {
        let line = self.fields.iter().find(|field| field.key == key).map_or(1, |field| field.line);
        self.defects.push(FrontMatterDefect { line, message: format!("`{key}` {why}; it is ignored") });
    }

    /// Reports keys that look like a known key in another spelling, because they have no effect.
    pub fn report_misspelled(&mut self, known: &[&str]) {
        let plain = |key: &str| key.replace(['-', '_'], "").to_ascii_lowercase();
        let mut found = Vec::new();
        for field in &self.fields {
            if known.contains(&field.key.as_str()) {
                continue;
            }
            if let Some(meant) = known.iter().find(|key| plain(key) == plain(&field.key)) {
                let message = format!("`{}` is not a known field and is ignored; `{meant}` is", field.key);
                found.push(FrontMatterDefect { line: field.line, message });
            }
        }
        self.defects.extend(found);
    }
}

fn words(items: &[YamlNode]) -> Option<Vec<String>> {
    let word = |item: &YamlNode| match item {
        YamlNode::Plain(text) | YamlNode::Text(text) => Some(text.clone()),
        YamlNode::Null => Some(String::new()),
        YamlNode::List(inner) => Some(format!("[{}]", words(inner)?.join(", "))),
        // YAML parses an unquoted `- Bash(git: *)` as a mapping.
        YamlNode::Map(members) => match members.as_slice() {
            [(key, YamlNode::Plain(value) | YamlNode::Text(value))] => Some(format!("{key}: {value}")),
            _ => None,
        },
    };
    items.iter().map(word).collect()
}

fn unbracketed(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text)
}

/// Splits a list of rules at commas and blanks outside parentheses.
pub fn split_rules(text: &str) -> Vec<String> {
    split_outside(text, ('(', ')'), |c| c == ',' || c.is_whitespace())
}

fn split_globs(text: &str) -> Vec<String> {
    split_outside(text, ('{', '}'), |c| c == ',' || c == '\n')
}

fn split_outside(text: &str, (open, close): (char, char), separates: impl Fn(char) -> bool) -> Vec<String> {
    let mut depth = 0_u32;
    let parts = text.split(|c: char| {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && separates(c)
    });
    let cleaned = parts.map(|part| part.trim().trim_matches(['"', '\'']));
    cleaned.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
