//! Facts about models: names, windows, output limits, thinking, effort, prices. They are data (`catalog/models.tsv`);
//! unknown ids get documented defaults and no price, never a guess.

mod cost;
mod table;

pub use cost::{Price, cost};

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use sys::Env;
use sys::sync::Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EffortLevel {
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl EffortLevel {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.trim().to_ascii_lowercase().as_str() {
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            "xhigh" => Self::Xhigh,
            "max" => Self::Max,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingKind {
    None,
    /// `enabled` with a token budget.
    Budget,
    Adaptive,
}

/// The facts about one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFacts {
    /// The id without date, provider prefix and `[1m]`.
    pub canonical: String,
    pub display_name: String,
    /// `false`: all fields below are defaults.
    pub known: bool,
    /// In tokens, as the first-party API serves it.
    pub context_window: u64,
    /// The id has the suffix `[1m]`.
    pub long_window_requested: bool,
    /// Output tokens requested by default.
    pub max_output: u64,
    /// The most output tokens that can be requested.
    pub max_output_cap: u64,
    pub thinking: ThinkingKind,
    /// Thinking cannot be turned off.
    pub always_thinks: bool,
    /// Ascending; empty when the model does not support effort.
    pub efforts: Vec<EffortLevel>,
    pub default_effort: Option<EffortLevel>,
    /// Tiers by prompt size, ascending by `above`; empty when the price is unknown.
    pub prices: Vec<PriceTier>,
    pub fast_price: Option<Price>,
    /// Edits need a prior read (older generations).
    pub read_before_edit: bool,
    /// The model works better without the todo tools.
    pub hides_todo_tools: bool,
    /// A prefix of fewer tokens is not cached.
    pub cache_floor: u64,
}

/// `price` applies to prompts of more than `above` tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceTier {
    pub above: u64,
    pub price: Price,
}

pub const DEFAULT_MAX_OUTPUT: u64 = 32_000;
pub const DEFAULT_WINDOW: u64 = 200_000;
/// The least floor of any model, so that no mark is lost because a model is not known.
pub const DEFAULT_CACHE_FLOOR: u64 = 1_024;
pub const LONG_WINDOW: u64 = 1_000_000;

impl ModelFacts {
    /// The output tokens a step requests: `CLAUDE_CODE_MAX_OUTPUT_TOKENS` up to the model's limit, else the default.
    pub fn max_tokens(&self, env: &Env) -> u64 {
        let wanted = env.number::<u64>("CLAUDE_CODE_MAX_OUTPUT_TOKENS").filter(|n| *n > 0);
        wanted.unwrap_or(self.max_output).min(self.max_output_cap)
    }

    /// The highest supported level at or below `wanted`, else the lowest; `None` when the model does not support
    /// effort.
    pub fn clamp_effort(&self, wanted: EffortLevel) -> Option<EffortLevel> {
        self.efforts.iter().rev().find(|e| **e <= wanted).or(self.efforts.first()).copied()
    }

    /// The context window to plan with, in tokens. Behind a gateway the long window is used only if it was requested.
    pub fn window(&self, env: &Env, served: ServingParty) -> u64 {
        if env.is_on("CLAUDE_CODE_DISABLE_1M_CONTEXT") {
            return self.context_window.min(DEFAULT_WINDOW);
        }
        if !self.known && !self.long_window_requested && !self.canonical.starts_with("claude-") {
            return env.number("CLAUDE_CODE_MAX_CONTEXT_TOKENS").unwrap_or(self.context_window);
        }
        match served {
            ServingParty::Gateway if self.known && !self.long_window_requested => {
                self.context_window.min(DEFAULT_WINDOW)
            }
            ServingParty::Gateway | ServingParty::FirstParty => self.context_window,
        }
    }
}

/// Who serves the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServingParty {
    FirstParty,
    Gateway,
}

/// The table together with the user's overrides.
#[derive(Clone, Debug, Default)]
pub struct ModelCatalog {
    overrides: BTreeMap<String, ModelOverride>,
    /// What was looked up, by the id asked for.
    known: Arc<Mutex<Vec<(String, ModelFacts)>>>,
}

