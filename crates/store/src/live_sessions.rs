//! `sessions/<pid>.json`: which processes have which sessions open. A record exists exactly as long as its handle; a
//! record that a crash left behind is recognised by the process start time and ignored.
//!
//! A process that serves several sessions has a record for each: `<pid>.json`, then `<pid>.1.json` and so on. Programs
//! that know only the first form see one of the sessions; programs that list the directory see all.

use crate::error::StoreError;
use crate::layout::StoreLayout;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sys::fs::Durability;
use sys::sync::Mutex;

/// The record files of this process.
static TAKEN_FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Reserves the first file name that no other session of this process uses.
fn take_file(dir: &Path, pid: i32) -> PathBuf {
    let mut taken = TAKEN_FILES.lock();
    let first = std::iter::once(format!("{pid}.json"));
    let names = first.chain((1..u32::MAX).map(|n| format!("{pid}.{n}.json")));
    let path = names.map(|name| dir.join(name)).find(|path| !taken.contains(path)).unwrap_or_default();
    taken.insert(path.clone());
    path
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LiveStatus {
    Busy,
    Idle,
    /// A question waits for an answer.
    Waiting,
    /// A shell command that the user typed is running.
    Shell,
}

/// What a process publishes about itself.
#[derive(Clone, Debug)]
pub struct ProcessFacts {
    pub session_id: String,
    pub cwd: String,
    pub version: &'static str,
    /// `interactive`, `print`, `background`.
    pub kind: &'static str,
    pub entrypoint: String,
    pub name: Option<String>,
    /// The process answers one prompt and ends: it is never idle.
    pub answers_once: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProcessRecord {
    pid: i32,
    session_id: String,
    cwd: String,
    started_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    proc_start: Option<String>,
    version: &'static str,
    peer_protocol: u8,
    kind: &'static str,
    entrypoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    status: LiveStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_for: Option<&'static str>,
    updated_at: u64,
    status_updated_at: u64,
}

/// The record of this process for one session. Dropping it removes the file.
#[derive(Debug)]
pub struct LiveRecord {
    path: PathBuf,
    state: Mutex<RecordState>,
    /// Idle is not recorded: each change writes a file anew.
    is_never_idle: bool,
}

#[derive(Debug)]
struct RecordState {
    record: ProcessRecord,
    /// The status while no question is open.
    status_unless_waiting: LiveStatus,
}

impl LiveRecord {
    pub fn register(layout: &StoreLayout, facts: ProcessFacts) -> Result<Self, StoreError> {
        let dir = layout.sessions_dir();
        let pid = sys::pid();
        crate::layout::create_private(&dir).map_err(|e| StoreError::write(&dir, e))?;
        let path = take_file(&dir, pid);
        let now = sys::clock::now_ms();
        let status = if facts.answers_once { LiveStatus::Busy } else { LiveStatus::Idle };
        let record = ProcessRecord {
            pid,
            session_id: facts.session_id,
            cwd: facts.cwd,
            started_at: now,
            proc_start: sys::proc_start(pid),
            version: facts.version,
            peer_protocol: 1,
            kind: facts.kind,
            entrypoint: facts.entrypoint,
            name: facts.name,
            status,
            waiting_for: None,
            updated_at: now,
            status_updated_at: now,
        };
        write(&path, &record)?;
        let state = Mutex::new(RecordState { record, status_unless_waiting: status });
        Ok(Self { path, state, is_never_idle: facts.answers_once })
    }

    /// Failures are only logged: other processes can do without the record.
    pub fn set_status(&self, status: LiveStatus) {
        let is_shown = status != LiveStatus::Idle || !self.is_never_idle;
        if is_shown && self.state.lock().status_unless_waiting != status {
            self.change(|state| state.status_unless_waiting = status);
        }
    }

    /// Sets the kind of the open question; `None` when no question is open.
    pub fn set_waiting(&self, waiting_for: Option<&'static str>) {
        self.change(|state| state.record.waiting_for = waiting_for);
    }

    /// Records that the process switched to another session.
    pub fn set_session(&self, session_id: &str) {
        self.change(|state| session_id.clone_into(&mut state.record.session_id));
    }

    /// Records that the session moved to another directory.
    pub fn set_cwd(&self, cwd: &Path) {
        self.change(|state| state.record.cwd = cwd.display().to_string());
    }

    pub fn set_name(&self, name: Option<String>) {
        self.change(|state| state.record.name = name);
    }

    fn change(&self, change: impl FnOnce(&mut RecordState)) {
        let mut state = self.state.lock();
        let (before, now) = (state.record.status, sys::clock::now_ms());
        change(&mut state);
        state.record.status =
            if state.record.waiting_for.is_some() { LiveStatus::Waiting } else { state.status_unless_waiting };
        if state.record.status != before {
            state.record.status_updated_at = now;
        }
        state.record.updated_at = now;
        if let Err(error) = write(&self.path, &state.record) {
            tracing::debug!(%error, "live record");
        }
    }
}

fn write(path: &Path, record: &ProcessRecord) -> Result<(), StoreError> {
    let bytes = serde_json::to_vec(record).unwrap_or_default();
    sys::fs::atomic_write_with(path, &bytes, 0o600, Durability::Process).map_err(|e| StoreError::write(path, e))
}

impl Drop for LiveRecord {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
        TAKEN_FILES.lock().remove(&self.path);
    }
}

/// A live process that has a session open.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveOwner {
    pub pid: i32,
    pub session_id: String,
    #[serde(default)]
    pub kind: String,
    #[serde(default)]
    pub cwd: String,
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub started_at: u64,
    #[serde(default)]
    proc_start: Option<String>,
}

