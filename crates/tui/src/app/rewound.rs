//! Going back: opening the list, what is said when it is done, and the prompt that returns. What was printed stays in the
//! scrollback, so a line says where the conversation goes on.

use super::panel::rewind::{RewindAsked, RewindGoal, RewindList, report_words};
use super::spinner::{RunningTurn, TurnWait};
use super::todos::TodoRow;
use super::{App, PendingResponse};
use crate::app::record::told::typed_text;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use terminal::editor::Submission;
use terminal::editor::chips::Chip;
use terminal::theme::ThemeToken;
use wire::control::{CompactPart, GetContextUsage, HostRequest};

const HINT_DURATION: Duration = Duration::from_secs(4);
/// How many prompts with pasted text are remembered as they were typed.
const REMEMBERED_PROMPTS: usize = 50;

/// The part of the conversation that a summary takes the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummarisedPart {
    /// A prompt and everything after it.
    From,
    /// Everything before a prompt.
    UpTo,
}

impl SummarisedPart {
    fn name(self) -> &'static str {
        match self {
            Self::From => "from",
            Self::UpTo => "up_to",
        }
    }
}

/// Prompts of this process whose labels stand for pasted text, newest last.
#[derive(Debug, Default)]
pub struct PastedPrompts(Vec<Submission>);

impl PastedPrompts {
    pub fn remember(&mut self, submission: &Submission) {
        if submission.chips.iter().any(|(_, chip)| matches!(chip, Chip::Text(_))) {
            self.0.push(submission.clone());
            let over = self.0.len().saturating_sub(REMEMBERED_PROMPTS);
            self.0.drain(..over);
        }
    }

    /// The prompt that was sent with this text.
    fn find(&self, expanded: &str) -> Option<&Submission> {
        self.0.iter().rev().find(|prompt| prompt.expanded == expanded)
    }
}

impl App {
    /// `/rewind`
    pub(super) fn open_rewind(&mut self) {
        if self.is_busy() {
            return self.hint("Wait for the end of this turn, or stop it with esc", HINT_DURATION);
        }
        self.open_panel(RewindList::panel());
    }

    /// The engine went back, or says why not.
    pub(super) fn receive_rewound(&mut self, asked: &RewindAsked, outcome: Result<Value, String>) {
        let body = match outcome {
            Ok(body) => body,
            Err(error) => return self.note(&error, ThemeToken::Error),
        };
        let title = asked.goal.title();
        let title = if asked.has_conversation() { title } else { format!("{title} · files only") };
        let mut told = vec![(title, false)];
        if asked.has_code() {
            told.extend(report_words(&body["report"], &self.session));
        }
        let running: Vec<&str> =
            body["stillRunning"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !running.is_empty() {
            told.push((format!("Still running in the background: {}", running.join(", ")), true));
        }
        self.print_rewound(&told);
        if asked.has_conversation() {
            self.follow_rewound(asked, &body);
        }
    }

    /// One block for what was done, and one for what needs attention.
    fn print_rewound(&mut self, told: &[(String, bool)]) {
        for (token, needs_attention) in [(ThemeToken::Inactive, false), (ThemeToken::Warning, true)] {
            let lines: Vec<&str> = told
                .iter()
                .filter(|(_, attention)| *attention == needs_attention)
                .map(|(text, _)| text.as_str())
                .collect();
            if !lines.is_empty() {
                self.note(&lines.join("\n"), token);
            }
        }
    }

    /// The interface shows what belongs to the point where the conversation goes on.
    fn follow_rewound(&mut self, asked: &RewindAsked, body: &Value) {
        let list = |name: &str| Vec::<TodoRow>::deserialize(&body["lists"][name]).unwrap_or_default();
        let todos = list("todos");
        self.todos = if todos.is_empty() { list("tasks") } else { todos };
        self.tasks_left.clear();
        let usage = GetContextUsage { detail: Some("summary".into()) };
        self.request(HostRequest::GetContextUsage(usage), PendingResponse::ContextUsed);
        self.status.schedule_if_configured(self.now);
        if let RewindGoal::Before(_) = asked.goal {
            self.return_rewound_prompt(&body["prompt"]["content"]);
        }
    }

    /// Puts the prompt into the editor, with its images and with labels for what was pasted into it.
    fn return_rewound_prompt(&mut self, content: &Value) {
        let (text, images) = parts_of(content);
        let text = typed_text(&text);
        let mut submission = self.pasted_prompts.find(&text).cloned().unwrap_or_else(|| Submission::plain(text));
        submission.chips.retain(|(_, chip)| matches!(chip, Chip::Text(_)));
        let mut labels = image_labels(&submission.shown).into_iter();
        for (media_type, base64) in images {
            if let Some(label) = labels.next() {
                submission.chips.push((label, Chip::Image { media_type, base64 }));
            } else {
                let label = self.prompt.editor.chips.add_image(media_type, base64);
                submission.shown = format!("{} {label} ", submission.shown.trim_end());
            }
        }
        self.prompt.put_back(vec![submission]);
        self.show_menu(None);
    }

    /// Asks for a summary of a part of the conversation. It takes a while, and ends like a turn.
    pub(super) fn summarise_part(&mut self, prompt: String, direction: SummarisedPart) {
        let mut turn = RunningTurn::new(self.now);
        turn.waits = TurnWait::Compacting;
        let began = turn.started;
        self.activity.turn = Some(turn);
        let request =
            CompactPart { user_message_id: prompt, direction: direction.name().to_owned(), instructions: None };
        self.request(HostRequest::CompactPart(request), PendingResponse::PartSummarised(began));
    }

    /// The summary was made, or not. When nothing else ended its turn, this does.
    pub(super) fn receive_part_summary(&mut self, began: Duration, outcome: Result<Value, String>) {
        match outcome {
            Ok(body) => {
                let used = body.get("post_tokens").and_then(Value::as_u64);
                self.session.context_used = used.unwrap_or(self.session.context_used);
            }
            Err(error) => self.note(&error, ThemeToken::Error),
        }
        if self.activity.turn.take_if(|turn| turn.started == began).is_some() {
            self.status.schedule_always(self.now);
            self.continue_queue(None);
        }
    }
}

/// The text of a message, and the media type and data of its images.
fn parts_of(content: &Value) -> (String, Vec<(String, String)>) {
    if let Some(text) = content.as_str() {
        return (text.to_owned(), Vec::new());
    }
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let image = |block: &Value| {
        let source = block.get("source").filter(|_| block["type"] == "image")?;
        Some((source["media_type"].as_str()?.to_owned(), source["data"].as_str()?.to_owned()))
    };
    (texts.join("\n"), blocks.iter().filter_map(image).collect())
}

/// The labels of images in a text, in order.
fn image_labels(text: &str) -> Vec<String> {
    let label = |rest: &str| {
        let number = rest.split_once(']')?.0;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| format!("[Image #{number}]"))
    };
    text.split("[Image #").skip(1).filter_map(label).collect()
}

#[cfg(test)]
#[path = "rewound_tests.rs"]
mod tests;
