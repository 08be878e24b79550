//! The message that replaces a part of the conversation: the summary of the model, then what the program knows itself:
//! the person's words, and where the dropped lines are.

use super::boundary::{CompactionCut, DroppedSpan};
use super::failing_check;
use crate::session::SessionIo;
use serde_json::value::RawValue;
use session_parts::carried::{CarriedWords, ChangedFile, FailedCommand, SaidByUser};
use session_parts::context::ModelContext;
use session_parts::ledger::{changed_lines, changed_path, summed};
use session_parts::messages::plain_text;
use session_parts::prompts;
use session_parts::transcript_writer::TranscriptWriter;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use store::StoreError;
use store::checkpoints::{CheckpointLog, PromptPoint};
use store::record::{self, LineRecord};

/// Most commands that are remembered as failing.
const MAX_FAILED: usize = 5;
/// About how many characters a token has, where a text must be cut.
const CHARS_PER_TOKEN: u64 = 3;

pub(super) struct HandOver {
    words: CarriedWords,
    /// The latest request, by the indexes of its words, when it stands behind everything else.
    latest: Vec<usize>,
    /// Nothing of it was kept, so it must be repeated.
    repeats_latest: bool,
    latest_chars: usize,
    files: Vec<ChangedFile>,
    failed: Vec<FailedCommand>,
    lines: LineRecord,
}

impl HandOver {
    pub(super) async fn gather(cut: &CompactionCut, context: &mut ModelContext, io: &mut SessionIo) -> Self {
        let mut words = context.words_in(cut.dropped.clone());
        let end = context.history().turns().len();
        let repeats_latest = !context.holds_words(cut.dropped.end..end);
        let mut wanted: BTreeSet<String> = context.history().lines_in(0..end).into_iter().collect();
        if context.has_foreign_summary(cut.dropped.clone()) {
            let earlier = earlier_prompts(wanted.clone(), &io.output.transcript).await;
            words.said.splice(0..0, earlier);
        }
        wanted.extend(words.said.iter().map(|said| said.line.clone()));
        let lines = recorded_lines(wanted, &io.output.transcript).await;
        for said in &mut words.said {
            // A copy of the conversation does not have the lines that its source dropped.
            said.number = lines.numbers.get(&said.line).copied();
        }
        words.fit(context.words_budget());
        let is_behind = repeats_latest || context.holds_repeated(cut.dropped.end..end);
        let latest = if is_behind { words.latest_request() } else { Vec::new() };
        let files = changed_files(&lines, context, io);
        let mut failed = failing_check::still_failing(&context.carried().failed, context.history().turns());
        failed.drain(..failed.len().saturating_sub(MAX_FAILED));
        let latest_chars = usize::try_from(context.latest_budget() * CHARS_PER_TOKEN).unwrap_or(usize::MAX);
        Self { words, latest, repeats_latest, latest_chars, files, failed, lines }
    }

    /// The messages of the latest request, when the compaction keeps nothing of it. They are whole, unless they would fill
    /// the conversation again.
    pub(super) fn repeated(&self) -> Vec<String> {
        if !self.repeats_latest {
            return Vec::new();
        }
        let share = self.latest_chars / self.latest.len().max(1);
        let shown = |at: &usize| prompts::bounded(&self.words.said[*at].text, share).into_owned();
        self.latest.iter().map(shown).filter(|text| !text.is_empty()).collect()
    }

    pub(super) fn message(&self, summary: &str, cut: &CompactionCut, io: &SessionIo) -> String {
        let opening = if cut.keeps_beginning() { prompts::CONTINUED_FROM } else { prompts::CONTINUED };
        let mut text = format!("{opening}\n\n{summary}\n");
        let words = self.words.render(&self.latest);
        if !words.is_empty() {
            write!(text, "\n{}\n\n{words}\n", prompts::OWN_WORDS).ok();
        }
        if let Some(path) = io.output.transcript.file() {
            let lines = self.dropped_span(cut).lines;
            writeln!(text, "\n{}", prompts::dropped_part(&path.display().to_string(), lines, io.may_recall())).ok();
        }
        text.push_str(prompts::GO_ON);
        text
    }

