//! Limits, from the environment and the session.

use std::path::PathBuf;
use std::time::Duration;
use sys::Env;

/// Settings of a session for all its servers.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The environment of children, without variables they must not get.
    pub child_env: Env,
    /// The directory children start in, and the project directory they are given.
    pub cwd: PathBuf,
    pub session_id: String,
    /// The environment for connections to remote servers: proxies and certificates.
    pub env: Env,
    pub version: String,
    /// Time limit for connecting one server (`MCP_TIMEOUT`).
    pub connect: Duration,
    /// Whether servers are asked for the newest revision first; false with `MCP_PROTOCOL_NEGOTIATION=legacy`.
    pub negotiates: bool,
    /// Limits of calls.
    pub calls: CallLimits,
    /// Pauses between connection attempts.
    pub pauses: RetryPauses,
    /// How many local servers, and how many remote ones, may be connecting at the same time.
    pub local_slots: usize,
    pub remote_slots: usize,
}

/// The pause before a remote server is tried again; it doubles each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPauses {
    /// After a failed first connection.
    pub first: Duration,
    /// After a lost connection.
    pub lost: Duration,
}

impl Default for RetryPauses {
    fn default() -> Self {
        Self { first: Duration::from_millis(250), lost: Duration::from_secs(1) }
    }
}

/// Time limits of a call. `None` means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// The whole call (`MCP_TOOL_TIMEOUT`).
    pub total: Duration,
    pub total_is_set: bool,
    /// Time without an answer or progress.
    pub idle_remote: Option<Duration>,
    pub idle_local: Option<Duration>,
    /// Time to the first byte of an HTTP answer.
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

    /// Applies the limit from a server's declaration, in milliseconds; `None` changes nothing.
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
