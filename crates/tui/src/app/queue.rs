//! Messages sent while a turn runs. Plain messages go to the engine, which passes them to the model after the current
//! calls. Commands wait here for the end of the turn and are sent one at a time. Waiting messages can be taken back;
//! the engine reports which of its messages were still waiting.

use super::spinner::{RunningTurn, faint};
use super::{App, AppEffect, PromptMessage};
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;
use terminal::editor::Submission;
use terminal::editor::chips::Chip;
use terminal::keys::bindings::{KeyAction, KeyBindings};
use terminal::style::StyledLine;
use terminal::text;
use terminal::theme::Theme;
use wire::control::{CancelAsyncMessage, HostRequest};

/// How long the hint stays that an unknown command can be sent as text.
const OFFER_DURATION: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct QueuedMessage {
    submission: Submission,
    /// Identifies the message to the engine; `None` when it waits here.
    uuid: Option<String>,
}

#[derive(Debug, Default)]
pub struct MessageQueue {
    waiting: VecDeque<QueuedMessage>,
    /// The id of the pending request that takes all messages back.
    recall_request: Option<String>,
}

impl MessageQueue {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Queues a message until the session is ready or the turn has ended.
    pub fn hold(&mut self, submission: Submission) {
        self.waiting.push_back(QueuedMessage { submission, uuid: None });
    }

    /// Queues a message before all others.
    pub fn hold_first(&mut self, submission: Submission) {
        self.waiting.push_front(QueuedMessage { submission, uuid: None });
    }

    /// The waiting messages, and how to take them back.
    pub fn rows(&self, theme: &Theme, bindings: &KeyBindings) -> Vec<StyledLine> {
        let row = |waiting: &QueuedMessage| {
            let text = text::clean(&waiting.submission.shown).replace('\n', " ");
            faint(format!("> {text}"), theme)
        };
        let mut rows: Vec<StyledLine> = self.waiting.iter().map(row).collect();
        if !rows.is_empty() {
            let send = bindings.keys_of(KeyAction::Cancel).unwrap_or_default().replace("escape", "esc");
            rows.push(faint(format!("  ↑ to take back · {send} to send now"), theme));
        }
        rows
    }

    fn is_with_engine(&self) -> bool {
        self.waiting.iter().any(|waiting| waiting.uuid.is_some())
    }

    fn remove(&mut self, uuid: &str) -> Option<Submission> {
        let at = self.waiting.iter().position(|waiting| waiting.uuid.as_deref() == Some(uuid))?;
        self.waiting.remove(at).map(|waiting| waiting.submission)
    }

    /// The next message that waits here.
    fn next_held(&mut self) -> Option<Submission> {
        let at = self.waiting.iter().position(|waiting| waiting.uuid.is_none())?;
        self.waiting.remove(at).map(|waiting| waiting.submission)
    }

    /// Takes the messages that wait here. Shell commands are taken only when nothing else is queued.
    fn take_held(&mut self) -> Vec<Submission> {
        let only_shell = self.waiting.iter().all(|waiting| is_shell(&waiting.submission));
        let goes = |waiting: &QueuedMessage| waiting.uuid.is_none() && (only_shell || !is_shell(&waiting.submission));
        let (gone, kept) = std::mem::take(&mut self.waiting).into_iter().partition::<VecDeque<_>, _>(goes);
        self.waiting = kept;
        gone.into_iter().map(|waiting| waiting.submission).collect()
    }
}

fn is_shell(submission: &Submission) -> bool {
    submission.expanded.trim_start().starts_with('!')
}

/// Whether the message may join a running turn.
fn may_join(submission: &Submission) -> bool {
    !submission.expanded.trim_start().starts_with(['!', '/'])
}

/// The numbers of the images in a message.
fn image_ids(submission: &Submission) -> Vec<u64> {
    let number = |(label, chip): &(String, Chip)| match chip {
        Chip::Image { .. } => label.strip_prefix("[Image #")?.strip_suffix(']')?.parse().ok(),
        Chip::Text(_) => None,
    };
    submission.chips.iter().filter_map(number).collect()
}

