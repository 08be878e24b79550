//! The cheapest way to make room: results that a call can bring back are replaced by one line, the newest and those of the
//! current turn excepted. It is done before an automatic summary, when it makes enough room for what it costs: the provider's
//! cache of everything behind the first cleared result. The transcript keeps the results; it records what is sent in their
//! place (`content-replacement`), so that a resumed request has the same bytes, and a `microcompact_boundary`.

use crate::session::{LiveSession, SessionIo};
use crate::tool_facts::tool_facts;
use model::{Fragment, estimate};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use session_parts::prompts;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use store::StoreError;
use tools::ToolClass;
use wire::block::{BlockHead, MessageContent, tool_result};
use wire::entry::{MetaEntry, ResultReplacement};
use wire::sdk::SystemBody;

/// The newest results that stay.
const KEPT_RESULTS: usize = 3;
/// A result that is hardly longer than the line in its place stays, in tokens.
const MIN_SAVED: u64 = 50;
/// The share of the window that must become free: what a new cache is worth, and when the cache is cold anyway.
const WARM_PERCENT: u64 = 20;
const COLD_PERCENT: u64 = 5;
/// How much of an input is shown, in characters.
const INPUT_CHARS: usize = 200;

#[derive(Deserialize)]
struct ErrorFlag {
    #[serde(default)]
    is_error: bool,
}

/// A result that may be cleared.
struct ClearableResult {
    id: String,
    line: String,
    short: Fragment,
    saved: u64,
    /// The file that was read.
    file: Option<String>,
}

/// What is cleared at once.
struct ResultClearing {
    found: Vec<ClearableResult>,
    pre_tokens: u64,
    saved: u64,
}

impl ResultClearing {
    fn shorter(&self) -> BTreeMap<String, Fragment> {
        self.found.iter().map(|result| (result.id.clone(), result.short.clone())).collect()
    }

    /// `name` chooses between the names of members in the file and on the wire.
    fn metadata(&self, name: fn(&'static str, &'static str) -> &'static str) -> Value {
        let ids: Vec<&str> = self.found.iter().map(|result| result.id.as_str()).collect();
        json!({
            "trigger": "auto",
            name("preTokens", "pre_tokens"): self.pre_tokens,
            name("tokensSaved", "tokens_saved"): self.saved,
            name("compactedToolIds", "compacted_tool_ids"): ids,
        })
    }

    /// Writes what is sent in the place of the results, and the boundary.
    fn record(&self, io: &mut SessionIo) -> Result<(), StoreError> {
        let replacement = |result: &ClearableResult| ResultReplacement {
            kind: "tool-result".into(),
            tool_use_id: result.id.clone(),
            replacement: result.line.clone(),
        };
        io.output.transcript.meta(MetaEntry::ContentReplacement {
            replacements: self.found.iter().map(replacement).collect(),
            session_id: io.output.host.session_id.clone(),
            uuid: sys::id::uuid(),
            timestamp: sys::clock::now_iso(),
        })?;
        let mut fields = Map::new();
        fields.insert("content".into(), "Results of calls cleared".into());
        fields.insert("isMeta".into(), false.into());
        fields.insert("level".into(), "info".into());
        fields.insert("microcompactMetadata".into(), self.metadata(|disk, _| disk));
        io.output.transcript.system("microcompact_boundary", fields)
    }
}

struct RepeatableCall {
    name: String,
    input: Box<RawValue>,
}

impl LiveSession {
    /// Clears old results when that makes enough room. Returns whether it did.
    pub(crate) async fn clear_old_results(&mut self) -> Result<bool, StoreError> {
        let found = self.clearable_results();
        let saved: u64 = found.iter().map(|result| result.saved).sum();
        if saved == 0 {
            return Ok(false);
        }
        let pre_tokens = self.context.tokens();
        let (limit, window) = self.context.compaction_sizes();
        let percent = if self.is_cache_cold(pre_tokens) { COLD_PERCENT } else { WARM_PERCENT };
        if saved < window * percent / 100 || pre_tokens.saturating_sub(saved) >= limit {
            return Ok(false);
        }
        self.forget_cleared_files(&found);
        let clearing = ResultClearing { found, pre_tokens, saved };
        clearing.record(&mut self.io)?;
        self.context.clear_results(&clearing.shorter());
        let microcompact_metadata = clearing.metadata(|_, wire| wire);
        self.io.output.host.system(SystemBody::MicrocompactBoundary { microcompact_metadata }).await;
        self.publish_usage();
        Ok(true)
    }