    pub(super) fn dropped_span(&self, cut: &CompactionCut) -> DroppedSpan {
        let numbers = || cut.dropped_lines.iter().filter_map(|line| self.lines.numbers.get(line).copied());
        DroppedSpan {
            uuids: cut.dropped_lines.first().cloned().zip(cut.dropped_lines.last().cloned()),
            lines: numbers().min().zip(numbers().max()),
        }
    }

    /// Keeps what the next compaction needs. The history is not shortened yet.
    pub(super) fn carry(self, cut: &CompactionCut, summary: &str, context: &mut ModelContext) {
        let words = CarriedWords { summary: summary.to_owned(), ..self.words };
        context.carry_words(cut.dropped.clone(), words);
        let carried = context.carried_mut();
        (carried.files, carried.failed) = (self.files, self.failed);
    }
}

/// What the transcript says about the lines of the conversation; nothing where nothing is saved.
async fn recorded_lines(wanted: BTreeSet<String>, transcript: &TranscriptWriter) -> LineRecord {
    let Some(path) = transcript.file().map(Path::to_path_buf) else { return LineRecord::default() };
    if let Err(error) = transcript.flush().await {
        tracing::warn!(%error, "the transcript is not up to date before a compaction");
    }
    match tokio::task::spawn_blocking(move || record::read(&path, &wanted)).await {
        Ok(Ok(record)) => record,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the lines of the conversation could not be found");
            LineRecord::default()
        }
        Err(error) => {
            tracing::error!(%error, "reading the transcript failed");
            LineRecord::default()
        }
    }
}

/// The prompts before a summary of a program that carries nothing on, as the transcript has them. `known` are the lines of
/// the conversation.
async fn earlier_prompts(known: BTreeSet<String>, transcript: &TranscriptWriter) -> Vec<SaidByUser> {
    let Some(path) = transcript.file().map(Path::to_path_buf) else { return Vec::new() };
    let read = move || {
        let log = CheckpointLog::read(&path)?;
        let earlier = log.prompts.iter().filter(|point| point.number.is_some() && !known.contains(&point.uuid));
        let said = |point: &PromptPoint| {
            let content = RawValue::from_string(log.content(point)?).unwrap_or_else(|_| RawValue::NULL.to_owned());
            let text = plain_text(&content);
            Ok(SaidByUser { line: point.uuid.clone(), text, ..SaidByUser::default() })
        };
        earlier.map(said).collect::<Result<Vec<_>, StoreError>>()
    };
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(said)) => said,
        Ok(Err(error)) => {
            tracing::warn!(%error, "earlier prompts could not be read");
            Vec::new()
        }
        Err(error) => {
            tracing::error!(%error, "reading earlier prompts failed");
            Vec::new()
        }
    }
}

/// The files that were changed since the conversation began. What another process or branch did is read from the
/// transcript once.
fn changed_files(lines: &LineRecord, context: &mut ModelContext, io: &SessionIo) -> Vec<ChangedFile> {
    let (ledger, agent) = (io.output.ledger.changed_files(), io.output.host.agent_id());
    let earlier = &context.carried().files.clone();
    if agent.is_some() {
        // The session counts for its agents; an agent that was resumed knows only names of before.
        let own = ledger.of(agent);
        let known: BTreeSet<&String> = own.iter().map(|file| &file.path).collect();
        let before: Vec<ChangedFile> = earlier.iter().filter(|file| !known.contains(&file.path)).cloned().collect();
        return summed(own.into_iter().chain(before));
    }
    if context.take_uncounted() && io.output.transcript.file().is_some() {
        let edit = |edit: &record::RecordedEdit| {
            let (added, removed) = changed_lines(&edit.structured)?;
            Some(ChangedFile { path: changed_path(&edit.structured)?, added, removed })
        };
        let edits: Vec<ChangedFile> = lines.edits.iter().filter_map(edit).collect();
        let own: BTreeSet<&String> = edits.iter().map(|file| &file.path).collect();
        // Changes of agents are recorded beside the prompt.
        let of_agents: Vec<ChangedFile> = lines
            .changes
            .iter()
            .filter(|change| change.kind == "edit")
            .filter_map(|change| {
                let path = change.path.clone().filter(|path| !own.contains(path))?;
                Some(ChangedFile { path, added: change.added, removed: change.removed })
            })
            .collect();
        ledger.restart(summed(earlier.iter().cloned().chain(edits.iter().cloned()).chain(of_agents)));
    }
    ledger.of(None)
}
