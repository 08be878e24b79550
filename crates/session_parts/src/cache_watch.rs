//! Compares what the provider read from its cache with what it should have held, and names the cause of each
//! shortfall. The last request is kept (its blocks are shared with the history) and compared block by block only when
//! something is missing, so that a hit costs nothing.

mod pauses;

use model::catalog;
use model::request::BlockPosition;
use model::{CacheTtl, Fragment, Message, ModelCatalog, ModelRequest};
use pauses::PauseRecord;
use serde::Deserialize;
use std::sync::Arc;
use wire::usage::Usage;

/// A smaller shortfall is none: the provider caches in steps.
const TOLERANCE: u64 = 1_000;
/// How many blocks the provider looks back from a marker.
const LOOKUP_BLOCKS: usize = 20;

/// Why prompt text was paid for although an earlier request had put it into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissCause {
    /// The first request of this process: what the earlier one sent is not known.
    FirstRequest,
    Expired,
    ModelChanged,
    ToolsChanged,
    SystemChanged,
    HistoryEdited,
    /// More blocks were added at once than a lookup reaches back.
    BreakpointLimit,
    Unknown,
}

impl MissCause {
    /// As transcripts and hosts are told.
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstRequest => "first_request",
            Self::Expired => "expired",
            Self::ModelChanged => "model_changed",
            Self::ToolsChanged => "tools_changed",
            Self::SystemChanged => "system_changed",
            Self::HistoryEdited => "history_edited",
            Self::BreakpointLimit => "breakpoint_limit",
            Self::Unknown => "unknown",
        }
    }
}

/// Prompt text that was paid for again.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheMiss {
    pub cause: MissCause,
    /// What the cause is about; empty when there is nothing more to say.
    pub detail: String,
    pub tokens: u64,
    /// What it cost more than a hit, in US dollars; `None` when the price is not known.
    pub usd: Option<f64>,
    pub model: String,
}

/// A request that has been answered.
#[derive(Debug)]
struct SentPrompt {
    request: Arc<ModelRequest>,
    provider: String,
    /// Tokens that were in the cache after it.
    cached: u64,
    /// When it was answered, in milliseconds since the epoch.
    at_ms: u64,
}

/// What the transcript of a resumed conversation says about its last request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumedPrompt {
    /// Tokens that were in the cache after it.
    pub cached: u64,
    /// Milliseconds since the epoch.
    pub at_ms: u64,
}

impl ResumedPrompt {
    /// Reads the message of an assistant line.
    pub fn read(message: &str, timestamp: Option<&str>) -> Option<Self> {
        #[derive(Deserialize)]
        struct AnsweredMessage {
            usage: CachedUsage,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct CachedUsage {
            cache_creation_input_tokens: u64,
            cache_read_input_tokens: u64,
        }
        let usage = serde_json::from_str::<AnsweredMessage>(message).ok()?.usage;
        let cached = usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
        Some(Self { cached, at_ms: sys::clock::parse_iso(timestamp?)? })
    }
}

/// Watches the cache of one conversation.
#[derive(Debug, Default)]
pub struct CacheWatch {
    last: Option<SentPrompt>,
    resumed: Option<ResumedPrompt>,
    /// What has shortened or changed the history since the last request.
    edit: Option<&'static str>,
    pauses: PauseRecord,
}

impl CacheWatch {
    pub fn resumed(resumed: Option<ResumedPrompt>) -> Self {
        Self { resumed, ..Self::default() }
    }

    /// Records why the history is no longer what was sent.
    pub fn note_edit(&mut self, what: &'static str) {
        self.edit = Some(what);
    }

    /// The life of the cache that would have cost least in the last hour.
    pub fn cheapest_life(&self, now_ms: u64) -> CacheTtl {
        self.pauses.cheapest_life(now_ms)
    }

    /// How many tokens of a request of `tokens` are probably in the cache.
    pub fn expected(&self, request: &ModelRequest, (provider, now_ms): (&str, u64), tokens: u64) -> u64 {
        let Some(cached) = self.last.as_ref().map(|last| last.cached) else {
            let alive = self.resumed.filter(|resumed| now_ms < resumed.at_ms.saturating_add(life(request)));
            return alive.map_or(0, |resumed| resumed.cached).min(tokens);
        };
        let is_alive = self.last.as_ref().is_some_and(|last| now_ms < last.at_ms.saturating_add(life(request)));
        let is_same = is_alive && self.difference(request, provider).is_none();
        if is_same { cached.min(tokens) } else { 0 }
    }

