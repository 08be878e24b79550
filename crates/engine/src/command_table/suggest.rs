//! An unknown command: which ones may have been meant. A person at a screen is shown them; from elsewhere the prompt goes to the
//! model as it is.

use super::{CommandList, ROWS};
use serde_json::json;
use session_parts::messages::Attachment;
use session_parts::prompts;
use std::path::Path;

const MAX_SUGGESTIONS: usize = 5;

impl CommandList {
    /// The note beside a prompt that looks like a command but is none.
    pub(crate) fn suggest(&self, text: &str) -> Option<Attachment> {
        let name = unknown_name(text)?;
        if !self.has_commands {
            return None;
        }
        let near = nearest(name, &self.known_names());
        let meant = if near.is_empty() {
            "no command is near to it".to_owned()
        } else {
            format!(
                "commands with similar names are {}",
                near.iter().map(|n| format!("/{n}")).collect::<Vec<_>>().join(", ")
            )
        };
        let text = prompts::reminder(&format!(
            "The user's message begins with /{name}, which is not a command here; {meant}. Take it as ordinary text. If a \
             command was meant, tell the user which one they can type; you cannot run it for them."
        ));
        let line =
            json!({"type": "unknown_command_fallback", "commandName": name, "suggestions": near, "content": text});
        Some(Attachment { line: wire::raw::to_raw(&line).ok()?, text })
    }

    /// The answer to a person who typed it. `None` for text that is no command: a path, or the prompt of a server that may still come.
    pub(crate) fn unknown_answer(&self, text: &str) -> Option<String> {
        let name = unknown_name(text)?;
        if !self.has_commands || name.starts_with("mcp__") || Path::new("/").join(name).exists() {
            return None;
        }
        // The screen answers to every row, also to those that other hosts are not offered.
        let rows = ROWS.iter().flat_map(|row| std::iter::once(&row.name).chain(row.aliases));
        let known: Vec<String> = self.known_names().into_iter().chain(rows.map(|name| (*name).to_owned())).collect();
        let near: Vec<String> = nearest(name, &known).iter().map(|near| format!("/{near}")).collect();
        Some(match near.as_slice() {
            [] => format!("Unknown command: /{name}. /help lists the commands."),
            [first, others @ ..] => {
                let others =
                    if others.is_empty() { String::new() } else { format!(" Similar: {}.", others.join(", ")) };
                format!("Unknown command: /{name}. Did you mean {first}?{others}")
            }
        })
    }

    fn known_names(&self) -> Vec<String> {
        self.listing().into_iter().flat_map(|command| std::iter::once(command.name).chain(command.aliases)).collect()
    }
}

/// A first word that could be a command's name: no path, no number.
fn unknown_name(text: &str) -> Option<&str> {
    let word = text.trim_start().strip_prefix('/')?.split(char::is_whitespace).next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    (word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.len() <= 64 && word.chars().all(plain)).then_some(word)
}

fn nearest(name: &str, known: &[String]) -> Vec<String> {
    let wanted = name.to_ascii_lowercase();
    let mut scored: Vec<(usize, &String)> = known
        .iter()
        .filter_map(|other| {
            let distance = distance(&wanted, &other.to_ascii_lowercase());
            let allowed = if wanted.len() <= 4 { 1 } else { 2 };
            let related = wanted.len() >= 3 && (other.starts_with(&wanted) || wanted.starts_with(other.as_str()));
            (distance <= allowed || related).then_some((distance, other))
        })
        .collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name.clone()).collect()
}

/// Edit distance: insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_near() {
        let known: Vec<String> = ["compact", "context", "cost", "clear"].map(str::to_owned).into();
        assert_eq!(nearest("comapct", &known), ["compact"]);
        assert_eq!(nearest("cots", &known), ["cost"]);
        assert_eq!(nearest("cont", &known), ["cost", "context"]);
        assert!(nearest("deploy", &known).is_empty());
    }

    #[test]
    fn a_person_at_a_screen_is_shown_commands_of_the_screen_too() {
        let list = CommandList { has_commands: true, skills: std::sync::Arc::default() };
        for (typed, near) in [("/confg", "/config"), ("/modle", "/model"), ("/exort x", "/export"), ("/thme", "/theme")]
        {
            let answer = list.unknown_answer(typed).unwrap_or_default();
            assert!(answer.contains(&format!("Did you mean {near}?")), "{answer}");
        }
    }

    #[test]
    fn paths_and_sentences_are_no_names() {
        assert_eq!(unknown_name("/deploy now"), Some("deploy"));
        for text in ["/usr/bin/env", "/", "/ x", "/1", "say /x", "/a.b"] {
            assert_eq!(unknown_name(text), None, "{text}");
        }
    }
}