impl App {
    /// Queues a message while a turn runs.
    pub(super) fn enqueue(&mut self, submission: Submission) {
        let uuid = may_join(&submission).then(sys::id::uuid);
        self.pasted_prompts.remember(&submission);
        if let Some(uuid) = &uuid {
            self.effects.push(AppEffect::Submit(PromptMessage {
                text: submission.expanded.clone(),
                images: submission.images.clone(),
                is_shell: false,
                is_verbatim: false,
                uuid: Some(uuid.clone()),
                image_ids: image_ids(&submission),
            }));
        }
        self.queue.waiting.push_back(QueuedMessage { submission, uuid });
    }

    /// Prints a message that the engine has started to process; `false` when it is not a queued one.
    pub(super) fn receive_delivered(&mut self, uuid: &str) -> bool {
        let Some(submission) = self.queue.remove(uuid) else { return false };
        self.print_held_calls();
        self.print_prompt(&submission.shown);
        if self.activity.turn.is_none() {
            self.activity.turn = Some(RunningTurn::new(self.now));
        }
        if let Some(turn) = self.activity.turn.as_mut().filter(|turn| !turn.has_output) {
            turn.prompt = Some(submission);
        }
        true
    }

    /// Continues with the next queued message after a turn has ended.
    pub(super) fn continue_queue(&mut self, ended: Option<&str>) {
        if let Some(uuid) = ended {
            // A hook refused the message, so it was never delivered.
            self.queue.remove(uuid);
        }
        if self.queue.is_with_engine() {
            self.alerts.clear_idle();
            self.activity.turn = Some(RunningTurn::new(self.now));
        } else {
            self.next_queued();
        }
    }

    pub(super) fn next_queued(&mut self) {
        if let Some(next) = self.queue.next_held() {
            self.send(next);
        }
    }

    /// An unknown command with several words is offered again, to be sent as text.
    pub(super) fn offer_as_text(&mut self, local_command: Option<&str>) {
        let Some(typed) = self.sent_command.take() else { return };
        let is_sentence = typed.split_whitespace().nth(1).is_some();
        if local_command != Some(engine::UNKNOWN_COMMAND) || !is_sentence || !self.prompt.editor.is_empty() {
            return;
        }
        self.hint("Not a command: press enter to send it to the model as text", OFFER_DURATION);
        self.prompt.editor.set(typed.clone());
        self.offered_text = Some(typed);
    }

    pub(super) fn take_queue_back(&mut self) {
        if self.queue.is_with_engine() {
            let id = self.send_control_request(HostRequest::CancelAsyncMessage(CancelAsyncMessage {
                message_uuid: None,
                all: true,
            }));
            self.queue.recall_request = Some(id);
        } else {
            self.restore_to_prompt(Vec::new());
        }
    }

    /// Takes the messages that the engine returned; `false` when `request_id` is another request.
    pub(super) fn receive_recalled(&mut self, request_id: &str, body: &Value) -> bool {
        if self.queue.recall_request.take_if(|id| id == request_id).is_none() {
            return false;
        }
        let ids = body.get("message_uuids").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let back = ids.iter().filter_map(Value::as_str).filter_map(|uuid| self.queue.remove(uuid)).collect();
        self.restore_to_prompt(back);
        true
    }

    /// Puts the messages into the prompt, one per line, before the text being typed.
    fn restore_to_prompt(&mut self, mut back: Vec<Submission>) {
        back.extend(self.queue.take_held());
        if back.is_empty() {
            return;
        }
        self.prompt.put_back(back);
        self.show_menu(None);
    }

    /// Puts the prompt of a turn back into the editor when the turn was interrupted before any output.
    pub(super) fn return_prompt(&mut self, turn: &mut RunningTurn) {
        let Some(prompt) = turn.prompt.take() else { return };
        if turn.has_output || !self.prompt.editor.is_empty() || !self.queue.is_empty() {
            return;
        }
        self.prompt.editor.chips.restore(prompt.chips);
        self.prompt.editor.set(prompt.shown);
        // The model never hears of what was not meant to be asked.
        self.send_control_request(HostRequest::RetractPrompt);
    }
}
