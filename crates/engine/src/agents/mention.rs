//! `@agent-name` and `@"name (agent)"` in a prompt ask the model to use that agent. The prompt is sent unchanged,
//! with a note beside it.

use super::AgentTable;

impl AgentTable {
    /// The declared and built-in types that `prompt` names, each once.
    pub(crate) fn mentioned(&self, prompt: &str) -> Vec<String> {
        if !prompt.contains('@') {
            return Vec::new();
        }
        let mut named: Vec<String> = Vec::new();
        for name in mentions(prompt) {
            if !named.iter().any(|known| known == name) && self.find(name).is_some() {
                named.push(name.to_owned());
            }
        }
        named
    }
}

/// The names after `@agent-`, and those before ` (agent)` in quotes.
fn mentions(prompt: &str) -> impl Iterator<Item = &str> {
    prompt.match_indices('@').filter_map(|(at, _)| {
        let before = prompt[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-')) {
            return None;
        }
        let rest = &prompt[at + 1..];
        if let Some(quoted) = rest.strip_prefix('"') {
            return quoted.split('"').next()?.strip_suffix(" (agent)");
        }
        let name = rest.strip_prefix("agent-")?;
        let end =
            name.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'))).unwrap_or(name.len());
        Some(name[..end].trim_end_matches(['.', ':'])).filter(|name| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // [EXT-183]
    #[test]
    fn mentions_are_found_and_addresses_are_not() {
        let found: Vec<&str> =
            mentions("let @agent-reviewer. look, or @\"the boss (agent)\"; not a@agent-x.org, @file").collect();
        assert_eq!(found, ["reviewer", "the boss"]);
    }
}
