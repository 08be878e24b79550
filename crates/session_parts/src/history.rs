//! The conversation as it is sent, and the transcript lines each part was written to. It is appended to; only a
//! compaction replaces earlier parts. Reminders are placed before the user's prompt, which comes last in its message.
//! Live and restored conversations are built by the same functions, so a resumed request has the same bytes. The
//! token count is updated incrementally.

use model::request::BlockPosition;
use model::{Fragment, FragmentHead, Message, Role, estimate};
use std::collections::BTreeMap;
use std::ops::Range;
use wire::block::{BlockHead, MessageContent, tool_result};

/// A reported token count that differs from our own by more than this factor is ignored: a server that counts wrongly
/// must not cause needless compactions or an overflow.
const MAX_COUNT_RATIO: u64 = 3;

/// The kind of a turn, which decides where it is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryPart {
    /// The user's prompt: the last part of its message.
    Prompt,
    /// What the user typed while a turn ran: as a prompt, it stays behind reminders.
    Joined,
    /// The user's latest words, repeated after a compaction; they stay behind reminders too.
    Repeated,
    /// Reminders, instructions and notices: placed before the prompt they were sent with.
    Beside,
    /// The summary of everything before it: it is never taken back.
    Summary,
    /// Answers, results and everything else, in order of arrival.
    Other,
}

/// The transcript lines of a turn.
struct HistoryOrigin {
    part: HistoryPart,
    /// Their uuids, oldest first.
    lines: Vec<String>,
    /// Position in the order in which turns were added, which is the order of the file.
    order: usize,
}

/// A turn and where it comes from.
#[derive(Clone, Copy)]
pub struct HistoryEntry<'a> {
    pub turn: &'a Message,
    pub part: HistoryPart,
    /// The uuids of its transcript lines.
    pub lines: &'a [String],
}

#[derive(Default)]
pub struct History {
    turns: Vec<Message>,
    /// One for each turn.
    origins: Vec<HistoryOrigin>,
    /// The `order` of the next turn.
    added: usize,
    size: HistorySize,
}

#[derive(Clone, Copy, Default)]
struct HistorySize {
    /// How many turns are in `shares`.
    counted: usize,
    /// Our own count of their tokens.
    shares: MessageShares,
    /// The token count the last response reported for everything up to and including itself; 0 when unknown.
    reported: u64,
    /// Our own count at that time, with what stands before the conversation.
    own: u64,
}

/// Our own count of the tokens of a conversation, by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageShares {
    pub prompts: u64,
    /// Reminders, instructions, summaries and notices.
    pub notes: u64,
    pub answers: u64,
    pub calls: u64,
    pub results: u64,
}

impl MessageShares {
    fn sum(&self) -> u64 {
        self.prompts + self.notes + self.answers + self.calls + self.results
    }

    fn add(&mut self, turn: &Message, part: HistoryPart) {
        for block in &turn.blocks {
            let share = match (block.head(), turn.role, part) {
                (FragmentHead::ToolUse { .. } | FragmentHead::ServerToolUse { .. }, ..) => &mut self.calls,
                (FragmentHead::ToolResult { .. } | FragmentHead::ServerToolResult { .. }, ..) => &mut self.results,
                (_, Role::Assistant, _) => &mut self.answers,
                (_, Role::User, HistoryPart::Prompt | HistoryPart::Joined) => &mut self.prompts,
                (_, Role::User, _) => &mut self.notes,
            };
            *share += estimate::fragment(block);
        }
    }

    /// In words, in per cent.
    pub fn described(&self) -> String {
        let Self { prompts, notes, answers, calls, results } = *self;
        let all = self.sum().max(1);
        let parts = [
            ("results of calls", results),
            ("calls", calls),
            ("answers", answers),
            ("your prompts", prompts),
            ("notes and summaries", notes),
        ];
        let shown = parts.iter().filter(|(_, tokens)| tokens * 100 >= all);
        shown.map(|(name, tokens)| format!("{name} {} %", tokens * 100 / all)).collect::<Vec<_>>().join(" · ")
    }
}

impl History {
    pub fn push(&mut self, turn: Message, part: HistoryPart, lines: Vec<String>) {
        let at = if part == HistoryPart::Beside { self.before_prompt() } else { self.turns.len() };
        if at < self.size.counted {
            self.size.counted += 1;
            self.size.shares.add(&turn, part);
        }
        self.turns.insert(at, turn);
        self.origins.insert(at, HistoryOrigin { part, lines, order: self.added });
        self.added += 1;
    }

