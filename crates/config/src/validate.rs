//! Checks one settings object against the key tables, key by key: what does not fit, or may not stand in this file, is
//! reported with its line and left out; the rest applies. A managed value that cannot be read fails closed.

use crate::layer::{Diagnostic, Origin, locate};
use serde_json::{Map, Value};
use wire::settings::{Key, Scope, Settings, Shape, Source, WhenBroken};

pub(crate) fn clean(
    origin: &Origin,
    raw: &Map<String, Value>,
    text: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Map<String, Value> {
    let mut check = Check { origin, text, path: Vec::new(), diagnostics };
    for name in Settings::STATE_KEYS.iter().filter(|name| raw.contains_key(**name)) {
        check.path.push((*name).to_owned());
        check.complain("belongs in .claude.json, not in a settings file; it is ignored");
        check.path.pop();
    }
    check.object(Settings::KEYS, raw)
}

/// Whether one value fits its key, for writers: the problem in words.
pub fn problem(key: &Key, value: &Value) -> Option<String> {
    let origin = Origin { source: Source::User, path: None, root: "/".into() };
    let mut diagnostics = Vec::new();
    let mut check = Check { origin: &origin, text: "", path: vec![key.name.to_owned()], diagnostics: &mut diagnostics };
    check.value(&key.shape, value, key);
    diagnostics.into_iter().next().map(|diagnostic| diagnostic.message.replace("; it is ignored", ""))
}

struct Check<'a> {
    origin: &'a Origin,
    text: &'a str,
    path: Vec<String>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Check<'_> {
    fn complain(&mut self, problem: &str) {
        self.complain_at(None, problem);
    }

    fn complain_at(&mut self, entry: Option<usize>, problem: &str) {
        let keys: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let line = self.origin.path.as_ref().and_then(|_| locate(self.text, &keys, entry));
        let mut key = keys.join(".");
        if let Some(index) = entry {
            key = format!("{key}[{index}]");
        }
        let message = format!("{key} {problem}");
        self.diagnostics.push(Diagnostic { line, key: Some(key), ..self.origin.diagnostic(message) });
    }

    fn object(&mut self, keys: &'static [Key], raw: &Map<String, Value>) -> Map<String, Value> {
        let mut out = Map::new();
        for (name, value) in raw {
            let Some(key) = keys.iter().find(|key| key.name == name) else { continue };
            if value.is_null() {
                continue;
            }
            self.path.push(name.clone());
            if let Some(value) = self.key(key, value) {
                out.insert(name.clone(), value);
            }
            self.path.pop();
        }
        out
    }

    fn key(&mut self, key: &Key, value: &Value) -> Option<Value> {
        if !may_stand(key.scope, self.origin.source) {
            self.complain(&format!("has no effect here: {}", allowed_places(key.scope)));
            return None;
        }
        let before = self.diagnostics.len();
        let cleaned = self.value(&key.shape, value, key);
        let broken = self.diagnostics.len() > before;
        match (key.when_broken, self.origin.source) {
            (WhenBroken::True, Source::Managed) if broken => Some(Value::Bool(true)),
            (WhenBroken::EmptyList, Source::Managed) if broken => Some(Value::Array(Vec::new())),
            _ => cleaned,
        }
    }

    fn value(&mut self, shape: &Shape, value: &Value, key: &Key) -> Option<Value> {
        match (shape, value) {
            (Shape::Bool, Value::Bool(_))
            | (Shape::Text, Value::String(_))
            | (Shape::TextOrOff, Value::String(_) | Value::Bool(false))
            | (Shape::Any, _) => Some(value.clone()),
            (Shape::OneOf(choices), Value::String(text)) if choices.contains(&text.as_str()) => Some(value.clone()),
            (Shape::Integer { min, max }, Value::Number(n)) if n.as_i64().is_some_and(|n| *min <= n && n <= *max) => {
                Some(value.clone())
            }
            (Shape::Number { min, max }, Value::Number(n)) if n.as_f64().is_some_and(|n| *min <= n && n <= *max) => {
                Some(value.clone())
            }
            (Shape::List(item), Value::Array(entries)) => Some(self.list(item, entries)),
            // A single word where a list belongs is taken as meant, except where it would grant something.
            (Shape::List(Shape::Text), Value::String(_)) if key.takes_single_word() => {
                Some(Value::Array(vec![value.clone()]))
            }
            (Shape::Map(item), Value::Object(members)) => Some(self.map(item, members, key)),
            (Shape::Object(keys), Value::Object(members)) => Some(Value::Object(self.object(keys, members))),
            _ => {
                self.complain(&format!("must be {}; it is ignored", expected(shape)));
                None
            }
        }
    }

    fn list(&mut self, item: &Shape, entries: &[Value]) -> Value {
        let mut kept = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            if matches!((item, entry), (Shape::Text, Value::String(_)) | (Shape::Any, _)) {
                kept.push(entry.clone());
            } else {
                self.complain_at(Some(index), &format!("must be {}; it is ignored", expected(item)));
            }
        }
        Value::Array(kept)
    }

    fn map(&mut self, item: &Shape, members: &Map<String, Value>, key: &Key) -> Value {
        let mut kept = Map::new();
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            self.path.push(name.clone());
            let fits = match (item, value) {
                _ if !key.names.is_empty() && !key.names.contains(&name.as_str()) => {
                    self.complain("is not a known name; it is ignored");
                    None
                }
                // Numbers and booleans stand for their text.
                (Shape::Text, Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
                _ => self.value(item, value, key),
            };
            self.path.pop();
            if let Some(value) = fits {
                kept.insert(name.clone(), value);
            }
        }
        Value::Object(kept)
    }
}

fn may_stand(scope: Scope, source: Source) -> bool {
    match scope {
        Scope::Any => true,
        Scope::UserLocalManaged => source != Source::Project,
        Scope::UserManaged => !matches!(source, Source::Project | Source::Local),
        Scope::Managed => source == Source::Managed,
    }
}

/// Whether a key with this scope counts in a file of this source.
pub fn accepts(key: &Key, source: Source) -> bool {
    may_stand(key.scope, source)
}

fn allowed_places(scope: Scope) -> &'static str {
    match scope {
        Scope::Any => "it is read everywhere",
        Scope::UserLocalManaged => "it is not read from shared project settings",
        Scope::UserManaged => "it is read from user and managed settings only",
        Scope::Managed => "it is read from managed settings only",
    }
}

fn expected(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "true or false".into(),
        Shape::Text => "a string".into(),
        Shape::TextOrOff => "a string or false".into(),
        Shape::OneOf([only]) => format!("{only:?}"),
        Shape::OneOf(choices) => format!("one of {}", choices.join(", ")),
        Shape::Integer { min, max } if *max >= i64::from(u32::MAX) => format!("a whole number of at least {min}"),
        Shape::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Shape::Number { min, max } => format!("a number from {min} to {max}"),
        Shape::List(item) => format!("a list, each entry {}", expected(item)),
        Shape::Map(_) | Shape::Object(_) => "an object".into(),
        Shape::Any => "any value".into(),
    }
}
