//! Record and replay of model traffic, at the byte level: a replayed answer is decoded like a real one.
//!
//! A cassette is a JSONL file: a header line, then one line per exchange, in the order of the requests. It contains no
//! request headers, no credentials, and no paths of the machine it was recorded on: placeholders represent the paths,
//! and replay restores them. The same applies to random names that the conversation uses later. Replay compares the
//! conversation (texts, calls, results) without the parts that differ between runs. It does not compare the system
//! prompt, tool descriptions and reminders, so that a cassette survives changes of wording. A conversation that differs
//! from the recorded one is an error that shows the first difference.

mod names;
mod normalise;
mod record;
mod replay;
mod tape;

pub use record::{CassetteRecorder, ExchangeRecorder};
pub use replay::{CassettePlayer, ReplayedResponse};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Paths of this machine and their placeholders in a cassette, e.g. `("/home/me/project", "<<cwd>>")`. Longer paths are
/// replaced first.
pub type PathPlaceholders = Vec<(String, String)>;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    Messages,
    CountTokens,
    Models,
}

impl CallKind {
    fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::CountTokens => "count_tokens",
            Self::Models => "models",
        }
    }
}

const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct HeaderLine {
    cassette: u32,
    #[serde(default)]
    made_by: String,
}

/// One line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RecordedExchange {
    call: CallKind,
    /// How many messages at the beginning are the same as in the previous exchange.
    #[serde(default)]
    kept: usize,
    /// The messages after those.
    #[serde(default)]
    messages: Vec<RecordedMessage>,
    response: RecordedAnswer,
}

/// A message in the form that is compared: one text per block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedMessage {
    role: String,
    blocks: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RecordedAnswer {
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// The data of each event, if the body is an event stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<Box<RawValue>>,
    /// The body, if it is not an event stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// The connection broke, or the client closed it, before the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

#[cfg(test)]
#[path = "cassette_tests.rs"]
mod tests;
