//! TaskCreate, TaskGet, TaskUpdate, TaskList: a list of numbered tasks that outlives the session and may be shared by
//! several processes (`CLAUDE_CODE_TASK_LIST_ID`).

pub mod offer;
pub mod state;
mod store;
mod update;

use crate::contract::{CallConcurrency, CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace};
use crate::facts::{ToolClass, ToolFacts};
use crate::input::ToolInput;
use crate::session_facts::SessionFacts;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;
use store::{ListedTask, ListedTaskStatus, TaskListStore};

const FACTS: ToolFacts = ToolFacts::of(ToolClass::TaskList);

static CREATE: ToolSpec = ToolSpec::of(
    "TaskCreate",
    include_str!("task_list/create.md"),
    include_str!("task_list/create.schema.json"),
    FACTS,
);
static GET: ToolSpec =
    ToolSpec::of("TaskGet", include_str!("task_list/get.md"), include_str!("task_list/get.schema.json"), FACTS);
static UPDATE: ToolSpec = ToolSpec::of(
    "TaskUpdate",
    include_str!("task_list/update.md"),
    include_str!("task_list/update.schema.json"),
    FACTS,
);
static LIST: ToolSpec =
    ToolSpec::of("TaskList", include_str!("task_list/list.md"), include_str!("task_list/list.schema.json"), FACTS);

pub struct TaskCreateTool;
pub struct TaskGetTool;
pub struct TaskUpdateTool;
pub struct TaskListTool;

impl Tool for TaskCreateTool {
    fn spec(&self) -> &ToolSpec {
        &CREATE
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("TaskCreate", input)?;
        let subject = input.string("subject")?;
        if subject.trim().is_empty() {
            return Err(input.refuse("subject", "must not be empty"));
        }
        Ok(Box::new(TaskListCall::Create {
            subject,
            description: input.string("description")?,
            active_form: input.opt_string("activeForm")?,
            metadata: object(&input, "metadata")?,
        }))
    }
}

impl Tool for TaskGetTool {
    fn spec(&self) -> &ToolSpec {
        &GET
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        Ok(Box::new(TaskListCall::Get { id: task_id(&ToolInput::of("TaskGet", input)?)? }))
    }
}

impl Tool for TaskUpdateTool {
    fn spec(&self) -> &ToolSpec {
        &UPDATE
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("TaskUpdate", input)?;
        Ok(Box::new(TaskListCall::Update(Box::new(update::TaskChange::read(&input)?))))
    }
}

impl Tool for TaskListTool {
    fn spec(&self) -> &ToolSpec {
        &LIST
    }

    fn parse(&self, _: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        Ok(Box::new(TaskListCall::List))
    }
}

/// Reads the task id; models also write ids as numbers.
fn task_id(input: &ToolInput<'_>) -> Result<String, InputError> {
    let id = match input.opt_number("taskId") {
        Ok(Some(number)) => number.to_string(),
        Ok(None) => return Err(input.missing("taskId")),
        Err(_) => input.string("taskId")?,
    };
    Ok(store::parse_id(&id).map_or(id, |number| number.to_string()))
}

fn object(input: &ToolInput<'_>, name: &str) -> Result<Option<Map<String, Value>>, InputError> {
    let Some(raw) = input.raw(name) else { return Ok(None) };
    serde_json::from_str(raw.get()).map(Some).map_err(|_| input.refuse(name, "must be an object"))
}

enum TaskListCall {
    Create { subject: String, description: String, active_form: Option<String>, metadata: Option<Map<String, Value>> },
    Get { id: String },
    Update(Box<update::TaskChange>),
    List,
}

impl ToolCall for TaskListCall {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn concurrency(&self) -> CallConcurrency {
        match self {
            Self::Get { .. } | Self::List => CallConcurrency::Shared,
            Self::Create { .. } | Self::Update(_) => CallConcurrency::Exclusive,
        }
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        async move {
            let store = store_of(&cx.state.facts);
            match tokio::task::spawn_blocking(move || self.perform(&store)).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => ToolOutcome::failed(format!("The task list could not be read or written: {error}")),
                Err(error) => ToolOutcome::failed(format!("The task list failed: {error}")),
            }
        }
        .boxed()
    }
}

/// The name of the list comes from the environment, so only plain characters are used in the path.
fn store_of(facts: &SessionFacts) -> TaskListStore {
    let list = facts.env.non_empty("CLAUDE_CODE_TASK_LIST_ID").unwrap_or(&facts.session_id);
    let name: String =
        list.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    TaskListStore::new(facts.config_home.join("tasks").join(name))
}

/// Whether a tool of this name marks tasks of the list as done.
pub fn updates_list(tool: &str) -> bool {
    tool == UPDATE.name
}

/// One line per task that is not completed.
pub fn open_tasks(facts: &SessionFacts) -> Vec<String> {
    let all = store_of(facts).all().unwrap_or_default();
    let open = all.values().filter(|task| task.status != ListedTaskStatus::Completed);
    open.map(|task| format!("#{} [{}] {}", task.id, task.status.name(), task.subject)).collect()
}

/// A change of the list that hooks may block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListChange {
    pub kind: ListChangeKind,
    pub id: String,
    pub subject: String,
    pub description: String,
    /// The status before the change; `None` for a created task.
    from: Option<ListedTaskStatus>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListChangeKind {
    Created,
    Completed,
}

