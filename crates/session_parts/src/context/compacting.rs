//! Shortening the conversation: what is summarised and what stays, what is carried on word for word, and which results can
//! be cleared.

use super::{ConversationTooLarge, ModelContext};
use crate::carried::{self, CarriedRecord, CarriedWords, words_in};
use crate::history::HistoryPart;
use model::{Fragment, Message, ModelRequest};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// How much of the conversation may be repeated as the latest request, as a divisor of the size at which it is compacted.
const LATEST_DIVISOR: u64 = 2;

impl ModelContext {
    /// How many tokens of the newest conversation a compaction keeps unchanged.
    pub fn kept_budget(&self) -> u64 {
        self.compaction.kept_tokens(&self.facts(), &self.settings.env)
    }

    /// How many tokens the person's words may take after a compaction.
    pub fn words_budget(&self) -> u64 {
        carried::words_budget(self.compaction.window(&self.facts(), &self.settings.env))
    }

    /// The size of the conversation at which it is compacted, and the window, in tokens.
    pub fn compaction_sizes(&self) -> (u64, u64) {
        let (facts, env) = (self.facts(), &self.settings.env);
        (self.compaction.limit(&facts, env), self.compaction.window(&facts, env))
    }

    /// Most tokens of the latest request that are repeated.
    pub fn latest_budget(&self) -> u64 {
        self.compaction_sizes().0 / LATEST_DIVISOR
    }

    /// The index of the first kept turn: the user's latest message, or a later turn when that exceeds the budget.
    pub fn kept_from(&self) -> usize {
        self.history.tail_within(self.kept_budget()).max(self.prompt_at.unwrap_or(0))
    }

    /// The index where the current turn begins: everything when its prompt was summarised.
    pub fn turn_start(&self) -> usize {
        self.prompt_at.unwrap_or(0)
    }

    pub fn oldest_share(&self, share: f64) -> usize {
        self.history.oldest_share(share)
    }

    /// Records that the person refused these calls, so that their results are the person's words.
    pub fn note_refused(&mut self, ids: impl IntoIterator<Item = String>) {
        self.refused.extend(ids);
    }

    /// Whether what the conversation changed must be read from its transcript, once.
    pub fn take_uncounted(&mut self) -> bool {
        std::mem::take(&mut self.is_uncounted)
    }

    pub fn carried(&self) -> &CarriedRecord {
        &self.carried
    }

    pub fn carried_mut(&mut self) -> &mut CarriedRecord {
        &mut self.carried
    }

    /// What the person said in this part of the conversation, since it began.
    pub fn words_in(&self, range: Range<usize>) -> CarriedWords {
        let mut found = words_in(self.history.entries(range.clone()), &self.refused, &self.carried);
        if range.start == 0 {
            // What a forked conversation brought along has no summary here.
            let held: HashSet<&String> = self.summaries(0..self.history.turns().len()).collect();
            let orphans = self.carried.words.iter().filter(|words| !held.contains(&words.summary));
            let (mut said, mut left_out) = (Vec::new(), 0);
            for words in orphans {
                said.extend(words.said.iter().cloned());
                left_out += words.left_out;
            }
            found.said.splice(0..0, said);
            found.left_out += left_out;
        }
        found
    }

    fn summaries(&self, range: Range<usize>) -> impl Iterator<Item = &String> {
        let summaries = self.history.entries(range).filter(|entry| entry.part == HistoryPart::Summary);
        summaries.flat_map(|entry| entry.lines)
    }

    /// Whether a summary in this part was written by a program that carried nothing on.
    pub fn has_foreign_summary(&self, range: Range<usize>) -> bool {
        self.summaries(range).any(|line| self.carried.words.iter().all(|words| words.summary != *line))
    }

    /// Whether a part of the conversation holds words of the person as they were typed or repeated.
    pub fn holds_words(&self, range: Range<usize>) -> bool {
        let is_said = |part| matches!(part, HistoryPart::Prompt | HistoryPart::Joined | HistoryPart::Repeated);
        self.history.entries(range).any(|entry| is_said(entry.part))
    }

    /// Whether a part of the conversation holds the latest request as it was repeated.
    pub fn holds_repeated(&self, range: Range<usize>) -> bool {
        self.history.entries(range).any(|entry| entry.part == HistoryPart::Repeated)
    }

    /// Forgets the words of summaries that are in this part, and adds those of the new one.
    pub fn carry_words(&mut self, dropped: Range<usize>, words: CarriedWords) {
        let kept: HashSet<String> = (0..self.history.turns().len())
            .filter(|at| !dropped.contains(at))
            .flat_map(|at| self.summaries(at..at + 1).cloned().collect::<Vec<_>>())
            .collect();
        self.carried.words.retain(|earlier| kept.contains(&earlier.summary));
        self.carried.words.push(words);
    }

    /// Replaces a part of the conversation by a summary; resets the cache marks and sends reminders again.
    pub fn replace(&mut self, dropped: Range<usize>, summary: Message, line: String) {
        if dropped.start == 0 {
            self.history.replace_before(dropped.end, summary, line);
            self.prompt_at = self.prompt_at.and_then(|at| at.checked_sub(dropped.end)).map(|at| at + 1);
        } else {
            self.history.replace_after(dropped.start, summary, line);
            self.prompt_at = None;
        }
        self.cache.note_edit("compaction");
        self.cache_marks = model::CacheMarks::default();
        self.output_limit = None;
        self.reminders.is_context_sent = false;
        self.reminders.facts.forget();
    }

    /// Replaces results by shorter ones, by the ids of their calls.
    pub fn clear_results(&mut self, shorter: &BTreeMap<String, Fragment>) {
        self.history.replace_results(shorter);
        self.cache.note_edit("clearing of results");
    }

    /// The next request with `instruction` as its last message. It has the same cached prefix, unless `drop` of the
    /// older turns must be left out to make it fit.
    pub fn summary_request(&mut self, instruction: &str, drop: usize) -> Result<ModelRequest, ConversationTooLarge> {
        self.summary_request_until(self.history.turns().len(), instruction, drop)
    }

    /// The same for the turns before `end`.
    pub fn summary_request_until(
        &mut self,
        end: usize,
        instruction: &str,
        drop: usize,
    ) -> Result<ModelRequest, ConversationTooLarge> {
        let mut turns =
            if drop == 0 { self.history.turns()[..end].to_vec() } else { self.history.without_oldest(drop, end) };
        turns.push(Message::user_text(instruction));
        let mut marks = self.cache_marks.clone();
        self.request_of(&turns, &mut marks)
    }
}
