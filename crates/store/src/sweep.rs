//! Removes old sessions with their files. Runs at most once a day; never removes a session that is open, named, tagged or
//! archived, memory notes or the prompt history. Everything is announced once before it is removed: a sweep removes what
//! an earlier one, at least a day before, has announced, and announces the rest. No link is followed.

mod announced;

use crate::layout::StoreLayout;
use crate::list::{self, SessionInfo};
use crate::live_sessions;
use announced::AnnouncedEntries;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// After how many days a session is old, when the settings do not say.
pub const DEFAULT_DAYS: u32 = 30;
const DAY: Duration = Duration::from_hours(24);
/// The modification time of this file is the time of the last sweep.
const STAMP_FILE: &str = ".last-cleanup";
/// Plans are named after words, not after their session.
const PLANS: &str = "plans";
/// Folders with one entry per session, or with entries that belong to no session; each entry's age decides.
const FOLDERS: [&str; 10] = [
    "file-history",
    "tasks",
    PLANS,
    "paste-cache",
    "image-cache",
    "uploads",
    "session-env",
    "debug",
    "todos",
    "statsig",
];
/// How many levels below a session's folder are searched for newer files.
const DEPTH: usize = 4;

/// How much is removed or announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepCount {
    pub sessions: usize,
    /// Entries that belong to no session, or to one that is gone: pastes, debug logs, plans.
    pub others: usize,
}

impl SweepCount {
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// Why an old session stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptReason {
    /// A process has it open.
    Open,
    Named,
    Tagged,
    Archived,
}

/// A session that was not used for long.
#[derive(Clone, Debug)]
pub struct OldSession {
    pub id: String,
    /// What the session is called in lists; `None` for what is left of one without a transcript.
    pub title: Option<String>,
    /// Milliseconds since the epoch.
    pub modified_at: u64,
    /// A transcript and the folder beside it, or only one of them.
    pub paths: Vec<PathBuf>,
    /// `None`: it goes.
    pub kept: Option<KeptReason>,
    /// The removal was announced, at least a day ago.
    pub is_announced: bool,
}

/// An entry of one of the other folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldEntry {
    pub path: PathBuf,
    pub is_announced: bool,
}

/// What a sweep would do now.
#[derive(Clone, Debug, Default)]
pub struct SweepPlan {
    pub sessions: Vec<OldSession>,
    pub others: Vec<OldEntry>,
}

/// What a sweep has done.
#[derive(Debug)]
pub enum SweepResult {
    /// The last sweep was less than a day ago.
    NotDue,
    Swept {
        removed: SweepCount,
        /// What the next sweep will remove. The caller tells the user, then calls `record`.
        announcement: SweepAnnouncement,
    },
}

/// What has to be told before it may be removed.
#[derive(Debug)]
pub struct SweepAnnouncement {
    pub count: SweepCount,
    entries: AnnouncedEntries,
    file: PathBuf,
}

impl SweepAnnouncement {
    /// Remembers that the user was told. Before this nothing of it is removed.
    pub fn record(self) -> io::Result<()> {
        self.entries.write(&self.file)
    }
}

/// What a sweep would do, without doing anything. Blocking.
pub fn plan(layout: &StoreLayout, age: Duration, now: Duration) -> SweepPlan {
    let announced = AnnouncedEntries::read(&announced::file(layout));
    plan_with(layout, &SweepLimit::new(layout, age, now), &announced)
}

