//! Expands `${NAME}` and `${NAME:-default}` in the values that decide how a server is reached. An unset variable stays
//! as written, with a warning that names the variable and never shows a value.

use std::path::PathBuf;
use sys::Env;
use wire::mcp::{McpTransport, ServerConfig};

/// The variables a declaration may use.
#[derive(Clone, Debug, Default)]
pub struct ExpansionVariables<'a> {
    /// Variables that are never expanded, because the author of the declaration must not get their values.
    pub hidden: &'a [&'a str],
    /// The value of `CLAUDE_PROJECT_DIR`.
    pub project: PathBuf,
}

pub struct ExpandedConfig {
    pub config: ServerConfig,
    pub warnings: Vec<String>,
}

/// Returns the configuration to connect with.
pub fn expand(written: &ServerConfig, env: &Env, variables: ExpansionVariables<'_>) -> ExpandedConfig {
    let mut config = written.clone();
    let mut filler = VariableFiller { env, variables, missing: Vec::new(), refused: Vec::new(), blanks: Vec::new() };
    match &mut config.transport {
        McpTransport::Stdio(stdio) => {
            filler.fill("command", &mut stdio.command);
            stdio.args.iter_mut().for_each(|arg| filler.fill("args", arg));
            for (name, value) in &mut stdio.env {
                filler.fill(&format!("env.{name}"), value);
            }
        }
        McpTransport::Http(remote) | McpTransport::Sse(remote) | McpTransport::Ws(remote) => {
            filler.fill("url", &mut remote.url);
            for (name, value) in &mut remote.headers {
                filler.fill(&format!("headers.{name}"), value);
            }
        }
        McpTransport::Sdk { .. } => {}
    }
    ExpandedConfig { config, warnings: filler.warnings() }
}

struct VariableFiller<'a> {
    env: &'a Env,
    variables: ExpansionVariables<'a>,
    missing: Vec<String>,
    refused: Vec<String>,
    blanks: Vec<String>,
}

impl VariableFiller<'_> {
    fn fill(&mut self, place: &str, text: &mut String) {
        // In arguments, outer blanks may be intended.
        if place != "args" && text.trim() != text.as_str() {
            self.blanks.push(place.to_owned());
        }
        if text.contains("${") {
            *text = self.filled(text);
        }
    }

    fn filled(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let after = &rest[at + 2..];
            let Some(end) = after.find('}') else { break };
            out.push_str(&rest[..at]);
            let (name, default) = match after[..end].split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (&after[..end], None),
            };
            match self.value(name, default) {
                Some(value) => out.push_str(&value),
                None => out.push_str(&rest[at..=at + 2 + end]),
            }
            rest = &after[end + 1..];
        }
        out.push_str(rest);
        out
    }

    /// The value of a variable; `None` keeps the placeholder.
    fn value(&mut self, name: &str, default: Option<&str>) -> Option<String> {
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            return None;
        }
        if self.variables.hidden.contains(&name) {
            record_name(&mut self.refused, name);
            return None;
        }
        if name == "CLAUDE_PROJECT_DIR" {
            return Some(self.variables.project.display().to_string());
        }
        // As in a shell, `:-` also replaces an empty value.
        let value = if default.is_some() { self.env.non_empty(name) } else { self.env.get(name) };
        let value = value.or(default).map(str::to_owned);
        if value.is_none() {
            record_name(&mut self.missing, name);
        }
        value
    }

    fn warnings(self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.missing.is_empty() {
            warnings.push(format!("not set in the environment: {}", self.missing.join(", ")));
        }
        if !self.refused.is_empty() {
            let names = self.refused.join(", ");
            warnings.push(format!("not passed on before the folder is trusted: {names}"));
        }
        if !self.blanks.is_empty() {
            warnings.push(format!("spaces at the start or end of: {}", self.blanks.join(", ")));
        }
        warnings
    }
}

fn record_name(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn expanded(value: &serde_json::Value, hidden: &[&str]) -> (serde_json::Value, Vec<String>) {
        let env = Env::default().with([("A", "alpha"), ("EMPTY", ""), ("KEY", "k-canary")]);
        let written = ServerConfig::parse("s", value).unwrap();
        let out = expand(&written, &env, ExpansionVariables { hidden, project: "/p".into() });
        (out.config.to_value(), out.warnings)
    }

    #[test]
    fn variables_and_defaults() {
        // [TST-206]
        let value = json!({"command": "${A}/x", "args": ["${A}${A}", "${NO:-d}", "${EMPTY:-e}", "${EMPTY}|", "${CLAUDE_PROJECT_DIR}/f",
            "$A ${} ${A", "${NO}"], "env": {"T": "${NO} ${OTHER}"}});
        let (got, warnings) = expanded(&value, &[]);
        assert_eq!(got["command"], "alpha/x");
        assert_eq!(got["args"], json!(["alphaalpha", "d", "e", "|", "/p/f", "$A ${} ${A", "${NO}"]));
        assert_eq!(got["env"]["T"], "${NO} ${OTHER}");
        assert_eq!(warnings, ["not set in the environment: NO, OTHER"]);
    }

    #[test]
    fn hidden_variables_and_blanks_are_told_without_values() {
        let value = json!({"type": "http", "url": "http://h/${KEY} ", "headers": {"X": "${KEY:-d}"}});
        let (got, warnings) = expanded(&value, &["KEY"]);
        assert_eq!((&got["url"], &got["headers"]["X"]), (&json!("http://h/${KEY} "), &json!("${KEY:-d}")));
        assert_eq!(warnings.len(), 2);
        assert!(warnings.iter().all(|warning| !warning.contains("canary")), "{warnings:?}");
        assert_eq!(expanded(&value, &[]).0["url"], "http://h/k-canary ");
    }
}
