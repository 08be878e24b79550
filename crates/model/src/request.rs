//! One request: its headers, and its body as a list of byte pieces.
//!
//! Guarantees: the body is a deterministic function of the request; stable parts come first and `messages` last, so
//! that within a session the bytes of a request up to its moving cache marker are the beginning of the next one;
//! history is never serialised again; there are at most four cache markers.

mod body;
mod marks;
mod thinking;

pub use marks::{BlockPosition, CacheLife, CacheMarks, CachePlan, CacheTtl, PrefixTokens};
pub use thinking::{ThinkingChoice, ThinkingParameter};

use crate::betas::{self, BetaFeature, ExperimentalBetas};
use crate::catalog::EffortLevel;
use crate::error::Capability;
use crate::fragment::{Fragment, Message};
use crate::object::RawObject;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;
use sys::Env;

#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// As configured; a `[1m]` suffix requests the long window and is not sent.
    pub model: String,
    pub max_tokens: u64,
    /// `None` omits the parameter.
    pub thinking: Option<ThinkingParameter>,
    /// Requests thinking between tool calls.
    pub interleaved: bool,
    pub effort: Option<EffortLevel>,
    /// `output_config.format`
    pub format: Option<Fragment>,
    /// `output_config.task_budget`, in tokens.
    pub task_budget: Option<u64>,
    pub context_management: Option<Fragment>,
    pub fast: bool,
    /// `metadata.user_id`
    pub user_id: Option<String>,
    pub tool_choice: Option<Fragment>,
    pub tools: Arc<[Fragment]>,
    pub system: Arc<[Fragment]>,
    /// How many of the first system blocks are the same in every directory: the last of them carries the cache marker.
    pub static_blocks: usize,
    /// The repaired history.
    pub messages: Vec<Message>,
    /// `None` disables caching.
    pub cache: Option<CachePlan>,
    /// Beta names given by the user.
    pub betas: Vec<String>,
    pub experiments: ExperimentalBetas,
    /// `CLAUDE_CODE_EXTRA_BODY`
    pub extra_body: Option<Arc<RawObject>>,
    pub identity: Arc<RequestIdentity>,
}

/// The session and agent that make the request.
#[derive(Clone, Debug, Default)]
pub struct RequestIdentity {
    pub session_id: String,
    /// Set only for a spawned agent.
    pub agent_id: Option<String>,
    /// Set only for an agent that was spawned by an agent.
    pub parent_agent_id: Option<String>,
    pub user_agent: String,
}

impl RequestIdentity {
    pub fn new(session_id: &str, entrypoint: &str, env: &Env) -> Self {
        Self { session_id: session_id.into(), user_agent: user_agent(entrypoint, env), ..Self::default() }
    }
}

/// `gimlet/0.1.0 (external, sdk-cli[, agent-sdk/V][, client-app/APP])`
pub fn user_agent(entrypoint: &str, env: &Env) -> String {
    let mut notes = vec!["external".to_owned(), entrypoint.to_owned()];
    if let Some(version) = env.non_empty("CLAUDE_AGENT_SDK_VERSION") {
        notes.push(format!("agent-sdk/{version}"));
    }
    if let Some(app) = env.non_empty("CLAUDE_AGENT_SDK_CLIENT_APP") {
        notes.push(format!("client-app/{app}"));
    }
    let text = format!("{}/{} ({})", wire::version::PRODUCT, wire::version::OWN, notes.join(", "));
    text.chars().filter(|c| (' '..='~').contains(c)).collect()
}

/// `CLAUDE_CODE_EXTRA_BODY`; `None` when it is not set or not a JSON object.
pub fn extra_body(env: &Env) -> Option<Arc<RawObject>> {
    let text = env.non_empty("CLAUDE_CODE_EXTRA_BODY")?;
    let object = wire::raw::compact(text).ok().and_then(|json| RawObject::parse(json.get()));
    if object.is_none() {
        tracing::warn!("CLAUDE_CODE_EXTRA_BODY is not a JSON object and is ignored");
    }
    object.map(Arc::new)
}

impl ModelRequest {
    pub fn new(model: &str, max_tokens: u64, identity: Arc<RequestIdentity>) -> Self {
        Self {
            model: model.to_owned(),
            max_tokens,
            thinking: None,
            interleaved: true,
            effort: None,
            format: None,
            task_budget: None,
            context_management: None,
            fast: false,
            user_id: None,
            tool_choice: None,
            tools: Arc::default(),
            system: Arc::default(),
            static_blocks: usize::MAX,
            messages: Vec::new(),
            cache: None,
            betas: Vec::new(),
            experiments: ExperimentalBetas::default(),
            extra_body: None,
            identity,
        }
    }

    /// The body in pieces. Large blocks are shared with the history, not copied.
    pub fn body(&self) -> Vec<Bytes> {
        body::messages(self)
    }

    /// The body of a `count_tokens` request.
    pub fn count_body(&self) -> Vec<Bytes> {
        body::count(self)
    }

    /// All headers except credentials and content type.
    pub fn headers(&self) -> Vec<(String, String)> {
        let mut out = vec![("anthropic-version".to_owned(), "2023-06-01".to_owned())];
        if let Some(value) = betas::header(&self.features(), &self.betas) {
            out.push(("anthropic-beta".to_owned(), value));
        }
        let identity = &*self.identity;
        let named = [
            ("user-agent", Some(identity.user_agent.as_str()).filter(|a| !a.is_empty())),
            ("x-app", Some("cli")),
            ("x-claude-code-session-id", Some(identity.session_id.as_str()).filter(|s| !s.is_empty())),
            ("x-claude-code-agent-id", identity.agent_id.as_deref()),
            ("x-claude-code-parent-agent-id", identity.parent_agent_id.as_deref()),
        ];
        out.extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))));
        out
    }

    /// The features of this request that need a beta header; empty when experiments are disabled.
    pub fn features(&self) -> BTreeSet<BetaFeature> {
        if !self.experiments.allow() {
            return BTreeSet::new();
        }
        let thinks =
            matches!(self.thinking, Some(ThinkingParameter::Adaptive { .. } | ThinkingParameter::Enabled { .. }));
        let used = [
            (BetaFeature::InterleavedThinking, thinks && self.interleaved),
            (BetaFeature::LongContext, crate::catalog::has_long_suffix(&self.model)),
            (BetaFeature::ContextManagement, self.context_management.is_some()),
            (BetaFeature::CacheTtl, self.cache.as_ref().is_some_and(|c| c.life.fixed == CacheTtl::Hour)),
            (BetaFeature::StructuredOutput, self.format.is_some()),
            (BetaFeature::Fast, self.fast),
            (BetaFeature::TaskBudget, self.task_budget.is_some()),
            (BetaFeature::Effort, self.effort.is_some()),
        ];
        used.into_iter().filter_map(|(feature, on)| on.then_some(feature)).collect()
    }

    /// Omits a feature that a server refused, both header and field.
    pub fn disable(&mut self, capability: Capability) {
        match capability {
            Capability::Thinking => self.thinking = None,
            Capability::Effort => self.effort = None,
            Capability::ContextManagement => self.context_management = None,
            Capability::CacheTtl => {
                if let Some(cache) = &mut self.cache {
                    cache.shorten();
                }
            }
            Capability::StructuredOutput => self.format = None,
            // The engine decides what to send instead; this crate never creates such messages.
            Capability::MidConversationSystem => {}
        }
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