    /// Whether the provider holds nothing of the conversation that clearing could lose.
    fn is_cache_cold(&mut self, tokens: u64) -> bool {
        let Ok(request) = self.context.summary_request("", 0) else { return false };
        let place = (self.io.provider.connection.base_url(), sys::clock::now_ms());
        self.context.cache.expected(&request, place, tokens) == 0
    }

    /// Results of calls before the current turn that can be made again, without the newest.
    fn clearable_results(&self) -> Vec<ClearableResult> {
        let mut calls: HashMap<String, RepeatableCall> = HashMap::new();
        let mut found = Vec::new();
        for entry in self.context.history().entries(0..self.context.turn_start()) {
            for block in &entry.turn.blocks {
                match BlockHead::read(block.raw()) {
                    Some(BlockHead::ToolUse { id, name, input }) if tool_facts(&name).class.is_repeatable() => {
                        calls.insert(
                            id.into_owned(),
                            RepeatableCall { name: name.into_owned(), input: input.to_owned() },
                        );
                    }
                    Some(BlockHead::ToolResult { tool_use_id }) => {
                        let Some(call) = calls.remove(&*tool_use_id) else { continue };
                        found.extend(clearable(&tool_use_id, &call, block));
                    }
                    _ => {}
                }
            }
        }
        found.truncate(found.len().saturating_sub(KEPT_RESULTS));
        found.retain(|result: &ClearableResult| result.saved >= MIN_SAVED);
        found
    }

    /// A file whose content the conversation no longer holds must be read again before it is edited.
    fn forget_cleared_files(&self, cleared: &[ClearableResult]) {
        let ids: HashSet<&str> = cleared.iter().map(|result| result.id.as_str()).collect();
        let mut held: HashSet<String> = HashSet::new();
        for message in self.context.history().turns() {
            for block in &message.blocks {
                if let Some(BlockHead::ToolUse { id, name, input }) = BlockHead::read(block.raw())
                    && !ids.contains(&*id)
                {
                    held.extend(tool_facts(&name).file.and_then(|field| field.path_in(input)));
                }
            }
        }
        let cwd = self.io.workspace().cwd;
        let files = cleared.iter().filter_map(|result| result.file.as_ref());
        let gone: Vec<PathBuf> = files.filter(|file| !held.contains(*file)).map(|file| cwd.join(file)).collect();
        self.io.tooling.state.reads.forget(&gone);
    }
}

/// The result as it may be cleared; `None` for a failure, which says why something does not work.
fn clearable(id: &str, call: &RepeatableCall, block: &Fragment) -> Option<ClearableResult> {
    let ErrorFlag { is_error } = serde_json::from_str(block.get()).ok()?;
    if is_error {
        return None;
    }
    let facts = tool_facts(&call.name);
    let line = prompts::cleared_result(&call.name, &shown_input(&call.input));
    let short = Fragment::new(tool_result(id, &MessageContent::Text(line.clone()), false).ok()?);
    let saved = estimate::fragment(block).saturating_sub(estimate::fragment(&short));
    let file = facts.file.filter(|_| facts.class == ToolClass::Read).and_then(|field| field.path_in(&call.input));
    Some(ClearableResult { id: id.to_owned(), line, short, saved, file })
}

/// The input on one line, its long values cut.
fn shown_input(input: &RawValue) -> String {
    let fields: BTreeMap<String, serde_json::Value> = serde_json::from_str(input.get()).unwrap_or_default();
    let text = serde_json::to_string(&fields).unwrap_or_default();
    match text.char_indices().nth(INPUT_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
