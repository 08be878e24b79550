//! Compaction: the model summarises the history, and the summary replaces it. The conversation stays in the same
//! file; the newest messages and the user's latest prompt are kept unchanged. A compaction that fails or is
//! interrupted leaves the conversation unchanged.

mod answers;
mod failing_check;
mod reattach;
mod review;

use crate::session::{LiveSession, SessionIo};
use answers::{SummaryAnswers, SummaryProgress};
use model::{Message, ModelError, ResponseProgress, RetryPolicy, RetryVerdict, catalog};
use review::SummaryReview;
use serde_json::{Value, json};
use session_parts::compaction_policy::CompactionTrigger;
use session_parts::context::{ConversationTooLarge, ModelContext};
use session_parts::messages::Attachment;
use session_parts::messages::attachment::LATEST_WORDS;
use session_parts::prompts;
use session_parts::provider::ProviderConnectionError;
use session_parts::transcript_writer::BoundaryLine;
use std::fmt::Write;
use std::time::{Duration, Instant};
use store::StoreError;
use tokio_util::sync::CancellationToken;
use wire::sdk::{CompactResult, SdkMessage, SystemBody, UserMessage};

/// How often a summary request that does not fit is made smaller.
const MAX_SHRINKS: u32 = 5;
/// The share of the history that the first cut removes after the API refused the whole, and the share each further
/// cut adds.
const FIRST_SHARE: f64 = 0.3;
const NEXT_SHARE: f64 = 0.25;

#[derive(Debug)]
pub(crate) enum CompactionOutcome {
    /// The summary text that the model wrote.
    Done(String),
    Interrupted,
    Failed(String),
}

