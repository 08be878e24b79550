//! Checks one settings object against the key tables, key by key: a value that does not fit, or may not be set in this
//! file, is reported with its line and left out; the rest applies. An unreadable managed value fails closed.

use crate::layer::{Diagnostic, LayerOrigin, locate};
use serde_json::{Map, Value};
use wire::settings::{BrokenValue, KeyScope, KeyShape, SettingKey, Settings, SettingsSource, ValueProblem};

pub(crate) fn drop_invalid(
    origin: &LayerOrigin,
    raw: &Map<String, Value>,
    text: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Map<String, Value> {
    let mut check = SettingsCheck { origin, text, path: Vec::new(), diagnostics };
    for name in Settings::STATE_KEYS.iter().filter(|name| raw.contains_key(**name)) {
        check.path.push((*name).to_owned());
        check.complain("belongs in .claude.json, not in a settings file; it is ignored");
        check.path.pop();
    }
    check.object(Settings::KEYS, raw)
}

/// Checks one value before it is written; returns the problem, or `None` when it fits.
pub fn problem(key: &SettingKey, value: &Value) -> Option<String> {
    let origin = LayerOrigin { source: SettingsSource::User, path: None, root: "/".into() };
    let mut diagnostics = Vec::new();
    let mut check =
        SettingsCheck { origin: &origin, text: "", path: vec![key.name.to_owned()], diagnostics: &mut diagnostics };
    check.value(&key.shape, value, key);
    diagnostics.into_iter().next().map(|diagnostic| diagnostic.message.replace("; it is ignored", ""))
}

struct SettingsCheck<'a> {
    origin: &'a LayerOrigin,
    text: &'a str,
    path: Vec<String>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl SettingsCheck<'_> {
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

    fn object(&mut self, keys: &'static [SettingKey], raw: &Map<String, Value>) -> Map<String, Value> {
        let mut out = Map::new();
        for (name, value) in raw {
            let Some(key) = keys.iter().find(|key| key.name == name) else {
                self.suggest(keys, name);
                continue;
            };
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

    /// Keys that nobody knows may belong to another program; one that is nearly ours is a slip of the finger.
    fn suggest(&mut self, keys: &'static [SettingKey], name: &str) {
        let is_near = |key: &&SettingKey| is_slip(name, key.name);
        if let Some(meant) = keys.iter().find(is_near) {
            self.path.push(name.to_owned());
            self.complain(&format!("is not a known key; was {} meant? It is ignored", meant.name));
            self.path.pop();
        }
    }

    fn key(&mut self, key: &SettingKey, value: &Value) -> Option<Value> {
        if !is_allowed_in(key.scope, self.origin.source) {
            self.complain(&format!("has no effect here: {}", allowed_places(key.scope)));
            return None;
        }
        let before = self.diagnostics.len();
        let cleaned = self.value(&key.shape, value, key);
        let broken = self.diagnostics.len() > before;
        match (key.when_broken, self.origin.source) {
            (BrokenValue::True, SettingsSource::Managed) if broken => Some(Value::Bool(true)),
            (BrokenValue::EmptyList, SettingsSource::Managed) if broken => Some(Value::Array(Vec::new())),
            _ => cleaned,
        }
    }

    fn value(&mut self, shape: &KeyShape, value: &Value, key: &SettingKey) -> Option<Value> {
        // Lists and maps are asked about entry by entry.
        if let (Some(check), false) = (key.check, matches!(shape, KeyShape::List(_) | KeyShape::Map(_))) {
            match check(value) {
                Some(ValueProblem::Ignored(problem)) if fits_loosely(shape, value) => {
                    self.complain(problem);
                    return None;
                }
                Some(ValueProblem::Kept(problem)) => self.complain(problem),
                Some(ValueProblem::Ignored(_)) | None => {}
            }
        }
        match (shape, value) {
            (KeyShape::Bool, Value::Bool(_))
            | (KeyShape::Text, Value::String(_))
            | (KeyShape::TextOrOff, Value::String(_) | Value::Bool(false))
            | (KeyShape::Any, _) => Some(value.clone()),
            (KeyShape::OneOf(choices), Value::String(text)) if choices.contains(&text.as_str()) => Some(value.clone()),
            (KeyShape::Integer { min, max }, Value::Number(n))
                if n.as_i64().is_some_and(|n| *min <= n && n <= *max) =>
            {
                Some(value.clone())
            }
            (KeyShape::Number { min, max }, Value::Number(n)) if n.as_f64().is_some_and(|n| *min <= n && n <= *max) => {
                Some(value.clone())
            }
            (KeyShape::List(item), Value::Array(entries)) => Some(self.list(item, entries, key)),
            // A single word where a list belongs is taken as meant, except where it would grant something.
            (KeyShape::List(KeyShape::Text), Value::String(_)) if key.takes_single_word() => {
                Some(Value::Array(vec![value.clone()]))
            }
            (KeyShape::Map(item), Value::Object(members)) => Some(self.map(item, members, key)),
            (KeyShape::Object(keys), Value::Object(members)) => Some(Value::Object(self.object(keys, members))),
            _ => {
                self.complain(&format!("must be {}; it is ignored", expected(shape)));
                None
            }
        }
    }

    fn list(&mut self, item: &KeyShape, entries: &[Value], key: &SettingKey) -> Value {
        let mut kept = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            match key.check.and_then(|check| check(entry)) {
                Some(ValueProblem::Ignored(problem)) => {
                    self.complain_at(Some(index), problem);
                    continue;
                }
                Some(ValueProblem::Kept(problem)) => self.complain_at(Some(index), problem),
                None => {}
            }
            if matches!((item, entry), (KeyShape::Text, Value::String(_)) | (KeyShape::Any, _)) {
                kept.push(entry.clone());
            } else {
                self.complain_at(Some(index), &format!("must be {}; it is ignored", expected(item)));
            }
        }
        Value::Array(kept)
    }

    fn map(&mut self, item: &KeyShape, members: &Map<String, Value>, key: &SettingKey) -> Value {
        let mut kept = Map::new();
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            self.path.push(name.clone());
            let fits = match (item, value) {
                _ if !key.names.is_empty() && !key.names.contains(&name.as_str()) => {
                    self.complain("is not a known name; it is ignored");
                    None
                }
                // Numbers and booleans are converted to text.
                (KeyShape::Text, Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
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

/// Checks of a value report only values that have the shape; the check of the shape reports the others.
fn fits_loosely(shape: &KeyShape, value: &Value) -> bool {
    match shape {
        KeyShape::Text => value.is_string(),
        KeyShape::Any => true,
        KeyShape::Bool
        | KeyShape::TextOrOff
        | KeyShape::OneOf(_)
        | KeyShape::Integer { .. }
        | KeyShape::Number { .. }
        | KeyShape::List(_)
        | KeyShape::Map(_)
        | KeyShape::Object(_) => false,
    }
}

/// One letter too many, too few or another one, two neighbours swapped, or other capitals.
fn is_slip(typed: &str, known: &str) -> bool {
    let (typed, known): (Vec<char>, Vec<char>) =
        (typed.to_ascii_lowercase().chars().collect(), known.to_ascii_lowercase().chars().collect());
    let head = typed.iter().zip(&known).take_while(|(a, b)| a == b).count();
    let (typed, known) = (&typed[head..], &known[head..]);
    let tail = typed.iter().rev().zip(known.iter().rev()).take_while(|(a, b)| a == b).count();
    let (typed, known) = (&typed[..typed.len() - tail], &known[..known.len() - tail]);
    match (typed, known) {
        ([a, b], [c, d]) => a == d && b == c,
        (typed, known) => typed.len().max(known.len()) <= 1,
    }
}

fn is_allowed_in(scope: KeyScope, source: SettingsSource) -> bool {
    match scope {
        KeyScope::Any => true,
        KeyScope::UserLocalManaged => source != SettingsSource::Project,
        KeyScope::UserManaged => !matches!(source, SettingsSource::Project | SettingsSource::Local),
        KeyScope::Managed => source == SettingsSource::Managed,
    }
}

/// True when a key may be set in a file of this source.
pub fn accepts(key: &SettingKey, source: SettingsSource) -> bool {
    is_allowed_in(key.scope, source)
}

fn allowed_places(scope: KeyScope) -> &'static str {
    match scope {
        KeyScope::Any => "it is read everywhere",
        KeyScope::UserLocalManaged => "it is not read from shared project settings",
        KeyScope::UserManaged => "it is read from user and managed settings only",
        KeyScope::Managed => "it is read from managed settings only",
    }
}

fn expected(shape: &KeyShape) -> String {
    match shape {
        KeyShape::Bool => "true or false".into(),
        KeyShape::Text => "a string".into(),
        KeyShape::TextOrOff => "a string or false".into(),
        KeyShape::OneOf([only]) => format!("{only:?}"),
        KeyShape::OneOf(choices) => format!("one of {}", choices.join(", ")),
        KeyShape::Integer { min, max } if *max >= i64::from(u32::MAX) => format!("a whole number of at least {min}"),
        KeyShape::Integer { min, max } => format!("a whole number from {min} to {max}"),
        KeyShape::Number { min, max } => format!("a number from {min} to {max}"),
        KeyShape::List(item) => format!("a list, each entry {}", expected(item)),
        KeyShape::Map(_) | KeyShape::Object(_) => "an object".into(),
        KeyShape::Any => "any value".into(),
    }
}
