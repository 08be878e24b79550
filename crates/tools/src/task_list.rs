//! TaskCreate, TaskGet, TaskUpdate, TaskList: a list of numbered tasks that outlives the session and may be shared by
//! several processes (`CLAUDE_CODE_TASK_LIST_ID`).

pub mod offer;
mod store;
mod update;

use crate::contract::{Call, CallCx, InputError, Outcome, Sharing, Spec, Tool, Workspace};
use crate::input::Input;
use crate::state::SessionFacts;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;
use store::{Status, Store, Task};

static CREATE: Spec =
    Spec::of("TaskCreate", include_str!("task_list/create.md"), include_str!("task_list/create.schema.json"));
static GET: Spec = Spec::of("TaskGet", include_str!("task_list/get.md"), include_str!("task_list/get.schema.json"));
static UPDATE: Spec =
    Spec::of("TaskUpdate", include_str!("task_list/update.md"), include_str!("task_list/update.schema.json"));
static LIST: Spec = Spec::of("TaskList", include_str!("task_list/list.md"), include_str!("task_list/list.schema.json"));

pub struct TaskCreate;
pub struct TaskGet;
pub struct TaskUpdate;
pub struct TaskList;

impl Tool for TaskCreate {
    fn spec(&self) -> &Spec {
        &CREATE
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of("TaskCreate", input)?;
        let subject = input.string("subject")?;
        if subject.trim().is_empty() {
            return Err(input.refuse("subject", "must not be empty"));
        }
        Ok(Box::new(Action::Create {
            subject,
            description: input.string("description")?,
            active_form: input.opt_string("activeForm")?,
            metadata: object(&input, "metadata")?,
        }))
    }
}

impl Tool for TaskGet {
    fn spec(&self) -> &Spec {
        &GET
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        Ok(Box::new(Action::Get { id: task_id(&Input::of("TaskGet", input)?)? }))
    }
}

impl Tool for TaskUpdate {
    fn spec(&self) -> &Spec {
        &UPDATE
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of("TaskUpdate", input)?;
        Ok(Box::new(Action::Update(Box::new(update::Change::read(&input)?))))
    }
}

impl Tool for TaskList {
    fn spec(&self) -> &Spec {
        &LIST
    }

    fn parse(&self, _: &RawValue) -> Result<Box<dyn Call>, InputError> {
        Ok(Box::new(Action::List))
    }
}

/// Models write ids as numbers, too.
fn task_id(input: &Input<'_>) -> Result<String, InputError> {
    let id = match input.opt_number("taskId") {
        Ok(Some(number)) => number.to_string(),
        Ok(None) => return Err(input.missing("taskId")),
        Err(_) => input.string("taskId")?,
    };
    Ok(store::parse_id(&id).map_or(id, |number| number.to_string()))
}

fn object(input: &Input<'_>, name: &str) -> Result<Option<Map<String, Value>>, InputError> {
    let Some(raw) = input.raw(name) else { return Ok(None) };
    serde_json::from_str(raw.get()).map(Some).map_err(|_| input.refuse(name, "must be an object"))
}

enum Action {
    Create { subject: String, description: String, active_form: Option<String>, metadata: Option<Map<String, Value>> },
    Get { id: String },
    Update(Box<update::Change>),
    List,
}

impl Call for Action {
    fn access(&self, _: &Workspace) -> Vec<Access> {
        vec![Access::Harmless]
    }

    fn sharing(&self) -> Sharing {
        match self {
            Self::Get { .. } | Self::List => Sharing::Shared,
            Self::Create { .. } | Self::Update(_) => Sharing::Exclusive,
        }
    }

    fn run(self: Box<Self>, cx: CallCx) -> BoxFuture<'static, Outcome> {
        async move {
            let store = store_of(&cx.state.facts);
            match tokio::task::spawn_blocking(move || self.perform(&store)).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => Outcome::failed(format!("The task list could not be read or written: {error}")),
                Err(error) => Outcome::failed(format!("The task list failed: {error}")),
            }
        }
        .boxed()
    }
}

/// The list's name comes from outside: only plain characters reach the path.
fn store_of(facts: &SessionFacts) -> Store {
    let list = facts.env.non_empty("CLAUDE_CODE_TASK_LIST_ID").unwrap_or(&facts.session_id);
    let name: String =
        list.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    Store::new(facts.config_home.join("tasks").join(name))
}

/// Lines of the tasks that are not done.
pub fn open_tasks(facts: &SessionFacts) -> Vec<String> {
    let all = store_of(facts).all().unwrap_or_default();
    let open = all.values().filter(|task| task.status != Status::Completed);
    open.map(|task| format!("#{} [{}] {}", task.id, task.status.name(), task.subject)).collect()
}