    /// The index for a reminder: before the latest prompt or what the user typed meanwhile, if that comes last, else
    /// the end.
    fn before_prompt(&self) -> usize {
        let end = self.turns.len();
        let is_joined = |part| matches!(part, HistoryPart::Joined | HistoryPart::Repeated);
        let joined = self.origins.iter().rev().take_while(|origin| is_joined(origin.part)).count();
        let is_prompt = self.origins.last().is_some_and(|origin| origin.part == HistoryPart::Prompt);
        if is_prompt { end - 1 } else { end - joined }
    }

    pub fn turns(&self) -> &[Message] {
        &self.turns
    }

    /// The last block of the context that stands before the first prompt; `None` when there is none. The turns at the
    /// start are one message when they are sent.
    pub fn context_end(&self) -> Option<BlockPosition> {
        let beside = self.origins.iter().take_while(|origin| origin.part == HistoryPart::Beside).count();
        let blocks: usize = self.turns[..beside].iter().map(|turn| turn.blocks.len()).sum();
        blocks.checked_sub(1).map(|block| BlockPosition { message: 0, block })
    }

    /// The line of the newest summary in the conversation.
    pub fn summary_line(&self) -> Option<&str> {
        let summary = self.origins.iter().rfind(|origin| origin.part == HistoryPart::Summary)?;
        summary.lines.first().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether there is an answer, so that a summary makes sense.
    pub fn has_answers(&self) -> bool {
        self.turns.iter().any(|turn| turn.role == Role::Assistant)
    }

    /// Replaces results that refer to tools which are not sent by text: the API rejects such references.
    pub fn rewrite_references(&mut self, is_sent: impl Fn(&str) -> bool) {
        for block in self.turns.iter_mut().flat_map(|turn| &mut turn.blocks) {
            let names = references(block.get());
            if names.is_empty() || names.iter().all(|name| is_sent(name)) {
                continue;
            }
            let Some(BlockHead::ToolResult { tool_use_id }) = BlockHead::read(block.raw()) else { continue };
            let said = MessageContent::Text(format!("Tools that fit: {}", names.join(", ")));
            if let Ok(plain) = tool_result(&tool_use_id, &said, false) {
                *block = Fragment::new(plain);
            }
        }
        self.size = HistorySize::default();
    }

    /// Removes everything after the last answer or summary except reminders. Returns the uuids of the removed lines.
    pub fn retract_prompt(&mut self) -> Vec<String> {
        let stays = |(turn, origin): (&Message, &HistoryOrigin)| {
            turn.role == Role::Assistant || origin.part == HistoryPart::Summary
        };
        let answered = self.turns.iter().zip(&self.origins).rposition(stays).map_or(0, |at| at + 1);
        let mut gone = Vec::new();
        for at in (answered..self.turns.len()).rev() {
            if self.origins[at].part != HistoryPart::Beside {
                self.turns.remove(at);
                let mut lines = self.origins.remove(at).lines;
                lines.append(&mut gone);
                gone = lines;
            }
        }
        self.size = HistorySize::default();
        gone
    }

    /// Removes the first prompt from `at` on and the last turn, if that is `mark` and there is no answer between
    /// them; reminders stay. Returns the uuids of both.
    pub fn take_unanswered(&mut self, at: usize, mark: &str) -> Option<Vec<String>> {
        let at = at + self.origins.get(at..)?.iter().position(|origin| origin.part == HistoryPart::Prompt)?;
        let since = self.turns.get(at..)?;
        let is_mark =
            |block: &Fragment| matches!(BlockHead::read(block.raw()), Some(BlockHead::Text(text)) if text == mark);
        let unanswered = since.len() > 1 && since.iter().all(|turn| turn.role == Role::User);
        if !unanswered || !since.last()?.blocks.iter().all(is_mark) {
            return None;
        }
        self.turns.pop();
        let marked = self.origins.pop()?.lines;
        self.turns.remove(at);
        let mut lines = self.origins.remove(at).lines;
        lines.extend(marked);
        self.size = HistorySize::default();
        Some(lines)
    }

    /// Records the token count the server reported for the response just pushed: input and output together.
    pub fn report(&mut self, tokens: u64, fixed: u64) {
        self.count();
        let own = self.size.shares.sum() + fixed;
        let is_plausible = tokens <= own * MAX_COUNT_RATIO && tokens * MAX_COUNT_RATIO >= own;
        (self.size.reported, self.size.own) = (if is_plausible { tokens } else { 0 }, own);
    }

    /// Tokens of the next request: the last count of the server, and our count of what was added or taken away since,
    /// as far as the server counts like we do.
    pub fn tokens(&mut self, fixed: u64) -> u64 {
        self.count();
        let own = self.size.shares.sum() + fixed;
        let scaled = |tokens: u64| (tokens as f64 * self.factor()).round() as u64;
        match (self.size.reported, self.size.own) {
            (0, _) => own,
            (reported, before) if own >= before => reported + scaled(own - before),
            (reported, before) => reported.saturating_sub(scaled(before - own)),
        }
    }

    /// How many tokens the server counted for each of ours; 1 when it is not known.
    pub fn factor(&self) -> f64 {
        match (self.size.reported, self.size.own) {
            (0, _) | (_, 0) => 1.0,
            (reported, own) => reported as f64 / own as f64,
        }
    }

    /// How many prompts the conversation holds.
    pub fn prompts(&self) -> usize {
        self.origins.iter().filter(|origin| origin.part == HistoryPart::Prompt).count()
    }

    /// Our own count, by what the tokens are.
    pub fn shares(&mut self) -> MessageShares {
        self.count();
        self.size.shares
    }

    /// Our own count of all tokens.
    pub fn weight(&self) -> u64 {
        self.turns.iter().map(weight).sum()
    }

    fn count(&mut self) {
        let from = self.size.counted;
        for (turn, origin) in self.turns[from..].iter().zip(&self.origins[from..]) {
            self.size.shares.add(turn, origin.part);
        }
        self.size.counted = self.turns.len();
    }

    /// The start of the newest part with at most `budget` tokens, never between a call and its result.
    pub fn tail_within(&self, budget: u64) -> usize {
        let mut weight_so_far = 0;
        let mut start = self.turns.len();
        for (at, turn) in self.turns.iter().enumerate().rev() {
            weight_so_far += weight(turn);
            if weight_so_far > budget {
                break;
            }
            if !answers_calls(turn) {
                start = at;
            }
        }
        start
    }

    /// The turns in this range.
    pub fn entries(&self, range: Range<usize>) -> impl Iterator<Item = HistoryEntry<'_>> {
        let both = self.turns[range.clone()].iter().zip(&self.origins[range]);
        both.map(|(turn, origin)| HistoryEntry { turn, part: origin.part, lines: &origin.lines })
    }