impl ListChange {
    /// Reads the change from the outcome of a call of `tool`; `None` when it neither created nor completed a task.
    pub fn of(tool: &str, outcome: &ToolOutcome, facts: &SessionFacts) -> Option<Self> {
        let output: Value = serde_json::from_str(outcome.structured.as_ref()?.get()).ok()?;
        let change = |kind, task: ListedTask, from| {
            let ListedTask { id, subject, description, .. } = task;
            Self { kind, id, subject, description, from }
        };
        let task = |id: &Value| store_of(facts).get(id.as_str()?).ok().flatten();
        match tool {
            "TaskCreate" => Some(change(ListChangeKind::Created, task(&output["task"]["id"])?, None)),
            "TaskUpdate" if output["statusChange"]["to"] == ListedTaskStatus::Completed.name() => {
                let from = serde_json::from_value(output["statusChange"]["from"].clone()).ok()?;
                Some(change(ListChangeKind::Completed, task(&output["taskId"])?, Some(from)))
            }
            _ => None,
        }
    }

    /// Undoes the change: deletes a created task, or restores the status of a completed one.
    pub fn revert(&self, facts: &SessionFacts) -> io::Result<()> {
        let list = store_of(facts).lock()?;
        let Some(status) = self.from else { return list.delete(&self.id) };
        let Some(task) = list.get(&self.id)? else { return Ok(()) };
        list.put(&ListedTask { status, ..task })
    }
}

impl TaskListCall {
    fn perform(self, store: &TaskListStore) -> io::Result<ToolOutcome> {
        match self {
            Self::Create { subject, description, active_form, metadata } => {
                let list = store.lock()?;
                let task = ListedTask {
                    id: list.next_id()?,
                    subject,
                    description,
                    active_form,
                    owner: None,
                    status: ListedTaskStatus::Pending,
                    blocks: Vec::new(),
                    blocked_by: Vec::new(),
                    metadata,
                    rest: Map::new(),
                };
                list.put(&task)?;
                Ok(created_outcome(&task))
            }
            Self::Get { id } => Ok(shown_outcome(store.get(&id)?.as_ref())),
            Self::Update(change) => change.apply(store),
            Self::List => Ok(list_outcome(&store.all()?)),
        }
    }
}

fn created_outcome(task: &ListedTask) -> ToolOutcome {
    #[derive(Serialize)]
    struct TaskHead<'a> {
        id: &'a str,
        subject: &'a str,
        description: &'a str,
    }
    #[derive(Serialize)]
    struct TaskCreateOutput<'a> {
        task: TaskHead<'a>,
    }
    let output =
        TaskCreateOutput { task: TaskHead { id: &task.id, subject: &task.subject, description: &task.description } };
    let text = format!("Task #{} created successfully: {}", task.id, task.subject);
    ToolOutcome::text(text, wire::raw::to_raw(&output).ok())
}

fn shown_outcome(task: Option<&ListedTask>) -> ToolOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct TaskDetail<'a> {
        id: &'a str,
        subject: &'a str,
        description: &'a str,
        status: ListedTaskStatus,
        blocks: &'a [String],
        blocked_by: &'a [String],
    }
    #[derive(Serialize)]
    struct TaskGetOutput<'a> {
        task: Option<TaskDetail<'a>>,
    }
    let text = task.map_or_else(|| "Task not found".to_owned(), full_text);
    let task = task.map(|t| TaskDetail {
        id: &t.id,
        subject: &t.subject,
        description: &t.description,
        status: t.status,
        blocks: &t.blocks,
        blocked_by: &t.blocked_by,
    });
    ToolOutcome::text(text, wire::raw::to_raw(&TaskGetOutput { task }).ok())
}

fn full_text(task: &ListedTask) -> String {
    let mut lines = vec![format!("Task #{}: {}", task.id, task.subject), format!("Status: {}", task.status.name())];
    lines.extend(task.owner.as_ref().map(|owner| format!("Owner: {owner}")));
    lines.push(format!("Description: {}", task.description));
    for (label, ids) in [("Blocks", &task.blocks), ("Blocked by", &task.blocked_by)] {
        if !ids.is_empty() {
            lines.push(format!("{label}: {}", numbered(ids)));
        }
    }
    lines.join("\n")
}

fn numbered(ids: &[String]) -> String {
    ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskListRow<'a> {
    id: &'a str,
    subject: &'a str,
    status: ListedTaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    blocked_by: Vec<String>,
}

fn list_outcome(tasks: &BTreeMap<u64, ListedTask>) -> ToolOutcome {
    #[derive(Serialize)]
    struct TaskListOutput<'a> {
        tasks: Vec<TaskListRow<'a>>,
    }
    // A completed task no longer blocks others.
    let open = |id: &&String| {
        store::parse_id(id).and_then(|n| tasks.get(&n)).is_some_and(|task| task.status != ListedTaskStatus::Completed)
    };
    let rows: Vec<TaskListRow<'_>> = tasks
        .values()
        .map(|task| TaskListRow {
            id: &task.id,
            subject: &task.subject,
            status: task.status,
            owner: task.owner.as_deref(),
            blocked_by: task.blocked_by.iter().filter(open).cloned().collect(),
        })
        .collect();
    let text = if rows.is_empty() { "No tasks found".to_owned() } else { list_text(&rows) };
    ToolOutcome::text(text, wire::raw::to_raw(&TaskListOutput { tasks: rows }).ok())
}

/// Rows have a fixed format that readers match; lines about blocked tasks follow them.
fn list_text(rows: &[TaskListRow<'_>]) -> String {
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let owner = row.owner.map_or_else(String::new, |owner| format!(" ({owner})"));
            format!("#{} [{}] {}{owner}", row.id, row.status.name(), row.subject)
        })
        .collect();
    let blocked = rows.iter().filter(|row| !row.blocked_by.is_empty());
    lines.extend(blocked.map(|row| format!("Task {} is blocked by {}", row.id, numbered(&row.blocked_by))));
    lines.join("\n")
}
