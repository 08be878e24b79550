//! One settings file (or `--settings` text), decoded key by key: a key that does not fit is reported and left out, the
//! rest of the file applies. Comments and trailing commas are accepted.

use jsonc_parser::{CollectOptions, ParseOptions, ast};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wire::settings::{Permissions, Settings, Source};

/// Larger settings files are refused.
pub const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// One source of settings with its provenance.
#[derive(Clone, Debug)]
pub struct Layer {
    pub source: Source,
    /// `None` for JSON given on the command line.
    pub path: Option<PathBuf>,
    /// What a leading `/` in this layer's path rules stands for.
    pub root: PathBuf,
    pub settings: Settings,
    /// The file as it stands, for keys we do not type.
    pub raw: Map<String, Value>,
}

/// Something wrong with what was declared. The session goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub source: Source,
    pub path: Option<PathBuf>,
    pub line: Option<usize>,
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
pub(crate) struct Origin {
    pub(crate) source: Source,
    pub(crate) path: Option<PathBuf>,
    pub(crate) root: PathBuf,
}

impl Origin {
    pub(crate) fn diagnostic(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic { source: self.source, path: self.path.clone(), line: None, message: message.into() }
    }
}

/// Why a file could not be used at all.
#[derive(Debug)]
pub(crate) enum ReadFailure {
    Missing,
    Unusable(String),
}