    /// The index of the turn of a prompt, including the reminders before it.
    pub fn prompt_start(&self, line: &str) -> Option<usize> {
        let is_typed = |part| matches!(part, HistoryPart::Prompt | HistoryPart::Joined);
        let holds = |origin: &HistoryOrigin| is_typed(origin.part) && origin.lines.iter().any(|own| own == line);
        let at = self.origins.iter().position(holds)?;
        let beside = self.origins[..at].iter().rev().take_while(|origin| origin.part == HistoryPart::Beside).count();
        // What stands at the very start belongs to the whole conversation.
        Some(if beside == at { 0 } else { at - beside })
    }

    /// Replaces results by shorter ones, by the ids of their calls.
    pub fn replace_results(&mut self, shorter: &BTreeMap<String, Fragment>) {
        for block in self.turns.iter_mut().flat_map(|turn| &mut turn.blocks) {
            let Some(BlockHead::ToolResult { tool_use_id }) = BlockHead::read(block.raw()) else { continue };
            if let Some(short) = shorter.get(&*tool_use_id) {
                *block = short.clone();
            }
        }
        self.size = HistorySize::default();
    }

    /// Line uuids of the turns in this range, in the order of the file.
    pub fn lines_in(&self, range: Range<usize>) -> Vec<String> {
        let mut origins: Vec<&HistoryOrigin> = self.origins[range].iter().collect();
        sys::compact_sort::sort_by_key(&mut origins, |origin| origin.order);
        origins.into_iter().flat_map(|origin| origin.lines.iter().cloned()).collect()
    }

    /// Replaces everything before `start` by `summary`.
    pub fn replace_before(&mut self, start: usize, summary: Message, line: String) {
        let kept = self.turns.split_off(start);
        let mut origins = self.origins.split_off(start);
        // The summary's line is newer than the kept lines, but they continue it.
        for origin in &mut origins {
            origin.order += 1;
        }
        self.added += 1;
        self.turns = std::iter::once(summary).chain(kept).collect();
        let first = HistoryOrigin { part: HistoryPart::Summary, lines: vec![line], order: 0 };
        self.origins = std::iter::once(first).chain(origins).collect();
        self.size = HistorySize::default();
    }

