//! Finds and removes everything stored about a project: transcripts with their folders, task lists, debug logs, file
//! history, lines of the prompt history. Memory notes are kept, and so are sessions that are open. Projects that share
//! a directory name are told apart by the directory recorded in their files. No link is followed.

use crate::error::StoreError;
use crate::layout::{self, StoreLayout};
use crate::{list, live_sessions};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Folders of the configuration home with entries named after sessions.
const SESSION_FOLDERS: [&str; 7] = ["tasks", "debug", "file-history", "session-env", "image-cache", "uploads", "todos"];

/// Which projects to survey.
#[derive(Clone, Copy, Debug)]
pub enum PurgeScope<'a> {
    One(&'a Path),
    All,
}

/// What is stored about one directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeProject {
    pub cwd: String,
    pub sessions: Vec<PurgeSession>,
    /// The number of lines in the prompt history.
    pub prompts: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeSession {
    pub id: String,
    /// Files and folders, each to be removed completely.
    pub paths: Vec<PathBuf>,
    pub bytes: u64,
    /// A process has the session open.
    pub is_open: bool,
}

impl PurgeProject {
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.prompts == 0
    }
}

/// Lists what could be removed, by directory. Changes nothing. Blocking.
pub fn survey(layout: &StoreLayout, scope: PurgeScope<'_>) -> Vec<PurgeProject> {
    let wanted = match scope {
        PurgeScope::One(path) => Some(layout::resolve_directory(path)),
        PurgeScope::All => None,
    };
    let open: BTreeSet<String> = live_sessions::live(layout).into_iter().map(|owner| owner.session_id).collect();
    let mut found: BTreeMap<String, PurgeProject> = BTreeMap::new();
    let dirs = match scope {
        PurgeScope::One(path) => layout.readable_dirs(path),
        PurgeScope::All => entries(&layout.projects()),
    };
    for dir in dirs {
        for transcript in transcripts(&dir) {
            let Some(cwd) = recorded_directory(&transcript, wanted.as_deref()) else { continue };
            let session = session(layout, &transcript, &open);
            let project = found.entry(cwd.clone()).or_default();
            match project.sessions.iter_mut().find(|known| known.id == session.id) {
                Some(known) => {
                    known.bytes += session.bytes;
                    known.paths.extend(session.paths);
                }
                None => project.sessions.push(session),
            }
        }
    }
    for (cwd, prompts) in prompts(layout) {
        if wanted.as_ref().is_none_or(|wanted| *wanted == cwd) {
            found.entry(cwd).or_default().prompts = prompts;
        }
    }
    found
        .into_iter()
        .map(|(cwd, project)| PurgeProject { cwd, ..project })
        .filter(|project| !project.is_empty())
        .collect()
}

/// Removes one session with all its files.
pub fn remove(session: &PurgeSession) -> Result<(), StoreError> {
    for path in &session.paths {
        let meta = std::fs::symlink_metadata(path);
        let removed = match meta {
            Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path),
            Ok(_) => std::fs::remove_file(path),
            Err(error) => Err(error),
        };
        match removed {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::write(path, error)),
        }
        // Removing the last session removes the project folder too, unless notes keep it from being empty.
        if let Some(dir) = path.parent().filter(|dir| dir.parent().is_some_and(|above| above.ends_with("projects"))) {
            std::fs::remove_dir(dir).ok();
        }
    }
    Ok(())
}

/// Removes the prompts of a directory from the history; other lines are unchanged. Returns how many were removed.
pub fn forget_prompts(layout: &StoreLayout, cwd: &str) -> Result<usize, StoreError> {
    const ATTEMPTS: usize = 5;
    let path = layout.history();
    let fail = |error| StoreError::write(&path, error);
    for _ in 0..ATTEMPTS {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(StoreError::read(&path, error)),
        };
        let mut kept = Vec::with_capacity(bytes.len());
        let mut taken = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if project_of(line).as_deref() == Some(cwd) { taken += 1 } else { kept.extend_from_slice(line) }
        }
        if taken == 0 {
            return Ok(0);
        }
        // A prompt that was appended meanwhile must not be lost: the next attempt reads the file again.
        if path.metadata().is_ok_and(|meta| meta.len() == bytes.len() as u64) {
            sys::fs::atomic_write(&path, &kept, 0o600).map_err(fail)?;
            return Ok(taken);
        }
    }
    Err(fail(io::Error::other("it is being written to; try again")))
}

fn prompts(layout: &StoreLayout) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let Ok(file) = File::open(layout.history()) else { return found };
    for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
        if let Some(project) = project_of(&line) {
            *found.entry(project).or_default() += 1;
        }
    }
    found
}