    /// Why nothing of a request is expected to be in the cache.
    pub fn cold_reason(&self, request: &ModelRequest, (provider, now_ms): (&str, u64)) -> Option<String> {
        let (at_ms, difference) = match (&self.last, self.resumed) {
            (Some(last), _) => (last.at_ms, self.difference(request, provider)),
            (None, Some(resumed)) => (resumed.at_ms, None),
            (None, None) => return None,
        };
        let idle = now_ms.saturating_sub(at_ms);
        if idle >= life(request) {
            return Some(format!("the last request was {} minutes ago, so the cache has expired", idle / 60_000));
        }
        Some(match difference? {
            (MissCause::ModelChanged, detail) => format!("the cache does not serve the new settings ({detail})"),
            (MissCause::ToolsChanged, detail) => format!("the tools have changed ({detail})"),
            (MissCause::SystemChanged, _) => "the system prompt has changed".to_owned(),
            (_, detail) => format!("the conversation has changed ({detail})"),
        })
    }

    /// Compares an answered request with the one before it. Returns the miss, if there is one.
    pub fn record(
        &mut self,
        request: &Arc<ModelRequest>,
        (provider, usage, now_ms): (&str, &Usage, u64),
        catalog: &ModelCatalog,
    ) -> Option<CacheMiss> {
        let cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
        let miss = self.miss(request, (provider, usage, now_ms), catalog);
        self.pauses.record(now_ms, cached);
        // A provider that reports no cache at all has none that could be missed.
        self.last =
            Some(SentPrompt { request: Arc::clone(request), provider: provider.to_owned(), cached, at_ms: now_ms });
        (self.resumed, self.edit) = (None, None);
        if let Some(miss) = &miss {
            tracing::debug!(
                cause = miss.cause.name(),
                segment = %miss.detail,
                tokens = miss.tokens,
                usd = miss.usd,
                "prompt text that should have been cached was paid for again"
            );
        }
        miss
    }

    fn miss(
        &self,
        request: &ModelRequest,
        (provider, usage, now_ms): (&str, &Usage, u64),
        catalog: &ModelCatalog,
    ) -> Option<CacheMiss> {
        let (expected, at_ms) = match (&self.last, self.resumed) {
            (Some(last), _) => (last.cached, last.at_ms),
            (None, Some(resumed)) => (resumed.cached, resumed.at_ms),
            (None, None) => return None,
        };
        // A request that became shorter cannot read more than it holds.
        let tokens = expected.min(usage.total_input()).saturating_sub(usage.cache_read_input_tokens);
        if tokens <= TOLERANCE {
            return None;
        }
        let idle = now_ms.saturating_sub(at_ms);
        let (cause, detail) = if idle >= life(request) {
            (MissCause::Expired, format!("idle for {} minutes", idle / 60_000))
        } else if self.last.is_none() {
            (MissCause::FirstRequest, String::new())
        } else {
            self.difference(request, provider).unwrap_or_else(|| match self.lost_marker(request) {
                Some(blocks) => (MissCause::BreakpointLimit, format!("{blocks} blocks since the last marker")),
                None => (MissCause::Unknown, String::new()),
            })
        };
        Some(CacheMiss {
            cause,
            detail,
            tokens,
            usd: extra_cost(tokens, usage, request, catalog),
            model: request.model.clone(),
        })
    }

    /// What differs from the last request before its end.
    fn difference(&self, request: &ModelRequest, provider: &str) -> Option<(MissCause, String)> {
        let last = self.last.as_ref()?;
        let before = &last.request;
        if let Some(detail) = changed_settings(before, request, (&last.provider, provider)) {
            return Some((MissCause::ModelChanged, detail));
        }
        if let Some(detail) = changed_tools(&before.tools, &request.tools) {
            return Some((MissCause::ToolsChanged, detail));
        }
        if let Some(at) = first_difference(&before.system, &request.system) {
            return Some((MissCause::SystemChanged, format!("block {}", at + 1)));
        }
        let at = changed_message(&before.messages, &request.messages)?;
        let why = self.edit.map(|why| format!("{why}, ")).unwrap_or_default();
        Some((MissCause::HistoryEdited, format!("{why}message {} of {}", at + 1, before.messages.len())))
    }

