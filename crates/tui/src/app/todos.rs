//! The todo list of the session, as TodoWrite or the task tools set it.

use super::tools::CallOutcome;
use serde::Deserialize;
use serde_json::Value;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::{Theme, ThemeToken};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TodoRow {
    /// The id from the task tools; empty for TodoWrite.
    #[serde(default)]
    pub id: String,
    #[serde(default, alias = "subject")]
    pub content: String,
    pub status: TodoStatus,
    #[serde(default, rename = "activeForm")]
    pub active_form: String,
}

#[derive(Deserialize)]
struct TodoWriteInput {
    todos: Vec<TodoRow>,
}

/// The list that a call of this tool writes; `None` for other tools.
pub fn written_list<'a>(tool: &str, input: &'a Value) -> Option<&'a Vec<Value>> {
    input.get("todos").and_then(Value::as_array).filter(|_| tool == "TodoWrite")
}

/// The list in the input of a TodoWrite call.
pub fn parse_todo_write(input: &Value) -> Option<Vec<TodoRow>> {
    TodoWriteInput::deserialize(input).ok().map(|written| written.todos)
}

#[derive(Deserialize)]
struct TaskListResult {
    tasks: Vec<TodoRow>,
}

/// Applies a successful call of TodoWrite or a task tool. Returns `true` when the call is shown only by the list.
pub fn apply_task_call(todos: &mut Vec<TodoRow>, tool: &str, input: &Value, outcome: &CallOutcome) -> bool {
    match tool {
        "TodoWrite" => {
            if let Some(list) = parse_todo_write(input) {
                *todos = list;
            }
        }
        "TaskCreate" => {
            let known = outcome.detail.pointer("/task/id").and_then(Value::as_str);
            let Some(id) = known.or_else(|| id_in(&outcome.text)) else { return false };
            let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            todos.retain(|todo| todo.id != id);
            let (content, active_form) = (text("subject"), text("activeForm"));
            todos.push(TodoRow { id: id.to_owned(), content, status: TodoStatus::Pending, active_form });
        }
        "TaskUpdate" => {
            let text = |name: &str| input.get(name).and_then(Value::as_str);
            let Some(at) = todos.iter().position(|todo| Some(todo.id.as_str()) == text("taskId")) else { return false };
            if text("status") == Some("deleted") {
                todos.remove(at);
                return true;
            }
            let todo = &mut todos[at];
            let status = input.get("status").and_then(|status| TodoStatus::deserialize(status).ok());
            todo.status = status.unwrap_or(todo.status);
            todo.content = text("subject").map_or(std::mem::take(&mut todo.content), str::to_owned);
            todo.active_form = text("activeForm").map_or(std::mem::take(&mut todo.active_form), str::to_owned);
        }
        "TaskList" => {
            let Ok(TaskListResult { tasks }) = TaskListResult::deserialize(&outcome.detail) else { return false };
            let form = |todo: &TodoRow| todos.iter().find(|old| old.id == todo.id).map(|old| old.active_form.clone());
            *todos = tasks
                .into_iter()
                .map(|todo| TodoRow { active_form: form(&todo).unwrap_or_default(), ..todo })
                .collect();
            return false;
        }
        _ => return false,
    }
    true
}

/// The id in a text such as `Task #3 created …`.
fn id_in(text: &str) -> Option<&str> {
    let rest = text.split_once('#')?.1;
    rest.split(|c: char| !c.is_ascii_alphanumeric()).next().filter(|id| !id.is_empty())
}

/// The active form of the task in progress.
pub fn active(todos: &[TodoRow]) -> Option<&str> {
    let doing = todos.iter().find(|todo| todo.status == TodoStatus::InProgress)?;
    Some(doing.active_form.as_str()).filter(|form| !form.is_empty())
}

/// The tasks that are not completed.
pub fn open(todos: &[TodoRow]) -> impl Iterator<Item = &str> {
    todos.iter().filter(|todo| todo.status != TodoStatus::Completed).map(|todo| todo.content.as_str())
}

/// How many tasks are not completed.
pub fn left(todos: &[TodoRow]) -> usize {
    open(todos).count()
}

