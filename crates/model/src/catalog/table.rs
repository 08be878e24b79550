//! The rows. Newest public figures; change them here and nowhere else.

use super::{DEFAULT_WINDOW, Effort, LONG_WINDOW, ModelFacts, Price, ThinkingKind, Tier};

/// Names users type, and what they mean on the first-party API.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("opus", "claude-opus-5"),
    ("sonnet", "claude-sonnet-5"),
    ("haiku", "claude-haiku-4-5"),
    ("fable", "claude-fable-5"),
    ("best", "claude-fable-5"),
    ("default", "claude-opus-5"),
];

pub(super) struct Row {
    /// Canonical ids of the family.
    ids: &'static [&'static str],
    name: &'static str,
    window: u64,
    /// Default and most.
    output: (u64, u64),
    thinking: ThinkingKind,
    always_thinks: bool,
    efforts: &'static [Effort],
    default_effort: Option<Effort>,
    prices: &'static [Tier],
    fast: Option<Price>,
    read_before_edit: bool,
    hides_todo_tools: bool,
}

use Effort::{High, Low, Max, Medium, Xhigh};
use ThinkingKind::{Adaptive, Budget};
const ALL: &[Effort] = &[Low, Medium, High, Xhigh, Max];
const NO_XHIGH: &[Effort] = &[Low, Medium, High, Max];

const fn price(input: f64, write_5m: f64, write_1h: f64, read: f64, output: f64) -> Price {
    Price { input, write_5m, write_1h, read, output }
}

const fn flat(price: Price) -> Tier {
    Tier { above: 0, price }
}

const FABLE: Row = Row {
    ids: &["claude-fable-5", "claude-mythos-5"],
    name: "Fable 5",
    window: LONG_WINDOW,
    output: (128_000, 128_000),
    thinking: Adaptive,
    always_thinks: true,
    efforts: ALL,
    default_effort: Some(High),
    prices: &[flat(price(10.0, 12.5, 20.0, 1.0, 50.0))],
    fast: None,
    read_before_edit: false,
    hides_todo_tools: true,
};

const OPUS: Row = Row {
    ids: &["claude-opus-5"],
    name: "Opus 5",
    always_thinks: false,
    prices: &[flat(price(5.0, 6.25, 10.0, 0.5, 25.0))],
    fast: Some(price(10.0, 12.5, 20.0, 1.0, 50.0)),
    ..FABLE
};

const SONNET: Row = Row {
    ids: &["claude-sonnet-5"],
    name: "Sonnet 5",
    prices: &[flat(price(2.0, 2.5, 4.0, 0.2, 10.0))],
    fast: None,
    ..OPUS
};

/// Generation 4 before adaptive thinking.
const OLDER: Row = Row {
    ids: &["claude-sonnet-4-5"],
    name: "Sonnet 4.5",
    window: DEFAULT_WINDOW,
    output: (32_000, 64_000),
    thinking: Budget,
    always_thinks: false,
    efforts: &[],
    default_effort: None,
    prices: &[flat(price(3.0, 3.75, 6.0, 0.3, 15.0))],
    fast: None,
    read_before_edit: true,
    hides_todo_tools: false,
};

const OLD_OPUS: Row = Row {
    ids: &["claude-opus-4-1"],
    name: "Opus 4.1",
    output: (32_000, 32_000),
    prices: &[flat(price(15.0, 18.75, 30.0, 1.5, 75.0))],
    ..OLDER
};

