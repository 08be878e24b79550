//! "Don't ask again": what could be saved so that a call is not asked about next time. Suggestions are narrow, are
//! checked against the call that produced them, and never hold anything that looks like a credential.

pub(crate) mod prefixes;

use serde_json::{Value, json};
use wire::mode::PermissionMode;

/// Where a suggestion would be saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuggestionDestination {
    LocalSettings,
    Session,
}

impl SuggestionDestination {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LocalSettings => "localSettings",
            Self::Session => "session",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleSuggestion {
    /// Allow rules: the tool and, if any, the specifier.
    AddRules {
        rules: Vec<(String, Option<String>)>,
        destination: SuggestionDestination,
    },
    SetMode {
        mode: PermissionMode,
        destination: SuggestionDestination,
    },
    AddDirectories {
        directories: Vec<String>,
        destination: SuggestionDestination,
    },
}

impl RuleSuggestion {
    /// A `PermissionUpdate` of the protocol.
    pub fn to_json(&self) -> Value {
        match self {
            Self::AddRules { rules, destination } => {
                let rule = |(tool, content): &(String, Option<String>)| match content {
                    Some(content) => json!({"toolName": tool, "ruleContent": content}),
                    None => json!({"toolName": tool}),
                };
                let rules: Vec<_> = rules.iter().map(rule).collect();
                json!({"type": "addRules", "rules": rules, "behavior": "allow", "destination": destination.as_str()})
            }
            Self::SetMode { mode, destination } => {
                json!({"type": "setMode", "mode": mode.as_str(), "destination": destination.as_str()})
            }
            Self::AddDirectories { directories, destination } => {
                json!({"type": "addDirectories", "directories": directories, "destination": destination.as_str()})
            }
        }
    }
}

/// Whether a rule may be written to a file: one line, and nothing in it that looks like a credential.
pub fn may_be_saved(rule: &str) -> bool {
    !rule.contains('\n') && !looks_secret(rule)
}

/// Whether the text may hold a key, a token or a password.
pub(crate) fn looks_secret(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = ["token", "passw", "secret", "bearer", "apikey", "api_key", "api-key", "authorization", "-----begin"];
    let marks =
        ["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "AKIA", "ASIA", "xoxb-", "xoxp-", "eyJ", "AIza"];
    let in_url = text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', ' ', '"', '\'']).next().unwrap_or("");
        authority.contains('@')
    });
    in_url
        || words.iter().any(|word| lower.contains(word))
        || marks.iter().any(|mark| text.contains(mark))
        || text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '+')).any(is_dense)
}

/// Long and mixed, as random text is.
fn is_dense(word: &str) -> bool {
    let has = |kind: fn(&char) -> bool| word.chars().filter(kind).count() >= 3;
    word.len() >= 24 && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