fn project_of(line: &[u8]) -> Option<String> {
    let prompt: crate::history::HistoryPrompt = serde_json::from_slice(line).ok()?;
    Some(layout::nfc(&prompt.project)).filter(|project| !project.is_empty())
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Transcripts, including those that were renamed with a longer suffix.
fn transcripts(dir: &Path) -> Vec<PathBuf> {
    let is_file = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    entries(dir).into_iter().filter(|path| id_of(path).is_some() && is_file(path)).collect()
}

fn id_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let id = name.get(..36).filter(|id| sys::id::is_uuid(id))?;
    let rest = &name[36..];
    let is_transcript = rest == ".jsonl" || rest.starts_with(".orphaned-") || rest.starts_with(".jsonl.superseded-");
    is_transcript.then(|| id.to_owned())
}

/// The directory a transcript belongs to; `None` when that is not `wanted`. A transcript that records no directory
/// belongs to `wanted`, or without it to the name of its folder.
fn recorded_directory(transcript: &Path, wanted: Option<&str>) -> Option<String> {
    let recorded = list::describe(transcript).and_then(|info| info.cwd).map(|cwd| layout::nfc(&cwd));
    match (recorded, wanted) {
        (Some(cwd), None) => Some(cwd),
        (Some(cwd), Some(wanted)) => {
            (cwd == wanted || layout::resolve_directory(Path::new(&cwd)) == wanted).then(|| wanted.to_owned())
        }
        (None, Some(wanted)) => Some(wanted.to_owned()),
        (None, None) => Some(transcript.parent()?.file_name()?.to_string_lossy().into_owned()),
    }
}

fn session(layout: &StoreLayout, transcript: &Path, open: &BTreeSet<String>) -> PurgeSession {
    let id = id_of(transcript).unwrap_or_default();
    let beside = transcript.parent().map(|dir| dir.join(&id));
    let kept = SESSION_FOLDERS.iter().flat_map(|folder| {
        let dir = layout.home().join(folder);
        [dir.join(&id), dir.join(format!("{id}.txt")), dir.join(format!("{id}.json"))]
    });
    // The link to the newest debug log is removed with the log.
    let latest = layout.home().join("debug/latest");
    let latest = std::fs::read_link(&latest).is_ok_and(|log| log == Path::new(&format!("{id}.txt"))).then_some(latest);
    let all = std::iter::once(transcript.to_path_buf()).chain(beside).chain(kept).chain(latest);
    let paths: Vec<PathBuf> = all.filter(|path| std::fs::symlink_metadata(path).is_ok()).collect();
    let bytes = paths.iter().map(|path| size(path)).sum();
    PurgeSession { is_open: open.contains(&id), id, paths, bytes }
}

fn size(path: &Path) -> u64 {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => entries(path).iter().map(|entry| size(entry)).sum(),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::Env;

    #[test]
    fn names_that_fall_together_are_told_apart_and_notes_stay() {
        let dir = tempfile::tempdir().unwrap();
        let layout = StoreLayout::new(&Env::default().with([("CLAUDE_CONFIG_DIR", dir.path())]));
        let (here, there) = (Path::new("/my-app"), Path::new("/my_app"));
        let folder = layout.project_dir(here);
        assert_eq!(folder, layout.project_dir(there));
        std::fs::create_dir_all(folder.join("memory")).unwrap();
        let id = |n: u8| format!("11111111-2222-4333-8444-{n:012}");
        for (n, cwd) in [(1, here), (2, there)] {
            let line = format!(r#"{{"type":"user","cwd":"{}","message":{{"content":"x"}},"uuid":"u"}}"#, cwd.display());
            std::fs::write(folder.join(format!("{}.jsonl", id(n))), line + "\n").unwrap();
            std::fs::create_dir_all(folder.join(id(n)).join("subagents")).unwrap();
            std::fs::create_dir_all(dir.path().join("tasks").join(id(n))).unwrap();
        }
        let history = r#"{"display":"a","project":"/my-app"}"#.to_owned()
            + "\n{\"display\":\"b\",\"project\":\"/my_app\"}\nnoise\n";
        std::fs::write(layout.history(), &history).unwrap();
        let found = survey(&layout, PurgeScope::One(here));
        assert_eq!(found.len(), 1);
        let project = &found[0];
        assert_eq!((project.cwd.as_str(), project.sessions.len(), project.prompts), ("/my-app", 1, 1));
        assert_eq!((project.sessions[0].id.as_str(), project.sessions[0].paths.len()), (id(1).as_str(), 3));
        assert_eq!(survey(&layout, PurgeScope::All).len(), 2);
        remove(&project.sessions[0]).unwrap();
        assert_eq!(forget_prompts(&layout, "/my-app").unwrap(), 1);
        assert!(survey(&layout, PurgeScope::One(here)).is_empty());
        let left = std::fs::read_to_string(layout.history()).unwrap();
        assert_eq!(left, "{\"display\":\"b\",\"project\":\"/my_app\"}\nnoise\n");
        remove(&survey(&layout, PurgeScope::All)[0].sessions[0]).unwrap();
        assert!(folder.join("memory").is_dir());
    }
}