    /// The number of blocks since the last marker of the last request, when that is further than a lookup reaches and
    /// no marker stands there any more.
    fn lost_marker(&self, request: &ModelRequest) -> Option<usize> {
        let moving = |request: &ModelRequest| request.cache.as_ref().and_then(|plan| plan.marks.last().copied());
        let (before, now) = (moving(&self.last.as_ref()?.request)?, moving(request)?);
        let is_marked = request.cache.as_ref().is_some_and(|plan| plan.marks.contains(&before));
        let blocks = blocks_between(&request.messages, before, now);
        (!is_marked && blocks > LOOKUP_BLOCKS).then_some(blocks)
    }
}

/// How long the conversation stays cached, in milliseconds.
fn life(request: &ModelRequest) -> u64 {
    request.cache.as_ref().map_or(CacheTtl::FiveMinutes, |plan| plan.life.moving).millis()
}

/// Everything but the text that decides whether the cache serves a request.
fn changed_settings(before: &ModelRequest, now: &ModelRequest, providers: (&str, &str)) -> Option<String> {
    if before.model != now.model {
        return Some(format!("model {} instead of {}", now.model, before.model));
    }
    if providers.0 != providers.1 {
        return Some(format!("provider {} instead of {}", providers.1, providers.0));
    }
    if before.effort != now.effort {
        let name = |request: &ModelRequest| request.effort.map_or("none", model::EffortLevel::name);
        return Some(format!("effort {} instead of {}", name(now), name(before)));
    }
    (before.thinking != now.thinking).then(|| "thinking".to_owned())
}

#[derive(Deserialize)]
struct NamedTool<'a> {
    #[serde(borrow)]
    name: std::borrow::Cow<'a, str>,
}

fn tool_name(tool: &Fragment) -> String {
    serde_json::from_str::<NamedTool<'_>>(tool.get()).map_or_else(|_| "unnamed".into(), |tool| tool.name.into_owned())
}

/// The tools that were added, removed or changed. Tools that are added at the end change nothing before them.
fn changed_tools(before: &[Fragment], now: &[Fragment]) -> Option<String> {
    if same(before, now) {
        return None;
    }
    let find = |tools: &[Fragment], name: &str| tools.iter().position(|tool| tool_name(tool) == name);
    let mut changes = Vec::new();
    for tool in now {
        let name = tool_name(tool);
        match find(before, &name) {
            None => changes.push(format!("{name} added")),
            Some(at) if before[at].get() != tool.get() => changes.push(format!("{name} changed")),
            Some(_) => {}
        }
    }
    let gone = before.iter().map(tool_name).filter(|name| find(now, name).is_none());
    changes.extend(gone.map(|name| format!("{name} removed")));
    Some(if changes.is_empty() { "order changed".into() } else { changes.join(", ") })
}

fn is_same(a: &Fragment, b: &Fragment) -> bool {
    a.is_same(b) || a.get() == b.get()
}

fn same(before: &[Fragment], now: &[Fragment]) -> bool {
    before.len() == now.len() && first_difference(before, now).is_none()
}

/// The index of the first block that is not the same; a longer list begins to differ at the end of the shorter one.
fn first_difference(before: &[Fragment], now: &[Fragment]) -> Option<usize> {
    let differs = before.iter().zip(now).position(|(a, b)| !is_same(a, b));
    differs.or_else(|| (before.len() != now.len()).then_some(before.len().min(now.len())))
}

/// The first message that is no longer what was sent. More blocks at the end of the last one are no change.
fn changed_message(before: &[Message], now: &[Message]) -> Option<usize> {
    before.iter().enumerate().position(|(at, sent)| {
        let Some(message) = now.get(at) else { return true };
        let is_kept = sent.blocks.len() <= message.blocks.len()
            && sent.blocks.iter().zip(&message.blocks).all(|(a, b)| is_same(a, b));
        let may_grow = at + 1 == before.len();
        sent.role != message.role || !is_kept || (!may_grow && sent.blocks.len() != message.blocks.len())
    })
}

fn blocks_between(messages: &[Message], from: BlockPosition, to: BlockPosition) -> usize {
    let until = |end: BlockPosition| {
        let whole: usize = messages.iter().take(end.message).map(|message| message.blocks.len()).sum();
        whole + end.block
    };
    until(to).saturating_sub(until(from))
}

/// What `tokens` cost more than if they had been read from the cache.
fn extra_cost(tokens: u64, usage: &Usage, request: &ModelRequest, catalog: &ModelCatalog) -> Option<f64> {
    let facts = catalog.lookup(&request.model);
    let mut paid = Usage::default();
    if usage.cache_creation_input_tokens >= tokens {
        paid.cache_creation_input_tokens = tokens;
        let hour = usage.cache_creation.ephemeral_1h_input_tokens > usage.cache_creation.ephemeral_5m_input_tokens;
        let split = &mut paid.cache_creation;
        *(if hour { &mut split.ephemeral_1h_input_tokens } else { &mut split.ephemeral_5m_input_tokens }) = tokens;
    } else {
        paid.input_tokens = tokens;
    }
    let hit = Usage { cache_read_input_tokens: tokens, ..Usage::default() };
    Some(catalog::cost(&paid, &facts)? - catalog::cost(&hit, &facts)?)
}

#[cfg(test)]
#[path = "cache_watch/cache_watch_tests.rs"]
mod tests;
