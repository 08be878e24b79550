//! The record of this session for the transcript view. Its size is limited; the oldest items are dropped first. The
//! height of an item is computed once per width, and only items that are visible are drawn, so that long conversations
//! scroll as fast as short ones.

use super::record::build::{CallResult, RecordChange, clock_time, local_output_items, of_assistant, of_user};
use super::record::call::{CallPhase, CallRecord};
use super::record::{RecordItem, RecordLook};
use super::session::SessionDisplay;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::ThemeToken;
use wire::sdk::{SdkMessage, SystemBody};

/// The most bytes kept in total.
const LIMIT: usize = 8 * 1024 * 1024;
/// The most bytes kept of one text.
const ENTRY_LIMIT: usize = 256 * 1024;
/// Drawn items that are kept for the next frame.
const DRAWN: usize = 8;
/// Columns before the items of agents.
const AGENT_INDENT: usize = 4;

/// Where an item of the record comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordOrigin {
    /// When it was written and by which model, as shown; empty for what no model wrote.
    pub stamp: String,
    /// The call that started the agent that wrote it; `None` for the main conversation.
    pub agent: Option<String>,
}

#[derive(Debug)]
struct TranscriptItem {
    item: RecordItem,
    origin: RecordOrigin,
    /// When it began, in milliseconds; for calls of which the message says it.
    begun_ms: Option<u64>,
    /// Identifies the item among the drawn ones.
    number: u64,
    /// The item shows a change of a file.
    is_change: bool,
    size: usize,
    /// The number of rows (second) at a width in columns (first).
    height: Cell<(usize, usize)>,
}

#[derive(Debug)]
struct DrawnItem {
    number: u64,
    columns: usize,
    rows: Vec<StyledLine>,
}

#[derive(Debug, Default)]
pub struct TranscriptView {
    entries: VecDeque<TranscriptItem>,
    bytes: usize,
    next_number: u64,
    drawn: RefCell<VecDeque<DrawnItem>>,
    /// When the latest result was recorded: the next call of the same message began then at the earliest.
    last_result_ms: Option<u64>,
}

/// Which part of the conversation is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TranscriptFilter {
    #[default]
    All,
    /// Only the agent that this call started.
    Agent(String),
    /// Only changes of files.
    Changes,
}

impl TranscriptFilter {
    fn shows(&self, entry: &TranscriptItem) -> bool {
        match self {
            Self::All => true,
            Self::Agent(call) => entry.origin.agent.as_ref() == Some(call),
            Self::Changes => entry.is_change,
        }
    }
}

impl TranscriptView {
    pub fn add(&mut self, item: RecordItem) {
        self.add_from(item, RecordOrigin::default(), None);
    }

    /// Adds an item; `begun_ms` is the time of its message.
    pub fn add_from(&mut self, mut item: RecordItem, origin: RecordOrigin, begun_ms: Option<u64>) {
        item.bound(ENTRY_LIMIT);
        let size = item.size() + origin.stamp.len();
        self.next_number += 1;
        let number = self.next_number;
        self.bytes += size;
        let is_change = changes_a_file(&item);
        let height = Cell::default();
        self.entries.push_back(TranscriptItem { item, origin, begun_ms, number, is_change, size, height });
        while self.bytes > LIMIT
            && let Some(gone) = self.entries.pop_front()
        {
            self.bytes -= gone.size;
        }
    }

    fn call_mut(&mut self, id: &str) -> Option<&mut TranscriptItem> {
        let is_call = |entry: &&mut TranscriptItem| matches!(&entry.item, RecordItem::Call(call) if call.id == id);
        self.entries.iter_mut().rev().find(is_call)
    }

    /// Changes the call with this id.
    pub fn update_call(&mut self, id: &str, change: impl FnOnce(&mut CallRecord)) {
        let Some(entry) = self.call_mut(id) else { return };
        let RecordItem::Call(call) = &mut entry.item else { return };
        change(call);
        entry.item.bound(ENTRY_LIMIT);
        let (before, size) = (entry.size, entry.item.size());
        entry.size = size;
        entry.is_change = changes_a_file(&entry.item);
        entry.height.set((0, 0));
        let number = entry.number;
        self.bytes = self.bytes - before + size;
        self.drawn.get_mut().retain(|drawn| drawn.number != number);
    }

    /// How long a call ran, judged by the times of the messages; `None` when they do not say it.
    pub fn time_of_call(&mut self, result: &CallResult) -> Option<Duration> {
        let before = std::mem::replace(&mut self.last_result_ms, result.at_ms);
        let entry = self.call_mut(&result.call)?;
        // Calls that change something run one after the other.
        let waits = matches!(&entry.item, RecordItem::Call(call) if call.runs_alone());
        let begun = entry.begun_ms?.max(before.filter(|_| waits).unwrap_or(0));
        Some(Duration::from_millis(result.at_ms?.saturating_sub(begun)))
    }

