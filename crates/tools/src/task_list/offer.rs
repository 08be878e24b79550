//! Which kind of task list a session offers. The newest model families need none.

use sys::Env;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskListKind {
    /// TaskCreate, TaskGet, TaskUpdate, TaskList.
    Tasks,
    /// TodoWrite.
    Todos,
    None,
}

const TASK_TOOLS: [&str; 4] = ["TaskCreate", "TaskGet", "TaskUpdate", "TaskList"];

impl TaskListKind {
    /// `newest`: the model belongs to a family that needs no list. `named`: whether the user named a tool
    /// (`--tools`, `--allowedTools`).
    pub fn choose(newest: bool, env: &Env, named: impl Fn(&str) -> bool) -> Self {
        let tasks_named = TASK_TOOLS.iter().any(|name| named(name));
        let wanted = !newest || env.is_on("CLAUDE_CODE_ENABLE_TODO_TOOLS") || tasks_named || named("TodoWrite");
        match (wanted, env.flag("CLAUDE_CODE_ENABLE_TASKS")) {
            (false, _) => Self::None,
            (true, Some(false)) => Self::Todos,
            (true, None) if named("TodoWrite") && !tasks_named => Self::Todos,
            (true, _) => Self::Tasks,
        }
    }

    /// Whether the tool `name` stays in the registry. Other tools always do.
    pub fn keeps(self, name: &str) -> bool {
        match name {
            "TodoWrite" => self == Self::Todos,
            name if TASK_TOOLS.contains(&name) => self == Self::Tasks,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_on_the_newest_models_unless_asked_for() {
        // [TST-83]
        let env = Env::default();
        let enabled = env.with([("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")]);
        assert_eq!(TaskListKind::choose(true, &env, |_| false), TaskListKind::None);
        assert_eq!(TaskListKind::choose(true, &enabled, |_| false), TaskListKind::Tasks);
        assert_eq!(TaskListKind::choose(true, &env, |name| name == "TaskGet"), TaskListKind::Tasks);
        assert_eq!(TaskListKind::choose(true, &env, |name| name == "TodoWrite"), TaskListKind::Todos);
        assert_eq!(TaskListKind::choose(false, &env, |_| false), TaskListKind::Tasks);
        let swapped = env.with([("CLAUDE_CODE_ENABLE_TASKS", "0")]);
        assert_eq!(TaskListKind::choose(false, &swapped, |_| false), TaskListKind::Todos);
        assert!(
            !TaskListKind::None.keeps("TaskCreate")
                && !TaskListKind::None.keeps("TodoWrite")
                && TaskListKind::None.keeps("Read")
        );
        assert!(TaskListKind::Tasks.keeps("TaskList") && !TaskListKind::Tasks.keeps("TodoWrite"));
    }
}