impl LiveOwner {
    fn is_live(&self) -> bool {
        let same = match (&self.proc_start, sys::proc_start(self.pid)) {
            (Some(then), Some(now)) => *then == now,
            (Some(_), None) | (None, _) => true,
        };
        same && sys::is_alive(self.pid)
    }
}

/// Every process that has a session open, including this one.
pub fn live(layout: &StoreLayout) -> Vec<LiveOwner> {
    let found = records(&layout.sessions_dir()).into_iter().filter_map(|(_, owner)| owner);
    found.filter(LiveOwner::is_live).collect()
}

/// Another process that has this session open.
pub fn live_owner(layout: &StoreLayout, session_id: &str) -> Option<LiveOwner> {
    let found = records(&layout.sessions_dir()).into_iter().filter_map(|(_, owner)| owner);
    found.into_iter().find(|o| o.session_id == session_id && o.pid != sys::pid() && o.is_live())
}

/// Removes records of processes that are gone. Not needed for correctness: readers check each record they use.
pub fn clear_stale(layout: &StoreLayout) {
    for (path, owner) in records(&layout.sessions_dir()) {
        let pid = path.file_stem().and_then(|s| s.to_str()?.split('.').next()?.parse().ok());
        let live = match (owner, pid) {
            (Some(owner), _) => owner.is_live(),
            // Unreadable: written by another version, or being written. Kept while its process lives.
            (None, Some(pid)) => sys::is_alive(pid),
            (None, None) => true,
        };
        if !live {
            std::fs::remove_file(&path).ok();
        }
    }
}

