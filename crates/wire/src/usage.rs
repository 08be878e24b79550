//! Token usage as the API reports it, and the totals per model that a result contains.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Usage of one API response. Later reports of the same response replace earlier ones field by field; they are never
/// added. Counts that a report omits keep their value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub cache_read_input_tokens: u64,
    pub output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_details: Option<OutputDetails>,
    pub server_tool_use: ServerToolUse,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_tier: String,
    pub cache_creation: CacheCreation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inference_geo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<String>,
    /// Other fields of the API's report (`iterations`, …), unchanged.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheCreation {
    pub ephemeral_1h_input_tokens: u64,
    pub ephemeral_5m_input_tokens: u64,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerToolUse {
    pub web_search_requests: u64,
    pub web_fetch_requests: u64,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputDetails {
    pub thinking_tokens: u64,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One report from the API: every field may be missing or null.
#[derive(Deserialize, Default)]
#[serde(default)]
struct UsageReport {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation: Option<CacheCreation>,
    server_tool_use: Option<ServerToolUse>,
    output_tokens_details: Option<OutputDetails>,
    service_tier: Option<String>,
    inference_geo: Option<String>,
    speed: Option<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl Usage {
    /// Takes over the fields of `report` (a `usage` object). Malformed reports change nothing.
    pub fn absorb(&mut self, report: &RawValue) {
        let Ok(r) = serde_json::from_str::<UsageReport>(report.get()) else { return };
        set(&mut self.input_tokens, r.input_tokens);
        set(&mut self.output_tokens, r.output_tokens);
        set(&mut self.cache_read_input_tokens, r.cache_read_input_tokens);
        if let Some(split) = r.cache_creation {
            // Some gateways send only the split; the count is then its sum.
            if r.cache_creation_input_tokens.is_none() {
                self.cache_creation_input_tokens = split.ephemeral_1h_input_tokens + split.ephemeral_5m_input_tokens;
            }
            self.cache_creation = split;
        }
        set(&mut self.cache_creation_input_tokens, r.cache_creation_input_tokens);
        // Usage readers add up the split and ignore the count, so cache writes reported without a split must appear in
        // it.
        let split = &mut self.cache_creation;
        split.ephemeral_5m_input_tokens =
            self.cache_creation_input_tokens.saturating_sub(split.ephemeral_1h_input_tokens);
        set(&mut self.server_tool_use, r.server_tool_use);
        set(&mut self.service_tier, r.service_tier);
        self.output_tokens_details = r.output_tokens_details.or(self.output_tokens_details.take());
        self.inference_geo = r.inference_geo.or(self.inference_geo.take());
        self.speed = r.speed.or(self.speed.take());
        self.other.extend(r.other.into_iter().filter(|(_, value)| !value.is_null()));
    }

    /// Adds the usage of another response, for totals per turn.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_creation_input_tokens += other.cache_creation_input_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
        self.cache_creation.ephemeral_1h_input_tokens += other.cache_creation.ephemeral_1h_input_tokens;
        self.cache_creation.ephemeral_5m_input_tokens += other.cache_creation.ephemeral_5m_input_tokens;
        self.server_tool_use.web_search_requests += other.server_tool_use.web_search_requests;
        self.server_tool_use.web_fetch_requests += other.server_tool_use.web_fetch_requests;
        if let Some(d) = &other.output_tokens_details {
            self.output_tokens_details.get_or_insert_default().thinking_tokens += d.thinking_tokens;
        }
        if !other.service_tier.is_empty() {
            self.service_tier.clone_from(&other.service_tier);
        }
        for (slot, said) in [(&mut self.inference_geo, &other.inference_geo), (&mut self.speed, &other.speed)] {
            if said.is_some() {
                slot.clone_from(said);
            }
        }
        // There is no rule for adding these fields: the values of the last response are kept.
        self.other.extend(other.other.clone());
    }

    /// Usage before any response, with every key that a result has.
    pub fn empty() -> Self {
        Self {
            service_tier: "standard".into(),
            output_tokens_details: Some(OutputDetails::default()),
            inference_geo: Some(String::new()),
            speed: Some("standard".into()),
            other: Map::from_iter([("iterations".to_owned(), Value::Array(Vec::new()))]),
            ..Self::default()
        }
    }

    pub fn total_input(&self) -> u64 {
        self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens
    }
}

fn set<T>(slot: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *slot = value;
    }
}

/// Totals for one model over the lifetime of the process, as listed in `modelUsage`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_input_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub web_search_requests: u64,
    #[serde(rename = "costUSD")]
    pub cost_usd: f64,
    pub context_window: u64,
    pub max_output_tokens: u64,
    pub thinking_tokens: u64,
    #[serde(rename = "cacheCreationEphemeral5mInputTokens")]
    pub cache_creation_5m: u64,
    #[serde(rename = "cacheCreationEphemeral1hInputTokens")]
    pub cache_creation_1h: u64,
    pub canonical_model: String,
    pub provider: Cow<'static, str>,
    /// `list`, or `unknown` when the price table has no row for the model.
    pub cost_basis: Cow<'static, str>,
}

