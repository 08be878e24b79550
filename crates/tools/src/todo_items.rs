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

    /// Reads a list as it was serialised.
    pub fn read(list: &serde_json::Value) -> Vec<TodoItem> {
        let text = |row: &serde_json::Value, name: &str| Some(row.get(name)?.as_str()?.to_owned());
        let item = |row: &serde_json::Value| {
            let status = text(row, "status")?;
            let status = ["pending", "in_progress", "completed"].into_iter().find(|known| *known == status)?;
            Some(TodoItem { content: text(row, "content")?, status, active_form: text(row, "activeForm")? })
        };
        list.as_array().into_iter().flatten().filter_map(item).collect()
    }

    /// Returns to an earlier list.
    pub fn put_back(&self, list: Vec<TodoItem>) {
        *self.0.lock() = list;
    }

    pub fn snapshot(&self) -> Vec<TodoItem> {
        self.0.lock().clone()
    }
}
