//! Finds the words of the person in a part of the conversation: prompts, what was typed while a turn ran, answers to
//! questions, and what was said when a call was refused.

use super::{CarriedRecord, CarriedWords, SaidByUser, SaidHow};
use crate::history::{HistoryEntry, HistoryPart};
use model::{Fragment, Message};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeSet, HashMap};
use tools::ask_user_question;
use wire::block::{BlockHead, MessageContent};
use wire::control::is_wordless_refusal;

/// How much of a refused call's input is shown, in characters.
const CALL_CHARS: usize = 100;

#[derive(Deserialize)]
struct CallResult {
    content: Option<MessageContent>,
    #[serde(default)]
    is_error: bool,
}

/// The words in these entries, oldest first; where an earlier summary stands, those it stands for. `refused` has the ids of
/// calls whose result is what the person said.
pub fn words_in<'a>(
    entries: impl Iterator<Item = HistoryEntry<'a>>,
    refused: &BTreeSet<String>,
    carried: &CarriedRecord,
) -> CarriedWords {
    let mut finder = WordFinder { refused, calls: HashMap::new(), found: CarriedWords::default() };
    for entry in entries {
        match entry.part {
            HistoryPart::Summary => finder.take_over(carried, entry.lines),
            HistoryPart::Prompt => finder.typed(SaidHow::Prompt, &entry),
            HistoryPart::Joined => finder.typed(SaidHow::Queued, &entry),
            HistoryPart::Other => finder.calls_and_results(&entry),
            HistoryPart::Repeated | HistoryPart::Beside => {}
        }
    }
    finder.found
}

struct WordFinder<'r> {
    refused: &'r BTreeSet<String>,
    /// Name and input of calls that a person may have said something about.
    calls: HashMap<String, (String, String)>,
    found: CarriedWords,
}

impl WordFinder<'_> {
    fn take_over(&mut self, carried: &CarriedRecord, lines: &[String]) {
        for earlier in carried.words.iter().filter(|words| lines.contains(&words.summary)) {
            self.found.said.extend(earlier.said.iter().cloned());
            self.found.left_out += earlier.left_out;
        }
    }

    fn typed(&mut self, how: SaidHow, entry: &HistoryEntry<'_>) {
        let (text, attached) = typed_text(entry.turn);
        if text.is_empty() && attached == 0 {
            return;
        }
        let line = entry.lines.first().cloned().unwrap_or_default();
        self.found.said.push(SaidByUser { line, how, text, attached, ..SaidByUser::default() });
    }

    fn calls_and_results(&mut self, entry: &HistoryEntry<'_>) {
        for (at, block) in entry.turn.blocks.iter().enumerate() {
            match BlockHead::read(block.raw()) {
                Some(BlockHead::ToolUse { id, name, input })
                    if name == ask_user_question::NAME || self.refused.contains(&*id) =>
                {
                    self.calls.insert(id.into_owned(), (name.into_owned(), shown_input(input)));
                }
                Some(BlockHead::ToolResult { tool_use_id }) => {
                    let Some(call) = self.calls.remove(&*tool_use_id) else { continue };
                    // The results of a message are one line each.
                    let line = entry.lines.get(at).or(entry.lines.last()).cloned().unwrap_or_default();
                    let is_refused = self.refused.contains(&*tool_use_id);
                    self.found.said.extend(said_of(block, call, is_refused).map(|said| SaidByUser { line, ..said }));
                }
                _ => {}
            }
        }
    }
}

/// What the person said in the result of a call.
fn said_of(block: &Fragment, (name, input): (String, String), is_refused: bool) -> Option<SaidByUser> {
    let CallResult { content, is_error } = serde_json::from_str(block.get()).ok()?;
    let text = content?.text().into_owned();
    if is_refused {
        let about = if input.is_empty() { name } else { format!("{name} {input}") };
        let said = SaidByUser { how: SaidHow::Refusal, text, about: Some(about), ..SaidByUser::default() };
        return (!is_wordless_refusal(&said.text)).then_some(said);
    }
    let text = ask_user_question::answers_in(&text).filter(|_| !is_error)?.to_owned();
    Some(SaidByUser { how: SaidHow::Answer, text, ..SaidByUser::default() })
}

/// The most telling part of an input, on one line.
fn shown_input(input: &RawValue) -> String {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(input.get()).unwrap_or_default();
    let field = ["command", "file_path", "path", "url", "pattern"].iter().find_map(|name| fields.get(*name)?.as_str());
    let line = field.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CALL_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// What was typed, and how many other blocks came with it. A typed skill is recorded with tags, which are undone.
fn typed_text(turn: &Message) -> (String, u64) {
    let mut texts = Vec::new();
    let mut attached = 0;
    for block in &turn.blocks {
        match BlockHead::read(block.raw()) {
            Some(BlockHead::Text(text)) => texts.push(text.into_owned()),
            _ => attached += 1,
        }
    }
    let text = texts.join("\n");
    (typed_command(&text).unwrap_or(text), attached)
}

fn typed_command(text: &str) -> Option<String> {
    let (name, rest) = text.strip_prefix("<command-name>")?.split_once("</command-name>")?;
    let arguments = rest.split_once("<command-args>").and_then(|(_, rest)| rest.rsplit_once("</command-args>"));
    Some(arguments.map_or_else(|| name.to_owned(), |(arguments, _)| format!("{name} {arguments}")))
}
