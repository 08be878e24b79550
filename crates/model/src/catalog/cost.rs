//! Cost of one response at list prices. It is an estimate and is labelled as one wherever it is shown.

use super::ModelFacts;
use wire::usage::Usage;

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    pub input: f64,
    pub write_5m: f64,
    pub write_1h: f64,
    pub read: f64,
    pub output: f64,
}

const PER_SEARCH: f64 = 10.0 / 1_000.0;
const US_ONLY: f64 = 1.1;
const MILLION: f64 = 1_000_000.0;

impl Price {
    /// The rule for unpublished prices: cache writes cost 1.25 and 2 times the input price, cache reads a tenth of it.
    pub const fn general(input: f64, output: f64) -> Self {
        Self { input, write_5m: input * 1.25, write_1h: input * 2.0, read: input * 0.1, output }
    }
}

/// The cost in US dollars; `None` when the model has no price.
pub fn cost(usage: &Usage, facts: &ModelFacts) -> Option<f64> {
    let fast = facts.fast_price.filter(|_| usage.speed.as_deref() == Some("fast"));
    let prompt = usage.total_input();
    let listed = facts.prices.iter().rev().find(|t| prompt > t.above || t.above == 0).map(|t| t.price);
    let price = fast.or(listed)?;
    let split = &usage.cache_creation;
    let hour = split.ephemeral_1h_input_tokens;
    // Without the split, writes are counted with the short lifetime, which is the default.
    let short = if hour + split.ephemeral_5m_input_tokens == 0 {
        usage.cache_creation_input_tokens
    } else {
        split.ephemeral_5m_input_tokens
    };
    let tokens = usage.input_tokens as f64 * price.input
        + short as f64 * price.write_5m
        + hour as f64 * price.write_1h
        + usage.cache_read_input_tokens as f64 * price.read
        + usage.output_tokens as f64 * price.output;
    let searches = usage.server_tool_use.web_search_requests as f64 * PER_SEARCH;
    let factor = if usage.inference_geo.as_deref() == Some("us") { US_ONLY } else { 1.0 };
    Some((tokens / MILLION + searches) * factor)
}
