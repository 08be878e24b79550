//! One settings file (or `--settings` text), decoded key by key: a key that does not fit is reported and left out, the
//! rest of the file applies. Comments and trailing commas are accepted.

use crate::validate;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use wire::settings::{Settings, SettingsSource};

/// In bytes. Larger settings files are refused.
pub const MAX_BYTES: usize = 2 * 1024 * 1024;

/// One source of settings with its provenance.
#[derive(Clone, Debug)]
pub struct SettingsLayer {
    pub source: SettingsSource,
    /// `None` for JSON on the command line, and for settings without a file.
    pub path: Option<PathBuf>,
    /// The directory that a leading `/` in path rules of this layer refers to.
    pub root: PathBuf,
    /// Values that fit their type and may be set in this source.
    pub valid: Map<String, Value>,
    /// The valid values that apply: without those that wait for trust.
    pub effective: Map<String, Value>,
    /// The file as written, including untyped keys.
    pub raw: Map<String, Value>,
    /// Values that wait for trust.
    pub held: Vec<HeldValue>,
    pub(crate) text: String,
}

/// A value of a repository that does not apply yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldValue {
    /// Such as `permissions.allow`.
    pub key: String,
    /// The number of entries, or their names.
    pub description: String,
}

/// A problem with a declaration. The session continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub source: SettingsSource,
    pub path: Option<PathBuf>,
    pub line: Option<usize>,
    /// The key with the problem.
    pub key: Option<String>,
    pub message: String,
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}", path.display())?,
            None => write!(f, "{}", self.source.as_str())?,
        }
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Where a layer comes from.
#[derive(Clone, Debug)]
pub(crate) struct LayerOrigin {
    pub(crate) source: SettingsSource,
    pub(crate) path: Option<PathBuf>,
    pub(crate) root: PathBuf,
}

impl LayerOrigin {
    pub(crate) fn diagnostic(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic { source: self.source, path: self.path.clone(), line: None, key: None, message: message.into() }
    }
}

/// Why a file could not be used.
#[derive(Debug)]
pub(crate) enum ReadFailure {
    Missing,
    Unusable(String),
}

/// Reads only regular files up to the limit: a FIFO or device must not block us.
pub(crate) fn read_text(path: &Path) -> Result<String, ReadFailure> {
    use std::io::ErrorKind;
    let bytes = sys::fs::read_whole(path, MAX_BYTES).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => ReadFailure::Missing,
        ErrorKind::IsADirectory | ErrorKind::InvalidInput => ReadFailure::Unusable("is not a regular file".into()),
        ErrorKind::FileTooLarge => ReadFailure::Unusable(format!("is larger than {} MiB", MAX_BYTES / 1024 / 1024)),
        _ => ReadFailure::Unusable(format!("cannot be read: {error}")),
    })?;
    String::from_utf8(bytes).map_err(|_| ReadFailure::Unusable("is not valid UTF-8".into()))
}

/// A key that occurs twice in one object.
#[derive(Debug)]
pub(crate) struct RepeatedKey {
    key: String,
    /// The line of the later one.
    pub(crate) line: usize,
}

impl std::fmt::Display for RepeatedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is given twice", self.key)
    }
}

/// A parsed settings text.
#[derive(Debug, Default)]
pub(crate) struct ParsedSettings {
    pub(crate) object: Map<String, Value>,
    /// Keys that occur twice in one object. Both values apply as far as they can be joined.
    pub(crate) duplicates: Vec<RepeatedKey>,
    pub(crate) text: String,
}

pub(crate) const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses the object in a settings text. An empty text counts as an empty object.
pub(crate) fn parse_object(text: &str) -> Result<ParsedSettings, (Option<usize>, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let ast = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &JSONC).map_err(|error| {
        let (line, column) = (error.line_display(), error.column_display());
        (Some(line), format!("is not valid JSON: {} (column {column})", error.kind()))
    })?;
    let mut parsed = ParsedSettings { text: text.to_owned(), ..ParsedSettings::default() };
    match ast.value {
        None => {}
        Some(ast::Value::Object(object)) => parsed.object = join_object(object, text, &mut parsed.duplicates),
        Some(value) => return Err((Some(line_at(text, value.start())), "must hold a JSON object".into())),
    }
    Ok(parsed)
}

