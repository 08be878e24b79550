//! What a backward pass has read so far: one small record per tree line, and the newest metadata. Bodies stay in the
//! file; only their positions are stored.

use crate::backward::LineSpan;
use crate::head::{self, CompactFields, LineHead};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use wire::entry::{ResultReplacement, TurnPosition};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    User,
    Assistant,
    System,
    Attachment,
    /// Written by old versions; used only as a link of the chain.
    Progress,
}

#[derive(Debug)]
pub(super) struct EntryNode {
    pub(super) kind: NodeKind,
    pub(super) uuid: Box<str>,
    pub(super) parent: Option<Box<str>>,
    pub(super) span: LineSpan,
    /// The position of `message` or `attachment`.
    pub(super) body: Option<LineSpan>,
    pub(super) timestamp: Option<Box<str>>,
    pub(super) message_id: Option<Box<str>>,
    /// `None` for all but assistant lines.
    pub(super) model: Option<Box<str>>,
    pub(super) prompt_id: Option<Box<str>>,
    pub(super) subtype: Option<Box<str>>,
    /// Calls an assistant line makes, or calls a user line answers.
    pub(super) calls: Vec<Box<str>>,
    pub(super) is_meta: bool,
    pub(super) is_team: bool,
    pub(super) is_compact_summary: bool,
    pub(super) is_api_error: bool,
    /// The line says in which mode it was typed: it is a prompt, whatever it looks like.
    pub(super) is_prompt: bool,
    /// The person refused the call that the line answers.
    pub(super) is_refusal: bool,
    pub(super) boundary: Option<Box<BoundaryFacts>>,
    /// The compaction that this line takes back: what lies above it is read as if there had been none.
    pub(super) undoes: Option<Box<str>>,
}

#[derive(Debug, Default)]
pub(super) struct BoundaryFacts {
    pub(super) logical_parent: Option<Box<str>>,
    pub(super) metadata: Option<Box<str>>,
    pub(super) kept: Option<PreservedMessages>,
}

/// The subtype of the line that takes a compaction back.
pub const UNDONE_SUBTYPE: &str = "x_compaction_undone";

/// Older messages that a compaction kept, placed after `anchor`.
#[derive(Debug)]
pub(super) enum PreservedMessages {
    Listed { anchor: String, uuids: Vec<String> },
    Segment { anchor: String, head: String, tail: String },
}

/// The leaf that a `last-prompt` line names.
#[derive(Debug)]
pub(super) struct LeafHint {
    pub(super) leaf: Box<str>,
    /// How many nodes follow the first of the lines that name the leaf.
    pub(super) nodes_after: usize,
    open: bool,
}

#[derive(Debug, Default)]
pub(super) struct TranscriptIndex {
    /// Last line first.
    pub(super) nodes: Vec<EntryNode>,
    pub(super) by_uuid: HashMap<Box<str>, usize>,
    pub(super) hint: Option<LeafHint>,
    pub(super) session_id: Option<String>,
    pub(super) custom_title: Option<String>,
    pub(super) ai_title: Option<String>,
    pub(super) last_prompt: Option<String>,
    pub(super) permission_mode: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) entrypoint: Option<String>,
    /// Newest first.
    pub(super) replacements: Vec<ResultReplacement>,
    /// Uuids of entries that the user took back.
    pub(super) retracted: HashSet<Box<str>>,
    pub(super) sticky: Vec<(&'static str, Box<str>)>,
    /// The newest line with the cost of the session.
    pub(super) cost_state: Option<Box<str>>,
    /// The recorded position of the newest prompt; `None` when it has none.
    pub(super) position: Option<TurnPosition>,
    /// The newest prompt was read: older ones are ignored.
    pub(super) has_position: bool,
    pub(super) skipped: usize,
    /// Offsets of the last skipped lines, newest first.
    pub(super) skipped_at: Vec<u64>,
    /// The pass reached the start of the file.
    pub(super) complete: bool,
    pub(super) sidechain: bool,
    pub(super) has_boundary: bool,
    pub(super) awaited_uuids: HashSet<String>,
    /// Nothing of the conversation counts any more.
    pub(super) is_rewound: bool,
}