    /// Ends the calls without a result of those agents for which `has_ended` says so; `None` is the main conversation.
    pub fn end_open_calls(&mut self, phase: &CallPhase, has_ended: impl Fn(Option<&String>) -> bool) {
        let is_open = |entry: &TranscriptItem| match &entry.item {
            RecordItem::Call(call)
                if matches!(call.phase, CallPhase::Open) && has_ended(entry.origin.agent.as_ref()) =>
            {
                Some(call.id.clone())
            }
            _ => None,
        };
        let open: Vec<String> = self.entries.iter().filter_map(is_open).collect();
        for id in open {
            self.update_call(&id, |call| call.phase = phase.clone());
        }
    }

    /// Adds what a message means to the record.
    pub fn absorb(&mut self, message: &SdkMessage, session: &SessionDisplay) {
        let (changes, origin, begun_ms) = match message {
            SdkMessage::Assistant(said) => {
                let (changes, model) = of_assistant(said, session);
                let stamp = stamp(&said.timestamp, &model);
                let agent = said.parent_tool_use_id.clone();
                (changes, RecordOrigin { stamp, agent }, sys::clock::parse_iso(&said.timestamp))
            }
            SdkMessage::User(said) => {
                let agent = said.parent_tool_use_id.clone();
                (of_user(said, true), RecordOrigin { stamp: String::new(), agent }, None)
            }
            SdkMessage::System(remark) => return self.absorb_remark(&remark.body),
            _ => return,
        };
        for change in changes {
            match change {
                RecordChange::Add(item) => self.add_from(item, origin.clone(), begun_ms),
                RecordChange::Begin(mut call) => {
                    // The engine does not say when a call of an agent begins to run.
                    call.has_begun |= origin.agent.is_some();
                    self.add_from(RecordItem::Call(call), origin.clone(), begun_ms);
                }
                RecordChange::End(result) => self.end_call(result),
                RecordChange::Interrupt => {
                    let text = self.interruption();
                    self.add_from(text, origin.clone(), None);
                }
            }
        }
    }

    fn absorb_remark(&mut self, remark: &SystemBody) {
        match remark {
            SystemBody::LocalCommandOutput { content } => {
                for item in local_output_items(content) {
                    self.add(item);
                }
            }
            SystemBody::Informational { content, .. } => {
                self.add(RecordItem::Note { text: content.clone(), token: ThemeToken::Inactive });
            }
            _ => {}
        }
    }

    fn end_call(&mut self, result: CallResult) {
        let took = self.time_of_call(&result);
        self.update_call(&result.call, |call| {
            call.took = took;
            call.is_refused = result.is_refused;
            call.phase = CallPhase::Ended(result.outcome);
        });
    }

    /// The remark about an interrupted turn. After a call that was refused its line says it already.
    pub fn interruption(&self) -> RecordItem {
        let refused = |entry: &TranscriptItem| matches!(&entry.item, RecordItem::Call(call) if call.was_stopped());
        let text = if self.entries.back().is_some_and(refused) {
            "What should be done instead?"
        } else {
            "Interrupted. What should be done instead?"
        };
        RecordItem::Note { text: text.to_owned(), token: ThemeToken::Inactive }
    }

    /// Adds the items of `earlier` that are before the first prompt that is present.
    pub fn prepend(&mut self, mut earlier: Self) {
        let (present, known) = (self.prompt_places(), earlier.prompt_places());
        let end = match present.first() {
            Some((_, first)) => {
                // As many prompts from the end as are present; where they differ, the last one that is equal.
                let counted = known.len().checked_sub(present.len()).and_then(|at| known.get(at));
                let same = |place: &&(usize, String)| place.1 == *first;
                let place = counted.filter(same).or_else(|| known.iter().rev().find(same));
                place.map_or(0, |(at, _)| *at)
            }
            None => 0,
        };
        if end > 0 {
            // Remarks at the start, such as where the earlier messages are.
            let first = present.first().map_or(0, |(at, _)| *at);
            let gone: usize = self.entries.drain(..first).map(|entry| entry.size).sum();
            self.bytes -= gone;
        }
        earlier.entries.truncate(end);
        earlier.bytes = earlier.entries.iter().map(|entry| entry.size).sum();
        earlier.end_open_calls(&CallPhase::CutOff, |_| true);
        let later = std::mem::replace(self, earlier);
        self.drawn.get_mut().clear();
        self.last_result_ms = later.last_result_ms;
        for entry in later.entries {
            self.add_from(entry.item, entry.origin, entry.begun_ms);
        }
    }

