//! Whether a group applies to a subject: always, by a list of names, or by a regular expression with JavaScript
//! semantics.

use crate::pattern::HookPattern;
use wire::hooks::{HookEventName, MatcherSubject};

#[derive(Debug)]
pub(crate) enum SubjectMatcher {
    Everything,
    Names(Vec<String>),
    Pattern(HookPattern),
}

impl SubjectMatcher {
    pub(crate) fn new(event: HookEventName, text: Option<&str>) -> Self {
        let matching = event.facts().matching;
        let text = text.unwrap_or_default();
        if matching == MatcherSubject::Nothing || text.is_empty() || text == "*" {
            return Self::Everything;
        }
        let narrow = matching == MatcherSubject::Narrow;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '|' || (!narrow && " ,-".contains(c));
        if !text.chars().all(plain) {
            return Self::Pattern(HookPattern::new(text));
        }
        let separators: &[char] = if narrow { &['|'] } else { &['|', ','] };
        Self::Names(text.split(separators).map(|name| name.trim().to_owned()).collect())
    }

    /// Decides without a process if possible; otherwise returns the pattern that needs one.
    pub(crate) fn matches(&self, subject: Option<&str>) -> Result<bool, &HookPattern> {
        let Some(subject) = subject else { return Ok(true) };
        match self {
            Self::Everything => Ok(true),
            Self::Names(names) => Ok(names.iter().any(|name| name == subject || current(name, subject))),
            Self::Pattern(pattern) => pattern.quick(subject).ok_or(pattern),
        }
    }
}

/// Many settings files contain older names of a tool.
fn current(name: &str, subject: &str) -> bool {
    wire::names::canonical(name) == subject
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fires(event: HookEventName, matcher: &str, subject: &str) -> bool {
        SubjectMatcher::new(event, Some(matcher))
            .matches(Some(subject))
            .unwrap_or_else(|p| p.evaluate(subject).unwrap())
    }

    fn tool(matcher: &str, subject: &str) -> bool {
        fires(HookEventName::PreToolUse, matcher, subject)
    }

    // [EXT-4] [EXT-5] [EXT-6] [EXT-7] [EXT-10]
    #[test]
    fn tools_are_matched_as_documented() {
        for everything in ["", "*"] {
            assert!(tool(everything, "Bash") && tool(everything, "mcp__a__b"));
        }
        assert!(SubjectMatcher::new(HookEventName::PreToolUse, None).matches(Some("Bash")).unwrap());
        assert!(!tool("Bash", "BashOutput") && !tool("bash", "Bash"));
        for list in ["Edit|Write", "Edit, Write"] {
            assert!(tool(list, "Edit") && tool(list, "Write"));
            assert!(!tool(list, "NotebookEdit") && !tool(list, "MultiEdit"));
        }
        assert!(tool("Edit.*", "NotebookEdit") && !tool("^Edit$", "NotebookEdit") && tool("^Edit$", "Edit"));
        assert!(!tool("mcp__memory", "mcp__memory__get"));
        assert!(tool("mcp__memory__.*", "mcp__memory__get") && tool("mcp__my-server__.*", "mcp__my-server__x"));
        // Renamed tools match under both names.
        assert!(tool("Task", "Agent") && tool("Agent", "Agent"));
    }

    // [EXT-8] [EXT-9] [EXT-12] [EXT-13]
    #[test]
    fn other_subjects_are_matched_as_documented() {
        assert!(!fires(HookEventName::SubagentStart, "code-reviewer", "senior-code-reviewer"));
        assert!(fires(HookEventName::SubagentStart, "code-reviewer", "code-reviewer"));
        assert!(fires(HookEventName::SubagentStart, "^my-plugin:reviewer$", "my-plugin:reviewer"));
        assert!(!fires(HookEventName::SubagentStart, "reviewer", "my-plugin:reviewer"));
        assert!(fires(HookEventName::StopFailure, "rate_limit|overloaded", "overloaded"));
        assert!(!fires(HookEventName::StopFailure, "rate_limit, overloaded", "overloaded"));
        assert!(matches!(SubjectMatcher::new(HookEventName::Stop, Some("whatever")), SubjectMatcher::Everything));
    }
}
