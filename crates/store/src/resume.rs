//! Loads a conversation: reads backwards from the end, follows parent links to the root or the last compaction, and
//! stops there. Lines that cannot be parsed are skipped. Nothing is written.

mod chain;
mod index;

use crate::backward::{BackwardLines, LineSpan, ReadAt};
use crate::error::StoreError;
use crate::head::LineHead;
use chain::ChainResult;
pub use index::UNDONE_SUBTYPE;
use index::{EntryNode, LineEffect, NodeKind, TranscriptIndex};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use wire::entry::{MessageHead, ResultReplacement};

/// In bytes: the part of the file's start that is read for values that the end does not have.
const HEAD_BYTES: u64 = 64 << 10;
/// How many bytes from the end are searched for the last response.
const WEIGHT_TAIL: usize = 1 << 20;
/// How many attempts to resolve the conversation are made before they become less frequent.
const FREE_TRIES: usize = 8;

#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `--resume-session-at`: the last entry to keep.
    pub at: Option<String>,
    /// `--resume-drops-turn`: every entry that `at` drops must belong to the turn of this prompt.
    pub drops_turn: Option<String>,
    /// The file belongs to a subagent: its lines are side chains.
    pub sidechain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    User,
    Assistant,
    System,
    Attachment,
}

/// One entry of the loaded conversation.
#[derive(Clone, Debug)]
pub struct LoadedEntry {
    pub kind: EntryKind,
    pub uuid: Box<str>,
    /// As written in the file; the order of `LoadedConversation::entries` is authoritative.
    pub parent: Option<Box<str>>,
    pub timestamp: Option<Box<str>>,
    /// `message` of user and assistant entries, `attachment` of attachments: valid JSON, byte for byte.
    pub body: Option<Box<str>>,
    pub message_id: Option<Box<str>>,
    pub model: Option<Box<str>>,
    pub prompt_id: Option<Box<str>>,
    /// Set for system entries.
    pub subtype: Option<Box<str>>,
    /// Ids of the calls an assistant entry makes, or a user entry answers.
    pub calls: Vec<Box<str>>,
    pub is_meta: bool,
    pub is_compact_summary: bool,
    pub is_api_error: bool,
    /// The line says in which mode it was typed: it is a prompt, whatever it looks like.
    pub is_prompt: bool,
    /// The person refused the call that the entry answers.
    pub is_refusal: bool,
    /// The user took it back: it is not sent to the model.
    pub is_retracted: bool,
    pub(crate) span: LineSpan,
}

impl LoadedEntry {
    pub fn message(&self) -> Option<MessageHead<'_>> {
        match self.kind {
            EntryKind::User | EntryKind::Assistant => serde_json::from_str(self.body.as_deref()?).ok(),
            EntryKind::System | EntryKind::Attachment => None,
        }
    }

    /// Where its line begins in the file.
    pub fn offset(&self) -> u64 {
        self.span.offset
    }

    /// True for a user entry that answers calls.
    pub fn is_tool_result(&self) -> bool {
        self.kind == EntryKind::User && !self.calls.is_empty()
    }
}

/// The compaction the conversation starts from.
#[derive(Clone, Debug)]
pub struct CompactBoundary {
    pub uuid: Box<str>,
    pub logical_parent: Option<Box<str>>,
    /// `compactMetadata`, raw JSON.
    pub metadata: Option<Box<str>>,
}

/// What a resumed session continues from.
#[derive(Clone, Debug, Default)]
pub struct LoadedConversation {
    pub session_id: String,
    pub path: PathBuf,
    /// In conversation order.
    pub entries: Vec<LoadedEntry>,
    /// The parent of the next entry.
    pub leaf_uuid: Option<Box<str>>,
    pub replacements: Vec<ResultReplacement>,
    pub custom_title: Option<String>,
    pub ai_title: Option<String>,
    pub last_prompt: Option<String>,
    pub permission_mode: Option<String>,
    /// The model of the last assistant entry that a model wrote.
    pub model: Option<String>,
    /// The directory of the session.
    pub cwd: Option<String>,
    pub entrypoint: Option<String>,
    pub boundary: Option<CompactBoundary>,
    /// Metadata lines to hand to `Transcript::remember`.
    pub sticky: Vec<Box<str>>,
    /// The newest `cost-state` line.
    pub cost_state: Option<Box<str>>,
    /// The position of the newest prompt in the session; `None` when it has none recorded.
    pub position: Option<wire::entry::TurnPosition>,
    pub skipped_lines: usize,
    /// Offsets of some skipped lines, newest first.
    skipped_at: Vec<u64>,
    /// The conversation was cut by `LoadOptions::at`.
    pub truncated: bool,
    /// Length of the file when it was read.
    pub(crate) len: u64,
}