/// At most `limit` rows around the first open task.
pub fn rows(todos: &[TodoRow], limit: usize, theme: &Theme) -> Vec<StyledLine> {
    let current = todos.iter().position(|todo| todo.status != TodoStatus::Completed).unwrap_or(0);
    let start = current.saturating_sub(1).min(todos.len().saturating_sub(limit));
    let shown = todos.iter().skip(start).take(limit);
    shown.map(|todo| row(todo, theme)).collect()
}

/// The states have marks of their own, so that they are read without colours and bold.
fn row(todo: &TodoRow, theme: &Theme) -> StyledLine {
    let doing = todo.status == TodoStatus::InProgress && !todo.active_form.is_empty();
    let text = if doing { &todo.active_form } else { &todo.content };
    let text = terminal::text::clean(text).replace('\n', " ");
    match todo.status {
        TodoStatus::Pending => StyledLine::plain(format!("☐ {text}")),
        TodoStatus::InProgress => StyledLine::styled(format!("◧ {text}"), TextStyle::PLAIN.bold()),
        TodoStatus::Completed => {
            StyledLine::styled("☑ ", theme.fg(ThemeToken::Success)).and(text, theme.fg(ThemeToken::Inactive))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(statuses: &[&str]) -> Vec<TodoRow> {
        let todos: Vec<serde_json::Value> = statuses
            .iter()
            .enumerate()
            .map(|(n, status)| serde_json::json!({"content": format!("task {n}"), "status": status, "activeForm": format!("doing {n}")}))
            .collect();
        parse_todo_write(&serde_json::json!({ "todos": todos })).unwrap()
    }

    #[test]
    fn tasks_make_a_list_too() {
        // [TST-243]
        let mut todos = Vec::new();
        let outcome = |text: &str, detail: Value| CallOutcome { text: text.into(), is_error: false, detail };
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let create = json(r#"{"subject": "Build", "description": "d", "activeForm": "Building"}"#);
        let created = outcome("", json(r#"{"task": {"id": "1", "subject": "Build"}}"#));
        assert!(apply_task_call(&mut todos, "TaskCreate", &create, &created));
        // For a resumed conversation only the text of the result is known.
        let resumed = outcome("Task #2 created successfully: Test", Value::Null);
        assert!(apply_task_call(&mut todos, "TaskCreate", &json(r#"{"subject": "Test"}"#), &resumed));
        let done = outcome("", Value::Null);
        assert!(apply_task_call(&mut todos, "TaskUpdate", &json(r#"{"taskId": "1", "status": "in_progress"}"#), &done));
        assert_eq!(active(&todos), Some("Building"));
        assert!(!apply_task_call(&mut todos, "TaskUpdate", &json(r#"{"taskId": "9", "status": "completed"}"#), &done));
        assert!(apply_task_call(&mut todos, "TaskUpdate", &json(r#"{"taskId": "2", "status": "deleted"}"#), &done));
        let shown: Vec<String> = rows(&todos, 5, &Theme::default()).iter().map(StyledLine::text).collect();
        // [F-B10]
        assert_eq!(shown, ["◧ Building"]);
        let listed = outcome("", json(r#"{"tasks": [{"id": "1", "subject": "Build all", "status": "in_progress"}]}"#));
        assert!(!apply_task_call(&mut todos, "TaskList", &Value::Null, &listed), "it has a row of its own");
        assert_eq!((todos[0].content.as_str(), active(&todos)), ("Build all", Some("Building")));
    }

    #[test]
    fn states_are_told_apart_and_rows_capped() {
        // [TST-243]
        let theme = Theme::default();
        let todos = list(&["completed", "in_progress", "pending", "pending", "pending", "pending", "pending"]);
        let texts = |limit| rows(&todos, limit, &theme).iter().map(StyledLine::text).collect::<Vec<_>>();
        assert_eq!(texts(5), ["☑ task 0", "◧ doing 1", "☐ task 2", "☐ task 3", "☐ task 4"]);
        assert_eq!(texts(1), ["☑ task 0"]);
        assert_eq!(texts(20).len(), 7);
        assert_eq!((active(&todos), left(&todos)), (Some("doing 1"), 6));
        // What is done stays visible.
        assert_eq!(rows(&list(&["completed"]), 5, &theme).len(), 1);
    }
}
