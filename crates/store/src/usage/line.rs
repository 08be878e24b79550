//! One line with a usage. Lines that other programs wrote are read as ccusage reads them, so that the totals agree.

use super::{RecordedResponse, UsageFile};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::sync::Arc;

/// Tokens as a response reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// Written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Written to the cache for an hour.
    pub cache_write_1h: u64,
    pub web_searches: u64,
    pub is_fast: bool,
    /// Answered within the United States, at another price.
    pub is_us: bool,
}

impl TokenCounts {
    pub fn cache_write(&self) -> u64 {
        self.cache_write_5m + self.cache_write_1h
    }

    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write()
    }
}

/// A cache miss that a session recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMiss {
    pub session: String,
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    pub model: String,
    pub cause: String,
    /// What the cause is about, for example the name of a tool; empty when there is nothing more to say.
    pub detail: String,
    pub tokens: u64,
    /// What the miss cost more than a hit, in US dollars; `None` when the price is not known.
    pub usd: Option<f64>,
}

pub(super) enum FoundUsage {
    Response(Box<LineUsage>),
    Miss(RecordedMiss),
}

pub(super) struct LineUsage {
    pub(super) message_id: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) is_sidechain: bool,
    /// A fork copied the line.
    pub(super) is_copy: bool,
    pub(super) tokens: TokenCounts,
    /// Milliseconds since the epoch.
    pub(super) at_ms: u64,
    model: Option<String>,
    cwd: String,
}

impl LineUsage {
    pub(super) fn response(self, file: &Arc<UsageFile>) -> RecordedResponse {
        let Self { at_ms, model, cwd, tokens, .. } = self;
        RecordedResponse { file: Arc::clone(file), at_ms, model, cwd, tokens }
    }
}

#[derive(Deserialize)]
struct TranscriptLine<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    message: Option<AnswerMessage>,
    #[serde(rename = "requestId")]
    request_id: Option<String>,
    #[serde(rename = "isSidechain")]
    is_sidechain: Option<bool>,
    #[serde(rename = "forkedFrom")]
    forked_from: Option<IgnoredAny>,
    #[serde(default)]
    cwd: Option<String>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    id: Option<String>,
    model: Option<String>,
    usage: AnswerUsage,
}

#[derive(Deserialize)]
struct AnswerUsage {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
    cache_creation: Option<WrittenTokens>,
    server_tool_use: Option<SearchCount>,
    speed: Option<String>,
    inference_geo: Option<String>,
}

#[derive(Deserialize)]
struct WrittenTokens {
    #[serde(default)]
    ephemeral_5m_input_tokens: u64,
    #[serde(default)]
    ephemeral_1h_input_tokens: u64,
}

#[derive(Deserialize)]
struct SearchCount {
    web_search_requests: Option<u64>,
}

#[derive(Deserialize)]
struct MissLine {
    timestamp: String,
    model: String,
    cause: String,
    #[serde(default)]
    detail: String,
    usage: MissedTokens,
    #[serde(rename = "costUSD")]
    usd: Option<f64>,
}

#[derive(Deserialize)]
struct MissedTokens {
    missed_tokens: u64,
}

/// The type of a line that records a cache miss.
pub(super) const MISS: &str = "x-cache-miss";

/// `None` for a line whose usage is not that of an answer.
pub(super) fn parse(line: &[u8]) -> Option<FoundUsage> {
    let read: TranscriptLine<'_> = serde_json::from_slice(line).ok()?;
    if read.kind == MISS {
        return miss(line).map(FoundUsage::Miss);
    }
    let message = read.message?;
    let named = |text: &Option<String>| text.as_ref().is_none_or(|text| !text.is_empty());
    if !named(&message.id) || !named(&message.model) {
        return None;
    }
    Some(FoundUsage::Response(Box::new(LineUsage {
        at_ms: sys::clock::parse_iso(&read.timestamp)?,
        message_id: message.id,
        request_id: read.request_id,
        is_sidechain: read.is_sidechain == Some(true),
        is_copy: read.forked_from.is_some(),
        tokens: message.usage.counts(),
        model: message.model,
        cwd: read.cwd.unwrap_or_default(),
    })))
}

impl AnswerUsage {
    fn counts(&self) -> TokenCounts {
        // Where writes are told apart, their sum counts.
        let (cache_write_5m, cache_write_1h) = match &self.cache_creation {
            Some(split) => (split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens),
            None => (self.cache_creation_input_tokens, 0),
        };
        TokenCounts {
            input: self.input_tokens,
            output: self.output_tokens,
            cache_read: self.cache_read_input_tokens,
            cache_write_5m,
            cache_write_1h,
            web_searches: self.server_tool_use.as_ref().and_then(|used| used.web_search_requests).unwrap_or(0),
            is_fast: self.speed.as_deref() == Some("fast"),
            is_us: self.inference_geo.as_deref() == Some("us"),
        }
    }
}

fn miss(line: &[u8]) -> Option<RecordedMiss> {
    let read: MissLine = serde_json::from_slice(line).ok()?;
    Some(RecordedMiss {
        session: String::new(),
        at_ms: sys::clock::parse_iso(&read.timestamp)?,
        model: read.model,
        cause: read.cause,
        detail: read.detail,
        tokens: read.usage.missed_tokens,
        usd: read.usd,
    })
}
