//! Prompts that wait for their turn: by priority, then in the order they came.

use crate::command::Prompt;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Queue(VecDeque<Prompt>);

impl Queue {
    pub(super) fn push(&mut self, prompt: Prompt) {
        let place = self.0.iter().position(|waiting| waiting.priority > prompt.priority);
        self.0.insert(place.unwrap_or(self.0.len()), prompt);
    }

    pub(super) fn push_front(&mut self, prompt: Prompt) {
        self.0.push_front(prompt);
    }

    pub(super) fn pop(&mut self) -> Option<Prompt> {
        self.0.pop_front()
    }

    /// Prompts that will open a turn.
    pub(super) fn backlog(&self) -> usize {
        self.0.iter().filter(|prompt| prompt.query).count()
    }

    /// The ids hosts gave to what waits.
    pub(super) fn ids(&self) -> Vec<String> {
        self.0.iter().filter_map(|prompt| prompt.uuid.clone()).collect()
    }

    /// Drops everything; the ids of what is gone.
    pub(super) fn clear(&mut self) -> Vec<String> {
        let ids = self.ids();
        self.0.clear();
        ids
    }

    /// Drops one; `false` when it does not wait here.
    pub(super) fn remove(&mut self, uuid: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|prompt| prompt.uuid.as_deref() != Some(uuid));
        self.0.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Priority;

    fn prompt(uuid: &str, priority: Priority) -> Prompt {
        let content = wire::raw::to_raw(uuid).unwrap();
        Prompt { uuid: Some(uuid.into()), priority, ..Prompt::new(content) }
    }

    #[test]
    fn what_is_urgent_goes_first_and_the_rest_keeps_its_order() {
        // [SDK-63] [SDK-67]
        let mut queue = Queue::default();
        for (uuid, priority) in [
            ("a", Priority::Later),
            ("b", Priority::Next),
            ("c", Priority::Now),
            ("d", Priority::Next),
            ("e", Priority::Now),
            ("f", Priority::Later),
        ] {
            queue.push(prompt(uuid, priority));
        }
        assert_eq!(queue.ids(), ["c", "e", "b", "d", "a", "f"]);
        assert!(queue.remove("d") && !queue.remove("d"));
        assert_eq!(queue.clear(), ["c", "e", "b", "a", "f"]);
        assert!(queue.pop().is_none());
    }
}