/// Cost and counts of a session so far: the `cost-state` line of its transcript.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CostState {
    #[serde(rename = "totalCostUSD")]
    pub total_cost_usd: f64,
    #[serde(rename = "totalAPIDuration")]
    pub total_api_duration: u64,
    #[serde(rename = "totalAPIDurationWithoutRetries")]
    pub total_api_duration_without_retries: u64,
    pub total_tool_duration: u64,
    pub total_lines_added: u64,
    pub total_lines_removed: u64,
    pub total_duration: u64,
    /// Milliseconds since the epoch.
    pub start_time: u64,
    pub model_usage: BTreeMap<String, ModelUsage>,
    pub has_unknown_model_cost: bool,
}

impl ModelUsage {
    pub fn add(&mut self, usage: &Usage, cost: f64) {
        self.input_tokens += usage.input_tokens;
        self.output_tokens += usage.output_tokens;
        self.cache_read_input_tokens += usage.cache_read_input_tokens;
        self.cache_creation_input_tokens += usage.cache_creation_input_tokens;
        self.web_search_requests += usage.server_tool_use.web_search_requests;
        self.thinking_tokens += usage.output_tokens_details.as_ref().map_or(0, |d| d.thinking_tokens);
        self.cache_creation_5m += usage.cache_creation.ephemeral_5m_input_tokens;
        self.cache_creation_1h += usage.cache_creation.ephemeral_1h_input_tokens;
        self.cost_usd += cost;
    }

    /// The difference to `before`; `None` when nothing was added.
    pub fn since(&self, before: Option<&Self>) -> Option<Self> {
        let Some(before) = before else { return Some(self.clone()) };
        if self == before {
            return None;
        }
        Some(Self {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            cache_read_input_tokens: self.cache_read_input_tokens.saturating_sub(before.cache_read_input_tokens),
            cache_creation_input_tokens: self
                .cache_creation_input_tokens
                .saturating_sub(before.cache_creation_input_tokens),
            web_search_requests: self.web_search_requests.saturating_sub(before.web_search_requests),
            cost_usd: (self.cost_usd - before.cost_usd).max(0.0),
            thinking_tokens: self.thinking_tokens.saturating_sub(before.thinking_tokens),
            cache_creation_5m: self.cache_creation_5m.saturating_sub(before.cache_creation_5m),
            cache_creation_1h: self.cache_creation_1h.saturating_sub(before.cache_creation_1h),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absorbed(reports: &[&str]) -> Usage {
        let mut usage = Usage::default();
        for report in reports {
            usage.absorb(&RawValue::from_string((*report).to_owned()).unwrap());
        }
        usage
    }

    fn writes(usage: &Usage) -> (u64, u64, u64) {
        let split = &usage.cache_creation;
        (usage.cache_creation_input_tokens, split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens)
    }

    // [F-B5]
    #[test]
    fn what_the_api_adds_is_kept() {
        let first =
            r#"{"input_tokens":1,"iterations":[{"type":"message"}],"server_tool_use":{"tool_search_requests":2}}"#;
        let last = r#"{"output_tokens":9,"iterations":null,"output_tokens_details":{"thinking_tokens":4,"x":1}}"#;
        let usage = absorbed(&[first, last]);
        let told = serde_json::to_value(&usage).unwrap();
        assert_eq!(told["iterations"], serde_json::json!([{"type": "message"}]));
        assert_eq!(told["server_tool_use"]["tool_search_requests"], 2);
        assert_eq!(told["output_tokens_details"], serde_json::json!({"thinking_tokens": 4, "x": 1}));
        let mut turn = Usage::empty();
        turn.add(&usage);
        assert_eq!((turn.speed.as_deref(), turn.inference_geo.as_deref()), (Some("standard"), Some("")));
        assert_eq!(turn.other["iterations"], told["iterations"]);
    }

    #[test]
    fn count_and_split_of_cache_writes_always_agree() {
        let count_only = r#"{"cache_creation_input_tokens":20}"#;
        let split_only = r#"{"cache_creation":{"ephemeral_5m_input_tokens":7,"ephemeral_1h_input_tokens":5}}"#;
        assert_eq!(writes(&absorbed(&[count_only])), (20, 20, 0));
        assert_eq!(writes(&absorbed(&[split_only])), (12, 7, 5));
        assert_eq!(writes(&absorbed(&[split_only, count_only])), (20, 15, 5));
        assert_eq!(writes(&absorbed(&[count_only, r#"{"output_tokens":3}"#])), (20, 20, 0));
    }
}
