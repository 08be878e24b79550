//! The positions of the cache markers. At most four: the end of tools and static system prompt, which sessions of all
//! directories share; the end of the context in the first message; one kept from an earlier request when a step added
//! more blocks than a lookup reaches back; and the moving one on the last block. A kept marker does not move, so that
//! the bytes before it never change. What is too short for the model's cache gets no marker.

use crate::estimate;
use crate::fragment::{Fragment, FragmentHead, Message};
use sys::Env;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheTtl {
    #[default]
    FiveMinutes,
    Hour,
}

impl CacheTtl {
    /// `None`: caching is disabled for this model. One hour only if requested, or if the account includes it.
    pub fn from_env(env: &Env, model: &str, included_hour: bool) -> Option<Self> {
        let family = ["FABLE", "OPUS", "SONNET", "HAIKU"]
            .into_iter()
            .find(|f| model.to_ascii_uppercase().contains(f))
            .map(|f| format!("DISABLE_PROMPT_CACHING_{f}"));
        if env.is_on("DISABLE_PROMPT_CACHING") || family.is_some_and(|name| env.is_on(&name)) {
            return None;
        }
        let hour = !env.is_on("FORCE_PROMPT_CACHING_5M") && (included_hour || env.is_on("ENABLE_PROMPT_CACHING_1H"));
        Some(if hour { Self::Hour } else { Self::FiveMinutes })
    }

    /// The name that the API uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::Hour => "1h",
        }
    }

    pub fn millis(self) -> u64 {
        match self {
            Self::FiveMinutes => 5 * 60_000,
            Self::Hour => 60 * 60_000,
        }
    }
}

/// How long the parts of a request are cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheLife {
    /// The static prompt and the context, which many requests and sessions read.
    pub fixed: CacheTtl,
    /// The conversation, which is written with every request.
    pub moving: CacheTtl,
}

impl CacheLife {
    /// `None`: caching is disabled for this model. An account that includes the long life gets it for the fixed parts;
    /// a user who asks for it, for everything.
    pub fn from_env(env: &Env, model: &str, included_hour: bool) -> Option<Self> {
        let moving = CacheTtl::from_env(env, model, false)?;
        let fixed = CacheTtl::from_env(env, model, included_hour)?;
        Some(Self { fixed, moving })
    }
}

/// The tokens of what stands before the conversation, estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixTokens {
    /// Tools and the static part of the system prompt.
    pub fixed: u64,
    /// Tools and the whole system prompt.
    pub whole: u64,
}

/// The position of a block in the conversation: index of its message, index in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockPosition {
    pub message: usize,
    pub block: usize,
}

/// The markers of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CachePlan {
    pub life: CacheLife,
    /// Ascending; the last one is the moving marker.
    pub marks: Vec<BlockPosition>,
    /// The marker at the end of the context, if there is one.
    pub context: Option<BlockPosition>,
    /// Tools and system prompt are too short to be cached.
    pub skips_prefix: bool,
}

impl CachePlan {
    /// Without the markers on what has fewer than `floor` tokens, counted from the beginning of the request.
    #[must_use]
    pub fn above_floor(mut self, messages: &[Message], prefix: PrefixTokens, floor: u64) -> Self {
        self.skips_prefix = prefix.fixed < floor;
        let mut tokens = prefix.whole;
        let blocks = messages.iter().enumerate().flat_map(|(message, turn)| {
            turn.blocks.iter().enumerate().map(move |(block, fragment)| (BlockPosition { message, block }, fragment))
        });
        let reached = blocks.into_iter().find_map(|(position, fragment)| {
            tokens += estimate::fragment(fragment);
            (tokens >= floor).then_some(position)
        });
        self.marks.retain(|mark| reached.is_some_and(|reached| *mark >= reached));
        self
    }

    /// How long the marker at `position` lives; `None` when there is none.
    pub(super) fn life_at(&self, position: BlockPosition) -> Option<CacheTtl> {
        let is_fixed = self.context == Some(position);
        self.marks.contains(&position).then_some(if is_fixed { self.life.fixed } else { self.life.moving })
    }

    /// Uses only the short life, which every server knows.
    pub(super) fn shorten(&mut self) {
        self.life = CacheLife::default();
    }
}

/// Records the marker positions of a session.
#[derive(Clone, Debug, Default)]
pub struct CacheMarks {
    /// The end of the project context; `None` when it gets no separate marker.
    pub context: Option<BlockPosition>,
    kept: Vec<BlockPosition>,
    last: Option<BlockPosition>,
}

/// A lookup reaches back 20 blocks; two are left as slack.
const LOOKUP_BLOCKS: usize = 18;
/// Four in total, one of them on the system prompt.
const MAX_MESSAGE_MARKS: usize = 3;

impl CacheMarks {
    /// The markers for a request with these messages. Call once per request that is actually sent.
    pub fn plan(&mut self, messages: &[Message], life: CacheLife) -> CachePlan {
        let Some(moving) = last_markable(messages) else { return CachePlan { life, ..CachePlan::default() } };
        // A history that became shorter (compaction, rewind) starts with no markers.
        if self.last.is_some_and(|last| last > moving) {
            self.kept.clear();
            self.last = None;
        }
        if let Some(last) = self.last
            && last < moving
            && blocks_between(messages, last, moving) > LOOKUP_BLOCKS
        {
            self.kept.push(last);
        }
        let context = self.context.filter(|c| *c < moving && at(messages, *c).is_some_and(markable));
        let room = MAX_MESSAGE_MARKS - 1 - usize::from(context.is_some());
        let surplus = self.kept.len().saturating_sub(room);
        self.kept.drain(..surplus);
        self.last = Some(moving);
        let mut marks: Vec<_> = self.kept.iter().copied().chain(context).chain([moving]).collect();
        marks.sort_unstable();
        marks.dedup();
        CachePlan { life, marks, context, skips_prefix: false }
    }
}

fn at(messages: &[Message], position: BlockPosition) -> Option<&Fragment> {
    messages.get(position.message)?.blocks.get(position.block)
}

/// The API does not accept a marker on thinking or on empty text.
fn markable(block: &Fragment) -> bool {
    match block.head() {
        FragmentHead::Thinking
        | FragmentHead::RedactedThinking
        | FragmentHead::Invalid
        | FragmentHead::Text { blank: true } => false,
        FragmentHead::Text { blank: false }
        | FragmentHead::ToolUse { .. }
        | FragmentHead::ToolResult { .. }
        | FragmentHead::ServerToolUse { .. }
        | FragmentHead::ServerToolResult { .. }
        | FragmentHead::Image
        | FragmentHead::Document
        | FragmentHead::Other => true,
    }
}

fn last_markable(messages: &[Message]) -> Option<BlockPosition> {
    let (turn, last) = messages.iter().enumerate().next_back()?;
    let found = last.blocks.iter().rposition(markable).map(|block| BlockPosition { message: turn, block });
    found.or_else(|| last_markable(&messages[..turn]))
}

fn blocks_between(messages: &[Message], from: BlockPosition, to: BlockPosition) -> usize {
    let whole: usize = messages[from.message..to.message].iter().map(|t| t.blocks.len()).sum();
    (whole + to.block).saturating_sub(from.block)
}

/// The marker as the last key of a block whose closing brace was removed.
pub(super) fn closing(ttl: CacheTtl) -> &'static str {
    match ttl {
        CacheTtl::FiveMinutes => r#","cache_control":{"type":"ephemeral"}}"#,
        CacheTtl::Hour => r#","cache_control":{"type":"ephemeral","ttl":"1h"}}"#,
    }
}
