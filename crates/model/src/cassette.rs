//! Record and replay of model traffic, below framing: a replayed answer is decoded from bytes like a real one.
//!
//! A cassette is a JSONL file: a header line, then one line per exchange, in the order of the requests. It holds no
//! request headers, no credential, and no path of the machine it was made on: those stand as placeholders and are put
//! back on replay; so are random names that the conversation goes on to use. What is compared on replay is the conversation (texts, calls, results), with everything that
//! differs between runs taken out; system prompt, tool descriptions and reminders are not compared, so that a cassette
//! survives changes of wording. A conversation that takes another way than the recorded one is an error that shows where.

mod names;
mod normalise;
mod record;
mod replay;
mod tape;

pub use record::{CassetteRecorder, ExchangeRecorder};
pub use replay::{CassettePlayer, ReplayedResponse};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Paths of this machine and what stands for them in a cassette, e.g. `("/home/me/project", "<<cwd>>")`. Longer paths
/// win over shorter ones.
pub type PathPlaceholders = Vec<(String, String)>;

/// What was asked.
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

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RecordedExchange {
    call: CallKind,
    /// How many messages at the beginning are those of the exchange before.
    #[serde(default)]
    kept: usize,
    /// The messages after those.
    #[serde(default)]
    messages: Vec<RecordedMessage>,
    response: RecordedAnswer,
}

/// A message as it is compared: one line of text per block.
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
    /// The data of each event of a stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<Box<RawValue>>,
    /// Any other body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// The connection broke, or the client left, before the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

#[cfg(test)]
#[path = "cassette_tests.rs"]
mod tests;