    /// Replaces everything from `start` on by `summary`.
    pub fn replace_after(&mut self, start: usize, summary: Message, line: String) {
        self.turns.truncate(start);
        self.origins.truncate(start);
        self.push(summary, HistoryPart::Summary, vec![line]);
        self.size = HistorySize::default();
    }

    /// The number of turns up to and including the first prompt.
    fn first_prompt_end(&self) -> usize {
        self.origins.iter().position(|origin| origin.part == HistoryPart::Prompt).map_or(1, |at| at + 1)
    }

    /// The first prompt and the newest turns before `end` without `drop` of the older ones, for when the whole does not fit.
    pub fn without_oldest(&self, drop: usize, end: usize) -> Vec<Message> {
        let turns = &self.turns[..end];
        let beginning = self.first_prompt_end();
        let mut from = (beginning + drop).min(turns.len());
        while turns.get(from).is_some_and(answers_calls) {
            from += 1;
        }
        turns[..beginning.min(from)].iter().chain(&turns[from..]).cloned().collect()
    }

    /// How many of the older turns make up `share` of all tokens.
    pub fn oldest_share(&self, share: f64) -> usize {
        let whole: u64 = self.turns.iter().map(weight).sum();
        let mut gone = 0;
        let beginning = self.first_prompt_end();
        let older = self.turns.iter().skip(beginning).position(|turn| {
            gone += weight(turn);
            gone as f64 >= whole as f64 * share
        });
        older.map_or_else(|| self.turns.len().saturating_sub(beginning + 1), |at| at + 1)
    }
}

impl From<Vec<(Message, HistoryPart, String)>> for History {
    /// Builds the history from the lines of a file, in their order.
    fn from(restored: Vec<(Message, HistoryPart, String)>) -> Self {
        let mut history = Self::default();
        for (turn, part, line) in restored {
            history.push(turn, part, vec![line]);
        }
        history
    }
}

fn weight(turn: &Message) -> u64 {
    turn.blocks.iter().map(estimate::fragment).sum()
}

fn answers_calls(turn: &Message) -> bool {
    let is_result = |block: &Fragment| matches!(BlockHead::read(block.raw()), Some(BlockHead::ToolResult { .. }));
    turn.role == Role::User && turn.blocks.iter().any(is_result)
}

/// The tools that `tool_reference` blocks name. Parses nothing when there are none.
pub fn references(json: &str) -> Vec<String> {
    if !json.contains("\"tool_reference\"") {
        return Vec::new();
    }
    let value = serde_json::from_str(json).unwrap_or_default();
    let mut names = Vec::new();
    gather(&value, &mut names);
    names
}

