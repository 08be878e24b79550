//! Prepares a conversation for comparison: everything that differs between runs or machines is replaced with a name for
//! its kind. Applying it twice changes nothing.

use super::names::RandomNames;
use super::{PathPlaceholders, RecordedMessage};
use crate::client::AuthSecret;
use crate::fragment::{Fragment, Message, Role};
use regex::{Captures, Regex};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::LazyLock;

#[derive(Clone, Debug, Default)]
pub(super) struct TextNormaliser {
    /// Longest path first.
    places: PathPlaceholders,
}

#[derive(Clone, Copy)]
enum ReplaceRule {
    /// Replace by this text.
    By(&'static str),
    /// Replace by this text if the match contains a digit and a letter (so it is neither a word nor a number).
    Mixed(&'static str),
}

/// Applied in this order: later patterns see the result of earlier ones.
static PATTERNS: LazyLock<Vec<(Regex, ReplaceRule)>> = LazyLock::new(|| {
    const TABLE: &[(&str, ReplaceRule)] = &[
        (r"(?s)<system-reminder>.*?</system-reminder>\s*", ReplaceRule::By("")),
        // Sent when a task ends, which may be one request earlier or later.
        (r"(?s)<task-notification>.*?</task-notification>\s*", ReplaceRule::By("")),
        (r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", ReplaceRule::By("<uuid>")),
        (r"\b(?:srv)?(?:toolu|msg|req)_[A-Za-z0-9_]+", ReplaceRule::By("<id>")),
        (
            r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?:\d{1,2} +)?(?:\d{4} +)?\d\d:\d\d:\d\d(?: [AP]M)?(?: [A-Z+-][A-Za-z0-9+:-]*)?(?: \d{4})?\b",
            ReplaceRule::By("<date>"),
        ),
        (r"\b1[789]\d{8}(?:\d{3}|\.\d+)?\b", ReplaceRule::By("<date>")),
        (
            r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?)?",
            ReplaceRule::By("<date>"),
        ),
        (
            r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2}(?:,? \d{4})?\b",
            ReplaceRule::By("<date>"),
        ),
        (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", ReplaceRule::By("<time>")),
        (r"\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?)\b", ReplaceRule::By("<duration>")),
        (r"\b(?:real|user|sys)\t\d+m[\d.]+s", ReplaceRule::By("<duration>")),
        (r"(127\.0\.0\.1|localhost|\[::1\]):\d+", ReplaceRule::By("$1:<port>")),
        (r"\b0x[0-9a-fA-F]{4,}\b", ReplaceRule::By("<address>")),
        (r"\b[0-9a-f]{7,64}\b", ReplaceRule::Mixed("<sha>")),
    ];
    let compile = |(pattern, rule): &(&str, ReplaceRule)| Some((Regex::new(pattern).ok()?, *rule));
    TABLE.iter().filter_map(compile).collect()
});

impl TextNormaliser {
    pub(super) fn new(mut places: PathPlaceholders) -> Self {
        places.retain(|(path, name)| path.len() > 1 && !name.is_empty());
        sys::compact_sort::sort_by_key(&mut places, |(path, _)| std::cmp::Reverse(path.len()));
        Self { places }
    }

    /// Replaces paths of this machine with placeholders.
    pub(super) fn hide(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, (path, name)| replace_path(text, path, name))
    }

    /// Replaces placeholders with paths of this machine, inside JSON text. A placeholder for several paths becomes the
    /// longest one.
    pub(super) fn reveal(&self, json: &str) -> String {
        let mut out = json.to_owned();
        for (path, name) in &self.places {
            let escaped = serde_json::to_string(path).unwrap_or_default();
            out = out.replace(name.as_str(), escaped.trim_matches('"'));
        }
        out
    }

    pub(super) fn text(&self, text: &str) -> String {
        let mut out = self.hide(text);
        for (pattern, rule) in PATTERNS.iter() {
            if let Cow::Owned(changed) = apply(pattern, *rule, &out) {
                out = changed;
            }
        }
        out.trim().to_owned()
    }

    /// The conversation in the form that is compared, and the random names in it.
    pub(super) fn messages(&self, turns: &[Message], secrets: &[AuthSecret]) -> (Vec<RecordedMessage>, RandomNames) {
        let mut names = RandomNames::default();
        let mut block = |fragment: &Fragment, role: Role| {
            let summary = self.hide(&without(&summary(fragment)?, secrets));
            if role == Role::User {
                names.learn(&summary);
            }
            let text = self.text(&names.hide(summary));
            (!text.is_empty()).then_some(text)
        };
        let message = |turn: &Message| RecordedMessage {
            role: turn.role.name().to_owned(),
            blocks: turn.blocks.iter().filter_map(|b| block(b, turn.role)).collect(),
        };
        let messages = turns.iter().map(message).filter(|m| !m.blocks.is_empty()).collect();
        (messages, names)
    }
}

/// Replaces `path` where it ends at a component boundary: in `/a/b/c` for `/a/b`, not in `/a/bc`.
fn replace_path(text: String, path: &str, name: &str) -> String {
    if !text.contains(path) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(path) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        let is_longer = after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
        out.push_str(before);
        out.push_str(if is_longer { path } else { name });
        rest = after;
    }
    out + rest
}

/// Keys are also recognised by their form, because a file that the model read may contain one.
static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"sk-ant-[A-Za-z0-9_-]{8,}").ok());

pub(super) fn without(text: &str, secrets: &[AuthSecret]) -> String {
    let mut out = match &*KEY {
        Some(key) => key.replace_all(text, "<secret>").into_owned(),
        None => text.to_owned(),
    };
    for secret in secrets.iter().map(AuthSecret::expose).filter(|s| s.len() >= 4) {
        if out.contains(secret) {
            out = out.replace(secret, "<secret>");
        }
    }
    out
}

fn apply<'t>(pattern: &Regex, rule: ReplaceRule, text: &'t str) -> Cow<'t, str> {
    match rule {
        ReplaceRule::By(name) => pattern.replace_all(text, name),
        ReplaceRule::Mixed(name) => pattern.replace_all(text, |found: &Captures<'_>| {
            let word = &found[0];
            let mixed = word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic());
            if mixed { name.to_owned() } else { word.to_owned() }
        }),
    }
}

#[derive(Deserialize)]
struct SummaryFields<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// A block as one readable text. `None` for thinking, which is not compared.
fn summary(fragment: &Fragment) -> Option<String> {
    let Ok(f) = serde_json::from_str::<SummaryFields<'_>>(fragment.get()) else {
        return Some("[unreadable block]".into());
    };
    let name = f.name.unwrap_or_default();
    match &*f.kind {
        "thinking" | "redacted_thinking" => None,
        "text" => f.text,
        "tool_use" | "server_tool_use" => Some(format!("call {name} {}", f.input.map_or("{}", RawValue::get))),
        "tool_result" => {
            let mark = if f.is_error == Some(true) { "failed" } else { "result" };
            Some(format!("{mark}: {}", f.content.map(content).unwrap_or_default()))
        }
        other => Some(format!("[{other}]")),
    }
}

fn content(content: &RawValue) -> String {
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return text;
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    let texts = blocks.into_iter().filter_map(|block| summary(&Fragment::new(block.to_owned())));
    texts.collect::<Vec<_>>().join("\n")
}
