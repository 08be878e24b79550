//! Gives every call of a session and its agents a unique id. Some gateways use the same id for the first call of
//! every answer (`call_0`), which would mix up results, permission answers and hooks. A repeated or missing id is
//! replaced when the call arrives, before anything else uses it.

use model::{EventKind, FragmentHead, Message, ModelEvent};
use std::collections::HashSet;
use std::sync::Arc;
use sys::sync::{Mutex, MutexGuard};

type UsedIds = Arc<Mutex<HashSet<Box<str>>>>;

/// The ids in use. Agents share the set of their session.
#[derive(Clone, Default)]
pub struct CallIds {
    used: UsedIds,
    /// The ids of the history have been added.
    has_history: bool,
}

impl CallIds {
    /// The same set, for the conversation of an agent.
    #[must_use]
    pub fn for_agent(&self) -> Self {
        Self { used: Arc::clone(&self.used), has_history: false }
    }

    /// Adds the call ids of a resumed conversation; later calls do nothing.
    pub fn add_history(&mut self, history: &[Message]) {
        if std::mem::replace(&mut self.has_history, true) {
            return;
        }
        let mut used = lock(&self.used);
        for block in history.iter().flat_map(|turn| &turn.blocks) {
            if let FragmentHead::ToolUse { id } = block.head() {
                used.insert(id.clone());
            }
        }
    }

    /// A claim for the ids of one response.
    pub fn claim(&self) -> CallIdClaim {
        CallIdClaim { used: Arc::clone(&self.used), claimed: Vec::new() }
    }
}

/// The ids of a response that is being received. Dropping it without `commit` releases them.
pub struct CallIdClaim {
    used: UsedIds,
    claimed: Vec<Box<str>>,
}

impl CallIdClaim {
    /// The event with a unique call id.
    pub fn admit(&mut self, event: ModelEvent) -> ModelEvent {
        let EventKind::BlockStart { .. } = event.kind else { return event };
        let Some(call) = event.started_call() else { return event };
        let mut used = lock(&self.used);
        if !call.id.is_empty() && used.insert(call.id.clone()) {
            self.claimed.push(call.id);
            return event;
        }
        let fresh: Box<str> = format!("toolu_{}", sys::id::uuid().replace('-', "")).into();
        tracing::debug!(id = %call.id, %fresh, "a call repeats the id of another");
        let renamed = event.with_call_id(&fresh);
        used.insert(fresh.clone());
        self.claimed.push(fresh);
        renamed
    }

    /// Keeps the ids: the response is part of the conversation.
    pub fn commit(&mut self) {
        self.claimed.clear();
    }
}

impl Drop for CallIdClaim {
    fn drop(&mut self) {
        let mut used = lock(&self.used);
        for id in &self.claimed {
            used.remove(id);
        }
    }
}

fn lock(used: &UsedIds) -> MutexGuard<'_, HashSet<Box<str>>> {
    used.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(id: &str) -> ModelEvent {
        let data = format!(
            r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}}}"#
        );
        ModelEvent::parse("", &data).unwrap()
    }

    fn id_of(event: &ModelEvent) -> Box<str> {
        event.started_call().unwrap().id
    }

    // [F-C5]
    #[test]
    fn a_repeated_id_is_replaced_in_the_event() {
        let ids = CallIds::default();
        let mut first = ids.claim();
        assert_eq!(&*id_of(&first.admit(start("call_0"))), "call_0");
        let second = first.admit(start("call_0"));
        assert_ne!(&*id_of(&second), "call_0");
        assert!(second.raw.get().contains(&*id_of(&second)) && !second.raw.get().contains("call_0"));
        assert!(second.raw.get().contains(r#""name":"Bash""#));
        first.commit();
        drop(first);
        assert_ne!(&*id_of(&ids.for_agent().claim().admit(start("call_0"))), "call_0", "agents share them");
        assert!(id_of(&ids.claim().admit(start(""))).starts_with("toolu_"));
    }

    #[test]
    fn ids_of_an_answer_that_was_thrown_away_are_free() {
        let ids = CallIds::default();
        drop(ids.claim().admit(start("a")));
        assert_eq!(&*id_of(&ids.claim().admit(start("a"))), "a");
    }
}
