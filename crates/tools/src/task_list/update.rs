//! TaskUpdate: changes one task under the list's lock, together with the tasks it is linked to.

use super::store::{ListedTask, ListedTaskStatus, TaskListLock, TaskListStore, parse_id};
use super::{object, task_id};
use crate::contract::{InputError, ToolOutcome};
use crate::input::ToolInput;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io;

pub(super) struct TaskChange {
    id: String,
    subject: Option<String>,
    description: Option<String>,
    active_form: Option<String>,
    owner: Option<String>,
    status: Option<NewStatus>,
    add_blocks: Vec<String>,
    add_blocked_by: Vec<String>,
    metadata: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NewStatus {
    Set(ListedTaskStatus),
    Deleted,
}

impl NewStatus {
    fn name(self) -> &'static str {
        match self {
            Self::Set(status) => status.name(),
            Self::Deleted => "deleted",
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskUpdateOutput<'a> {
    success: bool,
    task_id: &'a str,
    updated_fields: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_change: Option<StatusChange>,
}

#[derive(Serialize)]
struct StatusChange {
    from: &'static str,
    to: &'static str,
}

impl TaskChange {
    pub(super) fn read(input: &ToolInput<'_>) -> Result<Self, InputError> {
        let status = input.opt_choice("status", &["pending", "in_progress", "completed", "deleted"])?;
        let links =
            |name| input.opt_strings(name).map(|ids| ids.unwrap_or_default().iter().map(|id| plain_id(id)).collect());
        Ok(Self {
            id: task_id(input)?,
            subject: input.opt_string("subject")?,
            description: input.opt_string("description")?,
            active_form: input.opt_string("activeForm")?,
            owner: input.opt_string("owner")?,
            status: status.map(|name| match name {
                "pending" => NewStatus::Set(ListedTaskStatus::Pending),
                "in_progress" => NewStatus::Set(ListedTaskStatus::InProgress),
                "completed" => NewStatus::Set(ListedTaskStatus::Completed),
                _ => NewStatus::Deleted,
            }),
            add_blocks: links("addBlocks")?,
            add_blocked_by: links("addBlockedBy")?,
            metadata: object(input, "metadata")?,
        })
    }

    pub(super) fn apply(mut self, store: &TaskListStore) -> io::Result<ToolOutcome> {
        if store.get(&self.id)?.is_none() {
            return Ok(self.not_found());
        }
        let list = store.lock()?;
        let Some(mut task) = list.get(&self.id)? else { return Ok(self.not_found()) };
        let from = task.status.name();
        if self.status == Some(NewStatus::Deleted) {
            list.delete(&self.id)?;
            return Ok(self.done_outcome(vec!["deleted"], Some(StatusChange { from, to: "deleted" })));
        }
        let mut fields = self.set_fields(&mut task);
        let mut change = None;
        if let Some(status) = self.status
            && status.name() != from
        {
            if let NewStatus::Set(status) = status {
                task.status = status;
            }
            fields.push("status");
            change = Some(StatusChange { from, to: status.name() });
        }
        self.link(&list, &mut task, &mut fields)?;
        if !fields.is_empty() {
            list.put(&task)?;
        }
        Ok(self.done_outcome(fields, change))
    }

    /// Sets the plain fields; returns the names of those that changed.
    fn set_fields(&mut self, task: &mut ListedTask) -> Vec<&'static str> {
        let mut fields = Vec::new();
        let mut note = |changed: bool, name| {
            if changed {
                fields.push(name);
            }
        };
        note(self.subject.take().is_some_and(|new| set(&mut task.subject, new)), "subject");
        note(self.description.take().is_some_and(|new| set(&mut task.description, new)), "description");
        note(self.active_form.take().is_some_and(|new| set(&mut task.active_form, Some(new))), "activeForm");
        note(self.owner.take().is_some_and(|new| set(&mut task.owner, Some(new))), "owner");
        note(self.metadata.take().is_some_and(|new| merge(&mut task.metadata, new)), "metadata");
        fields
    }

    /// Stores a link in both tasks. Unknown ids and the task's own id are skipped.
    fn link(&self, list: &TaskListLock, task: &mut ListedTask, fields: &mut Vec<&'static str>) -> io::Result<()> {
        for (ids, forward) in [(&self.add_blocks, true), (&self.add_blocked_by, false)] {
            let mut added = false;
            for id in ids.iter().filter(|id| **id != task.id) {
                let Some(mut other) = list.get(id)? else { continue };
                let (near, far) = if forward {
                    (&mut task.blocks, &mut other.blocked_by)
                } else {
                    (&mut task.blocked_by, &mut other.blocks)
                };
                added |= add(near, id);
                if add(far, &task.id) {
                    list.put(&other)?;
                }
            }
            if added {
                fields.push(if forward { "blocks" } else { "blockedBy" });
            }
        }
        Ok(())
    }

    fn done_outcome(&self, updated_fields: Vec<&'static str>, status_change: Option<StatusChange>) -> ToolOutcome {
        let text = format!("Updated task #{} {}", self.id, updated_fields.join(", "));
        let output = TaskUpdateOutput { success: true, task_id: &self.id, updated_fields, error: None, status_change };
        ToolOutcome::text(text.trim_end(), wire::raw::to_raw(&output).ok())
    }

    fn not_found(&self) -> ToolOutcome {
        let output = TaskUpdateOutput {
            success: false,
            task_id: &self.id,
            updated_fields: Vec::new(),
            error: Some("Task not found"),
            status_change: None,
        };
        ToolOutcome::text(format!("Task #{} not found", self.id), wire::raw::to_raw(&output).ok())
    }
}

fn plain_id(id: &str) -> String {
    parse_id(id).map_or_else(|| id.to_owned(), |number| number.to_string())
}

fn set<T: PartialEq>(slot: &mut T, new: T) -> bool {
    let changed = *slot != new;
    *slot = new;
    changed
}

fn add(ids: &mut Vec<String>, id: &str) -> bool {
    let new = !ids.iter().any(|known| known == id);
    if new {
        ids.push(id.to_owned());
    }
    new
}

/// Merges key by key; `null` removes a key. Returns whether anything changed.
fn merge(slot: &mut Option<Map<String, Value>>, new: Map<String, Value>) -> bool {
    let before = slot.clone();
    let merged = slot.get_or_insert_default();
    for (key, value) in new {
        if value.is_null() {
            merged.shift_remove(&key);
        } else {
            merged.insert(key, value);
        }
    }
    if merged.is_empty() {
        *slot = None;
    }
    *slot != before
}
