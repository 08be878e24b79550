//! What stands above the prompt while there is any: the tasks of the turn, and the agents. In a wide window they stand
//! side by side.

use super::spinner::faint;
use super::todos::{self, TodoRow};
use super::{App, tools};
use terminal::keys::bindings::KeyAction;
use terminal::style::{StyledLine, TextStyle};
use terminal::theme::Theme;

/// Rows of tasks and agents; the rest is counted.
const ROWS: usize = 6;
/// Rows that agents have in any case when tasks stand above them.
const AGENT_ROWS: usize = 2;
/// Windows of at least this many columns have tasks and agents side by side.
const SIDE_BY_SIDE: usize = 90;
const MARGIN: &str = "  ";

/// How many of the tasks are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskDisplay {
    #[default]
    Brief,
    All,
    Hidden,
}

/// The rows above the prompt, before they are placed.
#[derive(Debug, Default)]
struct WorkRows {
    tasks: Vec<StyledLine>,
    agents: Vec<StyledLine>,
    /// Tasks and agents without a row.
    hidden: usize,
}

impl App {
    /// Ctrl+T: all tasks where some are not shown, then none, then the usual rows.
    pub(super) fn next_task_display(&mut self) {
        self.task_display = match self.task_display {
            TaskDisplay::Brief if self.todos.len() > ROWS => TaskDisplay::All,
            TaskDisplay::Brief | TaskDisplay::All => TaskDisplay::Hidden,
            TaskDisplay::Hidden => TaskDisplay::Brief,
        };
    }

    /// Rows of the agents, whatever their place.
    pub(super) fn agent_rows(&self) -> Vec<StyledLine> {
        self.agents.rows(self.now, &self.preferences.theme)
    }

    /// Tasks of the turn and agents, as they stand above the prompt.
    pub(super) fn work_rows(&self) -> Vec<StyledLine> {
        let theme = &self.preferences.theme;
        let shows_tasks = self.is_busy() && self.task_display != TaskDisplay::Hidden;
        let todos: &[TodoRow] = if shows_tasks { &self.todos } else { &[] };
        let agents = self.agent_rows();
        let wide = self.size.columns >= SIDE_BY_SIDE && !todos.is_empty() && !agents.is_empty();
        let limit = if self.task_display == TaskDisplay::All { usize::MAX } else { ROWS };
        let rows = if wide { beside(todos, agents, limit, theme) } else { below(todos, agents, limit, theme) };
        let hidden = rows.hidden;
        let mut lines = if wide { rows.side_by_side(self.size.columns) } else { rows.stacked() };
        if hidden > 0 {
            let keys = self.preferences.bindings.keys_of(KeyAction::ToggleTodos).unwrap_or_default();
            let left = match todos::left(todos) {
                0 => String::new(),
                left => format!(" · {left} {} left", tools::plural(left, "task")),
            };
            lines.push(faint(format!("{MARGIN}… {hidden} more{left} · {keys}"), theme));
        }
        lines.iter().map(|line| line.truncated(self.size.columns)).collect()
    }

    /// What is left of the tasks at the end of a turn, printed once.
    pub(super) fn print_tasks_left(&mut self) {
        let left: Vec<String> = todos::open(&self.todos).map(str::to_owned).collect();
        if left.is_empty() || left == self.tasks_left {
            self.tasks_left = left;
            return;
        }
        let count = left.len();
        let text = format!("☐ {count} {} left: {}", tools::plural(count, "task"), left.join(" · "));
        let columns = self.size.columns.saturating_sub(MARGIN.len());
        let line = StyledLine::plain(MARGIN).and_line(faint(text, &self.preferences.theme).truncated(columns));
        self.tasks_left = left;
        self.print_block(vec![line]);
    }
}

/// Tasks and agents with the same rows at their disposal.
fn beside(todos: &[TodoRow], mut agents: Vec<StyledLine>, limit: usize, theme: &Theme) -> WorkRows {
    let all = todos.len() + agents.len();
    agents.truncate(limit);
    let tasks = todos::rows(todos, limit, theme);
    WorkRows { hidden: all - tasks.len() - agents.len(), tasks, agents }
}

/// Tasks, and below them agents, in a limited number of rows.
fn below(todos: &[TodoRow], mut agents: Vec<StyledLine>, limit: usize, theme: &Theme) -> WorkRows {
    let all = todos.len() + agents.len();
    let agent_rows = limit.saturating_sub(todos.len()).max(AGENT_ROWS.min(limit));
    agents.truncate(agent_rows);
    let tasks = todos::rows(todos, limit - agents.len().min(limit), theme);
    WorkRows { hidden: all - tasks.len() - agents.len(), tasks, agents }
}

impl WorkRows {
    fn stacked(self) -> Vec<StyledLine> {
        let row = |line: StyledLine| StyledLine::plain(MARGIN).and_line(line);
        self.tasks.into_iter().chain(self.agents).map(row).collect()
    }