impl LoadedConversation {
    /// Names the lines that could not be parsed; `None` when there are none. Reads the file when there are any.
    pub fn unreadable_lines(&self) -> Option<String> {
        if self.skipped_lines == 0 {
            return None;
        }
        let mut numbers: Vec<String> =
            self.skipped_at.iter().filter_map(|at| line_number(&self.path, *at).ok()).map(|n| n.to_string()).collect();
        numbers.reverse();
        let more = self.skipped_lines - numbers.len();
        let lines = match (numbers.len(), more) {
            (0, 1) => "1 line".to_owned(),
            (0, more) => format!("{more} lines"),
            (1, 0) => format!("line {}", numbers.join("")),
            (_, 0) => format!("lines {}", numbers.join(", ")),
            (_, more) => format!("lines {} and {more} more", numbers.join(", ")),
        };
        Some(format!(
            "Warning: {lines} of {} could not be read and {} left out of the conversation; the file was not changed.",
            self.path.display(),
            if self.skipped_lines == 1 { "is" } else { "are" }
        ))
    }

    /// The whole line of an entry, read again from the file.
    pub fn raw_line(&self, entry: &LoadedEntry) -> Result<String, StoreError> {
        let read = || text(&File::open(&self.path)?, entry.span);
        read().map(String::from).map_err(|e| StoreError::read(&self.path, e))
    }
}

/// The number of the line that begins at `offset`, counted from 1.
fn line_number(path: &Path, offset: u64) -> io::Result<u64> {
    let mut before = io::Read::take(File::open(path)?, offset);
    let mut buffer = vec![0; 64 << 10];
    let mut number = 1;
    loop {
        match io::Read::read(&mut before, &mut buffer)? {
            0 => return Ok(number),
            read => number += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64,
        }
    }
}

/// Loads the conversation in `path`. An existing file without any message is `StoreError::Empty`.
pub fn load(path: &Path, options: &LoadOptions) -> Result<LoadedConversation, StoreError> {
    let opened = File::open(path).and_then(|file| file.metadata().map(|m| (file, m.len())));
    let (file, len) = opened.map_err(|e| StoreError::read(path, e))?;
    let mut loaded = load_from(&file, len, path, options)?;
    if let Some(stem) = path.file_stem().and_then(|s| s.to_str()).filter(|s| sys::id::is_uuid(s)) {
        stem.clone_into(&mut loaded.session_id);
    }
    Ok(loaded)
}

/// Loads the conversation as it was when the file ended at `offset`.
pub(crate) fn load_before(path: &Path, offset: u64, options: &LoadOptions) -> Result<LoadedConversation, StoreError> {
    let file = File::open(path).map_err(|e| StoreError::read(path, e))?;
    load_from(&file, offset, path, options)
}

/// Loads a transcript from memory.
pub fn load_bytes(bytes: &[u8], options: &LoadOptions) -> Result<LoadedConversation, StoreError> {
    load_from(&bytes, bytes.len() as u64, Path::new(""), options)
}

fn load_from<R: ReadAt>(
    source: &R,
    len: u64,
    path: &Path,
    options: &LoadOptions,
) -> Result<LoadedConversation, StoreError> {
    let fail = |e| StoreError::read(path, e);
    let (mut index, found) = scan(source, len, options).map_err(fail)?;
    let found = match (found, &options.at) {
        (Some(found), _) => Some(found),
        (None, None) if index.is_rewound => None,
        (None, Some(uuid)) if !index.nodes.is_empty() => {
            return Err(StoreError::UnknownEntry { uuid: uuid.clone() });
        }
        (None, _) => return Err(StoreError::Empty { path: path.to_path_buf() }),
    };
    if let (Some(prompt), Some(found)) = (&options.drops_turn, &found) {
        check_dropped(&index, found, prompt)?;
    }
    if !index.complete {
        let mut head = vec![0; HEAD_BYTES.min(len) as usize];
        source.read_at(&mut head, 0).map_err(fail)?;
        index.add_file_head(&head);
    }
    let mut loaded = assemble(source, index, found.as_ref()).map_err(fail)?;
    loaded.path = path.to_path_buf();
    loaded.len = len;
    loaded.truncated = options.at.is_some();
    Ok(loaded)
}