/// Most ids whose facts are kept.
const MAX_KNOWN: usize = 16;

/// One entry of an override file: `{"my-model":{"contextWindow":…,"prices":{"input":…,"output":…}}}`. Omitted fields
/// keep their value; if only input and output prices are given, cache prices follow the general rule.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ModelOverride {
    display_name: Option<String>,
    context_window: Option<u64>,
    max_output: Option<u64>,
    max_output_cap: Option<u64>,
    prices: Option<PriceOverride>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PriceOverride {
    input: f64,
    output: f64,
    cache_write_5m: Option<f64>,
    cache_write_1h: Option<f64>,
    cache_read: Option<f64>,
}

impl ModelCatalog {
    /// `json` is an object with model ids as keys. The error names the problem.
    pub fn with_overrides(json: &str) -> Result<Self, String> {
        let raw: BTreeMap<String, ModelOverride> =
            serde_json::from_str(json).map_err(|e| format!("model overrides are not valid: {e}"))?;
        let overrides = raw.into_iter().map(|(id, o)| (canonical(&id), o)).collect();
        Ok(Self { overrides, ..Self::default() })
    }

    /// Facts for an id; an alias is resolved first.
    pub fn lookup(&self, id: &str) -> ModelFacts {
        if let Some((_, facts)) = self.known.lock().iter().find(|(known, _)| known == id) {
            return facts.clone();
        }
        let facts = self.find(id);
        let mut known = self.known.lock();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.push((id.to_owned(), facts.clone()));
        facts
    }

    fn find(&self, id: &str) -> ModelFacts {
        let canonical = canonical(alias(id).unwrap_or(id));
        let long_asked = has_long_suffix(id);
        let mut facts = table::find(&canonical).unwrap_or_else(|| unknown(id, &canonical));
        facts.long_window_requested = long_asked;
        if long_asked {
            facts.context_window = facts.context_window.max(LONG_WINDOW);
        }
        if let Some(over) = self.overrides.get(&canonical) {
            over.apply(&mut facts);
        }
        facts
    }

    /// The id to send for a name: aliases are resolved by the environment, then by the table; a retired id is replaced
    /// with its successor. `[1m]` is kept. A name for two models gives the one used outside plan mode.
    pub fn resolve(&self, name: &str, env: &Env) -> String {
        let bare = strip_long_suffix(name.trim());
        let suffix = if has_long_suffix(name) { "[1m]" } else { "" };
        let lower = bare.to_ascii_lowercase();
        let lower = table::plan_pair(&lower).map_or(lower.as_str(), |(_, otherwise)| otherwise);
        let family = if lower == "best" { "opus" } else { lower };
        let pin = matches!(family, "opus" | "sonnet" | "haiku" | "fable")
            .then(|| env.non_empty(&format!("ANTHROPIC_DEFAULT_{}_MODEL", family.to_ascii_uppercase())))
            .flatten();
        match pin.or_else(|| alias(lower)).or_else(|| self.successor(bare, env)) {
            Some(id) if has_long_suffix(id) => id.to_owned(),
            Some(id) => format!("{id}{suffix}"),
            None => format!("{bare}{suffix}"),
        }
    }

    /// The id that is sent instead of a retired one. Ids with a provider's prefix are not replaced.
    pub fn successor(&self, id: &str, env: &Env) -> Option<&'static str> {
        let bare = strip_long_suffix(id.trim()).to_ascii_lowercase();
        let is_plain = bare.starts_with("claude-") && !bare.contains(['@', ':']);
        let kept = env.is_on("CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP") || self.overrides.contains_key(&canonical(id));
        (is_plain && !kept).then(|| table::successor(&canonical(id))).flatten()
    }

    /// The id used in plan mode for a name that stands for two models (`opusplan`); `None` for other names.
    pub fn plan_model(&self, name: &str, env: &Env) -> Option<String> {
        let bare = strip_long_suffix(name.trim()).to_ascii_lowercase();
        let (plan, _) = table::plan_pair(&bare)?;
        let suffix = if has_long_suffix(name) { "[1m]" } else { "" };
        Some(self.resolve(&format!("{plan}{suffix}"), env))
    }

    /// The date on which the built-in facts were last checked.
    pub fn date() -> &'static str {
        table::date()
    }

    pub fn display_name(&self, id: &str) -> String {
        self.lookup(id).display_name
    }
}

