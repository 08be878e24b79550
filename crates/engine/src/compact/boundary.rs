//! The boundary of a compaction: which part of the conversation is replaced, and what its lines record.
//!
//! `compactMetadata` holds, besides the fields that other programs write:
//! - `preservedMessages` and `preservedSegment`: the kept lines by uuid. They follow `anchorUuid`: the summary, or the boundary
//!   itself when the beginning of the conversation was kept and the summary stands behind it (`direction: "from"`).
//! - `direction`: `from` or `up_to`, for a part that the user chose.
//! - `xDropped`: what this compaction dropped: `fromUuid` and `toUuid` are the first and the last of its lines in the
//!   conversation; `fromLine` and `toLine` (counted from 1) contain all of them in the file as it was. Copies of the
//!   conversation keep the uuids and not the numbers.
//! - `xCarried`: what was carried on word for word (`session_parts::carried`).

use super::handover::HandOver;
use crate::session::SessionIo;
use model::Message;
use serde_json::{Map, Value, json};
use session_parts::carried::METADATA_KEY;
use session_parts::compaction_policy::{CompactionTrigger, PartCompaction, PartDirection};
use session_parts::context::ModelContext;
use session_parts::messages::text_message;
use session_parts::transcript_writer::BoundaryLine;
use std::ops::Range;
use std::time::Duration;
use store::StoreError;
use wire::sdk::{CompactResult, SdkMessage, SystemBody, UserMessage};

/// The part of the history that is replaced, and the lines of the part that stays unchanged.
pub(super) struct CompactionCut {
    pub(super) dropped: Range<usize>,
    pub(super) dropped_lines: Vec<String>,
    pub(super) kept_lines: Vec<String>,
    pub(super) direction: Option<PartDirection>,
}

impl CompactionCut {
    pub(super) fn choose(trigger: &CompactionTrigger, context: &ModelContext) -> Self {
        let history = context.history();
        let end = history.turns().len();
        let (dropped, direction) = match trigger {
            CompactionTrigger::Manual { .. } => (0..end, None),
            CompactionTrigger::Part(PartCompaction { direction: PartDirection::From, at, .. }) => {
                (*at..end, Some(PartDirection::From))
            }
            CompactionTrigger::Part(PartCompaction { direction: PartDirection::UpTo, at, .. }) => {
                (0..*at, Some(PartDirection::UpTo))
            }
            CompactionTrigger::Crowded | CompactionTrigger::Overflow => (0..context.kept_from(), None),
        };
        let kept = if dropped.start > 0 { 0..dropped.start } else { dropped.end..end };
        let (dropped_lines, kept_lines) = (history.lines_in(dropped.clone()), history.lines_in(kept));
        Self { dropped, dropped_lines, kept_lines, direction }
    }

    /// Whether the summary stands behind the kept part.
    pub(super) fn keeps_beginning(&self) -> bool {
        self.dropped.start > 0
    }
}

pub(super) struct CompactionFacts<'a> {
    pub(super) trigger: &'a CompactionTrigger,
    pub(super) pre_tokens: u64,
    pub(super) took: Duration,
}

/// Writes the boundary and the summary, shortens the history and informs the host. Returns the messages of the latest
/// request that must be repeated.
pub(super) async fn replace(
    summary: &str,
    cut: &CompactionCut,
    handover: HandOver,
    facts: CompactionFacts<'_>,
    context: &mut ModelContext,
    io: &mut SessionIo,
) -> Result<Vec<String>, StoreError> {
    let message = handover.message(summary, cut, io);
    let (boundary_uuid, summary_uuid) = (sys::id::uuid(), sys::id::uuid());
    let logical_parent = io.output.transcript.leaf().map(str::to_owned);
    let (span, repeated) = (handover.dropped_span(cut), handover.repeated());
    handover.carry(cut, &summary_uuid, context);
    context.replace(cut.dropped.clone(), Message::user_text(&message), summary_uuid.clone());
    let post_tokens = context.tokens();
    let dropped = context.compaction().record_compaction(facts.pre_tokens, post_tokens);
    let anchor = if cut.keeps_beginning() { &boundary_uuid } else { &summary_uuid };
    let metadata = CompactionMetadata { facts, cut, anchor, post_tokens, dropped, span };
    let line = BoundaryLine {
        uuid: boundary_uuid.clone(),
        metadata: metadata.on_disk(context),
        summary: text_message(&message),
        summary_uuid: summary_uuid.clone(),
        leaf: cut.kept_lines.last().filter(|_| !cut.keeps_beginning()).cloned(),
    };
    let written = io.output.transcript.boundary(line)?;
    io.output.host.system(SystemBody::compacted(CompactResult::Success, None)).await;
    if !metadata.facts.trigger.is_automatic() {
        io.output.host.send(SdkMessage::Init(Box::new(crate::session::init(context, io)))).await;
    }
    let body =
        SystemBody::CompactBoundary { compact_metadata: metadata.on_wire(), logical_parent_uuid: logical_parent };
    io.output.host.system(body).await;
    let user = UserMessage {
        kind: "user",
        message: text_message(&message),
        parent_tool_use_id: None,
        session_id: io.output.host.session_id.clone(),
        uuid: summary_uuid,
        timestamp: written.timestamp,
        tool_use_result: None,
        tool_result_meta: Vec::new(),
        is_replay: false,
        is_synthetic: true,
        agent: None,
    };
    io.output.host.send(SdkMessage::User(Box::new(user))).await;
    Ok(repeated)
}