/// Regular files up to the limit only: a FIFO or device must not hang us.
pub(crate) fn read_text(path: &Path) -> Result<String, ReadFailure> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(ReadFailure::Missing),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Err(ReadFailure::Missing),
        Err(error) => return Err(ReadFailure::Unusable(format!("cannot be read: {error}"))),
    };
    if !meta.is_file() {
        return Err(ReadFailure::Unusable("is not a regular file".into()));
    }
    if meta.len() > MAX_BYTES {
        return Err(ReadFailure::Unusable(format!("is larger than {} MiB", MAX_BYTES / 1024 / 1024)));
    }
    let bytes = std::fs::read(path).map_err(|error| ReadFailure::Unusable(format!("cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| ReadFailure::Unusable("is not valid UTF-8".into()))
}

/// A settings text that could be read.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) object: Map<String, Value>,
    /// Keys that stand twice in one object. Both values apply as far as they can be joined.
    pub(crate) duplicates: Vec<String>,
}

const JSONC: ParseOptions = ParseOptions {
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

/// The object a settings text holds. An empty text counts as an empty object.
pub(crate) fn parse_object(text: &str) -> Result<Parsed, (Option<usize>, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let ast = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &JSONC)
        .map_err(|error| (Some(error.line_display()), format!("is not valid JSON: {}", error.kind())))?;
    let mut parsed = Parsed::default();
    match ast.value {
        None => {}
        Some(ast::Value::Object(object)) => parsed.object = join_object(object, &mut parsed.duplicates),
        Some(_) => return Err((None, "must hold a JSON object".into())),
    }
    Ok(parsed)
}

/// A key given twice must not make an earlier deny list vanish: objects and lists are joined, otherwise the last counts.
fn join_object(object: ast::Object<'_>, duplicates: &mut Vec<String>) -> Map<String, Value> {
    let mut map = Map::new();
    for property in object.properties {
        let key = property.name.into_string();
        let value = match property.value {
            ast::Value::Object(inner) => Value::Object(join_object(inner, duplicates)),
            other => other.into(),
        };
        let before = map.remove(&key);
        if before.is_some() {
            duplicates.push(key.clone());
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

impl Layer {
    pub(crate) fn decode(origin: Origin, parsed: Parsed, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let Parsed { object: raw, duplicates } = parsed;
        diagnostics.extend(duplicates.iter().map(|key| origin.diagnostic(format!("{key} is given twice"))));
        let mut keys = Keys { raw: &raw, origin: &origin, prefix: "", diagnostics };
        let settings = Settings {
            model: keys.take("model"),
            fallback_model: keys.list("fallbackModel"),
            api_key_helper: keys.take("apiKeyHelper"),
            env: keys.strings("env"),
            permissions: Permissions::default(),
            effort_level: keys.take("effortLevel"),
            cleanup_period_days: keys.days("cleanupPeriodDays"),
            output_style: keys.take("outputStyle"),
            include_co_authored_by: keys.take("includeCoAuthoredBy"),
            always_thinking_enabled: keys.take("alwaysThinkingEnabled"),
            language: keys.take("language"),
            claude_md_excludes: keys.list("claudeMdExcludes").unwrap_or_default(),
        };
        let permissions = keys.permissions();
        Self {
            source: origin.source,
            path: origin.path,
            root: origin.root,
            settings: Settings { permissions, ..settings },
            raw,
        }
    }
}

/// Takes typed values out of an object, one key at a time.
struct Keys<'a> {
    raw: &'a Map<String, Value>,
    origin: &'a Origin,
    prefix: &'static str,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Keys<'_> {
    fn complain(&mut self, key: &str, problem: &str) {
        let message = format!("{}{key} {problem}; it is ignored", self.prefix);
        self.diagnostics.push(self.origin.diagnostic(message));
    }

    fn take<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.raw.get(key).filter(|value| !value.is_null())?;
        match T::deserialize(value) {
            Ok(value) => Some(value),
            Err(error) => {
                self.complain(key, &format!("has the wrong type ({error})"));
                None
            }
        }
    }

    /// Zero would mean "delete at once", which nobody intends.
    fn days(&mut self, key: &str) -> Option<u32> {
        let days = self.take(key)?;
        if days == 0 {
            self.complain(key, "must be at least 1");
            return None;
        }
        Some(days)
    }

    /// A list of strings, entry by entry; a single string counts as a list of one.
    fn list(&mut self, key: &str) -> Option<Vec<String>> {
        match self.raw.get(key).filter(|value| !value.is_null())? {
            Value::String(one) => Some(vec![one.clone()]),
            Value::Array(entries) => Some(entries.iter().filter_map(|entry| self.entry(key, entry)).collect()),
            _ => {
                self.complain(key, "must be a list of strings");
                None
            }
        }
    }

    fn entry(&mut self, key: &str, entry: &Value) -> Option<String> {
        let text = entry.as_str().map(str::to_owned);
        if text.is_none() {
            self.complain(key, "has an entry that is not a string");
        }
        text
    }

    /// Name–value pairs; numbers and booleans are accepted as their text.
    fn strings(&mut self, key: &str) -> BTreeMap<String, String> {
        let Some(value) = self.raw.get(key).filter(|value| !value.is_null()) else { return BTreeMap::new() };
        let Value::Object(pairs) = value else {
            self.complain(key, "must be an object of strings");
            return BTreeMap::new();
        };
        let mut out = BTreeMap::new();
        for (name, value) in pairs {
            match value {
                Value::String(text) => drop(out.insert(name.clone(), text.clone())),
                Value::Number(_) | Value::Bool(_) => drop(out.insert(name.clone(), value.to_string())),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    self.complain(&format!("{key}.{name}"), "is not a string");
                }
            }
        }
        out
    }

    fn permissions(&mut self) -> Permissions {
        let Some(value) = self.raw.get("permissions").filter(|value| !value.is_null()) else {
            return Permissions::default();
        };
        let Value::Object(raw) = value else {
            self.complain("permissions", "must be an object");
            return Permissions::default();
        };
        let mut keys = Keys { raw, origin: self.origin, prefix: "permissions.", diagnostics: &mut *self.diagnostics };
        Permissions {
            allow: keys.list("allow").unwrap_or_default(),
            ask: keys.list("ask").unwrap_or_default(),
            deny: keys.list("deny").unwrap_or_default(),
            additional_directories: keys.list("additionalDirectories").unwrap_or_default(),
            default_mode: keys.take("defaultMode"),
            disable_bypass_permissions_mode: keys.take("disableBypassPermissionsMode"),
        }
    }
}

#[cfg(test)]
#[path = "layer_tests.rs"]
mod tests;