fn plan_with(layout: &StoreLayout, limit: &SweepLimit, announced: &AnnouncedEntries) -> SweepPlan {
    let told = |path: &Path| announced.since(layout, path).is_some_and(|at| limit.now.saturating_sub(at) >= DAY);
    let mut sessions = sessions(layout, limit);
    for session in &mut sessions {
        session.is_announced = session.paths.iter().all(|path| told(path));
    }
    let folders = FOLDERS.map(|folder| layout.home().join(folder));
    let inside = folders.iter().filter(|folder| is_folder(folder)).flat_map(|folder| entries(folder));
    let mut old: Vec<PathBuf> = inside.filter(|path| limit.is_old(path)).collect();
    if !old.is_empty() {
        // What belongs to a session that stays stays with it: its checkpoints, tasks, plan.
        let kept = kept_names(layout, limit, old.iter().any(|path| path.starts_with(layout.home().join(PLANS))));
        old.retain(|path| !kept.iter().any(|name| starts_with(path, name)));
    }
    let others = old.into_iter().map(|path| OldEntry { is_announced: told(&path), path }).collect();
    SweepPlan { sessions, others }
}

/// Removes what was not modified for `age` and was announced. `now` is the time since the epoch. Blocking.
pub fn sweep(layout: &StoreLayout, age: Duration, now: Duration) -> io::Result<SweepResult> {
    let stamp = layout.home().join(STAMP_FILE);
    if modified(&stamp).is_some_and(|at| now.saturating_sub(at) < DAY) {
        return Ok(SweepResult::NotDue);
    }
    // Written before the work, so that another process that starts now does not sweep too.
    sys::fs::atomic_write(&stamp, b"", 0o600)?;
    let file = announced::file(layout);
    let before = AnnouncedEntries::read(&file);
    let plan = plan_with(layout, &SweepLimit::new(layout, age, now), &before);
    // Looked at again: a session may have been resumed or named meanwhile.
    let limit = SweepLimit::new(layout, age, now);
    let (mut removed, mut count) = (SweepCount::default(), SweepCount::default());
    let mut told = AnnouncedEntries::default();
    for session in plan.sessions.into_iter().filter(|session| session.kept.is_none()) {
        if !session.is_announced {
            count.sessions += usize::from(session.paths.iter().any(|path| before.since(layout, path).is_none()));
            session.paths.iter().for_each(|path| told.add(layout, path, before.since(layout, path).unwrap_or(now)));
        } else if session.paths.iter().all(|path| limit.is_old(path))
            && limit.kept(&session.paths, &session.id).is_none()
        {
            session.paths.iter().for_each(|path| remove(path));
            removed.sessions += 1;
        }
    }
    for OldEntry { path, is_announced } in plan.others {
        if is_announced {
            remove(&path);
            removed.others += 1;
        } else {
            count.others += usize::from(before.since(layout, &path).is_none());
            told.add(layout, &path, before.since(layout, &path).unwrap_or(now));
        }
    }
    Ok(SweepResult::Swept { removed, announcement: SweepAnnouncement { count, entries: told, file } })
}

struct SweepLimit {
    age: Duration,
    now: Duration,
    live: BTreeSet<String>,
}

impl SweepLimit {
    fn new(layout: &StoreLayout, age: Duration, now: Duration) -> Self {
        let live = live_sessions::live(layout).into_iter().map(|owner| owner.session_id).collect();
        Self { age, now, live }
    }

    /// Why the session with these files stays although it is old.
    fn kept(&self, paths: &[PathBuf], id: &str) -> Option<KeptReason> {
        if self.live.contains(id) {
            return Some(KeptReason::Open);
        }
        let transcript = paths.iter().find(|path| path.extension().is_some())?;
        kept_by_mark(&list::read(transcript)?, transcript)
    }

    /// True when nothing in `path` is newer than the limit.
    fn is_old(&self, path: &Path) -> bool {
        self.is_old_to(path, DEPTH)
    }

    fn is_old_to(&self, path: &Path, depth: usize) -> bool {
        let Ok(meta) = std::fs::symlink_metadata(path) else { return true };
        let old = time(&meta).is_some_and(|at| self.now.saturating_sub(at) > self.age);
        old && (depth == 0 || !meta.is_dir() || entries(path).iter().all(|inner| self.is_old_to(inner, depth - 1)))
    }
}

