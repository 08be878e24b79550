//! Hides secrets in the output of tools: the values of credential variables, keys the session itself uses, and text in
//! the format of a known kind of key. What is hidden is replaced by a text that names it, the same one every time, so
//! that prompts stay cacheable. A value cannot hide in the seam between two chunks: the result is the same for any
//! split. Memory is bounded by the longest known value. Values that are short or common words are not hidden: they
//! would blank out ordinary text. This is a guard against accidents; a program that disguises a value gets past it.

mod address;
mod arguments;
mod formats;
mod matcher;
mod names;
mod placeholders;
mod settings;
mod stream;
mod structure;
mod table;

pub use arguments::{masked_address, masked_arguments, masked_formats, masked_line};
use matcher::SecretMatcher;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
pub use stream::MaskingStream;

/// The variables and headers in the settings of an MCP server that hold credentials.
pub fn of_server(config: &wire::mcp::ServerConfig) -> Vec<KnownSecret> {
    use wire::mcp::McpTransport;
    match &config.transport {
        McpTransport::Stdio(stdio) => {
            names::secrets_of(stdio.env.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
        }
        McpTransport::Http(remote) | McpTransport::Sse(remote) | McpTransport::Ws(remote) => {
            remote.headers.iter().filter_map(|(name, value)| names::secret_of_header(name, value)).collect()
        }
        McpTransport::Sdk { .. } => Vec::new(),
    }
}

const OPENING: &str = "[secret ";
const CLOSING: &str = " hidden by gimlet]";
/// Longest name shown in a mask.
const NAME_BYTES: usize = 80;

/// A value to hide, and the name shown in its place.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownSecret {
    pub name: String,
    pub value: Vec<u8>,
}

impl fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Known({})", self.name)
    }
}

/// What to hide. Cheap to clone.
#[derive(Clone, Default)]
pub struct Mask {
    matcher: Option<Arc<SecretMatcher>>,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.matcher.is_some() { "Mask(on)" } else { "Mask(off)" })
    }
}

impl Mask {
    /// Hides nothing.
    pub fn disabled() -> Self {
        Self::default()
    }

    /// Hides what `variables` that look like credentials hold, the values in `known`, and every known format.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a [u8], &'a [u8])>, known: &[KnownSecret]) -> Self {
        let mut values: Vec<KnownSecret> =
            known.iter().filter(|k| k.value.len() >= names::MIN_SECRET_BYTES).cloned().collect();
        values.extend(names::secrets_of(variables));
        Self { matcher: Some(Arc::new(SecretMatcher::new(values))) }
    }

    pub fn is_disabled(&self) -> bool {
        self.matcher.is_none()
    }

    /// For bytes that arrive in pieces.
    pub fn stream(&self) -> MaskingStream {
        MaskingStream::new(self.matcher.clone())
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            None => Cow::Borrowed(text),
            Some(masked) => Cow::Owned(String::from_utf8_lossy(&masked).into_owned()),
        }
    }

    /// `None` when there is nothing to hide.
    pub fn bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut stream = self.stream();
        let mut out = Vec::with_capacity(bytes.len());
        stream.push(bytes, &mut |part| out.extend_from_slice(part));
        stream.finish(&mut |part| out.extend_from_slice(part));
        (stream.hidden() > 0).then_some(out)
    }

    /// A JSON value with its strings masked; `None` when there is nothing to hide. It stays valid JSON.
    pub fn json(&self, raw: &RawValue) -> Option<Box<RawValue>> {
        // Escapes can hide a value from this look, so the matcher knows values as JSON writes them too.
        self.bytes(raw.get().as_bytes())?;
        let mut value: Value = serde_json::from_str(raw.get()).ok()?;
        self.strings(&mut value);
        wire::raw::to_raw(&value).ok()
    }

    fn strings(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.strings(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.strings(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A mask in the input of a call, which would be written in place of the secret. `None` when masking is off.
    pub fn find_mask_in_input(&self, input: &RawValue) -> Option<String> {
        self.matcher.as_ref()?;
        let raw = input.get();
        let found = mask_in(raw).map(str::to_owned);
        if found.is_some() || !raw.contains("\\u") {
            return found;
        }
        let value: Value = serde_json::from_str(raw).ok()?;
        mask_in_strings(&value)
    }
}

/// The text that replaces a secret called `name`.
fn mask_text(name: &str) -> String {
    let shown: String = name.chars().filter(|c| !c.is_control() && !matches!(c, '[' | ']' | '"' | '\\')).collect();
    let end = shown.char_indices().map(|(at, _)| at).find(|at| *at >= NAME_BYTES).unwrap_or(shown.len());
    format!("{OPENING}{}{CLOSING}", &shown[..end])
}

fn mask_in(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(end) = rest.find(CLOSING) {
        let before = &rest[..end];
        let start = before.rfind(OPENING);
        if let Some(start) = start.filter(|start| end - start <= OPENING.len() + NAME_BYTES + 4) {
            return Some(&rest[start..end + CLOSING.len()]);
        }
        rest = &rest[end + CLOSING.len()..];
    }
    None
}

fn mask_in_strings(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => mask_in(text).map(str::to_owned),
        Value::Array(items) => items.iter().find_map(mask_in_strings),
        Value::Object(members) => members.values().find_map(mask_in_strings),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
