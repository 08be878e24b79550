//! The todo list of the session, as TodoWrite last set it.

use crate::style::{Line, Style};
use crate::theme::{Theme, Token};
use serde::Deserialize;

/// More rows are counted, not shown.
const ROWS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Completed,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Todo {
    #[serde(default)]
    pub content: String,
    pub status: Status,
    #[serde(default, rename = "activeForm")]
    pub active_form: String,
}

#[derive(Deserialize)]
struct Written {
    todos: Vec<Todo>,
}

/// The list in the input of a TodoWrite call.
pub fn read(input: &serde_json::Value) -> Option<Vec<Todo>> {
    Written::deserialize(input).ok().map(|written| written.todos)
}

/// What is being done now, in its active form.
pub fn active(todos: &[Todo]) -> Option<&str> {
    let doing = todos.iter().find(|todo| todo.status == Status::InProgress)?;
    Some(doing.active_form.as_str()).filter(|form| !form.is_empty())
}

/// At most five rows around what is being done. Nothing once all is done.
pub fn rows(todos: &[Todo], theme: &Theme) -> Vec<Line> {
    if todos.iter().all(|todo| todo.status == Status::Completed) {
        return Vec::new();
    }
    let current = todos.iter().position(|todo| todo.status != Status::Completed).unwrap_or(0);
    let start = current.saturating_sub(1).min(todos.len().saturating_sub(ROWS));
    let shown = &todos[start..(start + ROWS).min(todos.len())];
    let mut lines: Vec<Line> = shown.iter().map(|todo| row(todo, theme)).collect();
    let hidden = todos.len() - shown.len();
    if hidden > 0 {
        lines.push(Line::styled(format!("  … +{hidden} more"), theme.fg(Token::Inactive)));
    }
    lines
}

fn row(todo: &Todo, theme: &Theme) -> Line {
    let text = crate::text::clean(&todo.content).replace('\n', " ");
    match todo.status {
        Status::Pending => Line::plain(format!("  ☐ {text}")),
        Status::InProgress => Line::plain("  ").and(format!("☐ {text}"), Style::PLAIN.bold()),
        Status::Completed => {
            let faint = theme.fg(Token::Inactive);
            Line::styled("  ☒ ", faint).and(text, faint.strike())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(statuses: &[&str]) -> Vec<Todo> {
        let todos: Vec<serde_json::Value> = statuses
            .iter()
            .enumerate()
            .map(|(n, status)| serde_json::json!({"content": format!("task {n}"), "status": status, "activeForm": format!("doing {n}")}))
            .collect();
        read(&serde_json::json!({ "todos": todos })).unwrap()
    }

    #[test]
    fn states_are_told_apart_and_rows_capped() {
        // [TST-243]
        let theme = Theme::default();
        let todos = list(&["completed", "in_progress", "pending", "pending", "pending", "pending", "pending"]);
        let lines = rows(&todos, &theme);
        let texts: Vec<String> = lines.iter().map(Line::text).collect();
        assert_eq!(texts, ["  ☒ task 0", "  ☐ task 1", "  ☐ task 2", "  ☐ task 3", "  ☐ task 4", "  … +2 more"]);
        assert!(lines[0].spans[1].style.strike && lines[1].spans[1].style.bold);
        assert_eq!(active(&todos), Some("doing 1"));
        assert!(rows(&list(&["completed"]), &theme).is_empty());
    }
}