fn position(line: &[u8]) -> Option<TurnPosition> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct PromptLine {
        turn_position: Option<TurnPosition>,
    }
    serde_json::from_slice::<PromptLine>(line).ok()?.turn_position
}

/// How the added line affects the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEffect {
    /// The conversation may be complete with this line.
    MayEnd,
    Other,
}

/// How many skipped lines are reported.
const MAX_NAMED_LINES: usize = 5;

impl TranscriptIndex {
    fn skip(&mut self, span: LineSpan) {
        self.skipped += 1;
        if self.skipped_at.len() < MAX_NAMED_LINES {
            self.skipped_at.push(span.offset);
        }
    }

    /// Adds the line that precedes all lines added so far.
    pub(super) fn add(&mut self, span: LineSpan, line: &[u8]) -> LineEffect {
        if line.iter().all(u8::is_ascii_whitespace) {
            if span.len > line.len() {
                self.skip(span);
            }
            return LineEffect::Other;
        }
        let Some(head) = LineHead::read(line) else {
            self.skip(span);
            return LineEffect::Other;
        };
        if head.is_damaged() && head.is_sidechain.0 == self.sidechain {
            self.skip(span);
        }
        if head.is_node() {
            return self.add_node(&head, span, line);
        }
        self.add_metadata(&head, line);
        LineEffect::Other
    }

    fn add_node(&mut self, head: &LineHead<'_>, span: LineSpan, line: &[u8]) -> LineEffect {
        if head.is_sidechain.0 != self.sidechain {
            return LineEffect::Other;
        }
        // The first value in the file wins for these; the pass goes backwards.
        take(&mut self.cwd, head.cwd.owned());
        take(&mut self.entrypoint, head.entrypoint.owned());
        take(&mut self.session_id, head.session_id.owned());
        keep(&mut self.permission_mode, head.permission_mode.owned());
        if !self.has_position && head.permission_mode.as_str().is_some() {
            self.position = position(line);
            self.has_position = true;
        }
        let Some(node) = EntryNode::read(head, span, line) else { return LineEffect::Other };
        if self.by_uuid.contains_key(&node.uuid) {
            return LineEffect::Other;
        }
        let may_end = self.ends_wait(&node) || node.parent.is_none() || node.boundary.is_some();
        self.by_uuid.insert(node.uuid.clone(), self.nodes.len());
        self.nodes.push(node);
        if may_end { LineEffect::MayEnd } else { LineEffect::Other }
    }

    /// True when `node` is the last awaited message. The newest compaction may keep messages that lie before it.
    fn ends_wait(&mut self, node: &EntryNode) -> bool {
        if let Some(facts) = node.boundary.as_ref().filter(|_| !self.has_boundary) {
            self.has_boundary = true;
            let wanted: &[String] = match &facts.kept {
                Some(PreservedMessages::Listed { uuids, .. }) => uuids,
                Some(PreservedMessages::Segment { head, .. }) => std::slice::from_ref(head),
                None => &[],
            };
            self.awaited_uuids = wanted.iter().filter(|u| self.get(u).is_none()).cloned().collect();
        }
        self.awaited_uuids.remove(&*node.uuid) && self.awaited_uuids.is_empty()
    }