/// The conversation to load and, when dropped turns must be checked, the uncut one.
struct ResolvedConversation {
    order: Vec<usize>,
    leaf: usize,
    whole: Option<Vec<usize>>,
}

/// Reads backwards until the conversation is complete. Resolving is tried only at lines that can complete it, and less
/// often as the pass gets longer.
fn scan<R: ReadAt>(
    source: &R,
    len: u64,
    options: &LoadOptions,
) -> io::Result<(TranscriptIndex, Option<ResolvedConversation>)> {
    let mut index = TranscriptIndex { sidechain: options.sidechain, ..TranscriptIndex::default() };
    let mut lines = BackwardLines::new(source, len);
    let (mut tries, mut next_try) = (0, 0);
    while let Some((span, line)) = lines.next_line()? {
        let may_end = index.add(span, line) == LineEffect::MayEnd;
        if index.is_rewound && options.at.is_none() {
            return Ok((index, None));
        }
        if !may_end || (tries >= FREE_TRIES && index.nodes.len() < next_try) {
            continue;
        }
        if let Some(found) = try_resolve(&index, options) {
            return Ok((index, Some(found)));
        }
        tries += 1;
        next_try = index.nodes.len() * 3 / 2;
    }
    index.complete = true;
    let found = try_resolve(&index, options);
    Ok((index, found))
}

fn try_resolve(index: &TranscriptIndex, options: &LoadOptions) -> Option<ResolvedConversation> {
    let ChainResult::Chain { order, leaf } = chain::resolve(index, options.at.as_deref()) else { return None };
    if options.drops_turn.is_none() {
        return Some(ResolvedConversation { order, leaf, whole: None });
    }
    let ChainResult::Chain { order: whole, .. } = chain::resolve(index, None) else { return None };
    Some(ResolvedConversation { order, leaf, whole: Some(whole) })
}

/// Checks that every dropped entry belongs to the turn that `prompt` began.
fn check_dropped(index: &TranscriptIndex, found: &ResolvedConversation, prompt: &str) -> Result<(), StoreError> {
    let reject = |reason: String| Err(StoreError::DropsTurn { reason });
    if prompt.is_empty() {
        return reject("no prompt uuid was given".into());
    }
    let whole = found.whole.as_deref().unwrap_or(&found.order);
    let Some(start) = whole.iter().position(|&at| *index.nodes[at].uuid == *prompt) else {
        return reject(format!("no entry {prompt} in this conversation"));
    };
    let first = &index.nodes[whole[start]];
    let end = whole[start + 1..].iter().position(|&at| begins_turn(&index.nodes[at], first));
    let turn = start..end.map_or(whole.len(), |n| start + 1 + n);
    let kept: HashSet<usize> = found.order.iter().copied().collect();
    let stray = whole.iter().enumerate().find(|(at, node)| !kept.contains(node) && !turn.contains(at));
    match stray {
        None => Ok(()),
        Some((_, &at)) => {
            reject(format!("entry {} would be dropped but is not part of the turn of {prompt}", index.nodes[at].uuid))
        }
    }
}

fn begins_turn(node: &EntryNode, current: &EntryNode) -> bool {
    let prompt = node.kind == NodeKind::User && node.calls.is_empty() && !node.is_meta && !node.is_compact_summary;
    prompt && (node.prompt_id.is_none() || node.prompt_id != current.prompt_id)
}

/// The size of a conversation, and when it was last used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationWeight {
    /// Tokens of the last request and its response.
    pub tokens: u64,
    /// Milliseconds since the epoch.
    pub last_at: u64,
    /// The model that wrote the response.
    pub model: Option<String>,
}

