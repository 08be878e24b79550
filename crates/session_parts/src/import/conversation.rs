//! What a file of another program says, in order, and how it becomes messages that a request may contain: every call is
//! answered in the message after it, exactly once, and every result belongs to a call.

use super::tool_map::{self, MappedCall};
use super::{ImportReport, ImportSource, json::text_block};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

/// One thing that was said or done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ImportEvent {
    /// Blocks of a prompt.
    Prompt(Vec<Value>),
    Answer(String),
    Call {
        id: String,
        tool: String,
        input: Value,
    },
    Result {
        id: String,
        content: Vec<Value>,
        is_error: bool,
    },
    /// What stands before it was summarised.
    Summary(String),
}

/// An event with its time in RFC 3339.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimedEvent {
    pub(super) at: Option<String>,
    pub(super) event: ImportEvent,
}

/// A conversation as it was read.
#[derive(Clone, Debug)]
pub(super) struct ImportedConversation {
    pub(super) source: ImportSource,
    pub(super) source_version: Option<String>,
    pub(super) source_id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) title: Option<String>,
    pub(super) model: Option<String>,
    pub(super) events: Vec<TimedEvent>,
    pub(super) report: ImportReport,
}

/// A message of the conversation here.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ImportedMessage {
    Prompt(Vec<Value>),
    /// Text for the model only: the output of a call that was kept as text.
    Note(String),
    Answer(Vec<Value>),
    /// The result of the call with this id.
    Result(Value),
    Summary(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimedMessage {
    pub(super) at: Option<String>,
    pub(super) message: ImportedMessage,
}

impl ImportedConversation {
    pub(super) fn new(source: ImportSource) -> Self {
        Self {
            source,
            source_version: None,
            source_id: None,
            cwd: None,
            title: None,
            model: None,
            events: Vec::new(),
            report: ImportReport::default(),
        }
    }

    pub(super) fn push(&mut self, at: Option<&str>, event: ImportEvent) {
        self.events.push(TimedEvent { at: at.map(str::to_owned), event });
    }

    /// Adds a prompt, unless nothing of it is left.
    pub(super) fn prompt(&mut self, at: Option<&str>, blocks: Vec<Value>) {
        if !blocks.is_empty() {
            self.push(at, ImportEvent::Prompt(blocks));
        }
    }

    pub(super) fn answer(&mut self, at: Option<&str>, text: &str) {
        if !text.trim().is_empty() {
            self.push(at, ImportEvent::Answer(text.to_owned()));
        }
    }

    /// Takes back the last `count` prompts with all that followed.
    pub(super) fn drop_turns(&mut self, count: usize) {
        for _ in 0..count {
            let is_prompt = |event: &TimedEvent| matches!(event.event, ImportEvent::Prompt(_));
            let Some(at) = self.events.iter().rposition(is_prompt) else { return };
            self.events.truncate(at);
        }
    }

    /// The messages; counts what they hold.
    pub(super) fn assemble(&mut self, cwd: &Path) -> Vec<TimedMessage> {
        let events = std::mem::take(&mut self.events);
        let mut assembly = MessageAssembly::new(&events, cwd, &mut self.report);
        for (at, event) in events.iter().enumerate() {
            assembly.take(at, event);
        }
        assembly.flush();
        assembly.messages
    }
}

/// A call that waits for the end of its message.
struct OpenCall {
    id: String,
    /// The place of its result among the events.
    result: Option<usize>,
    /// Later parts of one call of another program: they share its result.
    is_part: bool,
}

struct MessageAssembly<'a> {
    events: &'a [TimedEvent],
    cwd: &'a Path,
    report: &'a mut ImportReport,
    /// The places of results that belong to no call yet, by id.
    results: BTreeMap<&'a str, VecDeque<usize>>,
    /// Results that belong to a call that was kept as text, by place: the tool.
    texts: BTreeMap<usize, &'a str>,
    claimed: BTreeSet<usize>,
    ids: BTreeSet<String>,
    called: BTreeSet<&'a str>,
    answer: Vec<Value>,
    answered_at: Option<String>,
    open: Vec<OpenCall>,
    messages: Vec<TimedMessage>,
}

impl<'a> MessageAssembly<'a> {
    fn new(events: &'a [TimedEvent], cwd: &'a Path, report: &'a mut ImportReport) -> Self {
        let mut results: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
        for (at, event) in events.iter().enumerate() {
            if let ImportEvent::Result { id, .. } = &event.event {
                results.entry(id).or_default().push_back(at);
            }
        }
        Self {
            events,
            cwd,
            report,
            results,
            texts: BTreeMap::new(),
            claimed: BTreeSet::new(),
            ids: BTreeSet::new(),
            called: BTreeSet::new(),
            answer: Vec::new(),
            answered_at: None,
            open: Vec::new(),
            messages: Vec::new(),
        }
    }

