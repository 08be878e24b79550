//! The figures of one run, from its stream and the captured requests.

use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use testkit::CapturedRequest;

#[derive(Clone, Debug, Default)]
pub(super) struct Measures {
    pub(super) steps: u64,
    pub(super) calls: u64,
    pub(super) failed: u64,
    /// Calls with the same input and the same result as one before.
    pub(super) repeats: u64,
    pub(super) uncached: u64,
    pub(super) cached: u64,
    pub(super) written: u64,
    pub(super) out: u64,
    pub(super) cost: f64,
    pub(super) wall: Duration,
    pub(super) peak_kb: u64,
    /// Bytes by part of the requests: tools, system, context, results, calls, texts; and the sum of all bodies.
    pub(super) bytes: BTreeMap<&'static str, u64>,
}

impl Measures {
    pub(super) fn of(lines: &[Value], requests: &[CapturedRequest], wall: Duration, peak_kb: u64) -> Self {
        let mut all = Self { wall, peak_kb, ..Self::default() };
        all.count_calls(lines);
        for line in lines.iter().filter(|line| line["type"] == "result") {
            all.steps += line["num_turns"].as_u64().unwrap_or(0);
            all.cost += line["total_cost_usd"].as_f64().unwrap_or(0.0);
            let count = |name: &str| line["usage"][name].as_u64().unwrap_or(0);
            all.uncached += count("input_tokens");
            all.cached += count("cache_read_input_tokens");
            all.written += count("cache_creation_input_tokens");
            all.out += count("output_tokens");
        }
        if !requests.is_empty() {
            all.steps = requests.len() as u64;
        }
        all.bytes = components(requests);
        all
    }

    fn count_calls(&mut self, lines: &[Value]) {
        let blocks = |kind: &'static str| {
            let contents = lines.iter().filter_map(|line| line["message"]["content"].as_array()).flatten();
            contents.filter(move |block| block["type"] == kind)
        };
        let results: HashMap<&str, &Value> =
            blocks("tool_result").filter_map(|block| Some((block["tool_use_id"].as_str()?, block))).collect();
        let mut seen: HashMap<String, String> = HashMap::new();
        for used in blocks("tool_use") {
            self.calls += 1;
            let result = used["id"].as_str().and_then(|id| results.get(id).copied()).unwrap_or(&Value::Null);
            self.failed += u64::from(result["is_error"] == true);
            let key = format!("{} {}", used["name"], used["input"]);
            let said = result["content"].to_string();
            self.repeats += u64::from(seen.insert(key, said.clone()).is_some_and(|before| before == said));
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({"steps": self.steps, "calls": self.calls, "failed": self.failed, "repeats": self.repeats,
            "uncached": self.uncached, "cached": self.cached, "written": self.written, "out": self.out,
            "cost": self.cost, "wall_ms": self.wall.as_millis() as u64, "peak_kb": self.peak_kb, "bytes": self.bytes})
    }

    pub(super) fn body_bytes(&self) -> u64 {
        self.bytes.get("bodies").copied().unwrap_or(0)
    }
}

/// Bytes of the parts of the last request of the conversation, and of all bodies.
fn components(requests: &[CapturedRequest]) -> BTreeMap<&'static str, u64> {
    let mut bytes = BTreeMap::new();
    bytes.insert("bodies", requests.iter().map(|request| request.body.len() as u64).sum());
    let Some(last) = requests.iter().rev().find(|request| request.json["tools"].is_array()) else { return bytes };
    let size = |value: &Value| if value.is_null() { 0 } else { value.to_string().len() as u64 };
    bytes.insert("tools", size(&last.json["tools"]));
    bytes.insert("system", size(&last.json["system"]));
    for message in last.messages() {
        let Some(blocks) = message["content"].as_array() else {
            *bytes.entry("texts").or_default() += size(&message["content"]);
            continue;
        };
        for block in blocks {
            let is_reminder = block["text"].as_str().is_some_and(|text| text.starts_with("<system-reminder>"));
            let part = match block["type"].as_str() {
                Some("tool_result") => "results",
                Some("tool_use") => "calls",
                _ if is_reminder => "context",
                _ => "texts",
            };
            *bytes.entry(part).or_default() += size(block);
        }
    }
    bytes
}
