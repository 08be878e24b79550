//! What belongs to a point of the conversation besides its messages: mode, grants, read files, and the lists (checklist,
//! task list, plan). It is remembered at each prompt, and at the end of a branch that is left; the lists are also in the
//! transcript, so that a later process can go back to them.

use super::SessionIo;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tools::task_list::state::TaskListState;
use tools::todo_items::{TodoItem, TodoItems};
use wire::entry::{MetaEntry, TranscriptEntry};
use wire::mode::PermissionMode;
use wire::settings::{RuleText, SettingsSource};

/// What the session had at a point.
#[derive(Clone)]
struct PromptMark {
    /// The prompt that followed, or the last line of a branch that was left.
    point: String,
    mode: PermissionMode,
    rules: Arc<[RuleText]>,
    directories: Arc<[PathBuf]>,
    lists: Arc<PromptLists>,
    /// The views of files so far.
    reads: u64,
}

/// The points that this process knows.
#[derive(Default)]
pub(crate) struct PromptMarks {
    marks: Vec<PromptMark>,
    /// The lists of the newest line about them.
    written: Option<Arc<PromptLists>>,
}

/// The lists that belong to the conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PromptLists {
    todos: Vec<TodoItem>,
    /// `None`: the session has no task list of its own.
    tasks: Option<TaskListState>,
    plan: Option<String>,
}

impl PromptLists {
    fn is_empty(&self) -> bool {
        self.todos.is_empty() && self.tasks.as_ref().is_none_or(TaskListState::is_empty) && self.plan.is_none()
    }

    pub(crate) fn value(&self) -> Value {
        json!({"todos": self.todos, "tasks": self.tasks, "plan": self.plan})
    }

    fn read(lists: &Value) -> Self {
        let tasks = match lists.get("tasks") {
            Some(tasks) => serde_json::from_value(tasks.clone()).ok(),
            None => Some(TaskListState::default()),
        };
        let plan = lists.get("plan").and_then(Value::as_str).map(str::to_owned);
        Self { todos: TodoItems::read(&lists["todos"]), tasks, plan }
    }
}

impl SessionIo {
    /// The lists as they are now.
    pub(crate) fn prompt_lists(&self) -> PromptLists {
        let state = &self.tooling.state;
        let has_tasks = self.tooling.registry.specs().any(|spec| tools::task_list::updates_list(&spec.name));
        let tasks = has_tasks.then(|| TaskListState::read(&state.facts)).flatten();
        PromptLists { todos: state.todos.snapshot(), tasks, plan: self.knowledge.plan.text() }
    }

    /// Remembers what belongs to the prompt that is recorded next.
    pub(crate) fn mark_prompt(&mut self, prompt: &str) {
        let lists = self.prompt_lists();
        self.mark_point(prompt, lists);
    }

    /// Remembers what belongs to a prompt or to the end of a branch, with these lists.
    pub(crate) fn mark_point(&mut self, point: &str, lists: PromptLists) {
        let lists = self.written_lists(point, lists);
        let PromptMarks { marks, .. } = &mut self.knowledge.marks;
        let watch = &self.rules.watch;
        let same = marks
            .last()
            .filter(|last| *last.rules == *watch.granted_rules && *last.directories == *watch.granted_directories);
        let (rules, directories) = match same {
            Some(last) => (Arc::clone(&last.rules), Arc::clone(&last.directories)),
            None => (watch.granted_rules.as_slice().into(), watch.granted_directories.as_slice().into()),
        };
        let (mode, reads) = (self.rules.mode(), self.tooling.state.reads.moment());
        marks.retain(|mark| mark.point != point);
        marks.push(PromptMark { point: point.to_owned(), mode, rules, directories, lists, reads });
    }

    /// Lists that the transcript has too from now on.
    fn written_lists(&mut self, point: &str, lists: PromptLists) -> Arc<PromptLists> {
        let written = self.knowledge.marks.written.clone().unwrap_or_default();
        if lists == *written || lists.is_empty() && written.is_empty() {
            return Arc::new(lists);
        }
        let entry = MetaEntry::XPromptLists { message_id: point.to_owned(), lists: lists.value() };
        let line = TranscriptEntry::Meta(entry).to_line();
        let appended = line.map(|line| self.output.transcript.transcript().append(vec![line]));
        if !matches!(appended, Ok(Ok(()))) {
            tracing::warn!("the lists of a prompt could not be noted");
        }
        let lists = Arc::new(lists);
        self.knowledge.marks.written = Some(Arc::clone(&lists));
        lists
    }

    /// Read files, lists, the mode and what was granted for the session are those of that point again. Of a point of an
    /// earlier process only the lists are known (`stored`), as when a conversation is resumed there.
    pub(crate) async fn go_back_to_mark(&mut self, point: Option<&str>, stored: Option<&Value>) {
        let marks = &self.knowledge.marks.marks;
        let mark = marks.iter().find(|mark| Some(mark.point.as_str()) == point).cloned();
        self.tooling.state.reads.forget_since(mark.as_ref().map_or(0, |mark| mark.reads));
        let lists = mark.as_ref().map(|mark| PromptLists::clone(&mark.lists)).or_else(|| stored.map(PromptLists::read));
        self.put_lists_back(lists.as_ref());
        let (rules, directories) = mark.as_ref().map_or_else(
            || (Arc::from([]), Arc::from([])),
            |mark| (Arc::clone(&mark.rules), Arc::clone(&mark.directories)),
        );
        let watch = &mut self.rules.watch;
        watch.granted_rules.retain(|rule| rule.source != SettingsSource::Session || rules.contains(rule));
        watch.granted_directories.retain(|dir| directories.contains(dir));
        match mark {
            Some(mark) => self.set_mode(mark.mode).await,
            None => self.end_grants(),
        }
        self.rebuild_policy();
    }

    /// Without a record of them the checklist is empty, as in a resumed session; the task list and the plan stay as they are.
    fn put_lists_back(&mut self, lists: Option<&PromptLists>) {
        let state = &self.tooling.state;
        state.todos.put_back(lists.map(|lists| lists.todos.clone()).unwrap_or_default());
        let Some(lists) = lists else { return };
        if let Some(tasks) = &lists.tasks
            && let Err(error) = tasks.put_back(&state.facts)
        {
            tracing::warn!(%error, "the task list could not be put back");
        }
        if let Err(error) = self.knowledge.plan.put_back(lists.plan.as_deref()) {
            tracing::warn!(%error, "the plan could not be put back");
        }
    }
}