    fn take(&mut self, place: usize, timed: &'a TimedEvent) {
        match &timed.event {
            ImportEvent::Prompt(blocks) => {
                self.flush();
                self.report.prompts += 1;
                self.push(timed.at.clone(), ImportedMessage::Prompt(blocks.clone()));
            }
            ImportEvent::Summary(text) => {
                self.flush();
                self.push(timed.at.clone(), ImportedMessage::Summary(text.clone()));
            }
            ImportEvent::Answer(text) => {
                // Text after calls begins the next message.
                if !self.open.is_empty() {
                    self.flush();
                }
                self.say(timed, text);
            }
            ImportEvent::Call { id, tool, input } => self.call(place, timed, (id, tool, input)),
            ImportEvent::Result { id, content, .. } => self.result(place, timed, (id, content)),
        }
    }

    fn say(&mut self, timed: &TimedEvent, text: &str) {
        let Some(block) = text_block(text) else { return };
        self.answered_at = self.answered_at.take().or_else(|| timed.at.clone());
        self.answer.push(block);
    }

    fn call(&mut self, place: usize, timed: &'a TimedEvent, (id, tool, input): (&'a str, &'a str, &'a Value)) {
        let is_answered = |open: &OpenCall| open.result.is_some_and(|result| result < place);
        if self.open.iter().any(is_answered) {
            self.flush();
        }
        let result = self.claim(id, place);
        self.called.insert(id);
        match tool_map::map(tool, input, self.cwd) {
            MappedCall::Calls(calls) => {
                self.report.calls += 1;
                self.answered_at = self.answered_at.take().or_else(|| timed.at.clone());
                for (part, (name, input)) in calls.into_iter().enumerate() {
                    let id = self.free_id(id);
                    self.answer.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
                    self.open.push(OpenCall { id, result, is_part: part > 0 });
                }
            }
            MappedCall::Text(shown) => {
                self.report.keep_as_text(tool);
                if !self.open.is_empty() {
                    self.flush();
                }
                self.say(timed, &format!("[{tool}]\n{shown}"));
                if let Some(result) = result {
                    self.texts.insert(result, tool);
                }
            }
        }
    }

    /// The first result with this id after the call that no other call has.
    fn claim(&mut self, id: &str, after: usize) -> Option<usize> {
        let places = self.results.get_mut(id)?;
        let at = places.iter().position(|place| *place > after)?;
        let place = places.remove(at)?;
        self.claimed.insert(place);
        Some(place)
    }

    /// An id that a request may contain and no call has yet.
    fn free_id(&mut self, wanted: &str) -> String {
        let plain: String = wanted
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
            .take(48)
            .collect();
        let plain = if plain.is_empty() { "call".to_owned() } else { plain };
        let mut id = plain.clone();
        let mut number = 1;
        while !self.ids.insert(id.clone()) {
            number += 1;
            id = format!("{plain}_{number}");
        }
        id
    }

    fn result(&mut self, place: usize, timed: &'a TimedEvent, (id, content): (&'a str, &'a [Value])) {
        if let Some(tool) = self.texts.remove(&place) {
            self.flush();
            let text = plain_text(content);
            return self.push(timed.at.clone(), ImportedMessage::Note(format!("[result of {tool}]\n{text}")));
        }
        // A result that is told twice counts once.
        if self.claimed.contains(&place) || self.called.contains(id) {
            return;
        }
        self.flush();
        self.report.leave_out("result without a call (kept as text)");
        let text = plain_text(content);
        self.push(timed.at.clone(), ImportedMessage::Note(format!("[result of an unknown call]\n{text}")));
    }

    fn push(&mut self, at: Option<String>, message: ImportedMessage) {
        self.messages.push(TimedMessage { at, message });
    }

    /// Ends the message of the assistant: the results of its calls follow at once.
    fn flush(&mut self) {
        let blocks = std::mem::take(&mut self.answer);
        if blocks.is_empty() {
            return;
        }
        self.report.answers += 1;
        let at = self.answered_at.take();
        self.push(at.clone(), ImportedMessage::Answer(blocks));
        for open in std::mem::take(&mut self.open) {
            let (at, block) = self.answer_to(&open, at.as_ref());
            self.push(at, ImportedMessage::Result(block));
        }
    }

    fn answer_to(&mut self, open: &OpenCall, called_at: Option<&String>) -> (Option<String>, Value) {
        let id = &open.id;
        let Some(timed) = open.result.and_then(|place| self.events.get(place)) else {
            self.report.leave_out("call without a result");
            let text = "No result was recorded.";
            let block = json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": true});
            return (called_at.cloned(), block);
        };
        let ImportEvent::Result { content, is_error, .. } = &timed.event else {
            return (called_at.cloned(), json!({"type": "tool_result", "tool_use_id": id, "content": ""}));
        };
        let mut block = json!({"type": "tool_result", "tool_use_id": id});
        let only_text = content.iter().all(|block| block["type"] == "text");
        block["content"] = match (open.is_part, only_text) {
            (true, _) => "Done with the call before.".into(),
            (false, true) => plain_text(content).into(),
            (false, false) => content.clone().into(),
        };
        if *is_error {
            block["is_error"] = true.into();
        }
        (timed.at.clone(), block)
    }
}

fn plain_text(content: &[Value]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}
