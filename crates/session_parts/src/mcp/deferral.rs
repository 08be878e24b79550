//! Whether the schemas of MCP tools are sent with every request or only after the model asked for them.

use model::catalog::ServingParty;
use sys::Env;

/// How schemas are deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolDeferral {
    /// All schemas are sent.
    Off,
    /// The API loads the tools that a `tool_reference` names. Schemas are deferred when they take more than `over`
    /// percent of the window.
    Native { over: u64 },
    /// We load tools: ToolSearch returns the schema as text, and the tool is sent with later requests. Schemas are
    /// deferred when they take more than `over` percent of the window, and always above 8,000 tokens.
    Emulated { over: u64 },
}

/// Schemas of more tokens than this are never sent with every request, however large the window is.
const EMULATED_TOKENS: u64 = 8_000;

/// The share of the window for `auto`, in percent.
const AUTO_PERCENT: u64 = 10;

impl ToolDeferral {
    /// Reads `ENABLE_TOOL_SEARCH`: unset, `true`, `false`, `auto`, `auto:N`.
    pub fn choose(env: &Env, served: ServingParty) -> Self {
        if env.is_on("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS") {
            return Self::Off;
        }
        let word = env.non_empty("ENABLE_TOOL_SEARCH").map(str::trim);
        let over = match word {
            None => match served {
                ServingParty::FirstParty => 0,
                ServingParty::Gateway => AUTO_PERCENT,
            },
            Some("auto") => AUTO_PERCENT,
            Some(word) => match word.strip_prefix("auto:").and_then(|percent| percent.parse().ok()) {
                Some(percent) => percent,
                None if env.flag("ENABLE_TOOL_SEARCH") == Some(false) => return Self::Off,
                None => 0,
            },
        };
        match (served, word) {
            // A gateway may not know the blocks, unless the user sets the variable.
            (ServingParty::Gateway, None) => Self::Emulated { over },
            (ServingParty::Gateway | ServingParty::FirstParty, _) => Self::Native { over },
        }
    }

    /// Whether schemas of this many tokens are deferred in a window of this size.
    pub fn applies(self, tokens: u64, window: u64) -> bool {
        match self {
            Self::Off => false,
            Self::Native { over } => exceeds(tokens, window, over),
            Self::Emulated { over } => tokens > EMULATED_TOKENS || exceeds(tokens, window, over),
        }
    }
}

fn exceeds(tokens: u64, window: u64, percent: u64) -> bool {
    tokens > 0 && tokens.saturating_mul(100) > window * percent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(value: Option<&str>, served: ServingParty) -> ToolDeferral {
        let env = Env::default().with(value.map(|value| ("ENABLE_TOOL_SEARCH", value)));
        ToolDeferral::choose(&env, served)
    }

    // [TST-219]
    #[test]
    fn the_variable_and_the_endpoint_decide() {
        assert_eq!(chosen(None, ServingParty::FirstParty), ToolDeferral::Native { over: 0 });
        assert_eq!(chosen(Some("auto"), ServingParty::FirstParty), ToolDeferral::Native { over: 10 });
        assert_eq!(chosen(Some("auto:3"), ServingParty::Gateway), ToolDeferral::Native { over: 3 });
        assert_eq!(chosen(Some("false"), ServingParty::FirstParty), ToolDeferral::Off);
        assert_eq!(chosen(None, ServingParty::Gateway), ToolDeferral::Emulated { over: 10 });
        assert_eq!(chosen(Some("true"), ServingParty::Gateway), ToolDeferral::Native { over: 0 });
        let off = Env::default().with([("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS", "1")]);
        assert_eq!(ToolDeferral::choose(&off, ServingParty::FirstParty), ToolDeferral::Off);
    }

    #[test]
    fn the_share_of_the_window_decides() {
        let auto = ToolDeferral::Native { over: 10 };
        assert!(!auto.applies(19_999, 200_000) && auto.applies(20_001, 200_000));
        let emulated = ToolDeferral::Emulated { over: 10 };
        assert!(!emulated.applies(8_000, 1_000_000) && emulated.applies(8_001, 1_000_000), "[MX-35]");
        assert!(!emulated.applies(3_200, 32_000) && emulated.applies(3_201, 32_000), "[MX-35] small windows");
        assert!(ToolDeferral::Native { over: 0 }.applies(1, 200_000) && !ToolDeferral::Off.applies(u64::MAX / 200, 1));
    }
}