/// Where the dropped lines are.
#[derive(Clone, Debug, Default)]
pub(super) struct DroppedSpan {
    pub(super) uuids: Option<(String, String)>,
    /// Numbers of lines in the transcript.
    pub(super) lines: Option<(u64, u64)>,
}

struct CompactionMetadata<'a> {
    facts: CompactionFacts<'a>,
    cut: &'a CompactionCut,
    anchor: &'a str,
    post_tokens: u64,
    /// Tokens removed by all compactions of this session.
    dropped: u64,
    span: DroppedSpan,
}

/// How members are named in the file and on the wire.
type MemberName = fn(&'static str, &'static str) -> String;

impl CompactionMetadata<'_> {
    fn on_disk(&self, context: &ModelContext) -> Value {
        let mut fields = self.fields(|disk, _| disk.to_owned());
        fields.insert("messagesSummarized".into(), self.cut.dropped.len().into());
        fields.insert(METADATA_KEY.into(), serde_json::to_value(context.carried()).unwrap_or_default());
        Value::Object(fields)
    }

    fn on_wire(&self) -> Value {
        Value::Object(self.fields(|_, wire| wire.to_owned()))
    }

    fn fields(&self, name: MemberName) -> Map<String, Value> {
        let CompactionFacts { trigger, pre_tokens, took } = &self.facts;
        let mut fields = Map::new();
        fields.insert("trigger".into(), trigger.name().into());
        fields.insert(name("preTokens", "pre_tokens"), (*pre_tokens).into());
        fields.insert(name("postTokens", "post_tokens"), self.post_tokens.into());
        fields.insert(name("cumulativeDroppedTokens", "cumulative_dropped_tokens"), self.dropped.into());
        fields.insert(name("durationMs", "duration_ms"), u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into());
        if let Some(direction) = self.cut.direction {
            fields.insert("direction".into(), direction.name().into());
        }
        if let ([head, ..], Some(tail)) = (&*self.cut.kept_lines, self.cut.kept_lines.last()) {
            let (anchor, uuids) = (self.anchor, &self.cut.kept_lines);
            let anchor_name = name("anchorUuid", "anchor_uuid");
            fields.insert(
                name("preservedSegment", "preserved_segment"),
                json!({name("headUuid", "head_uuid"): head, &anchor_name: anchor, name("tailUuid", "tail_uuid"): tail}),
            );
            fields.insert(
                name("preservedMessages", "preserved_messages"),
                json!({&anchor_name: anchor, "uuids": uuids, name("allUuids", "all_uuids"): uuids}),
            );
        }
        fields.insert(name("xDropped", "x_dropped"), Value::Object(self.span.fields(name)));
        fields
    }
}

impl DroppedSpan {
    fn fields(&self, name: MemberName) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some((from, to)) = &self.uuids {
            fields.insert(name("fromUuid", "from_uuid"), from.as_str().into());
            fields.insert(name("toUuid", "to_uuid"), to.as_str().into());
        }
        if let Some((from, to)) = self.lines {
            fields.insert(name("fromLine", "from_line"), from.into());
            fields.insert(name("toLine", "to_line"), to.into());
        }
        fields
    }
}
