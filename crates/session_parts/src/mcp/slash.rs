//! Prompts of servers as commands: `/mcp__server__prompt one "two words"`, or `/server:prompt (MCP) …` as some hosts
//! write it.

use super::McpToolset;
use mcp::{McpHost, RemotePrompt};
use serde_json::value::RawValue;

/// A server prompt that the user typed.
#[derive(Clone)]
pub struct TypedServerPrompt {
    pub host: McpHost,
    pub server: String,
    pub name: String,
    pub arguments: Vec<(String, String)>,
    /// The content as recorded in the transcript.
    pub(super) content: Box<RawValue>,
}

impl McpToolset {
    /// The command names of all server prompts.
    pub fn prompt_names(&self) -> Vec<String> {
        self.prompts().into_iter().map(|(_, prompt)| prompt.exposed).collect()
    }

    /// Name, description and arguments of all server prompts, as a host lists them.
    pub fn prompt_commands(&self) -> Vec<(String, String, String)> {
        let hint = |prompt: &RemotePrompt| {
            let shown = |argument: &mcp::PromptArgument| {
                if argument.required { format!("<{}>", argument.name) } else { format!("[{}]", argument.name) }
            };
            prompt.arguments.iter().map(shown).collect::<Vec<_>>().join(" ")
        };
        let row = |(_, prompt): (McpHost, RemotePrompt)| {
            let hint = hint(&prompt);
            (format!("{}:{} (MCP)", prompt.server, prompt.name), prompt.description, hint)
        };
        self.prompts().into_iter().map(row).collect()
    }

    fn prompts(&self) -> Vec<(McpHost, RemotePrompt)> {
        let of = |host: &McpHost| {
            let views = host.views().into_iter();
            views.flat_map(|view| view.prompts.to_vec()).map(|prompt| (host.clone(), prompt)).collect::<Vec<_>>()
        };
        self.shared.hosts.iter().flat_map(of).collect()
    }

    /// Stores the prompt that `text` names until the turn loads it; returns its content for the transcript.
    pub fn keep_typed(&mut self, text: &str) -> Option<Box<RawValue>> {
        self.typed_prompt = self.typed(text);
        self.typed_prompt.as_ref().map(|typed| typed.content.clone())
    }

    /// The server prompt that `text` names, if any.
    fn typed(&self, text: &str) -> Option<TypedServerPrompt> {
        let rest = text.trim_start().strip_prefix('/')?;
        let (host, prompt, arguments) = self.prompts().into_iter().find_map(|(host, prompt)| {
            let spelled = format!("{}:{} (MCP)", prompt.server, prompt.name);
            let after = rest.strip_prefix(&prompt.exposed).or_else(|| rest.strip_prefix(&spelled))?;
            let ends = after.is_empty() || after.starts_with(char::is_whitespace);
            ends.then(|| (host, prompt.clone(), after.trim().to_owned()))
        })?;
        let mut words = words(&arguments);
        // Surplus words belong to the last argument.
        let names = &prompt.arguments;
        if words.len() > names.len() && !names.is_empty() {
            let last = words.split_off(names.len() - 1).join(" ");
            words.push(last);
        }
        let given = names.iter().map(|argument| argument.name.clone()).zip(words).collect();
        let words =
            if arguments.is_empty() { String::new() } else { format!("\n<command-args>{arguments}</command-args>") };
        let name = &prompt.exposed;
        let tagged = format!("<command-name>/{name}</command-name>\n<command-message>{name}</command-message>{words}");
        let content = wire::raw::to_raw(&tagged).ok()?;
        Some(TypedServerPrompt { host, server: prompt.server, name: prompt.name, arguments: given, content })
    }
}

/// Splits into words; quotes keep several words together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    // [TST-220]
    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(words(r#"one "two words" '' it"s"#), ["one", "two words", "", "its"]);
        assert!(words("  ").is_empty());
    }
}
