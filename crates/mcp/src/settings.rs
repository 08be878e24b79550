//! Limits, from the environment and the session.

use std::path::PathBuf;
use std::time::Duration;
use sys::Env;

/// What a session decides once for all its servers.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The environment of children, already without what they must not see.
    pub child_env: Env,
    /// Where children start, and the project they are told of.
    pub cwd: PathBuf,
    pub session_id: String,
    /// For remote servers: proxies and certificates.
    pub env: Env,
    pub version: String,
    /// For one server to be connected (`MCP_TIMEOUT`).
    pub connect: Duration,
    /// Servers are asked for the newest revision first; with `MCP_PROTOCOL_NEGOTIATION=legacy` they are not.
    pub negotiates: bool,
    /// Limits of calls.
    pub calls: CallLimits,
    /// Between tries of a connection.
    pub pauses: RetryPauses,
    /// Local servers that are connected at the same time, and remote ones.
    pub local_slots: usize,
    pub remote_slots: usize,
}

/// How long is waited before a remote server is tried again; each time twice as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPauses {
    /// When it could not be connected at all.
    pub first: Duration,
    /// When its connection was lost.
    pub lost: Duration,
}

impl Default for RetryPauses {
    fn default() -> Self {
        Self { first: Duration::from_millis(250), lost: Duration::from_secs(1) }
    }
}

/// How long a call may take. `None`: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// All of it (`MCP_TOOL_TIMEOUT`).
    pub total: Duration,
    pub total_is_set: bool,
    /// Without an answer or progress.
    pub idle_remote: Option<Duration>,
    pub idle_local: Option<Duration>,
    /// To the first byte of an HTTP answer.
    pub first_byte: Duration,
}

impl CallLimits {
    pub fn from_env(env: &Env) -> Self {
        let given: Option<u64> = env.number("MCP_TOOL_TIMEOUT").filter(|ms| *ms > 0);
        let idle = |default: Duration| match env.number::<u64>("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT") {
            Some(0) => None,
            Some(ms) => Some(Duration::from_millis(ms)),
            None => Some(default),
        };
        let first_byte = Duration::from_mins(1);
        Self {
            total: Duration::from_millis(given.unwrap_or(100_000_000)),
            total_is_set: given.is_some(),
            idle_remote: idle(Duration::from_mins(5)),
            idle_local: idle(Duration::from_mins(30)),
            first_byte: given.map_or(first_byte, |ms| first_byte.max(Duration::from_millis(ms))),
        }
    }

    /// With the limit a server's declaration sets.
    #[must_use]
    pub fn for_server(mut self, timeout_ms: Option<u64>) -> Self {
        let Some(limit) = timeout_ms.map(Duration::from_millis) else { return self };
        self.total = limit;
        self.total_is_set = true;
        self.idle_remote = self.idle_remote.map(|idle| idle.max(limit));
        self.idle_local = self.idle_local.map(|idle| idle.max(limit));
        self.first_byte = self.first_byte.max(limit);
        self
    }
}

impl McpSettings {
    pub fn from_env(env: &Env, child_env: Env, cwd: PathBuf) -> Self {
        let slots = |name: &str, default| env.number(name).filter(|n| *n > 0).unwrap_or(default);
        Self {
            child_env,
            cwd,
            session_id: String::new(),
            env: env.clone(),
            version: String::new(),
            connect: Duration::from_millis(env.number("MCP_TIMEOUT").filter(|ms| *ms > 0).unwrap_or(30_000)),
            negotiates: env.non_empty("MCP_PROTOCOL_NEGOTIATION") != Some("legacy"),
            calls: CallLimits::from_env(env),
            pauses: RetryPauses::default(),
            local_slots: slots("MCP_SERVER_CONNECTION_BATCH_SIZE", 3),
            remote_slots: slots("MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", 20),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // [TST-210]
    #[test]
    fn a_servers_own_limit_beats_the_environment_and_lifts_the_others() {
        let env = Env::default().with([("MCP_TOOL_TIMEOUT", "90000")]);
        let limits = CallLimits::from_env(&env);
        assert_eq!((limits.total, limits.first_byte), (Duration::from_secs(90), Duration::from_secs(90)));
        let own = limits.for_server(Some(600_000));
        assert_eq!((own.total, own.idle_remote), (Duration::from_mins(10), Some(Duration::from_mins(10))));
        let plain = CallLimits::from_env(&Env::default());
        assert_eq!((plain.first_byte, plain.idle_remote), (Duration::from_mins(1), Some(Duration::from_mins(5))));
        let never = CallLimits::from_env(&Env::default().with([("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", "0")]));
        assert_eq!((never.idle_local, never.idle_remote), (None, None));
    }
}
