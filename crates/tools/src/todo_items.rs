//! The checklist of a session.

use serde::Serialize;
use sys::sync::Mutex;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TodoItem {
    pub content: String,
    pub status: &'static str,
    pub active_form: String,
}

/// The session's current list.
#[derive(Debug, Default)]
pub struct TodoItems(Mutex<Vec<TodoItem>>);

impl TodoItems {
    /// Stores `new` and returns the previous list.
    pub(crate) fn replace(&self, new: Vec<TodoItem>) -> Vec<TodoItem> {
        let done = new.iter().all(|todo| todo.status == "completed");
        let kept = if done { Vec::new() } else { new };
        std::mem::replace(&mut *self.0.lock(), kept)
    }

    pub(crate) fn take_over(&self, before: &Self) {
        let list = before.snapshot();
        *self.0.lock() = list;
    }

    /// Returns to an earlier list.
    pub fn put_back(&self, list: Vec<TodoItem>) {
        *self.0.lock() = list;
    }

    pub fn snapshot(&self) -> Vec<TodoItem> {
        self.0.lock().clone()
    }
}
