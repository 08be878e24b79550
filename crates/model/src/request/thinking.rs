//! The `thinking` parameter: derived from the user's choice and the abilities of the model.

use crate::catalog::{ModelFacts, ThinkingKind};
use crate::object::push_string;
use sys::Env;

/// The user's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingChoice {
    /// The form that the model's generation uses.
    #[default]
    Auto,
    Adaptive,
    Disabled,
    Budget(u32),
}

/// The parameter as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThinkingParameter {
    Adaptive { display: Option<String> },
    Enabled { budget: u64, display: Option<String> },
    Disabled,
}

const LEAST_BUDGET: u64 = 1_024;

impl ThinkingParameter {
    /// The parameter for a model; `None` when it should be omitted. `max_tokens` limits a budget.
    pub fn for_model(facts: &ModelFacts, choice: ThinkingChoice, max_tokens: u64, env: &Env) -> Option<Self> {
        let choice = if env.is_on("CLAUDE_CODE_DISABLE_THINKING") { ThinkingChoice::Disabled } else { choice };
        let named = env.number::<u32>("MAX_THINKING_TOKENS");
        let choice = match (choice, named) {
            (ThinkingChoice::Auto, Some(0)) => ThinkingChoice::Disabled,
            (ThinkingChoice::Auto, Some(tokens)) if facts.thinking == ThinkingKind::Budget || forced_budget(env) => {
                ThinkingChoice::Budget(tokens)
            }
            (choice, _) => choice,
        };
        match (facts.thinking, choice) {
            (ThinkingKind::None, _) => None,
            (_, ThinkingChoice::Disabled) if facts.always_thinks => None,
            (_, ThinkingChoice::Disabled) => Some(Self::Disabled),
            (ThinkingKind::Adaptive, ThinkingChoice::Budget(tokens)) if forced_budget(env) => {
                budget(tokens.into(), max_tokens)
            }
            (ThinkingKind::Adaptive, _) => Some(Self::Adaptive { display: None }),
            (ThinkingKind::Budget, ThinkingChoice::Budget(tokens)) => budget(tokens.into(), max_tokens),
            (ThinkingKind::Budget, ThinkingChoice::Auto | ThinkingChoice::Adaptive) => {
                budget(facts.max_output, max_tokens)
            }
        }
    }

    #[must_use]
    pub fn with_display(mut self, wanted: Option<&str>) -> Self {
        match &mut self {
            Self::Adaptive { display } | Self::Enabled { display, .. } => *display = wanted.map(str::to_owned),
            Self::Disabled => {}
        }
        self
    }

    /// The requested display of the thinking; `None` for the API's default.
    pub fn display(&self) -> Option<&str> {
        match self {
            Self::Adaptive { display } | Self::Enabled { display, .. } => display.as_deref(),
            Self::Disabled => None,
        }
    }

    pub(super) fn write(&self, out: &mut String) {
        let display = match self {
            Self::Disabled => return out.push_str(r#"{"type":"disabled"}"#),
            Self::Adaptive { display } => {
                out.push_str(r#"{"type":"adaptive""#);
                display
            }
            Self::Enabled { budget, display } => {
                out.push_str(r#"{"type":"enabled","budget_tokens":"#);
                out.push_str(&budget.to_string());
                display
            }
        };
        if let Some(display) = display {
            out.push_str(r#","display":"#);
            push_string(out, display);
        }
        out.push('}');
    }
}

fn forced_budget(env: &Env) -> bool {
    env.is_on("CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING")
}

/// A budget of at least 1,024 tokens and below `max_tokens`; `None` when that is impossible.
fn budget(wanted: u64, max_tokens: u64) -> Option<ThinkingParameter> {
    let budget = wanted.min(max_tokens.saturating_sub(1));
    (budget >= LEAST_BUDGET).then_some(ThinkingParameter::Enabled { budget, display: None })
}