    fn add_metadata(&mut self, head: &LineHead<'_>, line: &[u8]) {
        keep(&mut self.session_id, head.session_id.owned());
        match head.kind.as_str() {
            Some("custom-title") => keep(&mut self.custom_title, head.custom_title.owned()),
            Some("ai-title") => keep(&mut self.ai_title, head.ai_title.owned()),
            Some("permission-mode") => keep(&mut self.permission_mode, head.permission_mode.owned()),
            Some("last-prompt") => {
                keep(&mut self.last_prompt, head.last_prompt.owned());
                self.add_hint(head.leaf_uuid.boxed());
            }
            Some("x-retracted") => {
                let uuids = head.uuids.and_then(|raw| serde_json::from_str::<Vec<Box<str>>>(raw.get()).ok());
                self.retracted.extend(uuids.into_iter().flatten());
            }
            // The conversation was taken back to before its first prompt, and nothing was said since.
            Some("x-rewound") if self.nodes.is_empty() && self.hint.is_none() => {
                self.is_rewound = head.leaf_uuid.as_str().is_none();
            }
            Some("cost-state") if self.cost_state.is_none() => {
                self.cost_state = std::str::from_utf8(line).ok().map(Box::from);
            }
            Some("content-replacement") => self.replacements.extend(replacements(head.replacements)),
            _ => {}
        }
        let Ok(text) = std::str::from_utf8(line) else { return };
        if let Some(kind) = crate::transcript::kind_of(text)
            && !self.sticky.iter().any(|(k, _)| *k == kind)
        {
            self.sticky.push((kind, text.into()));
        }
    }

    /// Repeated lines are copies of the first one; entries written between them are newer than the leaf they name.
    fn add_hint(&mut self, leaf: Option<Box<str>>) {
        let Some(leaf) = leaf else { return };
        let nodes_after = self.nodes.len();
        match &mut self.hint {
            None => self.hint = Some(LeafHint { leaf, nodes_after, open: true }),
            Some(hint) if hint.open && hint.leaf == leaf => hint.nodes_after = nodes_after,
            Some(hint) => hint.open = false,
        }
    }

    /// Fills in values from the start of the file that the end does not have.
    pub(super) fn add_file_head(&mut self, block: &[u8]) {
        let mut first = Self { sidechain: self.sidechain, ..Self::default() };
        let whole = memchr::memrchr(b'\n', block).map_or(0, |at| at + 1);
        for line in block[..whole].split(|b| *b == b'\n').rev() {
            first.add(LineSpan::default(), line);
        }
        self.cwd = first.cwd.or(self.cwd.take());
        self.entrypoint = first.entrypoint.or(self.entrypoint.take());
        keep(&mut self.custom_title, first.custom_title);
        keep(&mut self.ai_title, first.ai_title);
        keep(&mut self.last_prompt, first.last_prompt);
        keep(&mut self.permission_mode, first.permission_mode);
        for (kind, line) in first.sticky {
            if !self.sticky.iter().any(|(k, _)| *k == kind) {
                self.sticky.push((kind, line));
            }
        }
    }

    pub(super) fn get(&self, uuid: &str) -> Option<usize> {
        self.by_uuid.get(uuid).copied()
    }
}

fn keep(slot: &mut Option<String>, value: Option<String>) {
    if slot.is_none() {
        *slot = value;
    }
}

fn take(slot: &mut Option<String>, value: Option<String>) {
    if value.is_some() {
        *slot = value;
    }
}

fn replacements(raw: Option<&RawValue>) -> Vec<ResultReplacement> {
    let list: Vec<&RawValue> = raw.and_then(|r| serde_json::from_str(r.get()).ok()).unwrap_or_default();
    list.into_iter().rev().filter_map(|r| serde_json::from_str(r.get()).ok()).collect()
}