    /// The prompts of the main conversation, with their positions.
    fn prompt_places(&self) -> Vec<(usize, String)> {
        let place = |(at, entry): (usize, &TranscriptItem)| match &entry.item {
            RecordItem::Prompt(text) | RecordItem::Shell(text) if entry.origin.agent.is_none() => {
                Some((at, text.clone()))
            }
            _ => None,
        };
        self.entries.iter().enumerate().filter_map(place).collect()
    }

    /// The reply with this number; 1 is the latest.
    pub fn reply(&self, number: usize) -> Option<String> {
        let mut replies = self.entries.iter().rev().filter_map(|entry| match &entry.item {
            RecordItem::Reply(text) if entry.origin.agent.is_none() => Some(text),
            _ => None,
        });
        replies.nth(number.saturating_sub(1)).cloned()
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The calls whose agents have entries, in order.
    pub fn agents(&self) -> Vec<String> {
        let mut calls: Vec<String> = Vec::new();
        for call in self.entries.iter().filter_map(|entry| entry.origin.agent.as_ref()) {
            if !calls.contains(call) {
                calls.push(call.clone());
            }
        }
        calls
    }

    /// The shown entries, each with the number of blank rows before it.
    fn shown<'a>(&'a self, part: &'a TranscriptFilter) -> impl Iterator<Item = (&'a TranscriptItem, usize)> {
        let mut before: Option<&TranscriptItem> = None;
        self.entries.iter().filter(|entry| part.shows(entry)).map(move |entry| {
            let gap = before.replace(entry).map_or(0, |before| gap_between(before, entry));
            (entry, gap)
        })
    }

    /// How many rows the part has at this width.
    pub fn height(&self, part: &TranscriptFilter, look: &RecordLook<'_>) -> usize {
        self.shown(part).map(|(entry, gap)| gap + entry_height(entry, look)).sum()
    }

    /// The rows in `range`.
    pub fn window(
        &self,
        part: &TranscriptFilter,
        range: std::ops::Range<usize>,
        look: &RecordLook<'_>,
    ) -> Vec<StyledLine> {
        let mut shown = Vec::with_capacity(range.len());
        let mut at = 0;
        for (entry, gap) in self.shown(part) {
            let end = at + gap + entry_height(entry, look);
            if end > range.start && at < range.end {
                self.with_rows(entry, look, |rows| {
                    let blank = StyledLine::new();
                    let all = std::iter::repeat_n(&blank, gap).chain(rows);
                    let visible = all.skip(range.start.saturating_sub(at)).take(range.end - range.start.max(at));
                    shown.extend(visible.cloned());
                });
            }
            at = end;
            if at >= range.end {
                break;
            }
        }
        shown
    }

    /// The rows that contain `query`, ignoring case.
    pub fn find(&self, part: &TranscriptFilter, query: &str, look: &RecordLook<'_>) -> Vec<usize> {
        let query = query.to_lowercase();
        let mut found = Vec::new();
        let mut at = 0;
        for (entry, gap) in self.shown(part) {
            at += gap;
            self.with_rows(entry, look, |rows| {
                let hits = rows.iter().enumerate().filter(|(_, row)| row.text().to_lowercase().contains(&query));
                found.extend(hits.map(|(index, _)| at + index));
            });
            at += entry_height(entry, look);
        }
        found
    }

    /// The rows at which prompts begin.
    pub fn prompts(&self, part: &TranscriptFilter, look: &RecordLook<'_>) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = 0;
        for (entry, gap) in self.shown(part) {
            at += gap;
            if matches!(entry.item, RecordItem::Prompt(_) | RecordItem::Shell(_)) {
                found.push(at);
            }
            at += entry_height(entry, look);
        }
        found
    }

    /// The whole part, for the scrollback or an editor.
    pub fn lines(&self, part: &TranscriptFilter, look: &RecordLook<'_>) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        for (entry, gap) in self.shown(part) {
            lines.extend(std::iter::repeat_n(StyledLine::new(), gap));
            lines.extend(entry.rows(look));
        }
        lines
    }

    /// The entry at this row as JSON.
    pub fn raw_at(&self, part: &TranscriptFilter, row: usize, look: &RecordLook<'_>) -> Option<String> {
        let mut at = 0;
        for (entry, gap) in self.shown(part) {
            at += gap + entry_height(entry, look);
            if at > row {
                return serde_json::to_string_pretty(&entry.item.raw()).ok();
            }
        }
        None
    }

    /// Calls `use_rows` with the rows of an entry. Those of the last few entries are kept.
    fn with_rows(&self, entry: &TranscriptItem, look: &RecordLook<'_>, use_rows: impl FnOnce(&[StyledLine])) {
        let mut drawn = self.drawn.borrow_mut();
        let at = drawn.iter().position(|drawn| drawn.number == entry.number && drawn.columns == look.columns);
        let found = at.and_then(|at| drawn.remove(at));
        let found = found.unwrap_or_else(|| {
            let mut rows = entry.rows(look);
            rows.resize(rows.len().max(1), StyledLine::new());
            DrawnItem { number: entry.number, columns: look.columns, rows }
        });
        use_rows(&found.rows);
        drawn.push_back(found);
        let over = drawn.len().saturating_sub(DRAWN);
        drawn.drain(..over);
    }

    /// Forgets how items were drawn, because colours have changed.
    pub fn redraw(&mut self) {
        self.drawn.get_mut().clear();
    }
}

