//! The files that tools changed in this conversation, with the lines added and removed, by the session and by its agents.

use crate::carried::ChangedFile;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use sys::sync::Mutex;

/// Shared by a session and its agents.
#[derive(Clone, Debug, Default)]
pub struct ChangedFiles(Arc<Mutex<ChangesSoFar>>);

#[derive(Debug, Default)]
struct ChangesSoFar {
    /// What earlier processes and branches left.
    earlier: Vec<ChangedFile>,
    /// In this process: by the id of the agent, `None` for the main thread, and the path.
    own: BTreeMap<(Option<String>, String), (u64, u64)>,
}

/// The file an edit changed, from its structured result.
pub fn changed_path(structured: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct EditResult {
        #[serde(rename = "filePath", alias = "notebook_path")]
        path: String,
    }
    serde_json::from_str::<EditResult>(structured.get()).ok().map(|edit| edit.path)
}

impl ChangedFiles {
    pub fn add(&self, owner: Option<&str>, path: &str, added: u64, removed: u64) {
        let mut so_far = self.0.lock();
        let sum = so_far.own.entry((owner.map(str::to_owned), path.to_owned())).or_default();
        *sum = (sum.0 + added, sum.1 + removed);
    }

    /// Starts again from what is recorded.
    pub fn restart(&self, earlier: Vec<ChangedFile>) {
        *self.0.lock() = ChangesSoFar { earlier, own: BTreeMap::new() };
    }

    /// All files of the session, or those of one agent, by path.
    pub fn of(&self, owner: Option<&str>) -> Vec<ChangedFile> {
        let so_far = self.0.lock();
        let mut sums = BTreeMap::new();
        if owner.is_none() {
            so_far.earlier.iter().for_each(|file| add_to(&mut sums, file));
        }
        for ((by, path), (added, removed)) in &so_far.own {
            if owner.is_none() || by.as_deref() == owner {
                add_to(&mut sums, &ChangedFile { path: path.clone(), added: *added, removed: *removed });
            }
        }
        sums.into_values().collect()
    }
}

fn add_to(sums: &mut BTreeMap<String, ChangedFile>, file: &ChangedFile) {
    let sum = sums
        .entry(file.path.clone())
        .or_insert_with(|| ChangedFile { path: file.path.clone(), ..ChangedFile::default() });
    sum.added += file.added;
    sum.removed += file.removed;
}

/// The sums by path of changes from several sources.
pub fn summed(files: impl IntoIterator<Item = ChangedFile>) -> Vec<ChangedFile> {
    let mut sums = BTreeMap::new();
    files.into_iter().for_each(|file| add_to(&mut sums, &file));
    sums.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [LNG-18]
    #[test]
    fn a_session_counts_its_agents_and_an_agent_only_itself() {
        let files = ChangedFiles::default();
        let file = |path: &str, added, removed| ChangedFile { path: path.into(), added, removed };
        files.restart(vec![file("/p/a", 1, 1)]);
        files.add(None, "/p/a", 2, 0);
        files.add(Some("x"), "/p/a", 3, 0);
        files.add(Some("x"), "/p/b", 1, 4);
        assert_eq!(files.of(None), [file("/p/a", 6, 1), file("/p/b", 1, 4)]);
        assert_eq!(files.of(Some("x")), [file("/p/a", 3, 0), file("/p/b", 1, 4)]);
        assert_eq!(files.of(Some("y")), []);
    }
}
