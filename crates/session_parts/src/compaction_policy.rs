//! Decides when a conversation must be compacted and when compaction no longer helps. Contains all limits and guards.

use model::ModelFacts;
use model::catalog::ServingParty;
use sys::Env;

/// Tokens reserved for the answer and the additions of a step, in large windows.
const RESERVE_TOKENS: u64 = 33_000;
/// A small window reserves this fraction (as a divisor) instead.
const SMALL_RESERVE_DIVISOR: u64 = 6;
/// The range a user may set the window to, in tokens.
const WINDOW_RANGE: std::ops::RangeInclusive<u64> = 100_000..=1_000_000;
/// Maximum size in tokens of the newest conversation that is kept unchanged; it is a tenth of the window at most.
const KEPT_TOKENS: u64 = 20_000;
const MAX_FAILURES: u32 = 3;
const MAX_REFILLS: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactionTrigger {
    /// `/compact`, with the user's instructions.
    Manual { instructions: Option<String> },
    /// The user wants a part summarised; the rest stays as it is.
    Part(PartCompaction),
    /// The context window is nearly full.
    Crowded,
    /// The API refused the conversation as too long.
    Overflow,
}

/// The part of a conversation that is summarised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartCompaction {
    pub direction: PartDirection,
    /// The index of the turn with the chosen prompt, including its reminders.
    pub at: usize,
    /// The beginning of that prompt.
    pub prompt: String,
    pub instructions: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartDirection {
    /// The chosen prompt and everything after it.
    From,
    /// Everything before the chosen prompt.
    UpTo,
}

impl PartDirection {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "from" => Some(Self::From),
            "up_to" => Some(Self::UpTo),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::From => "from",
            Self::UpTo => "up_to",
        }
    }
}

impl CompactionTrigger {
    /// What the user said about the summary.
    pub fn instructions(&self) -> Option<&str> {
        match self {
            Self::Manual { instructions } => instructions.as_deref(),
            Self::Part(part) => part.instructions.as_deref(),
            Self::Crowded | Self::Overflow => None,
        }
    }

    pub fn is_automatic(&self) -> bool {
        matches!(self, Self::Crowded | Self::Overflow)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Manual { .. } | Self::Part(_) => "manual",
            Self::Crowded | Self::Overflow => "auto",
        }
    }
}

/// What can be done about a conversation that no longer fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverflowRelief {
    Compact,
    /// Compaction is switched off or failed too often.
    None,
    /// The conversation fills up again right after each compaction.
    Thrashing,
}

pub struct CompactionPolicy {
    automatic: bool,
    manual: bool,
    /// The window size the user chose; `None` for the whole window of the model.
    window: Option<u64>,
    percent: Option<u64>,
    served: ServingParty,
    failures: u32,
    refills: u32,
    /// Responses since the last compaction; `None` before the first.
    answers_since_compaction: Option<u32>,
    /// Tokens removed so far.
    dropped: u64,
}

/// The user's choices; the command line overrides settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompactionSettings {
    pub enabled: Option<bool>,
    pub setting: Option<u32>,
    pub flag: Option<u64>,
}

impl CompactionPolicy {
    pub fn new(wishes: CompactionSettings, env: &Env, served: ServingParty) -> Self {
        let from_env = env.non_empty("CLAUDE_CODE_AUTO_COMPACT_WINDOW").and_then(leading_number);
        let window = from_env.or(wishes.flag).or(wishes.setting.map(u64::from));
        let off = env.is_on("DISABLE_COMPACT");
        Self {
            automatic: !off && !env.is_on("DISABLE_AUTO_COMPACT") && wishes.enabled != Some(false),
            manual: !off,
            window: window.map(|w| w.clamp(*WINDOW_RANGE.start(), *WINDOW_RANGE.end())),
            percent: env.number::<u64>("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE").filter(|p| (1..=100).contains(p)),
            served,
            failures: 0,
            refills: 0,
            answers_since_compaction: None,
            dropped: 0,
        }
    }

    /// Resets the counters for a new conversation.
    pub fn begin_session(&mut self) {
        (self.failures, self.refills, self.answers_since_compaction, self.dropped) = (0, 0, None, 0);
    }

    /// Continues the same conversation under other settings.
    pub fn take_state_from(&mut self, before: &Self) {
        self.window = before.window.or(self.window);
        (self.failures, self.refills) = (before.failures, before.refills);
        (self.answers_since_compaction, self.dropped) = (before.answers_since_compaction, before.dropped);
    }

    pub fn is_automatic(&self) -> bool {
        self.automatic
    }

    /// Whether `/compact` may run.
    pub fn is_manual_allowed(&self) -> bool {
        self.manual
    }

    /// Sets the window size for this session; `None` for the whole window of the model.
    pub fn set_window(&mut self, window: Option<u64>) {
        self.window = window.map(|w| w.clamp(*WINDOW_RANGE.start(), *WINDOW_RANGE.end()));
    }

    /// The window of the model, in tokens.
    pub fn own_window(&self, facts: &ModelFacts, env: &Env) -> u64 {
        facts.window(env, self.served)
    }

    /// The window that the conversation may fill, in tokens.
    pub fn window(&self, facts: &ModelFacts, env: &Env) -> u64 {
        let own = facts.window(env, self.served);
        self.window.map_or(own, |wanted| wanted.min(own))
    }

