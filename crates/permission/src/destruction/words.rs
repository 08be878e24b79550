//! Words as paths: the home directory, variables that the command itself sets to plain text, and brace lists. A word whose
//! value is only known when the command runs gives no path.

use super::absolute;
use crate::shell::suspects::PossibleCommand;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Words one word may stand for.
const MAX_VALUES: usize = 64;

/// Variables with the values they may have.
pub(super) struct VariableValues {
    home: Option<String>,
    known: BTreeMap<String, Vec<String>>,
}

impl VariableValues {
    /// Collects `NAME=text` and `for NAME in a b c`.
    pub(super) fn from_suspects(suspects: &[PossibleCommand], home: Option<&Path>) -> Self {
        let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut add = |name: &str, value: &str| {
            let values = known.entry(name.to_owned()).or_default();
            if values.len() < MAX_VALUES && !values.iter().any(|v| v == value) {
                values.push(value.to_owned());
            }
        };
        for suspect in suspects {
            if let [first, name, third, values @ ..] = suspect.words.as_slice()
                && first == "for"
                && third == "in"
            {
                for value in values {
                    add(name, value);
                }
            }
            for word in &suspect.words {
                let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name)) else { break };
                add(name, value);
            }
        }
        Self { home: home.and_then(Path::to_str).map(str::to_owned), known }
    }

    /// The paths a word may stand for; none when that is not known.
    pub(super) fn paths(&self, word: &str, dir: &Path) -> Vec<PathBuf> {
        let word = match (word.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
            _ => word.to_owned(),
        };
        let mut values = vec![word];
        for _ in 0..4 {
            if !values.iter().any(|value| value.contains('$')) {
                break;
            }
            values = values.iter().flat_map(|value| self.substitute(value, dir)).take(MAX_VALUES).collect();
        }
        let plain = values.iter().filter(|value| !value.contains(['$', '`', '\0']) && !value.is_empty());
        plain.flat_map(|value| braces(value)).take(MAX_VALUES).map(|value| absolute(dir, &value)).collect()
    }

    /// Replaces the first variable.
    fn substitute(&self, word: &str, dir: &Path) -> Vec<String> {
        let Some(at) = word.find('$') else { return vec![word.to_owned()] };
        let (head, tail) = (&word[..at], &word[at + 1..]);
        let (name, rest) = if let Some(inner) = tail.strip_prefix('{') {
            let Some((name, rest)) = inner.split_once('}') else { return Vec::new() };
            (name, rest)
        } else {
            let end = tail.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(tail.len());
            tail.split_at(end)
        };
        let whole = |value: &str| format!("{head}{value}{rest}");
        match (name, &self.home, self.known.get(name)) {
            (_, _, Some(values)) => values.iter().map(|value| whole(value)).collect(),
            ("HOME", Some(home), None) => vec![whole(home)],
            ("PWD", _, None) => vec![whole(&dir.to_string_lossy())],
            _ => Vec::new(),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// `a{b,c}` as `ab`, `ac`; the word itself when there is no list in it.
fn braces(word: &str) -> Vec<String> {
    let Some((open, close)) = word.find('{').zip(word.find('}')).filter(|(open, close)| open < close) else {
        return vec![word.to_owned()];
    };
    let (head, list, tail) = (&word[..open], &word[open + 1..close], &word[close + 1..]);
    if !list.contains(',') || list.contains('{') {
        return vec![word.to_owned()];
    }
    list.split(',').flat_map(|part| braces(&format!("{head}{part}{tail}"))).take(MAX_VALUES).collect()
}
