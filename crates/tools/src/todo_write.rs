//! TodoWrite: the model's checklist for this session. Each call replaces the whole list; a completed list is cleared.

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::facts::{AgentUse, ToolClass, ToolFacts};
use crate::input::ToolInput;
use crate::todo_items::TodoItem;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;

const FACTS: ToolFacts = ToolFacts { agents: AgentUse::Always, ..ToolFacts::of(ToolClass::TaskList) };

static SPEC: ToolSpec =
    ToolSpec::of("TodoWrite", include_str!("todo_write.md"), include_str!("todo_write.schema.json"), FACTS);

pub struct TodoWriteTool;

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
