//! Beta features as data: each row pairs a header value with the body field that needs it. A field is never sent
//! without its header, nor a header without its field; disabling experiments removes both.

use std::collections::BTreeSet;

/// Features of a request that need a beta header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BetaFeature {
    /// Header only: thinking between tool calls.
    InterleavedThinking,
    /// Header only: the `[1m]` window.
    LongContext,
    ContextManagement,
    CacheTtl,
    StructuredOutput,
    Fast,
    TaskBudget,
    Effort,
}

/// In the order in which the header lists them.
const TABLE: &[(BetaFeature, &str)] = &[
    (BetaFeature::InterleavedThinking, "interleaved-thinking-2025-05-14"),
    (BetaFeature::LongContext, "context-1m-2025-08-07"),
    (BetaFeature::ContextManagement, "context-management-2025-06-27"),
    (BetaFeature::CacheTtl, "extended-cache-ttl-2025-04-11"),
    (BetaFeature::StructuredOutput, "structured-outputs-2025-11-13"),
    (BetaFeature::Fast, "fast-mode-2026-02-01"),
    (BetaFeature::TaskBudget, "task-budgets-2026-03-13"),
    (BetaFeature::Effort, "effort-2025-11-24"),
];

/// Whether experimental features may be used (`CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExperimentalBetas {
    #[default]
    Allowed,
    Off,
}

impl ExperimentalBetas {
    pub fn from_env(env: &sys::Env) -> Self {
        if env.is_on("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS") { Self::Off } else { Self::Allowed }
    }

    pub fn allow(self) -> bool {
        self == Self::Allowed
    }
}

/// The `anthropic-beta` value: the features a request uses, then the names given by the user. `None` when there are
/// none.
pub fn header(used: &BTreeSet<BetaFeature>, named: &[String]) -> Option<String> {
    let rows = TABLE.iter().filter(|(feature, _)| used.contains(feature)).map(|(_, name)| *name);
    let mut names: Vec<&str> = rows.collect();
    for name in named.iter().map(|n| n.trim()).filter(|n| !n.is_empty()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(","))
}

/// `ANTHROPIC_BETAS`: comma separated.
pub fn from_env(env: &sys::Env) -> Vec<String> {
    let value = env.non_empty("ANTHROPIC_BETAS").unwrap_or_default();
    value.split(',').map(str::trim).filter(|v| !v.is_empty()).map(str::to_owned).collect()
}
