//! Compaction: the model summarises the history, and the summary replaces it. The conversation stays in the same
//! file; the newest messages and the user's latest prompt are kept unchanged. A compaction that fails or is
//! interrupted leaves the conversation unchanged. Before an automatic one, results that can be had again are cleared,
//! when that is enough (`clear`).
//!
//! What the session knows itself is never left to the summary: the person's words and what was changed are carried on
//! word for word (`session_parts::carried`), instructions are read again from disk, lists and facts are told as they are
//! now. The hand-over names the transcript and the dropped lines; the boundary records them (`boundary`).

mod answers;
mod boundary;
mod clear;
mod facts;
mod failing_check;
mod handover;
mod part;
mod reattach;
mod review;

use crate::session::{LiveSession, SessionIo};
use answers::{SummaryAnswers, SummaryProgress};
use boundary::{CompactionCut, CompactionFacts, replace};
use handover::HandOver;
use model::{ModelError, ResponseProgress, RetryPolicy, RetryVerdict, catalog};
use review::SummaryReview;
use session_parts::compaction_policy::{CompactionTrigger, PartCompaction, PartDirection};
use session_parts::context::{ConversationTooLarge, ModelContext};
use session_parts::messages::Attachment;
use session_parts::messages::attachment::LATEST_WORDS;
use session_parts::prompts;
use session_parts::provider::ProviderConnectionError;
use std::time::{Duration, Instant};
use store::StoreError;
use tokio_util::sync::CancellationToken;
use wire::sdk::{CompactResult, SystemBody};

/// How often a summary request that does not fit is made smaller.
const MAX_SHRINKS: u32 = 5;
/// The share of the history that the first cut removes after the API refused the whole, and the share each further
/// cut adds.
const FIRST_SHARE: f64 = 0.3;
const NEXT_SHARE: f64 = 0.25;

#[derive(Debug)]
pub(crate) enum CompactionOutcome {
    Done(CompactionResult),
    Interrupted,
    Failed(String),
}

#[derive(Debug)]
pub(crate) struct CompactionResult {
    /// The summary text that the model wrote.
    pub summary: String,
    /// The messages of the latest request, when the compaction kept nothing of it.
    repeated: Vec<String>,
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
    let cut = CompactionCut::choose(trigger, context);
    let handover = HandOver::gather(&cut, context, io).await;
    let facts = CompactionFacts { trigger, pre_tokens, took: started.elapsed() };
    let repeated = replace(&summary, &cut, handover, facts, context, io).await?;
    Ok(CompactionOutcome::Done(CompactionResult { summary, repeated }))
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
    let instruction = instruction(trigger);
    let end = match trigger {
        CompactionTrigger::Part(PartCompaction { direction: PartDirection::UpTo, at, .. }) => *at,
        _ => context.history().turns().len(),
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
        let mut request = context.summary_request_until(end, &instruction, drop)?;
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

/// What the model is asked for.
fn instruction(trigger: &CompactionTrigger) -> String {
    let mut text = prompts::COMPACT.to_owned();
    match trigger {
        CompactionTrigger::Part(PartCompaction { direction: PartDirection::UpTo, .. }) => {
            text.push_str(prompts::ONLY_BEFORE);
        }
        CompactionTrigger::Part(PartCompaction { direction: PartDirection::From, prompt, .. }) => {
            text.push_str(&prompts::only_from(prompt));
        }
        CompactionTrigger::Manual { .. } | CompactionTrigger::Crowded | CompactionTrigger::Overflow => {}
    }
    if let Some(wish) = trigger.instructions() {
        text.push_str("\nThe user asks that the summary heeds this: ");
        text.push_str(wish);
    }
    text
}

async fn wait(delay: Duration, token: &CancellationToken) -> Result<(), CompactionError> {
    tokio::select! {
        () = tokio::time::sleep(delay) => Ok(()),
        () = token.cancelled() => Err(CompactionError::Interrupted),
    }
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
            CompactionOutcome::Done(CompactionResult { summary, repeated }) => {
                self.io.output.ledger.forget_last();
                self.reattach(repeated).await?;
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

    /// Adds instructions, skills, the plan, facts and recent files again, in their current state, and last the latest
    /// request, when nothing of it was kept.
    async fn reattach(&mut self, repeated: &[String]) -> Result<(), StoreError> {
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
        if let Some(facts) = facts::attachment(self.context.carried(), &self.io) {
            self.attach(facts)?;
        }
        for note in reattach::attachments(&self.io, self.context.kept_budget()) {
            self.attach(note)?;
        }
        if repeated.is_empty() {
            return Ok(());
        }
        let Some(note) = Attachment::note(LATEST_WORDS, prompts::latest_words(repeated)) else { return Ok(()) };
        let uuid = self.io.output.transcript.attachment(note.line)?;
        self.context.push_latest_words(&note.text, uuid);
        Ok(())
    }
}