fn records(dir: &Path) -> Vec<(PathBuf, Option<LiveOwner>)> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "json"));
    paths
        .map(|p| (std::fs::read(&p).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()), p))
        .map(|(o, p)| (p, o))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::Env;

    fn layout(dir: &Path) -> StoreLayout {
        StoreLayout::new(&Env::default().with([("CLAUDE_CONFIG_DIR", dir)]))
    }

    fn facts() -> ProcessFacts {
        ProcessFacts {
            session_id: "S".into(),
            cwd: "/repo".into(),
            version: "2.1.325",
            kind: "interactive",
            entrypoint: "sdk-cli".into(),
            name: None,
            answers_once: false,
        }
    }

    #[test]
    fn a_process_that_answers_once_is_busy_until_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let layout = layout(dir.path());
        let record = LiveRecord::register(&layout, ProcessFacts { answers_once: true, ..facts() }).unwrap();
        let read = || std::fs::read_to_string(&record.path).unwrap();
        let first = read();
        assert!(first.contains(r#""status":"busy""#), "{first}");
        record.set_status(LiveStatus::Busy);
        record.set_status(LiveStatus::Idle);
        assert_eq!(read(), first);
        record.set_waiting(Some("permission"));
        assert!(read().contains(r#""status":"waiting""#));
        record.set_waiting(None);
        assert!(read().contains(r#""status":"busy""#));
    }

    #[test]
    fn every_session_of_a_process_has_a_record() {
        let dir = tempfile::tempdir().unwrap();
        let layout = layout(dir.path());
        let named =
            |id: &str| LiveRecord::register(&layout, ProcessFacts { session_id: id.into(), ..facts() }).unwrap();
        let ids = || {
            let mut ids: Vec<String> = live(&layout).into_iter().map(|owner| owner.session_id).collect();
            ids.sort();
            ids
        };
        let (first, second) = (named("a"), named("b"));
        assert_eq!(ids(), ["a", "b"]);
        clear_stale(&layout);
        drop(first);
        assert_eq!(ids(), ["b"]);
        let third = named("c");
        assert_eq!(ids(), ["b", "c"]);
        assert!(layout.sessions_dir().join(format!("{}.json", std::process::id())).exists());
        drop((second, third));
        assert!(ids().is_empty());
    }

    #[test]
    fn a_record_follows_its_handle() {
        // [TST-172]
        let dir = tempfile::tempdir().unwrap();
        let layout = layout(dir.path());
        let record = LiveRecord::register(&layout, facts()).unwrap();
        let path = layout.sessions_dir().join(format!("{}.json", std::process::id()));
        record.set_status(LiveStatus::Busy);
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "pid",
            "sessionId",
            "cwd",
            "startedAt",
            "procStart",
            "version",
            "peerProtocol",
            "kind",
            "entrypoint",
            "status",
            "updatedAt",
            "statusUpdatedAt",
        ];
        assert_eq!(keys, expected);
        assert_eq!((json["status"].as_str(), json["peerProtocol"].as_u64()), (Some("busy"), Some(1)));
        assert!(json["procStart"].is_string());
        // Our own record is not another owner.
        assert_eq!(live_owner(&layout, "S"), None);
        // An open question takes precedence over the other status.
        let stands = || -> serde_json::Value { serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap() };
        record.set_waiting(Some("permission"));
        record.set_status(LiveStatus::Idle);
        assert_eq!((&stands()["status"], &stands()["waitingFor"]), (&"waiting".into(), &"permission".into()));
        record.set_waiting(None);
        assert_eq!((&stands()["status"], stands().get("waitingFor")), (&"idle".into(), None));
        record.set_cwd(Path::new("/elsewhere"));
        assert_eq!(stands()["cwd"], "/elsewhere");
        drop(record);
        assert!(!path.exists());
    }

    #[test]
    fn records_of_the_dead_are_cleared_and_not_believed() {
        // [TST-172]
        let dir = tempfile::tempdir().unwrap();
        let layout = layout(dir.path());
        let sessions = layout.sessions_dir();
        std::fs::create_dir_all(&sessions).unwrap();
        // A parent process is alive, is not us, and did not start at tick 1.
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        let reused = sessions.join(format!("{parent}.json"));
        std::fs::write(&reused, format!(r#"{{"pid":{parent},"sessionId":"S","procStart":"1"}}"#)).unwrap();
        let gone = sessions.join("4194399.json");
        std::fs::write(&gone, r#"{"pid":4194399,"sessionId":"S"}"#).unwrap();
        assert_eq!(live_owner(&layout, "S"), None);
        clear_stale(&layout);
        assert!(!reused.exists() && !gone.exists());
        let start = sys::proc_start(parent).unwrap();
        std::fs::write(
            &reused,
            format!(r#"{{"pid":{parent},"sessionId":"S","procStart":"{start}","kind":"interactive"}}"#),
        )
        .unwrap();
        assert_eq!(live_owner(&layout, "S").unwrap().pid, parent);
        clear_stale(&layout);
        assert!(reused.exists());
    }
}
