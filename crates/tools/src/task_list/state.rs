//! The whole list at one moment, so that a conversation that goes back has the list of that point again.

use super::store::{ListedTask, TaskListStore};
use super::store_of;
use crate::session_facts::SessionFacts;
use serde::{Deserialize, Serialize};
use std::io;

/// The tasks of a list at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskListState(Vec<ListedTask>);

impl TaskListState {
    /// The list of the session as it is now. `None` when several sessions share it, or it cannot be read: then it must
    /// stay as it is.
    pub fn read(facts: &SessionFacts) -> Option<Self> {
        if facts.env.non_empty("CLAUDE_CODE_TASK_LIST_ID").is_some() {
            return None;
        }
        Some(Self(store_of(facts).all().ok()?.into_values().collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes the list this one again. Numbers of tasks that are gone are not used again.
    pub fn put_back(&self, facts: &SessionFacts) -> io::Result<()> {
        match Self::read(facts) {
            Some(now) if now != *self => self.write(&store_of(facts), &now.0),
            Some(_) | None => Ok(()),
        }
    }

    fn write(&self, store: &TaskListStore, now: &[ListedTask]) -> io::Result<()> {
        let list = store.lock()?;
        for gone in now.iter().filter(|task| self.0.iter().all(|kept| kept.id != task.id)) {
            list.delete(&gone.id)?;
        }
        self.0.iter().try_for_each(|task| list.put(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_list::store::ListedTaskStatus;
    use serde_json::Map;
    use std::path::Path;
    use sys::Env;

    fn facts_in(home: &Path, variables: &[(&str, &str)]) -> SessionFacts {
        SessionFacts {
            session_id: "s".into(),
            env: Env::default().with(variables.iter().copied()),
            session_dir: home.into(),
            tasks_dir: home.into(),
            config_home: home.into(),
            read_before_edit: true,
            effort: None,
            secret_vars: Vec::new(),
            documents: true,
            plan_file: None,
            agent_id: None,
        }
    }

    fn task(id: &str, status: ListedTaskStatus) -> ListedTask {
        ListedTask {
            id: id.into(),
            subject: format!("task {id}"),
            description: String::new(),
            active_form: None,
            owner: None,
            status,
            blocks: Vec::new(),
            blocked_by: Vec::new(),
            metadata: None,
            rest: Map::new(),
        }
    }

    /// [LNG-10] Added tasks go, removed ones return, changed ones are as they were; numbers are not used twice.
    #[test]
    fn a_list_becomes_what_it_was() {
        let place = tempfile::tempdir().unwrap();
        let facts = facts_in(place.path(), &[]);
        let store = store_of(&facts);
        let put = |task: &ListedTask| store.lock().unwrap().put(task).unwrap();
        put(&task("1", ListedTaskStatus::Pending));
        put(&task("2", ListedTaskStatus::Pending));
        let then = TaskListState::read(&facts).unwrap();
        put(&task("1", ListedTaskStatus::Completed));
        store.lock().unwrap().delete("2").unwrap();
        put(&task("3", ListedTaskStatus::Pending));
        let later = TaskListState::read(&facts).unwrap();
        then.put_back(&facts).unwrap();
        assert_eq!(TaskListState::read(&facts).unwrap(), then);
        assert_eq!(store.lock().unwrap().next_id().unwrap(), "4");
        let written: TaskListState = serde_json::from_str(&serde_json::to_string(&later).unwrap()).unwrap();
        written.put_back(&facts).unwrap();
        assert_eq!(TaskListState::read(&facts).unwrap(), later);
    }

    #[test]
    fn a_list_of_several_sessions_stays_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(TaskListState::read(&facts_in(place.path(), &[("CLAUDE_CODE_TASK_LIST_ID", "team")])), None);
        assert!(TaskListState::read(&facts_in(place.path(), &[])).unwrap().is_empty(), "nothing was made");
        assert!(!place.path().join("tasks").exists());
    }
}
