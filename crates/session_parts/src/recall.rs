//! What a compaction dropped, searched for the model: exact excerpts with the line of the transcript each is in. Only
//! what lies before the last compaction of this conversation and is no longer in it is searched; other branches, notes
//! of the program, what the user took back and what only people saw are never found.

mod render;

use crate::resume::local_commands;
use render::shown;
use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use store::compactions::{self, CompactionRecord};
use store::narrative::{self, NarrativeItem};
use store::resume::LoadOptions;
use store::search::SearchQuery;
use store::{LoadedEntry, StoreError};

/// How many matches are shown.
const MAX_SHOWN: usize = 8;
/// How many entries before and after the named line are shown.
const NEIGHBOURS: usize = 3;
/// How many matches are remembered; of more only the newest.
const MAX_REMEMBERED: usize = 400;

/// Where the dropped part of a conversation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallPlace {
    pub transcript: PathBuf,
    /// The uuid of the newest summary in the conversation.
    pub summary: String,
    /// The transcript is that of a subagent.
    pub is_agent: bool,
}

/// Who wrote a text, or what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallKind {
    Prompt,
    Answer,
    Call,
    Result,
}

impl RecallKind {
    pub const NAMES: [&'static str; 4] = ["prompt", "answer", "call", "result"];

    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "prompt" => Self::Prompt,
            "answer" => Self::Answer,
            "call" => Self::Call,
            "result" => Self::Result,
            _ => return None,
        })
    }
}

/// What is searched for.
#[derive(Clone, Debug, Default)]
pub struct RecallQuery {
    pub words: String,
    pub kind: Option<RecallKind>,
    /// A line of the transcript: only what stands near it.
    pub around: Option<u64>,
}

/// A dropped text that was found.
#[derive(Debug)]
struct RecallMatch {
    /// Which file: a copied session has its past in the one it was copied from.
    file: PathBuf,
    offset: u64,
    kind: RecallKind,
    /// The tool of a call or a result.
    tool: String,
    is_error: bool,
    timestamp: String,
    text: String,
    /// Where the first word was found.
    place: Range<usize>,
    /// How many words were found.
    words: usize,
}

/// What is said to the model, and how many matches it holds.
#[derive(Debug)]
pub struct RecallAnswer {
    pub text: String,
    pub found: usize,
}

/// Searches the dropped part. Blocking.
pub fn recall(place: &RecallPlace, query: &RecallQuery) -> Result<RecallAnswer, StoreError> {
    let around = match query.around {
        Some(line) => Some(compactions::line_start(&place.transcript, line)?),
        None => None,
    };
    let mut search = RecallSearch {
        needle: SearchQuery::new(&query.words),
        kind: query.kind,
        around,
        counts: HashMap::new(),
        matches: Vec::new(),
        seen: HashSet::new(),
        dropped: 0,
    };
    let options = LoadOptions { at: Some(place.summary.clone()), sidechain: place.is_agent, ..LoadOptions::default() };
    compactions::walk(&place.transcript, &options, &mut |record| {
        search.add(record);
        ControlFlow::Continue(())
    })?;
    search.answer(&place.transcript, query)
}

struct RecallSearch {
    /// `None` finds every text.
    needle: Option<SearchQuery>,
    kind: Option<RecallKind>,
    /// The offset of the line that the query names.
    around: Option<u64>,
    /// How many texts have so many of the words.
    counts: HashMap<usize, usize>,
    matches: Vec<RecallMatch>,
    /// What was kept by one compaction and dropped by the next is searched once.
    seen: HashSet<Box<str>>,
    dropped: usize,
}

impl RecallSearch {
    fn add(&mut self, record: &CompactionRecord) {
        let entries = &record.before.entries;
        let local = local_commands(entries);
        let tools = tools_of_calls(entries);
        for (at, entry) in entries.iter().enumerate() {
            let is_hidden = entry.is_retracted || entry.is_compact_summary || local.contains(&at);
            if is_hidden || record.kept.contains(&entry.uuid) || !self.seen.insert(entry.uuid.clone()) {
                continue;
            }
            self.search_entry(entry, &tools, &record.before.path);
        }
    }

