//! What was used and what it cost, from recorded responses: grouped by day, session, project, model or agent, priced
//! with the catalogue.

use model::catalog::{self, ModelCatalog, ModelFacts};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::StoreLayout;
use store::agents::Sidecar;
use store::usage::{self as recorded, RecordedMiss, RecordedResponse, RecordedUsage, TokenCounts, UsageFile};
use sys::clock;
pub use wire::counting::thousands;
use wire::usage::Usage;

/// What one row of a report stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageGrouping {
    #[default]
    Day,
    Session,
    Project,
    Model,
    /// The kind of agent; `main` for the conversation itself.
    Agent,
}

impl UsageGrouping {
    pub const NAMES: &'static [&'static str] = &["day", "session", "project", "model", "agent"];

    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "day" => Self::Day,
            "session" => Self::Session,
            "project" => Self::Project,
            "model" => Self::Model,
            "agent" => Self::Agent,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Local days, both included; `None` for no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageRange {
    pub since: Option<String>,
    pub until: Option<String>,
}

impl UsageRange {
    fn contains(&self, day: &str) -> bool {
        self.since.as_deref().is_none_or(|since| since <= day) && self.until.as_deref().is_none_or(|until| day <= until)
    }

    /// A time before the first moment of the range in any time zone.
    fn earliest_ms(&self) -> Option<u64> {
        const ZONE_MS: u64 = 15 * 3_600_000;
        Some(clock::parse_iso(&format!("{}T00:00:00Z", self.since.as_deref()?))?.saturating_sub(ZONE_MS))
    }
}

/// The sum of several responses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageSum {
    pub responses: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cost_usd: f64,
    /// Tokens of models whose prices are not known; they are not in `cost_usd`.
    pub unpriced_tokens: u64,
    pub models: BTreeSet<String>,
    /// Milliseconds since the epoch.
    pub last_at_ms: u64,
}