fn gather(value: &serde_json::Value, names: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| gather(item, names)),
        serde_json::Value::Object(fields) => {
            let is_reference = fields.get("type").is_some_and(|kind| kind == "tool_reference");
            match fields.get("tool_name").and_then(|name| name.as_str()) {
                Some(name) if is_reference => names.push(name.to_owned()),
                _ => fields.get("content").into_iter().for_each(|content| gather(content, names)),
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn result() -> Message {
        let raw = r#"{"type":"tool_result","tool_use_id":"t","content":"done"}"#;
        Message::user(vec![Fragment::new(RawValue::from_string(raw.into()).unwrap())])
    }

    fn history(turns: Vec<Message>) -> History {
        let part = |n| if n == 0 { HistoryPart::Prompt } else { HistoryPart::Other };
        turns.into_iter().enumerate().map(|(n, turn)| (turn, part(n), n.to_string())).collect::<Vec<_>>().into()
    }

    fn texts(history: &History) -> Vec<String> {
        let text = |block: &Fragment| match BlockHead::read(block.raw()) {
            Some(BlockHead::Text(text)) => text.into_owned(),
            _ => "?".to_owned(),
        };
        history.turns.iter().flat_map(|turn| turn.blocks.iter().map(text)).collect()
    }

    // [F-B9] Reminders are placed before their prompt, live and restored alike; the file keeps its order.
    #[test]
    fn the_users_words_are_the_last_of_their_message() {
        let told = [
            ("first", HistoryPart::Prompt),
            ("date", HistoryPart::Beside),
            ("skills", HistoryPart::Beside),
            ("[interrupted]", HistoryPart::Other),
            ("second", HistoryPart::Prompt),
            ("servers", HistoryPart::Beside),
        ];
        let mut live = History::default();
        for (text, part) in told {
            live.push(Message::user_text(text), part, vec![text.to_owned()]);
            live.tokens(0);
        }
        let sent = ["date", "skills", "first", "[interrupted]", "servers", "second"];
        assert_eq!(texts(&live), sent);
        assert_eq!(live.lines_in(0..live.turns().len()), told.map(|(text, _)| text));
        let counted = live.tokens(0);
        live.size = HistorySize::default();
        assert_eq!(live.tokens(0), counted, "what is put before the prompt is counted once");
        let restored = told.map(|(text, part)| (Message::user_text(text), part, text.to_owned())).to_vec();
        assert_eq!(texts(&restored.into()), sent);
    }

    /// [MX-26] Reminders come between the results and everything that was typed meanwhile.
    #[test]
    fn words_typed_meanwhile_stay_last() {
        let told = [
            ("results", HistoryPart::Other),
            ("first", HistoryPart::Joined),
            ("of a hook", HistoryPart::Beside),
            ("second", HistoryPart::Joined),
            ("servers", HistoryPart::Beside),
        ];
        let mut live = History::default();
        for (text, part) in told {
            live.push(Message::user_text(text), part, vec![text.to_owned()]);
        }
        assert_eq!(texts(&live), ["results", "of a hook", "servers", "first", "second"]);
        let restored = told.map(|(text, part)| (Message::user_text(text), part, text.to_owned())).to_vec();
        assert_eq!(texts(&restored.into()), texts(&live));
    }

    #[test]
    fn a_retracted_prompt_leaves_what_was_told_beside_it() {
        let mut history = History::default();
        for (text, part) in
            [("date", HistoryPart::Beside), ("first", HistoryPart::Prompt), ("skills", HistoryPart::Beside)]
        {
            history.push(Message::user_text(text), part, vec![text.to_owned()]);
        }
        assert_eq!(history.retract_prompt(), ["first"]);
        assert_eq!(texts(&history), ["date", "skills"]);
    }

    #[test]
    fn a_retracted_prompt_leaves_the_summary_before_it() {
        let told = [("summary", HistoryPart::Summary), ("date", HistoryPart::Beside), ("next", HistoryPart::Prompt)];
        let restored = told.map(|(text, part)| (Message::user_text(text), part, text.to_owned())).to_vec();
        let mut compacted = history(vec![Message::user_text("go"), answer()]);
        compacted.replace_before(2, Message::user_text("summary"), "summary".to_owned());
        for (text, part) in &told[1..] {
            compacted.push(Message::user_text(text), *part, vec![(*text).to_owned()]);
        }
        for mut history in [compacted, restored.into()] {
            assert_eq!(history.retract_prompt(), ["next"]);
            assert_eq!(texts(&history), ["summary", "date"]);
        }
    }

    fn answer() -> Message {
        Message::assistant("m", vec![Fragment::text("calling")])
    }

    #[test]
    fn the_kept_part_never_begins_with_a_result() {
        let history = history(vec![Message::user_text("go"), answer(), result(), answer(), result()]);
        let all = history.tail_within(u64::MAX);
        assert_eq!(all, 0);
        let (last_answer, last_result) = (weight(&history.turns[3]), weight(&history.turns[4]));
        assert_eq!(history.tail_within(last_answer + last_result), 3);
        assert_eq!(history.tail_within(last_result), 5, "a lone result is not kept");
        assert_eq!(history.lines_in(3..5), ["3", "4"]);
    }

    #[test]
    fn dropping_the_oldest_keeps_the_first_and_whole_rounds() {
        let history = history(vec![Message::user_text("go"), answer(), result(), answer(), result()]);
        let left = history.without_oldest(1, history.turns.len());
        assert_eq!(left.len(), 3);
        assert_eq!(left[1].role, Role::Assistant);
        assert_eq!(history.oldest_share(1.0), 3);
    }

    #[test]
    fn only_a_plausible_report_is_believed() {
        let mut history = history(vec![Message::user_text("hello"), answer()]);
        let own = history.tokens(100);
        for odd in [0, 5, 1_000_000] {
            history.report(odd, 100);
            assert_eq!(history.tokens(100), own, "{odd}");
        }
        history.report(own + 7, 100);
        assert_eq!(history.tokens(100), own + 7);
        history.push(Message::user_text("more"), HistoryPart::Prompt, vec![]);
        assert!(history.tokens(100) > own + 7);
    }
}