impl ModelOverride {
    fn apply(&self, facts: &mut ModelFacts) {
        facts.known = true;
        facts.context_window = self.context_window.unwrap_or(facts.context_window);
        facts.max_output = self.max_output.unwrap_or(facts.max_output);
        facts.max_output_cap = self.max_output_cap.unwrap_or(facts.max_output_cap).max(facts.max_output);
        if let Some(name) = &self.display_name {
            facts.display_name.clone_from(name);
        }
        if let Some(p) = &self.prices {
            let general = Price::general(p.input, p.output);
            let price = Price {
                write_5m: p.cache_write_5m.unwrap_or(general.write_5m),
                write_1h: p.cache_write_1h.unwrap_or(general.write_1h),
                read: p.cache_read.unwrap_or(general.read),
                ..general
            };
            facts.prices = vec![PriceTier { above: 0, price }];
            facts.fast_price = None;
        }
    }
}

fn unknown(id: &str, canonical: &str) -> ModelFacts {
    ModelFacts {
        canonical: canonical.to_owned(),
        display_name: strip_long_suffix(id).to_owned(),
        known: false,
        context_window: DEFAULT_WINDOW,
        long_window_requested: false,
        max_output: DEFAULT_MAX_OUTPUT,
        max_output_cap: DEFAULT_MAX_OUTPUT,
        thinking: ThinkingKind::Adaptive,
        always_thinks: false,
        efforts: Vec::new(),
        default_effort: None,
        prices: Vec::new(),
        fast_price: None,
        read_before_edit: false,
        hides_todo_tools: false,
        cache_floor: DEFAULT_CACHE_FLOOR,
    }
}

fn alias(name: &str) -> Option<&'static str> {
    let lower = strip_long_suffix(name).trim().to_ascii_lowercase();
    let lower = table::plan_pair(&lower).map_or(lower.as_str(), |(_, otherwise)| otherwise);
    table::alias(lower)
}

pub fn has_long_suffix(id: &str) -> bool {
    strip_long_suffix(id).len() < id.len()
}

pub fn strip_long_suffix(id: &str) -> &str {
    let cut = id.len().saturating_sub(4);
    match id.get(cut..) {
        Some(tail) if tail.eq_ignore_ascii_case("[1m]") => &id[..cut],
        _ => id,
    }
}

/// The name under which a response is counted: the model that answered, with the `[1m]` that was requested. The API
/// does not return the suffix.
pub fn counted_as(asked: &str, answered: &str) -> String {
    let is_long = has_long_suffix(asked) && !has_long_suffix(answered) && canonical(asked) == canonical(answered);
    if is_long { format!("{answered}[1m]") } else { answered.to_owned() }
}

/// The family id of a provider's id: without region and vendor prefix, date, version and `[1m]`.
pub fn canonical(id: &str) -> String {
    let lower = strip_long_suffix(id.trim()).to_ascii_lowercase();
    let start = lower.find("claude-").filter(|at| *at == 0 || lower[..*at].ends_with(['.', '/']));
    let Some(start) = start else { return lower };
    let mut name = &lower[start..];
    for cut in ["@", ":", "-latest"] {
        name = name.split(cut).next().unwrap_or(name);
    }
    let without_version = name.strip_suffix("-v1").or_else(|| name.strip_suffix("-v2")).unwrap_or(name);
    let dated = without_version.rsplit_once('-').filter(|(_, d)| d.len() == 8 && d.bytes().all(|b| b.is_ascii_digit()));
    dated.map_or(without_version, |(family, _)| family).to_owned()
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
