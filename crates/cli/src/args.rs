//! The parsed command line: what the effect of every flag writes to, before anything is checked against the machine.

use engine::SessionOptions;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FormatFlag {
    #[default]
    Text,
    Json,
    StreamJson,
}

impl FormatFlag {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            "stream-json" => Some(Self::StreamJson),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    pub(crate) prompt: Option<String>,
    /// Options passed to the session unchanged.
    pub(crate) options: SessionOptions,
    pub(crate) print: bool,
    /// `--ax-screen-reader`
    pub(crate) screen_reader: bool,
    pub(crate) verbose: bool,
    /// `None`: not given.
    pub(crate) output: Option<FormatFlag>,
    pub(crate) input: Option<FormatFlag>,
    pub(crate) continue_last: bool,
    /// `Some("")`: given without a value.
    pub(crate) resume: Option<String>,
    pub(crate) fork: bool,
    pub(crate) session_id: Option<String>,
    pub(crate) system_prompt_file: Option<PathBuf>,
    pub(crate) append_system_prompt_file: Option<PathBuf>,
    pub(crate) json_schema: Option<String>,
    pub(crate) skip_permissions: bool,
    pub(crate) partial_messages: bool,
    pub(crate) replay_user_messages: bool,
    pub(crate) forward_subagent_text: bool,
    pub(crate) background: bool,
    pub(crate) debug: DebugArgs,
    /// Flags that were accepted without effect, for the debug log.
    pub(crate) without_effect: Vec<&'static str>,
    /// Greedy list flags that got several values: one of these may be the missing prompt.
    pub(crate) greedy: Vec<&'static str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DebugArgs {
    pub(crate) on: bool,
    pub(crate) filter: Option<String>,
    pub(crate) file: Option<PathBuf>,
    pub(crate) to_stderr: bool,
}

/// Splits a rule list at commas and white space outside parentheses: `Bash(git log *),Read` is two rules.
pub(crate) fn split_rules(text: &str) -> Vec<String> {
    let mut rules = Vec::new();
    let mut rule = String::new();
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            rules.push(std::mem::take(&mut rule));
        } else {
            rule.push(c);
        }
    }
    rules.push(rule);
    rules.retain(|r| !r.is_empty());
    rules
}

/// Items of a comma list, trimmed, empty ones dropped.
pub(crate) fn split_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_split_outside_parentheses_only() {
        // [CLI-28] [SDK-8]
        assert_eq!(split_rules("Bash(git log *),Read"), ["Bash(git log *)", "Read"]);
        assert_eq!(split_rules("Bash(a, b) Edit,  Write"), ["Bash(a, b)", "Edit", "Write"]);
        assert_eq!(split_rules("Bash(echo (x)) Read"), ["Bash(echo (x))", "Read"]);
        assert_eq!(split_rules(""), Vec::<String>::new());
        assert_eq!(split_rules("Bash(unclosed x, y"), ["Bash(unclosed x, y"]);
    }
}