impl UsageSum {
    pub fn tokens(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    /// The share of the prompts that was read from the cache, from 0 to 1; `None` without prompts.
    pub fn cache_share(&self) -> Option<f64> {
        let prompts = self.input + self.cache_read + self.cache_write;
        (prompts > 0).then(|| self.cache_read as f64 / prompts as f64)
    }

    fn add(&mut self, response: &RecordedResponse, usd: Option<f64>) {
        let tokens = &response.tokens;
        self.responses += 1;
        self.input += tokens.input;
        self.output += tokens.output;
        self.cache_read += tokens.cache_read;
        self.cache_write += tokens.cache_write();
        match usd {
            Some(usd) => self.cost_usd += usd,
            None => self.unpriced_tokens += tokens.total(),
        }
        if let Some(model) = response.model.as_ref().filter(|model| !self.models.contains(*model)) {
            self.models.insert(model.clone());
        }
        self.last_at_ms = self.last_at_ms.max(response.at_ms);
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct UsageRow {
    /// The day, the session's id, the folder, the model or the kind of agent.
    pub key: String,
    pub sum: UsageSum,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageReport {
    /// Days ascending; everything else with the most expensive row first.
    pub rows: Vec<UsageRow>,
    pub total: UsageSum,
    pub misses: Vec<RecordedMiss>,
}

/// Reads the transcripts of all projects. Blocking.
pub fn read(layout: &StoreLayout, range: &UsageRange) -> RecordedUsage {
    recorded::read(recorded::files(layout, range.earliest_ms()))
}

/// Groups what was recorded. Responses without any token, such as messages of our own, are left out.
pub fn report(recorded: &RecordedUsage, by: UsageGrouping, range: &UsageRange) -> UsageReport {
    let (mut days, mut prices, mut names) = (DayNames::default(), Prices::default(), GroupNames::default());
    let mut groups: BTreeMap<String, UsageSum> = BTreeMap::new();
    let mut report = UsageReport::default();
    for response in recorded.responses.iter().filter(|response| response.tokens.total() > 0) {
        let day = days.of(response.at_ms);
        if !range.contains(day) {
            continue;
        }
        let usd = prices.cost(response.model.as_deref(), &response.tokens);
        let key = match by {
            UsageGrouping::Day => day,
            UsageGrouping::Session => response.file.session.as_str(),
            UsageGrouping::Project => names.project(response),
            UsageGrouping::Model => response.model.as_deref().unwrap_or("unknown"),
            UsageGrouping::Agent => names.agent(&response.file),
        };
        report.total.add(response, usd);
        match groups.get_mut(key) {
            Some(sum) => sum.add(response, usd),
            None => groups.entry(key.to_owned()).or_default().add(response, usd),
        }
    }
    report.rows = groups.into_iter().map(|(key, sum)| UsageRow { key, sum }).collect();
    if by != UsageGrouping::Day {
        let weight = |row: &UsageRow| (row.sum.cost_usd, row.sum.tokens());
        sys::compact_sort::sort_by(&mut report.rows, |a, b| {
            weight(b).partial_cmp(&weight(a)).unwrap_or(std::cmp::Ordering::Equal)
        });
    }
    report.misses = recorded.misses.iter().filter(|miss| range.contains(days.of(miss.at_ms))).cloned().collect();
    sys::compact_sort::sort_by_key(&mut report.misses, |miss| miss.at_ms);
    report
}

/// Local days of times. Asking the C library for each response would take most of the time of a report.
#[derive(Default)]
struct DayNames(HashMap<u64, String>);

impl DayNames {
    fn of(&mut self, ms: u64) -> &str {
        // All time zones begin their days at a multiple of a quarter of an hour.
        const QUARTER_MS: u64 = 15 * 60_000;
        self.0.entry(ms / QUARTER_MS).or_insert_with(|| clock::local_day(ms))
    }
}

/// The catalogue's facts about the models that occur.
#[derive(Default)]
struct Prices(HashMap<String, ModelFacts>);

impl Prices {
    fn cost(&mut self, model: Option<&str>, tokens: &TokenCounts) -> Option<f64> {
        let model = model?;
        if !self.0.contains_key(model) {
            self.0.insert(model.to_owned(), ModelCatalog::default().lookup(model));
        }
        catalog::cost(&usage(tokens), self.0.get(model)?)
    }
}

fn usage(tokens: &TokenCounts) -> Usage {
    let mut usage = Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cache_read_input_tokens: tokens.cache_read,
        cache_creation_input_tokens: tokens.cache_write(),
        speed: tokens.is_fast.then(|| "fast".to_owned()),
        inference_geo: tokens.is_us.then(|| "us".to_owned()),
        ..Usage::default()
    };
    usage.cache_creation.ephemeral_5m_input_tokens = tokens.cache_write_5m;
    usage.cache_creation.ephemeral_1h_input_tokens = tokens.cache_write_1h;
    usage.server_tool_use.web_search_requests = tokens.web_searches;
    usage
}

/// Names that are the same for many responses.
#[derive(Default)]
struct GroupNames {
    projects: HashMap<String, String>,
    agents: HashMap<std::path::PathBuf, String>,
}

impl GroupNames {
    /// The directory in which the first response of the project's folder was made.
    fn project(&mut self, response: &RecordedResponse) -> &str {
        let folder = &response.file.project;
        if !self.projects.contains_key(folder) {
            let shown = if response.cwd.is_empty() { folder } else { &response.cwd };
            self.projects.insert(folder.clone(), shown.clone());
        }
        &self.projects[folder]
    }

    fn agent(&mut self, file: &UsageFile) -> &str {
        if file.agent.is_none() {
            return "main";
        }
        self.agents.entry(file.path.clone()).or_insert_with(|| {
            let sidecar = Sidecar::read(&file.path.with_extension("meta.json"));
            sidecar.map(|sidecar| sidecar.agent_type).filter(|kind| !kind.is_empty()).unwrap_or_else(|| "agent".into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const DAY_MS: u64 = 86_400_000;
    const NOON: u64 = 1_767_268_800_000; // 2026-01-01T12:00:00Z

    fn response(at_ms: u64, model: &str, session: &str, input: u64) -> RecordedResponse {
        let file = UsageFile {
            path: format!("/none/{session}.jsonl").into(),
            size: 1,
            project: "-p".into(),
            session: session.into(),
            agent: None,
        };
        let tokens = TokenCounts { input, ..TokenCounts::default() };
        RecordedResponse { file: Arc::new(file), at_ms, model: Some(model.into()), cwd: "/p".into(), tokens }
    }

    fn keys(report: &UsageReport) -> Vec<(&str, u64)> {
        report.rows.iter().map(|row| (row.key.as_str(), row.sum.input)).collect()
    }

    /// [LNG-30] Groups, ranges, prices.
    #[test]
    fn responses_are_grouped_and_priced() {
        let recorded = RecordedUsage {
            responses: vec![
                response(NOON, "claude-sonnet-4-5", "a", 1_000_000),
                response(NOON + DAY_MS, "claude-haiku-4-5", "b", 2_000_000),
                response(NOON + DAY_MS, "nobody-knows", "b", 5),
                response(NOON, "<synthetic>", "c", 0),
            ],
            misses: Vec::new(),
        };
        let all = UsageRange::default();
        let by = |by| report(&recorded, by, &all);
        assert_eq!(keys(&by(UsageGrouping::Day)), [("2026-01-01", 1_000_000), ("2026-01-02", 2_000_005)]);
        assert_eq!(keys(&by(UsageGrouping::Session)), [("a", 1_000_000), ("b", 2_000_005)]);
        assert_eq!(keys(&by(UsageGrouping::Project)), [("/p", 3_000_005)]);
        assert_eq!(keys(&by(UsageGrouping::Agent)), [("main", 3_000_005)]);
        assert_eq!(by(UsageGrouping::Model).rows.len(), 3, "what used no token is left out");
        let total = by(UsageGrouping::Day).total;
        assert_eq!((total.responses, total.unpriced_tokens), (3, 5));
        assert!((total.cost_usd - 5.0).abs() < 1e-9, "{total:?}");
        let second = UsageRange { since: Some("2026-01-02".into()), until: Some("2026-01-02".into()) };
        assert_eq!(report(&recorded, UsageGrouping::Day, &second).total.input, 2_000_005);
        let first = UsageRange { since: None, until: Some("2026-01-01".into()) };
        assert_eq!(report(&recorded, UsageGrouping::Day, &first).total.input, 1_000_000);
    }

    #[test]
    fn the_names_of_the_groups_are_read_back() {
        for name in UsageGrouping::NAMES {
            assert_eq!(UsageGrouping::parse(name).map(UsageGrouping::name), Some(*name));
        }
    }
}
