//! TodoWrite: the model's checklist for this session. Each call replaces the whole list; a completed list is cleared.

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::input::ToolInput;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;
use sys::sync::Mutex;

static SPEC: ToolSpec =
    ToolSpec::of("TodoWrite", include_str!("todo_write.md"), include_str!("todo_write.schema.json"));

pub struct TodoWriteTool;

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
    fn replace(&self, new: Vec<TodoItem>) -> Vec<TodoItem> {
        let done = new.iter().all(|todo| todo.status == "completed");
        let kept = if done { Vec::new() } else { new };
        std::mem::replace(&mut *self.0.lock(), kept)
    }

    pub(crate) fn take_over(&self, before: &Self) {
        let list = before.snapshot();
        *self.0.lock() = list;
    }

    pub fn snapshot(&self) -> Vec<TodoItem> {
        self.0.lock().clone()
    }
}

impl Tool for TodoWriteTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let items = ToolInput::of("TodoWrite", input)?.objects("todos")?;
        let todos = items.iter().map(todo).collect::<Result<Vec<_>, _>>()?;
        Ok(Box::new(TodoWriteCall { todos }))
    }
}

fn todo(item: &ToolInput<'_>) -> Result<TodoItem, InputError> {
    let filled = |name| match item.string(name)? {
        text if text.trim().is_empty() => Err(item.refuse(name, "must not be empty")),
        text => Ok(text),
    };
    let status = item.opt_choice("status", &["pending", "in_progress", "completed"])?;
    Ok(TodoItem {
        content: filled("content")?,
        status: status.ok_or_else(|| item.missing("status"))?,
        active_form: filled("activeForm")?,
    })
}

struct TodoWriteCall {
    todos: Vec<TodoItem>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TodoWriteOutput {
    old_todos: Vec<TodoItem>,
    new_todos: Vec<TodoItem>,
}

impl ToolCall for TodoWriteCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Exclusive
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        async move {
            let old_todos = cx.state.todos.replace(self.todos.clone());
            let output = TodoWriteOutput { old_todos, new_todos: self.todos };
            let text = "Todos have been modified successfully. Go on with the item in progress.";
            ToolOutcome::text(text, wire::raw::to_raw(&output).ok())
        }
        .boxed()
    }
}