fn entry_height(entry: &TranscriptItem, look: &RecordLook<'_>) -> usize {
    let (width, rows) = entry.height.get();
    if width == look.columns && rows > 0 {
        return rows;
    }
    let rows = entry.rows(look).len().max(1);
    entry.height.set((look.columns, rows));
    rows
}

/// When a message was written and by which model, as shown.
pub fn stamp(timestamp: &str, model: &str) -> String {
    [clock_time(timestamp), model].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn changes_a_file(item: &RecordItem) -> bool {
    matches!(item, RecordItem::Call(call) if call.changes_a_file())
}

fn gap_between(before: &TranscriptItem, entry: &TranscriptItem) -> usize {
    let joined = entry.item.continues() || before.item.is_activity() && entry.item.is_activity();
    usize::from(!joined || before.origin.agent != entry.origin.agent)
}

impl TranscriptItem {
    /// The rows of the entry, with its time and model at the right edge of the first one where they fit.
    fn rows(&self, look: &RecordLook<'_>) -> Vec<StyledLine> {
        let indent = if self.origin.agent.is_some() { AGENT_INDENT } else { 0 };
        let columns = look.columns.saturating_sub(indent);
        let lines = self.item.lines(&RecordLook { columns, ..*look });
        let rows = lines.into_iter().flat_map(|line| line.cut_at(columns));
        let mut rows: Vec<StyledLine> = match indent {
            0 => rows.collect(),
            _ => rows.map(|row| row.indented(indent)).collect(),
        };
        if let Some(first) = rows.first_mut().filter(|_| !self.origin.stamp.is_empty()) {
            let room = look.columns.saturating_sub(first.width() + text::width(&self.origin.stamp));
            if room >= 2 {
                first.push(" ".repeat(room), TextStyle::PLAIN);
                first.push(self.origin.stamp.clone(), look.theme.fg(ThemeToken::Inactive));
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(items: &[&str]) -> TranscriptView {
        let mut view = TranscriptView::default();
        for text in items {
            view.add(match text.strip_prefix("> ") {
                Some(prompt) => RecordItem::Prompt(prompt.to_owned()),
                None => RecordItem::Reply((*text).to_owned()),
            });
        }
        view
    }

    fn texts(view: &TranscriptView) -> Vec<String> {
        let text = |entry: &TranscriptItem| match &entry.item {
            RecordItem::Prompt(text) => format!("> {text}"),
            RecordItem::Reply(text) => text.clone(),
            other => format!("{other:?}"),
        };
        view.entries.iter().map(text).collect()
    }

    #[test]
    fn earlier_messages_are_put_before_those_that_are_there() {
        let mut view = record(&["a remark", "> go on", "third", "> go on", "fourth"]);
        view.prepend(record(&["> begin", "first", "> go on", "second", "> go on", "third", "> go on", "fourth"]));
        let all = ["> begin", "first", "> go on", "second", "> go on", "third", "> go on", "fourth"];
        assert_eq!(texts(&view), all);
        let mut other = record(&["> new here", "reply"]);
        other.prepend(record(&["> begin", "first"]));
        assert_eq!(texts(&other), ["> new here", "reply"], "what is not known is not joined");
    }

    #[test]
    fn the_oldest_items_are_dropped_and_long_texts_cut() {
        let mut view = TranscriptView::default();
        for n in 0..40 {
            view.add(RecordItem::Reply(format!("{n} {}", "x".repeat(ENTRY_LIMIT * 2))));
        }
        assert!(view.bytes <= LIMIT && view.entries.len() > 20, "{} in {}", view.bytes, view.entries.len());
        assert_eq!(view.bytes, view.entries.iter().map(|entry| entry.size).sum::<usize>());
        let newest = view.reply(1).unwrap();
        assert!(newest.starts_with("39 ") && newest.ends_with(&format!("… {} more bytes", ENTRY_LIMIT + 3)));
    }
}
