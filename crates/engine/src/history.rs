//! The conversation as it is sent, and which transcript lines each part of it was written to. Appended to; only a
//! compaction replaces what came before. What is told beside a prompt stands before the user's words, which are the last
//! of their message; live and restored conversations are put together by the same functions, so a resumed request has
//! the same bytes. The size is counted as it grows, never again from the start.

use model::{Fragment, Message, Role, estimate};
use wire::block::{BlockHead, MessageContent, tool_result};

/// A reported size that many times above or below our own count is not believed: a server that counts oddly must
/// neither cost the user the conversation nor let it run into the wall.
const MAX_COUNT_RATIO: u64 = 3;

/// What a turn of the history is to those that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistoryPart {
    /// The user's words: the last of their message.
    Prompt,
    /// Reminders, instructions and notices: they stand before the prompt they were told with.
    Beside,
    /// Answers, results, and everything else in the order in which it came.
    Other,
}

/// Where a turn stands in the transcript.
struct HistoryOrigin {
    part: HistoryPart,
    /// The lines that hold it, oldest first.
    lines: Vec<String>,
    /// Counts what was added, in the order of the file.
    order: usize,
}

#[derive(Default)]
pub(crate) struct History {
    turns: Vec<Message>,
    /// One for each turn.
    origins: Vec<HistoryOrigin>,
    /// The order of the next one.
    added: usize,
    size: HistorySize,
}

#[derive(Clone, Copy, Default)]
struct HistorySize {
    /// How many turns are in `estimated`.
    counted: usize,
    /// Our own count of them.
    estimated: u64,
    /// What the last response said of everything up to and including itself.
    reported: u64,
    /// `counted` and `estimated` at that moment.
    reported_at: (usize, u64),
}

impl History {
    pub(crate) fn push(&mut self, turn: Message, part: HistoryPart, lines: Vec<String>) {
        let at = if part == HistoryPart::Beside { self.before_prompt() } else { self.turns.len() };
        if at < self.size.counted {
            self.size.counted += 1;
            self.size.estimated += weight(&turn);
        }
        self.turns.insert(at, turn);
        self.origins.insert(at, HistoryOrigin { part, lines, order: self.added });
        self.added += 1;
    }

    /// Where what is told beside the latest prompt goes: before it, unless something else came since.
    fn before_prompt(&self) -> usize {
        let end = self.turns.len();
        let is_prompt = self.origins.last().is_some_and(|origin| origin.part == HistoryPart::Prompt);
        if is_prompt { end - 1 } else { end }
    }

    pub(crate) fn turns(&self) -> &[Message] {
        &self.turns
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether there is an exchange that a summary could stand for.
    pub(crate) fn has_answers(&self) -> bool {
        self.turns.iter().any(|turn| turn.role == Role::Assistant)
    }

    /// Results that refer to tools which are not sent along say so in words: a reference to nothing is an error.
    pub(crate) fn rewrite_references(&mut self, is_sent: impl Fn(&str) -> bool) {
        for block in self.turns.iter_mut().flat_map(|turn| &mut turn.blocks) {
            let names = crate::mcp::references(block.get());
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

    /// Takes back what was said after the last answer; what was told beside it stays. The lines of what is gone.
    pub(crate) fn retract_prompt(&mut self) -> Vec<String> {
        let answered = self.turns.iter().rposition(|turn| turn.role == Role::Assistant).map_or(0, |at| at + 1);
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

    /// Takes out the first prompt from `at` on and the last turn, when that is `mark` and nobody answered in between;
    /// what was told beside them stays. The lines of both.
    pub(crate) fn take_unanswered(&mut self, at: usize, mark: &str) -> Option<Vec<String>> {
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

    /// The response just pushed was counted by the server: its input and output together.
    pub(crate) fn report(&mut self, tokens: u64, fixed: u64) {
        self.count();
        let HistorySize { counted, estimated, .. } = self.size;
        let own = estimated + fixed;
        let believed = tokens <= own * MAX_COUNT_RATIO && tokens * MAX_COUNT_RATIO >= own;
        self.size.reported = if believed { tokens } else { 0 };
        self.size.reported_at = (counted, estimated);
    }

    /// Tokens of the next request: what the server last counted and our count of what came since.
    pub(crate) fn tokens(&mut self, fixed: u64) -> u64 {
        self.count();
        let size = &self.size;
        match size.reported {
            0 => size.estimated + fixed,
            reported => reported + size.estimated.saturating_sub(size.reported_at.1),
        }
    }

    fn count(&mut self) {
        let new = &self.turns[self.size.counted..];
        self.size.estimated += new.iter().map(weight).sum::<u64>();
        self.size.counted = self.turns.len();
    }

    /// Where the newest part that weighs at most `budget` begins: never between a call and its result.
    pub(crate) fn tail_within(&self, budget: u64) -> usize {
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

    /// Lines of the turns from `start` on, in the order of the file.
    pub(crate) fn lines_from(&self, start: usize) -> Vec<String> {
        let mut origins: Vec<&HistoryOrigin> = self.origins[start..].iter().collect();
        origins.sort_by_key(|origin| origin.order);
        origins.into_iter().flat_map(|origin| origin.lines.iter().cloned()).collect()
    }

    /// `summary` takes the place of everything before `start`.
    pub(crate) fn replace_before(&mut self, start: usize, summary: Message, line: String) {
        let kept = self.turns.split_off(start);
        let mut origins = self.origins.split_off(start);
        // The summary's line is newer than the kept ones, but they continue it.
        for origin in &mut origins {
            origin.order += 1;
        }
        self.added += 1;
        self.turns = std::iter::once(summary).chain(kept).collect();
        let first = HistoryOrigin { part: HistoryPart::Other, lines: vec![line], order: 0 };
        self.origins = std::iter::once(first).chain(origins).collect();
        self.size = HistorySize::default();
    }

    /// How many turns there are up to the first prompt, with it.
    fn first_prompt_end(&self) -> usize {
        self.origins.iter().position(|origin| origin.part == HistoryPart::Prompt).map_or(1, |at| at + 1)
    }

    /// The first prompt and the newest turns, `drop` of the older left out: what fits when all of it does not.
    pub(crate) fn without_oldest(&self, drop: usize) -> Vec<Message> {
        let beginning = self.first_prompt_end();
        let mut from = (beginning + drop).min(self.turns.len());
        while self.turns.get(from).is_some_and(answers_calls) {
            from += 1;
        }
        self.turns[..beginning.min(from)].iter().chain(&self.turns[from..]).cloned().collect()
    }

    /// How many of the older turns weigh `share` of the whole.
    pub(crate) fn oldest_share(&self, share: f64) -> usize {
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
    /// From the lines of a file, in their order.
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

    // [F-B9] What is told beside a prompt stands before it, live and restored alike; the file keeps its own order.
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
        assert_eq!(live.lines_from(0), told.map(|(text, _)| text));
        let counted = live.tokens(0);
        live.size = HistorySize::default();
        assert_eq!(live.tokens(0), counted, "what is put before the prompt is counted once");
        let restored = told.map(|(text, part)| (Message::user_text(text), part, text.to_owned())).to_vec();
        assert_eq!(texts(&restored.into()), sent);
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
        assert_eq!(history.lines_from(3), ["3", "4"]);
    }

    #[test]
    fn dropping_the_oldest_keeps_the_first_and_whole_rounds() {
        let history = history(vec![Message::user_text("go"), answer(), result(), answer(), result()]);
        let left = history.without_oldest(1);
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