/// Of a repeated key, objects and lists are joined, so that no deny list is lost; otherwise the last value wins.
fn join_object(object: ast::Object<'_>, text: &str, duplicates: &mut Vec<RepeatedKey>) -> Map<String, Value> {
    let mut map = Map::new();
    for property in object.properties {
        let line = line_at(text, property.range.start);
        let key = property.name.into_string();
        let value = match property.value {
            ast::Value::Object(inner) => Value::Object(join_object(inner, text, duplicates)),
            other => other.into(),
        };
        let before = map.remove(&key);
        if before.is_some() {
            duplicates.push(RepeatedKey { key: key.clone(), line });
        }
        map.insert(key, join(before, value));
    }
    map
}

fn join(before: Option<Value>, value: Value) -> Value {
    match (before, value) {
        (Some(Value::Array(mut all)), Value::Array(more)) => {
            all.extend(more);
            Value::Array(all)
        }
        (Some(Value::Object(mut all)), Value::Object(more)) => {
            for (key, value) in more {
                let before = all.remove(&key);
                all.insert(key, join(before, value));
            }
            Value::Object(all)
        }
        (_, value) => value,
    }
}

impl SettingsLayer {
    pub(crate) fn decode(origin: LayerOrigin, parsed: ParsedSettings, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let ParsedSettings { object: raw, duplicates, text } = parsed;
        let in_file = |line| origin.path.is_some().then_some(line);
        diagnostics.extend(
            duplicates.iter().map(|key| Diagnostic { line: in_file(key.line), ..origin.diagnostic(key.to_string()) }),
        );
        let valid = validate::drop_invalid(&origin, &raw, &text, diagnostics);
        let LayerOrigin { source, path, root } = origin;
        Self { source, path, root, effective: valid.clone(), valid, raw, text, held: Vec::new() }
    }

    /// The typed settings of this layer. Values that do not fit are left out.
    pub fn settings(&self) -> Settings {
        Settings::deserialize(&self.valid).unwrap_or_default()
    }

    /// The line of a key, or of an entry in its list.
    pub fn line(&self, keys: &[&str], entry: Option<usize>) -> Option<usize> {
        self.path.as_ref()?;
        locate(&self.text, keys, entry)
    }

    /// The line of `part`, a group or a handler declared for the hook event `event`. Without such a part, the line of
    /// the event.
    pub fn hook_line(&self, event: &str, part: Option<&Value>) -> Option<usize> {
        self.path.as_ref()?;
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        let ast = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &JSONC).ok()?;
        let ast::Value::Object(settings) = ast.value? else { return None };
        let declared = settings.get("hooks")?;
        let ast::Value::Object(hooks) = &declared.value else { return Some(line_at(text, declared.range.start)) };
        let of_event = hooks.get(event).map_or(declared, |property| property);
        let start = part.and_then(|part| part_start(&of_event.value, part)).unwrap_or(of_event.range.start);
        Some(line_at(text, start))
    }

    /// Keys that are unknown to us; they are kept when the file is written.
    pub fn unknown_keys(&self) -> Vec<&str> {
        let known =
            |name: &str| Settings::KEYS.iter().any(|key| key.name == name) || Settings::KNOWN_ELSEWHERE.contains(&name);
        self.raw.keys().map(String::as_str).filter(|name| !known(name)).collect()
    }
}

/// The line (from 1) of a key in a settings text, found by parsing the text again.
pub(crate) fn locate(text: &str, keys: &[&str], entry: Option<usize>) -> Option<usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let ast = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &JSONC).ok()?;
    let mut value = ast.value?;
    let mut at = None;
    for key in keys {
        let ast::Value::Object(object) = value else { break };
        let property = object.properties.into_iter().rfind(|property| property.name.as_str() == *key)?;
        at = Some(property.range.start);
        value = property.value;
    }
    if let (Some(index), ast::Value::Array(list)) = (entry, &value)
        && let Some(element) = list.elements.get(index)
    {
        at = Some(element.start());
    }
    Some(line_at(text, at?))
}

/// The line (from 1) of a place in the text.
fn line_at(text: &str, place: usize) -> usize {
    text.as_bytes().iter().take(place).filter(|byte| **byte == b'\n').count() + 1
}

/// Where `part` starts in a list of hook groups: a group, or a handler in one.
fn part_start(groups: &ast::Value<'_>, part: &Value) -> Option<usize> {
    let ast::Value::Array(groups) = groups else { return None };
    let is_part = |value: &ast::Value<'_>| Value::from(value.clone()) == *part;
    groups.elements.iter().find_map(|group| {
        let handlers = group.as_object().and_then(|group| group.get_array("hooks"));
        let handler = || handlers?.elements.iter().find(|handler| is_part(handler)).map(Ranged::start);
        if is_part(group) { Some(group.start()) } else { handler() }
    })
}

#[cfg(test)]
#[path = "layer_tests.rs"]
mod tests;