/// The weight of the conversation in `path`, from its last response. `None` when none is near the end of the file, or
/// when nothing was answered since the last compaction.
pub fn weight(path: &Path) -> Option<ConversationWeight> {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct AnswerUsage {
        input_tokens: u64,
        cache_creation_input_tokens: u64,
        cache_read_input_tokens: u64,
        output_tokens: u64,
    }
    #[derive(serde::Deserialize)]
    struct WeighedAnswer {
        usage: AnswerUsage,
        #[serde(default)]
        model: Option<String>,
    }
    let file = File::open(path).ok()?;
    let mut lines = BackwardLines::new(&file, file.metadata().ok()?.len());
    let mut seen = 0;
    while seen < WEIGHT_TAIL
        && let Ok(Some((_, line))) = lines.next_line()
    {
        seen += line.len();
        let Some(head) = LineHead::read(line) else { continue };
        if head.subtype.as_str() == Some("compact_boundary") && !head.is_sidechain.0 {
            return None;
        }
        if head.kind.as_str() != Some("assistant") || !head.is_message() {
            continue;
        }
        let Some(WeighedAnswer { usage, model }) = head.message.and_then(|raw| serde_json::from_str(raw.get()).ok())
        else {
            continue;
        };
        let tokens = usage.input_tokens
            + usage.cache_creation_input_tokens
            + usage.cache_read_input_tokens
            + usage.output_tokens;
        if tokens > 0 {
            return Some(ConversationWeight {
                tokens,
                last_at: head.timestamp.as_str().and_then(sys::clock::parse_iso)?,
                model,
            });
        }
    }
    None
}

/// Reads the bodies of the chosen nodes and builds the conversation; an empty one without them.
fn assemble<R: ReadAt>(
    source: &R,
    index: TranscriptIndex,
    found: Option<&ResolvedConversation>,
) -> io::Result<LoadedConversation> {
    let leaf_uuid = found.map(|found| index.nodes[found.leaf].uuid.clone());
    let mut nodes: Vec<Option<EntryNode>> = index.nodes.into_iter().map(Some).collect();
    let mut loaded = LoadedConversation {
        session_id: index.session_id.unwrap_or_default(),
        leaf_uuid,
        custom_title: index.custom_title,
        ai_title: index.ai_title,
        last_prompt: index.last_prompt,
        permission_mode: index.permission_mode,
        cwd: index.cwd,
        entrypoint: index.entrypoint,
        replacements: index.replacements.into_iter().rev().collect(),
        sticky: index.sticky.into_iter().rev().map(|(_, line)| line).collect(),
        cost_state: index.cost_state,
        position: index.position,
        skipped_lines: index.skipped,
        skipped_at: index.skipped_at,
        ..LoadedConversation::default()
    };
    for &at in found.iter().flat_map(|found| &found.order) {
        let Some(node) = nodes[at].take() else { continue };
        if let Some(facts) = &node.boundary {
            loaded.boundary = Some(CompactBoundary {
                uuid: node.uuid.clone(),
                logical_parent: facts.logical_parent.clone(),
                metadata: facts.metadata.clone(),
            });
        }
        if let Some(model) = node.model.as_deref().filter(|model| *model != "<synthetic>") {
            loaded.model = Some(model.to_owned());
        }
        let is_retracted = index.retracted.contains(&node.uuid);
        loaded.entries.extend(entry(source, node)?.map(|entry| LoadedEntry { is_retracted, ..entry }));
    }
    Ok(loaded)
}

fn entry<R: ReadAt>(source: &R, node: EntryNode) -> io::Result<Option<LoadedEntry>> {
    let kind = match node.kind {
        NodeKind::User => EntryKind::User,
        NodeKind::Assistant => EntryKind::Assistant,
        NodeKind::System => EntryKind::System,
        NodeKind::Attachment => EntryKind::Attachment,
        NodeKind::Progress => return Ok(None),
    };
    Ok(Some(LoadedEntry {
        kind,
        uuid: node.uuid,
        parent: node.parent,
        timestamp: node.timestamp,
        body: node.body.map(|span| text(source, span)).transpose()?,
        message_id: node.message_id,
        model: node.model,
        prompt_id: node.prompt_id,
        subtype: node.subtype,
        calls: node.calls,
        is_meta: node.is_meta,
        is_compact_summary: node.is_compact_summary,
        is_api_error: node.is_api_error,
        is_prompt: node.is_prompt,
        is_refusal: node.is_refusal,
        is_retracted: false,
        span: node.span,
    }))
}

fn text<R: ReadAt>(source: &R, span: LineSpan) -> io::Result<Box<str>> {
    let mut bytes = vec![0; span.len];
    source.read_at(&mut bytes, span.offset)?;
    let text = String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
    Ok(text.into_boxed_str())
}

#[cfg(test)]
#[path = "resume_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "resume/rules_tests.rs"]
mod rules_tests;