    fn side_by_side(self, columns: usize) -> Vec<StyledLine> {
        let widest = self.tasks.iter().map(StyledLine::width).max().unwrap_or(0).min(columns * 2 / 5);
        let rows = self.tasks.len().max(self.agents.len());
        let row = |at: usize| {
            let task = self.tasks.get(at).map(|task| task.truncated(widest)).unwrap_or_default();
            let gap = widest.saturating_sub(task.width()) + 3;
            let mut line = StyledLine::plain(MARGIN).and_line(task);
            if let Some(agent) = self.agents.get(at) {
                line.push(" ".repeat(gap), TextStyle::PLAIN);
                line.append(agent.clone());
            }
            line
        };
        (0..rows).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::SessionDisplay;
    use crate::app::todos::TodoStatus;
    use crate::app::{AppInput, Preferences};
    use std::time::Duration;
    use terminal::keys::{KeyCode, KeyPress};
    use terminal::surface::TerminalSize;
    use wire::sdk::TaskStarted;

    fn app(columns: usize, tasks: usize, agents: usize) -> App {
        let mut app = App::new(Preferences::default(), TerminalSize { columns, rows: 30 }, SessionDisplay::default());
        app.is_ready = true;
        for c in "go".chars() {
            app.update(AppInput::Key(KeyPress::char(c)));
        }
        app.update(AppInput::Key(KeyPress::plain(KeyCode::Enter)));
        let status = |n| match n {
            0 => TodoStatus::Completed,
            1 => TodoStatus::InProgress,
            _ => TodoStatus::Pending,
        };
        app.todos = (0..tasks)
            .map(|n| TodoRow {
                id: String::new(),
                content: format!("task {n}"),
                status: status(n),
                active_form: format!("doing {n}"),
            })
            .collect();
        for n in 0..agents {
            let started = TaskStarted {
                task_id: format!("a{n}"),
                run_id: None,
                tool_use_id: Some(format!("c{n}")),
                description: format!("look {n}"),
                subagent_type: Some("explore".into()),
                is_backgrounded: true,
                spawn_depth: None,
                parent_task_id: None,
                task_type: "local_agent",
                prompt: None,
            };
            app.agents.record_start(&started, Duration::ZERO);
        }
        app
    }

    fn texts(app: &App) -> Vec<String> {
        app.work_rows().iter().map(|line| line.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn tasks_and_agents_stand_side_by_side_where_there_is_room() {
        let rows = texts(&app(100, 3, 2));
        assert_eq!(
            rows,
            ["  ☑ task 0    ⑂ explore  look 0 · 0 s", "  ◧ doing 1   ⑂ explore  look 1 · 0 s", "  ☐ task 2"]
        );
        let rows = texts(&app(60, 3, 2));
        assert_eq!(rows[2..], ["  ☐ task 2", "  ⑂ explore  look 0 · 0 s", "  ⑂ explore  look 1 · 0 s"]);
    }

    #[test]
    fn at_most_six_rows_are_taken_and_the_rest_is_counted() {
        for (columns, tasks, agents) in [(60, 9, 0), (60, 9, 4), (60, 0, 9), (60, 4, 9), (120, 9, 9), (30, 20, 20)] {
            let app = app(columns, tasks, agents);
            let rows = texts(&app);
            let shown = if columns >= SIDE_BY_SIDE { 2 * ROWS } else { ROWS };
            assert_eq!(rows.len(), ROWS + 1, "{rows:?}");
            let hidden = format!("  … {} more", tasks + agents - shown);
            assert!(rows[ROWS].starts_with(&hidden), "{rows:?}");
            assert!(tasks == 0 || rows.iter().any(|row| row.contains("◧ doing 1")), "{rows:?}");
            assert!(agents == 0 || rows.iter().any(|row| row.contains("⑂ explore")), "{rows:?}");
        }
    }

    #[test]
    fn ctrl_t_shows_all_then_none() {
        let mut app = app(60, 9, 0);
        assert!(texts(&app)[6].ends_with("… 3 more · 8 tasks left · ctrl+t"), "{:?}", texts(&app));
        let mut press = || {
            app.update(AppInput::Key(KeyPress::ctrl('t')));
            texts(&app).len()
        };
        assert_eq!([press(), press(), press()], [9, 0, 7]);
    }

    #[test]
    fn what_is_left_is_said_once() {
        let mut app = app(60, 3, 0);
        app.take_finished();
        let printed = |app: &mut App| -> Vec<String> {
            app.print_tasks_left();
            app.take_finished().iter().map(StyledLine::text).filter(|line| !line.is_empty()).collect()
        };
        assert_eq!(printed(&mut app), ["  ☐ 2 tasks left: task 1 · task 2"]);
        assert!(printed(&mut app).is_empty());
        app.todos[1].status = TodoStatus::Completed;
        assert_eq!(printed(&mut app), ["  ☐ 1 task left: task 2"]);
        app.todos.clear();
        assert!(printed(&mut app).is_empty());
    }
}
