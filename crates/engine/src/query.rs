//! Queries a host may make before a session exists: which sessions there are, and their content. Read-only; reads
//! only what the answer needs.

use serde_json::value::RawValue;
use session_parts::start_error::{StartError, StartFailure};
use std::ops::Range;
use std::path::{Path, PathBuf};
use store::resume::{EntryKind, LoadOptions, load};
use store::{LoadedEntry, StoreLayout, find, list};
use sys::Env;
use wire::sdk::{PastMessage, SdkMessage};

/// One session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionListItem {
    pub id: String,
    pub cwd: PathBuf,
    pub title: Option<String>,
    /// RFC 3339.
    pub updated_at: String,
}

/// Sessions of one directory or of all, newest first: `count` of them after the first `skip`. Reads only as many
/// files as needed.
pub fn sessions(env: &Env, cwd: Option<&Path>, skip: usize, count: usize) -> Vec<SessionListItem> {
    let layout = StoreLayout::new(env);
    let rows = match cwd {
        Some(cwd) => list::project(&layout, cwd),
        None => list::everywhere(&layout),
    };
    let read = |row: &list::TranscriptRow| {
        let info = row.info()?;
        let title = info.title.or(info.summary).or(info.first_prompt).or(info.last_prompt);
        Some(SessionListItem {
            id: info.id,
            cwd: info.cwd?.into(),
            title,
            updated_at: sys::clock::iso(info.modified_at),
        })
    };
    rows.iter().filter_map(read).skip(skip).take(count).collect()
}

/// The messages of a session since its last compaction, as a host would have received them.
pub fn conversation(env: &Env, cwd: &Path, session: &str) -> Result<Vec<SdkMessage>, StartError> {
    let layout = StoreLayout::new(env);
    let path = find::target(&layout, cwd, session)
        .map_err(|error| StartError::new(StartFailure::Conversation, error.to_string()))?;
    let loaded = load(&path, &LoadOptions::default())
        .map_err(|error| StartError::new(StartFailure::Conversation, error.to_string()))?;
    let said = loaded.entries.iter().filter(|entry| !entry.is_meta && !entry.is_compact_summary);
    Ok(said.filter_map(|entry| message(entry, &loaded.session_id)).collect())
}

fn message(entry: &LoadedEntry, session_id: &str) -> Option<SdkMessage> {
    let message = RawValue::from_string(entry.body.as_deref()?.to_owned()).ok()?;
    let timestamp = entry.timestamp.as_deref().unwrap_or_default().to_owned();
    let past = PastMessage::new(message, session_id.to_owned(), entry.uuid.to_string(), timestamp);
    match entry.kind {
        EntryKind::User => Some(past.user()),
        EntryKind::Assistant => Some(past.assistant()),
        EntryKind::System | EntryKind::Attachment => None,
    }
}

pub use store::list::{SessionInfo, TranscriptRow};
pub use store::search::{SearchHit, SearchQuery, SearchRequest, SearchResult, Speaker, search};

/// The end of a session as a person sees it, oldest first: the messages of the main conversation with the structured
/// results of calls, those before a compaction included.
pub fn record(transcript: &Path) -> Vec<SdkMessage> {
    /// How many bytes of the file are read.
    const END_BYTES: usize = 8 << 20;
    let session_id = transcript.file_stem().unwrap_or_default().to_string_lossy();
    let lines = store::narrative::end_lines(transcript, END_BYTES).unwrap_or_default();
    crate::past_messages::of_lines(&lines, &session_id)
}

/// Which sessions are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionScope {
    /// Those of the directory.
    #[default]
    Folder,
    /// Those of the repository's worktrees.
    Worktrees,
    Everywhere,
}

/// The sessions of a scope: files newest first, opened one by one.
#[derive(Clone, Debug)]
pub struct SessionCatalogue {
    pub rows: Vec<TranscriptRow>,
    near: Option<find::NearbySessions>,
}

impl SessionCatalogue {
    pub fn open(env: &Env, cwd: &Path, scope: SessionScope) -> Self {
        let layout = StoreLayout::new(env);
        let near = match scope {
            SessionScope::Folder => find::NearbySessions::in_directory(&layout, cwd),
            SessionScope::Worktrees => find::NearbySessions::worktrees(&layout, cwd),
            SessionScope::Everywhere => return Self { rows: list::everywhere(&layout), near: None },
        };
        Self { rows: near.rows(), near: Some(near) }
    }