/// What the user has done to keep the session.
fn kept_by_mark(info: &SessionInfo, transcript: &Path) -> Option<KeptReason> {
    let [named, _] = &info.titles;
    match (named, &info.tag) {
        (Some(name), _) if !name.is_empty() => Some(KeptReason::Named),
        (_, Some(_)) => Some(KeptReason::Tagged),
        _ => list::is_archived(transcript).then_some(KeptReason::Archived),
    }
}

/// The beginnings of the names of files that belong to sessions that stay: their ids and, when there are plans to decide
/// about, the names of their plans, for which every transcript must be opened.
fn kept_names(layout: &StoreLayout, limit: &SweepLimit, with_plans: bool) -> BTreeSet<String> {
    let mut names = limit.live.clone();
    for row in list::everywhere(layout) {
        let stays = limit.live.contains(&row.id) || !limit.is_old(&row.path);
        if stays && !with_plans {
            names.insert(row.id);
            continue;
        }
        let Some(info) = list::read(&row.path) else { continue };
        if stays || kept_by_mark(&info, &row.path).is_some() {
            names.extend(info.slug);
            names.insert(row.id);
        }
    }
    names
}

fn starts_with(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name))
}

fn sessions(layout: &StoreLayout, limit: &SweepLimit) -> Vec<OldSession> {
    let mut found = Vec::new();
    for project in entries(&layout.projects()) {
        if !is_folder(&project) {
            continue;
        }
        let inside: BTreeSet<PathBuf> = entries(&project).into_iter().collect();
        for path in &inside {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let beside = path.with_extension("");
            let paths = match SessionFile::of(&name) {
                SessionFile::Transcript if inside.contains(&beside) => vec![path.clone(), beside],
                SessionFile::Transcript | SessionFile::SetAside => vec![path.clone()],
                SessionFile::Folder if !inside.contains(&path.with_extension("jsonl")) => vec![path.clone()],
                SessionFile::Folder | SessionFile::Other => continue,
            };
            if paths.iter().all(|path| limit.is_old(path)) {
                found.push(old_session(limit, &name, paths));
            }
        }
    }
    found
}

fn old_session(limit: &SweepLimit, name: &str, paths: Vec<PathBuf>) -> OldSession {
    let id = name.split('.').next().unwrap_or_default().to_owned();
    let info = paths.iter().find(|path| path.extension().is_some()).and_then(|path| list::read(path));
    let title = info.and_then(|info| info.title.or(info.summary).or(info.first_prompt).or(info.last_prompt));
    let modified_at = paths.iter().filter_map(|path| modified(path)).max().unwrap_or_default();
    let kept = limit.kept(&paths, &id);
    OldSession { id, title, modified_at: modified_at.as_millis() as u64, paths, kept, is_announced: false }
}

enum SessionFile {
    Transcript,
    /// A transcript that another program renamed.
    SetAside,
    /// The folder of a session.
    Folder,
    /// Never removed: notes, catalogues, anything else.
    Other,
}

impl SessionFile {
    fn of(name: &str) -> Self {
        let (id, rest) = name.split_once('.').unwrap_or((name, ""));
        let is_id = id.len() == 36 && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        match rest {
            _ if !is_id => Self::Other,
            "" if !name.contains('.') => Self::Folder,
            "jsonl" => Self::Transcript,
            rest if rest.starts_with("orphaned-") || rest.starts_with("jsonl.superseded-") => Self::SetAside,
            _ => Self::Other,
        }
    }
}

fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(list) = std::fs::read_dir(dir) else { return Vec::new() };
    list.flatten().map(|entry| entry.path()).collect()
}

fn modified(path: &Path) -> Option<Duration> {
    time(&std::fs::symlink_metadata(path).ok()?)
}

fn time(meta: &Metadata) -> Option<Duration> {
    meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()
}

/// Removes a link, not its target.
fn remove(path: &Path) {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return };
    let removed = if meta.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    if let Err(error) = removed {
        tracing::warn!(%error, path = %path.display(), "an old session could not be removed");
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