    /// The token count from which on the conversation is compacted.
    pub fn limit(&self, facts: &ModelFacts, env: &Env) -> u64 {
        let window = self.window(facts, env);
        let limit = window - RESERVE_TOKENS.min(window / SMALL_RESERVE_DIVISOR);
        self.percent.map_or(limit, |percent| limit.min(window * percent / 100))
    }

    pub fn kept_tokens(&self, facts: &ModelFacts, env: &Env) -> u64 {
        (self.window(facts, env) / 10).min(KEPT_TOKENS)
    }

    pub fn record_answer(&mut self) {
        let Some(answers) = &mut self.answers_since_compaction else { return };
        *answers += 1;
        if *answers > 1 {
            self.refills = 0;
        }
    }

    /// Returns the tokens removed by all compactions, including this one.
    pub fn record_compaction(&mut self, before: u64, after: u64) -> u64 {
        self.failures = 0;
        self.refills = if self.answers_since_compaction.is_some_and(|n| n <= 1) { self.refills + 1 } else { 0 };
        self.answers_since_compaction = Some(0);
        self.dropped += before.saturating_sub(after);
        self.dropped
    }

    /// Whether the history starts with a summary.
    pub fn has_compacted(&self) -> bool {
        self.answers_since_compaction.is_some()
    }

    pub fn record_failure(&mut self) {
        self.failures += 1;
    }

    pub fn relief(&self) -> OverflowRelief {
        match (self.automatic, self.refills >= MAX_REFILLS, self.failures >= MAX_FAILURES) {
            (false, ..) | (true, false, true) => OverflowRelief::None,
            (true, true, _) => OverflowRelief::Thrashing,
            (true, false, false) => OverflowRelief::Compact,
        }
    }
}

/// The digits at the start of `text`: `500k` gives 500, which the caller clamps.
fn leading_number(text: &str) -> Option<u64> {
    let digits: String = text.trim().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ModelCatalog;

    fn env(pairs: &[(&str, &str)]) -> Env {
        Env::default().with(pairs.iter().copied())
    }

    fn limit(wishes: CompactionSettings, pairs: &[(&str, &str)]) -> u64 {
        let env = env(pairs);
        let facts = ModelCatalog::default().lookup("claude-haiku-4-5");
        CompactionPolicy::new(wishes, &env, ServingParty::FirstParty).limit(&facts, &env)
    }

    // [TST-196] The environment overrides the flag, the flag overrides the setting; the percentage only lowers.
    #[test]
    fn window_precedence() {
        assert_eq!(limit(CompactionSettings::default(), &[]), 167_000);
        let both = CompactionSettings { flag: Some(150_000), setting: Some(120_000), enabled: None };
        assert_eq!(limit(both, &[]), 125_000);
        assert_eq!(limit(CompactionSettings { flag: None, ..both }, &[]), 100_000);
        assert_eq!(
            limit(both, &[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "500k")]),
            100_000 - 100_000 / SMALL_RESERVE_DIVISOR
        );
        assert_eq!(
            limit(both, &[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "900000")]),
            167_000,
            "the model's own is the most"
        );
        assert_eq!(limit(CompactionSettings::default(), &[("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50")]), 100_000);
        assert_eq!(limit(CompactionSettings::default(), &[("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "99")]), 167_000);
    }

    // [TST-196] Either switch turns automatic compaction off; `DISABLE_COMPACT` also turns off the command.
    #[test]
    fn switches() {
        let relief = |wishes, pairs: &[(&str, &str)]| {
            CompactionPolicy::new(wishes, &env(pairs), ServingParty::FirstParty).relief()
        };
        assert_eq!(relief(CompactionSettings::default(), &[]), OverflowRelief::Compact);
        assert_eq!(
            relief(CompactionSettings { enabled: Some(false), ..CompactionSettings::default() }, &[]),
            OverflowRelief::None
        );
        assert_eq!(relief(CompactionSettings::default(), &[("DISABLE_AUTO_COMPACT", "1")]), OverflowRelief::None);
        let off = CompactionPolicy::new(
            CompactionSettings::default(),
            &env(&[("DISABLE_COMPACT", "1")]),
            ServingParty::FirstParty,
        );
        assert!(!off.is_manual_allowed() && off.relief() == OverflowRelief::None);
    }

    // [TST-195] Three failures in a row, or three refills right after a compaction, end automatic compaction.
    #[test]
    fn guards() {
        let mut pressure = CompactionPolicy::new(CompactionSettings::default(), &env(&[]), ServingParty::FirstParty);
        for _ in 0..MAX_FAILURES {
            assert_eq!(pressure.relief(), OverflowRelief::Compact);
            pressure.record_failure();
        }
        assert_eq!(pressure.relief(), OverflowRelief::None);
        let mut pressure = CompactionPolicy::new(CompactionSettings::default(), &env(&[]), ServingParty::FirstParty);
        for _ in 0..=MAX_REFILLS {
            assert_eq!(pressure.relief(), OverflowRelief::Compact);
            pressure.record_compaction(100, 10);
            pressure.record_answer();
        }
        assert_eq!(pressure.relief(), OverflowRelief::Thrashing);
        pressure.record_answer();
        assert_eq!(pressure.relief(), OverflowRelief::Compact, "work goes on between compactions");
    }
}
