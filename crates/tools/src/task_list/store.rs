//! Tasks on disk: `<config home>/tasks/<list>/<n>.json`, shared between processes. Every change happens under the
//! list's lock file and replaces whole files, so readers never see an incomplete task and two writers never use the
//! same number.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

/// File with the highest number ever used, so that the number of a deleted task is not used again.
const HIGH_WATER: &str = ".highwatermark";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ListedTaskStatus {
    Pending,
    InProgress,
    Completed,
}

impl ListedTaskStatus {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

/// One task file. Unknown fields of other writers are kept in `rest`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedTask {
    pub(super) id: String,
    pub(super) subject: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) active_form: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<String>,
    pub(super) status: ListedTaskStatus,
    #[serde(default)]
    pub(super) blocks: Vec<String>,
    #[serde(default)]
    pub(super) blocked_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

/// A list, identified by its directory; nothing exists on disk until the first task.
#[derive(Clone, Debug)]
pub(super) struct TaskListStore {
    dir: PathBuf,
}

impl TaskListStore {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Creates the directory if needed and locks the list until the guard is dropped.
    pub(super) fn lock(&self) -> io::Result<TaskListLock> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let path = self.dir.join(".lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        file.lock()?;
        Ok(TaskListLock { store: self.clone(), _file: file })
    }

    /// All tasks by number. Files that are not tasks are skipped.
    pub(super) fn all(&self) -> io::Result<BTreeMap<u64, ListedTask>> {
        let entries = match std::fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(e) => return Err(e),
        };
        let mut tasks = BTreeMap::new();
        for entry in entries {
            if let Some(number) = entry?.file_name().to_str().and_then(number_of)
                && let Some(task) = self.get(&number.to_string())?
            {
                tasks.insert(number, task);
            }
        }
        Ok(tasks)
    }

    pub(super) fn get(&self, id: &str) -> io::Result<Option<ListedTask>> {
        let Some(number) = parse_id(id) else { return Ok(None) };
        match std::fs::read(self.file(number)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn file(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number}.json"))
    }
}

/// A lock on the list, needed to change it; readers need no lock.
#[derive(Debug)]
pub(super) struct TaskListLock {
    store: TaskListStore,
    _file: File,
}

impl TaskListLock {
    /// The next free number, starting at 1. All file names count, also of unreadable files, so that no task is
    /// overwritten.
    pub(super) fn next_id(&self) -> io::Result<String> {
        let mut highest = std::fs::read_to_string(self.store.dir.join(HIGH_WATER))
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0);
        for entry in std::fs::read_dir(&self.store.dir)? {
            highest = highest.max(entry?.file_name().to_str().and_then(number_of).unwrap_or(0));
        }
        Ok((highest + 1).to_string())
    }

    pub(super) fn get(&self, id: &str) -> io::Result<Option<ListedTask>> {
        self.store.get(id)
    }

    pub(super) fn put(&self, task: &ListedTask) -> io::Result<()> {
        let number = parse_id(&task.id).ok_or_else(|| io::Error::other("task without a number"))?;
        let bytes = serde_json::to_vec_pretty(task)?;
        sys::fs::atomic_write(&self.store.file(number), &bytes, 0o600)
    }

    /// Removes the task and every reference to it.
    pub(super) fn delete(&self, id: &str) -> io::Result<()> {
        let Some(number) = parse_id(id) else { return Ok(()) };
        let all = self.store.all()?;
        let highest = all.keys().next_back().copied().unwrap_or(number);
        sys::fs::atomic_write(&self.store.dir.join(HIGH_WATER), self.high(highest).as_bytes(), 0o600)?;
        for mut task in all.into_values().filter(|task| mentions(task, id)) {
            task.blocks.retain(|other| other != id);
            task.blocked_by.retain(|other| other != id);
            self.put(&task)?;
        }
        std::fs::remove_file(self.store.file(number))
    }

    fn high(&self, seen: u64) -> String {
        let next = self.next_id().ok().and_then(|id| id.parse::<u64>().ok()).unwrap_or(1);
        seen.max(next - 1).to_string()
    }
}

fn mentions(task: &ListedTask, id: &str) -> bool {
    task.id != id && task.blocks.iter().chain(&task.blocked_by).any(|other| other == id)
}

/// Parses an id; `7` and `#7` are the same task.
pub(super) fn parse_id(id: &str) -> Option<u64> {
    let digits = id.trim().trim_start_matches('#');
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn number_of(name: &str) -> Option<u64> {
    let stem = name.strip_suffix(".json")?;
    let number = parse_id(stem)?;
    (number.to_string() == stem).then_some(number)
}