    /// `None` for a file that is not a session of this scope or has nothing to show.
    pub fn info(&self, row: &TranscriptRow) -> Option<SessionInfo> {
        row.info().filter(|info| self.near.as_ref().is_none_or(|near| near.contains(info)))
    }
}

/// Whether a turn seems to be running: the last message is less than a minute old and has no end or result.
pub fn is_working(info: &SessionInfo) -> bool {
    const WORKING_WINDOW_MS: u64 = 60_000;
    sys::clock::now_ms().saturating_sub(info.modified_at) < WORKING_WINDOW_MS && list::is_open(&info.path)
}

/// The name of a session in a list.
pub fn label(info: &SessionInfo) -> &str {
    let named = [&info.title, &info.summary, &info.first_prompt, &info.last_prompt];
    named.into_iter().flatten().next().map_or("(no prompt)", String::as_str)
}

/// The last messages of a session: speaker and text.
pub fn preview(transcript: &Path, count: usize) -> Vec<(Speaker, String)> {
    use store::narrative::NarrativeItem;
    let pick = |moment: NarrativeItem<'_>| match moment {
        NarrativeItem::User(text) if text.trim_start().starts_with('<') => None,
        NarrativeItem::User(text) => Some((Speaker::User, text.to_owned())),
        NarrativeItem::Assistant(text) => Some((Speaker::Assistant, text.to_owned())),
        NarrativeItem::Call { tool, input } => Some((Speaker::Call, format!("{tool} {input}"))),
        NarrativeItem::Result { text, .. } => Some((Speaker::Result, text.to_owned())),
        NarrativeItem::Image => Some((Speaker::Result, "[image]".to_owned())),
        NarrativeItem::Summary(_) => None,
    };
    store::narrative::last(transcript, count, pick).unwrap_or_default()
}

/// The transcript of a session, by id, start of an id, title or path.
pub fn transcript(env: &Env, cwd: &Path, target: &str) -> Result<PathBuf, String> {
    let layout = StoreLayout::new(env);
    find::target(&layout, cwd, target)
        .or_else(|error| by_prefix(&layout, target).ok_or(error))
        .map_err(|e| e.to_string())
}

/// The session whose id starts with `target`; `None` when there are several.
fn by_prefix(layout: &StoreLayout, target: &str) -> Option<PathBuf> {
    if target.len() < 4 || !target.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
        return None;
    }
    let mut found = list::everywhere(layout).into_iter().filter(|row| row.id.starts_with(target));
    found.next().filter(|_| found.next().is_none()).map(|row| row.path)
}

/// Renames a session; returns the name as stored.
pub fn rename(transcript: &Path, name: &str) -> Result<String, String> {
    let name = session_parts::messages::session_name(name);
    if name.is_empty() {
        return Err("A name must not be empty".into());
    }
    list::rename(transcript, &name).map_err(|error| error.to_string())?;
    Ok(name)
}

/// The heading of an exported session.
pub fn heading(transcript: &Path) -> session_parts::export::ExportHeading {
    let info = list::describe(transcript).unwrap_or_default();
    session_parts::export::ExportHeading {
        session_id: transcript.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        title: Some(label(&info).to_owned()),
        cwd: info.cwd,
    }
}

fn ago(count: u64, unit: &str) -> String {
    format!("{} ago", wire::counting::counted(count, unit))
}

/// The time since `at_ms` as short text.
pub fn age(at_ms: u64) -> String {
    let minutes = sys::clock::now_ms().saturating_sub(at_ms) / 60_000;
    match minutes {
        0 => "just now".into(),
        1..60 => format!("{minutes} min ago"),
        60..1_440 => format!("{} h ago", minutes / 60),
        1_440..43_200 => ago(minutes / 1_440, "day"),
        43_200..525_600 => ago(minutes / 43_200, "month"),
        _ => ago(minutes / 525_600, "year"),
    }
}

/// A size in bytes as short text.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Where in a prompt files and folders of the project are named with `@` that exist.
pub fn file_mentions(prompt: &str, cwd: &Path, home: Option<&Path>) -> Vec<Range<usize>> {
    let home = home.map(Path::to_path_buf);
    let workspace =
        tools::Workspace { cwd: cwd.to_path_buf(), project: cwd.to_path_buf(), additional: Vec::new(), home };
    session_parts::skills::invoke::file_mentions(prompt, &workspace)
}
