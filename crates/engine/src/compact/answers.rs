//! The answers of the model to the demand for a hand-over, until there is a whole one: a call of a tool is refused once,
//! and a text that was cut off is continued.

use model::client::Completion;
use model::{Fragment, Message};
use session_parts::prompts;
use wire::block::{BlockHead, MessageContent, tool_result};

/// How often a text that was cut off is continued.
const MAX_CONTINUATIONS: u32 = 3;
/// A text of this many characters beside a call is taken for the hand-over.
const WHOLE_CHARS: usize = 400;

#[derive(Default)]
pub(super) struct SummaryAnswers {
    /// What follows the demand in the next request.
    pub(super) exchange: Vec<Message>,
    /// The text so far.
    text: String,
    was_reminded: bool,
    continuations: u32,
}

pub(super) enum SummaryProgress {
    Whole(String),
    /// The next request goes on with `exchange`.
    Unfinished,
    Empty,
}

impl SummaryAnswers {
    pub(super) fn take(&mut self, model: &str, done: &Completion) -> SummaryProgress {
        let (text, calls) = parts(done);
        let is_whole = text.trim().chars().nth(WHOLE_CHARS).is_some();
        if !calls.is_empty() && !is_whole && !self.was_reminded {
            self.was_reminded = true;
            self.answer(model, done, refusals(&calls));
            return SummaryProgress::Unfinished;
        }
        let is_cut = done.assembly.stop_reason.as_deref() == Some("max_tokens");
        self.text.push_str(&text);
        if is_cut && !text.trim().is_empty() && calls.is_empty() && self.continuations < MAX_CONTINUATIONS {
            self.continuations += 1;
            self.answer(model, done, vec![Fragment::text(prompts::CONTINUE)]);
            return SummaryProgress::Unfinished;
        }
        match self.text.trim() {
            "" => SummaryProgress::Empty,
            whole => SummaryProgress::Whole(whole.to_owned()),
        }
    }

    fn answer(&mut self, model: &str, done: &Completion, reply: Vec<Fragment>) {
        let is_sent = |block: &Fragment| {
            !matches!(BlockHead::read(block.raw()), None | Some(BlockHead::Other(_)))
                && !matches!(BlockHead::read(block.raw()), Some(BlockHead::Text(text)) if text.trim().is_empty())
        };
        let blocks = done.blocks.iter().map(|closed| Fragment::new(closed.block.clone())).filter(is_sent).collect();
        self.exchange.extend([Message::assistant(model.to_owned(), blocks), Message::user(reply)]);
    }
}

/// The text of an answer and the ids of its calls.
fn parts(done: &Completion) -> (String, Vec<String>) {
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for closed in &done.blocks {
        match BlockHead::read(&closed.block) {
            Some(BlockHead::Text(text)) => texts.push(text.into_owned()),
            Some(BlockHead::ToolUse { id, .. }) => calls.push(id.into_owned()),
            _ => {}
        }
    }
    (texts.join("\n"), calls)
}

/// Every call needs a result.
fn refusals(calls: &[String]) -> Vec<Fragment> {
    let refusal = MessageContent::Text(prompts::TEXT_ONLY.to_owned());
    let results = calls.iter().filter_map(|id| tool_result(id, &refusal, true).ok()).map(Fragment::new);
    results.chain([Fragment::text(prompts::HAND_OVER_NOW)]).collect()
}