    fn search_entry(&mut self, entry: &LoadedEntry, tools: &HashMap<Box<str>, String>, file: &Path) {
        // Lines of ours answer one call each; of several the texts are not told apart.
        let answered = entry.calls.first().and_then(|id| tools.get(id)).cloned().unwrap_or_default();
        let mut is_empty = true;
        narrative::of_entry(entry, &mut |item| {
            let (kind, tool, is_error, text) = match item {
                NarrativeItem::User(text) => (RecallKind::Prompt, String::new(), false, text.to_owned()),
                NarrativeItem::Assistant(text) => (RecallKind::Answer, String::new(), false, text.to_owned()),
                NarrativeItem::Call { tool, input } => {
                    (RecallKind::Call, tool.to_owned(), false, render::input_text(input))
                }
                NarrativeItem::Result { text, is_error } => {
                    (RecallKind::Result, answered.clone(), is_error, text.to_owned())
                }
                NarrativeItem::Image | NarrativeItem::Summary(_) => return,
            };
            is_empty = false;
            if self.kind.is_some_and(|wanted| wanted != kind) {
                return;
            }
            let (words, place) = self.needle.as_ref().map_or((1, 0..0), |needle| needle.count_in(&text));
            if words > 0 {
                *self.counts.entry(words).or_default() += 1;
                let timestamp = entry.timestamp.as_deref().unwrap_or_default().to_owned();
                let (file, offset) = (file.to_path_buf(), entry.offset());
                self.matches.push(RecallMatch { file, offset, kind, tool, is_error, timestamp, text, place, words });
            }
        });
        if is_empty {
            return;
        }
        self.dropped += 1;
        self.forget_worse();
    }

    /// Bounds the memory of a query that matches nearly everything.
    fn forget_worse(&mut self) {
        if self.matches.len() < 2 * MAX_REMEMBERED {
            return;
        }
        match (&self.around, &self.needle) {
            (Some(offset), _) => self.matches.sort_by_key(|found| found.offset.abs_diff(*offset)),
            (None, Some(_)) => {
                self.matches.sort_by(|a, b| b.words.cmp(&a.words).then(b.offset.cmp(&a.offset)));
            }
            // Without words the oldest are shown first.
            (None, None) => self.matches.sort_by_key(|found| found.offset),
        }
        self.matches.truncate(MAX_REMEMBERED);
    }

    fn answer(mut self, transcript: &Path, query: &RecallQuery) -> Result<RecallAnswer, StoreError> {
        self.matches.sort_by_key(|found| (found.file == *transcript, found.offset));
        if let Some(offset) = self.around {
            let at = self.matches.iter().position(|found| found.file == *transcript && found.offset >= offset);
            let at = at.unwrap_or(self.matches.len());
            let range = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(self.matches.len());
            self.matches = self.matches.drain(range).collect();
        }
        let wanted = self.needle.as_ref().map_or(1, SearchQuery::word_count);
        let best = self.matches.iter().map(|found| found.words).max().unwrap_or(0);
        self.matches.retain(|found| found.words == best);
        let total = match self.around {
            Some(_) => self.matches.len(),
            None => self.counts.get(&best).copied().unwrap_or(0),
        };
        // Without words the beginning is shown; with words the newest is what counts.
        let skipped = if self.needle.is_none() { 0 } else { self.matches.len().saturating_sub(MAX_SHOWN) };
        let chosen: Vec<&RecallMatch> = self.matches.iter().skip(skipped).take(MAX_SHOWN).collect();
        let is_partial = best < wanted && best > 0;
        shown(&chosen, &render::RecallSummary { transcript, query, total, dropped: self.dropped, is_partial })
    }
}

/// The tool of each call, by its id.
fn tools_of_calls(entries: &[LoadedEntry]) -> HashMap<Box<str>, String> {
    let mut tools = HashMap::new();
    for entry in entries {
        let mut ids = entry.calls.iter();
        narrative::of_entry(entry, &mut |item| {
            if let NarrativeItem::Call { tool, .. } = item
                && let Some(id) = ids.next()
            {
                tools.insert(id.clone(), tool.to_owned());
            }
        });
    }
    tools
}
