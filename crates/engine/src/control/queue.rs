//! The queued prompts: by priority, then in order of arrival. Operations on prompts with an id are recorded for the
//! transcript.

use session_parts::command::Prompt;
use session_parts::messages::plain_text;
use std::collections::{BTreeSet, VecDeque};

/// An operation on the queue that is not in the transcript yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueOperation {
    pub name: &'static str,
    pub timestamp: String,
    pub content: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct PromptQueue {
    waiting: VecDeque<Prompt>,
    operations: Vec<QueueOperation>,
    /// The ids of prompts whose queueing was recorded.
    recorded_ids: BTreeSet<String>,
}

impl PromptQueue {
    pub(super) fn push(&mut self, prompt: Prompt) {
        let place = self.waiting.iter().position(|waiting| waiting.priority > prompt.priority);
        self.waiting.insert(place.unwrap_or(self.waiting.len()), prompt);
    }

    /// Like `push`, for a prompt that has to wait: its queueing is recorded.
    pub(super) fn push_recorded(&mut self, prompt: Prompt) {
        if let Some(uuid) = &prompt.uuid {
            self.recorded_ids.insert(uuid.clone());
            self.record("enqueue", Some(plain_text(&prompt.content)));
        }
        self.push(prompt);
    }

    pub(super) fn push_front(&mut self, prompt: Prompt) {
        self.waiting.push_front(prompt);
    }

    pub(super) fn pop(&mut self) -> Option<Prompt> {
        self.waiting.pop_front()
    }

    /// The number of queued prompts that will start a turn.
    pub(super) fn backlog(&self) -> usize {
        self.waiting.iter().filter(|prompt| prompt.query).count()
    }

    /// The ids that hosts gave to queued prompts.
    pub(super) fn ids(&self) -> Vec<String> {
        self.waiting.iter().filter_map(|prompt| prompt.uuid.clone()).collect()
    }

    /// Removes all prompts and returns their ids.
    pub(super) fn clear(&mut self) -> Vec<String> {
        let ids = self.ids();
        let texts: Vec<String> = self.waiting.iter().map(|prompt| plain_text(&prompt.content)).collect();
        if ids.iter().any(|id| self.recorded_ids.contains(id)) {
            self.record("popAll", Some(texts.join("\n")));
        }
        for id in &ids {
            self.recorded_ids.remove(id);
        }
        self.waiting.clear();
        ids
    }

    /// Removes one prompt; `false` when it is not queued.
    pub(crate) fn remove(&mut self, uuid: &str) -> bool {
        let Some(at) = self.waiting.iter().position(|prompt| prompt.uuid.as_deref() == Some(uuid)) else {
            return false;
        };
        if let Some(gone) = self.waiting.remove(at).filter(|_| self.recorded_ids.remove(uuid)) {
            self.record("remove", Some(plain_text(&gone.content)));
        }
        true
    }

    /// Removes and returns the prompts that may join the running turn.
    pub(super) fn take_joining(&mut self) -> Vec<Prompt> {
        let (joining, staying): (VecDeque<Prompt>, VecDeque<Prompt>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|prompt| prompt.mid_turn.is_some() && prompt.query && prompt.shell.is_none());
        self.waiting = staying;
        for prompt in &joining {
            let known = prompt.uuid.as_ref().is_some_and(|uuid| self.recorded_ids.remove(uuid));
            if known {
                self.record("remove", Some(plain_text(&prompt.content)));
            }
        }
        joining.into()
    }

    /// Whether the queueing of this prompt was recorded; forgets it.
    pub(super) fn take_recorded(&mut self, uuid: Option<&str>) -> bool {
        uuid.is_some_and(|uuid| self.recorded_ids.remove(uuid))
    }

    pub(super) fn take_operations(&mut self) -> Vec<QueueOperation> {
        std::mem::take(&mut self.operations)
    }

    fn record(&mut self, name: &'static str, content: Option<String>) {
        self.operations.push(QueueOperation { name, timestamp: sys::clock::now_iso(), content });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use session_parts::command::PromptPriority;

    fn prompt(uuid: &str, priority: PromptPriority) -> Prompt {
        let content = wire::raw::to_raw(uuid).unwrap();
        Prompt { uuid: Some(uuid.into()), priority, ..Prompt::new(content) }
    }

    #[test]
    fn what_is_urgent_goes_first_and_the_rest_keeps_its_order() {
        // [SDK-63] [SDK-67]
        let mut queue = PromptQueue::default();
        for (uuid, priority) in [
            ("a", PromptPriority::Later),
            ("b", PromptPriority::Next),
            ("c", PromptPriority::Now),
            ("d", PromptPriority::Next),
            ("e", PromptPriority::Now),
            ("f", PromptPriority::Later),
        ] {
            queue.push(prompt(uuid, priority));
        }
        assert_eq!(queue.ids(), ["c", "e", "b", "d", "a", "f"]);
        assert!(queue.remove("d") && !queue.remove("d"));
        assert_eq!(queue.clear(), ["c", "e", "b", "a", "f"]);
        assert!(queue.pop().is_none());
        assert!(queue.take_operations().is_empty());
    }

    #[test]
    fn what_waited_is_noted_and_only_what_may_joins_a_turn() {
        // [TST-160] [TST-199]
        let mut queue = PromptQueue::default();
        for uuid in ["a", "b", "c", "d"] {
            let joins = (uuid != "b").then(session_parts::command::TurnJoin::default);
            queue.push_recorded(Prompt { mid_turn: joins, ..prompt(uuid, PromptPriority::Next) });
        }
        assert!(queue.remove("a"));
        let joining: Vec<String> = queue.take_joining().into_iter().filter_map(|prompt| prompt.uuid).collect();
        assert_eq!(joining, ["c", "d"]);
        assert_eq!(queue.clear(), ["b"]);
        let told: Vec<(&str, Option<String>)> =
            queue.take_operations().into_iter().map(|operation| (operation.name, operation.content)).collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(told[..4], ["a", "b", "c", "d"].map(|uuid| ("enqueue", text(uuid))));
        assert_eq!(
            told[4..],
            [("remove", text("a")), ("remove", text("c")), ("remove", text("d")), ("popAll", text("b"))]
        );
        assert!(!queue.take_recorded(Some("b")));
    }
}