const TABLE: &[Row] = &[
    Row {
        ids: &["claude-fable-5-1", "claude-mythos-5-1"],
        name: "Fable 5.1",
        prices: &[flat(price(10.0, 12.5, 20.0, 0.25, 50.0))],
        ..FABLE
    },
    FABLE,
    Row {
        ids: &["claude-opus-5-5"],
        name: "Opus 5.5",
        prices: &[flat(price(4.0, 5.0, 8.0, 0.2, 20.0))],
        fast: Some(price(8.0, 10.0, 16.0, 0.4, 40.0)),
        ..OPUS
    },
    OPUS,
    Row { ids: &["claude-opus-4-8"], name: "Opus 4.8", output: (64_000, 128_000), hides_todo_tools: false, ..OPUS },
    Row {
        ids: &["claude-opus-4-7"],
        name: "Opus 4.7",
        output: (64_000, 128_000),
        default_effort: Some(Xhigh),
        fast: None,
        hides_todo_tools: false,
        ..OPUS
    },
    Row {
        ids: &["claude-opus-4-6"],
        name: "Opus 4.6",
        output: (64_000, 128_000),
        thinking: Adaptive,
        efforts: NO_XHIGH,
        default_effort: Some(High),
        prices: OPUS.prices,
        ..OLDER
    },
    Row { ids: &["claude-opus-4-5"], name: "Opus 4.5", prices: OPUS.prices, ..OLDER },
    OLD_OPUS,
    Row { ids: &["claude-opus-4", "claude-opus-4-0"], name: "Opus 4", ..OLD_OPUS },
    Row { ids: &["claude-3-opus"], name: "Opus 3", output: (4_096, 4_096), thinking: ThinkingKind::None, ..OLD_OPUS },
    Row { ids: &["claude-sonnet-5-5"], name: "Sonnet 5.5", ..SONNET },
    SONNET,
    Row {
        ids: &["claude-sonnet-4-6"],
        name: "Sonnet 4.6",
        thinking: Adaptive,
        efforts: NO_XHIGH,
        default_effort: Some(High),
        ..OLDER
    },
    OLDER,
    Row { ids: &["claude-sonnet-4", "claude-sonnet-4-0"], name: "Sonnet 4", ..OLDER },
    Row { ids: &["claude-3-7-sonnet"], name: "Sonnet 3.7", ..OLDER },
    Row {
        ids: &["claude-3-5-sonnet"],
        name: "Sonnet 3.5",
        output: (8_192, 8_192),
        thinking: ThinkingKind::None,
        ..OLDER
    },
    Row {
        ids: &["claude-haiku-5-5"],
        name: "Haiku 5.5",
        thinking: Adaptive,
        prices: &[
            flat(price(0.1, 0.125, 0.2, 0.01, 0.5)),
            Tier { above: 100_000, price: price(0.5, 0.625, 1.0, 0.05, 2.5) },
        ],
        read_before_edit: false,
        hides_todo_tools: true,
        ..OLDER
    },
    Row { ids: &["claude-haiku-4-5"], name: "Haiku 4.5", prices: &[flat(price(1.0, 1.25, 2.0, 0.1, 5.0))], ..OLDER },
    Row {
        ids: &["claude-3-5-haiku"],
        name: "Haiku 3.5",
        output: (8_192, 8_192),
        thinking: ThinkingKind::None,
        prices: &[flat(price(0.8, 1.0, 1.6, 0.08, 4.0))],
        ..OLDER
    },
    Row {
        ids: &["claude-3-haiku"],
        name: "Haiku 3",
        output: (4_096, 4_096),
        thinking: ThinkingKind::None,
        prices: &[flat(price(0.25, 0.3, 0.5, 0.03, 1.25))],
        ..OLDER
    },
];

pub(super) fn find(canonical: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.ids.contains(&canonical))
}

impl Row {
    pub(super) fn facts(&self, canonical: &str) -> ModelFacts {
        ModelFacts {
            canonical: canonical.to_owned(),
            display_name: if canonical.contains("mythos") {
                self.name.replace("Fable", "Mythos")
            } else {
                self.name.into()
            },
            known: true,
            context_window: self.window,
            long_asked: false,
            max_output: self.output.0,
            max_output_cap: self.output.1,
            thinking: self.thinking,
            always_thinks: self.always_thinks,
            efforts: self.efforts.to_vec(),
            default_effort: self.default_effort,
            prices: self.prices.to_vec(),
            fast_price: self.fast,
            read_before_edit: self.read_before_edit,
            hides_todo_tools: self.hides_todo_tools,
        }
    }
}
