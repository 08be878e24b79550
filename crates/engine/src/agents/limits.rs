//! How many agents may run at once and how deep they may be nested.

use sys::Env;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AgentLimits {
    /// Levels below the main thread; 1 means that agents start no agents.
    pub(crate) depth: u32,
    /// Agents running at once, at all levels together.
    pub(crate) concurrent: usize,
}

impl AgentLimits {
    pub(crate) fn from_env(env: &Env) -> Self {
        Self {
            depth: positive_number(env, "CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH").unwrap_or(3),
            concurrent: positive_number(env, "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS").unwrap_or(20) as usize,
        }
    }
}

/// The variable as a positive number in plain digits; `None` for anything else.
fn positive_number(env: &Env, name: &str) -> Option<u32> {
    let text = env.get(name)?;
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|n| plain && *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // [EXT-179] [EXT-180]
    #[test]
    fn only_plain_positive_digits_count() {
        let with = |text: &str| {
            let env = Env::default().with([("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", text)]);
            AgentLimits::from_env(&env).depth
        };
        assert_eq!(AgentLimits::from_env(&Env::default()), AgentLimits { depth: 3, concurrent: 20 });
        assert_eq!((with("1"), with("7"), with("0"), with("-2"), with("1e3"), with(" 5")), (1, 7, 3, 3, 3, 3));
    }
}