/// What a call did to the list that others may want to have a say in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListChange {
    pub kind: ListChangeKind,
    pub id: String,
    pub subject: String,
    pub description: String,
    /// The status before.
    from: Option<Status>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListChangeKind {
    Created,
    Completed,
}

impl ListChange {
    /// Reads it from what a call of `tool` left; `None` when it neither made nor finished a task.
    pub fn of(tool: &str, outcome: &Outcome, facts: &SessionFacts) -> Option<Self> {
        let output: Value = serde_json::from_str(outcome.structured.as_ref()?.get()).ok()?;
        let change = |kind, task: Task, from| {
            let Task { id, subject, description, .. } = task;
            Self { kind, id, subject, description, from }
        };
        let task = |id: &Value| store_of(facts).get(id.as_str()?).ok().flatten();
        match tool {
            "TaskCreate" => Some(change(ListChangeKind::Created, task(&output["task"]["id"])?, None)),
            "TaskUpdate" if output["statusChange"]["to"] == Status::Completed.name() => {
                let from = serde_json::from_value(output["statusChange"]["from"].clone()).ok()?;
                Some(change(ListChangeKind::Completed, task(&output["taskId"])?, Some(from)))
            }
            _ => None,
        }
    }

    /// The task is not on the list, or not finished, after all.
    pub fn take_back(&self, facts: &SessionFacts) -> io::Result<()> {
        let list = store_of(facts).lock()?;
        let Some(status) = self.from else { return list.delete(&self.id) };
        let Some(task) = list.get(&self.id)? else { return Ok(()) };
        list.put(&Task { status, ..task })
    }
}

impl Action {
    fn perform(self, store: &Store) -> io::Result<Outcome> {
        match self {
            Self::Create { subject, description, active_form, metadata } => {
                let list = store.lock()?;
                let task = Task {
                    id: list.next_id()?,
                    subject,
                    description,
                    active_form,
                    owner: None,
                    status: Status::Pending,
                    blocks: Vec::new(),
                    blocked_by: Vec::new(),
                    metadata,
                    rest: Map::new(),
                };
                list.put(&task)?;
                Ok(created(&task))
            }
            Self::Get { id } => Ok(shown(store.get(&id)?.as_ref())),
            Self::Update(change) => change.apply(store),
            Self::List => Ok(listed(&store.all()?)),
        }
    }
}

fn created(task: &Task) -> Outcome {
    #[derive(Serialize)]
    struct Head<'a> {
        id: &'a str,
        subject: &'a str,
        description: &'a str,
    }
    #[derive(Serialize)]
    struct Output<'a> {
        task: Head<'a>,
    }
    let output = Output { task: Head { id: &task.id, subject: &task.subject, description: &task.description } };
    let text = format!("Task #{} created successfully: {}", task.id, task.subject);
    Outcome::text(text, wire::raw::to_raw(&output).ok())
}

fn shown(task: Option<&Task>) -> Outcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Whole<'a> {
        id: &'a str,
        subject: &'a str,
        description: &'a str,
        status: Status,
        blocks: &'a [String],
        blocked_by: &'a [String],
    }
    #[derive(Serialize)]
    struct Output<'a> {
        task: Option<Whole<'a>>,
    }
    let text = task.map_or_else(|| "Task not found".to_owned(), full_text);
    let task = task.map(|t| Whole {
        id: &t.id,
        subject: &t.subject,
        description: &t.description,
        status: t.status,
        blocks: &t.blocks,
        blocked_by: &t.blocked_by,
    });
    Outcome::text(text, wire::raw::to_raw(&Output { task }).ok())
}

fn full_text(task: &Task) -> String {
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
struct Row<'a> {
    id: &'a str,
    subject: &'a str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    blocked_by: Vec<String>,
}

fn listed(tasks: &BTreeMap<u64, Task>) -> Outcome {
    #[derive(Serialize)]
    struct Output<'a> {
        tasks: Vec<Row<'a>>,
    }
    // What is done no longer blocks anything.
    let open = |id: &&String| {
        store::parse_id(id).and_then(|n| tasks.get(&n)).is_some_and(|task| task.status != Status::Completed)
    };
    let rows: Vec<Row<'_>> = tasks
        .values()
        .map(|task| Row {
            id: &task.id,
            subject: &task.subject,
            status: task.status,
            owner: task.owner.as_deref(),
            blocked_by: task.blocked_by.iter().filter(open).cloned().collect(),
        })
        .collect();
    let text = if rows.is_empty() { "No tasks found".to_owned() } else { list_text(&rows) };
    Outcome::text(text, wire::raw::to_raw(&Output { tasks: rows }).ok())
}

/// Rows have a fixed form that readers match; what blocks what follows below them.
fn list_text(rows: &[Row<'_>]) -> String {
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