impl EntryNode {
    fn read(head: &LineHead<'_>, span: LineSpan, line: &[u8]) -> Option<Self> {
        let kind = match head.kind.as_str()? {
            "user" => NodeKind::User,
            "assistant" => NodeKind::Assistant,
            "system" => NodeKind::System,
            "attachment" => NodeKind::Attachment,
            _ => NodeKind::Progress,
        };
        let body = match kind {
            NodeKind::User | NodeKind::Assistant => head.message,
            NodeKind::Attachment => head.attachment,
            NodeKind::System | NodeKind::Progress => None,
        };
        let message = match kind {
            NodeKind::Assistant => head.message.map(head::message).unwrap_or_default(),
            NodeKind::User | NodeKind::System | NodeKind::Attachment | NodeKind::Progress => {
                head::LineMessage::default()
            }
        };
        let calls = match kind {
            NodeKind::User => head.message.map(|raw| answered(raw.get())).unwrap_or_default(),
            NodeKind::Assistant | NodeKind::System | NodeKind::Attachment | NodeKind::Progress => {
                let made = message.content.blocks.iter().filter(|b| b.kind.as_str() == Some("tool_use"));
                made.filter_map(|b| b.id.boxed()).collect()
            }
        };
        let uuid = head.uuid.boxed()?;
        let is_undo = kind == NodeKind::System && head.subtype.as_str() == Some(UNDONE_SUBTYPE);
        let boundary = (head.subtype.as_str() == Some("compact_boundary")).then(|| Box::new(boundary_facts(head)));
        Some(Self {
            kind,
            // A line that names itself as parent has none.
            parent: head.parent.boxed().filter(|p| *p != uuid),
            uuid,
            span,
            body: body.map(|raw| value_span(raw, span, line)),
            timestamp: head.timestamp.boxed(),
            calls,
            message_id: message.id.boxed(),
            model: message.model.boxed(),
            prompt_id: head.prompt_id.boxed(),
            subtype: head.subtype.boxed(),
            is_meta: head.is_meta.0,
            is_team: head.team_name.as_str().is_some(),
            is_compact_summary: head.is_compact_summary.0,
            is_api_error: head.is_api_error.0,
            is_prompt: head.permission_mode.as_str().is_some(),
            is_refusal: head.denial.as_str() == Some("user-rejected"),
            boundary,
            undoes: is_undo.then(|| head.boundary_uuid.boxed()).flatten(),
        })
    }

    pub(super) fn is_said(&self) -> bool {
        matches!(self.kind, NodeKind::User | NodeKind::Assistant)
    }
}

/// The calls a user message answers. Results are most of a transcript's bytes, so they are searched, not parsed: a
/// quote inside a string is escaped and cannot look like the key.
fn answered(message: &str) -> Vec<Box<str>> {
    const KEY: &str = "\"tool_use_id\":";
    let mut ids = Vec::new();
    for at in memchr::memmem::find_iter(message.as_bytes(), KEY.as_bytes()) {
        let mut value = serde_json::Deserializer::from_str(&message[at + KEY.len()..]);
        if let Ok(Some(id)) = head::LenientText::deserialize(&mut value).map(|t| t.boxed()) {
            ids.push(id);
        }
    }
    ids
}

/// The position of a borrowed value in the file.
fn value_span(raw: &RawValue, span: LineSpan, line: &[u8]) -> LineSpan {
    let inside = (raw.get().as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    LineSpan { offset: span.offset + inside as u64, len: raw.get().len() }
}

fn boundary_facts(head: &LineHead<'_>) -> BoundaryFacts {
    let metadata = head.compact_metadata;
    let compact: CompactFields<'_> = metadata.and_then(|m| serde_json::from_str(m.get()).ok()).unwrap_or_default();
    let kept = match (compact.messages, compact.segment) {
        (Some(list), _) if !list.uuids.is_empty() => {
            Some(PreservedMessages::Listed { anchor: list.anchor_uuid, uuids: list.uuids })
        }
        (_, Some(s)) => {
            Some(PreservedMessages::Segment { anchor: s.anchor_uuid, head: s.head_uuid, tail: s.tail_uuid })
        }
        (Some(_) | None, None) => None,
    };
    BoundaryFacts { logical_parent: head.logical_parent.boxed(), metadata: metadata.map(|m| m.get().into()), kept }
}
