//! Text that somebody else wrote for the model to read: reports of agents, results of MCP servers, web pages. It is
//! data, so a tag that only this program writes must not work in it. Nothing is removed.

use std::borrow::Cow;

/// Tags that only this program writes.
const TAGS: [&str; 10] = [
    "system-reminder",
    "task-notification",
    "tool_use_error",
    "persisted-output",
    "command-name",
    "command-message",
    "local-command-stdout",
    "side-question",
    "agent-message",
    "teammate-message",
];

/// A text in which the tags of this program are escaped.
pub struct DefusedText<'a> {
    pub text: Cow<'a, str>,
    /// The tags that were found, in the order of the text.
    pub tags: Vec<&'static str>,
}

/// Puts a backslash before every opening and closing tag that only this program writes, in any case of its letters.
pub fn defuse(text: &str) -> DefusedText<'_> {
    let mut tags = Vec::new();
    let mut out = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices('<') {
        let Some(tag) = tag_at(&text[at + 1..]) else { continue };
        out.push_str(&text[copied..at]);
        out.push('\\');
        copied = at;
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    if tags.is_empty() {
        return DefusedText { text: Cow::Borrowed(text), tags };
    }
    out.push_str(&text[copied..]);
    DefusedText { text: Cow::Owned(out), tags }
}

/// The text alone, when nobody asks what was found.
pub fn defused(text: String) -> String {
    match defuse(&text).text {
        Cow::Owned(safe) => safe,
        Cow::Borrowed(_) => text,
    }
}

/// The tag whose name the text begins with, after a slash or blanks.
fn tag_at(rest: &str) -> Option<&'static str> {
    let name = rest.trim_start_matches(['/', ' ', '\t']).as_bytes();
    TAGS.into_iter().find(|tag| name.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [MX-37] In every spelling that a model might take for a tag, and nowhere else.
    #[test]
    fn every_tag_of_ours_is_escaped() {
        for tag in TAGS {
            for (open, close) in [("<", ">"), ("</", ">"), ("< ", ">"), ("</ ", " x='1'>"), ("<", "")] {
                for name in [tag.to_owned(), tag.to_uppercase()] {
                    let sent = format!("a {open}{name}{close} ü");
                    let safe = defuse(&sent);
                    assert_eq!(safe.text, format!("a \\{open}{name}{close} ü"));
                    assert_eq!(safe.tags, [tag]);
                }
            }
        }
        for plain in ["", "a < b", "<b>bold</b>", "system-reminder", "<system>", "<ü", "Vec<Task>"] {
            assert!(defuse(plain).tags.is_empty() && defuse(plain).text == plain, "{plain}");
            assert_eq!(defused(plain.to_owned()), plain);
        }
    }
}