/// Runs one compaction and reports its progress to the host.
pub(crate) async fn run(
    trigger: &CompactionTrigger,
    context: &mut ModelContext,
    io: &mut SessionIo,
    token: &CancellationToken,
) -> Result<CompactionOutcome, StoreError> {
    let started = Instant::now();
    let pre_tokens = context.tokens();
    io.output.host.system(SystemBody::compacting(trigger.is_automatic().then_some(0))).await;
    let summary = match summarise(trigger, context, io, token).await {
        Ok(summary) => summary,
        Err(stop) => {
            let why = stop.to_string();
            io.output.host.system(SystemBody::compacted(CompactResult::Failed, Some(why.clone()))).await;
            return Ok(if matches!(stop, CompactionError::Interrupted) {
                CompactionOutcome::Interrupted
            } else {
                CompactionOutcome::Failed(why)
            });
        }
    };
    let SummaryReview::Use(summary) = review::review(summary, trigger, io, token).await else {
        let why = "the summary was not accepted".to_owned();
        io.output.host.system(SystemBody::compacted(CompactResult::Failed, Some(why.clone()))).await;
        return Ok(CompactionOutcome::Failed(why));
    };
    let kept = KeptTail::choose(trigger, context);
    let told = summary.clone() + &failing_check::quoted(&context.history().turns()[..kept.start]);
    let message = summary_message(&told, io);
    replace(&message, &kept, CompactionFacts { trigger, pre_tokens, took: started.elapsed() }, context, io).await?;
    Ok(CompactionOutcome::Done(summary))
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
enum CompactionError {
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Link(#[from] ProviderConnectionError),
    #[error("{0}")]
    Large(#[from] ConversationTooLarge),
    #[error("the model answered without a summary")]
    Empty,
    #[error("{0}")]
    Model(ModelError),
}

async fn summarise(
    trigger: &CompactionTrigger,
    context: &mut ModelContext,
    io: &mut SessionIo,
    token: &CancellationToken,
) -> Result<String, CompactionError> {
    let instruction = match trigger {
        CompactionTrigger::Manual { instructions: Some(wish) } => {
            format!("{}\nThe user asks that the summary heeds this: {wish}", prompts::COMPACT)
        }
        CompactionTrigger::Manual { instructions: None } | CompactionTrigger::Crowded | CompactionTrigger::Overflow => {
            prompts::COMPACT.to_owned()
        }
    };
    let mut drop = if *trigger == CompactionTrigger::Overflow { context.oldest_share(FIRST_SHARE) } else { 0 };
    let mut policy = RetryPolicy::from_env(&io.env);
    let mut shrinks = 0;
    let mut answers = SummaryAnswers::default();
    loop {
        let client = tokio::select! {
            biased;
            () = token.cancelled() => return Err(CompactionError::Interrupted),
            client = io.connect() => client?,
        };
        let mut request = context.summary_request(&instruction, drop)?;
        request.messages.extend(answers.exchange.iter().cloned());
        let sent_at = Instant::now();
        let answered = tokio::select! {
            biased;
            () = token.cancelled() => return Err(CompactionError::Interrupted),
            answered = client.complete(&request) => answered,
        };
        io.output.ledger.api_ms += u64::try_from(sent_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let error = match answered {
            Ok(done) => {
                let asked = context.model().to_owned();
                let model = if done.assembly.model.is_empty() { asked.clone() } else { done.assembly.model.clone() };
                io.output.ledger.record_side(&catalog::counted_as(&asked, &model), &done.assembly.usage);
                match answers.take(&model, &done) {
                    SummaryProgress::Whole(text) => return Ok(text),
                    SummaryProgress::Empty => return Err(CompactionError::Empty),
                    SummaryProgress::Unfinished => continue,
                }
            }
            Err(error) => error,
        };
        match policy.next(&error, ResponseProgress::Nothing) {
            RetryVerdict::Compact if shrinks < MAX_SHRINKS => {
                shrinks += 1;
                let more = context.oldest_share(FIRST_SHARE + NEXT_SHARE * f64::from(shrinks)).max(drop + 1);
                if more == drop {
                    return Err(CompactionError::Model(error));
                }
                drop = more;
            }
            RetryVerdict::Retry { delay, attempt } => {
                if error.kind == model::ErrorKind::Authentication {
                    io.provider.connection.forget_key();
                }
                let body = SystemBody::ApiRetry {
                    attempt,
                    max_retries: policy.max_retries,
                    retry_delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                    error_status: error.status,
                    error: error.category(),
                    reason: error.reason(),
                };
                io.output.host.system(body).await;
                wait(delay, token).await?;
            }
            RetryVerdict::Reissue => {}
            RetryVerdict::LowerMaxTokens(limit) => context.limit_output(limit),
            RetryVerdict::Disable(capability) => context.disable(capability),
            RetryVerdict::Reauthenticate if io.provider.connection.forget_key() => {}
            RetryVerdict::GiveUp if error.is_unavailable() && context.fall_back() => {
                policy = RetryPolicy::from_env(&io.env);
            }
            RetryVerdict::Compact
            | RetryVerdict::KeepCompleted
            | RetryVerdict::Complete
            | RetryVerdict::Reauthenticate
            | RetryVerdict::GiveUp => return Err(CompactionError::Model(error)),
        }
    }
}

async fn wait(delay: Duration, token: &CancellationToken) -> Result<(), CompactionError> {
    tokio::select! {
        () = tokio::time::sleep(delay) => Ok(()),
        () = token.cancelled() => Err(CompactionError::Interrupted),
    }
}

/// The newest messages, which stay unchanged.
struct KeptTail {
    start: usize,
    lines: Vec<String>,
}

impl KeptTail {
    fn choose(trigger: &CompactionTrigger, context: &ModelContext) -> Self {
        let start = match trigger {
            CompactionTrigger::Manual { .. } => context.history().turns().len(),
            CompactionTrigger::Crowded | CompactionTrigger::Overflow => context.kept_from(),
        };
        Self { start, lines: context.history().lines_from(start) }
    }
}

/// The message that replaces the history.
fn summary_message(summary: &str, io: &SessionIo) -> String {
    let mut text = format!("{}\n\n{summary}\n", prompts::CONTINUED);
    if let Some(path) = io.output.transcript.file() {
        write!(
            text,
            "\nThe full conversation up to here is in {}; look there only for a detail that is missing.\n",
            path.display()
        )
        .ok();
    }
    text.push_str(prompts::GO_ON);
    text
}

struct CompactionFacts<'a> {
    trigger: &'a CompactionTrigger,
    pre_tokens: u64,
    took: Duration,
}

/// Writes the boundary and the summary, shortens the history and informs the host.
async fn replace(
    message: &str,
    kept: &KeptTail,
    facts: CompactionFacts<'_>,
    context: &mut ModelContext,
    io: &mut SessionIo,
) -> Result<(), StoreError> {
    let summary_uuid = sys::id::uuid();
    let summarised = kept.start;
    let logical_parent = io.output.transcript.leaf().map(str::to_owned);
    context.replace_before(kept.start, Message::user_text(message), summary_uuid.clone());
    let post_tokens = context.tokens();
    let dropped = context.compaction().record_compaction(facts.pre_tokens, post_tokens);
    let metadata = CompactionMetadata { facts, tail: kept, anchor: &summary_uuid, post_tokens, dropped, summarised };
    let line = BoundaryLine {
        metadata: metadata.on_disk(),
        summary: session_parts::messages::text_message(message),
        summary_uuid: summary_uuid.clone(),
        leaf: kept.lines.last().cloned(),
    };
    let written = io.output.transcript.boundary(line)?;
    io.output.host.system(SystemBody::compacted(CompactResult::Success, None)).await;
    if !metadata.facts.trigger.is_automatic() {
        io.output.host.send(SdkMessage::Init(Box::new(crate::session::init(context, io)))).await;
    }
    io.output
        .host
        .system(SystemBody::CompactBoundary {
            compact_metadata: metadata.on_wire(),
            logical_parent_uuid: logical_parent,
        })
        .await;
    let user = UserMessage {
        kind: "user",
        message: session_parts::messages::text_message(message),
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
    Ok(())
}

struct CompactionMetadata<'a> {
    facts: CompactionFacts<'a>,
    tail: &'a KeptTail,
    anchor: &'a str,
    post_tokens: u64,
    /// Tokens removed by all compactions of this session.
    dropped: u64,
    summarised: usize,
}

impl CompactionMetadata<'_> {
    fn on_disk(&self) -> Value {
        let CompactionFacts { trigger, pre_tokens, took } = &self.facts;
        let mut value = json!({
            "trigger": trigger.name(),
            "preTokens": pre_tokens,
            "postTokens": self.post_tokens,
            "cumulativeDroppedTokens": self.dropped,
            "durationMs": millis(*took),
            "messagesSummarized": self.summarised,
        });
        if let ([head, ..], Some(tail), Some(object)) =
            (&*self.tail.lines, self.tail.lines.last(), value.as_object_mut())
        {
            let (anchor, uuids) = (self.anchor, &self.tail.lines);
            object.insert("preservedSegment".into(), json!({"headUuid": head, "anchorUuid": anchor, "tailUuid": tail}));
            object.insert("preservedMessages".into(), json!({"anchorUuid": anchor, "uuids": uuids, "allUuids": uuids}));
        }
        value
    }

    fn on_wire(&self) -> Value {
        let CompactionFacts { trigger, pre_tokens, took } = &self.facts;
        let mut value = json!({
            "trigger": trigger.name(),
            "pre_tokens": pre_tokens,
            "post_tokens": self.post_tokens,
            "cumulative_dropped_tokens": self.dropped,
            "duration_ms": millis(*took),
        });
        if let ([head, ..], Some(tail), Some(object)) =
            (&*self.tail.lines, self.tail.lines.last(), value.as_object_mut())
        {
            let (anchor, uuids) = (self.anchor, &self.tail.lines);
            object.insert(
                "preserved_segment".into(),
                json!({"head_uuid": head, "anchor_uuid": anchor, "tail_uuid": tail}),
            );
            object.insert(
                "preserved_messages".into(),
                json!({"anchor_uuid": anchor, "uuids": uuids, "all_uuids": uuids}),
            );
        }
        value
    }
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

impl LiveSession {
    /// Compacts, then sends again what lives outside the conversation. `None` when the process must stop.
    pub(crate) async fn compact(
        &mut self,
        trigger: &CompactionTrigger,
        token: &CancellationToken,
    ) -> Result<Option<CompactionOutcome>, StoreError> {
        if let Some(why) = self.before_compaction(trigger, token).await {
            return Ok(Some(self.refuse_compaction(why).await));
        }
        let Self { control, context, io, .. } = self;
        let Some(outcome) = control.during(run(trigger, context, io, token)).await else { return Ok(None) };
        let outcome = outcome?;
        match &outcome {
            CompactionOutcome::Done(summary) => {
                self.io.output.ledger.forget_last();
                self.reattach().await?;
                self.publish_usage();
                self.after_compaction(trigger, summary.clone(), token).await?;
            }
            CompactionOutcome::Failed(why) => {
                tracing::warn!(%why, "the conversation could not be compacted");
                self.context.compaction().record_failure();
            }
            CompactionOutcome::Interrupted => {}
        }
        Ok(Some(outcome))
    }

    /// Reports that a PreCompact hook refused the compaction.
    async fn refuse_compaction(&mut self, why: String) -> CompactionOutcome {
        self.io.output.host.system(SystemBody::compacting(None)).await;
        let why = format!("a PreCompact hook refused: {why}");
        self.io.output.host.system(SystemBody::compacted(CompactResult::Failed, Some(why.clone()))).await;
        self.context.compaction().record_failure();
        CompactionOutcome::Failed(why)
    }

    /// Adds instructions, skills, the plan, recent files and unfinished lists again, in their current state.
    async fn reattach(&mut self) -> Result<(), StoreError> {
        let memory = self.io.rules.watch.memory();
        self.context.set_instructions(memory.files);
        self.io.knowledge.skills.reset_sent(memory.lazy);
        self.io.knowledge.mcp.reset_after_compaction();
        self.add_session_context()?;
        for text in self.io.knowledge.skills.texts_to_resend() {
            let Some(note) = Attachment::note("x_skill", text) else { continue };
            self.attach(note)?;
        }
        if let Some(plan) = crate::session::plan::plan_attachment(&mut self.io) {
            self.attach(plan)?;
        }
        self.send_project_facts().await?;
        self.io.knowledge.lists.reset();
        self.io.knowledge.repeats.forget();
        for note in reattach::attachments(&self.io, self.context.kept_budget()) {
            self.attach(note)?;
        }
        self.repeat_latest_words()
    }

    /// Adds the user's latest message as the last one, when the compaction did not keep it.
    fn repeat_latest_words(&mut self) -> Result<(), StoreError> {
        let Some(words) = self.context.lost_words().map(prompts::latest_words) else { return Ok(()) };
        let Some(note) = Attachment::note(LATEST_WORDS, words) else { return Ok(()) };
        let uuid = self.io.output.transcript.attachment(note.line)?;
        self.context.push_latest_words(&note.text, uuid);
        Ok(())
    }
}
