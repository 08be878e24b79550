//! What a compaction carries on besides the summary: the words of the person, the files that were changed and the commands
//! that fail. It is taken from the conversation itself, never from the summary, and recorded in the line of the boundary
//! (`compactMetadata.xCarried`), so that a resumed or forked conversation goes on with the same record.
//!
//! The words are kept for each summary that the conversation holds. They have a budget: when all of them exceed it, the oldest
//! are shortened first, and only then left out; the first and the latest prompt are always there, the latest whole.

mod words;

use model::estimate;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt::Write;
use wire::counting::counted;
pub use words::words_in;

/// The name of the record in the metadata of a boundary.
pub const METADATA_KEY: &str = "xCarried";
/// The budget of the words: this share of the window, and this many tokens at most.
const WORDS_PERCENT: u64 = 8;
const WORDS_TOKENS: u64 = 16_000;
/// How much of a shortened text stays, in characters.
const SHORT_CHARS: usize = 200;
/// Tokens of a line besides its words.
const LABEL_TOKENS: u64 = 6;

/// How many tokens the words of the person may take in a window of this size.
pub fn words_budget(window: u64) -> u64 {
    (window * WORDS_PERCENT / 100).min(WORDS_TOKENS)
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CarriedRecord {
    /// For each summary in the conversation, what was said in the part that it stands for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<CarriedWords>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ChangedFile>,
    /// Commands that failed and have not succeeded since, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedCommand>,
}

impl CarriedRecord {
    /// Reads the record from the metadata of a boundary; empty when another program wrote it.
    pub fn read(metadata: Option<&str>) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct BoundaryMetadata {
            #[serde(rename = "xCarried")]
            carried: CarriedRecord,
        }
        let read = metadata.and_then(|text| serde_json::from_str::<BoundaryMetadata>(text).ok());
        read.unwrap_or_default().carried
    }
}

/// A file that was changed, with lines added and removed in all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangedFile {
    pub path: String,
    pub added: u64,
    pub removed: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailedCommand {
    pub command: String,
    /// The end of what it said.
    pub output: String,
}

/// What was said in the part of the conversation that one summary stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CarriedWords {
    /// The uuid of the line with the summary.
    pub summary: String,
    /// Oldest first.
    pub said: Vec<SaidByUser>,
    /// How many messages after the first were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// How the person said something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SaidHow {
    #[default]
    Prompt,
    /// Typed while a turn ran.
    Queued,
    /// To a question of the model.
    Answer,
    /// When a call was refused.
    Refusal,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SaidByUser {
    /// The uuid of the transcript line.
    pub line: String,
    pub how: SaidHow,
    pub text: String,
    /// The call that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Images and documents that came with it.
    #[serde(skip_serializing_if = "is_zero")]
    pub attached: u64,
    /// How many characters were left out at the end of `text`.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// The number of the line in the transcript, once something was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl SaidByUser {
    fn tokens(&self) -> u64 {
        estimate::text(self.text.len() + self.about.as_ref().map_or(0, String::len)) + LABEL_TOKENS
    }

    /// Cuts the text to its beginning.
    fn shorten(&mut self, chars: usize) {
        let Some((at, _)) = self.text.char_indices().nth(chars) else { return };
        self.cut += self.text[at..].chars().count() as u64;
        self.text.truncate(at);
    }

    /// The text with a note about what is missing.
    fn shown(&self) -> String {
        let mut text = self.text.clone();
        if self.attached > 0 {
            write!(text, " [with {}, no longer shown]", counted(self.attached, "attachment")).ok();
        }
        if self.cut > 0 {
            let place =
                self.number.map_or_else(String::new, |line| format!(", whole in line {line} of the transcript"));
            write!(text, " […{} more characters{place}]", self.cut).ok();
        }
        text
    }
}

impl CarriedWords {
    /// The index of the latest prompt.
    pub fn latest(&self) -> Option<usize> {
        self.said.iter().rposition(|said| said.how == SaidHow::Prompt)
    }

    fn tokens(&self) -> u64 {
        self.said.iter().map(SaidByUser::tokens).sum()
    }

    /// Whether the words at this index belong to the latest request: the latest prompt, and what was typed last.
    fn is_protected(&self, at: usize) -> bool {
        let is_typed = |said: &SaidByUser| matches!(said.how, SaidHow::Prompt | SaidHow::Queued);
        self.latest() == Some(at) || self.said.iter().rposition(is_typed) == Some(at)
    }

    /// Makes the words fit into `budget` tokens, oldest first. The latest request stays whole, and the first prompt is
    /// never left out.
    pub fn fit(&mut self, budget: u64) {
        let mut tokens = self.tokens();
        for at in 0..self.said.len() {
            if tokens <= budget {
                return;
            }
            if self.is_protected(at) {
                continue;
            }
            let said = &mut self.said[at];
            let before = said.tokens();
            said.shorten(SHORT_CHARS);
            tokens = tokens - before + said.tokens();
        }
        while tokens > budget {
            // Several at once, so that thousands of short prompts do not take quadratic time.
            let mut gone = HashSet::new();
            for at in (1..self.said.len()).filter(|at| !self.is_protected(*at)) {
                if tokens <= budget {
                    break;
                }
                tokens -= self.said[at].tokens();
                gone.insert(at);
            }
            if gone.is_empty() {
                return;
            }
            let mut at = 0;
            self.said.retain(|_| {
                at += 1;
                !gone.contains(&(at - 1))
            });
            self.left_out += gone.len() as u64;
        }
    }

    /// Whether something is not there word for word.
    pub fn is_shortened(&self) -> bool {
        self.left_out > 0 || self.said.iter().any(|said| said.cut > 0)
    }

    /// What is repeated after a compaction that kept nothing of the latest request: the latest prompt and what was typed
    /// after it.
    pub fn latest_request(&self) -> Vec<usize> {
        let typed = |at: &usize| matches!(self.said[*at].how, SaidHow::Prompt | SaidHow::Queued);
        let all = 0..self.said.len();
        let start = self.latest().or_else(|| all.clone().rev().find(typed)).unwrap_or(self.said.len());
        (start..self.said.len()).filter(typed).collect()
    }

    /// The words for the hand-over, oldest first, without those at `omitted`; empty when there are none.
    pub fn render(&self, omitted: &[usize]) -> String {
        let mut text = String::new();
        for (at, said) in self.said.iter().enumerate().filter(|(at, _)| !omitted.contains(at)) {
            let label = match said.how {
                SaidHow::Prompt => String::new(),
                SaidHow::Queued => ", while you worked".into(),
                SaidHow::Answer => ", to your questions".into(),
                SaidHow::Refusal => {
                    said.about.as_ref().map_or_else(|| ", refusing a call".into(), |call| format!(", refusing {call}"))
                }
            };
            let number = at as u64 + 1 + if at == 0 { 0 } else { self.left_out };
            write!(text, "[{number}{label}] {}\n\n", said.shown()).ok();
            if at == 0 && self.left_out > 0 {
                let left_out = counted(self.left_out, "more message");
                write!(text, "[{left_out} left out here; the transcript has them]\n\n").ok();
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

#[cfg(test)]
#[path = "carried/carried_tests.rs"]
mod tests;
